// The data of a wgmma's page as the stepper draws it: one warp's rows and one K step of A and B at a time, as matrices
// of their own. A slot of A or B is a cell of that matrix: their elements go to no register.
import { differsAtEnd, held, LINE, numberText } from "../model.js";

const WARP = 32;

/** Elements of 1 bit: a cell is the byte that holds eight of them along K, written in hex. */
const asHex = (byte) => (byte === null ? null : byte.toString(16).toUpperCase().padStart(2, "0"));
const same = (number) => number;
const lettersOf = (per) => (per === 1 ? 2 : 2.5); // bytes side by side need a gap

/** An element, or the run along K that a cell stands for, as it stands in the matrix: A[m][k], B[k][n]. */
function nameCell(name, mn, k, per) {
  const along = per === 1 ? k : `${k * per}…${(k + 1) * per - 1}`;
  return name === "a" ? `A[${mn}][${along}]` : `B[${along}][${mn}]`;
}

/** The lines of shared memory of one view, and where a byte stands in them. */
function placed(given, view, step) {
  const lines = given.lines[view][step] ?? given.lines[view][0], { origin } = given;
  const chunks = given.chunks[view][step] ?? given.chunks[view][0];
  const lineOf = (byte) => Math.floor((byte - origin) / LINE) * LINE + origin;
  const row = new Map(lines.map((line, n) => [line, n]));
  return {
    lines, chunks, addressOf: (n) => lines[n], bankGroup: (column) => (column + origin / 16) % 8,
    place(byte) {
      const n = row.get(lineOf(byte));
      return n === undefined ? null : [n, byte - lineOf(byte)];
    },
  };
}

/** A or B: its rows of M or N from `first` on, in one K step. */
class OperandView {
  constructor(name, given, other, first, high, view, step, per) {
    const { k: width, k_step: deep, element_bytes: size } = given, across = name === "a";
    Object.assign(this, placed(given, view, step));
    Object.assign(this, {
      name, given, other, step, view, element_bits: 8 * size, origin: given.origin, swizzle: given.swizzle,
      per, letters: lettersOf(per), rowUnit: across ? 1 : per, colUnit: across ? per : 1,
      high, deep, rows: across ? high : deep, cols: across ? deep : high,
    });
    const top = first + given.first, left = step * deep;
    Object.assign(this, across ? { rowFrom: top, colFrom: left } : { rowFrom: left, colFrom: top });
    const from = (matrix) => Array.from({ length: high * deep }, (_, n) => {
      const [mn, k] = this.split(n);
      return matrix[first + mn][step * deep + k];
    });
    const shown = per === 1 ? same : asHex;
    this.numbers = from(given.numbers).map(shown);
    this.arrived = from(given.arrived).map(shown);
    this.source = from(given.source);
    this.k = from(given.meets);
    this.at = from(given.at).map((byte) => 8 * byte);
    this.before = from(given.before).map((byte) => 8 * byte);
    this.slots = this.numbers.map((_, n) => [n]);
    this.holds = this.numbers.map((_, n) => n);
    this.values = 1;
    this.registers = 0;
    this.reads = new Array(high * deep).fill(0);
    this.moveOf = new Int32Array(high * deep).fill(-1);
    this.moves = [];
    this.takeMoves(first, step);
    this.wrong = new Map();
    this.source.forEach((source, n) => {
      const [mn, k] = this.split(n);
      if (source !== (top + mn) * width + left + k) {
        this.wrong.set(n, { slot: n, arrived: this.nameSource(source), value: this.arrived[n] });
      }
    });
    const used = new Set(this.before.map((bit) => Math.floor((bit / 8 - this.origin) / 16)));
    this.chunks = this.chunks.map(([before, after]) => ({
      before, after, used: used.has(Math.floor((before - this.origin) / 16)),
    }));
  }

  /** [row of M or N, k] of a cell, from the corner of the view. */
  split(n) {
    const r = Math.floor(n / this.cols), c = n % this.cols;
    return this.name === "a" ? [r, c] : [c, r];
  }

  cellOf(mn, k) { return this.name === "a" ? mn * this.cols + k : k * this.cols + mn; }

  /** What is read in this K step for these rows, as moves of cells; and the bit that each cell is read from. */
  takeMoves(first, step) {
    const { given } = this, { lines } = given.words[step], bytes = this.element_bits / 8;
    given.moves.forEach((move, number) => {
      if (move.k_step !== step) return;
      const cells = [], addresses = [];
      for (const core of move.cores) {
        given.cores[core].forEach((line, l) => {
          if (move.line >= 0 && move.line !== l) return;
          const mine = line.map((element) => [Math.floor(element / this.deep) - first, element % this.deep]);
          if (mine[0][0] < 0 || mine[0][0] >= this.high) return;
          addresses.push(lines[core][l]);
          mine.forEach(([mn, k], n) => {
            const cell = this.cellOf(mn, k);
            this.reads[cell] = 8 * (lines[core][l] + n * bytes);
            cells.push(cell);
          });
        });
      }
      if (!cells.length) return;
      for (const cell of cells) this.moveOf[cell] = this.moves.length;
      this.moves.push({ number, slots: cells, addresses, size: 16, lanes: [] });
    });
  }

