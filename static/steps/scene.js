// Where everything stands: memory, lanes, registers, matrices. Rectangles only; nothing is drawn here.
import { clamp } from "./timeline.js";

export const R = (x, y, w, h) => ({ x, y, w, h });
// Above the picture, between two parts of it, left of memory, of the lanes' names.
export const HEAD = 40;
export const GAP = 46;
export const AXIS = 46;
export const LANE = 26;
const WIDE = 900;
// Widths in pixels at 1392 pixels of page: a chunk, a value of a register, the address, a cell of A, a cell of B and D.
const CHUNK = 37, VALUE = 19, REGISTER = 44, ADDRESS = 54, CELL_A = 19, CELL_B = 24;
const MOST_MATRIX = 304, LEAST_LINE = 7;

export class Scene {
  constructor(model) {
    this.model = model;
    this.boxes = {};
  }

  /** The width of all registers of an operand in a lane, at scale 1. */
  registersWidth(o) {
    const { per, registers, element_bits: bits } = this.model[o];
    return registers * Math.max(bits >= 32 ? 26 : 0, Math.min(REGISTER, per * VALUE));
  }

  /** Brings what a step is about into view; whether everything stands elsewhere then. */
  follow() { return this.phone; }

  layout(width, free, timeline) {
    this.width = width;
    this.phone = width < WIDE;
    this.boxes = {};
    if (this.phone) this.layoutPhone(timeline);
    else this.layoutWide(Math.max(560, free));
  }

  layoutWide(free) {
    const { a, b, d } = this.model, box = this.boxes;
    const regs = { a: this.registersWidth("a"), b: this.registersWidth("b"), d: this.registersWidth("d") };
    const matrixA = Math.min(MOST_MATRIX, a.cols * CELL_A), matrixB = Math.min(MOST_MATRIX, b.cols * CELL_B);
    const natural = 8 * CHUNK + ADDRESS + regs.a + regs.b + regs.d + matrixA + matrixB + 60;
    const fixed = AXIS + 30 + LANE + 22 + 14 + 24 + 4;
    const u = Math.min((this.width - fixed) / natural, 1.5);
    const lane = clamp((free - HEAD) / 32, 15.5, 21);
    const lines = a.lines.length + b.lines.length;
    this.height = Math.round(Math.max(HEAD + 32 * lane + 4, HEAD + GAP + LEAST_LINE * lines + 4));
    const line = Math.min(24, (this.height - HEAD - GAP - 4) / lines);
    box.memA = R(AXIS, HEAD, 8 * CHUNK * u, line * a.lines.length);
    box.memB = R(AXIS, HEAD + box.memA.h + GAP, 8 * CHUNK * u, line * b.lines.length);
    let x = AXIS + 8 * CHUNK * u + 30 + 30 * u;
    box.lanes = R(x, HEAD, 0, 32 * lane);
    x += LANE;
    box.address = R(x, HEAD, ADDRESS * u, 32 * lane);
    x += ADDRESS * u + 8;
    for (const o of "abd") {
      box[`reg_${o}`] = R(x, HEAD, regs[o] * u, 32 * lane);
      x += regs[o] * u + 7;
    }
    box.lanes.w = x - 7 - box.lanes.x;
    x += 30 * u + 14;
    const top = (this.height - HEAD - GAP - 4) * (b.rows > 16 || a.rows < 16 ? .5 : b.rows / (b.rows + a.rows));
    const tall = Math.min(21, (this.height - HEAD - GAP - 4 - top) / a.rows), y = HEAD + top + GAP;
    box.matA = R(x, y, matrixA * u, tall * a.rows);
    const right = x + matrixA * u + 24, wide = Math.min(matrixB * u, this.width - right - 2);
    box.matB = R(right, HEAD, wide, Math.min(21 * b.rows, top));
    box.matD = R(right, y, wide, tall * d.rows);
    this.aside = R(x - 14, 0, matrixA * u + 14, y - 34);
  }

