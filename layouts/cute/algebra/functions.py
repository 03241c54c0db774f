"""Layouts made and taken apart: coalesce, filter, composition, complement and inverses."""

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
    size,
    unwrap_single,
)
from lanescope.errors import LayoutError

Tiler = Any  # a CuteLayout, an int, None, or a tuple of Tilers
ONE = CuteLayout(1, 0)
MOST_CHECKED = 1 << 12  # indices of a layout whose inverse is tried out


def make_layout(shape: Nested, stride: Nested = None) -> CuteLayout:
    """Return shape:stride; without a stride compact column-major, as make_layout(shape)."""
    return CuteLayout(shape, make_compact_strides(shape) if stride is None else stride)


def make_row_major(shape: Nested) -> CuteLayout:
    """Return make_layout(shape, LayoutRight{})."""
    return CuteLayout(shape, make_row_major_strides(shape))


def concatenate(*parts: CuteLayout) -> CuteLayout:
    """Return make_layout(a, b, …): each plain layout is a mode of the result."""
    for part in parts:
        require_plain(part, "make_layout")
    return CuteLayout(tuple(p.shape for p in parts), tuple(p.stride for p in parts))


def strip_swizzle(one: CuteLayout) -> CuteLayout:
    """Return the layout behind a swizzle and an offset."""
    return CuteLayout(one.shape, one.stride)


def format_tiler(tiler: Tiler) -> str:
    """Return a tiler as CuTe prints it: `(32:1,_,(4,2):(1,8))`."""
    if isinstance(tiler, tuple):
        return f"({','.join(map(format_tiler, tiler))})"
    return "_" if tiler is None else str(tiler)


def get_tiler_size(tiler: Tiler) -> Nested:
    """Return the sizes of a tiler's modes; None where a mode is the underscore."""
    if isinstance(tiler, tuple):
        return tuple(map(get_tiler_size, tiler))
    return tiler if tiler is None or isinstance(tiler, int) else tiler.size


def make_refusal(message: str, hint: str) -> LayoutError:
    return LayoutError("not_admissible", message, hint, "layout")


def require_plain(one: CuteLayout, what: str) -> CuteLayout:
    if one.swizzle or one.offset or one.unit_bits:
        raise make_refusal(
            f"{what} of {one}: it is a ComposedLayout, not a layout.",
            "Give the layout behind the swizzle and the offset; a swizzle may stand in front of the left operand only.",
        )
    return one


def apply_behind_swizzle(one: CuteLayout, act: Callable[[CuteLayout], CuteLayout]) -> CuteLayout:
    """Apply an operation to the layout behind a swizzle and an offset, which stay in front of the result."""
    made = act(strip_swizzle(one))
    return replace(made, swizzle=one.swizzle, offset=one.offset, unit_bits=one.unit_bits)


def apply_by_mode(
    one: CuteLayout, tiler: tuple[Tiler, ...], act: Callable[[CuteLayout, Tiler], CuteLayout], what: str, rest: bool
) -> CuteLayout:
    """Apply an operation to each mode with its part of the tiler; rest: whether the modes after them stay."""
    if len(tiler) > one.rank:
        raise make_refusal(
            f"{what}: the tiler {format_tiler(tiler)} has {len(tiler)} modes, {one} has {one.rank}.",
            "Give a tiler with at most as many modes as the layout.",
        )
    parts = [act(mode, part) for mode, part in zip(one.modes, tiler, strict=False)]
    return concatenate(*parts, *(one.modes[len(tiler) :] if rest else ()))


# coalesce and filter --------------------------------------------------------------------------------------------------


