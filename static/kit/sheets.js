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
  return svg ? [{ svg, grid: { ...grid, rows: sheet.rows, cols: sheet.cols },
    pinOf: (row, col) => `${sheet.name}:${row},${col}`,
    cellOf: (text) => {
      const [own, row, col] = splitPin(text) ?? [];
      return own === sheet ? [row, col] : null;
    } }] : [];
}));

copyButtons();
zoomPictures();
followPins({ pictures, describe, words });
