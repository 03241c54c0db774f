// Pointer, wheel and fingers on the matrices: the wheel or two fingers zoom, a drag pans, a double click fits.
import { stage } from "./stage.js";
import { fit, isOpening, isWhole, pan, zoom } from "./window.js";

const STILL = 4; // pixels that a press may move and still be a click
const LINE = 16; // pixels of a wheel's line
let grip = null; // where a drag began: {panel, x, y, moved}
let pinch = null; // what two fingers hold: {panel, apart, at}

const placeOf = ({ clientX, clientY }) => {
  const box = stage.base.getBoundingClientRect();
  return [clientX - box.left, clientY - box.top];
};

function wheel(event) {
  const [x, y] = placeOf(event), panel = stage.panelAt(x, y);
  if (!panel) return;
  const unit = event.deltaMode ? LINE : 1, sideways = event.deltaX * unit, forward = event.deltaY * unit;
  const moved = Math.abs(sideways) > Math.abs(forward)
    ? pan(panel, 0, sideways / panel.cellWidth)
    : zoom(panel, panel.at(x, y), Math.exp(Math.max(-0.4, Math.min(0.4, forward * (event.ctrlKey ? 0.01 : 0.002)))));
  if (moved || event.ctrlKey) event.preventDefault();
}

function press(event) {
  const [x, y] = placeOf(event), panel = stage.panelAt(x, y);
  const pans = event.pointerType !== "touch" || stage.element.classList.contains("moved");
  const plain = event.button === 0 && event.isPrimary && !event.shiftKey;
  grip = panel && pans && plain ? { panel, x, y, moved: false } : null;
}

function drag(event) {
  if (!grip || pinch || !event.isPrimary) return;
  const [x, y] = placeOf(event);
  if (!grip.moved && Math.hypot(x - grip.x, y - grip.y) <= STILL) return;
  grip.moved = true;
  stage.element.classList.add("dragged");
  pan(grip.panel, (grip.y - y) / grip.panel.cellHeight, (grip.x - x) / grip.panel.cellWidth);
  Object.assign(grip, { x, y });
}

function release() {
  grip = null;
  stage.element.classList.remove("dragged");
}

const between = ([one, other]) => ({
  apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
  point: placeOf({ clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 }),
});

function fingers(event) {
  if (event.touches.length !== 2) {
    pinch = null;
    return;
  }
  const { apart, point } = between(event.touches), panel = pinch?.panel ?? stage.panelAt(...point);
  if (!panel) return;
  event.preventDefault();
  if (pinch) {
    zoom(panel, panel.at(...point), pinch.apart / apart);
    const [row, col] = panel.at(...point);
    pan(panel, pinch.at[0] - row, pinch.at[1] - col);
  }
  pinch = { panel, apart, at: panel.at(...point) };
}

/** One finger scrolls the page until something is zoomed. */
const settled = () => stage.element.classList.toggle("moved", !isWhole() && !isOpening());

export function followGestures() {
  const { element } = stage;
  element.addEventListener("wheel", wheel, { passive: false });
  element.addEventListener("pointerdown", press);
  addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, release);
  for (const touch of ["touchstart", "touchmove", "touchend", "touchcancel"]) {
    element.addEventListener(touch, fingers, { passive: false });
  }
  element.addEventListener("dblclick", (event) => stage.panelAt(...placeOf(event)) && fit());
  document.addEventListener("view", settled);
  settled();
}
