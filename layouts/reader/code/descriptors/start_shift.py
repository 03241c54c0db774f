"""Find addresses in a descriptor's start that are unshifted or shifted by an amount other than 4.

An address in shared memory counts bytes; the field counts units of 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.symbolic_integers import FIELD_BITS, FIELD_SHIFT, Span, SymbolBits, SymbolicInt

_SHARED = r"(?:\b__shared__\b|\.shared\b|\balignas\b|\b__align__\b)[^;{{}}]*?(?<![\w.>])"
_SHR = re.compile(r"shr\.\w+\s[^;]*,\s*(\d+)\s*")
_REGISTER = re.compile(r"%\w+")
_MOST_TRACED = 8  # instructions of PTX from a descriptor back to the shift of its address
_LITERAL = re.compile(r"\d+[uUlL]*")
# names of addresses, not of amounts in units of 16 bytes
_ADDRESS = re.compile(r"addr|ptr|smem|shared|shm|base|buf|tile|mem|data|&|(?<![a-z])s[ab](?![a-z])", re.I)
_ENCODED = re.compile(r"desc|enc(?:oded)?(?![a-z])", re.I)  # names of words or fields that are made already
_PART = re.compile(r"\[[^\]]*\]|\d+|(?<![a-z])(?:lo|hi|low|high|x|y)$", re.I)


def find_wrong_shift(text: str, value: SymbolicInt, low: int, spans: Sequence[Span]) -> Iterator[Pitfall]:
    """Yield a pitfall where an address is shifted by an amount other than 4; spans: of the start."""
    piece = min((piece for piece in value.pieces if low <= piece.low < low + FIELD_BITS), default=None, key=_get_low)
    amount = piece.shift - piece.low + low if piece is not None else 0  # of the bits that are not 0 by alignment
    if piece is None or amount <= 0 or amount == FIELD_SHIFT or value.plain is not None:
        return
    if not any(factor == 1 and _is_shared_array(text, name) for name, factor in piece.source.terms):
        return
    message = f"The start address is shifted right by {amount}, not by {FIELD_SHIFT}: the field counts 16 bytes."
    places = [span for span in spans if _is_amount(text, span, amount)]
    places += [shift for span in spans[:1] if (shift := _find_shift(text, span, amount)) is not None]
    for span in places[:1] or spans[:1]:
        yield Pitfall("not_shifted", message, span)


def _is_shared_array(text: str, name: str) -> bool:
    """Return whether a name, or the member at its end, is declared as an array in shared memory."""
    member = name.rpartition(".")[2]
    if not member.isidentifier():
        return False
    return re.search(_SHARED.format() + rf"{member}\s*\[", text) is not None


def _is_amount(text: str, span: Span, amount: int) -> bool:
    """Return whether a number is the amount of a right shift."""
    digits = text[slice(*span)]
    shifts = text[max(0, span[0] - 8) : span[0]].rstrip(" (").endswith((">>", ">>="))
    return shifts and _LITERAL.fullmatch(digits) is not None and int(digits.rstrip("uUlL")) == amount


def _find_shift(text: str, span: Span, amount: int) -> Span | None:
    """Return the amount of the shr in PTX from whose result instructions compute a register, None if there is none."""
    pending = [span]
    for _ in range(_MOST_TRACED):
        if not pending:
            break
        start, past = pending.pop(0)
        match = _SHR.fullmatch(text, start, past)
        if match is not None and int(match[1]) == amount:
            return match.span(1)
        for name in dict.fromkeys(_REGISTER.findall(text, start, past)[1:]):
            written = re.compile(rf"(?<![\w.])[a-z]\w*\.[\w.:]+\s+{re.escape(name)}\s*,[^;]*").finditer(text, 0, start)
            pending += [found.span() for found in written][-1:]
    return None


def find_unshifted_start(value: SymbolicInt, low: int, span: Span) -> Iterator[Pitfall]:
    """Yield a pitfall if the address in the start field at bit `low` is unshifted or a generic pointer."""
    piece = next((piece for piece in value.pieces if piece.low == low), None)
    if piece is None or _is_made_elsewhere(value, piece):
        return
    is_address = any(_ADDRESS.search(name) for name, _ in piece.source.terms)
    if piece.shift == 0 and (_is_masked(value, low) or is_address):
        yield Pitfall("not_shifted", "The start address is not shifted right by 4: the field counts 16 bytes.", span)
    if value.plain is None and _has_wide_start(value, low) and (piece.shift or is_address):
        yield Pitfall(
            "generic_pointer",
            "A 64-bit pointer is neither masked to 18 bits nor turned into a shared-window address: its upper bits"
            " spoil LBO and SBO.",
            span,
        )


def _is_made_elsewhere(value: SymbolicInt, start: SymbolBits) -> bool:
    """Return whether a word is unknown or joined from others, or its start the result of a call or encoded."""
    if (value.plain is not None and value.width > 40) or _is_joined_halves(value):
        return True
    return any("(" in name.replace("sizeof(", "") or _ENCODED.search(name) for name, _ in start.source.terms)


def _is_masked(value: SymbolicInt, low: int) -> bool:
    """Return whether the start is masked like an address."""
    return all(piece.width < 32 for piece in value.pieces if piece.low == low)


def _has_wide_start(value: SymbolicInt, low: int) -> bool:
    """Return whether a word has SBO or a mode, and a start that reaches into them."""
    if not value.const >> 32 and all(piece.low < 32 for piece in value.pieces):
        return False  # any word with a bit set
    return any(piece.low == low and piece.end > 40 for piece in value.pieces)


def _get_low(piece: SymbolBits) -> int:
    return piece.low


def _is_joined_halves(value: SymbolicInt) -> bool:
    """Return whether a word is joined from two words built elsewhere: `v[i] | v[i + 1] << 32` or `lo | hi << 32`."""
    low, *high = sorted(value.pieces, key=lambda piece: piece.low)
    if value.const or low.low or low.shift or not high or any(piece.low < 32 for piece in high):
        return False
    whose, *others = (p.source.terms[0][0] if len(p.source.terms) == 1 else "" for p in (low, *high))
    return bool(whose) and all("?" in name or _PART.sub("", name) == _PART.sub("", whose) for name in others)
