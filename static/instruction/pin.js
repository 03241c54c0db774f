// Pinning: a cell stays in focus and in the URL until it, or Escape, frees it.
import { tell } from "./focus.js";
import { lightUp } from "./picture.js";
import { say, speak } from "./spoken.js";
import { pinOf, remember, state } from "./state.js";

/** Pins a cell, or frees it where it is the pinned one; null frees whatever is pinned. */
export function pin(cell) {
  const text = cell ? pinOf(cell) : "";
  pinText(text === state.pin ? "" : text);
  if (cell) speak(cell, state.pin ? ", pinned" : ", freed");
  else say("freed");
}

/** Pins what an address would say, "" nothing. */
export function pinText(text) {
  state.pin = text;
  remember();
  lightUp();
  tell();
}
