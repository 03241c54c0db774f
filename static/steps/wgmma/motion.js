// What moves in a step of a wgmma: fields lead into memory, core matrices travel to their place, D to its lanes.
import { DASH, Motion, mix } from "../motion.js";
import { clamp, ease } from "../timeline.js";
import { numberText } from "../model.js";

const LATER = .012, WARP = 32;

export class WgmmaMotion extends Motion {
  draw(pen, state) {
    super.draw(pen, state);
    const { now } = this.timeline;
    if (now.kind === "field") this.drawMarks(now.operand, now.marks);
    if (now.kind === "hold") this.drawHold();
    if (now.kind === "advance") for (const o of this.described) this.drawAdvance(o, now.index);
    if (now.kind === "line" || now.kind === "core") this.drawReads(now.operand);
    if (now.kind === "read") for (const o of this.described) this.drawReads(o);
  }

  get described() { return this.model.data.a.words ? "ab" : "b"; }

  /** The warp's rows of A are in its lanes, one after the other; the sentence names those of the first lane. */
  drawHold() {
    const { pen, scene, model, timeline } = this, { a } = model, { accent } = pen.colours;
    a.holds.forEach((element, slot) => {
      if (timeline.t < 1 && a.laneOf(slot) < timeline.t * WARP) this.drawing.drawHeld(pen, slot, element);
      if (a.laneOf(slot)) return;
      const from = scene.slot("a", slot), to = scene.cell("a", element);
      if (slot % a.per === 0) pen.link(to, from, accent, { alpha: .42, down: scene.phone });
      for (const box of [from, to]) pen.ring(box, accent, 1.6);
    });
    for (const box of [scene.boxes.reg_a, scene.matrix("a")]) pen.ring(box, accent, 1.5, 1);
  }

  /** Where a field leads: rings around the lines of 16 bytes, and a curve from each to the next. */
  drawMarks(o, marks) {
    const { pen, scene, timeline } = this, { accent } = pen.colours;
    const boxes = marks.map((address) => scene.mark(o, address)).filter(Boolean);
    const shown = timeline.t < 1 ? Math.ceil(timeline.t * boxes.length) : boxes.length;
    boxes.slice(0, shown).forEach((box, n) => {
      pen.ring(box, accent, 2, 1);
      if (n && boxes.length === 2) pen.link(boxes[n - 1], box, accent, { alpha: .8, dash: DASH, down: true });
    });
  }

  drawAdvance(o, step) {
    const { words } = this.model.data[o], [before, now] = [step - 1, step].map((n) => words[n].lines[0][0]);
    this.drawMarks(o, [before, now]);
  }

  /** The lines of the core matrices that this step reads, and their cells. */
  drawReads(o) {
    const { pen, scene, model, timeline } = this, one = model[o], { accent } = pen.colours;
    const moves = one.moves.filter((move) => timeline.stepOf(o, move) === timeline.step);
    for (const move of moves) {
      const few = move.addresses.length <= 8;
      for (const address of few ? move.addresses : []) pen.ring(scene.mark(o, address), accent, 1.6, .5);
      move.slots.forEach((slot, n) => {
        if (timeline.t < 1) this.flyIn(o, slot, n);
        else if (few) pen.ring(scene.cell(o, slot), accent, 1.4);
      });
      if (few && timeline.t >= 1 && o === "a") { // from B the curve would run across the card
        const line = scene.mark(o, move.addresses[0]);
        pen.link(line, scene.cell(o, move.slots[0]), accent, { alpha: .42, down: scene.phone });
      }
    }
  }

  flyIn(o, slot, order) {
    const { pen, scene, model, timeline } = this, one = model[o], to = scene.cell(o, slot);
    const from = scene.bit(o, one.reads[slot]) ?? to;
    const u = ease(clamp(timeline.t * 1.4 - order * LATER, 0, 1));
    if (!to || u <= 0) return;
    const box = mix(from, to, u);
    const wrong = one.wrong.get(slot), label = u > .35 ? numberText(wrong ? wrong.value : one.numbers[slot]) : "";
    pen.cell(box, pen.colours.fill[one.group(slot)], label, { letters: one.letters, wrong: Boolean(wrong) });
    if (this.isPinned(o, slot)) pen.ring(box, pen.colours.trace, 2);
  }

  isPinned(o, index) { return this.pin?.o === o && this.model.cellOf(this.pin) === index; }

  /** The element of D that "one element" follows, in the view. */
  focus() {
    const { pin, model } = this, { rowFrom, colFrom, rows, cols } = model.d;
    const inside = (n, from, count, usual) => (n >= from && n < from + count ? n - from : Math.min(usual, count - 1));
    return {
      o: "d",
      r: inside(pin && pin.o !== "b" ? pin.r : -1, rowFrom, rows, 5),
      c: inside(pin && pin.o !== "a" ? pin.c : -1, colFrom, cols, 3),
    };
  }

  factors(group) {
    const { a, b, k_groups: groups } = this.model, [first, end] = groups[group];
    const within = (one) => one.k.flatMap((k, n) => (k >= first && k < end ? [n] : []));
    return { a: within(a), b: within(b) };
  }

  /** The warp's rows of D travel to the lanes that hold them. */
  drawOut() {
    const { pen, scene, model, timeline } = this, { t } = timeline, { accent } = pen.colours, { d } = model;
    const sums = d.sums.at(-1);
    d.slots.forEach(([slot], index) => {
      const row = Math.floor(index / d.cols), from = scene.cell("d", index), to = scene.slot("d", slot);
      const u = ease(clamp(t * 3 - row * .13, 0, 1));
      if (!from || !to || u <= 0) return;
      if (u < 1) {
        const box = mix(from, to, u);
        pen.cell(box, pen.colours.fill[d.group(index)], numberText(sums[index]), { letters: 3 });
      } else pen.ring(to, accent, 1.2);
      if (t >= 1 && !scene.phone && index % d.cols === d.cols - 1) pen.link(from, to, accent, { alpha: .35 });
    });
    pen.ring(scene.matrix("d"), accent, 1.5, 1);
  }

  mark(pen, element, colour, width) {
    const { scene, model, timeline } = this, { o } = element, one = model[o], index = model.cellOf(element);
    if (index < 0) return;
    const boxes = [scene.cell(o, index), ...one.slots[index].map((slot) => scene.slot(o, slot))];
    if (o !== "d") {
      boxes.push(scene.element(o, index, timeline.xored));
      const read = one.wrong.has(index) && timeline.arrived(o, index) && scene.bit(o, one.reads[index]);
      if (read) pen.ring(read, pen.colours.bad, 2, 1);
    }
    this.ringAll(pen, boxes, colour, width);
  }

  markLane(pen, lane) { this.ringLane(pen, lane); }
}
