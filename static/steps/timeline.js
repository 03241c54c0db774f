// Where we are: the step, how far its movement has come (t), whether it plays; and what is true at that moment.
export const ease = (t) => (t < .5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2);
export const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// Milliseconds at 1×: of each kind of step, and the rest after it.
const TAKES = {
  plain: 900, xor: 1100, addresses: 1100, move: 620, k: 640, out: 2200, done: 1200, field: 900, line: 620, core: 900,
  advance: 1100, read: 1100, hold: 1100, meet: 900, become: 1400,
};
export const RESTS = { caption: 1600, phase: 420, row: 130, still: 900 };
export const ADDED = .72; // when in a k step D changes

export class Timeline {
  constructor(model, still) {
    this.model = model;
    this.still = still;
    this.steps = model.steps;
    this.step = 0;
    this.t = 1;
    this.playing = false;
    this.speed = 1;
    this.rested = 0;
    this.first = (kind, operand = "") => this.steps.findIndex((s) => s.kind === kind && s.operand === operand);
    this.firstMove = { a: this.first("move", "a"), b: this.first("move", "b") };
    this.firstK = this.first("k");
  }

  /** Whether something flies across the card of the pinned number. */
  get crosses() { return this.now.kind === "out" && this.t < 1; }

  /** What a pin brings into view, where not everything is. */
  attend() {}

  get now() { return this.steps[this.step]; }
  get phase() { return this.model.phases[this.now.phase]; }
  get last() { return this.steps.length - 1; }

  /** How far the XOR has moved the chunks. */
  get xored() {
    const at = this.first("xor");
    if (at < 0) return 1;
    return this.step < at ? 0 : this.step === at ? ease(this.t) : 1;
  }

  /** Whether a slot of A or B has been filled. */
  arrived(o, slot) {
    const at = this.firstMove[o] + this.model[o].moveOf[slot];
    return this.step > at || (this.step === at && this.t >= 1);
  }

  /** How many moves of A or B have arrived. */
  countMoves(o) {
    const { moves } = this.model[o], past = this.step - this.firstMove[o];
    return clamp(past + (this.t >= 1 ? 1 : 0), 0, moves.length);
  }

  /** How many steps of K are in D; −1 before D is drawn. */
  get added() {
    if (this.step < this.firstK) return -1;
    const groups = this.model.k_groups.length;
    return this.now.kind === "k" ? this.now.index + (this.t > ADDED ? 1 : 0) : groups;
  }

  /** Which of the parts that Shift and an arrow jump over a step belongs to: a phase, or a matrix of a load. */
  part(step) {
    const one = this.steps[step], move = one.kind === "move" && this.model[one.operand].moves[one.index];
    return `${one.phase}.${move && move.lanes.length === 1 ? `${move.turn}.${move.phase}` : one.kind === "move"}`;
  }

  go(step, t) {
    this.step = clamp(step, 0, this.last);
    this.t = this.still.matches ? 1 : t;
    this.rested = 0;
  }

  move(by, whole) {
    if (!whole) return this.go(this.step + by, by > 0 && this.step < this.last ? 0 : 1);
    let step = this.step;
    if (by > 0) {
      while (step < this.last && this.part(step) === this.part(this.step)) step++;
    } else {
      step = Math.max(0, step - 1);
      while (step > 0 && this.part(step - 1) === this.part(step)) step--;
    }
    return this.go(step, 0);
  }

  /** Advances by milliseconds: {more: whether another frame is needed, changed: whether words change}. */
  advance(ms) {
    const passed = Math.min(ms, 50) * this.speed;
    if (this.t < 1) {
      const added = this.added;
      this.t = Math.min(1, this.t + passed / this.takes());
      return { more: this.t < 1 || this.playing, changed: this.t >= 1 || this.added !== added };
    }
    if (!this.playing) return { more: false, changed: false };
    this.rested += passed;
    if (this.rested <= this.rest()) return { more: true, changed: false };
    if (this.step === this.last) {
      this.playing = false;
      return { more: false, changed: true };
    }
    this.go(this.step + 1, 0);
    return { more: true, changed: true };
  }

  takes() { return TAKES[this.now.kind]; }

  rest() {
    if (this.still.matches) return RESTS.still;
    if (this.now.kind !== "move" && this.now.kind !== "k") return RESTS.caption;
    return this.part(this.step) !== this.part(Math.min(this.last, this.step + 1)) ? RESTS.phase : RESTS.row;
  }
}
