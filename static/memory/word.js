// The one word that every view shows, what it was before, and who follows it. BigInt throughout.
import { first, firstUnknown, hex } from "./format.js";

const ALL = (1n << 64n) - 1n;
let word = first, unknown = firstUnknown;
const past = [], future = [], views = [], answers = [];

export const now = () => word;
export const bit = (at) => (word >> BigInt(at)) & 1n;
export const isUnknown = (at) => Boolean((unknown >> BigInt(at)) & 1n);
/** Whether every bit is known; otherwise the word has no page and no verdict. */
export const isWhole = () => !unknown;
/** The word in hex; ? for a digit with a bit that is not known. */
export const spell = () => [...hex(word)].map((digit, at) => (
  at > 1 && (unknown >> BigInt(4 * (17 - at))) & 15n ? "?" : digit)).join("");
export const undone = () => ({ past: past.length > 0, future: future.length > 0 });

/** A view is drawn after every change. */
export const follow = (view) => views.push(view);
/** An answer is asked for when a change is settled: a drag is one. */
export const whenSettled = (answer) => answers.push(answer);

export function draw() {
  for (const view of views) view();
}

/** Sets one bit without settling: more of a drag may follow. known: the bits of its field. */
export function paint(at, value, known = 0n) {
  const place = BigInt(at);
  unknown &= ~known;
  word = (word & ~(1n << place)) | (value << place);
  draw();
}

function announce() {
  draw();
  for (const answer of answers) answer();
}

/** Ends a change that began at `before`: it can be undone, and what was undone before it is gone. */
export function settle(before) {
  if (before === word) return;
  past.push(before);
  future.length = 0;
  announce();
}

/** Sets the word. known: the bits that it makes known. */
export function set(next, known = ALL) {
  const before = word, open = unknown;
  word = next;
  unknown &= ~known;
  if (before !== word) settle(before);
  else if (open !== unknown) announce();
  else draw();
}

function step(from, to) {
  if (!from.length) return;
  to.push(word);
  word = from.pop();
  announce();
}
export const undo = () => step(past, future);
export const redo = () => step(future, past);
