// Keys, the pointer and the buttons of the stepper.
import { $ } from "../kit/dom.js";

const TYPING = /INPUT|TEXTAREA|SELECT/;

/**
 * Connects keys and controls. act: {toggle, move(by, whole), go(step), unpin, speed(value), one(flag)}; keyed: inside
 * what the keys count.
 */
export function connectControls(act, caption, timeline, keyed) {
  $("step-play").addEventListener("click", act.toggle);
  $("step-next").addEventListener("click", () => act.move(1));
  $("step-back").addEventListener("click", () => act.move(-1));
  $("step-first").addEventListener("click", () => act.go(0));
  $("step-last").addEventListener("click", () => act.go(timeline.last));
  $("step-speed").addEventListener("change", (event) => act.speed(Number(event.target.value)));
  for (const button of document.querySelectorAll("#step-one button")) {
    button.addEventListener("click", () => act.one(button.value === "1"));
  }
  const keys = {
    ArrowRight: (event) => act.move(1, event.shiftKey), ArrowLeft: (event) => act.move(-1, event.shiftKey),
    Home: () => act.go(0), End: () => act.go(timeline.last), Escape: act.unpin, " ": act.toggle,
  };
  keyed.addEventListener("keydown", (event) => {
    const { target } = event;
    if (TYPING.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    if (event.key !== "Escape" && target.closest(".as-list, .tables")) return; // scrolls what has the focus
    if (event.key === " " && target.closest("button, a, summary")) return; // presses what has the focus
    event.preventDefault();
    keys[event.key](event);
  });
  const scrub = $("scrub"), reach = (event) => {
    const step = caption.stepAt(event.clientX);
    if (step !== timeline.step || event.type === "pointerdown") act.go(step);
  };
  scrub.addEventListener("pointerdown", (event) => {
    scrub.setPointerCapture(event.pointerId);
    reach(event);
  });
  scrub.addEventListener("pointermove", (event) => { if (event.buttons) reach(event); });
}

/** Connects the canvas: hover(element, lane) and pin(element). */
export function connectPointer(canvas, scene, timeline, { hover, pin }) {
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top, timeline.xored];
  };
  canvas.addEventListener("pointermove", (event) => {
    const found = scene.pick(...at(event));
    canvas.classList.toggle("over", Boolean(found));
    hover(found, found ? null : scene.lane(...at(event)));
  });
  canvas.addEventListener("pointerleave", () => hover(null, null));
  canvas.addEventListener("click", (event) => {
    const found = scene.pick(...at(event));
    if (found) pin(found);
  });
}
