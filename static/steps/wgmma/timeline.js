// The timeline of a wgmma: which warp and which K step a step is about, and what has been read by then.
import { ADDED, RESTS, Timeline, clamp } from "../timeline.js";

export class WgmmaTimeline extends Timeline {
  constructor(model, still) {
    super(model, still);
    this.chosen = 0;
    this.firstRead = { a: this.first("line", "a"), b: this.first("line", "b") };
    this.readAt = this.steps.flatMap((step, n) => (step.kind === "read" ? [n] : []));
    let groups = 0;
    this.groupsBefore = this.steps.map((step) => (step.kind === "k" ? groups++ : groups));
  }

  /** The warp and the K step in view. */
  get view() {
    const { warp, k_step: step } = this.now;
    return [warp < 0 ? this.chosen : warp, step];
  }

  /** Chooses a warp: the first step of this phase that is about it, where steps are about one. */
  look(warp) {
    const { now } = this;
    this.chosen = warp;
    if (now.warp < 0) return;
    const first = this.steps.findIndex((step) => step.phase === now.phase && step.warp === warp);
    if (first >= 0) this.go(first, 1);
  }

  attend(pin, warp = null) {
    if (warp !== null) this.chosen = clamp(Number(warp) || 0, 0, 3);
    else if (pin && pin.o !== "b") this.chosen = clamp(Math.floor(pin.r / this.model.rows), 0, 3);
  }

  /** The step in which a move of the view is read. */
  stepOf(o, move) {
    if (move.held) return this.model.step ? 0 : this.first("hold", "a") + this.model.warp;
    return this.model.step ? this.readAt[this.model.step - 1] : this.firstRead[o] + move.number;
  }

  isPast(step) { return this.step > step || (this.step === step && this.t >= 1); }

  arrived(o, slot) {
    const move = this.model[o].moves[this.model[o].moveOf[slot]];
    return Boolean(move) && this.isPast(this.stepOf(o, move));
  }

  countMoves(o) { return this.model[o].moves.filter((move) => this.isPast(this.stepOf(o, move))).length; }

  get added() {
    if (this.step < this.firstK) return -1;
    return this.groupsBefore[this.step] + (this.now.kind === "k" && this.t > ADDED ? 1 : 0);
  }

  get crosses() {
    const { kind, operand } = this.now, ofB = (kind === "line" || kind === "core") && operand === "b";
    return this.t < 1 && (ofB || kind === "read");
  }

  part(step) {
    const { phase, kind, warp, k_step: k } = this.steps[step];
    return `${phase}.${kind === "line" || kind === "hold" ? kind : warp}.${k}`;
  }

  rest() {
    if (this.still.matches) return RESTS.still;
    if (this.now.kind === "core") return RESTS.phase;
    if (this.now.kind !== "line" && this.now.kind !== "k") return RESTS.caption;
    return this.part(this.step) !== this.part(Math.min(this.last, this.step + 1)) ? RESTS.phase : RESTS.row;
  }
}
