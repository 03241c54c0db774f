// The tile explorer: pointing at a cell in any picture marks it in the one beside it and spells its address bits.
import "../kit/scripted.js";
import { $ } from "../kit/dom.js";
import { followFind } from "../kit/find.js";
import { zoomPictures } from "../kit/pictures.js";
import { fill } from "../kit/template.js";

function cellAt(panel, x, y) {
  const col = Math.floor((x - panel.x) / panel.cell_width), row = Math.floor((y - panel.y) / panel.cell_height);
  return row >= 0 && col >= 0 && row < panel.rows && col < panel.cols ? row * panel.cols + col : -1;
}

function mark(drawing, panel, cell) {
  const rect = drawing.querySelector(`[data-mark=${panel.name}]`);
  rect.setAttribute("x", panel.x + (cell % panel.cols) * panel.cell_width);
  rect.setAttribute("y", panel.y + Math.floor(cell / panel.cols) * panel.cell_height);
  rect.setAttribute("visibility", "visible");
}

/** An address in binary, in the groups that the swizzle tells apart; groups: their sizes from the right. */
function bits(address, data) {
  let left = address.toString(2).padStart(data.digits, "0");
  const parts = data.groups.map((size) => {
    const part = left.slice(-size);
    left = left.slice(0, -size);
    return part;
  });
  return [left, ...parts.reverse()].join(" ");
}

/** What the templates of a cell may name: the server's numbers of that cell. */
function factsOf(cell, data) {
  const numbers = Object.fromEntries(Object.entries(data.cells).map(([name, all]) => [name, all[cell]]));
  const { before, after, bank, last_bank: last } = numbers;
  const facts = { ...numbers, before_bits: bits(before, data), after_bits: bits(after, data) };
  Object.assign(facts, { before_hex: before.toString(16), after_hex: after.toString(16) });
  const banks = fill(bank === last ? data.says.bank : data.says.banks, numbers);
  return { ...facts, banks, place: fill(data.says.place, numbers) };
}

function follow(data) {
  const drawing = document.querySelector(`[data-drawing=${data.name}]`);
  const cellAtPlace = new Map(data.place.map((place, cell) => [place, cell]));
  let now = 0;

  function show(cell) {
    now = cell;
    const facts = factsOf(cell, data);
    for (const panel of data.panels) mark(drawing, panel, panel.name === "memory" ? data.place[cell] : cell);
    $("chunk").textContent = fill(data.says.cell, facts);
    document.documentElement.dataset.chunk = cell;
    return facts;
  }

  for (const panel of data.panels) {
    const picture = drawing.querySelector(`[data-panel=${panel.name}] > svg`);
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect(), scale = picture.viewBox.baseVal.width / box.width;
      const at = cellAt(panel, (event.clientX - box.x) * scale, (event.clientY - box.y) * scale);
      const cell = panel.name === "memory" ? cellAtPlace.get(at) : at;
      if (cell >= 0) show(cell);
    });
    picture.tabIndex = 0;
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.cols, ArrowDown: data.cols }[event.key];
      if (!step) return;
      event.preventDefault();
      // Read out for the keyboard only: a pointer passes many cells on its way.
      const to = Math.min(data.place.length - 1, Math.max(0, now + step));
      $("spoken").textContent = fill(data.says.spoken, show(to));
    });
  }
}

zoomPictures();
for (const data of JSON.parse($("data").textContent).drawings) follow(data);
// A stride named in a card and its arrow in memory light each other.
for (const one of document.querySelectorAll("[data-stride]")) {
  const both = document.querySelectorAll(`[data-stride=${one.dataset.stride}]`);
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    one.addEventListener(event, () => both.forEach((each) => each.classList.toggle("lit", on)));
  }
}
followFind();
$("tile").addEventListener("change", () => $("tile").requestSubmit());
