// The keyboard, from the page's load: arrows move, a letter changes the matrix, Enter or Space pins, + − 0 zoom.
import { focus, pinnedCell, notify } from "./focus.js";
import { lightUp } from "./picture.js";
import { pin } from "./pin.js";
import { say, speak } from "./spoken.js";
import { stage } from "./stage.js";
import { data, remember, state } from "./state.js";
import { reveal } from "./window.js";
import { ZOOMS } from "./zoom.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const ACTS = {
  "+": ZOOMS.in, "=": ZOOMS.in, "-": ZOOMS.out, "−": ZOOMS.out, "0": ZOOMS.fit, "1": ZOOMS.one, z: ZOOMS.full,
  l: () => openTable(focus.cursor ?? pinnedCell()),
};
const TYPING = "input, select, textarea, dialog, [contenteditable]";
const within = (at, count) => Math.min(count - 1, Math.max(0, at));
const mapped = stage.panels.filter((panel) => panel.operand);

/** The list of what every lane holds of a cell's matrix, of the first matrix without a cell. */
function openTable(cell) {
  const tables = [...document.querySelectorAll("details[data-table]")];
  const table = tables.find((each) => each.dataset.table === cell?.panel.operand.name) ?? tables[0];
  if (!table) return;
  const tab = table.closest(".tab");
  if (tab?.hidden) document.querySelector(`#tabs a[href="#${tab.id}"]`).click();
  table.open = true;
  table.scrollIntoView({ block: "start" });
  const summary = table.querySelector("summary");
  summary.focus();
  say(summary.textContent);
}

/** The cell that a key leads to, null for a key that leads nowhere. The first arrow shows the first cell in view. */
function target(key) {
  const from = focus.cursor ?? pinnedCell();
  const next = mapped[(mapped.indexOf(from?.panel) + 1) % mapped.length];
  const named = key === "m" ? next : mapped.find((panel) => panel.name === key);
  const first = (panel) => ({ panel, row: panel.visible().r0, col: panel.visible().c0 });
  if (named) return first(named);
  if (!(key in STEPS)) return null;
  if (!from) return first(mapped[0]);
  const [down, right] = STEPS[key], { panel } = from;
  return { panel, row: within(from.row + down, panel.rows), col: within(from.col + right, panel.cols) };
}

function follow(event) {
  const { key } = event, here = [document.body, stage.element].includes(event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPING)) return;
  if (key in ACTS) {
    event.preventDefault();
    return ACTS[key]();
  }
  if (!here && (key.length > 1 || key === " ")) return;
  if (key === "Enter" || key === " ") {
    const cell = focus.cursor ?? pinnedCell();
    if (!cell) return;
    event.preventDefault();
    focus.cursor = cell;
    return pin(cell);
  }
  const cell = target(key);
  if (cell) {
    event.preventDefault();
    move(cell);
  }
}

function move(cell) {
  focus.hovered = null;
  focus.cursor = cell;
  if (state.pin) {
    state.pin = "";
    if ("pin2" in state) state.pin2 = "";
    remember();
  }
  reveal(cell);
  speak(cell);
  lightUp();
  notify();
}

export function followKeys() {
  stage.element.tabIndex = 0;
  stage.element.setAttribute("role", "application");
  const keys = "Arrow keys move, Enter pins, Escape frees, plus, minus and 0 zoom, question mark lists all keys.";
  stage.element.setAttribute("aria-label", `Matrices of ${data.ptx}. ${keys}`);
  document.addEventListener("keydown", follow);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (state.pin || state.pin2) && !document.querySelector("dialog[open]")) pin(null);
  });
}
