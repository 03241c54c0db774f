// Words beside both products: an element of the first D keeps its history in A₂ and in the second product.
import { Caption } from "../caption.js";
import { elementText, numberText } from "../model.js";
import { LABELS } from "./model.js";

export class SecondCaption extends Caption {
  nameOf(e) { return LABELS[e.o] ? `${LABELS[e.o]}[${e.r}][${e.c}]` : elementText(e); }

  readOut(e) {
    if (!e || !LABELS[e.o]) return super.readOut(e);
    const one = this.model[e.o], index = this.indexOf(e), slot = one.slots[index][0];
    return `${this.nameOf(e)} = ${this.valueOf(e.o, index)}\nlane ${one.laneOf(slot)} · ${one.registerText(slot)}`;
  }

  valueOf(o, index) {
    if (o !== "o") return super.valueOf(o, index);
    const { addedSecond } = this.timeline;
    return addedSecond < 0 ? "not yet" : numberText(this.model.o.sums[addedSecond][index]);
  }

  showLife(pin, go, unpin) {
    const key = pin?.o === "o" ? this.timeline.addedSecond : null;
    if (this.addedShown !== key) this.lived = undefined;
    this.addedShown = key;
    super.showLife(pin, go, unpin);
  }

  travelOf(pin, index) {
    if (pin.o === "p") return this.lifeOfA(pin);
    if (pin.o === "v") return [[this.timeline.firstMeet, "loaded from shared memory"], ...this.useOf(pin, pin.r)];
    return pin.o === "o" ? this.sumsOfSecond(pin, index) : super.travelOf(pin, index);
  }

  sumsOf(pin, index) { return [...super.sumsOf(pin, index), ...this.becoming(pin)]; }

  /** A₂'s element from the sums of D; of another tile of D only that it is one. */
  lifeOfA(pin) {
    const { d, second } = this.model, { r, c } = pin, tile = Math.floor(c / d.cols);
    const own = tile ? [[
      this.timeline.firstMeet,
      `D[${r}][${c % d.cols}] of tile ${tile}: \`${numberText(second.sources[tile][r * d.cols + c % d.cols])}\``,
    ]] : super.sumsOf({ o: "d", r, c }, r * d.cols + c);
    return [...own, ...this.becoming(pin)];
  }

  /** Where an element goes in A₂, and what is added to D₂ by it. */
  becoming({ r, c }) {
    const { model, timeline } = this, { p, second } = model, index = r * p.cols + c;
    const steps = p.slots[index].map((slot) => [
      timeline.firstBecome + second.a.moveOf[slot],
      `stays in lane ${p.laneOf(slot)}, A₂ \`${p.registerText(slot)}\` as ${p.element}: \`${
        numberText(p.numbers[index])}\``,
    ]);
    return [...steps, ...this.useOf({ o: "p", r, c }, c)];
  }

  useOf({ o, r, c }, k) {
    const { model, timeline } = this, { o: d } = model;
    const text = o === "p" ? `times B₂[${k}][0…${d.cols - 1}], into D₂[${r}][0…${d.cols - 1}]`
      : `A₂[0…${d.rows - 1}][${k}] times it, into D₂[0…${d.rows - 1}][${c}]`;
    const uses = (n) => (o === "p" ? Math.floor(n / d.cols) === r : n % d.cols === c);
    return [
      [timeline.secondK + k, `k = ${k}: ${text}`],
      [this.stepOut("then", o === "p" ? r : 0), `sums in D₂: ${this.holdersOf(d, uses)}`],
    ];
  }

  sumsOfSecond({ r, c }, index) {
    const { model, timeline } = this, { p, v, o: d } = model, [slot] = d.slots[index];
    const terms = Array.from({ length: p.cols }, (_, k) => (
      `${numberText(p.numbers[r * p.cols + k])}·${numberText(v.numbers[k * v.cols + c])}`
    ));
    const done = Math.max(0, timeline.addedSecond);
    const sum = done ? this.nameSum(done, model.second.k_groups) : "before the first k";
    const ended = numberText(d.sums.at(-1)[index]);
    const wrong = model.second.wrongAtEnd(index) ? ` ✗ stored matrices give ${numberText(d.expected[index])}` : "";
    return [
      [timeline.secondK, terms.join(" + ")],
      [timeline.secondK + Math.max(0, done - 1), `${sum}: \`${numberText(d.sums[done][index])}\``],
      [this.stepOut("then", r),
        `lane ${d.laneOf(slot)}, \`${d.registerText(slot)}\`: \`${ended}\`${wrong}`],
    ];
  }
}
