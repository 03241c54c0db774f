"""Start addresses of descriptors as expressions in the text's names, and words for values of these names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from lanescope.bits import BitField
from lanescope.ptx.table.descriptors import START
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt

_BUFFER = re.compile(r"smem|shared|ptr|addr|buf|tile|(?<![a-z])s[A-Z]", re.I)
_DESC = re.compile(r"desc", re.I)


def get_start_address(value: SymbolicInt, field: BitField = START) -> tuple[LinearExpression | None, bool]:
    """Return (byte address in a descriptor's start field, whether it was shifted right by 4).

    The address is None if the start field is not a single expression, or holds a value whose unit is not known: an
    item of an array, or what a loop has left.
    """
    inside = [p for p in value.pieces if p.low < field.width]
    if not inside:
        return LinearExpression(field.get(value.const) * field.unit), True
    start = inside[0]
    if len(inside) > 1 or start.low or field.get(value.const):
        return None, True
    if start.shift == 4:
        return start.source, True
    if start.shift:
        return None, True
    encoded = any("(" in name.replace("sizeof(", "") or _DESC.search(name) for name, _ in start.source.terms)
    if encoded:
        return start.source.scale(16), True
    lost = any("'" in name or "[" in name for name, _ in start.source.terms)
    return (None, True) if lost else (start.source, False)


def list_start_names(value: SymbolicInt) -> tuple[str, ...]:
    """Return the names in a descriptor's start address, those that look like a buffer first."""
    line, _ = get_start_address(value)
    return _order_names(line.terms) if line is not None else ("",)


@lru_cache(maxsize=1024)
def _order_names(terms: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Return the names of a sum, those that look like a buffer first."""
    ordered = sorted(terms, key=lambda term: (term[1] != 1, not _BUFFER.search(term[0])))
    return tuple(name for name, _ in ordered) or ("",)


def evaluate_word(value: SymbolicInt, symbols: Mapping[str, int]) -> int | None:
    """Return the word for values of its symbols; None if one is missing."""
    word = value.const
    for piece in value.pieces:
        at = evaluate_linear(piece.source, symbols)
        if at is None:
            return None
        word |= (at >> piece.shift & (1 << piece.width) - 1) << piece.low
    return word & (1 << 64) - 1


def evaluate_linear(line: LinearExpression, symbols: Mapping[str, int]) -> int | None:
    """Evaluate a linear expression for values of its symbols; None if one is missing."""
    total = line.const
    for name, factor in line.terms:
        if name not in symbols:
            return None
        total += factor * symbols[name]
    return total
