"""Divides and products: a layout cut into tiles, and a block repeated."""

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
from lanescope.cute.tuples import (
    Nested,
    format_tuple,
    list_modes,
    make_compact_strides,
    rank,
    size,
)


def _layout_from_tiler(tiler: CuteLayout | int) -> CuteLayout:
    return make_layout(tiler) if isinstance(tiler, int) else tiler


def logical_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (tile, rest): what the tiler picks, then the rest; a tuple of tilers divides by mode."""
    if tiler is None:
        return one
    if isinstance(tiler, tuple):
        return apply_behind_swizzle(one, lambda it: apply_by_mode(it, tiler, logical_divide, "logical_divide", True))
    tile = _layout_from_tiler(tiler)
    return composition(one, concatenate(tile, complement(tile, coalesce(strip_swizzle(one)).shape)))


def logical_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (block, repetitions): the block laid over the tiler's indices, counted in whole blocks."""
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return apply_behind_swizzle(
            block, lambda it: apply_by_mode(it, tiler, logical_product, "logical_product", True)
        )
    tile = _layout_from_tiler(tiler)

    def made(it: CuteLayout) -> CuteLayout:
        return concatenate(it, composition(complement(it, it.size * tile.cosize), tile))

    return apply_behind_swizzle(block, made)


def tile_unzip(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Gather the pairs at the tiler's places into two modes (CuTe's tile_unzip)."""

    def zip2(nested: Nested, guide: Tiler) -> Nested:
        if not isinstance(guide, tuple):
            if rank(nested) != 2 or isinstance(nested, int):
                raise make_refusal(
                    f"{one} cannot be zipped by {format_tiler(tiler)}: {format_tuple(nested)} is not a pair.",
                    "An underscore needs a mode of rank 2 there; logical_divide keeps the modes apart.",
                )
            return nested
        pairs = [zip2(item, part) for item, part in zip(nested, guide, strict=False)]
        return tuple(p[0] for p in pairs), (*(p[1] for p in pairs), *nested[len(guide) :])

    return replace(one, shape=zip2(one.shape, tiler), stride=zip2(one.stride, tiler))


def zipped_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into ((tile, …), (rest, …))."""
    return tile_unzip(logical_divide(one, tiler), tiler)


def zipped_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to ((block, …), (repetitions, …))."""
    return tile_unzip(logical_product(block, tiler), tiler)


def _unpack_second(one: CuteLayout, first: bool) -> CuteLayout:
    """Return the second mode's modes (and the first's) as modes of the whole."""

    def flat(nested: Nested) -> Nested:
        return (*(list_modes(nested[0]) if first else (nested[0],)), *list_modes(nested[1]))

    return replace(one, shape=flat(one.shape), stride=flat(one.stride))


def tiled_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into ((tile, …), rest, …)."""
    return _unpack_second(zipped_divide(one, tiler), False)


def flat_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into (tile, …, rest, …)."""
    return _unpack_second(zipped_divide(one, tiler), True)


def tiled_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to ((block, …), repetitions, …)."""
    return _unpack_second(zipped_product(block, tiler), False)


def flat_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to (block, …, repetitions, …)."""
    return _unpack_second(zipped_product(block, tiler), True)


def _pad_rank(one: CuteLayout, count: int) -> CuteLayout:
    """Append modes 1:0 up to `count` modes."""
    return concatenate(*one.modes, *[ONE] * (count - one.rank))


def _interleave(block: CuteLayout, tiler: CuteLayout, raked: bool) -> CuteLayout:
    count = max(block.rank, tiler.rank)

    def made(it: CuteLayout) -> CuteLayout:
        first, second = logical_product(_pad_rank(it, count), _pad_rank(tiler, count)).modes
        if raked:
            first, second = second, first
        return concatenate(*(concatenate(x, y) for x, y in zip(first.modes, second.modes, strict=True)))

    return apply_behind_swizzle(block, made)


def blocked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return the block at every element of the tiler, mode by mode: ((block, tiler), …)."""
    return _interleave(block, require_plain(tiler, "blocked_product over a tiler"), False)


def raked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return the product of blocked_product with the blocks interleaved: ((tiler, block), …)."""
    return _interleave(block, require_plain(tiler, "raked_product over a tiler"), True)


def make_ordered_layout(shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """Return make_ordered_layout: compact strides, the mode with the lowest order first."""
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
    """Repeat the block until it has a shape; order: which mode is filled first (CuTe's Step)."""
    target = tuple(map(size, list_modes(shape)))
    have = (
        tuple(size(mode.shape) for mode in _pad_rank(strip_swizzle(block), len(target)).modes)
        if block.rank <= len(target)
        else ()
    )
    if not have or any(want % own for want, own in zip(target, have, strict=True)):
        raise make_refusal(
            f"tile_to_shape of {block} to {format_tuple(shape)}: the block does not divide the target shape.",
            f"Give a shape of at least {block.rank} modes that are multiples of {format_tuple(have or block.shape)}.",
        )
    times = tuple(want // own for want, own in zip(target, have, strict=True))
    return blocked_product(block, make_ordered_layout(times, order))
