// Draws linked matrices on canvases: fills and labels below, highlight above. Knows cells and pixels, not GPUs.

const GLYPH = 0.602;
const SMALLEST_LABEL = 7.5;
const GRID_LINES_FROM = 6;
const LEAST_SCALE = 0.66;

/** Resolves the page's colour variables, light or dark, to what a canvas understands. */
export function readTheme() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const theme = {
    fills: Array.from({ length: 8 }, (_, n) => colour(`--fill-${n}`)),
    four: Array.from({ length: 4 }, (_, n) => colour(`--four-${n}`)),
    ink: colour("--cell-ink"), line: colour("--cell-line"), muted: colour("--muted"), shared: colour("--shared"),
    dim: colour("--dim"), trace: colour("--trace"), paper: colour("--paper"),
  };
  probe.remove();
  return theme;
}

/** The fill of one of `count` categories; beyond eight they repeat, and the legend says so. */
export const fillOf = (theme, category, count) => (count <= 4 ? theme.four[category % 4] : theme.fills[category % 8]);

function rgb(text) {
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}

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

  /** Paint one pixel a cell; the canvas scales it. category(cell) → number, or −1 for a faded cell. */
  paint(theme, category, count) {
    const context = this.image.getContext("2d");
    const data = context.createImageData(this.cols, this.rows);
    const wheel = Array.from({ length: count <= 4 ? 4 : 8 }, (_, n) => rgb(fillOf(theme, n, count)));
    const faded = rgb(theme.shared);
    for (let cell = 0; cell < this.rows * this.cols; cell++) {
      const number = category(cell);
      const [r, g, b] = number < 0 ? faded : wheel[number % wheel.length];
      data.data.set([r, g, b, 255], cell * 4);
    }
    context.putImageData(data, 0, 0);
  }
}

/** The stage: a base canvas (fills, lines, labels) and a transparent one over it (highlight). */
export class Stage {
  constructor(element, figure, panels) {
    Object.assign(this, { element, figure, panels });
    this.base = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.base.className = "base";
    element.replaceChildren(this.base, this.over);
    this.theme = readTheme();
    this.resize();
  }

