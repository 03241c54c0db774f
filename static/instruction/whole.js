// A whole tile's operand, sent as what its maps are made of: the first element of every thread, and a step for every
// value. They add up where threads and values move along different digits of a row and of a column; where they do not,
// the cell of every thread and value is sent.

/** Gives an operand its owners by cell, its registers by value and the numbers of its colours. */
export function expand(op) {
  const { held_by: ids, first, steps, rows, cols, copies, period } = op, count = rows * cols;
  [op.thread, op.value] = [new Int32Array(count * copies), new Int32Array(count * copies)];
  op.thread.fill(-1); // where fewer threads hold an element than most
  const seen = new Uint16Array(count);
  const cellOf = op.cells ? (n, v) => op.cells[n * steps.length + v] : (n, v) => first[n] + steps[v];
  ids.forEach((id, n) => steps.forEach((_, v) => {
    const cell = cellOf(n, v);
    if (cell < 0) return;
    const at = cell * copies + seen[cell]++;
    op.thread[at] = id;
    op.value[at] = v;
  }));
  const each = (list, more = 0) => steps.map((_, v) =>
    (more ? list[v % period] + Math.floor(v / period) * more : list[v % period]));
  op.register = op.shared ? steps.map(() => -1) : each(op.register, op.registers);
  for (const name of ["bits", "spoken_bits", "value_bits"]) op[name] = each(op[name]);
  for (const category of Object.values(op.categories)) {
    const { of, step, count: most, numbers } = category, last = of === "thread" ? ids.at(-1) + 1 : steps.length;
    if (!numbers) category.numbers = Array.from({ length: last }, (_, n) => (step ? Math.floor(n / step) % most : -1));
    else if (of === "cell") continue;
    else if (!numbers.length) category.numbers = op.register;
  }
  op.place = new Map(ids.map((id, n) => [id, n]));
  op.heldBy = (id) => {
    const n = op.place.get(id);
    if (n === undefined) return [];
    return steps.map((_, value) => ({ cell: cellOf(n, value), value })).filter(({ cell }) => cell >= 0);
  };
}
