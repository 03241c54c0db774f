"""Find warpgroups whose instructions read rows of a tile that overlap: some are multiplied twice, others never."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.alignment import WARPGROUP
from lanescope.workbench.function_texts import list_launches
from lanescope.workbench.kernel_runs import KernelText
from lanescope.workbench.results import Bench, Span
from lanescope.workbench.shared_budget import compute_number

TITLES = {"warpgroups_overlap": "Warpgroups read rows of a tile that overlap"}
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


def _find_product(text: KernelText) -> Span | None:
    """Find the first wgmma of a kernel that a warpgroup's number moves."""
    for event in (event for run in text.runs for event in run.events if event.kind == "wgmma"):
        run = event.run
        for _, value, span in run.inputs if isinstance(run, AsmRun) else ():
            pieces = value.pieces if value is not None else ()
            if any(WARPGROUP.fullmatch(name) for piece in pieces for name, _ in piece.source.terms):
                return text.narrow_event(event, span, "threadIdx")
    return None


def _count_threads(text: KernelText) -> int:
    """Return the least number of threads that the launches of a text have, as far as they are known; 0 if none is."""
    bounds = [match.span(1) for match in _BOUNDS.finditer(text.blank)]
    blocks = [arguments[1] for _, arguments in list_launches(text.blank) if len(arguments) > 1]
    counts = (compute_number(text.blank, text.functions, place) for place in (*bounds, *blocks))
    return min((count for count in counts if count is not None), default=0)
