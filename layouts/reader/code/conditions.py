"""Conditions of #if, as far as the text decides them: C's arithmetic of intmax_t and uintmax_t, with what is unknown in
it left to whoever asks. Source: C++17, [cpp.cond].
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from lanescope.cxx.integers import LONG, ULONG, IntegerType, Outcome, binary, character, literal, unary
from lanescope.reader.code.lexing import Token

MOST_DEPTH = 60  # brackets and signs inside one another
MOST_TOKENS = 2000
MOST_TEXT = 60  # characters of a condition's name
MOST_SPELLED = 400  # of one whose outer brackets are looked for
_MASK = (1 << 64) - 1
_WORDS = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "compl": "~",
    "xor": "^",
    "bitand": "&",
    "bitor": "|",
    "not_eq": "!=",
}
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_OPPOSITE = {"<": ">=", ">": "<=", "!=": "=="}  # asked as the negation of its opposite
_TRUTHS = frozenset(("defined", "!1", "&&", "||"))  # what is 0 or 1
_ASKING = frozenset(
    "__has_include __has_include_next __has_cpp_attribute __has_attribute __has_builtin __has_feature __has_extension"
    " __has_declspec_attribute __has_warning __is_identifier __building_module __has_constexpr_builtin".split()
)


@dataclass(frozen=True, slots=True)
class Value:
    """An integer of 64 bits."""

    bits: int
    unsigned: bool = False

    @property
    def number(self) -> int:
        return self.type.wrap(self.bits)

    @property
    def type(self) -> IntegerType:
        """intmax_t or uintmax_t, which every operand has: [cpp.cond] 12."""
        return ULONG if self.unsigned else LONG


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a condition. op: `name`, `number`, `defined`, `asked` or an operator of C; text: its spelling."""

    op: str
    parts: tuple[Node, ...] = ()
    text: str = ""
    value: Value | None = None


class BadError(Exception):
    """What is no condition."""


# A name, or `defined(name)` → its value, None where that is unknown.
Named = Callable[[str], Value | None]
# A part that is unknown, and the names in it → whether it holds.
Asked = Callable[[Node], bool]


def of_int(value: int, unsigned: bool = False) -> Value:
    return Value(value & _MASK, unsigned)


