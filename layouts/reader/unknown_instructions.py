"""Find instructions, in PTX or asm statements, that PTX lacks: misspelled, or of a matrix with a wrong shape or type.

Only complete opcodes are judged. Opcodes completed by a macro, a format string or an operand are skipped, and so are
those that do not begin a PTX statement, as in a comment or a printed line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from lanescope.errors import LayoutError
from lanescope.ptx import catalog, short_names
from lanescope.reader.code.ptx_module import is_ptx_module
from lanescope.reader.misspelt_opcodes import correct_opcode, explain_misspelling

MOST = 32  # reported per text: each is compared with all instructions
_HOLE = "\0"  # placeholder for a macro in a template
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|inline|goto)\b\s*)*\(")
_PIECE = re.compile(
    r'(?P<string>(?<!R)"(?P<plain>(?:\\.|[^"\\\n])*)")|R"(?P<mark>[^()\\\s"]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    r"|(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<end>[:)])|(?P<hole>[\w#]+|[^\w\s])",
    re.S,
)
_ESCAPE = re.compile(r"\\(.)", re.S)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_OPCODE = re.compile(
    r"(?:^|[;{}\n]|@!?%{0,2}\w+\s)\s*(?P<opcode>(?:mma|wmma|wgmma|ldmatrix|stmatrix)\.[\w.:]*\w)(?=\s+[{\[%])", re.M
)
_STATEMENT = re.compile(
    r"(?:^|[;{}\n]|@!?%{0,2}\w+\s|(?<!:):(?!:))\s*(?P<opcode>[a-z]\w*(?:\.[\w:]*\w)+)(?=\s*(?:;|\Z)|\s+[^\s=:\0])", re.M
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
    for template, places in _list_templates(text):
        template = _COMMENT.sub(lambda match: " " * len(match[0]), template)
        judged: set[int] = set()
        for match in _OPCODE.finditer(template):
            opcode = match["opcode"]
            if _OTHERS.match(opcode) or short_names.find_instruction(opcode) is not None:
                continue
            span = places[match.start("opcode")], places[match.end("opcode") - 1] + 1
            if message := _explain(opcode):
                judged.add(match.start("opcode"))
                yield UnknownInstruction(message, span)
        for match in _STATEMENT.finditer(template):
            first, past = match.span("opcode")
            if first not in judged and (message := explain_misspelling(match["opcode"])):
                span = places[first], places[past - 1] + 1
                yield UnknownInstruction(message, span, correct_opcode(match["opcode"]))


def _list_templates(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield texts of PTX with the places of their characters: a whole module, or the template of each asm statement."""
    if is_ptx_module(text):
        yield text, range(len(text))
        return
    for statement in _ASM.finditer(text):
        yield _read_template(text, statement.end())


def _read_template(text: str, at: int) -> tuple[str, list[int]]:
    """Return an asm statement's template, with a placeholder for each macro, and the places of its characters."""
    letters: list[str] = []
    places: list[int] = []
    while (piece := _PIECE.match(text, at)) and not piece["end"]:
        if piece["string"] is not None:
            _unescape(piece["plain"], piece.start("plain"), letters, places)
        elif piece["raw"] is not None:
            letters += piece["raw"]
            places += range(piece.start("raw"), piece.end("raw"))
        elif piece["hole"]:
            letters.append(_HOLE)
            places.append(at)
        at = piece.end()
    return "".join(letters), places


def _unescape(plain: str, first: int, letters: list[str], places: list[int]) -> None:
    last = 0
    for match in _ESCAPE.finditer(plain):
        letters += plain[last : match.start()]
        places += range(first + last, first + match.start())
        letters.append("\n" if match[1] in "nr" else " " if match[1] == "t" else match[1])
        places.append(first + match.start())
        last = match.end()
    letters += plain[last:]
    places += range(first + last, first + len(plain))


def _explain(opcode: str) -> str:
    """Return why an opcode does not exist, "" if it does."""
    try:
        catalog.find(opcode)
    except LayoutError as error:
        if error.code == "unmapped_form":  # it exists, and no picture of it
            return ""
        nearest = f" Nearest: {error.nearest[0]}." if error.nearest else ""
        return f"{error.message}{nearest}"
    return ""
