"""Parse and evaluate conditions of #if, in C's arithmetic of intmax_t and uintmax_t.

The caller decides the unknown parts. Source: C++17, [cpp.cond].
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from lanescope.cxx.integers import LONG, ULONG, IntegerType, OperatorResult, compute_binary, compute_unary
from lanescope.cxx.literals import parse_character, parse_literal
from lanescope.cxx.precedence import PrecedenceClimber
from lanescope.cxx.source_text import is_parenthesized
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken

MOST_DEPTH = 60  # nesting of parentheses and signs
MOST_TOKENS = 2000
MOST_TEXT = 60  # characters of a condition's name
MOST_SPELLED = 400  # longest text of which outer parentheses are removed
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
_OPPOSITE = {"<": ">=", ">": "<=", "!=": "=="}  # decided as the negation of the opposite
_TRUTHS = frozenset(("defined", "!1", "&&", "||"))  # operators with a value of 0 or 1
_ASKING = frozenset(
    "__has_include __has_include_next __has_cpp_attribute __has_attribute __has_builtin __has_feature __has_extension"
    " __has_declspec_attribute __has_warning __is_identifier __building_module __has_constexpr_builtin".split()
)


@dataclass(frozen=True, slots=True)
class ConditionValue:
    """A 64-bit integer."""

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
class ConditionNode:
    """A part of a condition. op: `name`, `number`, `defined`, `query` or a C operator; text: its spelling."""

    op: str
    parts: tuple[ConditionNode, ...] = ()
    text: str = ""
    value: ConditionValue | None = None


class BadConditionError(Exception):
    """The text is not a condition."""


# A name or `defined(name)` → its value, None if unknown.
FindValue = Callable[[str], ConditionValue | None]
# An unknown part → whether it holds.
DecideUnknown = Callable[[ConditionNode], bool]


def make_value(value: int, unsigned: bool) -> ConditionValue:
    return ConditionValue(value & _MASK, unsigned)


class _ConditionParser(PrecedenceClimber[ConditionNode]):
    """A parser of a condition's tokens; every error is BadConditionError."""

    def __init__(self, tokens: list[PreprocessingToken]) -> None:
        super().__init__(MOST_DEPTH)
        self.tokens = [
            ("op", _WORDS[token.text]) if token.text in _WORDS else (token.kind, token.text) for token in tokens
        ]

    def make_error(self, why: str) -> BadConditionError:
        return BadConditionError(why)

    def parse_choice(self, condition: ConditionNode) -> ConditionNode:
        yes = self.parse_conditional()
        self.expect_token(":")
        no = self.parse_conditional()
        return ConditionNode("?", (condition, yes, no), f"{condition.text} ? {yes.text} : {no.text}")

    def apply_operator(self, op: str, left: ConditionNode, right: ConditionNode) -> ConditionNode:
        return ConditionNode(op, (left, right), f"{left.text} {op} {right.text}")

    def parse_unary(self) -> ConditionNode:
        op = self.peek_token()
        if op not in ("!", "~", "-", "+"):
            return self.parse_primary()
        self.take_token()
        self.depth += 1
        if self.depth > self.deepest:
            raise BadConditionError
        inner = self.parse_unary()
        self.depth -= 1
        return ConditionNode(f"{op}1", (inner,), f"{op}{inner.text}")

    def parse_primary(self) -> ConditionNode:
        if self.peek_token() == "(":
            inner = self.parse_parentheses("(", ")")
            return ConditionNode(inner.op, inner.parts, f"({inner.text})", inner.value) if inner.parts else inner
        if self.at >= len(self.tokens):
            raise BadConditionError
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return ConditionNode("number", (), text, _parse_number(text))
        if kind == "text" and text.endswith("'"):
            return ConditionNode("number", (), text, _parse_character(text))
        if kind in ("query", "defined"):
            return ConditionNode(kind, (), text)
        if kind != "name":
            raise BadConditionError
        if text in ("true", "false"):
            return ConditionNode("number", (), text, ConditionValue(int(text == "true")))
        if self.peek_token() == "(":
            return ConditionNode("query", (), text + self._parse_call_text())
        return ConditionNode("name", (), text)

    def _parse_call_text(self) -> str:
        """Return the parenthesized text after a name that is not a macro."""
        depth, result = 0, ""
        while self.peek_token():
            text = self.take_token()
            result += text
            depth += (text == "(") - (text == ")")
            if not depth:
                return result
        raise BadConditionError


def _parse_number(text: str) -> ConditionValue:
    literal = parse_literal(text)
    if literal is None:
        raise BadConditionError
    value, kind = literal
    return make_value(value, not kind.signed and (kind.bits == 64 or "u" in text.lower()))


def _parse_character(text: str) -> ConditionValue:
    character = parse_character(text)
    if character is None:
        raise BadConditionError
    return make_value(character[0], not character[1].signed)


