"""Find reads of wgmma and tcgen05.mma from bytes that no TMA copy of the kernel fills.

Every read is followed for each warpgroup that runs it. If all copies are known, and no thread stores into the buffer,
such a read is a mistake; else the operand is not verified.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.running.run_records import MOST_STORES, MemoryStore
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.copied_bytes import (
    OUTSIDE,
    Chunks,
    CopiedBytes,
    FilledBytes,
    collect_copied_bytes,
    find_covered,
)
from lanescope.workbench.copies.copy_waits import CopyWaits
from lanescope.workbench.copies.filled_tiles import find_operand_map
from lanescope.workbench.copies.placed_reads import EVERY_GROUP, PlacedRead, ReadPlace, list_placed_reads
from lanescope.workbench.copies.transfers import is_known
from lanescope.workbench.kernels.kernel_runs import PRODUCTS, KernelEvent, KernelRun, KernelText
from lanescope.workbench.kernels.running_groups import OPEN_BLOCK, WarpgroupRuns, depends_on_thread, evaluate_terms
from lanescope.workbench.reads.stage_counters import is_counter
from lanescope.workbench.results import Span, Workbench
from lanescope.workbench.text.asm_operands import join_strings
from lanescope.workbench.text.names import find_operand_letter
from lanescope.workbench.text.shared_variables import are_separate

MOST_READS = 400  # of one kernel
_UNKNOWN_GROUPS = 3  # warpgroups of a kernel whose number of threads is open
UNFILLED, UNAWAITED, FOREIGN, MIXED = "unfilled", "unawaited", "foreign", "mixed"
_WAITS = re.compile(r"(?:try|test)_wait")


@dataclass(frozen=True, slots=True)
class _Filled:
    """How many of the 16-byte chunks of a read are filled, and how many it has."""

    filled: int
    total: int

    @property
    def is_whole(self) -> bool:
        return self.filled == self.total


@dataclass(frozen=True, slots=True)
class _GroupRead:
    """What a warpgroup reads, or every one. fills: the copies into its buffer; stages: how much they fill in each."""

    group: int
    fills: Sequence[FilledBytes]
    stages: Mapping[int, _Filled]

    @property
    def filled_stages(self) -> set[int]:
        """The stages of which copies fill all that is read."""
        return {stage for stage, filled in self.stages.items() if filled.is_whole}


_GroupReads = Mapping[int, _GroupRead]  # by the number of the warpgroup


@dataclass(frozen=True, slots=True)
class UnfilledRead:
    """A read from bytes that no copy fills.

    certain: whether nothing else can fill them; group: the warpgroup that reads them, EVERY_GROUP if all do; reason:
    UNFILLED, UNAWAITED if they are of a copy that the warpgroup has not waited for, FOREIGN if of another tensor map,
    MIXED if of several copies whose elements of K differ.
    """

    event: KernelEvent
    place: ReadPlace
    buffer: str
    certain: bool
    group: int
    fills: tuple[FilledBytes, ...]
    filled: _Filled
    reason: str = UNFILLED
    group_step: int = 0  # bytes from the start of one warpgroup to that of the next

    @property
    def operand(self) -> str:
        return self.place[0]

    @property
    def span(self) -> Span:
        return self.place[1]


def find_unfilled_reads(text: KernelText, bench: Workbench) -> list[UnfilledRead]:
    """Find the reads from bytes that no copy fills; each place and operand once, those that are certain first."""
    if not text.runs or not text.maps:
        return []
    maps: dict[ReadPlace, TensorMap | None] = {}
    for operand in bench.operands:
        tensor_map = find_operand_map(bench, operand, text.maps)
        maps.update({(operand.name, step.span, step.around): tensor_map for step in operand.steps})
    wrong = {(operand.name, operand.instruction) for operand in bench.operands if operand.wrong}  # reported already
    found: dict[ReadPlace, UnfilledRead] = {}
    for run in text.runs:
        for read, unfilled in _RunJudge(text, run, maps).find_unfilled():
            before = found.get(read.place)
            if (read.operand, read.instruction) not in wrong and (before is None or unfilled.certain > before.certain):
                found[read.place] = unfilled
    return sorted(found.values(), key=lambda unfilled: not unfilled.certain)


class _RunJudge:
    """The reads and the copies of one kernel run."""

    def __init__(self, text: KernelText, run: KernelRun, maps: Mapping[ReadPlace, TensorMap | None]) -> None:
        self.text, self.run, self.maps = text, run, maps
        self.groups = WarpgroupRuns(text)
        self.block = self.groups.find_block(run.name) or OPEN_BLOCK
        self.states: dict[object, dict[int, bool | None]] = {}

    @cached_property
    def waits(self) -> CopyWaits:
        return CopyWaits(self.text, self.run)

    @cached_property
    def copied(self) -> CopiedBytes:
        return collect_copied_bytes(self.text, self.run)

    def find_unfilled(self) -> Iterator[tuple[PlacedRead, UnfilledRead]]:
        products = [event for event in self.run.events if event.kind in PRODUCTS]
        if not products or not self.copied.fills:
            return
        seen: set[object] = set()
        for read in list_placed_reads(self.text, products[:MOST_READS], self.block):
            key = read.event.arms, read.operand, read.address, read.use.arguments[read.operand].span
            if key not in seen and (unfilled := self._judge(read)) is not None:
                yield read, unfilled
            seen.add(key)

    # one read ---------------------------------------------------------------------------------------------------------

    def _judge(self, read: PlacedRead) -> UnfilledRead | None:
        """Return a read as unfilled if some of its bytes are not copied; None if all are, or if that is open."""
        fills = self.copied.list_fills(read.buffer, self.maps.get(read.place), read.view.bits)
        if fills is None or self.copied.may_fill(read.buffer) or self._is_stored(read.buffer):
            return None
        if not fills:
            separate = all(are_separate(read.buffer, fill.buffer, self.text.blank) for fill in self.copied.fills)
            return self._make_unfilled(read, separate, _GroupRead(EVERY_GROUP, (), {}))
        states: dict[int, bool | None] = {EVERY_GROUP: True}
        if depends_on_thread(read.address.terms):
            states = self._list_states(read.event)
        measured: dict[int, _GroupRead] = {}
        for group in (group for group, state in states.items() if state is not False):
            of_group = self._measure(read, fills, group)
            if of_group is None:
                return None
            measured[group] = of_group
        return (
            self._compare_groups(read, states, measured)
            or self._compare_maps(read, measured)
            or self._compare_k(read, states, measured)
            or self._check_waits(read, fills, measured)
        )

    def _compare_k(
        self, read: PlacedRead, states: Mapping[int, bool | None], measured: _GroupReads
    ) -> UnfilledRead | None:
        """Return the read as unfilled if its rows are of copies with different elements of K, such as two stages."""
        if any("threadIdx" in str(value) for _, value in read.event.loops):
            return None  # which of its iterations a warpgroup runs is not known
        for group, part in measured.items():
            chunks = read.find_chunks(group, 0)
            if chunks is not None and 0 in part.filled_stages and read.mixes_k(chunks, part.fills):
                return self._make_unfilled(read, states[group] is True, part, MIXED)
        return None

    def _check_waits(
        self, read: PlacedRead, fills: Sequence[FilledBytes], measured: _GroupReads
    ) -> UnfilledRead | None:
        """Return the read as unfilled if no thread has waited before it for a copy of what any warpgroup reads."""
        chunks = [read.find_chunks(group, stage) for group, of_group in measured.items() for stage in of_group.stages]
        used = [fill for fill in fills if any(part is not None and fill.holds(part).any() for part in chunks)]
        ran = [fill for fill in used if fill.sure or _has_open_stage(fill)]  # a later iteration copies no earlier one's
        if not self.waits.are_missing(read.event, ran):
            return None
        stages = next(iter(measured.values())).stages
        return self._make_unfilled(read, True, _GroupRead(EVERY_GROUP, used, stages), UNAWAITED)

    def _compare_maps(self, read: PlacedRead, measured: _GroupReads) -> UnfilledRead | None:
        """Return the read as unfilled if its bytes are only filled from another map than it was verified against."""
        part = next((part for part in measured.values() if part.filled_stages), None)
        if part is None:
            return None
        own = [fill for fill in part.fills if not _is_of_other_map(fill, self.maps.get(read.place))]
        again = self._measure(read, own, part.group) if len(own) < len(part.fills) else part
        again = again or _GroupRead(part.group, own, {})
        return None if again.filled_stages & part.filled_stages else self._make_unfilled(read, False, again, FOREIGN)

    def _compare_groups(
        self, read: PlacedRead, states: Mapping[int, bool | None], measured: _GroupReads
    ) -> UnfilledRead | None:
        """Return the read as unfilled if a warpgroup reads other bytes than the copies fill in a stage in which the
        first one reads only such.
        """
        first = next((part for part in measured.values() if part.filled_stages), None)
        if first is None:
            worst = next(iter(measured.values()), None)
            sure = worst is not None and (states[worst.group] is True or len(measured) == len(states))
            return None if worst is None else self._make_unfilled(read, sure, worst)
        own = self._keep_maps(read, first)
        reasons = {group: self._find_reason(read, own, first, part) for group, part in measured.items()}
        bad = sorted((group for group in reasons if reasons[group]), key=lambda group: reasons[group] != UNFILLED)
        wrong = [group for group in bad if states[group] and self._is_wrong(read, group, reasons[group])]
        right = len(measured) - len(bad)
        if not wrong and (not bad or right >= max(2, min(len(states), _UNKNOWN_GROUPS) - 1)):
            return None  # the others need not run it
        later = (group for group in bad if group > first.group)
        group = wrong[0] if wrong else next(later, bad[0])
        return self._make_unfilled(read, bool(wrong), replace(measured[group], fills=own), reasons[group])

    def _find_reason(self, read: PlacedRead, own: Sequence[FilledBytes], first: _GroupRead, part: _GroupRead) -> str:
        """Return why copies do not fill a warpgroup's bytes as they fill those of the first one; "" if they do.

        own: the copies of the maps that the first one's bytes come from.
        """
        if part is first:
            return ""
        if not part.filled_stages >= first.filled_stages:
            return UNFILLED
        if not self._waits_alike(read, part.fills, first.group, part.group):
            return UNAWAITED
        return "" if self._is_filled(read, own, part.group, first.filled_stages) else FOREIGN

    def _is_wrong(self, read: PlacedRead, group: int, reason: str) -> bool:
        """Return whether a read of a warpgroup is wrong: of two maps one may be for each warpgroup."""
        return reason != FOREIGN or self._reads_other_operand(read, group)

    def _keep_maps(self, read: PlacedRead, part: _GroupRead) -> Sequence[FilledBytes]:
        """Return the fills of the tensor maps that a warpgroup's bytes come from; all if one is unknown."""
        chunks = [found for stage in part.filled_stages if (found := read.find_chunks(part.group, stage)) is not None]
        own = [fill for fill in part.fills if any(fill.holds(of_stage).any() for of_stage in chunks)]
        if any(fill.map is None for fill in own):
            return part.fills
        return [fill for fill in part.fills if fill.map is None or any(fill.map is other.map for other in own)]

    def _is_filled(self, read: PlacedRead, fills: Sequence[FilledBytes], group: int, stages: Collection[int]) -> bool:
        measured = self._measure(read, fills, group)
        return measured is None or all(stage in measured.filled_stages for stage in stages if stage in measured.stages)

    def _reads_other_operand(self, read: PlacedRead, group: int) -> bool:
        """Return whether a warpgroup reads some of the same bytes as the other operand of the same product."""
        mine = read.find_chunks(group, 0)
        for other in list_placed_reads(self.text, [read.event], self.block):
            theirs = other.find_chunks(group, 0) if other.operand != read.operand else None
            if mine is not None and theirs is not None and other.buffer == read.buffer:
                return bool(np.intersect1d(mine, theirs).size)
        return False

    def _measure(self, read: PlacedRead, fills: Sequence[FilledBytes], group: int) -> _GroupRead | None:
        """Measure how much of a warpgroup's bytes copies fill in each stage; None if it is open which it reads."""
        stages: dict[int, _Filled] = {}
        for stage in read.list_stages(fills):
            chunks = read.find_chunks(group, stage)
            if chunks is None:
                return None
            stages[stage] = _Filled(int(find_covered(chunks, fills).sum()), len(chunks))
        return _GroupRead(group, fills, stages)

    def _waits_alike(self, read: PlacedRead, fills: Sequence[FilledBytes], first: int, group: int) -> bool:
        """Return whether a warpgroup has waited for the copies of what it reads, if the first one has."""
        if any(is_counter(name) for name, _ in read.address.terms):
            return True
        awaited = [self._is_awaited(read, fills, which) for which in (first, group)]
        return awaited[1] or not awaited[0]

    def _is_awaited(self, read: PlacedRead, fills: Sequence[FilledBytes], group: int) -> bool:
        """Return whether every byte of a read is of a copy whose barrier was waited for before."""
        barriers = self._list_awaited(read.event.order, group)
        chunks = read.find_chunks(group, 0)
        return chunks is None or bool(
            find_covered(chunks, [fill for fill in fills if fill.sure and fill.copy.barrier in barriers]).all()
        )

    def _list_awaited(self, order: int, group: int) -> set[str]:
        """List the barriers that a warpgroup may have waited for before a record of the kernel."""
        lines = (line for at, line in self._waits if at < order)
        return {str(evaluate_terms(line, group, self.block)) for line in lines}

    @cached_property
    def _waits(self) -> list[tuple[int, LinearExpression]]:
        """(order, address) of the waits for barriers in PTX."""
        runs = [run for run in self.text.code.asm_runs if _WAITS.search(join_strings(run.text))]
        values = ((run.order, value.plain) for run in runs for _, value, _ in run.inputs if value is not None)
        return [(order, line) for order, line in values if line is not None and line.terms]

    # what else may fill a buffer --------------------------------------------------------------------------------------

    def _is_stored(self, buffer: str) -> bool:
        """Return whether threads store into a buffer."""
        return any(buffer in names for names in self._stored_names)

    @cached_property
    def _stored_names(self) -> list[set[str]]:
        """The symbols in the addresses of each store of the kernel's threads."""
        return [_list_stored_names(event) for event in self.run.events if event.kind == "store"]

    @cached_property
    def _is_certain(self) -> bool:
        """Whether all copies of the kernel are known, and all stores are to global memory or other buffers."""
        kernel = next((f for f in self.text.functions if f.kernel and f.name == self.run.name), None)
        known = {fill.buffer for fill in self.copied.fills} | set(kernel.parameters if kernel is not None else ())
        stores = all(
            any(name in known or _is_member(name) or _is_local_array(name, self.text.blank) for name in names)
            or not names
            for names in self._stored_names
        )
        return is_known(self.run) and stores and len(self.text.code.memory_stores) < MOST_STORES

    def _make_unfilled(self, read: PlacedRead, sure: bool, part: _GroupRead, reason: str = UNFILLED) -> UnfilledRead:
        stage, worst = min(part.stages.items(), key=lambda of_stage: of_stage[1].filled, default=(0, _Filled(0, 1)))
        chunks = read.find_chunks(part.group, stage)
        into = [fill for fill in part.fills if chunks is not None and fill.holds(chunks).any()]
        # the stages of another tile may seem to go on into this one
        into = [fill for fill in into if fill.sure] or into
        return UnfilledRead(
            read.event,
            read.place,
            read.buffer,
            sure and self._is_certain and all(fill.has_known_size for fill in part.fills),
            part.group,
            tuple(into or _list_before(part.fills, chunks)),
            worst,
            reason,
            read.group_step,
        )

    def _list_states(self, event: KernelEvent) -> dict[int, bool | None]:
        key = event.arms, event.calls, event.order if self.groups.leaving else 0
        if key not in self.states:
            self.states[key] = self.groups.list_states(self.run.name, event)
        return self.states[key]


