// The tile explorer: pointing at a cell in either picture marks it in the other and spells its address bits.
import "../kit/scripted.js";
import { $ } from "../kit/dom.js";
import { fill } from "../kit/template.js";

const data = JSON.parse($("data").textContent);
const drawing = document.querySelector("#stage > svg");
const panels = Object.fromEntries(data.panels.map((panel) => [panel.name, panel]));
const cellAtPlace = new Map(data.place.map((place, cell) => [place, cell]));

function cellAt(panel, x, y) {
  if (!panel) return -1;
  const col = Math.floor((x - panel.x) / panel.cell_width), row = Math.floor((y - panel.y) / panel.cell_height);
  return row >= 0 && col >= 0 && row < panel.rows && col < panel.cols ? row * panel.cols + col : -1;
}

function mark(panel, cell) {
  if (!panel) return;
  const rect = $(`mark-${panel.name}`);
  rect.setAttribute("x", panel.x + (cell % panel.cols) * panel.cell_width);
  rect.setAttribute("y", panel.y + Math.floor(cell / panel.cols) * panel.cell_height);
  rect.setAttribute("visibility", "visible");
}

/** An address in binary, in the groups that the swizzle tells apart; groups: their sizes from the right. */
function bits(address) {
  let left = address.toString(2).padStart(data.digits, "0");
  const parts = data.groups.map((size) => {
    const part = left.slice(-size);
    left = left.slice(0, -size);
    return part;
  });
  return [left, ...parts.reverse()].join(" ");
}

/** What the templates of a cell may name: the server's numbers of that cell. */
function factsOf(cell) {
  const numbers = Object.fromEntries(Object.entries(data.cells).map(([name, all]) => [name, all[cell]]));
  const { before, after, bank, last_bank: last } = numbers;
  const facts = { ...numbers, before_bits: bits(before), after_bits: bits(after) };
  Object.assign(facts, { before_hex: before.toString(16), after_hex: after.toString(16) });
  const banks = fill(bank === last ? data.says.bank : data.says.banks, numbers);
  return { ...facts, banks, place: fill(data.says.place, numbers) };
}

function show(cell) {
  const facts = factsOf(cell);
  mark(panels.logical, cell);
  mark(panels.memory, data.place[cell]);
  $("chunk").textContent = fill(data.says.cell, facts);
  document.documentElement.dataset.chunk = cell;
  return facts;
}

drawing.addEventListener("pointermove", (event) => {
  const box = drawing.getBoundingClientRect(), scale = drawing.viewBox.baseVal.width / box.width;
  const [x, y] = [(event.clientX - box.x) * scale, (event.clientY - box.y) * scale];
  const cell = cellAt(panels.logical, x, y), place = cellAt(panels.memory, x, y);
  if (cell >= 0) show(cell);
  else if (place >= 0 && cellAtPlace.has(place)) show(cellAtPlace.get(place));
});
drawing.tabIndex = 0;
drawing.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.cols, ArrowDown: data.cols }[event.key];
  if (!step) return;
  event.preventDefault();
  const now = Number(document.documentElement.dataset.chunk ?? 0);
  // Read out for the keyboard only: a pointer passes many cells on its way.
  $("spoken").textContent = fill(data.says.spoken, show(Math.min(data.place.length - 1, Math.max(0, now + step))));
});
// A stride named in the table and its arrow in memory light each other.
for (const one of document.querySelectorAll("[data-stride]")) {
  const both = document.querySelectorAll(`[data-stride=${one.dataset.stride}]`);
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    one.addEventListener(event, () => both.forEach((each) => each.classList.toggle("lit", on)));
  }
}
$("tile").addEventListener("change", () => $("tile").requestSubmit());
