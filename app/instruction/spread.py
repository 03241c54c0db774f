"""The distribution of the rows and columns of a matrix over lanes and registers, which a reduction has to combine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.role import OperandPlace

LINES = ("row", "col")


@fact
class LineSpread:
    """The rows or the columns of a matrix: the numbers of lanes and registers of each, as a number or a range."""

    operand: str
    line: str
    count: int
    lanes: str
    per_lane: str
    registers: str


def list_operands(instruction: Instruction) -> list[Operand]:
    """Return the matrices whose elements threads hold: without C if it is like D, and without a compressed one."""
    if not instruction.family.multiplies or instruction.family.scope.place is not OperandPlace.REGISTERS:
        return []
    return [
        op
        for name, op in instruction.operands.items()
        if name != "c" and op.scope.place is OperandPlace.REGISTERS and op.axes == LINES and not op.sparsity
    ]


def count_elements(lines: NDArray[Any], holders: NDArray[Any], sizes: tuple[int, int]) -> NDArray[np.int64]:
    """Count the values of each line that each holder has: int64 [line][holder]."""
    counts = np.zeros(sizes, np.int64)
    np.add.at(counts, (lines.ravel(), holders.ravel()), 1)
    return counts


def build_spreads(instruction: Instruction) -> list[LineSpread]:
    """Build a line of the table for the rows and the columns of every matrix."""
    return [_build_spread(op, line) for op in list_operands(instruction) for line in LINES]


def _build_spread(op: Operand, line: str) -> LineSpread:
    lines, size = op.coords[line], op.row_count if line == "row" else op.col_count
    threads = np.broadcast_to(np.arange(op.threads)[:, None], lines.shape)
    counts = count_elements(lines, threads, (size, op.threads))
    registers = np.array([op.register_of(value)[0] for value in range(op.values)])
    slots = threads * op.registers + registers  # a register of a thread
    each = count_elements(lines, slots, (size, op.threads * op.registers)).reshape(size, op.threads, op.registers)
    used = (each > 0).sum(axis=2)
    return LineSpread(
        operand=op.name.upper(),
        line="row" if line == "row" else "column",
        count=size,
        lanes=_format_span((counts > 0).sum(axis=1)),
        per_lane=_format_span(counts[counts > 0]),
        registers=_format_span(used[used > 0]),
    )


def _format_span(numbers: NDArray[Any]) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return f"{least}" if least == most else f"{least}–{most}"


def build_chart(instruction: Instruction) -> str:
    """Build the data of static/instruction/spread.js, as JSON; "" if there is nothing to draw."""
    matrices: list[dict[str, Any]] = [
        {
            "name": op.name,
            "row": op.row_count,
            "col": op.col_count,
            "lanes": op.threads,
            "registers": op.registers,
            "map": f"/api/v1/instructions/{instruction.ptx}/operands/{op.name}",
        }
        for op in list_operands(instruction)
    ]
    unit = instruction.family.scope.thread
    return encode_json({"matrices": matrices, "unit": unit}).decode() if matrices else ""
