"""Recognise a ptxas message about a matrix instruction: the instruction, and an explanation.

ptxas 13.0 printed these messages for invalid PTX (layouts/ptx/differences.py, tests/ptxas). "Potential Performance
Loss" is a warning about wgmma, since CUDA 12.
"""

from __future__ import annotations

import re

from lanescope.ptx import catalog
from lanescope.ptx.syntax import STATE_SPACES, parse_sizes
from lanescope.ptx.targets import format_targets
from lanescope.reader.meaning import TextMeaning

_SPELLED = sorted((*catalog.OPCODES, "wmma.load", "wmma.store", "wmma", "wgmma", "tcgen05"), key=len, reverse=True)
_OPCODE = re.compile(
    rf"(?<![\w.])(?:(?P<sparse>[Ss]parse )?(?P<name>{'|'.join(map(re.escape, _SPELLED))}))(?![\w])", re.I
)
_SHAPE = re.compile(r"(?<!\w)m\d{1,6}n\d{1,6}(?:k\d{1,6})?(?!\w)")
_MESSAGES = (  # pattern of ptxas's message → explanation
    (r"Unknown modifier", "PTX has no such modifier, or this version of ptxas does not know it."),
    (r"(?:Unexpected|Incorrect) instruction types? specified", "No row of the instruction's table has these types."),
    (r"Illegal (?:modifier|[ab]layout)", "The modifier exists, but this form of the instruction does not accept it."),
    (
        r"Illegal vector size|vector size mismatch|Vector of size \d+ is expected",
        "The number of registers of an operand differs from the instruction's fragment.",
    ),
    (r"Arguments? mismatch", "An operand has the wrong kind or number of registers."),
    (r"Argument \d+ of instruction", "The instruction does not accept the value of an immediate operand."),
    (
        r"not supported on \.target|cannot be compiled for|requires \.target|requires? PTX ISA|requires PTX",
        "The target or the PTX version does not support it.",
    ),
    (
        r"Modifier '[^'\n]*' (?:is )?required|requires? modifier|modifier required|should be used on instruction",
        "A modifier is missing.",
    ),
    (r"Potential Performance Loss", "The code is correct, but ptxas serializes its wgmma instructions."),
    (r"Parsing error near|syntax error", "The instruction is truncated or misspelled at this place."),
)
_FEATURE = re.compile(r"Feature '\.?([\w:]+)'")
_TARGET = re.compile(r"(?:\.target|architecture) '(sm_\d{2,3}[af]?)'")
_NEAREST = 3  # nearest legal shapes listed with a wrong one


def recognise_ptxas_message(text: str) -> tuple[TextMeaning, ...]:
    """Recognise a ptxas message: the instruction that it names and an explanation; () for other texts."""
    if "ptxas" not in text and not re.search(r"\b(?:error|fatal|warning|Advisory)\b|'\.?\w", text):
        return ()
    means: list[str] = []
    for line in text.splitlines():
        if meaning := next((means for message, means in _MESSAGES if re.search(message, line)), ""):
            means.append(meaning)  # a message may go on in the next line
            if _OPCODE.search(line) or _SHAPE.search(line) or _find_feature(line):
                return _make_meanings(line, means)
    return ()


def _make_meanings(line: str, means: list[str]) -> tuple[TextMeaning, ...]:
    """Return the meaning of a message, if this line names an instruction, a shape or a feature; else ()."""
    opcode, shape, feature = _find_opcode(line), _parse_named_shape(line), _find_feature(line)
    notices = list(dict.fromkeys(means))
    legal = [
        shape for shape in dict.fromkeys(i.shape for i in catalog.instructions() if _has_opcode(opcode, i.ptx)) if shape
    ]
    near = _find_nearest_shapes(shape, legal)
    if near is not None:
        notices.append(f"No {opcode or 'matrix instruction'} has the shape {shape}. Nearest: {', '.join(near)}.")
    if targets := _list_targets(opcode, feature, line):
        notices.append(targets)
    about = opcode or shape or feature
    name = about if opcode or feature or shape in legal else next(iter(near or ()), "")
    return (TextMeaning("topic", f"ptxas about {about}", {"topic": "ptxas", "name": name}, tuple(notices)),)


