"""Layouts of threads: blocked, nvidia_mma, dot_op, slice and linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from lanescope.errors import LayoutError
from lanescope.reading import shown
from lanescope.triton.linear import Linear, block, copies, identity, log2
from lanescope.triton.parameters import (
    DISTRIBUTED,
    INDICES,
    LANES,
    Maker,
    Read,
    bad,
    made,
    reached,
)

WAVE = 64  # lanes of AMD's CDNA GPUs


def _combined(of_block: Linear, of_cluster: Linear, shape: tuple[int, ...], drop: bool = False) -> Linear:
    """Return one block's layout, grown or cut to its part of the shape, times that of the cluster."""
    cluster = of_cluster.cut(shape)
    part = [max(1, size // own) for size, own in zip(shape, cluster.sizes, strict=True)]
    return of_block.grown(part).cut(part, drop) * cluster


def _names(*parts: Linear) -> Linear:
    """Return a product with all indices, in Triton's order."""
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
    if prod(threads) == WAVE:
        raise LayoutError(
            "unsupported_layout",
            f"{read.kind}: threadsPerWarp {list(threads)} has {WAVE} lanes: one of AMD's waves.",
            f"A warp of NVIDIA's GPUs has {LANES}.",
            "text",
        )
    if prod(threads) != LANES:
        raise bad(
            f"{read.kind}: threadsPerWarp {list(threads)} has {prod(threads)} lanes.", f"Their product is {LANES}."
        )


def _tile(tile: Sequence[int], width: int, order: Sequence[int], grows: Sequence[int]) -> Linear:
    """Return the fragment of one mma.

    width registers, four lanes and repetitions along the fast axis, eight lanes and repetitions along the other.
    """
    rank = len(order)
    inner, outer = order[0], order[1]
    if tile[outer] % 8 or tile[inner] % (4 * width):
        raise bad(
            f"The instruction's tile {list(tile)} is not a multiple of 8 × {4 * width}.", "Give instrShape [16, 8]."
        )
    parts = (
        ("register", width, inner),
        ("lane", 4, inner),
        ("lane", 8, outer),
        ("register", tile[outer] // 8, outer),
        ("register", tile[inner] // (4 * width), inner),
    )
    out = copies("register", 1, rank, grows)
    for name, count, axis in parts:
        out = out * identity(name, count, axis, rank, grows)
    return out


def _mma_shape(read: Read, rank: int) -> tuple[int, tuple[int, int]]:
    """Return (version, rows and columns of one warp's instruction)."""
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
        raise bad(f"nvidia_mma: instrShape is {shown(str(given), 60)}.", "[16, 8], or [16, N, K] of version 3.")
    rows, cols = (shape[0], shape[1]) if version == 3 else (shape[-2], shape[-1])
    return version, (rows, cols)


def _mma(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    if rank < 2:
        raise bad("nvidia_mma lays out matrices.", "Give a shape of two sizes or more.", "shape")
    version, (rows, cols) = _mma_shape(read, rank)
    order = tuple(reversed(range(rank)))
    made = _tile([1] * (rank - 2) + [rows, cols], 2, order, order)
    warps = read.sizes("warpsPerCTA", rank)
    made = made * block("warp", warps, _warp_order(rank, version), order)
    return _combined(made, read.cga(rank), shape)


def _warp_order(rank: int, version: int) -> tuple[int, ...]:
    """Return the order of warps: mma.sync numbers them along n first, wgmma along m."""
    found = list(reversed(range(rank)))
    if version == 3:
        found[0], found[1] = found[1], found[0]
    return tuple(found)


def _parent(read: Read) -> Read:
    given = read.params.get("parent")
    if not isinstance(given, Mapping) or "attribute" not in given:
        raise bad(f"{read.kind}: parent is {shown(str(given), 60)}.", "Paste the line that defines it, too.")
    return Read(str(given["attribute"]), given["params"])


def _dot(read: Read, shape: tuple[int, ...], element_bits: int) -> Linear:
    parent, rank = _parent(read), len(shape)
    operand = read.number("opIdx", 0, 1)
    if rank < 2:
        raise bad("dot_op lays out matrices.", "Give a shape of two sizes or more.", "shape")
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
        raise bad("dot_op: B of wgmma lies in shared memory.", "opIdx = 0, or a parent of versionMajor 2.")
    width = log2(read.number("kWidth", 1, 32, max(1, 32 // element_bits)))
    tile = [1] * (rank - 2) + ([16, 8 << width] if operand == 0 else [8 << width, 8])
    warps, warp_order = parent.sizes("warpsPerCTA", rank), _warp_order(rank, version)
    made = _tile(tile, 1 << width, order, order)
    made = made * _broadcast("warp", warps, warp_order, k, order)
    return _combined(made, _without_k(parent.cga(rank), k), shape)


def _broadcast(name: str, sizes: Sequence[int], order: Sequence[int], k: int, grows: Sequence[int]) -> Linear:
    """Return an index that fills a shape, and repeats along k."""
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
        raise bad(f"slice: its parent is '{shown(parent.kind)}'.", "A layout of threads.")
    whole = made(THREADS, parent.kind, parent.params, (*shape[:axis], 1, *shape[axis:]), element_bits)
    return whole.without(axis)


def _linear(read: Read, shape: tuple[int, ...], _: int) -> Linear:
    rank = len(shape)
    bases = {name: read.bases(name, rank) for name in INDICES}
    if len(bases["lane"]) == log2(WAVE):
        raise LayoutError(
            "unsupported_layout",
            f"{read.kind}: lane has {log2(WAVE)} bases, those of AMD's waves of {WAVE} lanes.",
            f"A warp of NVIDIA's GPUs has {LANES}: five bases.",
            "text",
        )
    if len(bases["lane"]) != log2(LANES):
        raise bad(f"{read.kind}: lane has {len(bases['lane'])} bases.", f"Five: a warp has {LANES} lanes.")
    for basis in (basis for found in bases.values() for basis in found if read.kind == "linear"):
        if sum(v > 0 for v in basis) > 1 or any(v & (v - 1) for v in basis):
            raise bad(
                f"linear: the basis {list(basis)} moves in more than one axis or bit.",
                "Each basis is a power of two in one axis, or zeros.",
            )
    sizes = reached(bases, rank, read.kind)
    firsts = [next((axis for axis, v in enumerate(basis) if v), None) for basis in bases["register"]]
    order = tuple(dict.fromkeys([*(axis for axis in firsts if axis is not None), *reversed(range(rank))]))
    made = Linear(bases, sizes, order)
    return made.grown(shape).cut(shape, True)


THREADS: dict[str, Maker] = {
    "blocked": _blocked,
    "nvidia_mma": _mma,
    "dot_op": _dot,
    "slice": _slice,
    "linear": _linear,
    "generic_linear": _linear,
}