  resize() {
    // Below the least scale titles and ticks would collide: the stage scrolls sideways instead.
    this.scale = Math.max(LEAST_SCALE, Math.min(1, this.element.clientWidth / this.figure.width)) || 1;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.figure.width * this.scale, this.figure.height * this.scale];
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    for (const panel of this.panels) panel.place(this.scale);
  }

  hit(px, py) {
    for (const panel of this.panels) {
      const cell = panel.hit(px, py);
      if (cell && panel.operand) return cell;
    }
    return null;
  }

  /** Everything under the highlight. label(panel, cell) → text; heavy(panel) → rows with a line before them. */
  draw(label, heavy) {
    const context = this.base.getContext("2d");
    const theme = this.theme;
    context.clearRect(0, 0, this.figure.width, this.figure.height);
    context.imageSmoothingEnabled = false;
    for (const panel of this.panels) {
      this.#frame(context, panel);
      context.save();
      context.beginPath();
      context.rect(panel.left, panel.top, panel.width, panel.height);
      context.clip();
      if (panel.operand) {
        context.drawImage(panel.image, panel.columnAt(0), panel.rowAt(0), panel.cols * panel.cellWidth, panel.rows * panel.cellHeight);
        this.#lines(context, panel, heavy(panel));
        this.#labels(context, panel, label);
      } else {
        context.fillStyle = theme.shared;
        context.fillRect(panel.left, panel.top, panel.width, panel.height);
        if (panel.width > 130 && panel.height > 14) {
          context.fillStyle = theme.muted;
          context.font = "11px system-ui, sans-serif";
          context.textAlign = "center";
          context.textBaseline = "middle";
          context.fillText("in shared memory, read through a descriptor", panel.left + panel.width / 2, panel.top + panel.height / 2, panel.width - 8);
        }
      }
      context.restore();
    }
  }

  #frame(context, panel) {
    const size = Math.max(7.5, 9 * Math.min(1, this.scale * 1.2));
    context.fillStyle = this.theme.muted;
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.font = `600 ${Math.max(9, 12 * this.scale)}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.fillText(panel.title, panel.left, panel.top - 20 * this.scale);
    context.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    const { c0, c1, r0, r1 } = panel.visible();
    const step = (cell, least) => [1, 2, 4, 8, 16, 32, 64, 128].find((s) => s * cell >= least) ?? 128;
    context.textAlign = "center";
    const across = step(panel.cellWidth, 18);
    for (let c = Math.ceil(c0 / across) * across; c < c1; c += across) {
      const x = panel.columnAt(c + 0.5);
      if (x >= panel.left && x <= panel.left + panel.width) context.fillText(c, x, panel.top - 5 * this.scale);
    }
    context.textAlign = "right";
    const down = step(panel.cellHeight, 10);
    for (let r = Math.ceil(r0 / down) * down; r < r1; r += down) {
      const y = panel.rowAt(r + 0.5);
      if (y >= panel.top && y <= panel.top + panel.height) context.fillText(r, panel.left - 4 * this.scale, y + 3);
    }
  }

  #lines(context, panel, heavy) {
    const { c0, c1, r0, r1 } = panel.visible();
    context.strokeStyle = this.theme.line;
    context.lineWidth = 0.5;
    context.beginPath();
    if (Math.min(panel.cellWidth, panel.cellHeight) >= GRID_LINES_FROM) {
      for (let c = c0; c <= c1; c++) { context.moveTo(panel.columnAt(c), panel.top); context.lineTo(panel.columnAt(c), panel.top + panel.height); }
      for (let r = r0; r <= r1; r++) { context.moveTo(panel.left, panel.rowAt(r)); context.lineTo(panel.left + panel.width, panel.rowAt(r)); }
    } else context.rect(panel.left, panel.top, panel.width, panel.height);
    context.stroke();
    context.lineWidth = 2;
    context.beginPath();
    for (const r of heavy) { context.moveTo(panel.left, panel.rowAt(r)); context.lineTo(panel.left + panel.width, panel.rowAt(r)); }
    context.stroke();
  }

  #labels(context, panel, label) {
    const { c0, c1, r0, r1 } = panel.visible();
    if (panel.cellWidth < 14 || panel.cellHeight < 8) return;
    const texts = [];
    let longest = 0, longestHalf = 0;
    for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
      const text = label(panel, r * panel.cols + c);
      if (!text) continue;
      const halves = text.split(/[: ]/, 2);
      texts.push([r, c, text, halves]);
      longest = Math.max(longest, text.length);
      longestHalf = Math.max(longestHalf, ...halves.map((half) => half.length));
    }
    context.fillStyle = this.theme.ink;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const font = (size) => { context.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`; };
    const one = Math.min(13, (panel.cellWidth - 3) / (longest * GLYPH), panel.cellHeight - 3);
    if (one >= SMALLEST_LABEL) {
      font(one);
      for (const [r, c, text] of texts) context.fillText(text, panel.columnAt(c + 0.5), panel.rowAt(r + 0.5) + 0.5);
      return;
    }
    const two = Math.min(10, (panel.cellWidth - 2) / (longestHalf * GLYPH), (panel.cellHeight - 2) / 2.1);
    if (two < 6.5) return;
    font(two);
    for (const [r, c, , [first, second]] of texts) {
      const x = panel.columnAt(c + 0.5), y = panel.rowAt(r + 0.5);
      context.fillText(first, x, y - (second ? two * 0.5 : 0));
      if (second) context.fillText(second, x, y + two * 0.55);
    }
  }

  /** Dim all but the lit cells. lit: Map panel → cells; traced: [{panel, row?, col?}]; cursor: {panel, row, col}|null. */
  light(lit, traced, cursor) {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.figure.width, this.figure.height);
    if (!lit && !cursor) return;
    for (const panel of this.panels) {
      if (!panel.operand) continue;
      context.save();
      context.beginPath();
      context.rect(panel.left - 1, panel.top - 1, panel.width + 2, panel.height + 2);
      context.clip();
      const cells = lit?.get(panel) ?? [];
      const [w, h] = [panel.cellWidth, panel.cellHeight];
      if (lit) {
        context.fillStyle = this.theme.dim;
        context.fillRect(panel.left, panel.top, panel.width, panel.height);
        for (const cell of cells) context.clearRect(panel.columnAt(cell % panel.cols), panel.rowAt(Math.floor(cell / panel.cols)), w, h);
      }
      for (const band of traced ?? []) {
        if (band.panel !== panel) continue;
        context.strokeStyle = this.theme.trace;
        context.lineWidth = 2;
        const [x, y, bw, bh] = band.row === undefined
          ? [panel.columnAt(band.col), panel.rowAt(0), w, panel.rows * h]
          : [panel.columnAt(0), panel.rowAt(band.row), panel.cols * w, h];
        context.clearRect(x, y, bw, bh);
        context.strokeRect(x, y, bw, bh);
      }
      context.strokeStyle = this.theme.ink;
      context.lineWidth = Math.min(2, Math.max(1, w / 6));
      context.beginPath();
      for (const cell of cells) context.rect(panel.columnAt(cell % panel.cols), panel.rowAt(Math.floor(cell / panel.cols)), w, h);
      context.stroke();
      if (cursor?.panel === panel) {
        context.lineWidth = 3;
        context.strokeRect(panel.columnAt(cursor.col), panel.rowAt(cursor.row), w, h);
      }
      context.restore();
    }
  }
}
