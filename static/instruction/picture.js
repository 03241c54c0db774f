// What the stage shows: colours and labels by the state, and the lit lane of the cell in focus.
import { fill } from "../kit/template.js";
import { focus, focusCell, readPins } from "./focus.js";
import { drawLegend } from "./legend.js";
import { factsOf, heldBy, numberOf, owner, owners } from "./owners.js";
import { stage } from "./stage.js";
import { colour, data, shownThreads, state } from "./state.js";

const drawn = stage.drawn.filter((panel) => panel.operand);
const lanes = drawn.find((panel) => panel.follow);
let painted = "";

/** The name that a matrix is coloured by: the wanted one where it has it, else its first. */
function colourOf({ categories }, wanted = colour()) {
  return wanted in categories ? wanted : Object.keys(categories)[0];
}

/** Colours every cell anew: after a change of colour, lanes or theme. */
export function paint() {
  const chosen = shownThreads(), legend = new Map(), subjects = new Map();
  lanes?.follow();
  painted = colour();
  for (const panel of drawn) {
    panel.texts = []; // of its cells, each when it is first drawn
    const op = panel.operand, name = colourOf(op, focus.name ?? painted), category = op.categories[name];
    const shown = chosen && op.team > 1 ? teamsOf(op, chosen) : chosen;
    panel.visibleCell = (cell) => {
      if (!shown) return true;
      for (let at = cell * op.copies; at < (cell + 1) * op.copies; at++) if (shown.has(op.thread[at])) return true;
      return false;
    };
    const away = elsewhere(op), held = { thread: op.thread, value: op.value }[category.of], { numbers } = category;
    const number = category.of === "cell" ? (cell) => numbers[cell] : (cell) => numbers[held[cell * op.copies]] ?? -1;
    panel.paint(stage.theme, (cell) => (panel.visibleCell(cell) ? number(cell) : -1), category.wheel,
      away && ((cell) => away(op.value[cell * op.copies])));
    if (category.count) subjects.set(name, [...(subjects.get(name) ?? []), panel.subject]);
    if (category.count > (legend.get(name)?.count ?? 0)) legend.set(name, category);
  }
  drawLegend(legend, stage.theme, subjects);
  draw();
}

document.addEventListener("view", () => { if (painted !== colour() || lanes?.follow()) paint(); });

/** The threads that stand for a whole team of which one is shown. */
function teamsOf({ held_by: ids, team }, shown) {
  return new Set(ids.filter((id) => Array.from({ length: team }, (_, n) => id + n).some((one) => shown.has(one))));
}

/** Whether a value belongs to another step of K, M or N than the chosen one; null where none is chosen. */
export function elsewhere(op) {
  const chosen = Object.entries(op.repeats ?? {}).filter(([dim]) => Number(state[dim]) >= 0);
  if (!chosen.length) return null;
  return (value) => chosen.some(([dim, { step, count }]) => Math.floor(value / step) % count !== Number(state[dim]));
}

export function labelOf(cell) {
  const { panel, row, col } = cell, at = row * panel.cols + col;
  return (panel.texts[at] ??= textOf(cell, at));
}

function textOf(cell, at) {
  const op = cell.panel.operand;
  if (!cell.panel.visibleCell(at) || op.shared || !owner(cell)) return "";
  if (focus.name && focus.name in op.categories) return String(numberOf(op, focus.name, owner(cell)));
  return fill(op.texts?.[state.label] ?? op.text ?? data.labels[state.label], factsOf(cell));
}

/** Draws everything with the colours there are: after a zoom or a change of size. */
export function draw() {
  stage.draw(labelOf);
  lightUp();
  for (const then of stage.after) then();
}

/** Lights the lane of the cell in focus in every matrix, or the pinned lanes, and what one pinned element meets. */
export function lightUp() {
  const began = performance.now(), told = stage.element.dataset, pins = focus.region ? [] : readPins();
  const cell = focusCell(), held = pins.length ? pins : cell ? [{ cell, thread: owner(cell)?.thread }] : [];
  if (lanes?.follow()) return paint();
  const hovered = focus.region ? [] : [focus.hovered, focus.cursor].filter(Boolean).flatMap(everywhere);
  if (held.length || focus.region) {
    const threads = focus.region ? threadsOf(focus.region) : [...new Set(held.map(({ thread }) => thread))];
    const [thread] = threads, known = threads.filter((one) => one !== undefined);
    const lit = new Map(drawn.map((panel) => [panel, cellsOf(panel.operand, known)]));
    const bands = pins.length === 1 && pins[0].cell ? met(pins[0].cell) : [];
    const ringed = pins.filter((one) => one.cell).flatMap((one) => everywhere(one.cell));
    stage.light(lit, { bands, pins: ringed, hovered, region: focus.region, pinned: pins.length > 0 });
    const matrices = [...lit].filter(([panel]) => stage.panels.includes(panel));
    const counts = Object.fromEntries(matrices.map(([panel, cells]) => [panel.name, cells.length]));
    told.lit = JSON.stringify({ thread, ...(focus.region ? { threads: threads.length } : {}), cells: counts });
  } else {
    stage.light(null, { hovered });
    delete told.lit;
  }
  told.lightMs = (performance.now() - began).toFixed(2);
}

/** A cell with its metadata or scale factor, or what those belong to, and what shows the same in another order. */
function everywhere(cell) {
  const all = [cell, ...(cell.panel.linked?.(cell) ?? [])];
  return [...all, ...all.flatMap((one) => stage.drawn.flatMap((panel) => panel.cellsOf?.(one) ?? []))];
}

/** Every thread that holds a cell of a region, ascending. */
export function threadsOf({ panel, rows, cols }) {
  const held = new Set();
  for (let row = rows[0]; row <= rows[1]; row++) for (let col = cols[0]; col <= cols[1]; col++) {
    for (const { thread } of owners({ panel, row, col })) held.add(thread);
  }
  return [...held].sort((one, other) => one - other);
}

function cellsOf(op, threads) {
  if (op.shared && threads.length === 1 && !elsewhere(op)) return ofTeam(op, threads[0] - (threads[0] % op.team));
  const away = elsewhere(op), kept = (held) => !away || !away(held.value);
  const cells = threads.flatMap((thread) => heldBy(op, thread).filter(kept).map((held) => held.cell));
  return threads.length > 1 ? [...new Set(cells)] : cells;
}

/** What a team reads of an operand in shared memory: thousands of cells, made once. */
function ofTeam(op, team) {
  op.lit ??= new Map();
  if (!op.lit.has(team)) op.lit.set(team, heldBy(op, team).map((held) => held.cell));
  return op.lit.get(team);
}

/** The rows and columns that an element meets in the product. */
function met({ panel, row, col }) {
  const result = data.result ?? "d";
  const bands = {
    a: { b: { row: col }, [result]: { row } }, b: { a: { col: row }, [result]: { col } },
    [result]: { a: { row }, b: { col }, e: { row }, sfa: { row }, sfb: { col } },
  }[panel.name] ?? {};
  if (panel.name !== result && stage.panels.some((each) => each.operand?.sparse)) return [];
  return stage.panels.filter((each) => each.name in bands).map((each) => ({ panel: each, ...bands[each.name] }));
}
