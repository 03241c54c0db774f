"""Instructions by the short name of their opcode: wgmma.m64n256k16.f32.bf16.bf16."""

from __future__ import annotations

import re

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction

_LONGEST_SHORT = max(name.count(".") + 1 for name in catalog.SHORTS)  # words of a short name
_SECONDS = {opcode.words[:2] for opcode in catalog.OPCODES.values()}  # the first two words of an opcode


def parse_instruction(text: str) -> Instruction:
    """Parse an instruction by its opcode, or by its short name: wgmma.m64n256k16.f32.bf16.bf16.

    LayoutError `unknown_instruction` if it names none.
    """
    instruction = find_instruction(text)
    return instruction if instruction is not None else catalog.find(_expand_short_name(text) or text)


def find_instruction(text: str) -> Instruction | None:
    """Find the instruction that a text names; None if it names none, which costs little."""
    return (
        catalog.find_instruction(text)
        or ((full_text := _expand_short_name(text)) and catalog.find_instruction(full_text))
        or None
    )


def _expand_short_name(text: str) -> str:
    """Expand the short name at the beginning of a text to the instruction's full one; else ""."""
    words = re.sub(r"\s", "", text).split(".")
    short = max(
        range(1, min(len(words), _LONGEST_SHORT + 1)),
        key=lambda n: (".".join(words[:n]).lower() in catalog.SHORTS, n),
        default=0,
    )
    full_name = catalog.SHORTS.get(".".join(words[:short]).lower())
    spelled = ".".join(words).lower()
    if not full_name or spelled == full_name or spelled.startswith(f"{full_name}."):
        return ""
    if short == 1 and tuple(word.lower() for word in words[:2]) in _SECONDS:
        return ""  # wmma.load: another opcode's beginning
    return ".".join((full_name, *words[short:]))
