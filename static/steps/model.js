// The data of the page, indexed for drawing: what a slot (lane · values + value) gets, from which bits, in which move.
const ROW = 16;
export const LINE = 128;

/** One operand with its memory: A or B. */
export function indexed(name, given) {
  const moveOf = new Int32Array(32 * given.values).fill(-1);
  given.moves.forEach((move, n) => move.slots.forEach((slot) => { moveOf[slot] = n; }));
  const wrong = new Map(given.wrong.map((one) => [one.slot, one]));
  const lineOf = (byte) => Math.floor((byte - given.origin) / LINE);
  const touched = given.chunks.flatMap((one) => [lineOf(one.before), lineOf(one.after)]);
  const lines = [...new Set(touched)].sort((p, q) => p - q);
  const row = new Map(lines.map((line, n) => [line, n]));
  return {
    ...held(name, given), moveOf, wrong, lines, moves: given.moves,
    /** Where a byte stands in the picture: line of the picture and byte along it; null outside. */
    place(byte) {
      const n = row.get(lineOf(byte));
      return n === undefined ? null : [n, byte - given.origin - lineOf(byte) * LINE];
    },
    addressOf: (n) => lines[n] * LINE + given.origin,
    /** Which four banks a column of chunks lies in: lines may begin at any chunk. */
    bankGroup: (column) => (column + given.origin / ROW) % 8,
  };
}

/** What A, B and D have in common: who holds which element. */
export function held(name, given) {
  const slots = Array.from({ length: given.rows * given.cols }, () => []);
  given.holds.forEach((element, slot) => slots[element].push(slot));
  const per = given.register_bits / given.element_bits, { firstRegister = 0 } = given;
  return {
    ...given, name, slots, per, registers: given.values / per,
    laneOf: (slot) => Math.floor(slot / given.values),
    valueOf: (slot) => slot % given.values,
    /** Which eighth of the lanes holds an element: its colour. */
    group: (element) => Math.floor(slots[element][0] / given.values) >> 2,
    registerText(slot) {
      const value = slot % given.values, low = (value % per) * given.element_bits;
      const bits = per === 1 ? "" : ` bits ${low + given.element_bits - 1}:${low}`;
      return `R${firstRegister + Math.floor(value / per)}${bits}`;
    },
  };
}

/** Whether an element of D is not what the stored matrices give, or is not known. */
export function differsAtEnd(d, element) {
  const got = d.sums.at(-1)[element];
  return got === null || got !== d.expected[element];
}

export function makeModel(data) {
  return {
    ...data, a: indexed("a", data.a), b: indexed("b", data.b), d: held("d", data.d),
    has: ({ o, r, c }) => r < data[o].rows && c < data[o].cols,
    wrongAtEnd: (element) => differsAtEnd(data.d, element),
  };
}

export const numberText = (value) => (value === null || value === undefined ? "?" : String(value).replace("-", "−"));
export const elementText = (e) => `${e.o.toUpperCase()}[${e.r}][${e.c}]`;
export const hex = (n) => `0x${n.toString(16).toUpperCase().padStart(3, "0")}`;
