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

/** The page's style sheet places the matrices: each has a .slot in the stage, and the canvases cover all of them. */
export class Stage {
  constructor(element, panels) {
    Object.assign(this, { element, panels, after: [] });
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
    for (const panel of this.panels) panel.place(box);
  }

  /** The matrix under a point of the stage; without an operand, too. */
  panelAt(px, py) {
    return this.panels.find((panel) => panel.covers(px, py)) ?? null;
  }

  hit(px, py) {
    for (const panel of this.panels) {
      const cell = panel.hit(px, py);
      if (cell && panel.operand) return cell;
    }
    return null;
  }

  /** Everything under the highlight. label(cell) → text. */
  draw(label) {
    const context = this.base.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    for (const panel of this.panels) {
      if (!panel.operand) continue;
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

  /** Dims all but the lit cells. lit: Map panel → cells; traced: [{panel, row?, col?}]; cursor: a cell or null; region:
   *  {panel, rows, cols}, framed, or null. */
  light(lit, traced, cursor, region = null) {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    if (!lit && !cursor) return;
    for (const panel of this.panels) {
      if (!panel.operand) continue;
      context.save();
      context.beginPath();
      context.rect(panel.left - 1, panel.top - 1, panel.width + 2, panel.height + 2);
      context.clip();
      const boxOf = (cell) => panel.boxOf(Math.floor(cell / panel.cols), cell % panel.cols);
      const held = lit?.get(panel) ?? [];
      const cells = region || held.length > MANY_LIT ? runsOf(panel, held) : held.map(boxOf);
      if (lit) {
        context.fillStyle = this.theme.dim;
        context.fillRect(panel.left, panel.top, panel.width, panel.height);
        for (const box of cells) context.clearRect(...box);
      }
      this.#trace(context, (traced ?? []).filter((band) => band.panel === panel));
      context.strokeStyle = this.theme.ink;
      context.lineWidth = Math.min(2, Math.max(1, panel.cellWidth / 6));
      context.beginPath();
      for (const box of cells) context.rect(...box);
      context.stroke();
      if (region?.panel === panel) frame(context, panel, region, this.theme);
      if (cursor?.panel === panel) {
        context.lineWidth = 3;
        context.strokeRect(...panel.boxOf(cursor.row, cursor.col));
      }
      context.restore();
    }
  }

  /** A row of A or a column of B that the pinned element of D is the product of. */
  #trace(context, bands) {
    context.strokeStyle = this.theme.trace;
    context.lineWidth = 2;
    for (const { panel, row, col } of bands) {
      const [w, h] = [panel.cellWidth, panel.cellHeight];
      const box = row === undefined
        ? [panel.columnAt(col), panel.rowAt(0), w, panel.rows * h]
        : [panel.columnAt(0), panel.rowAt(row), panel.cols * w, h];
      context.clearRect(...box);
      context.strokeRect(...box);
    }
  }
}
