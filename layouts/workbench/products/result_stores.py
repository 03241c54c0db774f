"""Check that threads store each element of D where its row and its column belong.

The address must be linear in the row of A and the column of B that an element was made of, as far as their places in
global memory are known, else in its row and column within the tile of one instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.source_text import WORD_START, is_kernel_head
from lanescope.deadline import OverdueError
from lanescope.errors import LayoutError
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import run_kernels
from lanescope.reader.threads.language.quotients import split_quotients
from lanescope.reader.threads.memory.records import ResultStore
from lanescope.reader.threads.memory.storage import OPEN, Ints, spread_coefficient
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, find_mma, locate_operand
from lanescope.workbench.products.stored_elements import Floats, StoredElements, TilePlaces, list_pieces
from lanescope.workbench.repair.blamed_numbers import list_local_values
from lanescope.workbench.repair.blamed_terms import list_terms
from lanescope.workbench.results import CheckFinding, Span, keep_common
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

TITLES = {"result_misplaced": "Elements of D are stored in the wrong row or column"}
LEAST = 64  # elements that are compared
MOST = 1 << 16
_TOLERANCE = 1e-3
_PRODUCT = re.compile(rf"{WORD_START}mma\s*\.\s*sync|wgmma\s*\.\s*mma_async")
_IMAGE = re.compile(r"bulk\.tensor\.[45]d|bulk_tensor_[45]d")
_TRIANGLE = re.compile(r"\b(\w+)\s*\*\s*\(\s*\1\s*[-+]\s*1\s*\)\s*(?:/\s*2|>>\s*1)")
_TILE_PITCH = 128  # bytes of a row of a tile, at most
_MOST_REPEATED = 8  # rows of D of one of A: more may be a tile of the wrong rows
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Stored elements: where each is stored and in how many bytes, its row and its column as positions, its tile, its
    store, and its thread and its byte among the registers of D.
    """

    address: Floats
    size: Floats
    row: Floats
    column: Floats
    tile: Ints
    site: Ints
    register: Floats

    def select(self, chosen: NDArray[np.bool_]) -> _Points:
        return _Points(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def is_dump(self) -> bool:
        """Return whether threads store their registers one after the other, for code that knows where each belongs."""
        return replace(self, row=self.register[:, :1], column=self.register[:, 1:]).is_linear()

    def is_linear(self, within: Ints | None = None, *, rows: bool = True, columns: bool = True) -> bool:
        """Return whether addresses are linear in the positions, with an offset of each group of points.

        within: the groups; the tiles by default.
        """
        features = np.concatenate([*([self.row] if rows else []), *([self.column] if columns else [])], axis=1)
        groups = self.tile if within is None else within
        x, y = _center(features, groups), _center(self.address, groups)
        scale = np.maximum(np.abs(x).max(axis=0, initial=0), 1)
        fit, *_ = np.linalg.lstsq(x / scale, y, rcond=None)
        return bool(np.abs(x / scale @ fit - y).max(initial=0) < _TOLERANCE)

    def is_right(self) -> bool:
        """Return whether elements are where they belong: groups of 8 columns may be apart, if no two elements share an
        address.
        """
        if self.is_linear():
            return True
        if self.column.shape[1] > 1 or not self.is_linear(_number_groups(self.tile, self.column // 8)):
            return False
        return not self.is_shared()

    def is_shared(self) -> bool:
        """Return whether two elements of a tile have one address."""
        return len(np.unique(_number_groups(self.tile, self.address))) != len(self.tile)

    def is_rearranged(self) -> bool:
        """Return whether elements have one of the other orders in which D is stored."""
        return self.is_dump() or self.is_blocked() or self.is_deinterleaved()

    def is_blocked(self) -> bool:
        """Return whether blocks of 8 × 8 elements lie apart, in the order of their rows and of their columns."""
        blocks = _number_groups(self.tile, self.row // 8, self.column // 8)
        apart = len(np.unique(_number_groups(self.address))) == len(self.tile)
        ordered = self._rises(self.row, self.column) and self._rises(self.column, self.row)
        return apart and ordered and self.is_linear(blocks)

    def is_deinterleaved(self) -> bool:
        """Return whether even and odd columns lie apart, such as real and imaginary parts, each kind without gaps."""
        parity = _number_groups(self.tile, self.column % 2)
        kinds = _number_groups(parity, self.row)
        order = np.lexsort((self.column[:, 0], kinds))
        step = np.diff(self.address[order], axis=0)[np.diff(kinds[order]) == 0]
        dense = (step[:, :1] == self.size.min()).all() and not step[:, 1:].any()
        return bool(dense) and self.is_linear(parity) and not self.is_shared()

    def is_tiled(self) -> bool:
        """Return whether rows lie so near that D is stored in small tiles, one after the other."""
        x, y = _center(self.row, self.tile), _center(self.address, self.tile)
        fit, *_ = np.linalg.lstsq(x, y, rcond=None)
        near = 0 < abs(fit[:, 0]).max(initial=0) <= _TILE_PITCH and abs(fit[:, 1:]).max(initial=0) < _TOLERANCE
        return bool(near) and not self.is_shared()

    def is_gathered(self) -> bool:
        """Return whether some rows of D in sequence are all of one row of A, or columns of one column of B."""
        return self._repeats(self.row, self.column) or self._repeats(self.column, self.row)

    def _repeats(self, along: Floats, other: Floats) -> bool:
        rest, numbers = _number_groups(other), _number_groups(along)
        order = np.lexsort((*self.address.T, rest))
        return are_repeated(_number_groups(rest, numbers)[order])

    def _rises(self, along: Floats, other: Floats) -> bool:
        """Return whether addresses rise along one position where the other one is the same."""
        rest = _number_groups(self.tile, other)
        order = np.lexsort((along[:, 0], rest))
        same = np.diff(rest[order]) == 0
        return bool((np.diff(self.address[order], axis=0)[same] >= 0).all())


def are_repeated(numbers: Ints) -> bool:
    """Return whether each number is there some times in sequence, and nowhere else.

    >>> are_repeated(np.array([4, 4, 1, 1])), are_repeated(np.array([4, 1, 4, 1])), are_repeated(np.array([4, 1]))
    (True, False, False)
    """
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1], [True]]))
    lengths = np.diff(starts)
    single = len(lengths) == len(np.unique(numbers))
    return bool(single and 1 < lengths[0] <= _MOST_REPEATED and (lengths == lengths[0]).all())


