"""The matrices of a product in registers, for all steppers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.fact import Description, IntegerArray, RealArray, fact
from lanescope.ptx.instruction import Instruction, Operand

Ints = NDArray[np.int64]


@fact
class StepperFragment:
    """A matrix in registers. Element (row, col) has number row · cols + col; slot: lane · values + value."""

    rows: int
    cols: int
    values: Annotated[int, Description("Of a lane.")]
    element: str
    element_bits: int
    register_bits: int
    holds: Annotated[Any, IntegerArray(1, "[slot]: the element it holds.")]


def describe_fragment(operand: Operand) -> dict[str, Any]:
    """Return the fields of a StepperFragment."""
    return {
        "rows": operand.row_count,
        "cols": operand.col_count,
        "values": operand.values,
        "element": operand.element.name,
        "element_bits": operand.container_bits,
        "register_bits": operand.register_bits,
        "holds": operand.coords["row"].ravel() * operand.col_count + operand.coords["col"].ravel(),
    }


def find_dense_columns(operand: Operand, words: Sequence[Any] | None, selector: int = 0) -> Ints:
    """Return the column of A for each stored one, [row][column]; of a sparse A from its metadata. words: e of each
    thread.
    """
    found = np.tile(np.arange(operand.col_count), (operand.row_count, 1))
    if operand.sparsity:
        assert words is not None
        rows, cols = operand.coords["row"], operand.coords["col"]
        found[rows, cols] = operand.sparsity.list_dense_columns(cols, list(words), selector)
    return found


def map_stored_columns(operand: Operand, words: Sequence[Any] | None, row: int, selector: int = 0) -> dict[int, int]:
    """Map the dense columns of one row of A to the stored ones. words: e of each thread."""
    dense = find_dense_columns(operand, words, selector)[row].tolist()
    return {column: stored for stored, column in enumerate(dense)}


def format_owner(letter: str, operand: Operand, *place: int) -> str:
    """Return the first lane that holds an element, and its value there: T5:a3."""
    lane, value = operand.owner(*place)[0]
    return f"T{lane}:{letter}{value}"


@fact
class StepperResult(StepperFragment):
    """D: the holder of each element, and its sum after every K step; null if it depends on unknown bytes."""

    sums: Annotated[Any, RealArray((2,), "[step of K][element], the first before any product: C.")]
    expected: Annotated[Any, RealArray((1,), "[element]: D of the matrices as they were stored.")]
    times: Annotated[str, Description("Between the factors of a term: ·, or ⊕ of .xor; empty where scales join them.")]


def build_result(i: Instruction, sums: Any, expected: Any) -> StepperResult:
    """Return D from its sums [K step][row][col] and the result of the stored matrices."""
    return StepperResult(
        **describe_fragment(i.operands["d"]),
        sums=sums.reshape(len(sums), -1),
        expected=expected.ravel(),
        times="" if i.scales else "⊕" if "xor" in i.modifiers else "·",
    )
