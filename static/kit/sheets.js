// Pictures of the server whose cells say what they hold, by app/kit/sheets.py: each sheet is a grid, its layers have
// the numbers and the sentences of its cells.
import "./auto.js";
import { copyButtons } from "./copy.js";
import { $ } from "./dom.js";
import { holderOf, linesOf } from "./layers.js";
import { zoomPictures } from "./pictures.js";
import { followPins } from "./pins.js";

const { sheets, words } = JSON.parse($("sheets").textContent);
const byName = new Map(sheets.map((sheet) => [sheet.name, sheet]));

function splitPin(text) {
  const [, name, row, col] = /^(\w+):(\d+),(\d+)$/.exec(text) ?? [], sheet = byName.get(name);
  return sheet && Number(row) < sheet.rows && Number(col) < sheet.cols ? [sheet, Number(row), Number(col)] : null;
}

function describe(text) {
  const [sheet, row, col] = splitPin(text) ?? [];
  if (!sheet) return null;
  const [line, ...more] = linesOf(sheet, row, col), holder = holderOf(sheet, row, col);
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
