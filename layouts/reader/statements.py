"""Find the matrix instructions in PTX and in asm statements, with their operands and places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from lanescope.cxx.source_text import COMMENT, blank, blank_matches
from lanescope.ptx import catalog, short_names, statement
from lanescope.ptx.instruction import Instruction

MOST = 512  # statements per text
MOST_OPERANDS = 8192  # characters of a statement's operands
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_LEFT_OUT = re.compile(r"\.\.\.|…")
_CLOSED = re.compile(r"\s*(\{[^{}]*\}|\[[^\[\]]*\])")
_OPERAND = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|(?!\.+$)[-!%\w$.|\[\]]+")
_CONTINUED = re.compile(r"[.:]*(?:[%$]|\{[^{},]*\}[.:\w])")  # an operand or a format is put into it: x4%5.shared
_ENDS = re.compile(r'\\n|\\t|\\r|\\0[9aAdD]|"\s*"')
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
    joined, places = _join_strings(text)
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
    parts, last, ended = _split_operands(rest)
    if not ended and (closed := _CLOSED.match(rest, last)):
        parts.append(closed[1])
    operands = list(takewhile(_OPERAND.fullmatch, parts))
    if not ended and not any(part[0] in "{[%" for part in operands):
        return (), False
    return tuple(operands), ended and len(operands) == len(parts) and not any(_LEFT_OUT.search(part) for part in parts)


def _split_operands(rest: str) -> tuple[list[str], int, bool]:
    """Split at commas outside brackets; return (parts, the place after the last part, whether a `;` follows)."""
    parts, depth, last = [], 0, 0
    for at, letter in enumerate(rest):
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
        if depth < 0 or letter == '"':
            break
        if not depth and letter in ",;":
            parts.append(" ".join(rest[last:at].split()))
            last = at + 1
            if letter == ";":
                return parts, last, True
    return parts, last, False


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


def _join_strings(text: str) -> tuple[str, _PlaceMap]:
    """Remove comments and join adjacent string literals; return the text and a map to the original places."""
    text = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else blank(found[0]), text)
    strings: list[str] = []
    starts, origins = [0], [0]
    last = length = 0
    for match in _ENDS.finditer(text):
        strings.append(text[last : match.start()])
        length += match.start() - last
        if match[0][0] == '"':
            starts.append(length)
            origins.append(match.end())
        else:
            strings.append(" " * (len(match[0]) - 1) + "\n")
            length += len(match[0])
        last = match.end()
    strings.append(text[last:])
    return blank_matches(COMMENT, "".join(strings)), _PlaceMap(starts, origins)


@dataclass(frozen=True, slots=True)
class _PlaceMap:
    """Map from the characters of a joined text to places in the original."""

    starts: list[int]
    origins: list[int]

    def __call__(self, at: int) -> int:
        n = bisect_right(self.starts, at) - 1
        return self.origins[n] + at - self.starts[n]
