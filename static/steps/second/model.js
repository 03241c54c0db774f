// A second product after the first: its A, B and D, and the timeline of both. On the page they are p, v and o, as in
// flash attention; in the picture of the second product alone they are a, b and d.
import { differsAtEnd, held, makeModel } from "../model.js";
import { ADDED, Timeline } from "../timeline.js";

export const NAMES = { a: "p", b: "v", d: "o" };
export const LABELS = { p: "A₂", v: "B₂", o: "D₂" };

/** Both products: of the first what its own page has, and in `second` the one that follows. */
export function makeModels(data) {
  const first = makeModel(data), second = makeSecond(data.then, first.d);
  const { a: p, b: v, d: o } = second;
  const all = { ...first, second, p, v, o };
  return { ...all, has: ({ o: name, r, c }) => r < all[name].rows && c < all[name].cols };
}

function makeSecond(then, source) {
  const one = (o, given) => ({ ...held(o, given), label: LABELS[NAMES[o]], wrong: new Map() });
  const a = one("a", then.a), b = one("b", then.b), d = one("d", then.d);
  const across = [...then.a.numbers.keys()].map((n) => n % a.cols);
  const down = [...then.b.numbers.keys()].map((n) => Math.floor(n / b.cols));
  const registerOf = (slot) => Math.floor(a.valueOf(slot) / a.per);
  return {
    a: { ...a, k: across, moveOf: a.holds.map((_, slot) => registerOf(slot)), moves: Array(a.registers).fill(null) },
    b: { ...b, k: down, moveOf: b.holds.map(() => 0), moves: [null] },
    d, source, sources: then.sources, k_groups: then.k_groups,
    /** A slot of D, all tiles side by side in a lane, that becomes a slot of A. */
    sourceOf: (slot) => (
      (then.a.lane[slot] * then.sources.length + then.a.tile[slot]) * source.values + then.a.value[slot]
    ),
    wrongAtEnd: (element) => differsAtEnd(d, element),
  };
}

/** The whole timeline; `second` is the same moment as the picture of the second product sees it. */
export class Timelines extends Timeline {
  constructor(model, still) {
    super(model, still);
    this.firstMeet = this.first("meet", "then");
    this.firstBecome = this.first("become", "then");
    this.secondK = this.first("k", "then");
    this.second = this.seeSecond();
  }

  get isSecond() { return this.step >= this.firstMeet; }

  get added() { return this.isSecond ? this.model.k_groups.length : super.added; }

  /** What has been added to D₂; −1 before it is drawn. */
  get addedSecond() {
    if (this.step < this.secondK) return -1;
    return this.now.kind === "k" ? this.now.index + (this.t > ADDED ? 1 : 0) : this.model.second.k_groups.length;
  }

  /** Also where D₂ has changed, words change. */
  advance(ms) {
    const before = this.addedSecond, found = super.advance(ms);
    return { ...found, changed: found.changed || this.addedSecond !== before };
  }

  seeSecond() {
    const all = this;
    return Object.create(this, {
      added: { get: () => all.addedSecond },
      countMoves: { value: (o) => (
        o === "b" ? 1 : Math.max(0, Math.min(
          all.model.p.registers, all.step - all.firstBecome + (all.t >= 1 ? 1 : 0),
        ))
      ) },
      arrived: { value(o, slot) { return this.countMoves(o) > all.model.second[o].moveOf[slot]; } },
    });
  }
}
