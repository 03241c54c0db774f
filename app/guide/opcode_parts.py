"""Parts of guide pages: an opcode word by word, its operands declared and packed, state spaces."""

from __future__ import annotations

from lanescope import find
from lanescope.app.guide.markdown import format_code_block
from lanescope.ptx import catalog, qualifiers
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import OperandPlace
from lanescope.ptx.slots import OperandSlot, list_slots
from lanescope.render.tables import format_table


def render_opcode_words(text: str) -> str:
    """Render an opcode, word by word."""
    instruction = find(text)
    rows = [(f"`{word.text}`", word.meaning) for word in qualifiers.list_opcode_parts(instruction)]
    operands = [
        (f"`{slot.text}`", _format_operand(slot)) for slot in list_slots(instruction, instruction.family.forms[-1])
    ]
    return format_table(("part", "meaning"), [*rows, *operands])


def _format_operand(slot: OperandSlot) -> str:
    if not slot.type:
        return slot.what
    count = f"{slot.registers} × " if slot.registers > 1 else ""
    return f"{count}.{slot.type}: {slot.what}"


def render_declarations(text: str) -> str:
    """Render the register declarations of an instruction, and its line."""
    instruction = find(text)
    lines = []
    for slot in list_slots(instruction):
        if slot.kind == "vector":
            lines.append(
                f".reg .{slot.type} {slot.name}<{slot.registers}>;".ljust(20)
                + f"// {slot.name}0 to {slot.name}{slot.registers - 1}: {slot.what}"
            )
    return format_code_block(
        "\n".join([*lines, f"{instruction.ptx} {', '.join(slot.text for slot in list_slots(instruction))};"])
    )


def render_packing(_: str) -> str:
    """Render how many elements share a register, by width."""
    used = {name for i in catalog.instructions() for name in i.types.values()}
    groups: dict[tuple[int, int], list[str]] = {}
    for name, row in DTYPES.items():
        if name in used and (row.kind != "bits" or name == "b1"):
            groups.setdefault((row.bits, row.register_bits), []).append(name)
    rows = []
    for (bits, width), names in sorted(groups.items(), reverse=True):
        packing = "8-bit containers, 4 per register" if bits == 6 else f"{width // bits} in {width} bits"
        if bits == 4:
            packing += "; e2m1 with .kind::f8f6f4 and mxf8f6f4 in 8-bit containers, 4 per register"
        rows.append((str(bits), ", ".join(names), packing))
    return format_table(("bits", "types", "elements in a register"), rows)


SPACES = (
    ("none", "generic: global, shared or another space, found from the address", ""),
    ("`.global`", "memory of the whole device", "global"),
    ("`.shared`", "shared memory; the same as `.shared::cta`", "shared"),
    ("`.shared::cta`", "shared memory of the CTA that executes", "shared::cta"),
)


def render_state_spaces(_: str) -> str:
    """Render the state spaces and the matrix instructions that access them."""
    rows = []
    for name, meaning, key in SPACES:
        takers = dict.fromkeys(
            i.syntax.opcode
            for i in catalog.instructions()
            if i.family.spaces and (key in i.family.spaces or (not key and i.family.memory is OperandPlace.MATRIX))
        )
        rows.append((name, meaning, ", ".join(f"`{opcode}`" for opcode in takers)))
    return format_table(("qualifier", "space", "taken by"), rows)
