// Which cell the page is about: the pinned one, else the pointer's, else the keyboard's; and the name pointed at.
import { readPin } from "./state.js";
import { stage } from "./stage.js";

export const focus = { hovered: null, cursor: null, name: null, region: null };

// What a page says of the cell in focus, whenever that may be another.
export const told = [];
export const tell = () => { for (const each of told) each(); };

export function pinnedCell() {
  const pin = readPin();
  const panel = pin && stage.panels.find((each) => each.name === pin.panel && each.operand);
  return panel ? { panel, row: Number(pin.row), col: Number(pin.col) } : null;
}

export const focusCell = () => pinnedCell() ?? focus.hovered ?? focus.cursor;
export const sameCell = (one, other) => ["panel", "row", "col"].every((key) => one?.[key] === other?.[key]);
