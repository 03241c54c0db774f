"""Parse a tile in shared memory from one line of text: `128x64 bf16 K 128B base=0x400`, or a CuTe layout.

Size (M or N × K), element type and major are words; the swizzle mode is `none` by default; base, order, swizzle_by and
element_bits are `name=value`.
"""

from __future__ import annotations

import re
from typing import Any

from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits, require_text, shorten_value
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table.descriptors import FORMATS

HINT = "Write size, type, major and swizzle: 128x64 bf16 K-major 128B base=0x400; or a CuTe layout of (mn, k)."
_SIZE = re.compile(r"(\d{1,6})[x×](\d{1,6})")
MAJORS = {"k": "K", "mn": "MN", "k-major": "K", "mn-major": "MN", "m-major": "MN", "n-major": "MN"}
_MODES = {name.lower(): name for form in FORMATS for name in form.names}
_PAIRS = {"base": True, "element_bits": True, "order": False, "swizzle_by": False, "swizzle": False}  # is a number


def parse_tile_text(text: str) -> dict[str, Any]:
    """Parse a line as a storage of kind canonical or cute; LayoutError `bad_tile` names the invalid word.

    >>> parse_tile_text("128x64 bf16 K 128B base=0x400") == {"kind": "canonical", "mn": 128, "k": 64,
    ...     "element_bits": 16, "major": "K", "swizzle": "128B", "base": 1024}
    True
    """
    text = require_text(text, "tile", 4096).strip()
    if ":" in text and "(" in text:
        base = re.search(r"\s+base=(\S+)$", text)
        layout = text[: base.start()] if base else text
        return {"kind": "cute", "layout": layout} | ({"base": _parse_number("base", base[1])} if base else {})
    spec: dict[str, Any] = {"kind": "canonical"}
    for word in re.sub(r"\s*([x×=])\s*", r"\1", text).split():
        for name, value in _parse_word(word).items():
            if name in spec:
                raise LayoutError("bad_tile", f"'{shorten_value(word)}' gives {name} a second time.", HINT, "tile")
            spec[name] = value
    missing = [name for name in ("mn", "element_bits", "major") if name not in spec]
    if missing:
        label = {"mn": "size", "element_bits": "element type", "major": "major"}[missing[0]]
        raise LayoutError("bad_tile", f"'{shorten_value(text)}' has no {label}.", HINT, "tile")
    return spec


def _parse_word(word: str) -> dict[str, Any]:
    """Return the fields that one word of a tile gives."""
    low = word.lower()
    if size := _SIZE.fullmatch(low):
        return {"mn": int(size[1]), "k": int(size[2])}
    if low in MAJORS:
        return {"major": MAJORS[low]}
    if low in _MODES:
        return {"swizzle": _MODES[low]}
    name, equals, value = low.partition("=")
    if equals:
        if name not in _PAIRS:
            raise LayoutError(
                "bad_tile", f"No option '{shorten_value(name)}'.", f"Allowed: {', '.join(_PAIRS)}.", "tile"
            )
        return {name: _parse_number(name, value) if _PAIRS[name] else _MODES.get(value, value)}
    try:
        return {"element_bits": get_dtype(low).bits}
    except LayoutError:
        raise LayoutError("bad_tile", f"'{shorten_value(word)}' is not part of a tile.", HINT, "tile") from None


def _parse_number(name: str, text: str) -> int:
    number = parse_digits(text)
    if number is None:
        raise LayoutError("bad_tile", f"{name} is '{shorten_value(text)}'.", "A number: 1024 or 0x400.", "tile")
    return number[0]
