// What a cell of a sheet holds, by app/kit/sheets.py: layers of numbers, each a box of the grid, with a sentence.
import { fill } from "./template.js";

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

const listFacts = (sheet, row, col) =>
  sheet.layers.map((layer) => [layer.line, factsOf(layer, row, col)]).filter(([, facts]) => facts);

/** The number by which cells of sheets belong together, undefined where the cell has none. */
export const holderOf = (sheet, row, col) =>
  listFacts(sheet, row, col).map(([, facts]) => facts[sheet.group]).find((number) => number !== undefined);

/** A cell's sentences: the answer first, which names the cell. */
export function linesOf(sheet, row, col) {
  const lines = listFacts(sheet, row, col).map(([template, facts]) => fill(template, facts));
  if (!lines[0]?.startsWith("`")) lines.unshift(fill(sheet.empty, { row, col })); // nothing names the cell
  return lines;
}
