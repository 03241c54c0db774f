"""D of a product that is stepped through."""

from __future__ import annotations

from typing import Annotated, Any

from lanescope.app.kit.fact import Description, IntegerArray, RealArray, fact
from lanescope.ptx.instruction import Instruction


@fact
class StepperResult:
    """D: who holds each element, and its sum after every step of K; null where it depends on unknown bytes."""

    rows: int
    cols: int
    values: int
    element: str
    element_bits: int
    register_bits: int
    holds: Annotated[Any, IntegerArray(1, "[slot]: the element it holds.")]
    sums: Annotated[Any, RealArray((2,), "[step of K][element], the first before any product: C.")]
    expected: Annotated[Any, RealArray((1,), "[element]: D of the matrices as they were stored.")]
    times: Annotated[str, Description("Between the factors of a term: ·, or ⊕ of .xor; empty where scales join them.")]


def build_result(i: Instruction, sums: Any, expected: Any) -> StepperResult:
    """Build D from its sums [step of K][row][col] and what the stored matrices give."""
    op = i.operands["d"]
    return StepperResult(
        rows=op.row_count,
        cols=op.col_count,
        values=op.values,
        element=op.element.name,
        element_bits=op.container_bits,
        register_bits=op.register_bits,
        holds=op.coords["row"].ravel() * op.col_count + op.coords["col"].ravel(),
        sums=sums.reshape(len(sums), -1),
        expected=expected.ravel(),
        times="" if i.scales else "⊕" if "xor" in i.modifiers else "·",
    )
