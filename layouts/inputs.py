"""Parse values of users and programs: integers, choices, the keys of an object.

Every value of a caller (query, body, option, address, storage) is parsed here, so that a spelling means the same
number everywhere. Numbers: decimal (also with leading zeros), 0x…, 0b…, `_` or `'` between digits, C's suffixes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any, SupportsIndex

from lanescope.errors import LayoutError

LONGEST_NUMBER = 128  # characters; 64 binary digits with separators fit
LONGEST_KEY = 60
LEAST_ALIKE = 0.6  # least similarity of a misspelled word and the suggested one
LONGEST_TEXT = 4096
LONGEST_RANGES = 400

_DIGITS = {16: r"0[xX][0-9a-fA-F]+(?:[_'][0-9a-fA-F]+)*", 2: r"0[bB][01]+(?:[_'][01]+)*", 10: r"[0-9]+(?:[_'][0-9]+)*"}
SUFFIX = r"(?:[uU]?(?:ll|LL|[lL])|(?:ll|LL|[lL])[uU]|[uU]|[uU]?[zZ]|[zZ][uU])?"
PATTERN = rf"^\s*(?:{'|'.join(_DIGITS.values())}){SUFFIX}\s*$"  # of any number's text, for documents
_SPELLINGS = tuple((base, re.compile(f"({digits}){SUFFIX}")) for base, digits in _DIGITS.items())
_REAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def shorten_value(value: object, most: int = 40) -> str:
    """Return a value as one line of bounded length for a message; only the needed part of a text is read."""
    text = " ".join((value[: 4 * most] if isinstance(value, str) else _format_object(value)).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def quote_value(value: object, most: int = 40) -> str:
    """Return an invalid value quoted for a sentence.

    An absent or null value is "missing"; lists and objects are not quoted.
    """
    if isinstance(value, list | tuple | dict):
        return shorten_value(value, most)
    return "missing" if value is None else f"'{shorten_value(value, most)}'"


def _describe_value(value: object, field: str) -> str:
    """Return a sentence with the invalid value of a field."""
    return f"{get_last_name(field)} is {quote_value(value) if not isinstance(value, str) or value else 'empty'}."


def capitalize_sentence(text: str) -> str:
    """Return a sentence with a capital first letter."""
    return text[:1].upper() + text[1:]


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return words as an enumeration: `a`, `a and b`, `a, b and c`."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun: `1 read`, `1,024 reads`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_object(value: object) -> str:
    """Return a value that is not text; large ones by their kind, since Python refuses to print very long integers."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, int):
        return str(value) if abs(value) >> 128 == 0 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return repr(value)
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else type(value).__name__


def parse_digits(text: str) -> tuple[int, int] | None:
    """Return (value, base) of a number without blanks; None for other text. Length is checked before computing."""
    if len(text) > LONGEST_NUMBER:
        return None
    for base, spelling in _SPELLINGS:
        match = spelling.fullmatch(text)
        if match:
            return int(re.sub(r"[_']", "", match[1])[0 if base == 10 else 2 :], base), base
    return None


def parse_real(text: str) -> tuple[float, bool] | None:
    """Return (value, whether it was written as an integer) of a number; None for other text.

    Accepts a point, an exponent, or any spelling of `parse_digits`.
    """
    integer = parse_digits(text)
    if integer:
        return float(integer[0]), True
    return (float(text), False) if len(text) <= LONGEST_NUMBER and _REAL.fullmatch(text) else None


def parse_integer(value: object, field: str, least: int = 0, most: int | None = None, code: str = "bad_number") -> int:
    """Return an integer from `least` to `most`, given as JSON, NumPy or text. LayoutError names the field.

    >>> parse_integer("0x1_000", "base"), parse_integer("007", "k"), parse_integer("4096ull", "base")
    (4096, 7, 4096)
    """
    number: int | None = None
    if isinstance(value, str):
        read = parse_digits(value.strip()) if len(value) <= 2 * LONGEST_NUMBER else None
        number = read[0] if read else None
    elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
        number = value.__index__()
    if number is None or number < least or (most is not None and number > most):
        limit = f", {least} or more" if most is None else f" from {least} to {most}"
        how = " (decimal, 0x… or 0b…)" if number is None else ""
        raise LayoutError(code, _describe_value(value, field), f"Give an integer{limit}{how}.", field)
    return number


