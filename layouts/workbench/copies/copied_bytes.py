"""The bytes of shared memory that the TMA copies of a kernel fill, by the buffer that they are in.

A copy in a loop of which only the first iterations are run, and one whose stage is not known, fill every stage.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.source_text import list_called_names
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.reader.code.values import Address, OpaqueValue, Pointer
from lanescope.shared.map_enums import MAP_TYPES
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tma import WIDTHS, get_pitch_bytes
from lanescope.workbench.copies.box_loads import is_load
from lanescope.workbench.copies.copy_overlaps import read_call_copy
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import TileCopy, read_copy
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText, is_bulk_store
from lanescope.workbench.reads.stage_counters import is_counter
from lanescope.workbench.reads.stage_distances import find_ring_length

MOST_STAGES = 64
OUTSIDE = re.compile(r"threadIdx|blockIdx|%")  # in names that are no buffer

# names of functions that do not copy
_QUIET = re.compile(
    r"wait|arrive|expect|init|(?<!a)sync|fence|commit|elect|mbar|reg_?(?:de)?alloc|_cast$"
    r"|^(?:if|for|while|return|sizeof|min|max)$",
    re.I,
)
_SHARED_BITS = {kind.name: kind.shared_bits for kind in MAP_TYPES}

Chunks = NDArray[np.int64]  # numbers of 16-byte chunks of a buffer


@dataclass(frozen=True)
class FilledBytes:
    """Bytes of a buffer that one copy fills: `size` from `low` on in each of `count` stages, `step` bytes apart.

    count: 1 without stages, 0 if their number is open. map: its tensor map, None if unknown. sure: whether the copy was
    run with this address, so that its barrier announces these bytes.
    """

    buffer: str
    low: int
    size: int
    step: int
    count: int
    copy: TileCopy
    map: TensorMap | None
    sure: bool

    @property
    def has_known_size(self) -> bool:
        """Whether the text says how many bytes the copy has."""
        return self.map is not None or self.copy.count is not None

    def holds(self, chunks: Chunks) -> NDArray[np.bool_]:
        """Return which 16-byte chunks of the buffer the copy fills."""
        return _find_held(self.part, chunks.tobytes())

    @cached_property
    def part(self) -> FilledPart:
        width, pitch = measure_line(self.map) if self.map is not None else (0, 0)
        swizzle = (self.map.swizzle if self.map is not None else None) or "none"
        return FilledPart(self.low, self.size, self.step, self.count, width, pitch, swizzle)


class FilledPart(NamedTuple):
    """A part of a buffer, which several copies may fill: low, size, step and stages are those of FilledBytes.

    width, pitch, swizzle: of the lines of the box; 0, 0 and "none" without a map.
    """

    low: int
    size: int
    step: int
    stages: int
    width: int
    pitch: int
    swizzle: str

    def find_held(self, chunks: Chunks) -> NDArray[np.bool_]:
        """Return which 16-byte chunks of the buffer are in the part."""
        past = 16 * chunks - self.low
        lines = self._find_in_lines(chunks)
        if not self.step:
            return (past >= 0) & (past < self.size) & lines
        stages = self.stages or MOST_STAGES
        inside = past // self.step
        staged = (inside < stages) & (past % self.step < self.size)
        if self.size > self.step:  # the last stage is longer than the distance to the next
            staged |= past - (stages - 1) * self.step < self.size
        return (past >= 0) & staged & lines

    def _find_in_lines(self, chunks: Chunks) -> NDArray[np.bool_]:
        """Return which chunks are in the part of a line that a box fills: it may be narrower than its swizzle."""
        if self.width == self.pitch or self.low % self.pitch:
            return np.ones(chunks.shape, np.bool_)
        plain: Chunks = get_mode(self.swizzle).unswizzle(16 * chunks)
        return plain % self.pitch < self.width


@lru_cache(maxsize=1 << 12)  # the products of a loop read the same bytes again and again
def _find_held(part: FilledPart, chunks: bytes) -> NDArray[np.bool_]:
    return part.find_held(np.frombuffer(chunks, np.int64))


@dataclass(frozen=True, slots=True)
class CopiedBytes:
    """What is known of the copies of one kernel run.

    fills: the bytes that are filled, of size 0 if the box is open; open_buffers: buffers of which copies with an open
    place may fill more; open: whether copies that are not known may fill any buffer.
    """

    fills: tuple[FilledBytes, ...]
    open_buffers: frozenset[str]
    open: bool

    def list_fills(self, buffer: str, tensor_map: TensorMap | None, bits: int) -> list[FilledBytes] | None:
        """List the bytes of a buffer that copies fill; None if the size of one is open.

        tensor_map, bits: the map that the buffer is taken to be stored by, and the bits of an element, for copies whose
        map the text does not say.
        """
        fills = [
            fill if fill.size else replace(fill, size=_count_taken_box(fill, tensor_map, bits))
            for fill in self.fills
            if fill.buffer == buffer
        ]
        return fills if all(fill.size for fill in fills) else None

    def may_fill(self, buffer: str) -> bool:
        """Return whether a copy that is not known may fill bytes of a buffer."""
        return self.open or buffer in self.open_buffers


def find_covered(chunks: Chunks, fills: Iterable[FilledBytes]) -> NDArray[np.bool_]:
    """Return which chunks some copy fills."""
    covered = np.zeros(chunks.shape, np.bool_)
    content = chunks.tobytes()
    for part in {fill.part for fill in fills}:
        covered |= _find_held(part, content)
    return covered


def find_buffer(line: LinearExpression) -> str:
    """Return the symbol of the buffer that an address is in; "" if several or none may be it."""
    names = [name for name, factor in line.terms if factor == 1 and not is_counter(name) and not OUTSIDE.search(name)]
    return names[0] if len(names) == 1 else ""


def collect_copied_bytes(text: KernelText, run: KernelRun) -> CopiedBytes:
    """Collect the bytes that the copies of a kernel run fill."""
    fills: list[FilledBytes] = []
    open_buffers: set[str] = set()
    everywhere = not run.complete
    for event in run.events:
        if event.kind == "bulk" and not is_bulk_store(event):
            copy = read_copy(event, text.blank)
        elif event.kind == "unknown":
            copy, may_copy = _read_unknown(text, event)
            everywhere |= may_copy
            if copy is None:
                continue
        else:
            continue
        if copy is None or copy.to is None or not (buffer := find_buffer(copy.to)):
            everywhere = True
        elif (fill := _make_fill(text, copy, buffer)) is None:
            open_buffers.add(buffer)
        else:
            fills.append(fill)
    later, further = _continue_loops(fills, text.code.cut_variables | text.code.unbounded_variables)
    return CopiedBytes(tuple(_bound_rings([*fills, *later])), frozenset((*open_buffers, *further)), everywhere)


def _read_unknown(text: KernelText, event: KernelEvent) -> tuple[TileCopy | None, bool]:
    """Return (the copy that code without a body makes, whether it may make copies that are not known)."""
    run = event.run
    if not isinstance(run, BodilessCall):
        span = run.span if run is not None else event.at
        called = list_called_names(text.blank[slice(*span)])
        return None, "asm" in called or any(not _QUIET.search(name) for name in called)
    copy, _ = read_call_copy(text, event, run)
    if copy is not None or _QUIET.search(run.term.head):
        return copy, False
    places = any(isinstance(value, Pointer | Address | OpaqueValue) for value in run.term.arguments)
    return None, is_load(run) or places


def _make_fill(text: KernelText, copy: TileCopy, buffer: str) -> FilledBytes | None:
    """Return the bytes that a copy fills, of size 0 if its box is open.

    None if more than a stage of their place, or the count of a copy without a map, is open.
    """
    assert copy.to is not None
    tensor_map = None if copy.count is not None else find_named_map(copy.maps, text.maps)
    size = count_box_span(tensor_map) if copy.count is None else copy.count
    others = [(name, factor) for name, factor in copy.to.terms if name != buffer]
    if size < 0 or len(others) > 1:
        return None
    if not others:
        return FilledBytes(buffer, copy.to.const, size, 0, 1, copy, tensor_map, True)
    name, step = others[0]
    if step < 0:
        return None
    count = find_ring_length(name) if is_counter(name) else 0
    return FilledBytes(buffer, copy.to.const, size, step, count, copy, tensor_map, False)


def _count_taken_box(fill: FilledBytes, tensor_map: TensorMap | None, bits: int) -> int:
    """Return the bytes of a copy's box if its own map, else another one of as many dimensions, is taken; 0 if open."""
    if fill.map is not None or tensor_map is None or len(tensor_map.box) != len(fill.copy.at):
        return count_box_span(fill.map, bits)
    return count_box_span(tensor_map, bits)


