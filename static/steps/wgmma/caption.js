// Words beside the picture of a wgmma: its descriptors in this K step, what is under the pointer, one number's life.
import { $ } from "../../kit/dom.js";
import { Caption, listed } from "../caption.js";
import { hex, numberText } from "../model.js";

export class WgmmaCaption extends Caption {
  connect(act) {
    for (const button of $("step-warp").children) {
      button.addEventListener("click", () => act.look(Number(button.value)));
    }
  }

  show() {
    super.show();
    const { model, timeline } = this, { now } = timeline, [warp] = timeline.view;
    for (const button of $("step-warp").children) {
      button.setAttribute("aria-pressed", String(Number(button.value) === warp));
    }
    for (const card of document.querySelectorAll(".word")) {
      const o = card.dataset.operand, word = model.data[o].words[now.k_step];
      card.querySelector("code").textContent = word.descriptor;
      card.classList.toggle("aside", (now.operand === "a" || now.operand === "b") && now.operand !== o);
      for (const chip of card.querySelectorAll("[data-field]")) {
        const field = word.fields.find((one) => one.name === chip.dataset.field), { name, amount } = field;
        chip.querySelector("span").textContent = name === "start_address" ? hex(amount)
          : name === "swizzle" ? word.swizzle : amount;
        const named = now.kind === "field" && now.operand === o && word.fields[now.index].name === name;
        chip.classList.toggle("wrong", word.wrong_fields.includes(name));
        chip.classList.toggle("now", named || (now.kind === "advance" && name === "start_address"));
      }
    }
  }

  nameOf(e) { return this.model.nameOf(e); }

  readOut(e) {
    if (!e) return "";
    const { model } = this, cell = model.cellOf(e), one = model[e.o];
    if (e.o === "d" || !one.given) {
      const slot = one.slots[cell][0];
      return `${this.nameOf(e)} = ${this.valueOf(e.o, this.indexOf(e))}\nthread ${this.threadOf(slot)} · ${
        one.registerText(slot)}`;
    }
    const byte = one.at[cell] / 8, read = one.reads[cell] / 8, wrong = one.wrong.get(cell);
    const stored = `${this.nameOf(e)} = ${numberText(one.numbers[cell])} · ${hex(byte)}`;
    return wrong
      ? `${stored}\nread at ${hex(read)}: ✗ ${wrong.arrived || "no element"}`
      : `${stored}\nread there, ${e.o === "a" ? `by warp ${model.warp}` : "by all four warps"}`;
  }

  threadOf(slot) { return 32 * this.model.warp + this.model.d.laneOf(slot); }

  /** The place of an element in the whole matrix, whatever is in view: of B and D in the columns that are shown. */
  indexOf({ o, r, c }) {
    const { a, b, d } = this.model.data;
    if (o === "d") return r * d.columns + c - d.first;
    return o === "a" ? r * a.k + c : (c - b.first) * b.k + r;
  }

  valueOf(o, index) {
    const { data } = this.model, whole = data[o];
    if (o !== "d") return this.model.textOf(whole.numbers[Math.floor(index / whole.k)][index % whole.k]);
    const { added } = this.timeline;
    return added < 0 ? "not yet" : numberText(this.sumOf(added, index));
  }

  sumOf(group, index) {
    const { d } = this.model.data;
    return d.sums[group][Math.floor(index / d.columns)][index % d.columns];
  }

  /** The steps that multiply. */
  listKSteps() { return this.model.steps.flatMap((step, n) => (step.kind === "k" ? [n] : [])); }

  travelOf({ o, r, c }) {
    const { model, timeline } = this, { data } = model, one = data[o], { steps } = model;
    const [mn, k] = o === "a" ? [r, c] : [c - one.first, r], step = Math.floor(k / one.k_step), out = [];
    const warp = Math.floor(r / model.rows);
    if (!one.words) return [this.holdingOf(one, r, c, step, warp), ...this.useOf({ o, r, c }, one.meets[r][c], warp)];
    const byte = one.at[mn][k], before = one.before[mn][k];
    const chunk = (at) => Math.floor(((at - one.origin) % 128 + 128) % 128 / 16);
    const moved = byte === before ? "" : `, chunk ${chunk(before)} stored at place ${chunk(byte)}`;
    out.push([Math.max(0, timeline.first("xor")), `byte \`${hex(byte)}\`${moved}`]);
    const word = one.words[step], start = word.fields.find((field) => field.name === "start_address");
    const advance = steps.findIndex((s) => s.kind === "advance" && s.k_step === step);
    out.push([
      step ? advance : timeline.first("field", o), `K step ${step}: the descriptor begins at \`${hex(start.amount)}\``,
    ]);
    const inStep = mn * one.k_step + k % one.k_step;
    const core = one.cores.findIndex((lines) => lines.some((line) => line.includes(inStep)));
    const line = one.cores[core].findIndex((elements) => elements.includes(inStep));
    const number = one.moves.findIndex((m) => !m.k_step && m.cores[0] === core && (m.line < 0 || m.line === line));
    const read = step ? timeline.readAt[step - 1] : timeline.firstRead[o] + number;
    const taken = o === "a" ? `by warp ${warp}` : "by all four warps";
    out.push([read, `line ${line} of core matrix ${core + 1} is read at \`${hex(word.lines[core][line])}\` ${taken}`]);
    const source = one.source[mn][k], own = (o === "a" ? mn : c) * one.k + k;
    if (source !== own) {
      const name = model[o].nameSource(source) || "no element of the tiles";
      out.push([read, `✗ ${name} arrives instead: ${model.textOf(one.arrived[mn][k])}`]);
    }
    return [...out, ...this.useOf({ o, r, c }, one.meets[mn][k], warp)];
  }

