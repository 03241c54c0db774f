"""The grids of an instruction as a figure: A to the left, B above, D in the corner, in one scale."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP, Instruction, Operand, OperandPlace
from lanescope.ptx.pattern import IntArray
from lanescope.render.view import OperandGrid

LEFT, TOP, GAP = 30.0, 34.0, 18.0


@dataclass(frozen=True, slots=True)
class FigurePanel:
    """One matrix of a figure: its position and cell size in figure units; grid is None for an operand in shared memory.

    status: the result of a check for each cell (index into palette.STATUSES, -1 for none), drawn instead of a category.
    category, texts: colours (-1: none) and labels of cells where they are not a name of the pattern and a label of
    LABELS. row0, col0: first row and column of the matrix that the panel shows. row_names, col_names: texts beside rows
    and columns instead of their numbers. of: number of categories, where a panel need not show all of them.
    """

    name: str
    title: str
    rows: int
    cols: int
    cell_width: float
    cell_height: float
    grid: OperandGrid | None = None
    category: IntArray | None = None
    texts: list[list[str]] | None = None
    row0: int = 0
    col0: int = 0
    row_names: tuple[str, ...] = ()
    col_names: tuple[str, ...] = ()
    of: int = 0
    status: IntArray | None = None
    x: float = field(default=LEFT, kw_only=True)
    y: float = field(default=TOP, kw_only=True)

    @property
    def place(self) -> dict[str, float]:
        """Return the cells of the panel for static/kit/cells.js."""
        return {side: getattr(self, side) for side in ("x", "y", "cell_width", "cell_height", "rows", "cols")}

    @property
    def has_cells(self) -> bool:
        """Whether the panel has cells; an operand in shared memory has none."""
        return self.grid is not None or self.category is not None or self.status is not None

    @property
    def width(self) -> float:
        return self.cols * self.cell_width

    @property
    def height(self) -> float:
        return self.rows * self.cell_height

    @property
    def window(self) -> tuple[slice, slice]:
        """(rows, columns) of the matrix that are shown."""
        return slice(self.row0, self.row0 + self.rows), slice(self.col0, self.col0 + self.cols)

    @property
    def warp_edges(self) -> list[int]:
        """The rows before which another warp begins; [] unless a warpgroup holds the operand."""
        if self.grid is None or self.grid.operand.scope.place is OperandPlace.TENSOR:
            return []
        warp: IntArray = self.grid.thread[self.window[0], 0, 0] // WARP.threads
        return [int(r) + 1 for r in np.flatnonzero(np.diff(warp))]


@dataclass(frozen=True, slots=True)
class PanelFigure:
    """Panels, and the size of the area they lie on."""

    width: float
    height: float
    panels: tuple[FigurePanel, ...]

    @property
    def cells(self) -> int:
        return sum(p.rows * p.cols for p in self.panels if p.has_cells)


_WIDE, _TALL = 1080.0, 720.0


def _choose_cell_sizes(space: float, side: int, depth: int, most: float, enough: float) -> tuple[float, float]:
    """Return the cell sizes along M or N and along K.

    They are equal while large enough; else K shrinks so that D stays legible.
    """
    equal = min(most, space / (side + depth))
    if equal >= enough:
        return equal, equal
    kept = max(equal, min(0.87 * most, 0.45 * space / side))
    return kept, max(2.6, min(kept, (space - side * kept) / depth))


Cell = tuple[float, float] | None  # a cell's width and height in pixels; None lets the figure choose
Span = tuple[int, int] | None  # first and last row or column shown


def _count_stored_k(instruction: Instruction) -> int:
    """Return the columns of an A whose position in tensor memory is undocumented."""
    issue = instruction.family.issue
    return instruction.sizes["k"] // (2 if issue and issue.sparse else 1)


def make_product_figure(instruction: Instruction, product: int = 0, cell: Cell = None) -> PanelFigure:
    """Return A, B and D (where C has D's map) arranged so that a product reads across rows and down columns."""
    n, k = (instruction.sizes[dim] for dim in "nk")
    grids = {name: OperandGrid(op, product) for name, op in instruction.operands.items()}
    m, a_cols = grids["d"].rows, grids["a"].cols if "a" in grids else _count_stored_k(instruction)
    wide, wide_k = _choose_cell_sizes(_WIDE - 2 * LEFT - GAP, n, a_cols, 46.0, 24.0)
    tall, tall_k = _choose_cell_sizes(_TALL - 2 * TOP - GAP, m, k, 21.0, 21.0)
    if cell:
        wide, wide_k, tall, tall_k = cell[0], cell[0], cell[1], cell[1]
    a_width = max(a_cols * wide_k, 62.0)
    right, below = LEFT + a_width + GAP + LEFT, TOP + k * tall_k + GAP + TOP

    def panel(name: str, rows: int, cols: int, *, x: float, y: float, width: float, height: float) -> FigurePanel:
        dims = {"a": "m×k", "b": "k×n"}.get(name, "m×n")
        grid = grids.get(name)
        stored = " stored" if grid and grid.operand.kept_of_group else ""
        return FigurePanel(
            name,
            f"{name.upper()}{stored} {dims} {rows}×{cols}",
            rows=rows,
            cols=cols,
            x=x,
            y=y,
            cell_width=width,
            cell_height=height,
            grid=grid,
        )

    panels = (
        panel("a", m, a_cols, x=LEFT, y=below, width=wide_k, height=tall),
        panel("b", k, n, x=right, y=TOP, width=wide, height=tall_k),
        panel("d", m, n, x=right, y=below, width=wide, height=tall),
    )
    return PanelFigure(right + max(n * wide, 62.0) + 8, below + m * tall + 8, panels)


def make_figure(instruction: Instruction, product: int = 0, cell: Cell = None) -> PanelFigure:
    """Return all matrices of an instruction as one figure: a product, matrices with their address lanes, or single
    operands.

    LayoutError `bad_instruction` for a tcgen05.mma without its instruction descriptor, which defines its matrices.
    """
    ops = instruction.operands
    if instruction.family.multiplies:
        return make_product_figure(instruction, product, cell)
    grids: list[tuple[str, OperandGrid]] = []
    for op in ops.values():
        third = [extent for axis, extent in op.extents.items() if axis not in op.plane]
        for number in range(third[0] if third else 1):
            if instruction.address:
                grids.append((f"address {number}", OperandGrid(instruction.address, number)))
            grids.append((f"matrix {number}" if third else op.name.upper(), OperandGrid(op, number)))
    if not grids:
        raise LayoutError(
            "bad_instruction",
            f"{instruction.ptx} leaves its matrices to the instruction descriptor.",
            "Give the descriptor: bound.bind(instruction, idesc).",
            "instruction",
        )
    return make_row_figure(grids, cell)


def make_row_figure(grids: list[tuple[str, OperandGrid]], cell: Cell = None) -> PanelFigure:
    """Return matrices side by side in one scale, on as many lines as they need."""
    widest = max(grid.cols for _, grid in grids)
    cell_width = min(46.0, (_WIDE - LEFT) / (widest * min(len(grids), 2)))
    cell_height = min(21.0, max(cell_width, _TALL / max(grid.rows for _, grid in grids)))
    cell_width, cell_height = cell or (cell_width, cell_height)
    panels: list[FigurePanel] = []
    x, y, deepest = LEFT, TOP, 0.0
    for title, grid in grids:
        width = max(grid.cols * cell_width, 70.0)
        if panels and x + width > _WIDE:
            x, y, deepest = LEFT, y + deepest + TOP + GAP, 0.0
        name = title.replace(" ", "")
        panels.append(
            FigurePanel(
                name.lower(),
                title,
                rows=grid.rows,
                cols=grid.cols,
                x=x,
                y=y,
                cell_width=cell_width,
                cell_height=cell_height,
                grid=grid,
            )
        )
        deepest = max(deepest, panels[-1].height)
        x += width + GAP + LEFT
    return PanelFigure(
        max(p.x + max(p.width, 70.0) for p in panels) + 8, max(p.y + p.height for p in panels) + 8, tuple(panels)
    )


def make_operand_figure(
    operand: Operand, product: int = 0, cell: Cell = None, rows: Span = None, cols: Span = None
) -> PanelFigure:
    """Return the figure of one operand, or of a window of it; LayoutError where the window is outside."""
    grid = OperandGrid(operand, product)
    spans = []
    for name, span, count in (("rows", rows, grid.rows), ("cols", cols, grid.cols)):
        first, last = span or (0, count - 1)
        if not 0 <= first <= last < count:
            raise LayoutError(
                "bad_window",
                f"{name} is {first}-{last}, not inside {operand.name.upper()}.",
                f"It has {count}, from 0.",
                name,
            )
        spans.append((first, last - first + 1))
    (row0, high), (col0, wide) = spans
    cell_width = min(46.0, (_WIDE - LEFT) / wide)
    cell_height = min(21.0, max(cell_width, (_TALL - TOP) / high))
    cell_width, cell_height = cell or (cell_width, cell_height)
    title = f"{operand.name.upper()} {'×'.join(operand.dims)} {grid.rows}×{grid.cols} {operand.element.name}"
    panel = FigurePanel(
        operand.name,
        title,
        rows=high,
        cols=wide,
        cell_width=cell_width,
        cell_height=cell_height,
        grid=grid,
        row0=row0,
        col0=col0,
    )
    return PanelFigure(max(LEFT + panel.width + 8, 200.0), TOP + panel.height + 8, (panel,))
