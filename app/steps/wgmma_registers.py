"""A of a wgmma from registers: which thread holds which element in a K step, with a caption for each warp."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from lanescope.app.kit.fact import Description, IntegerArray, RealArray, fact
from lanescope.app.steps.captions import format_range, format_span
from lanescope.ptx.instruction import WARP, Operand


@fact
class HeldOperand:
    """A in registers; each K step has further registers of every thread. Element [row][k], k over all K steps."""

    rows: int
    k: int
    k_step: int
    element: str
    element_bits: int
    register_bits: int
    values: Annotated[int, Description("Of a thread, in one K step.")]
    holds: Annotated[Any, IntegerArray(2, "[thread][value]: row · (K of a step) + k.")]
    numbers: Annotated[Any, RealArray((2,), "[row][k]")]
    meets: Annotated[Any, IntegerArray(2, "[row][k]: its place along K of the product; of a sparse A by the metadata.")]


def build_held_operand(operand: Operand, per: int, numbers: Any, meets: Any) -> HeldOperand:
    """Return A from its fragment and its numbers of all K steps. per: elements along K per number."""
    deep = operand.col_count // per
    return HeldOperand(
        rows=operand.row_count,
        k=numbers.shape[1],
        k_step=deep,
        element=operand.element.name,
        element_bits=per * operand.container_bits,
        register_bits=operand.register_bits,
        values=operand.values // per,
        holds=(operand.coords["row"] * deep + operand.coords["col"] // per)[:, ::per],
        numbers=numbers,
        meets=meets,
    )


def caption_warp(operand: Operand, warp: int) -> str:
    """Return a sentence about a warp's rows, and the registers of its first thread."""
    first = WARP.threads * warp
    rows = operand.rows[first : first + WARP.threads]
    parts = []
    for register in range(operand.registers):
        mine = [value for value in range(operand.values) if operand.register_of(value)[0] == register]
        row = format_span(operand.rows[first, mine].tolist())
        parts.append(f"A[{row}][{format_span(operand.cols[first, mine].tolist())}] in R{register}")
    text = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return (
        f"Warp {warp} holds rows {int(np.min(rows))}–{int(np.max(rows))} of A in registers, and no descriptor is"
        f" needed: thread {first} has {text}."
    )


def caption_next_step(operand: Operand, step: int) -> str:
    """Return a sentence about the registers that hold A in a later K step."""
    first, count = step * operand.registers, operand.registers
    return f"Its A is in {count} further registers of each thread, R{format_range(first, first + count - 1)} here"
