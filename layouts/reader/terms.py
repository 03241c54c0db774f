"""Types, calls and attributes as one small tree: C++ templates, Python calls, MLIR attributes.

    TiledMMA<MMA_Atom<X>, Layout<Shape<_2,_2,_1>>>      name, <…>
    cute.make_tiled_mma(op, (2,2,1), permutation_mnk=t) name, (…), keywords
    #ttg.blocked<{order = [1, 0]}>                      name, <…>, keywords

Only what is asked for is read, from its first character to where it ends; names that the text defines (`using X = …`,
`X = …`, `typedef … X;`) are looked up; arithmetic of known numbers is done. Every text ends after a bounded number of
steps. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

MOST_STEPS = 24_000  # tokens looked at in one text
DEEPEST = 48
MOST_TERMS = 64  # that one text is asked for
_TOKENS = r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[ \t][^\n]*|\\\n)
    |(?P<number>0[xX][0-9a-fA-F']+|\d[\d']*\.\d+f?|\d[\d']*)[uUlLzZ]*\b
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>\#?[A-Za-z_]\w*)
    |(?P<mark>::|<<|->|:\+|==|!=|&&|\|\||[<>()\[\]{},=:+\-*/%.?;&|!])"""
_TOKEN = re.compile(_TOKENS, re.X | re.S)
_PYTHON_TOKEN = re.compile(_TOKENS.replace("|//[^\\n]*", "").replace("(?P<mark>", "(?P<mark>//|"), re.X | re.S)
_NOT_PYTHON = re.compile(r";|::|#t|%\w|^[ \t]*//|[,({<>][ \t]{0,40}//|[\w>]\{\}|\b(?:auto|using|template)\b", re.M)
_SKIPPED = frozenset(
    "typename const constexpr static template struct class auto decltype inline using volatile public return".split()
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


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
    def given(self) -> Mapping[str, Any]:
        return dict(self.named)

    def at(self, place: int, *names: str) -> Any:
        """An argument by place or keyword; None where it is missing."""
        if self.args is not None and place < len(self.args):
            return self.args[place]
        given = self.given
        return next((given[name] for name in names if name in given), None)


Value = Any  # int, str (a literal), tuple of values, Term


class UnreadableError(Exception):
    """The text is no such term."""


@dataclass(slots=True)
class Text:
    """A text with the names it defines. Values that look names up do so in here."""

    text: str
    steps: int = 0
    looked: dict[tuple[str, int], Value] = field(default_factory=dict)
    token: re.Pattern[str] = _TOKEN

    @property
    def defined(self) -> dict[str, list[tuple[int, int, bool]]]:
        """Name → (where it is defined, where its value begins, whether that is a type behind typedef)."""
        return _definitions(self.text)

    def term(self, start: int, alone: bool = False) -> Value:
        """What begins at a place; None where nothing readable does. alone: a name with its brackets, no arithmetic."""
        try:
            reader = _Reader(self, start)
            return reader.primary() if alone else reader.expression()
        except (UnreadableError, RecursionError):
            return None

    def meant(self, value: Value, deep: int = 0) -> Value:
        """A value behind the names that the text defines; a name that it does not define stays itself."""
        while isinstance(value, Term) and deep < DEEPEST:
            deep += 1
            if value.angle is not None or value.named or value.symbol or value.args:
                return value
            found = self._found(value)
            if found is None:
                return value
            value = found
        return value

    def _found(self, term: Term) -> Value:
        name = term.name
        key = name, term.span[0]
        if key not in self.looked:
            places = [p for p in self.defined.get(name, ()) if not p[0] <= term.span[0] <= p[1]]
            before = [p for p in places if p[0] < term.span[0]]
            chosen = before[-1:] or places[:1]
            self.looked[key] = None
            if chosen and self.steps < MOST_STEPS:
                value = self.term(chosen[0][1], alone=name.startswith("#"))
                inside = isinstance(value, Term) and value.span[0] <= term.span[0] < value.span[1]
                self.looked[key] = None if inside or value == term else value
        return self.looked[key]

    def number(self, value: Value) -> int | None:
        """A whole number: 64, _64, Int<64>, C<64>, Int<64>{}, a name defined as one, arithmetic of such."""
        value = self.meant(value)
        if isinstance(value, bool) or not isinstance(value, Term):
            return value if isinstance(value, int) else None
        if re.fullmatch(r"_\d+", value.name):
            return int(value.name[1:])
        if value.name in ("Int", "C", "integral_constant", "constant", "constexpr", "Int32", "int"):
            inside = [*(value.angle or ()), *(value.args or ())]
            return self.number(inside[-1]) if inside else None
        if value.symbol and len(value.args or ()) == 2:
            left, right = (self.number(each) for each in value.args or ())
            return None if left is None or right is None else _computed(value.path, left, right)
        return None

    def spelled(self, value: Value) -> int | str:
        """A number, else the words that stand for it."""
        found = self.number(value)
        return found if found is not None else self.words(value)

    def words(self, value: Value) -> str:
        """A value as it stands in the text, on one line, bounded."""
        if isinstance(value, Term):
            name = value.name if value.name in ("Int", "C") and value.angle else ""
            if name:
                return str(self.spelled((value.angle or ("",))[-1]))
            return " ".join(self.text[value.span[0] : value.span[1]].split())[:80]
        return str(value)[:80]


# `using X = …`, `X = …` at the start of a statement, X of `auto X = …` and `constexpr int X = …`; #define X …
_DEFINED = re.compile(
    r"(?:(?<=[\n;{}(,:])|(?<=^)|(?<=[\w>&*]\s)|(?<=\s\s))\s{0,80}(?<![\w.])(\#?[A-Za-z_]\w*)\s{0,80}"
    r"(?::\s{0,8}[\w.\[\], ]{1,200})?=(?![=])"
    r"|\#\s*define\s+([A-Za-z_]\w*)[ \t]+(?=\S)"
)
MOST_REPEATED = 64  # of a list times a number
_DECLARED = re.compile(r"\btypedef\s+([^;\n]{1,400}?)\s+([A-Za-z_]\w*)\s*;")


def _computed(op: str, left: int, right: int) -> int | None:
    if abs(left) > 1 << 40 or abs(right) > 1 << 40:
        return None
    if op == "<<":
        return left << right if 0 <= right < 32 else None
    if op in ("/", "//", "%"):
        return None if right == 0 else left % right if op == "%" else left // right
    return {"+": left + right, "-": left - right, "*": left * right}.get(op)


class _Reader:
    """Reads one expression from a place in a text."""

    def __init__(self, text: Text, start: int) -> None:
        self.home = text
        self.text = text.text
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
            done = _computed(op, left, right)
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
            op = self.word
            self.next()
            value = self.unary()
            return -value if op == "-" and isinstance(value, int) else value
        return self.primary()

    def primary(self) -> Value:
        first = self.begin
        if self.kind == "number":
            digits = re.sub(r"[uUlLzZ']+$", "", self.word).replace("'", "")
            self.next()
            if "." in digits:
                return Term(digits, span=(first, self.last), symbol=True)
            return (int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)) if len(digits) < 20 else 0
        if self.kind == "text":
            word = self.word[1:-1]
            self.next()
            return word
        if self.kind == "mark" and self.word in ("(", "["):
            opening = self.word
            items, named, comma = self.items(_CLOSING[opening])
            if opening == "(" and len(items) == 1 and not comma and not named:
                if self.kind == "mark" and self.word == "{":  # (type){…}
                    self.items("}")
                return items[0]
            return tuple(items)
        if self.kind == "mark" and self.word == "::":
            self.next()
            return self.primary()
        if self.kind == "mark" and self.word == "{":
            items, named, _ = self.items("}")
            return Term("{}", args=tuple(items), named=tuple(named), span=(first, self.last)) if named else tuple(items)
        if self.kind == "name":
            return self.named()
        raise UnreadableError

    def named(self) -> Value:
        while self.kind == "name" and self.word in _SKIPPED:
            word = self.word
            self.next()
            if word == "decltype" and self.word == "(":
                items, _, _ = self.items(")")
                if not items:
                    raise UnreadableError
                return items[0]
        if self.kind != "name":
            raise UnreadableError
        first = self.begin
        path, angle, args, named = self.word, None, None, []
        self.next()
        while self.kind == "mark":
            if self.word == "<":
                found = self.angle_brackets()
                if found is None:
                    break
                angle, more = found
                named += more
            elif self.word == "[":
                self.items("]")
                return Term("[]", span=(first, self.last), symbol=True)
            elif self.word in ("(", "{"):
                if self.word == "{" and args is not None:
                    break
                items, more, _ = self.items(_CLOSING[self.word])
                args = (*(args or ()), *items)  # X<…>(…)(…): the call of what a call gives
                named += more
            elif self.word in ("::", ".", "->"):
                joint = "::" if self.word == "::" else "."
                place = self.begin
                self.next()
                if self.word == "template":
                    self.next()
                if self.kind != "name":
                    self.back(place)
                    break
                if args:  # a member of what a call gives
                    inner = Term(path, angle, args, tuple(named), (first, self.last))
                    path, angle, args, named = self.word, None, (inner,), []
                    self.next()
                    if self.word == "(":
                        items, more, _ = self.items(")")
                        args = (inner, *items)
                        named = more
                    continue
                path, angle, args = f"{path}{joint}{self.word}", None, None
                self.next()
            else:
                break
        return Term(path, angle, args, tuple(named), (first, self.last))

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
        while not (self.kind == "mark" and self.word == closing):
            if not self.kind:
                raise UnreadableError
            comma = False
            if self.kind == "mark" and self.word in ("*", "?", "...", "."):
                raise UnreadableError
            first = self.begin
            value = self.expression()
            if self.kind == "mark" and self.word in ("=", ":") and isinstance(value, Term | str):
                key = value.path if isinstance(value, Term) else value
                self.next()
                named.append((key, self.expression()))
            elif self.kind == "mark" and self.word in (":+", ":"):
                self.next()
                out.append((value, self.expression()))
            else:
                out.append(value)
            while self.kind == "name" and self.begin > first:  # `half const`
                self.next()
            if self.kind == "mark" and self.word == "{" and isinstance(value, tuple):  # [64:+8] {order = [1, 0]}
                more = self.expression()
                named += [("", value), *more.named] if isinstance(more, Term) else [("", value)]
                out.pop()
            if self.kind == "mark" and self.word == ",":
                comma = True
                self.next()
            elif not (self.kind == "mark" and self.word == closing):
                raise UnreadableError
        self.next()
        return out, named, comma


@lru_cache(maxsize=8)
def _definitions(text: str) -> dict[str, list[tuple[int, int, bool]]]:
    found: dict[str, list[tuple[int, int, bool]]] = {}
    for match in _DEFINED.finditer(text):
        found.setdefault(match[1] or match[2], []).append((match.start(), match.end(), False))
    for match in _DECLARED.finditer(text):
        found.setdefault(match[2], []).append((match.start(2), match.start(1), True))
    return found


def of(text: str) -> Text:
    """A text as a place to look names up, with steps of its own."""
    return Text(text, token=_TOKEN if _NOT_PYTHON.search(text) else _PYTHON_TOKEN)


def found(text: Text, pattern: re.Pattern[str]) -> Iterator[Term]:
    """Every term of a text that begins where a pattern matches."""
    past = 0
    for count, match in enumerate(pattern.finditer(text.text)):
        if count >= MOST_TERMS:
            return
        if match.start() < past:
            continue
        value = text.term(match.start(), alone=True)
        if isinstance(value, Term):
            past = value.span[1]
            yield value
