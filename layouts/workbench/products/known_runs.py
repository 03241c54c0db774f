"""Run a kernel with known M, N and K, and judge the elements of D that its blocks store."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import NamedTuple, Self

import numpy as np

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import KernelRun, run_kernels
from lanescope.reader.threads.launches import group_launches
from lanescope.reader.threads.memory.storage import Ints
from lanescope.reader.threads.memory.tile_records import TileSetup
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.known_fragments import FragmentLister, find_lost, has_wide_tile
from lanescope.workbench.products.known_matrices import KnownMatrices, ParameterSizes, is_stride, list_strides
from lanescope.workbench.products.known_mistakes import find_ends, find_outside_load, find_wrong_access
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.products.known_sums import KnownFragment, OpenPart, are_of_lines, find_other_sum
from lanescope.workbench.products.other_sizes import FIRST, LAST
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.products.size_names import find_letters, has_blocks
from lanescope.workbench.products.stored_elements import list_stored_warps
from lanescope.workbench.results import CheckFinding
from lanescope.workbench.text.function_texts import FunctionText

USUAL = KnownMatrices()
_UNIT = 128  # divides M, N and K of a launch that is run: tiles at the edges have their own code
BLOCKS = 2048  # of a line of blocks with one tile at most
PLANE = 6, 4  # of a grid that is not known: tiles of 256 × 256 are inside the matrices, the last one has odd indices
_MOST_BATCHES = 4  # along y: then the last tile of the first one is run, too
_FIRST_PRODUCTS = 1, 8, 64, 512
WIDE = 2, 2  # the same of larger tiles
SEVERAL = "its text has several choices of #if"
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_OPTION = re.compile(r"\b(?:argv|optarg)\b")


def _list_stored(runners: Iterable[KernelRunner]) -> set[int]:
    """Return the places of the elements of D that runs store."""
    stored = (one for run in runners for of in list_stored_warps(run).values() for one in of)
    return {place for one in stored for place in one[2].tolist()}


def _list_between(grid: Block) -> list[Block]:
    """Return more blocks to run along x: the one in the middle if the grid has one line, where a block's place is often
    computed from its number; also the last one if y may count the matrices of a batch.
    """
    x, y, z = grid
    is_batch = bool(z) and 1 < y <= _MOST_BATCHES
    return [(x // 2, 0, 0)] * (y == 1 or is_batch) + [(x - 1, 0, 0)] * is_batch


class OtherTail(NamedTuple):
    """A last block that stores other elements than those inside D, or loads others than those of A and B (outside).
    known: the sizes; runners: its runs.
    """

    open: OpenPart | None
    known: KnownMatrices
    runners: Sequence[KernelRunner]
    outside: CheckFinding | None = None


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A kernel that is run with known sizes.

    body: its text; known: the sizes; given: those of its launch, of which these are whole tiles and a shorter K, None
    if it has none; exact: whether other numbers of the launch may depend on them; parts: what K is divided by; alone:
    the block that is run, the first or the last one; "" for several; choice: the number of a choice of #if, or -1;
    launches: that are run, 0 for all; unsized: strides without a size, of which only the choice with the number `line`
    is run.
    """

    text: str
    macros: Mapping[str, str]
    recorded: Sequence[KernelLaunchRecord]
    function: FunctionText
    body: str
    known: KnownMatrices = USUAL
    given: KnownMatrices | None = None
    exact: bool = False
    parts: int = 1
    alone: str = ""
    choice: int = -1
    launches: int = 0
    unsized: frozenset[str] = frozenset()
    line: int = 0

    def fit_launch(self) -> Self:
        """Return the run with the M, N and K that a launch gives as numbers. K is shortened to that of other runs, and
        M and N are those of whole tiles, if no other number of the launch may depend on them, but for strides that are
        sizes, and for the number of blocks along z that divide K.
        """
        sizes, grid = self.choose_sizes()
        numbers = {shorten_name(name): value for name, value in sizes.items()}
        usual = {self.known.m, self.known.n, self.known.k}
        if sizes.are_named or not numbers.keys() >= set("mnk") or set(numbers.values()) == usual:  # or exchanged
            return self
        given = replace(self.known, m=numbers["m"], n=numbers["n"], k=numbers["k"])
        return replace(self, given=given)._complete_launch(given, grid)

    def _complete_launch(self, given: KnownMatrices, grid: Block | None) -> Self:
        """Return the run with whole tiles and a shorter K than its launch has. given: the sizes of the launch."""
        sizes, _ = self.choose_sizes()
        alone = len(sizes) == 3 and "blockIdx.z" not in self.body
        others = {value for name, value in sizes.items() if shorten_name(name) not in "mnk"}
        parts = grid[2] if grid is not None and others <= {grid[2]} else 1
        known = given
        if alone or (parts > 1 and not given.k % (parts * _UNIT)):
            known = replace(known, k=min(given.k, self.known.k * parts + given.k % _UNIT))
        if alone and not self.takes_turns and (given.m % _UNIT or given.n % _UNIT):
            known = replace(self, known=known, exact=True, alone=FIRST).complete_tiles()
        whole = alone and not any(value % _UNIT for value in (given.m, given.n, given.k))
        return replace(self, known=known, exact=not whole, parts=parts)

    def complete_tiles(self) -> KnownMatrices:
        """Return the sizes with whole tiles: as many rows and columns as the first block stores, which is all that runs
        here; these sizes if it does not store all of a tile.
        """
        m, n = self.known.m, self.known.n
        for verdict in self.list_verdicts():
            places = np.array(sorted(_list_stored(verdict.runners)), np.int64)
            for line, turned in ((n, False), (m, True)):
                height, width = (len(np.unique(part)) for part in np.divmod(places, line))
                rows, columns = (width, height) if turned else (height, width)
                if len(places) and height * width == len(places) and rows <= m and columns <= n:
                    return replace(self.known, m=-(-m // rows) * rows, n=-(-n // columns) * columns)
        return self.known

    @property
    def sizes(self) -> set[str]:
        """Return which of m, n and k parameters of the kernel, or members of these, are called."""
        return find_letters(self.text, self.function, self.recorded)

    @property
    def takes_turns(self) -> bool:
        """Return whether the blocks of a line take tiles in turn."""
        return "gridDim" in self.body and "blockIdx.y" not in self.body

    def list_verdicts(self) -> Iterator[ProductVerdict]:
        """Yield a verdict for each choice of the strides that have no size."""
        sizes, grid = self.choose_sizes()
        judge = self._judge_one if self.alone else self._judge_sizes
        first = judge(sizes, grid)
        yield first
        runs = self.list_lines(first.unsized)
        right = [run for run in runs if run.starts_right(1)] if self.alone == "" else []
        for run in right or runs:
            yield judge(run.choose_sizes()[0], grid)

    def list_lines(self, unsized: frozenset[str]) -> list[Self]:
        """Return the run with each choice of strides that have no size."""
        count = sum(1 for _ in self._list_strides(unsized))
        return [replace(self, unsized=unsized, line=n) for n in range(count)]

    def _list_strides(self, names: Collection[str]) -> Iterator[dict[str, int]]:
        """Yield what strides may be: of those that its launch gives, the size that they are there, or a smaller one."""
        given = self.given if self.given is not None else self.known
        numbers, sizes = dict(self._list_stride_parameters()), {given.m, given.n, given.k}
        for before, strides in zip(list_strides(names, given), list_strides(names, self.known), strict=True):
            launched = ((numbers.get(name), value) for name, value in before.items())
            if all(one in (None, value) or (one not in sizes and one > value) for one, value in launched):
                yield strides

    @property
    def _launches(self) -> list[KernelLaunchRecord]:
        """Return the launches of the kernel."""
        return [launch for launch in self.recorded if launch.name == self.function.name]

    @property
    def _known_sizes(self) -> KnownSizes:
        """Return numbers for the names of what the kernel is launched with."""
        members = (value for launch in self._launches for *_, value in launch.members)
        texts = map(str, (*members, *(one for launch in self._launches for one in (*launch.grid, *launch.arguments))))
        options = self._name_options()
        words = {word for text in texts for word in _NAME.findall(text)}.union(options.values())
        return KnownSizes({word: self.known.find(word) or self.known.others for word in words}, options)

    def _name_options(self) -> dict[str, str]:
        """Map the texts of M, N and K that the host reads from its command line to the kernel's parameters."""
        passed = {
            (str(value), name)
            for launch in self._launches
            for name, value in zip(self.function.parameters, launch.arguments, strict=False)
            if self.known.find(name) is not None and _OPTION.search(str(value))
        }
        texts = [text for text, _ in passed]
        return {text: name for text, name in sorted(passed) if texts.count(text) == 1}

    def _list_stride_parameters(self) -> Iterator[tuple[str, int | None]]:
        """Yield (name, number) of the parameters that are launched with leading dimensions or strides, which may be any
        from a size on: with None, or with the number of the launch.
        """
        known = self._known_sizes
        for launch in self._launches:
            passed = dict(zip(self.function.parameters, launch.arguments, strict=False))
            passed |= {f"{self.function.parameters[n]}.{name}": value for n, name, value in launch.members}
            for name, value in passed.items():
                if any(map(is_stride, _NAME.findall(str(value)))):
                    yield name, None
                elif self.given is not None and is_stride(name) and (number := known.evaluate(value)) is not None:
                    yield name, number

    def choose_sizes(self) -> tuple[ParameterSizes, Block | None]:
        """Return what the kernel is launched with, and its grid if it is known."""
        name, known = self.function.name, self._known_sizes
        arguments = known.find_arguments(self.function, self.recorded) or {}
        strides = dict(self._list_stride_parameters())
        arguments = {name: value for name, value in arguments.items() if name not in strides}
        if self.given is not None:
            arguments = {name: self.known.find(name) or value for name, value in arguments.items()}
        grid = known.find_grid(name, self.recorded) if has_blocks(self.text, self.function) else (1, 1, 1)
        arguments |= next(islice(self._list_strides(self.unsized), self.line, None), {})
        return ParameterSizes(arguments, self.known), grid

    def _judge_sizes(self, sizes: ParameterSizes, grid: Block | None) -> ProductVerdict:
        """Run blocks with the integers of the kernel's parameters, and judge D, also of launches with different grids.
        grid: of all launches, None if they differ or are not known.
        """
        groups = self._group_launches() if grid is None else []
        if len(groups) < 2:
            return self._judge_grid(sizes, grid)
        judged = list[ProductVerdict]()
        for of_grid, launches in groups:
            judged.append(replace(self, recorded=launches)._judge_grid(sizes, of_grid))
            if judged[-1].open is not None:
                return judged[-1]
        fragments = dict(enumerate(of for one in judged for of in one.fragments.values()))
        return ProductVerdict(None, fragments=fragments, runners=[run for one in judged for run in one.runners])

    def _group_launches(self) -> list[tuple[Block, list[KernelLaunchRecord]]]:
        """Return the launches of the kernel that are run, by their grid; none if one of them is not known."""
        groups: dict[Block | None, list[KernelLaunchRecord]] = {}
        known = self._known_sizes
        for one in chain(*group_launches(self._launches).values()):
            groups.setdefault(known.find_grid(one.name, [one]), []).append(one)
        return [(grid, of) for grid, of in groups.items() if grid is not None] if None not in groups else []

    def _judge_grid(self, sizes: ParameterSizes, grid: Block | None) -> ProductVerdict:
        """Run blocks of a grid, if it is known, and judge D."""
        last = None
        grid = grid or self._find_own_grid(sizes)
        if self.takes_turns:  # the first block takes two tiles
            first = self._run_blocks(sizes, [(0, 0, 0)], (BLOCKS, 1, 1))
            if first.open is not None:
                return first
            elements = self.known.m * self.known.n
            tiles = min((elements // (len(of) * len(of[0].row)) for of in first.fragments.values() if of), default=1)
            grid = tiles // 2 + 1, 1, 1
            last = (tiles - 1) % grid[0], 0, 0
        depth = self.known.others if "blockIdx.z" in self.body else 1
        for x, y, z in [grid] if grid is not None else [(*PLANE, depth), (*WIDE, depth)]:
            blocks = [(0, 0, 0), *_list_between(grid or (x, y, 0)), last or (x - 1, y - 1, 0), (0, 0, z - 1)]
            verdict = self._run_blocks(sizes, blocks, (x, y, z))
            verdict = replace(verdict, open=self._find_open(verdict, grid), grid=grid)
            if verdict.open is None or not has_wide_tile(verdict.fragments, (self.known.n, self.known.m)):
                break
        return verdict

    def _find_open(self, verdict: ProductVerdict, grid: Block | None) -> OpenPart | None:
        """Return why D is not A·B in the blocks that were run, or in the grid of the launch if it is known."""
        judged = (find_other_sum(one, self.known, grid) for one in verdict.fragments.values())
        outside = _find_tile_outside(verdict.runners) if grid is not None else None
        return verdict.open or next(filter(None, judged), None) or outside

    def _judge_one(self, sizes: ParameterSizes, grid: Block | None) -> ProductVerdict:
        """Run the first or the last block, and judge its part of D."""
        block, grid = self._find_block(grid or self._find_own_grid(sizes))
        verdict = self._run_blocks(sizes, [block], grid)
        judged = (find_other_sum(one, self.known, None) for one in verdict.fragments.values())
        return replace(verdict, open=verdict.open or next(filter(None, judged), None))

    def count_to_mistake(self) -> int:
        """Return the number of first products that show that one of them is wrong, 0 if they do not."""
        return next((count for count in _FIRST_PRODUCTS if not self.starts_right(count)), 0)

    def starts_right(self, count: int) -> bool:
        """Return whether the first products of the only block that is run are of rows of A and columns of B."""
        sizes, grid = self.choose_sizes()
        block, grid = self._find_block(grid or self._find_own_grid(sizes))
        branches = list(self._run_setup(self._make_setup(block, sizes, grid, count)))
        if not branches or (len(branches) > 1 and self.choice < 0):
            return False
        for run in branches[self.choice]:
            sums = FragmentLister(run.runner, block, grid[2]).list_sums() if find_lost(run) is None else None
            if sums is None or not are_of_lines(sums, self.known):
                return False
        return True

    def find_other_tail(self, verdict: ProductVerdict) -> OtherTail | None:
        """Return that the last block of the launch does not store the elements inside D, and no others. verdict: D is
        A·B with whole tiles.
        """
        given = self.given
        if given is None or (given.m, given.n) == (self.known.m, self.known.n) or verdict.grid is None:
            return None
        x, y, _ = verdict.grid
        last = [one for one in verdict.every if one.block == (x - 1, y - 1, 0)]
        if not last:
            return None
        inside = list(self._list_inside(np.concatenate([one.place for one in last]), given))
        known = replace(given, k=self.known.k)
        verdicts = list(replace(self, known=known, alone=LAST).list_verdicts())
        for one in verdicts:
            stored = _list_stored(one.runners)
            if any(part <= stored <= part | around for part, around in inside):
                outside = find_outside_load(one, self._list_ends(verdict.every, given))
                return OtherTail(None, known, one.runners, outside) if outside is not None else None
        reason = f"the last block stores other elements than those below M = {given.m:,} and N = {given.n:,}"
        return OtherTail(OpenPart(reason, last[0].stored), known, verdicts[-1].runners)

    def _list_ends(self, fragments: Sequence[KnownFragment], given: KnownMatrices) -> dict[str, int]:
        """Return the ends of A and B with the sizes of the launch. fragments: with whole tiles."""
        ends = find_ends(fragments)
        for n, own, whole in ((0, given.m, self.known.m), (1, given.n, self.known.n)):
            for name in {each.sides[n].array for one in fragments for each in one.products} & ends.keys():
                ends[name] = ends[name] * own // whole
        return ends

    def _list_inside(self, places: Ints, given: KnownMatrices) -> Iterator[tuple[set[int], set[int]]]:
        """Yield where the elements of D at some places of a whole tile are with the sizes of the launch, if they are
        inside, and all places of a tile that is moved so far that it ends at the last row and column: with rows, and
        with columns, next to each other.
        """
        for size, line, lines in ((self.known.n, given.n, given.m), (self.known.m, given.m, given.n)):
            outer, inner = np.divmod(places, size)
            kept = (outer < lines) & (inner < line)
            height, width = len(np.unique(outer)), len(np.unique(inner))
            moved = np.add.outer(np.arange(lines - height, lines) * line, np.arange(line - width, line))
            yield set((outer * line + inner)[kept].tolist()), set(moved.ravel().tolist())

    def _run_setup(self, setup: TileSetup) -> Iterator[list[KernelRun]]:
        """Run one block; yield a list for each choice of #if conditions."""
        name, size = self.function.name, (self.known.k, 1)
        return run_kernels(self.text, self.macros, self.recorded, size=size, tiles=setup, only=name)

    def _find_block(self, grid: Block | None) -> tuple[Block, Block]:
        """Return (the first or the last block, the grid)."""
        x, y, z = (BLOCKS, 1, 1) if self.takes_turns else grid or (*PLANE, 1)
        return (0, 0, 0) if self.alone == FIRST else (x - 1, y - 1, 0), (x, y, z)

    def _find_own_grid(self, sizes: ParameterSizes) -> Block | None:
        """Return the grid that the code of a CuTe kernel's host computes from the sizes; None if launches differ."""
        if self.takes_turns or not names_cute(self.text):
            return None
        branches = list(self._run_setup(self._make_setup((0, 0, 0), sizes, (*PLANE, 1), 1)))
        runs = self._leave_scalar(branches[0]) if len(branches) == 1 else []
        grids = {(*run.runner.launched, 1, 1)[:3] if run.runner.launched else None for run in runs}
        grid = grids.pop() if len(grids) == 1 else None
        return (grid[0], grid[1], grid[2]) if grid is not None else None

    def _leave_scalar(self, runs: Sequence[KernelRun]) -> Sequence[KernelRun]:
        """Return the runs without those of CuTe's scalar atoms, which have no product of a warp, if others have."""
        multiply = [run for run in runs if run.runner.products or run.runner.descriptors]
        return multiply if multiply and names_cute(self.text) else runs

    def _make_setup(self, block: Block, sizes: ParameterSizes, grid: Block, count: int = 0) -> TileSetup:
        name = self.function.name
        return TileSetup(
            block, lambda *_: None, {name: sizes}, {(name, ()): grid}, last_product=count, launches=self.launches
        )

    def _run_blocks(self, sizes: ParameterSizes, blocks: Sequence[Block], grid: Block) -> ProductVerdict:
        """Run some blocks of a grid; the verdict is open if something of them is not known."""
        fragments, runners = dict[int, list[KnownFragment]](), list[KernelRunner]()
        for block in dict.fromkeys(blocks):
            branches = list(self._run_setup(self._make_setup(block, sizes, grid)))
            if not branches or (len(branches) > 1 and self.choice < 0):
                return ProductVerdict(OpenPart(SEVERAL, choices=len(branches)))
            for n, run in enumerate(self._leave_scalar(branches[self.choice])):
                unsized = run.runner.unsized
                if unsized:
                    reason = f"what its {', '.join(sorted(unsized))} may be is not known"
                    return ProductVerdict(OpenPart(reason), frozenset(unsized))
                if lost := find_lost(run):
                    return ProductVerdict(lost)
                runners.append(run.runner)
                if wrong := find_wrong_access(run.runner):
                    return ProductVerdict(OpenPart(wrong.message.rstrip("."), wrong.span), runners=runners)
                found = FragmentLister(run.runner, block, grid[2]).list_all()
                if isinstance(found, OpenPart):
                    return ProductVerdict(found, runners=runners)
                fragments.setdefault(n, []).extend(found)
        return ProductVerdict(None, fragments=fragments, runners=runners)


def _find_tile_outside(runners: Iterable[KernelRunner]) -> OpenPart | None:
    """Return that a block takes a tile that a matrix of CuTe does not have."""
    found = next((run.strides.outside for run in runners if run.strides.outside is not None), None)
    return OpenPart(f"a block takes a tile outside of {found[1]}", found[0]) if found is not None else None
