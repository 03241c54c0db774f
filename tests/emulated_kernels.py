"""Kernels of a few lines of PTX for tests of the emulator: registers from a buffer, one instruction, registers back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lanescope.emulate  # noqa: F401  (the rows)
from lanescope.emulate.launching.linking import Program
from lanescope.emulate.machine import Machine, Schedule
from lanescope.emulate.state.memory import Memory
from lanescope.emulate.text.parser import parse_module
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]


def run_text(
    text: str,
    arguments: Sequence[Array | int],
    block: tuple[int, int, int] = (32, 1, 1),
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    cluster: tuple[int, int, int] = (1, 1, 1),
    shared: int = 0,
    schedule: Schedule = Schedule(),
    recorders: Sequence[Any] = (),
) -> Machine:
    """Run the only entry of a PTX text. Arrays become buffers, written in place; numbers are as their parameter is."""
    module = parse_module(text)
    (entry,) = module.entries
    program, memory = Program(module), Memory()
    program.place_variables(memory)
    raw = np.zeros(4096, np.uint8)
    at = 0
    for parameter, value in zip(entry.parameters, arguments, strict=True):
        at = -(-at // max(1, parameter.align)) * max(1, parameter.align)
        if isinstance(value, np.ndarray) and parameter.size > 8:  # a struct by value
            raw[at : at + parameter.size] = value.view(np.uint8).reshape(-1)
        else:
            is_buffer = isinstance(value, np.ndarray)
            number = memory.allocate("buffer", value.reshape(-1).view(np.uint8)).base if is_buffer else int(value)
            mask = (1 << 8 * parameter.size) - 1
            raw[at : at + parameter.size] = np.frombuffer((number & mask).to_bytes(parameter.size, "little"), np.uint8)
        at += parameter.size
    base = memory.allocate("parameters", raw, read_only=True).base
    machine = Machine(
        program, entry, memory, base, grid=grid, block=block, cluster=cluster, dynamic_shared=shared, schedule=schedule
    )
    machine.recorders += recorders
    machine.run()
    return machine


def make_kernel(
    body: str, count_in: int, count_out: int, bits: int = 32, shared: int = 0, target: str = "sm_90a"
) -> str:
    """Return a kernel whose threads fill %i0… from the first buffer [registers, threads], and store %o0… to the second.

    %s is the address of `shared` bytes of shared memory, %tid the thread, %lane its lane.
    """
    size = bits // 8
    loads = "".join(
        f"mov.u32 %x, %ntid.x; mad.lo.u32 %x, %x, {n}, %tid; mul.wide.u32 %a, %x, {size};"
        f" add.u64 %a, %a, %in; ld.global.b{bits} %i{n}, [%a];\n"
        for n in range(count_in)
    )
    stores = "".join(
        f"mov.u32 %x, %ntid.x; mad.lo.u32 %x, %x, {n}, %tid; mul.wide.u32 %a, %x, {size};"
        f" add.u64 %a, %a, %out; st.global.b{bits} [%a], %o{n};\n"
        for n in range(count_out)
    )
    return f"""
.version 9.1
.target {target}
.address_size 64
.shared .align 1024 .b8 memory[{max(shared, 16)}];
.visible .entry k(.param .u64 first, .param .u64 second)
{{
.reg .b{bits} %i<{max(count_in, 1)}>; .reg .b{bits} %o<{max(count_out, 1)}>;
.reg .b32 %x, %tid, %s, %lane; .reg .b64 %a, %in, %out;
.reg .pred %p; .reg .b32 %t<16>; .reg .b64 %d<16>; .reg .b16 %h<16>;
ld.param.u64 %in, [first]; ld.param.u64 %out, [second];
mov.u32 %tid, %tid.x; mov.u32 %lane, %laneid; mov.u32 %s, memory;
{loads}{body}
{stores}ret;
}}
"""


def execute(
    body: str, registers: Array, count_out: int, *, shared: int = 0, schedule: Schedule = Schedule()
) -> tuple[Array, Machine]:
    """Run a body over registers [count, threads], uint32 or uint64, and return what it leaves in %o."""
    bits = registers.dtype.itemsize * 8
    out = np.zeros((count_out, registers.shape[1]), registers.dtype)
    text = make_kernel(body, len(registers), count_out, bits, shared)
    machine = run_text(text, [np.ascontiguousarray(registers), out], (registers.shape[1], 1, 1), schedule=schedule)
    return out, machine


def spell(name: str, first: int, count: int) -> str:
    """Return a vector of registers, {%i4, %i5}."""
    return "{" + ", ".join(f"%{name}{n}" for n in range(first, first + count)) + "}"


def take_one_each(instructions: Sequence[Instruction], key: Callable[[Instruction], Any]) -> list[Instruction]:
    """One instruction of every kind that a key tells apart: the first of the first kind, the second of the second, …"""
    kinds: dict[Any, list[Instruction]] = {}
    for instruction in instructions:
        kinds.setdefault(key(instruction), []).append(instruction)
    return [alike[number % len(alike)] for number, alike in enumerate(kinds.values())]