  layoutPhone(timeline) {
    const { a, b, d } = this.model, box = this.boxes, w = this.width, kind = timeline.now.kind;
    const chunks = w - 40 - 26, o = timeline.now.operand;
    this.aside = null;
    let y = HEAD;
    const memory = (name, count) => {
      const line = clamp(220 / count, 6, 14);
      box[name] = R(40, y, chunks, line * count);
      y += line * count + GAP;
    };
    const load = kind === "addresses" || kind === "move";
    if (kind === "plain" || kind === "xor" || (load && o === "a")) memory("memA", a.lines.length);
    if (kind === "plain" || kind === "xor" || (load && o === "b")) memory("memB", b.lines.length);
    const lanes = (name, from, lane, addresses) => {
      box.lanes = R(from, y, w - from, 32 * lane);
      let x = from + LANE;
      if (addresses) {
        box.address = R(x, y, 54, 32 * lane);
        x += 62;
      }
      box[`reg_${name}`] = R(x, y, Math.min(w - x - 1, 2 * this.registersWidth(name)), 32 * lane);
      y += 32 * lane + 4;
    };
    if (load) lanes(o, 0, 10.5, true);
    if (kind === "k") {
      const own = (w - 40) / (a.cols * 13 + b.cols * 17), tallB = Math.min(13, 220 / b.rows);
      box.matB = R(16 + a.cols * 13 * own + 19, y, b.cols * 17 * own, tallB * b.rows);
      y += tallB * b.rows + 40;
      box.matA = R(16, y, a.cols * 13 * own, 13 * a.rows);
      box.matD = R(box.matB.x, y, b.cols * 17 * own, 13 * d.rows);
      y += 13 * a.rows + 4;
    }
    if (kind === "out" || kind === "done") {
      box.matD = R(18, y, Math.min(21 * d.cols, .5 * w), 18 * d.rows);
      lanes("d", box.matD.x + box.matD.w + 18, 14, false);
      y = Math.max(y, HEAD + 18 * d.rows + 4);
    }
    this.height = Math.round(y);
  }

  memory(o) { return this.boxes[o === "a" ? "memA" : "memB"]; }
  matrix(o) { return this.boxes[{ a: "matA", b: "matB", d: "matD" }[o]]; }

  /** A run of bytes of one chunk; before: not yet XORed. */
  bytes(o, byte, length) {
    const box = this.memory(o), at = box && this.model[o].place(byte);
    if (!at) return null;
    const high = box.h / this.model[o].lines.length;
    return R(box.x + at[1] * box.w / 128, box.y + at[0] * high, length * box.w / 128, high);
  }

  /** A chunk on its way through the XOR. */
  chunk(o, one, xored) {
    const from = this.bytes(o, one.before, 16), to = this.bytes(o, one.after, 16);
    if (!from || !to) return to ?? from;
    const lift = Math.sign(to.x - from.x) * Math.sin(Math.PI * xored) * -.24 * from.h;
    return R(from.x + (to.x - from.x) * xored, from.y + (to.y - from.y) * xored + lift, from.w, from.h);
  }

  element(o, index, xored) {
    const { at, before, element_bits: bits } = this.model[o];
    const to = this.bytes(o, at[index] / 8, bits / 8);
    if (xored >= 1 || !to) return to;
    const from = this.bytes(o, before[index] / 8, bits / 8);
    return from && R(from.x + (to.x - from.x) * xored, from.y + (to.y - from.y) * xored, from.w, from.h);
  }

  bit(o, bit) { return this.bytes(o, bit / 8, this.model[o].element_bits / 8); }

  slot(o, slot) {
    const box = this.boxes[`reg_${o}`];
    if (!box) return null;
    const { values } = this.model[o], w = box.w / values, h = box.h / 32;
    return R(box.x + (slot % values) * w, box.y + Math.floor(slot / values) * h, w, h);
  }

  cell(o, index) {
    const box = this.matrix(o);
    if (!box) return null;
    const { rows, cols } = this.model[o], w = box.w / cols, h = box.h / rows;
    return R(box.x + (index % cols) * w, box.y + Math.floor(index / cols) * h, w, h);
  }

  address(lane) {
    const box = this.boxes.address;
    return box && R(box.x, box.y + lane * box.h / 32, box.w, box.h / 32);
  }

  /** What lies under a point: an element {o, r, c}, with the slot where it is a register's; or null. */
  pick(x, y, xored) {
    const inside = (box) => box && x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
    const found = (o, index, slot) => {
      const { cols, rowFrom = 0, colFrom = 0 } = this.model[o];
      return { o, r: Math.floor(index / cols) + rowFrom, c: index % cols + colFrom, slot };
    };
    for (const o of "abds") {
      const one = this.model[o], matrix = this.matrix(o), registers = this.boxes[`reg_${o}`];
      if (!one) continue;
      if (inside(matrix)) {
        const row = Math.floor((y - matrix.y) / matrix.h * one.rows);
        return found(o, row * one.cols + Math.floor((x - matrix.x) / matrix.w * one.cols));
      }
      if (inside(registers)) {
        const lane = Math.floor((y - registers.y) / registers.h * 32);
        const slot = lane * one.values + Math.floor((x - registers.x) / registers.w * one.values);
        return found(o, one.holds[slot], slot);
      }
      const memory = o === "d" ? null : this.memory(o);
      if (inside(memory)) {
        const index = one.at.findIndex((_, n) => inside(this.element(o, n, xored)));
        return index < 0 ? null : found(o, index);
      }
    }
    return null;
  }

  lane(x, y) {
    const box = this.boxes.lanes;
    return box && x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h
      ? Math.floor((y - box.y) / box.h * 32) : null;
  }
}
