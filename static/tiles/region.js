// A region of cells, dragged open: every thread that holds one of them is lit in all matrices. A drag opens one where
// there is nothing to pan, with Shift anywhere; Escape or a click frees it.
import { focus, notify } from "../instruction/focus.js";
import { lightUp } from "../instruction/picture.js";
import { stage } from "../instruction/stage.js";
import { remember, spans, state } from "../instruction/state.js";
import { isWhole } from "../instruction/window.js";

const STILL = 4; // pixels that a press may move and still be a click
let from = null; // where a drag began: {cell, x, y}

function cellUnder(event) {
  const box = stage.base.getBoundingClientRect();
  return stage.hit(event.clientX - box.left, event.clientY - box.top);
}

/** The region that an address names, null for none. */
function readRegion(text) {
  const [name, place] = text.split(":"), panel = stage.panels.find((each) => each.name === name);
  if (!panel || !place) return null;
  const [rows, cols] = spans(place).map(([first, last = first]) => [first, last]);
  return { panel, rows, cols };
}

const spelled = ({ panel, rows, cols }) => `${panel.name}:${rows.join("-")},${cols.join("-")}`;

function between(one, other) {
  const ends = (key) => [Math.min(one[key], other[key]), Math.max(one[key], other[key])];
  return { panel: one.panel, rows: ends("row"), cols: ends("col") };
}

function show(region) {
  focus.region = region;
  lightUp();
  notify();
}

function settle(region) {
  state.sel = region ? spelled(region) : "";
  if (region) Object.assign(state, { pin: "", pin2: "" });
  remember();
  show(region);
}

export function followRegion() {
  if (state.sel) focus.region = readRegion(state.sel);
  stage.element.addEventListener("pointerdown", (event) => {
    const cell = event.button === 0 && event.pointerType !== "touch" && (event.shiftKey || isWhole())
      ? cellUnder(event) : null;
    from = cell && { cell, x: event.clientX, y: event.clientY };
  });
  addEventListener("pointermove", (event) => {
    if (!from || Math.hypot(event.clientX - from.x, event.clientY - from.y) <= STILL) return;
    const cell = cellUnder(event);
    if (cell?.panel === from.cell.panel) show(between(from.cell, cell));
  });
  addEventListener("pointerup", (event) => {
    if (!from) return;
    const moved = Math.hypot(event.clientX - from.x, event.clientY - from.y) > STILL;
    from = null;
    if (moved) settle(focus.region);
    else if (state.sel) settle(null);
  }, true);
  addEventListener("pointercancel", () => { from = null; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.sel) settle(null);
  });
}
