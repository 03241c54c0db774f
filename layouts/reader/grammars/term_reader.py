"""Parse one term of a text from its tokens: names, their brackets and the operators between them.

Where a term begins and what its names mean is decided in layouts/reader/grammars/terms.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import PYTHON
from lanescope.cxx.literals import parse_literal
from lanescope.cxx.source_text import CLOSING
from lanescope.deadline import check_deadline
from lanescope.reader.grammars.grammar import (
    DEEPEST,
    MOST_STEPS,
    SyntaxTerm,
    UnreadableError,
    Value,
    compute_integer,
    get_integer_type,
    make_typed_integer,
)

MOST_DIGITS = 19  # digits of an integer: no size has more
MOST_REPEATED = 64  # items of a list times a number
_SKIPPED = frozenset(
    "typename const constexpr static template struct class auto decltype inline using volatile public return".split()
)


class TextTokens(Protocol):
    """A text's tokens, and the number of parser steps so far."""

    text: str
    steps: int
    token: re.Pattern[str]

    @property
    def python(self) -> bool: ...


@dataclass(slots=True)
class _Parts:
    """A partially parsed term, and where it begins."""

    path: str
    first: int
    angle: tuple[Any, ...] | None = None
    args: tuple[Any, ...] | None = None
    named: list[tuple[str, Any]] = field(default_factory=list)
    owner: Any = None

    def term(self, past: int) -> SyntaxTerm:
        return SyntaxTerm(self.path, self.angle, self.args, tuple(self.named), (self.first, past), False, self.owner)


_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!="), 3),
    **dict.fromkeys(("<", ">", "<=", ">="), 4),
    "<<": 5,
    **dict.fromkeys("+-", 6),
    **dict.fromkeys(("*", "/", "%", "//"), 7),
}
_GOES_ON = frozenset("and or in is not for if else xor bitand bitor".split())


