// Cells of a grid in a picture, {x, y, cell_width, cell_height, rows, cols, row, col}: the one under the pointer, the one
// that an arrow key leads to, their frames, and a ring around one of them.
const SVG = "http://www.w3.org/2000/svg";
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** The cell of a grid under the pointer, null outside. */
export function cellUnder({ svg, grid }, { clientX, clientY }) {
  const at = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
  const [row, col] = [(at.y - grid.y) / grid.cell_height, (at.x - grid.x) / grid.cell_width].map(Math.floor);
  const [top, left] = cornerOf(grid);
  return row >= top && col >= left && row < grid.rows && col < grid.cols ? [row, col] : null;
}

/** The first cell that a picture draws. */
export const cornerOf = ({ row = 0, col = 0 }) => [row, col];

/** The cell that an arrow key leads to from another one, or from the first one; null for any other key. */
export function stepCell(grid, from, key) {
  if (!(key in STEPS)) return null;
  const [top, left] = cornerOf(grid), [row, col] = from ?? [top, left], [down, right] = STEPS[key];
  const within = (at, least, end) => Math.min(end - 1, Math.max(least, at));
  return [within(row + down, top, grid.rows), within(col + right, left, grid.cols)];
}

/** The frame of a cell as a path, within the cell where there is room. */
export function frameOf({ x, y, cell_width, cell_height }, row, col) {
  const inside = cell_width > 6 && cell_height > 6 ? 1 : 0;
  const [wide, high] = [cell_width - 2 * inside, cell_height - 2 * inside];
  return `M${x + col * cell_width + inside} ${y + row * cell_height + inside}h${wide}v${high}h${-wide}z`;
}

/** A ring around a cell, large enough to be seen. */
export function drawRing({ svg, grid }, [row, col], kind) {
  const [wide, high] = [grid.cell_width, grid.cell_height].map((size) => Math.max(size, grid.least ?? 0));
  const ring = document.createElementNS(SVG, "rect"), middle = (at, size) => (at + 0.5) * size;
  const box = { x: grid.x + middle(col, grid.cell_width) - wide / 2, width: wide,
    y: grid.y + middle(row, grid.cell_height) - high / 2, height: high };
  for (const [name, value] of Object.entries(box)) ring.setAttribute(name, value);
  ring.setAttribute("class", kind);
  svg.append(ring);
}
