"""Find reads of wgmma and tcgen05.mma from bytes that no TMA copy of the kernel fills.

Every read is followed for each warpgroup that runs it. If all copies are known, and no thread stores into the buffer,
such a read is a mistake; else the operand is not verified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.run_records import MOST_STORES, MemoryStore
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.reader.code.tma_rules import TensorMap
from lanescope.workbench.addresses import evaluate_word
from lanescope.workbench.asm_operands import join_strings
from lanescope.workbench.copied_bytes import (
    Chunks,
    CopiedBytes,
    FilledBytes,
    collect_copied_bytes,
    find_buffer,
    find_covered,
)
from lanescope.workbench.descriptor_arguments import ArgumentSources
from lanescope.workbench.descriptor_use import DescriptorUse
from lanescope.workbench.filled_tiles import find_operand_map
from lanescope.workbench.kernel_runs import PRODUCTS, KernelEvent, KernelRun, KernelText
from lanescope.workbench.results import Bench, Span
from lanescope.workbench.running_groups import WarpgroupRuns, depends_on_thread, evaluate_terms
from lanescope.workbench.stage_counters import is_counter
from lanescope.workbench.stage_distances import find_ring_length
from lanescope.workbench.tcgen05 import make_view
from lanescope.workbench.transfers import is_known
from lanescope.workbench.uses import find_asm_uses, find_tcgen05_uses

MOST_READS = 400  # of one kernel
EVERY_GROUP = -1  # stands for all warpgroups
_MOST_STAGES = 8  # that are tried if their number is open
_UNKNOWN_GROUPS = 3  # warpgroups of a kernel whose number of threads is open
_WAITS = re.compile(r"(?:try|test)_wait")


ReadPlace = tuple[str, Span, tuple[Span, ...]]  # operand, the expression of its descriptor, the calls around that


@dataclass(frozen=True, slots=True)
class _Filled:
    """How many of the 16-byte chunks of a read are filled, and how many it has."""

    filled: int
    total: int

    @property
    def whole(self) -> bool:
        return self.filled == self.total


@dataclass(frozen=True, slots=True)
class UnfilledRead:
    """A read from bytes that no copy fills.

    certain: whether nothing else can fill them; group: the warpgroup that reads them, EVERY_GROUP if all do.
    """

    event: KernelEvent
    place: ReadPlace
    buffer: str
    certain: bool
    group: int
    fills: tuple[FilledBytes, ...]
    filled: _Filled
    group_step: int = 0  # bytes from the start of one warpgroup to that of the next

    @property
    def operand(self) -> str:
        return self.place[0]

    @property
    def span(self) -> Span:
        return self.place[1]


@dataclass(frozen=True, slots=True)
class _Read:
    """One read of an operand: its instruction's view, and the buffer that its start is in."""

    event: KernelEvent
    use: DescriptorUse
    operand: str
    address: LinearExpression
    view: View
    buffer: str

    @property
    def place(self) -> ReadPlace:
        argument = self.use.arguments[self.operand]
        return self.operand, argument.span, argument.around

    @property
    def stages(self) -> range:
        """The values of its stage counter that are tried."""
        counters = [name for name, _ in self.address.terms if is_counter(name)]
        if not counters:
            return range(1)
        length = find_ring_length(counters[0]) if len(counters) == 1 else 0
        return range(length or _MOST_STAGES)

    def find_chunks(self, group: int, stage: int) -> Chunks | None:
        """Return the numbers of the 16-byte chunks of the buffer that a warpgroup reads in a stage; None if open."""
        line = self.address if group == EVERY_GROUP else evaluate_terms(self.address, group)
        if any(name != self.buffer and not is_counter(name) for name, _ in line.terms):
            return None
        start = line.const + stage * sum(factor for name, factor in line.terms if is_counter(name))
        return _find_read_chunks(self.use, self.operand, self.view, start)