class TermReader:
    """Parser of one expression from a place in a text. angles: number of open <…> around it; calls: whether brackets
    after a name are part of its term.
    """

    def __init__(self, home: TextTokens, start: int) -> None:
        self.home = home
        self.text = home.text
        self.at = start
        self.deep = 0
        self.angles = 0
        self.calls = True
        self.kind = self.word = ""
        self.begin = self.end = start
        self.advance()

    def advance(self) -> None:
        """Advance to the next token (kind, text, place); kind is "" at the end."""
        self.last = self.end
        while True:
            check_deadline()
            self.home.steps += 1
            if self.home.steps > MOST_STEPS:
                raise UnreadableError
            match = self.home.token.match(self.text, self.at)
            if match is None:
                self.kind = self.word = ""
                self.begin = self.end = self.at
                return
            self.at = match.end()
            if match.lastgroup != "blank":
                self.kind, self.word = str(match.lastgroup), match[0]
                self.begin, self.end = match.span()
                return

    def go_back(self, place: int) -> None:
        self.at = place
        self.advance()

    def take_mark(self, mark: str) -> None:
        if self.word != mark or self.kind != "mark":
            raise UnreadableError
        self.advance()

    def parse_expression(self, least: int = 0) -> Value:
        self.deep += 1
        if self.deep > DEEPEST:
            raise UnreadableError
        try:
            first = self.begin
            value = self.parse_unary()
            while self.kind == "mark" and (power := self.get_precedence(self.word)) > least:
                op = self.word
                self.advance()
                if op in ("<", ">") and self.kind == "mark" and self.word == "=":
                    op += "="
                    self.advance()
                if self.on("*", "&", "|"):
                    raise UnreadableError  # 2 ** 3
                right = self.parse_expression(power)
                value = self.join_operands(op, value, right, first)
            if least == 0:
                value = self.parse_choice(value, first)
            return value
        finally:
            self.deep -= 1

    def parse_complete(self) -> Value:
        """Parse an expression that extends to the end of a statement or an argument."""
        value = self.parse_expression()
        unread = not self.kind and self.begin < len(self.text)
        line_goes_on = self.kind == "name" and self.word in _GOES_ON and "\n" not in self.text[self.last : self.begin]
        if unread or line_goes_on or self.on("&", "|", ".", "!", "?"):
            raise UnreadableError
        return value

    def parse_choice(self, value: Value, first: int) -> Value:
        """Parse `a ? b : c` and Python's `b if a else c`: the condition and both values."""
        if self.kind == "mark" and self.word == "?":
            self.advance()
            condition, chosen = value, self.parse_expression()
            self.take_mark(":")
        elif self.kind == "name" and self.word == "if":
            self.advance()
            condition, chosen = self.parse_expression(), value
            if self.word != "else":
                raise UnreadableError
            self.advance()
        else:
            return value
        other = self.parse_expression()
        return SyntaxTerm("?", args=(condition, chosen, other), span=(first, self.last), symbol=True)

    def get_precedence(self, op: str) -> int:
        if op in ("<", ">", "<=", ">=") and self.angles:
            return 0
        return _PRECEDENCE.get(op, 0)

    def join_operands(self, op: str, left: Value, right: Value, first: int) -> Value:
        if isinstance(left, int) and isinstance(right, int):
            done = compute_integer(op, left, right, self.home.python and not self.angles)
            if done is not None:
                return done
        if isinstance(left, tuple):  # Python lists
            if op == "+" and isinstance(right, tuple):
                return left + right
            if op == "*" and isinstance(right, int) and 0 <= right <= MOST_REPEATED:
                return left * right
        return SyntaxTerm(op, args=(left, right), span=(first, self.last), symbol=True)

    def parse_unary(self) -> Value:
        if self.kind == "mark" and self.word in ("-", "+", "!", "&", "*"):
            op, first = self.word, self.begin
            self.advance()
            value = self.parse_unary()
            if op not in ("-", "!"):
                return value
            if isinstance(value, int):
                result = c_integers.compute_unary(
                    op, value, get_integer_type(value) if not self.home.python else PYTHON
                )
                return make_typed_integer(result.value or 0, result.type)
            return SyntaxTerm(op, args=(value,), span=(first, self.last), symbol=True)
        return self.parse_primary()

    def on(self, *marks: str) -> bool:
        """Return whether the next token is one of these marks."""
        return self.kind == "mark" and self.word in marks

    def parse_primary(self) -> Value:
        if self.kind == "number":
            return self.parse_number()
        if self.kind == "text":
            word = self.word[1:-1]
            self.advance()
            return word
        if self.kind == "mark":
            return self.parse_brackets()
        if self.kind == "name":
            return self.parse_name()
        raise UnreadableError

    def parse_number(self) -> Value:
        """Parse an integer with its C++ type; a floating-point number becomes a symbol."""
        first, word = self.begin, self.word
        digits = re.sub(r"[uUlLzZ']+$", "", word).replace("'", "")
        self.advance()
        if "." in digits or len(digits) > MOST_DIGITS:
            return SyntaxTerm(digits, span=(first, self.last), symbol=True)
        literal = parse_literal(word) if not self.home.python else None
        if literal is not None:
            return make_typed_integer(*literal)
        return int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)

    def parse_brackets(self) -> Value:
        """Parse (…), […] or {…}; several values, or a trailing comma, make a tuple."""
        first, opening = self.begin, self.word
        if opening == "::":  # ::name
            self.advance()
            return self.parse_primary()
        if opening not in CLOSING:
            raise UnreadableError
        items, named, comma = self.parse_items(CLOSING[opening])
        if opening == "{" and named:
            return SyntaxTerm("{}", args=tuple(items), named=tuple(named), span=(first, self.last))
        if opening != "(" or len(items) != 1 or comma or named:
            return tuple(items)
        if self.on("{"):  # (type){…}
            self.parse_items("}")
        return items[0]

    def parse_name(self) -> Value:
        while self.kind == "name" and self.word in _SKIPPED:
            word = self.word
            self.advance()
            if word == "decltype" and self.word == "(":
                return self.parse_decltype()
        if self.kind != "name":
            raise UnreadableError
        parts = _Parts(self.word, self.begin)
        self.advance()
        while self.kind == "mark":
            if self.word == "[":
                inner = parts.term(self.last)
                items, _, _ = self.parse_items("]")
                return SyntaxTerm("[]", args=(inner, *items), span=(parts.first, self.last), symbol=True)
            add_part = _ADD_PART.get(self.word) if self.calls or self.word not in CLOSING else None
            if add_part is None or not add_part(self, parts):
                break
        return parts.term(self.last)

    def parse_decltype(self) -> Value:
        """Parse decltype(…), or a member of it."""
        first = self.begin
        items, _, _ = self.parse_items(")")
        if not items:
            raise UnreadableError
        value = items[0]
        while self.on("::"):
            self.advance()
            if self.kind == "name" and self.word == "template":
                self.advance()
            if self.kind != "name":
                raise UnreadableError
            value = SyntaxTerm(f"decltype::{self.word}", span=(first, self.end), owner=value)
            self.advance()
        if self.on("{", "("):  # a value of the type
            self.parse_items(CLOSING[self.word])
        return value

    def add_angle(self, parts: _Parts) -> bool:
        """Add <…> to a term; return False if the mark is a comparison."""
        brackets = self.parse_angle_brackets()
        if brackets is None:
            return False
        parts.angle, named = brackets
        parts.named += named
        return True

    def add_call(self, parts: _Parts) -> bool:
        """Add (…) or {…} to a term; return False for {…} after a call. X<…>(…)(…) calls the result of a call."""
        if self.word == "{" and parts.args is not None:
            return False
        items, named, _ = self.parse_items(CLOSING[self.word])
        parts.args = (*(parts.args or ()), *items)
        parts.named += named
        return True

    def add_member(self, parts: _Parts) -> bool:
        """Add a member to a term's path, or make the term its owner; return False if no name follows."""
        joint = "::" if self.word == "::" else "."
        place = self.begin
        self.advance()
        if self.word == "template":
            self.advance()
        if self.kind != "name":
            self.go_back(place)
            return False
        member = self.word
        if parts.angle and member == "type" and parts.path.rpartition("::")[2] == "conditional":
            self.advance()  # the choice of conditional<…>
        elif parts.args:  # a member of a call's result
            inner = parts.term(self.last)
            self.advance()
            parts.path, parts.angle, parts.args, parts.named, parts.owner = member, None, (inner,), [], None
            if self.word == "(":
                self.add_call(parts)
        else:
            parts.owner = parts.term(place)
            parts.path, parts.angle, parts.args = f"{parts.path}{joint}{member}", None, None
            self.advance()
        return True

    def parse_angle_brackets(self) -> tuple[tuple[Any, ...], list[tuple[str, Any]]] | None:
        """Parse the contents of <…>; None if the mark is a comparison."""
        place = self.begin
        self.angles += 1
        try:
            items, named, _ = self.parse_items(">")
        except UnreadableError:
            if self.home.steps > MOST_STEPS:
                raise
            self.go_back(place)
            return None
        finally:
            self.angles -= 1
        inside = [item for item in items if isinstance(item, SyntaxTerm) and item.path == "{}"]
        for item in inside:  # <{a = b}>
            named += item.named
        return tuple(item for item in items if item not in inside), named

    def parse_items(self, closing: str) -> tuple[list[Any], list[tuple[str, Any]], bool]:
        """Parse items up to a closing mark; return (values, keywords, whether a comma comes last)."""
        outer = self.angles
        self.angles = outer if closing == ">" else 0
        try:
            self.advance()
            return self.parse_list(closing)
        finally:
            self.angles = outer

    def parse_list(self, closing: str) -> tuple[list[Any], list[tuple[str, Any]], bool]:
        result: list[Any] = []
        named: list[tuple[str, Any]] = []
        comma = False
        while not self.on(closing):
            if not self.kind or self.on("*", "?", "...", "."):
                raise UnreadableError
            first = self.begin
            value = self.add_item(result, named)
            while self.kind == "name" and self.begin > first:  # `half const`
                self.advance()
            if self.on("{") and isinstance(value, tuple):  # [64:+8] {order = [1, 0]}
                more = self.parse_expression()
                named += [("", value), *more.named] if isinstance(more, SyntaxTerm) else [("", value)]
                result.pop()
            comma = self.on(",")
            if comma:
                self.advance()
            elif not self.on(closing):
                raise UnreadableError
        self.advance()
        return result, named, comma

    def add_item(self, result: list[Any], named: list[tuple[str, Any]]) -> Value:
        """Add one item of a list to its values or its keywords; return its first value."""
        value = self.parse_expression()
        if self.on("=", ":") and isinstance(value, SyntaxTerm | str):
            key = value.path if isinstance(value, SyntaxTerm) else value
            self.advance()
            named.append((key, self.parse_expression()))
        elif self.on(":+", ":"):
            self.advance()
            result.append((value, self.parse_expression()))
        else:
            result.append(value)
        return value


# what may follow a name and extends its term
_ADD_PART: Mapping[str, Callable[[TermReader, _Parts], bool]] = {
    "<": TermReader.add_angle,
    **dict.fromkeys(("(", "{"), TermReader.add_call),
    **dict.fromkeys(("::", ".", "->"), TermReader.add_member),
}
