"""Check which element of an array each element of D is combined with, such as the scale of its row or a bias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from lanescope.reader.threads.memory.storage import OPEN, Ints, Mask, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.stored_elements import TilePlaces
from lanescope.workbench.results import Span

SIZES = 1, 2, 4, 8  # bytes of an element
_LEAST = 0.5  # of the elements of a block that take their own factors
GROUPS = 1, 32, 64, 128, 256  # rows, columns or elements along K that share a scale


class Points(NamedTuple):
    """Elements of D and what they are combined with: an array, and for each its offset in bytes. site: of the load."""

    array: str
    rows: Ints
    columns: Ints
    offsets: Ints
    site: Span


class MatrixPoints(NamedTuple):
    """Points of the sum from a place along K on, in one block. depth: of the matrices along K."""

    points: Points
    block: Block
    k: int = 0
    depth: int = 0


UNNAMED = "an array"  # of which elements are not known


class OtherFactor(NamedTuple):
    """An array of which elements of D take elements of others. site: the load of those, if most take their own."""

    array: str
    site: Span | None = None

    def describe(self) -> str:
        which = "that are not of their rows or columns" if self.array != UNNAMED else "that are not known"
        return f"its elements are combined with elements of {self.array} {which}"


def list_factors(run: KernelRunner) -> Iterator[tuple[int, int, Points]]:
    """Yield (record, warp, points) of what elements of D are combined with: rows and columns within the instruction."""
    places = TilePlaces(run)
    for use in run.factors:
        known = use.active & (use.result.record[:, 0] < 0)
        for record in np.unique(use.result.record[known, 0]).tolist():
            lanes = np.flatnonzero(known & (use.result.record[:, 0] == record))
            found = places.find_coordinates(record, use.result.thread[lanes, 0], use.result.byte[lanes, 0])
            factor = use.factor.cut_bytes(0, 1).select_threads(lanes)
            is_loaded = bool((factor.record > OPEN).all())
            offsets = dict(list_offsets(run.records, factor, run.threads)) if is_loaded else {}
            warps = use.result.thread[lanes, 0] // 32
            for warp in np.unique(warps).tolist():
                mine = warps == warp
                if found is None or set(offsets) != {""}:
                    nothing = np.zeros(np.count_nonzero(mine), np.int64)
                    yield record, warp, Points("", nothing, nothing, nothing, (0, 0))
                    continue
                load = run.records[int(factor.record[mine][0, 0])]
                site = (*load.calls, load.site)[0]
                yield record, warp, Points(load.array, found[0][mine], found[1][mine], offsets[""][mine, 0], site)


def find_other_factor(points: Iterable[MatrixPoints], sizes: tuple[int, int]) -> OtherFactor | None:
    """Return the array of which elements of D take elements that are not of their row, their column or their place, of
    one matrix or of the same one of a batch; None if there is none. sizes: the rows and columns of D.
    """
    arrays: Mapping[str, list[MatrixPoints]] = defaultdict(list)
    for one in points:
        arrays[one.points.array].append(one)
    for array, of_array in arrays.items():
        offsets = np.concatenate([one.points.offsets for one in of_array])
        if not array:
            return OtherFactor(UNNAMED)
        if len(np.unique(offsets)) == 1:
            continue
        if not any(np.array_equal(offsets, of) for of in _list_own_offsets(of_array, sizes)):
            follows = (offsets == of for of in _list_own_offsets(of_array, sizes))
            return OtherFactor(array, _find_odd_load(of_array, max(follows, key=np.count_nonzero)))
    return None


def _list_own_offsets(of_array: Sequence[MatrixPoints], sizes: tuple[int, int]) -> Iterator[Ints]:
    """Yield the bytes at which the elements of an array may be if each is of the place, or of a line, of its element:
    hundreds of long arrays, of which the first ones are those of most kernels.
    """
    rows, columns = (np.concatenate([one.points[n] for one in of_array]) for n in (1, 2))
    counts = [len(one.points.rows) for one in of_array]
    matrix, k = (np.repeat(of, counts) for of in ([one.block[2] for one in of_array], [one.k for one in of_array]))
    lines = list(zip((rows, columns), sizes, strict=True))
    for at in chain(_list_places(lines, matrix), _list_scales(lines, k, of_array[0].depth)):
        yield from (at * size for size in SIZES)


def _find_odd_load(of_array: Sequence[MatrixPoints], follows: Mask) -> Span | None:
    """Return the load of the first elements that do not follow, if at least half of them do in every block."""
    parts = np.split(follows, np.cumsum([len(one.points.rows) for one in of_array])[:-1])
    of_block: Mapping[Block, list[Mask]] = defaultdict(list)
    for one, part in zip(of_array, parts, strict=True):
        of_block[one.block].append(part)
    shares = [np.concatenate(of).mean() for of in of_block.values()]
    odd = (one.points.site for one, part in zip(of_array, parts, strict=True) if not part.all())
    return next(odd) if min(shares) >= _LEAST else None


def _list_places(lines: Sequence[tuple[Ints, int]], matrix: Ints) -> Iterator[Ints]:
    """Yield the numbers of an element for each place, each line, or each group of lines, of one matrix or of those of a
    batch. lines: rows and columns, with how many D has.
    """
    (rows, height), (columns, width) = lines
    whole = rows * width + columns, columns * height + rows
    yield from whole
    yield from (matrix * height * width + at for at in whole)
    for of, size in lines:
        yield matrix * size + of
        yield from (of // group for group in GROUPS)


def _list_scales(lines: Sequence[tuple[Ints, int]], k: Ints, depth: int) -> Iterator[Ints]:
    """Yield the numbers of a scale for each group of lines and of elements along K, in either order."""
    for step in GROUPS[1:] if k.any() else ():
        for group in GROUPS:
            for of, size in lines:
                yield k // step * -(-size // group) + of // group
                yield of // group * -(-depth // step) + k // step
