// One matrix on a canvas: where its cells are, which one is under a point, and one pixel of colour a cell.
import { rgb } from "./theme.js";

/** One matrix on the stage. `window` is the visible part in cells: {x0, x1, y0, y1}; zooming changes it. */
export class Panel {
  constructor(spec, operand) {
    Object.assign(this, spec, { operand });
    this.reset();
    this.image = document.createElement("canvas");
    this.image.width = this.cols;
    this.image.height = this.rows;
  }

  reset() {
    this.window = { x0: 0, x1: this.cols, y0: 0, y1: this.rows };
  }

  place(scale) {
    this.left = this.x * scale;
    this.top = this.y * scale;
    this.width = this.cols * this.cell_width * scale;
    this.height = this.rows * this.cell_height * scale;
  }

  get cellWidth() { return this.width / (this.window.x1 - this.window.x0); }
  get cellHeight() { return this.height / (this.window.y1 - this.window.y0); }
  columnAt(x) { return this.left + (x - this.window.x0) * this.cellWidth; }
  /** A cell's rectangle: x, y, width, height. */
  boxOf(row, col) { return [this.columnAt(col), this.rowAt(row), this.cellWidth, this.cellHeight]; }
  rowAt(y) { return this.top + (y - this.window.y0) * this.cellHeight; }

  /** The cell under a stage point, null outside. */
  hit(px, py) {
    if (px < this.left || py < this.top || px >= this.left + this.width || py >= this.top + this.height) return null;
    const col = Math.floor(this.window.x0 + (px - this.left) / this.cellWidth);
    const row = Math.floor(this.window.y0 + (py - this.top) / this.cellHeight);
    return row >= 0 && col >= 0 && row < this.rows && col < this.cols ? { panel: this, row, col } : null;
  }

  visible() {
    const { x0, x1, y0, y1 } = this.window;
    return {
      c0: Math.max(0, Math.floor(x0)), c1: Math.min(this.cols, Math.ceil(x1)),
      r0: Math.max(0, Math.floor(y0)), r1: Math.min(this.rows, Math.ceil(y1)),
    };
  }

  /** Paints one pixel a cell; the canvas scales it. category(cell) → number, or −1 for a faded cell. */
  paint(theme, category, colours) {
    const context = this.image.getContext("2d");
    const data = context.createImageData(this.cols, this.rows);
    const wheel = colours.map((name) => rgb(theme.of(name)));
    const faded = rgb(theme.shared);
    for (let cell = 0; cell < this.rows * this.cols; cell++) {
      const number = category(cell);
      const [r, g, b] = number < 0 ? faded : wheel[number % wheel.length];
      data.data.set([r, g, b, 255], cell * 4);
    }
    context.putImageData(data, 0, 0);
  }
}
