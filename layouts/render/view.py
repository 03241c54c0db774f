"""OperandGrid: an operand as its matrix, with the holder, names and spoken text of every cell.

PanelFigure: the grids of an instruction placed as in a product, A to the left, B above, D in the corner, in one scale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP, ExecutionScope, Instruction, Operand, OperandPlace
from lanescope.ptx.pattern import IntArray

# Labels of a cell, as templates of its facts: Python fills them in here, and a page's script gets them as data.
LABEL_TEMPLATES = {
    "lane:value": "T{thread}:{values}",
    "register": "T{thread} R{registers}",
    "row,col": "{row},{col}",
    "index": "{index}",
    "none": "",
}
LABELS = tuple(LABEL_TEMPLATES)
SPOKEN = "{title} row {row} column {col}: {owners}"
OWNER = "{holder}, value {name}{value}, register {register} {spoken_bits}"
BETWEEN_OWNERS = "; and "


def list_labels(scope: ExecutionScope) -> dict[str, str]:
    """Return LABEL_TEMPLATES in a scope's terms: T13 R1 for a thread, L13 C1 for a lane of tensor memory.

    >>> from lanescope.ptx.role import TENSOR
    >>> list_labels(TENSOR)["register"]
    'L{thread} C{registers}'
    """
    letters = {"T{": f"{scope.letter}{{", " R{": f" {scope.register[0].upper()}{{"}
    out = dict(LABEL_TEMPLATES)
    for usual, letter in letters.items():
        out = {kind: text.replace(usual, letter) for kind, text in out.items()}
    return out


def get_owner_template(scope: ExecutionScope) -> str:
    """Return OWNER in a scope's terms."""
    return OWNER.replace("value {name}", f"{scope.value} {{name}}").replace("register {", f"{scope.register} {{")


def get_spoken_template(operand: Operand) -> str:
    """Return SPOKEN with the names of an operand's own axes."""
    down, across = (axis.replace("col", "column") if axis == "col" else axis for axis in operand.plane)
    return SPOKEN.replace("row {", f"{down} {{").replace("column {", f"{across} {{")


ADDRESS = "address"  # the operand whose elements are the rows that lanes address


@dataclass(frozen=True, slots=True)
class CellCategory:
    """A name by which cells may be coloured.

    numbers: its value for every thread, or for every value (see `of`).
    """

    of: str
    numbers: IntArray

    @property
    def count(self) -> int:
        return int(self.numbers.max()) + 1


