// The metadata editor: a click or Enter takes a group's hex digit to its next legal choice; the server says which digit
// that is and what follows what, and draws the result.
import { $ } from "../kit/dom.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const editor = $("editor");
let running = null, at = [0, 0]; // the group that Tab leads to: its row, and its number in it

/** The groups of every row, each by its first cell, which alone can have the focus. */
const groups = () => [...$("dense").tBodies[0].rows].map((row) => [...row.querySelectorAll("td[data-group]")]);

/** Makes one group the table's only tab stop. */
function stopAt(row, group, focus) {
  const all = groups();
  at = [Math.min(all.length - 1, Math.max(0, row)), Math.min(all[0].length - 1, Math.max(0, group))];
  for (const cell of all.flat()) cell.tabIndex = -1;
  const cell = all[at[0]][at[1]];
  cell.tabIndex = 0;
  if (focus) cell.focus();
}

async function show(words, selector) {
  const query = new URLSearchParams({ words, selector });
  history.replaceState(null, "", `${location.pathname}?${query}`);
  query.set("part", "editor");
  running?.abort();
  running = new AbortController();
  try {
    const text = await (await fetch(`${location.pathname}?${query}`, { signal: running.signal })).text();
    const { activeElement: focused } = document, inGrid = focused?.matches("#dense td");
    const name = editor.contains(focused) ? focused.name : "";
    const { value, selectionStart, selectionEnd } = $("words-form").elements.words;
    editor.innerHTML = text;
    stopAt(...at, inGrid);
    const { elements } = $("words-form");
    if (value !== words) elements.words.value = value; // typed while the server answered
    if (name) elements[name]?.focus();
    if (value !== words) elements.words.setSelectionRange(selectionStart, selectionEnd);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

/** The words in the box, one for each lane; null where they are not written as the server writes them. */
function wordsOf(form) {
  const words = form.words.value.trim().split(/\s+/), lanes = Number($("dense").dataset.lanes);
  if (!words.every((word) => /^0x[0-9A-F]{8}$/.test(word))) return null;
  return words.length === 1 ? Array(lanes).fill(words[0]) : words;
}

function advance(cell) {
  const form = $("words-form"), words = wordsOf(form);
  if (words) {
    const { cycle } = $("dense").dataset, { lane, digit } = cell.dataset, word = [...words[lane]];
    word[digit] = cycle[cycle.indexOf(word[digit]) + 1];
    words[lane] = word.join("");
    // The box is the state: a second click before the answer goes on from this one.
    form.words.value = words.join(" ");
  }
  show(form.words.value, form.selector.value);
}

/** Where a cell's group is: its row, and its number among the groups of the row. */
function placeOf(cell) {
  const all = groups(), row = cell.closest("tr").sectionRowIndex;
  return [row, all[row].findLastIndex((first) => first.cellIndex <= cell.cellIndex)];
}

editor.addEventListener("click", (event) => {
  const cell = event.target.closest("#dense td[data-lane]");
  if (!cell) return;
  stopAt(...placeOf(cell), true);
  advance(cell);
});
editor.addEventListener("keydown", (event) => {
  const cell = event.target.closest("#dense td[data-group]");
  if (!cell) return;
  const step = STEPS[event.key];
  if (step) stopAt(at[0] + step[0], at[1] + step[1], true);
  else if (event.key === "Enter" || event.key === " ") advance(cell);
  else return;
  event.preventDefault();
});
editor.addEventListener("submit", (event) => {
  event.preventDefault();
  show(event.target.words.value, event.target.selector.value);
});
editor.addEventListener("change", (event) => {
  if (event.target.name === "selector") show(event.target.form.words.value, event.target.value);
});
stopAt(0, 0, false);
