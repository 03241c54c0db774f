"""The forms of the pages of steps: an element of D with the user's matrices, and the options of a wgmma's stepper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.labels import SIDES
from lanescope.app.kit.question import declare_question, labels_of, make_question, number_field, raw_field, word_field
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.steps.wgmma_stepper import COLUMNS
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.shared.swizzle import NAMES

IN_REGISTERS = "registers"  # among the swizzles of A's form


def _declare_matrix(letter: str, example: str) -> Any:
    help = "A formula of i, row and col, or rows of numbers; random if empty."
    return raw_field(letter, help, rows=1, size=30, placeholder=example)


def _declare_storage(side: str, example: str, size: int = 26) -> Any:
    return raw_field(SIDES[side], "How the operand is stored, and its descriptor.", size=size, placeholder=example)


@declare_question
class ElementForm:
    """An element of D, and the seed of the matrices."""

    row: int = number_field(0, "Row of D", "The element that is explained.", size=4)
    col: int = number_field(0, "Column of D", "The element that is explained.", size=4)
    product: int = number_field(0, "Product", "Which of the four products of m8n8k4.", size=2)
    seed: int = number_field(1, "Random seed", "Of the matrices that are not specified.", size=9)


@declare_question
class WarpTables(ElementForm):
    """The form above the tables of a warp's product."""

    a: str = _declare_matrix("A", "i")
    b: str = _declare_matrix("B", "-(i + 1)")
    c: str = _declare_matrix("C", "0")


@declare_question
class WgmmaTables(ElementForm):
    """The form above the tables of a wgmma."""

    a: str = _declare_storage("a", "major=MN,swizzle=64B")
    b: str = _declare_storage("b", "major=MN,swizzle=64B")
    d: str = raw_field(SIDES["d"], "What becomes of C and D.", size=10, placeholder="scale=0")
    data_a: str = _declare_matrix("A", "i")
    data_b: str = _declare_matrix("B", "-(i + 1)")
    c: str = _declare_matrix("C", "0")


def _declare_options(side: str, swizzles: tuple[str, ...], majors: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of A or B in the form beside the title of a wgmma's stepper."""
    name, called = side.upper(), {"none": "no swizzle"}
    stored = "kind=rows,pitch_bytes=128,swizzle=128B"
    return {
        f"{side}_swizzle": word_field(swizzles, f"{name} stored", "", called=called, covers=(f"{side}.swizzle",)),
        f"{side}_major": word_field(majors, f"{name} major", "", called=majors, covers=(f"{side}.major",)),
        f"{side}_descriptor": raw_field(
            f"{name} stored, descriptor", "That of the first K step.", size=22, covers=(f"{side}.descriptor",)
        ),
        side: _declare_storage(side, stored, 22),
    }


WgmmaOptions = make_question(
    "WgmmaOptions",
    "How the operands of a wgmma are stored, and the columns of D in view.",
    _declare_options("a", (*NAMES, IN_REGISTERS), {"K": "K-major", "MN": "M-major"})
    | _declare_options("b", NAMES, {"K": "K-major", "MN": "N-major"})
    | {"n": number_field(0, "Columns", f"The first of the {COLUMNS} columns that are shown.")},
)


def build_tables_form(
    instruction: Instruction, given: Mapping[str, str], error: LayoutError | None
) -> tuple[dict[str, Control], dict[str, str]]:
    """Return the controls of the form above the tables, and the labels of all its fields."""
    question = WgmmaTables if instruction.family.by_descriptor else WarpTables
    several = instruction.operands.get("d") and instruction.operands["d"].extents.get("product", 1) > 1
    form = form_of(question, given, error=error)
    return {name: one for name, one in form.items() if name != "product" or several or one.error}, labels_of(question)
