// The panel beside the matrices: one thread with its registers of A, B and C, the pinned ones, or those of a region.
import { $, element } from "../kit/dom.js";
import { focus, focusCell, readPins } from "../instruction/focus.js";
import { factsOf, heldBy, operands, owners } from "../instruction/owners.js";
import { elsewhere, threadsOf } from "../instruction/picture.js";
import { data, state } from "../instruction/state.js";

const FEW = 16, MANY = 256; // registers of an operand: while pointing, and pinned
const MOST = 4; // other holders of an element that are named

const warpOf = (thread) => Math.floor(thread / data.warp);
const lastServed = Number($("panel").querySelector("h2").textContent.match(/\d+/)[0]);

/** Numbers as ranges: 0–3, 8. */
export function ranges(numbers) {
  const spans = [];
  for (const n of numbers) {
    if (spans.length && n === spans.at(-1)[1] + 1) spans.at(-1)[1] = n;
    else spans.push([n, n]);
  }
  return spans.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

const spot = (op, cell) => (op.folded ? `${cell}` : `(${Math.floor(cell / op.cols)},${cell % op.cols})`);

/** What is held as lists say it: [R0, [(0,0), (0,1)]], a line a register. */
export function linesOf(op, held) {
  const rows = new Map();
  for (const { cell, value } of held) {
    const name = `${data.holder}${op.register[value]}`;
    if (!rows.has(name)) rows.set(name, []);
    rows.get(name).push(spot(op, cell));
  }
  return [...rows];
}

function list(op, thread) {
  const head = (text) => element("h3", {}, `${op.title} `, element("small", {}, text));
  if (op.shared) return element("section", {}, head("in shared memory"));
  const away = elsewhere(op), held = heldBy(op, thread).filter(({ value }) => !away?.(value));
  const rows = linesOf(op, held), shown = rows.slice(0, state.pin ? MANY : FEW);
  const lines = shown.map(([name, said]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, said.join(" "))));
  const count = `${held.length} value${held.length === 1 ? "" : "s"}`;
  const made = element("section", {}, head(`${count}${away ? " in this step" : ""}`),
    element("table", { className: "registers" }, element("tbody", {}, ...lines)));
  if (shown.length < rows.length) {
    const more = `${rows.length - shown.length} more${state.pin ? "" : ": pin to see"}`;
    made.append(element("p", { className: "muted small" }, more));
  }
  return made;
}

const listed = () => Object.values(operands).filter((op) => !op.unlisted);
const LETTER = { "#": "access ", R: "register R", V: "value V" };

/** The element at hand, and under which number its holder has it. */
function here(cell) {
  const op = cell.panel.operand;
  if (op.shared || op.unlisted) return "";
  const facts = factsOf(cell), place = `${op.title} ${spot(op, facts.index)}`;
  if ("chunk" in facts) return `${op.title}: element (${facts.r},${facts.c}), byte ${facts.byte}, bank ${
    facts.bank}, box ${facts.box}.`;
  if ("tensor_row" in facts) return `Lane ${cell.row}, column ${cell.col}: element (${facts.tensor_row},${
    facts.tensor_column})${op.element_type === "b32" ? "" : " first"}.`;
  if ("offset" in facts) return `${place}: offset ${facts.offset}, byte ${facts.byte}, bank ${facts.bank}.`;
  const number = `${LETTER[data.holder]}${op.register[facts.value]}`;
  const value = op.register[facts.value] === facts.value ? "" : `value ${facts.value}, `;
  return `${place}: ${value}${number}${"bank" in facts ? `, bank ${facts.bank}` : ""}.`;
}

/** Who else holds the element at hand. */
function shared(cell) {
  const others = owners(cell).slice(1), op = cell.panel.operand;
  if (op.shared || op.unlisted || !others.length) return "";
  const said = others.slice(0, MOST).map(({ thread, value }) =>
    `thread ${thread} (warp ${warpOf(thread)}) as value ${value}`);
  return `Also in ${said.join(", ")}${others.length > MOST ? ` and ${others.length - MOST} more` : ""}.`;
}

function region() {
  const threads = threadsOf(focus.region), { panel, rows, cols } = focus.region;
  const each = (span) => (span[0] === span[1] ? span[0] : span.join("–"));
  const what = data.warp ? "thread" : data.unit, some = `${threads.length} ${what}${threads.length === 1 ? "" : "s"} `;
  const head = element("h2", {}, some, element("small", {}, "hold "
    + `${panel.title} rows ${each(rows)}, columns ${each(cols)} `), element("kbd", {}, "Esc"));
  const count = listed().filter((op) => !op.shared).map((op) => {
    const cells = new Set(threads.flatMap((thread) => heldBy(op, thread).map((held) => held.cell)));
    return element("li", {}, `${op.title}: ${cells.size} of ${op.rows * op.cols} elements`);
  });
  const all = (of) => ranges([...new Set(threads.map(of))].sort((one, other) => one - other));
  const named = data.warp ? [`Warps ${all(warpOf)}`, `Lanes ${all((thread) => thread % data.warp)}`]
    : [`${data.unit[0].toUpperCase()}${data.unit.slice(1)}s ${all((one) => one)}`];
  const lines = named.map((text) => element("li", {}, text));
  $("panel").replaceChildren(head, element("ul", { className: "plain" }, ...lines, ...count));
}

function who(thread, op) {
  if (op?.shared) return [`Warpgroup ${Math.floor(thread / op.team)}`, "reads this operand by a descriptor"];
  if (!data.warp) return [`${data.unit[0].toUpperCase()}${data.unit.slice(1)} ${thread}`, ""];
  return [`Thread ${thread}`, `warp ${warpOf(thread)}, lane ${thread % data.warp}`];
}

/** One holder with what it has. cell: the one that it is shown for, if any; first: whether it is the only or first. */
function lane({ cell, thread }, pinned, first) {
  const [name, about] = who(thread, cell?.panel.operand);
  const small = element("small", {}, [about, pinned ? "pinned" : ""].filter(Boolean).join(" · "));
  if (pinned && first) small.append(" ", element("kbd", {}, "Esc"));
  const lists = listed().map((op) => list(op, thread)), more = cell ? `${here(cell)} ${shared(cell)}` : "";
  return element("div", { className: "lane" }, element("h2", {}, `${name} `, small),
    ...(more.trim() ? [element("p", { className: "muted small" }, more)] : []),
    element("div", { className: "held" }, ...lists));
}

export function fillBench() {
  if (focus.region) return region();
  const pins = readPins(), cell = pins.length ? null : focusCell();
  const free = [...pins.map((one) => one.cell), cell].find((one) => one && !owners(one).length);
  if (free) {
    const text = `No ${data.warp ? "thread" : data.unit} holds ${spot(free.panel.operand,
      free.row * free.panel.cols + free.col)}`;
    return $("panel").replaceChildren(element("h2", {}, text));
  }
  const shown = pins.length ? pins : [{ cell, thread: cell ? owners(cell)[0].thread : lastServed }];
  const lanes = shown.map((one, n) => lane(one, pins.length > 0, n === 0));
  $("panel").replaceChildren(element("div", { className: lanes.length > 1 ? "lanes two" : "lanes" }, ...lanes));
}