@dataclass(frozen=True)
class OperandGrid:
    """The matrix of one operand; `product` selects one of m8n8k4's four products, or one of ldmatrix's matrices.

    thread, value: int arrays [rows, cols, copies], the owners of each element.
    """

    operand: Operand
    product: int = 0

    @cached_property
    def rows(self) -> int:
        return self.operand.row_count

    @cached_property
    def cols(self) -> int:
        return self.operand.col_count

    @cached_property
    def _owners(self) -> tuple[IntArray, IntArray]:
        thread, value = self.operand.pattern.inverse()
        if len(self.operand.axes) == 3:
            extra = next(n for n, axis in enumerate(self.operand.axes) if axis not in self.operand.plane)
            return np.take(thread, self.product, axis=extra), np.take(value, self.product, axis=extra)
        return thread, value

    @property
    def thread(self) -> IntArray:
        return self._owners[0]

    @property
    def value(self) -> IntArray:
        return self._owners[1]

    @property
    def register(self) -> IntArray:
        """The register of each owner: int array [rows, cols, copies]."""
        return self.value * self.operand.container_bits // self.operand.register_bits

    @cached_property
    def categories(self) -> dict[str, CellCategory]:
        """The colourings there are: the pattern's names, those of the thread first, and the register."""
        pattern, op = self.operand.pattern, self.operand
        on_thread = {d.name for d in pattern.threads}
        digits = pattern.digit_values()
        named = {
            d.name: CellCategory("thread" if d.name in on_thread else "value", digits[d.name]) for d in pattern.digits
        }
        return named | {
            "register": CellCategory(
                "value", np.arange(op.values, dtype=np.int32) * op.container_bits // op.register_bits
            )
        }

    @property
    def colour_names(self) -> tuple[str, ...]:
        return tuple(self.categories)

    def number_cells(self, name: str) -> IntArray:
        """Return int [rows, cols, copies] with the value of one name in every cell; LayoutError lists the names there
        are.
        """
        if name not in self.categories:
            raise LayoutError(
                "unknown_name",
                f"'{name}' is not a name of '{self.operand.pattern}'.",
                f"Allowed: {', '.join(self.colour_names)}.",
                "colour",
            )
        category = self.categories[name]
        return category.numbers[(self.thread if category.of == "thread" else self.value)[:, :, 0]]

    def format_labels(self, kind: str, rows: slice = slice(None), cols: slice = slice(None)) -> list[list[str]]:
        """Return the text of every cell, or of the cells in some rows and columns, for one of LABELS."""
        if kind not in LABEL_TEMPLATES:
            raise LayoutError("unknown_label", f"No label '{kind}'.", f"Allowed: {', '.join(LABELS)}.", "label")
        template = list_labels(self.operand.scope)[kind]
        fill, each = template.format, cache(_drop_repeats)  # many cells hold the same values
        threads = self.thread[rows, cols, 0].tolist()
        numbers = (self.register if "{registers}" in template else self.value)[rows, cols].tolist()
        places = range(self.cols)[cols]
        return [
            [
                fill(thread=t, values=text, registers=text, row=row, col=col, index=row * self.cols + col)
                for col, t, text in zip(places, ts, map(each, map(tuple, hs)), strict=True)
            ]
            for row, ts, hs in zip(range(self.rows)[rows], threads, numbers, strict=True)
        ]

    @property
    def unit(self) -> str:
        """The word for an owner of elements: lane (of a warp) or thread (of a warpgroup)."""
        return self.operand.scope.thread

    def format_holder(self, thread: int) -> str:
        """Return a thread in words: lane 13, or in a warpgroup warp 1, lane 28."""
        warp, lane = divmod(thread, WARP.threads)
        scope = self.operand.scope
        return f"warp {warp}, lane {lane}" if scope.several else f"{scope.thread} {thread}"

    def format_bits(self, value: int) -> str:
        """Return the register bits that a value's container takes: [31:16]."""
        _, bit = self.operand.register_of(value)
        return f"[{bit + self.operand.container_bits - 1}:{bit}]"

    def format_spoken_bits(self, value: int) -> str:
        """Return the register bits that a value itself takes, without padding, as screen readers speak them."""
        bits = self.operand.element.bits
        _, container = self.operand.register_of(value)
        first = container + self.operand.padding_below
        return f"bits {first} to {first + bits - 1}" if bits > 1 else f"bit {first}"

    def format_spoken(self, row: int, col: int, title: str = "") -> str:
        """Return a cell's text for screen readers: matrix, position, and every owner with its register and bits."""
        name = self.operand.name
        owners = [
            get_owner_template(self.operand.scope).format(
                holder=self.format_holder(thread),
                name=name,
                value=value,
                register=self.operand.register_of(value)[0],
                spoken_bits=self.format_spoken_bits(value),
            )
            for thread, value in zip(self.thread[row, col].tolist(), self.value[row, col].tolist(), strict=True)
        ]
        return get_spoken_template(self.operand).format(
            title=title or name.upper(), row=row, col=col, owners=BETWEEN_OWNERS.join(owners)
        )

    def make_axis_templates(self) -> dict[str, str]:
        """Return each coordinate's formula as a template with a cell's facts in braces: thread, value and digits."""
        words = self.operand.words
        open_ = {words.thread: "thread", words.value: "value"} | {word: name for name, word, _ in words.digits}
        forward = self.operand.formula()["forward"]
        return {
            axis: re.sub(
                r"%?[A-Za-z_]\w*", lambda word: f"{{{open_[word[0]]}}}" if word[0] in open_ else word[0], forward[axis]
            )
            for axis in self.operand.axes
        }


def _drop_repeats(numbers: tuple[int, ...]) -> str:
    """Return the numbers without repetitions, in their order."""
    return ",".join(map(str, dict.fromkeys(numbers)))


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
    x: float
    y: float
    cell_width: float
    cell_height: float
    grid: OperandGrid | None
    category: IntArray | None = None
    texts: list[list[str]] | None = None
    row0: int = 0
    col0: int = 0
    row_names: tuple[str, ...] = ()
    col_names: tuple[str, ...] = ()
    of: int = 0
    status: IntArray | None = None

    @property
    def drawn(self) -> bool:
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
        return sum(p.rows * p.cols for p in self.panels if p.drawn)


LEFT, TOP, GAP = 30.0, 34.0, 18.0
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
        x=LEFT,
        y=TOP,
        cell_width=cell_width,
        cell_height=cell_height,
        grid=grid,
        row0=row0,
        col0=col0,
    )
    return PanelFigure(max(LEFT + panel.width + 8, 200.0), TOP + panel.height + 8, (panel,))
