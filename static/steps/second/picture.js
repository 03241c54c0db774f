// The picture of a second product: D's registers, the registers of A that they become, the matrices.
import { Drawing } from "../drawing.js";
import { Motion, mix } from "../motion.js";
import { numberText } from "../model.js";
import { GAP, HEAD, LANE, R, Scene } from "../scene.js";
import { clamp, ease } from "../timeline.js";

const ROOM = 14, CELL_A = 22, CELL_B = 30, CARD = 268;

export class SecondScene extends Scene {
  get sourceWidth() { return this.model.sources.length * this.registersWidthOf(this.model.source); }

  registersWidthOf({ per, registers, element_bits: bits }) {
    return registers * Math.max(bits >= 32 ? 30 : 0, Math.min(52, per * 26));
  }

  registersWidth(o) { return this.registersWidthOf(this.model[o]); }

  layoutWide(free) {
    const { a, b, d } = this.model, box = this.boxes;
    const regs = this.sourceWidth + this.registersWidth("a") + this.registersWidth("b") + this.registersWidth("d");
    const matrixA = Math.min(352, a.cols * CELL_A), matrixB = Math.min(352, b.cols * CELL_B);
    const u = Math.min((this.width - LANE - 3 * ROOM - 70) / (regs + matrixA + matrixB), 1.4);
    const lane = clamp((free - HEAD) / 32, 15.5, 21);
    this.height = Math.round(HEAD + 32 * lane + 4);
    box.lanes = R(0, HEAD, 0, 32 * lane);
    let x = LANE;
    box.source = R(x, HEAD, this.sourceWidth * u, 32 * lane);
    x += this.sourceWidth * u + ROOM;
    for (const o of "abd") {
      const wide = this.registersWidth(o) * u;
      box[`reg_${o}`] = R(x, HEAD, wide, 32 * lane);
      x += wide + ROOM;
    }
    box.lanes.w = x - ROOM;
    x += 26;
    const room = this.height - HEAD - GAP - 4, top = room * b.rows / (b.rows + a.rows);
    const tall = Math.min(21, (room - top) / a.rows), y = HEAD + top + GAP;
    box.matA = R(x, y, matrixA * u, tall * a.rows);
    const right = x + matrixA * u + 24, wide = Math.min(matrixB * u, this.width - right - 2);
    box.matB = R(right, HEAD, wide, Math.min(21 * b.rows, top));
    box.matD = R(right, y, wide, tall * d.rows);
    this.aside = R(x - 14, 0, Math.max(matrixA * u + 14, Math.min(CARD, right - x)), y - 34);
  }

  layoutPhone(timeline) {
    const { kind } = timeline.now;
    if (kind !== "meet" && kind !== "become") {
      super.layoutPhone(timeline);
      return;
    }
    const w = this.width, ratio = this.sourceWidth / (this.sourceWidth + this.registersWidth("a"));
    const free = w - LANE - 10, box = this.boxes;
    this.aside = null;
    box.lanes = R(0, HEAD, w, 32 * 14);
    box.source = R(LANE, HEAD, free * ratio, 32 * 14);
    box.reg_a = R(LANE + free * ratio + 8, HEAD, free * (1 - ratio), 32 * 14);
    this.height = HEAD + 32 * 14 + 4;
  }

  memory() { return undefined; }
  element() { return null; }

  /** The values of D of one lane, all tiles side by side. */
  get sourceValues() { return this.model.sources.length * this.model.source.values; }

  sourceSlot(n) {
    const box = this.boxes.source, values = this.sourceValues;
    return box && R(
      box.x + (n % values) * box.w / values, box.y + Math.floor(n / values) * box.h / 32, box.w / values, box.h / 32,
    );
  }

  /** As the page names them; D's first tile is D itself, the others are known by what they become. */
  pick(x, y, xored) {
    const box = this.boxes.source, { source } = this.model;
    if (!box || x < box.x || x >= box.x + box.w || y < box.y || y >= box.y + box.h) return super.pick(x, y, xored);
    const at = Math.floor((x - box.x) / box.w * this.sourceValues), lane = Math.floor((y - box.y) / box.h * 32);
    const element = source.holds[lane * source.values + at % source.values], tile = Math.floor(at / source.values);
    const r = Math.floor(element / source.cols), c = element % source.cols;
    return tile ? { o: "a", r, c: tile * source.cols + c } : { o: "first", r, c };
  }
}

