"""Pictures of a pasted text: the indices of a CuTe layout, the tiles of a TiledMMA, a TiledCopy or a Triton layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.render.palette import Palette
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.mma import TileOperand
from lanescope.tiles.pictures import render_tile_svg
from lanescope.tiles.tiled_mma import tiled_mma
from lanescope.tiles.tv import tv
from lanescope.tiles.umma import TiledUmma
from lanescope.triton.gluon import triton_layout

MOST = 16  # shown rows and columns


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """index[row][col] of the first coordinates; the full size of both modes, None for the second of a single mode."""

    rows: int
    cols: int
    index: tuple[tuple[int, ...], ...]
    unit: str


def build_offset_table(text: str | None) -> OffsetTable | None:
    """Build the table of a layout with one or two modes, None for any other and for an unknown one."""
    if text is None:
        return None
    layout = parse_layout(text)
    if layout.rank > 2:
        return None
    rows, cols = (*(mode.size for mode in layout.modes), 1)[:2]
    table = tuple(
        tuple(layout(*(row, col)[: layout.rank]) for col in range(min(cols, MOST))) for row in range(min(rows, MOST))
    )
    return OffsetTable(rows, cols, table, f"{layout.unit_bits}-bit units" if layout.unit_bits else "elements")


MOST_SIDE = 128  # larger tiles are not drawn
SIDES = (32, 64, 128)  # rows and columns of the tensor that a Triton layout is drawn over where its text has none


@dataclass(frozen=True, slots=True)
class HeldTile:
    """The thread and value that hold each element of a tile: rows, cols [threads, values].

    ids: the thread of each row of the arrays, if it is not the row's number; lanes: threads per warp.
    """

    label: str
    title: str
    rows: NDArray[Any]
    cols: NDArray[Any]
    size: tuple[int, int]
    ids: NDArray[Any] | None = None
    lanes: int = 32


@dataclass(frozen=True, slots=True)
class MeaningTiles:
    """The tiles of a meaning, and the assumptions about them; shape: of the tensor."""

    tiles: tuple[HeldTile, ...]
    note: str = ""
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MeaningPictures:
    """Pictures of a meaning, (title, SVG) each, and the assumptions about them; shape: of the drawn tensor."""

    drawn: tuple[tuple[str, str], ...]
    note: str = ""
    shape: tuple[int, ...] = ()


def draw_meaning(kind: str, facts: Mapping[str, Any], palette: Palette | None = None) -> MeaningPictures:
    """Draw which thread holds which element, if the text determines it and the tile is small; otherwise nothing.
    palette: None uses the page's colours.
    """
    found = find_tiles(kind, facts)
    drawn = (
        (
            tile.label,
            render_tile_svg(tile.rows, tile.cols, tile.size, tile.title, tile.ids, palette=palette, lanes=tile.lanes),
        )
        for tile in found.tiles
    )
    return MeaningPictures(tuple(drawn), found.note, found.shape)


def find_tiles(kind: str, facts: Mapping[str, Any]) -> MeaningTiles:
    """Find the tiles of a meaning that are small enough to be drawn; none if the text does not determine them."""
    find = _TILES.get(kind)
    try:
        return (find and find(facts)) or MeaningTiles(())
    except LayoutError:
        return MeaningTiles(())  # show the meaning without a picture


def _find_tiled_mma(facts: Mapping[str, Any]) -> MeaningTiles | None:
    body = facts.get("body") or {}
    if not body.get("atom"):
        return None
    tiled = tiled_mma(body["atom"], body["atom_layout"] or "(1,1,1)", body["permutation"], body["tile"])
    if max(tiled.tile) > MOST_SIDE or isinstance(tiled, TiledUmma):  # its threads are CTAs
        return None
    return MeaningTiles(tuple(map(_hold_operand, (tiled.c, tiled.a, tiled.b))))


_COPY_FIELDS = ("bits", "element_bits", "thr_layout", "val_layout", "layout_tv", "tiler_mn", "tile")


def _find_tiled_copy(facts: Mapping[str, Any]) -> MeaningTiles | None:
    body = facts.get("body") or {}
    is_complete = body.get("layout_tv") or (body.get("thr_layout") and body.get("val_layout"))
    if not is_complete or not body.get("tile"):
        return None
    copy = tiled_copy(body.get("atom") or "universal", **{name: body[name] for name in _COPY_FIELDS if name in body})
    if max(copy.tile) > MOST_SIDE:
        return None
    title = f"{copy.tile[0]} × {copy.tile[1]}"
    return MeaningTiles((HeldTile("Source", title, copy.source.rows, copy.source.cols, copy.tile),))


def _find_thread_values(facts: Mapping[str, Any]) -> MeaningTiles | None:
    if not facts.get("tv"):
        return None
    size = facts["tv"]["tile"]
    if max(size) > MOST_SIDE:
        return None
    thread_values = tv(facts["cute"], size)
    letter = facts["tv"]["operand"].upper()
    dims = {"A": "m × k", "B": "n × k" if facts.get("name") else "k × n"}.get(letter, "m × n")
    title = f"{letter}: {size[0]} × {size[1]} ({dims})"
    return MeaningTiles((HeldTile(letter, title, thread_values.rows, thread_values.cols, (size[0], size[1])),))


def _find_triton(facts: Mapping[str, Any]) -> MeaningTiles | None:
    body = facts.get("body") or {}
    shape, bits = body.get("shape"), body.get("element_bits") or 16
    layout = triton_layout(body["text"], shape, bits) if shape else find_whole_layout(body["text"], bits)
    if not layout.of_threads or len(layout.shape) > 2 or max(layout.shape) > MOST_SIDE:
        return None
    rows, cols = (1, *layout.shape)[-2:]
    title = f"{rows} × {cols}"
    tile = HeldTile("Tensor", title, layout.rows, layout.cols, (rows, cols), lanes=layout.lanes)
    note = "" if shape else f"Drawn over a tensor of {rows} × {cols}: the text does not name a shape."
    return MeaningTiles((tile,), note, tuple(layout.shape))


def find_whole_layout(text: str, bits: int) -> Any:
    """Return a Triton layout over the smallest tensor that distinguishes all its threads."""
    shapes = sorted(((rows, cols) for rows in SIDES for cols in SIDES), key=lambda shape: (shape[0] * shape[1], shape))
    layouts = [triton_layout(text, list(shape), bits) for shape in shapes]
    if not layouts[0].of_threads:
        return layouts[0]
    return max(layouts, key=_count_holders)  # the first of equals


def _count_holders(layout: Any) -> int:
    """Return the number of distinct first elements of the threads."""
    first = {(int(row), int(col)) for row, col in zip(layout.rows[:, 0], layout.cols[:, 0], strict=True)}
    return len(first)


_TILES: dict[str, Callable[[Mapping[str, Any]], MeaningTiles | None]] = {
    "tiled_mma": _find_tiled_mma,
    "tiled_copy": _find_tiled_copy,
    "layout": _find_thread_values,
    "triton": _find_triton,
}


def _hold_operand(op: TileOperand) -> HeldTile:
    size = op.row_count, op.col_count
    return HeldTile(op.name.upper(), f"{op.name.upper()}: {size[0]} × {size[1]}", op.rows, op.cols, size, op.thread_ids)
