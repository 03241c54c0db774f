"""Two operands of the same size: elements held in another lane or another value."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.fact import Description, IntegerArray, Json, fact
from lanescope.app.kit.question import declare_question, parsed_field
from lanescope.app.kit.requests import find_operand
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.pattern import IntArray
from lanescope.render.view import OperandGrid

OPERAND_FIELD: Json = {"required": True, "argument": True, "size": 60, "wide": True}


@declare_question
class CompareQuestion:
    """Two operands of the same size."""

    left: tuple[Instruction, Operand] = parsed_field(
        find_operand,
        "Left operand",
        "{ptx}/{operand}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32/a",
        examples=("ldmatrix.m8n8.x1.b16/data",),
        **OPERAND_FIELD,
    )
    right: tuple[Instruction, Operand] = parsed_field(
        find_operand,
        "Right operand",
        "{ptx}/{operand} of the same size",
        "wmma.load.a.sync.aligned.row.m16n16k16.f16/a",
        examples=("ldmatrix.m8n8.x1.trans.b16/data",),
        **OPERAND_FIELD,
    )


@fact
class Copies:
    """How many (lane, value) pairs hold each element."""

    left: int
    right: int


@fact
class Comparison:
    """How many elements two operands hold in different places."""

    total: int
    other_lane: int
    other_value: int
    other_count: Annotated[int, Description("Held in the same place, and on one side also in other lanes or values.")]
    copies: Copies
    moved: Annotated[
        Any,
        IntegerArray(
            2,
            "[row][col]: 0 the same place, 1 another value of the same lane, 2 another lane, 3 the same place and, on"
            " one side, others beside it.",
        ),
    ]

    @property
    def same(self) -> bool:
        """Return whether every element is held in exactly the same places on both sides."""
        return not self.other_lane + self.other_value + self.other_count

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        if self.same:
            return "The same layout"
        if moved := self.other_lane + self.other_value:
            return f"{moved} of {self.total} elements lie elsewhere"
        return f"{self.other_count} of {self.total} elements are held more often on one side"

    @property
    def details(self) -> str:
        """Return what differs, in sentences."""
        sentences = []
        if self.same:
            sentences.append("Every element is in the same lane and value.")
        elif self.other_lane + self.other_value:
            sentences.append(
                f"Of {self.total} elements {self.other_lane} are in another lane and {self.other_value} in another"
                " value of the same lane."
            )
        if self.copies.left != self.copies.right:
            left, right = (_format_times(count) for count in (self.copies.left, self.copies.right))
            sentences.append(f"On the left each element is held {left}, on the right {right}.")
        return " ".join(sentences)


def _format_times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def compare_fragments(left: Operand, right: Operand) -> Comparison:
    """Count the elements that two operands of the same size hold in another lane, in another value of the same lane,
    or more often on one side.
    """
    a, b = OperandGrid(left), OperandGrid(right)
    if (a.rows, a.cols) != (b.rows, b.cols):
        raise LayoutError(
            "cannot_compare",
            f"The left is {a.rows}×{a.cols}, the right {b.rows}×{b.cols}.",
            "Both must have the same size.",
            "right",
        )
    lanes = _is_within(a.thread, b.thread), _is_within(b.thread, a.thread)
    places = _is_within(_number_places(a), _number_places(b)), _is_within(_number_places(b), _number_places(a))
    count = (places[0] | places[1]) & ~(places[0] & places[1])
    lane = ~count & ~(lanes[0] & lanes[1])
    value = ~count & ~lane & ~(places[0] & places[1])
    return Comparison(
        total=a.rows * a.cols,
        other_lane=int(lane.sum()),
        other_value=int(value.sum()),
        other_count=int(count.sum()),
        copies=Copies(left=a.thread.shape[2], right=b.thread.shape[2]),
        moved=lane * 2 + value + count * 3,
    )


def _number_places(grid: OperandGrid) -> IntArray:
    """Return a number for each (lane, value) that holds an element: [rows, cols, copies]."""
    numbers: IntArray = grid.thread * (1 << 16) + grid.value
    return numbers


def _is_within(left: IntArray, right: IntArray) -> NDArray[np.bool_]:
    """Return whether every holder of an element on the left also holds it on the right: [rows, cols]."""
    within: NDArray[np.bool_] = (left[..., :, None] == right[..., None, :]).any(axis=3).all(axis=2)
    return within
