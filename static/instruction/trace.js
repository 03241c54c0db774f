// The terms of one element of D, with who holds each factor.
import { owner } from "./owners.js";
import { stage } from "./stage.js";

export function dotProduct(row, col) {
  const [a, b] = ["a", "b"].map((name) => stage.panels.find((panel) => panel.name === name));
  const holder = (cell) => {
    if (!cell.panel.operand) return "shared memory";
    const { thread, value } = owner(cell);
    return `T${thread} ${cell.panel.name}${value}`;
  };
  const lines = [`D[${row},${col}] = C[${row},${col}] + Σk A[${row},k]·B[k,${col}]`];
  for (let k = 0; k < a.cols; k++) {
    const [left, right] = [holder({ panel: a, row, col: k }), holder({ panel: b, row: k, col })];
    lines.push(`k=${String(k).padEnd(3)} A ${left.padEnd(10)} × B ${right}`);
  }
  return lines.join("\n");
}
