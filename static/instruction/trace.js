// The terms of one element of D, with who holds each factor.
import { owner } from "./owners.js";
import { stage } from "./stage.js";
import { data } from "./state.js";

export function dotProduct(row, col) {
  const [a, b] = ["a", "b"].map((name) => stage.panels.find((panel) => panel.name === name));
  const holder = (cell) => {
    if (!cell.panel.operand) return "shared memory";
    const { thread, value } = owner(cell);
    return `${data.letter ?? "T"}${thread} ${cell.panel.name}${value}`;
  };
  const left = (k) => holder({ panel: a, row, col: k }).padEnd(10), each = [...Array(a.cols).keys()];
  if (!a.operand?.sparse) {
    const lines = each.map((k) => `k=${String(k).padEnd(3)} A ${left(k)} × B ${holder({ panel: b, row: k, col })}`);
    return [`D[${row}][${col}] = C[${row}][${col}] + Σk A[${row}][k]·B[k][${col}]`, ...lines].join("\n");
  }
  const [kept, group] = a.operand.sparse; // a stored column multiplies one row of its group; the metadata chooses it
  const lines = each.map((s) => {
    const first = Math.floor(s / kept) * group;
    return `s=${String(s).padEnd(3)} A ${left(s)} × B[${first}–${first + group - 1}][${col}]`;
  });
  const sum = `D[${row}][${col}] = C[${row}][${col}] + Σs A[${row}][s]·B[k][${col}], s → k by the metadata`;
  return [sum, ...lines].join("\n");
}
