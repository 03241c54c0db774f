"""The basic operations: coalesce, filter, composition, complement and inverses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from lanescope.cute import tuples
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import (
    Nested,
    format_tuple,
    index_to_coordinate,
    list_leaves,
    list_modes,
    make_compact_strides,
    make_row_major_strides,
    map_leaves,
    size,
    unwrap_single,
)
from lanescope.errors import LayoutError

Tiler = Any  # a CuteLayout, an int, None, or a tuple of Tilers
ONE = CuteLayout(1, 0)
_PRIME = (1 << 31) - 1
MOST_CHECKED = 1 << 12  # size up to which results are checked for every index


def make_layout(shape: Nested, stride: Nested = None) -> CuteLayout:
    """Return shape:stride; without a stride, compact column-major like make_layout(shape)."""
    return CuteLayout(shape, make_compact_strides(shape) if stride is None else stride)


def make_row_major(shape: Nested) -> CuteLayout:
    """Return make_layout(shape, LayoutRight{})."""
    return CuteLayout(shape, make_row_major_strides(shape))


def concatenate(*parts: CuteLayout) -> CuteLayout:
    """Return make_layout(a, b, …): each plain layout is a mode of the result."""
    for part in parts:
        require_plain(part, "make_layout")
    return CuteLayout(tuple(p.shape for p in parts), tuple(p.stride for p in parts))


def strip_swizzle(layout: CuteLayout) -> CuteLayout:
    """Return the layout without its swizzle and offset."""
    return CuteLayout(layout.shape, layout.stride)


def format_tiler(tiler: Tiler) -> str:
    """Format a tiler like CuTe: `(32:1,_,(4,2):(1,8))`."""
    if isinstance(tiler, tuple):
        return f"({','.join(map(format_tiler, tiler))})"
    return "_" if tiler is None else str(tiler)


def get_tiler_size(tiler: Tiler) -> Nested:
    """Return the sizes of a tiler's modes; None for an underscore."""
    return map_leaves(lambda mode: mode.size if isinstance(mode, CuteLayout) else mode, tiler)


def make_refusal(message: str, hint: str) -> LayoutError:
    return LayoutError("not_admissible", message, hint, "layout")


def require_plain(layout: CuteLayout, what: str) -> CuteLayout:
    if layout.swizzle or layout.offset or layout.unit_bits:
        raise make_refusal(
            f"{what} of {layout}: it is a ComposedLayout, not a layout.",
            "Give the layout without swizzle and offset; only the left operand may have a swizzle.",
        )
    return layout


def apply_behind_swizzle(layout: CuteLayout, act: Callable[[CuteLayout], CuteLayout]) -> CuteLayout:
    """Return the result of an operation on the layout without swizzle and offset, with these in front again."""
    result = act(strip_swizzle(layout))
    return replace(result, swizzle=layout.swizzle, offset=layout.offset, unit_bits=layout.unit_bits)


def apply_by_mode(
    layout: CuteLayout, tiler: tuple[Tiler, ...], act: Callable[[CuteLayout, Tiler], CuteLayout], what: str, rest: bool
) -> CuteLayout:
    """Return the results of an operation on each mode with its part of the tiler; rest: keep the further modes."""
    if len(tiler) > layout.rank:
        raise make_refusal(
            f"{what}: the tiler {format_tiler(tiler)} has {len(tiler)} modes, {layout} has {layout.rank}.",
            "Give a tiler with at most as many modes as the layout.",
        )
    parts = [act(mode, part) for mode, part in zip(layout.modes, tiler, strict=False)]
    return concatenate(*parts, *(layout.modes[len(tiler) :] if rest else ()))


# coalesce and filter --------------------------------------------------------------------------------------------------


