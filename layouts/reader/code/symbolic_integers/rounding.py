"""Recognize how code rounds an address up without a mask: p % 1024 ? p + 1024 - p % 1024 : p."""

from __future__ import annotations

import re

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code.symbolic_integers.bits import and_ints
from lanescope.reader.code.symbolic_integers.integer import (
    SymbolicInt,
    get_modular_linear,
    int_from_linear,
    join_assumptions,
)
from lanescope.reader.code.symbolic_integers.linear import LinearExpression, make_symbol

_PADDING = re.compile(r"\((\d{1,9}) - \((.+) & (0x[0-9a-f]{1,8})\)\)")  # up to the next multiple: (1024 - (p & 0x3ff))


def round_up(condition: str, yes: SymbolicInt, no: SymbolicInt) -> SymbolicInt | None:
    """Return the value of a choice that rounds up to a multiple of a power of two, or that is the padding up to it;
    None for another one.
    """
    if " & 0x" not in condition:
        return None
    if condition.endswith(" == 0"):
        yes, no = no, yes
    least, most = (get_modular_linear(value) or value.make_linear() for value in (no, yes))
    padding = _find_padding(most + least.scale(-1))
    if padding is None:
        return None
    name, step = padding
    rest = f"{name} & {step - 1:#x}"
    value = _find_rounded(name, least)
    if value is None or condition not in (rest, f"({rest}) != 0", f"({rest}) > 0", f"({rest}) == 0"):
        return None
    rounded = _round(value, step, yes.type)
    if least != value:  # the padding alone
        rounded = int_from_linear(least + rounded.make_linear() + value.scale(-1), yes.type)
    return SymbolicInt(rounded.const, yes.type, rounded.pieces, assumed=join_assumptions(yes, no, rounded))


def pad_up(value: SymbolicInt, step: int) -> SymbolicInt | None:
    """Return value % step of the padding of a variable p up to a multiple of step, (step - p % step) % step; None for
    another value.
    """
    padding = _find_padding(value.make_linear())
    if padding is None or padding[1] != step or not padding[0].isidentifier():
        return None
    padded = make_symbol(padding[0])
    return int_from_linear(_round(padded, step, value.type).make_linear() + padded.scale(-1), value.type)


def mask_int(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left & right; right may cut the padding of a variable as `%` does."""
    padding = pad_up(left, right.const + 1) if right.known is not None else None
    return padding if padding is not None else and_ints(left, right)


def _find_padding(gap: LinearExpression) -> tuple[str, int] | None:
    """Return (name of what is padded, the power of two) of a padding that is not 0; None for another value."""
    name = gap.terms[0][0] if len(gap.terms) == 1 else ""
    padding = _PADDING.fullmatch(name) if gap == make_symbol(name) else None
    if padding is None:
        return None
    step, mask = int(padding[1]), int(padding[3], 16)
    return (padding[2], step) if step == mask + 1 and not step & mask else None


def _find_rounded(name: str, least: LinearExpression) -> LinearExpression | None:
    """Return the value with a name: the choice's own, or a variable."""
    if name in (str(least), f"({least})"):
        return least
    return make_symbol(name) if name.isidentifier() else None


def _round(value: LinearExpression, step: int, kind: IntegerType) -> SymbolicInt:
    """Return a value rounded up to a multiple of a power of two."""
    return and_ints(int_from_linear(value + LinearExpression(step - 1), kind), SymbolicInt(kind.wrap(-step), kind))
