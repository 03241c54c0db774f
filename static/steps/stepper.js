// The stepper: one product from shared memory to D, a step at a time. Numbers and sentences come with the page.
import "../kit/auto.js";
import { $ } from "../kit/dom.js";
import { keep } from "../kit/place.js";
import { Caption } from "./caption.js";
import { Drawing } from "./drawing.js";
import { connectControls, connectPointer } from "./input.js";
import * as matrices from "./matrices.js";
import { makeModel } from "./model.js";
import { Motion } from "./motion.js";
import { Pen, readColours } from "./pen.js";
import { Scene } from "./scene.js";
import { secondParts } from "./second/parts.js";
import { Timeline } from "./timeline.js";
import { wgmmaParts } from "./wgmma/parts.js";

const MARGIN = 10; // pixels between the picture and the controls below it

const still = matchMedia("(prefers-reduced-motion: reduce)");
const data = JSON.parse($("stepper-data").textContent);
const onOneWarp = { makeModel, Timeline, Scene, Caption, Drawing, Motion };
const parts = data.s ? matrices : data.b?.words ? wgmmaParts : data.then?.a ? secondParts : onOneWarp;
const model = parts.makeModel(data), timeline = new parts.Timeline(model, still), scene = new parts.Scene(model);
const caption = new parts.Caption(model, timeline), drawing = new parts.Drawing(model, scene, timeline);
const motion = new parts.Motion(model, scene, timeline, drawing);
// What stands still is on the lower canvas, what moves on the upper one.
const box = document.querySelector(".stepper"), embedded = box.classList.contains("embedded");
const usual = Number(box.dataset.step ?? 1); // the step of an address that names none
const stage = $("scene"), [resting, canvas] = stage.querySelectorAll("canvas");
let pen = new Pen(canvas.getContext("2d"), readColours(stage)), below = new Pen(resting.getContext("2d"), pen.colours);
let frame = 0, last = 0, pin = null, hovered = null, lane = null, one = false;

// the address ---------------------------------------------------------------------------------------------------------

const query = new URLSearchParams(location.search);
query.delete("more");

/** An element of A or B with its k in cells, which may stand for several, or the first element of a cell. */
function scaled({ o, r, c }, by) {
  return { o, r: o === "b" ? Math.floor(r * by) : r, c: o === "a" ? Math.floor(c * by) : c };
}

function parsePin(text) {
  const found = /^([abdspvo]):(\d+),(\d+)$/.exec(text ?? "");
  if (!found || !(parts.pins ?? "abds").includes(found[1])) return null;
  const element = scaled({ o: found[1], r: Number(found[2]), c: Number(found[3]) }, 1 / (model.perCell ?? 1));
  return (element.o === "s") === Boolean(model.s) && model.has(element) ? element : null;
}

let waiting = 0;

/** Keeps the state in the address, a moment later: while it plays, steps follow one another quickly. */
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(keepState, timeline.playing ? 400 : 60);
}

function keepState() {
  if ("posted" in $("stepper-data").dataset) return; // no address holds these values
  const set = (name, value) => (value === null ? query.delete(name) : query.set(name, value));
  set("step", timeline.step + 1 === usual ? null : String(timeline.step + 1));
  const { o, r, c } = pin ? scaled(pin, model.perCell ?? 1) : {};
  set("pin", pin ? `${o}:${r},${c}` : null);
  set("one", one ? "1" : null);
  set("warp", timeline.chosen ? String(timeline.chosen) : null);
  set("speed", timeline.speed === 1 ? null : String(timeline.speed));
  keep(query.toString().replaceAll("%3A", ":").replaceAll("%2C", ","));
}

// drawing -------------------------------------------------------------------------------------------------------------

