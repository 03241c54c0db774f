// What the stage shows: colours and labels by the state, and the lit lane of the cell in focus.
import { fill } from "../kit/template.js";
import { focus, focusCell } from "./focus.js";
import { drawLegend } from "./legend.js";
import { factsOf, heldBy, numberOf, owner } from "./owners.js";
import { stage } from "./stage.js";
import { data, shownThreads, state } from "./state.js";

const drawn = stage.panels.filter((panel) => panel.operand);

/** The name that a matrix is coloured by: the wanted one where it has it, else its first. */
export function colourOf({ categories }, wanted = state.colour) {
  return wanted in categories ? wanted : Object.keys(categories)[0];
}

/** Colours every cell anew: after a change of colour, lanes or theme. */
export function paint() {
  const shown = shownThreads(), legend = new Map();
  for (const panel of drawn) {
    panel.texts = []; // of its cells, each when it is first drawn
    const op = panel.operand, name = colourOf(op, focus.name ?? state.colour), category = op.categories[name];
    panel.visibleCell = (cell) => {
      if (!shown) return true;
      return op.thread.slice(cell * op.copies, (cell + 1) * op.copies).some((thread) => shown.has(thread));
    };
    const held = (cell) => ({ thread: op.thread[cell * op.copies], value: op.value[cell * op.copies] });
    panel.paint(stage.theme, (cell) => (panel.visibleCell(cell) ? numberOf(op, name, held(cell)) : -1), category.wheel);
    if (category.count > (legend.get(name)?.count ?? 0)) legend.set(name, category);
  }
  drawLegend(legend, stage.theme);
  draw();
}

export function labelOf(cell) {
  const { panel, row, col } = cell, at = row * panel.cols + col;
  return (panel.texts[at] ??= textOf(cell, at));
}

function textOf(cell, at) {
  const op = cell.panel.operand;
  if (!cell.panel.visibleCell(at)) return "";
  if (focus.name && focus.name in op.categories) return String(numberOf(op, focus.name, owner(cell)));
  return fill(data.labels[state.label], factsOf(cell));
}

/** Draws everything with the colours there are: after a zoom or a change of size. */
export function draw() {
  stage.draw(labelOf);
  lightUp();
  for (const then of stage.after) then();
}

/** Lights the lane of the cell in focus in every matrix, and for a pinned element of D what it is the product of. */
export function lightUp() {
  const began = performance.now(), cell = focusCell(), told = stage.element.dataset;
  if (cell) {
    const { thread } = owner(cell);
    const lit = new Map(drawn.map((panel) => [panel, heldBy(panel.operand, thread).map((held) => held.cell)]));
    stage.light(lit, state.pin ? traced(cell) : [], focus.cursor ?? cell);
    const counts = Object.fromEntries([...lit].map(([panel, cells]) => [panel.name, cells.length]));
    told.lit = JSON.stringify({ thread, cells: counts });
  } else {
    stage.light(null, null, null);
    delete told.lit;
  }
  told.lightMs = (performance.now() - began).toFixed(2);
}

function traced({ panel, row, col }) {
  if (panel.name !== "d") return [];
  const bands = { a: { row }, b: { col } };
  return stage.panels.filter((each) => each.name in bands).map((each) => ({ panel: each, ...bands[each.name] }));
}
