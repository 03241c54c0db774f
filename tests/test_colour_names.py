"""Menus and legends say what a colour is: a formula of the lane or of the element's place, and words for halves."""

from __future__ import annotations

import re

import numpy as np

from lanescope import find
from lanescope.app.instruction import wording
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.render.names import describe_names, format_names
from lanescope.render.view import OperandGrid
from tests.cases import for_each

TENSOR = OperandPlace.TENSOR
MMA = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


def evaluate_formula(op: Operand, name: str, text: str) -> np.ndarray:
    """A formula's number in every cell of an operand: [rows, cols]."""
    grid = OperandGrid(op)
    thread, value = grid.thread[:, :, 0], grid.value[:, :, 0]
    known = {"column" if axis == "col" else axis: op.coords[axis] for axis in op.axes}
    numbers = {axis: places[thread, value] for axis, places in known.items()}
    if grid.categories[name].of == "thread":
        unit = op.scope.thread
        numbers = {"thread": thread, "lane": thread % 32} | ({unit: thread} if op.scope.place is TENSOR else {})
    word, *rest = text.split()
    number = np.asarray(numbers[word])
    for sign, by in zip(rest[::2], map(int, rest[1::2]), strict=True):
        number = number // by if sign == "/" else number % by
    return number


def test_the_formula_gives_the_number_that_colours_each_cell() -> None:
    seen = 0
    operands = {
        (op.pattern, op.axes, op.scope): op
        for instruction in catalog.instructions()
        if not instruction.family.issue
        for op in filter(None, (*instruction.operands.values(), instruction.address))
    }
    for op in operands.values():
        for name, text in format_names([op]).items():
            if name != "register" and text != "copy":
                number = OperandGrid(op).number_cells(name)
                assert np.array_equal(evaluate_formula(op, name, text), number), (op, name, text)
                seen += 1
    assert seen > 300


@for_each(
    ("name", "words"),
    [
        ("g", "lane group (lane / 4)"),
        ("t", "thread in group (lane % 4)"),
        ("i", "upper / lower 8 rows"),
        ("j", "left / right 8 columns (A), upper / lower 8 rows (B)"),
        ("e", "even / odd column (A, C, D), row (B)"),
    ],
)
def test_a_menu_says_what_a_name_is_in_each_operand(name: str, words: str) -> None:
    """A is m × k and B is k × n, so the same names are columns of one and rows of the other."""
    assert wording.describe_names(MMA)[name] == words


def test_a_half_of_a_part_says_of_what() -> None:
    wide = find("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16")
    assert describe_names([wide.operand("d")]) == {
        "w": "warp (thread / 32)",
        "g": "lane group (lane / 4)",
        "t": "thread in group (lane % 4)",
        "j": "column / 8",
        "i": "upper / lower 8 rows of 16",
        "e": "even / odd column",
        "register": "register",
    }


def list_representatives() -> list[Instruction]:
    return list({(i.family, len(i.operands)): i for i in catalog.instructions() if not i.family.issue}.values())


def test_no_menu_says_the_same_of_two_names_or_a_column_of_a_row() -> None:
    for instruction in list_representatives():
        texts = list(wording.describe_names(instruction).values())
        assert len(set(texts)) == len(texts), instruction.ptx
        assert not any(re.search(r"columnumn|\+", text) for text in texts), instruction.ptx
