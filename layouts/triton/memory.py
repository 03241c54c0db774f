"""Layouts of shared memory: swizzled, nvmma, padded and linear."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from layouts.errors import LayoutError
from layouts.linear import Basis, Linear, block, identity, log2
from layouts.reading import shown
from layouts.triton.parameters import (
    MOST_SIZE,
    Maker,
    Params,
    Read,
    bad,
    reached,
)


def _swizzled(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    order = read.order("order", rank)
    vec, per, phases = (1 << log2(read.number(name, 1)) for name in ("vec", "perPhase", "maxPhase"))
    cluster = read.cga(rank).cut(shape)
    part = [max(1, size // own) for size, own in zip(shape, cluster.sizes, strict=True)]
    if rank == 1:
        return identity("offset", part[0], 0, 1, (0,)) * cluster
    col, row = order[0], order[1]
    bases = [_at(rank, {col: 1 << bit}) for bit in range(log2(part[col]))]
    for bit in range(log2(part[row])):
        bases.append(_at(rank, {row: 1 << bit, col: vec * (((1 << bit) // per) % phases) % part[col]}))
    made = Linear({"offset": tuple(bases)}, tuple(part[a] if a in (col, row) else 1 for a in range(rank)), order)
    for axis in order[2:]:
        made = made * identity("offset", part[axis], axis, rank, order)
    return made * cluster


def _at(rank: int, values: Mapping[int, int]) -> Basis:
    return tuple(values.get(axis, 0) for axis in range(rank))


def _older(read: Read, rank: int) -> Read:
    """shared with hasLeadingOffset, as Triton had it before nvmma_shared."""
    widths = {(4, 2): 32, (2, 4): 64, (1, 8): 128}
    per, phases, vec = (read.number(name, 1) for name in ("perPhase", "maxPhase", "vec"))
    if (per, phases) not in widths or 128 % vec:
        raise bad(
            f"shared with hasLeadingOffset has perPhase {per}, maxPhase {phases} and vec {vec}.",
            "Allowed: (4, 2) for 32 bytes, (2, 4) for 64 and (1, 8) for 128, with 16 bytes as vec.",
        )
    order = read.order("order", rank)
    kept = {k: v for k, v in read.params.items() if k.startswith(("CTA", "CGA"))}
    found = {"swizzlingByteWidth": widths[per, phases], "elementBitWidth": 128 // vec, "transposed": order[0] == 0}
    return Read(read.kind, found | kept)


def _nvmma(read: Read, shape: tuple[int, ...], element_bits: int) -> Linear:
    rank = len(shape)
    if read.params.get("hasLeadingOffset"):
        read = _older(read, rank)
    width = read.number("swizzlingByteWidth", 0, 128)
    bits = read.number("elementBitWidth", 4, 64, element_bits)
    turned, padded = bool(read.params.get("transposed")), bool(read.params.get("fp4Padded"))
    if width not in (0, 32, 64, 128):
        raise bad(f"nvmma_shared: swizzlingByteWidth is {width}.", "Allowed: 0, 32, 64, 128.")
    if turned and rank > 2:
        raise LayoutError(
            "unsupported_layout",
            "nvmma_shared transposed has no maps here beyond two axes.",
            "Give a shape of two sizes.",
            "shape",
        )
    cluster = read.cga(rank).cut(shape)
    part = [max(1, size // own) for size, own in zip(shape, cluster.sizes, strict=True)]
    axes = [*range(1, rank), 0] if turned else list(range(rank))  # slowest first, as memory has them
    sizes = [part[a] for a in axes]
    wide = 8 * max(width, 1) // bits // (2 if padded else 1)
    tma = [min(size, 256) for size in sizes]
    tma[-1] = min(tma[-1], wide) if width else tma[-1]
    if not width:
        order = tuple(reversed(axes))
        made = Linear({"offset": ()}, (1,) * rank, order)
        for axis, size in reversed(list(zip(axes, tma, strict=True))):
            made = made * identity("offset", size, axis, rank, order)
        return made.grown(part) * cluster
    if rank < 2:
        raise bad(
            "nvmma_shared swizzles matrices.", "Give a shape of two sizes or more, or swizzlingByteWidth = 0.", "shape"
        )
    lines = prod(tma[:-1])
    if tma[-1] < wide or lines < 8:
        raise bad(
            f"nvmma_shared: {width} bytes of {bits}-bit elements need a tile of 8 × {wide}; a block has {lines} ×"
            f" {sizes[-1]}.",
            "Give a larger shape or a narrower swizzle.",
            "shape",
        )
    return _swizzled_panels(axes, sizes, tma, width, bits, padded, part) * cluster


def _swizzled_panels(
    axes: list[int], sizes: list[int], tma: list[int], width: int, bits: int, padded: bool, part: list[int]
) -> Linear:
    """Panels of one TMA box each: 8 lines of the swizzle's width, then more lines, then the boxes beside it."""
    rank, inner = len(axes), axes[-1]
    vec, per, phases = 128 // bits, 128 // width, width // 16
    if padded:
        vec //= 2
    lines = [
        (axis, 1 << bit)
        for axis, size in reversed(list(zip(axes[:-1], tma[:-1], strict=True)))
        for bit in range(log2(size))
    ]
    bases = []
    for bit in range(log2(8 * width // bits)):
        value = 1 << bit
        if padded:  # sixteen 4-bit elements fill 8 of 16 bytes: the upper 8 are padding
            half = 64 // bits
            value = 0 if value == half else value if value < half else value // 2
        bases.append(_at(rank, {inner: value}))
    for number, (axis, value) in enumerate(lines):
        phase = ((1 << number) // per) % phases if number < 3 else 0
        bases.append(_at(rank, {axis: value, inner: vec * phase}))
    order = tuple(range(rank))  # boxes repeat along the first axis first
    reached = dict(zip(axes, tma, strict=True))
    made = Linear({"offset": tuple(bases)}, tuple(reached[axis] for axis in range(rank)), order)
    return made.grown(part)


def _shared_linear(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    bases = {name: read.bases(name, rank) for name in ("offset", "block")}
    return Linear(bases, reached(bases, rank, read.kind), tuple(reversed(range(rank))))


def _padded(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    padding(read.params)
    if "offset" in read.params:
        bases = {name: read.bases(name, rank) for name in ("offset", "block")}
        return Linear(bases, reached(bases, rank, read.kind), tuple(reversed(range(rank))))
    order = read.order("order", rank, tuple(reversed(range(rank))))
    cluster = read.cga(rank).cut(shape)
    part = [max(1, size // own) for size, own in zip(shape, cluster.sizes, strict=True)]
    return block("offset", part, order) * cluster


def padding(params: Params) -> tuple[tuple[int, int], ...]:
    """(interval, padding) pairs of a padded_shared, in elements; () for another layout."""
    given = params.get("intervals", [])
    right = isinstance(given, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int and 0 < n <= MOST_SIZE for n in pair)
        for pair in given
    )
    if not right:
        raise bad(f"padded_shared: its intervals are {shown(str(given), 60)}.", "Pairs as [64:+8].")
    for interval, more in given:
        log2(interval), log2(more)
    return tuple((interval, more) for interval, more in given)


MEMORY: dict[str, Maker] = {
    "swizzled_shared": _swizzled, "nvmma_shared": _nvmma, "padded_shared": _padded, "shared_linear": _shared_linear,
}  # fmt: skip
