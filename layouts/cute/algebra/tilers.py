"""Divides and products: split a layout into tiles, and repeat a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lanescope.cute.algebra.functions import (
    ONE,
    Tiler,
    apply_behind_swizzle,
    apply_by_mode,
    coalesce,
    complement,
    composition,
    concatenate,
    format_tiler,
    make_layout,
    make_refusal,
    require_plain,
    strip_swizzle,
)
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested, format_tuple, list_modes, make_compact_strides, rank, size


def _layout_from_tiler(tiler: CuteLayout | int) -> CuteLayout:
    return make_layout(tiler) if isinstance(tiler, int) else tiler


def logical_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (tile, rest): the elements that the tiler selects, then its repetitions; a tuple divides by mode."""
    if tiler is None:
        return layout
    if isinstance(tiler, tuple):
        return apply_behind_swizzle(layout, lambda it: apply_by_mode(it, tiler, logical_divide, "logical_divide", True))
    tile = _layout_from_tiler(tiler)
    return composition(layout, concatenate(tile, complement(tile, coalesce(strip_swizzle(layout)).shape)))


def logical_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (block, repetitions): a copy of the block for each index of the tiler, in units of the block."""
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return apply_behind_swizzle(
            block, lambda it: apply_by_mode(it, tiler, logical_product, "logical_product", True)
        )
    tile = _layout_from_tiler(tiler)

    def multiply(it: CuteLayout) -> CuteLayout:
        return concatenate(it, composition(complement(it, it.size * tile.cosize), tile))

    return apply_behind_swizzle(block, multiply)


def tile_unzip(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return a layout whose pairs at the tiler's modes are gathered into two modes (CuTe's tile_unzip)."""

    def zip2(nested: Nested, guide: Tiler) -> Nested:
        if not isinstance(guide, tuple):
            if rank(nested) != 2 or isinstance(nested, int):
                raise make_refusal(
                    f"{layout} cannot be zipped by {format_tiler(tiler)}: {format_tuple(nested)} is not a pair.",
                    "An underscore needs a mode of rank 2 there; logical_divide keeps the modes apart.",
                )
            return nested
        pairs = [zip2(item, part) for item, part in zip(nested, guide, strict=False)]
        return tuple(p[0] for p in pairs), (*(p[1] for p in pairs), *nested[len(guide) :])

    return replace(layout, shape=zip2(layout.shape, tiler), stride=zip2(layout.stride, tiler))


def zipped_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the divide as ((tile, …), (rest, …))."""
    return tile_unzip(logical_divide(layout, tiler), tiler)


def zipped_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the product as ((block, …), (repetitions, …))."""
    return tile_unzip(logical_product(block, tiler), tiler)


def _unpack_second(layout: CuteLayout, first: bool) -> CuteLayout:
    """Return a layout with the second mode (and the first) replaced by its modes."""

    def flat(nested: Nested) -> Nested:
        return (*(list_modes(nested[0]) if first else (nested[0],)), *list_modes(nested[1]))

    return replace(layout, shape=flat(layout.shape), stride=flat(layout.stride))


def tiled_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the divide as ((tile, …), rest, …)."""
    return _unpack_second(zipped_divide(layout, tiler), False)


def flat_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the divide as (tile, …, rest, …)."""
    return _unpack_second(zipped_divide(layout, tiler), True)


def tiled_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the product as ((block, …), repetitions, …)."""
    return _unpack_second(zipped_product(block, tiler), False)


def flat_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return the product as (block, …, repetitions, …)."""
    return _unpack_second(zipped_product(block, tiler), True)


def _pad_rank(layout: CuteLayout, count: int) -> CuteLayout:
    """Return the layout with modes 1:0 appended, up to `count` modes."""
    return concatenate(*layout.modes, *[ONE] * (count - layout.rank))


def _interleave(block: CuteLayout, tiler: CuteLayout, raked: bool) -> CuteLayout:
    count = max(block.rank, tiler.rank)

    def multiply(it: CuteLayout) -> CuteLayout:
        first, second = logical_product(_pad_rank(it, count), _pad_rank(tiler, count)).modes
        if raked:
            first, second = second, first
        return concatenate(*(concatenate(x, y) for x, y in zip(first.modes, second.modes, strict=True)))

    return apply_behind_swizzle(block, multiply)


def blocked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return a copy of the block for every element of the tiler, mode by mode: ((block, tiler), …)."""
    return _interleave(block, require_plain(tiler, "blocked_product over a tiler"), False)


def raked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return the result of blocked_product with the blocks interleaved: ((tiler, block), …)."""
    return _interleave(block, require_plain(tiler, "raked_product over a tiler"), True)


def make_ordered_layout(shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """Return a layout with compact strides, the mode with the lowest order first (make_ordered_layout)."""
    parts = list_modes(shape)
    order = tuple(range(len(parts))) if order is None else order
    if len(order) != len(parts):
        raise make_refusal(
            (
                f"The order {format_tuple(tuple(order))} has {len(order)} modes, the shape {format_tuple(shape)}"
                f" {len(parts)}."
            ),
            "Give a number for each mode: the least is filled first.",
        )
    strides, reached = [0] * len(parts), 1
    for at in sorted(range(len(parts)), key=lambda n: (order[n], n)):
        strides[at] = make_compact_strides(parts[at], reached)
        reached *= size(parts[at])
    return CuteLayout(tuple(parts), tuple(strides))


def tile_to_shape(block: CuteLayout, shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """Return the block repeated to a shape. order: the mode with the lowest number is filled first (CuTe's Step)."""
    target = tuple(map(size, list_modes(shape)))
    block_sizes = (
        tuple(size(mode.shape) for mode in _pad_rank(strip_swizzle(block), len(target)).modes)
        if block.rank <= len(target)
        else ()
    )
    if not block_sizes or any(
        target_size % block_size for target_size, block_size in zip(target, block_sizes, strict=True)
    ):
        raise make_refusal(
            f"tile_to_shape of {block} to {format_tuple(shape)}: the block does not divide the target shape.",
            f"Give a shape of at least {block.rank} modes that are multiples of"
            f" {format_tuple(block_sizes or block.shape)}.",
        )
    times = tuple(target_size // block_size for target_size, block_size in zip(target, block_sizes, strict=True))
    return blocked_product(block, make_ordered_layout(times, order))
