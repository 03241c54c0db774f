// Where the parts of a wgmma stand: memory, the matrices of one warp, the lanes that hold its rows of D.
import { AXIS, GAP, HEAD, R, Scene } from "../scene.js";
import { clamp } from "../timeline.js";

const LANE = 34; // names of threads to T127
// Widths in pixels at 1392 pixels of page, as those of a warp's product: ../scene.js
const CHUNK = 37, CELL_A = 19, CELL_B = 24, MOST_A = 460, MOST_B = 400, LEAST_LINE = 7, BETWEEN = 8;

export class WgmmaScene extends Scene {
  follow(timeline) { return this.model.look(...timeline.view) || this.phone; }

  registersWidth(o) { return this.model[o].registers ? super.registersWidth(o) : 0; }

  layoutWide(free) {
    const { a, b, d } = this.model, box = this.boxes, own = this.registersWidth("a"), regs = this.registersWidth("d");
    const matrixA = Math.min(MOST_A, a.cols * CELL_A), matrixB = Math.min(MOST_B, b.cols * CELL_B);
    const fixed = AXIS + 30 + 24 + 24 + 22 + LANE + (own ? BETWEEN : 0) + 4;
    const u = Math.min((this.width - fixed) / (8 * CHUNK + 30 + matrixA + matrixB + own + regs), 1.5);
    const lane = clamp((free - HEAD) / 32, 15.5, 21), lines = a.lines.length + b.lines.length;
    this.height = Math.round(Math.max(HEAD + 32 * lane + 4, HEAD + GAP + LEAST_LINE * lines + 4));
    const line = Math.min(24, (this.height - HEAD - GAP - 4) / lines), high = line * a.lines.length;
    if (high) box.memA = R(AXIS, HEAD, 8 * CHUNK * u, high);
    box.memB = R(AXIS, HEAD + (high && high + GAP), 8 * CHUNK * u, line * b.lines.length);
    let x = AXIS + 8 * CHUNK * u + 30 + 30 * u + 24;
    const room = this.height - HEAD - GAP - 4, top = room * clamp(b.rows / (b.rows + a.rows), .3, .5);
    const tall = Math.min(21, (room - top) / a.rows), y = HEAD + top + GAP;
    box.matA = R(x, y, matrixA * u, tall * a.rows);
    this.aside = R(x - 14, 0, matrixA * u + 14, y - 34);
    x += matrixA * u + 24;
    box.matB = R(x, HEAD, matrixB * u, Math.min(21 * b.rows, top));
    box.matD = R(x, y, matrixB * u, tall * d.rows);
    x += matrixB * u + 22;
    const after = own ? own * u + BETWEEN : 0;
    box.lanes = R(x, HEAD, LANE + after + regs * u, 32 * lane);
    if (own) box.reg_a = R(x + LANE, HEAD, own * u, 32 * lane);
    box.reg_d = R(x + LANE + after, HEAD, regs * u, 32 * lane);
  }

  layoutPhone(timeline) {
    const { a, b, d } = this.model, box = this.boxes, w = this.width, { kind, operand } = timeline.now;
    const reads = kind === "line" || kind === "core" || kind === "field";
    this.aside = null;
    let y = HEAD;
    const memory = (o) => {
      const { lines } = this.model[o];
      if (!lines.length) return;
      const line = clamp((reads ? 260 : 200) / lines.length, 6, 14);
      box[o === "a" ? "memA" : "memB"] = R(40, y, w - 66, line * lines.length);
      y += line * lines.length + GAP;
    };
    for (const o of "ab") {
      if (kind === "plain" || kind === "xor" || kind === "advance" || (reads && operand === o)) memory(o);
    }
    if (reads && kind !== "field") {
      const one = this.model[operand], wide = Math.min(w - 20, 19 * one.cols);
      box[operand === "a" ? "matA" : "matB"] = R(18, y, wide, 13 * one.rows);
      y += 13 * one.rows + 4;
    }
    if (kind === "hold") {
      const regs = Math.min(this.registersWidth("a") * 1.4, w - LANE - 4);
      box.matA = R(18, y, Math.min(w - 24, 19 * a.cols), 13 * a.rows);
      y += 13 * a.rows + GAP;
      box.lanes = R(0, y, LANE + regs, 32 * 12);
      box.reg_a = R(LANE, y, regs, 32 * 12);
      y += 32 * 12 + 4;
    }
    if (kind === "k" || kind === "read") {
      const own = (w - 52) / (a.cols * 13 + b.cols * 17), tallB = Math.min(13, 220 / b.rows);
      box.matB = R(22 + a.cols * 13 * own + 25, y, b.cols * 17 * own, tallB * b.rows);
      y += tallB * b.rows + 40;
      box.matA = R(22, y, a.cols * 13 * own, 13 * a.rows);
      box.matD = R(box.matB.x, y, b.cols * 17 * own, 13 * d.rows);
      y += 13 * a.rows + 4;
    }
    if (kind === "out" || kind === "done") {
      const regs = Math.min(this.registersWidth("d"), w - LANE - 4);
      box.matD = R(22, y, Math.min(21 * d.cols, w - 24), 13 * d.rows);
      y += 13 * d.rows + GAP;
      box.lanes = R(0, y, LANE + regs, 32 * 12);
      box.reg_d = R(LANE, y, regs, 32 * 12);
      y += 32 * 12 + 4;
    }
    this.height = Math.round(y);
  }

  /** The bytes under a descriptor's field: the line of a core matrix that begins there. */
  mark(o, address) { return this.bytes(o, address, 16); }
}