export class SecondDrawing extends Drawing {
  draw(pen) {
    const fresh = !Object.keys(this.shown).length;
    super.draw(pen);
    if (fresh && this.scene.boxes.source) this.drawSource();
  }

  get lanesKey() { return ""; }

  get lanesBox() { return { ...this.scene.boxes.lanes, w: LANE - 2 }; }

  drawLanes() {
    const { pen, scene } = this, { lanes } = scene.boxes;
    const about = scene.phone ? scene.boxes.source ? "D, and A₂" : "" : "their registers";
    pen.title("32 lanes", about, lanes.x, lanes.y - 30);
    for (let lane = 0; lane < 32; lane++) {
      pen.text(`T${lane}`, lanes.x + 20, lanes.y + (lane + .5) * lanes.h / 32, { align: "right" });
    }
  }

  drawSource() {
    const { pen, scene, model } = this, { source, sources } = model, { colours } = pen, box = scene.boxes.source;
    const values = scene.sourceValues, wide = box.w / sources.length / source.registers;
    for (let n = 0; n < 32 * values; n++) {
      const tile = Math.floor(n % values / source.values);
      const slot = Math.floor(n / values) * source.values + n % source.values;
      const text = numberText(sources[tile][source.holds[slot]]);
      pen.cell(scene.sourceSlot(n), colours.fill[source.laneOf(slot) >> 2], text, { letters: 3 });
    }
    sources.forEach((_, tile) => {
      for (let n = 0; n < source.registers; n++) {
        if (n && wide < 18) continue;
        const x = box.x + (tile * source.registers + n + .5) * wide, name = sources.length > 1 ? `D${tile}` : "D";
        const prefix = n || scene.phone ? "" : `${name} `;
        pen.text(`${prefix}R${n}`, x, box.y - 9, { align: "center", size: Math.min(10, wide / 3.4) });
      }
      pen.ring({ x: box.x + tile * source.registers * wide, y: box.y, w: source.registers * wide, h: box.h },
        colours.edge, 1);
    });
  }

  describeMatrix(o) { return o === "a" ? "m × k, from D" : super.describeMatrix(o); }
}

export class SecondMotion extends Motion {
  draw(pen, state) {
    super.draw(pen, state);
    if (this.timeline.now.kind === "become") this.drawBecoming(this.timeline.now.index);
  }

  /** The values of D that a register of A is packed from, in the lanes that keep them. */
  drawBecoming(register) {
    const { pen, scene, model, timeline } = this, { t } = timeline, { a, source } = model, { accent } = pen.colours;
    a.moveOf.forEach((move, slot) => {
      if (move !== register) return;
      const n = model.sourceOf(slot), from = scene.sourceSlot(n), to = scene.slot("a", slot), lane = a.laneOf(slot);
      const u = ease(clamp(t * 1.5 - lane * .014, 0, 1));
      pen.ring(from, accent, 1.4);
      if (t >= 1) {
        pen.ring(to, accent, 1.4);
        if (lane % 4 === 0 && a.valueOf(slot) % a.per === 0) pen.link(from, to, accent, { alpha: .35 });
        return;
      }
      if (u <= 0) return;
      const tile = Math.floor(n % scene.sourceValues / source.values);
      const number = u < .5 ? model.sources[tile][source.holds[lane * source.values + n % source.values]]
        : a.numbers[a.holds[slot]];
      const fill = pen.colours.fill[lane >> 2];
      pen.cell(mix(from, to, u), fill, numberText(number));
      const cell = scene.cell("a", a.holds[slot]);
      if (cell && u > .8) pen.cell(cell, fill, numberText(a.numbers[a.holds[slot]]), { alpha: (u - .8) * 5 });
    });
  }

  mark(pen, element, colour, width) {
    const { scene, model } = this, one = model[element.o], index = element.r * one.cols + element.c;
    const slots = one.slots[index];
    const boxes = [scene.cell(element.o, index), ...slots.map((s) => scene.slot(element.o, s))];
    if (element.o === "a") boxes.push(...slots.map((slot) => scene.sourceSlot(model.sourceOf(slot))));
    this.ringAll(pen, boxes, colour, width);
  }
}
