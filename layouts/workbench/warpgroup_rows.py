"""Find warpgroups whose instructions read rows of a tile that overlap: some are multiplied twice, others never.

The rows of two warpgroups may overlap in part, or be the same although the copies bring more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from lanescope.inputs import join_words
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.alignment import WARPGROUP
from lanescope.workbench.blamed_terms import find_pointer_value
from lanescope.workbench.copied_bytes import FilledBytes, collect_copied_bytes
from lanescope.workbench.function_texts import list_launches
from lanescope.workbench.kernel_runs import PRODUCTS, KernelEvent, KernelRun, KernelText
from lanescope.workbench.placed_reads import EVERY_GROUP, PlacedRead, list_placed_reads
from lanescope.workbench.results import Bench, Span
from lanescope.workbench.running_groups import WarpgroupRuns, depends_on_thread
from lanescope.workbench.shared_budget import compute_number
from lanescope.workbench.transfers import is_known

TITLES = {"warpgroups_overlap": "Warpgroups read rows of a tile that overlap"}
MOST_PRODUCTS = 256  # of one kernel
_LEAST = 384  # threads: two warpgroups that multiply, if the first one does not
_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*([^(),]+)")


def find_overlapping_rows(text: KernelText, bench: Bench) -> Iterator[Pitfall]:
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


def find_equal_rows(text: KernelText) -> list[Pitfall]:
    """Find products whose warpgroups all read the same part of a tile, while none reads the rest."""
    return text.check_copies(partial(_check_run, text))


def _check_run(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    groups = WarpgroupRuns(text)
    products = [event for event in run.events if event.kind in PRODUCTS]
    block = groups.find_block(run.name)
    if block is None or not products or len(products) > MOST_PRODUCTS or not is_known(run):
        return
    running = [group for group, state in groups.list_states(run.name, products[0]).items() if state]
    reads = list(list_placed_reads(text, products, block))
    if len(running) < 2 or _differ_between_groups(products, reads):
        return
    copied = collect_copied_bytes(text, run)
    for name in sorted({read.operand for read in reads}) if not copied.open else ():
        of_operand = [read for read in reads if read.operand == name]
        unread = _count_unread(of_operand, copied.fills)
        if unread:
            yield Pitfall(
                "warpgroups_overlap",
                f"Warpgroups {join_words(list(map(str, running)))} read the same bytes of {of_operand[0].buffer} as"
                f" {name.upper()}, and none reads the other {unread:,} bytes that a copy brings: the start does not"
                " depend on the warpgroup.",
                find_pointer_value(
                    text.blank,
                    text.functions,
                    text.narrow_event(of_operand[0].event, of_operand[0].place[1], ""),
                ),
            )


def _differ_between_groups(products: Sequence[KernelEvent], reads: Sequence[PlacedRead]) -> bool:
    """Return whether warpgroups may read different bytes, or some products have reads that are not known."""
    operands = {frozenset(read.operand for read in reads if read.event is event) for event in products}
    moved = any("threadIdx" in str(value) for event in products for _, value in event.loops)
    return moved or len(operands) != 1 or any(depends_on_thread(read.address.terms) for read in reads)


def _count_unread(reads: Sequence[PlacedRead], fills: Sequence[FilledBytes]) -> int:
    """Count the bytes of the copy that is read in part; 0 if every copy is read whole, or if a read is not known."""
    read_chunks: set[tuple[str, int]] = set()
    for read in reads:
        for stage in read.list_stages(fills):
            chunks = read.find_chunks(EVERY_GROUP, stage)
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
                return find_pointer_value(text.blank, text.functions, text.narrow_event(event, span, "threadIdx"))
    return None


def _count_threads(text: KernelText) -> int:
    """Return the least number of threads that the launches of a text have, as far as they are known; 0 if none is."""
    bounds = [match.span(1) for match in _BOUNDS.finditer(text.blank)]
    blocks = [arguments[1] for _, arguments in list_launches(text.blank) if len(arguments) > 1]
    counts = (compute_number(text.blank, text.functions, place) for place in (*bounds, *blocks))
    return min((count for count in counts if count is not None), default=0)
