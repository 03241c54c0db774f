"""Parse a 64-bit word: digits, two halves, or a constant C++ expression.

- hex with or without 0x, 0b… binary, 0d… decimal; `_`, `'`, a backtick or blanks between digits, C's suffixes. Digits
  alone are hex up to 16 of them; 17 to 20 decimal digits can only be decimal, 64 digits 0 and 1 only binary.
- `hi:lo`, two halves of up to 8 hex digits; `{lo, hi}` as PTX and debuggers print a pair of registers, x and y or lo
  and hi named or not.
- a constant expression or declaration of C++: lanescope.cxx.expression.

Text that could mean two numbers is an error that shows both.
"""

from __future__ import annotations

import re

from lanescope.cxx.expression import LONGEST, ConstantValue, evaluate_constant
from lanescope.errors import LayoutError
from lanescope.inputs import LONGEST_NUMBER, SUFFIX, parse_digits, quote_value, shorten_value

_BETWEEN = r"(?:[_'`]|\s+)?"
_HEX = re.compile(rf"(0[xX])?([0-9a-fA-F](?:{_BETWEEN}[0-9a-fA-F])*)({SUFFIX})")
_BINARY = re.compile(rf"0[bB]([01](?:{_BETWEEN}[01])*){SUFFIX}")
_BITS = re.compile(rf"([01](?:{_BETWEEN}[01]){{63}})")
_DECIMAL = re.compile(rf"0[dD]([0-9](?:{_BETWEEN}[0-9])*)")
_COLON = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,8})\s*:\s*(?:0[xX])?([0-9a-fA-F]{1,8})")
_BRACES = re.compile(r"(?:make_uint2\s*\(|\{)\s*(?:(\w+)\s*=\s*)?(\w+)\s*,\s*(?:(\w+)\s*=\s*)?(\w+)\s*[})]")
_TWO = re.compile(r"[({\[]?\s*0[xX][0-9a-fA-F]{1,8}\s*[,;\s]\s*0[xX][0-9a-fA-F]{1,8}\s*[)}\]]?")
_HALVES = {
    ("", ""): 0,
    ("x", "y"): 0,
    ("lo", "hi"): 0,
    ("hi", "lo"): 1,
    ("y", "x"): 1,
}  # names of the pair → position of the low half
_OPERATORS = re.compile(r"[<>|&^~!?+*/%={}();]|(?<=\S)\s*-")
HINT = "Write up to 16 hex digits (0x…), 0b…, 0d… for decimal, hi:lo, {lo, hi}, or a constant C++ expression."


def parse_word(value: object, field: str = "descriptor") -> ConstantValue:
    """Parse a 64-bit word. LayoutError explains what is wrong, or which numbers the text may mean.

    The result's `warnings` are those of an expression. An integer is returned unchanged.

    >>> hex(parse_word("{0x00010100, 0x40000040}").word), hex(parse_word("40000040:00010100").word)
    ('0x4000004000010100', '0x4000004000010100')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return ConstantValue(_require_64_bits(value, shorten_value(value), field), "unsigned long")
    if not isinstance(value, str):
        raise LayoutError("bad_word", f"{field} is {quote_value(value)}.", HINT, field)
    if len(value) > LONGEST:
        raise LayoutError("bad_word", f"{field} has {len(value)} characters.", f"At most {LONGEST}.", field)
    text = value.strip()
    pair = _parse_pair(text, field)
    if pair is not None:
        return ConstantValue(pair, "unsigned long")
    if _OPERATORS.search(text.removesuffix(";")):
        return evaluate_constant(text, field)
    return ConstantValue(_parse_digits(text.removesuffix(";").rstrip(), field, text.endswith(";")), "unsigned long")


def _parse_digits(text: str, field: str, statement: bool) -> int:
    """Return the value of digits with separators. statement: a semicolon followed, as in C++."""
    if text.startswith("-"):
        raise LayoutError("bad_word", f"'{shorten_value(text, 80)}' is negative.", HINT, field)
    if len(text) > 2 * LONGEST_NUMBER:
        raise LayoutError("bad_word", f"{field} has {len(text)} characters.", HINT, field)
    for spelling, base in ((_BINARY, 2), (_BITS, 2), (_DECIMAL, 10)):
        match = spelling.fullmatch(text)
        if match:
            return _require_64_bits(int(_strip_separators(match[1]), base), text, field)
    match = _HEX.fullmatch(text)
    if not match or (not match[1] and text[:2].lower() == "0d"):
        raise LayoutError("bad_word", f"'{shorten_value(text, 80)}' is not a number.", HINT, field)
    clean, only_decimal = _strip_separators(match[2]), not match[1] and _strip_separators(match[2]).isdecimal()
    if only_decimal and len(clean) > 16 and clean[0] != "0":
        return _require_64_bits(int(clean), text, field)
    if only_decimal and (match[3] or statement):
        raise LayoutError(
            "bad_word",
            f"'{shorten_value(text, 80)}' is decimal in C++, but digits without 0x are hexadecimal here.",
            f"Write 0x{clean} or 0d{clean}.",
            field,
        )
    return _require_64_bits(int(clean, 16), text, field)


def _strip_separators(text: str) -> str:
    return re.sub(r"[\s_'`]", "", text)


def _require_64_bits(value: int, text: str, field: str) -> int:
    if value < 0:
        raise LayoutError("bad_word", f"'{shorten_value(text, 80)}' is negative.", HINT, field)
    if value >> 64:
        raise LayoutError(
            "bad_word", f"'{shorten_value(text, 80)}' has {value.bit_length()} bits, more than 64.", HINT, field
        )
    return value


def _parse_pair(text: str, field: str) -> int | None:
    """Return the value of two 32-bit halves; None if the text is not a pair of numbers."""
    match = _COLON.fullmatch(text)
    if match:
        return int(match[1], 16) << 32 | int(match[2], 16)
    match = _BRACES.fullmatch(text)
    if not match:
        if _TWO.fullmatch(text):
            raise LayoutError(
                "bad_word",
                f"'{shorten_value(text, 80)}' does not show which word is the high one.",
                "Write hi:lo, or {lo, hi} as PTX does.",
                field,
            )
        return None
    names = (match[1] or "").lower(), (match[3] or "").lower()
    if names not in _HALVES:
        raise LayoutError(
            "bad_word",
            f"'{shorten_value(text, 80)}' does not name a low and a high word.",
            "Write {lo, hi}, {x = lo, y = hi} or hi:lo.",
            field,
        )
    halves = [_parse_half(match[2], text, field), _parse_half(match[4], text, field)]
    low = _HALVES[names]
    return halves[1 - low] << 32 | halves[low]


def _parse_half(token: str, text: str, field: str) -> int:
    read = parse_digits(token)
    if read is None and re.fullmatch(r"[0-9a-fA-F]{1,8}", token):
        read = int(token, 16), 16
    elif read and read[1] == 10 and read[0] > 9:
        raise LayoutError(
            "bad_word",
            f"'{token}' in '{shorten_value(text, 80)}' could be decimal or hexadecimal.",
            f"Write 0x{token} or {read[0]:#x}.",
            field,
        )
    if read is None or read[0] >> 32:
        raise LayoutError(
            "bad_word", f"'{shorten_value(token)}' in '{shorten_value(text, 80)}' is not a 32-bit word.", HINT, field
        )
    return read[0]
