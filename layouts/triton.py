"""Triton's layouts as linear layouts: which register, lane and warp hold which element, and where shared memory has it.

    distributed("nvidia_mma", {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": [16, 8]}, (32, 32))

Kinds and parameters are MLIR's names; a parent is {"attribute": kind, "params": …}. Triton 3.9:
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp, which the tests run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from layouts.errors import LayoutError
from layouts.linear import Basis, Linear, block, copies, identity, log2
from layouts.reading import shown

Params = Mapping[str, Any]
LANES = 32
MOST_RANK, MOST_SIZE = 5, 1 << 16
DISTRIBUTED = ("blocked", "nvidia_mma", "dot_op", "slice", "linear")
SHARED = ("swizzled_shared", "nvmma_shared", "padded_shared", "shared_linear")
INDICES = ("register", "lane", "warp", "block")


def _bad(message: str, hint: str, field: str = "text") -> LayoutError:
    return LayoutError("bad_triton", message, hint, field)


@dataclass(frozen=True, slots=True)
class Read:
    """The parameters of one layout, each asked for with what it must be."""

    kind: str
    params: Params

    def sizes(self, name: str, rank: int | None = None, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """A list of powers of two, or of axes where the name is an order."""
        given = self.params.get(name, default)
        right = isinstance(given, list | tuple) and all(type(n) is int and 0 <= n <= MOST_SIZE for n in given)
        if given is None or not right or (rank is not None and len(given) != rank):
            much = f"{rank} numbers" if rank else "numbers"
            raise _bad(f"{self.kind}: {name} is {shown(str(given), 60)}.", f"A list of {much}: [1, 4].")
        for n in given if "rder" not in name else ():
            log2(n)
        return tuple(given)

    def order(self, name: str, rank: int, default: Sequence[int] | None = None) -> tuple[int, ...]:
        found = self.sizes(name, rank, default)
        if sorted(found) != list(range(rank)):
            raise _bad(
                f"{self.kind}: {name} is {list(found)}.", f"Every axis from 0 to {rank - 1} once, the fastest first."
            )
        return found

    def number(self, name: str, least: int = 0, most: int = MOST_SIZE, default: int | None = None) -> int:
        given = self.params.get(name, default)
        if type(given) is not int or not least <= given <= most:
            raise _bad(f"{self.kind}: {name} is {shown(str(given), 40)}.", f"An integer from {least} to {most}.")
        return given

    def bases(self, name: str, rank: int) -> tuple[Basis, ...]:
        """A list of bases; [] where it is left out."""
        given = self.params.get(name, [])
        right = isinstance(given, list) and all(
            isinstance(b, list) and len(b) == rank and all(type(n) is int and 0 <= n < MOST_SIZE for n in b)
            for b in given
        )
        if not right or len(given) > 24:
            raise _bad(f"{self.kind}: {name} is {shown(str(given), 60)}.", f"A list of bases of {rank} coordinates.")
        return tuple(tuple(basis) for basis in given)

    def cga(self, rank: int) -> Linear:
        """The layout of the blocks of a cluster: CGALayout's bases, or CTAsPerCGA, CTASplitNum and CTAOrder."""
        if "CGALayout" in self.params:
            found = self.bases("CGALayout", rank)
            return Linear({"block": found}, _reached({"block": found}, rank, self.kind), tuple(reversed(range(rank))))
        ones = (1,) * rank
        ctas, split = self.sizes("CTAsPerCGA", rank, ones), self.sizes("CTASplitNum", rank, ones)
        order = self.order("CTAOrder", rank, tuple(reversed(range(rank))))
        out = copies("block", 1, rank, order)
        for axis in order:
            if ctas[axis] % split[axis]:
                raise _bad(
                    f"{self.kind}: CTASplitNum {list(split)} does not divide CTAsPerCGA {list(ctas)}.", "Give divisors."
                )
            out = out * identity("block", split[axis], axis, rank, order)
            out = out * copies("block", ctas[axis] // split[axis], rank, order)
        return out


def linear(kind: str, params: Params, shape: Sequence[int], element_bits: int = 16) -> Linear:
    """The linear layout of a tensor of a shape: indices register, lane, warp and block, or offset and block."""
    if not 1 <= len(shape) <= MOST_RANK:
        raise _bad(f"shape has {len(shape)} sizes.", f"From 1 to {MOST_RANK}.", "shape")
    for size in shape:
        if size > MOST_SIZE or size < 1 or size & (size - 1):
            raise _bad(
                f"shape is {list(shape)}.", f"Powers of two up to {MOST_SIZE}, as Triton's tensors have.", "shape"
            )
    make = _KINDS.get(kind)
    if make is None:
        raise LayoutError(
            "unsupported_layout", f"No maps of '{shown(kind)}'.", f"Allowed: {', '.join(_KINDS)}.", "text"
        )
    made = make(Read(kind, params), tuple(shape), element_bits)
    if made.sizes != tuple(shape):
        raise _bad(
            f"{kind} covers {list(made.sizes)}, the tensor is {list(shape)}.",
            "Give a layout of the tensor's rank and size.",
        )
    return made


def _combined(of_block: Linear, of_cluster: Linear, shape: tuple[int, ...], drop: bool = False) -> Linear:
    """One block's layout, grown or cut to its part of the shape, times that of the cluster."""
    cluster = of_cluster.cut(shape)
    part = [max(1, size // own) for size, own in zip(shape, cluster.sizes, strict=True)]
    return of_block.grown(part).cut(part, drop) * cluster


def _names(*parts: Linear) -> Linear:
    """A product with all indices there, in Triton's order."""
    out = parts[0]
    for part in parts[1:]:
        out = out * part
    return out


def _blocked(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    order = read.order("order", rank)
    sizes = [read.sizes(name, rank) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA")]
    _lanes(read, sizes[1])
    made = _names(*(block(name, size, order) for name, size in zip(INDICES, sizes, strict=False)))
    return _combined(made, read.cga(rank), shape, True)


def _lanes(read: Read, threads: Sequence[int]) -> None:
    if prod(threads) != LANES:
        raise _bad(
            f"{read.kind}: threadsPerWarp {list(threads)} has {prod(threads)} lanes.", f"Their product is {LANES}."
        )


def _tile(tile: Sequence[int], width: int, order: Sequence[int], grows: Sequence[int]) -> Linear:
    """The fragment of one mma: width registers, four lanes and repetitions along the fast axis, eight lanes and
    repetitions along the other."""
    rank = len(order)
    inner, outer = order[0], order[1]
    if tile[outer] % 8 or tile[inner] % (4 * width):
        raise _bad(
            f"The instruction's tile {list(tile)} is no multiple of 8 × {4 * width}.", "Give instrShape [16, 8]."
        )
    parts = (
        ("register", width, inner), ("lane", 4, inner), ("lane", 8, outer), ("register", tile[outer] // 8, outer),
        ("register", tile[inner] // (4 * width), inner),
    )  # fmt: skip
    out = copies("register", 1, rank, grows)
    for name, count, axis in parts:
        out = out * identity(name, count, axis, rank, grows)
    return out


def _mma_shape(read: Read, rank: int) -> tuple[int, tuple[int, int]]:
    """(version, rows and columns of one warp's instruction)."""
    version = read.number("versionMajor", 1, 9)
    if version not in (2, 3):
        raise LayoutError(
            "unsupported_layout",
            f"nvidia_mma of versionMajor {version} has no maps here.",
            "versionMajor 2 is mma.sync, 3 is wgmma.",
            "text",
        )
    given = read.params.get("instrShape") or [1] * (rank - 2) + [16, 8]
    shape = [1 if n == 0 else n for n in given] if isinstance(given, list | tuple) else []
    if not all(type(n) is int and 0 < n <= 256 for n in shape) or len(shape) < 2:
        raise _bad(f"nvidia_mma: instrShape is {shown(str(given), 60)}.", "[16, 8], or [16, N, K] of version 3.")
    rows, cols = (shape[0], shape[1]) if version == 3 else (shape[-2], shape[-1])
    return version, (rows, cols)


def _mma(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    if rank < 2:
        raise _bad("nvidia_mma lays out matrices.", "Give a shape of two sizes or more.", "shape")
    version, (rows, cols) = _mma_shape(read, rank)
    order = tuple(reversed(range(rank)))
    made = _tile([1] * (rank - 2) + [rows, cols], 2, order, order)
    warps = read.sizes("warpsPerCTA", rank)
    made = made * block("warp", warps, _warp_order(rank, version), order)
    return _combined(made, read.cga(rank), shape)


def _warp_order(rank: int, version: int) -> tuple[int, ...]:
    """mma.sync numbers warps along n first, wgmma along m."""
    found = list(reversed(range(rank)))
    if version == 3:
        found[0], found[1] = found[1], found[0]
    return tuple(found)


def _parent(read: Read) -> Read:
    given = read.params.get("parent")
    if not isinstance(given, Mapping) or "attribute" not in given:
        raise _bad(f"{read.kind}: parent is {shown(str(given), 60)}.", "Paste the line that defines it, too.")
    return Read(str(given["attribute"]), given["params"])


def _dot(read: Read, shape: tuple[int, ...], element_bits: int) -> Linear:
    parent, rank = _parent(read), len(shape)
    operand = read.number("opIdx", 0, 1)
    if rank < 2:
        raise _bad("dot_op lays out matrices.", "Give a shape of two sizes or more.", "shape")
    k = rank - 1 if operand == 0 else rank - 2
    order = tuple(reversed(range(rank)))
    if operand:  # k first, then n, then the batch
        order = (order[1], order[0], *order[2:])
    if parent.kind == "blocked":
        return _dot_of_blocked(parent, shape, k)
    if parent.kind != "nvidia_mma":
        raise LayoutError(
            "unsupported_layout",
            f"dot_op of '{shown(parent.kind)}' has no maps here.",
            "A parent of blocked or nvidia_mma.",
            "text",
        )
    version, _ = _mma_shape(parent, rank)
    if version == 3 and operand:
        raise _bad("dot_op: B of wgmma lies in shared memory.", "opIdx = 0, or a parent of versionMajor 2.")
    width = log2(read.number("kWidth", 1, 32, max(1, 32 // element_bits)))
    tile = [1] * (rank - 2) + ([16, 8 << width] if operand == 0 else [8 << width, 8])
    warps, warp_order = parent.sizes("warpsPerCTA", rank), _warp_order(rank, version)
    made = _tile(tile, 1 << width, order, order)
    made = made * _broadcast("warp", warps, warp_order, k, order)
    return _combined(made, _without_k(parent.cga(rank), k), shape)


def _broadcast(name: str, sizes: Sequence[int], order: Sequence[int], k: int, grows: Sequence[int]) -> Linear:
    """An index that fills a shape, and repeats along k."""
    rank = len(sizes)
    out = Linear({name: ()}, (1,) * rank, tuple(grows))
    for axis in order:
        out = out * (
            copies(name, sizes[axis], rank, grows) if axis == k else identity(name, sizes[axis], axis, rank, grows)
        )
    return out


def _without_k(cluster: Linear, k: int) -> Linear:
    bases = tuple(tuple(0 if axis == k else v for axis, v in enumerate(basis)) for basis in cluster.bases["block"])
    return Linear({"block": bases}, tuple(1 if a == k else n for a, n in enumerate(cluster.sizes)), cluster.order)


def _dot_of_blocked(parent: Read, shape: tuple[int, ...], k: int) -> Linear:
    rank = len(shape)
    order = parent.order("order", rank)
    sizes = list(parent.sizes("sizePerThread", rank))
    lanes, warps = parent.sizes("threadsPerWarp", rank), parent.sizes("warpsPerCTA", rank)
    _lanes(parent, lanes)
    sizes[k] = shape[k]
    made = block("register", sizes, order)
    made = made * _broadcast("lane", lanes, order, k, order) * _broadcast("warp", warps, order, k, order)
    return _combined(made, _without_k(parent.cga(rank), k), shape)


def _slice(read: Read, shape: tuple[int, ...], element_bits: int) -> Linear:
    axis = read.number("dim", 0, len(shape))
    parent = _parent(read)
    if parent.kind not in DISTRIBUTED:
        raise _bad(f"slice: its parent is '{shown(parent.kind)}'.", "A layout of threads.")
    whole = linear(parent.kind, parent.params, (*shape[:axis], 1, *shape[axis:]), element_bits)
    return whole.without(axis)


def _linear(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    bases = {name: read.bases(name, rank) for name in INDICES}
    if len(bases["lane"]) != log2(LANES):
        raise _bad(f"linear: lane has {len(bases['lane'])} bases.", f"Five: a warp has {LANES} lanes.")
    for basis in (basis for found in bases.values() for basis in found):
        if sum(v > 0 for v in basis) > 1 or any(v & (v - 1) for v in basis):
            raise _bad(
                f"linear: the basis {list(basis)} moves in more than one axis or bit.",
                "Each basis is a power of two in one axis, or zeros.",
            )
    sizes = _reached(bases, rank, read.kind)
    firsts = [next((axis for axis, v in enumerate(basis) if v), None) for basis in bases["register"]]
    order = tuple(dict.fromkeys([*(axis for axis in firsts if axis is not None), *reversed(range(rank))]))
    made = Linear(bases, sizes, order)
    return made.grown(shape).cut(shape, True)


def _reached(bases: Mapping[str, Sequence[Basis]], rank: int, kind: str) -> tuple[int, ...]:
    """The sizes that bases reach; LayoutError where some coordinate is never reached."""
    every = [basis for found in bases.values() for basis in found]
    sizes = tuple(1 << max([v.bit_length() for v in (basis[axis] for basis in every)] or [0]) for axis in range(rank))
    vectors, pivots = [sum(v << (17 * axis) for axis, v in enumerate(basis)) for basis in every], 0
    while vectors := [v for v in vectors if v]:
        top = max(vectors)
        high = 1 << (top.bit_length() - 1)
        vectors = [v ^ top if v & high and v != top else v for v in vectors if v != top]
        pivots += 1
    if 1 << pivots < prod(sizes):
        raise _bad(
            f"{kind}: its bases reach {1 << pivots} of the {prod(sizes)} elements of {list(sizes)}.",
            "Every element needs a register, lane, warp or block that holds it.",
        )
    return sizes


# shared memory --------------------------------------------------------------------------------------------------------


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
        raise _bad(
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
        raise _bad(f"nvmma_shared: swizzlingByteWidth is {width}.", "Allowed: 0, 32, 64, 128.")
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
        raise _bad(
            "nvmma_shared swizzles matrices.", "Give a shape of two sizes or more, or swizzlingByteWidth = 0.", "shape"
        )
    lines = prod(tma[:-1])
    if tma[-1] < wide or lines < 8:
        raise _bad(
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
    return Linear(bases, _reached(bases, rank, read.kind), tuple(reversed(range(rank))))


def _padded(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    padding(read.params)
    if "offset" in read.params:
        bases = {name: read.bases(name, rank) for name in ("offset", "block")}
        return Linear(bases, _reached(bases, rank, read.kind), tuple(reversed(range(rank))))
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
        raise _bad(f"padded_shared: its intervals are {shown(str(given), 60)}.", "Pairs as [64:+8].")
    for interval, more in given:
        log2(interval), log2(more)
    return tuple((interval, more) for interval, more in given)


_KINDS = {
    "blocked": _blocked, "nvidia_mma": _mma, "dot_op": _dot, "slice": _slice, "linear": _linear,
    "swizzled_shared": _swizzled, "nvmma_shared": _nvmma, "padded_shared": _padded, "shared_linear": _shared_linear,
}  # fmt: skip
