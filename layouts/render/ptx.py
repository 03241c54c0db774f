"""PTX syntax of an instruction with every operand written out."""

from __future__ import annotations

from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import list_slots


def render_syntax(instruction: Instruction, a_from: str = "registers") -> str:
    """Return the PTX line, one operand per line with its meaning."""
    items = list_slots(instruction, a_from)
    texts = [
        slot.text if len(slot.text) <= 60 else f"{{{slot.name}0, …, {slot.name}{slot.registers - 1}}}" for slot in items
    ]
    texts = [text + ("," if n + 1 < len(items) else ";") for n, text in enumerate(texts)]
    width = max(map(len, texts))
    rows = [instruction.ptx]
    for slot, text in zip(items, texts, strict=True):
        count = f"{slot.registers} × .{slot.type}: " if slot.type else ""
        rows.append(f"    {text.ljust(width)}  // {count}{slot.what}")
    return "\n".join(rows) + "\n"
