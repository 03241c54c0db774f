// The panel beside the stage: the lane in focus, its element's formula with numbers, and all its registers.
import { $, element } from "../kit/dom.js";
import { fill } from "../kit/template.js";
import { focusCell } from "./focus.js";
import { digitsOf, heldBy, holder, operands, owner } from "./owners.js";
import { data, state } from "./state.js";
import { dotProduct } from "./trace.js";

const FEW = 16, MANY = 256; // registers of an operand: while pointing, and pinned

export function fillPanel() {
  const cell = focusCell();
  if (!cell) return;
  const held = owner(cell), op = cell.panel.operand, digits = digitsOf(op, held);
  const facts = { ...textFacts(op, held.value, cell.row, cell.col), ...op.extra };
  const [who, more] = holder(held.thread);
  const small = element("small", {}, [more, state.pin ? "pinned" : ""].filter(Boolean).join(" · "));
  if (state.pin) small.append(" ", element("kbd", {}, "Esc"));
  const named = op.digits.map((name) => `${name}=${digits[name]}`).join(" ");
  const told = element("div", { className: "told" }, hung(`${fill(op.head, facts)}   ${named}`),
    hung(formula(op, { ...digits, ...held }, placeOf(op, cell))));
  if (state.pin && cell.panel.name === "d") {
    const terms = element("pre", { id: "trace" }, dotProduct(cell.row, cell.col));
    told.append(element("div", { className: "terms" }, terms));
  }
  const lists = Object.values(operands).flatMap((each) => registers(each, held, each === op));
  const head = element("h2", {}, who[0].toUpperCase() + who.slice(1), " ", small);
  $("panel").replaceChildren(head, element("div", { className: "held" }, ...lists), told);
}

const textFacts = (op, value, row, col) =>
  ({ name: op.name, title: op.title, value, row, col, register: op.register[value], bits: op.bits[value] });

/** Lines of a formula: what is too long for its box goes on further to the right. */
const hung = (text) => element("pre", {}, ...text.split("\n").map((line, n, all) =>
  element("span", { className: "hang" }, n < all.length - 1 ? `${line}\n` : line)));

/** A cell by the names of its operand's axes. */
const placeOf = ({ plane: [down, across] = ["row", "col"], extra }, { row, col }) =>
  ({ [down]: row, [across]: col, ...extra });

/** Each coordinate's formula, then with the numbers of one owner, then what it is. */
function formula(op, numbers, place) {
  return op.axes.map(({ axis, text, template }) =>
    `${axis} = ${text}\n${" ".repeat(axis.length)} = ${fill(template, numbers)} = ${place[axis]}`).join("\n");
}

/** A table of what a thread holds of one operand, by register; nothing where it holds nothing. */
function registers(op, { thread, value }, here) {
  const rows = new Map();
  for (const item of heldBy(op, thread)) {
    const register = op.register[item.value];
    const facts = textFacts(op, item.value, Math.floor(item.cell / op.cols), item.cell % op.cols);
    const span = element("span", { title: fill(op.tip, facts) }, fill(op.held, facts));
    if (here && item.value === value) span.className = "lit";
    if (!rows.has(register)) rows.set(register, []);
    rows.get(register).push(span, " ");
  }
  if (!rows.size) return [];
  const shown = [...rows].slice(0, state.pin ? MANY : FEW);
  const name = data.register ?? "register", letter = name[0].toUpperCase();
  const lines = shown.map(([register, spans]) =>
    element("tr", {}, element("th", { scope: "row" }, `${letter}${register}`), element("td", {}, ...spans)));
  const count = `${rows.size} ${name}${rows.size > 1 ? "s" : ""}`;
  const table = element("table", { className: "registers" }, element("tbody", {}, ...lines));
  const list = element("section", {}, element("h3", {}, `${op.title} `, element("small", {}, count)), table);
  if (shown.length < rows.size) {
    const more = `${rows.size - shown.length} more ${name}s; pin the lane to see them.`;
    list.append(element("p", { className: "muted small" }, more));
  }
  return [list];
}
