// Pictures of the server whose cells say what they hold, by app/kit/sheets.py: each sheet is a grid, its layers have
// the numbers and the sentences of its cells.
import "./auto.js";
import { copyButtons } from "./copy.js";
import { $ } from "./dom.js";
import { zoomPictures } from "./pictures.js";
import { followPins } from "./pins.js";
import { fill } from "./template.js";

const { sheets, words } = JSON.parse($("sheets").textContent);
const byName = new Map(sheets.map((sheet) => [sheet.name, sheet]));

const numberAt = ({ down, across, cells }, row, col, cols) =>
  (down ? down[row] + across[col] : cells[row * cols + col]);

/** The numbers of a cell in a layer, null where it has nothing of it. */
function factsOf(layer, row, col) {
  const [down, right] = [row - layer.row, col - layer.col], facts = { row, col };
  if (down < 0 || right < 0 || down >= layer.rows || right >= layer.cols) return null;
  for (const [name, numbers] of Object.entries(layer.numbers)) {
    facts[name] = numberAt(numbers, down, right, layer.cols);
    if (facts[name] < 0) return null;
  }
  return facts;
}

function splitPin(text) {
  const [, name, row, col] = /^(\w+):(\d+),(\d+)$/.exec(text) ?? [], sheet = byName.get(name);
  return sheet && Number(row) < sheet.rows && Number(col) < sheet.cols ? [sheet, Number(row), Number(col)] : null;
}

function describe(text) {
  const [sheet, row, col] = splitPin(text) ?? [];
  if (!sheet) return null;
  const found = sheet.layers.map((layer) => [layer.line, factsOf(layer, row, col)]).filter(([, facts]) => facts);
  const lines = found.map(([template, facts]) => fill(template, facts));
  if (!lines[0]?.startsWith("`")) lines.unshift(fill(sheet.empty, { row, col })); // nothing names the cell
  const [line, ...more] = lines;
  const holder = found.map(([, facts]) => facts[sheet.group]).find((number) => number !== undefined);
  return { line, text: more.map((each) => `${each}.`).join(" ").replaceAll("`", ""), holder, group: sheet.group };
}

const pictures = sheets.flatMap((sheet) => sheet.grids.flatMap((grid) => {
  const svg = document.querySelector(grid.selector);
  const { row, col } = grid, last = { rows: row + (grid.rows || sheet.rows), cols: col + (grid.cols || sheet.cols) };
  const draws = (r, c) => r >= row && c >= col && r < last.rows && c < last.cols;
  return svg ? [{ svg, grid: { ...grid, ...last },
    pinOf: (r, c) => `${sheet.name}:${r},${c}`,
    cellOf: (text) => {
      const [own, r, c] = splitPin(text) ?? [];
      return own === sheet && draws(r, c) ? [r, c] : null;
    } }] : [];
}));

copyButtons();
zoomPictures();
const windowed = sheets.some((sheet) => sheet.grids.some((grid) => grid.rows));
followPins({ pictures, describe, words, inView: (pin) => !windowed || pictures.some((one) => one.cellOf(pin)) });
