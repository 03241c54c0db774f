// What is drawn of one matrix: ticks beside it, lines between its cells, a label in each.
import { fitLabels, MONO, splitLabel } from "./labels.js";

const LARGEST_LABEL = 13;
const GRID_LINES_FROM = 6;

export function drawTicks(context, panel, theme) {
  context.fillStyle = theme.muted;
  context.textBaseline = "alphabetic";
  context.font = `9px ${MONO}`;
  const { c0, c1, r0, r1 } = panel.visible();
  const step = (cell, least) => [1, 2, 4, 8, 16, 32, 64, 128].find((s) => s * cell >= least) ?? 128;
  context.textAlign = "center";
  const across = step(panel.cellWidth, 18);
  if (panel.col_names) drawNames(context, panel);
  else for (let c = Math.ceil(c0 / across) * across; c < c1; c += across) {
    const x = panel.columnAt(c + 0.5);
    if (x >= panel.left && x <= panel.left + panel.width) context.fillText(c, x, panel.top - 5);
  }
  context.textAlign = "right";
  const down = step(panel.cellHeight, 10);
  for (let r = Math.ceil(r0 / down) * down; r < r1; r += down) {
    const y = panel.rowAt(r + 0.5);
    if (y >= panel.top && y <= panel.top + panel.height) {
      context.fillText(panel.row_names?.[r] ?? r, panel.left - 5, y + 3);
    }
  }
}

/** Names above the first of several columns, those that find room beside the last one. */
function drawNames(context, panel) {
  context.textAlign = "left";
  let free = 0;
  panel.col_names.forEach((name, c) => {
    const x = panel.columnAt(c) + 2;
    if (!name || x < free) return;
    context.fillText(name, x, panel.top - 5);
    free = x + context.measureText(name).width + 4;
  });
}

function line(context, x, y, dx, dy) {
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
}

/** Cell borders where cells are large enough, and heavy lines between the warps of a warpgroup. */
export function drawLines(context, panel, theme) {
  const { c0, c1, r0, r1 } = panel.visible();
  context.strokeStyle = theme.line;
  context.lineWidth = 0.5;
  context.beginPath();
  if (Math.min(panel.cellWidth, panel.cellHeight) >= (panel.lines_from ?? GRID_LINES_FROM)) {
    for (let c = c0; c <= c1; c++) line(context, panel.columnAt(c), panel.top, 0, panel.height);
    for (let r = r0; r <= r1; r++) line(context, panel.left, panel.rowAt(r), panel.width, 0);
  } else context.rect(panel.left, panel.top, panel.width, panel.height);
  context.stroke();
  context.lineWidth = panel.thin_edges ? 1 : 2;
  context.beginPath();
  for (const r of panel.warp_edges) line(context, panel.left, panel.rowAt(r), panel.width, 0);
  for (const c of panel.col_edges ?? []) line(context, panel.columnAt(c), panel.top, 0, panel.height);
  context.stroke();
}

/** Labels in one size for the whole matrix, of those in view. label(cell) → text. */
export function drawLabels(context, panel, theme, label) {
  const { c0, c1, r0, r1 } = panel.visible();
  panel.labelled = 0; // the size of the labels, 0 where there are none
  if (panel.cellWidth < 18 || panel.cellHeight < 8) return;
  const texts = [];
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
    const text = label({ panel, row: r, col: c });
    if (text) texts.push([r, c, text]);
  }
  const fit = fitLabels(texts.map(([, , text]) => text), panel.cellWidth, panel.cellHeight, LARGEST_LABEL);
  if (!fit) return;
  const { size, form } = fit;
  panel.labelled = size;
  context.fillStyle = theme.ink;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `${size}px ${MONO}`;
  for (const [r, c, text] of texts) {
    const x = panel.columnAt(c + 0.5), y = panel.rowAt(r + 0.5), [first, rest] = splitLabel(text);
    if (form === "two" && rest) {
      context.fillText(first, x, y - size * 0.5);
      context.fillText(rest, x, y + size * 0.55);
    } else context.fillText(form === "one" ? text : first, x, y + 0.5);
  }
}
