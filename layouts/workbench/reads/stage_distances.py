"""Find stages whose distance in reads differs from their distance in copies."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lanescope.descriptor.matrix import Descriptor, reads
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.copy_overlaps import PlacedCopy, list_placed
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.uses import find_asm_uses
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText
from lanescope.workbench.reads.stage_counters import is_counter
from lanescope.workbench.repair.blamed_terms import STAGE
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tcgen05 import make_view
from lanescope.workbench.text.addresses import evaluate_word
from lanescope.workbench.text.known_values import find_common_value

TITLES = {"stage_distance": "Stages are read at another distance than they are copied at"}
_WRAP = re.compile(r"\+ (\d+)\) == (\d+) \? 0 : ")  # the stages that a counter advances by, and begins again after
MOST_READS = 256  # of one kernel


@dataclass(frozen=True, slots=True)
class Stages:
    """An address with a stage counter. step: the bytes from one value of the counter to the next; count: the values
    that it takes, 0 if that is open.
    """

    buffer: str
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class _StagedRead:
    """A read of an operand in a stage."""

    event: KernelEvent
    use: DescriptorUse
    operand: str
    stages: Stages

    @property
    def start(self) -> int:
        address = self.use.arguments[self.operand].address
        return 0 if address is None else address.const

    @property
    def step(self) -> int:
        return self.stages.step

    @property
    def span(self) -> Span:
        return self.use.arguments[self.operand].span


def find_stage_distances(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    """Yield reads whose bytes per stage differ from those of the copies."""
    copied: dict[str, list[tuple[Stages, PlacedCopy]]] = defaultdict(list)
    for copy in list_placed(text, run.events):
        stages = split_address(copy.to)
        if stages is not None:
            copied[stages.buffer].append((stages, copy))
    sites: dict[tuple[Span, str], list[_StagedRead]] = defaultdict(list)
    for read in _list_reads(run) if copied else ():
        sites[read.event.at, read.operand].append(read)
    for of_site in sites.values():
        read = of_site[0]
        # of the first stage; a buffer may also have tiles of copies that are not known
        copies = [one for one in copied.get(read.stages.buffer, []) if 0 <= read.start - one[1].to.const < one[1].count]
        distance = find_common_value(stages.step for stages, _ in copies)
        same = len({(other.step, other.stages.buffer) for other in of_site}) == 1
        if distance is None or not same or read.step == distance:
            continue
        if _is_same_ring(of_site, [stages for stages, _ in copies]) or _is_wrong(read, distance):
            yield _make_pitfall(text, read, distance, copies[0][1])


def _is_same_ring(staged: Iterable[_StagedRead], copies: Iterable[Stages]) -> bool:
    """Return whether reads and copies begin again after the same number of stages, more than one."""
    counts = {stages.count for stages in copies} - {0}
    return len(counts) == 1 and counts == {read.stages.count for read in staged} - {0} and counts != {1}


def _is_wrong(read: _StagedRead, distance: int) -> bool:
    """Return whether no assignment of stages matches reads at one distance to copies at another."""
    if read.step > distance:
        return bool(read.step % distance)
    return read.step < _measure_extent(read)  # two iterations read some of the same bytes


def _measure_extent(read: _StagedRead) -> int:
    """Return the bytes from the first to the last one that an instruction reads, 0 if they are open."""
    use, argument = read.use, read.use.arguments[read.operand]
    symbols = {name: 0 for piece in argument.value.pieces for name, _ in piece.source.terms}
    word = evaluate_word(argument.value, symbols)
    if word is None or use.mention is None:
        return 0
    view = make_view(use.mention.instruction, read.operand, use.majors.get(read.operand, "K"))
    address_of = reads(Descriptor(word, view.form), view)
    return int(address_of.max() - address_of.min()) + view.bits // 8


def _list_reads(run: KernelRun) -> Iterator[_StagedRead]:
    """Yield the reads of products whose start has one stage counter."""
    events = {e.order: e for e in run.events if e.kind == "wgmma" and isinstance(e.run, AsmRun)}
    for use in find_asm_uses([e.run for e in list(events.values())[:MOST_READS] if isinstance(e.run, AsmRun)], ()):
        for operand, argument in use.arguments.items():
            stages = split_address(argument.address) if argument.address is not None else None
            if stages is not None:
                yield _StagedRead(events[use.order], use, operand, stages)


def split_address(line: LinearExpression) -> Stages | None:
    """Return the stages of an address with one stage counter, the same for all threads; None for another address."""
    buffers = [name for name, factor in line.terms if factor == 1 and not is_counter(name)]
    counters = [(name, factor) for name, factor in line.terms if is_counter(name)]
    if len(line.terms) != 2 or len(buffers) != 1 or len(counters) != 1 or "threadIdx" in counters[0][0]:
        return None
    name, step = counters[0]
    return Stages(buffers[0], step, find_ring_length(name)) if step > 0 else None


def find_ring_length(counter: str) -> int:
    """Return after how many stages a counter begins again, 0 if its name does not say so."""
    return find_common_value(int(match[2]) if match[1] == "1" else 0 for match in _WRAP.finditer(counter)) or 0


def _make_pitfall(text: KernelText, read: _StagedRead, distance: int, copy: PlacedCopy) -> Pitfall:
    message = (
        f"{read.operand.upper()} of wgmma advances by {read.step:,} bytes from stage to stage, but the copies into"
        f" {read.stages.buffer} by {distance:,}: from the second stage on it does not read the copied data."
    )
    if read.step == copy.count != distance and copy.argument is not None:
        return Pitfall("stage_distance", message, copy.argument)
    return Pitfall("stage_distance", message, text.narrow_event(read.event, read.span, STAGE))
