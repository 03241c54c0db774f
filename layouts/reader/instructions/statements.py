"""Find the matrix instructions in PTX and in asm statements, with their operands and places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from lanescope.cxx.source_text import blank, blank_matches
from lanescope.ptx import catalog, short_names, statement
from lanescope.ptx.instruction import Instruction

MOST = 512  # statements per text
MOST_OPERANDS = 8192  # characters of a statement's operands
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_PTX_COMMENT = re.compile(r'//[^\n"]*|/\*.*?\*/', re.S)  # inside a literal, whose end also ends it
_LEFT_OUT = re.compile(r"\.\.\.|…")
_CLOSED = re.compile(r"\s*(\{[^{}]*\}|\[[^\[\]]*\])")
_OPERAND = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|(?!\.+$)[-!%\w$.|\[\]]+")
# An operand or a format is put into it (x4%5.shared), or what ends its literal is followed by the rest: x4" SUFFIX "…
_CONTINUED = re.compile(r"""[.:]*(?:[%$'"]|\{[^{},]*\}[.:\w])""")
_ENDS = re.compile(r'\\n|\\t|\\r|\\0[9aAdD]|"(?>\s+|//[^\n]*|/\*.*?\*/)*+"', re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.M)
_STRING_MACRO = re.compile(r'[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"((?:\\.|[^"\\\n])*)"\s*')
_DECLARED = re.compile(r"\.reg\s*(?P<vector>\.v[248]\s*)?\.\w+\s+(?P<names>[^;\"]*)")
_NAME = re.compile(r"(%{0,2}[A-Za-z_$][\w$]*)\s*(?:<\s*(\d{1,5})\s*>)?")


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that ptxas rejects: its instruction, the reasons, and the place of its opcode."""

    instruction: Instruction
    faults: tuple[str, ...]
    span: tuple[int, int]

    @property
    def message(self) -> str:
        return statement.format_faults(self.faults)


def find_refused_lines(text: str) -> Iterator[RefusedLine]:
    """Return the lines of a text that ptxas rejects.

    >>> [line.faults for line in find_refused_lines("wmma.load.a.sync.row.m16n16k8.tf32 {%0, %1, %2, %3}, [%4];")]
    [('`.aligned` is missing',)]
    """
    joined, places = join_code(text)
    declared = _count_declared_registers(joined)
    for count, match in enumerate(catalog.OPCODE.finditer(joined)):
        if count >= MOST:
            return
        instruction = short_names.find_instruction(match[0]) if match[2] else None
        if instruction is None or _CONTINUED.match(joined, match.end()):
            continue
        operands, ended = _list_statement_operands(joined[match.end() : match.end() + MOST_OPERANDS])
        if wrong := statement.find_statement_faults(instruction, match[0], operands, ended, declared):
            at = places(match.start()), places(match.end() - 1) + 1
            yield RefusedLine(instruction, wrong, at)


def _list_statement_operands(rest: str) -> tuple[tuple[str, ...], bool]:
    """Return (the operands after an opcode, whether the statement ends after them); prose has none."""
    parts, last, mark = _split_operands(rest)
    ended = mark == ";"
    if not ended and (closed := _CLOSED.match(rest, last)):
        parts.append(closed[1])
    operands = list(takewhile(_OPERAND.fullmatch, parts))
    if not ended and not any(part[0] in "{[%" for part in operands):
        return (), False
    return tuple(operands), ended and len(operands) == len(parts) and not any(_LEFT_OUT.search(part) for part in parts)


def list_operands(rest: str) -> tuple[str, ...]:
    """List the operands after an opcode; () if no statement follows it.

    >>> list_operands("{%0, %1}, [%2]; ret;"), list_operands("and others;"), list_operands("(a, b, c)")
    (('{%0, %1}', '[%2]'), ('and others',), ())
    """
    parts, last, mark = _split_operands(rest[:MOST_OPERANDS])
    if mark == '"' and (operand := rest[last : rest.index('"', last)].split()):  # the last one, without a semicolon
        parts.append(" ".join(operand))
    return tuple(parts) if mark == ";" or (len(parts) > 2 and mark in ("", '"')) else ()


def _split_operands(rest: str) -> tuple[list[str], int, str]:
    """Split at commas outside brackets; return (parts, the place after the last part, the mark that ends the list).

    The mark is a semicolon, a quotation mark, or a bracket that was opened before the list; "" at the end of the text.
    """
    parts: list[str] = []
    depth = last = 0
    for at, letter in enumerate(rest):
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
        if depth < 0 or letter == '"':
            return parts, last, letter
        if not depth and letter in ",;":
            parts.append(" ".join(rest[last:at].split()))
            last = at + 1
            if letter == ";":
                return parts, last, letter
    return parts, last, ""


def _count_declared_registers(joined: str) -> dict[str, int]:
    """Map each base name in `.reg` lines to its number of registers, 0 for a single register."""
    registers: dict[str, int] = {}
    vectors: set[str] = set()
    for match in _DECLARED.finditer(joined):
        for name, count in _NAME.findall(match["names"]):
            base = name.replace("%%", "%")
            if match["vector"]:
                vectors.add(base)
            elif count or base not in registers:
                registers[base] = max(registers.get(base, 0), int(count or 0))
    return {base: count for base, count in registers.items() if base not in vectors}


@lru_cache(maxsize=4)
def join_code(text: str) -> tuple[str, Callable[[int], int]]:
    """Join adjacent string literals as join_literals does, without the comments of the text and of its PTX; macros
    that name one between two others are expanded.
    """
    code = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else blank(match[0]), text)
    joined, places = join_literals(code, _find_string_macros(code))
    return blank_matches(_PTX_COMMENT, joined), places


def _find_string_macros(code: str) -> dict[str, str]:
    """Map each macro that is certainly one string literal to its text: no other directive mentions the name."""
    directives = _DIRECTIVE.findall(code)
    words = Counter(re.findall(r"\w+", " ".join(directives)))
    defined = filter(None, map(_STRING_MACRO.fullmatch, directives))
    return {macro[1]: macro[2] for macro in defined if words[macro[1]] == 1}


def join_literals(text: str, macros: Mapping[str, str] | None = None) -> tuple[str, Callable[[int], int]]:
    """Join adjacent string literals, with the ends of their lines as such; return the text, and a map from its places
    to those of the original. macros: string literals by their names, which are joined too.
    """
    ends = _ENDS
    if macros:
        ends = re.compile(rf'(?<=[\w.])"\s*(?P<name>{"|".join(macros)})\s*"|{_ENDS.pattern}', re.S)
    strings: list[str] = []
    starts, origins = [0], [(0, 1)]  # (a place of the original, the step to the next one)
    last = length = 0
    for match in ends.finditer(text):
        strings.append(text[last : match.start()])
        length += match.start() - last
        if macros and match["name"]:
            strings.append(macros[match["name"]])
            starts.append(length)
            origins.append((match.start(), 0))
            length += len(strings[-1])
        if match[0][0] == '"':
            starts.append(length)
            origins.append((match.end(), 1))
        else:
            strings.append(" " * (len(match[0]) - 1) + "\n")
            length += len(match[0])
        last = match.end()
    strings.append(text[last:])

    def find_origin(at: int) -> int:
        n = bisect_right(starts, at) - 1
        origin, step = origins[n]
        return origin + (at - starts[n]) * step

    return "".join(strings), find_origin
