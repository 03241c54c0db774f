"""PTX of a module or an asm statement → its instructions: scopes, register declarations, guards, opcodes and operands.

Source: PTX ISA 9.1, syntax and instruction statements; CUDA's guide to inline PTX (operand numbers, `%%`, `%[name]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lanescope.cxx.source_text import split_arguments, strip_comments
from lanescope.deadline import check_deadline

# comparison of setp → operator of C; lo to hs are those of unsigned numbers
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPARISONS |= {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
MOST_INSTRUCTIONS = 256  # of one asm statement
MOST_STATEMENTS = 200_000  # of a module
_BETWEEN = r"(?:\s|//[^\n]*|/\*.*?\*/)*+"
_STRING = re.compile(
    rf'{_BETWEEN}(?:(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{{0,16}})\((?P<raw>.*?)\)(?P=fence)"'
    rf'|(?:u8|[uUL])?(?P<plain>"(?:[^"\\\n]|\\.)*+")){_BETWEEN}',
    re.S,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.S)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "\n": ""}
_LABEL = re.compile(r"[A-Za-z_$%][\w$]*(?:%=[\w$]*)?\s*:(?!:)")  # %= is a number of its own for each asm statement
_GUARD = re.compile(r"@(!?)\s*(%?%?\[?[\w$]+\]?)\s+")
_REGISTERS = re.compile(r"\.reg\s+(?P<types>(?:\.\w+\s*)+)(?P<names>.*)", re.S)
_OPCODE = re.compile(r"(\.?[a-z][\w.:%]*)(?: |(?=[{\[])|$)(.*)", re.S)
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.S)
_LINE = re.compile(r"\.(?:version|target|address_size|loc|file)\b[^\n]*")
_SECTION = re.compile(r"\.section\b[^{]*\{[^}]*\}?", re.S)
_HEAD = re.compile(r"(?:\.\w+\s+)*\.(?:entry|func)\b[^{;]*", re.S)
_NAME = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")
_SHARED = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)*\.shared\s+(?:\.align\s+(\d+)\s+)?\.\w+\s+([\w$]+)")
_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uU]?")


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """guard: (register, whether it is negated) of @p; operands: as written, `{…}` and `[…]` as one."""

    opcode: str
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class RegisterDeclaration:
    """Registers that a `.reg` declares: name → its type (b32, pred)."""

    types: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ScopeBrace:
    """A scope's begin or end."""

    opens: bool


Statement = PtxInstruction | RegisterDeclaration | ScopeBrace


def join_string_literals(code: str) -> str | None:
    """Return the text that adjacent C string literals spell; None if there is other text between them.

    >>> join_string_literals('"mov.u32 %0, 1;\\\\n" R"(exit;)"')
    'mov.u32 %0, 1;\\nexit;'
    """
    literals: list[str] = []
    at = 0
    while at < len(code):
        match = _STRING.match(code, at)
        if not match:
            return None
        if match["raw"] is not None:
            literals.append(match["raw"])
        else:
            literals.append(_ESCAPE.sub(_unescape_character, match["plain"][1:-1]))
        at = match.end()
    return "".join(literals)


def _unescape_character(match: re.Match[str]) -> str:
    """Return the character of an escape sequence."""
    body = match[1]
    if body[0] == "x" and len(body) > 1:
        return chr(int(body[1:], 16))
    return chr(int(body, 8)) if body.isdigit() and body[0] < "8" else _LETTERS.get(body, body)


@lru_cache(maxsize=1024)
def parse_ptx(code: str) -> tuple[Statement, ...] | None:
    """Parse PTX; None if it has labels or anything but statements of PTX."""
    result: list[Statement] = []
    for statement in list_statements(code):
        if statement is None or len(result) > MOST_INSTRUCTIONS:
            return None
        result.append(statement)
    return tuple(result)


def list_statements(code: str) -> Iterator[Statement | None]:
    """Yield the statements of an asm statement's PTX, None for a label or text that is not a statement."""
    return (placed.statement for placed in list_placed_statements(strip_comments(code)) if not placed.shared)


