"""Instructions by the short name of their opcode: wgmma.m64n256k16.f32.bf16.bf16."""

from __future__ import annotations

import re

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction

_LONGEST_SHORT = max(name.count(".") + 1 for name in catalog.SHORTS)  # words of a short name
_SECONDS = {opcode.words[:2] for opcode in catalog.OPCODES.values()}  # the first two words of an opcode


def parse_instruction(text: str) -> Instruction:
    """Return the instruction of an opcode or a short name such as wgmma.m64n256k16.f32.bf16.bf16.

    Raises LayoutError `unknown_instruction` for other texts.
    """
    instruction = find_instruction(text)
    return instruction if instruction is not None else catalog.find(_expand_short_name(text) or text)


def find_instruction(text: str) -> Instruction | None:
    """Return the instruction that a text names, or quickly None."""
    return (
        catalog.find_instruction(text)
        or ((full_text := _expand_short_name(text)) and catalog.find_instruction(full_text))
        or None
    )


def _expand_short_name(text: str) -> str:
    """Return the full opcode of the short name at the beginning of a text, "" without one."""
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
        return ""  # wmma.load is the beginning of an opcode
    return ".".join((full_name, *words[short:]))