def _parse_named_shape(line: str) -> str:
    """Return the first shape in a message, "" if there is none."""
    match = _SHAPE.search(line)
    return match[0] if match else ""


def _find_nearest_shapes(shape: str, legal: list[str]) -> list[str] | None:
    """Return the legal shapes nearest to an illegal one; None if the shape is legal or cannot be parsed."""
    if not shape or shape in legal or not parse_sizes(shape):
        return None
    return sorted(legal, key=lambda legal_shape: _measure_distance(legal_shape, shape))[:_NEAREST]


def _find_opcode(line: str) -> str:
    """Return the opcode in a message, "" if there is none."""
    named = _OPCODE.search(line)
    return named["name"].lower() + (".sp" if named["sparse"] else "") if named else ""


def _find_feature(line: str) -> str:
    """Return the qualifier in `Feature '.kind::f8f6f4'` if only matrix instructions have it, else ""."""
    match = _FEATURE.search(line)
    word = match[1] if match else ""
    return (
        word if word in catalog.list_qualifiers() and ("::" in word or "_" in word) and word not in STATE_SPACES else ""
    )


def _list_targets(opcode: str, feature: str, line: str) -> str:
    """Return a sentence about the targets for which ptxas accepts the named opcode or feature; "" without a target."""
    target = _TARGET.search(line)
    if target is None:
        return ""
    words = line.replace("_", " ")
    scaled = "block scale" in words
    common, some = _list_instruction_targets(opcode, feature, scaled)
    if not common or (" with " in words and not scaled and common != some):
        return ""
    lacks = _find_lacking_suffix(target[1], common if all(common.values()) else some, some)
    if opcode and opcode not in common:
        return lacks  # only the beginning is known, such as tcgen05.alloc
    kind = f" with .{feature}" if feature else " with block scale" if scaled else ""
    listed = []
    for name, every in common.items():
        more = some[name] - every
        if not every:
            listed.append(f"some forms of {name}{kind} for {format_targets(more)}")
            continue
        listed.append(
            f"{name}{kind} for {format_targets(every)}" + (f", some forms for {format_targets(more)}" if more else "")
        )
    return f"{lacks} Of the tested targets, {catalog.get_assembler_release()} accepts {'; '.join(listed)}.".strip()


def _list_instruction_targets(
    opcode: str, feature: str, scaled: bool
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Map opcodes to the targets that accept every form that the message may mean, and those that accept some."""
    common: dict[str, set[str]] = {}
    some: dict[str, set[str]] = {}
    for i in catalog.instructions():
        named = _has_opcode(opcode, i.ptx) and (not feature or feature in i.ptx.split("."))
        if named and (i.family.scale_blocks or not scaled):
            name, targets = i.syntax.opcode.partition(".sp")[0], set(catalog.get_target_support(i).targets)
            common[name] = common.get(name, targets) & targets
            some[name] = some.get(name, targets) | targets
    return common, some


def _find_lacking_suffix(target: str, common: dict[str, set[str]], some: dict[str, set[str]]) -> str:
    """Return a sentence if a target needs its suffix `a` (forms exist only with the suffix), else ""."""
    specific = f"{target}a"
    if not any(specific in each for each in common.values()) or any(target in each for each in some.values()):
        return ""
    family = f" or {target}f" if any(f"{target}f" in each for each in common.values()) else ""
    return f"{target} lacks architecture-specific features: compile for {specific}{family}."


def _measure_distance(shape: str, other: str) -> tuple[int, int]:
    """Return how many of m, n and k differ, and the sum of their differences."""
    mine, theirs = parse_sizes(shape), parse_sizes(other)
    distances = [abs(mine.get(name, 0) - theirs.get(name, 0)) for name in "mnk"]
    return sum(map(bool, distances)), sum(distances)


def _has_opcode(opcode: str, ptx: str) -> bool:
    return not opcode or ptx == opcode or ptx.startswith(f"{opcode}.")
