"""Constant C++ expressions, computed as C++ computes them: `evaluate("(uint64_t)1 << 62 | 0x100")`.

Integers have C++'s types on a 64-bit CUDA host (int 32 bits, long and long long 64): literals take the type their
spelling and suffix give (a leading 0 is octal, hex may become unsigned), narrow types are promoted, the usual
arithmetic conversions apply, unsigned arithmetic wraps, precedence is C++'s. The result becomes 64 bits as an
assignment to uint64_t makes it: a negative int is sign-extended. Nothing is executed.

What C++ leaves undefined but compilers accept gets the value the device computes, and a warning with the word that
64-bit arithmetic would have given: a 32-bit value shifted by 32 to 63 bits is what shl.b32 and shr make of it (PTX ISA
9.1, 9.7.8.8: shift amounts are clamped to the width, so `1 << 62` is 0), signed overflow wraps.

>>> evaluate("1ull << 62 | (uint64_t)(1024 >> 4) << 32 | 1 << 16 | 0x100").word == 0x4000004000010100
True
>>> value = evaluate("1 << 62 | 0x100")
>>> value.word, value.warnings[0].code, hex(value.warnings[0].word)
(256, 'shifts_of_32_bits', '0x4000000000000100')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from layouts.bits import hex_word
from layouts.dtypes import DTYPES
from layouts.errors import LayoutError
from layouts.precedence import Climber
from layouts.reading import SUFFIX, shown

LONGEST = 4096  # characters
DEEPEST = 64  # nested parentheses and conditional operators
ALLOWED = (
    "Allowed: integers, + - * / % << >> & | ^ ~ ! && || ?: comparisons, parentheses, sizeof, casts to integer types."
)


@dataclass(frozen=True, slots=True)
class Note:
    """Something a compiler accepts that is unlikely to be meant. word: what arithmetic in 64 bits throughout would have
    given.

    code: shifts_of_32_bits (bits were shifted out of a 32-bit value), sign_extended (bit 31 was set in an int, and bits
    32 to 63 became copies of it), overflow_of_32_bits (a sum or product did not fit 32 bits).
    """

    code: str
    message: str
    word: int

    @property
    def text(self) -> str:
        """The message with that word."""
        return f"{self.message} In 64-bit arithmetic: {hex_word(self.word)}."


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression gives when it is assigned to a uint64_t, the C++ type it had before, and what to look at."""

    word: int
    type: str
    warnings: tuple[Note, ...] = ()


class Kind(NamedTuple):
    """An integer type of C++."""

    bits: int
    signed: bool

    def wrap(self, value: int) -> int:
        """The value this type holds after a conversion to it."""
        if self.bits == 1:
            return int(value != 0)
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    @property
    def promoted(self) -> Kind:
        """Types narrower than int become int."""
        return INT if self.bits < 32 else self


INT, UINT, LONG, ULONG, BOOL = Kind(32, True), Kind(32, False), Kind(64, True), Kind(64, False), Kind(1, False)
NAMES = {INT: "int", UINT: "unsigned int", LONG: "long", ULONG: "unsigned long", BOOL: "bool"}
_TYPEDEFS = {
    **{f"{'' if signed else 'u'}int{bits}_t": Kind(bits, signed) for bits in (8, 16, 32, 64) for signed in (True,
    False)},
    "size_t": ULONG, "uintptr_t": ULONG, "intptr_t": LONG, "ptrdiff_t": LONG, "ulong": ULONG, "uint": UINT,
    "ushort": Kind(16, False), "uchar": Kind(8, False),
}  # fmt: skip
_WORDS = {"unsigned", "signed", "int", "long", "short", "char", "bool"}
_QUALIFIERS = {"const", "volatile", "constexpr", "static", "inline", "__device__", "__constant__", "auto"}
_SIZES = {"half": 2, "half_t": 2, "bfloat16_t": 2, "nv_bfloat16": 2} | {
    row.cpp: row.bits // 8 for row in DTYPES.values() if row.cpp
}

_TOKEN = re.compile(
    r"\s+|/\*.*?\*/|//[^\n]*"
    r"|(?P<number>[0-9][0-9a-zA-Z_']*)|(?P<name>(?:::)?[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<op>\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){},;=])",
    re.S,
)
_LITERAL = re.compile(
    rf"(0[xX](?:[0-9a-fA-F]+['_])*[0-9a-fA-F]+|0[bB](?:[01]+['_])*[01]+|(?:[0-9]+['_])*[0-9]+)({SUFFIX})"
)


