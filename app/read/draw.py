"""What a pasted text means as a picture: the indices of a CuTe layout, the tiles of a TiledMMA, a TiledCopy or a
Triton layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.cute import layout as cute
from lanescope.errors import LayoutError
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.draw import tile_svg
from lanescope.tiles.mma import TileOperand
from lanescope.tiles.tiled_mma import tiled_mma
from lanescope.tiles.tv import tv
from lanescope.tiles.umma import TiledUmma
from lanescope.triton.gluon import triton_layout

MOST = 16  # rows and columns that are shown


@dataclass(frozen=True, slots=True)
class Offsets:
    """index[row][col] of the first coordinates; the whole size of both modes, None for the second where there is one
    mode.
    """

    rows: int
    cols: int
    index: tuple[tuple[int, ...], ...]
    unit: str


def offsets(text: str | None) -> Offsets | None:
    """The table of a layout with one or two modes, None for any other and for one that is not known."""
    if text is None:
        return None
    found = cute.parse(text)
    whole = isinstance(found.shape, tuple)
    if whole and len(found.shape) > 2:
        return None
    shapes = found.shape if whole else (found.shape,)
    strides = found.stride if whole else (found.stride,)
    modes = [list(zip(cute.leaves(s), cute.leaves(d), strict=True)) for s, d in zip(shapes, strides, strict=True)]
    rows = prod(n for n, _ in modes[0])
    cols = prod(n for n, _ in modes[1]) if len(modes) > 1 else 1
    shown = range(min(rows, MOST)), range(min(cols, MOST))
    bits = found.unit_bits

    def at(row: int, col: int) -> int:
        index = found.offset + cute.index(row, modes[0]) + (cute.index(col, modes[1]) if len(modes) > 1 else 0)
        if found.swizzle is None:
            return int(index)
        if not bits:
            return int(found.swizzle(index))
        byte, bit = divmod(index * bits, 8)  # with smem_ptr the XOR is on the byte address
        return int(8 * found.swizzle(byte) + bit) // bits

    table = tuple(tuple(at(row, col) for col in shown[1]) for row in shown[0])
    return Offsets(rows, cols, table, f"{bits}-bit units" if bits else "elements")


MOST_SIDE = 128  # rows and columns of a tile that is drawn
OVER = (32, 64)  # what a Triton layout is drawn over whose text has no tensor


@dataclass(frozen=True, slots=True)
class Tiles:
    """Pictures of a meaning, (what it shows, SVG) each, and what had to be taken for them."""

    drawn: tuple[tuple[str, str], ...]
    note: str = ""


def tiles(kind: str, facts: Mapping[str, Any]) -> Tiles:
    """Which thread holds which element, as far as the text says enough and the tile is small; no pictures otherwise."""
    body = facts.get("body") or {}
    try:
        if kind == "tiled_mma" and body.get("atom"):
            made = tiled_mma(body["atom"], body["atom_layout"] or "(1,1,1)", body["permutation"], body["tile"])
            if max(made.tile) > MOST_SIDE or isinstance(made, TiledUmma):  # whose threads are CTAs
                return Tiles(())
            return Tiles(tuple((op.name.upper(), _of_operand(op)) for op in (made.c, made.a, made.b)))
        laid = body.get("layout_tv") or (body.get("thr_layout") and body.get("val_layout"))
        if kind == "tiled_copy" and laid and body.get("tile"):
            names = ("bits", "element_bits", "thr_layout", "val_layout", "layout_tv", "tiler_mn", "tile")
            copy = tiled_copy(body.get("atom") or "universal", **{n: body[n] for n in names if n in body})
            if max(copy.tile) > MOST_SIDE:
                return Tiles(())
            side, title = copy.source, f"{copy.tile[0]} × {copy.tile[1]}"
            picture = tile_svg(side.rows, side.cols, copy.tile, title, palette=None)
            return Tiles((("Source", picture),))
        if kind == "layout" and facts.get("tv"):
            size = facts["tv"]["tile"]
            if max(size) > MOST_SIDE:
                return Tiles(())
            held = tv(facts["cute"], size)
            letter = facts["tv"]["operand"].upper()
            along = {"A": "m × k", "B": "n × k" if facts.get("name") else "k × n"}.get(letter, "m × n")
            title = f"{letter}: {size[0]} × {size[1]} ({along})"
            return Tiles(((letter, tile_svg(held.rows, held.cols, (size[0], size[1]), title, palette=None)),))
        if kind == "triton":
            shape = body.get("shape")
            layout = triton_layout(body["text"], shape or list(OVER), body.get("element_bits") or 16)
            if layout.shared or len(layout.shape) > 2 or max(layout.shape) > MOST_SIDE:
                return Tiles(())
            high, wide = (1, *layout.shape)[-2:]
            picture = tile_svg(layout.rows, layout.cols, (high, wide), f"{high} × {wide}", palette=None)
            note = "" if shape else f"Drawn over a tensor of {high} × {wide}: the text names no shape."
            return Tiles((("Tensor", picture),), note)
    except LayoutError:
        pass  # the meaning stands without a picture
    return Tiles(())


def _of_operand(op: TileOperand) -> str:
    size = op.row_count, op.col_count
    return tile_svg(op.rows, op.cols, size, f"{op.name.upper()}: {size[0]} × {size[1]}", op.thread_ids, palette=None)
