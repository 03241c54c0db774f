// Words beside the picture: the step's sentence, what is under the pointer, the life of the pinned element, the
// scrubber.
import { $, element } from "../kit/dom.js";
import { elementText, hex, numberText } from "./model.js";

const SVG = "http://www.w3.org/2000/svg";

/** Text whose `words` between backticks are code, as nodes. */
const coded = (text) => text.split("`").map((part, n) => (n % 2 ? element("code", { textContent: part }) : part));

/** Numbers as a range where they follow one another. */
export const listed = (numbers) => (numbers.at(-1) - numbers[0] === numbers.length - 1
  ? `${numbers[0]}–${numbers.at(-1)}`
  : numbers.length > 4 ? `${numbers.slice(0, 3).join(", ")} … ${numbers.at(-1)}` : numbers.join(", "));

export class Caption {
  constructor(model, timeline) {
    this.model = model;
    this.timeline = timeline;
    this.buildScrubber();
  }

  /** Controls of its own. */
  connect() {}

  show() {
    const { timeline, model } = this, { now } = timeline;
    const name = `${now.phase + 1} · ${timeline.phase.name}`;
    if (this.shown !== timeline.step) {
      $("step-caption").setAttribute("aria-live", timeline.playing ? "off" : "polite"); // not each row as it plays
      $("step-caption").replaceChildren(...coded(now.caption));
      $("step-phase").replaceChildren(name, element("small", { textContent: now.at }));
      this.shown = timeline.step;
      this.showScrubber();
    }
    $("step-play").setAttribute("aria-label", timeline.playing ? "Pause" : "Play");
    $("step-play").classList.toggle("playing", timeline.playing);
    $("step-count").textContent = `${timeline.step + 1} / ${model.steps.length}`;
  }

  /** What the pointer is on: its number, its byte, its lane and register. */
  readOut(e) {
    if (!e) return "";
    const one = this.model[e.o], index = e.r * one.cols + e.c, slot = e.slot ?? one.slots[index][0];
    const held = `lane ${one.laneOf(slot)} · ${one.registerText(slot)}`, value = this.valueOf(e.o, index);
    if (e.o === "d") return `${elementText(e)} = ${value}\n${held}`;
    const wrong = one.wrong.get(slot);
    const bytes = `${elementText(e)} = ${numberText(one.numbers[index])} · ${this.byteText(one, index)}`;
    return wrong ? `${bytes}\n${held}: ✗ ${wrong.arrived || "no element"} arrives` : `${bytes}\n${held}`;
  }

  /** Where an element's chunk is drawn: until it is XORed at its address without the XOR. */
  byteText(one, index) {
    const xored = this.timeline.xored > 0;
    return hex(Math.floor((xored ? one.at : one.before)[index] / 8)) + (xored ? "" : " before the XOR");
  }

  valueOf(o, index) {
    const one = this.model[o];
    if (o !== "d") return numberText(one.numbers[index]);
    const { added } = this.timeline;
    return added < 0 ? "not yet" : numberText(one.sums[added][index]);
  }

  // the life of one number --------------------------------------------------------------------------------------------

  get invitation() {
    return "Click any cell to follow that number from its byte in shared memory to the sums that use it.";
  }

  nameOf(e) { return elementText(e); }

  showLife(pin, go, unpin) {
    const card = $("life"), { added, now } = this.timeline;
    const key = pin && `${this.nameOf(pin)} ${now.phase} ${pin.o === "d" ? added : 0}`;
    if (this.lived === key) return;
    this.lived = key;
    if (!pin) {
      card.replaceChildren(element("h2", { textContent: "One number’s life" }), element("p", {
        className: "muted",
        textContent: this.invitation,
      }));
      return;
    }
    const index = this.indexOf(pin), { phase } = now;
    const close = element("button", { type: "button", className: "btn", textContent: "Esc", title: "Unpin (Esc)" });
    close.setAttribute("aria-label", "Unpin");
    close.addEventListener("click", unpin);
    const title = `${this.nameOf(pin)} = ${this.valueOf(pin.o, index)} `;
    const list = (pin.o === "d" ? this.sumsOf(pin, index) : this.travelOf(pin, index)).map(([step, text]) => {
      const number = this.model.steps[step].phase, button = element("button", { type: "button" }, ...coded(text));
      button.addEventListener("click", () => go(step));
      const mark = element("i", { textContent: number + 1 });
      return element("li", { className: number === phase ? "now" : "" }, mark, button);
    });
    const held = [...card.querySelectorAll("button")].indexOf(document.activeElement);
    card.replaceChildren(
      element("h2", {}, title, element("small", { textContent: "pinned" }), close), element("ol", {}, ...list),
    );
    card.querySelectorAll("button")[held]?.focus({ preventScroll: true });
  }

