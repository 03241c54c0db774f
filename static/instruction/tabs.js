// The sections below the stage: with scripts one shows at a time, the one that the address names.
import { $ } from "../kit/dom.js";
import { onServer } from "../kit/place.js";

const links = [...$("tabs").querySelectorAll("a")];
const nameOf = (link) => link.hash.slice(1);

function show(name) {
  for (const link of links) {
    const chosen = nameOf(link) === name;
    $(nameOf(link)).hidden = !chosen;
    if (chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

const named = () => (links.some((link) => link.hash === location.hash) ? location.hash.slice(1) : nameOf(links[0]));

export function followTabs() {
  show(named());
  // A link of the page leads there; the section was hidden when the browser looked for it.
  addEventListener("hashchange", () => {
    show(named());
    const section = $(named());
    section.tabIndex = -1;
    section.focus({ preventScroll: true });
    section.scrollIntoView();
  });
  $("tabs").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    show(nameOf(link));
    if (onServer) history.replaceState(null, "", location.pathname + location.search + link.hash);
  });
}
