"""Messages of ptxas about a matrix instruction: which instruction, and what the message means.

ptxas 13.0 printed these of wrong PTX (layouts/ptx/differences.py, tests/ptxas); "Potential Performance Loss" is its
advice of CUDA 12 and later on wgmma.
"""

from __future__ import annotations

import re

from lanescope.ptx import catalog
from lanescope.ptx.syntax import sizes_of
from lanescope.reader.found import Found

_SPELLED = sorted((*catalog.OPCODES, "wmma.load", "wmma.store", "wmma", "wgmma", "tcgen05"), key=len, reverse=True)
_OPCODE = re.compile(
    rf"(?<![\w.])(?:(?P<sparse>[Ss]parse )?(?P<name>{'|'.join(map(re.escape, _SPELLED))}))(?![\w])", re.I
)
_SHAPE = re.compile(r"(?<!\w)m\d{1,6}n\d{1,6}(?:k\d{1,6})?(?!\w)")
_MESSAGES = (  # what ptxas says, and what it means
    (r"Unknown modifier", "PTX has no such modifier, or this version of ptxas does not know it."),
    (r"(?:Unexpected|Incorrect) instruction types? specified", "No row of the instruction's table has these types."),
    (r"Illegal modifier", "The modifier exists; this form of the instruction does not take it."),
    (r"Illegal vector size", "An operand has another number of registers than the instruction's fragment."),
    (r"Arguments? mismatch", "An operand has the wrong kind or number of registers."),
    (r"Argument \d+ of instruction", "An immediate operand is not one that the instruction takes."),
    (
        r"not supported on \.target|requires \.target|requires? PTX ISA|requires PTX",
        "The target or the PTX version lacks it.",
    ),
    (r"Modifier '[^'\n]*' (?:is )?required|requires? modifier|should be used on instruction", "A modifier is missing."),
    (r"Potential Performance Loss", "The code is right; ptxas waits for each wgmma before the next."),
    (r"Parsing error near|syntax error", "The text of the instruction is cut or misspelled there."),
)
_NEAREST = 3  # shapes that are named beside a wrong one


def read(text: str) -> tuple[Found, ...]:
    """The instruction that ptxas complains of, and what its message means; () for other messages and other texts."""
    said = next(((match, means) for says, means in _MESSAGES if (match := re.search(says, text))), None)
    if said is None or ("ptxas" not in text and not re.search(r"\b(?:error|fatal|warning|Advisory)\b|'\.?\w", text)):
        return ()
    match, means = said
    start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    line = text[start : end if end >= 0 else len(text)]
    named, shape = _OPCODE.search(line), _SHAPE.search(line)
    if named is None and shape is None:
        return ()
    opcode = named["name"].lower() if named else ""
    if named and named["sparse"]:
        opcode += ".sp"
    notices, near = [means], [""]
    legal = [one for one in dict.fromkeys(i.shape for i in catalog.instructions() if _is_of(opcode, i.ptx)) if one]
    if shape and shape[0] not in legal and sizes_of(shape[0]):
        near = sorted(legal, key=lambda one: _distance(one, shape[0]))[:_NEAREST]
        notices.append(f"No {opcode or 'matrix instruction'} has the shape {shape[0]}. Nearest: {', '.join(near)}.")
    about = opcode or (shape[0] if shape else "")
    name = about if opcode or about in legal else near[0]
    return (Found("topic", f"ptxas about {about}", {"topic": "ptxas", "name": name}, tuple(notices)),)


def _distance(one: str, other: str) -> tuple[int, int]:
    """How many of m, n and k differ, and by how much in all."""
    mine, theirs = sizes_of(one), sizes_of(other)
    apart = [abs(mine.get(name, 0) - theirs.get(name, 0)) for name in "mnk"]
    return sum(map(bool, apart)), sum(apart)


def _is_of(opcode: str, ptx: str) -> bool:
    return not opcode or ptx == opcode or ptx.startswith(f"{opcode}.")
