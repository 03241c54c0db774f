"""PTX: every instruction of a text, in order; in asm statements of C++ as well as alone."""

from __future__ import annotations

import re
from typing import Any

from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.reader import immediates
from layouts.reader.found import Found
from layouts.table.tcgen05 import BESIDE

_ESCAPED = re.compile(r"\\[nt]")
_JOINED = re.compile(r'"\s*"')  # between two pieces of one string literal
_OPERAND = re.compile(r"/\s*(\w+)\s*$")
_MOST = 64  # instructions of one text that are told
_MOST_WRONG = 3  # texts that are no instruction and are told so; each is compared with all there are


def instruction(text: str) -> Instruction:
    """An instruction by its opcode, or by the short name that people give it: wgmma.m64n256k16.f32.bf16.bf16."""
    try:
        return catalog.find(text)
    except LayoutError:
        words = re.sub(r"\s", "", text).split(".")
        short = max(range(1, len(words)), key=lambda n: (".".join(words[:n]).lower() in catalog.SHORTS, n))
        whole = catalog.SHORTS.get(".".join(words[:short]).lower())
        if not whole or ".".join(words).lower().startswith(f"{whole}."):
            raise
        return catalog.find(".".join((whole, *words[short:])))


def read(text: str) -> tuple[Found, ...]:
    """The instructions that a text spells. LayoutError where it spells one that does not exist and no other."""
    joined = _JOINED.sub("", _ESCAPED.sub(" ", text))
    found: list[Instruction] = []
    wrong: dict[str, LayoutError] = {}
    for match in catalog.OPCODE.finditer(joined):
        if not match[2] or match[0] in wrong or len(wrong) > _MOST_WRONG:
            continue  # without qualifiers it is a word of C++ or of a sentence
        if re.sub(r"\s", "", match[0]).lower().startswith(BESIDE):
            continue  # it exists and has no map
        try:
            found.append(instruction(match[0]))
        except LayoutError as error:
            wrong[match[0]] = error
    if not found:
        if wrong:
            raise next(iter(wrong.values()))
        return ()
    names = list(dict.fromkeys(i.ptx for i in found))
    notices = tuple(one.message for one in list(wrong.values())[:_MOST_WRONG])
    if len(names) > _MOST:
        notices = (*notices, f"{len(names)} instructions; the first {_MOST} are told.")
        names = names[:_MOST]
    one = len(names) == 1
    operand = _OPERAND.search(joined.strip()) if one else None
    letter = operand[1] if operand and operand[1] in found[0].operands else None
    title = names[0] if one else f"{len(names)} instructions"
    facts: dict[str, Any] = {
        "ptx": names[0],
        "candidates": [],
        "operand": letter,
        "all": [i.ptx for i in found][:_MOST],
    }
    if said := immediates.majors(joined):
        facts["majors"] = said
    return (Found("instruction", title, facts, notices, sure=one and not wrong),)
