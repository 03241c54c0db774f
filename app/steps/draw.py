"""The steps of an mma as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lanescope.app.hardware import user_matrices
from lanescope.app.hardware.user_matrices import format_number
from lanescope.app.steps.facts import Load, Steps
from lanescope.app.steps.matrix_stepper import MatrixStepper
from lanescope.app.steps.wgmma import StepDescriptor, TracedRun, WgmmaSteps

MOST_SHOWN = 16  # values of a lane that are printed beside its registers


def render_steps(steps: Steps | WgmmaSteps) -> str:
    """Return all steps as text, a section each."""
    lines = _render_wgmma(steps) if isinstance(steps, WgmmaSteps) else _render_warp(steps)
    return "\n".join((*_render_head(steps), *lines)) + "\n"


def _render_head(run: TracedRun) -> list[str]:
    how = "NumPy simulation, no GPU" if run.simulation else f"ran on {run.device.name}"
    verdict = "agrees with" if run.agrees else "DIFFERS from"
    return [
        run.ptx,
        f"{how}; {user_matrices.describe_inputs(run.data, run.seed)}; D {verdict} NumPy's product",
        "",
    ]


def _render_matrix(matrix: Any) -> list[str]:
    """Return a line per row with its number, all cells equally wide."""
    cells = [[format_number(value) for value in line] for line in np.asarray(matrix).tolist()]
    wide = max(3, *(len(cell) for line in cells for cell in line))
    return [f"   {n:3}  " + " ".join(cell.rjust(wide) for cell in line) for n, line in enumerate(cells)]


# a warp's mma ---------------------------------------------------------------------------------------------------------


def _render_warp(steps: Steps) -> Iterator[str]:
    for name, memory in steps.memory.items():
        yield f"1. memory of {name.upper()}: {memory.element}, {memory.order}, {memory.pitch_bytes} bytes per line"
        for product, matrix in enumerate(memory.lines):
            if len(memory.lines) > 1:
                yield f"   product {product}"
            yield from _render_matrix(matrix)
    yield ""
    for name, load in steps.loads.items():
        yield from _render_load(name, load)
    yield ""
    if steps.metadata:
        yield "   metadata e: " + _format_by_lane(steps.metadata)
        yield ""
    yield "3. registers, lane by lane"
    for lane in range(32):
        yield f"   T{lane:<3} " + "  ".join(f"{name} {_format_registers(steps, name, lane)}" for name in "abc")
    yield from ("", *_render_terms(steps))
    yield from ("", "5. D's registers, lane by lane")
    for lane in range(32):
        yield f"   T{lane:<3} {_format_registers(steps, 'd', lane)}"


def _render_load(name: str, load: Load | None) -> Iterator[str]:
    if load is None:
        yield f"2. {name.upper()} is loaded element by element: no ldmatrix fills it"
        return
    several = load.turns > 1
    yield f"2. {name.upper()}: {load.ptx}{f', {load.turns} times' if several else ''}; offset = {load.offset}"
    for turn, offsets in enumerate(load.lane_offsets):
        offsets_by_lane = [f"T{lane}:{int(at)}" for lane, at in enumerate(offsets) if at >= 0]
        yield f"   {f'turn {turn}  ' if several else ''}" + " ".join(offsets_by_lane)


def _render_terms(steps: Steps) -> Iterator[str]:
    e = steps.element
    yield f"4. D[{e.row},{e.col}] = C + sum over k of A[{e.row},k]·B[k,{e.col}]"
    for term in e.terms:
        scaled = f" × {term.scale:g}" if term.scale != 1 else ""
        a, b = _format_factor(term.a), _format_factor(term.b)
        yield f"   k {term.k:3}  {a} ({term.a_at}) × {b} ({term.b_at}){scaled} = {format_number(term.product)}"
    yield f"   + C {format_number(e.c)} ({e.c_at}) = {format_number(e.sum)}; D holds {format_number(e.d)} ({e.d_at})"


def _format_registers(steps: Steps, name: str, lane: int) -> str:
    """Return a lane's registers of one operand, with their values if these are few."""
    words, values = steps.registers[name][lane], steps.values[name][lane]
    return " ".join(words) + (f" ({' '.join(map(format_number, values))})" if len(values) <= MOST_SHOWN else "")


def _format_factor(value: float) -> str:
    return format_number(value).rjust(3)


def _format_by_lane(words: list[str]) -> str:
    return " ".join(f"T{lane}:{word}" for lane, word in enumerate(words))


# a wgmma's whole product ----------------------------------------------------------------------------------------------


def _render_wgmma(steps: WgmmaSteps) -> Iterator[str]:
    for name, memory in steps.memory.items():
        yield f"1. global memory of {name.upper()}: {memory.element}, {memory.order}"
        yield from _render_matrix(memory.lines)
    yield ""
    for name, tile in steps.shared.items():
        down = "M" if name == "a" else "N"
        how = f"{tile.major}-major, {tile.how}"
        yield f"2. {name.upper()} in shared memory, the byte of each element ({down} down, K across): {how}"
        for n, line in enumerate(tile.address):
            yield f"   {n:3}  " + " ".join(f"{int(at):5}" for at in line)
    yield from ("", "3. fence.proxy.async, barrier, wgmma.fence; the descriptors of each step")
    for name, descriptors in steps.descriptors.items():
        for descriptor in descriptors:
            yield f"   {name.upper()} {_format_descriptor(descriptor)}"
    yield "   immediates: " + (", ".join(f"{name} {value}" for name, value in steps.immediates.items()) or "none")
    for step, words in enumerate(steps.metadata or ()):
        yield f"   metadata e, step {step}: {_format_by_lane(words)}"
    yield from ("", *_render_read_terms(steps))
    registers = steps.registers
    yield from ("", f"5. registers of thread {registers.thread} after wait_group 0")
    for step, words in enumerate(registers.a or ()):
        yield f"   a step {step}  {' '.join(words)}"
    yield f"   d before  {' '.join(registers.c)}"
    yield f"   d after   {' '.join(registers.d)}"


def _format_descriptor(descriptor: StepDescriptor) -> str:
    strides = f"LBO {descriptor.lbo_bytes}, SBO {descriptor.sbo_bytes}"
    fields = f"start {descriptor.start_address}, {strides}, base offset {descriptor.base_offset}, swizzle"
    unread = f"; not read: {', '.join(descriptor.unused)}" if descriptor.unused else ""
    return f"step {descriptor.step}  {descriptor.descriptor}  {fields} {descriptor.swizzle}{unread}"


def _render_read_terms(steps: WgmmaSteps) -> Iterator[str]:
    e = steps.element
    yield f"4. D[{e.row},{e.col}]: C + sum over k of A[{e.row},k]·B[k,{e.col}], each factor with where it is read"
    for t in e.terms:
        factors = f"{_format_factor(t.a)} ({t.a_at}) × {_format_factor(t.b)} ({t.b_at})"
        yield f"   step {t.step} k {t.k:3}  {factors} = {format_number(t.product)}"
    differs = "" if e.sum == e.expected else f"; NumPy's product has {format_number(e.expected)}"
    yield f"   + C {format_number(e.c)} = {format_number(e.sum)}; D holds {format_number(e.d)} ({e.d_at}){differs}"


# one ldmatrix or stmatrix ---------------------------------------------------------------------------------------------


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
