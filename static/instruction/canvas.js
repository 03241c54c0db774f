// The stage: every matrix of an instruction on a canvas, and a transparent canvas over it for what is lit.
import { drawLabels, drawLines, drawTicks } from "./cells.js";
import { readTheme } from "./theme.js";

const MANY_LIT = 1500; // lit cells that are no longer outlined one by one

const known = new WeakMap(); // cells → the boxes that they make, in cells

/** Cells side by side as one box, in rows and in rows below one another. */
function runsOf(panel, cells) {
  if (!known.has(cells)) known.set(cells, runs(panel, cells));
  return known.get(cells).map(({ first, wide, high }) => {
    const [x, y, width, height] = panel.boxOf(Math.floor(first / panel.cols), first % panel.cols);
    return [x, y, width * wide, height * high];
  });
}

function runs(panel, cells) {
  const made = [], above = new Map(); // first cell and length → the box that ends in the row above
  let last = null;
  const close = () => {
    if (!last) return;
    const key = `${last.cell - panel.cols},${last.wide}`, box = above.get(key);
    above.delete(key);
    if (box) box.high += 1;
    else made.push(last);
    above.set(`${last.cell},${last.wide}`, box ?? last);
  };
  for (const cell of cells.toSorted((one, other) => one - other)) {
    if (last && cell === last.cell + last.wide && cell % panel.cols) last.wide += 1;
    else {
      close();
      last = { cell, first: cell, wide: 1, high: 1 };
    }
  }
  close();
  return made;
}

function frame(context, panel, { rows, cols }, theme) {
  const [x, y, width, height] = panel.boxOf(rows[0], cols[0]);
  context.strokeStyle = theme.trace;
  context.lineWidth = 2;
  context.strokeRect(x, y, width * (cols[1] - cols[0] + 1), height * (rows[1] - rows[0] + 1));
}

/** The page's style sheet places the matrices: each has a .slot in the stage, and the canvases cover all of them.
 *  `panels`: the matrices; `drawn`: also what shows their elements in another order, and is drawn and pointed at alike.
 */
export class Stage {
  constructor(element, panels, more = []) {
    Object.assign(this, { element, panels, drawn: [...panels, ...more], after: [] });
    this.base = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.base.className = "base";
    element.append(this.base, this.over);
    this.theme = readTheme();
    this.resize();
  }

  changed() {
    const box = this.element.getBoundingClientRect();
    return box.width !== this.width || box.height !== this.height;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, box = this.element.getBoundingClientRect();
    [this.width, this.height] = [box.width, box.height];
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      canvas.style.width = `${box.width}px`;
      canvas.style.height = `${box.height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    for (const panel of this.drawn) panel.place(box);
  }

  /** The matrix under a point of the stage; without an operand, too. */
  panelAt(px, py) {
    return this.panels.find((panel) => panel.covers(px, py)) ?? null;
  }

  hit(px, py) {
    for (const panel of this.drawn) {
      const cell = panel.operand && panel.hit(px, py);
      if (cell) return panel.elementAt ? panel.elementAt(cell) : cell;
    }
    return null;
  }

  /** Everything under the highlight. label(cell) → text. */
  draw(label) {
    const context = this.base.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    for (const panel of this.drawn) {
      if (!panel.operand || !panel.width) continue;
      drawTicks(context, panel, this.theme);
      context.save();
      context.beginPath();
      context.rect(panel.left, panel.top, panel.width, panel.height);
      context.clip();
      const [width, height] = [panel.cols * panel.cellWidth, panel.rows * panel.cellHeight];
      context.drawImage(panel.image, panel.columnAt(0), panel.rowAt(0), width, height);
      drawLines(context, panel, this.theme);
      drawLabels(context, panel, this.theme, label);
      context.restore();
    }
  }

  /**
   * Lights cells, Map panel → cells, and dims the labels of the others; a fill keeps its colour. marks: bands, [{panel,
   * row?, col?}], rows and columns that a pinned element meets; pins and hovered, lists of cells with a ring; region:
   * {panel, rows, cols}, framed; pinned: whether what is lit stays.
   */
  light(lit, { bands = [], pins = [], hovered = [], region = null, pinned = false } = {}) {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    if (!lit && !hovered.length) return;
    context.imageSmoothingEnabled = false;
    for (const panel of this.drawn) {
      if (!panel.operand || !panel.width) continue;
      const mine = (list) => list.filter((one) => one.panel === panel);
      context.save();
      clip(context, panel, 1);
      if (lit) {
        const rest = { pinned, bands: mine(bands), pins: mine(pins), region };
        this.#dim(context, panel, lit.get(panel) ?? [], rest);
      }
      if (region?.panel === panel) frame(context, panel, region, this.theme);
      for (const { row, col } of mine(hovered)) ring(context, panel.boxOf(row, col), 2, this.theme.ink, -1);
      context.restore();
      context.save();
      clip(context, panel, 5);
      for (const { row, col } of mine(pins)) {
        const box = panel.boxOf(row, col);
        if (!panel.covers(box[0] + box[2] / 2, box[1] + box[3] / 2)) continue;
        ring(context, box, 1.5, this.theme.raised, 3.25);
        ring(context, box, 2.5, this.theme.trace, 1.25);
      }
      context.restore();
    }
  }

  #dim(context, panel, held, { pinned, bands, pins, region }) {
    const boxOf = (cell) => panel.boxOf(Math.floor(cell / panel.cols), cell % panel.cols);
    const cells = region || held.length > MANY_LIT ? runsOf(panel, held) : held.map(boxOf);
    context.globalAlpha = pinned ? this.theme.fadePin : this.theme.fadeHover;
    context.drawImage(panel.image, panel.columnAt(0), panel.rowAt(0), panel.cols * panel.cellWidth,
      panel.rows * panel.cellHeight);
    context.globalAlpha = 1;
    const across = bands.map(({ row, col }) => (row === undefined
      ? [panel.columnAt(col), panel.rowAt(0), panel.cellWidth, panel.rows * panel.cellHeight]
      : [panel.columnAt(0), panel.rowAt(row), panel.cols * panel.cellWidth, panel.cellHeight]));
    for (const box of [...cells, ...across]) context.clearRect(...box);
    for (const box of across) ring(context, box, 1.75, this.theme.accent, -0.875);
    context.strokeStyle = this.theme.ink;
    context.lineWidth = Math.min(1.75, Math.max(1, panel.cellWidth / 6));
    const inset = context.lineWidth / 2;
    context.beginPath();
    const rings = new Set(pins.map(({ row, col }) => panel.boxOf(row, col).join()));
    for (const [x, y, width, height] of cells) {
      if (rings.has([x, y, width, height].join())) continue;
      context.rect(x + inset, y + inset, width - context.lineWidth, height - context.lineWidth);
    }
    context.stroke();
  }
}

function clip(context, panel, more) {
  context.beginPath();
  context.rect(panel.left - more, panel.top - more, panel.width + 2 * more, panel.height + 2 * more);
  context.clip();
}

/** A ring of a width, its middle so far outside a box. */
function ring(context, [x, y, width, height], wide, colour, outside) {
  context.lineWidth = wide;
  context.strokeStyle = colour;
  context.strokeRect(x - outside, y - outside, width + 2 * outside, height + 2 * outside);
}