  group(n) { return this.split(n)[0] % 8; }
  laneOf(n) { return 4 * this.group(n); } // the colour of its row: in D its lanes hold it

  /** The name of an element by its number in the whole operand. */
  nameSource(source) {
    if (source === -1) return "";
    const own = source >= 0, number = own ? source : -2 - source, name = own ? this.name : this.other.name;
    const width = own ? this.given.k : this.other.k, mn = Math.floor(number / width), k = number % width;
    return nameCell(name, mn, k, this.per);
  }
}

/** A from registers: the rows of one warp in one K step, which its lanes hold before the product begins. */
function heldView(given, warp, step, perCell) {
  const { rows: all, k_step: deep, values, element_bits, register_bits } = given, rows = all / 4, top = warp * rows;
  const cut = (matrix) => matrix.slice(top, top + rows).flatMap((row) => row.slice(step * deep, (step + 1) * deep));
  const holds = given.holds.slice(warp * WARP, (warp + 1) * WARP).flat().map((element) => element - top * deep);
  const numbers = cut(given.numbers).map(perCell === 1 ? same : asHex);
  return {
    ...held("a", {
      element_bits, register_bits, rows, cols: deep, values, holds, rowFrom: top, colFrom: step * deep,
      firstRegister: step * values * element_bits / register_bits,
    }),
    colUnit: perCell, letters: lettersOf(perCell), numbers, arrived: numbers, k: cut(given.meets),
    at: [], before: [], lines: [], chunks: [], wrong: new Map(),
    moves: [{ held: true, slots: [...holds.keys()], addresses: [], lanes: [] }], moveOf: new Int32Array(holds.length),
  };
}

/** D: the columns that are shown, of one warp. */
function resultView(given, warp) {
  const { columns, element_bits, register_bits, values } = given, rows = given.holds.length / 8;
  const from = warp * rows * columns, cut = (all) => all.flat().slice(from, from + rows * columns);
  return held("d", {
    element_bits, register_bits, rows, cols: columns, values,
    holds: given.holds.slice(warp * WARP, (warp + 1) * WARP).flat().map((element) => element - from),
    firstRegister: given.first_value * element_bits / register_bits, rowFrom: warp * rows, colFrom: given.first,
    sums: given.sums.map(cut), expected: cut(given.expected),
  });
}

/** The whole product, and in a, b and d what is in view: of `warp`, in K step `step`. */
export class WgmmaModel {
  constructor(data) {
    Object.assign(this, { data, phases: data.phases, steps: data.steps, k_groups: data.k_groups, views: new Map() });
    this.all = { a: { ...data.a, name: "a" }, b: { ...data.b, name: "b" } };
    this.rows = data.a.rows / 4;
    this.perCell = data.per_cell;
    this.look(0, 0);
  }

  /** Brings a warp and a K step into view; whether they were not. */
  look(warp, step) {
    if (this.warp === warp && this.step === step) return false;
    Object.assign(this, { warp, step });
    const { a, b } = this.all, { rows, perCell: per } = this;
    this.a = this.kept(`a ${warp} ${step}`, () => (
      a.words ? new OperandView("a", a, b, warp * rows, rows, warp, step, per) : heldView(a, warp, step, per)
    ));
    this.b = this.kept(`b ${step}`, () => new OperandView("b", b, a, 0, b.rows, 0, step, per));
    this.d = this.kept(`d ${warp}`, () => resultView(this.data.d, warp));
    return true;
  }

  kept(name, make) {
    if (!this.views.has(name)) this.views.set(name, make());
    return this.views.get(name);
  }

  /** The cell of the view that an element of the whole matrix is; −1 where it is not in view. */
  cellOf({ o, r, c }) {
    const one = this[o], row = r - one.rowFrom, col = c - one.colFrom;
    return row >= 0 && row < one.rows && col >= 0 && col < one.cols ? row * one.cols + col : -1;
  }

  /** The element of the whole matrix in a cell of the view. */
  elementAt(o, cell) {
    const one = this[o];
    return { o, r: Math.floor(cell / one.cols) + one.rowFrom, c: cell % one.cols + one.colFrom };
  }

  /** Whether an element is one of those that the page has: of B and D only some columns. */
  has({ o, r, c }) {
    const { a, b, d } = this.data, shown = c >= d.first && c < d.first + d.columns;
    if (o === "a") return r < a.rows && c < a.k;
    return o === "b" ? r < b.k && shown : r < a.rows && shown;
  }

  /** The name of an element, of A and B of what its cell stands for. */
  nameOf({ o, r, c }) {
    if (o === "d") return `D[${r}][${c}]`;
    return o === "a" ? nameCell("a", r, c, this.perCell) : nameCell("b", c, r, this.perCell);
  }

  /** A number of A or B as the picture writes it. */
  textOf(number) { return numberText(this.perCell === 1 ? number : asHex(number)); }

  /** The k that a cell's place along K stands for. */
  spanOf(k) { return this.perCell === 1 ? String(k) : `${k * this.perCell}–${(k + 1) * this.perCell - 1}`; }

  wrongAtEnd(element) { return differsAtEnd(this.d, element); }
}
