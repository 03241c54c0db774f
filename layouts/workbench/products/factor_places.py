"""Check which element of an array each element of D is combined with, such as the scale of its row or a bias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lanescope.reader.threads.memory.storage import OPEN, Ints, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.stored_elements import TilePlaces

Points = tuple[str, Ints, Ints, Ints]  # an array, rows and columns of D, offsets in bytes
SIZES = 1, 2, 4, 8  # bytes of an element
GROUPS = 1, 32, 64, 128, 256  # rows, columns or elements along K that share a scale


class MatrixPoints(NamedTuple):
    """Points of the sum from a place along K on, in one matrix of a batch. depth: of the matrices along K."""

    points: Points
    matrix: int
    k: int = 0
    depth: int = 0


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
                    yield record, warp, ("", nothing, nothing, nothing)
                    continue
                array = run.records[int(factor.record[mine][0, 0])].array
                yield record, warp, (array, found[0][mine], found[1][mine], offsets[""][mine, 0])


def find_other_factor(points: Iterable[MatrixPoints], sizes: tuple[int, int]) -> str:
    """Return the array of which elements of D take elements that are not of their row, their column or their place, of
    one matrix or of the same one of a batch; "" if there is none. sizes: the rows and columns of D.
    """
    arrays: Mapping[str, list[MatrixPoints]] = defaultdict(list)
    for one in points:
        arrays[one.points[0]].append(one)
    for array, of_array in arrays.items():
        rows, columns, offsets = (np.concatenate([one.points[n] for one in of_array]) for n in (1, 2, 3))
        counts = [len(one.points[1]) for one in of_array]
        matrix, k = (np.repeat([one[n] for one in of_array], counts) for n in (1, 2))
        lines = list(zip((rows, columns), sizes, strict=True))
        every = (*_list_places(lines, matrix), *_list_scales(lines, k, of_array[0].depth))
        follows = any(np.array_equal(offsets, at * size) for at in every for size in SIZES)
        if not array or not (len(np.unique(offsets)) == 1 or follows):
            return array or "an array"
    return ""


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