@dataclass(frozen=True, slots=True)
class PlacedStatement:
    """A PTX statement with its span, or a label, the head of a function, or a shared variable."""

    span: tuple[int, int]
    statement: Statement | None = None
    label: str = ""
    head: str = ""  # name of a function that begins here
    shared: str = ""  # name of a shared-memory variable
    align: int = 1  # of the variable, in bytes


def list_placed_statements(text: str) -> Iterator[PlacedStatement]:
    """Yield the statements of a PTX text in order; one that is not PTX has no statement."""
    at, count = 0, 0
    while at < len(text) and count < MOST_STATEMENTS:
        count += 1
        if not count & 1023:
            check_deadline()
        if skipped := _SKIPPED.match(text, at) or _LINE.match(text, at) or _SECTION.match(text, at):
            at = skipped.end()
        elif text[at] in "{};":
            if text[at] != ";":
                yield PlacedStatement((at, at + 1), ScopeBrace(text[at] == "{"))
            at += 1
        elif label := _LABEL.match(text, at):
            yield PlacedStatement(label.span(), label=label[0].rstrip(" :"))
            at = label.end()
        elif head := _HEAD.match(text, at):
            name = _NAME.search(head[0])
            yield PlacedStatement(head.span(), head=name[1] if name else "?")
            at = head.end()
        else:
            end = text.find(";", at)
            end = len(text) if end < 0 else end
            if shared := _SHARED.match(text, at):
                yield PlacedStatement((at, end), shared=shared[2], align=int(shared[1] or 1))
            else:
                statement = parse_statement(" ".join(strip_comments(text[at:end]).split()))
                yield PlacedStatement((at, end), statement)
            at = end + 1


def parse_statement(text: str) -> Statement | None:
    """Parse a statement without its semicolon, with single blanks; None for a label or text that is not PTX."""
    if _LABEL.match(text):
        return None
    if declared := _REGISTERS.fullmatch(text):
        return _parse_register_declaration(declared)
    guard = _GUARD.match(text)
    found = _OPCODE.match(text, guard.end() if guard else 0)
    if found is None or found[2].count("{") != found[2].count("}"):
        return None
    opcode, rest = found[1], found[2]
    operands = tuple(operand.strip() for operand in split_arguments(rest))
    return PtxInstruction(opcode, operands, (normalize_register(guard[2]), bool(guard[1])) if guard else None)


def _parse_register_declaration(match: re.Match[str]) -> RegisterDeclaration | None:
    kind = match["types"].split(".")[-1].strip()
    names: list[tuple[str, str]] = []
    for name in match["names"].split(","):
        name_match = re.fullmatch(r"\s*(%?%?[\w$]+)\s*(?:<\s*(\d{1,5})\s*>)?\s*", name)
        if not name_match:
            return None
        base = normalize_register(name_match[1])
        names += [(f"{base}{n}", kind) for n in range(int(name_match[2]))] if name_match[2] else [(base, kind)]
    return RegisterDeclaration(tuple(names))


def normalize_register(name: str) -> str:
    """Normalize a register's name to PTX's: `%%p` of an asm statement is `%p`."""
    return name.replace("%%", "%", 1) if name.startswith("%%") else name


def parse_immediate(text: str) -> int | None:
    """Return the integer that PTX spells; None for a floating one and for a name.

    >>> parse_immediate("0x10U"), parse_immediate("-3"), parse_immediate("017"), parse_immediate("0f3F800000")
    (16, -3, 15, None)
    """
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    digits = match[2]
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        value = int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        return None
    return -value if match[1] else value


def list_registers(text: str) -> list[str]:
    """Return the registers that an operand reads, those of an address apart."""
    if text.startswith("["):
        return []
    return [normalize_register(name) for name in re.findall(r"%?%?\[?[A-Za-z_$\d][\w$.]*\]?", text.replace("|", " "))]


def list_targets(instruction: PtxInstruction) -> list[str]:
    """Return the registers that an evaluated instruction writes: its first operand's."""
    first = instruction.operands[0] if instruction.operands else ""
    return [name.strip() for name in re.split(r"[|,]", first.strip("{} "))]
