"""How a layout is drawn: its axes, the colourings of its cells, and the small pictures of /cute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.question_form import answer_without_wrong
from lanescope.errors import LayoutError
from lanescope.inputs import get_last_name, parse_choice, parse_integer, shorten_value
from lanescope.render.palette import list_fill_variables
from lanescope.render.sheet import DrawingPlane, TileSheet, draw_cells
from lanescope.tiles.convert import Conversion

WORDS = {
    "warp": "warp",
    "thread": "lane group (lane / 4)",
    "lane": "thread in group (lane % 4)",
    "value": "register",
    "vector": "32-bit register",
    "tile": "tile or copy",
    "index": "index",
}
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AxesLook:
    """The axes of a tensor that are drawn, down and across, and the indices of the others; as text."""

    axes: str = ""
    at: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> AxesLook:
        return cls(*(query.get(name, "").strip() for name in FIELDS))


FIELDS = ("axes", "at")


def draw_without_wrong(
    draw: Callable[[dict[str, str]], dict[str, Any]], fields: Mapping[str, str], names: Sequence[str]
) -> tuple[dict[str, Any], LayoutError | None]:
    """Return what `draw` makes of the fields without the wrong ones among the axes and `names`, and the errors; nothing
    if the layout itself is wrong.
    """
    optional = {name: fields[name] for name in (*FIELDS, *names) if fields.get(name)}
    without = {**fields, **dict.fromkeys(optional, "")}
    drawn, error = answer_without_wrong(
        lambda kept: draw({**without, **kept}), optional, lambda error: get_last_name(error.field.split("[")[0])
    )
    return drawn or {}, error


def build_plane(look: AxesLook, sizes: tuple[int, ...]) -> DrawingPlane:
    """Return the axes that are drawn; LayoutError names `axes` or `at`."""
    axes = None
    if look.axes and len(sizes) > 1:
        parts = look.axes.split(",")
        if len(parts) != 2:
            raise LayoutError("bad_axes", f"axes is '{shorten_value(look.axes)}'.", "Two axes: down, across.", "axes")
        axes = [parse_integer(part, "axes", 0, len(sizes) - 1) for part in parts]
    at = [parse_integer(part, "at", 0, 1 << 20) for part in look.at.split(",") if part.strip()] if look.at else []
    return DrawingPlane.make_plane(sizes, axes, at)


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """A table of indices for a template. data: JSON for static/layouts/sheet.js; rows: the part that is drawn."""

    title: str
    svg: str
    legend: list[tuple[str, str]]
    coloured: str
    data: str
    rows: str


def draw_sheet(sheet: TileSheet, title: str, room: float) -> SheetPicture:
    """Return the picture of a table of indices, its columns within the given width in pixels."""
    picture = draw_cells(sheet, sheet.grouped, title, room=room)
    fills = list_fill_variables(picture.legend[-1].of if picture.legend else 1)
    panel = picture.panel
    assert sheet.place is not None
    data: dict[str, Any] = {
        "x": panel.x,
        "y": panel.y,
        "w": panel.cell_width,
        "h": panel.cell_height,
        "rows": picture.rows,
        "cols": picture.cols,
        "folded": bool(sheet.row_names),
        "place": np.ascontiguousarray(sheet.place[: picture.rows, : picture.cols].astype(np.int32)).reshape(-1),
    }
    parts: list[str] = []
    for name, some, whole in (("Rows", picture.rows, sheet.rows), ("columns", picture.cols, sheet.cols)):
        if some < whole or parts:
            parts.append(f"{name} 0–{some - 1} of {whole}")
    return SheetPicture(
        title=title,
        svg=picture.svg,
        legend=[(f"var({fills[one.category % len(fills)]})", one.text) for one in picture.legend],
        coloured=WORDS[sheet.grouped],
        data=encode_json(data).decode(),
        rows=f"{', '.join(parts)} are drawn." if parts else "",
    )


def find_default_colour(sheet: TileSheet) -> str:
    """Return the default colouring: warps if there are several, else values; banks for memory."""
    if sheet.thread is None:
        return next(iter(sheet.colours))
    return "warp" if int(sheet.thread.max()) >= sheet.lanes else "value"


def select_colour(sheet: TileSheet, requested: str) -> str:
    """Return the requested colouring, or the sheet's default. LayoutError lists the allowed ones."""
    return parse_choice(requested or find_default_colour(sheet), "colour", tuple(sheet.colours))


def find_moves(conversion: Conversion, sheet: TileSheet) -> tuple[Mask, Mask]:
    """Return which elements of the second picture come from another lane of the warp, and from another warp: bool
    [rows, cols].
    """
    assert sheet.thread is not None and sheet.value is not None
    held = sheet.thread >= 0
    at = np.where(held, sheet.thread, 0), np.where(held, sheet.value, 0)
    leaves = held & conversion.leaves[at]
    return held & conversion.moved[at] & ~leaves, leaves
