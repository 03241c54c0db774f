"""Find matrices of a product whose lines are another size of the product apart than they are long.

`row * N + k` and `row * K + k` both address rows and columns, but only one is the layout of the matrix. The kernel
tells how long a line is: its loop along K ends at a size, bounds and the grid limit rows and columns, and A, B and D of
one product share their sizes. Another pitch is right if its name says that it is a leading dimension, wrong if it is
the size of another dimension, and else not determined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.cute.open_strides import TensorLine
from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.memory.records import MmaUse, ResultStore
from lanescope.reader.threads.memory.storage import Ints, spread_coefficient
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, locate_descriptor
from lanescope.workbench.fragments.thread_gaps import PITCH_OPEN
from lanescope.workbench.products.other_bounds import find_other_bounds
from lanescope.workbench.products.pitch_places import Place, ProductMatrix, find_pitch
from lanescope.workbench.products.product_sizes import (
    ProductSizes,
    Tokens,
    find_only_size,
    is_count,
    is_leading,
    is_size,
    shorten_name,
)
from lanescope.workbench.products.stored_elements import locate_stores
from lanescope.workbench.results import CheckFinding, Span

TITLES = {"pitch_of_other_size": "The pitch of a matrix is the size of another dimension"}
Pair = tuple[MmaUse, ArrivedOperand, ArrivedOperand]
_LEAST_LINES = 8  # that a start counts
_MOST_DESCRIPTORS = 64


@dataclass(frozen=True, slots=True)
class OpenPitch:
    """A matrix whose pitch is not determined. reads: by (place, calls around it, operand) of a product; finding: the
    mistake if it is certain.
    """

    reads: frozenset[tuple[Span, tuple[Span, ...], str]]
    message: str
    finding: CheckFinding | None = None


# what a run says ------------------------------------------------------------------------------------------------------


def _find_lines(inner: Sequence[str], outer: Sequence[str]) -> str:
    """Return the size that the steps to another line are multiplied by, if those along a line are by none; else ""."""
    return outer[0] if inner in ([""], []) and len(outer) == 1 and is_size(outer[0]) else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Fragment:
    """An operand of one execution of a product, in its warps."""

    operand: str
    product: object
    place: Place
    turns: tuple[int, ...]
    ends: tuple[frozenset[str], ...]
    bytes: int
    warps: tuple[FragmentOrigin, ...]

    def list_matrices(self) -> Iterator[ProductMatrix]:
        for warp in self.warps:
            grids = list(zip(warp.names, warp.places, strict=True))
            across = [name for name, grid in grids if (grid[:, 0] != grid[0, 0]).any()]
            along = [name for name, grid in grids if (grid[0] != grid[0, 0]).any()]
            free = "m" if self.operand == "a" else "n"
            factors = [[] if "(" in name else name.split("*") for name in warp.names]  # not of a computed number
            for dimension, inner, outer in (("k", along, across), (free, across, along)):
                if inner and (size := _find_lines(inner, outer)):
                    starts = _list_starts(zip(factors, warp.base, strict=True), size, self.bytes)
                    yield ProductMatrix(self.operand, warp.array, size, dimension, self.product, {self.place}, starts)


def _list_starts(starts: Iterable[tuple[Iterable[str], Any]], pitch: str, size: int) -> set[str]:
    """Return the other sizes of which an address takes whole lines. starts: products of names, with their factors;
    size: bytes of an element.
    """
    found = set()
    for names, factor in starts:
        sizes = [name for name in names if is_size(name)]
        first = int(np.asarray(factor).max())
        if first and not first % (size * _LEAST_LINES) and len(sizes) == 1 and sizes[0] != pitch:
            found.add(sizes[0])
    return found


def _list_fragments(run: KernelRunner, pairs: Iterable[Pair]) -> Iterator[_Fragment]:
    for use, *operands in pairs:
        place, product = (use.span, use.calls), _identify_product(use)
        for one in operands:
            size = max(one.instruction.operand(one.name).container_bits // 8, 1)
            if one.warps and all(warp.separable for warp in one.warps):
                yield _Fragment(one.name, product, place, use.turns, use.ends, size, one.warps)
    for read in run.descriptors[:_MOST_DESCRIPTORS]:
        origin, place = locate_descriptor(run, read), (read.span, read.calls)
        if origin is not None and origin.separable:
            yield _Fragment(read.name, read.span, place, read.turns, read.ends, read.element_bytes, (origin,))


def _identify_product(use: MmaUse) -> object:
    """Return what the executions of one product share: its accumulators, else its place."""
    return id(use.result[0]) if use.result is not None else (use.span, use.calls)


def _moves_along_k(before: FragmentOrigin, after: FragmentOrigin) -> bool:
    """Return whether a fragment begins elsewhere along the K of an earlier one."""
    steps = [{name: step for name, step in zip(one.names, one.k_step, strict=True) if step} for one in (before, after)]
    old, new = (dict(zip(one.names, one.base, strict=True)) for one in (before, after))
    moved = {name: new.get(name, 0) - old.get(name, 0) for name in {*old, *new}}
    moved = {name: away for name, away in moved.items() if away}
    same = before.array == after.array and steps[0] == steps[1] and moved.keys() == steps[0].keys()
    return same and len({away / steps[0][name] for name, away in moved.items()}) == 1


Ends = dict[tuple[str, object], frozenset[str]]


def _find_k_ends(fragments: Sequence[_Fragment]) -> Ends:
    """Return the sizes that the ends of the loops along K depend on, by the operand that they move and the product."""
    seen = {(one.operand, one.product, one.place, one.turns): one for one in reversed(fragments)}
    found: Ends = {}
    for one in fragments:
        for depth, names in enumerate(one.ends):
            turns = (*one.turns[:depth], one.turns[depth] - 1, *one.turns[depth + 1 :])
            before = seen.get((one.operand, one.product, one.place, turns)) if names else None
            if before is not None and _moves_along_k(before.warps[0], one.warps[0]):
                found[one.operand, one.product] = found.get((one.operand, one.product), frozenset()) | names
    return found


def _list_results(run: KernelRunner, sizes: ProductSizes) -> Iterator[ProductMatrix]:
    """Yield the matrices that elements of D are stored to; add what limits their rows and columns to the sizes."""
    for store, result, lanes, row, column in locate_stores(run):
        rows, columns = (_list_moving(run, store, lanes, fixed) for fixed in (column, row))
        product = _identify_product(result.use) if result.use is not None else result.span
        for dimensions, inner, outer in (("nm", columns, rows), ("mn", rows, columns)):
            if size := _find_lines(inner, outer):
                sizes.add_limits(dimensions, _list_tokens(store.offset.terms, size))
                starts = _list_starts(store.offset.terms.items(), size, store.size)
                yield ProductMatrix("d", store.array, size, dimensions[0], product, starts=starts)
                break


def _list_moving(run: KernelRunner, store: ResultStore, lanes: Ints, fixed: Ints) -> list[str]:
    """List the products of names that differ between threads with one row, or with one column."""
    moving = []
    for names, factor in store.offset.terms.items():
        values = spread_coefficient(factor, run.threads)[lanes]
        if any(np.ptp(values[fixed == at]) for at in np.unique(fixed)):
            moving.append("*".join(names))
    return moving


def _list_tokens(terms: Iterable[tuple[str, ...]], pitch: str) -> Tokens:
    """Return what an address multiplies by no size, and by a pitch."""
    tokens: Tokens = set(), set()
    for names in terms:
        rest = {name for name in names if not is_size(name)}
        if {pitch} >= set(names) - rest:
            tokens[pitch in names].update(rest)
    return tokens


def _merge(matrices: Iterable[ProductMatrix]) -> list[ProductMatrix]:
    """Return each matrix once, with all its places and starts."""
    found: dict[object, ProductMatrix] = {}
    for one in matrices:
        same = found.setdefault((one.operand, one.array, one.size, one.along, one.product), one)
        same.places.update(one.places)
        same.starts.update(one.starts)
    return list(found.values())


# verdicts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """The matrices of a kernel with its sizes. ends: the sizes at which the loops along K end."""

    sizes: ProductSizes
    matrices: Sequence[ProductMatrix]
    ends: Ends

    def find_ends(self, matrix: ProductMatrix) -> set[str]:
        """Return the sizes that K may be: at which its loop ends, and what is called K if that is a part or a count."""
        ends = frozenset().union(*(self.ends.get((operand, matrix.product), ()) for operand in "ab"))
        names = {name for name in ends if self.sizes.is_parameter(name)}
        letters = self.sizes.letters
        called = {letters["k"]} if letters and names and not names & set(letters.values()) else set()
        return self.sizes.rename_all(called | {name for name in names if not is_count(name)})

    def list_others(self, matrix: ProductMatrix) -> list[ProductMatrix]:
        return [one for one in self.matrices if one is not matrix and one.product == matrix.product]

    def _list_alike(self, matrix: ProductMatrix) -> set[str]:
        """Return the pitches of the other matrices of a product whose lines run along the same dimension."""
        return self.sizes.rename_all(one.size for one in self.list_others(matrix) if one.along == matrix.along)

    def is_leading(self, matrix: ProductMatrix) -> bool:
        """Return whether a pitch is a leading dimension by its name, or since M, N and K have other names.

        It is not if two matrices have it while no matrix has another one.
        """
        size, letters = matrix.size, self.sizes.rename_all(self.sizes.letters.values())
        if self._is_shared(size):
            return False
        if letters and self.find_ends(matrix) <= letters and self.sizes.rename(size) not in letters:
            return True
        return self._is_no_dimension(matrix) or (is_leading(size) and not letters)

    def _is_no_dimension(self, matrix: ProductMatrix) -> bool:
        """Return whether a pitch is not M, N or K: these are known, or every matrix has a pitch of its own."""
        known = self.find_ends(matrix), *self.sizes.limits.values()
        pitches = [self.sizes.rename(one.size) for one in (matrix, *self.list_others(matrix))]
        apart = len(set(pitches)) == len(pitches) > 2 and not set().union(*known) & set(pitches)
        return apart or (all(known) and self.sizes.rename(matrix.size) not in set().union(*known))

    def is_common(self, matrix: ProductMatrix) -> bool:
        """Return whether A and B agree in a pitch: of one array, or along K one that no other dimension has."""
        size, others = self.sizes.rename(matrix.size), self.list_others(matrix)
        taken = self.sizes.rename_all(one.size for one in others if one.operand == "d").union(
            *self.sizes.limits.values()
        )
        free = size not in taken and not self._is_shared(matrix.size)
        alike = (
            one.array == matrix.array or (one.along == matrix.along == "k" and free)
            for one in others
            if {one.operand, matrix.operand} == {"a", "b"} and self.sizes.rename(one.size) == size
        )
        return any(alike)

    def _is_shared(self, size: str) -> bool:
        used = [one.size for one in self.matrices]
        return used.count(size) > 1 and any(is_leading(name) and name not in used for name in self.sizes.values)

    def is_of_another(self, matrix: ProductMatrix) -> bool:
        """Return whether a pitch is the size of another dimension than its lines run along, or of another matrix."""
        size, others = self.sizes.rename(matrix.size), self.list_others(matrix)
        found = self.find_ends(matrix) if matrix.along != "k" else set()
        for dimension, limits in self.sizes.limits.items():
            found = found | (limits if dimension != matrix.along else set())
        found |= self.sizes.rename_all(one.size for one in others if one.along != matrix.along or is_leading(size))
        return size in found | self._list_other_letters(matrix)

    def _list_other_letters(self, matrix: ProductMatrix) -> set[str]:
        """Return the sizes whose names, M, N or K, are those of other dimensions than a line runs along."""
        named = {letter: self.sizes.rename(name) for letter, name in self.sizes.letters.items()}
        alike = self._list_alike(matrix) - {self.sizes.rename(matrix.size)}
        certain = matrix.along == "k" or self.has_usual_names() or alike & set(named.values())
        return {name for letter, name in named.items() if letter != matrix.along and (certain or letter == "k")}

    def has_usual_names(self) -> bool:
        """Return whether A and B of a product are called so, and not exchanged."""
        return {(one.operand, shorten_name(one.array)[-1:]) for one in self.matrices} >= {("a", "a"), ("b", "b")}

    def find_length(self, matrix: ProductMatrix) -> tuple[set[str], bool]:
        """Return (the sizes of which one is that of a line, whether a loop or bounds say so); empty if nothing does."""
        ends, limits = self.find_ends(matrix), self.sizes.limits
        if (line := self.find_line(matrix)) is not None:
            return {self.sizes.rename(find_only_size(line.length))}, True
        sides = "mn" if self._is_symmetric(matrix) else matrix.along
        stated = ends if matrix.along == "k" else set().union(*(limits[side] for side in sides))
        if stated or matrix.along == "k":
            return stated, True
        size, unused = self.sizes.rename(matrix.size), self.sizes.unused
        others = self._list_alike(matrix) - ends
        left = size in ends and len(unused) > (0 if any(limits.values()) else 1)
        return others & {size} or self._name_length(matrix, ends) or others or (unused if left else set()), False

    def find_line(self, matrix: ProductMatrix) -> TensorLine | None:
        """Return what a tensor of CuTe says of a matrix: the extent along its lines, if that is one size."""
        line = self.sizes.runner.strides.tensors.get(matrix.array)
        known = line is not None and find_only_size(line.pitch) == matrix.size and find_only_size(line.length)
        return line if known else None

    def _name_length(self, matrix: ProductMatrix, ends: set[str]) -> set[str]:
        """Return the size of a line if only names tell: M, N and K of a product A · B, or not K."""
        letters = self.sizes.letters
        if not letters or ends != {self.sizes.rename(letters["k"])}:
            return set()
        if self.has_usual_names():
            sides = "mn" if self._is_symmetric(matrix) else matrix.along
            return {self.sizes.rename(letters[side]) for side in sides}
        return self.sizes.rename_all(letters[one] for one in "mn") - ends if matrix.size == letters["k"] else set()

    def _is_symmetric(self, matrix: ProductMatrix) -> bool:
        """Return whether a matrix is a D of one array with itself: it has as many rows as columns."""
        operands = {one.operand: one.array for one in self.list_others(matrix) if one.operand != "d"}
        return matrix.operand == "d" and len(operands) > len({*operands.values()})

    def judge(self, matrix: ProductMatrix) -> OpenPitch | None:
        """Return the pitch of a matrix if it is not determined."""
        size, (length, stated) = self.sizes.rename(matrix.size), self.find_length(matrix)
        known = {*self.sizes.letters.values(), *(one.size for one in self.matrices)}
        known = self.sizes.rename_all(known).union(length, self.find_ends(matrix), *self.sizes.limits.values())
        mixed = (self.sizes.rename_all(matrix.starts) - {size}) & known
        wrong = bool(length) and size not in length and not (self.is_leading(matrix) or self.is_common(matrix))
        if not mixed and not (wrong and (stated or self.is_of_another(matrix))):
            return None
        mixed = set() if wrong else mixed
        own = f"but have {' or '.join(sorted(length))} elements"
        own = f"and begin at multiples of {', '.join(sorted(mixed))}" if mixed else own
        apart = f"{matrix.lines} are {matrix.size} elements apart, {own}"
        finding = self._find_mistake(matrix, length, apart) if wrong else None
        message = f"{PITCH_OPEN}{matrix.array} is {'wrong' if finding else 'not determined'}: its {apart}"
        return OpenPitch(frozenset((*place, matrix.operand) for place in matrix.places), message, finding)

    def _find_mistake(self, matrix: ProductMatrix, length: set[str], apart: str) -> CheckFinding | None:
        """Return the mistake in a pitch if no launch and no leading dimension can make it right."""
        moves = matrix.operand == "d" or (matrix.operand, matrix.product) in self.ends
        may_be_certain = len(length) == 1 and moves and self.sizes.knows_launches
        may_be_certain = may_be_certain and not self.sizes.are_related(matrix.size, next(iter(length)))
        if not may_be_certain or not self._is_certain(matrix, next(iter(length))):
            return None
        message = f"{matrix.array} has the pitch of another matrix: its {apart}."
        place = find_pitch(self.sizes.runner, matrix, self.find_line(matrix))
        return CheckFinding("pitch_of_other_size", message, place)

    def _is_certain(self, matrix: ProductMatrix, length: str) -> bool:
        """Return whether the size of another dimension is taken for a pitch. length: the size of a line."""
        if self.sizes.is_less(matrix.size, length) and self.is_of_another(matrix):
            return True
        if self.sizes.may_be_equal:
            return False
        stated = self.find_line(matrix) is not None and self.is_of_another(matrix)
        return stated or self._is_proved(matrix)

    def _is_proved(self, matrix: ProductMatrix) -> bool:
        """Return whether bounds, a grid or names say that a pitch is the size of another dimension."""
        size, limits = self.sizes.rename(matrix.size), self.sizes.limits
        limited = [dimension for dimension in "mn" if size in limits[dimension]]
        is_proved = len(limited) == 1 and limited != [matrix.along] and all(limits.values())
        letters = self.sizes.letters
        is_named = bool(letters) and self.find_ends(matrix) == {self.sizes.rename(letters["k"])}
        is_named = is_named and size in self.sizes.rename_all(letters.values())
        if all(self.sizes.rename(one.size) == size for one in self.list_others(matrix)):
            return is_proved and is_named  # else it may be parts of one large matrix
        return is_proved or (is_named and (matrix.along == "k" or size in self.find_ends(matrix)))


# the kernel -----------------------------------------------------------------------------------------------------------


def find_open_pitches(run: KernelRun, pairs: Sequence[Pair], launches: Sequence[KernelLaunchRecord]) -> list[OpenPitch]:
    """Find the matrices of a kernel's products whose pitch is not determined. pairs: products with A and B."""
    fragments, sizes = list(_list_fragments(run.runner, pairs)), ProductSizes(run, launches)
    products = {_identify_product(use) for use, *_ in pairs} | {read.span for read in run.runner.descriptors}
    matrices: list[ProductMatrix] = []
    for one in fragments:
        matrices += one.list_matrices()
    for result in _list_results(run.runner, sizes):
        only = next(iter(products)) if len(products) == 1 else result.product  # also if it was converted
        matrices.append(replace(result, product=only))
    judge = _Judge(sizes, _merge(matrices), _find_k_ends(fragments))
    stored = [(one.along, one.size) for one in judge.matrices if one.operand == "d"]
    if bounds := find_other_bounds(sizes, stored, judge.has_usual_names()):  # a pitch that seems wrong may follow
        return [OpenPitch(frozenset(), one.message, one) for one in bounds]
    judged = map(judge.judge, () if sizes.has_exchanged_grid(stored) else judge.matrices)  # there right ones seem wrong
    return [one for one in judged if one is not None]
