// Who holds which element: the maps that the server sent, looked up by cell and by thread.
import { data, shownThreads } from "./state.js";
import { expand } from "./whole.js";

// An exported site keeps maps in files of their own, named by their content, because many instructions share them.
const sent = ([name, op]) => [name, typeof op === "string" ? structuredClone(window.lanescopeMaps[op]) : op];
export const operands = Object.fromEntries(Object.entries(data.operands).map(sent));

for (const op of Object.values(operands)) {
  if (op.steps) expand(op);
  else index(op);
}

function index(op) {
  op.byThread = new Map();
  for (let at = 0; at < op.thread.length; at++) {
    const thread = op.thread[at];
    if (!op.byThread.has(thread)) op.byThread.set(thread, []);
    op.byThread.get(thread).push({ cell: Math.floor(at / op.copies), value: op.value[at] });
  }
}

const indexOf = ({ panel, row, col }) => row * panel.cols + col;

/** Every owner of a cell, {thread, value}: one, or as many as its element has copies. */
export function owners(cell) {
  const { copies, thread, value } = cell.panel.operand, first = indexOf(cell) * copies;
  const all = Array.from({ length: copies }, (_, n) => ({ thread: thread[first + n], value: value[first + n] }));
  return all.at(-1)?.thread < 0 ? all.filter((held) => held.thread >= 0) : all;
}

/** The owner that is spoken of first: one of those that the chosen lanes leave, where they leave any. */
export function owner(cell) {
  const all = owners(cell), chosen = all.length > 1 && shownThreads();
  return (chosen && all.find(({ thread }) => chosen.has(thread))) || all[0];
}

/** What a thread holds of an operand: [{cell, value}], in the order of the values. */
export function heldBy(op, thread) {
  if (op.byThread) return (op.byThread.get(thread) ?? []).toSorted((one, other) => one.value - other.value);
  return op.heldBy(thread - (thread % op.team));
}

/** A thread as people say it: its lane, or warp and lane with its number in the warpgroup. */
export function holder(thread) {
  if (!data.warp) return [`${data.unit ?? "lane"} ${thread}`, ""];
  return [`warp ${Math.floor(thread / data.warp)}, lane ${thread % data.warp}`, `thread ${thread}`];
}

/** The number of a name, or the register, for one owner. */
export const numberOf = (op, name, held) => op.categories[name].numbers[held[op.categories[name].of]];

/** Further numbers of a cell that labels and sentences may name. */
export const fieldsOf = ({ fields }, at) =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, all]) => [name, all[at]]));

/** Every name of the pattern with its number for one owner. */
export const digitsOf = (op, held) => Object.fromEntries(op.digits.map((name) => [name, numberOf(op, name, held)]));

const distinct = (list) => [...new Set(list)].join(",");

/** What the templates of a cell's label may name. */
export function factsOf(cell) {
  const all = owners(cell), values = all.map((held) => held.value);
  const registers = values.map((value) => cell.panel.operand.register[value]);
  const said = { thread: all[0].thread, value: values[0], values: distinct(values), registers: distinct(registers),
    more: all.length > 1 ? "+" : "" };
  const fields = fieldsOf(cell.panel.operand, indexOf(cell));
  return { ...said, row: cell.row, col: cell.col, index: indexOf(cell), ...fields };
}
