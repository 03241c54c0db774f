"""Find warpgroups whose instructions read rows of a tile that overlap: some are multiplied twice, others never.

The rows of two products may overlap in part, or those of two warpgroups be the same, although the copies bring more.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.copies.copied_bytes import FilledBytes, collect_copied_bytes
from lanescope.workbench.copies.placed_reads import PlacedRead, list_placed_reads
from lanescope.workbench.copies.transfers import is_known
from lanescope.workbench.kernels.accumulator_resets import trace_product
from lanescope.workbench.kernels.kernel_runs import PRODUCTS, KernelEvent, KernelRun, KernelText
from lanescope.workbench.kernels.running_groups import BOUNDS, WarpgroupRuns
from lanescope.workbench.reads.alignment import WARPGROUP
from lanescope.workbench.repair.blamed_terms import find_pointer_value
from lanescope.workbench.results import Span, Workbench
from lanescope.workbench.source.shared_budget import compute_number
from lanescope.workbench.text.function_texts import list_launches

TITLES = {"warpgroups_overlap": "Warpgroups read rows of a tile that overlap"}
MOST_PRODUCTS = 256  # of one kernel
_LEAST = 384  # threads: two warpgroups that multiply, if the first one does not


def find_overlapping_rows(text: KernelText, bench: Workbench) -> Iterator[Pitfall]:
    """Yield reads that a warpgroup begins inside the rows of the one before it."""
    if not any(operand.group_step for operand in bench.operands) or _count_threads(text) < _LEAST:
        return
    for operand in bench.operands:
        if not operand.group_step or not operand.steps or operand.seen is None or operand.stored is None:
            continue
        pitch = int(operand.stored.get("line_stride") or operand.stored.get("pitch_bytes") or 0)
        name, rows = operand.name.upper(), operand.seen.rows
        if pitch:
            message = (
                f"Each warpgroup begins {operand.group_step:,} bytes after the previous one,"
                f" {operand.group_step // pitch} rows of {name}, but its instruction reads {rows} rows: some rows"
                f" are multiplied twice, the last ones never. {rows} rows have {rows * pitch:,} bytes."
            )
            yield Pitfall("warpgroups_overlap", message, _find_product(text) or operand.steps[0].span)
            return


@dataclass(frozen=True, slots=True, eq=False)
class _RowWindow:
    """The 16-byte chunks that one product reads in one warpgroup in its first stage: of an operand, and of the other
    one with its buffer.
    """

    read: PlacedRead
    group: int
    own: frozenset[int]
    other: tuple[str, frozenset[int]]

    def repeats(self, text: KernelText, before: _RowWindow) -> bool:
        """Return whether this product multiplies some rows of an earlier one again, for other elements of D: those of
        another warpgroup, or of other accumulators. Convolutions read rows again for the same accumulators.
        """
        if self.other != before.other or not self.own & before.own:
            return False
        if self.group != before.group:
            return True
        return self.own != before.own and _have_other_accumulators(text, before.read.event, self.read.event)


def find_repeated_rows(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    """Yield rows of a tile that are multiplied twice with the same bytes of the other operand, while as many other rows
    of the tile are multiplied with none.
    """
    groups = WarpgroupRuns(text)
    products = [event for event in run.events if event.kind in PRODUCTS]
    block = groups.find_block(run.name)
    if block is None or not 0 < len(products) <= MOST_PRODUCTS or not is_known(run):
        return
    running = _list_running_groups(groups, run, products)
    copied = collect_copied_bytes(text, run) if running else None
    if copied is None or copied.open:
        return
    reads = list(list_placed_reads(text, products, block))
    for name in "ab":
        repeats = list(_list_repeats(text, run, _list_windows(reads, name, running)))
        again = {chunk for before, window in repeats for chunk in before.own & window.own}
        unread = _count_unread(_list_reads(reads, name), running, copied.fills) if repeats else 0
        if unread and unread >= 16 * len(again):  # without the overlap, else it is a window that slides
            yield _describe_repeated(text, repeats[0], unread)


def _list_running_groups(groups: WarpgroupRuns, run: KernelRun, products: Sequence[KernelEvent]) -> list[int]:
    """List the warpgroups that multiply; [] if the loops around the products differ between threads."""
    if any("threadIdx" in str(value) for event in products for _, value in event.loops):
        return []
    return [group for group, state in groups.list_states(run.name, products[0]).items() if state]


def _list_reads(reads: Iterable[PlacedRead], name: str) -> list[PlacedRead]:
    return [read for read in reads if read.operand == name]


def _list_windows(reads: Sequence[PlacedRead], name: str, running: Sequence[int]) -> list[_RowWindow]:
    """List what products read as one operand, in the order of execution; [] if something is not known."""
    pairs: dict[int, dict[str, PlacedRead]] = {}
    for read in reads:
        pairs.setdefault(read.event.order, {})[read.operand] = read
    windows = []
    for _, pair in sorted(pairs.items()):
        if len(pair) != 2:
            return []
        own, other = (pair[letter] for letter in (name, "b" if name == "a" else "a"))
        for group in running:
            chunks = [read.find_chunks(group, 0) for read in (own, other)]
            if chunks[0] is None or chunks[1] is None:
                return []
            mine, theirs = (frozenset(found.tolist()) for found in chunks if found is not None)
            windows.append(_RowWindow(own, group, mine, (other.buffer, theirs)))
    return windows


def _have_other_accumulators(text: KernelText, earlier: KernelEvent, later: KernelEvent) -> bool:
    """Return whether an index of the accumulators is a variable of a loop that differs between two products."""
    if (earlier.at, earlier.calls) != (later.at, later.calls) or not isinstance(later.run, AsmRun):
        return False
    calls = [span for _, span in later.run.calls]
    site = trace_product(text.code.text, text.blank, later.run.span, calls)
    before = {name: str(value) for name, value in earlier.loops}
    moved = {name for name, value in later.loops if before.get(name) != str(value)}
    indices = {index.strip() for frame in site.frames for index in re.split(r"[\[\]]", frame.index)} if site else set()
    return bool(indices & moved)


def _list_repeats(
    text: KernelText, run: KernelRun, windows: Sequence[_RowWindow]
) -> Iterator[tuple[_RowWindow, _RowWindow]]:
    """Yield (earlier, later) products of which the later one repeats rows: all pairs of the first part of the kernel,
    between copies or waits, that has one.
    """
    joined: list[_RowWindow] = []
    found = False
    ends = sorted(event.order for event in run.events if event.kind not in ("fence", "commit", *PRODUCTS))
    for window in windows:
        order = window.read.event.order
        if joined and bisect(ends, joined[0].read.event.order) != bisect(ends, order):
            if found:
                return
            joined = []
        repeated = [(earlier, window) for earlier in joined if window.repeats(text, earlier)]
        found = found or bool(repeated)
        yield from repeated
        joined.append(window)


def _describe_repeated(text: KernelText, found: tuple[_RowWindow, _RowWindow], unread: int) -> Pitfall:
    before, window = found
    read, name = window.read, window.read.operand.upper()
    if window.group == before.group:
        what = f"This product reads some rows of {read.buffer} as {name} that another one multiplies by the same bytes"
    else:
        how = "the same bytes" if window.own == before.own else "rows that overlap"
        what = f"Warpgroups {before.group} and {window.group} read {how} of {read.buffer} as {name}"
    at = find_pointer_value(text.blank, text.narrow_event(read.event, read.place[1], ""))
    return Pitfall("warpgroups_overlap", f"{what}, and none reads {unread:,} of the bytes that a copy brings.", at)


def _count_unread(reads: Sequence[PlacedRead], running: Sequence[int], fills: Sequence[FilledBytes]) -> int:
    """Count the bytes of the copy that is read in part; 0 if every copy is read whole, or if a read is not known."""
    read_chunks: set[tuple[str, int]] = set()
    for read, group in product(reads, running):
        for stage in read.list_stages(fills):
            chunks = read.find_chunks(group, stage)
            if chunks is None:
                return 0
            read_chunks.update((read.buffer, chunk) for chunk in chunks.tolist())
    for fill in fills:
        filled = {(fill.buffer, chunk) for chunk in range(fill.low // 16, (fill.low + fill.size) // 16)}
        if fill.sure and filled & read_chunks and not filled <= read_chunks:
            return 16 * len(filled - read_chunks)
    return 0


def _find_product(text: KernelText) -> Span | None:
    """Find the first wgmma of a kernel whose start depends on the number of the warpgroup."""
    for event in (event for run in text.runs for event in run.events if event.kind == "wgmma"):
        run = event.run
        for _, value, span in run.inputs if isinstance(run, AsmRun) else ():
            pieces = value.pieces if value is not None else ()
            if any(WARPGROUP.fullmatch(name) for piece in pieces for name, _ in piece.source.terms):
                return find_pointer_value(text.blank, text.narrow_event(event, span, "threadIdx"))
    return None


def _count_threads(text: KernelText) -> int:
    """Return the least number of threads that the launches of a text have, as far as they are known; 0 if none is."""
    bounds = [match.span(1) for match in BOUNDS.finditer(text.blank)]
    blocks = [arguments[1] for _, arguments in list_launches(text.blank) if len(arguments) > 1]
    counts = (compute_number(text.blank, place) for place in (*bounds, *blocks))
    return min((count for count in counts if count is not None), default=0)
