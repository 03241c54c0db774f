"""A tile as a grid of cells: the holder of each element, or its offset in memory, and the picture of it.

A sheet shows two axes of a tensor, and one index of every further axis. A tensor of one axis is folded into rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.render.figure import TOP, FigurePanel, PanelFigure
from lanescope.render.palette import MANY, Palette
from lanescope.render.svg import render_svg

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
MOST_DRAWN = 1 << 14  # cells of one picture
WIDEST, FOLDED = 512, 32  # columns of a picture; of a tensor of one axis
_ROOM, _LABELLED = 1240.0, 24.0  # pixels of all columns; least width of a cell with a text
_LEFT = 34.0


@dataclass(frozen=True, slots=True)
class DrawingPlane:
    """The axes that are drawn, down and across; fixed: axis number → the index at which each other axis is shown."""

    down: int | None
    across: int
    fixed: Mapping[int, int]

    @classmethod
    def make_plane(
        cls, sizes: Sequence[int], axes: Sequence[int] | None = None, at: Sequence[int] = ()
    ) -> DrawingPlane:
        """Return the plane of the axes (down, across), by default the last two.

        at: the index of each axis that is not drawn, in order.
        """
        rank = len(sizes)
        if rank == 1:
            return cls(None, 0, {})
        down, across = axes if axes is not None and len(axes) == 2 else (rank - 2, rank - 1)
        if down == across or not (0 <= down < rank and 0 <= across < rank):
            raise LayoutError(
                "bad_axes",
                f"axes is {down},{across}.",
                f"Two different axes from 0 to {rank - 1}: down, across.",
                "axes",
            )
        hidden = [axis for axis in range(rank) if axis not in (down, across)]
        fixed = dict(zip(hidden, [*at, *[0] * rank], strict=False))
        for axis, index in fixed.items():
            if not 0 <= index < sizes[axis]:
                raise LayoutError(
                    "bad_axes", f"Axis {axis} is shown at {index}.", f"It has {sizes[axis]} indices, from 0.", "at"
                )
        return cls(down, across, fixed)

    def get_size(self, sizes: Sequence[int]) -> tuple[int, int]:
        """Return (rows, columns) of the drawing."""
        if self.down is None:
            across = min(sizes[0], FOLDED)
            return sizes[0] // across if sizes[0] % across == 0 else -(-sizes[0] // across), across
        return sizes[self.down], sizes[self.across]

    def locate_cells(self, coords: Sequence[Longs], sizes: Sequence[int]) -> tuple[Longs, Longs, Mask]:
        """Return the row and column of each position, and whether the plane shows it."""
        if self.down is None:
            cols = self.get_size(sizes)[1]
            return coords[0] // cols, coords[0] % cols, np.ones(coords[0].shape, dtype=bool)
        shown = np.ones(coords[0].shape, dtype=bool)
        for axis, index in self.fixed.items():
            shown &= coords[axis] == index
        return coords[self.down], coords[self.across], shown


@dataclass(frozen=True, slots=True, eq=False)
class TileSheet:
    """The cells of a tile.

    thread, value: int64 [rows, cols] of the first holder, -1 for an element nobody holds. copies: the number of
    holders. place: offset in elements, of a layout of memory. says: texts of cells that replace those of holder or
    offset. cell: int64 [threads, values], the number of each one's cell, -1 for one outside the plane. groups, grouped:
    for a table of indices, the numbers that colour its cells, and their name. byte: position in shared memory, of a
    sheet of threads.
    """

    rows: int
    cols: int
    thread: Longs | None = None
    value: Longs | None = None
    copies: Longs | None = None
    place: Longs | None = None
    element_bits: int = 16
    row_names: tuple[str, ...] = ()
    memory: str = "shared"
    says: tuple[tuple[str, ...], ...] = ()
    cell: Longs | None = None
    groups: Longs | None = None
    grouped: str = "tile"
    byte: Longs | None = None
    wide: int = 0  # of tensor memory: columns of the tensor, whose elements `place` numbers row by row
    lanes: int = 32  # of a warp

    @property
    def colours(self) -> dict[str, Longs]:
        """Return colouring name → int array with a number per cell, -1 for none."""
        if self.groups is not None:
            return {self.grouped: self.groups}
        if self.place is not None:
            bank = np.where(self.place < 0, -1, self.place * self.element_bits // 32 % 32)
            return {"bank": bank, "address": self.place}
        assert self.thread is not None and self.value is not None
        has_holder = self.thread >= 0
        return {
            "warp": np.where(has_holder, self.thread // self.lanes, -1),
            "thread": np.where(has_holder, self.thread % self.lanes, -1),
            "lane": np.where(has_holder, self.thread % 4, -1),
            "value": self.value,
            "vector": np.where(has_holder, self.value * self.element_bits // 32, -1),
        } | ({} if self.byte is None else {"bank": np.where(self.byte < 0, -1, self.byte // 4 % 32)})

    def format_cell(self, row: int, col: int, letter: str = "V") -> str:
        """Return the text of a cell: T12:V3 (with `+` where others hold the element, too), or an offset in memory."""
        if self.says:
            return self.says[row][col]
        if self.place is not None:
            return str(int(self.place[row, col])) if self.place[row, col] >= 0 else ""
        assert self.thread is not None and self.value is not None and self.copies is not None
        if self.thread[row, col] < 0:
            return ""
        return f"T{self.thread[row, col]}:{letter}{self.value[row, col]}{'+' * bool(self.copies[row, col] > 1)}"


def find_first_holders(cell: Longs, rows: int, cols: int) -> tuple[Longs, Longs, Longs]:
    """Return the thread and the value that hold each cell first, -1 for none, and the number of its holders.

    cell: int64 [threads, values], the number of each one's cell, -1 for none.
    """
    values = cell.shape[1]
    flat = np.where(cell < 0, rows * cols, cell).reshape(-1)
    first = np.full(rows * cols + 1, -1, dtype=np.int64)
    first[flat[::-1]] = np.arange(flat.size)[::-1]  # the first of several stays
    holder = first[:-1].reshape(rows, cols)
    thread, value = (np.where(holder < 0, -1, part) for part in (holder // values, holder % values))
    return thread, value, np.bincount(flat, minlength=first.size)[:-1].reshape(rows, cols).astype(np.int64)


def make_threads_sheet(
    coords: Sequence[Longs], sizes: Sequence[int], plane: DrawingPlane, element_bits: int, lanes: int = 32
) -> TileSheet:
    """Return the sheet of a layout of threads.

    coords: an int64 array [threads, values] for each axis; lanes: threads per warp.
    """
    rows, cols = plane.get_size(sizes)
    down, across, shown = plane.locate_cells(coords, sizes)
    cell = np.where(shown, down * cols + across, -1)
    thread, value, copies = find_first_holders(cell, rows, cols)
    return TileSheet(
        rows,
        cols,
        thread,
        value,
        copies=copies,
        place=None,
        element_bits=element_bits,
        row_names=_list_row_names(plane, rows, cols),
        cell=cell,
        lanes=lanes,
    )


def make_memory_sheet(offset: Longs, plane: DrawingPlane, element_bits: int) -> TileSheet:
    """Return the sheet of a layout of memory.

    offset: in elements, an array with the tensor's axes.
    """
    rows, cols = plane.get_size(offset.shape)
    if plane.down is None:
        flat = np.full(rows * cols, -1, dtype=np.int64)
        flat[: offset.size] = offset
        shown = flat.reshape(rows, cols)
    else:
        shown = offset[tuple(plane.fixed.get(axis, slice(None)) for axis in range(offset.ndim))]
        shown = shown if plane.down < plane.across else shown.T
    return TileSheet(rows, cols, place=shown, element_bits=element_bits, row_names=_list_row_names(plane, rows, cols))


def _list_row_names(plane: DrawingPlane, rows: int, cols: int) -> tuple[str, ...]:
    return tuple(str(row * cols) for row in range(rows)) if plane.down is None else ()


@dataclass(frozen=True, slots=True)
class LegendSwatch:
    """A category of a legend: its index among `of` categories, and the range of numbers it stands for."""

    category: int
    of: int
    text: str


def sort_into_categories(number: Longs) -> tuple[Longs, list[LegendSwatch]]:
    """Return each number's category, neighbouring numbers together, at most eight of them; and their legend."""
    most = int(number.max(initial=0)) + 1
    step = 1
    while -(-most // step) > MANY:
        step *= 2
    count = -(-most // step)
    legend = [
        LegendSwatch(n, count, str(n) if step == 1 else f"{n * step}–{min(most, (n + 1) * step) - 1}")
        for n in range(count)
    ]
    return np.where(number < 0, -1, number // step), legend


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """A picture of a sheet.

    panel: its cells' position; rows, cols: how many of them are drawn.
    """

    svg: str
    legend: list[LegendSwatch]
    panel: FigurePanel
    rows: int
    cols: int


def draw_cells(sheet: TileSheet, colour: str, title: str, *, room: float = _ROOM) -> SheetPicture:
    """Return the picture of one sheet, scaled to a fixed total width of its columns."""
    panel, legend = _make_panel(sheet, colour, title, room=room)
    figure = PanelFigure(panel.x + max(panel.width, 7.6 * len(title)) + 8, TOP + panel.height + 8, (panel,))
    return SheetPicture(
        render_svg(figure, title=title, palette=None, labels_up_to=MOST_DRAWN, pointed=True),
        legend,
        panel,
        panel.rows,
        panel.cols,
    )


def _make_panel(
    sheet: TileSheet,
    colour: str,
    title: str,
    *,
    letter: str = "V",
    room: float = _ROOM,
    at: tuple[float, float] = (_LEFT, TOP),
    most: int = MOST_DRAWN,
) -> tuple[FigurePanel, list[LegendSwatch]]:
    """Return a sheet's cells as a panel, and the legend of its fills."""
    cols = min(sheet.cols, max(WIDEST, most // MOST_DRAWN * WIDEST))
    rows = min(sheet.rows, max(8, most // cols))
    number, legend = sort_into_categories(sheet.colours[colour])
    width = min(58.0, max(room / cols, 6.0))
    labelled = width >= _LABELLED and rows * cols <= MOST_DRAWN // 4
    tall = (26.0 if width < 46 else 19.0) if labelled else min(14.0, width)
    window = slice(0, rows), slice(0, cols)
    texts = [[sheet.format_cell(row, col, letter) for col in range(cols)] for row in range(rows)] if labelled else None
    names = sheet.row_names[:rows] or tuple(map(str, range(rows)))
    panel = FigurePanel(
        "tile",
        title,
        rows,
        cols,
        width,
        tall,
        category=number[window].astype(np.int32),
        texts=texts,
        x=at[0],
        y=at[1],
        row_names=names,
        of=legend[-1].of if legend else 1,
    )
    return panel, legend


def draw_sheets(
    parts: Sequence[tuple[TileSheet, str, str]],
    title: str,
    palette: Palette | None = None,
    letter: str = "V",
    room: float | None = None,
) -> str:
    """Return several sheets, (sheet, colouring, title) each, as one picture: side by side, or stacked where they are
    wide.
    """
    figure = make_sheets_figure(parts, letter, room=room)
    return render_svg(figure, title=title, palette=palette, labels_up_to=MOST_DRAWN, pointed=palette is None)


def make_sheets_figure(
    parts: Sequence[tuple[TileSheet, str, str]], letter: str = "V", most: int = MOST_DRAWN, room: float | None = None
) -> PanelFigure:
    """Return several sheets, (sheet, colouring, title) each, as one figure: side by side, or stacked where they are
    wide.

    most: the greatest number of cells of one; room: the width of one, None for what its columns need.
    """
    panels: list[FigurePanel] = []
    x, y, wide = _LEFT, TOP, 0.0
    for sheet, colour, words in parts:
        wanted = room or max(40.0, min(38.0 * sheet.cols, 1200.0))
        panel, _ = _make_panel(sheet, colour, words, letter=letter, room=wanted, at=(x, y), most=most)
        if panels and x + panel.width > _ROOM:
            x, y = _LEFT, max(panel.y + panel.height for panel in panels) + 2 * TOP
            panel, _ = _make_panel(sheet, colour, words, letter=letter, room=wanted, at=(x, y), most=most)
        panels.append(panel)
        reach = x + max(panel.width, 7.6 * len(words))
        x, wide = reach + 2 * _LEFT, max(wide, reach)
    return PanelFigure(wide + 8, max(panel.y + panel.height for panel in panels) + 8, tuple(panels))
