"""Find instructions that begin inside another one's rows, or end past the tile, so that no instruction reads some rows.

Every warpgroup and every product of a kernel is followed to the bytes that it reads of one stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.blamed_terms import find_pointer_value
from lanescope.workbench.copied_bytes import FilledBytes, collect_copied_bytes
from lanescope.workbench.kernel_runs import PRODUCTS, KernelEvent, KernelRun, KernelText
from lanescope.workbench.placed_reads import PlacedRead, list_placed_reads
from lanescope.workbench.results import Span
from lanescope.workbench.running_groups import WarpgroupRuns
from lanescope.workbench.transfers import is_known
from lanescope.workbench.unread_slices import has_panels

TITLES = {"rows_unread": "Rows of a tile are copied and never multiplied"}
MOST_PRODUCTS = 256  # of one kernel


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a copy that one warpgroup reads by one product. past: whether it reads other bytes, too."""

    read: PlacedRead
    group: int
    inside: frozenset[int]
    past: bool

    def is_misplaced(self, others: Sequence[_Rows]) -> bool:
        """Return whether it begins or ends inside the rows that another one reads, or past the copy."""
        return self.past or any(self.inside & one.inside and self.inside != one.inside for one in others)


def find_unread_rows(text: KernelText) -> list[Pitfall]:
    """Find rows of a K-major tile that copies bring and no instruction reads, where another read is misplaced."""
    return text.check_copies(partial(_check_run, text))


def _check_run(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    groups = WarpgroupRuns(text)
    products = [event for event in run.events if event.kind in PRODUCTS]
    block = groups.find_block(run.name)
    if block is None or not products or len(products) > MOST_PRODUCTS or not is_known(run):
        return
    states = {event.order: groups.list_states(run.name, event) for event in products}
    reads = list(list_placed_reads(text, products, block))
    operands = {frozenset(read.operand for read in reads if read.event is event) for event in products}
    copied = collect_copied_bytes(text, run)
    if any(None in of_event.values() for of_event in states.values()) or len(operands) != 1 or copied.open:
        return
    for name in sorted({read.operand for read in reads}):
        of_operand = [read for read in reads if read.operand == name]
        fills = [fill for fill in copied.fills if fill.sure and fill.buffer not in copied.open_buffers]
        yield from islice(chain.from_iterable(_check_fill(text, of_operand, fill, states) for fill in fills), 1)


def _check_fill(
    text: KernelText, reads: Sequence[PlacedRead], fill: FilledBytes, states: Mapping[int, Mapping[int, bool | None]]
) -> Iterator[Pitfall]:
    """Yield the first misplaced read of a copy that has rows which nothing reads."""
    tensor_map = fill.map
    if tensor_map is None or None in tensor_map.box or not tensor_map.element_bits:
        return
    count = tensor_map.box[1] if len(tensor_map.box) == 2 or has_panels(tensor_map) else None
    pitch = (tensor_map.box[0] or 0) * tensor_map.element_bits // 8
    mine = [read for read in reads if read.buffer == fill.buffer]
    if not count or not pitch or len(mine) != len(reads) or any(_get_major(read) != "K" for read in mine):
        return
    found: list[_Rows] = []
    for read in mine:
        for group in (group for group, state in states[read.event.order].items() if state):
            chunks = read.find_chunks(group, 0)
            if chunks is None:
                return
            holds = (16 * chunks >= fill.low) & (16 * chunks < fill.low + fill.size)
            inside = (16 * chunks[holds] - fill.low) // pitch % count
            if holds.any() or chunks[0] < 0:  # of this stage, or outside shared memory
                found.append(_Rows(read, group, frozenset(map(int, inside)), not holds.all()))
    unread = set(range(count)).difference(*(rows.inside for rows in found))
    wrong = [rows for n, rows in enumerate(found) if rows.is_misplaced(found[:n])]
    if not unread or len(unread) == count or not wrong:
        return
    first, earlier = wrong[0], found[: found.index(wrong[0])]
    name = first.read.operand.upper()
    message = (
        f"{len(unread)} of the {count} rows that a copy brings to {fill.buffer} are read by no instruction, since this"
        f" one begins {'inside the rows of another one' if not first.past else 'so that it reads past them'}: check"
        f" what moves the start of {name}."
    )
    yield Pitfall("rows_unread", message, _find_place(text, first, earlier))


def _find_place(text: KernelText, rows: _Rows, earlier: Sequence[_Rows]) -> Span:
    """Return what moves the start from the first read to the misplaced one: the value of a local pointer, or a term."""
    event, at = rows.read.event, rows.read.place[1]
    same = bool(earlier) and earlier[0].read.event is event
    variable = "threadIdx" if same else _find_variable(event, earlier[0].read.event) if earlier else ""
    return find_pointer_value(text.blank, text.functions, text.narrow_event(event, at, variable))


def _find_variable(event: KernelEvent, other: KernelEvent) -> str:
    """Return the first loop variable that differs between two products; "" if none or several do."""
    before = {name: str(value) for name, value in other.loops}
    differing = [name for name, value in event.loops if before.get(name, str(value)) != str(value)]
    return differing[0] if differing else ""


def _get_major(read: PlacedRead) -> str:
    return read.use.majors.get(read.operand, "K")