def _find_read_chunks(use: DescriptorUse, operand: str, view: View, start: int) -> Chunks | None:
    """Return the chunks that a descriptor reads if it starts at a byte of its buffer."""
    value = use.arguments[operand].value
    names = {name for piece in value.pieces for name, _ in piece.source.terms}
    word = evaluate_word(value, dict.fromkeys(names, 0))
    if word is None:
        return None
    field = use.arguments[operand].start
    if not 0 <= start // field.unit <= field.most:
        return np.array([-1])  # outside the buffer
    try:
        return _list_chunks(Descriptor(field.put(word, start // field.unit), view.form), view)
    except LayoutError:  # a swizzle mode that does not exist
        return None


@lru_cache(maxsize=512)
def _list_chunks(word: Descriptor, view: View) -> Chunks | None:
    return None if word.has_absolute_lbo else np.unique(reads(word, view) // 16)


def find_unfilled_reads(text: KernelText, bench: Bench) -> list[UnfilledRead]:
    """Find the reads from bytes that no copy fills; each place and operand once, those that are certain first."""
    if "__global__" not in text.code.text or not text.maps:
        return []
    maps: dict[ReadPlace, TensorMap | None] = {}
    for operand in bench.operands:
        tensor_map = find_operand_map(bench, operand, text.maps)
        maps.update({(operand.name, step.span, step.around): tensor_map for step in operand.steps})
    found: dict[ReadPlace, UnfilledRead] = {}
    for run in text.runs:
        for unfilled in _RunJudge(text, run, maps).find_unfilled():
            key = unfilled.place
            if key not in found or unfilled.certain > found[key].certain:
                found[key] = unfilled
    return sorted(found.values(), key=lambda unfilled: not unfilled.certain)


class _RunJudge:
    """The reads and the copies of one kernel run."""

    def __init__(self, text: KernelText, run: KernelRun, maps: Mapping[ReadPlace, TensorMap | None]) -> None:
        self.text, self.run, self.maps = text, run, maps
        self.groups = WarpgroupRuns(text)
        self.states: dict[object, dict[int, bool | None]] = {}

    @cached_property
    def copied(self) -> CopiedBytes:
        return collect_copied_bytes(self.text, self.run)

    def find_unfilled(self) -> Iterator[UnfilledRead]:
        products = [event for event in self.run.events if event.kind in PRODUCTS]
        if not products or not self.copied.fills:
            return
        seen: set[object] = set()
        for read in self._list_reads(products[:MOST_READS]):
            key = read.event.arms, read.operand, read.address, read.use.arguments[read.operand].span
            if key not in seen and (unfilled := self._judge(read)) is not None:
                yield unfilled
            seen.add(key)

    def _list_reads(self, products: Sequence[KernelEvent]) -> Iterator[_Read]:
        sources = ArgumentSources(self.text.code)
        for event in products:
            run = event.run
            for use in (*find_asm_uses([run], ()), *find_tcgen05_uses([run])) if isinstance(run, AsmRun) else ():
                placed = replace(use, arguments=sources.find_arguments(use.arguments))
                for operand, argument in placed.arguments.items():
                    address = argument.address
                    buffer = find_buffer(address) if address is not None else ""
                    if address is not None and buffer and use.mention is not None:
                        view = make_view(use.mention.instruction, operand, use.majors.get(operand, "K"))
                        yield _Read(event, placed, operand, address, view, buffer)

    # one read ---------------------------------------------------------------------------------------------------------

    def _judge(self, read: _Read) -> UnfilledRead | None:
        """Return a read as unfilled if some of its bytes are not copied; None if all are, or if that is open."""
        fills = self.copied.list_fills(read.buffer, self.maps.get(read.place), read.view.bits)
        if fills is None or self.copied.may_fill(read.buffer) or self._is_stored(read.buffer):
            return None
        if not fills:
            separate = all(_are_separate(read.buffer, fill.buffer, self.text.blank) for fill in self.copied.fills)
            return self._make_unfilled(read, separate, EVERY_GROUP, (), {})
        states: dict[int, bool | None] = {EVERY_GROUP: True}
        if depends_on_thread(read.address.terms):
            states = self._list_states(read.event)
        measured: dict[int, dict[int, _Filled]] = {}
        for group in (group for group, state in states.items() if state is not False):
            of_group = self._measure(read, fills, group)
            if of_group is None:
                return None
            measured[group] = of_group
        return self._compare_groups(read, fills, states, measured)

    def _compare_groups(
        self,
        read: _Read,
        fills: Sequence[FilledBytes],
        states: Mapping[int, bool | None],
        measured: Mapping[int, Mapping[int, _Filled]],
    ) -> UnfilledRead | None:
        """Return the read as unfilled if a warpgroup reads other bytes than the copies fill in a stage in which the
        first one reads only such.
        """
        whole = {
            group: {stage for stage, filled in stages.items() if filled.whole} for group, stages in measured.items()
        }
        first = next((group for group in measured if whole[group]), None)
        if first is None:
            worst = next(iter(measured), None)
            sure = worst is not None and (states[worst] is True or len(measured) == len(states))
            return None if worst is None else self._make_unfilled(read, sure, worst, fills, measured[worst])
        bad = [group for group in measured if not whole[group] >= whole[first]]
        bad += [group for group in measured if group not in bad and not self._waits_alike(read, fills, first, group)]
        sure_bad = [group for group in bad if states[group] is True]
        if sure_bad:
            return self._make_unfilled(read, True, sure_bad[0], fills, measured[sure_bad[0]])
        right = len(measured) - len(bad)
        if not bad or right >= max(2, min(len(states), _UNKNOWN_GROUPS) - 1):
            return None  # the others need not run it
        return self._make_unfilled(read, False, bad[0], fills, measured[bad[0]])

    def _measure(self, read: _Read, fills: Sequence[FilledBytes], group: int) -> dict[int, _Filled] | None:
        """Map each stage to how many chunks of a read are filled; None if it is open what is read."""
        measured: dict[int, _Filled] = {}
        for stage in read.stages:
            chunks = read.find_chunks(group, stage)
            if chunks is None:
                return None
            measured[stage] = _Filled(int(find_covered(chunks, fills).sum()), len(chunks))
        return measured

    def _waits_alike(self, read: _Read, fills: Sequence[FilledBytes], first: int, group: int) -> bool:
        """Return whether a warpgroup has waited for the copies of what it reads, if the first one has."""
        if any(is_counter(name) for name, _ in read.address.terms):
            return True
        awaited = [self._is_awaited(read, fills, which) for which in (first, group)]
        return awaited[1] or not awaited[0]

    def _is_awaited(self, read: _Read, fills: Sequence[FilledBytes], group: int) -> bool:
        """Return whether every byte of a read is of a copy whose barrier was waited for before."""
        barriers = self._list_awaited(read.event.order, group)
        chunks = read.find_chunks(group, 0)
        return chunks is None or bool(
            find_covered(chunks, [fill for fill in fills if fill.sure and fill.copy.barrier in barriers]).all()
        )

    def _list_awaited(self, order: int, group: int) -> set[str]:
        """List the barriers that a warpgroup may have waited for before a record of the kernel."""
        lines = (line for at, line in self._waits if at < order)
        return {str(evaluate_terms(line, group)) for line in lines}

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
        stores = all(any(name in known or "." in name for name in names) or not names for names in self._stored_names)
        return is_known(self.run) and stores and len(self.text.code.memory_stores) < MOST_STORES

    def _make_unfilled(
        self,
        read: _Read,
        sure: bool,
        group: int,
        fills: Sequence[FilledBytes],
        measured: Mapping[int, _Filled],
    ) -> UnfilledRead:
        worst = min(measured.values(), key=lambda filled: filled.filled, default=_Filled(0, 1))
        return UnfilledRead(
            read.event,
            read.place,
            read.buffer,
            sure and self._is_certain and all(fill.has_known_size for fill in fills),
            group,
            tuple(fills),
            worst,
            evaluate_terms(read.address, 1).const - evaluate_terms(read.address, 0).const,
        )

    def _list_states(self, event: KernelEvent) -> dict[int, bool | None]:
        key = event.arms, event.calls, event.order if self.groups.leaving else 0
        if key not in self.states:
            self.states[key] = self.groups.list_states(self.run.name, event)
        return self.states[key]


def _list_stored_names(event: KernelEvent) -> set[str]:
    run = event.run
    if isinstance(run, MemoryStore):
        return {name for name, _ in run.to.terms}
    values = (value for _, value, _ in run.inputs if value is not None) if isinstance(run, AsmRun) else ()
    return {name for value in values for piece in value.pieces for name, _ in piece.source.terms}


def _are_separate(buffer: str, other: str, blank: str) -> bool:
    """Return whether two buffers are different members of one object, or different arrays of the text."""
    owner, _, _ = buffer.rpartition(".")
    if owner or "." in other:
        return owner == other.rpartition(".")[0]
    return all(re.search(rf"__shared__[^;{{}}]*\b{re.escape(name)}\s*\[", blank) for name in (buffer, other))
