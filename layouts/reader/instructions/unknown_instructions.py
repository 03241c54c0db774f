"""Find instructions, in PTX or asm statements, that PTX lacks: misspelled, or of a matrix with a wrong shape or type.

Only complete opcodes are judged. Opcodes completed by a macro, a format string or an operand are skipped, and so are
those that do not begin a PTX statement, as in a comment or a printed line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from lanescope.errors import LayoutError
from lanescope.ptx import catalog, short_names
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.instructions.misspelt_opcodes import correct_opcode, explain_misspelling
from lanescope.reader.instructions.opcode_words import explain_words
from lanescope.reader.instructions.statements import join_code

MOST = 32  # reported per text: each is compared with all instructions
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|inline|goto)\b\s*)*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\[ \t\r]*\n|[^\n])*", re.M)
_TEMPLATE = re.compile(r"""(?:[^":()]|"(?:\\.|[^"\\])*"|\([^()]*\))*+""")
_BEGIN = r"""(?:^|[;{}\n]|\(\s*R?"\(?|@!?%{0,2}\w+\s)\s*"""
_OPCODE = re.compile(rf"{_BEGIN}(?P<opcode>(?:mma|wmma|wgmma|ldmatrix|stmatrix)\.[\w.:]*\w)(?=\s+[{{\[%])", re.M)
_STATEMENT = re.compile(
    rf"(?:{_BEGIN}|(?<!:):(?!:)\s*)(?P<opcode>[a-z]\w*(?:\.[\w:]*\w)+)"
    r"""(?=\s*(?:;|"?\s*\Z)|\s+[^\s=:"])""",
    re.M,
)
_OTHERS = re.compile(r"wgmma\.(?:fence|commit_group|wait_group)\b")  # of wgmma, which are not in the tables


@dataclass(frozen=True, slots=True)
class UnknownInstruction:
    """An opcode that does not exist: an error with the nearest legal ones, its place, and the opcode that replaces a
    misspelt one.
    """

    message: str
    span: tuple[int, int]
    correct: str = ""


def find_unknown_instructions(text: str) -> Iterator[UnknownInstruction]:
    """Return the nonexistent matrix instructions of a PTX module, or in the asm statements of other code.

    >>> (unknown,) = find_unknown_instructions('asm("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%0}, [%1];");')
    >>> unknown.message.partition(":")[0]
    "No instruction 'ldmatrix.sync.aligned.m8n8.x3.shared.b16'"
    """
    return islice(_find_unknown(text), MOST)


def _find_unknown(text: str) -> Iterator[UnknownInstruction]:
    for joined, (first, past), places in list_templates(text):
        judged: set[int] = set()
        for match in _OPCODE.finditer(joined, first, past):
            opcode = match["opcode"]
            if _OTHERS.match(opcode) or short_names.find_instruction(opcode) is not None:
                continue
            if message := explain_unknown(opcode):
                judged.add(match.start("opcode"))
                yield UnknownInstruction(message, _find_span(match, places))
        for match in _STATEMENT.finditer(joined, first, past):
            if match.start("opcode") not in judged and (message := explain_wrong_words(match["opcode"])):
                yield UnknownInstruction(message, _find_span(match, places), correct_opcode(match["opcode"]))


def explain_wrong_words(opcode: str) -> str:
    """Return which words of an opcode are misspelt, not allowed, or missing; "" if none is known to be."""
    return explain_misspelling(opcode) or explain_words(opcode)


def _find_span(match: re.Match[str], places: Callable[[int], int]) -> tuple[int, int]:
    return places(match.start("opcode")), places(match.end("opcode") - 1) + 1


@lru_cache(maxsize=4)
def list_templates(text: str) -> tuple[tuple[str, tuple[int, int], Callable[[int], int]], ...]:
    """List (the code with joined literals, the span of a text of PTX in it: the whole module or the template of an
    asm statement, a map to places of the original text).
    """
    joined, places = join_code(text)
    spans = [(0, len(joined))] if is_ptx_module(text) else _list_spans(joined)
    return tuple((joined, span, places) for span in spans)


def _list_spans(joined: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the templates of asm statements, with the parenthesis before them; not of macros that the
    text does not use, which nvcc does not compile.
    """
    statements = list(_ASM.finditer(joined))
    words = Counter(re.findall(r"\w+", joined) if statements else ())
    unused = [macro.span() for macro in _MACRO.finditer(joined) if words[macro[1]] == 1] if statements else []
    for statement in statements:
        if any(first <= statement.start() < past for first, past in unused):
            continue
        if template := _TEMPLATE.match(joined, statement.end()):
            yield statement.end() - 1, template.end()


def explain_unknown(opcode: str) -> str:
    """Return why an opcode does not exist, "" if it does."""
    try:
        catalog.find(opcode)
    except LayoutError as error:
        if error.code == "unmapped_form":  # it exists, and no picture of it
            return ""
        nearest = f" Nearest: {error.nearest[0]}." if error.nearest else ""
        return f"{error.message}{nearest}"
    return ""
