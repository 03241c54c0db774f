"""Run a grid in several processes: each runs some clusters in its own memory, and their stores are joined.

The result is that of one process only if clusters are independent: no byte that one stores is loaded or stored by
another. Each process records the bytes of global memory that it loads and stores; if they overlap, or if clusters wait
for one another, the grid is run again in one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations
from multiprocessing import get_all_start_methods, get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.instructions.sums import NOTE
from lanescope.emulate.launching.kernel import MOST_STEPS, Kernel, Place, Placement
from lanescope.emulate.machine import Finding, Machine, describe_budget
from lanescope.emulate.result import EmulationResult, check_expected, collect_outputs, take_arrays
from lanescope.emulate.run import check_blocks, collect_result, run_kernel
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import Addresses, Allocation
from lanescope.errors import LayoutError

Array = NDArray[Any]
Bits = NDArray[np.uint8]
_kernels: dict[str, tuple[Kernel, int]] = {}  # what a forked process runs


class AccessRecorder:
    """The bytes of global memory that a run loads and stores."""

    def __init__(self, placement: Placement) -> None:
        self.allocations = list(placement.machine.memory.allocations)
        known = [allocation for allocation in self.allocations if not allocation.read_only]
        self.loaded = {id(allocation): np.zeros(allocation.size, bool) for allocation in known}
        self.stored = {id(allocation): np.zeros(allocation.size, bool) for allocation in known}

    def __call__(
        self, group: Group, space: str, allocation: Allocation, offsets: Addresses, size: int, *, writes: bool
    ) -> None:
        marks = (self.stored if writes else self.loaded).get(id(allocation))
        if marks is not None:
            if size == 1:
                marks[offsets] = True
            else:
                marks[offsets[:, None] + np.arange(size)] = True


@dataclass(frozen=True, slots=True)
class Part:
    """The result of the clusters of one process. loaded, stored: by allocation, a bit for each byte; values: the
    stored bytes.
    """

    status: str
    findings: tuple[Finding, ...]
    steps: int
    barriers: list[Mapping[str, Any]]
    loaded: dict[int, Bits] = field(default_factory=dict)
    stored: dict[int, Bits] = field(default_factory=dict)
    values: dict[int, Bits] = field(default_factory=dict)


def run_spread(
    kernel: Kernel,
    processes: int,
    *,
    compare: Mapping[str, Array] | None = None,
    blocks: list[Place] | None = None,
    most_steps: int = MOST_STEPS,
) -> EmulationResult:
    """Run a kernel in several processes if that gives the same result, otherwise in this one."""
    clusters = _list_clusters(kernel, check_blocks(kernel, blocks))
    count = min(processes, len(clusters))
    if count < 2 or "fork" not in get_all_start_methods():
        return run_kernel(kernel, compare=compare, blocks=blocks, most_steps=most_steps)
    expected = compare or {}
    check_expected(kernel, expected)
    try:
        placement = kernel.place()
    except LayoutError:
        return run_kernel(kernel, compare=compare, blocks=blocks, most_steps=most_steps)
    parts = _run_parts(
        kernel,
        [clusters[n * len(clusters) // count : (n + 1) * len(clusters) // count] for n in range(count)],
        most_steps,
    )
    ended = next((n for n, part in enumerate(parts) if part.status != "finished"), len(parts) - 1)
    parts = parts[: ended + 1]  # one process would have stopped here, too
    if parts[-1].status == "deadlock" or not _are_independent(parts):
        return run_kernel(kernel, compare=compare, blocks=blocks, most_steps=most_steps)
    machine = placement.machine
    _join_parts(machine, parts, most_steps)
    result = collect_result(placement, expected, len(clusters))
    return EmulationResult(
        result.status,
        result.findings,
        collect_outputs(kernel, take_arrays(placement), expected),
        parts[-1 if machine.status != "finished" else 0].barriers,
        result.steps,
        result.notes,
    )


def _join_parts(machine: Machine, parts: list[Part], most_steps: int) -> None:
    """Copy the stores and findings of the processes into the machine, which itself ran nothing."""
    for part in parts:
        for number, values in part.values.items():
            allocation = machine.memory.allocations[number]
            allocation.data[np.unpackbits(part.stored[number], count=allocation.size).astype(bool)] = values
    machine.status, machine.steps = parts[-1].status, sum(part.steps for part in parts)
    for finding in (finding for part in parts for finding in part.findings):
        if finding.code == "budget":  # a part may have fewer
            finding = replace(finding, message=describe_budget(most_steps))
        alike = [known for known in machine.findings if known.code == finding.code]
        if not any(known.line == finding.line or known.code == NOTE for known in alike):  # each note once per run
            machine.findings.append(finding)


def _list_clusters(kernel: Kernel, blocks: list[Place] | None) -> list[Place]:
    """Return the first block of each cluster that runs, in the order of the grid."""
    grid, cluster = kernel.launch.grid, kernel.cluster
    if blocks is None:
        x, y, z = (range(0, extent, size) for extent, size in zip(grid, cluster, strict=True))
        return [(i, j, k) for k in z for j in y for i in x]
    firsts = [tuple(i // c * c for i, c in zip(block, cluster, strict=True)) for block in blocks]
    return list(dict.fromkeys((i, j, k) for i, j, k in firsts))


def _run_parts(kernel: Kernel, chunks: list[list[Place]], most_steps: int) -> list[Part]:
    """Run each chunk in a process of its own, with at most `most_steps` steps together.

    The part that exceeds the limit is run again with the remaining steps.
    """
    _kernels["kernel"] = kernel, most_steps
    try:
        with ProcessPoolExecutor(len(chunks), get_context("fork")) as pool:
            parts = list(pool.map(_run_forked, chunks))
    finally:
        _kernels.clear()
    left = most_steps
    for number, part in enumerate(parts):
        if part.steps > left:
            return [*parts[:number], _run_part(kernel, chunks[number], left)]
        left -= part.steps
    return parts


def _run_forked(clusters: list[Place]) -> Part:
    return _run_part(_kernels["kernel"][0], clusters, _kernels["kernel"][1])


def _run_part(kernel: Kernel, clusters: list[Place], most_steps: int) -> Part:
    """Run clusters in a memory of their own."""
    placement = kernel.place(most_steps=most_steps)
    recorder = AccessRecorder(placement)
    machine = placement.machine
    machine.memory.observers.append(recorder)
    machine.run(clusters)
    result = collect_result(placement, {})
    part = Part(machine.status, tuple(machine.findings), machine.steps, list(result.barriers))
    for number, allocation in enumerate(recorder.allocations):
        loaded, stored = (marks.get(id(allocation)) for marks in (recorder.loaded, recorder.stored))
        if loaded is not None and loaded.any():
            part.loaded[number] = np.packbits(loaded)
        if stored is not None and stored.any():
            part.stored[number] = np.packbits(stored)
            part.values[number] = allocation.data[stored]
    return part


def _are_independent(parts: list[Part]) -> bool:
    """Return whether no byte that one part stores is loaded or stored by another."""
    for part, another in combinations(parts, 2):
        for storing, accessing in ((part, another), (another, part)):
            for number, stored in storing.stored.items():
                for marks in (accessing.loaded, accessing.stored):
                    if number in marks and (marks[number] & stored).any():
                        return False
    return True