def parse_condition(tokens: list[PreprocessingToken]) -> ConditionNode:
    """Parse a condition from tokens with macros expanded; each `defined` and compiler query is one token.

    BadConditionError if they are not a condition.
    """
    if len(tokens) > MOST_TOKENS:
        raise BadConditionError
    parser = _ConditionParser(tokens)
    choice = parser.parse_conditional()
    if parser.at != len(tokens):
        raise BadConditionError
    return choice


def is_true(node: ConditionNode, find_value: FindValue, decide_unknown: DecideUnknown) -> bool:
    """Return whether a condition holds; decide_unknown is called with each unknown part that matters."""
    decided = decide_condition(node, find_value)
    if decided is not None:
        return decided
    if node.op == "!1":
        return not is_true(node.parts[0], find_value, decide_unknown)
    if node.op == "&&":
        return all(is_true(part, find_value, decide_unknown) for part in node.parts)
    if node.op == "||":
        return any(is_true(part, find_value, decide_unknown) for part in node.parts)
    if node.op == "?":
        return is_true(
            node.parts[1 if is_true(node.parts[0], find_value, decide_unknown) else 2], find_value, decide_unknown
        )
    if node.op in ("==", "!=") and all(part.op in _TRUTHS for part in node.parts):
        return (len({is_true(part, find_value, decide_unknown) for part in node.parts}) == 1) == (node.op == "==")
    if node.op in _OPPOSITE:
        left, right = node.parts
        op = _OPPOSITE[node.op]
        return not decide_unknown(ConditionNode(op, (left, right), f"{left.text} {op} {right.text}"))
    return decide_unknown(node)


def decide_condition(node: ConditionNode, find_value: FindValue) -> bool | None:
    """Return whether a condition holds; None if unknown. BadConditionError if C++ rejects it."""
    if node.op == "!1":
        inner = decide_condition(node.parts[0], find_value)
        return None if inner is None else not inner
    if node.op in ("&&", "||"):
        ends = node.op == "||"
        left = decide_condition(node.parts[0], find_value)
        if left is ends:
            return ends
        try:
            right = decide_condition(node.parts[1], find_value)
        except BadConditionError:
            if left is None:
                return None
            raise
        return ends if right is ends else None if left is None else right
    value = evaluate_node(node, find_value)
    return None if value is None else value.bits != 0


def evaluate_node(node: ConditionNode, find_value: FindValue) -> ConditionValue | None:
    """Evaluate a part; None if unknown. BadConditionError if C++ rejects it."""
    if node.op == "number":
        return node.value
    if node.op in ("name", "defined"):
        return find_value(node.text)
    if node.op == "query":
        return None
    if node.op in ("&&", "||", "!1"):
        truth = decide_condition(node, find_value)
        return None if truth is None else ConditionValue(int(truth))
    if node.op == "?":
        return _evaluate_choice(node, find_value)
    parts = [evaluate_node(part, find_value) for part in node.parts]
    values = [part for part in parts if part is not None]
    if len(values) < len(parts):
        return None
    return _evaluate_unary(node.op[0], values[0]) if len(values) == 1 else _evaluate_binary(node.op, *values)


def _evaluate_choice(node: ConditionNode, find_value: FindValue) -> ConditionValue | None:
    """Return the value of c ? a : b; unsigned if either is."""
    first = decide_condition(node.parts[0], find_value)
    if first is None:
        return None
    chosen, other = (evaluate_node(part, find_value) for part in (node.parts[1:] if first else node.parts[:0:-1]))
    return chosen and ConditionValue(chosen.bits, chosen.unsigned or (other is not None and other.unsigned))


def _evaluate_unary(op: str, value: ConditionValue) -> ConditionValue:
    return _check_value(compute_unary(op, value.number, value.type))


def _evaluate_binary(op: str, left: ConditionValue, right: ConditionValue) -> ConditionValue:
    result = compute_binary(op, left.number, left.type, right.number, right.type)
    if op in ("<<", ">>") and result.undefined:
        raise BadConditionError
    return _check_value(result)


def _check_value(result: OperatorResult) -> ConditionValue:
    if result.value is None:
        raise BadConditionError
    return make_value(result.value, result.type == ULONG)


def format_node(node: ConditionNode) -> str:
    """Format a part as the name of a condition: without outer parentheses, shortened to MOST_TEXT characters."""
    text = node.text
    while 1 < len(text) <= MOST_SPELLED and is_parenthesized(text):
        text = text[1:-1].strip()
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 9]}…{zlib.crc32(text.encode()):08x}"


def list_names(node: ConditionNode) -> set[str]:
    """Return the names in a part."""
    if node.op in ("name", "query", "defined"):
        return {node.text}
    return set().union(*(list_names(part) for part in node.parts)) if node.parts else set()


def is_compiler_query(token: PreprocessingToken) -> bool:
    """Return whether a name asks the compiler for a capability: __has_include(…)."""
    return token.text in _ASKING