  indexOf({ o, r, c }) { return r * this.model[o].cols + c; }

  travelOf({ o, r, c }, index) {
    const { model, timeline } = this, one = model[o], k = one.k[index], out = [];
    const byte = Math.floor(one.at[index] / 8), before = Math.floor(one.before[index] / 8);
    const moved = byte === before ? ""
      : `, chunk ${one.place(before)?.[1] >> 4} stored at place ${one.place(byte)?.[1] >> 4}`;
    out.push([Math.max(0, timeline.first("xor")), `byte \`${hex(byte)}\`${moved}`]);
    for (const slot of one.slots[index]) {
      const step = timeline.firstMove[o] + one.moveOf[slot];
      const move = one.moves[one.moveOf[slot]], wrong = one.wrong.get(slot);
      const giver = move.lanes.length === 1 ? move.lanes[0] : one.laneOf(slot);
      out.push([step, `lane ${giver} gives the address \`${hex(move.addresses[move.lanes.indexOf(giver)])}\``]);
      const arrives = wrong ? `✗ ${wrong.arrived || "no element of the tile"} arrives instead in` : "arrives in";
      out.push([step, `${arrives} lane ${one.laneOf(slot)}, \`${one.registerText(slot)}\``]);
    }
    const group = model.k_groups.findIndex(([first, end]) => k >= first && k < end), { rows, cols } = model.d;
    const meets = o === "a"
      ? `B[${k}][0…${cols - 1}], into D[${r}][0…${cols - 1}]`
      : `A[0…${rows - 1}][${k}], into D[0…${rows - 1}][${c}]`;
    const sparse = model.a.cols < model.b.rows && o === "a" ? "the metadata put it there; " : "";
    out.push([timeline.firstK + group, `k = ${k}: ${sparse}times ${meets}`]);
    const uses = (n) => (o === "a" ? Math.floor(n / cols) === r : n % cols === c);
    out.push([this.stepOut("d", o === "a" ? r : 0), `its sums: ${this.holdersOf(model.d, uses)}`]);
    return out;
  }

  /** The step that shows the lanes of a row of D, or of the second D. */
  stepOut(operand, row) {
    const { d, o } = this.model, { rows } = operand === "d" ? d : o;
    return this.timeline.first("out", operand) + Math.floor(row / Math.min(8, rows));
  }

  /** The lanes and registers of the elements of D that use a factor. */
  holdersOf(d, uses) {
    const slots = d.slots.flatMap((own, n) => (uses(n) ? own : []));
    const sorted = (numbers) => [...new Set(numbers)].sort((p, q) => p - q);
    const registers = sorted(slots.map((slot) => Math.floor(d.valueOf(slot) / d.per)));
    return `lanes ${listed(sorted(slots.map(d.laneOf)))}, \`${registers.map((n) => `R${n}`).join(", ")}\``;
  }

  /** What a sum is after so many steps of K. */
  nameSum(added, groups) {
    const { perCell = 1 } = this.model;
    return added ? `sum after k = ${groups[added - 1][1] * perCell - 1}` : "C, before the first k";
  }

  /** The number that is multiplied: what arrived in the registers, not what the operand has there. */
  factorOf(one, index) {
    const wrong = one.wrong.get(one.slots[index].at(-1));
    return wrong ? wrong.value : one.numbers[index];
  }

