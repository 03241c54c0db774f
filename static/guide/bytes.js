// The live figure of the page "128 bytes": the server drew every part, this moves them. Rows are dragged in shared
// memory (row 0 moves the start, any other row the pitch), arrow keys do the same, and the address keeps the state.

import {
  CHUNKS, ROWS, STEP_CHUNKS, describeBanks, describeRead, describeXor, groups, read, stored,
} from "./row.js";

// as app/guide/row_figure.py has them
const LEFT = 16, TOP = 64, WIDE = 30, HIGH = 22, MEMORY = 360, SLOT = 62, BARS = 416, BOW = 56;
const form = document.getElementById("row-form"), figure = document.getElementById("row-figure");
const part = (id) => document.getElementById(id);
const field = (name) => form.elements.namedItem(name);
const NUMBERS = ["start", "pitch", "row", "chunk"], DEFAULTS = {};

const readState = () => ({
  ...Object.fromEntries(NUMBERS.map((name) => [name, Number(field(name).value)])),
  swizzle: field("swizzle").value,
  by: field("by").value,
});

/** The corner of the cell of an address. */
const place = (address) => [MEMORY + ((address % 128) >> 4) * SLOT, TOP + Math.floor(address / 128) * HIGH];

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function paintMemory(state) {
  const held = new Map();
  for (let row = 0; row < ROWS; ++row)
    for (let chunk = 0; chunk < CHUNKS; ++chunk) held.set(stored(state, row, chunk) >> 4, [row, chunk]);
  for (const slot of figure.querySelectorAll("[data-slot]")) {
    const [row, chunk] = held.get(Number(slot.dataset.slot)) ?? [-1, -1];
    slot.setAttribute("class", chunk < 0 ? "chunk" : `chunk chunk-${chunk}`);
    slot.dataset.row = row;
    slot.dataset.chunk = chunk;
    part(`text-${slot.dataset.slot}`).textContent = row < 0 ? "" : `${row}.${chunk}`;
  }
}

function paintArrows(state) {
  const y = TOP + state.row * HIGH;
  part("row-mark").setAttribute("y", y);
  for (let chunk = 0; chunk < CHUNKS; ++chunk) {
    const x = LEFT + chunk * WIDE + WIDE / 2, [left, toY] = place(stored(state, state.row, chunk));
    const toX = left + SLOT / 2;
    setAttributes(part(`arrow-${chunk}`), {
      d: `M${x} ${y} C${x} ${y - BOW} ${toX} ${toY - BOW} ${toX} ${toY} m-3 -5 l3 5 l3 -5`,
      class: chunk === state.chunk ? "arrow chosen" : "arrow",
    });
  }
}

function paintRead(state) {
  for (let row = 0; row < ROWS; ++row)
    for (let chunk = 0; chunk < STEP_CHUNKS; ++chunk) {
      const address = read(state, row, chunk), [x, y] = place(address);
      const right = address === stored(state, row, chunk);
      setAttributes(part(`read-${row}-${chunk}`), { x: x + 2, y: y + 2, class: `read ${right ? "right" : "wrong"}` });
    }
}

function paintBanks(state) {
  part("bank-title").textContent = describeBanks(state);
  groups(state).forEach((count, group) => {
    const high = 12 * count;
    setAttributes(part(`bank-${group}`), { y: BARS - high, height: high, class: count > 1 ? "bank many" : "bank" });
    part(`count-${group}`).textContent = count;
    part(`count-${group}`).setAttribute("y", BARS - high - 4);
  });
}

let waiting = 0;

/** A moment later: a drag and a held key move quickly, and browsers refuse addresses that change so often. */
function keepInAddress(state) {
  clearTimeout(waiting);
  waiting = setTimeout(() => writeAddress(state), 60);
}

function writeAddress(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value !== DEFAULTS[name]) query.set(name, value);
  const text = query.toString();
  history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
}

function paint(kept = true) {
  const state = readState();
  paintMemory(state);
  paintArrows(state);
  paintRead(state);
  paintBanks(state);
  part("row-xor").textContent = part("row-title").textContent = describeXor(state);
  part("row-read").textContent = describeRead(state);
  for (const output of form.querySelectorAll("output")) output.textContent = field(output.name.slice(4)).value;
  if (kept) keepInAddress(state);
}

/** Set a number, within its limits and in its steps. */
function setNumber(name, value) {
  const input = field(name), step = Number(input.step);
  const whole = Math.round(value / step) * step;
  input.value = Math.min(Number(input.max), Math.max(Number(input.min), whole));
}

// Dragging: the chunks that the pointer has moved by, over a line of eight.
let drag = null;
const chunkAt = (event) => {
  const box = figure.getBoundingClientRect(), scale = figure.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  return Math.floor((x - MEMORY) / SLOT) + CHUNKS * Math.floor((y - TOP) / HIGH);
};

figure.addEventListener("pointerdown", (event) => {
  const cell = event.target.closest("[data-chunk]");
  if (!cell || Number(cell.dataset.row) < 0) return;
  setNumber("row", Number(cell.dataset.row));
  setNumber("chunk", Number(cell.dataset.chunk));
  if (cell.dataset.slot) {
    drag = { from: chunkAt(event), row: Number(cell.dataset.row), ...readState() };
    figure.setPointerCapture(event.pointerId);
  }
  paint();
});
figure.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const moved = 16 * (chunkAt(event) - drag.from);
  if (drag.row) setNumber("pitch", drag.pitch + moved / drag.row);
  else setNumber("start", drag.start + moved);
  paint();
});
for (const name of ["pointerup", "pointercancel"]) figure.addEventListener(name, () => { drag = null; });

const KEYS = {
  ArrowLeft: ["start", -16], ArrowRight: ["start", 16], ArrowUp: ["row", -1], ArrowDown: ["row", 1],
  "[": ["pitch", -16], "]": ["pitch", 16],
};
figure.parentNode.addEventListener("keydown", (event) => {
  const key = KEYS[event.key], box = figure.parentNode;
  if (box.scrollWidth > box.clientWidth && /^Arrow(Left|Right)$/.test(event.key)) return; // scroll it; sliders move it
  if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  setNumber(key[0], Number(field(key[0]).value) + key[1]);
  paint();
});

// Numbers become sliders, whose own arrow keys move them; the button is for pages without scripts.
for (const name of NUMBERS) {
  const input = field(name), output = document.createElement("output");
  DEFAULTS[name] = { start: 0, pitch: 128, row: 3, chunk: 0 }[name];
  output.name = `say-${name}`;
  input.type = "range";
  input.after(output);
}
DEFAULTS.swizzle = "128B";
DEFAULTS.by = "address";
form.querySelector("button").hidden = true;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => paint());
figure.classList.add("live");
paint(false);