class _Number(NamedTuple):
    """A value of a type; wide: the same in 64 bits throughout, as if every literal had the suffix ull."""

    value: int
    kind: Kind
    wide: int


def evaluate(text: str, field: str = "descriptor", written: str = "") -> Value:
    """The 64-bit word of a constant expression, or of a declaration `constexpr uint64_t desc = …;`. LayoutError says
    what is not understood; it quotes `written`, where the caller has put values into that.
    """
    return _Reader(text, field, written or text).value()


def _common(one: Kind, other: Kind) -> Kind:
    """The usual arithmetic conversions."""
    a, b = one.promoted, other.promoted
    if a.bits != b.bits:
        return a if a.bits > b.bits else b  # a 64-bit signed type holds every unsigned int
    return Kind(a.bits, a.signed and b.signed)


_WIDE = (1 << 64) - 1


def _divide(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": _divide, "%": lambda a,
    b: a - _divide(a, b) * b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
}  # fmt: skip


class _Reader(Climber[_Number]):
    """Values are computed while they are read. `dead` counts operands that C++ does not evaluate."""

    def __init__(self, text: str, field: str, written: str) -> None:
        super().__init__(DEEPEST)
        self.text, self.field, self.written = text, field, written
        self.events: dict[str, str] = {}
        self.dead = 0
        self.tokens = self._tokens()

    def _tokens(self) -> list[tuple[str, str]]:
        if len(self.text) > LONGEST:
            raise LayoutError(
                "bad_word", f"The expression has {len(self.text)} characters.", f"At most {LONGEST}.", self.field
            )
        out, at = [], 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if not match:
                raise self.bad(f"'{self.text[at]}' has no meaning here")
            at = match.end()
            if match.lastgroup:
                out.append((match.lastgroup, match[0]))
        return out

    def bad(self, why: str) -> LayoutError:
        return LayoutError(
            "bad_word",
            f"'{shown(self.written, 80)}' is not a constant expression of integers: {why}.",
            ALLOWED,
            self.field,
        )

    # grammar

    def value(self) -> Value:
        declared = self._declaration()
        found = self.conditional()
        if self.peek() == ";":
            self.take()
        if self.peek():
            raise self.bad(f"{self.here()} follows a complete expression")
        if declared:
            found = self._convert(found, declared)
        word, name = (
            found.value & _WIDE,
            NAMES.get(found.kind, f"{'' if found.kind.signed else 'u'}int{found.kind.bits}_t"),
        )
        notes = [Note(code, message, found.wide) for code, message in self.events.items()] if found.wide != word else []
        return Value(word, name, tuple(sorted(notes, key=lambda note: list(_MESSAGES).index(note.code))))

    def _declaration(self) -> Kind | None:
        """The type in front of `name =`, None where the text is an expression (or the type is auto)."""
        equals = next((n for n, (_, token) in enumerate(self.tokens) if token == "="), None)
        if equals is None:
            return None
        words = [token for kind, token in self.tokens[:equals] if kind == "name"]
        if len(words) != equals or not words:
            raise self.bad("'=' assigns to no name")
        kept = [word for word in words[:-1] if word not in _QUALIFIERS]
        kind = self._kind(kept) if kept else None
        if kept and kind is None:
            raise self.bad(f"'{shown(' '.join(kept))}' is not an integer type")
        self.at = equals + 1
        return kind

    def choose(self, condition: _Number) -> _Number:
        chosen = condition.value != 0
        arms = []
        for live, closing in ((chosen, ":"), (not chosen, "")):
            self.dead += not live
            arms.append(self.conditional())
            self.dead -= not live
            if closing:
                self.expect(closing)
        return self._implicit(arms[0 if chosen else 1], _common(arms[0].kind, arms[1].kind))

    def right(self, op: str, left: _Number, least: int) -> _Number:
        idle = (op == "&&" and not left.value) or (op == "||" and left.value != 0)
        self.dead += bool(idle)
        found = self.binary(least)
        self.dead -= bool(idle)
        return found

    def unary(self) -> _Number:
        prefixes: list[str | Kind] = []
        while True:
            cast = self._cast()
            if cast:
                prefixes.append(cast)
            elif self.peek() in ("+", "-", "~", "!"):
                prefixes.append(self.take())
            else:
                break
        found = self.primary()
        for prefix in reversed(prefixes):
            found = self._convert(found, prefix) if isinstance(prefix, Kind) else self._sign(prefix, found)
        return found

    def primary(self) -> _Number:
        if self.at >= len(self.tokens):
            raise self.bad("a value is missing at the end")
        group, token = self.tokens[self.at]
        if token == "(":
            return self.inside("(", ")")
        if group == "number":
            self.take()
            return self._literal(token)
        if group == "op":
            raise self.bad(f"'{token}' stands where a value is expected")
        self.take()
        if token in ("true", "false"):
            return _Number(int(token == "true"), BOOL, int(token == "true"))
        if token == "static_cast":
            self.expect("<")
            kind = self._type_until(">")
            return self._convert(self.inside("(", ")"), kind)
        if token == "sizeof":
            return self._sizeof()
        kind_ = self._kind([token])
        if kind_ and self.peek() in ("(", "{"):
            return self._convert(self.inside(self.peek(), ")" if self.peek() == "(" else "}"), kind_)
        raise self.bad(f"'{shown(token)}' is a name without a value")

    # types

    def _kind(self, words: list[str]) -> Kind | None:
        """The integer type some words name, None where they name none."""
        words = [word.removeprefix("::").rpartition("::")[2] if "::" in word else word for word in words]
        words = [word for word in words if word not in ("const", "volatile")]
        if len(words) == 1 and words[0] in _TYPEDEFS:
            return _TYPEDEFS[words[0]]
        if (
            not words
            or not set(words) <= _WORDS
            or words.count("long") > 2
            or any(words.count(w) > 1 for w in _WORDS - {"long"})
        ):
            return None
        sized = [w for w in ("long", "short", "char", "bool") if w in words]
        if (
            len(sized) > 1
            or {"signed", "unsigned"} <= set(words)
            or (sized and sized[0] in ("char", "bool") and "int" in words)
        ):
            return None
        if sized == ["bool"]:
            return BOOL if len(words) == 1 else None
        return Kind({"long": 64, "short": 16, "char": 8}[sized[0]] if sized else 32, "unsigned" not in words)

    def _cast(self) -> Kind | None:
        """A parenthesised type, taken; None where the parenthesis holds a value."""
        if self.peek() != "(" or self.at + 1 >= len(self.tokens) or self.tokens[self.at + 1][0] != "name":
            return None
        first = self.peek(1)
        if not (self._kind([first]) or first in ("const", "volatile")) or self.peek(2) in ("(", "{"):
            return None
        self.take()
        return self._type_until(")")

    def _type_until(self, closing: str) -> Kind:
        words = []
        while self.peek() and self.peek() != closing:
            words.append(self.take())
        kind = self._kind(words)
        if kind is None:
            raise self.bad(f"'{shown(' '.join(words))}' is not an integer type")
        self.expect(closing)
        return kind

    def _sizeof(self) -> _Number:
        self.expect("(")
        name = self.peek().rpartition("::")[2]
        if name in _SIZES and self.peek(1) == ")":
            size = _SIZES[name]
            self.take()
            self.expect(")")
        else:
            size = max(8, self._type_until(")").bits) // 8
        return _Number(size, ULONG, size)

    # values

    def _literal(self, token: str) -> _Number:
        match = _LITERAL.fullmatch(token)
        if not match:
            raise self.bad(f"'{shown(token)}' is not an integer")
        digits, suffix = re.sub("['_]", "", match[1]), match[2].lower()
        base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 8 if digits[0] == "0" else 10)
        if base == 8 and re.search("[89]", digits):
            raise self.bad(f"'{shown(token)}' begins with 0, which means octal in C++, and has a digit above 7")
        if len(digits) > 70:
            raise self.bad(f"'{shown(token)}' does not fit 64 bits")
        value = int(digits[2:] if base in (16, 2) else digits, base)
        if value > _WIDE:
            raise self.bad(f"'{shown(token)}' does not fit 64 bits")
        long, unsigned = "l" in suffix or "z" in suffix, "u" in suffix
        for kind in (INT, UINT, LONG, ULONG):
            fits = kind.wrap(value) == value and (kind.bits == 64 or not long)
            allowed = not kind.signed if unsigned else kind.signed or base != 10 or (kind == ULONG and value >> 63)
            if fits and allowed:
                return _Number(value, kind, value)
        raise AssertionError  # 64 bits without a sign hold it

    def _convert(self, found: _Number, kind: Kind) -> _Number:
        """An explicit conversion: one to 32 bits or fewer is meant to cut."""
        value = kind.wrap(found.value)
        return _Number(value, kind, found.wide if kind.bits == 64 else value & _WIDE)

    def _implicit(self, found: _Number, kind: Kind) -> _Number:
        return _Number(kind.wrap(found.value), kind, found.wide)

    def _sign(self, op: str, found: _Number) -> _Number:
        if op == "!":
            return _Number(int(not found.value), BOOL, int(not found.value))
        kind = found.kind.promoted
        make: Callable[[int], int] = {"+": lambda x: x, "-": lambda x: -x, "~": lambda x: ~x}[op]
        return _Number(kind.wrap(make(found.value)), kind, make(found.wide) & _WIDE)

    def apply(self, op: str, left: _Number, right: _Number) -> _Number:
        if op in ("&&", "||"):
            truth = (left.value and right.value) if op == "&&" else (left.value or right.value)
            return _Number(int(bool(truth)), BOOL, int(bool(truth)))
        if op in ("<<", ">>"):
            return self._shift(op, left, right)
        kind = _common(left.kind, right.kind)
        a, b = kind.wrap(left.value), kind.wrap(right.value)
        if op in _COMPARE:
            truth = _COMPARE[op](a, b)
            return _Number(int(truth), BOOL, int(truth))
        if op in ("/", "%") and not b:
            if not self.dead:
                raise self.bad("it divides by zero")
            return _Number(0, kind, 0)
        exact = _ARITHMETIC[op](a, b)
        value = kind.wrap(exact)
        if value != exact and kind.bits == 32 and (kind.signed or op in ("+", "*")):
            self._note("overflow_of_32_bits", f"{a} {op} {b}")
        if op in ("/", "%"):
            wide = _ARITHMETIC[op](left.wide, right.wide) if right.wide else 0
            return _Number(value, kind, value & _WIDE if kind.signed and (a < 0 or b < 0) else wide)
        return _Number(value, kind, _ARITHMETIC[op](left.wide, right.wide) & _WIDE)

    def _shift(self, op: str, left: _Number, right: _Number) -> _Number:
        kind, count = left.kind.promoted, right.value
        if not 0 <= count < 64:
            if not self.dead:
                raise self.bad(f"a shift by {count} is undefined")
            return _Number(0, kind, 0)
        if op == ">>":
            if count >= kind.bits:
                self._note("shifts_of_32_bits", f"{left.value} >> {count}")
            wide = left.value >> count if kind.signed and left.value < 0 else left.wide >> count
            return _Number(kind.wrap(left.value >> min(count, kind.bits)), kind, wide & _WIDE)
        exact = left.value << count
        value = kind.wrap(exact) if count < kind.bits else 0
        if kind.bits == 32 and left.value > 0 and value != exact:
            fits = exact >> 32 == 0
            self._note("sign_extended" if fits else "shifts_of_32_bits", f"{left.value} << {count}")
        return _Number(value, kind, left.wide << count & _WIDE)

    def _note(self, code: str, what: str) -> None:
        if not self.dead:
            self.events.setdefault(code, _MESSAGES[code].format(what))


_MESSAGES = {
    "shifts_of_32_bits": (
        "{} shifts a 32-bit value: the bits beyond bit 31 are lost. Make the left operand 64 bits wide, e.g. with the"
        " suffix ull or a cast to uint64_t."
    ),
    "sign_extended": (
        "{} sets bit 31 of an int; when it becomes 64 bits wide, bits 32 to 63 are copies of it. Make the left operand"
        " 64 bits wide and unsigned."
    ),
    "overflow_of_32_bits": (
        "{} does not fit 32 bits. Make an operand 64 bits wide, e.g. with the suffix ull or a cast to uint64_t."
    ),
}