  sumsOf({ r, c }, index) {
    const { model, timeline } = this, { a, b, d } = model, terms = [];
    const factor = (one, n) => numberText(this.factorOf(one, n));
    for (let n = r * a.cols; n < (r + 1) * a.cols; n++) {
      terms.push(`${factor(a, n)}${d.times}${factor(b, a.k[n] * b.cols + c)}`);
    }
    const groups = Math.max(0, timeline.added), slot = d.slots[index][0], sum = d.sums[groups][index];
    const wrong = model.wrongAtEnd(index) ? ` ✗ stored matrices give ${numberText(d.expected[index])}` : "";
    const listed = terms.length > 32 ? `${terms.slice(0, 32).join(" + ")} + …` : terms.join(" + ");
    const list = d.times ? listed : "the products, each times its scales";
    const out = this.stepOut("d", r), added = this.nameSum(groups, model.k_groups);
    return [
      [timeline.firstK, `${numberText(d.sums[0][index])} + ${list}`],
      [Math.min(timeline.firstK + Math.max(0, groups - 1), out - 1), `${added}: \`${numberText(sum)}\``],
      [out, `lane ${d.laneOf(slot)}, \`${d.registerText(slot)}\`: \`${numberText(d.sums.at(-1)[index])}\`${wrong}`],
    ];
  }

  // the scrubber ------------------------------------------------------------------------------------------------------

  buildScrubber() {
    const { model } = this, scrub = $("scrub");
    this.ticks = [];
    this.segments = model.phases.map((phase, p) => {
      const label = element(
        "span", {}, element("b", { textContent: p + 1 }), element("em", { textContent: phase.name }),
      );
      const picture = document.createElementNS(SVG, "svg");
      picture.setAttribute("viewBox", `0 0 ${phase.steps} 20`);
      picture.setAttribute("preserveAspectRatio", "none");
      for (let n = 0; n < phase.steps; n++) {
        const tick = document.createElementNS(SVG, "rect"), step = model.steps[phase.first + n];
        const tall = step.kind === "move" && model[step.operand].moves[step.index].row === 0;
        const place = { x: n + .06, y: tall ? 3 : 6, width: .88, height: tall ? 17 : 14, rx: .12 };
        for (const [name, value] of Object.entries(place)) tick.setAttribute(name, value);
        picture.append(tick);
        this.ticks.push(tick);
      }
      const segment = element("div", { className: "seg" }, label, picture);
      segment.style.flexGrow = phase.weight;
      return segment;
    });
    this.knob = element("i", { className: "knob" });
    scrub.replaceChildren(...this.segments, this.knob);
    scrub.setAttribute("aria-valuemax", model.steps.length);
  }

  showScrubber() {
    const { timeline } = this, { step, now } = timeline, scrub = $("scrub");
    const from = Math.min(step, this.ticked ?? 0);
    const to = this.ticked === undefined ? this.ticks.length : Math.max(step, this.ticked) + 1;
    for (let n = from; n < to; n++) this.ticks[n].setAttribute("class", n < step ? "past" : n === step ? "now" : "");
    this.ticked = step;
    this.segments.forEach((segment, p) => segment.classList.toggle("now", p === now.phase));
    scrub.setAttribute("aria-valuenow", step + 1);
    scrub.setAttribute("aria-valuetext", `${timeline.phase.name}, ${now.at}`);
    this.placeKnob();
  }

  /** Where each phase lies on the scrubber, read once a layout. */
  measure() {
    this.places = this.segments.map((segment) => [segment.offsetLeft, segment.offsetWidth]);
    this.placeKnob();
  }

  placeKnob() {
    if (!this.places) return;
    const { now, step, phase } = this.timeline, [left, wide] = this.places[now.phase];
    this.knob.style.left = `${left + (step - phase.first + .5) / phase.steps * wide}px`;
  }

  /** The step under a place of the scrubber. */
  stepAt(x) {
    const { phases } = this.model, p = this.segments.findIndex((segment) => x < segment.getBoundingClientRect().right);
    const number = p < 0 ? phases.length - 1 : p, { first, steps } = phases[number];
    const box = this.segments[number].getBoundingClientRect();
    return first + Math.max(0, Math.min(steps - 1, Math.floor((x - box.left) / box.width * steps)));
  }
}
