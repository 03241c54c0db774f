"""mma.sync, dense, sparse and block-scaled, and wmma.mma. PTX ISA 9.1, 9.7.14."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.fragments import (
    MatrixEvent,
    bind_instruction,
    decode,
    encode,
    read_registers,
    record_event,
    require_number,
    take_full_warps,
    unpack_matrix,
    write_registers,
)
from lanescope.emulate.instructions.hopper_sums import add_products, is_known
from lanescope.emulate.instructions.sums import count_digits, is_exact, note_inexact
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Operand, Statement, VectorOperand
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction, Operand as Fragment
from lanescope.ptx.product_values import compute_product, is_xor, spread_scales, spread_sparse
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.slots import list_slots
from lanescope.ptx.threads import WARP

Array = NDArray[Any]


def name_operands(bound: Instruction, statement: Statement, a_from: str = "registers") -> dict[str, Operand]:
    """Return a statement's operands by their names in PTX's syntax."""
    slots = list_slots(bound, a_from)
    if len(slots) != len(statement.operands):
        raise UnknownInstructionError(statement, f"{statement.opcode} has {len(statement.operands)} operands here")
    return {slot.name: operand for slot, operand in zip(slots, statement.operands, strict=True)}


def spread_metadata(bound: Instruction, stored: Array, words: Array, selector: int, statement: Statement) -> Array:
    """Return the dense A of a stored sparse one; UnknownInstructionError for illegal metadata."""
    try:
        return spread_sparse(bound.operands["a"], stored, words, selector)
    except LayoutError as error:
        raise UnknownInstructionError(statement, f"{error.message} The result is undefined") from None


class _Metadata:
    """The positions of the elements of a sparse A."""

    def __init__(
        self, compiler: Compiler, bound: Instruction, operands: dict[str, Operand], statement: Statement
    ) -> None:
        self.bound, self.statement = bound, statement
        self.read = compiler.read_all(operands["e"], TYPES["b32"])
        self.selector = require_number(operands["f"], statement, "the sparsity selector")

    def spread(self, group: Group, stored: Array) -> Array:
        """Return the dense A of a stored sparse one."""
        words = self.read(group).reshape(-1, WARP)
        return spread_metadata(self.bound, stored, words, self.selector, self.statement)


class _Scales:
    """The scale factors of a block-scaled product."""

    def __init__(
        self, compiler: Compiler, bound: Instruction, operands: dict[str, Operand], statement: Statement
    ) -> None:
        self.bound, self.statement = bound, statement
        word, half = TYPES["b32"], TYPES["u16"]
        self.readers: dict[str, tuple[Callable[[Group], Array], list[Callable[[Group], Array]]]] = {}
        for name in bound.scales:
            ids = operands[f"ids_{name[-1]}"]
            if not isinstance(ids, VectorOperand) or len(ids.items) != 2:
                raise UnknownInstructionError(statement, "no {byte-id, thread-id}")
            readers = [compiler.read(operand_id, half) for operand_id in ids.items]
            self.readers[name[-1]] = compiler.read_all(operands[f"{name}_data"], word), readers

    def read(self, group: Group, letter: str) -> Array:
        """Return the factors of A's rows or B's columns: [warps, rows or columns, k]."""
        words, ids = self.readers[letter]
        byte, thread = (np.unique(read(group)) for read in ids)
        if len(byte) != 1 or len(thread) != 1:
            raise UnknownInstructionError(self.statement, "byte-id and thread-id differ between the threads")
        data = words(group).reshape(-1, WARP)
        try:
            return spread_scales(self.bound, self.bound.scales[f"scale_{letter}"], data, int(byte[0]), int(thread[0]))
        except LayoutError as error:
            raise UnknownInstructionError(self.statement, error.message) from None


@instruction("mma", "wmma.mma")
def build_product(compiler: Compiler, statement: Statement) -> Action:
    """Build mma: D = A·B + C by each warp, with the fragments' maps."""
    bound = bind_instruction(statement)
    operands, ops = name_operands(bound, statement), bound.operands
    readers = {letter: read_registers(compiler, operands[letter], ops[letter]) for letter in "abc"}
    write = write_registers(compiler, operands["d"], ops["d"])
    metadata = _Metadata(compiler, bound, operands, statement) if ops["a"].sparsity is not None else None
    scales = _Scales(compiler, bound, operands, statement) if bound.scales else None
    types, saturates, digits = bound.types, "satfinite" in bound.modifiers, count_digits(bound)
    is_known_sum = is_known(bound, compiler.module.target) and bound.family.specified
    is_rounded = types["d"] != "s32" and not is_xor(bound)

    def multiply(group: Group) -> None:
        warps = take_full_warps(group, statement)
        registers = {letter: read(group) for letter, read in readers.items()}
        a, b, c = (_read_matrix(ops[letter], registers[letter], statement) for letter in "abc")
        if metadata is not None:
            a = metadata.spread(group, a)
        if scales is not None:
            a = a * scales.read(group, "a")[..., None]
            b = b * scales.read(group, "b").transpose(0, 2, 1)[..., None]
        total = _multiply_and_add(bound, a, b, c)
        planes = (np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0), np.moveaxis(c, -1, 0))
        if is_rounded and not is_exact(*planes, digits):
            note_inexact(group, statement, is_known_sum)
            total = np.moveaxis(add_products(bound, *planes), 0, -1) if is_known_sum else total
        bits = encode(total if len(ops["d"].axes) == 3 else total[..., 0], types["d"], saturates)
        packed = fragment_words.pack(ops["d"], bits)
        write(group, packed)
        _record_product(group, statement, bound, warps, {**registers, "d": packed})

    return multiply


def _record_product(
    group: Group, statement: Statement, bound: Instruction, warps: Array, registers: dict[str, Array]
) -> None:
    """Report to a capture what each warp multiplied, where the fragments are documented."""
    if group.run.machine.recorders and bound.family.specified:
        firsts = tuple(int(warp) * WARP for warp in warps)
        record_event(MatrixEvent("mma", group, statement, bound, firsts, registers=registers))


def _read_matrix(operand: Fragment, registers: Array, statement: Statement) -> Array:
    """Return the values of an operand: [warps, rows, columns, planes]."""
    values = decode(unpack_matrix(operand, registers, statement), operand.element.name)
    return values if len(operand.axes) == 3 else values[..., None]


def _multiply_and_add(bound: Instruction, a: Array, b: Array, c: Array) -> Array:
    """Return A·B + C of each warp, before rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = compute_product(bound, a[:, None], b[:, None])[:, 0]  # each warp's A by its own B
        return (product if product.ndim == c.ndim else product[..., None]) + c
