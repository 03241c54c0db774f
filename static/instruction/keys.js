// The keyboard on the stage: arrows move, a letter changes the matrix, Enter or Space pins, Escape frees.
import { focus, pinnedCell } from "./focus.js";
import { fillPanel } from "./panel.js";
import { lightUp } from "./picture.js";
import { pin } from "./pin.js";
import { speak } from "./spoken.js";
import { stage } from "./stage.js";
import { data, remember, state } from "./state.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const within = (at, count) => Math.min(count - 1, Math.max(0, at));

/** The cell that a key leads to, null for a key that leads nowhere. The first arrow shows the first cell. */
function target(key) {
  const mapped = stage.panels.filter((panel) => panel.operand), from = focus.cursor ?? pinnedCell();
  const named = mapped.find((panel) => panel.name === key);
  if (named) return { panel: named, row: 0, col: 0 };
  if (!(key in STEPS)) return null;
  if (!from) return { panel: mapped[0], row: 0, col: 0 };
  const [down, right] = STEPS[key], { panel } = from;
  return { panel, row: within(from.row + down, panel.rows), col: within(from.col + right, panel.cols) };
}

function moveCursor(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== stage.element) return;
  const cell = target(event.key), pins = event.key === "Enter" || event.key === " ";
  if (!cell && !(pins && focus.cursor)) return;
  event.preventDefault();
  focus.hovered = null;
  if (!cell) return pin(focus.cursor);
  focus.cursor = cell;
  if (state.pin) {
    state.pin = "";
    remember();
  }
  speak(cell);
  lightUp();
  fillPanel();
}

export function followKeys() {
  stage.element.tabIndex = 0;
  stage.element.setAttribute("role", "application");
  const keys = "Arrow keys move, Enter pins, Escape frees, a b d change the matrix.";
  stage.element.setAttribute("aria-label", `Matrices of ${data.ptx}. ${keys}`);
  stage.element.addEventListener("keydown", moveCursor);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.pin) pin(null);
  });
}
