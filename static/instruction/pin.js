// Pinning: a cell stays in focus and in the URL until it, or Escape, frees it. A second pin compares another lane.
import { notify } from "./focus.js";
import { lightUp } from "./picture.js";
import { say, speak } from "./spoken.js";
import { pinOf, remember, state } from "./state.js";

/** Pins a cell, or frees it where it is a pinned one; null frees whatever is pinned. second: beside what is pinned. */
export function pin(cell, second = false) {
  const text = cell ? pinOf(cell) : "";
  if (second && state.pin && "pin2" in state && text !== state.pin) {
    pinTexts(state.pin, text === state.pin2 ? "" : text);
  } else pinTexts(text === state.pin ? "" : text);
  if (cell) speak(cell, [state.pin, state.pin2].includes(text) ? ", pinned" : ", freed");
  else say("freed");
}

/** Pins what an address would say, "" nothing. The browser's Back undoes it where it was pushed. */
export function pinTexts(text, second = "", pushed = true) {
  if (text === state.pin && second === (state.pin2 ?? "")) return;
  state.pin = text;
  if ("pin2" in state) state.pin2 = second;
  remember(pushed);
  lightUp();
  notify();
}
