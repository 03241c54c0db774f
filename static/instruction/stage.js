// The page's stage: its matrices, each in the slot that the page has for it.
import { $ } from "../kit/dom.js";
import { linkBeside } from "./beside.js";
import { Stage } from "./canvas.js";
import { makeLanes } from "./lanes.js";
import { Panel } from "./matrix.js";
import { operands } from "./owners.js";
import { data, ranges, state } from "./state.js";

const slotOf = (name) => document.querySelector(`.mat[data-panel="${name}"] .slot`);
const panels = data.panels.map((spec) =>
  new Panel(spec, operands[spec.name] ?? null, slotOf(spec.name), ranges()));
linkBeside(panels);
const lanes = makeLanes(slotOf("lanes"), panels, data, warpOf);
export const stage = new Stage($("stage"), panels, lanes ? [lanes] : []);

/** The warp whose lanes the grid shows: that of the pinned lane or row, else of the first row in view. */
function warpOf() {
  if (!data.warp || !data.automatic) return 0;
  const [name, place] = state.pin.split(":"), [row] = (place ?? "").split(",").map(Number);
  if (name === data.unit) return Math.floor(row / data.warp);
  const panel = panels.find((each) => each.name === name);
  return Math.floor((panel?.dims[0] === "m" ? row : ranges().m?.[0] ?? 0) / data.automatic.rows);
}

const LABELLED = [20, 8]; // pixels of a column that has room for a label, and how many columns open at least
const LOW = 10, ROOMY = [26, 18]; // pixels: a row without room for a label; a cell with room for one in two lines
const partial = Object.entries(data.extents).some(([dim, count]) => data.opening[dim][1] < count);

const own = panels.filter(({ beside }) => !beside); // without metadata and scale factors, which follow A and B

/** Where the columns of a part are too narrow for labels, the page opens on fewer of them. Whether it does. */
function narrow({ operand, dims, width }) {
  const dim = dims[1], [first, last] = data.opening[dim], room = Math.floor(width / LABELLED[0]);
  if (!operand || !partial || room >= last - first) return false;
  data.opening[dim] = [first, first + Math.max(LABELLED[1], room - (room % LABELLED[1]))];
  return true;
}
/** A whole tile whose labels find no room opens on its first part, in cells that have room. Whether it does. */
function shorten() {
  if (partial || state.view || state.pin || state.sel || state.label === "none") return false;
  const small = own.filter(({ operand, width, cellWidth, cellHeight }) =>
    operand && !operand.shared && width && (cellWidth < LABELLED[0] || cellHeight < LOW));
  for (const { dims, width, height } of small) {
    [height / ROOMY[1], width / ROOMY[0]].forEach((cells, n) => {
      const [first, last] = data.opening[dims[n]], room = Math.max(LABELLED[1], cells - (cells % LABELLED[1]));
      data.opening[dims[n]] = [first, Math.min(last, first + room)];
    });
  }
  return small.length > 0;
}
const narrowed = shorten() || own.filter((panel) => panel.width).map(narrow).includes(true) && !state.view;
if (narrowed) for (const panel of panels) panel.show(ranges());
export const served = !narrowed; // whether the page shows the part that the server drew
for (const { operand, slot } of panels) if (operand) slot.replaceChildren(); // the canvas draws what stood there
