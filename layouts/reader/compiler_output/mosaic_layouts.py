"""Recognise the register layouts of Mosaic GPU (JAX): TiledLayout and WGStridedFragLayout, in Python and in MLIR.

JAX, jax/experimental/mosaic/gpu/fragmented_array.py: each tiling splits a tile further. Some of the resulting sizes go
over the warps of a warpgroup, some over the lanes, the others over registers. The result is a linear layout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from lanescope.cxx.source_text import split_list
from lanescope.errors import LayoutError
from lanescope.reader.compiler_output import triton
from lanescope.reader.meaning import TextMeaning

_LAYOUT = re.compile(
    r"(?<![\w.])(?:#mosaic_gpu\.|(?:\w+\.){0,4})(TiledLayout|WGStridedFragLayout)\s*[(<](?=\s*[\w\[({.=])"
)
_NAMED = {  # members of plgpu.Layout, and constants …_LAYOUT: the accumulator of wgmma, and its sums along a dimension
    "WGMMA": "((64, 8), (16, 8), (8, 8), (2,)), (-7,), (-3, -2), -1",
    "WGMMA_ROW": "((64,), (16,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1",
    "WGMMA_COL": "((8,), (2,)), (Replicated(4),), (Replicated(8), -2), -1",
    "WGMMA_TRANSPOSED": "((64, 8), (16, 8), (8, 8), (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2",
}
_NAME = re.compile(
    r"(?<!\w)(?:Layout\.(?P<member>WGMMA(?:_[A-Z]+)?)|(?P<constant>WGMMA(?:_[A-Z]+)?)_LAYOUT)(?![\w(]|\s*=)"
    r"(?:\.reduce\(\s*(?P<summed>[01])\s*\))?"
)
_REDUCED = ("WGMMA_COL", "WGMMA_ROW")  # WGMMA.reduce(dimension)
_REPLICATED = re.compile(
    r"(?:#mosaic_gpu\.|(?:\w+\.){0,4})Replicated\s*[(<]\s*(?:times\s*=\s*)?(\d{1,4})(?:\s*:\s*i\d+)?\s*[)>]"
)
_TILING = re.compile(r"(?:\w+\.){0,4}Tiling\s*\(\s*(?:tiles\s*=\s*)?")
_WIDTH = re.compile(r"(?<=\d)\s*:\s*i(?:32|64)\b")
_LONGEST, _MOST, _MOST_ELEMENTS = 1000, 8, 1 << 16
_PARAMETERS = {
    "TiledLayout": ("tiling", "warp_dims", "lane_dims", "vector_dim", "_check_canonical"),
    "WGStridedFragLayout": ("shape", "vec_size", "vector_size"),
}
Dims = Sequence[int | str]  # the number of a dimension, or the count of a replicated one
_WARPS, _LANES = 4, 32  # of a warpgroup
_REPEATED = "A larger array repeats it in further registers."


@dataclass(frozen=True, slots=True)
class Axis:
    """A size of the tiled shape: the dimension of the tile that it divides, and its step there."""

    dim: int
    size: int
    step: int

    def list_bases(self, rank: int) -> list[list[int]]:
        """Return what each bit of an index moves to, the lowest first."""
        return [
            [self.step << bit if at == self.dim else 0 for at in range(rank)]
            for bit in range(self.size.bit_length() - 1)
        ]


def recognise_mosaic_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the layouts of Mosaic GPU that a text spells. LayoutError if the only one cannot be read."""
    meanings: list[TextMeaning] = []
    errors: list[LayoutError] = []
    for name, body in (*_find_calls(text), *_find_names(text)):
        kind = name if name in _PARAMETERS else "TiledLayout"
        try:
            meanings.append(_make_meaning(name, kind, _parse_arguments(kind, body)))
        except LayoutError as error:
            errors.append(error)
    if errors and not meanings:
        raise errors[0]
    return tuple({meaning.title: meaning for meaning in meanings}.values())


def _find_calls(text: str) -> Iterator[tuple[str, str]]:
    """Yield the class and the arguments of each layout."""
    for match, _ in zip(_LAYOUT.finditer(text), range(_MOST), strict=False):
        first = match.end()
        _, close = split_list(text, first, min(len(text), first + _LONGEST))
        if text[close : close + 1] in (")", ">"):
            yield match[1], text[first:close]


def _find_names(text: str) -> Iterator[tuple[str, str]]:
    """Yield the layouts that JAX defines and a text names: (name, arguments of TiledLayout)."""
    for match, _ in zip(_NAME.finditer(text), range(_MOST), strict=False):
        name = match["member"] or match["constant"]
        if match["summed"] and name == "WGMMA":
            name = _REDUCED[int(match["summed"])]
        elif match["summed"]:
            continue
        if name in _NAMED:
            yield name, _NAMED[name]


