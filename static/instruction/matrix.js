// One matrix on a canvas: where its cells are, which one is under a point, and one pixel of colour a cell.
import { rgb } from "./theme.js";

/** One matrix on the stage. `window` is the visible part in cells: {x0, x1, y0, y1}; zooming changes it. */
export class Panel {
  constructor(spec, operand, slot, ranges) {
    Object.assign(this, spec, { operand, slot });
    this.show(ranges);
    this.image = document.createElement("canvas");
    this.image.width = this.cols;
    this.image.height = this.rows;
  }

  /** Shows what the ranges say: {m: [0, 16], …}; a dimension that is not among them is whole. */
  show(ranges) {
    const [[y0, y1], [x0, x1]] = this.dims.map((dim, n) => ranges[dim] ?? [0, n ? this.cols : this.rows]);
    const inside = (from, to, count) => (from < count ? [from, Math.min(to, count)] : [0, count]);
    const [[top, bottom], [left, right]] = [inside(y0, y1, this.rows), inside(x0, x1, this.cols)];
    this.window = { x0: left, x1: right, y0: top, y1: bottom };
  }

  /** Takes its place from its slot; `stage`: the stage's box. */
  place(stage) {
    if (!this.slot) return;
    const box = this.slot.getBoundingClientRect();
    [this.left, this.top] = [box.left - stage.left, box.top - stage.top];
    [this.width, this.height] = [box.width, box.height];
  }

  get cellWidth() { return this.width / (this.window.x1 - this.window.x0); }
  get cellHeight() { return this.height / (this.window.y1 - this.window.y0); }
  columnAt(x) { return this.left + (x - this.window.x0) * this.cellWidth; }
  /** A cell's rectangle: x, y, width, height. */
  boxOf(row, col) { return [this.columnAt(col), this.rowAt(row), this.cellWidth, this.cellHeight]; }
  rowAt(y) { return this.top + (y - this.window.y0) * this.cellHeight; }

  covers(px, py) {
    return px >= this.left && py >= this.top && px < this.left + this.width && py < this.top + this.height;
  }

  /** The place of a stage point: [row, column], with fractions. */
  at(px, py) {
    return [this.window.y0 + (py - this.top) / this.cellHeight, this.window.x0 + (px - this.left) / this.cellWidth];
  }

  /** The cell under a stage point, null outside. */
  hit(px, py) {
    if (!this.covers(px, py)) return null;
    const [row, col] = this.at(px, py).map(Math.floor);
    return row >= 0 && col >= 0 && row < this.rows && col < this.cols ? { panel: this, row, col } : null;
  }

  visible() {
    const { x0, x1, y0, y1 } = this.window;
    return {
      c0: Math.max(0, Math.floor(x0)), c1: Math.min(this.cols, Math.ceil(x1)),
      r0: Math.max(0, Math.floor(y0)), r1: Math.min(this.rows, Math.ceil(y1)),
    };
  }

  /** Paints one pixel a cell; the canvas scales it. category(cell) → number, or −1 for a faded cell; faint(cell):
   *  whether it is drawn lighter. */
  paint(theme, category, colours, faint = null) {
    const context = this.image.getContext("2d");
    const data = context.createImageData(this.cols, this.rows);
    const wheel = colours.map((name) => rgb(theme.of(name)));
    const faded = rgb(theme.shared);
    const light = faint && wheel.map((fill) => fill.map((part, n) => Math.round(part * 0.35 + faded[n] * 0.65)));
    const { data: bytes } = data;
    for (let cell = 0, at = 0; cell < this.rows * this.cols; cell++) {
      const number = category(cell);
      const [r, g, b] = number < 0 ? faded : (faint?.(cell) ? light : wheel)[number % wheel.length];
      bytes[at++] = r;
      bytes[at++] = g;
      bytes[at++] = b;
      bytes[at++] = 255;
    }
    context.putImageData(data, 0, 0);
  }
}
