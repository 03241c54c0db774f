"""The emulator repeats what a device left in memory, bit for bit: right kernels, and ones with a planted mistake."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from lanescope.emulate.launching.files import load_buffers
from lanescope.emulate.launching.kernel import prepare_kernel
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.machine import Schedule
from lanescope.emulate.run import emulate, run_kernel
from lanescope.emulate.text.parser import parse_module
from tests.cases import for_each
from tests.device_runs import FOLDER, KernelRun, list_hanging_runs, list_runs, read_archive
from tests.sample import FULL, take_sample

RUNS = {run.name: run for run in list_runs()}


def read_device_output(run: KernelRun, buffer: str) -> np.ndarray:
    return np.load(io.BytesIO(read_archive()[f"{run.name}/{buffer}.npy"]))


@for_each("name", take_sample(list(RUNS), 5), sample=3)
def test_outputs_equal_the_devices(name: str) -> None:
    run = RUNS[name]
    expected = {key: read_device_output(run, key) for key, one in run.buffers.items() if one.output}
    launch = run.launch
    for buffer in launch["buffer"].values():
        buffer.pop("output", None)
    result = emulate(read_archive()[f"{name}.ptx"].decode(), launch, buffers=run.make_buffers(), compare=expected)
    assert result.status == "finished", result.findings
    assert all(output.compared is None or output.compared.equal for output in result.outputs.values()), [
        (output.name, output.compared) for output in result.outputs.values()
    ]


ORDERED = ("ring-0", "multicast-0", "attention-0", "store-0", "triton-specialized-90")


@for_each(
    ("name", "seed"),
    [(name, seed) for n, name in enumerate(ORDERED) for seed in (0, 4) if FULL or n % 8 == seed],
    sample=1,
)
def test_every_order_of_warps_comes_to_the_same(name: str, seed: int) -> None:
    """One thread releases a stage for its warpgroup behind its own wgmma.wait_group."""
    run = RUNS[name]
    launch = run.launch
    for buffer in launch["buffer"].values():
        buffer.pop("output", None)
    parsed = parse_launch(launch)
    module = parse_module(read_archive()[f"{name}.ptx"].decode())
    kernel = prepare_kernel(module, parsed, load_buffers(parsed, Path(), run.make_buffers()))
    expected = {key: read_device_output(run, key) for key, one in run.buffers.items() if one.output}
    result = run_kernel(kernel, compare=expected, schedule=Schedule(by_warp=True, late=True, seed=seed))
    assert result.passed, result.findings


@for_each("source", sorted({run.source for run in RUNS.values() if run.mistake}))
def test_every_planted_mistake_changes_the_devices_result(source: str) -> None:
    right, *wrong = [run for run in RUNS.values() if run.source == source]
    outputs = [name for name, one in right.buffers.items() if one.output]
    for run in wrong:
        assert any(
            not np.array_equal(read_device_output(right, name), read_device_output(run, name)) for name in outputs
        )


# what hangs → the barrier, and the call in the kernel's source that waits for it
HANGING = {
    "ring-1": ("empty[0]", "wait(shared_address(&empty[stage])"),
    "ring-2": ("full[0]", "wait(shared_address(&full[stage])"),
    "ring-6": ("empty[0]", "wait(shared_address(&empty[stage])"),
    "multicast-2": ("empty[0]", "wait(shared_address(&empty[stage])"),
}


@for_each("run", list_hanging_runs(), ids=lambda run: run.name, sample=2)
def test_a_kernel_that_hangs_is_told_where_and_for_what(run: KernelRun) -> None:
    launch = run.launch
    for buffer in launch["buffer"].values():
        buffer.pop("output", None)
    result = emulate(read_archive()[f"{run.name}.ptx"].decode(), launch, buffers=run.make_buffers())
    assert result.status == "deadlock"
    barrier, call = HANGING[run.name]
    lines = (FOLDER / run.source).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if call in text)
    assert any(barrier in one.message and f"{run.source}:{line}" in one.place for one in result.findings)