function layout() {
  const above = stage.getBoundingClientRect().top + scrollY;
  const controls = document.querySelector(".transport").offsetHeight;
  const free = embedded ? 0 : innerHeight - above - controls - MARGIN; // in a page as low as it can be read
  scene.layout(stage.clientWidth, free, timeline);
  const ratio = devicePixelRatio || 1;
  for (const each of [canvas, resting]) {
    each.width = Math.round(scene.width * ratio);
    each.height = Math.round(scene.height * ratio);
    each.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  canvas.style.height = resting.style.height = `${scene.height}px`;
  pen.forget();
  below.forget();
  const card = $("life"), { aside } = scene;
  card.classList.toggle("beside", Boolean(aside));
  for (const [side, value] of Object.entries({ left: aside?.x, top: aside?.y, width: aside?.w, height: aside?.h })) {
    card.style[side] = aside ? `${value}px` : "";
  }
  drawing.forget();
  caption.measure();
}

function draw() {
  drawing.draw(below);
  stage.classList.toggle("flying", timeline.crosses);
  pen.g.clearRect(0, 0, scene.width, scene.height);
  motion.draw(pen, { pin, one });
  if (lane !== null) motion.markLane(pen, lane);
  if (pin) motion.mark(pen, pin, pen.colours.trace, 2.5);
  if (hovered) motion.mark(pen, hovered, pen.colours.ink, 2);
}

function tick(now) {
  frame = 0;
  const { step } = timeline, { more, changed } = timeline.advance(now - last);
  last = now;
  if (timeline.step !== step && scene.follow(timeline)) layout();
  if (changed) show();
  draw();
  if (more) frame = requestAnimationFrame(tick);
}

function run() {
  if (frame) return;
  last = performance.now();
  frame = requestAnimationFrame(tick);
}

/** Words, controls and the address; the picture follows in the next frame. */
function show() {
  caption.show();
  $("step-out").textContent = caption.readOut(hovered);
  caption.showLife(pin, (step) => act.go(step, 0), act.unpin);
  for (const button of document.querySelectorAll("#step-one button")) {
    button.setAttribute("aria-pressed", String((button.value === "1") === one));
  }
  $("step-speed").value = String(timeline.speed);
  remember();
}

/** A change of the storage opens the page with the storage still in view. */
function connectOptions() {
  const form = $("step-options"), storage = form.querySelector("details");
  form.addEventListener("submit", () => {
    keepState();
    for (const name of ["step", "pin", "one", "speed", "warp"]) {
      if (form.elements.namedItem(name)) form.elements.namedItem(name).value = query.get(name) ?? "";
    }
    form.elements.namedItem("more").value = storage.open ? "1" : "";
  }, { capture: true });
}

function changed() {
  if (scene.follow(timeline)) layout();
  show();
  run();
}

const same = (p, q) => p === q || Boolean(p && q && p.o === q.o && p.r === q.r && p.c === q.c);
const act = {
  toggle() {
    timeline.playing = !timeline.playing;
    if (timeline.playing && timeline.step === timeline.last && timeline.t >= 1) timeline.go(0, 0);
    changed();
  },
  move(by, whole) {
    timeline.playing = false;
    timeline.move(by, whole);
    changed();
  },
  go(step, t = 1) {
    timeline.playing = false;
    timeline.go(step, t);
    changed();
  },
  unpin() {
    pin = null;
    changed();
  },
  look(warp) {
    timeline.look(warp);
    changed();
  },
  speed(value) {
    timeline.speed = value;
    changed();
  },
  one(flag) {
    one = flag;
    if (one && timeline.now.kind !== "k") timeline.go(timeline.firstK, 0);
    changed();
  },
};

connectControls(act, caption, timeline, embedded ? box : window);
caption.connect(act);
if (embedded) canvas.addEventListener("click", () => $("scrub").focus({ preventScroll: true })); // for its keys
connectPointer(canvas, scene, timeline, {
  hover(found, overLane) {
    if (same(found, hovered) && found?.slot === hovered?.slot && overLane === lane) return;
    hovered = found;
    lane = overLane;
    $("step-out").textContent = caption.readOut(found);
    if (!frame) draw();
  },
  pin(found) {
    pin = same(found, pin) ? null : found;
    timeline.attend(pin);
    changed();
  },
});
new ResizeObserver(() => {
  if (stage.clientWidth === scene.width) return;
  layout();
  if (!frame) draw();
}).observe(stage);
addEventListener("resize", () => {
  layout();
  draw();
});
document.addEventListener("theme", () => {
  pen = new Pen(pen.g, readColours(stage));
  below = new Pen(below.g, pen.colours);
  drawing.forget();
  draw();
});

timeline.go((Math.trunc(Number(query.get("step"))) || usual) - 1, 1);
timeline.t = 1;
timeline.speed = [.5, 1, 2, 4].includes(Number(query.get("speed"))) ? Number(query.get("speed")) : 1;
pin = parsePin(query.get("pin") ?? (
  query.has("row") || query.has("col") ? `d:${query.get("row") || 0},${query.get("col") || 0}` : null
));
one = query.get("one") === "1";
timeline.attend(pin, query.get("warp"));
if ($("step-options")) connectOptions();
scene.follow(timeline);
layout();
show();
draw();
document.documentElement.dataset.stepper = "ready";
