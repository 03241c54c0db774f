"""CuTe's IntTuples: an int, or a tuple of IntTuples, as shapes, strides and coordinates; the first mode is fastest.

>>> coordinate_to_index((3, (1, 2)), (4, (2, 4)), (1, (16, 4)))
27
>>> index_to_coordinate(14, (4, (2, 4)))
(2, (1, 1))

Source: CUTLASS, include/cute/int_tuple.hpp and stride.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nested = Any  # an int, or a tuple of Nested; in readers of texts, leaves may also be symbols


class Symbol(str):
    """A number that a text does not determine, by its words."""

    __slots__ = ()


def has_symbol(nested: Nested) -> bool:
    """Return whether a number is not known."""
    return any(isinstance(leaf, Symbol) for leaf in list_leaves(nested))


def list_leaves(nested: Nested) -> list[Any]:
    """Return the leaves of nested tuples, left to right."""
    return [n for item in nested for n in list_leaves(item)] if isinstance(nested, tuple) else [nested]


def map_leaves(function: Callable[..., Any], nested: Nested, *others: Nested) -> Nested:
    """Return tuples nested alike with the function of each leaf, and of the others' values at its place.

    >>> map_leaves(lambda size, step: size * step, (4, (2, 8)), (1, (4, 8)))
    (4, (8, 64))
    """
    if isinstance(nested, tuple):
        return tuple(map_leaves(function, *items) for items in zip(nested, *others, strict=True))
    return function(nested, *others)


def pair_leaves(shape: Nested, stride: Nested) -> list[tuple[Any, Any]]:
    """Return (size, stride) of every digit of a shape, left to right."""
    return list(zip(list_leaves(shape), list_leaves(stride), strict=True))


def format_tuple(nested: Nested) -> str:
    """Format nested tuples: `(8,(2,4))`."""
    return f"({','.join(map(format_tuple, nested))})" if isinstance(nested, tuple) else str(nested)


def size(nested: Nested) -> int:
    """Return the product of all ints."""
    return prod(list_leaves(nested))


def find_size(nested: Nested) -> int | None:
    """Return the product of all ints; None if a leaf is not an int.

    >>> find_size((4, (2, 3))), find_size((4, None))
    (24, None)
    """
    leaves = list_leaves(nested)
    return prod(leaves) if all(isinstance(leaf, int) for leaf in leaves) else None


def rank(nested: Nested) -> int:
    """Return the number of modes; an int has one."""
    return len(nested) if isinstance(nested, tuple) else 1


def depth(nested: Nested) -> int:
    """Return the depth of nesting: 0 for an int."""
    return 1 + max(map(depth, nested), default=0) if isinstance(nested, tuple) else 0


def list_modes(nested: Nested) -> tuple[Nested, ...]:
    """Return the modes as a tuple; an int is its own only mode."""
    return nested if isinstance(nested, tuple) else (nested,)


def unwrap_single(items: Iterable[Nested]) -> Nested:
    """Return the items as a tuple, or the item itself if there is only one."""
    modes = tuple(items)
    return modes[0] if len(modes) == 1 else modes


def is_congruent(a: Nested, b: Nested) -> bool:
    """Return whether two tuples have the same nesting."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return isinstance(a, int) and isinstance(b, int)
    return len(a) == len(b) and all(is_congruent(x, y) for x, y in zip(a, b, strict=True))


def is_coordinate(value: Nested) -> bool:
    """Return whether a value is a coordinate: ints, tuples of coordinates, and None for underscores."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_coordinate, value))
    return value is None or isinstance(value, int)


def explain_incongruence(shape: Nested, stride: Nested, at: tuple[int, ...] = ()) -> str:
    """Return where shape and stride have different nesting, `mode 1: 8 with (1,2)`; "" if they are congruent."""
    if isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride):
        texts = (explain_incongruence(x, y, (*at, n)) for n, (x, y) in enumerate(zip(shape, stride, strict=True)))
        return next((text for text in texts if text), "")
    if isinstance(shape, int) and isinstance(stride, int):
        return ""
    where = f"mode {','.join(map(str, at))}: " if at else ""
    return f"{where}{format_tuple(shape)} with {format_tuple(stride)}"


def make_compact_strides(shape: Nested, start: Any = 1, multiply: Callable[[Any, Any], Any] = mul) -> Nested:
    """Return the strides of a compact column-major layout of a shape, CuTe's default. multiply: of leaves.

    >>> make_compact_strides((4, (2, 3)))
    (1, (4, 8))
    """
    if not isinstance(shape, tuple):
        return start
    out = []
    for mode in shape:
        out.append(make_compact_strides(mode, start, multiply))
        start = reduce(multiply, list_leaves(mode), start)
    return tuple(out)


def make_row_major_strides(shape: Nested, start: Any = 1, multiply: Callable[[Any, Any], Any] = mul) -> Nested:
    """Return the strides of a compact row-major layout (LayoutRight).

    >>> make_row_major_strides((4, (2, 3)))
    (6, (3, 1))
    """
    return _reverse_nested(make_compact_strides(_reverse_nested(shape), start, multiply))


def _reverse_nested(nested: Nested) -> Nested:
    return tuple(_reverse_nested(item) for item in reversed(nested)) if isinstance(nested, tuple) else nested


def coordinate_to_index(coord: Nested, shape: Nested, stride: Nested) -> int:
    """Return the index of a coordinate.

    An int is the colexicographic coordinate of a mode; its last digit is not bounded, so that indices continue past the
    size.
    """
    if isinstance(shape, int):
        return int(coord) * int(stride)
    if isinstance(coord, int):
        total = 0
        for number, (mode, step) in enumerate(zip(shape, stride, strict=True)):
            count = size(mode)
            total += coordinate_to_index(coord if number + 1 == len(shape) else coord % count, mode, step)
            coord //= count
        return total
    return sum(coordinate_to_index(c, s, d) for c, s, d in zip(coord, shape, stride, strict=True))


def compute_indices(coords: NDArray[np.int64], shape: Nested, stride: Nested) -> NDArray[np.int64]:
    """Return the indices at colexicographic coordinates: int64 of their shape."""
    out = np.zeros_like(coords)
    digits = pair_leaves(shape, stride)
    for number, (count, step) in enumerate(digits):
        out += (coords if number + 1 == len(digits) else coords % count) * step
        coords = coords // count
    return out


def index_to_coordinate(at: int, shape: Nested, stride: Nested = None) -> Nested:
    """Return the natural coordinate of an index: `at div stride mod shape` per digit; default: compact strides."""
    if stride is None:
        stride = make_compact_strides(shape)
    if isinstance(shape, int):
        return at // stride % shape if shape > 1 and stride else 0
    return tuple(index_to_coordinate(at, s, d) for s, d in zip(shape, stride, strict=True))
