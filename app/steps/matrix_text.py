"""One ldmatrix or stmatrix, step by step, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.app.steps.matrix_stepper import MatrixStepper


def render_text(found: MatrixStepper) -> str:
    """Render the steps, and what the registers hold."""
    return "\n".join(list_lines(found)) + "\n"


def list_lines(found: MatrixStepper) -> Iterator[str]:
    """List the lines of the text."""
    yield found.ptx
    if found.note:
        yield found.note
    for number, phase in enumerate(found.phases):
        yield ""
        yield f"{number + 1}. {phase.name}"
        for step in found.steps[phase.first : phase.first + phase.steps]:
            yield f"   {step.at}: {step.caption.replace('`', '')}"
    if found.stores:
        yield from ("", "S in memory, row by row")
        for row in found.written.reshape(found.s.rows, found.s.cols).tolist():
            yield "   " + " ".join("?" if number != number else f"{number:g}" for number in row)
    yield ""
    yield "Registers, lane by lane"
    for lane, words in enumerate(found.registers):
        yield f"   T{lane:<3} " + " ".join(word or "unknown" for word in words)
