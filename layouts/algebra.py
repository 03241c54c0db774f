"""CuTe's layout algebra: coalesce, composition, complement, inverses, divides, products, casts and slices.

    composition((6,2):(8,2), (4,3):(3,1))         ((2,2),3):((24,2),8)
    logical_divide(32:1, 4:2)                     (4,(2,4)):(2,(1,8))

A tiler is a layout, an int N (for N:1), None (for the underscore: the mode stays) or a tuple of tilers, one a mode. A
swizzle stays in front of a result: CuTe's ComposedLayout. Where CuTe would not compile, or would give a layout that is
not what the operation means, a LayoutError says which condition fails, for which mode, and what would do.

Source: CUTLASS 4.7 (7107b05), include/cute/layout.hpp, layout_composed.hpp and swizzle_layout.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from math import gcd, prod
from typing import Any

import numpy as np

from layouts import tuples
from layouts.cute import CuteLayout
from layouts.errors import LayoutError
from layouts.swizzle import Swizzle
from layouts.tuples import (
    Nested,
    compact,
    compact_right,
    coordinate,
    depth,
    index,
    leaves,
    modes,
    rank,
    size,
    spelled,
    unwrapped,
)

Tiler = Any  # a CuteLayout, an int, None, or a tuple of Tilers
ONE = CuteLayout(1, 0)
MOST_CHECKED = 1 << 12  # indices of a layout whose inverse is tried out


def layout(shape: Nested, stride: Nested = None) -> CuteLayout:
    """shape:stride; without a stride compact column-major, as make_layout(shape)."""
    return CuteLayout(shape, compact(shape) if stride is None else stride)


def row_major(shape: Nested) -> CuteLayout:
    """make_layout(shape, LayoutRight{})."""
    return CuteLayout(shape, compact_right(shape))


def joined(*parts: CuteLayout) -> CuteLayout:
    """make_layout(a, b, …): each plain layout is a mode of the result."""
    for part in parts:
        _plain(part, "make_layout")
    return CuteLayout(tuple(p.shape for p in parts), tuple(p.stride for p in parts))


def body(one: CuteLayout) -> CuteLayout:
    """The layout behind a swizzle and an offset."""
    return CuteLayout(one.shape, one.stride)


def spelled_tiler(tiler: Tiler) -> str:
    """A tiler as CuTe prints it: `(32:1,_,(4,2):(1,8))`."""
    if isinstance(tiler, tuple):
        return f"({','.join(map(spelled_tiler, tiler))})"
    return "_" if tiler is None else str(tiler)


def tiler_size(tiler: Tiler) -> Nested:
    """The sizes of a tiler's modes; None where a mode is the underscore."""
    if isinstance(tiler, tuple):
        return tuple(map(tiler_size, tiler))
    return tiler if tiler is None or isinstance(tiler, int) else tiler.size


def _refused(message: str, hint: str) -> LayoutError:
    return LayoutError("not_admissible", message, hint, "layout")


def _plain(one: CuteLayout, what: str) -> CuteLayout:
    if one.swizzle or one.offset or one.unit_bits:
        raise _refused(
            f"{what} of {one}: it is a ComposedLayout, not a layout.",
            "Give the layout behind the swizzle and the offset; a swizzle may stand in front of the left operand only.",
        )
    return one


def _behind(one: CuteLayout, act: Callable[[CuteLayout], CuteLayout]) -> CuteLayout:
    """An operation on the layout behind a swizzle and an offset, which stay in front of the result."""
    made = act(body(one))
    return replace(made, swizzle=one.swizzle, offset=one.offset, unit_bits=one.unit_bits)


def _by_mode(
    one: CuteLayout, tiler: tuple[Tiler, ...], act: Callable[[CuteLayout, Tiler], CuteLayout], what: str, rest: bool
) -> CuteLayout:
    """act on each mode with its part of the tiler; rest: whether the modes behind stay."""
    if len(tiler) > one.rank:
        raise _refused(
            f"{what}: the tiler {spelled_tiler(tiler)} has {len(tiler)} modes, {one} has {one.rank}.",
            "Give a tiler with at most as many modes as the layout.",
        )
    parts = [act(mode, part) for mode, part in zip(one.modes, tiler, strict=False)]
    return joined(*parts, *(one.modes[len(tiler) :] if rest else ()))


