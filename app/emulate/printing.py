"""Input and output of the command emulate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lanescope.app.emulate.facts import format_status
from lanescope.app.kit.terminal import write_output
from lanescope.emulate.launching.files import read_array
from lanescope.emulate.machine import Finding
from lanescope.emulate.observing.timeline import Timeline, build_timeline
from lanescope.emulate.observing.trace import render_trace
from lanescope.emulate.result import EmulationResult, Output
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

MOST_FINDINGS = 20


def read_expected(items: list[str]) -> dict[str, NDArray[Any]]:
    """Read the expected contents of buffers, NAME=FILE.npy each."""
    expected = {}
    for item in items:
        name, equals, file = item.partition("=")
        if not equals or not name or not file:
            raise LayoutError(
                "bad_usage", f"--compare is '{shorten_value(item)}'.", "Write NAME=FILE.npy, as in C=C.npy.", "compare"
            )
        expected[name] = read_array(Path(file), f"compare.{name}")
    return expected


def build_result_timeline(result: EmulationResult) -> Timeline:
    """Return the timeline of a run with recorded events."""
    names = {row["address"]: row["name"] for row in result.barriers if row["kind"] == "mbarrier" and row["name"]}
    return build_timeline(result.events or (), result.steps, names)


def write_notes(result: EmulationResult, capture: str, trace: str) -> None:
    """Write the capture and the timeline of a run to files."""
    if capture and result.capture is not None:
        write_output(result.capture, capture)
    if trace:
        write_output(render_trace(build_result_timeline(result)).encode(), trace)


def format_result(result: EmulationResult, file: str) -> Iterator[str]:
    """Yield the lines of a result: status, errors, memory."""
    yield f"{format_status(result.status)}: {result.steps:,} steps"
    for finding in result.findings[:MOST_FINDINGS]:
        yield from _format_finding(finding, file)
    if len(result.findings) > MOST_FINDINGS:
        yield f"  … {len(result.findings) - MOST_FINDINGS} more findings; --json has all"
    for output in result.outputs.values():
        yield f"  {format_output(output)}"
    if result.status == "budget":
        yield "  ! --steps allows more."
    for note in result.notes:
        yield f"  ! {note}"


def _format_finding(finding: Finding, file: str) -> Iterator[str]:
    where = f"{file}:{finding.line}" if finding.line else file
    what = finding.code if finding.severity == "error" else f"{finding.severity}: {finding.code}"
    yield f"  {where}: {what}" + (f" ({finding.place})" if finding.place else "")
    yield f"    {finding.message}{'' if finding.message.endswith('.') else '.'}"


def format_output(output: Output) -> str:
    """Return a buffer in one line: its shape, and how it compares."""
    what = f"{output.name}: {' × '.join(map(str, output.shape))} {output.type}"
    if output.compared is None:
        return f"{what}, {'changed' if output.changed else 'unchanged'}" + _format_file(output)
    if output.compared.equal:
        return f"{what}, equal" + _format_file(output)
    first = output.compared.first_mismatch
    assert first is not None
    return (
        f"{what}, {output.compared.mismatches:,} of {output.compared.total:,} differ; first"
        f" [{','.join(map(str, first.index))}]: {first.got:g}, expected {first.expected:g}" + _format_file(output)
    )


def _format_file(output: Output) -> str:
    return f", written to {output.file}" if output.file else ""
