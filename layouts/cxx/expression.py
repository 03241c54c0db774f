"""Evaluate constant C++ expressions as C++ does: `evaluate_constant("(uint64_t)1 << 62 | 0x100")`.

Integers have C++'s types on a 64-bit CUDA host (int 32 bits, long and long long 64): literals take the type their
spelling and suffix give (a leading 0 is octal, hex may become unsigned), narrow types are promoted, the usual
arithmetic conversions apply, unsigned arithmetic wraps, precedence is C++'s. The result becomes 64 bits as an
assignment to uint64_t makes it: a negative int is sign-extended. Nothing is executed.

Undefined operations that compilers accept get the value that the device computes, and a warning with the word that
64-bit arithmetic gives. Shifts of 32-bit values by 32 to 63 bits behave like shl.b32 and shr (PTX ISA 9.1, 9.7.8.8:
amounts are clamped to the width, so `1 << 62` is 0), signed overflow wraps.

>>> evaluate_constant("1ull << 62 | (uint64_t)(1024 >> 4) << 32 | 1 << 16 | 0x100").word == 0x4000004000010100
True
>>> value = evaluate_constant("1 << 62 | 0x100")
>>> value.word, value.warnings[0].code, hex(value.warnings[0].word)
(256, 'shifts_of_32_bits', '0x4000000000000100')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lanescope.bits import format_word
from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, PYTHON, ULONG, IntegerType, find_integer_type
from lanescope.cxx.literals import parse_literal
from lanescope.cxx.precedence import PrecedenceClimber
from lanescope.cxx.sizes import find_size
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

LONGEST = 4096  # characters
DEEPEST = 64  # nested parentheses and conditional operators
ALLOWED = (
    "Allowed: integers, + - * / % << >> & | ^ ~ ! && || ?: comparisons, parentheses, sizeof, casts to integer types."
)


@dataclass(frozen=True, slots=True)
class CompilerNote:
    """Code that compiles but is probably a mistake.

    word: the result of 64-bit arithmetic throughout. code: shifts_of_32_bits (bits were shifted out of a 32-bit value),
    sign_extended (bit 31 of an int was set and copied to bits 32 to 63), overflow_of_32_bits (a sum or product did not
    fit 32 bits).
    """

    code: str
    message: str
    word: int

    @property
    def text(self) -> str:
        """The message with that word."""
        return f"{self.message} In 64-bit arithmetic: {format_word(self.word)}."


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """An expression's value as a uint64_t, its C++ type before the conversion, and the notes."""

    word: int
    type: str
    warnings: tuple[CompilerNote, ...] = ()


_QUALIFIERS = {"const", "volatile", "constexpr", "static", "inline", "__device__", "__constant__", "auto"}

_TOKEN = re.compile(
    r"\s+|/\*.*?\*/|//[^\n]*"
    r"|(?P<number>[0-9][0-9a-zA-Z_']*)|(?P<name>(?:::)?[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<op>\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){},;=])",
    re.S,
)


class _TypedNumber(NamedTuple):
    """A value of a type; wide: the value with 64-bit arithmetic throughout, as if every literal had the suffix ull."""

    value: int
    kind: IntegerType
    wide: int


def evaluate_constant(text: str, field: str = "descriptor") -> ConstantValue:
    """Evaluate a constant expression, or a declaration `constexpr uint64_t desc = …;`, to its 64-bit word.

    LayoutError says what cannot be parsed;
    """
    return _ConstantReader(text, field).evaluate_text()


_WIDE = (1 << 64) - 1


