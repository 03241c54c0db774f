// The one word that every view shows, what it was before, and who follows it. BigInt throughout.
import { first } from "./format.js";

let word = first;
const past = [], future = [], views = [], answers = [];

export const now = () => word;
export const bit = (at) => (word >> BigInt(at)) & 1n;
export const undone = () => ({ past: past.length > 0, future: future.length > 0 });

/** A view is drawn after every change. */
export const follow = (view) => views.push(view);
/** An answer is asked for when a change is settled: a drag is one. */
export const whenSettled = (answer) => answers.push(answer);

export function draw() {
  for (const view of views) view();
}

/** Sets one bit without settling: more of a drag may follow. */
export function paint(at, value) {
  const place = BigInt(at);
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

export function set(next) {
  const before = word;
  word = next;
  if (before === word) draw();
  else settle(before);
}

function step(from, to) {
  if (!from.length) return;
  to.push(word);
  word = from.pop();
  announce();
}
export const undo = () => step(past, future);
export const redo = () => step(future, past);
