// "Share": the server wrote every text as it is copied. Where the page has moved on since, it writes them anew.
import { copyButtons } from "./copy.js";
import { onServer, root } from "./place.js";
import { fill } from "./template.js";

/** What the page's address is called from the server's root, as the server calls it. */
const addressNow = () => location.pathname.slice(root.length) + location.search;

async function renew(menu) {
  const address = addressNow();
  if (menu.dataset.share === address) return;
  const answer = await fetch(`${root}/api/v1/share?${new URLSearchParams({ address })}`);
  menu.classList.toggle("unknown", !answer.ok);
  if (!answer.ok) { // the address is all that is known: the rest would be of another view
    menu.querySelector("[data-share-text=link]").textContent = location.href;
    menu.querySelector("[value=link]").checked = true;
    return;
  }
  const shared = await answer.json();
  for (const text of menu.querySelectorAll("[data-share-text]")) {
    text.textContent = shared[text.dataset.shareText] ?? "";
  }
  for (const link of menu.querySelectorAll("[data-share-link]")) link.href = shared[link.dataset.shareLink];
  for (const image of menu.querySelectorAll("[data-picture]")) image.src = shared[image.dataset.picture];
  for (const frame of menu.querySelectorAll("iframe")) frame.src = `${root}/embed${address}`;
  menu.dataset.share = address;
}

/** Copies the picture: as an image that other programs paste, or as the text of the SVG. */
async function copyPicture(menu, form) {
  const address = menu.querySelector(`[data-share-link="${form}"]`).href;
  const made = fetch(address).then((answer) => {
    if (!answer.ok) throw new Error(`The picture answers ${answer.status}`);
    return form === "png" ? answer.blob() : answer.text();
  });
  if (form === "svg") return navigator.clipboard.writeText(await made);
  return navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
}

/** Says how large a picture is once it is there. */
function measurePictures(menu) {
  for (const image of menu.querySelectorAll("[data-picture]")) {
    const size = image.closest("figure").querySelector("[data-size]");
    const say = () => { size.textContent = `${image.naturalWidth} × ${image.naturalHeight} pixels`; };
    image.addEventListener("load", say);
    image.addEventListener("error", () => { size.textContent = "This picture cannot be drawn here."; });
    if (image.complete && image.naturalWidth) say();
  }
}

/** Writes the addresses of an exported page's texts, and the verdict of what is pinned in it. */
function fillExported(menu) {
  const quoted = (address) => address.replaceAll("(", "%28").replaceAll(")", "%29");
  const pinned = [...document.querySelectorAll("section.answer:not(.none) h2")].map((one) => one.textContent.trim());
  const verdict = pinned.join("; ").replace(/\s+/g, " ").replace(/[\\`*_[\]<>|#]/g, "\\$&");
  const facts = { link: quoted(location.href), picture: quoted(menu.querySelector("img")?.src ?? ""), verdict };
  for (const text of menu.querySelectorAll("[data-text]")) {
    text.textContent = fill((verdict && text.dataset.pinned) || text.dataset.text, facts);
  }
  menu.querySelector("[data-on-disk]").hidden = location.protocol !== "file:";
}

copyButtons();
for (const menu of document.querySelectorAll("details.share")) {
  menu.hidden = false;
  if (!onServer) fillExported(menu);
  menu.addEventListener("toggle", () => { if (menu.open) onServer ? renew(menu) : fillExported(menu); });
  measurePictures(menu);
  for (const button of menu.querySelectorAll("[data-copy-picture]")) {
    if (!navigator.clipboard || location.protocol === "file:"
      || (button.dataset.copyPicture === "png" && !window.ClipboardItem)) continue;
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await copyPicture(menu, button.dataset.copyPicture);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Copy failed";
      }
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
}