class _ConstantReader(PrecedenceClimber[_TypedNumber]):
    """A parser that computes values while parsing. dead: the depth of operands that C++ does not evaluate."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(DEEPEST)
        self.text, self.field = text, field
        self.events: dict[str, str] = {}
        self.dead = 0
        self.tokens = self._split_tokens()

    def _split_tokens(self) -> list[tuple[str, str]]:
        if len(self.text) > LONGEST:
            raise LayoutError(
                "bad_word", f"The expression has {len(self.text)} characters.", f"At most {LONGEST}.", self.field
            )
        tokens, at = [], 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if not match:
                raise self.make_error(f"'{self.text[at]}' has no meaning here")
            at = match.end()
            if match.lastgroup:
                tokens.append((match.lastgroup, match[0]))
        return tokens

    def make_error(self, why: str) -> LayoutError:
        return LayoutError(
            "bad_word",
            f"'{shorten_value(self.text, 80)}' is not a constant expression of integers: {why}.",
            ALLOWED,
            self.field,
        )

    # grammar

    def evaluate_text(self) -> ConstantValue:
        declared = self._parse_declaration()
        number = self.parse_conditional()
        if self.peek_token() == ";":
            self.take_token()
        if self.peek_token():
            raise self.make_error(f"{self.describe_place()} follows a complete expression")
        if declared:
            number = self._convert(number, declared)
        word = number.value & _WIDE
        notes = (
            [CompilerNote(code, message, number.wide) for code, message in self.events.items()]
            if number.wide != word
            else []
        )
        return ConstantValue(
            word, number.kind.name, tuple(sorted(notes, key=lambda note: list(_MESSAGES).index(note.code)))
        )

    def _parse_declaration(self) -> IntegerType | None:
        """Parse the type in front of `name =`; None if the text is an expression (or the type is auto)."""
        equals = next((n for n, (_, token) in enumerate(self.tokens) if token == "="), None)
        if equals is None:
            return None
        words = [token for kind, token in self.tokens[:equals] if kind == "name"]
        if len(words) != equals or not words:
            raise self.make_error("'=' assigns to no name")
        specifiers = [word for word in words[:-1] if word not in _QUALIFIERS]
        kind = find_integer_type(" ".join(specifiers)) if specifiers else None
        if specifiers and kind is None:
            raise self.make_error(f"'{shorten_value(' '.join(specifiers))}' is not an integer type")
        self.at = equals + 1
        return kind

    def parse_choice(self, condition: _TypedNumber) -> _TypedNumber:
        chosen = condition.value != 0
        arms = []
        for live, closing in ((chosen, ":"), (not chosen, "")):
            self.dead += not live
            arms.append(self.parse_conditional())
            self.dead -= not live
            if closing:
                self.expect_token(closing)
        return self._convert_implicitly(arms[0 if chosen else 1], c_integers.find_arms_type(arms[0].kind, arms[1].kind))

    def parse_right(self, op: str, left: _TypedNumber, least: int) -> _TypedNumber:
        idle = (op == "&&" and not left.value) or (op == "||" and left.value != 0)
        self.dead += bool(idle)
        right = self.parse_binary(least)
        self.dead -= bool(idle)
        return right

    def parse_unary(self) -> _TypedNumber:
        prefixes: list[str | IntegerType] = []
        while True:
            cast = self._parse_cast()
            if cast:
                prefixes.append(cast)
            elif self.peek_token() in ("+", "-", "~", "!"):
                prefixes.append(self.take_token())
            else:
                break
        number = self.parse_primary()
        for prefix in reversed(prefixes):
            number = (
                self._convert(number, prefix) if isinstance(prefix, IntegerType) else self._apply_sign(prefix, number)
            )
        return number

    def parse_primary(self) -> _TypedNumber:
        if self.at >= len(self.tokens):
            raise self.make_error("a value is missing at the end")
        group, token = self.tokens[self.at]
        if token == "(":
            return self.parse_parentheses("(", ")")
        if group == "number":
            self.take_token()
            return self._parse_literal(token)
        if group == "op":
            raise self.make_error(f"'{token}' was found where a value is expected")
        self.take_token()
        if token in ("true", "false"):
            return _TypedNumber(int(token == "true"), BOOL, int(token == "true"))
        if token == "static_cast":
            self.expect_token("<")
            kind = self._parse_type_until(">")
            return self._convert(self.parse_parentheses("(", ")"), kind)
        if token == "sizeof":
            return self._evaluate_sizeof()
        kind_ = find_integer_type(token)
        if kind_ and self.peek_token() in ("(", "{"):
            return self._convert(
                self.parse_parentheses(self.peek_token(), ")" if self.peek_token() == "(" else "}"), kind_
            )
        raise self.make_error(f"'{shorten_value(token)}' is a name without a value")

    # types

    def _parse_cast(self) -> IntegerType | None:
        """Parse a parenthesised type; None if the parentheses contain a value."""
        if self.peek_token() != "(" or self.at + 1 >= len(self.tokens) or self.tokens[self.at + 1][0] != "name":
            return None
        first = self.peek_token(1)
        begins_type = find_integer_type(first) is not None or first in ("const", "volatile")
        if not begins_type or self.peek_token(2) in ("(", "{"):
            return None
        self.take_token()
        return self._parse_type_until(")")

    def _parse_type_until(self, closing: str) -> IntegerType:
        words = []
        while self.peek_token() and self.peek_token() != closing:
            words.append(self.take_token())
        kind = find_integer_type(" ".join(words))
        if kind is None:
            raise self.make_error(f"'{shorten_value(' '.join(words))}' is not an integer type")
        self.expect_token(closing)
        return kind

    def _evaluate_sizeof(self) -> _TypedNumber:
        self.expect_token("(")
        words = []
        while self.peek_token() and self.peek_token() != ")":
            words.append(self.take_token())
        size = find_size(" ".join(words)) if words[-1:] != ["*"] else find_size("uintptr_t")
        if size is None:
            raise self.make_error(f"the size of '{shorten_value(' '.join(words))}' is not known here")
        self.expect_token(")")
        return _TypedNumber(size.bytes, ULONG, size.bytes)

    # values

    def _parse_literal(self, token: str) -> _TypedNumber:
        read = parse_literal(token.replace("_", "'"))
        if read is not None:
            return _TypedNumber(read[0], read[1], read[0])
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)((?:[uU]|[lLzZ])*)", re.sub("['_]", "", token))
        if match and re.fullmatch("0[0-7]*[89][0-9]*", match[1]):
            raise self.make_error(
                f"'{shorten_value(token)}' begins with 0, which means octal in C++, and has a digit above 7"
            )
        if match and parse_literal(f"1{match[2]}") and not re.search("['_]{2}|['_]$", token):
            raise self.make_error(f"'{shorten_value(token)}' does not fit 64 bits")
        raise self.make_error(f"'{shorten_value(token)}' is not an integer")

    def _convert(self, number: _TypedNumber, kind: IntegerType) -> _TypedNumber:
        """Convert explicitly; a conversion to 32 bits or fewer truncates intentionally."""
        value = kind.wrap(number.value)
        return _TypedNumber(value, kind, number.wide if kind.bits >= 64 else value & _WIDE)

    def _convert_implicitly(self, number: _TypedNumber, kind: IntegerType) -> _TypedNumber:
        return _TypedNumber(kind.wrap(number.value), kind, number.wide)

    def _apply_sign(self, op: str, number: _TypedNumber) -> _TypedNumber:
        result = c_integers.compute_unary(op, number.value, number.kind)
        assert result.value is not None
        if op == "!":
            return _TypedNumber(result.value, result.type, result.value)
        return _TypedNumber(result.value, result.type, c_integers.compute_unary(op, number.wide, PYTHON).exact & _WIDE)

    def apply_operator(self, op: str, left: _TypedNumber, right: _TypedNumber) -> _TypedNumber:
        if op in ("<<", ">>"):
            return self._apply_shift(op, left, right)
        result = c_integers.compute_binary(op, left.value, left.kind, right.value, right.kind)
        kind = result.type
        if result.value is None:
            if not self.dead:
                raise self.make_error("it divides by zero" if not right.value else result.undefined)
            return _TypedNumber(0, kind, 0)
        if kind == BOOL:
            return _TypedNumber(result.value, kind, result.value)
        if result.value != result.exact and kind.bits == 32 and (kind.signed or op in ("+", "*")):
            a, b = kind.wrap(left.value), kind.wrap(right.value)
            self._add_note("overflow_of_32_bits", f"{a} {op} {b}")
        if op in ("/", "%"):
            signed = kind.signed and (left.value < 0 or right.value < 0)
            return _TypedNumber(
                result.value, kind, result.value & _WIDE if signed else self._apply_wide(op, left, right)
            )
        return _TypedNumber(result.value, kind, self._apply_wide(op, left, right))

    def _apply_wide(self, op: str, left: _TypedNumber, right: _TypedNumber) -> int:
        """Compute the same operation with 64-bit arithmetic throughout."""
        return (c_integers.compute_binary(op, left.wide, ULONG, right.wide, ULONG).value or 0) & _WIDE

    def _apply_shift(self, op: str, left: _TypedNumber, right: _TypedNumber) -> _TypedNumber:
        count = right.value
        result = c_integers.compute_shift(op, left.value, left.kind, count)
        kind = result.type
        if not 0 <= count < max(kind.bits, 64):
            if not self.dead:
                raise self.make_error(f"a shift by {count} is undefined")
            return _TypedNumber(0, kind, 0)
        value = result.value or 0
        if op == ">>":
            if result.undefined:
                self._add_note("shifts_of_32_bits", f"{left.value} >> {count}")
            wide = left.value >> count if kind.signed and left.value < 0 else left.wide >> count
            return _TypedNumber(value, kind, wide & _WIDE)
        exact = left.value << count
        if kind.bits == 32 and left.value > 0 and value != exact:
            fits = exact >> 32 == 0
            self._add_note("sign_extended" if fits else "shifts_of_32_bits", f"{left.value} << {count}")
        return _TypedNumber(value, kind, left.wide << count & _WIDE)

    def _add_note(self, code: str, what: str) -> None:
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