def _merge_modes(pairs: list[tuple[int, int]], endless: bool = False) -> CuteLayout:
    """Return a layout whose adjacent modes are merged if contiguous, without modes of size 1.

    endless: preserve the function also beyond the size (CuTe's coalesce_x): the last mode is kept even if its size is
    1.
    """
    out: list[tuple[int, int]] = []
    if endless and pairs and pairs[-1][0] == 1:
        pairs = [*pairs[:-1], (2, pairs[-1][1])]
    for count, step in pairs:
        if count == 1:
            continue
        if out and out[-1][0] * out[-1][1] == step:
            out[-1] = (out[-1][0] * count, out[-1][1])
        else:
            out.append((count, step))
    if not out:
        return ONE
    return CuteLayout(unwrap_single(n for n, _ in out), unwrap_single(d for _, d in out))


def coalesce(layout: CuteLayout, profile: Nested = None) -> CuteLayout:
    """Return the layout with the fewest modes that gives the same index for every colexicographic coordinate.

    profile: a tuple; each of its modes is coalesced separately.
    """
    if isinstance(profile, tuple):
        return apply_behind_swizzle(layout, lambda it: apply_by_mode(it, profile, coalesce, "coalesce", True))
    return apply_behind_swizzle(layout, lambda it: _merge_modes(it.digits))


def filter_layout(layout: CuteLayout) -> CuteLayout:
    """Return the layout without the modes of stride 0 and size 1 (CuTe's filter)."""
    return apply_behind_swizzle(layout, lambda it: _merge_modes([(n, d) for n, d in it.digits if d]))


# composition ----------------------------------------------------------------------------------------------------------


def composition(a: CuteLayout, b: Tiler) -> CuteLayout:
    """Return A ∘ B, the layout with result(c) = A(B(c)) and B's profile; a tuple of tilers composes by mode."""
    if b is None:
        return a
    if isinstance(b, tuple):
        return apply_behind_swizzle(a, lambda it: apply_by_mode(it, b, composition, "composition", False))
    right = make_layout(b) if isinstance(b, int) else require_plain(b, "composition with a right operand")
    return apply_behind_swizzle(a, lambda it: _compose(it, right))


