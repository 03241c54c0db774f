"""The form of a wmma.load or wmma.store: a pointer and an ldm, checked against the rules of both documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lanescope.app.instruction.wmma import build_memory, check_pointer
from lanescope.app.kit.question import declare_question, raw_field
from lanescope.app.kit.question_form import form_of
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction


@declare_question
class AccessForm:
    """A pointer and an ldm to check."""

    pointer: str = raw_field("Pointer", "The byte address of the tile.", "0x0", size=14)
    ldm: str = raw_field("ldm, elements", "The stride of a row or column.", size=8)


def build_access_form(instruction: Instruction, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables of what a load or store needs: the rules, checked for a query, and the form."""
    facts = build_memory(instruction)
    if facts is None:
        return {}
    usual = {"pointer": "0x0", "ldm": str(facts.default_stride)}
    typed, error = {name: query.get(name, "").strip() or text for name, text in usual.items()}, None
    try:
        check = check_pointer(instruction, **typed)
    except LayoutError as wrong:
        error, check = wrong, check_pointer(instruction, **usual)
    return {"wmma": replace(facts, check=check), "access_form": form_of(AccessForm, typed, error=error)}
