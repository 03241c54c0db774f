"""Read the instructions and operands that a request names."""

from __future__ import annotations

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand


def parse_instruction_field(text: str, field: str) -> Instruction:
    """Return the instruction of a query's field. An error keeps its code: an unknown instruction in a path is a 404."""
    try:
        return lookup.find(text)
    except LayoutError as error:
        raise error.move_to_field(field) from None


def find_operand(text: object, field: str) -> tuple[Instruction, Operand]:
    """Return instruction and operand of a query's field, written {ptx}/{operand}."""
    text = inputs.require_text(text, field)
    name, slash, letter = text.strip().rpartition("/")
    if not slash:
        raise LayoutError(
            "bad_operand",
            f"'{catalog.shorten(text)}' does not name an operand.",
            "Write {ptx}/{operand}, e.g. mma.m16n8k16.row.col.f32.f16.f16.f32/a.",
            field,
        )
    instruction = parse_instruction_field(name, field)
    return instruction, instruction.operand(letter)