def _compose(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    flat = _merge_modes(a.digits, endless=True)
    modes_of_a = list(zip(list_modes(flat.shape), list_modes(flat.stride), strict=True))

    def each(shape: Nested, stride: Nested) -> tuple[Nested, Nested]:
        if isinstance(shape, tuple):
            pairs = [each(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
        return _compose_mode(modes_of_a, shape, stride, a, b)

    result = CuteLayout(*each(b.shape, b.stride))
    if any(n % d for n, _ in modes_of_a for d in list_leaves(b.stride) if d) and b.size <= MOST_CHECKED:
        _check_carry(a, b, result)
    return result


def _check_carry(a: CuteLayout, b: CuteLayout, result: CuteLayout) -> None:
    """Raise LayoutError if modes of B compose with A one by one but carry when added, which CuTe does not check."""
    expected = tuples.compute_indices(b.list_indices(), a.shape, _reduce_strides(a.stride))
    carried = CuteLayout(result.shape, _reduce_strides(result.stride)).list_indices()
    for at in np.flatnonzero((expected - carried) % _PRIME)[:1].tolist():
        coord = index_to_coordinate(at, b.shape)
        raise make_refusal(
            f"{a} ∘ {b} is not admissible: CuTe gives {result}, which at {format_tuple(coord)} is {result(at)}, but"
            f" A(B(c)) ="
            f" A({b(at)}) = {expected[at]}. Modes of B that are admissible one by one carry into the next mode of A.",
            "Give B strides that divide the sizes of A's modes.",
        )


def _reduce_strides(stride: Nested) -> Nested:
    """Return strides modulo a prime where they are too large for NumPy, as those that stand for open numbers are."""
    return map_leaves(lambda step: step if abs(step) < _PRIME else step % _PRIME, stride)


def _compose_mode(
    modes_of_a: list[tuple[int, int]], count: int, step: int, a: CuteLayout, b: CuteLayout
) -> tuple[Nested, Nested]:
    """Return the modes of A that one mode count:step of B selects."""
    if step == 0:
        return count, 0
    if len(modes_of_a) == 1:
        return count, step * modes_of_a[0][1]

    def refuse(why: str, hint: str) -> LayoutError:
        return make_refusal(f"{a} ∘ {b} is not admissible: the mode {count}:{step} {why}.", hint)

    rest, stride, out = count, step, []
    for size_, step_ in modes_of_a[:-1]:
        if stride >= size_ and stride % size_:
            raise refuse(
                f"steps by {stride} over a mode of size {size_} ({size_}:{step_}), and {size_} does not divide {stride}"
                " (CuTe's Stride Divisibility Condition)",
                f"Give a stride that is smaller than {size_} or a multiple of it.",
            )
        runs = -(-size_ // stride)
        if runs > 1 and rest > 1:
            taken = min(runs, rest)
            taking = f"takes {taken} steps of {stride} in the mode {size_}:{step_} and goes on, but"
            if rest % taken:
                raise refuse(
                    f"{taking} {taken} does not divide {rest} (CuTe's Shape Divisibility Condition)",
                    f"Give a size that is a divisor or a multiple of {taken}.",
                )
            if rest > taken and size_ % stride:
                raise refuse(
                    f"{taking} {stride} does not divide {size_} (CuTe's Shape Divisibility Condition)",
                    f"Give a stride that divides {size_}, or a size of at most {taken}.",
                )
            out.append((taken, stride * step_))
            rest //= taken
        stride = -(-stride // size_)
    if rest > 1 or not out:
        out.append((rest, stride * modes_of_a[-1][1]))
    return unwrap_single(n for n, _ in out), unwrap_single(d for _, d in out)


# complement and inverses ----------------------------------------------------------------------------------------------


def _sort_modes(layout: CuteLayout) -> list[tuple[int, int, int]]:
    """Return (stride, size, first coordinate it steps over) of the coalesced modes, smallest stride first."""
    pairs = _merge_modes(layout.digits).digits
    below = [1, *accumulate((n for n, _ in pairs), lambda x, y: x * y)]
    return sorted((step, count, start) for (count, step), start in zip(pairs, below, strict=False))


def complement(layout: CuteLayout, target: Nested = None) -> CuteLayout:
    """Return the layout of the indices below `target` (default: the cosize) that the layout skips, ascending."""
    require_plain(layout, "complement")
    filtered = filter_layout(layout)
    if target is None:
        target = filtered.cosize
    if filtered.stride == 0:
        return _merge_modes([(size(target), 1)])
    out, reached = [], 1
    for step, count, _ in _sort_modes(filtered):
        if step < reached:
            raise make_refusal(
                f"complement of {layout}: the mode {count}:{step} begins at {step}, inside the {reached} indices that"
                " the modes below it span (CuTe: Non-injective Layout detected in complement).",
                "Give a layout in which every stride is at least the span of the modes below it.",
            )
        out.append((step // reached, reached))
        reached = step * count
    out.append((size(_ceil_div(target, reached)), reached))
    return _merge_modes(out)


def get_covered_size(layout: CuteLayout) -> int:
    """Return the number of elements that a tiler of one mode spans, including its gaps.

    It is the smallest size that the layout and its complement cover. CuTe's size of a tiler excludes the gaps.

    >>> get_covered_size(CuteLayout((4, 2, 4), (1, 32, 8))), get_covered_size(CuteLayout((4, 4, 2), (1, 8, 4)))
    (64, 32)
    """
    return int(layout.size * complement(layout, layout.cosize).size)


def _ceil_div(a: Nested, b: int) -> Nested:
    """Return CuTe's ceil_div of a shape by a number, over the modes in turn."""
    if isinstance(a, int):
        return -(-a // b)
    out = []
    for mode in a:
        out.append(_ceil_div(mode, b))
        b = -(-b // size(mode))
    return tuple(out)


def right_inverse(layout: CuteLayout) -> CuteLayout:
    """Return R with layout(R(i)) = i for the indices i that are contiguous from 0."""
    require_plain(layout, "right_inverse")
    out, reached = [(1, 0)], 1
    for step, count, start in _sort_modes(layout):
        if step == reached:
            out.append((count, start))
            reached = step * count
    return _merge_modes(out)


def left_inverse(layout: CuteLayout) -> CuteLayout:
    """Return L with L(layout(i)) = i for an injective layout, else with layout(L(layout(i))) = layout(i)."""
    require_plain(layout, "left_inverse")
    modes = [row for row in _sort_modes(layout) if row[0]]
    shapes: list[int] = []
    for step, count, _ in modes:
        if step % prod(shapes):
            raise make_refusal(
                f"left_inverse of {layout}: stride {step} of the mode {count}:{step} is not a multiple of"
                f" {prod(shapes)} (CuTe's Left inverse divisibility condition).",
                "Give a layout in which every stride is a multiple of the next smaller one.",
            )
        shapes.append(step // prod(shapes))
    last = modes[-1][1] if modes else _sort_modes(layout)[-1][1]
    inverse = _merge_modes(list(zip([*shapes, last], [0, *(start for *_, start in modes)], strict=True)))
    if size(layout.shape) <= MOST_CHECKED and not _inverts(layout, inverse):
        raise make_refusal(
            f"{layout} has no left inverse: CuTe gives {inverse}, which does not lead back, as modes of {layout}"
            " overlap.",
            "Give an injective layout: every stride at least the span of the modes below it.",
        )
    return inverse


def _inverts(layout: CuteLayout, inverse: CuteLayout) -> bool:
    """Return whether layout(inverse(i)) = i for every index i of the layout."""
    indices = layout.list_indices()
    return np.array_equal(
        tuples.compute_indices(
            tuples.compute_indices(indices, inverse.shape, inverse.stride), layout.shape, layout.stride
        ),
        indices,
    )


def count_distinct(layout: CuteLayout) -> int:
    """Return the number of distinct indices of a layout.

    >>> count_distinct(CuteLayout((4, 8), (1, 2))), count_distinct(CuteLayout((4, 8), (8, 0)))
    (18, 4)
    """
    filtered = filter_layout(strip_swizzle(layout))  # a swizzle is injective
    reached = 1
    for step, count in sorted((d, n) for n, d in filtered.digits):
        if step < reached:
            break
        reached += (count - 1) * step
    else:
        return filtered.size
    index = filtered.list_indices()
    if filtered.cosize > 16 * filtered.size:
        return int(np.unique(index).size)
    is_used = np.zeros(filtered.cosize, dtype=np.bool_)
    is_used[index] = True
    return int(np.count_nonzero(is_used))


def nullspace(layout: CuteLayout) -> CuteLayout:
    """Return the layout of the coordinates with index 0: the modes of stride 0."""
    starts = make_compact_strides(tuple(list_leaves(layout.shape)))
    modes = [(n, start) for (n, d), start in zip(layout.digits, starts, strict=True) if d == 0]
    return CuteLayout(unwrap_single(n for n, _ in modes), unwrap_single(d for _, d in modes)) if modes else ONE


def max_common_layout(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    """Return the largest R with a(R(i)) = b(R(i)) = i: the elements that are contiguous from 0 in both layouts."""
    inverse = right_inverse(b)
    common = coalesce(composition(a, inverse)).modes[0]
    return composition(inverse, common) if common.stride == 1 else ONE


def max_common_vector(a: CuteLayout, b: CuteLayout) -> int:
    """Return the number of elements that are contiguous from 0 in both layouts."""
    common = coalesce(composition(a, right_inverse(b))).modes[0]
    return common.size if common.stride == 1 else 1
