"""The form of a wmma.load or wmma.store: a pointer and an ldm, checked against the rules of both documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lanescope.app.instruction.wmma import WmmaMemory, build_memory, check_pointer
from lanescope.app.kit.fact import extend_fact, fact
from lanescope.app.kit.question import declare_question, raw_field
from lanescope.app.kit.question_form import Control, form_of
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction


@declare_question
class AccessForm:
    """A pointer and an ldm to check."""

    pointer: str = raw_field("Pointer", "The byte address of the tile.", "0x0", size=14)
    ldm: str = raw_field("ldm, elements", "The stride of a row or column.", size=8)


@fact
class CheckedMemory(WmmaMemory):
    """The requirements with a typed pointer and ldm, and their rules."""

    registers: int
    register_type: str
    form: dict[str, Control]


def check_memory(instruction: Instruction, query: Mapping[str, str]) -> CheckedMemory | None:
    """Return the facts of `memory` with the rules checked for the pointer and ldm of a query."""
    facts = build_memory(instruction)
    if facts is None:
        return None
    (op,) = instruction.operands.values()
    usual = {"pointer": "0x0", "ldm": str(facts.default_stride)}
    typed, error = {name: query.get(name, "").strip() or text for name, text in usual.items()}, None
    try:
        check = check_pointer(instruction, **typed)
    except LayoutError as wrong:
        error, check = wrong, check_pointer(instruction, **usual)
    return extend_fact(
        replace(facts, check=check),
        CheckedMemory,
        registers=op.registers,
        register_type=op.element.register_type,
        form=form_of(AccessForm, typed, error=error),
    )
