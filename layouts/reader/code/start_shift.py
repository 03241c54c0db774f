"""An address that is shifted by another number than 4 on its way into a descriptor's start.

What begins with the name of an array in shared memory is a number of bytes; the field counts 16 of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.symbolic_integers import FIELD_SHIFT, Span, SymbolicInt

_SHARED = r"(?:\b__shared__\b|\balignas\b|\b__align__\b)[^;{{}}]*?(?<![\w.>])"
_SHR = re.compile(r"(?<![\w.])shr\.\w+\s[^;]*,\s*(\d+)\s*;")
_LITERAL = re.compile(r"\d+[uUlL]*")


def find_wrong_shift(text: str, value: SymbolicInt, low: int, spans: Sequence[Span]) -> Iterator[Pitfall]:
    """Yield the place at which an address is shifted by another number than 4; spans: where the start came from."""
    piece = next((p for p in value.pieces if p.low == low), None)
    if piece is None or piece.shift in (0, FIELD_SHIFT) or value.plain is not None:
        return
    if not any(factor == 1 and _is_shared_array(text, name) for name, factor in piece.source.terms):
        return
    message = f"The start address is shifted right by {piece.shift}, not by {FIELD_SHIFT}: the field counts 16 bytes."
    places = [span for span in spans if _is_amount(text, span, piece.shift)]
    places += [match.span(1) for span in spans for match in _SHR.finditer(text, *span) if int(match[1]) == piece.shift]
    for span in places[:1] or spans[:1]:
        yield Pitfall("not_shifted", message, span)


def _is_shared_array(text: str, name: str) -> bool:
    """Return whether a name, or the member that it ends in, is declared as an array of shared memory."""
    member = name.rpartition(".")[2]
    if not member.isidentifier():
        return False
    return re.search(_SHARED.format() + rf"{member}\s*\[", text) is not None


def _is_amount(text: str, span: Span, amount: int) -> bool:
    """Return whether a number is how far something is shifted right."""
    digits = text[slice(*span)]
    shifts = text[max(0, span[0] - 8) : span[0]].rstrip(" (").endswith((">>", ">>="))
    return shifts and _LITERAL.fullmatch(digits) is not None and int(digits.rstrip("uUlL")) == amount
