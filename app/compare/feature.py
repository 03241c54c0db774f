"""Two operands, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lanescope.app.compare.facts import CompareQuestion, Comparison, compare_fragments
from lanescope.app.kit import links
from lanescope.app.kit.draw import draw_statuses
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render.palette import BOTH, MOVED, REORDERED, RIGHT
from lanescope.render.view import OperandGrid

LISTED = 8  # elements that the command names
MARKS = {
    RIGHT: "same lane, same value",
    REORDERED: "same lane, another value",
    MOVED: "another lane",
    BOTH: "held more often on one side",
}


def compare_operands(question: CompareQuestion) -> Comparison:
    """Two operands, each `{ptx}/{operand}`. moved[row][col]: 0 same place, 1 another value of the same lane, 2
    another lane, 3 same place, but held more often on one side.
    """
    return compare_fragments(question.left[1], question.right[1])


def build_compare_context(question: CompareQuestion, comparison: Comparison) -> dict[str, Any]:
    """Return the template's variables."""
    sides = (question.left, question.right)
    (first, _), (second, _) = sides
    reused = {"a", "d"} <= set(first.operands) & set(second.operands)
    return {
        "reuse": links.link_reuse(first, second) if reused else "",
        "sides": [
            {"ptx": instruction.ptx, "op": op, "svg": _draw_side(instruction, op, comparison)}
            for instruction, op in sides
        ],
    }


def _draw_side(instruction: Instruction, op: Operand, comparison: Comparison) -> str:
    title = f"{op.name.upper()} of {instruction.ptx}"
    return draw_statuses(OperandGrid(op), comparison.moved, OperandGrid(op).format_labels("lane:value"), title, MARKS)


def format_comparison(question: CompareQuestion, answer: Comparison) -> Iterator[str]:
    """Yield the lines of the command: the verdict, and the first elements that lie elsewhere."""
    yield answer.headline
    if answer.details:
        yield f"  {answer.details}"
    left, right = (OperandGrid(operand).format_labels("lane:value") for _, operand in (question.left, question.right))
    moved = np.argwhere(answer.moved != 0).tolist()
    for row, col in moved[:LISTED]:
        yield f"  [{row}, {col}]: {left[row][col]} on the left, {right[row][col]} on the right"
    if len(moved) > LISTED:
        yield f"  … and {len(moved) - LISTED} more; --json has all of them."


COMPARE = Tool(
    question=CompareQuestion,
    answer=compare_operands,
    api="compare",
    page="/compare",
    template="compare/page.html",
    context=build_compare_context,
    command="compare",
    lines=format_comparison,
    succeeds=lambda answer: answer.same,
    name="compare_api",
)
FEATURE = Feature(
    tools=(COMPARE,),
    menu=(
        Entry(
            "Instructions",
            2,
            "Compare operands",
            "/compare",
            "where two register layouts differ",
            below="/instructions",
        ),
    ),
    examples={
        "/api/v1/compare": "/api/v1/compare?left=ldmatrix.m8n8.x1.b16/data&right=ldmatrix.m8n8.x1.trans.b16/data",
    },
)
