"""Present a run on its page and in the guide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanescope.app.emulate import draw, facts, forms
from lanescope.app.emulate.printing import build_result_timeline
from lanescope.emulate.launching.elements import decode_elements
from lanescope.emulate.launching.kernel import Kernel, Place
from lanescope.emulate.machine import Schedule
from lanescope.emulate.result import EmulationResult, Output
from lanescope.inputs import format_count

SIDE = 8  # rows and columns of an output that the page shows


def build_view(ptx: str, kernel: Kernel, block: Place, late: bool) -> dict[str, Any]:
    """Run a cluster and return the template's variables. late: asynchronous work completes as late as possible."""
    result = forms.run_cluster(kernel, block, schedule=Schedule(late=late), events=True)
    timeline = build_result_timeline(result)
    stuck = frozenset(
        row["address"]
        for row in result.barriers
        if row["kind"] == "mbarrier" and result.status == "deadlock" and (row["pending"] or row["bytes"])
        if any(f"{row['address']:#x}" in finding.message for finding in result.findings)
    )
    return {
        "answer": facts.build_answer(result),
        "result": result,
        "headline": summarize_result(result),
        "lines": forms.mark_lines(ptx, result.findings),
        "timeline": draw.draw_timeline(timeline) if timeline.lanes else None,
        "ring": draw.draw_ring(result.barriers, stuck),
        "tables": {name: build_output_table(kernel, output) for name, output in result.outputs.items()},
        "stuck": stuck,
    }


def summarize_result(result: EmulationResult) -> str:
    """Return the verdict in one line."""
    errors = [finding for finding in result.findings if finding.severity == "error"]
    if result.status == "finished":
        return "The kernel ran to its end." if not errors else f"It ran, with {format_count(len(errors), 'finding')}."
    return {
        "deadlock": "Deadlock: every thread that is left waits.",
        "fault": "Fault: a GPU would stop here.",
        "unknown_instruction": "The run ended at an instruction that is not emulated, or does not exist.",
        "budget": "The run took more steps than a server allows.",
    }[result.status]


@dataclass(frozen=True, slots=True)
class OutputTable:
    """The first rows and columns of a buffer as text. note: how many these are, "" for all."""

    rows: list[list[str]]
    note: str


def build_output_table(kernel: Kernel, output: Output) -> OutputTable:
    """Return the first elements of a buffer, at most SIDE rows and columns; leading axes are joined to rows."""
    row = kernel.buffers[output.name].row
    values = decode_elements(output.array, row)
    if values.ndim == 0:
        values = values.reshape(1, 1)
    joined = values.reshape(-1, values.shape[-1])
    flat = joined[:SIDE, :SIDE]
    rows = [[f"{value:g}" if flat.dtype.kind == "f" else str(value) for value in line] for line in flat.tolist()]
    pairs = zip(flat.shape, joined.shape, ("row", "column"), strict=True)
    cut = [f"{shown} of {format_count(count, word)}" for shown, count, word in pairs if shown < count]
    return OutputTable(rows, f"The first {' and the first '.join(cut)}" if cut else "")