# coalesce and filter --------------------------------------------------------------------------------------------------


def _merged(pairs: list[tuple[int, int]], endless: bool = False) -> CuteLayout:
    """Neighbours that continue one another as one mode, modes of size 1 dropped. endless: the function past the size
    stays, too (CuTe's coalesce_x): the last mode is kept even where its size is 1.
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
    return CuteLayout(unwrapped(n for n, _ in out), unwrapped(d for _, d in out))


def _pairs(one: CuteLayout) -> list[tuple[int, int]]:
    return list(zip(leaves(one.shape), leaves(one.stride), strict=True))


def coalesce(one: CuteLayout, profile: Nested = None) -> CuteLayout:
    """Fewest modes with the same index for every colexicographic coordinate; profile: a tuple whose ints say which
    modes are coalesced each for itself.
    """
    if isinstance(profile, tuple):
        return _behind(one, lambda it: _by_mode(it, profile, coalesce, "coalesce", True))
    return _behind(one, lambda it: _merged(_pairs(it)))


def filtered(one: CuteLayout) -> CuteLayout:
    """Without the modes of stride 0 and size 1 (CuTe's filter)."""
    return _behind(one, lambda it: _merged([(n, d) for n, d in _pairs(it) if d]))


# composition ----------------------------------------------------------------------------------------------------------


def composition(a: CuteLayout, b: Tiler) -> CuteLayout:
    """A ∘ B: result(c) = A(B(c)), with B's profile. A tuple of tilers composes by mode; modes behind it are dropped."""
    if b is None:
        return a
    if isinstance(b, tuple):
        return _behind(a, lambda it: _by_mode(it, b, composition, "composition", False))
    right = layout(b) if isinstance(b, int) else _plain(b, "composition with a right operand")
    return _behind(a, lambda it: _composed(it, right))


def _composed(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    flat = _merged(_pairs(a), endless=True)
    left = list(zip(modes(flat.shape), modes(flat.stride), strict=True))

    def each(shape: Nested, stride: Nested) -> tuple[Nested, Nested]:
        if isinstance(shape, tuple):
            found = [each(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in found), tuple(d for _, d in found)
        return _one(left, shape, stride, a, b)

    made = CuteLayout(*each(b.shape, b.stride))
    if any(n % d for n, _ in left for d in leaves(b.stride) if d) and b.size <= MOST_CHECKED:
        _checked(a, b, made)
    return made


def _checked(a: CuteLayout, b: CuteLayout, made: CuteLayout) -> None:
    """Modes of B that each compose with A may carry when added: CuTe does not see that."""
    want = tuples.indices(b.indices(), a.shape, a.stride)
    for at in np.flatnonzero(want != made.indices())[:1].tolist():
        coord = coordinate(at, b.shape)
        raise _refused(
            f"{a} ∘ {b} is not admissible: CuTe gives {made}, which at {spelled(coord)} is {made(at)}, but A(B(c)) ="
            f" A({b(at)}) = {want[at]}. Modes of B that are admissible one by one carry into the next mode of A.",
            "Give B strides that divide the sizes of A's modes.",
        )


def _one(left: list[tuple[int, int]], count: int, step: int, a: CuteLayout, b: CuteLayout) -> tuple[Nested, Nested]:
    """The coalesced modes of A that one mode count:step of B walks through."""
    if step == 0:
        return count, 0
    if len(left) == 1:
        return count, step * left[0][1]
    rest, stride, out = count, step, []
    for size_, step_ in left[:-1]:
        if stride >= size_ and stride % size_:
            raise _refused(
                f"{a} ∘ {b} is not admissible: the mode {count}:{step} steps by {stride} over a mode of size {size_}"
                f" ({size_}:{step_}), and {size_} does not divide {stride} (CuTe's Stride Divisibility Condition).",
                f"Give a stride that is smaller than {size_} or a multiple of it.",
            )
        runs = -(-size_ // stride)
        if runs > 1 and rest > 1:
            taken = min(runs, rest)
            if rest % taken or (rest > taken and size_ % stride):
                why = f"{taken} does not divide {rest}" if rest % taken else f"{stride} does not divide {size_}"
                raise _refused(
                    f"{a} ∘ {b} is not admissible: the mode {count}:{step} takes {taken} steps of {stride} in the mode"
                    f" {size_}:{step_} and goes on, but {why} (CuTe's Shape Divisibility Condition).",
                    f"Give a size that is a divisor or a multiple of {taken}." if rest % taken
                    else f"Give a stride that divides {size_}, or a size of at most {taken}.",
                )  # fmt: skip
            out.append((taken, stride * step_))
            rest //= taken
        stride = -(-stride // size_)
    if rest > 1 or not out:
        out.append((rest, stride * left[-1][1]))
    return unwrapped(n for n, _ in out), unwrapped(d for _, d in out)


# complement and inverses ----------------------------------------------------------------------------------------------


def _sorted(one: CuteLayout) -> list[tuple[int, int, int]]:
    """(stride, size, first coordinate it steps over) of the coalesced modes, smallest stride first."""
    pairs = _pairs(_merged(_pairs(one)))
    below = [1, *accumulate((n for n, _ in pairs), lambda x, y: x * y)]
    return sorted((step, count, start) for (count, step), start in zip(pairs, below, strict=False))


def complement(one: CuteLayout, target: Nested = None) -> CuteLayout:
    """The layout of what `one` leaves out of `target` indices (its cosize when left out), in ascending order."""
    _plain(one, "complement")
    own = filtered(one)
    if target is None:
        target = own.cosize
    if own.stride == 0:
        return _merged([(size(target), 1)])
    out, reached = [], 1
    for step, count, _ in _sorted(own):
        if step < reached:
            raise _refused(
                f"complement of {one}: the mode {count}:{step} begins at {step}, inside the {reached} indices that the"
                " modes below it span (CuTe: Non-injective Layout detected in complement).",
                "Give a layout in which every stride is at least the span of the modes below it.",
            )
        out.append((step // reached, reached))
        reached = step * count
    out.append((size(_ceil_div(target, reached)), reached))
    return _merged(out)


def covered(one: CuteLayout) -> int:
    """The least size that a layout and its complement map onto itself: what one tiler of a mode needs, gaps included.
    CuTe's size of a tiler leaves its gaps out.

    >>> covered(CuteLayout((4, 2, 4), (1, 32, 8))), covered(CuteLayout((4, 4, 2), (1, 8, 4)))
    (64, 32)
    """
    return int(one.size * complement(one, one.cosize).size)


def _ceil_div(a: Nested, b: int) -> Nested:
    """CuTe's ceil_div of a shape by a number, which is folded over the modes."""
    if isinstance(a, int):
        return -(-a // b)
    out = []
    for mode in a:
        out.append(_ceil_div(mode, b))
        b = -(-b // size(mode))
    return tuple(out)


def right_inverse(one: CuteLayout) -> CuteLayout:
    """R with one(R(i)) = i, as long as indices without a gap go on from 0."""
    _plain(one, "right_inverse")
    out, reached = [(1, 0)], 1
    for step, count, start in _sorted(one):
        if step == reached:
            out.append((count, start))
            reached = step * count
    return _merged(out)


def left_inverse(one: CuteLayout) -> CuteLayout:
    """L with L(one(i)) = i for an injective layout; where indices repeat, one(L(one(i))) = one(i)."""
    _plain(one, "left_inverse")
    found = [row for row in _sorted(one) if row[0]]
    shapes: list[int] = []
    for step, count, _ in found:
        if step % prod(shapes):
            raise _refused(
                f"left_inverse of {one}: stride {step} of the mode {count}:{step} is not a multiple of {prod(shapes)}"
                " (CuTe's Left inverse divisibility condition).",
                "Give a layout in which every stride is a multiple of the next smaller one.",
            )
        shapes.append(step // prod(shapes))
    last = found[-1][1] if found else _sorted(one)[-1][1]
    made = _merged(list(zip([*shapes, last], [0, *(start for *_, start in found)], strict=True)))
    if size(one.shape) <= MOST_CHECKED and any(one(made(i)) != i for i in set(one.indices().tolist())):
        raise _refused(
            f"{one} has no left inverse: CuTe gives {made}, which does not lead back, as modes of {one} overlap.",
            "Give an injective layout: every stride at least the span of the modes below it.",
        )
    return made


def nullspace(one: CuteLayout) -> CuteLayout:
    """The coordinates that all give index 0: the modes of stride 0."""
    starts = compact(tuple(leaves(one.shape)))
    found = [(n, start) for (n, d), start in zip(_pairs(one), starts, strict=True) if d == 0]
    return CuteLayout(unwrapped(n for n, _ in found), unwrapped(d for _, d in found)) if found else ONE


def max_common_layout(a: CuteLayout, b: CuteLayout) -> CuteLayout:
    """The most elements that are contiguous from 0 in both layouts: R with a(R(i)) = b(R(i)) = i."""
    inverse = right_inverse(b)
    common = coalesce(composition(a, inverse)).modes[0]
    return composition(inverse, common) if common.stride == 1 else ONE


def max_common_vector(a: CuteLayout, b: CuteLayout) -> int:
    """How many elements are contiguous from 0 in both layouts."""
    common = coalesce(composition(a, right_inverse(b))).modes[0]
    return common.size if common.stride == 1 else 1


# divide and product ---------------------------------------------------------------------------------------------------


def _as_layout(tiler: CuteLayout | int) -> CuteLayout:
    return layout(tiler) if isinstance(tiler, int) else tiler


def logical_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """(tile, rest): what the tiler picks, then the rest; a tuple of tilers divides by mode."""
    if tiler is None:
        return one
    if isinstance(tiler, tuple):
        return _behind(one, lambda it: _by_mode(it, tiler, logical_divide, "logical_divide", True))
    tile = _as_layout(tiler)
    return composition(one, joined(tile, complement(tile, coalesce(body(one)).shape)))


def logical_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """(block, repetitions): the block laid over the tiler's indices, counted in whole blocks."""
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return _behind(block, lambda it: _by_mode(it, tiler, logical_product, "logical_product", True))
    tile = _as_layout(tiler)

    def made(it: CuteLayout) -> CuteLayout:
        return joined(it, composition(complement(it, it.size * tile.cosize), tile))

    return _behind(block, made)


def unzipped(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """The pairs at the tiler's places gathered into two modes (CuTe's tile_unzip)."""

    def zip2(nested: Nested, guide: Tiler) -> Nested:
        if not isinstance(guide, tuple):
            if rank(nested) != 2 or isinstance(nested, int):
                raise _refused(
                    f"{one} cannot be zipped by {spelled_tiler(tiler)}: {spelled(nested)} is not a pair.",
                    "An underscore needs a mode of rank 2 there; logical_divide keeps the modes apart.",
                )
            return nested
        pairs = [zip2(item, part) for item, part in zip(nested, guide, strict=False)]
        return tuple(p[0] for p in pairs), (*(p[1] for p in pairs), *nested[len(guide) :])

    return replace(one, shape=zip2(one.shape, tiler), stride=zip2(one.stride, tiler))


def zipped_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """((tile, …), (rest, …))."""
    return unzipped(logical_divide(one, tiler), tiler)


def zipped_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """((block, …), (repetitions, …))."""
    return unzipped(logical_product(block, tiler), tiler)


def _opened(one: CuteLayout, first: bool) -> CuteLayout:
    """The second mode's modes (and the first's) as modes of the whole."""

    def flat(nested: Nested) -> Nested:
        return (*(modes(nested[0]) if first else (nested[0],)), *modes(nested[1]))

    return replace(one, shape=flat(one.shape), stride=flat(one.stride))


def tiled_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """((tile, …), rest, …)."""
    return _opened(zipped_divide(one, tiler), False)


def flat_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """(tile, …, rest, …)."""
    return _opened(zipped_divide(one, tiler), True)


def tiled_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """((block, …), repetitions, …)."""
    return _opened(zipped_product(block, tiler), False)


def flat_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """(block, …, repetitions, …)."""
    return _opened(zipped_product(block, tiler), True)


def _padded(one: CuteLayout, count: int) -> CuteLayout:
    """With modes 1:0 appended up to `count` modes."""
    return joined(*one.modes, *[ONE] * (count - one.rank))


def _interleaved(block: CuteLayout, tiler: CuteLayout, raked: bool) -> CuteLayout:
    count = max(block.rank, tiler.rank)

    def made(it: CuteLayout) -> CuteLayout:
        first, second = logical_product(_padded(it, count), _padded(tiler, count)).modes
        if raked:
            first, second = second, first
        return joined(*(joined(x, y) for x, y in zip(first.modes, second.modes, strict=True)))

    return _behind(block, made)


def blocked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """The block at every element of the tiler, mode by mode: ((block, tiler), …)."""
    return _interleaved(block, _plain(tiler, "blocked_product over a tiler"), False)


def raked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """As blocked_product with the blocks interleaved: ((tiler, block), …)."""
    return _interleaved(block, _plain(tiler, "raked_product over a tiler"), True)


def ordered(shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """make_ordered_layout: compact strides, the mode with the least order first."""
    parts = modes(shape)
    order = tuple(range(len(parts))) if order is None else order
    strides, reached = [0] * len(parts), 1
    for at in sorted(range(len(parts)), key=lambda n: (order[n], n)):
        strides[at] = compact(parts[at], reached)
        reached *= size(parts[at])
    return CuteLayout(tuple(parts), tuple(strides))


def tile_to_shape(block: CuteLayout, shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """The block repeated until it has a shape; order: which mode is filled first (CuTe's Step)."""
    target = tuple(map(size, modes(shape)))
    have = (
        tuple(size(mode.shape) for mode in _padded(body(block), len(target)).modes) if block.rank <= len(target) else ()
    )
    if not have or any(want % own for want, own in zip(target, have, strict=True)):
        raise _refused(
            f"tile_to_shape of {block} to {spelled(shape)}: the block does not divide the target shape.",
            f"Give a shape of at least {block.rank} modes that are multiples of {spelled(have or block.shape)}.",
        )
    times = tuple(want // own for want, own in zip(target, have, strict=True))
    return blocked_product(block, ordered(times, order))


# casts, shapes and slices ---------------------------------------------------------------------------------------------


def _each(one: CuteLayout, act: Callable[[int, int], tuple[int, int]]) -> CuteLayout:
    """act on every (size, stride)."""

    def walk(shape: Nested, stride: Nested) -> tuple[Nested, Nested]:
        if isinstance(shape, int):
            return act(shape, stride)
        found = [walk(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in found), tuple(d for _, d in found)

    return CuteLayout(*walk(one.shape, one.stride))


def upcast(one: CuteLayout, count: int) -> CuteLayout:
    """The layout of elements `count` times as wide."""

    def cast(n: int, d: int) -> tuple[int, int]:
        if d == 0:
            return n, d
        if d % count and count % d:
            raise _refused(
                f"upcast<{count}> of {one}: neither of {d} and {count} divides the other (CuTe:"
                " Divisibility condition).",
                f"Give strides that divide {count} or are multiples of it.",
            )
        return -(-n // -(-count // d)), -(-d // count)

    made = _each(body(one), cast)
    if one.offset % count:
        raise _refused(f"upcast<{count}> of {one}: {count} does not divide the offset.", "Give a multiple as offset.")
    return replace(made, swizzle=_shifted(one.swizzle, count, -1), offset=one.offset // count)


def downcast(one: CuteLayout, count: int) -> CuteLayout:
    """The layout of `count` times as many elements, each as much narrower."""
    if 1 not in leaves(one.stride) and count > 1:
        raise _refused(f"downcast<{count}> of {one}: no mode has stride 1.", "Downcast requires adjacent elements.")
    made = _each(body(one), lambda n, d: (n * count, d) if d == 1 else (n, d * count))
    return replace(made, swizzle=_shifted(one.swizzle, count, 1), offset=one.offset * count)


def _shifted(swizzle: Swizzle | None, count: int, way: int) -> Swizzle | None:
    """A swizzle that counts in units `count` times as large (way −1) or small (1)."""
    if swizzle is None or count == 1:
        return swizzle
    if count & (count - 1):
        raise _refused(f"{swizzle} cannot count in units of {count}.", "A power of two.")
    base = swizzle.base + way * (count.bit_length() - 1)
    return Swizzle(max(swizzle.bits + min(base, 0), 0), max(base, 0), swizzle.shift)


def recast(one: CuteLayout, old_bits: int, new_bits: int) -> CuteLayout:
    """The layout of the same storage in elements of another width."""
    common = gcd(old_bits, new_bits)
    up, down = new_bits // common, old_bits // common
    made = upcast(one, up) if up > 1 else one
    return downcast(made, down) if down > 1 else made


def with_shape(one: CuteLayout, shape: Nested) -> CuteLayout:
    """The same indices under another shape: one ∘ (shape)."""
    return composition(one, layout(shape))


def sliced(one: CuteLayout, coord: Nested) -> tuple[CuteLayout, int]:
    """(layout of the modes at underscores, index of the rest) for a coordinate with None at the underscores. Behind a
    swizzle the index stays the layout's offset, and the second is 0.
    """

    def pick(c: Nested, nested: Nested) -> tuple[Nested, ...]:
        if c is None:
            return (nested,)
        if isinstance(c, tuple):
            if rank(nested) != len(c) or isinstance(nested, int):
                raise _refused(
                    f"The coordinate {said(coord)} does not fit {one}: {said(c)} stands for {spelled(nested)}.",
                    f"Give a coordinate nested as {spelled(one.shape)}, or an int for a whole mode.",
                )
            return tuple(kept for part, item in zip(c, nested, strict=True) for kept in pick(part, item))
        return ()

    shape, stride = pick(coord, one.shape), pick(coord, one.stride)
    at = index(_zeroed(coord), one.shape, one.stride)
    rest = CuteLayout(shape, stride) if shape else ONE
    if coord is None:
        rest = body(one)
    if one.swizzle:
        return replace(rest, swizzle=one.swizzle, offset=one.offset + at, unit_bits=one.unit_bits), 0
    return rest, one.offset + at


def inside(coord: Nested, shape: Nested) -> None:
    """LayoutError for a coordinate that a shape has not: CuTe itself would go on past the end."""
    if isinstance(coord, tuple):
        if isinstance(shape, int) or len(coord) != len(shape):
            raise LayoutError(
                "bad_coordinate", f"{said(coord)} is no coordinate of the shape {spelled(shape)}.",
                f"One nested as {spelled(shape)}, an int for a whole mode, _ for a mode that stays.", "coord",
            )  # fmt: skip
        for part, mode in zip(coord, shape, strict=True):
            inside(part, mode)
    elif coord is not None and coord >= size(shape):
        raise LayoutError(
            "bad_coordinate", f"{coord} is past the end of a mode of size {size(shape)}.",
            f"From 0 to {size(shape) - 1}, or _ for the whole mode.", "coord",
        )  # fmt: skip


def _zeroed(coord: Nested) -> Nested:
    return tuple(map(_zeroed, coord)) if isinstance(coord, tuple) else coord or 0


def said(coord: Nested) -> str:
    """A coordinate as CuTe prints it: `(3,_)`."""
    return f"({','.join(map(said, coord))})" if isinstance(coord, tuple) else "_" if coord is None else str(coord)


def flattened(one: CuteLayout) -> CuteLayout:
    """Without nesting."""
    if depth(one.shape) < 2:
        return one
    return replace(one, shape=tuple(leaves(one.shape)), stride=tuple(leaves(one.stride)))
