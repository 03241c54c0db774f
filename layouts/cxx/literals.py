"""The value and type of C++'s integer and character literals on 64-bit Linux (nvcc, gcc).

ISO C++20: [lex.icon], [lex.ccon].
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lanescope.cxx.integers import (
    CHAR,
    CHAR8,
    CHAR16,
    CHAR32,
    INT,
    LLONG,
    LONG,
    UINT,
    ULLONG,
    ULONG,
    WCHAR,
    IntegerType,
)

_LITERAL = re.compile(
    r"(0[xX](?:[0-9a-fA-F]+')*[0-9a-fA-F]+|0[bB](?:[01]+')*[01]+|(?:[0-9]+')*[0-9]+)"
    r"((?:[uU](?:ll|LL|[lLzZ])?|(?:ll|LL|[lLzZ])[uU]?)?)"
)
_CHARACTER = re.compile(r"(u8|[uUL])?'((?:[^'\\\n]|\\.[^'\n]*?)+)'", re.S)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[^\\]", re.S)
_ESCAPED = {"n": 10, "t": 9, "v": 11, "b": 8, "r": 13, "f": 12, "a": 7, "\\": 92, "?": 63, "'": 39, '"': 34, "e": 27}
_PREFIXED = {"u8": CHAR8, "u": CHAR16, "U": CHAR32, "L": WCHAR}


@lru_cache(maxsize=4096)
def parse_literal(text: str) -> tuple[int, IntegerType] | None:
    """Return the value and type of an integer literal; None for other text, and if no type can hold the value.

    A decimal literal without u that fits only unsigned long has that type, which nvcc accepts with a warning.

    >>> (parse_literal("0x3'FFFFull")[0], parse_literal("4294967296")[1].name,
    ... parse_literal("0xFFFFFFFF")[1].name, parse_literal("08"))
    (262143, 'long', 'unsigned int', None)
    """
    match = _LITERAL.fullmatch(text)
    if match is None or len(text) > 100:
        return None
    digits, suffix = match[1].replace("'", "").lower(), match[2].lower()
    base = {"0x": 16, "0b": 2}.get(digits[:2], 8 if digits[0] == "0" else 10)
    try:
        value = int(digits[2:] if base in (2, 16) else digits, base)
    except ValueError:
        return None
    kind = next((kind for kind in _list_literal_types(suffix, base) if value <= kind.most), None)
    return None if kind is None else (value, kind)


def _list_literal_types(suffix: str, base: int) -> Iterator[IntegerType]:
    """Yield the types that a literal may have, in C++'s order; the last one is nvcc's extension."""
    least = {"l": LONG, "z": LONG, "ll": LLONG}.get(suffix.replace("u", ""), INT).rank
    most = LONG.rank if "z" in suffix else LLONG.rank
    for kind in (INT, UINT, LONG, ULONG, LLONG, ULLONG):
        allowed = not kind.signed if "u" in suffix else kind.signed or base != 10
        if least <= kind.rank <= most and allowed:
            yield kind
    if "z" not in suffix:
        yield ULLONG if least == LLONG.rank else ULONG


def parse_character(text: str) -> tuple[int, IntegerType] | None:
    r"""Return the value and type of a character literal, `'a'`, `'\n'`, `'\x41'`, `u'é'`, `'ab'`; None for other text.

    >>> (parse_character("'a'")[0], parse_character(r"'\x41'")[0], parse_character(r"'\0'")[0],
    ... parse_character("'ab'")[0], parse_character("L'a'")[0])
    (97, 65, 0, 24930, 97)
    """
    match = _CHARACTER.fullmatch(text)
    if match is None:
        return None
    codes = []
    for part in _ESCAPE.findall(match[2]):
        code = _parse_escape(part)
        if code is None:
            return None
        codes.append(code)
    if match[1]:
        kind = _PREFIXED[match[1]]
        return (codes[0], kind) if len(codes) == 1 and codes[0] <= kind.mask else None
    if not codes or len(codes) > 4 or any(code > 0xFF for code in codes) or not match[2].isascii():
        return None  # gcc encodes it as several bytes
    if len(codes) == 1:
        return CHAR.wrap(codes[0]), CHAR
    value = 0
    for code in codes:
        value = value << 8 | code
    return INT.wrap(value), INT


def _parse_escape(part: str) -> int | None:
    if part[0] != "\\":
        return ord(part)
    if part[1] in "xuU" and len(part) > 2:
        return int(part[2:], 16)
    if part[1] in "01234567":
        return int(part[1:], 8)
    return _ESCAPED.get(part[1])
