"""Messages of ptxas about a matrix instruction: which instruction, and what the message means.

ptxas 13.0 printed these of wrong PTX (layouts/ptx/differences.py, tests/ptxas); "Potential Performance Loss" is its
advice of CUDA 12 and later on wgmma.
"""

from __future__ import annotations

import re

from lanescope.ptx import catalog
from lanescope.ptx.syntax import STATE_SPACES, sizes_of
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
        r"not supported on \.target|cannot be compiled for|requires \.target|requires? PTX ISA|requires PTX",
        "The target or the PTX version lacks it.",
    ),
    (r"Modifier '[^'\n]*' (?:is )?required|requires? modifier|should be used on instruction", "A modifier is missing."),
    (r"Potential Performance Loss", "The code is right; ptxas waits for each wgmma before the next."),
    (r"Parsing error near|syntax error", "The text of the instruction is cut or misspelled there."),
)
_FEATURE = re.compile(r"Feature '\.?([\w:]+)'")
_TARGET = re.compile(r"(?:\.target|architecture) '(sm_\d{2,3}[af]?)'")
_NEAREST = 3  # shapes that are named beside a wrong one


def read(text: str) -> tuple[Found, ...]:
    """The instruction that ptxas complains of, and what its message means; () for other messages and other texts."""
    if "ptxas" not in text and not re.search(r"\b(?:error|fatal|warning|Advisory)\b|'\.?\w", text):
        return ()
    lines = [(line, means) for line in text.splitlines() if (means := _meaning(line))]
    at = next((n for n, (line, _) in enumerate(lines) if _names_one(line)), None)
    if at is None:
        return ()
    line = lines[at][0]
    named, shape, feature = _OPCODE.search(line), _SHAPE.search(line), _feature(line)
    opcode = named["name"].lower() if named else ""
    if named and named["sparse"]:
        opcode += ".sp"
    notices = list(dict.fromkeys(means for _, means in lines[: at + 1]))  # a message may go on in the next line
    near = [""]
    legal = [one for one in dict.fromkeys(i.shape for i in catalog.instructions() if _is_of(opcode, i.ptx)) if one]
    if shape and shape[0] not in legal and sizes_of(shape[0]):
        near = sorted(legal, key=lambda one: _distance(one, shape[0]))[:_NEAREST]
        notices.append(f"No {opcode or 'matrix instruction'} has the shape {shape[0]}. Nearest: {', '.join(near)}.")
    if (target := _TARGET.search(line)) and (said := _targets(target[1], opcode, feature, line)):
        notices.append(said)
    about = opcode or (shape[0] if shape else feature)
    name = about if opcode or feature or about in legal else near[0]
    return (Found("topic", f"ptxas about {about}", {"topic": "ptxas", "name": name}, tuple(notices)),)


def _meaning(line: str) -> str:
    return next((means for says, means in _MESSAGES if re.search(says, line)), "")


def _names_one(line: str) -> bool:
    return bool(_OPCODE.search(line) or _SHAPE.search(line) or _feature(line))


def _feature(line: str) -> str:
    """The qualifier that a message names as `Feature '.kind::f8f6f4'`, of those that matrix instructions alone have."""
    match = _FEATURE.search(line)
    word = match[1] if match else ""
    return word if word in catalog.qualifiers() and ("::" in word or "_" in word) and word not in STATE_SPACES else ""


def _targets(target: str, opcode: str, feature: str, line: str) -> str:
    """The targets for which ptxas makes code of what a message names; "" where its forms have none in common."""
    words = line.replace("_", " ")
    scaled = "block scale" in words
    common: dict[str, set[str]] = {}
    some: dict[str, set[str]] = {}
    for i in catalog.instructions():
        named = (not opcode or _is_of(opcode, i.ptx)) and (not feature or feature in i.ptx.split("."))
        if named and (i.family.scale_blocks or not scaled):
            name, targets = i.syntax.opcode.partition(".sp")[0], set(catalog.assembled(i).targets)
            common[name] = common.get(name, targets) & targets
            some[name] = some.get(name, targets) | targets
    if not common or not all(common.values()) or (" with " in words and not scaled and common != some):
        return ""
    said = ""
    whole = f"{target}a"
    if any(whole in each for each in common.values()) and not any(target in each for each in some.values()):
        family = f" (or {target}f, where PTX lists it, from PTX 8.8 on)" if int(target[3:]) >= 100 else ""
        said = f"{target} lacks what is specific to an architecture: compile for {whole}{family}."
    if opcode and opcode not in common:
        return said  # its beginning alone is known, as of tcgen05.alloc
    kind = f" with .{feature}" if feature else " with block scale" if scaled else ""
    listed = [
        f"{name}{kind} for {_ordered(each)}"
        + (f", some forms for {_ordered(more)}" if (more := some[name] - each) else "")
        for name, each in common.items()
    ]
    return f"{said} Of the targets tried, {catalog.assembler_release()} takes {'; '.join(listed)}.".strip()


def _ordered(targets: set[str]) -> str:
    return ", ".join(target for target in catalog.TARGETS if target in targets)


def _distance(one: str, other: str) -> tuple[int, int]:
    """How many of m, n and k differ, and by how much in all."""
    mine, theirs = sizes_of(one), sizes_of(other)
    apart = [abs(mine.get(name, 0) - theirs.get(name, 0)) for name in "mnk"]
    return sum(map(bool, apart)), sum(apart)


def _is_of(opcode: str, ptx: str) -> bool:
    return not opcode or ptx == opcode or ptx.startswith(f"{opcode}.")