def _merge_modes(pairs: list[tuple[int, int]], endless: bool = False) -> CuteLayout:
    """Merge neighbours that continue one another, and drop modes of size 1.

    endless: keep the function past the size, too (CuTe's coalesce_x): the last mode is kept even where its size is 1.
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


def coalesce(one: CuteLayout, profile: Nested = None) -> CuteLayout:
    """Return the fewest modes with the same index for every colexicographic coordinate.

    profile: a tuple whose ints say which modes are coalesced separately.
    """
    if isinstance(profile, tuple):
        return apply_behind_swizzle(one, lambda it: apply_by_mode(it, profile, coalesce, "coalesce", True))
    return apply_behind_swizzle(one, lambda it: _merge_modes(it.digits))


def filter_layout(one: CuteLayout) -> CuteLayout:
    """Return the layout without the modes of stride 0 and size 1 (CuTe's filter)."""
    return apply_behind_swizzle(one, lambda it: _merge_modes([(n, d) for n, d in it.digits if d]))


# composition ----------------------------------------------------------------------------------------------------------


def composition(a: CuteLayout, b: Tiler) -> CuteLayout:
    """Return A ∘ B: result(c) = A(B(c)), with B's profile.

    A tuple of tilers composes by mode; further modes are dropped.
    """
    if b is None:
        return a
    if isinstance(b, tuple):
        return apply_behind_swizzle(a, lambda it: apply_by_mode(it, b, composition, "composition", False))
    right = make_layout(b) if isinstance(b, int) else require_plain(b, "composition with a right operand")
    return apply_behind_swizzle(a, lambda it: _compose(it, right))


def _compose(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    flat = _merge_modes(a.digits, endless=True)
    left = list(zip(list_modes(flat.shape), list_modes(flat.stride), strict=True))

    def each(shape: Nested, stride: Nested) -> tuple[Nested, Nested]:
        if isinstance(shape, tuple):
            found = [each(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in found), tuple(d for _, d in found)
        return _compose_mode(left, shape, stride, a, b)

    made = CuteLayout(*each(b.shape, b.stride))
    if any(n % d for n, _ in left for d in list_leaves(b.stride) if d) and b.size <= MOST_CHECKED:
        _check_carry(a, b, made)
    return made


def _check_carry(a: CuteLayout, b: CuteLayout, made: CuteLayout) -> None:
    """Reject modes of B that each compose with A, but carry into each other when added: CuTe does not check that."""
    want = tuples.compute_indices(b.list_indices(), a.shape, a.stride)
    for at in np.flatnonzero(want != made.list_indices())[:1].tolist():
        coord = index_to_coordinate(at, b.shape)
        raise make_refusal(
            f"{a} ∘ {b} is not admissible: CuTe gives {made}, which at {format_tuple(coord)} is {made(at)}, but"
            f" A(B(c)) ="
            f" A({b(at)}) = {want[at]}. Modes of B that are admissible one by one carry into the next mode of A.",
            "Give B strides that divide the sizes of A's modes.",
        )


def _compose_mode(
    left: list[tuple[int, int]], count: int, step: int, a: CuteLayout, b: CuteLayout
) -> tuple[Nested, Nested]:
    """Return the coalesced modes of A that one mode count:step of B walks through."""
    if step == 0:
        return count, 0
    if len(left) == 1:
        return count, step * left[0][1]

    def refuse(why: str, hint: str) -> LayoutError:
        return make_refusal(f"{a} ∘ {b} is not admissible: the mode {count}:{step} {why}.", hint)

    rest, stride, out = count, step, []
    for size_, step_ in left[:-1]:
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
        out.append((rest, stride * left[-1][1]))
    return unwrap_single(n for n, _ in out), unwrap_single(d for _, d in out)


# complement and inverses ----------------------------------------------------------------------------------------------


def _sort_modes(one: CuteLayout) -> list[tuple[int, int, int]]:
    """Return (stride, size, first coordinate it steps over) of the coalesced modes, smallest stride first."""
    pairs = _merge_modes(one.digits).digits
    below = [1, *accumulate((n for n, _ in pairs), lambda x, y: x * y)]
    return sorted((step, count, start) for (count, step), start in zip(pairs, below, strict=False))


def complement(one: CuteLayout, target: Nested = None) -> CuteLayout:
    """Return the layout of what `one` leaves out of `target` indices (default: its cosize), in ascending order."""
    require_plain(one, "complement")
    own = filter_layout(one)
    if target is None:
        target = own.cosize
    if own.stride == 0:
        return _merge_modes([(size(target), 1)])
    out, reached = [], 1
    for step, count, _ in _sort_modes(own):
        if step < reached:
            raise make_refusal(
                f"complement of {one}: the mode {count}:{step} begins at {step}, inside the {reached} indices that the"
                " modes below it span (CuTe: Non-injective Layout detected in complement).",
                "Give a layout in which every stride is at least the span of the modes below it.",
            )
        out.append((step // reached, reached))
        reached = step * count
    out.append((size(_ceil_div(target, reached)), reached))
    return _merge_modes(out)


def get_covered_size(one: CuteLayout) -> int:
    """Return the smallest size that a layout and its complement map onto itself: what one tiler of a mode needs with
    its gaps.

    CuTe's size of a tiler leaves its gaps out.

    >>> get_covered_size(CuteLayout((4, 2, 4), (1, 32, 8))), get_covered_size(CuteLayout((4, 4, 2), (1, 8, 4)))
    (64, 32)
    """
    return int(one.size * complement(one, one.cosize).size)


def _ceil_div(a: Nested, b: int) -> Nested:
    """Return CuTe's ceil_div of a shape by a number, folded over the modes."""
    if isinstance(a, int):
        return -(-a // b)
    out = []
    for mode in a:
        out.append(_ceil_div(mode, b))
        b = -(-b // size(mode))
    return tuple(out)


def right_inverse(one: CuteLayout) -> CuteLayout:
    """Return R with one(R(i)) = i, for indices i that follow from 0 without a gap."""
    require_plain(one, "right_inverse")
    out, reached = [(1, 0)], 1
    for step, count, start in _sort_modes(one):
        if step == reached:
            out.append((count, start))
            reached = step * count
    return _merge_modes(out)


def left_inverse(one: CuteLayout) -> CuteLayout:
    """Return L with L(one(i)) = i for an injective layout; where indices repeat, one(L(one(i))) = one(i)."""
    require_plain(one, "left_inverse")
    found = [row for row in _sort_modes(one) if row[0]]
    shapes: list[int] = []
    for step, count, _ in found:
        if step % prod(shapes):
            raise make_refusal(
                f"left_inverse of {one}: stride {step} of the mode {count}:{step} is not a multiple of {prod(shapes)}"
                " (CuTe's Left inverse divisibility condition).",
                "Give a layout in which every stride is a multiple of the next smaller one.",
            )
        shapes.append(step // prod(shapes))
    last = found[-1][1] if found else _sort_modes(one)[-1][1]
    made = _merge_modes(list(zip([*shapes, last], [0, *(start for *_, start in found)], strict=True)))
    if size(one.shape) <= MOST_CHECKED and not _inverts(one, made):
        raise make_refusal(
            f"{one} has no left inverse: CuTe gives {made}, which does not lead back, as modes of {one} overlap.",
            "Give an injective layout: every stride at least the span of the modes below it.",
        )
    return made


def _inverts(one: CuteLayout, made: CuteLayout) -> bool:
    """Return whether one(made(i)) = i for every index of `one`."""
    held = one.list_indices()
    return np.array_equal(
        tuples.compute_indices(tuples.compute_indices(held, made.shape, made.stride), one.shape, one.stride), held
    )


def count_distinct(one: CuteLayout) -> int:
    """Return how many different indices a layout has.

    >>> count_distinct(CuteLayout((4, 8), (1, 2))), count_distinct(CuteLayout((4, 8), (8, 0)))
    (18, 4)
    """
    own = filter_layout(strip_swizzle(one))  # a swizzle is one to one
    reached = 1
    for step, count in sorted((d, n) for n, d in own.digits):
        if step < reached:
            break
        reached += (count - 1) * step
    else:
        return own.size
    index = own.list_indices()
    if own.cosize > 16 * own.size:
        return int(np.unique(index).size)
    met = np.zeros(own.cosize, dtype=np.bool_)
    met[index] = True
    return int(np.count_nonzero(met))


def nullspace(one: CuteLayout) -> CuteLayout:
    """Return the layout of the coordinates that all give index 0: the modes of stride 0."""
    starts = make_compact_strides(tuple(list_leaves(one.shape)))
    found = [(n, start) for (n, d), start in zip(one.digits, starts, strict=True) if d == 0]
    return CuteLayout(unwrap_single(n for n, _ in found), unwrap_single(d for _, d in found)) if found else ONE


def max_common_layout(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    """Return the layout of the most elements that are contiguous from 0 in both layouts: R with a(R(i)) = b(R(i)) =
    i.
    """
    inverse = right_inverse(b)
    common = coalesce(composition(a, inverse)).modes[0]
    return composition(inverse, common) if common.stride == 1 else ONE


def max_common_vector(a: CuteLayout, b: CuteLayout) -> int:
    """Return how many elements are contiguous from 0 in both layouts."""
    common = coalesce(composition(a, right_inverse(b))).modes[0]
    return common.size if common.stride == 1 else 1
