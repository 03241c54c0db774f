"""Admissible right operands near one that is not admissible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanescope.cute import tuples
from lanescope.cute.calls.sentences import Value
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError

FITTED = {"composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"}


def add_nearest_fits(op: str, given: Sequence[Value], act: Callable[..., Value], error: LayoutError) -> LayoutError:
    """Return the error of a refused composition or divide with the nearest right operands that are admissible."""
    if op not in FITTED or error.code != "not_admissible":
        return error
    fits = find_nearest_fits(given[0], given[1], act)
    if not fits:
        return error
    told = f"{error.hint} With {given[0]} these would do: {', '.join(map(str, fits))}."
    return LayoutError(error.code, error.message, told, "expression")


def find_nearest_fits(a: CuteLayout, b: Value, act: Callable[[CuteLayout, Value], Value]) -> list[CuteLayout]:
    """Return at most three admissible right operands that differ from b in one size or stride, the nearest first."""
    if (
        not isinstance(a, CuteLayout)
        or not isinstance(b, CuteLayout)
        or b.swizzle
        or b.offset
        or len(tuples.list_leaves(b.shape)) > 6
    ):
        return []
    sizes, strides = tuples.list_leaves(b.shape), tuples.list_leaves(b.stride)
    tried: list[tuple[int, CuteLayout]] = []
    for at in range(len(sizes)):
        for which, numbers in ((0, sizes), (1, strides)):
            for change in (*range(-min(numbers[at] - 1, 16), 0), *range(1, 17)):
                new = [*numbers]
                new[at] += change
                made = (_nest_like(b.shape, new), b.stride) if which == 0 else (b.shape, _nest_like(b.stride, new))
                tried.append((abs(change), CuteLayout(*made)))
    out: list[CuteLayout] = []
    for _, one in sorted(tried, key=lambda item: item[0]):
        if one.cosize > a.size or one in out:
            continue
        try:
            act(a, one)
        except LayoutError:
            continue
        out.append(one)
        if len(out) == 3:
            break
    return out


def _nest_like(nested: Any, flat: Sequence[int]) -> Any:
    """Nest numbers as another tuple is nested."""
    left = list(flat)

    def walk(item: Any) -> Any:
        return left.pop(0) if isinstance(item, int) else tuple(walk(part) for part in item)

    return walk(nested)
