// The pointer on the stage: moving shows a lane, a click pins its cell; a drag is the zoom's.
import { focus, sameCell } from "./focus.js";
import { fillPanel } from "./panel.js";
import { lightUp } from "./picture.js";
import { pin } from "./pin.js";
import { stage } from "./stage.js";
import { state } from "./state.js";

const STILL = 4; // pixels between press and release that are still a click
let pressed = null;

function cellUnder(event) {
  const box = stage.base.getBoundingClientRect();
  return stage.hit(event.clientX - box.left, event.clientY - box.top);
}

export function followPointer() {
  stage.element.addEventListener("pointermove", (event) => {
    const cell = cellUnder(event);
    if (sameCell(cell, focus.hovered)) return;
    focus.hovered = cell;
    focus.cursor = null;
    if (state.pin) return;
    lightUp();
    fillPanel();
  });
  stage.element.addEventListener("pointerleave", () => {
    focus.hovered = null;
    if (!state.pin) lightUp();
  });
  stage.element.addEventListener("pointerdown", (event) => {
    pressed = event.button === 0 && !event.target.closest(".modebar") ? [event.clientX, event.clientY] : null;
  }, true);
  addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > STILL) return;
    pressed = null;
    const cell = cellUnder(event);
    if (cell) pin(cell);
  }, true);
}
