"""Run kernels of mma with different M, N and K, and compare every element of D with A·B.

An element of D at row m and column n is the sum over all k of A[m, k] · B[k, n], each k once. With numbers for M, N and
K each place in an array says which row, column, k and matrix of a batch it is, whatever the code computes it from: a
step, a pitch or a bound of another size gives other places. A kernel for which this does not hold may be right, such as
one with weights in an order of their own, so that it is open and not wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import KernelRun, run_kernels
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.storage import Ints, spread_coefficient
from lanescope.reader.threads.memory.tile_trace import TileSetup
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_fragments import FragmentOrigin, find_mma, locate_operand
from lanescope.workbench.products.factor_places import Points, find_other_factor, list_factors
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.products.misplaced_tiles import Block
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.products.result_stores import TilePlaces, list_pieces
from lanescope.workbench.products.unproved_results import are_whole
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_functions

LETTERS = {"m": 1792, "n": 2816, "k": 384}  # tiles of 64 to 256 divide M and N, slices of 16 to 128 K
OTHERS = 2  # the value of other parameters than sizes of a matrix, such as the number of batches
BLOCKS = 2048  # of a line of blocks with one tile at most
PLANE = 7, 7  # of a grid that is not known: tiles of 256 × 256 are inside the matrices
_MATRIX = re.compile(r"(?:(?P<first>[ABCDabcd])_)?(?P<kind>ld|(?:batch_?)?stride_?|s)(?P<last>[ABCDabcd]?)$", re.I)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ORDERS = [(turned, (a, b), d) for turned, a, b, d in product((False, True), repeat=4)]
_UNKNOWN = "what some of its products multiply, or where all of their elements are stored, is not known"
_OPEN = "D of {} is not known to be A·B: {}."


class _Sizes(dict[str, int]):
    """The integers of a kernel's parameters: those of a launch, else M, N and K by their names."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or shorten_name(str(name)) in LETTERS

    def __missing__(self, name: str) -> int:
        return LETTERS[shorten_name(name)]


@dataclass(frozen=True, slots=True)
class _Lines:
    """Elements of an operand: the rows of A or columns of B, the k of each in elements, and the matrix of a batch."""

    lines: Ints
    k: Ints
    matrix: int


@dataclass(frozen=True, slots=True)
class _Order:
    """How the matrices of a product are stored. turned: whether D is Bᵀ·Aᵀ; by_k: of A and B, whether k is innermost;
    by_columns: whether rows of D are innermost.
    """

    turned: bool
    by_k: tuple[bool, bool]
    by_columns: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """The rows and columns of D, as the instruction has them."""
        pair = LETTERS["m"], LETTERS["n"]
        return pair[::-1] if self.turned else pair


@dataclass(frozen=True, slots=True, eq=False)
class _Fragment:
    """The elements of D of one warp in one instruction: the operands of the products that add to it, with the bits of
    an element; row, column and place in the array of each element that is stored; adds: whether stores add; factors:
    what elements are combined with.
    """

    block: Block
    depth: int  # blocks of the grid along z
    operands: tuple[tuple[FragmentOrigin, FragmentOrigin], ...]
    bits: int
    row: Ints
    column: Ints
    place: Ints
    adds: bool
    factors: tuple[Points, ...]


def find_open_products(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord], names: Sequence[str]
) -> list[tuple[str, Span]]:
    """Return a sentence about each of the kernels with these names whose D is not known to be A·B, and its place."""
    found, blank = [], blank_text(text)
    for one in find_functions(blank):
        if one.kernel and one.name in names:
            sizes, grid = _choose_sizes(one, recorded)
            try:
                with end_when(is_late):
                    run = _KnownRun(text, macros, recorded, one.name, grid, blank[slice(*one.body)])
                    reason = run.judge_strides(sizes)
            except (LayoutError, OverdueError):
                reason = "its run did not end"
            at = blank.rfind(one.name, 0, one.body[0])
            found += [(_OPEN.format(one.name, reason), (at, at + len(one.name)))] if reason else []
    return found


def _choose_sizes(function: FunctionText, recorded: Sequence[KernelLaunchRecord]) -> tuple[_Sizes, Block | None]:
    """Return what a kernel is launched with, and its grid if it is known."""
    launches = [launch for launch in recorded if launch.name == function.name]
    texts = (str(one) for launch in launches for one in (*launch.grid, *launch.arguments))
    words = {word for text in texts for word in _NAME.findall(text)}
    known = KnownSizes({word: LETTERS.get(shorten_name(word), OTHERS) for word in words})
    return _Sizes(known.find_arguments(function, recorded) or {}), known.find_grid(function.name, recorded)


