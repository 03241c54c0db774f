// What part of the matrices is shown: one range a dimension, as layouts/render/window.py reads it. Matrices that share
// a dimension move together.
import { draw } from "./picture.js";
import { stage } from "./stage.js";
import { data, ranges, remember, state } from "./state.js";

const LEAST = 4; // cells of a dimension that zooming in leaves
const LEGIBLE = [44, 21]; // pixels of a cell at 1:1
const SETTLED_MS = 150;

const dims = Object.entries(data.extents);
const everything = Object.fromEntries(dims.map(([dim, count]) => [dim, [0, count]]));
const complete = (some) => ({ ...everything, ...some });
const same = (one, other) => dims.every(([dim]) => one[dim].every((end, n) => Math.abs(end - other[dim][n]) < 0.005));
const number = (n) => String(Math.round(n * 100) / 100);

let now = complete(ranges()), frame = 0, settling = 0;
export const shown = () => now;
export const isWhole = () => same(now, everything);
export const isOpening = () => same(now, complete(data.opening));
export const is = (view) => same(now, complete(ranges(view)));

/** What is shown as the address says it. */
const written = () => (isOpening() ? "" : spelled());

/** The same, with the opening view in its numbers. */
export function spelled() {
  if (isWhole()) return "all";
  const cut = dims.filter(([dim, count]) => now[dim][0] > 0 || now[dim][1] < count);
  return cut.map(([dim]) => `${dim}:${now[dim].map(number).join("-")}`).join(",");
}

/** Shows ranges, in the next frame; the address follows when nothing has moved for a while. Whether anything moved. */
export function show(next) {
  if (same(now, next)) return false;
  now = next;
  for (const panel of stage.panels) panel.show(now);
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); });
  clearTimeout(settling);
  settling = setTimeout(settle, SETTLED_MS);
  return true;
}

function settle() {
  state.view = written();
  remember();
  document.dispatchEvent(new CustomEvent("view"));
}

export const showView = (view) => show(complete(ranges(view)));
export const fit = () => show(everything);

function placed(from, size, count) {
  const start = Math.max(0, Math.min(count - size, from));
  return [start, start + size];
}

function scaled([from, to], at, size, count) {
  const kept = Math.max(Math.min(LEAST, count), Math.min(count, size));
  return placed(at - ((at - from) * kept) / (to - from), kept, count);
}

/** The dimensions of a matrix that move, each with its place: all of the others is shown. */
const moving = ({ dims: [down, across] }) => [[down, 0], [across, 1]].filter(([dim]) => dim in everything);

/** A factor below 1 zooms in. at: [row, column], the cell that stays where it is. */
export function zoom(panel, at, factor) {
  const next = { ...now };
  moving(panel).forEach(([dim, n]) => {
    const [from, to] = now[dim];
    next[dim] = scaled(now[dim], at[n], (to - from) * factor, data.extents[dim]);
  });
  return show(next);
}

/** Zooms every dimension about its middle. */
export function zoomAll(factor) {
  return show(Object.fromEntries(dims.map(([dim, count]) => {
    const [from, to] = now[dim];
    return [dim, scaled(now[dim], (from + to) / 2, (to - from) * factor, count)];
  })));
}

/** Moves by cells: rows, columns. */
export function pan(panel, ...cells) {
  const next = { ...now };
  moving(panel).forEach(([dim, n]) => {
    const [from, to] = now[dim];
    next[dim] = placed(from + cells[n], to - from, data.extents[dim]);
  });
  return show(next);
}

/** Cells of a size at which every label can be read, where they are now. */
export function legible() {
  const next = { ...now };
  for (const panel of stage.panels) {
    if (!panel.operand || panel.beside) continue;
    const cells = [panel.height / LEGIBLE[1], panel.width / LEGIBLE[0]];
    panel.dims.forEach((dim, n) => {
      const [from, to] = now[dim];
      next[dim] = scaled(now[dim], (from + to) / 2, Math.floor(cells[n]), data.extents[dim]);
    });
  }
  return show(next);
}

/** Moves as little as it takes to show a cell, or so that one outside is in the middle. */
export function reveal({ panel, row, col }, middle = false) {
  const next = { ...now };
  moving(panel).forEach(([dim, n]) => {
    const at = n ? col : row, [from, to] = now[dim];
    const least = Math.min(at, Math.max(from, at + 1 - (to - from)));
    const begin = middle && least !== from ? Math.round(at - (to - from) / 2) : least;
    next[dim] = placed(begin, to - from, data.extents[dim]);
  });
  return show(next);
}
