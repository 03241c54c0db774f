// A live view in a notebook: the matrices of a picture answer pointer and keyboard, and show what is selected in the
// widget's model. Which lane and value hold a cell is the engine's table, packed by app/widget/live_matrix.py.
import { ticked } from "../kit/answer.js";
import { cellUnder, drawRing, frameOf } from "../kit/cells.js";
import { element } from "../kit/dom.js";
import { linesOf } from "../kit/layers.js";

const SVG = "http://www.w3.org/2000/svg", LEAST_RING = 8;
const PARTS = ["matrix", "lane", "value", "element"];
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const INVITATION = "Point at a cell, or click to pin it; arrow keys move the pin, Esc clears it.";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Little-endian int32 as they came, at any offset of their message. */
const readNumbers = ({ buffer, byteOffset, byteLength }) =>
  new Int32Array(buffer.slice(byteOffset, byteOffset + byteLength));

function draw(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

/** A matrix with its tables, and above its cells what marks the selected ones and what takes pointer and keys. */
function openMatrix(svg, packed) {
  const [held, lanes, values] = [packed.held, packed.lanes, packed.values].map(readNumbers);
  const { x, y, cell_width, cell_height, rows, cols } = packed.grid;
  const marks = draw("g", { class: "marks" }, svg);
  const size = { x, y, width: cols * cell_width, height: rows * cell_height };
  const label = `${packed.title}, ${rows} rows, ${cols} columns`;
  const spoken = { tabindex: 0, role: "application", "aria-label": label };
  const sensor = draw("rect", { class: "sensor", ...size, ...spoken }, svg);
  return { ...packed, grid: { ...packed.grid, least: LEAST_RING }, held, lanes, values, marks, sensor, svg };
}

/** Every (lane, value) that holds a cell; the lane is null in memory. */
function holdersOf({ held, lanes, values, unit }, cell) {
  const found = [];
  for (let at = held.indexOf(cell); at >= 0; at = held.indexOf(cell, at + 1)) {
    found.push([unit ? lanes[Math.floor(at / values.length)] : null, values[at % values.length]]);
  }
  return found;
}

/** The cells that a lane holds, or that have a value in some lane. */
function cellsOf({ held, lanes, values, unit }, lane, value) {
  const count = values.length, row = unit && lane !== null ? lanes.indexOf(lane) : null;
  const own = row === null || row < 0 ? [] : [...held.subarray(row * count, (row + 1) * count)];
  if (row !== null) return own.filter((cell) => cell >= 0);
  return value === null ? [] : [...held].filter((cell, at) => cell >= 0 && values[at % count] === value);
}

/** The selection of an element: of its copies the one in the lane that is selected, else the first. */
function selectElement(matrix, [row, col], lane) {
  const holders = holdersOf(matrix, row * matrix.grid.cols + col);
  const [own, value] = holders.find(([each]) => each === lane) ?? holders[0] ?? [null, null];
  return { matrix: matrix.name, lane: own, value, element: [row, col] };
}

/** What is said of a selection. */
function describe(matrices, now) {
  const own = matrices.find(({ name }) => name === now.matrix);
  if (now.element) return linesOf(own, ...now.element).join(". ");
  if (now.lane !== null) {
    const held = matrices.filter(({ unit }) => unit).map((one) => [cellsOf(one, now.lane, null).length, one.title]);
    const named = ([count, title]) => `${count} elements${title && ` of ${title}`}`;
    const parts = held.filter(([count]) => count).map(named);
    return `\`${matrices.find(({ unit }) => unit).unit} ${now.lane}\` holds ${parts.join(", ")}`;
  }
  if (now.value !== null) return `\`value ${now.value}\` of every ${own.unit}`;
  return INVITATION;
}

function paint(root, matrices, said, now) {
  for (const matrix of matrices) {
    const { grid, marks, name } = matrix, mine = name === now.matrix;
    const cells = matrix.unit || mine ? cellsOf(matrix, now.lane, mine ? now.value : null) : [];
    const frames = cells.map((cell) => frameOf(grid, Math.floor(cell / grid.cols), cell % grid.cols)).join("");
    marks.replaceChildren();
    for (const kind of ["held halo", "held"]) if (frames) draw("path", { class: kind, d: frames }, marks);
    if (!mine || !now.element) continue;
    for (const kind of ["halo ringed", "ringed"]) drawRing({ svg: marks, grid }, now.element, kind);
  }
  said.replaceChildren(...ticked(describe(matrices, now)));
  for (const part of PARTS) root.dataset[part] = now[part] ?? "";
}

/** anywidget calls it for every place where the view is shown. */
export function render({ model, el }) {
  const picture = element("div", { className: "picture" }), said = element("p", { className: "said" });
  const root = element("div", { className: "lanescope-view" }, picture, said);
  said.setAttribute("role", "status");
  picture.innerHTML = model.get("_html"); // made by the engine; it escapes what a title quotes
  const svg = picture.querySelector("svg");
  svg.removeAttribute("role"); // it has what can be focused
  const matrices = model.get("_matrices").map((packed) => openMatrix(svg, packed));
  const read = () => Object.fromEntries(PARTS.map((part) => [part, model.get(part)]));
  let rest = read(), ours = false, waits = false, outside = false; // rest: what is selected when nothing is pointed at

  function select(next) {
    ours = true;
    for (const part of PARTS) if (!same(model.get(part), next[part])) model.set(part, next[part]);
    model.save_changes();
    ours = false;
  }

  function repaint() {
    waits = false;
    if (outside) rest = read();
    outside = false;
    paint(root, matrices, said, read());
  }

  /** Parts that change together are painted once. */
  function changed() {
    outside ||= !ours;
    if (!waits) queueMicrotask(repaint);
    waits = true;
  }

  const pin = (next) => select((rest = next));
  const clear = () => pin({ matrix: read().matrix, lane: null, value: null, element: null });

  function follow(matrix) {
    const { sensor, grid, name } = matrix;
    let over = null;
    sensor.addEventListener("pointermove", (event) => {
      const cell = cellUnder(matrix, event);
      if (!cell || same(cell, over)) return;
      over = cell;
      select(selectElement(matrix, cell, read().lane));
    });
    sensor.addEventListener("pointerleave", () => {
      over = null;
      select(rest);
    });
    sensor.addEventListener("click", (event) => {
      const cell = cellUnder(matrix, event);
      if (!cell) return;
      if (rest.matrix === name && same(rest.element, cell)) clear();
      else pin(selectElement(matrix, cell, read().lane));
    });
    sensor.addEventListener("keydown", (event) => {
      if (event.key === "Escape") clear();
      else if (event.key in STEPS) {
        const [down, right] = STEPS[event.key], from = rest.matrix === name && rest.element;
        const within = (at, count) => Math.min(count - 1, Math.max(0, at));
        const cell = from ? [within(from[0] + down, grid.rows), within(from[1] + right, grid.cols)] : [0, 0];
        pin(selectElement(matrix, cell, rest.lane));
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  matrices.forEach(follow);
  for (const part of PARTS) model.on(`change:${part}`, changed);
  el.append(root);
  repaint();
  return () => { for (const part of PARTS) model.off(`change:${part}`, changed); };
}
