// The grid of lanes and registers: a row a lane, a column a value, the same elements as in the matrices. Its cells
// stand for theirs, so that pointing and pinning are the matrices' own.
import { Panel } from "./matrix.js";

const LANES = 32, MOST = 40; // columns: of more, those in view find room for labels
const isShown = (panel) => panel.operand && panel.operand.name !== "address";

/** The columns of the grid: each value of each matrix, in the order of the registers; of many those in view. */
function columnsOf(panels) {
  const all = panels.filter(isShown).flatMap((panel) => {
    const values = new Set(panel.operand.value.filter((_, at) => panel.operand.thread[at] >= 0));
    return [...values].sort((one, other) => one - other).map((value) => ({ panel, value }));
  });
  if (all.length <= MOST) return all;
  const seen = new Map(panels.filter(isShown).map((panel) => [panel, valuesInView(panel)]));
  return all.filter(({ panel, value }) => seen.get(panel).has(value));
}

function valuesInView(panel) {
  const { r0, r1, c0, c1 } = panel.visible(), { copies, value } = panel.operand, seen = new Set();
  for (let row = r0; row < r1; row++) for (let col = c0; col < c1; col++) {
    for (let n = 0, at = (row * panel.cols + col) * copies; n < copies; n++) seen.add(value[at + n]);
  }
  return seen;
}

/** What the grid's stage draws from, in the form of a matrix of its own; thread: of each row. */
function operandOf(columns, first, count) {
  const cols = columns.length, thread = new Array(LANES * cols).fill(-1), fields = { r: [], c: [] };
  const elements = new Array(LANES * cols).fill(null);
  columns.forEach(({ panel, value }, col) => {
    const op = panel.operand;
    for (let row = 0; row < LANES && first + row < count; row++) {
      const held = op.byThread.get(first + row)?.find((one) => one.value === value);
      if (!held) continue;
      const at = row * cols + col;
      thread[at] = first + row;
      elements[at] = { panel, row: Math.floor(held.cell / op.cols), col: held.cell % op.cols };
      [fields.r[at], fields.c[at]] = [elements[at].row, elements[at].col];
    }
  });
  const value = thread.map((_, at) => at % cols), byThread = new Map();
  thread.forEach((held, cell) => {
    if (held >= 0) byThread.set(held, [...(byThread.get(held) ?? []), { cell, value: cell % cols }]);
  });
  const own = { name: "lanes", title: "lanes", cols, copies: 1, thread, value, byThread, fields, text: "{r},{c}" };
  return { elements, operand: { ...own,
    register: columns.map((one) => one.panel.operand.register[one.value]), categories: coloursOf(columns, thread) } };
}

/** The colours of the cells: those of their matrices, each matrix by the name that it has or else by its first. */
function coloursOf(columns, thread) {
  const operands = [...new Set(columns.map(({ panel }) => panel.operand))];
  const names = new Set(operands.flatMap(({ categories }) => Object.keys(categories)));
  return Object.fromEntries([...names].map((name) => {
    const own = (op) => op.categories[name] ?? Object.values(op.categories)[0];
    const wheel = operands.flatMap((op) => own(op).wheel), starts = new Map();
    operands.reduce((at, op) => starts.set(op, at) && at + own(op).wheel.length, 0);
    const numbers = thread.map((held, at) => {
      const { panel: { operand }, value } = columns[at % columns.length], category = own(operand);
      const number = category.numbers[category.of === "thread" ? held : value];
      return held < 0 ? -1 : starts.get(operand) + (number % category.wheel.length);
    });
    return [name, { of: "cell", count: 0, numbers, wheel }];
  }));
}

/** The grid as a panel of the stage; warpOf(): which warp of a warpgroup it shows. null where nothing can be shown. */
export function makeLanes(slot, panels, data, warpOf) {
  if (!slot || !panels.some(isShown)) return null;
  const spec = { name: "lanes", title: "Lanes", rows: LANES, cols: 1, dims: ["lane", "slot"], warp_edges: [],
    thin_edges: true };
  const grid = new Panel(spec, null, slot, {}), letter = (data.register ?? "register")[0].toUpperCase();
  let shown = "";
  /** Shows another warp, or other values. Whether anything changed. */
  grid.follow = () => {
    const columns = columnsOf(panels), warp = warpOf();
    const now = [warp, ...columns.map(({ panel, value }) => panel.name + value)].join();
    if (now === shown || !columns.length) return false;
    shown = now;
    const { elements, operand } = operandOf(columns, warp * LANES, data.threads), cols = columns.length;
    Object.assign(grid, { operand, cols, col_edges: edgesOf(columns), col_names: namesOf(columns, letter) });
    Object.assign(grid.window, { x0: 0, x1: cols });
    grid.image.width = cols;
    grid.row_names = Array.from({ length: LANES }, (_, row) => `T${warp * LANES + row}`);
    const places = Map.groupBy([...elements.keys()].filter((at) => elements[at]), (at) => keyOf(elements[at]));
    grid.elementAt = ({ row, col }) => elements[row * cols + col];
    grid.cellsOf = (cell) => (places.get(keyOf(cell)) ?? []).map((at) =>
      ({ panel: grid, row: Math.floor(at / cols), col: at % cols }));
    return true;
  };
  grid.follow();
  return grid;
}

const keyOf = ({ panel, row, col }) => `${panel.name}:${row},${col}`;
const registerOf = ({ panel, value }) => panel.operand.register[value];
const sameRegister = (one, other) => one?.panel === other.panel && registerOf(one) === registerOf(other);

/** The columns before which another register begins. */
const edgesOf = (columns) => [...columns.keys()].filter((n) => n && !sameRegister(columns[n - 1], columns[n]));

/** What stands above the columns: the register above its first value, the matrix above its first register. */
function namesOf(columns, letter) {
  return columns.map((one, n) => {
    const before = columns[n - 1];
    if (sameRegister(before, one)) return "";
    return `${before?.panel === one.panel ? "" : `${one.panel.operand.title} `}${letter}${registerOf(one)}`;
  });
}
