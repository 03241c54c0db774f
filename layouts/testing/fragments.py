"""Assertions about fragments: a layout holds every element once; an accumulator can be the next instruction's A."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer, quote_value
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render.reuse import find_conversion
from lanescope.testing.failures import fail
from lanescope.tiles.reuse import match_accumulator

MOST_ELEMENTS = 1 << 20
Ints = NDArray[np.int64]


def assert_bijection(
    layout: Any, shape: Sequence[int] | None = None, *, threads: int | None = None, values: int | None = None
) -> None:
    """Assert that a layout holds every element of a shape exactly once.

    layout: a fragment (an operand), an operand of a TiledMMA, a TV or Triton layout, one array of coordinates
    [thread][value] per axis, a function (thread, value) → coordinates with `threads` and `values`; or a CuTe layout,
    object or text, whose indices are 0 … size - 1. shape: by default the fragment's; for a CuTe layout only its size
    matters.
    """
    __tracebackhide__ = True
    if not callable(layout) and (threads, values) != (None, None):
        raise LayoutError("bad_layout", "threads and values are for a function.", "Leave them out.", "threads")
    if isinstance(layout, str | CuteLayout):
        parsed = parse_layout(layout) if isinstance(layout, str) else layout
        size = prod(_parse_shape(shape)) if shape is not None else parsed.size
        if size != parsed.size:
            fail(f"{parsed} has {parsed.size:,} elements, the shape {size:,}")
        return _assert_cute(parsed)
    coords, layout_sizes = _list_coordinates(layout, threads, values)
    if shape is None and not layout_sizes:
        raise LayoutError("bad_shape", "The layout has no shape.", "Give shape.", "shape")
    sizes = layout_sizes if shape is None else _parse_shape(shape)
    if not sizes or len(sizes) != len(coords):
        raise LayoutError(
            "bad_shape", f"The layout has {len(coords)} axes, the shape {len(sizes)}.", "One number an axis.", "shape"
        )
    if prod(sizes) > MOST_ELEMENTS:
        raise LayoutError(
            "too_large", f"{prod(sizes):,} elements are not followed.", f"At most {MOST_ELEMENTS:,}.", "shape"
        )
    _require_each_once(coords, sizes)
    return None


def _parse_shape(shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, Sequence | np.ndarray) or isinstance(shape, str):
        raise TypeError(f"shape is {type(shape).__name__}; a sequence of integers is needed")
    return tuple(parse_integer(size, "shape", 1) for size in shape)


def _require_each_once(coords: Sequence[Ints], sizes: tuple[int, ...]) -> None:
    __tracebackhide__ = True
    outside = np.zeros(coords[0].shape, bool)
    for coord, size in zip(coords, sizes, strict=True):
        outside |= (coord < 0) | (coord >= size)
    named = "×".join(map(str, sizes))
    if outside.any():
        place = tuple(int(n) for n in np.argwhere(outside)[0])
        fail(f"{_format_holder(place)} holds {[int(c[place]) for c in coords]}, outside {named}")
    index = np.ravel_multi_index(tuple(coords), sizes)
    counts = np.bincount(index.reshape(-1), minlength=prod(sizes))
    if (counts > 1).any():
        element = int(np.argmax(counts > 1))
        holders = [tuple(int(n) for n in place) for place in np.argwhere(index == element)]
        at = [int(n) for n in np.unravel_index(element, sizes)]
        who = ", ".join(map(_format_holder, holders[:4])) + ", …" * (len(holders) > 4)
        fail(
            f"{at} of {named} is held {counts[element]} times",
            f"by {who}",
            f"{int((counts > 1).sum())} elements have copies",
        )
    if (counts == 0).any():
        at = [int(n) for n in np.unravel_index(int(np.argmax(counts == 0)), sizes)]
        absent = int((counts == 0).sum())
        fail(f"{at} of {named} is held by no thread", f"{absent} of {prod(sizes)} elements are missing")


def _format_holder(place: Sequence[int]) -> str:
    names = ("thread", "value") if len(place) == 2 else tuple(f"axis {n}" for n in range(len(place)))
    return " ".join(f"{name} {n}" for name, n in zip(names, place, strict=True))


def _list_coordinates(layout: Any, threads: int | None, values: int | None) -> tuple[list[Ints], tuple[int, ...]]:
    """Return a layout's coordinates, one array per axis, and its own shape (() if it has none)."""
    if isinstance(layout, Operand):
        arrays = [np.asarray(layout.coords[axis], np.int64) for axis in layout.axes]
        return list(np.broadcast_arrays(*arrays)), tuple(layout.extents[axis] for axis in layout.axes)
    if callable(layout):
        return _tabulate(layout, threads, values), ()
    if hasattr(layout, "coords") and hasattr(layout, "shape"):
        shape = tuple(layout.shape)
        return [np.asarray(axis, np.int64) for axis in layout.coords], shape
    if hasattr(layout, "rows") and hasattr(layout, "cols"):
        layout_sizes = (layout.row_count, layout.col_count) if hasattr(layout, "row_count") else ()
        return [np.asarray(layout.rows, np.int64), np.asarray(layout.cols, np.int64)], layout_sizes
    return _convert_arrays(layout), ()


