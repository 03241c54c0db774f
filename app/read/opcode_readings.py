"""What PTX and SASS without a matrix instruction does, alone, in asm, or as compilers and libraries name it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import outside_names, page_meanings, question_readings
from lanescope.app.read.facts import Reading
from lanescope.cxx.source_text import KERNEL_WORDS
from lanescope.names import forms
from lanescope.ptx.catalog import OPCODES
from lanescope.ptx.table.opcodes import FIRST_WORDS
from lanescope.ptx.table.other_opcodes import FUNCTIONS, OpcodeUse, find_use
from lanescope.reader.grammars import pasted_text
from lanescope.reader.instructions import sass
from lanescope.reader.instructions.misspelt_opcodes import explain_misspelling, is_opcode
from lanescope.reader.instructions.opcode_words import (
    explain_order,
    explain_second_word,
    explain_words,
    find_extra_words,
)
from lanescope.shared.banks import ACCESSES

LONGEST = 4096  # characters of a text that are searched
_SASS_LINE = re.compile(
    r"\s*(?:/\*\w+\*/)?\s*(?:@!?U?P\w\s+)?(?P<opcode>[A-Z][A-Z0-9]{1,11})(?:\.[A-Z0-9_]+)*\s+"
    r"(?=[^\n]*(?:\bU?R\d|\bU?RZ\b|\bU?P[0-7T]\b|\bSR_|c\[0x))[-\w\[\]+,.|!~ \t]+;?\s*"
)
_NEITHER = "is an instruction of {} that neither multiplies nor moves matrices."
_MOST = 4  # opcodes that a reading explains
_SHARED_ACCESS = re.compile(r"(?<![\w.])(ld|st)(?:\.volatile)?\.shared(?:::cta)?(?:\.v([24]))?\.[busf](\d+)\b")
_OPTIONAL = re.compile(r"\{\.[\w.:{}]*\}")  # {.sem} in the syntax of the PTX document
_STATEMENT = re.compile(
    r"(?:^|[;{}\n\"'`]|@!?[%$]{0,2}\w+\s)\s*(?P<opcode>[a-z]\w*(?:\.[\w:]*\w)+)(?=\s*(?:[;\"'`]|$)|\s+[\[{%$<\w-])"
)
_SASS = re.compile(  # behind an address, a predicate or nothing
    r"(?:^|\n|\*/|@!?U?P\w)[ \t]*(?P<opcode>[A-Z]{3,12}(?:[._][A-Z0-9_]+)*)(?=[ \t]*(?:;|$|\n)|[ \t]+[\w\[!@`])"
)
_NAME = re.compile(  # of an intrinsic of LLVM, an operation of MLIR, a function of libcu++ or TVM
    r"(?:\bnvvm[._]|(?:^|[^.\w])(?:cuda::|T\.)?ptx(?:::|\.))(?P<opcode>[a-z]\w*(?:\.\w+)*)"
)


_FUNCTION = re.compile(rf"(?:^|[\s:;])(?P<opcode>{'|'.join(FUNCTIONS)})(?=\s*(?:[<(;]|$))")


def read_opcodes(text: str) -> Reading | None:
    """Read a text by the instructions of PTX in it; None if it has none, or is a kernel, which is checked instead."""
    if any(word in text for word in (*KERNEL_WORDS, ".entry")):
        return None
    uses = dict.fromkeys(_list_uses(pasted_text.clean_text(text[:LONGEST])))
    if not uses:
        return None
    sentences = [f"{use.opcode} {use.does}" for use in uses]
    statements = _STATEMENT.finditer(pasted_text.clean_text(text[:LONGEST]))
    wrong = filter(None, (explain_misspelling(one["opcode"]) or _explain_wrong(one) for one in statements))
    notices = (
        *dict.fromkeys(wrong),
        *sentences[:_MOST],
        *([f"{len(sentences) - _MOST} more are not explained."] if len(sentences) > _MOST else ()),
    )
    if access := _find_shared_access(text):
        meaning = page_meanings.build_page_meaning(f"Bank conflicts of {access}", f"/banks?access={access}", notices)
        return copy_fact(Reading, meaning, also=())
    if page := next((use.page for use in uses if use.page), ""):
        meaning = page_meanings.build_page_meaning(", ".join(use.opcode for use in uses), f"/guide/{page}", notices)
        return copy_fact(Reading, meaning, also=())
    return question_readings.build_unknown(
        text, "Not covered", [*notices, outside_names.OUTSIDE], page_meanings.find_sharing(text)
    )


def read_lone_word(text: str) -> Reading | None:
    """Read an instruction of PTX by its first word, or a line of SASS that multiplies and moves no matrices; None for
    any other text.
    """
    word, line = text.strip(), _SASS_LINE.fullmatch(text)
    if word in FIRST_WORDS and word not in OPCODES:
        use = find_use(word)
        reason = f"{word} {use.does if use else _NEITHER.format('PTX')}"
    elif line and not re.search("MMA|^UTC|[TS]M$", line["opcode"]) and line["opcode"] not in sass.OPCODES:
        reason = f"{line['opcode']} {_NEITHER.format('SASS')}"
    else:
        return None
    return question_readings.build_unknown(text, "Not covered", [reason, outside_names.OUTSIDE])


def refuse_opcode(text: str) -> Reading | None:
    """Refuse a text whose only opcode PTX does not have; None for any other text."""
    cleaned = pasted_text.clean_text(text[:LONGEST])
    found = list(islice(_STATEMENT.finditer(cleaned), 2))
    if len(found) != 1 or any(word in text for word in KERNEL_WORDS):
        return None
    reason = _explain_wrong(found[0])
    return question_readings.build_unknown(text, "No such instruction", [reason]) if reason else None


def _explain_wrong(statement: re.Match[str]) -> str:
    """Return why PTX does not have the opcode of a statement, "" if it does.

    A name without operands may be the beginning of an opcode: what it lacks is not an error.
    """
    opcode = statement["opcode"]
    named = forms.find_forms(opcode)
    is_name = named.forms and named.spelled_out and not named.ignored  # wgmma.sp
    if reason := explain_order(opcode) or ("" if is_name else explain_second_word(opcode)):
        return reason
    has_operands = statement.string[statement.end("opcode") :].lstrip(" \t").startswith(("[", "{", "%"))
    return explain_words(opcode) if has_operands or find_extra_words(opcode) else ""


def _find_shared_access(text: str) -> str:
    """Return the access whose bank conflicts a page counts, of a text with only one load or store; "" for others."""
    found = list(islice(_SHARED_ACCESS.finditer(text), 2))
    if len(found) != 1:
        return ""
    verb, vector, bits = found[0].groups()
    access = f"{verb}.shared.b{int(vector or 1) * int(bits)}"
    return access if access in ACCESSES else ""


def _list_uses(text: str) -> Iterator[OpcodeUse]:
    """Yield the row of each opcode of a text, in its order; one that says little for an opcode without a row."""
    plain = _OPTIONAL.sub("", text)
    found = [match for pattern in (_STATEMENT, _NAME, _SASS, _FUNCTION) for match in pattern.finditer(plain)]
    for match in sorted(found, key=lambda match: match.start("opcode")):
        opcode = match["opcode"]
        use = find_use(opcode)
        if use is not None and ("." in use.opcode or opcode.isupper() or is_opcode(opcode) or opcode in FUNCTIONS):
            yield use
        elif use is None and is_opcode(opcode) and not forms.is_opcode(opcode.partition(".")[0]):
            yield OpcodeUse(opcode, _NEITHER.format("PTX"))
