"""Check that wgmma's D is stored at the rows of A and the columns of B that it is the product of.

A kernel is run for a few blocks with square matrices of a known size. Each element of D then has two places: where the
TMA copies of A and B took its row and its column from, and where it is stored. If both are known and differ, the row
or column of a copy or of the store is wrong. Tiles that are not stored as rows of the whole matrix stay open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Self

from lanescope.cxx.source_text import blank_comments, is_kernel_head
from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.evaluation import Evaluation, evaluate_text
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError
from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import parse_expression
from lanescope.reader.threads.memory.results import MOST_STORES
from lanescope.reader.threads.memory.turn_counts import CountFoundError
from lanescope.reader.threads.run_state import StepsOverError
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.copies.box_maps import MapFinder
from lanescope.workbench.fragments.fragment_report import FragmentReport
from lanescope.workbench.fragments.thread_tiles import check_runs
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products import product_slices
from lanescope.workbench.products.block_runner import LOST, BlockRunner, list_blocks, list_needed
from lanescope.workbench.products.known_sizes import DEEP, DEPTH, WIDE, GivenSizes, find_own_sizes, give_sizes
from lanescope.workbench.products.lost_elements import (
    drop_second_outputs,
    find_empty_copy,
    find_lost_element,
    find_stored_twice,
)
from lanescope.workbench.products.misplaced_tiles import StoredTile, judge_array
from lanescope.workbench.products.missing_tiles import TITLES as MISSING_TITLES, find_missing_tile
from lanescope.workbench.products.operand_parts import (
    find_displaced_half,
    find_parts_exchanged,
    find_repeated_rows,
    find_same_half,
)
from lanescope.workbench.products.origin_places import find_other_map
from lanescope.workbench.products.product_origins import Block, OriginFinder, SumOrigin
from lanescope.workbench.products.product_slices import find_slice_mistake, find_uncovered
from lanescope.workbench.products.replaced_sizes import Change, Evaluate, SizedText, limits_depth, replace_sizes
from lanescope.workbench.products.size_edits import (
    Edits,
    describe_bound,
    find_size_edits,
    list_bound_edits,
    list_size_edits,
)
from lanescope.workbench.products.stored_tiles import list_tiles
from lanescope.workbench.products.tile_overwrites import TITLES as OVERWRITE_TITLES, find_overwritten_tile
from lanescope.workbench.products.unlike_parts import find_replaced, find_unlike_parts, find_unordered
from lanescope.workbench.products.unproved_results import (
    OUTSIDE,
    UNSHOWN,
    find_open_result,
    judge_map_strides,
    list_all_sums,
    make_open_point,
)
from lanescope.workbench.products.warp_origins import find_exchanged_coordinates
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.source.shared_budget import find_short_launches
from lanescope.workbench.text.function_texts import FunctionText, blank_text, list_reached_texts

TITLES = {
    "row_coordinate_wrong": "A copy brings other rows than those that D is stored for",
    "operand_rows_wrong": "A product takes other rows of a tile than those that D is stored for",
    **product_slices.TITLES,
    **OVERWRITE_TITLES,
    **MISSING_TITLES,
}
_FORM = re.compile(r"wgmma\s*\.\s*mma_async|tcgen05\s*\.\s*mma")
_WARPS = re.compile(rf"{_FORM.pattern}|\bmma\s*\.\s*sync")
_COPY = re.compile(r"cp\.async\.bulk\.tensor|cp_async_bulk_tensor")
_NO_MULTIPLE = "its code divides M, N or K by a number that the sizes of the run are no multiples of"
_REFUSED = f"K may have to be less than {DEPTH}, that of the run"
_LATE = "the time limit was reached before enough of its blocks were run"
_UNREPLAYED = "the order of its copies and products, or where it is stored, is not known"


@dataclass(frozen=True, slots=True)
class OriginReport:
    """The mistakes of kernels, and the kernels whose D could not be compared with A·B. proved: those whose D is A·B;
    stores: where elements of D are stored; fragments: of the kernels whose warps load what TMA copies bring, by name.
    """

    mistakes: tuple[Pitfall, ...] = ()
    open: tuple[OpenPoint, ...] = ()
    proved: frozenset[str] = field(default=frozenset(), compare=False)
    stores: frozenset[Span] = field(default=frozenset(), compare=False)
    fragments: Mapping[str, FragmentReport] = field(default_factory=dict, compare=False)


def check_origins(
    source: KernelText,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord],
    evaluate: Evaluate = evaluate_text,
) -> OriginReport:
    """Check that the copies, products and stores of kernels make D = A·B; the first mistake of each kernel. evaluate:
    evaluates the text with other numbers.
    """
    text = source.code.text
    if not source.maps or not _WARPS.search(text) or not _COPY.search(text) or not is_kernel_head(text):
        return OriginReport()
    report, reason = None, _REFUSED if limits_depth(source.blank, DEPTH) else LOST
    try:
        with end_when(is_late):
            report = _judge_sizes(OriginJudge(source, macros, recorded, evaluate, DEPTH))
    except (LayoutError, OverdueError) as error:
        reason = _LATE if isinstance(error, OverdueError) else LOST
    return report or OriginReport(open=_open_kernels(source, {one.name: reason for one in source.functions}))


def _judge_sizes(first: OriginJudge) -> OriginReport | None:
    """Judge the kernels with the usual K, and with those that what is open asks for; None if the program refuses it."""
    report = None if limits_depth(first.source.blank, first.size) else first.judge()
    for size, reasons in ((DEEP, [_UNREPLAYED]), (WIDE, [OUTSIDE, UNSHOWN])):
        asked = report is not None and any(reason in point.reason for point in report.open for reason in reasons)
        asked |= size == WIDE and report is not None and any(one.code in MISSING_TITLES for one in report.mistakes)
        if asked and not limits_depth(first.source.blank, size):
            report = replace(first, size=size).judge() or report
    return report


@dataclass(frozen=True, slots=True)
class OriginJudge:
    """Judges the kernels of a text in runs with known sizes. evaluate: evaluates a text; size: of K, or of square
    matrices; alone: the only blocks that are run, if not all that are needed; they show some of the mistakes.
    """

    source: KernelText
    macros: Mapping[str, str]
    recorded: Sequence[KernelLaunchRecord]
    evaluate: Evaluate
    size: int
    alone: tuple[Block, ...] = ()

    def judge(self) -> OriginReport | None:
        """Judge the kernels with different sizes of M, N and K if these can be given, else with square matrices.

        What runs with numbers of the text itself, or in place of these, leave open may be wrong with square matrices.
        """
        given = self._give_sizes()
        found = self._judge_sized(given) if given is not None else None
        if found is not None:
            return found
        found = self._judge_own_sizes()
        if found is not None and (found.mistakes or not found.open):
            return found
        other = self._judge_sized(SizedText(self.source, self.recorded, None))
        return found if other is None or (found is not None and not other.mistakes) else other

    def _judge_own_sizes(self) -> OriginReport | None:
        """Judge the kernels with numbers in place of those of the text, or with these if they differ."""
        own, differ = find_own_sizes(self.source, self.recorded)
        sized = self._replace_sizes() or (own and SizedText(self.source, self.recorded, own, certain=differ))
        found = self._judge_sized(sized) if sized else None
        if not sized or found is None or not found.mistakes or sized.certain:
            return found
        equal = self._replace_sizes(Change.EQUAL)
        found = self._judge_sized(equal) if equal else None
        return found if found is not None and found.mistakes else None

    def _give_sizes(self, turned: bool = False) -> SizedText | None:
        given = give_sizes(self.source, self.recorded, self.size, turned)
        return SizedText(self.source, self.recorded, given) if given is not None else None

    def _replace_sizes(self, change: Change = Change.NONE) -> SizedText | None:
        return replace_sizes(self.source, self.recorded, self.evaluate, self.size, change)

    def _judge_sized(self, sized: SizedText) -> OriginReport | None:
        """Return what runs of a text say of that which it was made of; None if it could not be run with its sizes."""
        found, finders = self._run(sized)
        if found is None:
            return None
        sure = sized.given is not None and sized.certain and len(finders) == 1
        if not found.mistakes and sure and not self.alone:
            mistake = self._find_other_size(sized, next(iter(finders.values())), found.open)
            found = OriginReport((mistake,)) if mistake is not None else found
        mistakes = (
            replace(one, span=sized.restore_span(one.span), others=tuple(map(sized.restore_span, one.others)))
            for one in found.mistakes
        )
        open_ = (replace(one, span=sized.restore_span(one.span)) for one in found.open)
        stores = frozenset(map(sized.restore_span, found.stores))
        return OriginReport(tuple(mistakes), tuple(open_), found.proved, stores, found.fragments)

    def _find_other_size(
        self, sized: SizedText, finders: Sequence[OriginFinder], open_: Sequence[OpenPoint]
    ) -> Pitfall | None:
        """Return the finding of a size that another one must replace. open_: why D is not A·B in this run, if it is
        not.
        """
        sums, text = list_all_sums(finders), sized.source.code.text
        if not sums or not sums[0].get_depth(0):
            return None
        if open_:
            kinds = list_size_edits(sized, finders, sums, [one.reason for one in open_])
            found = ((describe, self._find_edits(sized, tried)) for describe, tried in kinds)
            return next((describe(text, edits) for describe, edits in found if edits), None)
        bounds = list(list_bound_edits(sized, finders, sums, proved=True))
        other = (self._replace_sizes(Change.TURNED) if sized.edits else self._give_sizes(True)) if bounds else None
        if other is None or self._is_proved(other):
            return None  # it is, if M is larger than N, too
        edits = self._find_edits(other, bounds)
        return describe_bound(text, edits) if edits else None

    def _find_edits(self, sized: SizedText, tried: Iterable[Edits]) -> Edits:
        return find_size_edits(sized, tried, self.evaluate, self._is_proved)

    def _is_proved(self, sized: SizedText) -> bool:
        found, _ = self._run(sized)
        return found == OriginReport()

    def list_alone(self) -> Iterator[Self]:
        """Yield what judges one block each, the last one first, the first one with another, and all."""
        blocks = list_blocks(self.source.code.text, given.given if (given := self._give_sizes()) else None)
        ordered = sorted(blocks, reverse=True)
        yield from (replace(self, alone=(block,)) for block in ordered)
        yield from (replace(self, alone=((0, 0, 0), block)) for block in ordered if any(block))
        yield self

    def _run(self, sized: SizedText) -> tuple[OriginReport | None, Mapping[tuple[str, int], Sequence[OriginFinder]]]:
        """Return (the report of runs with given sizes, None if the kernels could not be run with them; the runs)."""
        maps = MapFinder(sized.source, sized.given.sizes if sized.given is not None else None)
        runner = BlockRunner(sized.source, self.macros, sized.recorded, sized.given, maps, self.size)
        finders = self._run_blocks(runner, sized)
        if finders is None:
            return None, {}
        evaluate = partial(_evaluate_host, finders)
        found = list(find_short_launches(sized.source.blank, sized.recorded, list_needed(finders), evaluate))
        reasons = dict(runner.lost)
        fragments = _check_fragments(sized, runner, finders)
        found += [_make_pitfall(one) for report in fragments.values() for one in report.findings]
        if not found:
            for key, of_kernel in finders.items():
                mistake, reason = _judge_kernel(of_kernel, sized, runner.find_grid(of_kernel))
                found += [mistake] if mistake is not None else []
                reasons[key[0]] = reasons.get(key[0]) or reason
            found = list({(one.code, one.span): one for one in found}.values())
        proved = frozenset(name for name, _ in finders if not reasons.get(name) and not found)
        stores = frozenset(site for one in chain(*finders.values()) for site in one.list_stores())
        open_ = () if found else _open_kernels(sized.source, reasons)
        return OriginReport(tuple(found), open_, proved, stores, fragments), finders

    def _run_blocks(self, runner: BlockRunner, sized: SizedText) -> dict[tuple[str, int], list[OriginFinder]] | None:
        """Return the runs of the blocks, by kernel and launch; None if they could not be run with these sizes."""
        blocks = self.alone or list_blocks(sized.source.code.text, sized.given)
        if not runner.run_blocks(blocks):
            return None
        finders = runner.replay_runs()
        return finders if self.alone else runner.run_later_blocks(runner.run_later_blocks(finders))


def _check_fragments(
    sized: SizedText, runner: BlockRunner, finders: Mapping[tuple[str, int], Sequence[OriginFinder]]
) -> dict[str, FragmentReport]:
    """Check the fragments that warps load of boxes, by kernel."""
    runs: dict[str, list[KernelRun]] = {}
    for key, of_kernel in finders.items():
        if _loads(of_kernel):
            runs.setdefault(key[0], []).append(runner.kernels[key])
    return {name: check_runs(sized.source.code.text, of, sized.recorded) for name, of in runs.items()}


def _loads(finders: Sequence[OriginFinder]) -> bool:
    """Return whether warps of a kernel load and multiply what TMA copies bring."""
    multiplies = ((*finder.trace.products_of_warps, *finder.run.register_products) for finder in finders)
    return any(finder.trace.reads and of for finder, of in zip(finders, multiplies, strict=True))


def _make_pitfall(finding: CheckFinding) -> Pitfall:
    return Pitfall(finding.code, finding.message, finding.span)


def list_settled(code: Evaluation | None, report: OriginReport) -> tuple[Span, ...]:
    """Return the functions that only kernels reach of which D is A·B, if it is in every kernel of a text that
    multiplies through descriptors; else none. report: of its kernels.
    """
    if code is None or not report.proved:
        return ()
    functions = KernelText(code).functions
    reached = {one.name: set(list_reached_texts(code.text, functions, one)) for one in functions if one.kernel}
    if not {name for name, of in reached.items() if any(map(_FORM.search, of))} <= report.proved:
        return ()
    blank = blank_comments(code.text)
    sides = ((of for name, of in reached.items() if (name in report.proved) == right) for right in (True, False))
    proved, others = (set[str]().union(*side) for side in sides)
    return tuple(one.body for one in functions if blank[slice(*one.body)] in proved - others)


def _open_kernels(source: KernelText, reasons: Mapping[str, str]) -> tuple[OpenPoint, ...]:
    """Return the kernels with tensor maps whose D may be wrong. reasons: by name."""
    open_ = [one for one in source.functions if one.kernel and reasons.get(one.name)]
    points = [(one, make_open_point(one, source.blank, reasons[one.name])) for one in open_]
    return tuple(point for one, point in points if _has_maps(source, one, source.blank[point.span[0] : one.body[0]]))


def _has_maps(source: KernelText, kernel: FunctionText, head: str) -> bool:
    """Return whether a kernel has parameters that are tensor maps, or multiplies what it copies by those in structs."""
    if "CUtensorMap" in head:
        return True
    reached = list(list_reached_texts(source.code.text, source.functions, kernel))
    return all(any(map(form.search, reached)) for form in (_WARPS, _COPY))


def _evaluate_host(finders: Mapping[tuple[str, int], Sequence[OriginFinder]], at: Span) -> int | None:
    """Return the value of the expression that begins here, up to the end of its statement; None if it is not known."""
    run = next((finder.run for of_kernel in finders.values() for finder in of_kernel), None)
    if run is None:
        return None
    past = run.text.find(";", at[0])
    expression = parse_expression(run.text[at[0] : past]) if past > 0 else None
    if expression is None:
        return None
    try:
        value = run.evaluate(expression, run.globals.find_home(at[0]))
    except (TraceLostError, StepsOverError, CountFoundError):
        return None
    return value.known if isinstance(value, ThreadNumber) else None


def _judge_kernel(finders: Sequence[OriginFinder], sized: SizedText, grid: Block | None) -> tuple[Pitfall | None, str]:
    """Return (the first mistake of a kernel in runs with given sizes, why its D is open if it has none)."""
    if not finders:
        return None, _UNREPLAYED
    given = sized.given
    if not all(finder.run.turn_counts.are_multiples for finder in finders):
        return None, _NO_MULTIPLE
    exchanged = next(filter(None, map(find_exchanged_coordinates, finders)), None)
    if exchanged is not None:
        return exchanged, ""
    tiles: dict[str, list[StoredTile]] = {}
    sums: dict[int, SumOrigin] = {}
    for finder in finders:
        for array, tile in list_tiles(finder):
            tiles.setdefault(array, []).append(tile)
            sums |= {id(total): total for total in (tile.sum, *finder.list_joined(tile.sum))}
    found = _list_mistakes(finders, tiles, list(sums.values()), given, grid) if tiles else ()
    mistake = next(filter(None, found), None) or find_overwritten_tile(finders[0], blank_text(finders[0].run.text))
    if mistake:
        return mistake, ""
    if given is None:
        return None, find_open_result(finders, tiles, None, grid)
    reason = find_open_result(finders, tiles, given.sizes, grid)
    if not reason:
        return judge_map_strides(finders, given.sizes)
    missing = find_missing_tile(finders, tiles, given, sized.recorded)
    if missing is None:
        return None, reason
    if not missing.certain:
        return None, f"{reason}. {missing.message.rstrip('.')}"
    return Pitfall("tiles_left", missing.message, missing.span), ""


def _list_mistakes(
    finders: Sequence[OriginFinder],
    tiles: Mapping[str, Sequence[StoredTile]],
    sums: Sequence[SumOrigin],
    given: GivenSizes | None,
    grid: Block | None,
) -> Iterator[Pitfall | None]:
    """Yield what each check of a kernel finds, those first from which others may follow."""
    text = finders[0].run.text
    yield find_slice_mistake(sums)
    yield find_other_map(sums[0])
    yield find_same_half(finders)
    yield find_repeated_rows(tiles)
    yield find_parts_exchanged(tiles)
    yield find_displaced_half(tiles)
    for array, of_array in tiles.items():
        yield judge_array(array, of_array, text, given)
    yield find_unlike_parts(finders)
    yield from map(find_unordered, finders)
    if find_open_result(finders, tiles, given.sizes if given else None, grid):  # else equal ones are stored again
        yield from map(find_replaced, finders)
    if all(len(finder.run.outputs) < MOST_STORES and not finder.run.shared.broken for finder in finders):
        copied = [(move, data) for one in finders for move in one.trace.stores for data in move.data.values()]
        yield find_empty_copy(copied)
    if given is not None:
        adds = any(store.adds for of_array in tiles.values() for tile in of_array for store in tile.stores)
        yield find_lost_element(finders, tiles)
        yield find_uncovered(sums, given, adds)
        yield find_stored_twice(drop_second_outputs(tiles))
