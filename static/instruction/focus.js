// Which cell the page is about: the pinned one, else the pointer's, else the keyboard's; and the name pointed at.
import { owner } from "./owners.js";
import { readPin, state } from "./state.js";
import { stage } from "./stage.js";

export const focus = { hovered: null, cursor: null, name: null, region: null };

// What a page says of the cell in focus, whenever that may be another.
export const listeners = [];
export const notify = () => { for (const each of listeners) each(); };

function cellOf(text) {
  const pin = readPin(text);
  const panel = pin && stage.panels.find((each) => each.name === pin.panel && each.operand);
  return panel ? { panel, row: Number(pin.row), col: Number(pin.col) } : null;
}
export const pinnedCell = () => cellOf(state.pin);

/** Each pin as {cell, thread}; cell is null where a whole lane is pinned, thread undefined where nobody holds it. */
export function readPins() {
  return [state.pin, state.pin2].filter(Boolean).map((text) => {
    const cell = cellOf(text), thread = Number(text.split(":")[1]);
    return { cell, thread: cell ? owner(cell)?.thread : thread };
  }).filter(({ cell, thread }) => cell || Number.isInteger(thread));
}

export const focusCell = () => pinnedCell() ?? focus.hovered ?? focus.cursor;
export const sameCell = (one, other) => ["panel", "row", "col"].every((key) => one?.[key] === other?.[key]);
