"""Run a kernel from its PTX: `lanescope.emulate(ptx, launch)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lanescope.emulate.launching.files import load_buffers, read_launch, read_text, write_outputs
from lanescope.emulate.launching.kernel import MOST_STEPS, Kernel, Place, Placement, prepare_kernel
from lanescope.emulate.launching.launch import Launch, parse_launch
from lanescope.emulate.machine import Finding, Machine, Schedule
from lanescope.emulate.observing.capture import CaptureRecorder
from lanescope.emulate.observing.races import compare_schedules
from lanescope.emulate.observing.waits import describe_barriers, find_deadlock
from lanescope.emulate.result import EmulationResult, check_expected, collect_outputs, take_arrays
from lanescope.emulate.state.mbarrier_state import find_wrong_bytes
from lanescope.emulate.state.tensor_maps import REFUSALS
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from lanescope.inputs import format_count

Array = NDArray[Any]


def emulate(
    ptx: str | PathLike[str],
    launch: Mapping[str, Any] | str | PathLike[str] | Launch,
    *,
    buffers: Mapping[str, Array] | None = None,
    compare: Mapping[str, Array] | None = None,
    blocks: Iterable[Place] | None = None,
    schedules: int = 1,
    events: bool = False,
    capture: bool = False,
    most_steps: int = MOST_STEPS,
) -> EmulationResult:
    """Execute a kernel of a PTX text on the CPU and return the result with its buffers.

    ptx: the text, or the path of a file. launch: the object described in docs/usage.md, its TOML, or the path of a TOML
    file; files that it names are relative to it. buffers: arrays in place of these files. compare: the expected final
    contents of buffers, bit for bit. blocks: run only the clusters that contain these. schedules: the number of
    schedules to run. events: whether to record the timeline. capture: whether to record what matrix instructions read.

    LayoutError if the kernel cannot be launched this way. An instruction that is not emulated is a finding.
    """
    text = ptx if isinstance(ptx, str) and "\n" in ptx else read_text(Path(ptx), "ptx")
    folder, parsed = Path(), launch
    if isinstance(parsed, str | PathLike):
        folder, parsed = read_launch(parsed)
    if not isinstance(parsed, Launch):
        parsed = parse_launch(parsed)
    arrays = load_buffers(parsed, folder, buffers or {})
    kernel = prepare_kernel(parse_module(text), parsed, arrays)
    if schedules > 1:
        result = run_schedules(kernel, schedules, compare=compare, blocks=blocks, most_steps=most_steps)
    else:
        name = "kernel.ptx" if text is ptx else Path(ptx).name
        result = run_kernel(
            kernel,
            compare=compare,
            blocks=blocks,
            most_steps=most_steps,
            events=events,
            capture=name if capture else "",
        )
    write_outputs(result, folder)
    return result


def run_kernel(
    kernel: Kernel,
    *,
    compare: Mapping[str, Array] | None = None,
    blocks: Iterable[Place] | None = None,
    schedule: Schedule = Schedule(),
    most_steps: int = MOST_STEPS,
    events: bool = False,
    capture: str = "",
) -> EmulationResult:
    """Run a kernel once, in this thread.

    events: whether to record the timeline. capture: the name of the PTX, to record what the matrix instructions of
    block 0, or of the given blocks, read.
    """
    expected = compare or {}
    check_expected(kernel, expected)
    try:
        placement = kernel.place(schedule, most_steps)
    except LayoutError as error:
        if error.hint not in REFUSALS:
            raise
        return refuse_map(kernel, error, expected)
    chosen = check_blocks(kernel, blocks)
    placement.machine.events = [] if events else None
    recorder = _record(placement, chosen, capture) if capture else None
    placement.machine.run(chosen)
    result = collect_result(placement, expected)
    return replace(result, capture=recorder.render()) if recorder else result


def _record(placement: Placement, blocks: list[Place] | None, name: str) -> CaptureRecorder:
    x, y, _ = placement.kernel.launch.grid
    numbers = [i + x * (j + y * k) for i, j, k in blocks or [(0, 0, 0)]]
    return CaptureRecorder(placement.machine, name, (min(numbers), max(numbers)))


def run_schedules(
    kernel: Kernel,
    count: int,
    *,
    compare: Mapping[str, Array] | None = None,
    blocks: Iterable[Place] | None = None,
    most_steps: int = MOST_STEPS,
) -> EmulationResult:
    """Run a kernel under several schedules; where results differ, findings name the accesses.

    Outputs are those of the first.
    """
    expected, chosen = compare or {}, check_blocks(kernel, blocks)
    check_expected(kernel, expected)
    placements: list[Placement] = []

    def make_machine(schedule: Schedule) -> Machine:
        placement = kernel.place(schedule, most_steps)
        placement.machine.blocks = chosen
        if not placements:
            placements.append(placement)
        return placement.machine

    try:
        compared = compare_schedules(make_machine, count)
    except LayoutError as error:
        if error.hint not in REFUSALS:
            raise
        return refuse_map(kernel, error, expected)
    result = collect_result(placements[0], expected)
    ran = len(compared.schedules)
    note = (
        f"{ran} schedules gave the same result; other orders exist."
        if compared.equal
        else f"{ran} schedules gave different results."
    )
    return replace(result, findings=(*result.findings, *compared.findings), notes=(*result.notes, note))


def check_blocks(kernel: Kernel, blocks: Iterable[Place] | None) -> list[Place] | None:
    """Return the blocks to run, None for all; LayoutError for one outside the grid."""
    if blocks is None:
        return None
    chosen = list(blocks)
    grid = kernel.launch.grid
    for block in chosen:
        if not all(0 <= index < extent for index, extent in zip(block, grid, strict=True)):
            raise LayoutError("bad_block", f"No block {list(block)}.", f"The grid is {list(grid)}.", "blocks")
    return chosen


def collect_result(placement: Placement, expected: Mapping[str, Array], ran: int | None = None) -> EmulationResult:
    """Return the result of a finished machine.

    ran: clusters, where other machines ran some.
    """
    kernel, machine = placement.kernel, placement.machine
    if machine.status == "deadlock":
        find_deadlock(machine)
    if machine.status in ("deadlock", "finished"):
        find_wrong_bytes(machine)
    notes = []
    ran = len(machine.clusters) if ran is None else ran
    if ran < kernel.cluster_count and machine.status == "finished":
        part = f"{ran} of {format_count(kernel.cluster_count, 'cluster')}"
        notes.append(f"Only {part} ran; the outputs do not contain the stores of the others.")
    outputs = collect_outputs(kernel, take_arrays(placement), expected)
    barriers = describe_barriers(machine)
    return EmulationResult(
        machine.status, tuple(machine.findings), outputs, barriers, machine.steps, tuple(notes), events=machine.events
    )


def refuse_map(kernel: Kernel, error: LayoutError, expected: Mapping[str, Array]) -> EmulationResult:
    """Return the result of a run whose tensor map the driver rejects: the kernel is not launched."""
    finding = Finding(error.code, f"{error.field}: {error.message} {error.hint}")
    arrays = {name: buffer.array for name, buffer in kernel.buffers.items()}
    return EmulationResult(
        "fault",
        (finding,),
        collect_outputs(kernel, arrays, expected),
        (),
        0,
        ("Nothing ran: the launch fails on the host.",),
    )
