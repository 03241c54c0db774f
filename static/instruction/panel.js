// The panel beside the stage: the lane in focus, its element's formula with numbers, and all its registers.
import { $, element } from "../kit/dom.js";
import { fill } from "../kit/template.js";
import { focusCell, readPins } from "./focus.js";
import { digitsOf, heldBy, holder, operands, owner, owners, fieldsOf } from "./owners.js";
import { data, state } from "./state.js";
import { dotProduct } from "./trace.js";

const FEW = 16, MANY = 256; // registers of an operand: while pointing, and pinned

export function fillPanel() {
  const pins = readPins().filter(({ thread }) => thread !== undefined), cell = focusCell();
  const shown = pins.length ? pins : cell ? [{ cell, thread: owner(cell).thread }] : [];
  if (!shown.length) return;
  const lanes = shown.map((one, n) => lane(one, pins.length > 0, n === 0));
  const box = element("div", { className: lanes.length > 1 ? "lanes two" : "lanes" }, ...lanes);
  $("panel").replaceChildren(box);
}

/** One lane: its registers, and how the place of the element that it is shown for follows. */
function lane({ cell, thread }, pinned, first) {
  const held = cell ? owners(cell).find((one) => one.thread === thread) : { thread };
  const [who, more] = holder(thread);
  const small = element("small", {}, [more, pinned ? "pinned" : ""].filter(Boolean).join(" · "));
  if (pinned && first) small.append(" ", element("kbd", {}, "Esc"));
  const head = element("h2", {}, who[0].toUpperCase() + who.slice(1), " ", small);
  const lists = Object.values(operands).flatMap((each) => registers(each, held, each === cell?.panel.operand));
  const made = element("div", { className: "lane" }, head, element("div", { className: "held" }, ...lists));
  if (!cell) return made;
  const op = cell.panel.operand, facts = { ...textFacts(op, held.value, cell.row, cell.col), thread, ...op.extra };
  const text = element("pre", {}, fill(op.head, facts));
  const told = element("div", { className: "told" }, text, numbers(op, held, facts));
  if (pinned && first && cell.panel.name === "d") {
    const terms = element("pre", { id: "trace" }, dotProduct(cell.row, cell.col));
    told.append(element("div", { className: "terms" }, terms));
  }
  made.append(told);
  return made;
}

/** How lane, value and register follow from row and column, with the numbers of one element. */
function numbers(op, held, facts) {
  const [down, across] = op.plane, named = { ...digitsOf(op, held), [down]: facts.row, [across]: facts.col };
  return element("dl", { className: "numbers" }, ...op.lines.map(({ name, work, result }) =>
    element("div", {}, element("dt", {}, name),
      element("dd", {}, `${fill(work, { ...facts, ...named })} = `, element("b", {}, fill(result, facts))))));
}

const textFacts = (op, value, row, col) => ({
  ...fieldsOf(op, row * op.cols + col), name: op.name, title: op.title, value,
  row, col, register: op.register[value], bits: op.bits[value] });

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
