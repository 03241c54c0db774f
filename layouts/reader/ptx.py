"""PTX: every instruction of a text, in order; in asm statements of C++ as well as alone."""

from __future__ import annotations

import re
from typing import Any

from layouts import catalog
from layouts.dtypes import DTYPES
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.reader import immediates
from layouts.reader.found import Found
from layouts.syntax import sizes_of
from layouts.table.tcgen05 import BESIDE

_ESCAPED = re.compile(r"\\(?:[nt]|0[9aAdD])")  # of C and Python, of LLVM
_JOINED = re.compile(r'"\s*"')  # between two pieces of one string literal
_LONGEST_SHORT = max(name.count(".") + 1 for name in catalog.SHORTS)  # words of a short name
_OPERAND = re.compile(r"/\s*(\w+)\s*$")
_MOST_BEGUN = 2000  # characters of a text that is told of an opcode without shape and types
_MOST = 64  # instructions of one text that are told
_MOST_WRONG = 3  # texts that are no instruction and are told so; each is compared with all there are
_GOES_ON = re.compile(
    r"\.?(?:%[0-9]*l*[dui]|\$?\{\w*\}|\s*\"\s*(?:#\s*)?(?:<<\s*|\+\s*)?[A-Za-z_]\w*)"
)  # an opcode that code completes


def instruction(text: str) -> Instruction:
    """An instruction by its opcode, or by the short name that people give it: wgmma.m64n256k16.f32.bf16.bf16.
    LayoutError `unknown_instruction` where it names none.
    """
    found = known(text)
    return found if found is not None else catalog.find(_whole(text) or text)


def known(text: str) -> Instruction | None:
    """The instruction that such a text names; None where it names none, which costs little."""
    return catalog.known(text) or ((whole := _whole(text)) and catalog.known(whole)) or None


def _whole(text: str) -> str:
    """A text that begins with an instruction's short name, with the whole one in its place; else ""."""
    words = re.sub(r"\s", "", text).split(".")
    short = max(
        range(1, min(len(words), _LONGEST_SHORT + 1)),
        key=lambda n: (".".join(words[:n]).lower() in catalog.SHORTS, n),
        default=0,
    )
    whole = catalog.SHORTS.get(".".join(words[:short]).lower())
    if not whole or ".".join(words).lower().startswith(f"{whole}."):
        return ""
    return ".".join((whole, *words[short:]))


def read(text: str) -> tuple[Found, ...]:
    """The instructions that a text spells. LayoutError where it spells one that does not exist and no other."""
    joined = _JOINED.sub("", _ESCAPED.sub(" ", text))
    found: list[Instruction] = []
    seen: dict[str, Instruction | None] = {}
    wrong: list[str] = []  # that have a shape or types: an instruction is meant
    begun: list[str] = []  # that have neither: another instruction's name, or the beginning of one
    for match in catalog.OPCODE.finditer(joined):
        if not match[2]:
            continue  # without qualifiers it is a word of C++ or of a sentence
        if re.sub(r"\s", "", match[0]).lower().startswith(BESIDE):
            continue  # it exists and has no map
        if match[0] not in seen:
            seen[match[0]] = known(match[0])
            if seen[match[0]] is None:
                meant = _meant(match[0])
                if _GOES_ON.match(joined, match.end()) or not meant:
                    begun.append(match[0])
                else:
                    wrong.append(match[0])
        if (said := seen[match[0]]) is not None:
            found.append(said)
    if not found:
        if len(joined) > _MOST_BEGUN:
            begun = []
        if wrong or (begun := [one for one in begun if _named(one) or one == joined.strip().rstrip(";: ")]):
            return _refused((wrong or begun)[0], joined)
        return ()
    names = list(dict.fromkeys(i.ptx for i in found))
    notices = tuple(_refusal(one) for one in wrong[:_MOST_WRONG])
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
    if majors := immediates.majors(joined):
        facts["majors"] = majors
    return (Found("instruction", title, facts, notices, sure=one and not wrong),)


def _meant(opcode: str) -> bool:
    """Whether an opcode has a shape or types, so that an instruction of the tables is meant."""
    words = re.sub(r"\s", "", opcode).lower().split(".")
    return any(sizes_of(word) or word in DTYPES for word in words[1:])


def _named(opcode: str) -> bool:
    """Whether a word behind the first is one of PTX's: mma.sync is, mma.cuh and mma.get_slice are not."""
    words = re.sub(r"\s", "", opcode).lower().split(".")
    return any(word in catalog.qualifiers() for word in words[1:])


def _refusal(opcode: str) -> str:
    try:
        instruction(opcode)
    except LayoutError as error:
        return error.message
    return ""


def _refused(opcode: str, joined: str) -> tuple[Found, ...]:
    """Raise why an opcode is no instruction."""
    whole = re.escape(opcode)
    if re.search(whole + _GOES_ON.pattern, joined):
        raise LayoutError(
            "unknown_instruction",
            f"'{catalog.shorten(opcode, 60)}' goes on in code that puts numbers in.",
            "Paste the line with its numbers, as m64n128k16.",
            "ptx",
        )
    instruction(opcode)
    return ()