  /** Which thread holds an element of A from registers, and where. */
  holdingOf(one, r, c, step, warp) {
    const element = r * one.k_step + c % one.k_step, thread = one.holds.findIndex((held) => held.includes(element));
    const value = one.holds[thread].indexOf(element), per = one.register_bits / one.element_bits;
    const register = step * one.values / per + Math.floor(value / per), low = (value % per) * one.element_bits;
    const bits = per === 1 ? "" : ` bits ${low + one.element_bits - 1}:${low}`;
    return [this.timeline.first("hold", "a") + warp, `thread ${thread}, \`R${register}${bits}\``];
  }

  /** The step of K in which a factor is used, and the threads that hold its sums. */
  useOf({ o, r, c }, place, warp) {
    const { model } = this, { data, steps } = model, out = [];
    const group = model.k_groups.findIndex(([first, end]) => place >= first && place < end);
    const { first, columns } = data.d, last = first + columns - 1, span = model.spanOf(place);
    const meets = o === "a"
      ? `B[${span.replace("–", "…")}][${first}…${last}], into D[${r}][${first}…${last}]`
      : `A[0…${data.a.rows - 1}][${span.replace("–", "…")}], into D[0…${data.a.rows - 1}][${c}]`;
    const sparse = o === "a" && data.b.k > data.a.k ? "the metadata put it there; " : "";
    const joins = model.perCell > 1 ? "ANDed with" : "times";
    out.push([this.listKSteps()[group], `k = ${span}: ${sparse}${joins} ${meets}`]);
    const uses = (element) => (o === "a" ? Math.floor(element / columns) === r : element % columns === c - first);
    const threads = data.d.holds.flatMap((held, thread) => (held.some(uses) ? [thread] : []));
    const held = steps.findIndex((s) => s.kind === "out" && (o === "b" || s.warp === warp));
    out.push([held, `its sums: threads ${listed(threads)}`]);
    return out;
  }

  sumsOf({ r, c }, index) {
    const { model, timeline } = this, { a, b, d } = model.data, { k_groups: groups } = model, terms = [];
    const column = c - d.first;
    const left = a.arrived ?? a.numbers, right = b.arrived; // what is multiplied, not what is stored
    const bits = model.perCell > 1, term = (p, q) => (bits ? `ones(${p} & ${q})` : `${p}·${q}`);
    a.meets[r].forEach((k, n) => terms.push(term(model.textOf(left[r][n]), model.textOf(right[column][k]))));
    const added = Math.max(0, timeline.added), sum = this.sumOf(added, index), last = this.sumOf(groups.length, index);
    const expected = d.expected[r][column];
    const list = terms.length > 24 ? `${terms.slice(0, 24).join(" + ")} + …` : terms.join(" + ");
    const thread = d.holds.findIndex((held) => held.includes(index));
    const value = d.first_value + d.holds[thread].indexOf(index);
    const per = d.register_bits / d.element_bits, warp = Math.floor(thread / 32);
    const out = model.steps.findIndex((s) => s.kind === "out" && s.warp === warp);
    const wrong = last === expected ? "" : ` ✗ stored matrices give ${numberText(expected)}`;
    return [
      [timeline.firstK, `${numberText(this.sumOf(0, index))} + ${list}`],
      [this.listKSteps()[Math.max(0, added - 1)], `${this.nameSum(added, groups)}: \`${numberText(sum)}\``],
      [out, `thread ${thread}, \`R${Math.floor(value / per)}\`: \`${numberText(last)}\`${wrong}`],
    ];
  }
}
