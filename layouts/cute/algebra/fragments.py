"""Layouts of registers: fragments made like a partition, an accumulator as a matrix and as the next A, a fragment in
the values of a copy.

    make_fragment_like(((2,2,2),4,4):((1,512,8),2048,16))       ((2,2,2),4,4):((1,2,4),32,8)
    convert_layout_acc_rowcol(((2,2),1,8):((1,2),0,4))          ((2,1),(2,8)):((2,0),(1,4))

Sources: CUTLASS 4.7 (7107b05), include/cute/layout.hpp, stride.hpp, swizzle_layout.hpp and atom/copy_atom.hpp;
FlashAttention (0251105), hopper/utils.h.
"""

from __future__ import annotations

from math import prod

from lanescope.cute.algebra.casts import require_inside, slice_and_offset, upcast, with_shape
from lanescope.cute.algebra.functions import (
    Tiler,
    coalesce,
    composition,
    concatenate,
    get_tiler_size,
    make_layout,
    make_refusal,
    require_plain,
    right_inverse,
    strip_swizzle,
)
from lanescope.cute.algebra.tilers import logical_divide, logical_product, zipped_divide
from lanescope.cute.layout import MOST, CuteLayout
from lanescope.cute.tuples import Nested, list_leaves, list_modes, size
from lanescope.errors import LayoutError


def get_mode(one: CuteLayout, *at: int) -> CuteLayout:
    """Return get<i, j, …>(layout): the mode j of the mode i, and so on."""
    require_plain(one, "get")
    for number in at:
        if number >= one.rank:
            raise make_refusal(
                f"{one} has no mode {number}.", f"0 to {one.rank - 1}, e.g. get<0>(layout) or get<0,1>(layout)."
            )
        one = one.modes[number]
    return one


def make_layout_like(one: CuteLayout) -> CuteLayout:
    """Return compact strides in the order of the layout's strides; a mode of stride 0 stays one."""
    require_plain(one, "make_layout_like")
    kept = _filter_zeros(one.shape, one.stride)
    return CuteLayout(one.shape, _mark_broadcasts(_order_strides(kept, one.stride), one.shape, one.stride))


def make_fragment_like(one: CuteLayout, dynamic: Nested = ()) -> CuteLayout:
    """Return the layout of registers for a partition: mode 0 first and compact, the other modes in the order of their
    strides.

    A swizzle and an offset are left out, as since CUTLASS 3.5.1. dynamic: nested as the strides, True for those that
    C++ knows at run time only; they come after all others, in the order of the modes.
    """
    plain = strip_swizzle(one)
    if plain.rank < 2:
        return CuteLayout(plain.shape, _compact(plain.shape))
    first, first_stride = list_modes(plain.shape)[0], list_modes(plain.stride)[0]
    kept = _filter_zeros(first, first_stride)
    rest, order = list_modes(plain.shape)[1:], list_modes(plain.stride)[1:]
    block = max(1, size(kept))
    ranks = _rank_dynamic(order, list_modes(dynamic)[1:]) if dynamic else order
    strides = _scale(_order_strides(rest, ranks), block)
    return CuteLayout((first, *rest), (_mark_broadcasts(_compact(kept), first, first_stride), *list_modes(strides)))


