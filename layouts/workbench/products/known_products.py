"""Run kernels that multiply tiles of threads with different M, N and K, and compare every element of D with A·B.

An element of D at row m and column n is the sum over all k of A[m, k] · B[k, n], each k once. With numbers for M, N and
K each place in an array says which row, column, k and matrix of a batch it is, whatever the code computes it from: a
step, a pitch or a bound of another size gives other places. A kernel for which this does not hold may be right, such as
one with weights in an order of their own, so that it is open and not wrong. Wrong is what leaves no doubt: D of bytes
that nothing has stored, and sums that miss, or have too many, of the same number of k at one end, whatever K is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, islice

from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import run_kernels
from lanescope.reader.threads.memory.tile_records import TileSetup
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.fragments.skipped_slices import adds_result
from lanescope.workbench.products.known_bounds import (
    are_equal,
    describe_bound,
    describe_guard,
    find_half_exchange,
    list_bound_edits,
    list_guard_edits,
)
from lanescope.workbench.products.known_fragments import FragmentLister, explain_nothing, find_change, find_lost
from lanescope.workbench.products.known_mistakes import (
    OTHER_LOADS,
    WRONG_TRANSPOSE,
    describe_part,
    find_other_type,
    find_unfilled,
    find_wrong_access,
    leaves_slices,
    may_be_completed,
)
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.products.known_sums import (
    UNCOVERED,
    KnownFragment,
    KnownMatrices,
    OpenPart,
    ParameterSizes,
    find_other_sum,
    find_part_of_k,
    list_strides,
)
from lanescope.workbench.products.other_sizes import DEEP, FIRST, LAST, TAILED, has_own_tail, list_other_sizes
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.product_report import ProductReport, ProductVerdict
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.products.size_names import (
    NamedSizes,
    explain_sizes,
    find_letters,
    has_blocks,
    list_named_sizes,
    list_own_sizes,
    list_sizes,
)
from lanescope.workbench.products.unproved_results import make_open_point
from lanescope.workbench.repair.flags import edit_load, flip_transposes
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import CheckFinding, Span, TextEdit
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_functions

USUAL = KnownMatrices()
_LONGEST = 768  # K of a run
_UNIT = 128  # divides M, N and K of a launch that is run: tiles at the edges have their own code
BLOCKS = 2048  # of a line of blocks with one tile at most
MOST_FLIPS, MOST_EDITS = 6, 12  # transpose immediates, and edits of a load or of bounds, that are tried
PLANE = 6, 4  # of a grid that is not known: tiles of 256 × 256 are inside the matrices, the last one has odd indices
_WGMMA = re.compile(r"wgmma\s*\.\s*mma_async(?:\s*\.\s*\w+)*")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


def judge_known_products(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord],
    proved: Set[str],
    doubted: Set[str] = frozenset(),
) -> ProductReport:
    """Return mistakes and open points of the kernels whose D is not known to be A·B.

    proved: the names of those whose fragments are right; doubted: of those with reads that may be wrong or are not
    known, which are open only where a line shows it.
    """
    mistakes, open_, blank = list[CheckFinding](), list[OpenPoint](), blank_text(text)
    whole: set[str] = set()
    for one in find_functions(blank):
        if one.kernel and one.name in proved | doubted:
            run = _KnownRun(text, macros, recorded, one, blank[slice(*one.body)]).fit_launch()
            try:
                with end_when(is_late):
                    open_part, mistake = run.judge_named()
            except LayoutError:
                open_part, mistake = OpenPart("its run did not end"), None
            except OverdueError:
                open_part, mistake = OpenPart("the time limit was reached"), None
            mistakes += [mistake] if mistake is not None else []
            whole |= {one.name} if open_part is None or open_part.whole else set()
            if open_part is None:
                continue
            if mistake is None and open_part.reason and (open_part.span or one.name in proved | whole):
                open_.append(make_open_point(one, blank, open_part.reason, open_part.span))
    return ProductReport(mistakes, open_, frozenset(whole))


@dataclass(frozen=True, slots=True)
class _KnownRun:
    """A kernel that is run with known sizes. body: its text; known: the sizes; fitted: whether its launch has them, or
    a longer K; exact: whether other numbers of the launch may depend on them; parts: what K is divided by; alone: the
    block that is run, the first or the last one; "" for several.
    """

    text: str
    macros: Mapping[str, str]
    recorded: Sequence[KernelLaunchRecord]
    function: FunctionText
    body: str
    known: KnownMatrices = USUAL
    fitted: bool = False
    exact: bool = False
    parts: int = 1
    alone: str = ""

    def fit_launch(self) -> _KnownRun:
        """Return the run with the M, N and K that a launch gives as numbers. K is shortened to that of other runs if
        no other number of the launch may depend on it, or only the number of blocks along z that divide it.
        """
        sizes, grid = self._choose_sizes()
        given = {shorten_name(name): value for name, value in sizes.items()}
        usual = {self.known.m, self.known.n, self.known.k}
        if sizes.are_named or not given.keys() >= set("mnk") or set(given.values()) == usual:  # or exchanged
            return self
        alone = len(sizes) == 3 and "blockIdx.z" not in self.body
        others = {value for name, value in sizes.items() if shorten_name(name) not in "mnk"}
        parts = grid[2] if grid is not None and others == {grid[2]} else 1
        free = (alone or parts > 1) and not given["k"] % (parts * _UNIT)
        depth = min(given["k"], self.known.k * parts) if free else given["k"]
        alone &= not any(value % _UNIT for value in given.values())
        known = replace(self.known, m=given["m"], n=given["n"], k=depth)
        return replace(self, known=known, fitted=True, exact=not alone, parts=parts)

    def judge_named(self) -> tuple[OpenPart | None, CheckFinding | None]:
        """Judge D, also with M, N and K by other names if the kernel lacks one of them: only a proof counts there."""
        open_part, mistake = self.judge()
        if mistake is None and open_part is not None and not open_part.whole and len(self.sizes) < 3:
            for one in chain(list_named_sizes(self.text, self.function, self.recorded, USUAL), self._list_own_sizes()):
                found = replace(self, text=one.text, recorded=one.recorded, known=one.known, exact=one.alone)
                if found.judge(explain=False) == (None, None):
                    return None, None
        return open_part, mistake

    def _list_own_sizes(self) -> Iterator[NamedSizes]:
        """Yield what M, N and K are if one block of a kernel without integers computes all of D."""
        if has_blocks(self.text, self.function) or list_sizes(self.text, self.function):
            return
        fragments = [one for of in next(self.list_verdicts()).fragments.values() for one in of]
        for known in list_own_sizes(self.text, fragments):
            yield NamedSizes(self.text, self.recorded, known, alone=True)

    def judge(self, explain: bool = True) -> tuple[OpenPart | None, CheckFinding | None]:
        """Return (why D is not known to be A·B, None if it is with some strides that its parameters may have; what is
        certainly wrong). explain: whether to search for what is wrong if no strides give A·B.
        """
        if exchange := find_half_exchange(self.text, self.function, self.recorded, self._choose_sizes()[0]):
            return OpenPart("its launch exchanges sizes, and not A and B with them", exchange), None
        if self.exact and self.known.k > _LONGEST * self.parts:
            return OpenPart(f"a run with K = {self.known.k:,}, which its launch has, is too long"), None
        verdicts: list[ProductVerdict] = []
        for verdict in self.list_verdicts():
            if verdict.open is None:
                any_ = any(verdict.fragments.values())
                known = find_change(verdict.runners) if any_ else explain_nothing(verdict.runners)
                head = self.text[self.text.rfind("__global__", 0, self.function.body[0]) : self.function.body[0]]
                types = (find_other_type(self.text, head, run) for run in verdict.runners)
                return self._judge_again(verdict) or (known, next(filter(None, types), None))
            verdicts.append(verdict)
        open_part = explain_sizes(verdicts[-1].open, self.sizes)
        if not explain:
            return open_part, None
        found = self._find_guard(verdicts[0]) or self._find_bound(verdicts[0]) or self._find_edit(verdicts[0])
        return open_part, found or self._find_mistake(verdicts)

    def _judge_again(self, verdict: ProductVerdict) -> tuple[OpenPart, CheckFinding | None] | None:
        """Return why D is not A·B with other sizes, and the bound that is wrong; None if D is right, or if there is no
        time for other runs. verdict: of this run.
        """
        others = () if self.exact else list_other_sizes(self.text, self.function, verdict.runners, self.known)
        runs = (
            (replace(self, known=replace(known, names=self.known.names), alone=block), spans)
            for known, block, spans in others
        )
        judged = (run._judge_other(verdict, spans) for run, spans in runs if run._may_differ)
        try:
            return next(filter(None, judged), None)
        except OverdueError:
            return None

    @property
    def _may_differ(self) -> bool:
        """Return whether a kernel has to be right with these sizes, too, and the last block is that at the corner."""
        return self.known == DEEP or not (self.fitted or (self.alone == LAST and self._takes_turns))

    def _judge_other(
        self, before: ProductVerdict, spans: Sequence[Span]
    ) -> tuple[OpenPart, CheckFinding | None] | None:
        """Return what is wrong with the sizes of this run. before: the verdict with others; spans: the bounds that this
        run is for.
        """
        verdicts = list(self.list_verdicts())
        why = next((one.open for one in verdicts if one.open not in (None, UNCOVERED)), None)
        every = [one for of in before.fragments.values() for one in of]
        runners = verdicts[0].runners
        if why is None or any(one.open in (None, UNCOVERED) for one in verdicts):
            return None
        if self.known == TAILED and not has_own_tail(self.text, before.runners, runners, every):
            return None
        reason = f"with M = {self.known.m}, N = {self.known.n} and K = {self.known.k}, {why.reason}"
        seen = {span for one in before.runners for span, _ in one.compared}
        new = {span for one in runners for span, _ in one.compared} - seen
        found = self._find_guard(verdicts[0]) or self._find_bound(verdicts[0], new)
        return OpenPart(reason, spans[0] if spans else why.span), found

    def _find_guard(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of a condition that puts zeros in place of elements, and with which D is A·B after a
        change.
        """
        fragments = (one for of in verdict.fragments.values() for one in of)
        if not any(side.zeros is not None for one in fragments for each in one.products for side in each.sides):
            return None
        for edit in islice(list_guard_edits(self.text, verdict.runners), MOST_EDITS):
            edited = replace(self, text=apply_edits(self.text, [edit]))
            first = next(replace(edited, alone=FIRST).list_verdicts())
            if first.open is None and any(other.open in (None, UNCOVERED) for other in edited.list_verdicts()):
                return describe_guard(edit)
        return None

    def _find_bound(self, verdict: ProductVerdict, always: Collection[Span] = ()) -> CheckFinding | None:
        """Return the finding of a bound with which D is A·B if it is another one of M, N and K.

        If both others give A·B, the bound may name the right size beside a wrong number, and nothing is reported.
        """
        found: dict[Span, list[TextEdit]] = {}
        for edit in islice(list_bound_edits(self.text, verdict.runners, self.known, always), MOST_EDITS):
            equal = are_equal(self.function, self.recorded, (self.text[slice(*edit.span)], edit.text))
            edited = replace(self, text=apply_edits(self.text, [edit]))
            if not equal and any(other.open in (None, UNCOVERED) for other in edited.list_verdicts()):
                found.setdefault(edit.span, []).append(edit)
        certain = (edits[0] for edits in found.values() if len(edits) == 1)
        return next((describe_bound(self.text, edit) for edit in certain), None)

    @property
    def sizes(self) -> set[str]:
        """Return which of m, n and k parameters of the kernel, or members of these, are called."""
        return find_letters(self.text, self.function, self.recorded)

    @property
    def _takes_turns(self) -> bool:
        """Return whether the blocks of a line take tiles in turn."""
        return "gridDim" in self.body and "blockIdx.y" not in self.body

    def list_verdicts(self) -> Iterator[ProductVerdict]:
        """Yield a verdict for each choice of the strides that have no size."""
        sizes, grid = self._choose_sizes()
        judge = self._judge_one if self.alone else self._judge_sizes
        first = judge(sizes, grid)
        yield first
        for strides in list_strides(first.unsized, self.known):
            yield judge(ParameterSizes({**sizes, **strides}, self.known), grid)

    def _choose_sizes(self) -> tuple[ParameterSizes, Block | None]:
        """Return what the kernel is launched with, and its grid if it is known."""
        name = self.function.name
        launches = [launch for launch in self.recorded if launch.name == name]
        members = (value for launch in launches for *_, value in launch.members)
        texts = map(str, (*members, *(one for launch in launches for one in (*launch.grid, *launch.arguments))))
        words = {word for text in texts for word in _NAME.findall(text)}
        known = KnownSizes({word: self.known.find(word) or self.known.others for word in words})
        arguments = known.find_arguments(self.function, self.recorded) or {}
        if self.fitted:
            arguments = {name: self.known.find(name) or value for name, value in arguments.items()}
        grid = known.find_grid(name, self.recorded) if has_blocks(self.text, self.function) else (1, 1, 1)
        return ParameterSizes(arguments, self.known), grid

    def _judge_sizes(self, sizes: ParameterSizes, grid: Block | None) -> ProductVerdict:
        """Run blocks with the integers of the kernel's parameters, and judge D. grid: of the launch, if it is known."""
        last = None
        if self._takes_turns:  # the first block takes two tiles
            first = self._run_blocks(sizes, [(0, 0, 0)], (BLOCKS, 1, 1))
            if first.open is not None:
                return first
            elements = self.known.m * self.known.n
            tiles = min((elements // (len(of) * len(of[0].row)) for of in first.fragments.values() if of), default=1)
            grid = tiles // 2 + 1, 1, 1
            last = (tiles - 1) % grid[0], 0, 0
        x, y, z = grid or (*PLANE, self.known.others if "blockIdx.z" in self.body else 1)
        between = [(x // 2, 0, 0)] if y == 1 else []  # of a line, whose blocks divide their number
        blocks = [(0, 0, 0), *between, last or (x - 1, y - 1, 0), (0, 0, z - 1)]
        verdict = self._run_blocks(sizes, blocks, (x, y, z))
        judged = (find_other_sum(one, self.known, grid) for one in verdict.fragments.values())
        return replace(verdict, open=verdict.open or next(filter(None, judged), None), grid=grid)

    def _judge_one(self, sizes: ParameterSizes, grid: Block | None) -> ProductVerdict:
        """Run the first or the last block, and judge its part of D."""
        x, y, z = (BLOCKS, 1, 1) if self._takes_turns else grid or (*PLANE, 1)
        verdict = self._run_blocks(sizes, [(0, 0, 0) if self.alone == FIRST else (x - 1, y - 1, 0)], (x, y, z))
        judged = (find_other_sum(one, self.known, None) for one in verdict.fragments.values())
        return replace(verdict, open=verdict.open or next(filter(None, judged), None))

    def _run_blocks(self, sizes: ParameterSizes, blocks: Sequence[Block], grid: Block) -> ProductVerdict:
        """Run some blocks of a grid; the verdict is open if something of them is not known."""
        fragments, name, runners = dict[int, list[KnownFragment]](), self.function.name, list[KernelRunner]()
        for block in dict.fromkeys(blocks):
            setup = TileSetup(block, _list_no_places, {name: sizes}, {name: grid})
            size = self.known.k, 1
            branches = list(run_kernels(self.text, self.macros, self.recorded, size=size, tiles=setup, only=name))
            if len(branches) != 1:
                return ProductVerdict(OpenPart("its text has several choices of #if"))
            for n, run in enumerate(branches[0]):
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

    # mistakes

    def _find_mistake(self, verdicts: Sequence[ProductVerdict]) -> CheckFinding | None:
        """Return what is certainly wrong, if the sum of no other kernel is added to D."""
        if self.exact or not self._choose_sizes()[0].are_named:
            return None
        for verdict in verdicts:
            doubt = any(run.undecided or run.open_loads for run in verdict.runners)
            found = None if doubt else next(filter(None, map(find_wrong_access, verdict.runners)), None)
            if found is not None:
                return found
            doubt |= may_be_completed(self.text, self.function, self.recorded) or any(map(adds_result, verdict.runners))
            for fragments in verdict.fragments.values() if not doubt else ():
                found = find_unfilled(self.text, verdict.runners[0], fragments, len(self.sizes) == 3)
                found = found or self._find_part(verdict, fragments)
                if found is not None:
                    return found
        return None

    def _find_edit(self, verdict: ProductVerdict) -> CheckFinding | None:
        """Return the finding of the first edit that makes D A·B: of a transpose immediate of wgmma, or of an ldmatrix
        that loads other rows than the others.
        """
        reads = {use.span for run in verdict.runners for use in run.descriptors}
        ends = (one.end() for first, past in reads for one in _WGMMA.finditer(self.text, first, past))
        edits = (edit for end in ends for edit in flip_transposes(self.text, end))
        tried = dict.fromkeys(islice(dict.fromkeys(edits), MOST_FLIPS), WRONG_TRANSPOSE)
        if verdict.open is not None and verdict.open.load is not None:
            loads = edit_load(self.text, verdict.open.load)
            tried |= {edit: OTHER_LOADS[len(edit) - 1] for edit in islice(loads, MOST_EDITS)}
        for edit, (code, message) in tried.items():
            edited = replace(self, text=apply_edits(self.text, edit))
            if any(other.open in (None, UNCOVERED) for other in edited.list_verdicts()):
                return CheckFinding(code, message.format(edit[0].text), edit[0].span, edits=edit)
        return None

    def _find_part(self, verdict: ProductVerdict, fragments: Sequence[KnownFragment]) -> CheckFinding | None:
        """Return the loop that leaves out some k, or goes on beyond K, and does so with another K."""
        part = find_part_of_k(fragments, self.known, verdict.grid)
        has_gaps = bool(part) and len(part) <= part[-1] - part[0]
        if not part or (has_gaps and not leaves_slices(verdict.runners[0], fragments)):
            return None
        again = replace(self, known=replace(self.known, k=2 * self.known.k, others=self.known.others + 1))
        times = again.known.k // self.known.k
        more = range(part[0], part[-1] + 1 + again.known.k - self.known.k)
        expected = {n * self.known.k + k for n in range(times) for k in part} if has_gaps else more
        for other in again.list_verdicts():
            parts = [find_part_of_k(one, again.known, other.grid) for one in other.fragments.values()]
            if len(parts) == len(verdict.fragments) and set(parts) == {tuple(sorted(expected))}:
                return describe_part(self.text, fragments, part, self.known.k)
        return None


def _list_no_places(_kernel: str, _names: Collection[str], _base: int) -> None:
    return None