def parse_pair(text: str, field: str, most: tuple[int | None, int | None] = (None, None)) -> tuple[int, int]:
    """Return two integers separated by a comma, each up to its `most`."""
    parts = text.split(",") if len(text) <= 4 * LONGEST_NUMBER else []
    if len(parts) != 2:
        raise LayoutError(
            "bad_number",
            _describe_value(text, field),
            "Give two numbers with a comma, as in 3,2.",
            field,
        )
    return parse_integer(parts[0], field, 0, most[0]), parse_integer(parts[1], field, 0, most[1])


def parse_ranges(text: str, field: str, count: int) -> tuple[tuple[int, int], ...]:
    """Return `0-3,8` as (first, last) pairs of numbers below `count`.

    LayoutError for a range that runs backwards or past the end. An instruction's page also parses such lists in its
    script, as exported pages have no server; a test in tests/browser checks that both agree.

    >>> parse_ranges("0-3, 8", "lanes", 32)
    ((0, 3), (8, 8))
    """
    hint = f"Write numbers from 0 to {count - 1} and ranges, as in 0-3,8."
    ranges = []
    for part in text.split(",") if len(text) <= LONGEST_RANGES else [""]:
        ends = [parse_digits(end.strip()) for end in part.split("-")]
        bounds = [end[0] for end in ends if end]
        if len(bounds) != len(ends) or len(ends) > 2 or not bounds[0] <= bounds[-1] < count:
            raise LayoutError("bad_range", _describe_value(text, field), hint, field)
        ranges.append((bounds[0], bounds[-1]))
    return tuple(ranges)


def get_field_value(request: Mapping[str, Any], name: str, default: Any) -> Any:
    """Return the value of a key; the default if it is missing or blank (as in forms)."""
    value = request.get(name, "")
    return default if isinstance(value, str) and not value.strip() else value


def require_text(value: object, field: str, most: int = LONGEST_TEXT) -> str:
    """Return the value as text; LayoutError for other types and for text beyond the longest legal length."""
    if not isinstance(value, str):
        raise LayoutError(
            "bad_text",
            f"{get_last_name(field)} is {'missing' if value is None else shorten_value(value)}.",
            "Give text.",
            field,
        )
    if len(value) > most:
        raise LayoutError("bad_text", f"{get_last_name(field)} has {len(value)} characters.", f"At most {most}.", field)
    return value


def parse_choice(value: object, field: str, allowed: Collection[str], code: str = "bad_choice") -> str:
    """Return one of several words in its spelling in `allowed`, ignoring case; LayoutError lists them."""
    if isinstance(value, str) and len(value) <= LONGEST_KEY:
        for word in allowed:
            if word.lower() == value.strip().lower():
                return word
    words = ", ".join(filter(None, allowed))
    raise LayoutError(code, _describe_value(value, field), f"Allowed: {words}.", field)


def get_last_name(field: str) -> str:
    """Return the last component of a field's path: mn of storage.mn."""
    return field.rpartition(".")[2]


def check_keys(request: Mapping[Any, Any], allowed: Iterable[str], field: str = "", code: str = "unknown_key") -> None:
    """Raise LayoutError for the first key that is not allowed, with its path and the nearest allowed one."""
    known = tuple(allowed)
    for key in request:
        if key in known:
            continue
        text = shorten_value(key, LONGEST_KEY)
        near = find_nearest_word(text, known)
        where = f"{field} has no key" if field else "There is no key"
        hint = (f"Did you mean '{near}'? " if near else "") + f"Allowed: {', '.join(known)}."
        raise LayoutError(code, f"{where} '{text}'.", hint, f"{field}.{text}" if field else text)


def find_nearest_word(text: str, known: Iterable[str]) -> str:
    """Return the known word that starts with the text, or the most similar one; "" if none is similar."""
    spelled = {word.lower(): word for word in known}
    beginning = text[:LONGEST_KEY].lower()
    begun = [word for word in spelled if len(beginning) > 1 and word.startswith(beginning)]
    matches = begun or get_close_matches(beginning, spelled, 1, LEAST_ALIKE)
    return spelled[matches[0]] if matches else ""


def check_coordinate(at: object, extent: int, hint: str) -> None:
    """Raise LayoutError `bad_coordinate` unless a coordinate is an integer below its axis's extent."""
    if not isinstance(at, Integral) or not 0 <= int(at) < extent:
        message = f"Coordinate '{shorten_value(at)}' is not an integer from 0 to {extent - 1}."
        raise LayoutError("bad_coordinate", message, hint)


def require_object(value: object, field: str, what: str, code: str = "bad_object") -> dict[str, Any]:
    """Return the value if it is an object; LayoutError names the expected form."""
    if not isinstance(value, dict):
        raise LayoutError(
            code, f"{get_last_name(field)} is {'missing' if value is None else shorten_value(value)}.", what, field
        )
    return value
