"""Judge what the products of a run with known M, N and K add up to, in every order that the matrices may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.products.factor_places import MatrixPoints, OtherFactor, Points, find_other_factor
from lanescope.workbench.products.known_matrices import KnownMatrices
from lanescope.workbench.products.matrix_orders import ABSENT, MatrixOrder, OperandLines, list_orders, read_lines
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.unproved_results import AGAIN, UNSHOWN, are_whole, find_deep_overlap, leaves_gaps
from lanescope.workbench.results import Span

_OF_DEPTH = 3  # the stage of _judge_fragment at which a sum is not over each k once
_STORED = 4, 5  # stages of _judge_fragment at which only the place in D is wrong
_WHOLE = 1 << 32, 9  # more than for any fragment


@dataclass(frozen=True, slots=True)
class OpenPart:
    """Why D is not known to be A·B.

    span: where the code shows it, None for the whole kernel; load: an ldmatrix that loads other rows or columns than
    the others of its sum; factor: what elements are combined with, if all else is of A·B; whole: whether all that was
    run is of A·B; sized: whether M, N and K decide it; wrong: what is not of A·B; choices: of #if that leave it open.
    """

    reason: str
    span: Span | None = None
    load: Span | None = None
    factor: OtherFactor | None = None
    whole: bool = False
    sized: bool = False
    wrong: WrongPart | None = None
    choices: int = 0


_NO_BATCH = "A, B and D are not of one matrix that the block chooses, but of others, or beyond the matrices"
UNCOVERED = OpenPart(UNSHOWN, whole=True)


# of an operand, by the lines of its matrix and whether k is innermost
ReadLines = dict[tuple[int, bool], list[OperandLines]]


@value_class(frozen=True, slots=True, eq=False)
class KnownProduct:
    """A product: where the elements of A and B of a warp or warpgroup come from, its place, the calls and the turns of
    the loops around it.
    """

    a: FragmentOrigin
    b: FragmentOrigin
    span: Span
    calls: tuple[Span, ...]
    turns: tuple[int, ...]
    sites: tuple[Span, Span]  # where the addresses of A and B are given
    loads: tuple[Span | None, Span | None] = (None, None)  # the ldmatrix of A and B

    @property
    def sides(self) -> tuple[FragmentOrigin, FragmentOrigin]:
        return self.a, self.b


@dataclass(frozen=True, slots=True, eq=False)
class KnownFragment:
    """The elements of D of one warp or warpgroup in one instruction: the products that add to it, the last one first,
    with the bits of an element; row, column and place in the array of each element that is stored; adds: whether stores
    add; factors: what elements are combined with; stored: a store of elements; arrays: those
    that they are stored to.
    """

    block: Block
    depth: int  # blocks of the grid along z
    products: tuple[KnownProduct, ...]
    bits: int
    row: Ints
    column: Ints
    place: Ints
    adds: bool
    factors: tuple[Points, ...]
    read: tuple[ReadLines, ReadLines]  # of A and B, which fragments share
    stored: Span
    arrays: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class WrongPart:
    """What is not of A·B: A, B or D (0, 1 or 2), in a fragment, in an order of the matrices; None if elements of D are
    stored nowhere. of_depth: only that sums are not over each k once.
    """

    sides: tuple[int, ...]
    fragment: KnownFragment | None = None
    order: MatrixOrder | None = None
    of_depth: bool = False

    def list_offsets(self, fragments: Sequence[KnownFragment], n: int) -> list[Ints] | None:
        """Return how far from its row (n: 0) or column in D each element is made; None if that is not known."""
        found = []
        if self.order is None:
            return None
        for one in fragments:
            sides = [read_side(self.order, one, of) for of in (0, 1)]
            if {len(side) for side in sides} != {len(one.products)}:
                return None
            lines = sides[n][0].lines[(one.row, one.column)[n]]
            found.append(lines - self.order.split(one.place)[1 + n])
        return found or None

    def list_steps(self) -> list[tuple[tuple[int, ...], int]] | None:
        """Return, for each product of a sum, the turns of the loops around it and how far an operand is from where the
        k of the other one is; None if that is not known, or if the first product is wrong.
        """
        if self.order is None or self.fragment is None or self.fragment.bits < 8:
            return None
        n, products = self.sides[-1], list(reversed(self.fragment.products))
        others, origins = read_side(self.order, self.fragment, 1 - n), [each.sides[n] for each in products]
        alone = replace(self.fragment, products=(products[0],), read=({}, {}))
        if len(others) < len(products) or not _is_of_lines(self.order, alone):
            return None
        unit = (1 if self.order.by_k[n] else self.order.sizes[n]) * (origins[0].element_bits or self.fragment.bits) // 8
        found = []
        for each, origin, other in zip(products, origins, others, strict=True):
            if origin.places[0].shape != origins[0].places[0].shape or other.k[0] <= ABSENT:
                return None
            off = origin.places[0] - origins[0].places[0] - (other.k[0] - others[0].k[0]) * unit
            if np.ptp(off):
                return None
            found.append((each.turns, int(off[0, 0])))
        return found


def find_other_sum(fragments: Sequence[KnownFragment], known: KnownMatrices, grid: Block | None) -> OpenPart | None:
    """Return why fragments are not known to be those of D = A·B, None if they are."""
    return max((_judge_order(order, fragments, grid) for order in list_orders(known)), key=lambda one: one[0])[1]


def find_collision(fragments: Sequence[KnownFragment], known: KnownMatrices) -> tuple[Span, str] | None:
    """Return (a store, what it overwrites) if sums of other rows or columns are stored at the same place of one array.

    Each sum is right, so that only where it is stored is wrong. Sums of exchanged rows and columns may be equal: A·Aᵀ.
    """
    if len({name for one in fragments for name in one.arrays}) != 1 or any(one.adds for one in fragments):
        return None
    first = [one for one in fragments if not one.block[2]]
    order = max(list_orders(known), key=lambda one: _judge_order(one, first, None)[0])
    seen: dict[int, tuple[int, int]] = {}
    for one in first:
        if _judge_fragment(order, one)[0] < _STORED[0]:
            continue
        rows, columns = (read_side(order, one, n)[0].lines[at] for n, at in ((0, one.row), (1, one.column)))
        for place, row, column in zip(one.place.tolist(), rows.tolist(), columns.tolist(), strict=True):
            before = seen.setdefault(place, (row, column))
            if before not in ((row, column), (column, row)):
                return one.stored, f"row {before[0]}, column {before[1]} and of row {row}, column {column}"
    return None


def find_part_of_k(fragments: Sequence[KnownFragment], known: KnownMatrices, grid: Block | None) -> tuple[int, ...]:
    """Return the k that every sum is of if that is all that is wrong: some are missing, or they go on beyond K."""
    if not fragments or any(one.adds for one in fragments):
        return ()
    for order in list_orders(known):
        part = _find_part(order, fragments[0])
        if part in ((), tuple(range(known.k))):
            continue
        if _judge_order(replace(order, part=part), fragments, grid)[0] == _WHOLE:
            return part
    return ()


def _judge_order(
    order: MatrixOrder, fragments: Sequence[KnownFragment], grid: Block | None
) -> tuple[tuple[int, float], OpenPart | None]:
    """Return ((number of fragments that are right, how much of the next one is), why not all are) for an order in which
    the matrices may be stored.
    """
    corners: dict[Block, list[tuple[int, int]]] = {}
    factors: list[MatrixPoints] = []
    first: list[Ints] = []  # the elements of D of the first block
    unit = 1, 1
    if not fragments:
        return _WHOLE, None
    for n, one in enumerate(fragments):
        stage, open_part, lines = _judge_fragment(order, one)
        if lines is None:
            return (n, stage), open_part
        rows, columns = lines
        unit = len(rows), len(columns)
        if grid is None and one.block == (0, 0, 0):
            first.append(np.add.outer(rows * order.sizes[1], columns).ravel())
        own = (of._replace(rows=rows[of.rows], columns=columns[of.columns]) for of in one.factors)
        factors += (MatrixPoints(of, one.block) for of in own)
        if not _find_matrix(order, one):
            corners.setdefault(one.block, []).append((int(rows.min()), int(columns.min())))
    if deep := find_deep_overlap(corners):
        again = OpenPart(f"in block {max(corners, key=lambda one: one[2])}, {_NO_BATCH}")
        return (len(fragments), 5 if deep == AGAIN else 8), again if deep == AGAIN else UNCOVERED
    if other := find_other_factor(factors, order.sizes):
        return (len(fragments), 7), OpenPart(other.describe(), other.site, factor=other)
    if leaves_gaps(corners, first) if grid is None else not _are_whole(order, fragments, corners, unit, grid):
        return (len(fragments), 8), UNCOVERED
    return _WHOLE, None


def _find_axis(order: MatrixOrder, fragments: Sequence[KnownFragment]) -> int | None:
    """Return which index of the block is the matrix of a batch; None if no block has another than the first."""
    later = {(one.block, found) for one in fragments if (found := _find_matrix(order, one))}
    return next((axis for axis in (2, 1, 0) if later and all(block[axis] == at for block, at in later)), None)


def _are_whole(
    order: MatrixOrder,
    fragments: Sequence[KnownFragment],
    corners: Mapping[Block, Sequence[tuple[int, int]]],
    unit: tuple[int, int],
    grid: Block,
) -> bool:
    """Return whether each tile of the first matrix of a batch is computed once; see are_whole. If the last block has a
    tile, there are no more blocks than tiles.
    """
    axis = _find_axis(order, fragments)
    x, y, z = (1 if n == axis else size for n, size in enumerate(grid))
    last, elements = (x - 1, y - 1, 0), unit[0] * unit[1] * len(corners.get((0, 0, 0), ()))
    if last in corners and x * y * elements > order.known.m * order.known.n:
        return False
    return are_whole(corners, order.sizes, unit, (x, y, z))


def _judge_fragment(order: MatrixOrder, one: KnownFragment) -> tuple[float, OpenPart | None, tuple[Ints, Ints] | None]:
    """Return (how much holds for a fragment, why not all, its rows and columns in D if all does)."""
    sides = [read_side(order, one, n) for n in (0, 1)]
    place = (*one.products[0].calls, one.products[0].span)[0]
    stage, why, wrong = _judge_operands(order, one, sides)
    if not why:
        stage, why, wrong = _judge_sum(order, one, sides[0], sides[1])
        place = one.stored if stage in _STORED else place
    if why:
        load = _find_other_load(order, one, sides) if stage < 2 else None
        part = WrongPart(wrong, one, order, stage == _OF_DEPTH)
        return stage, OpenPart(f"in block {one.block}, {why}", load or place, load, sized=True, wrong=part), None
    return stage, None, (sides[0][0].lines, sides[1][0].lines)


def _is_of_lines(order: MatrixOrder, one: KnownFragment) -> bool:
    """Return whether a sum is of rows of A and columns of B at the same k in an order."""
    return not _judge_operands(order, one, [read_side(order, one, n) for n in (0, 1)])[1]


def are_of_lines(fragments: Sequence[KnownFragment], known: KnownMatrices) -> bool:
    """Return whether, in one order of the matrices, each sum is of a row of A and a column of B at the same k."""
    return any(all(_is_of_lines(order, one) for one in fragments) for order in list_orders(known))


def _judge_operands(
    order: MatrixOrder, one: KnownFragment, sides: Sequence[Sequence[OperandLines]]
) -> tuple[float, str, tuple[int, ...]]:
    """Return (how much holds for the operands of a fragment, why not all, what is wrong: see WrongPart)."""
    wrong: tuple[int, ...] = (0, 1)
    if {len(side) for side in sides} != {len(one.products)}:
        stage = sum(map(len, sides)) / (2 * len(one.products) + 1)
        why = "not all operands of its products are rows of A (M × K) and columns of B (K × N)"
        return stage, why, tuple(n for n in wrong if len(sides[n]) < len(one.products))
    if not all(map(_are_of_one_line, sides)) or not _are_two_matrices(one):
        why = "an element of D adds products of several rows, columns or arrays, or of one array with itself"
        return 1, why, tuple(n for n in wrong if not _are_of_one_line(sides[n])) or wrong
    if any(_have_other_k(a, b, order.known.k) for a, b in zip(*sides, strict=True)):
        return 2, "A and B of a product have different k, or elements beyond K are multiplied by 0", wrong
    return 3, "", ()


def _find_other_load(order: MatrixOrder, one: KnownFragment, sides: Sequence[Sequence[OperandLines]]) -> Span | None:
    """Return the ldmatrix of the first product that takes other rows or columns than most products of its sum."""
    for n, side in enumerate(sides):
        keys = [(each.matrix, each.lines.tobytes()) for each in side]
        usual, count = Counter(keys).most_common(1)[0] if keys else ((0, b""), 0)
        if len(one.products) / 2 < count < len(one.products):
            for each in reversed(one.products):
                lines = read_lines(order, (each.sides[n], n, one.bits), side[0])
                if lines is None or (lines.matrix, lines.lines.tobytes()) != usual:
                    return each.loads[n]
    return None


def _are_of_one_line(side: Sequence[OperandLines]) -> bool:
    first = side[0]
    lines = (one.lines for one in side if one.lines is not first.lines)
    return all(one.matrix == first.matrix for one in side) and all((other == first.lines).all() for other in lines)


def _are_two_matrices(one: KnownFragment) -> bool:
    """Return whether all elements of A are of one array, and those of B of another one."""
    return len({each.a.array for each in one.products} | {"", *(each.b.array for each in one.products)}) == 3


def _judge_sum(
    order: MatrixOrder, one: KnownFragment, a: Sequence[OperandLines], b: Sequence[OperandLines]
) -> tuple[int, str, tuple[int, ...]]:
    """Return (how much holds for a sum of rows of A times columns of B, why not all, what is wrong: see WrongPart)."""
    matrix, *place = order.split(one.place)
    of_operands, of_result = {a[0].matrix, b[0].matrix}, set(np.unique(matrix).tolist())
    every = np.sort(np.concatenate([np.minimum(of_a.k, of_b.k) for of_a, of_b in zip(a, b, strict=True)]))
    every = every[every > ABSENT]
    part = order.known.k * one.bits // max(one.bits, 8)
    is_apart = of_result == {one.block[2]} and len(every) == part // one.depth  # in a matrix of its own
    is_split = one.depth > 1 and of_operands == {0} and (one.adds or is_apart)
    part //= one.depth if is_split else 1
    first = one.block[2] * part if is_split else 0
    if not np.array_equal(every, order.part or np.arange(first, first + part)):
        return _OF_DEPTH, f"it is not the sum over each of the K = {order.known.k} once", (0, 1)
    apart = (a[0].lines[one.row] != place[0]).any(), (b[0].lines[one.column] != place[1]).any()
    if any(apart):
        wrong = (*(n for n in (0, 1) if apart[n]), 2)
        return 4, "elements are not stored at their row and column of M × N", wrong
    matrices = of_operands | of_result
    is_right = is_apart or of_result == {0} if is_split else matrices == {_find_matrix(order, one)}
    return (6, "", ()) if is_right else (5, _NO_BATCH, (0, 1, 2))


def _find_matrix(order: MatrixOrder, one: KnownFragment) -> int:
    """Return the matrix of a batch that elements have to be of: the first one if they are stored there, since z may
    count tiles, too; else that of the index of the block that is the matrix where they are stored, or z.
    """
    stored = int(order.split(one.place)[0].max())
    if not one.adds and not stored:
        return 0
    return stored if stored and stored in one.block else one.block[2]


def _have_other_k(a: OperandLines, b: OperandLines, depth: int) -> bool:
    """Return whether elements of A and B that are multiplied have different k, or those beyond K meet zeros, which may
    hide what they are.
    """
    differ = a.k != b.k
    if not differ.any():
        return False
    one, other = a.k[differ], b.k[differ]
    return bool((((one > ABSENT) & (other > ABSENT)) | (one >= depth) | (other >= depth)).any())


def _find_part(order: MatrixOrder, one: KnownFragment) -> tuple[int, ...]:
    """Return the k of A in a sum, if they are elements that are taken once; else nothing."""
    side = read_side(order, one, 0)
    if len(side) < len(one.products) or one.bits < 8:
        return ()
    every = [k for line in side for k in line.k.tolist() if k > ABSENT]
    return tuple(sorted(every)) if len(set(every)) == len(every) else ()


def read_side(order: MatrixOrder, one: KnownFragment, n: int) -> list[OperandLines]:
    """Return what the products of a sum take of one operand, in their order, as far as it is lines of a matrix. n: 0
    for A, 1 for B.
    """
    key = order.sizes[n], order.by_k[n]
    if key not in one.read[n]:
        found = one.read[n][key] = []
        for each in reversed(one.products):
            lines = read_lines(order, (each.sides[n], n, one.bits), found[0] if found else None)
            found += [] if lines is None else [lines]
    return one.read[n][key]
