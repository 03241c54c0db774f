"""One term: tokens, and what a name, its brackets and the operators around it make of them.

Where a term begins and what its names mean is asked in layouts/reader/terms.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, INT, LONG, PYTHON, IntegerType
from lanescope.deadline import check_deadline

MOST_STEPS = 24_000  # tokens looked at in one text
DEEPEST = 48
MOST_DIGITS = 19  # of a whole number: no size has more
_TOKENS = r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[ \t][^\n]*|\\\n)
    |(?P<number>0[xX][0-9a-fA-F']+|\d[\d']*\.\d+f?|\d[\d']*)[uUlLzZ]*\b
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>\#?[A-Za-z_]\w*)
    |(?P<mark>::|<<|->|:\+|==|!=|&&|\|\||[<>()\[\]{},=:+\-*/%.?;&|!])"""
TOKEN = re.compile(_TOKENS, re.X | re.S)
PYTHON_TOKEN = re.compile(_TOKENS.replace("|//[^\\n]*", "").replace("(?P<mark>", "(?P<mark>//|"), re.X | re.S)
_SKIPPED = frozenset(
    "typename const constexpr static template struct class auto decltype inline using volatile public return".split()
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
MOST_SHIFT = 64  # of one of Python's
MOST_REPEATED = 64  # of a list times a number


@dataclass(frozen=True, slots=True)
class Term:
    """A name with what stands in its <…>, its (…) or {…}, and its keywords. symbol: an expression that is no number."""

    path: str
    angle: tuple[Any, ...] | None = None
    args: tuple[Any, ...] | None = None
    named: tuple[tuple[str, Any], ...] = ()
    span: tuple[int, int] = (0, 0)
    symbol: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return re.split(r"::|\.", self.path)[-1]

    @property
    def inside(self) -> tuple[Any, ...]:
        """What stands in its <…> and its (…)."""
        return (*(self.angle or ()), *(self.args or ()))

    @property
    def given(self) -> Mapping[str, Any]:
        return dict(self.named)

    def at(self, place: int, *names: str) -> Any:
        """An argument by place or keyword; None where it is missing."""
        if self.args is not None and place < len(self.args):
            return self.args[place]
        given = self.given
        return next((given[name] for name in names if name in given), None)


Value = Any  # int, str (a literal), tuple of values, Term


class Typed(int):
    """A whole number of a C++ type that is not what its value alone would give: 3u."""

    type: IntegerType

    def __new__(cls, value: int, kind: IntegerType = INT) -> Typed:
        made = super().__new__(cls, value)
        made.type = kind
        return made


def typed(value: int, kind: IntegerType) -> int:
    """A whole number with its type, where its value alone would not give it."""
    return value if kind in (INT, PYTHON, BOOL) else Typed(value, kind)


def type_of(value: int) -> IntegerType:
    """The C++ type of a whole number: of a literal its own, else the first signed one that holds it."""
    if isinstance(value, Typed):
        return value.type
    return INT if INT.holds(value) else LONG


class UnreadableError(Exception):
    """The text is no such term."""


class Home(Protocol):
    """The text that is read: its tokens, and how many of its steps are taken."""

    text: str
    steps: int
    token: re.Pattern[str]

    @property
    def python(self) -> bool: ...


def computed(op: str, left: int, right: int, python: bool) -> int | None:
    """A whole number as C++ computes it in the operands' types, or as Python does; None where there is none, or where
    C++ leaves it undefined.

    >>> computed("/", -7, 2, False), computed("/", -16, Typed(3, c_integers.UINT), False), computed("%", -7, 4, True)
    (-3, 1431655760, 1)
    """
    if op not in ("<<", "+", "-", "*", "/", "//", "%"):
        return None
    if python or op == "//":
        made = c_integers.binary(op, left, PYTHON, right, PYTHON)
        return made.value if op != "<<" or 0 <= right < MOST_SHIFT else None
    made = c_integers.binary(op, left, type_of(left), right, type_of(right))
    return None if made.defined is None else typed(made.defined, made.type)


@dataclass(slots=True)
class _Parts:
    """A term while it is read: what it has so far, and where it begins."""

    path: str
    first: int
    angle: tuple[Any, ...] | None = None
    args: tuple[Any, ...] | None = None
    named: list[tuple[str, Any]] = field(default_factory=list)

    def term(self, past: int) -> Term:
        return Term(self.path, self.angle, self.args, tuple(self.named), (self.first, past))


class Reader:
    """Reads one expression from a place in a text."""

    def __init__(self, home: Home, start: int) -> None:
        self.home = home
        self.text = home.text
        self.at = start
        self.deep = 0
        self.angles = 0
        self.kind = self.word = ""
        self.begin = self.end = start
        self.next()

    def next(self) -> None:
        """The next token: its kind, its text, where it stands; kind "" at the end."""
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

    def back(self, place: int) -> None:
        self.at = place
        self.next()

    def take(self, mark: str) -> None:
        if self.word != mark or self.kind != "mark":
            raise UnreadableError
        self.next()

    def expression(self, least: int = 0) -> Value:
        self.deep += 1
        if self.deep > DEEPEST:
            raise UnreadableError
        try:
            first = self.begin
            value = self.unary()
            while self.kind == "mark" and (power := self.power(self.word)) > least:
                op = self.word
                self.next()
                if op in ("<", ">") and self.kind == "mark" and self.word == "=":
                    self.next()
                right = self.expression(power)
                value = self.joined(op, value, right, first)
            if least == 0:
                value = self.chosen(value, first)
            return value
        finally:
            self.deep -= 1

    def chosen(self, value: Value, first: int) -> Value:
        """`a ? b : c` and Python's `b if a else c`: an open value, of which only the text is known."""
        if self.kind == "mark" and self.word == "?":
            self.next()
            self.expression()
            self.take(":")
        elif self.kind == "name" and self.word == "if":
            self.next()
            self.expression()
            if self.word != "else":
                raise UnreadableError
            self.next()
        else:
            return value
        self.expression()
        return Term("?", span=(first, self.last), symbol=True)

    def power(self, op: str) -> int:
        if op in ("==", "!=", "&&", "||") or (op in ("<", ">") and self.angles == 0):
            return 1
        if op in ("+", "-"):
            return 3
        if op in ("*", "/", "%", "//"):
            return 4
        return 2 if op == "<<" else 0

    def joined(self, op: str, left: Value, right: Value, first: int) -> Value:
        if isinstance(left, int) and isinstance(right, int):
            done = computed(op, left, right, self.home.python and not self.angles)
            if done is not None:
                return done
        if isinstance(left, tuple):  # lists of Python
            if op == "+" and isinstance(right, tuple):
                return left + right
            if op == "*" and isinstance(right, int) and 0 <= right <= MOST_REPEATED:
                return left * right
        return Term(op, args=(left, right), span=(first, self.last), symbol=True)

    def unary(self) -> Value:
        if self.kind == "mark" and self.word in ("-", "+", "!", "&", "*"):
            op, first = self.word, self.begin
            self.next()
            value = self.unary()
            if op not in ("-", "!"):
                return value
            if isinstance(value, int):
                made = c_integers.unary(op, value, type_of(value) if not self.home.python else PYTHON)
                return typed(made.value or 0, made.type)
            return Term(op, args=(value,), span=(first, self.last), symbol=True)
        return self.primary()

    def on(self, *marks: str) -> bool:
        """Return whether one of these marks is the next token."""
        return self.kind == "mark" and self.word in marks

    def primary(self) -> Value:
        if self.kind == "number":
            return self.parse_number()
        if self.kind == "text":
            word = self.word[1:-1]
            self.next()
            return word
        if self.kind == "mark":
            return self.parse_brackets()
        if self.kind == "name":
            return self.named()
        raise UnreadableError

    def parse_number(self) -> Value:
        """Return a whole number with its type in C++; a number with a point is a symbol."""
        first, word = self.begin, self.word
        digits = re.sub(r"[uUlLzZ']+$", "", word).replace("'", "")
        self.next()
        if "." in digits or len(digits) > MOST_DIGITS:
            return Term(digits, span=(first, self.last), symbol=True)
        literal = c_integers.literal(word) if not self.home.python else None
        if literal is not None:
            return typed(*literal)
        return int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)

    def parse_brackets(self) -> Value:
        """Return what stands in (…), […] or {…}: one value in parentheses is itself, several are a tuple."""
        first, opening = self.begin, self.word
        if opening == "::":  # ::name
            self.next()
            return self.primary()
        if opening not in _CLOSING:
            raise UnreadableError
        items, named, comma = self.items(_CLOSING[opening])
        if opening == "{" and named:
            return Term("{}", args=tuple(items), named=tuple(named), span=(first, self.last))
        if opening != "(" or len(items) != 1 or comma or named:
            return tuple(items)
        if self.on("{"):  # (type){…}
            self.items("}")
        return items[0]

    def named(self) -> Value:
        while self.kind == "name" and self.word in _SKIPPED:
            word = self.word
            self.next()
            if word == "decltype" and self.word == "(":
                return self.parse_decltype()
        if self.kind != "name":
            raise UnreadableError
        parts = _Parts(self.word, self.begin)
        self.next()
        while self.kind == "mark":
            if self.word == "[":
                self.items("]")
                return Term("[]", span=(parts.first, self.last), symbol=True)
            add_part = _ADD_PART.get(self.word)
            if add_part is None or not add_part(self, parts):
                break
        return parts.term(self.last)

    def parse_decltype(self) -> Value:
        """Return what stands in decltype(…)."""
        items, _, _ = self.items(")")
        if not items:
            raise UnreadableError
        if self.on("{", "("):  # a value of that type
            self.items(_CLOSING[self.word])
        return items[0]

    def add_angle(self, parts: _Parts) -> bool:
        """Add <…> to a term; False where the mark is a comparison."""
        found = self.angle_brackets()
        if found is None:
            return False
        parts.angle, named = found
        parts.named += named
        return True

    def add_call(self, parts: _Parts) -> bool:
        """Add (…) or {…} to a term; in X<…>(…)(…) the call of what a call gives. False for {…} behind a call."""
        if self.word == "{" and parts.args is not None:
            return False
        items, named, _ = self.items(_CLOSING[self.word])
        parts.args = (*(parts.args or ()), *items)
        parts.named += named
        return True

    def add_member(self, parts: _Parts) -> bool:
        """Add a member to a term's path, or make the term its first argument; False where no name stands there."""
        joint = "::" if self.word == "::" else "."
        place = self.begin
        self.next()
        if self.word == "template":
            self.next()
        if self.kind != "name":
            self.back(place)
            return False
        member = self.word
        if parts.angle and member == "type" and parts.path.rpartition("::")[2] == "conditional":
            self.next()  # what conditional<…> chooses
        elif parts.args:  # a member of what a call gives
            inner = parts.term(self.last)
            self.next()
            parts.path, parts.angle, parts.args, parts.named = member, None, (inner,), []
            if self.word == "(":
                self.add_call(parts)
        else:
            parts.path, parts.angle, parts.args = f"{parts.path}{joint}{member}", None, None
            self.next()
        return True

    def angle_brackets(self) -> tuple[tuple[Any, ...], list[tuple[str, Any]]] | None:
        """What stands in <…>; None where the mark is a comparison."""
        place = self.begin
        self.angles += 1
        try:
            items, named, _ = self.items(">")
        except UnreadableError:
            if self.home.steps > MOST_STEPS:
                raise
            self.back(place)
            return None
        finally:
            self.angles -= 1
        inside = [one for one in items if isinstance(one, Term) and one.path == "{}"]
        for one in inside:  # <{a = b}>
            named += one.named
        return tuple(one for one in items if one not in inside), named

    def items(self, closing: str) -> tuple[list[Any], list[tuple[str, Any]], bool]:
        """(values, keywords, whether a comma stands last) up to a closing mark."""
        outer = self.angles
        self.angles = outer if closing == ">" else 0
        try:
            self.next()
            return self.listed(closing)
        finally:
            self.angles = outer

    def listed(self, closing: str) -> tuple[list[Any], list[tuple[str, Any]], bool]:
        out: list[Any] = []
        named: list[tuple[str, Any]] = []
        comma = False
        while not self.on(closing):
            if not self.kind or self.on("*", "?", "...", "."):
                raise UnreadableError
            first = self.begin
            value = self.add_item(out, named)
            while self.kind == "name" and self.begin > first:  # `half const`
                self.next()
            if self.on("{") and isinstance(value, tuple):  # [64:+8] {order = [1, 0]}
                more = self.expression()
                named += [("", value), *more.named] if isinstance(more, Term) else [("", value)]
                out.pop()
            comma = self.on(",")
            if comma:
                self.next()
            elif not self.on(closing):
                raise UnreadableError
        self.next()
        return out, named, comma

    def add_item(self, out: list[Any], named: list[tuple[str, Any]]) -> Value:
        """Add one item of a list to its values or its keywords, and return what it begins with."""
        value = self.expression()
        if self.on("=", ":") and isinstance(value, Term | str):
            key = value.path if isinstance(value, Term) else value
            self.next()
            named.append((key, self.expression()))
        elif self.on(":+", ":"):
            self.next()
            out.append((value, self.expression()))
        else:
            out.append(value)
        return value


# what may stand behind a name, and adds to its term
_ADD_PART: Mapping[str, Callable[[Reader, _Parts], bool]] = {
    "<": Reader.add_angle,
    **dict.fromkeys(("(", "{"), Reader.add_call),
    **dict.fromkeys(("::", ".", "->"), Reader.add_member),
}
