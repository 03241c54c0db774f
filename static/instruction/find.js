// The find field of a stage: what is found is pinned and shown; Shift+Enter adds a second pin.
import { findField, followFind } from "../kit/find.js";
import { onServer } from "../kit/place.js";
import { readPins } from "./focus.js";
import { pinTexts } from "./pin.js";
import { heldBy } from "./owners.js";
import { stage } from "./stage.js";
import { query, state } from "./state.js";
import { reveal } from "./window.js";

/** The first cell that a thread holds of the matrices. */
function heldCell(thread) {
  const panel = stage.panels.find(({ operand }) => operand && !operand.shared && heldBy(operand, thread).length);
  const cell = panel && heldBy(panel.operand, thread)[0].cell;
  return panel && { panel, row: Math.floor(cell / panel.cols), col: cell % panel.cols };
}

function show(pin, second, more) {
  if (more && state.pin) pinTexts(state.pin, pin);
  else pinTexts(pin, second);
  const [first] = readPins(), cell = first?.cell ?? heldCell(first?.thread);
  if (cell) reveal(cell, true);
}

function address() {
  const place = new URL(location.pathname, location.href);
  const kept = new URLSearchParams(query(state, "pin", "pin2", "sel", "view"));
  for (const [name, value] of kept) place.searchParams.set(name, value);
  return place;
}

export function followFinding() {
  if (onServer) followFind({ address, show });
  else if (findField()) findField().closest("[data-find]").hidden = true; // an exported site has nobody to ask
}
