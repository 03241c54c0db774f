"""Recognise PTX instructions, alone or in asm statements of C++."""

from __future__ import annotations

import re
from typing import Any

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.short_names import find_instruction, parse_instruction
from lanescope.ptx.syntax import parse_sizes
from lanescope.ptx.table.tcgen05 import BESIDE
from lanescope.reader.instructions import immediates
from lanescope.reader.meaning import TextMeaning

_ESCAPED = re.compile(r"\\(?:t|09)")  # of C and Python, of LLVM
_LINE_END = re.compile(r"\\(?:n|0[aAdD])")
_COMMENT = re.compile(r"(?<![:\w])//")  # begins a comment, except in a URL
_DIRECTIVE = re.compile(  # PTX directives after a word that is not an opcode, such as `mma` in a comment
    r"\s\.(?:reg|pred|visible|entry|func|extern|weak|version|target|address_size|pragma|loc|file|section|align"
    r"|branchtargets|calltargets|callprototype|maxn?tid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn|alias|common"
    r"|(?:const|global|local|param|shared)(?=\s+\.(?:align|[bsuf]\d+)\b))(?!\w)",
    re.I,
)
_JOINED = re.compile(r'"\s*"')  # between two pieces of a string literal
_OPERAND = re.compile(r"/\s*(\w+)\s*$")
_MOST_BEGUN = 2000  # characters of a text for which an opcode without shape and types is an error
_MOST = 64  # instructions listed per text
_MOST_WRONG = 3  # wrong instructions reported; each is compared with every legal one
_GOES_ON = re.compile(
    r"\.?(?:%[0-9]*l*[dui]|\$?\{\w*\}|\s*\"\s*(?:#\s*)?(?:<<\s*|\+\s*)?[A-Za-z_]\w*)"
)  # an opcode that code completes


def recognise_ptx(text: str) -> tuple[TextMeaning, ...]:
    """Return the instructions in a text. LayoutError if none of the instructions that it names exists."""
    joined = _JOINED.sub("", _LINE_END.sub("\n", _ESCAPED.sub(" ", text)))
    instructions, wrong, begun = _classify_opcodes(joined)
    if not instructions:
        return _explain_lone_refusal(joined, wrong, begun)
    names = list(dict.fromkeys(i.ptx for i in instructions))
    notices = tuple(_explain_refusal(single) for single in wrong[:_MOST_WRONG])
    if len(names) > _MOST:
        notices = (*notices, f"{len(names)} instructions; the first {_MOST} are listed.")
        names = names[:_MOST]
    single = len(names) == 1
    facts: dict[str, Any] = {
        "ptx": names[0],
        "candidates": [],
        "operand": _find_operand(joined, instructions[0]) if single else None,
        "all": [i.ptx for i in instructions][:_MOST],
    }
    if majors := immediates.find_majors(joined):
        facts["majors"] = majors
    title = names[0] if single else f"{len(names)} instructions"
    return (TextMeaning("instruction", title, facts, notices, sure=single and not wrong),)


def _find_operand(joined: str, instruction: Instruction) -> str | None:
    """Return the operand named after an instruction, as in `… / a`."""
    match = _OPERAND.search(joined.strip())
    return match[1] if match and match[1] in instruction.operands else None


def _classify_opcodes(joined: str) -> tuple[list[Instruction], list[str], list[str]]:
    """Return (instructions, unknown opcodes with a shape or types, others).

    The others are other instructions, or incomplete opcodes. Instructions in comments count only without any outside.
    """
    instructions: list[Instruction] = []
    commented: list[Instruction] = []
    seen: dict[str, Instruction | None] = {}
    wrong: list[str] = []
    begun: list[str] = []
    mentioned: list[str] = []  # unknown opcodes in comments of code: words about its instructions
    for match in catalog.OPCODE.finditer(joined):
        opcode = _trim_opcode(match, joined)
        if "." not in opcode:
            continue  # without qualifiers it is an identifier or a word of prose
        if re.sub(r"\s", "", opcode).lower().startswith(BESIDE):
            continue  # exists, without a map
        in_comment = _is_in_comment(joined, match.start())
        if opcode not in seen:
            seen[opcode] = find_instruction(opcode)
            if seen[opcode] is None:
                cut = _GOES_ON.match(joined, match.start() + len(opcode)) or not _has_shape_or_types(opcode)
                (begun if cut else mentioned if in_comment else wrong).append(opcode)
        elif opcode in mentioned and not in_comment:
            mentioned.remove(opcode)
            wrong.append(opcode)
        if (instruction := seen[opcode]) is not None:
            (commented if in_comment else instructions).append(instruction)
    instructions = instructions or commented
    return instructions, wrong if instructions else [*wrong, *mentioned], begun


def _is_in_comment(text: str, at: int) -> bool:
    """Return whether a place is in a comment of C++ or PTX."""
    line = text.rfind("\n", 0, at) + 1
    return bool(_COMMENT.search(text, line, at)) or text.rfind("/*", 0, at) > text.rfind("*/", 0, at)


def _explain_lone_refusal(joined: str, wrong: list[str], begun: list[str]) -> tuple[TextMeaning, ...]:
    """Raise LayoutError for the first opcode of a text without instructions; return () if the text names none."""
    alone = joined.strip().rstrip(";: ")
    opcode = wrong
    if not opcode and len(joined) <= _MOST_BEGUN:
        opcode = [word for word in begun if word == alone or (_is_ptx_word(word) and word not in catalog.OPCODES)]
    return _raise_refusal(opcode[0], joined) if opcode else ()


def _trim_opcode(match: re.Match[str], text: str) -> str:
    """Cut an opcode at a directive, or at the line after a comment."""
    opcode = match[0]
    if cut := _DIRECTIVE.search(opcode):
        opcode = opcode[: cut.start()]
    if "\n" in opcode and _COMMENT.search(text, text.rfind("\n", 0, match.start()) + 1, match.start()):
        opcode = opcode.partition("\n")[0]
    return opcode


def _has_shape_or_types(opcode: str) -> bool:
    """Return whether an opcode has a shape or types and so is meant as a matrix instruction."""
    words = re.sub(r"\s", "", opcode).lower().split(".")
    return any(parse_sizes(word) or word in DTYPES for word in words[1:])


def _is_ptx_word(opcode: str) -> bool:
    """Return whether an opcode continues with a PTX qualifier: mma.sync does, mma.cuh and mma.get_slice do not."""
    words = re.sub(r"\s", "", opcode).lower().split(".")
    return any(word in catalog.list_qualifiers() for word in words[1:])


def _explain_refusal(opcode: str) -> str:
    try:
        parse_instruction(opcode)
    except LayoutError as error:
        return error.message
    return ""


def _raise_refusal(opcode: str, joined: str) -> tuple[TextMeaning, ...]:
    """Raise LayoutError with the reason why an opcode is not an instruction."""
    escaped = re.escape(opcode)
    if re.search(escaped + _GOES_ON.pattern, joined):
        raise LayoutError(
            "unknown_instruction",
            f"'{catalog.shorten(opcode, 60)}' is incomplete: code inserts numbers into it.",
            "Paste the line with its numbers, such as m64n128k16.",
            "ptx",
        )
    parse_instruction(opcode)
    return ()
