"""A tile on a page: its picture, legend, the thread that is listed, and what the script needs to follow a pointer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.encode import dumps
from layouts.errors import LayoutError
from layouts.palette import wheel
from layouts.reading import choice, name_of, number, shown
from layouts.render.sheet import Plane, Sheet, drawn
from layouts.tiles.convert import Conversion

WORDS = {
    "warp": "warp", "thread": "lane", "value": "register", "vector": "32-bit register", "bank": "bank",
    "address": "address", "tile": "tile or copy", "index": "index", "row": "row", "column": "column",
}  # fmt: skip
LEGENDS = WORDS | {"address": "offset, elements"}
MOST_LISTED = 512
ROOM, HALF = 1064.0, 620.0  # pixels of all columns beside the list of a thread
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Look:
    """How a tile is shown: the fields of a form, all text."""

    colour: str = ""
    thread: str = ""
    axes: str = ""
    at: str = ""
    row: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Look:
        return cls(*(query.get(name, "").strip() for name in FIELDS))


FIELDS = ("colour", "thread", "axes", "at", "row")


def kept(given: Mapping[str, str], error: LayoutError, fields: Sequence[str]) -> dict[str, str] | None:
    """The fields without the one that an error names, where that is one of the look or of `fields`: what can still be
    drawn. None where the layout itself is wrong."""
    name = name_of(error.field.split("[")[0])
    return {**given, name: ""} if name in (*FIELDS, *fields) and given.get(name) else None


def plane(look: Look, sizes: tuple[int, ...]) -> Plane:
    """The axes that are drawn; LayoutError beside axes or at."""
    axes = None
    if look.axes and len(sizes) > 1:
        parts = look.axes.split(",")
        if len(parts) != 2:
            raise LayoutError("bad_axes", f"axes is '{shown(look.axes)}'.", "Two axes: down, across.", "axes")
        axes = [number(part, "axes", 0, len(sizes) - 1) for part in parts]
    at = [number(part, "at", 0, 1 << 20) for part in look.at.split(",") if part.strip()] if look.at else []
    return Plane.of(sizes, axes, at)


@dataclass(frozen=True, slots=True)
class Picture:
    """A sheet as a template shows it. data: JSON for static/layouts/sheet.js; held: elements of the
    thread listed, which is `thread`.
    """

    title: str
    svg: str
    legend: list[tuple[str, str]]
    coloured: str
    data: str
    rows: str
    before: str | None
    after: str | None
    held: list[tuple[str, str]] = field(default_factory=list)
    thread: int = 0


def picture(
    sheet: Sheet, look: Look, title: str, letter: str = "V", hatched: Sequence[tuple[Mask, str]] = (),
    faded: Mask | None = None, room: float = ROOM,
) -> Picture:  # fmt: skip
    """The picture of a sheet. letter: what a value is called; hatched, faded: as the engine draws them."""
    colour = coloured(sheet, look.colour)
    row0 = min(number(look.row or "0", "row", 0), sheet.rows - 1)
    thread = None
    if sheet.cell is not None:
        thread = number(look.thread or "0", "thread", 0, sheet.cell.shape[0] - 1)
    made = drawn(sheet, colour, title, row0=row0, letter=letter, pinned=thread, hatched=hatched, faded=faded,
                 room=room)  # fmt: skip
    of = made.legend[-1].of if made.legend else 1
    fills = wheel(of)
    window = slice(row0, row0 + made.rows), slice(0, made.cols)
    panel = made.panel
    data: dict[str, Any] = {
        "x": panel.x, "y": panel.y, "w": panel.cell_width, "h": panel.cell_height, "rows": made.rows,
        "cols": made.cols, "row0": row0, "folded": bool(sheet.row_names), "letter": letter,
    }  # fmt: skip
    for name in ("thread", "value", "copies", "place"):
        if (array := getattr(sheet, name)) is not None:
            data[name] = np.ascontiguousarray(array[window].astype(np.int32)).reshape(-1)
    data["bits"] = sheet.element_bits
    if sheet.memory == "tensor":
        data["wide"] = sheet.wide
    data["what"] = (
        "tensor"
        if sheet.memory == "tensor"
        else "index"
        if sheet.groups is not None
        else "memory"
        if sheet.place is not None
        else "threads"
    )
    last = row0 + made.rows
    whole = made.rows == sheet.rows and made.cols == sheet.cols
    return Picture(
        title=title,
        svg=made.svg,
        legend=[(f"var({fills[one.category % len(fills)]})", one.text) for one in made.legend],
        coloured=_called(colour, letter, sheet),
        data=dumps(data).decode(),
        rows=""
        if whole
        else f"Rows {row0}–{last - 1} of {sheet.rows} are drawn"
        + (f", columns 0–{made.cols - 1} of {sheet.cols}." if made.cols < sheet.cols else "."),
        before=str(max(0, row0 - made.rows)) if row0 else None,
        after=str(last) if last < sheet.rows else None,
        held=_held(sheet, thread, letter) if thread is not None else [],
        thread=thread or 0,
    )


def default(sheet: Sheet) -> str:
    """The colour of a form that names none: warps where there are several, else values; banks of memory."""
    if sheet.thread is None:
        return next(iter(sheet.colours))
    return "warp" if int(sheet.thread.max()) >= 32 else "value"


def coloured(sheet: Sheet, asked: str) -> str:
    """The colour that is asked for, or a sheet's own; LayoutError lists those that it has."""
    return choice(asked or default(sheet), "colour", tuple(sheet.colours))


def _called(colour: str, letter: str, sheet: Sheet) -> str:
    if colour == "value":
        return "register" if letter == "R" else "value"
    return "TMEM column" if colour == "bank" and sheet.memory == "tensor" else LEGENDS[colour]


def colours(sheet: Sheet, letter: str) -> list[tuple[str, str]]:
    """(name, word) of each colour that a sheet has."""
    return [(name, "value" if name == "value" and letter == "V" else WORDS[name]) for name in sheet.colours]


def _held(sheet: Sheet, thread: int, letter: str) -> list[tuple[str, str]]:
    """What a thread holds on the sheet, in the order of its values: (V3, (row,column))."""
    assert sheet.cell is not None
    out = []
    for value, cell in enumerate(sheet.cell[thread, :MOST_LISTED].tolist()):
        if cell >= 0:
            where = str(cell) if sheet.row_names else f"({cell // sheet.cols},{cell % sheet.cols})"
            out.append((f"{letter}{value}", where))
    return out


def beside(error: LayoutError | None, name: str) -> str:
    """What stands beside a field: the error that belongs to it, "" where it has none."""
    if error is None or name_of(error.field.split("[")[0]) != name:
        return ""
    return f"{error.message} {error.hint}"


def moves(found: Conversion, sheet: Sheet) -> list[tuple[Mask, str]]:
    """The hatches of the second picture: elements from another lane of the warp, and from another warp."""
    assert sheet.thread is not None and sheet.value is not None
    held = sheet.thread >= 0
    at = np.where(held, sheet.thread, 0), np.where(held, sheet.value, 0)
    leaves = held & found.leaves[at]
    return [(held & found.moved[at] & ~leaves, "reordered"), (leaves, "moved")]
