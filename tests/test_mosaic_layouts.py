"""Layouts of Mosaic GPU (JAX) are read as what its own definition says, element by element."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from lanescope.errors import LayoutError
from lanescope.reader.compiler_output.mosaic_layouts import recognise_mosaic_layouts
from tests.cases import for_each

Dims = tuple[int | str, ...]
WGMMA = ((64, 8), (16, 8), (8, 8), (2,))
LAYOUTS: dict[str, tuple[Any, Dims, Dims, int]] = {  # tiling, warp_dims, lane_dims ("4": replicated), vector_dim
    "D of wgmma": (WGMMA, (-7,), (-3, -2), -1),
    "8 bits": (((64, 16), (16, 16), (8, 16), (4,)), (-7,), (-3, -2), -1),
    "for a conversion to twice the bits": (((64, 16), (16, 16), (8, 16), (8,), (4,)), (-8,), (-4, -2, -3), -1),
    "transposed": (((64, 8), (16, 8), (8, 8), (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2),
    "a row": (((64,), (16,), (8,), (1,)), (-4,), (-2, "4"), -1),
    "a column": (((8,), (2,)), ("4",), ("8", -2), -1),
    "rows of tensor memory": (((128, 4), (32, 4)), (-4,), (-2,), -1),
}


def list_places(tiling: Any, warp_dims: Dims, lane_dims: Dims, vector_dim: int) -> dict[tuple[int, int], int]:
    """Return the element of each (thread, register), by splitting an array of element numbers as JAX does."""
    array = np.arange(prod(tiling[0])).reshape(tiling[0])
    for tile in tiling:
        kept, tiled = array.shape[: array.ndim - len(tile)], array.shape[array.ndim - len(tile) :]
        split = [n for size, by in zip(tiled, tile, strict=True) for n in (size // by, by)]
        first = len(kept)
        order = [*range(first), *range(first, first + len(split), 2), *range(first + 1, first + len(split), 2)]
        array = array.reshape(*kept, *split).transpose(order)
    rest = [d for d in range(-array.ndim, 0) if d not in (*warp_dims, *lane_dims, vector_dim)]
    sizes = [[int(d) if isinstance(d, str) else array.shape[d] for d in part] for part in (warp_dims, lane_dims)]
    places = {}
    for warp, lane in product(range(prod(sizes[0])), range(prod(sizes[1]))):
        at: dict[int, int] = {}
        for dims, lengths, index in ((warp_dims, sizes[0], warp), (lane_dims, sizes[1], lane)):
            parts = np.unravel_index(index, lengths)
            at |= {d: int(part) for d, part in zip(dims, parts, strict=True) if not isinstance(d, str)}
        own = [range(array.shape[d]) for d in (*rest, vector_dim)]
        for register, parts in enumerate(product(*own)):
            full = {**at, **dict(zip((*rest, vector_dim), parts, strict=True))}
            places[32 * warp + lane, register] = int(array[tuple(full[d] for d in range(-array.ndim, 0))])
    return places


def evaluate(text: str) -> dict[tuple[int, int], int]:
    """Return the element of each (thread, register) of the linear layout that a text is read as."""
    (meaning,) = recognise_mosaic_layouts(text)
    shape, params = meaning.facts["body"]["shape"], meaning.facts["params"]
    threads, registers = [*params["lane"], *params["warp"]], params["register"]
    places = {}
    for thread, register in product(range(1 << len(threads)), range(1 << len(registers))):
        moved = [basis for n, basis in enumerate(threads) if thread >> n & 1]
        moved += [basis for n, basis in enumerate(registers) if register >> n & 1]
        coordinate = [int(np.bitwise_xor.reduce([0, *(basis[dim] for basis in moved)])) for dim in range(len(shape))]
        places[thread, register] = int(np.ravel_multi_index(coordinate, shape))
    return places


def spell(dims: Dims, mlir: bool) -> str:
    replicated = "#mosaic_gpu.Replicated<times = {}>" if mlir else "Replicated({})"
    inside = ", ".join(replicated.format(d) if isinstance(d, str) else str(d) for d in dims)
    return f"[{inside}]" if mlir else f"({inside},)"


@for_each("name", LAYOUTS)
def test_a_tiled_layout_is_the_linear_layout_that_jax_defines(name: str) -> None:
    tiling, warp_dims, lane_dims, vector_dim = LAYOUTS[name]
    python, mlir = (
        f"warp_dims = {spell(warp_dims, of_mlir)}, lane_dims = {spell(lane_dims, of_mlir)}, vector_dim = {vector_dim}"
        for of_mlir in (False, True)
    )
    listed = re.sub(r",?\)", "]", str(tiling)).replace("(", "[")
    expected = list_places(*LAYOUTS[name])
    assert evaluate(f"LAYOUT = fa.TiledLayout(fa.Tiling({tiling}), {python})") == expected
    assert evaluate(f"#mosaic_gpu.TiledLayout<{listed}, {mlir}>") == expected


@for_each(
    ("text", "name"),
    [
        ("acc = plgpu.layout_cast(acc, plgpu.Layout.WGMMA)", "D of wgmma"),
        ("fa.WGMMA_LAYOUT", "D of wgmma"),
        ("plgpu.Layout.WGMMA_ROW", "a row"),
        ("plgpu.Layout.WGMMA.reduce(1)", "a row"),
        ("plgpu.Layout.WGMMA.reduce(0)", "a column"),
        ("plgpu.Layout.WGMMA_TRANSPOSED", "transposed"),
    ],
)
def test_a_layout_that_jax_names_is_the_one_that_it_defines(text: str, name: str) -> None:
    assert evaluate(text) == list_places(*LAYOUTS[name])


@for_each("text", ["WGStridedFragLayout(shape=(32, 64), vec_size=4)", "#mosaic_gpu.WGStridedFragLayout<[32, 64], 4>"])
def test_a_strided_layout_deals_vectors_to_threads_in_order(text: str) -> None:
    places = evaluate(text)
    assert all(at == register // 4 * 512 + 4 * thread + register % 4 for (thread, register), at in places.items())


@for_each(
    ("old", "new", "why"),
    [
        ("lane_dims=(-3, -2)", "lane_dims=(-3,)", "lane_dims divides the tile by 8"),
        ("warp_dims=(-7,)", "warp_dims=(-3,)", "are not different ones"),
        ("vector_dim=-1", "vector_dim=1", "are not different ones"),
        ("(16, 8)", "(24, 8)", "does not divide"),
        ("(64, 8)", "(M, 8)", "values that are not in the text"),
        (", vector_dim=-1", "", "not complete"),
    ],
)
def test_a_layout_that_jax_refuses_says_why(old: str, new: str, why: str) -> None:
    text = f"TiledLayout(Tiling({WGMMA}), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)"
    with pytest.raises(LayoutError, match=why):
        recognise_mosaic_layouts(text.replace(old, new, 1))


def test_code_that_only_names_the_class_is_no_layout() -> None:
    assert recognise_mosaic_layouts("class TiledLayout:\n  def f(self): return isinstance(self, TiledLayout)") == ()
