"""The steps of an mma as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lanescope.app.hardware import own
from lanescope.app.hardware.own import number_text
from lanescope.app.steps.facts import Load, Steps
from lanescope.app.steps.wgmma import StepDescriptor, Traced, WgmmaSteps

MOST_SHOWN = 16  # values of a lane that are spelled beside its registers


def text(found: Steps | WgmmaSteps) -> str:
    """All of it, a section a step."""
    lines = _wgmma(found) if isinstance(found, WgmmaSteps) else _warp(found)
    return "\n".join((*_head(found), *lines)) + "\n"


def _head(found: Traced) -> list[str]:
    how = "NumPy simulation, no GPU" if found.simulation else f"ran on {found.device.name}"
    verdict = "agrees with" if found.agrees else "DIFFERS from"
    return [found.ptx, f"{how}; {own.origin(found.data, found.seed)}; D {verdict} NumPy's product", ""]


def _matrix(matrix: Any, numbered: str = "3") -> list[str]:
    """A line a row, its number in front, all cells of one width."""
    cells = [[number_text(value) for value in line] for line in np.asarray(matrix).tolist()]
    wide = max(3, *(len(cell) for line in cells for cell in line))
    return [f"   {n:{numbered}}  " + " ".join(cell.rjust(wide) for cell in line) for n, line in enumerate(cells)]


# a warp's mma ---------------------------------------------------------------------------------------------------------


def _warp(found: Steps) -> Iterator[str]:
    for name, memory in found.memory.items():
        yield f"1. memory of {name.upper()}: {memory.element}, {memory.order}, {memory.pitch_bytes} bytes a line"
        for product, matrix in enumerate(memory.lines):
            if len(memory.lines) > 1:
                yield f"   product {product}"
            yield from _matrix(matrix)
    yield ""
    for name, load in found.loads.items():
        yield from _load(name, load)
    yield ""
    if found.metadata:
        yield "   metadata e: " + _by_lane(found.metadata)
        yield ""
    yield "3. registers, lane by lane"
    for lane in range(32):
        yield f"   T{lane:<3} " + "  ".join(f"{name} {_held(found, name, lane)}" for name in "abc")
    yield from ("", *_terms(found))
    yield from ("", "5. D's registers, lane by lane")
    for lane in range(32):
        yield f"   T{lane:<3} {_held(found, 'd', lane)}"


def _load(name: str, load: Load | None) -> Iterator[str]:
    if load is None:
        yield f"2. {name.upper()} is loaded element by element: no ldmatrix fills it"
        return
    several = load.turns > 1
    yield f"2. {name.upper()}: {load.ptx}{f', {load.turns} times' if several else ''}; offset = {load.offset}"
    for turn, offsets in enumerate(load.lane_offsets):
        given = [f"T{lane}:{int(at)}" for lane, at in enumerate(offsets) if at >= 0]
        yield f"   {f'turn {turn}  ' if several else ''}" + " ".join(given)


def _terms(found: Steps) -> Iterator[str]:
    e = found.element
    yield f"4. D[{e.row},{e.col}] = C + sum over k of A[{e.row},k]·B[k,{e.col}]"
    for term in e.terms:
        scaled = f" × {term.scale:g}" if term.scale != 1 else ""
        a, b = _factor(term.a), _factor(term.b)
        yield f"   k {term.k:3}  {a} ({term.a_at}) × {b} ({term.b_at}){scaled} = {number_text(term.product)}"
    yield f"   + C {number_text(e.c)} ({e.c_at}) = {number_text(e.sum)}; D holds {number_text(e.d)} ({e.d_at})"


def _held(found: Steps, name: str, lane: int) -> str:
    """A lane's registers of one operand, and what they hold where that is not too much."""
    words, values = found.registers[name][lane], found.values[name][lane]
    return " ".join(words) + (f" ({' '.join(map(number_text, values))})" if len(values) <= MOST_SHOWN else "")


def _factor(value: float) -> str:
    return number_text(value).rjust(3)


def _by_lane(words: list[str]) -> str:
    return " ".join(f"T{lane}:{word}" for lane, word in enumerate(words))


# a wgmma's whole product ----------------------------------------------------------------------------------------------


def _wgmma(found: WgmmaSteps) -> Iterator[str]:
    for name, memory in found.memory.items():
        yield f"1. global memory of {name.upper()}: {memory.element}, {memory.order}"
        yield from _matrix(memory.lines)
    yield ""
    for name, tile in found.shared.items():
        down = "M" if name == "a" else "N"
        how = f"{tile.major}-major, {tile.how}"
        yield f"2. {name.upper()} in shared memory, the byte of each element ({down} down, K across): {how}"
        for n, line in enumerate(tile.address):
            yield f"   {n:3}  " + " ".join(f"{int(at):5}" for at in line)
    yield from ("", "3. fence.proxy.async, barrier, wgmma.fence; the descriptors of each step")
    for name, descriptors in found.descriptors.items():
        for descriptor in descriptors:
            yield f"   {name.upper()} {_descriptor(descriptor)}"
    yield "   immediates: " + (", ".join(f"{name} {value}" for name, value in found.immediates.items()) or "none")
    for step, words in enumerate(found.metadata or ()):
        yield f"   metadata e, step {step}: {_by_lane(words)}"
    yield from ("", *_read_terms(found))
    held = found.registers
    yield from ("", f"5. registers of thread {held.thread} after wait_group 0")
    for step, words in enumerate(held.a or ()):
        yield f"   a step {step}  {' '.join(words)}"
    yield f"   d before  {' '.join(held.c)}"
    yield f"   d after   {' '.join(held.d)}"


def _descriptor(told: StepDescriptor) -> str:
    strides = f"LBO {told.lbo_bytes}, SBO {told.sbo_bytes}"
    fields = f"start {told.start_address}, {strides}, base offset {told.base_offset}, swizzle {told.swizzle}"
    unread = f"; not read: {', '.join(told.unused)}" if told.unused else ""
    return f"step {told.step}  {told.descriptor}  {fields}{unread}"


def _read_terms(found: WgmmaSteps) -> Iterator[str]:
    e = found.element
    yield f"4. D[{e.row},{e.col}]: C + sum over k of A[{e.row},k]·B[k,{e.col}], each factor with where it is read"
    for t in e.terms:
        factors = f"{_factor(t.a)} ({t.a_at}) × {_factor(t.b)} ({t.b_at})"
        yield f"   step {t.step} k {t.k:3}  {factors} = {number_text(t.product)}"
    differs = "" if e.sum == e.expected else f"; NumPy's product has {number_text(e.expected)}"
    yield f"   + C {number_text(e.c)} = {number_text(e.sum)}; D holds {number_text(e.d)} ({e.d_at}){differs}"
