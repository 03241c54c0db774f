// The tile explorer: a cell of any picture is the same bytes in the others; pointing spells its address bits, pinning
// says where its first element lies.
import "../kit/auto.js";
import "../kit/scripted.js";
import { copyButtons } from "../kit/copy.js";
import { $ } from "../kit/dom.js";
import { zoomPictures } from "../kit/pictures.js";
import { followPins } from "../kit/pins.js";
import { fill } from "../kit/template.js";

const WORD = 4, BANKS = 32;
const { drawings, words, answer } = JSON.parse($("data").textContent);
const whole = drawings.at(-1); // the others show parts of it

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

/** Row and column of an element, null for any other text. */
function elementOf(pin) {
  const [, mn, k] = (/^tile:(\d+),(\d+)$/.exec(pin) ?? []).map(Number);
  return mn < answer.mn && k < answer.k ? { mn, k } : null;
}

/** The cell of a drawing that has an element, -1 where another part of the tile has it. */
function cellWith({ data, byFirst }, { mn, k }) {
  const from = (at) => at - (at % data.span);
  return byFirst.get(data.along === "k" ? `${mn},${from(k)}` : `${from(mn)},${k}`) ?? -1;
}

function describe(pin) {
  const element = elementOf(pin);
  if (!element) return null;
  const cell = cellWith(shown.at(-1), element), facts = factsOf(cell, whole), at = element[whole.along];
  const byte = facts.after + Math.floor((at % whole.span) * answer.bits / 8), bank = Math.floor(byte / WORD) % BANKS;
  const offset = (byte - answer.base).toLocaleString("en-US");
  const line = fill(answer.line, { ...element, byte_hex: byte.toString(16), offset, bank });
  return { line, text: "", holder: bank, spoken: fill(whole.says.spoken, facts) };
}

/** The readout below the first pictures; what it said last stays when the pointer leaves. */
function spell(pin) {
  const element = elementOf(pin);
  if (!element) return;
  const cell = cellWith(shown.at(-1), element);
  $("chunk").textContent = fill(whole.says.cell, factsOf(cell, whole));
  document.documentElement.dataset.chunk = cell;
}

const shown = drawings.map((data) =>
  ({ data, byFirst: new Map(data.cells.mn.map((mn, cell) => [`${mn},${data.cells.k[cell]}`, cell])) }));

const pictures = shown.flatMap((drawing) => drawing.data.panels.map((grid) => {
  const { data } = drawing, stored = grid.name === "memory";
  const svg = document.querySelector(`[data-drawing=${data.name}] [data-panel=${grid.name}] > svg`);
  const cells = stored ? new Map(data.place.map((place, cell) => [place, cell])) : null;
  const pinOf = (row, col) => {
    const at = row * grid.cols + col, cell = stored ? cells.get(at) : at;
    return cell === undefined ? "" : `tile:${data.cells.mn[cell]},${data.cells.k[cell]}`;
  };
  const cellOf = (pin) => {
    const element = elementOf(pin), cell = element ? cellWith(drawing, element) : -1;
    const at = stored ? data.place[cell] : cell;
    return cell < 0 ? null : [Math.floor(at / grid.cols), at % grid.cols];
  };
  return { svg, grid, pinOf, cellOf };
}));

copyButtons();
zoomPictures();
followPins({ pictures, describe, words, hover: spell });
// A stride named in a card and its arrow in memory light each other.
for (const one of document.querySelectorAll("[data-stride]")) {
  const both = document.querySelectorAll(`[data-stride=${one.dataset.stride}]`);
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    one.addEventListener(event, () => both.forEach((each) => each.classList.toggle("lit", on)));
  }
}
