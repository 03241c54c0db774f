// Where everything of one ldmatrix or stmatrix stands: memory with its numbers, lanes, registers, the block of S.
import { AXIS, GAP, HEAD, LANE, R, Scene as ProductScene } from "./scene.js";
import { clamp } from "./timeline.js";

// Widths in pixels at 1392 pixels of page: a chunk, the address, a value of a register, a cell of S.
const CHUNK = 88, ADDRESS = 54, VALUE = 23, CELL = 24;
const TITLE = 205, LIFE = 230; // of the lanes' heading, of the card
const MOST_MATRIX = 400, MOST_LINE = 52, LEAST_LINE = 9;
const LETTER = .68, LEAST = 6.5; // of a number's width and size: as the pen writes it

export class MatrixScene extends ProductScene {
  registersWidth(o) { return this.model[o].values * VALUE; }

  layoutWide(free) {
    const { s } = this.model, box = this.boxes, regs = this.registersWidth("s");
    const matrix = Math.min(MOST_MATRIX, s.cols * CELL), lane = clamp((free - HEAD) / 32, 15.5, 21);
    const fixed = AXIS + 30 + 30 + LANE + 8 + 44 + 4;
    const u = Math.min((this.width - fixed) / (8 * CHUNK + ADDRESS + regs + Math.max(matrix, LIFE)), 1.35);
    this.height = Math.round(Math.max(HEAD + 32 * lane + 4, HEAD + LEAST_LINE * s.lines.length + 4));
    const line = Math.min(MOST_LINE, (this.height - HEAD - 4) / s.lines.length);
    box.memS = R(AXIS, HEAD, 8 * CHUNK * u, line * s.lines.length);
    let x = AXIS + box.memS.w + 60;
    box.lanes = R(x, HEAD, LANE + ADDRESS * u + 8 + regs * u, 32 * lane);
    box.address = R(x + LANE, HEAD, ADDRESS * u, 32 * lane);
    box.reg_s = R(x + LANE + ADDRESS * u + 8, HEAD, regs * u, 32 * lane);
    x += Math.max(box.lanes.w, TITLE) + 44;
    const tall = Math.min(21, (this.height - HEAD) * .6 / s.rows), y = this.height - 4 - tall * s.rows;
    box.matS = R(x, y, Math.min(matrix * u, this.width - x - 2), tall * s.rows);
    this.aside = R(x - 14, 0, Math.max(box.matS.w + 14, Math.min(260, this.width - x + 12)), y - 36);
    this.findGrid();
  }

  layoutPhone(timeline) {
    const { s } = this.model, box = this.boxes, w = this.width, { kind } = timeline.now;
    let y = HEAD;
    this.aside = null;
    if (kind !== "out") {
      const line = clamp(220 / s.lines.length, 6, 18);
      box.memS = R(40, y, w - 66, line * s.lines.length);
      y += box.memS.h + GAP;
    }
    if (kind === "addresses" || kind === "move") {
      box.lanes = R(0, y, w, 32 * 10.5);
      box.address = R(LANE, y, 54, box.lanes.h);
      box.reg_s = R(LANE + 62, y, Math.min(w - LANE - 63, this.registersWidth("s")), box.lanes.h);
      y += box.lanes.h + 4;
    }
    if (kind === "out") {
      box.matS = R(18, y, Math.min(20 * s.cols, .42 * w), Math.min(18, 448 / s.rows) * s.rows);
      const from = box.matS.x + box.matS.w + 14;
      box.lanes = R(from, y, w - from, 32 * 14);
      box.reg_s = R(from + LANE, y, w - from - LANE - 1, 32 * 14);
      y += 32 * 14 + 4;
    }
    this.height = Math.round(y);
    this.findGrid();
  }

  memory() { return this.boxes.memS; }
  matrix() { return this.boxes.matS; }

  /** In how many rows the numbers of a chunk stand, so that they can be read best; whether they can. */
  findGrid() {
    const { s } = this.model, box = this.memory();
    this.showsNumbers = false;
    this.grid = 1;
    if (!box) return;
    const wide = box.w / 8 * this.filled, high = box.h / s.lines.length;
    const letters = Math.max(2, ...s.stored_numbers.concat(s.numbers).map((one) => String(one ?? "?").length));
    const sizes = [1, 2, 4].map((rows) => Math.min(high / rows * .72, wide / (s.perChunk / rows) / letters / LETTER));
    const best = sizes.indexOf(Math.max(...sizes));
    if (sizes[best] < LEAST) return;
    this.showsNumbers = true;
    this.grid = 2 ** best;
  }

  /** How much of a chunk its elements fill: packed ones leave padding at its end. */
  get filled() { return this.model.s.perChunk * this.model.s.memory_bits / 128; }

  /** The place in a chunk's box of the element at a bit of it. */
  inside(box, bit) {
    const { perChunk, memory_bits: bits } = this.model.s, per = perChunk / this.grid, n = Math.floor(bit / bits);
    const w = box.w * this.filled / per, h = box.h / this.grid;
    return R(box.x + n % per * w, box.y + Math.floor(n / per) * h, w, h);
  }

  bit(o, bit) {
    const { origin } = this.model.s, from = bit - (bit - 8 * origin) % 128, box = this.bytes(o, from / 8, 16);
    return box && this.inside(box, bit - from);
  }

  element(o, index, xored) {
    const { at, before } = this.model[o], to = this.bit(o, at[index]), from = this.bit(o, before[index]);
    if (xored >= 1 || !to || !from) return to;
    return R(from.x + (to.x - from.x) * xored, from.y + (to.y - from.y) * xored, from.w, from.h);
  }
}
