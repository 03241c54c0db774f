"""The forms of the pages of steps: an element of D with the user's matrices, and the options of a wgmma's stepper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.labels import SIDES
from lanescope.app.kit.question import declare_question, labels_of, make_question, number_field, raw_field, word_field
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.steps.stepper import StepperQuestion
from lanescope.app.steps.wgmma_stepper import COLUMNS, WgmmaStepperQuestion
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.shared.swizzle import NAMES

IN_REGISTERS = "registers"  # among the swizzles of A's form
TEXTS = ("a", "b", "d", "data_a", "data_b", "c")  # fields of storage and matrices


@declare_question
class ElementForm:
    """The element of D that the tables explain."""

    row: int = number_field(0, "Row of D", "The element that is explained.", size=4)
    col: int = number_field(0, "Column of D", "The element that is explained.", size=4)
    product: int = number_field(0, "Product", "Which of the four products of m8n8k4.", size=2)


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
        side: raw_field(SIDES[side], "How the operand is stored, and its descriptor.", size=22, placeholder=stored),
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
    question = WgmmaStepperQuestion if instruction.family.by_descriptor else StepperQuestion
    several = instruction.operands.get("d") and instruction.operands["d"].extents.get("product", 1) > 1
    form = form_of(ElementForm, given, error=error) | form_of(question, given, error=error)
    names = ["row", "col", "product", "seed", *TEXTS] if several else ["row", "col", "seed", *TEXTS]
    return {name: form[name] for name in names if name in form}, labels_of(ElementForm) | labels_of(question)
