// What moves during a step, and the rings and curves that remain when it stands still.
import { clamp, ease } from "./timeline.js";
import { hex, numberText } from "./model.js";

export const mix = (p, q, t) => ({
  x: p.x + (q.x - p.x) * t, y: p.y + (q.y - p.y) * t, w: p.w + (q.w - p.w) * t, h: p.h + (q.h - p.h) * t,
});
export const LATER = .028; // elements of a row start 2.8 % apart
const ARC = 14; // and fly in an arc
export const DASH = [4, 3];

export class Motion {
  constructor(model, scene, timeline, drawing) {
    Object.assign(this, { model, scene, timeline, drawing });
  }

  draw(pen, { pin, one }) {
    this.pen = pen;
    this.pin = pin;
    const { now } = this.timeline;
    if (now.kind === "xor" && this.timeline.t < 1) this.drawing.drawMemory(pen);
    if (now.kind === "addresses") this.drawAddresses(now.operand);
    if (now.kind === "move") this.drawMove(now.operand, this.model[now.operand].moves[now.index]);
    if (now.kind === "k") {
      if (one) this.drawOne(now.index);
      else this.drawAll(now.index);
    }
    if (now.kind === "out") this.drawOut(now.index);
  }

  /** Lanes give their addresses, one after the other. */
  drawAddresses(o) {
    const { pen, scene, model, timeline } = this, { colours } = pen;
    const given = [...this.drawing.listGiven({ operand: o, index: 0 })];
    const shown = clamp(timeline.t * 40, 0, given.length);
    given.forEach(([lane, { address }], n) => {
      const alpha = clamp(shown - n, 0, 1);
      if (alpha > 0) pen.cell(scene.address(lane), null, hex(address), { letters: 6, alpha, ink: colours.ink });
    });
    const { size } = model[o].moves[0];
    const lit = timeline.t < 1
      ? [given[Math.min(given.length - 1, Math.floor(shown))]] : given.filter((_, n) => n % 8 === 0);
    for (const [lane, { address }] of lit) this.drawGiving(o, lane, address, size);
  }

  drawGiving(o, lane, address, size) {
    const { pen, scene } = this, { accent } = pen.colours, row = scene.bytes(o, address, size);
    pen.link(scene.address(lane), row, accent, { alpha: .8, dash: DASH, down: scene.phone });
    pen.ring(row, accent, 2, 1);
    pen.ring(scene.address(lane), accent, 2);
  }

  /** The bytes of one row, or of all lanes for a plain load, fly to their registers. */
  drawMove(o, move) {
    const { pen, scene, model, timeline } = this, { t } = timeline, one = model[o], { accent } = pen.colours;
    const single = move.lanes.length === 1, row = single ? scene.bytes(o, move.addresses[0], move.size) : null;
    if (single) {
      this.drawGiving(o, move.lanes[0], move.addresses[0], move.size);
      const fade = t < 1 ? ease(clamp(t * 1.5, 0, 1)) * .28 : .42, seen = new Set();
      for (const slot of move.slots) {
        const lane = one.laneOf(slot);
        if (!seen.has(lane)) pen.link(row, scene.slot(o, slot), accent, { alpha: fade, down: scene.phone });
        seen.add(lane);
      }
    }
    move.slots.forEach((slot, n) => {
      if (t < 1) this.fly(o, slot, single ? n : 0);
      else {
        pen.ring(scene.slot(o, slot), accent, 1.6);
        pen.ring(scene.cell(o, one.holds[slot]), accent, 1.6);
      }
    });
  }

  fly(o, slot, order) {
    const { pen, scene, model, timeline } = this, one = model[o], index = one.holds[slot];
    const u = ease(clamp(timeline.t * 1.25 - order * LATER, 0, 1)), to = scene.slot(o, slot);
    const from = scene.bit(o, one.reads[slot]);
    if (!to || !from || u <= 0) return;
    const box = mix(from, to, u), wrong = one.wrong.get(slot), fill = pen.colours.fill[one.laneOf(slot) >> 2];
    if (!scene.phone) box.y -= Math.sin(Math.PI * u) * ARC;
    const label = u > .35 ? numberText(wrong ? wrong.value : one.numbers[index]) : "";
    pen.shadowed(6 * Math.sin(Math.PI * u), () => pen.cell(box, fill, label, { wrong: Boolean(wrong) }));
    if (this.isPinned(o, index)) pen.ring(box, pen.colours.trace, 2);
    const cell = scene.cell(o, index);
    if (cell && u > .8) pen.cell(cell, fill, label, { alpha: (u - .8) * 5, wrong: Boolean(wrong) });
  }

