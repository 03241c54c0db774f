"""Results of the emulator as facts."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.emulate.result import Comparison, EmulationResult, Output

Status = Literal["finished", "deadlock", "fault", "unknown_instruction", "budget"]


@fact
class EmulationFinding:
    """An error of the run. line: of the PTX, 0 for none; place: file:line of the source it was compiled from, "" if
    the PTX has no .loc.
    """

    code: Annotated[str, Description(examples=("unwritten_shared",))]
    message: str
    line: int
    place: str
    severity: Annotated[str, Description("error, or warning for what may be meant.")]


@fact
class BufferMismatch:
    """The first element that differs. index: of the element; got, expected: numbers, null for an infinity or NaN;
    got_bits, expected_bits: their codes.
    """

    index: list[int]
    got: float | None
    expected: float | None
    got_bits: str
    expected_bits: str


@fact
class BufferComparison:
    """A buffer compared with its expected content, bit for bit."""

    equal: bool
    mismatches: Annotated[int, Description("Elements that differ.")]
    total: int
    first_mismatch: BufferMismatch | None


@fact
class EmulatedBuffer:
    """A buffer that the launch marks as output, that is compared, or that the run stored to."""

    shape: Annotated[list[int], Description("Of the array; elements of 4 bits are packed along the last axis.")]
    type: str
    changed: Annotated[bool, Description("Whether it differs from what it began with.")]
    compared: BufferComparison | None
    npy: Annotated[str | None, Description("The array in base64, a .npy file; left out where it is large.")] = (
        make_optional_field()
    )


@fact
class Emulated:
    """The result of a run."""

    status: Annotated[Status, Description("finished: every thread came to its end.")]
    findings: list[EmulationFinding]
    outputs: dict[str, EmulatedBuffer]
    barriers: Annotated[
        list[dict[str, Any]], Description("mbarriers and named barriers: phase, arrivals and bytes that are missing.")
    ]
    steps: Annotated[int, Description("Statements that groups of threads executed.")]
    notes: list[str]


def build_answer(result: EmulationResult, most_bytes: int = 0) -> Emulated:
    """Build the answer of POST /emulate. most_bytes: size up to which arrays are included."""
    return Emulated(
        status=result.status,  # type: ignore[arg-type]  # its words
        findings=[copy_fact(EmulationFinding, finding) for finding in result.findings],
        outputs={name: _build_output(output, most_bytes) for name, output in result.outputs.items()},
        barriers=[dict(row) for row in result.barriers],
        steps=result.steps,
        notes=list(result.notes),
    )


def _build_output(output: Output, most_bytes: int) -> EmulatedBuffer:
    return EmulatedBuffer(
        shape=list(output.shape),
        type=output.type,
        changed=output.changed,
        compared=_build_comparison(output.compared) if output.compared else None,
        npy=encode_npy(output) if output.array.nbytes <= most_bytes else None,
    )


def encode_npy(output: Output) -> str:
    """Return a buffer's array as a .npy file in base64."""
    stream = io.BytesIO()
    np.save(stream, output.array)
    return base64.b64encode(stream.getvalue()).decode()


def _build_comparison(compared: Comparison) -> BufferComparison:
    first = compared.first_mismatch
    return copy_fact(
        BufferComparison,
        compared,
        first_mismatch=None
        if first is None
        else BufferMismatch(
            index=list(first.index),
            got=_keep_finite(first.got),
            expected=_keep_finite(first.expected),
            got_bits=f"{first.got_bits:#x}",
            expected_bits=f"{first.expected_bits:#x}",
        ),
    )


def _keep_finite(value: float | int) -> float | int | None:
    return value if math.isfinite(value) else None


def format_status(status: str) -> str:
    """Return a status in words."""
    return STATUSES[status]


STATUSES: Mapping[str, str] = {
    "finished": "finished",
    "deadlock": "deadlock",
    "fault": "fault",
    "unknown_instruction": "not emulated",
    "budget": "out of budget",
}
