"""How Triton 3.9 splits a product over blocks and warps, and the shape of its instruction.

Triton 3.9.0, as its wheel answers (tests/test_triton_dot.py): lib/Dialect/TritonNvidiaGPU/Transforms/PlanCTA.cpp,
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp and Utility.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.ptx.threads import WARP

Pair = tuple[int, int]
LEAST_PART, WIDEST_PART = 64, 128  # rows and columns of a block that Triton prefers
WIDEST_N = 256
INTEGER_N = 128  # wgmma of 8-bit integers: the widest power of two that Triton lists


def split_over_blocks(m: int, n: int, num_ctas: int) -> Pair:
    """Return (parts along M, parts along N) into which the blocks of a cluster split D.

    >>> split_over_blocks(256, 128, 2), split_over_blocks(128, 128, 2), split_over_blocks(128, 64, 2)
    ((2, 1), (1, 2), (2, 1))
    """
    rows = cols = 1
    part = WIDEST_PART
    while part >= LEAST_PART:
        rows = min(max(m // part, 1), num_ctas)
        cols = num_ctas // rows
        if n // cols >= LEAST_PART:
            break
        part //= 2
    return rows, cols


def split_over_warps(shape: Pair, num_warps: int) -> Pair:
    """Return mma.sync's warps along (M, N): the axis with more 16 × 8 fragments is halved first, M if equal.

    >>> split_over_warps((128, 128), 4), split_over_warps((16, 16), 8)
    ((2, 2), (4, 2))
    """
    rows, cols = (-(-size // unit) for size, unit in zip(shape, (16, 8), strict=True))
    warps = [1, 1]
    while warps[0] * warps[1] < num_warps:
        if rows >= cols:
            warps[0] *= 2
            rows = max(1, rows // 2)
        else:
            warps[1] *= 2
            cols //= 2
    return warps[0], warps[1]


def chain_warps(shape: Pair, num_warps: int) -> Pair:
    """Return mma.sync's warps along (M, N) for a tile that feeds another product: all along the longer axis."""
    return (num_warps, 1) if shape[0] >= shape[1] else (1, num_warps)


def pick_wgmma_columns(shape: Pair, num_warps: int, integers: bool) -> int:
    """Return N of the wgmma: the columns per warpgroup, up to the limit.

    >>> pick_wgmma_columns((128, 256), 4, False), pick_wgmma_columns((64, 256), 8, False)
    (256, 128)
    """
    warps_along_m = max(shape[0] // 16, 1)
    share = max(shape[1] // max(num_warps // warps_along_m, 1), 8)
    return min(share, shape[1], INTEGER_N if integers else WIDEST_N)


def split_over_warpgroups(shape: Pair, num_warps: int) -> Pair:
    """Return wgmma's warps along (M, N): warpgroups along M while there are rows for them, then along N.

    >>> split_over_warpgroups((128, 64), 8), split_over_warpgroups((64, 128), 8)
    ((8, 1), (4, 2))
    """
    rows, cols = 4, 1
    while rows * cols < num_warps:
        if shape[0] > 16 * rows:
            rows *= 2
        else:
            cols *= 2
    return rows, cols


def size_patch(shape: Pair, num_warps: int) -> Pair:
    """Return the rows and columns of D per thread for FMAs: 4, 2 or 1 each.

    >>> size_patch((128, 128), 4), size_patch((16, 16), 4), size_patch((2, 512), 1)
    ((4, 4), (1, 1), (2, 4))
    """
    each = shape[0] * shape[1] // (num_warps * WARP)
    size = 4 if each >= 16 else 2 if each >= 4 else 1
    return min(size, shape[0]), min(size, shape[1])


def make_blocked(part: Pair, sizes: Pair, num_warps: int) -> tuple[Pair, Pair, Pair]:
    """Return sizePerThread, threadsPerWarp and warpsPerCTA of the blocked layout for FMAs, columns fastest.

    part: D of one block; sizes: the result of `size_patch`.

    >>> make_blocked((128, 128), (4, 4), 4)
    ((4, 4), (1, 32), (4, 1))
    """
    along = min(max(part[1] // sizes[1], 1), num_warps * WARP)
    lanes = min(along, WARP)
    warps = min(max(along // lanes, 1), num_warps)
    return sizes, (WARP // lanes, lanes), (num_warps // warps, warps)


def format_cluster(split: Sequence[int]) -> str:
    """Format the CGALayout attribute of a split over blocks, columns first; "" for one block.

    >>> format_cluster((2, 2)), format_cluster((1, 1))
    (', CGALayout = [[0, 1], [1, 0]]', '')
    """
    bases = [[0, 1 << bit] for bit in range(split[1].bit_length() - 1)]
    bases += [[1 << bit, 0] for bit in range(split[0].bit_length() - 1)]
    return f", CGALayout = {bases}" if bases else ""