  isPinned(o, index) {
    const { pin, model } = this;
    return pin?.o === o && pin.r * model[o].cols + pin.c === index;
  }

  /** The element of D that "one element" follows: the pinned one, or one that the pinned element goes into. */
  focus() {
    const { pin, model } = this;
    if (pin?.o === "d") return pin;
    const r = pin?.o === "a" ? pin.r : Math.min(5, model.d.rows - 1);
    const c = pin?.o === "b" ? pin.c : Math.min(3, model.d.cols - 1);
    return { o: "d", r, c };
  }

  /** The elements of A, and of B, that a step of K uses. */
  factors(group) {
    const { a, b, k_groups: groups } = this.model, [first, end] = groups[group];
    const within = (one) => one.k.flatMap((k, n) => (k >= first && k < end ? [n] : []));
    this.kept ??= new Map();
    if (!this.kept.has(group)) this.kept.set(group, { a: within(a), b: within(b) });
    return this.kept.get(group);
  }

  drawAll(group) {
    const { pen, scene, model, timeline } = this, { accent } = pen.colours, { t } = timeline;
    const used = this.factors(group), matrix = scene.matrix("d");
    if (matrix) {
      const u = ease(clamp(t * 1.3, 0, 1));
      if (u < 1) {
        const alpha = 1 - u * u * .55;
        for (const n of used.a) this.flyTo("a", n, u, (box) => ({ ...box, x: box.x + (matrix.x - box.x) * u }), alpha);
        for (const n of used.b) this.flyTo("b", n, u, (box) => ({ ...box, y: box.y + (matrix.y - box.y) * u }), alpha);
      }
      if (t > .6 && t < 1) {
        pen.g.globalAlpha = .28 * (1 - Math.abs(t - .8) / .2);
        pen.g.fillStyle = accent;
        pen.g.fillRect(matrix.x, matrix.y, matrix.w, matrix.h);
        pen.g.globalAlpha = 1;
      }
      for (const o of "ab") for (const box of this.outline(o, used[o])) pen.ring(box, accent, 2, 1);
      pen.ring(matrix, accent, 1.5, 1);
    }
    for (const o of "ab") {
      for (const n of used[o]) for (const slot of model[o].slots[n]) pen.ring(scene.slot(o, slot), accent, 1.4);
    }
  }

  /** One box around cells that make a rectangle, else one each. */
  outline(o, indexes) {
    const cells = indexes.map((n) => this.scene.cell(o, n));
    if (!cells.length || !cells[0]) return [];
    const x = Math.min(...cells.map((q) => q.x)), y = Math.min(...cells.map((q) => q.y));
    const right = Math.max(...cells.map((q) => q.x + q.w)), low = Math.max(...cells.map((q) => q.y + q.h));
    const area = cells.reduce((sum, q) => sum + q.w * q.h, 0);
    return Math.abs(area - (right - x) * (low - y)) < 1 ? [{ x, y, w: right - x, h: low - y }] : cells;
  }

  flyTo(o, index, u, moved, alpha) {
    const { pen, scene, model } = this, one = model[o], box = scene.cell(o, index);
    if (!box) return;
    const wrong = one.wrong.get(one.slots[index][0]), value = wrong ? wrong.value : one.numbers[index];
    pen.cell(moved(box), pen.colours.fill[one.group(index)], numberText(value), { alpha, wrong: Boolean(wrong) });
  }

