"""One ldmatrix or stmatrix, step by step, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.app.steps.matrix_stepper import MatrixStepper


def render_text(steps: MatrixStepper) -> str:
    """Return the steps and the resulting registers as text."""
    return "\n".join(list_lines(steps)) + "\n"


def list_lines(steps: MatrixStepper) -> Iterator[str]:
    """List the lines of the text."""
    yield steps.ptx
    if steps.note:
        yield steps.note
    for number, phase in enumerate(steps.phases):
        yield ""
        yield f"{number + 1}. {phase.name}"
        for step in steps.steps[phase.first : phase.first + phase.steps]:
            yield f"   {step.at}: {step.caption.replace('`', '')}"
    if steps.stores:
        yield from ("", "S in memory, row by row")
        for row in steps.written.reshape(steps.s.rows, steps.s.cols).tolist():
            yield "   " + " ".join("?" if number != number else f"{number:g}" for number in row)
    yield ""
    yield "Registers, lane by lane"
    for lane, words in enumerate(steps.registers):
        yield f"   T{lane:<3} " + " ".join(word or "unknown" for word in words)
