"""List what the compiler refuses: lines of PTX, sizes of cp.async, opcodes, and fragments of wmma.

An operand with the constraint "n" may be known only where a wrapper, a template or a macro is used: the evaluation of
the code knows it there. A number is found without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lanescope.cxx.source_text import find_closing
from lanescope.ptx.async_copy import explain_copy_size
from lanescope.reader.code.findings import AsmRun
from lanescope.reader.instructions import statements
from lanescope.reader.instructions.illegal_fragments import find_illegal_fragments
from lanescope.reader.instructions.opcode_words import explain_coordinates
from lanescope.reader.instructions.unknown_instructions import (
    explain_unknown,
    find_unknown_instructions,
    list_templates,
)
from lanescope.workbench.results import CheckFinding, Span, TextEdit
from lanescope.workbench.tensor_memory.mma_runs import fill_opcode
from lanescope.workbench.text.asm_operands import find_operand_argument, find_operand_number, join_strings

_NUMBER = re.compile(r"0[xX][\da-fA-F]+|\d+")
_COPY = re.compile(
    r"\b(?P<opcode>cp\.async\.c[ag]\.shared(?:::\w+)?\.global[\w.:]*)\s+\[[^\]]*\]\s*,\s*\[[^\]]*\]\s*,\s*"
    rf"(?P<size>%\w+|%\[\w+\]|{_NUMBER.pattern})\s*(?=[,;])"
)
_COORDINATES = re.compile(
    r"\b(?P<opcode>cp\.(?:reduce\.)?async\.bulk\.(?:prefetch\.)?tensor\.[1-5]d\.[\w.:]*)\s+(?:\[[^\[\]]*\]\s*,\s*)?"
    r"\[[^\[\]{}]*,\s*(?P<coordinates>\{[^{}]*\})\s*\]"
)
_FILLED = re.compile(r"(?<![\w.])(?:mma|wmma|wgmma|ldmatrix|stmatrix)\.[\w.:]*%\d[\w.:%]*(?=\s+[{\[%])")
_OPERAND = re.compile(r'"(?P<kind>[=+&]*[a-zA-Z])"\s*(?P<open>\()')


def list_refused(text: str, runs: Iterable[AsmRun]) -> list[CheckFinding]:
    """List the code of a text that ptxas or nvcc refuses. runs: its asm statements as they are evaluated."""
    findings = [CheckFinding("ptxas_refuses", line.message, line.span) for line in statements.find_refused_lines(text)]
    for unknown in find_unknown_instructions(text):
        whole = unknown.correct and '"' not in text[slice(*unknown.span)]  # one literal has all of it
        edits = (TextEdit(unknown.span, unknown.correct),) if whole else ()
        findings.append(CheckFinding("ptxas_refuses", unknown.message, unknown.span, edits=edits))
    findings += (CheckFinding("ptxas_refuses", message, span) for message, span in find_refused_asm(text, runs))
    findings += (CheckFinding("wmma_fragment", message, span) for message, span in find_illegal_fragments(text))
    return findings


def find_refused_asm(text: str, runs: Iterable[AsmRun]) -> list[tuple[str, Span]]:
    """Find the asm statements of a text that ptxas refuses for the value of an operand, each place once."""
    found = [
        *_find_written_sizes(text),
        *_find_coordinates(text),
        *(one for run in runs if not run.part for one in _check_run(run)),
    ]
    return list({span: (message, span) for message, span in reversed(found)}.values())


def _find_written_sizes(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the copies whose size is a number, in the line or as the operand."""
    for code, template, places in list_templates(text):
        for match in _COPY.finditer(code, *template):
            first, past = match.span("size")
            number, at = match["size"], (places(first), places(past - 1) + 1)
            if number.startswith("%"):
                number, at = _find_written_operand(text, places(template[1] - 1) + 1, number[1:])
            if _NUMBER.fullmatch(number) and (message := explain_copy_size(match["opcode"], int(number, 0))):
                yield message, at


def _find_coordinates(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the copies of a tensor with more or fewer coordinates than dimensions."""
    for code, template, places in list_templates(text):
        for match in _COORDINATES.finditer(code, *template):
            count = match["coordinates"].count(",") + 1
            if '"' not in match["coordinates"] and (message := explain_coordinates(match["opcode"], count)):
                first, past = match.span("coordinates")
                yield message, (places(first), places(past - 1) + 1)


def _find_written_operand(text: str, at: int, number: str) -> tuple[str, Span]:
    """Return (an operand as written, its place) of the asm statement whose template ends at `at`; "" if unnumbered."""
    end = text.find(";", at)
    for n, operand in enumerate(_OPERAND.finditer(text, at, end if end >= 0 else len(text))):
        if str(n) == number:
            inside = operand.end("open"), find_closing(text, operand.start("open"))
            return text[slice(*inside)].strip(), inside
    return "", (at, at)


def _check_run(run: AsmRun) -> Iterator[tuple[str, Span]]:
    if "cp.async.c" not in run.text and "%" not in run.text:
        return
    code = join_strings(run.text)
    for match in _COPY.finditer(code):
        size = find_operand_number(run, match["size"]) if match["size"].startswith("%") else None
        if size is not None and (message := explain_copy_size(match["opcode"], size)):
            yield message, find_operand_argument(run, match["size"], 0)[1]
    for match in _FILLED.finditer(code):
        opcode = fill_opcode(match[0], run)
        if opcode is not None and "%" not in opcode and (message := explain_unknown(opcode)):
            yield message, run.span
