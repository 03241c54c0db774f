// The map of tensor memory on the page of a tcgen05.mma: it rings the lanes and columns of what is pinned above.
import { $ } from "../kit/dom.js";
import { drawRing } from "../kit/cells.js";
import { readPins } from "./focus.js";
import { owners } from "./owners.js";

const box = $("placed"), place = box && JSON.parse(box.dataset.place);

export function ringPlaced() {
  const svg = box?.querySelector("svg");
  if (!svg) return;
  for (const old of svg.querySelectorAll(".ringed")) old.remove();
  for (const { cell } of readPins()) {
    const column = place.columns[cell?.panel.name];
    if (column === undefined) continue; // a lane, or what has no place of its own in the map
    for (const { thread, value } of owners(cell)) {
      const at = [thread, column + cell.panel.operand.register[value]];
      for (const kind of ["halo ringed", "ringed"]) drawRing({ svg, grid: place }, at, kind);
    }
  }
}
