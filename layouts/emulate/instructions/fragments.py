"""Fragments of matrix instructions in the emulator: a statement's catalogue entry, and its registers as matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Compiler, UnknownInstructionError
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Immediate, Operand, Statement
from lanescope.ptx import catalog, codec, fragment_words
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction, Operand as Fragment
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
Registers = Callable[[Group], Array]
NAN = {
    "f16": 0x7FFF,
    "f32": 0x7FFFFFFF,
    "f64": 0xFFF8_0000_0000_0000,
}  # NaNs of tensor cores (measured on an H100: f16, f32)


@dataclass(frozen=True, slots=True)
class MatrixEvent:
    """A matrix instruction, as reported to machine.recorders.

    kind: that of a capture's record. threads: the first thread of each warp (wgmma: warpgroup). words: operand →
    descriptor of each warpgroup. immediates: scale_a, scale_b, trans_a, trans_b where present. addresses: [warps, 32],
    of ldmatrix. registers: operand → [warps, 32, count]. label: the operand of a "fragment", A, C or D.
    """

    kind: str
    group: Group
    statement: Statement
    instruction: Instruction
    threads: tuple[int, ...]
    words: dict[str, list[int]] = field(default_factory=dict)
    immediates: dict[str, int] = field(default_factory=dict)
    addresses: Array | None = None
    registers: dict[str, Array] = field(default_factory=dict)
    label: str = ""


def record_event(event: MatrixEvent) -> None:
    """Report a matrix instruction to the machine's recorders."""
    for recorder in event.group.run.machine.recorders:
        recorder(event)


def bind_instruction(statement: Statement) -> Instruction:
    """Return a statement's catalogue entry; UnknownInstructionError for qualifiers that the catalogue lacks."""
    result = catalog.find_instruction(statement.opcode)
    if result is None or sorted(result.ptx.split(".")) != sorted(statement.words):
        raise UnknownInstructionError(statement)
    return result


def take_full_warps(group: Group, statement: Statement) -> NDArray[np.int64]:
    """Return the warps of a group.

    UnknownInstructionError for a warp of fewer than 32 threads, which PTX leaves undefined.
    """
    warps = group.take_complete_warps()
    if group.count != WARP * len(warps):
        raise UnknownInstructionError(
            statement, f"{statement.words[0]} by a warp of which threads have exited is undefined"
        )
    return warps


def read_registers(compiler: Compiler, operand: Operand, op: Fragment) -> Registers:
    """Return a reader of a fragment's registers: [warps, threads, registers]."""
    read = compiler.read_all(operand, TYPES[f"b{op.register_bits}"])
    return lambda group: read(group).reshape(-1, WARP, op.registers)


def write_registers(compiler: Compiler, operand: Operand, op: Fragment) -> Callable[[Group, Array], None]:
    """Return a writer of a fragment's registers [warps, threads, registers]."""
    write = compiler.write_all(operand, TYPES[f"b{op.register_bits}"])
    dtype = TYPES[f"b{op.register_bits}"].dtype
    return lambda group, values: write(group, values.astype(dtype, copy=False).reshape(-1, op.registers))


def unpack_matrix(op: Fragment, registers: Array, statement: Statement) -> Array:
    """Return element bits [warps, coordinates]; UnknownInstructionError where copies of an element differ."""
    bits, differ = fragment_words.unpack(op, registers)
    if differ:
        raise UnknownInstructionError(statement, f"copies of an element of {op.name} differ: the result is undefined")
    return bits


def decode(bits: Array, name: str) -> Array:
    """Return element bits as the float64 values that an instruction multiplies."""
    return codec.decode_bits(codec.mask_unread_bits(bits, name) if name == "tf32" else bits, name)


def encode(values: Array, name: str, saturates: bool = False) -> Array:
    """Return results as bits, rounded once to D's type: uint64.

    Integers wrap unless they saturate. A zero is positive, also where every product and C are negative zeros (mma and
    wgmma with f16 or f32, on an H100).
    """
    if saturates:
        values = np.clip(values, *codec.get_bounds(name))
    bits = codec.encode_values(values, name)
    if name in NAN:
        if name != "f64":
            bits[bits == 1 << get_dtype(name).bits - 1] = 0
        bits[np.isnan(values)] = NAN[name]
    return bits


def require_number(operand: Operand, statement: Statement, what: str) -> int:
    """Return the value of an operand that PTX requires to be a constant."""
    if not isinstance(operand, Immediate) or operand.bits:
        raise UnknownInstructionError(statement, f"{what} of {statement.words[0]} is not a constant")
    return int(operand.value)
