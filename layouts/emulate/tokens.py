"""Tokens of PTX, the stream from which the parser takes them, and numbers. PTX ISA 9.1, 4.5."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.emulate.program import Immediate
from lanescope.emulate.types import RegisterType
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+U?)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<name>(?:\.\w|[A-Za-z_$%])[\w$]*(?:::[\w$]+)*)
    |(?P<mark>[{}()\[\],;:@!|<>=+\-*/&^~?.])""",
    re.X | re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token. kind: name, number, string, mark or end."""

    kind: str
    text: str
    line: int


def split_tokens(text: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise make_error(line, f"{quote_value(text[at : at + 12])} is not PTX")
        kind, part = match.lastgroup or "", match.group()
        if kind != "space":
            yield Token(kind, part, line)
        line += part.count("\n")
        at = match.end()
    yield Token("end", "", line)


class TokenStream:
    """The tokens of a text with a current position. Errors name the line."""

    def __init__(self, text: str) -> None:
        self.tokens = list(split_tokens(text))
        self.at = 0

    @property
    def token(self) -> Token:
        """The current token, of kind "end" after the last one."""
        return self.tokens[self.at]

    @property
    def following(self) -> Token:
        """The token after the current one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    @property
    def is_at_end(self) -> bool:
        return self.tokens[self.at].kind == "end"

    def take(self) -> Token:
        """Return the current token and advance."""
        token = self.tokens[self.at]
        if token.kind == "end":
            raise self.refuse("")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        """Advance if the current token has this text; return whether it did."""
        token = self.tokens[self.at]
        if token.text == text and token.kind != "string" and token.kind != "end":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.refuse(f"'{text}' is expected instead of {quote_value(self.token.text)}", self.token)

    def take_integer(self) -> int:
        token = self.take()
        number = parse_number(token) if token.kind == "number" else None
        if number is None or not isinstance(number.value, int) or number.bits:
            raise self.refuse(f"an integer is expected instead of {quote_value(token.text)}")
        return number.value

    def accept_offset(self) -> int:
        """Consume signed numbers, as in +8 or +-8; return their sum, 0 if there are none."""
        offset = 0
        while self.token.text in ("+", "-"):
            sign = -1 if self.take().text == "-" else 1
            while self.accept("-"):
                sign = -sign
            offset += sign * self.take_integer()
        return offset

    def skip_past(self, text: str) -> None:
        """Advance past the next token with this text."""
        while not self.accept(text):
            self.take()

    def skip_line(self) -> None:
        """Advance past a directive that ends with its line."""
        line = self.tokens[self.at - 1].line
        while not self.is_at_end and self.token.line == line:
            self.at += 1

    def refuse(self, message: str, token: Token | None = None) -> LayoutError:
        """Return the LayoutError for a token, by default the last one taken.

        If the text ends there, the error says that it is cut off.
        """
        last = self.tokens[max(0, self.at - 1)]
        if self.is_at_end and last.text not in (";", "}"):
            return make_error(last.line, "The text ends in the middle of a statement")
        return make_error((token or last).line, message or "The text ends where another statement is needed")


def make_error(line: int, message: str) -> LayoutError:
    return LayoutError(
        "not_ptx", f"Line {line}: {message}.", "Give the PTX that nvcc -ptx, NVRTC or Triton wrote.", "ptx"
    )


def parse_number(token: Token) -> Immediate:
    """Return the value of a number token.

    A float is returned as its bits; one in decimal notation as a binary64.
    """
    text = token.text
    if text[:2] in ("0f", "0F"):
        return Immediate(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D"):
        return Immediate(int(text[2:], 16), 64)
    text = text.rstrip("U")
    if text[:2].lower() not in ("0x", "0b") and any(mark in text for mark in ".eE"):
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    if len(text) > 1 and text[0] == "0" and text.isdigit():
        if set(text) & {"8", "9"}:
            raise make_error(token.line, f"{quote_value(text)} begins with 0, so it is octal and has no 8 or 9")
        return Immediate(int(text, 8))
    return Immediate(int(text, 0))


def negate(number: Immediate) -> Immediate:
    """Return a number negated; of a float, given as bits, the sign bit is flipped."""
    if number.bits:
        return Immediate(int(number.value) ^ 1 << number.bits - 1, number.bits)
    return Immediate(-number.value)


def encode_initial(value: Immediate, row: RegisterType) -> bytes:
    """Return the bytes of a number as initial value of a variable of this type."""
    number = value.value
    if value.bits and row.kind == "f" and row.bits != value.bits:
        number = struct.unpack("<f" if value.bits == 32 else "<d", int(number).to_bytes(value.bits // 8, "little"))[0]
        return struct.pack("<f" if row.bits == 32 else "<d", number)
    return (int(number) & ((1 << row.bytes * 8) - 1)).to_bytes(row.bytes, "little")
