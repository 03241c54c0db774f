// Metadata and scale factors beside A and B: which of their cells belongs to an element, and the other way round.

/** Gives both matrices `linked(cell)`: the cells of the other one that belong to one of its cells. */
export function linkBeside(panels) {
  for (const panel of panels.filter(({ beside }) => beside)) {
    const { of, down, across } = panel.operand, other = panels.find(({ name }) => name === of), before = other.linked;
    other.linked = (cell) => [...(before?.(cell) ?? []), { panel, row: down[cell.row], col: across[cell.col] }];
    panel.linked = ({ row, col }) => down.flatMap((above, r) => (above === row ? [r] : [])).flatMap((r) =>
      across.flatMap((beside, c) => (beside === col ? [{ panel: other, row: r, col: c }] : [])));
  }
}