def _center(values: Floats, groups: Ints) -> Floats:
    """Subtract the mean of each group."""
    _, number, count = np.unique(groups, return_inverse=True, return_counts=True)
    means = [np.bincount(number, column) / count for column in values.T]
    return values - np.stack(means, axis=1)[number]


def find_misplaced_results(run: KernelRunner) -> Iterator[CheckFinding]:
    """Yield the stores of a kernel that put elements of D where they do not belong, one for each array."""
    if run.open_outputs - {store.site for store in run.outputs}:  # of a later tile, addresses may be open
        return
    in_tile, located = TilePlaces(run), _OriginPlaces(run)
    for array in dict.fromkeys(store.array for store in run.outputs):
        stores = [store for store in run.outputs if store.array == array]
        sites = list(dict.fromkeys(store.site for store in stores))
        points, origins = (_collect_points(run, stores, sites, places) for places in (in_tile, located))
        judged = _choose_points(run, points, origins)
        if judged is not None and len(judged.tile) >= LEAST and not judged.is_right():
            yield _describe(run, array, judged, sites)


def _choose_points(run: KernelRunner, points: _Points | None, origins: _Points | None) -> _Points | None:
    """Return the elements by which an array is judged: as the instruction places them in D, or by the rows of A and the
    columns of B that they are products of (origins); None if their order may be meant.
    """
    if _may_be_meant(run, points, origins):
        return None
    if points is None or points.is_right():
        swizzled = "^" in blank_text(run.text)  # then columns may depend on where arrays begin in shared memory
        return None if swizzled else origins
    if points.is_rearranged() or (_IMAGE.search(run.text) and not points.is_shared()):  # rows are pixels of a tile
        return None
    if origins is not None:  # rows of A or columns of B may be permuted as those of D are
        return None if origins.is_right() else points
    return points if points.is_shared() or not _has_loaded_operands(run) else None


def _may_be_meant(run: KernelRunner, points: _Points | None, origins: _Points | None) -> bool:
    """Return whether D may be a packed triangle, in small tiles in sequence, or of one row of A in a few of its own."""
    if _TRIANGLE.search(blank_text(run.text)):
        return True
    if origins is None or origins.is_shared():
        return False
    return origins.is_gathered() or (points is not None and points.is_right() and points.is_tiled())


def _has_loaded_operands(run: KernelRunner) -> bool:
    """Return whether threads load from global memory what may be rows of A or columns of B in any order."""
    return len(run.records) > OPEN + 1


def _describe(run: KernelRunner, array: str, points: _Points, sites: Sequence[Span]) -> CheckFinding:
    row_groups = _number_groups(points.tile, points.row)
    column_groups = _number_groups(points.tile, points.column)
    columns_fit = points.is_linear(row_groups, rows=False)
    rows_fit = points.is_linear(column_groups, columns=False)
    what = "rows" if columns_fit and not rows_fit else "columns" if rows_fit and not columns_fit else ""
    removable = [n for n in range(len(sites)) if len(sites) > 1 and points.select(points.site != n).is_linear()]
    place = sites[removable[-1]] if removable else _find_term(run.text, sites[0], what) if what else sites[0]
    named = f"in the wrong {what}" if what else "in the wrong places"
    message = (
        f"Elements of D are stored {named} of {array}: the addresses do not follow the rows and columns that the lanes"
        " and registers of the instruction hold."
    )
    return CheckFinding("result_misplaced", message, place, of_result=True)


def _number_groups(*keys: NDArray[np.generic]) -> Ints:
    """Return the number of the group that each point is in: those with equal keys."""
    groups = np.zeros(len(keys[0]), np.int64)
    for column in (column for key in keys for column in key.reshape(len(key), -1).T):
        values, number = np.unique(column, return_inverse=True)
        groups = np.unique(groups * len(values) + number, return_inverse=True)[1]
    return groups