def count_box_span(tensor_map: TensorMap | None, bits: int = 0) -> int:
    """Return the bytes from the first to the last one of a box in shared memory; 0 if they are open.

    bits: of an element, if the map's type is open.
    """
    if tensor_map is None:
        return 0
    _, pitch = measure_line(tensor_map, bits)
    sizes = [size for size in tensor_map.box[1:] if size is not None]
    return pitch * prod(sizes) if 1 + len(sizes) == len(tensor_map.box) else 0


def measure_line(tensor_map: TensorMap, bits: int = 0) -> tuple[int, int]:
    """Return (bytes of a line of a box, bytes to the next line); 0 if they are open."""
    element_bits = _SHARED_BITS.get(tensor_map.data_type or "", tensor_map.element_bits or bits)
    width = (tensor_map.box[0] or 0) * element_bits // 8 if tensor_map.box else 0
    return width, get_pitch_bytes(width, tensor_map.swizzle) if width and tensor_map.swizzle in WIDTHS else width


def _bound_rings(fills: Sequence[FilledBytes]) -> list[FilledBytes]:
    """Return the fills with the number of stages that other copies of the same call say."""
    lengths: dict[object, set[int]] = defaultdict(set)
    for fill in fills:
        if fill.count:
            lengths[_get_ring(fill)].add(fill.count)
    return [
        replace(fill, count=next(iter(lengths[_get_ring(fill)])))
        if not fill.count and len(lengths[_get_ring(fill)]) == 1
        else fill
        for fill in fills
    ]


