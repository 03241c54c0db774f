"""Verdicts on captures of the examples: whether the verifier names the mistake that was planted, and no mistake in a
correct run.

Part "captures" of a verification: every example runs on the device, right and with each mistake, with fills and with
random matrices.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lanescope import capture
from lanescope.app.hardware import capture_examples, captures
from lanescope.app.hardware.capture_examples import MISTAKES, ExampleProgram
from lanescope.app.hardware.device import Array, RunDevice
from lanescope.app.hardware.samples import CaseCounts
from lanescope.capture.report import Verified
from lanescope.errors import LayoutError

Files = Mapping[str, bytes]  # file name → bytes, as one run of all examples wrote them


def read_archive(folder: Path) -> dict[str, bytes]:
    """Read the files of captures.tar.xz."""
    with tarfile.open(folder / "captures.tar.xz") as archive:
        members = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in members.items() if file is not None}


def read_matrix(files: Files, example: ExampleProgram, operand: str) -> Array:
    """Read A or B of the run with random matrices."""
    matrix: Array = np.load(io.BytesIO(files[f"{example.name}-{operand}.npy"]))
    return matrix


def fill_captures(files: Files, example: ExampleProgram, mistake: int) -> list[bytes]:
    """List the captures of one run with fills: one, or the two passes of an 8-bit type."""
    return [files[name] for name in sorted(files) if name.startswith(f"{example.name}-{mistake}-fill")]


def verify_run(files: Files, example: ExampleProgram, mistake: int, real: bool = False) -> Verified:
    """Verify one run, of fills or of random matrices."""
    if not real:
        return capture.verify(fill_captures(files, example, mistake))
    a, b = (read_matrix(files, example, operand) for operand in "ab")
    raw = files[f"{example.name}-{mistake}-real.lscap"]
    return capture.verify(raw, a, b, nk=example.b_first == "n")


def list_causes(verified: Verified) -> list[str]:
    """List the codes of all wrong steps."""
    return sorted({cause.code for step in verified.wrong for cause in step.causes})


def is_planted_mistake(verified: Verified, example: ExampleProgram, mistake: int) -> bool:
    """Return whether a verdict names the planted mistake, and nothing else."""
    return list_causes(verified) == ([example.mistakes[mistake - 1][1]] if mistake else []) and verified.ok == (
        mistake == 0
    )


def run_verdicts(device: RunDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count for each example the runs whose verdict names the planted mistake, and list those that differ.

    per_kind: how many examples, and mistakes of each; 0: all.
    """
    unsupported = device.supports(capture_examples.find_newest_instruction())
    if unsupported:
        return {}
    examples, last = capture_examples.EXAMPLES[: per_kind or None], per_kind or MISTAKES
    with tempfile.TemporaryDirectory() as folder:
        runs = captures.record_all(Path(folder), examples, last)
        rows = {(row["example"], row["mistake"]): row for row in runs}
        files = read_archive(Path(folder))
    counts = CaseCounts()
    for example in examples:
        for mistake in range(last + 1):
            complaint = _judge_run(files, example, mistake, rows[example.name, mistake])
            counts.add(example.name, not complaint, f"{mistake}: {complaint}")
    return counts


def _judge_run(files: Files, example: ExampleProgram, mistake: int, row: Mapping[str, Any]) -> str:
    """Return the error of one run of the device, "" if there is none."""
    if "error" in row:
        return str(row["error"])
    if row["d_right"] != (mistake == 0):
        return f"D is {'right' if row['d_right'] else 'wrong'}"
    for real in (False, True):
        try:
            verified = verify_run(files, example, mistake, real)
        except LayoutError as error:
            return error.message
        if not is_planted_mistake(verified, example, mistake):
            return f"named {', '.join(list_causes(verified)) or 'right'}"
    return ""
