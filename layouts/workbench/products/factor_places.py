"""Check which element of an array each element of D is combined with, such as the scale of its row or a bias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from lanescope.reader.threads.memory.storage import OPEN, Ints, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.stored_elements import TilePlaces

Points = tuple[str, Ints, Ints, Ints]  # an array, rows and columns of D, offsets in bytes
MatrixPoints = tuple[Points, int]  # and the matrix of a batch
SIZES = 1, 2, 4, 8  # bytes of an element
GROUPS = 1, 32, 64, 128, 256  # rows or columns that share a scale


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
        arrays[one[0][0]].append(one)
    for array, of_array in arrays.items():
        rows, columns, offsets = (np.concatenate([one[n] for one, _ in of_array]) for n in (1, 2, 3))
        matrix = np.concatenate([np.full(len(one[1]), number) for one, number in of_array])
        if not array or not (len(np.unique(offsets)) == 1 or _follows(offsets, (rows, columns), matrix, sizes)):
            return array or "an array"
    return ""


def _follows(offsets: Ints, lines: tuple[Ints, Ints], matrix: Ints, sizes: tuple[int, int]) -> bool:
    """Return whether offsets are those of an element for each place, each line, or each group of lines, of one matrix
    or of those of a batch.
    """
    whole = [lines[0] * sizes[1] + lines[1], lines[1] * sizes[0] + lines[0]]
    of_batch = [matrix * sizes[0] * sizes[1] + at for at in whole]
    of_batch += [matrix * size + of for of, size in zip(lines, sizes, strict=True)]
    groups = [of // group for of in lines for group in GROUPS]
    return any(np.array_equal(offsets, at * size) for at in (*whole, *of_batch, *groups) for size in SIZES)
