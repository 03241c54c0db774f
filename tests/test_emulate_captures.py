"""Captures of kernels that the emulator runs, against those that an H200 wrote of the same kernels.

The kernels have the macros of lanescope.cuh and write the file themselves, by atomics and stores.
tests/emulated_captures says what is compared; here a choice of the runs, `python -m tests.emulated_captures` does all.
"""

from __future__ import annotations

from lanescope import capture
from lanescope.app.hardware import capture_examples, captures
from lanescope.emulate.machine import Schedule
from lanescope.emulate.observing.capture import CaptureRecorder
from tests import emulated_captures
from tests.cases import for_each
from tests.sample import take_sample

CHOSEN = [
    ("wgmma_tma_k_major-0", "real"),
    ("wgmma_mn_major_b-4", "fill1"),
    ("wgmma_core_matrices-3", "real"),
    ("ldmatrix_padded-1", "real"),
    ("wgmma_fp8_a_registers-0", "real"),
    *((name, "fill1") for name in emulated_captures.OTHERS if not name.startswith("w7")),
]


@for_each(("name", "kind"), take_sample(CHOSEN, 3), sample=1)
def test_the_kernels_record_what_an_h200_recorded(name: str, kind: str) -> None:
    assert emulated_captures.compare(name, kind) == []


@for_each("schedule", [Schedule(by_warp=True), Schedule(late=True)], ids=str, sample=1)
def test_in_other_orders(schedule: Schedule) -> None:
    assert emulated_captures.compare("wgmma_core_matrices-0", "real", schedule) == []


def record(name: str, mistake: int) -> list[bytes]:
    """Captures of an example without its macros' help: by the emulator's recorder, of every fill."""
    files = []
    for part in range(captures.fills.count_passes(capture_examples.BY_NAME[name].element)):
        placement = emulated_captures.prepare_example(name, mistake, f"fill{part + 1}")
        recorder = CaptureRecorder(placement.machine)
        placement.machine.run()
        files.append(recorder.render())
    return files


@for_each(
    ("name", "mistake"), [("wgmma_core_matrices", 0), ("wgmma_core_matrices", 1), ("ldmatrix_padded", 4)], sample=1
)
def test_the_recorder_needs_no_macros(name: str, mistake: int) -> None:
    made = capture.verify(record(name, mistake))
    if not mistake:
        assert made.ok and all(one.verdict == "match" for one in made.accumulators)
        return
    expected = capture_examples.BY_NAME[name].mistakes[mistake - 1][1]
    assert made.verdict == "mismatch" and expected in {cause.code for step in made.steps for cause in step.causes}


def test_the_recorder_records_what_the_macros_record() -> None:
    """Words, immediates, addresses and registers of the same run."""
    placement = emulated_captures.prepare_example("wgmma_fp8_a_registers", 0, "fill1")
    recorder = CaptureRecorder(placement.machine)
    placement.machine.run()
    own = capture.read(recorder.render()).records
    macros = capture.read(emulated_captures.take_capture(placement)).records
    for kind in ("wgmma", "fragment"):
        ours, theirs = ([one for one in records if one.kind == kind] for records in (own, macros))
        assert len(ours) == len(theirs)
        key = lambda one: (one.label, one.thread)  # noqa: E731
        for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key), strict=True):
            assert (mine.words, mine.immediates, mine.label, mine.text, mine.block, mine.thread) == (
                other.words,
                other.immediates,
                other.label,
                other.text,
                other.block,
                other.thread,
            )
            assert mine.registers.keys() == other.registers.keys()
            assert all((mine.registers[name] == other.registers[name]).all() for name in mine.registers)
