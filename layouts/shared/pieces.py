"""The two sides of a chain, byte by byte: the registers of an operand, and the rows that ldmatrix or stmatrix moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace

Ints = NDArray[np.int64]
ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class OperandGranules:
    """The contents of each register of an operand by granules: bytes, or elements if several share a byte.

    mn, k: the element, int arrays [warp, lane, register, granule]; shift: the granule's first bit in its element,
    [granule].
    """

    operand: Operand
    mn: Ints
    k: Ints
    shift: Ints

    @property
    def granule_bits(self) -> int:
        return min(8, self.operand.container_bits)

    def get_element(self, warp: int, lane: int, register: int, granule: int) -> tuple[int, int]:
        """Return (row, column) of the operand's matrix."""
        mn, k = int(self.mn[warp, lane, register, granule]), int(self.k[warp, lane, register, granule])
        return (k, mn) if self.operand.name == "b" else (mn, k)

    def format_element(self, warp: int, lane: int, register: int, granule: int) -> str:
        return f"{self.operand.name.upper()}[{','.join(map(str, self.get_element(warp, lane, register, granule)))}]"


def make_operand_granules(operand: Operand) -> OperandGranules:
    """Return the granules of an operand; LayoutError if it is not one matrix in 32-bit registers."""
    if len(operand.axes) == 3:
        raise LayoutError(
            "no_chain",
            "mma.m8n8k4 .f16 computes four products at once, one per group of eight lanes (0–3 with 16–19, and so on)."
            " ldmatrix spreads each 8×8 matrix over all 32 lanes, so no form of it fills these registers.",
            "Load each lane's values with ld.shared, or use mma.m16n8k8 or mma.m16n8k16, which ldmatrix feeds.",
            "mma",
        )
    if operand.register_bits != 32:
        raise LayoutError(
            "no_chain",
            f"{operand.element.name} needs 64-bit registers; ldmatrix loads 32-bit registers.",
            "Load it with ld.shared.",
            "mma",
        )
    bits = operand.container_bits
    size = min(8, bits)
    element, shift = np.divmod(np.arange(32 // size) * size, bits)
    shape = (operand.threads // 32, 32, operand.registers, 32 // bits)
    row, col = (np.asarray(operand.coords[axis], np.int64).reshape(shape)[..., element] for axis in ("row", "col"))
    mn, k = (col, row) if operand.name == "b" else (row, col)
    return OperandGranules(operand, mn, k, shift)


def pack_operand(operand: Operand, bits: int) -> Operand:
    """Return an accumulator after conversion to a narrower type, packed in order, as stmatrix stores it."""
    element = get_dtype({16: "f16", 8: "b8"}[bits])
    return replace(operand, element=element, container_bits=bits)


def convert_for_memory(operand: Operand, bits: int = 16) -> Operand:
    """Return an operand as it is stored: an accumulator wider than `bits` is converted, others are not."""
    return pack_operand(operand, bits) if operand.name in "cd" and operand.container_bits > bits else operand


@dataclass(frozen=True, slots=True)
class MatrixMove:
    """One ldmatrix or stmatrix: matrix, row (16 bytes at a lane's address) and byte in it, [lane, register, byte]."""

    instruction: Instruction
    matrix: Ints
    row: Ints
    byte: Ints

    @property
    def registers(self) -> int:
        return int(self.row.shape[1])

    @property
    def matrices(self) -> int:
        return int(self.matrix.max()) + 1

    @property
    def rows(self) -> int:
        """Rows of 16 bytes of one matrix."""
        return int(self.row.max()) + 1


def make_matrix_move(instruction: Instruction) -> MatrixMove:
    """Return the move of an ldmatrix or stmatrix; LayoutError for another instruction, or one that unpacks."""
    if instruction.family.memory is not OperandPlace.ROWS:
        raise LayoutError(
            "no_chain",
            f"{instruction.ptx} is not an ldmatrix or stmatrix.",
            "Try ldmatrix.m8n8.x4.shared.b16.",
            "load",
        )
    if instruction.family.unpacks:
        raise LayoutError(
            "no_chain",
            f"{instruction.ptx} unpacks 4- or 6-bit elements to bytes while it loads: a row in shared memory is packed"
            " and padded, so its bytes are not those of the registers.",
            "A chain follows loads that copy bytes: choose a .b16 or .b8 form, and store one element per byte.",
            "load",
        )
    op = instruction.operands["data"]
    size = op.container_bits // 8
    shape = (32, op.registers, 4 // size)
    matrix, row, col = (np.asarray(op.coords[axis], np.int64).reshape(shape) for axis in ("matrix", "row", "col"))
    flat = row * op.extents["col"] + col
    wide = ROW_BYTES // size
    spread = [np.repeat(array, size, axis=2) for array in (matrix, flat // wide, flat % wide * size)]
    return MatrixMove(instruction, spread[0], spread[1], spread[2] + np.tile(np.arange(size), shape[2]))
