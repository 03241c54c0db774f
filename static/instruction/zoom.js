// The zoom buttons, and the links to parts of the matrices: they act at once and show where the page is.
import { $ } from "../kit/dom.js";
import { fit, is, isWhole, legible, showView, zoomAll } from "./window.js";

const STEP = 1.5;
export const ZOOMS = { in: () => zoomAll(1 / STEP), out: () => zoomAll(STEP), fit, one: legible, full };

/** The matrices on the whole screen, or back. */
function full() {
  if (document.fullscreenElement) document.exitFullscreen();
  else $("bench").requestFullscreen?.();
}

function mark() {
  for (const link of $("zoom").querySelectorAll("[data-view]")) {
    const { view } = link.dataset;
    if (view === "all" ? isWhole() : is(view)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

export function followZoom() {
  if (!isWhole()) $("zoom").querySelector("[data-view=all]")?.removeAttribute("aria-current");
  $("zoom").addEventListener("click", (event) => {
    const { view, zoom } = event.target.closest("#zoom [data-view], #zoom [data-zoom]")?.dataset ?? {};
    if (view === undefined && !zoom) return;
    event.preventDefault();
    if (zoom) ZOOMS[zoom]();
    else showView(view);
  });
  document.addEventListener("view", mark);
  document.documentElement.dataset.zoom = "ready";
}
