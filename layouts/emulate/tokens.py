"""The tokens of a PTX text, and its numbers. PTX ISA 9.1, 4.5."""

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
    kind: str
    text: str
    line: int


def split_tokens(text: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise make_error(line, f"{quote_value(text[at : at + 12])} is not PTX")
        kind, part = found.lastgroup or "", found.group()
        if kind != "space":
            yield Token(kind, part, line)
        line += part.count("\n")
        at = found.end()
    yield Token("end", "", line)


def make_error(line: int, message: str) -> LayoutError:
    return LayoutError(
        "not_ptx", f"Line {line}: {message}.", "Give the PTX that nvcc -ptx, NVRTC or Triton wrote.", "ptx"
    )


def parse_number(token: Token) -> Immediate:
    text = token.text
    if text[:2] in ("0f", "0F"):
        return Immediate(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D"):
        return Immediate(int(text[2:], 16), 64)
    text = text.rstrip("U")
    if text[:2].lower() not in ("0x", "0b") and any(mark in text for mark in ".eE"):
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    if len(text) > 1 and text[0] == "0" and text.isdigit():
        return Immediate(int(text, 8))
    return Immediate(int(text, 0))


def encode_initial(value: Immediate, row: RegisterType) -> bytes:
    number = value.value
    if value.bits and row.kind == "f" and row.bits != value.bits:
        number = struct.unpack("<f" if value.bits == 32 else "<d", int(number).to_bytes(value.bits // 8, "little"))[0]
        return struct.pack("<f" if row.bits == 32 else "<d", number)
    return (int(number) & ((1 << row.bytes * 8) - 1)).to_bytes(row.bytes, "little")