@dataclass(frozen=True, slots=True)
class _KnownRun:
    """A kernel that is run with known sizes. grid: of its launch, if it is known; body: its text."""

    text: str
    macros: Mapping[str, str]
    recorded: Sequence[KernelLaunchRecord]
    name: str
    grid: Block | None
    body: str

    def judge_strides(self, sizes: _Sizes) -> str:
        """Return why D is not known to be A·B, "" if it is with some strides that its parameters may have."""
        reason, unsized = self._judge(sizes)
        for strides in _list_strides(unsized):
            reason, _ = self._judge(_Sizes({**sizes, **strides}))
            if not reason:
                break
        return reason

    def _judge(self, sizes: _Sizes) -> tuple[str, set[str]]:
        """Return (why D is not known to be A·B with these sizes, the parameters that they lack)."""
        grid, last = self.grid, None
        if "gridDim" in self.body:  # blocks take tiles in turn: the first one takes two
            reason, unsized, fragments = self._run_blocks(sizes, [(0, 0, 0)], (BLOCKS, 1, 1))
            if reason:
                return reason, unsized
            elements = LETTERS["m"] * LETTERS["n"]
            tiles = min((elements // (len(of) * len(of[0].row)) for of in fragments.values() if of), default=1)
            grid = tiles // 2 + 1, 1, 1
            last = (tiles - 1) % grid[0], 0, 0
        x, y, z = grid or (*PLANE, OTHERS if "blockIdx.z" in self.body else 1)
        between = [(x // 2, 0, 0)] if y == 1 else []  # of a line, whose blocks divide their number
        blocks = [(0, 0, 0), *between, last or (x - 1, y - 1, 0), (0, 0, z - 1)]
        reason, unsized, fragments = self._run_blocks(sizes, blocks, (x, y, z))
        judged = [max(_judge_order(_Order(*of), one, grid) for of in _ORDERS)[1] for one in fragments.values()]
        return reason or next(filter(None, judged), ""), unsized

    def _run_blocks(
        self, sizes: _Sizes, blocks: Sequence[Block], grid: Block
    ) -> tuple[str, set[str], dict[int, list[_Fragment]]]:
        """Return (what of some blocks is not known, the parameters that have no size, the fragments of each launch)."""
        fragments: dict[int, list[_Fragment]] = {}
        for block in dict.fromkeys(blocks):
            setup = TileSetup(block, _list_no_places, {self.name: sizes}, {self.name: grid})
            known = LETTERS["k"], 1
            branches = list(run_kernels(self.text, self.macros, self.recorded, size=known, tiles=setup, only=self.name))
            if len(branches) != 1:
                return "its text has several choices of #if", set(), {}
            for n, run in enumerate(branches[0]):
                unsized = run.runner.unsized
                if unsized:
                    return f"what its {', '.join(sorted(unsized))} may be is not known", unsized, {}
                found = _FragmentLister(run.runner, block, grid[2]).list_all()
                reason = _find_lost(run) or ("" if found is not None else _UNKNOWN)
                if reason:
                    return reason, set(), {}
                fragments.setdefault(n, []).extend(found or ())
        return "", set(), fragments


def _list_no_places(_kernel: str, _names: Collection[str], _base: int) -> None:
    return None


def _list_strides(names: Collection[str]) -> Iterator[dict[str, int]]:
    """Yield what leading dimensions and strides of a batch may be, by the matrices in their names: lda, stride_b."""
    m, n, k = (LETTERS[name] for name in "mnk")
    of_batch = {"a": m * k, "b": n * k, "c": m * n, "d": m * n}
    for lines in product((k, m), (k, n), (n, m)):
        chosen = {}
        for name in names:
            matrix = _MATRIX.search(name)
            if matrix is None:
                return
            letter = (matrix["first"] or matrix["last"]).lower()
            leads = matrix["kind"].lower().startswith("ld")
            chosen[name] = lines["abc".find(letter)] if leads else of_batch[letter]
        if chosen:
            yield chosen
        if not any(name.rpartition(".")[2].lower().startswith("ld") for name in names):
            return


def _find_lost(run: KernelRun) -> str:
    """Return what of a run is not known."""
    runner = run.runner
    if run.why or not run.complete or runner.shared.broken:
        return "its code cannot be followed to the end"
    if runner.open_outputs or any(store.offset.const is None for store in runner.outputs):
        return "where it is stored is not known"
    if any("block_scale" in use.opcode for use in runner.products):
        return "which scale factors its products take is not followed"
    return ""


# what a block computes ------------------------------------------------------------------------------------------------


class _FragmentLister:
    """Lists the fragments of D of one block."""

    def __init__(self, run: KernelRunner, block: Block, depth: int) -> None:
        self.run, self.block, self.depth = run, block, depth
        self.located: dict[object, Mapping[int, FragmentOrigin]] = {}

    def list_all(self) -> list[_Fragment] | None:
        """Return the fragments; None if something of one is not known, or an element of D is not stored."""
        stored = self._list_stored()
        factors: dict[tuple[int, int], list[Points]] = {}
        for record, warp, points in list_factors(self.run):
            factors.setdefault((record, warp), []).append(points)
        added = {id(use.adds) for use in self.run.products if use.adds is not None}
        found = []
        for number, result in enumerate(self.run.results):
            use = result.use
            if use is None or id(use) in added:
                continue
            for warp in np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist():
                elements = stored.get((-number - 1, warp))
                operands = self._locate_chain(use, warp)
                instruction = find_mma(use.opcode)
                if elements is None or operands is None or instruction is None:
                    return None
                row, column, place = (np.concatenate(part) for part in zip(*(one[:3] for one in elements), strict=True))
                if len(np.unique(row * 1024 + column)) != np.size(instruction.operand("d").coords["row"]):
                    return None
                bits = instruction.operand("a").container_bits
                adds = all(one[3] for one in elements)
                combined = tuple(factors.pop((-number - 1, warp), ()))
                found.append(_Fragment(self.block, self.depth, operands, bits, row, column, place, adds, combined))
        return found if not factors else None

    def _list_stored(self) -> dict[tuple[int, int], list[tuple[Ints, Ints, Ints, bool]]]:
        """Return (rows, columns, places, whether they are added to) of the elements that are stored, by record and
        warp.
        """
        places, found = TilePlaces(self.run), dict[tuple[int, int], list[tuple[Ints, Ints, Ints, bool]]]()
        for store in self.run.outputs:
            address = spread_coefficient(store.offset.terms.get((), 0), self.run.threads)
            for first, record, lanes in list_pieces(store):
                thread, byte = (getattr(store.data, name)[lanes, first] for name in ("thread", "byte"))
                coordinates = places.find_coordinates(record, thread, byte)
                element, rest = np.divmod(address[lanes] + first, store.size)
                if coordinates is None or rest.any():
                    continue
                row, column, _ = coordinates
                for warp in np.unique(thread // 32):
                    mine = thread // 32 == warp
                    part = row[mine], column[mine], element[mine], store.adds
                    found.setdefault((record, int(warp)), []).append(part)
        return found

    def _locate_chain(self, use: MmaUse, warp: int) -> tuple[tuple[FragmentOrigin, FragmentOrigin], ...] | None:
        """Return A and B of the products that add to one D; None if one is not known."""
        found = []
        at: MmaUse | None = use
        while at is not None:
            a, b = (self._locate(at, name).get(warp) for name in "ab")
            if a is None or b is None:
                return None
            found.append((a, b))
            at = at.adds
        return tuple(found)

    def _locate(self, use: MmaUse, name: str) -> Mapping[int, FragmentOrigin]:
        """Return an operand in each warp that multiplies."""
        registers = use.a if name == "a" else use.b
        key = name, use.opcode, tuple((id(one.load or one.data), one.number) for one in registers)
        if key not in self.located:
            instruction = find_mma(use.opcode)
            warps = locate_operand(self.run, use, instruction, name).warps if instruction is not None else None
            active = np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist()
            self.located[key] = dict(zip(active, warps or (), strict=False))
        return self.located[key]


# judging --------------------------------------------------------------------------------------------------------------


def _judge_order(order: _Order, fragments: Sequence[_Fragment], grid: Block | None) -> tuple[int, str]:
    """Return (how much of D = A·B holds if the matrices are stored in an order, why not all of it)."""
    corners: dict[Block, list[tuple[int, int]]] = {}
    factors: list[Points] = []
    unit = 1, 1
    if not fragments:
        return 9, ""
    for one in fragments:
        stage, reason, lines = _judge_fragment(order, one)
        if lines is None:
            return stage, reason
        rows, columns = lines
        unit = len(rows), len(columns)
        factors += ((array, rows[row], columns[column], at) for array, row, column, at in one.factors)
        if one.block[2] == 0 or one.depth == 1:
            corners.setdefault(one.block, []).append((int(rows.min()), int(columns.min())))
    if other := find_other_factor(factors, order.sizes):
        return 7, f"its elements are combined with elements of {other} that are not those of their rows or columns"
    if grid is not None and not are_whole(corners, order.sizes, unit, grid):
        return 8, "the blocks that were run do not show that all of its tiles are computed, each once"
    return 9, ""


def _judge_fragment(order: _Order, one: _Fragment) -> tuple[int, str, tuple[Ints, Ints] | None]:
    """Return (how much holds for a fragment, why not all, its rows and columns in D if all does)."""
    sides = [
        [line for pair in one.operands if (line := _read_lines(pair[n], one.bits, order.sizes[n], order.by_k[n]))]
        for n in (0, 1)
    ]
    if {len(side) for side in sides} != {len(one.operands)}:
        stage, why = 0, "products take other elements than rows of A and columns of B of M × K and K × N"
    elif not all(map(_are_of_one_line, sides)) or not _are_two_matrices(one):
        stage, why = 1, "products of different rows, columns or arrays are added, or those of one array with itself"
    elif any((a.k != b.k).any() for a, b in zip(*sides, strict=True)):
        stage, why = 2, "A and B of a product have different k"
    else:
        stage, why = _judge_sum(order, one, sides[0], sides[1])
    return stage, f"in block {one.block}, {why}" * bool(why), None if why else (sides[0][0].lines, sides[1][0].lines)


def _are_of_one_line(side: Sequence[_Lines]) -> bool:
    return all((one.lines == side[0].lines).all() and one.matrix == side[0].matrix for one in side)


def _are_two_matrices(one: _Fragment) -> bool:
    """Return whether all elements of A are of one array, and those of B of another one."""
    return len({pair[0].array for pair in one.operands} | {"", *(pair[1].array for pair in one.operands)}) == 3


def _judge_sum(order: _Order, one: _Fragment, a: Sequence[_Lines], b: Sequence[_Lines]) -> tuple[int, str]:
    """Return (how much holds for a sum of rows of A times columns of B, why not all)."""
    batch = {a[0].matrix, b[0].matrix}
    part = LETTERS["k"] * one.bits // max(one.bits, 8)
    is_split = one.adds and one.depth > 1 and batch == {0}
    part //= one.depth if is_split else 1
    first = one.block[2] * part if is_split else 0
    every = np.sort(np.concatenate([line.k for line in a]))
    if not np.array_equal(every, np.arange(first, first + part)):
        return 3, f"it is not the sum over each of the K = {LETTERS['k']} once"
    rows, columns = order.sizes
    outer, within = np.divmod(one.place, rows if order.by_columns else columns)
    matrix, line = np.divmod(outer, columns if order.by_columns else rows)
    place = (within, line) if order.by_columns else (line, within)
    if (a[0].lines[one.row] != place[0]).any() or (b[0].lines[one.column] != place[1]).any():
        return 4, "elements are not stored at their row and column of M × N"
    batch.update(np.unique(matrix).tolist())
    right = batch == {0 if is_split else one.block[2]}
    return (6, "") if right else (5, "A, B and D are not of one matrix of a batch, that of the block")


def _read_lines(origin: FragmentOrigin, bits: int, size: int, by_k: bool) -> _Lines | None:
    """Return the rows or columns and k of an operand of a matrix of this many lines; None if they are not separate."""
    if origin.names != ("",) or not origin.array or origin.empty:
        return None
    unit = max(bits // 8, 1)
    depth = LETTERS["k"] * bits // 8 // unit
    place = origin.places[0] // unit
    line, k = np.divmod(place, depth) if by_k else np.divmod(place, size)[::-1]
    matrix, rest = np.divmod(line, size) if by_k else np.divmod(k, depth)
    line, k = (rest, k) if by_k else (line, rest)
    if (
        (line != line[:, :1]).any()
        or (k != k[:1]).any()
        or (matrix != matrix[0, 0]).any()
        or (origin.places[0] % unit).any()
    ):
        return None
    return _Lines(line[:, 0], k[0], int(matrix[0, 0]))
