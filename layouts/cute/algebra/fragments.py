"""Layouts of registers: fragments like a partition, conversions of accumulators, and retiled fragments.

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
from lanescope.cute.tuples import Nested, list_leaves, list_modes, make_compact_strides, map_leaves, size
from lanescope.errors import LayoutError


def get_mode(layout: CuteLayout, *at: int) -> CuteLayout:
    """Return get<i, j, …>(layout): the mode j of the mode i, and so on."""
    require_plain(layout, "get")
    for number in at:
        if number >= layout.rank:
            raise make_refusal(
                f"{layout} has no mode {number}.", f"0 to {layout.rank - 1}, e.g. get<0>(layout) or get<0,1>(layout)."
            )
        layout = layout.modes[number]
    return layout


def make_layout_like(layout: CuteLayout) -> CuteLayout:
    """Return the layout with compact strides in the order of its strides; strides of 0 are kept."""
    require_plain(layout, "make_layout_like")
    kept = _filter_zeros(layout.shape, layout.stride)
    return CuteLayout(layout.shape, _mark_broadcasts(_order_strides(kept, layout.stride), layout.stride))


def make_fragment_like(layout: CuteLayout, dynamic: Nested = ()) -> CuteLayout:
    """Return the layout of registers for a partition: mode 0 compact and first, then modes in the order of strides.

    Swizzle and offset are dropped, as since CUTLASS 3.5.1. dynamic: nested like the strides, True for those that are
    not static in C++; they come after all others, in the order of the modes.
    """
    plain = strip_swizzle(layout)
    if plain.rank < 2:
        return CuteLayout(plain.shape, _compact(plain.shape))
    first, first_stride = list_modes(plain.shape)[0], list_modes(plain.stride)[0]
    kept = _filter_zeros(first, first_stride)
    rest, order = list_modes(plain.shape)[1:], list_modes(plain.stride)[1:]
    block = max(1, size(kept))
    ranks = _rank_dynamic(order, list_modes(dynamic)[1:]) if dynamic else order
    strides = map_leaves(lambda step: step * block, _order_strides(rest, ranks))
    return CuteLayout((first, *rest), (_mark_broadcasts(_compact(kept), first_stride), *list_modes(strides)))


def decay_swizzle(layout: CuteLayout) -> tuple[CuteLayout, Nested]:
    """Return a swizzled layout for a fixed thread, and which strides depend on the thread (nested; () for none).

    If the modes reach only one of the two bits that a swizzle combines, CuTe replaces the XOR by strides whose sign
    depends on the thread. If they reach both, the layout keeps its swizzle.
    """
    swizzle = layout.swizzle
    plain = strip_swizzle(layout)
    if swizzle is None or not swizzle.bits:
        return plain, ()
    bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
    low, high = 1 << base, 1 << base + abs(shift)
    parts = (low, 1 << bits, 1 << abs(shift) - bits, 1 << bits, 1)
    try:
        active = composition(CuteLayout(parts, (0, low, 0, high, 0)), plain)
        reached = active(active.size - 1)
        if reached & ~swizzle(reached):
            return layout, ()
        tags = [MOST // 2 + number for number in range(2 * bits)]  # strides that no mode of a layout has
        split = CuteLayout(
            (low, (2,) * bits, parts[2], (2,) * bits, 1),
            (1, tuple(tags[:bits]), low << bits, tuple(tags[bits:]), high << bits),
        )
        result = composition(split, plain)
    except LayoutError:
        return layout, ()
    steps = {tag: (low if at < bits else high) << at % bits for at, tag in enumerate(tags)}
    stride = map_leaves(lambda step: steps.get(step, step), result.stride)
    return CuteLayout(result.shape, stride), map_leaves(steps.__contains__, result.stride)


def convert_layout_acc_rowcol(layout: CuteLayout, transposed: bool = False) -> CuteLayout:
    """Return the accumulator (values, M, N) of a thread as (rows, columns): FlashAttention's convert_layout_acc_rowcol.

    Values are (2, 2) for mma.sync, or (2, 2, N/8) for wgmma: columns first, then rows. transposed: return (columns,
    rows), for an accumulator of the transposed product.
    """
    values, (_, m, n) = _split_accumulator(layout)
    columns, rows, *more = values
    modes = concatenate(rows, m), concatenate(columns, *more, n)
    return concatenate(*(modes[::-1] if transposed else modes))


def convert_layout_acc_aregs(layout: CuteLayout, bits: int = 16) -> CuteLayout:
    """Return the accumulator of a thread as the modes of the next A: FlashAttention's convert_layout_acc_Aregs.

    bits: of an element of A. For 16 no register moves; for 8 (wgmma) the registers hold A only after FlashAttention's
    permutation.
    """
    values, (_, m, n) = _split_accumulator(layout)
    if len(values) == 2:
        if bits != 16:
            raise make_refusal(
                f"convert_layout_acc_Aregs<{bits}> of {layout}: mma.sync has the conversion for 16 bits only.",
                "Give 16, or an accumulator of wgmma, ((2,2,V),M,N).",
            )
        divided = logical_divide(n, 2)
        return concatenate(concatenate(layout.modes[0], divided.modes[0]), m, divided.modes[1])
    columns, rows, more = values
    if bits == 16:
        divided = logical_divide(more, 2)
        taken, rest = divided.modes
        return concatenate(concatenate(columns, rows, taken), m, coalesce(concatenate(rest, n)))
    if bits != 8 or (columns.stride, rows.stride) != (1, 2):
        raise make_refusal(
            f"convert_layout_acc_Aregs<{bits}> of {layout} is not defined.",
            "Give 16 or 8 bits, and for 8 values that are compact: ((2,2,V),M,N):((1,2,4),…).",
        )
    taken, rest = logical_divide(more, make_layout((2, 2))).modes
    return concatenate(concatenate(make_layout(4), *taken.modes), m, coalesce(concatenate(rest, n)))


def _split_accumulator(layout: CuteLayout) -> tuple[tuple[CuteLayout, ...], tuple[CuteLayout, ...]]:
    """Return (modes of the values, modes (values, M, N)) of an accumulator; LayoutError for another layout."""
    require_plain(layout, "an accumulator's conversion")
    modes = layout.modes
    if len(modes) == 3 and modes[0].shape == 4:
        modes = (logical_divide(modes[0], 2), *modes[1:])
    if len(modes) != 3 or list_modes(modes[0].shape)[:2] != (2, 2) or modes[0].rank not in (2, 3):
        raise make_refusal(
            f"{layout} is not an accumulator of one thread.",
            "Give (values, M, N) whose values are 4, (2,2) or (2,2,V), as of partition_fragment_C.",
        )
    return modes[0].modes, modes


def retile(fragment: CuteLayout, tv: CuteLayout, tiler: tuple[Tiler, ...], values: int) -> CuteLayout:
    """Return the same registers in the modes of a TiledCopy, (values, rest, rest): CuTe's retile_S and retile_D.

    tv: (thread, value) → element of the tiler; values: of one copy atom.
    """
    require_plain(fragment, "retile")
    sizes = tuple(size(get_tiler_size(mode)) for mode in tiler)
    values_per_thread = fragment.modes[0].size
    threads, per_thread = (mode.size for mode in tv.modes)
    if fragment.rank != len(sizes) + 1 or per_thread % values or per_thread % values_per_thread:
        raise make_refusal(
            f"{fragment} cannot be retiled: a thread of the copy has {per_thread} values, {values} of each atom.",
            f"Give (values, {', '.join('rest' for _ in sizes)}) whose values divide {per_thread}.",
        )
    by_element = upcast(with_shape(right_inverse(tv), sizes), threads * values_per_thread)
    by_value = zipped_divide(
        logical_product(make_layout(values_per_thread), right_inverse(by_element)), make_layout(values)
    )
    tile = (values_per_thread, *(size(mode) for mode in list_modes(by_element.shape)))
    tiled = zipped_divide(fragment, tile)
    tiles, rests = composition(tiled, (by_value, None)).modes
    return concatenate(tiles, *rests.modes[1:])


def create_tma_multicast_mask(ctas: CuteLayout, coord: Nested, *modes: int) -> int:
    """Return the mask of the CTAs that equal `coord` except in `modes`; bit r is the CTA of rank r.

    ctas: coordinate in the cluster → rank. A None (CuTe's underscore) in coord has the same effect as a mode in
    `modes`.
    """
    require_plain(ctas, "create_tma_multicast_mask")
    at = list_modes(coord)
    if len(at) != ctas.rank or max(modes, default=0) >= ctas.rank:
        raise make_refusal(
            f"A CTA of {ctas} has {ctas.rank} coordinates.",
            "create_tma_multicast_mask<mode>(cta layout, coordinate): the mode is one of the layout's.",
        )
    fixed = tuple(None if number in modes else coord_ for number, coord_ in enumerate(at))
    require_inside(fixed, ctas.shape)
    freed, first = slice_and_offset(ctas, fixed)
    ranks = (first + freed.list_indices()).tolist()
    if max(ranks) > 15:
        raise make_refusal(f"{ctas} has a CTA of rank {max(ranks)}.", "A mask has 16 bits: ranks 0 to 15.")
    return sum(1 << rank for rank in set(ranks))


# compact strides ------------------------------------------------------------------------------------------------------


def _compact(shape: Nested, start: int = 1) -> Nested:
    """Return compact column-major strides, 0 for a mode of size 1, as CuTe does for static modes."""
    return map_leaves(lambda n, step: step if n > 1 else 0, shape, make_compact_strides(shape, start))


def _filter_zeros(shape: Nested, stride: Nested) -> Nested:
    """Return the shape with size 1 where the stride is 0."""
    return map_leaves(lambda n, step: n if step else 1, shape, stride)


def _mark_broadcasts(strides: Nested, stride: Nested) -> Nested:
    """Return strides with 0 for the modes whose `stride` is 0."""
    return map_leaves(lambda step, old: step if old else 0, strides, stride)


def _order_strides(shape: Nested, order: Nested) -> Nested:
    """Return CuTe's compact_order: each mode's stride is the product of the sizes of lower order."""
    pairs = list(_pair_by_order(shape, order))

    def walk(part: Nested, rank: Nested) -> Nested:
        if isinstance(rank, tuple):
            return tuple(walk(p, r) for p, r in zip(part, rank, strict=True))
        return _compact(part, prod(count for count, rank_ in pairs if rank_ < rank))

    return walk(shape, order)


def _pair_by_order(shape: Nested, order: Nested) -> list[tuple[int, int]]:
    if isinstance(order, tuple):
        return [pair for s, o in zip(shape, order, strict=True) for pair in _pair_by_order(s, o)]
    return [(size(shape), order)]


def _rank_dynamic(order: Nested, dynamic: Nested) -> Nested:
    """Return the order with dynamic modes ranked after all static ones."""
    behind = max(list_leaves(order), default=0) + 1
    numbers = iter(range(behind, behind + len(list_leaves(order))))

    def rank(part: int, marked: bool) -> int:
        number = next(numbers)
        return number if marked else part

    return map_leaves(rank, order, dynamic)