# places ---------------------------------------------------------------------------------------------------------------


def _find_term(text: str, site: Span, what: str) -> Span:
    """Return the term of a store's index that gives the row or the column, through the variable that holds it."""
    blank = blank_text(text)
    index = blank.rfind("[", *site), blank.rfind("]", *site)
    inside = (index[0] + 1, index[1]) if site[0] <= index[0] < index[1] else site
    terms = [term for term in list_terms(blank, inside) if ("*" in blank[slice(*term)]) == (what == "rows")]
    function = find_enclosing_function(blank, site[0])
    if len(terms) != 1 or function is None:
        return site
    values = [list_local_values(blank, function, name, site) for name in set(_WORD.findall(blank[slice(*terms[0])]))]
    known = [of_name[0] for of_name in values if len(of_name) == 1]
    return known[0] if len(known) == 1 else terms[0]


# points ---------------------------------------------------------------------------------------------------------------


class _OriginPlaces(TilePlaces):
    """Places in global memory of the rows of A and the columns of B that elements of D are made of."""

    def __init__(self, run: KernelRunner) -> None:
        super().__init__(run)
        self.origins: dict[int, dict[int, tuple[Floats, Floats]]] = {}
        self.names: dict[str, list[str]] = {}

    def find(self, one: StoredElements) -> tuple[Floats, Floats, Ints] | None:
        found = self.find_coordinates(one.record, one.thread, one.byte)
        if found is None:
            return None
        if one.record not in self.origins:
            self.origins[one.record] = self._locate(one.record)
        row, column, lanes = found
        numbers, number = np.unique(one.thread // lanes, return_inverse=True)
        warps = [warp for n in numbers if (warp := self.origins[one.record].get(int(n))) is not None]
        if len(warps) != len(numbers):
            return None
        rows, columns = (np.stack(places) for places in zip(*warps, strict=True))
        return rows[number, row], columns[number, column], np.zeros(len(row), np.int64)

    def _locate(self, record: int) -> dict[int, tuple[Floats, Floats]]:
        """Return the places of the rows of A and the columns of B in each warp, {} if one is not known."""
        result = self.run.results[-record - 1]
        instruction = self.find_instruction(record)
        if result.use is None or instruction is None or find_mma(result.opcode) is None:
            return {}
        sides = []
        for name in "ab":
            places = self._list_places(locate_operand(self.run, result.use, instruction, name))
            if places is None:
                return {}
            sides.append(places)
        active = [n for n in range(self.run.threads // 32) if result.use.active[32 * n : 32 * n + 32].all()]
        return {n: (a, b) for n, a, b in zip(active, *sides, strict=True)}

    def _list_places(self, operand: ArrivedOperand) -> list[Floats] | None:
        """Return the places of an operand's rows in each warp, the strides in the same order in all products."""
        warps = operand.warps or ()
        names = self.names.setdefault(operand.name, list(warps[0].names) if warps else [])
        if not warps or any(set(warp.names) != set(names) or not warp.separable for warp in warps):
            return None
        return [
            np.stack([warp.places[warp.names.index(name)][:, 0] for name in names], axis=1).astype(np.float64)
            for warp in warps
        ]


def _collect_points(
    run: KernelRunner, stores: Sequence[ResultStore], sites: Sequence[Span], placed: TilePlaces
) -> _Points | None:
    """Return the elements that an array gets; None if something of them is not known."""
    names = sorted({split_quotients(name)[0] for store in stores for name in store.offset.terms} | {()})
    parts = []
    for store in stores:
        address = np.zeros((run.threads, len(names)))
        for name, factor in store.offset.terms.items():
            product, part = split_quotients(name)  # N / 2 words of two elements are N
            address[:, names.index(product)] += spread_coefficient(factor, run.threads) * part
        for one in list_pieces(store):
            found = placed.find(one)
            if found is None:
                return None
            at = address[one.lanes]
            at[:, names.index(())] += one.first
            site = np.full(len(at), sites.index(store.site))
            size = np.full((len(at), 1), store.size, np.float64)
            parts.append((at, size, *found, site, np.stack([one.thread, one.byte], axis=1).astype(np.float64)))
        if sum(len(part[-1]) for part in parts) > MOST:
            return None
    if len({(row.shape[1], column.shape[1]) for _, _, row, column, *_ in parts}) != 1:
        return None
    points = _Points(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    elements = _number_groups(points.tile, points.row, points.column)
    stored_once = len(np.unique(elements)) == len(elements)
    # as many as there are, some of them twice: others are left out
    return points if stored_once or placed.count_elements(stores) == len(elements) else None


def find_result_mistakes(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord]
) -> list[CheckFinding]:
    """Find stores of D that are wrong in the kernels of a text, for every choice of open #if conditions."""
    if not is_kernel_head(text) or not _PRODUCT.search(text):
        return []
    try:
        branches = [
            [finding for run in runs if run.complete for finding in find_misplaced_results(run.runner)]
            for runs in run_kernels(text, macros, recorded)
        ]
    except (LayoutError, OverdueError):
        return []
    return keep_common(branches)