def decay_swizzle(one: CuteLayout) -> tuple[CuteLayout, Nested]:
    """Return what is left of a swizzled layout once a thread is fixed, and which strides depend on the thread: nested
    as they are, () for none.

    Where the modes reach only one of two bits that a swizzle combines, CuTe replaces the XOR by strides whose sign the
    thread decides. Where they reach both, the layout stays behind its swizzle.
    """
    swizzle = one.swizzle
    plain = strip_swizzle(one)
    if swizzle is None or not swizzle.bits:
        return plain, ()
    bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
    low, high = 1 << base, 1 << base + abs(shift)
    parts = (low, 1 << bits, 1 << abs(shift) - bits, 1 << bits, 1)
    try:
        active = composition(CuteLayout(parts, (0, low, 0, high, 0)), plain)
        reached = active(active.size - 1)
        if reached & ~swizzle(reached):
            return one, ()
        tags = [MOST // 2 + number for number in range(2 * bits)]  # strides that no mode of a layout has
        split = CuteLayout(
            (low, (2,) * bits, parts[2], (2,) * bits, 1),
            (1, tuple(tags[:bits]), low << bits, tuple(tags[bits:]), high << bits),
        )
        made = composition(split, plain)
    except LayoutError:
        return one, ()
    steps = {tag: (low if at < bits else high) << at % bits for at, tag in enumerate(tags)}
    return CuteLayout(made.shape, _replace(made.stride, steps)), _mark(made.stride, steps)


def convert_layout_acc_rowcol(one: CuteLayout, transposed: bool = False) -> CuteLayout:
    """Return the accumulator (values, M, N) of one thread as (rows, columns): FlashAttention's function of this name.

    Values are (2, 2) of mma.sync, or (2, 2, N/8) of wgmma: columns first, then rows. transposed: (columns, rows), for
    an accumulator of the transposed product.
    """
    values, (_, m, n) = _split_accumulator(one)
    columns, rows, *more = values
    made = concatenate(rows, m), concatenate(columns, *more, n)
    return concatenate(*(made[::-1] if transposed else made))


def convert_layout_acc_aregs(one: CuteLayout, bits: int = 16) -> CuteLayout:
    """Return the accumulator of one thread in the modes of the next A: FlashAttention's convert_layout_acc_Aregs.

    bits: of an element of A. 16 renames registers. 8, of wgmma, gives modes that need FlashAttention's permutation of
    registers to hold A.
    """
    values, (_, m, n) = _split_accumulator(one)
    if len(values) == 2:
        if bits != 16:
            raise make_refusal(
                f"convert_layout_acc_Aregs<{bits}> of {one}: mma.sync has the conversion for 16 bits only.",
                "Give 16, or an accumulator of wgmma, ((2,2,V),M,N).",
            )
        divided = logical_divide(n, 2)
        return concatenate(concatenate(one.modes[0], divided.modes[0]), m, divided.modes[1])
    columns, rows, more = values
    if bits == 16:
        divided = logical_divide(more, 2)
        taken, rest = divided.modes
        return concatenate(concatenate(columns, rows, taken), m, coalesce(concatenate(rest, n)))
    if bits != 8 or (columns.stride, rows.stride) != (1, 2):
        raise make_refusal(
            f"convert_layout_acc_Aregs<{bits}> of {one} is not defined.",
            "Give 16 or 8 bits, and for 8 values that are compact: ((2,2,V),M,N):((1,2,4),…).",
        )
    taken, rest = logical_divide(more, make_layout((2, 2))).modes
    return concatenate(concatenate(make_layout(4), *taken.modes), m, coalesce(concatenate(rest, n)))


def _split_accumulator(one: CuteLayout) -> tuple[tuple[CuteLayout, ...], tuple[CuteLayout, ...]]:
    """Return (the modes of the values, the three modes); LayoutError for another layout."""
    require_plain(one, "an accumulator's conversion")
    modes = one.modes
    if len(modes) == 3 and modes[0].shape == 4:
        modes = (logical_divide(modes[0], 2), *modes[1:])
    if len(modes) != 3 or list_modes(modes[0].shape)[:2] != (2, 2) or modes[0].rank not in (2, 3):
        raise make_refusal(
            f"{one} is not an accumulator of one thread.",
            "Give (values, M, N) whose values are 4, (2,2) or (2,2,V), as partition_fragment_C makes them.",
        )
    return modes[0].modes, modes


def retile(fragment: CuteLayout, tv: CuteLayout, tiler: tuple[Tiler, ...], values: int) -> CuteLayout:
    """Return the same registers in the values of a TiledCopy: (values, rest, rest), CuTe's retile_S and retile_D.

    tv: (thread, value) → element of the tiler; values: of one copy atom.
    """
    require_plain(fragment, "retile")
    sizes = tuple(size(get_tiler_size(mode)) for mode in tiler)
    held = fragment.modes[0].size
    threads, per_thread = (mode.size for mode in tv.modes)
    if fragment.rank != len(sizes) + 1 or per_thread % values or per_thread % held:
        raise make_refusal(
            f"{fragment} cannot be retiled: a thread of the copy has {per_thread} values, {values} of each atom.",
            f"Give (values, {', '.join('rest' for _ in sizes)}) whose values divide {per_thread}.",
        )
    by_element = upcast(with_shape(right_inverse(tv), sizes), threads * held)
    by_value = zipped_divide(logical_product(make_layout(held), right_inverse(by_element)), make_layout(values))
    tile = (held, *(size(mode) for mode in list_modes(by_element.shape)))
    tiled = zipped_divide(fragment, tile)
    tiles, rests = composition(tiled, (by_value, None)).modes
    return concatenate(tiles, *rests.modes[1:])


def create_tma_multicast_mask(ctas: CuteLayout, coord: Nested, *modes: int) -> int:
    """Return the mask of the CTAs that differ from `coord` in some modes of the cluster, bit r for rank r.

    ctas: coordinate in the cluster → rank. coord: None, CuTe's underscore, frees a mode as a number in `modes` does.
    """
    require_plain(ctas, "create_tma_multicast_mask")
    at = list_modes(coord)
    if len(at) != ctas.rank or max(modes, default=0) >= ctas.rank:
        raise make_refusal(
            f"A CTA of {ctas} has {ctas.rank} coordinates.",
            "create_tma_multicast_mask<mode>(cta layout, coordinate): the mode is one of the layout's.",
        )
    fixed = tuple(None if number in modes else own for number, own in enumerate(at))
    require_inside(fixed, ctas.shape)
    freed, first = slice_and_offset(ctas, fixed)
    ranks = (first + freed.list_indices()).tolist()
    if max(ranks) > 15:
        raise make_refusal(f"{ctas} has a CTA of rank {max(ranks)}.", "A mask has 16 bits: ranks 0 to 15.")
    return sum(1 << rank for rank in set(ranks))


# compact strides ------------------------------------------------------------------------------------------------------


def _compact(shape: Nested, start: int = 1) -> Nested:
    """Return compact column-major strides, 0 for a mode of size 1, as CuTe gives them to static modes."""
    if isinstance(shape, int):
        return start if shape > 1 else 0
    out = []
    for mode in shape:
        out.append(_compact(mode, start))
        start *= size(mode)
    return tuple(out)


def _filter_zeros(shape: Nested, stride: Nested) -> Nested:
    """Return the shape with size 1 where the stride is 0."""
    if isinstance(shape, int):
        return 1 if stride == 0 else shape
    return tuple(_filter_zeros(s, d) for s, d in zip(shape, stride, strict=True))


def _mark_broadcasts(made: Nested, shape: Nested, stride: Nested) -> Nested:
    """Return strides with 0 where a mode had stride 0."""
    if isinstance(shape, int):
        return 0 if stride == 0 else made
    return tuple(_mark_broadcasts(m, s, d) for m, s, d in zip(made, shape, stride, strict=True))


def _order_strides(shape: Nested, order: Nested) -> Nested:
    """Return compact_order: each mode begins behind all modes of a lower order."""
    pairs = list(_pair_by_order(shape, order))

    def walk(part: Nested, rank: Nested) -> Nested:
        if isinstance(rank, tuple):
            return tuple(walk(p, r) for p, r in zip(part, rank, strict=True))
        return _compact(part, prod(count for count, own in pairs if own < rank))

    return walk(shape, order)


def _pair_by_order(shape: Nested, order: Nested) -> list[tuple[int, int]]:
    if isinstance(order, tuple):
        return [pair for s, o in zip(shape, order, strict=True) for pair in _pair_by_order(s, o)]
    return [(size(shape), order)]


def _rank_dynamic(order: Nested, dynamic: Nested) -> Nested:
    """Return the order with numbers behind all static ones for what is known at run time only."""
    behind = max(list_leaves(order), default=0) + 1
    numbers = iter(range(behind, behind + len(list_leaves(order))))

    def walk(part: Nested, marks: Nested) -> Nested:
        if isinstance(part, tuple):
            return tuple(walk(p, m) for p, m in zip(part, marks, strict=True))
        number = next(numbers)
        return number if marks else part

    return walk(order, marks=dynamic)


def _scale(stride: Nested, by: int) -> Nested:
    return tuple(_scale(part, by) for part in stride) if isinstance(stride, tuple) else stride * by


def _replace(stride: Nested, steps: dict[int, int]) -> Nested:
    if isinstance(stride, tuple):
        return tuple(_replace(part, steps) for part in stride)
    return steps.get(stride, stride)


def _mark(stride: Nested, steps: dict[int, int]) -> Nested:
    if isinstance(stride, tuple):
        return tuple(_mark(part, steps) for part in stride)
    return stride in steps
