"""Reads of wgmma and tcgen05.mma as bytes of the buffer that they are in, for a warpgroup and a stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.copied_bytes import Chunks, FilledBytes, find_buffer
from lanescope.workbench.descriptors.descriptor_arguments import ArgumentSources
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.uses import find_asm_uses, find_tcgen05_uses
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelText
from lanescope.workbench.kernels.running_groups import BlockShape, evaluate_terms
from lanescope.workbench.reads.stage_counters import is_counter
from lanescope.workbench.reads.stage_distances import find_ring_length
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tcgen05 import make_view
from lanescope.workbench.text.addresses import evaluate_word
from lanescope.workbench.text.known_values import find_common_value

EVERY_GROUP = -1  # stands for all warpgroups
MOST_STAGES = 8  # that are tried if their number is open
ReadPlace = tuple[str, Span, tuple[Span, ...]]  # operand, the expression of its descriptor, the calls around that


@dataclass(frozen=True, slots=True)
class PlacedRead:
    """One read of an operand: its instruction's view, and the buffer that its start is in."""

    event: KernelEvent
    use: DescriptorUse
    operand: str
    address: LinearExpression
    view: View
    buffer: str
    block: BlockShape

    @property
    def place(self) -> ReadPlace:
        argument = self.use.arguments[self.operand]
        return self.operand, argument.span, argument.around

    @property
    def instruction(self) -> str:
        return self.use.mention.instruction.ptx if self.use.mention is not None else ""

    @property
    def group_step(self) -> int:
        """Bytes from the start of the first warpgroup to that of the next."""
        first, second = (evaluate_terms(self.address, group, self.block) for group in (0, 1))
        return second.const - first.const

    def list_stages(self, fills: Iterable[FilledBytes]) -> range:
        """List the values of its stage counter that are tried: those of the ring that copies fill."""
        counters = [(name, factor) for name, factor in self.address.terms if is_counter(name)]
        if not counters:
            return range(1)
        lengths = (fill.count for fill in fills if fill.step == counters[0][1] and fill.count > 1)
        length = find_ring_length(counters[0][0]) or find_common_value(lengths)
        return range(length if length and len(counters) == 1 else MOST_STAGES)

    def find_chunks(self, group: int, stage: int) -> Chunks | None:
        """Return the numbers of the 16-byte chunks of the buffer that a warpgroup reads in a stage; None if open."""
        line = self.address if group == EVERY_GROUP else evaluate_terms(self.address, group, self.block)
        if any(name != self.buffer and not is_counter(name) for name, _ in line.terms):
            return None
        start = line.const + stage * sum(factor for name, factor in line.terms if is_counter(name))
        return _find_read_chunks(self.use, self.operand, self.view, start)

    def mixes_k(self, chunks: Chunks, fills: Iterable[FilledBytes]) -> bool:
        """Return whether the copies that fill the chunks have no K coordinate and no barrier in common; False if one is
        open.

        Later iterations of a loop fill the same stages with other elements of K. The rows of one stage may have several
        K coordinates, such as those of the heads of one group of queries.
        """
        used = [fill for fill in fills if fill.holds(chunks).any()]
        ran = [fill for fill in used if fill.sure]
        if {fill.copy.event.at for fill in used} != {fill.copy.event.at for fill in ran}:
            return False
        held: dict[int | str, NDArray[np.bool_]] = {}
        for fill in ran:
            first = self._find_first_k(fill)
            if first is None:
                return False
            for key in (first, fill.copy.barrier):
                held[key] = held.get(key, np.zeros(chunks.shape, np.bool_)) | fill.holds(chunks)
        return bool(held) and not any(of_key.all() for of_key in held.values())

    def _find_first_k(self, fill: FilledBytes) -> int | None:
        """Return the K coordinate of a copy; None if it is open, or its box is narrower than the read along K."""
        box = fill.map.box if fill.map is not None else ()
        if not len(fill.copy.at) == len(box) == 2:
            return None
        along = 0 if self.view.major == "K" else 1
        first = fill.copy.at[along]
        return first.known if first is not None and (box[along] or 0) >= self.view.k else None


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


def list_placed_reads(text: KernelText, products: Iterable[KernelEvent], block: BlockShape) -> Iterator[PlacedRead]:
    """Yield the reads of products whose start is in one buffer. block: the threads that run them."""
    sources = ArgumentSources(text.code)
    events = {event.order: event for event in products if isinstance(event.run, AsmRun)}
    runs = [event.run for event in events.values() if isinstance(event.run, AsmRun)]
    for use in sorted((*find_asm_uses(runs, ()), *find_tcgen05_uses(runs)), key=lambda use: use.order):
        placed = replace(use, arguments=sources.trace_arguments(use.arguments))
        for operand, argument in placed.arguments.items():
            address = argument.address
            buffer = find_buffer(address) if address is not None else ""
            if address is not None and buffer and use.mention is not None:
                view = make_view(use.mention.instruction, operand, use.majors.get(operand, "K"))
                yield PlacedRead(events[use.order], placed, operand, address, view, buffer, block)