def _tabulate(layout: Callable[[int, int], Any], threads: int | None, values: int | None) -> list[Ints]:
    """Return the coordinates from a function of thread and value, one array per axis."""
    if threads is None or values is None:
        raise LayoutError("bad_layout", "threads and values are missing.", "A function needs both.", "threads")
    sizes = parse_integer(threads, "threads", 1, MOST_ELEMENTS), parse_integer(values, "values", 1, MOST_ELEMENTS)
    if prod(sizes) > MOST_ELEMENTS:
        raise LayoutError("too_large", f"{prod(sizes):,} values are not followed.", "", "values")
    table = [_list_integers(layout(thread, value)) for thread, value in np.ndindex(*sizes)]
    if len({len(row) for row in table}) != 1:
        raise LayoutError("bad_layout", "The function returns different numbers of coordinates.", "", "layout")
    return [np.array(axis, np.int64).reshape(sizes) for axis in zip(*table, strict=True)]


def _list_integers(coordinates: object) -> list[int]:
    """Return the coordinates from a function as integers; floats are rejected."""
    if not isinstance(coordinates, Sequence | np.ndarray) or not all(hasattr(n, "__index__") for n in coordinates):
        raise LayoutError(
            "bad_layout",
            f"The function returns {quote_value(str(coordinates))}.",
            "A tuple of integers, one an axis: (t // 4, v).",
            "layout",
        )
    return [n.__index__() for n in coordinates]


def _convert_arrays(layout: Any) -> list[Ints]:
    if isinstance(layout, Sequence | np.ndarray) and len(layout):
        arrays = [_convert_array(axis) for axis in layout]
        if len({array.shape for array in arrays}) == 1 and arrays[0].size:
            return arrays
    raise LayoutError(
        "bad_layout",
        f"{quote_value(str(type(layout).__name__))} is not a layout.",
        "A fragment, a tile's operand, arrays of coordinates, a function, or a CuTe layout.",
        "layout",
    )


def _convert_array(axis: ArrayLike) -> Ints:
    array = np.asarray(axis)
    if array.dtype.kind not in "iu":
        raise LayoutError("bad_layout", "Coordinates are not integers.", "An array of integers an axis.", "layout")
    return array.astype(np.int64)


def _assert_cute(layout: CuteLayout) -> None:
    """Assert that the indices of a CuTe layout are 0 … size - 1, each once."""
    __tracebackhide__ = True
    if layout.size > MOST_ELEMENTS:
        raise LayoutError(
            "too_large", f"{layout.size:,} elements are not followed.", f"At most {MOST_ELEMENTS:,}.", "layout"
        )
    indices = np.asarray(layout.list_indices(), np.int64).reshape(-1)
    order = np.argsort(indices, kind="stable")
    repeated = np.flatnonzero(np.diff(indices[order]) == 0)
    if len(repeated):
        first, second = int(order[repeated[0]]), int(order[repeated[0] + 1])
        fail(f"{layout} is not a bijection: elements {first} and {second} are both at {int(indices[first])}")
    if int(indices.min()) != 0 or int(indices.max()) != layout.size - 1:
        fail(
            f"{layout} is not a bijection: {layout.size} elements are at {int(indices.min())} … {int(indices.max())}",
            "the places between them are left empty",
        )


def assert_reusable_as_a(first: Instruction | str, second: Instruction | str, *, reordered: bool = False) -> None:
    """Assert that D of one instruction is A of the next without moves between lanes, after conversion to A's type.

    reordered: whether a reordering of K, with the rows of B likewise, is acceptable.
    """
    __tracebackhide__ = True
    source, target = (
        text if isinstance(text, Instruction) else lookup.parse_instruction(text, field)
        for text, field in ((first, "first"), (second, "second"))
    )
    head = f"D of {source.ptx} is not A of {target.ptx}"
    try:
        reuse = match_accumulator(source, target)
    except LayoutError as error:
        if error.code != "no_reuse":
            raise
        fail(f"{head}: {error.message}", error.hint)
    if reuse.verdict == "registers" or (reordered and reuse.verdict == "reordered"):
        return
    moved = f"{int(reuse.stays.size - reuse.stays.sum())} of {reuse.stays.size} values are in another lane"
    step, lane, value = (int(n) for n in np.argwhere(reuse.stays == 0)[0])
    where = f"first: value {value} of lane {lane} in K step {step} is held by lane {int(reuse.lane[step, lane, value])}"
    names = reuse.source.element.name, reuse.target.element.name
    conversion = f"type: {names[0]} to {names[1]}, {find_conversion(names[0], reuse.target).note}"
    if reuse.verdict == "reordered":
        order = list(reuse.order or ())[: reuse.period or None]
        fail(
            f"{head}: {moved}",
            where,
            conversion,
            f"repair: use B's rows in the order {order}, repeated every {reuse.period} (reordered=True)",
        )
    fail(f"{head}: {moved}", where, conversion, "repair: shuffle between lanes, or go through shared memory")
