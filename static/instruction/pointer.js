// The pointer on the stage: moving shows a lane, a click or tap pins its cell. A drag pans and a double click fits;
// neither pins.
import { focus, sameCell, notify } from "./focus.js";
import { lightUp } from "./picture.js";
import { pin, pinTexts } from "./pin.js";
import { stage } from "./stage.js";
import { state } from "./state.js";

const STILL = 4; // pixels between press and release that are still a click
let pressed = null;
let before = [["", ""], ["", ""]]; // the two pins before each of the last two clicks

function cellUnder(event) {
  const box = stage.base.getBoundingClientRect();
  const cell = stage.hit(event.clientX - box.left, event.clientY - box.top);
  return cell && isShown(cell) ? cell : null;
}

/** Whether the chosen lanes and warps leave a holder of the cell: what they hide is not pointed at. */
const isShown = ({ panel, row, col }) => panel.visibleCell?.(row * panel.cols + col) ?? true;

export function followPointer() {
  stage.element.addEventListener("pointermove", (event) => {
    if (stage.element.classList.contains("dragged")) return;
    const cell = cellUnder(event);
    if (sameCell(cell, focus.hovered)) return;
    focus.hovered = cell;
    focus.cursor = null;
    lightUp();
    if (!state.pin) notify();
  });
  stage.element.addEventListener("pointerleave", () => {
    focus.hovered = null;
    lightUp();
  });
  stage.element.addEventListener("pointerdown", (event) => {
    pressed = event.button === 0 && event.isPrimary ? [event.clientX, event.clientY] : null;
  }, true);
  addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > STILL) return;
    pressed = null;
    const cell = cellUnder(event);
    if (!cell) return;
    before = [before[1], [state.pin, state.pin2 ?? ""]];
    pin(cell, event.shiftKey);
  }, true);
  addEventListener("pointercancel", () => { pressed = null; });
  stage.element.addEventListener("touchstart", (event) => {
    if (event.touches.length > 1) pressed = null;
  }, { passive: true });
  stage.element.addEventListener("dblclick", (event) => {
    if (cellUnder(event)) pinTexts(...before[0], false);
  });
}
