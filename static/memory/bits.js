// The 64 bits: a click toggles one, a drag paints the first bit's new value, arrows walk, space and Enter toggle.
import { $ } from "../kit/dom.js";
import { fieldAt, maskOf } from "./format.js";
import { bit, follow, isUnknown, now, paint, set, settle } from "./word.js";

const across = () => getComputedStyle(grid).gridTemplateColumns.split(" ").length;
const STEPS = { ArrowLeft: () => -1, ArrowRight: () => 1, ArrowUp: () => -across(), ArrowDown: across };
const grid = $("bits");
const buttons = [...grid.querySelectorAll(".bit")];
let painting = null; // while the pointer is down: the value it paints, and the word before

follow(() => {
  for (const button of buttons) {
    const value = bit(button.dataset.bit), open = isUnknown(button.dataset.bit);
    button.lastElementChild.textContent = open ? "?" : value;
    button.classList.toggle("one", value === 1n && !open);
    button.setAttribute("aria-pressed", open ? "mixed" : value === 1n);
  }
});

const known = (at) => (fieldAt(at) ? maskOf(fieldAt(at)) : 0n);
grid.addEventListener("pointerdown", (event) => {
  const button = event.target.closest(".bit");
  if (!button) return;
  event.preventDefault();
  button.focus();
  button.releasePointerCapture?.(event.pointerId);
  painting = { value: 1n - bit(button.dataset.bit), before: now() };
  paint(button.dataset.bit, painting.value, known(button.dataset.bit));
});
grid.addEventListener("pointerover", (event) => {
  const button = painting && event.target.closest(".bit");
  if (button) paint(button.dataset.bit, painting.value, known(button.dataset.bit));
});
addEventListener("pointerup", () => {
  if (painting) settle(painting.before);
  painting = null;
});
grid.addEventListener("keydown", (event) => {
  const button = event.target.closest(".bit"), step = STEPS[event.key]?.();
  if (!button || !(step || event.key === " " || event.key === "Enter")) return;
  event.preventDefault();
  if (step) buttons[buttons.indexOf(button) + step]?.focus();
  else set(now() ^ (1n << BigInt(button.dataset.bit)), known(button.dataset.bit));
});
