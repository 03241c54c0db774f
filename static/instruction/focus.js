// Which cell the page is about: the pinned one, else the pointer's, else the keyboard's; and the name pointed at.
import { readPin } from "./state.js";
import { stage } from "./stage.js";

export const focus = { hovered: null, cursor: null, name: null };

export function pinnedCell() {
  const pin = readPin();
  const panel = pin && stage.panels.find((each) => each.name === pin.panel && each.operand);
  return panel ? { panel, row: Number(pin.row), col: Number(pin.col) } : null;
}

export const focusCell = () => pinnedCell() ?? focus.hovered ?? focus.cursor;
export const sameCell = (one, other) => ["panel", "row", "col"].every((key) => one?.[key] === other?.[key]);