def _parse_arguments(name: str, body: str) -> dict[str, Any]:
    """Return the arguments of a layout by name; a replicated dimension is its count as text."""
    words = _WIDTH.sub("", _TILING.sub("(", _REPLICATED.sub(r"'\1'", body)))
    try:
        call = ast.parse(f"f({words.strip()})", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError
        values = dict(zip(_PARAMETERS[name], map(ast.literal_eval, call.args), strict=False))
        return values | {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise _refuse(f"{name} has values that are not in the text.", "Write the numbers in their place.") from None


def _refuse(message: str, hint: str = "") -> LayoutError:
    return LayoutError("bad_mosaic", message, hint, "text")


def _make_meaning(name: str, kind: str, values: dict[str, Any]) -> TextMeaning:
    try:
        shape, bases = (_make_tiled if kind == "TiledLayout" else _make_strided)(values)
    except LayoutError:
        raise
    except (KeyError, TypeError, IndexError, ValueError):
        raise _refuse(f"The arguments of {name} are not complete, or not of its types.") from None
    listed = ", ".join(f"{key} = {value}" for key, value in bases.items())
    (meaning,) = triton.recognise_triton_layouts(f"#ttg.linear<{{{listed}, block = []}}>")
    body = {**meaning.facts["body"], "shape": shape}
    title = f"Mosaic GPU {name} of {' × '.join(map(str, shape))} elements"
    repeated = (_REPEATED,) if kind == "TiledLayout" else ()
    open_values = tuple(value for value in meaning.undetermined if value != "shape")
    notices = ("It is the same as Triton's linear layout with these bases.", *repeated)
    return replace(
        meaning, title=title, facts={**meaning.facts, "body": body}, notices=notices, undetermined=open_values
    )


def _make_tiled(values: dict[str, Any]) -> tuple[list[int], dict[str, list[list[int]]]]:
    """Return the shape of the base tile of a TiledLayout, and the bases of its registers, lanes and warps."""
    tiles = [tuple(tile) for tile in values["tiling"]]
    shape, vector = list(tiles[0]), values["vector_dim"]
    warp_dims, lane_dims = values["warp_dims"], values["lane_dims"]
    axes = [Axis(dim, size, 1) for dim, size in enumerate(shape)]
    _check_powers(shape)
    for tile in tiles:
        axes = _split_axes(axes, tile)
    shared = _check_dims(axes, len(shape), warp_dims, lane_dims, vector)
    places = {dim % len(axes) for dim in shared}
    registers = [axis for at, axis in enumerate(axes) if at not in places]
    rank = len(shape)
    return shape, {
        "register": _list_bases([*registers, axes[vector]], rank),
        "lane": _list_bases([_get_axis(axes, dim) for dim in lane_dims], rank),
        "warp": _list_bases([_get_axis(axes, dim) for dim in warp_dims], rank),
    }


def _check_dims(axes: Sequence[Axis], rank: int, warp_dims: Dims, lane_dims: Dims, vector: int) -> list[int]:
    """Return the dimensions that are not registers; LayoutError if JAX refuses them."""
    shared = [dim for dim in (*warp_dims, *lane_dims, vector) if not isinstance(dim, str)]
    if len(set(shared)) < len(shared) or not all(rank - len(axes) <= dim < 0 for dim in shared):
        raise _refuse(
            f"The dimensions {shared} of the layout are not different ones from {rank - len(axes)} to -1.",
            "They count from the end of the tiled shape.",
        )
    for what, dims, count in (("warp_dims", warp_dims, _WARPS), ("lane_dims", lane_dims, _LANES)):
        if (held := prod(int(dim) if isinstance(dim, str) else axes[dim].size for dim in dims)) != count:
            raise _refuse(f"{what} divides the tile by {held}.", f"A warpgroup has {_WARPS} warps of {_LANES} lanes.")
    return shared


def _split_axes(axes: Sequence[Axis], tile: tuple[int, ...]) -> list[Axis]:
    """Split the last axes by a tile: all outer parts, then all inner ones."""
    first = len(axes) - len(tile)
    kept, tiled = axes[:first], axes[first:]
    if first < 0 or any(axis.size % size for axis, size in zip(tiled, tile, strict=True)):
        raise _refuse(f"The tile {tile} does not divide {tuple(axis.size for axis in tiled)}.")
    _check_powers(tile)
    pairs = list(zip(tiled, tile, strict=True))
    outer = [Axis(axis.dim, axis.size // size, axis.step * size) for axis, size in pairs]
    return [*kept, *outer, *(Axis(axis.dim, size, axis.step) for axis, size in pairs)]


def _check_powers(sizes: Sequence[int]) -> None:
    for size in sizes:
        if size < 1 or size & (size - 1) or prod(sizes) > _MOST_ELEMENTS:
            raise _refuse(f"A tile has the size {size}.", "Lanescope draws tiles whose sizes are powers of two.")


def _get_axis(axes: Sequence[Axis], dim: int | str) -> Axis:
    """Return an axis; one that is replicated moves to no other element."""
    return Axis(0, int(dim), 0) if isinstance(dim, str) else axes[dim]


def _list_bases(axes: Sequence[Axis], rank: int) -> list[list[int]]:
    """Return the bases of an index over axes, the last of which runs fastest."""
    return [basis for axis in reversed(axes) for basis in axis.list_bases(rank)]


def _make_strided(values: dict[str, Any]) -> tuple[list[int], dict[str, list[list[int]]]]:
    """Return the shape of a WGStridedFragLayout, and its bases: vectors over the 128 threads, then over registers."""
    shape = list(values["shape"])
    vector = values["vec_size"] if "vec_size" in values else values["vector_size"]
    _check_powers(shape)
    _check_powers([vector])
    threads = _WARPS * _LANES
    if prod(shape) % (threads * vector):
        raise _refuse(f"{prod(shape)} elements are not whole vectors of {vector} for {threads} threads.")
    flat = _list_bases([Axis(dim, size, 1) for dim, size in enumerate(shape)], len(shape))
    low, lanes = vector.bit_length() - 1, _LANES.bit_length() - 1
    ends = (low, low + lanes, low + threads.bit_length() - 1)
    return shape, {
        "register": flat[: ends[0]] + flat[ends[2] :],
        "lane": flat[ends[0] : ends[1]],
        "warp": flat[ends[1] : ends[2]],
    }