def _get_ring(fill: FilledBytes) -> object:
    return fill.copy.event.at, fill.copy.event.calls, fill.buffer, fill.step


def _continue_loops(fills: Sequence[FilledBytes], cut: Collection[str]) -> tuple[list[FilledBytes], set[str]]:
    """Return (the fills of the iterations that were not run: of copies in loops that were cut, stage after stage; the
    buffers in which several such loops move a copy).
    """
    turns: dict[object, list[FilledBytes]] = defaultdict(list)
    for fill in fills:
        event = fill.copy.event
        if not fill.step and any(name in cut for name, _ in event.loops):
            fixed = tuple((name, str(value)) for name, value in event.loops if name not in cut)
            turns[_get_ring(fill), fixed].append(fill)
    later: list[FilledBytes] = []
    further: set[str] = set()
    for of_site in turns.values():
        starts = sorted({fill.low for fill in of_site})
        step = gcd(*(after - before for before, after in pairwise(starts)))
        if step and len(_list_moving_loops(of_site, cut)) > 1:
            further.add(of_site[0].buffer)
        elif step:
            later.append(replace(of_site[0], low=starts[0], step=step, count=0, sure=False))
    return later, further


def _list_moving_loops(fills: Iterable[FilledBytes], cut: Collection[str]) -> set[int]:
    """Return the positions of the loops that were cut and that alone move the destination of a copy."""
    starts: dict[tuple[int, object], set[int]] = defaultdict(set)
    for fill in fills:
        loops = [str(value) for _, value in fill.copy.event.loops]
        for n, (name, _) in enumerate(fill.copy.event.loops):
            if name in cut:
                starts[n, (*loops[:n], *loops[n + 1 :])].add(fill.low)
    return {n for (n, _), lows in starts.items() if len(lows) > 1}