  drawOne(group) {
    const { pen, scene, model, timeline } = this, { accent } = pen.colours;
    const f = this.focus(), used = this.factors(group);
    const a = used.a.filter((n) => Math.floor(n / model.a.cols) === f.r);
    const b = used.b.filter((n) => n % model.b.cols === f.c);
    const index = f.r * model.d.cols + f.c, target = scene.cell("d", index), u = ease(clamp(timeline.t * 1.35, 0, 1));
    for (const [o, list] of [["a", a], ["b", b]]) {
      for (const n of list) {
        const cell = scene.cell(o, n);
        if (cell && target) {
          if (u < 1) this.flyTo(o, n, u, (box) => mix(box, target, u), 1);
          else pen.link(cell, target, accent, { alpha: .45, down: o === "b" || scene.phone });
        }
        pen.ring(cell, accent, 2);
        for (const slot of model[o].slots[n]) pen.ring(scene.slot(o, slot), accent, 1.6);
      }
    }
    pen.ring(target, accent, 2);
    for (const slot of model.d.slots[index]) pen.ring(scene.slot("d", slot), accent, 1.6);
  }

  /** Rows of D beside the registers that hold them. */
  drawOut(part) {
    const { pen, scene, model, timeline } = this, { t } = timeline, { accent } = pen.colours, { d } = model;
    const size = Math.min(8, d.rows), sums = d.sums.at(-1);
    for (let r = 0; r < size; r++) {
      for (let c = 0; c < d.cols; c++) {
        const index = (part * size + r) * d.cols + c, from = scene.cell("d", index);
        const u = ease(clamp(t * 3.1 - r * .3, 0, 1));
        for (const slot of d.slots[index]) {
          const to = scene.slot("d", slot);
          if (!from || !to) continue;
          if (t < 1 && u > 0 && u < 1) {
            const fill = pen.colours.fill[d.group(index)];
            pen.cell(mix(from, to, u), fill, numberText(sums[index]), { letters: 3 });
          }
          if (u >= 1) pen.ring(to, accent, 1.2);
          if (u > 0) pen.ring(from, accent, 1.2);
        }
      }
      const row = (part * size + r) * d.cols;
      if (t >= 1 && !scene.phone) {
        const last = scene.slot("d", d.slots[row + d.cols - 1][0]);
        pen.link(last, scene.cell("d", row), accent, { alpha: .35 });
      }
    }
  }

  /** A ring in every place of one element: its bytes, its registers, its cell, and the lane that gives its address. */
  mark(pen, element, colour, width) {
    const { scene, model, timeline } = this, { now } = timeline;
    const one = model[element.o], index = element.r * one.cols + element.c;
    const boxes = [scene.cell(element.o, index), ...one.slots[index].map((slot) => scene.slot(element.o, slot))];
    if (element.o !== "d") {
      boxes.push(scene.element(element.o, index, timeline.xored));
      const loading = (now.kind === "move" || now.kind === "addresses") && now.operand === element.o;
      const move = loading && one.moves[one.moveOf[one.slots[index][0]]];
      if (move && move.lanes.length === 1) pen.ring(scene.address(move.lanes[0]), colour, width);
    }
    this.ringAll(pen, boxes, colour, width);
  }

  /** A ring around each box; around a small one with a margin. */
  ringAll(pen, boxes, colour, width) {
    for (const box of boxes) {
      if (!box) continue;
      if (box.w < 8) pen.ring(box, pen.colours.raised, 4, 3);
      pen.ring(box, colour, width, box.w < 8 ? 2 : .5);
    }
  }

  ringLane(pen, lane) {
    const { lanes } = this.scene.boxes, high = lanes && lanes.h / 32;
    if (lanes) pen.ring({ x: lanes.x, y: lanes.y + lane * high, w: lanes.w, h: high }, pen.colours.ink, 1.5);
  }

  /** A lane under the pointer, and the bytes at the address that it gives. */
  markLane(pen, lane) {
    const { scene, timeline } = this, { now } = timeline;
    this.ringLane(pen, lane);
    if (now.kind !== "move" && now.kind !== "addresses") return;
    const given = this.drawing.listGiven({ operand: now.operand, index: now.index }).get(lane);
    if (!given) return;
    const { size } = this.model[now.operand].moves[now.index];
    pen.ring(scene.bytes(now.operand, given.address, size), pen.colours.ink, 2, 1);
  }
}
