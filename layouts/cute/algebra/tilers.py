"""Divides and products: a layout cut into tiles, and a block repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lanescope.cute.algebra.functions import (
    ONE,
    Tiler,
    behind,
    body,
    by_mode,
    coalesce,
    complement,
    composition,
    joined,
    layout,
    plain,
    refused,
    spelled_tiler,
)
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import (
    Nested,
    compact,
    modes,
    rank,
    size,
    spelled,
)


def _as_layout(tiler: CuteLayout | int) -> CuteLayout:
    return layout(tiler) if isinstance(tiler, int) else tiler


def logical_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (tile, rest): what the tiler picks, then the rest; a tuple of tilers divides by mode."""
    if tiler is None:
        return one
    if isinstance(tiler, tuple):
        return behind(one, lambda it: by_mode(it, tiler, logical_divide, "logical_divide", True))
    tile = _as_layout(tiler)
    return composition(one, joined(tile, complement(tile, coalesce(body(one)).shape)))


def logical_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Return (block, repetitions): the block laid over the tiler's indices, counted in whole blocks."""
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return behind(block, lambda it: by_mode(it, tiler, logical_product, "logical_product", True))
    tile = _as_layout(tiler)

    def made(it: CuteLayout) -> CuteLayout:
        return joined(it, composition(complement(it, it.size * tile.cosize), tile))

    return behind(block, made)


def unzipped(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Gather the pairs at the tiler's places into two modes (CuTe's tile_unzip)."""

    def zip2(nested: Nested, guide: Tiler) -> Nested:
        if not isinstance(guide, tuple):
            if rank(nested) != 2 or isinstance(nested, int):
                raise refused(
                    f"{one} cannot be zipped by {spelled_tiler(tiler)}: {spelled(nested)} is not a pair.",
                    "An underscore needs a mode of rank 2 there; logical_divide keeps the modes apart.",
                )
            return nested
        pairs = [zip2(item, part) for item, part in zip(nested, guide, strict=False)]
        return tuple(p[0] for p in pairs), (*(p[1] for p in pairs), *nested[len(guide) :])

    return replace(one, shape=zip2(one.shape, tiler), stride=zip2(one.stride, tiler))


def zipped_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into ((tile, …), (rest, …))."""
    return unzipped(logical_divide(one, tiler), tiler)


def zipped_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to ((block, …), (repetitions, …))."""
    return unzipped(logical_product(block, tiler), tiler)


def _opened(one: CuteLayout, first: bool) -> CuteLayout:
    """Return the second mode's modes (and the first's) as modes of the whole."""

    def flat(nested: Nested) -> Nested:
        return (*(modes(nested[0]) if first else (nested[0],)), *modes(nested[1]))

    return replace(one, shape=flat(one.shape), stride=flat(one.stride))


def tiled_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into ((tile, …), rest, …)."""
    return _opened(zipped_divide(one, tiler), False)


def flat_divide(one: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Divide into (tile, …, rest, …)."""
    return _opened(zipped_divide(one, tiler), True)


def tiled_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to ((block, …), repetitions, …)."""
    return _opened(zipped_product(block, tiler), False)


def flat_product(block: CuteLayout, tiler: Tiler) -> CuteLayout:
    """Multiply to (block, …, repetitions, …)."""
    return _opened(zipped_product(block, tiler), True)


def _padded(one: CuteLayout, count: int) -> CuteLayout:
    """Append modes 1:0 up to `count` modes."""
    return joined(*one.modes, *[ONE] * (count - one.rank))


def _interleaved(block: CuteLayout, tiler: CuteLayout, raked: bool) -> CuteLayout:
    count = max(block.rank, tiler.rank)

    def made(it: CuteLayout) -> CuteLayout:
        first, second = logical_product(_padded(it, count), _padded(tiler, count)).modes
        if raked:
            first, second = second, first
        return joined(*(joined(x, y) for x, y in zip(first.modes, second.modes, strict=True)))

    return behind(block, made)


def blocked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return the block at every element of the tiler, mode by mode: ((block, tiler), …)."""
    return _interleaved(block, plain(tiler, "blocked_product over a tiler"), False)


def raked_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Return the product of blocked_product with the blocks interleaved: ((tiler, block), …)."""
    return _interleaved(block, plain(tiler, "raked_product over a tiler"), True)


def ordered(shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """Return make_ordered_layout: compact strides, the mode with the lowest order first."""
    parts = modes(shape)
    order = tuple(range(len(parts))) if order is None else order
    if len(order) != len(parts):
        raise refused(
            f"The order {spelled(tuple(order))} has {len(order)} modes, the shape {spelled(shape)} {len(parts)}.",
            "Give a number for each mode: the least is filled first.",
        )
    strides, reached = [0] * len(parts), 1
    for at in sorted(range(len(parts)), key=lambda n: (order[n], n)):
        strides[at] = compact(parts[at], reached)
        reached *= size(parts[at])
    return CuteLayout(tuple(parts), tuple(strides))


def tile_to_shape(block: CuteLayout, shape: Nested, order: Sequence[int] | None = None) -> CuteLayout:
    """Repeat the block until it has a shape; order: which mode is filled first (CuTe's Step)."""
    target = tuple(map(size, modes(shape)))
    have = (
        tuple(size(mode.shape) for mode in _padded(body(block), len(target)).modes) if block.rank <= len(target) else ()
    )
    if not have or any(want % own for want, own in zip(target, have, strict=True)):
        raise refused(
            f"tile_to_shape of {block} to {spelled(shape)}: the block does not divide the target shape.",
            f"Give a shape of at least {block.rank} modes that are multiples of {spelled(have or block.shape)}.",
        )
    times = tuple(want // own for want, own in zip(target, have, strict=True))
    return blocked_product(block, ordered(times, order))