class _Parser:
    def __init__(self, given: list[Token]) -> None:
        self.given = given
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        word = self.given[self.at].text if self.at < len(self.given) else ""
        return _WORDS.get(word, word)

    def take(self, word: str) -> None:
        if self.peek() != word:
            raise BadError
        self.at += 1

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise BadError
        made = self.level(0)
        if self.peek() == "?":
            self.at += 1
            yes = self.choice()
            self.take(":")
            no = self.choice()
            made = Node("?", (made, yes, no), f"{made.text} ? {yes.text} : {no.text}")
        self.depth -= 1
        return made

    def level(self, n: int) -> Node:
        if n == len(_LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while (op := self.peek()) in _LEVELS[n]:
            self.at += 1
            right = self.level(n + 1)
            left = Node(op, (left, right), f"{left.text} {op} {right.text}")
        return left

    def unary(self) -> Node:
        op = self.peek()
        if op in ("!", "~", "-", "+"):
            self.at += 1
            self.depth += 1
            if self.depth > MOST_DEPTH:
                raise BadError
            inner = self.unary()
            self.depth -= 1
            return Node(f"{op}1", (inner,), f"{op}{inner.text}")
        return self.primary()

    def primary(self) -> Node:
        if self.at >= len(self.given):
            raise BadError
        token = self.given[self.at]
        self.at += 1
        if token.text == "(":
            inner = self.choice()
            self.take(")")
            return Node(inner.op, inner.parts, f"({inner.text})", inner.value) if inner.parts else inner
        if token.kind == "number":
            return Node("number", (), token.text, _number(token.text))
        if token.kind == "text" and token.text.endswith("'"):
            return Node("number", (), token.text, _character(token.text))
        if token.kind in ("asked", "defined"):
            return Node(token.kind, (), token.text)
        if token.kind != "name":
            raise BadError
        if token.text in ("true", "false"):
            return Node("number", (), token.text, Value(int(token.text == "true")))
        if self.peek() == "(":
            return Node("asked", (), token.text + self._called())
        return Node("name", (), token.text)

    def _called(self) -> str:
        """The brackets behind a name that is no macro, and what stands in them."""
        depth, out = 0, ""
        while self.at < len(self.given):
            token = self.given[self.at]
            self.at += 1
            out += token.text
            depth += (token.text == "(") - (token.text == ")")
            if not depth:
                return out
        raise BadError


def _number(text: str) -> Value:
    found = literal(text)
    if found is None:
        raise BadError
    value, kind = found
    return of_int(value, not kind.signed and (kind.bits == 64 or "u" in text.lower()))


def _character(text: str) -> Value:
    found = character(text)
    if found is None:
        raise BadError
    return of_int(found[0], not found[1].signed)


def parse(given: list[Token]) -> Node:
    """The condition that tokens say, whose macros are expanded and whose `defined` are one token of kind asked each;
    BadError where they say none.
    """
    if len(given) > MOST_TOKENS:
        raise BadError
    parser = _Parser(given)
    made = parser.choice()
    if parser.at != len(given):
        raise BadError
    return made


def holds(node: Node, named: Named, asked: Asked) -> bool:
    """Whether a condition holds; asked is put each part of it that decides and is not known."""
    decided = known(node, named)
    if decided is not None:
        return decided
    if node.op == "!1":
        return not holds(node.parts[0], named, asked)
    if node.op == "&&":
        return all(holds(part, named, asked) for part in node.parts)
    if node.op == "||":
        return any(holds(part, named, asked) for part in node.parts)
    if node.op == "?":
        return holds(node.parts[1 if holds(node.parts[0], named, asked) else 2], named, asked)
    if node.op in ("==", "!=") and all(part.op in _TRUTHS for part in node.parts):
        return (len({holds(part, named, asked) for part in node.parts}) == 1) == (node.op == "==")
    if node.op in _OPPOSITE:
        left, right = node.parts
        op = _OPPOSITE[node.op]
        return not asked(Node(op, (left, right), f"{left.text} {op} {right.text}"))
    return asked(node)


def known(node: Node, named: Named) -> bool | None:
    """Whether a condition holds; None where that is unknown. BadError where C++ refuses it."""
    if node.op == "!1":
        inner = known(node.parts[0], named)
        return None if inner is None else not inner
    if node.op in ("&&", "||"):
        ends = node.op == "||"
        left = known(node.parts[0], named)
        if left is ends:
            return ends
        try:
            right = known(node.parts[1], named)
        except BadError:
            if left is None:
                return None
            raise
        return ends if right is ends else None if left is None else right
    value = value_of(node, named)
    return None if value is None else value.bits != 0


def value_of(node: Node, named: Named) -> Value | None:
    """The value of a part; None where it is unknown. BadError where C++ refuses it."""
    if node.op == "number":
        return node.value
    if node.op in ("name", "defined"):
        return named(node.text)
    if node.op == "asked":
        return None
    if node.op in ("&&", "||", "!1"):
        truth = known(node, named)
        return None if truth is None else Value(int(truth))
    if node.op == "?":
        return _value_of_choice(node, named)
    parts = [value_of(part, named) for part in node.parts]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return _one(node.op[0], found[0]) if len(found) == 1 else _two(node.op, *found)


def _value_of_choice(node: Node, named: Named) -> Value | None:
    """The value of c ? a : b; unsigned where either is."""
    first = known(node.parts[0], named)
    if first is None:
        return None
    chosen, other = (value_of(part, named) for part in (node.parts[1:] if first else node.parts[:0:-1]))
    return chosen and Value(chosen.bits, chosen.unsigned or (other is not None and other.unsigned))


def _one(op: str, value: Value) -> Value:
    return _of(unary(op, value.number, value.type))


def _two(op: str, left: Value, right: Value) -> Value:
    made = binary(op, left.number, left.type, right.number, right.type)
    if op in ("<<", ">>") and made.undefined:
        raise BadError
    return _of(made)


def _of(made: Outcome) -> Value:
    if made.value is None:
        raise BadError
    return of_int(made.value, made.type == ULONG)


def spelling(node: Node) -> str:
    """A part as it is asked for: without brackets around it, and no longer than a name."""
    text = node.text
    while 1 < len(text) <= MOST_SPELLED and text[0] == "(" and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 9]}…{zlib.crc32(text.encode()):08x}"


def _closes(text: str) -> int:
    """Where the bracket at the start of a text closes."""
    depth = 0
    for n, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return n
    return -1


def names(node: Node) -> set[str]:
    """The names that a part is made of."""
    if node.op in ("name", "asked", "defined"):
        return {node.text}
    return set().union(*(names(part) for part in node.parts)) if node.parts else set()


def asks(token: Token) -> bool:
    """Whether a name asks the compiler for what it has: __has_include(…)."""
    return token.text in _ASKING
