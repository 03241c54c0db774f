// "Share": the server wrote every text as it is copied. Where the page has moved on since, it writes them anew.
import { copyButtons } from "./copy.js";
import { onServer, root } from "./place.js";

/** What the page's address is called from the server's root, as the server calls it. */
const addressNow = () => location.pathname.slice(root.length) + location.search;

async function renew(menu) {
  const address = addressNow();
  if (menu.dataset.share === address) return;
  const answer = await fetch(`${root}/api/v1/share?${new URLSearchParams({ address })}`);
  if (!answer.ok) return;
  const told = await answer.json();
  for (const text of menu.querySelectorAll("[data-share-text]")) text.textContent = told[text.dataset.shareText] ?? "";
  for (const link of menu.querySelectorAll("[data-share-link]")) link.href = told[link.dataset.shareLink];
  for (const image of menu.querySelectorAll("[data-picture]")) image.src = told.svg;
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

copyButtons();
for (const menu of document.querySelectorAll("details.share")) {
  if (!onServer) {
    menu.remove();
    continue;
  }
  menu.addEventListener("toggle", () => { if (menu.open) renew(menu); });
  for (const button of menu.querySelectorAll("[data-copy-picture]")) {
    if (!navigator.clipboard || (button.dataset.copyPicture === "png" && !window.ClipboardItem)) continue;
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
