// What is drawn of one matrix: ticks beside it, lines between its cells, a label in each.
const MONO = 'ui-monospace, "DejaVu Sans Mono", monospace';
const GLYPH = 0.602;
const SMALLEST_LABEL = 7.5;
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
    if (y >= panel.top && y <= panel.top + panel.height) context.fillText(panel.row_names?.[r] ?? r, panel.left - 5, y + 3);
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

/** Labels in one size for the whole matrix: in one line, broken at the separator, or none. label(cell) → text. */
export function drawLabels(context, panel, theme, label) {
  const { c0, c1, r0, r1 } = panel.visible();
  panel.labelled = 0; // the size of the labels, 0 where there are none
  if (panel.cellWidth < 18 || panel.cellHeight < 8) return;
  const texts = [];
  let longest = 0, longestHalf = 0;
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) {
    const text = label({ panel, row: r, col: c });
    if (!text) continue;
    const halves = text.split(text.search(/[: ]/) < 0 ? "," : /[: ]/, 2);
    texts.push([r, c, text, halves]);
    longest = Math.max(longest, text.length);
    longestHalf = Math.max(longestHalf, ...halves.map((half) => half.length));
  }
  context.fillStyle = theme.ink;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const font = (size) => { context.font = `${size}px ${MONO}`; };
  const one = Math.min(13, (panel.cellWidth - 3) / (longest * GLYPH), panel.cellHeight - 3);
  if (one >= SMALLEST_LABEL) {
    panel.labelled = one;
    font(one);
    for (const [r, c, text] of texts) context.fillText(text, panel.columnAt(c + 0.5), panel.rowAt(r + 0.5) + 0.5);
    return;
  }
  const two = Math.min(10, (panel.cellWidth - 2) / (longestHalf * GLYPH), (panel.cellHeight - 2) / 2.1);
  if (two < 6.5) return;
  panel.labelled = two;
  font(two);
  for (const [r, c, , [first, second]] of texts) {
    const x = panel.columnAt(c + 0.5), y = panel.rowAt(r + 0.5);
    context.fillText(first, x, y - (second ? two * 0.5 : 0));
    if (second) context.fillText(second, x, y + two * 0.55);
  }
}