def _is_member(name: str) -> bool:
    """Return whether a symbol is a member of an object; threadIdx.x is none."""
    return "." in name and not OUTSIDE.search(name)


@lru_cache(maxsize=64)
def _is_local_array(name: str, blank: str) -> bool:
    """Return whether a symbol is an array of each thread: every array of that name is declared so."""
    named = [match.start() for match in re.finditer(rf"(?<=\s){re.escape(name)}\s*\[", blank)]
    heads = [blank[max(blank.rfind(mark, 0, at) for mark in ";{}") + 1 : at] for at in named]
    found = [words for words in heads if re.search(r"[\w>]\s+\Z", words)]
    return bool(found) and not any(re.search(r"__shared__|extern|\breturn\b", words) for words in found)


def _list_stored_names(event: KernelEvent) -> set[str]:
    run = event.run
    if isinstance(run, MemoryStore):
        return {name for name, _ in run.to.terms}
    values = (value for _, value, _ in run.inputs if value is not None) if isinstance(run, AsmRun) else ()
    return {name for value in values for piece in value.pieces for name, _ in piece.source.terms}


def _has_open_stage(fill: FilledBytes) -> bool:
    """Return whether a copy was run with a stage that is not known."""
    return fill.copy.to is None or len(fill.copy.to.terms) > 1


def _is_of_other_map(fill: FilledBytes, tensor_map: TensorMap | None) -> bool:
    """Return whether a copy certainly does not take a tensor map, by their names."""
    if tensor_map is None or fill.map is None or fill.map is tensor_map:
        return False
    letters = find_operand_letter(*tensor_map.names), find_operand_letter(*fill.copy.maps)
    if None not in letters:
        return letters[0] != letters[1]
    own, other = ({name.lstrip("&") for name in one.names} for one in (tensor_map, fill.map))
    return bool(own) and not own & fill.copy.maps and bool((other - own) & fill.copy.maps)


def _list_before(fills: Sequence[FilledBytes], chunks: Chunks | None) -> Sequence[FilledBytes]:
    """List the copies that begin last before a read: of several tiles in one buffer those of the tile that is read."""
    starts = [fill.low for fill in fills if chunks is not None and fill.low <= 16 * chunks.min()]
    return [fill for fill in fills if fill.low == max(starts)] if starts else fills
