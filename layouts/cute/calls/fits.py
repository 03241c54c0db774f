"""Find admissible right operands near one that is not admissible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanescope.cute import tuples
from lanescope.cute.calls.sentences import Value
from lanescope.cute.layout import CuteLayout, Nested
from lanescope.errors import LayoutError

FITTED = {"composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"}


def add_nearest_fits(op: str, operands: Sequence[Value], act: Callable[..., Value], error: LayoutError) -> LayoutError:
    """Return the error of a composition or divide with the nearest admissible right operands in its hint."""
    if op not in FITTED or error.code != "not_admissible":
        return error
    fits = find_nearest_fits(operands[0], operands[1], act)
    if not fits:
        return error
    hint = f"{error.hint} Admissible with {operands[0]}: {', '.join(map(str, fits))}."
    return LayoutError(error.code, error.message, hint, "expression")


def find_nearest_fits(a: CuteLayout, b: Value, act: Callable[[CuteLayout, Value], Value]) -> list[CuteLayout]:
    """Return up to three admissible right operands that differ from b in one size or stride, nearest first."""
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
        for field, numbers in ((0, sizes), (1, strides)):
            for change in (*range(-min(numbers[at] - 1, 16), 0), *range(1, 17)):
                new = [*numbers]
                new[at] += change
                nested = _nest_like(b.shape, new)
                new_layout = (nested, b.stride) if field == 0 else (b.shape, nested)
                tried.append((abs(change), CuteLayout(*new_layout)))
    fits: list[CuteLayout] = []
    for _, candidate in sorted(tried, key=lambda item: item[0]):
        if candidate.cosize > a.size or candidate in fits:
            continue
        try:
            act(a, candidate)
        except LayoutError:
            continue
        fits.append(candidate)
        if len(fits) == 3:
            break
    return fits


def _nest_like(nested: Nested, flat: Sequence[int]) -> Nested:
    """Return numbers nested like another tuple."""
    left = iter(flat)
    return tuples.map_leaves(lambda _: next(left), nested)
