// What the page says first of its pins, by the server's templates (app/kit/answer.py).
import { showAnswer } from "../kit/answer.js";
import { $, element } from "../kit/dom.js";
import { fill } from "../kit/template.js";
import { readPins } from "./focus.js";
import { factsOf, heldBy, holder, owners } from "./owners.js";
import { stage } from "./stage.js";
import { data, shownThreads, state } from "./state.js";

const { words } = data, WARP = 32;
const joined = (list) => [list.slice(0, -1).join(", "), ...list.slice(-1)].filter(Boolean).join(" and ");
const capital = (text) => text.replace(/[a-z]/i, (letter) => letter.toUpperCase());

/** What a template may say of a thread. */
const placeOf = (thread) => ({ thread, holder: holder(thread)[0], warp: Math.floor(thread / WARP), lane: thread % WARP,
  group: Math.floor((thread % WARP) / 4), member: thread % 4 });

function aboutElement(cell) {
  const op = cell.panel.operand, all = owners(cell), index = cell.row * cell.panel.cols + cell.col;
  const named = { ...op.extra, title: op.title, row: cell.row, col: cell.col, index };
  named.element = fill(op.held ?? "", named);
  if (!all.length) return [fill(words.nobody, named), ""];
  const [{ thread, value }] = all, register = op.register[value];
  const facts = { ...factsOf(cell), ...named, ...placeOf(thread), register, bits: op.value_bits[value] };
  const line = fill(op.answer, facts);
  // An address, metadata, a scale factor, or what no thread holds.
  if (!op.per_register) return [line, fill(words.product[cell.panel.name] ?? "", facts)];
  const names = joined(all.filter((held) => held.thread === thread).map((held) => op.name + held.value));
  const many = Number(all.filter((held) => held.thread === thread).length > 1);
  const others = [...new Set(all.filter((held) => held.thread !== thread).map((held) => holder(held.thread)[0]))];
  const said = [fill(words.value[many], { ...facts, names }), mates(op, thread, value),
    others.length ? holders(others) : "", fill(words.product[cell.panel.name] ?? "", facts)];
  return [line, said.filter(Boolean).join(" ")];
}

/** What else lies in the register of a value. */
function mates(op, thread, value) {
  const register = op.register[value];
  const named = heldBy(op, thread).filter((held) => held.value !== value && op.register[held.value] === register)
    .map(({ cell: index }) =>
      fill(op.held, { title: op.title, row: Math.floor(index / op.cols), col: index % op.cols, index }));
  if (!named.length) return "";
  const [half, some, many] = words.mates;
  if (named.length > words.most) return fill(many, { count: named.length });
  return fill(op.per_register === 2 && named.length === 1 ? half : some, { mates: joined(named) });
}

function holders(all) {
  const more = all.length - words.most;
  const named = more > 0 ? [...all.slice(0, words.most), `${more} more`] : all;
  return capital(fill(words.copies[Number(all.length > 1)], { holders: joined(named) }));
}

function aboutThread(thread) {
  const operands = stage.panels.map(({ operand }) => operand);
  const shown = operands.filter((operand) => operand?.per_register && !operand.unlisted);
  const counts = shown.map((op) => ({ title: op.title, count: op.shared ? 0 : heldBy(op, thread).length }))
    .filter(({ count }) => count);
  const said = joined(counts.map((each) => fill(words.count, each))) || "nothing here", facts = placeOf(thread);
  return [capital(fill(words.lane, { ...facts, counts: said })), fill(words.groups, facts)];
}

/** Numbers in ascending order, those that follow each other as one: 0–3, 8. */
function runs(numbers) {
  const spans = [];
  for (const number of [...numbers].toSorted((one, other) => one - other)) {
    if (spans.length && number === spans.at(-1)[1] + 1) spans.at(-1)[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

function aboutHeld({ operand, rows, cols }, threads) {
  const held = [...threads].flatMap((thread) => heldBy(operand, thread)), cells = new Set(held.map(({ cell }) => cell));
  const across = new Set([...cells].map((cell) => cell % cols));
  const down = new Set([...cells].map((cell) => Math.floor(cell / cols)));
  const isBlock = cells.size === across.size * down.size;
  for (const [first, numbers, whole] of [[0, down, across.size === cols], [2, across, down.size === rows]]) {
    if (!whole || !isBlock) continue;
    return fill(words.lines[first + Number(numbers.size > 1)], { numbers: runs(numbers), title: operand.title });
  }
  return fill(words.count, { count: held.length, title: operand.title });
}

/** {lines, text} of the lanes that are shown alone, null where all are. */
function aboutShown() {
  const threads = words.shown?.[0] && state.lanes && shownThreads();
  if (!threads?.size) return null;
  const panels = stage.panels.filter(({ operand }) => operand?.per_register && !operand.unlisted && !operand.shared);
  const holding = panels.filter(({ operand }) => [...threads].some((thread) => heldBy(operand, thread).length));
  const held = joined(holding.map((panel) => aboutHeld(panel, threads))) || "nothing here";
  const line = fill(words.shown[Number(threads.size > 1)], { lanes: runs(threads), held });
  return { lines: [capital(line)], text: words.invitation };
}

/** {lines, text} of what is pinned. */
function answer() {
  const pins = readPins();
  if (!pins.length && aboutShown()) return aboutShown();
  if (!pins.length) return { lines: [words.nothing], text: words.invitation };
  const sentences = pins.map(({ cell, thread }) => (cell ? aboutElement(cell) : aboutThread(thread)));
  const same = pins.length > 1 && pins[0].thread === pins[1].thread;
  const text = pins.length > 1 ? (same ? words.together : words.apart) : sentences[0][1];
  return { lines: sentences.map(([line]) => line), text };
}

export function fillHeadline() {
  showAnswer(answer(), readPins().length > 0);
}
