"""CuTe's shapes, strides, layouts and tilers inside C++ and Python, as CuTe text; symbols keep their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.cute import algebra, tuples
from lanescope.cute import layout as cute
from lanescope.errors import LayoutError
from lanescope.reader.terms import Term, Text

_TUPLES = frozenset(
    "Shape Stride tuple Coord Step Tile make_shape make_stride make_coord make_tuple make_step make_tile Tuple".split()
)
_WHOLE = frozenset(("_", "Underscore", "None", "X"))
Nested = Any  # an int, the name of a symbol, or a tuple of Nested


def nested(text: Text, value: Any, deep: int = 0) -> Nested:
    """Ints and symbols, nested as a shape or stride nests them; None where a value is neither."""
    value = text.meant(value)
    if deep > cute.DEEPEST:
        return None
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
    elif isinstance(value, Term) and value.name in _TUPLES:
        items = (*(value.angle or ()), *(value.args or ()))
    else:
        return text.spelled(value) if value is not None else None
    return tuple(nested(text, one, deep + 1) for one in items)


def spelled(value: Nested) -> str:
    """`(8,(2,kN))`."""
    return f"({','.join(map(spelled, value))})" if isinstance(value, tuple) else str(value)


def leaves(value: Nested) -> list[Any]:
    return [one for item in value for one in leaves(item)] if isinstance(value, tuple) else [value]


def symbols(*values: Nested) -> list[str]:
    """The symbols in some shapes, each once."""
    return list(dict.fromkeys(str(one) for value in values for one in leaves(value) if not isinstance(one, int)))


def size(value: Nested) -> int | None:
    """The product of a shape; None where a symbol stands in it."""
    found = leaves(value)
    return prod(found) if all(isinstance(one, int) for one in found) else None


@dataclass(frozen=True, slots=True)
class Laid:
    """A layout: its shape and stride; None for a stride that is not known."""

    shape: Nested
    stride: Nested

    def __str__(self) -> str:
        return spelled(self.shape) + (f":{spelled(self.stride)}" if self.stride is not None else "")


def compact(shape: Nested, order: tuple[int, ...] | None = None) -> Nested:
    """The strides of a layout without gaps, the first mode fastest (CuTe's LayoutLeft), or in an order of modes."""
    if isinstance(shape, tuple) and order is not None and len(order) == len(shape):
        out: list[Nested] = [None] * len(shape)
        step = 1
        for mode in sorted(range(len(shape)), key=lambda m: order[m]):
            out[mode] = _scaled(compact(shape[mode]), step)
            step *= size(shape[mode]) or 1
        return tuple(out)
    flat, step = [], 1
    for one in leaves(shape):
        flat.append(step)
        step *= one if isinstance(one, int) else 1
    return _like(shape, iter(flat))


def _scaled(value: Nested, by: int) -> Nested:
    return tuple(_scaled(one, by) for one in value) if isinstance(value, tuple) else value * by


def _like(shape: Nested, flat: Any) -> Nested:
    return tuple(_like(one, flat) for one in shape) if isinstance(shape, tuple) else next(flat)


def _rightmost(shape: Nested) -> Nested:
    count = len(shape) if isinstance(shape, tuple) else 1
    return compact(shape, tuple(range(count))[::-1])


def layout(text: Text, value: Any) -> Laid | None:
    """Layout<Shape, Stride>, make_layout(…), cute.make_layout((…), stride=(…)), a bare shape; None for any other."""
    value = text.meant(value)
    if isinstance(value, Term) and value.name in ("Layout", "make_layout", "make_ordered_layout"):
        given = [text.meant(one) for one in (*(value.angle or ()), *(value.args or ()))]
        if not given:
            return None
        shape = nested(text, given[0])
        stride = given[1] if len(given) > 1 else value.at(9, "stride", "order")
        by_order = value.name == "make_ordered_layout"
    elif isinstance(value, tuple | int) or (isinstance(value, Term) and value.name in _TUPLES):
        shape, stride, by_order = nested(text, value), None, False
    else:
        return None
    whole = not symbols(shape)
    if stride is None:
        return Laid(shape, compact(shape) if whole else None)
    stride = text.meant(stride)
    if isinstance(stride, Term) and stride.name in ("LayoutRight", "GenRowMajor"):
        return Laid(shape, _rightmost(shape) if whole else None)
    if isinstance(stride, Term) and stride.name in ("LayoutLeft", "GenColMajor"):
        return Laid(shape, compact(shape) if whole else None)
    found = nested(text, stride)
    if by_order:
        order = tuple(one for one in found) if isinstance(found, tuple) else None
        ints = order is not None and all(isinstance(one, int) for one in order)
        return Laid(shape, compact(shape, order) if whole and ints else None)
    return Laid(shape, found)


def printed(words: str) -> Laid | None:
    """A layout as print() gives it; `32:1` and plain sizes too."""
    words = words.strip()
    try:
        found = cute.parse(words if ":" in words else f"{words}:{_zeros(words)}")
    except LayoutError:
        return None
    return Laid(found.shape, found.stride if ":" in words else compact(found.shape))


def _zeros(words: str) -> str:
    return re.sub(r"_?\d+", "0", words)


def covered(laid: Laid) -> int | None:
    """What a tile's mode with this permutation needs at the least, its gaps included; None where a symbol stands in it.
    One that CuTe would not take counts its elements.
    """
    if laid.stride is None or symbols(laid.shape, laid.stride) or not tuples.congruent(laid.shape, laid.stride):
        return size(laid.shape)
    try:
        return algebra.covered(cute.CuteLayout(laid.shape, laid.stride))
    except LayoutError:
        return size(laid.shape)


def tiler(text: Text, value: Any) -> tuple[str | None, list[Any]]:
    """(CuTe Tile text, None where every mode is whole; the size of each mode: int, symbol or None for whole)."""
    value = text.meant(value)
    if isinstance(value, Term) and value.name in _TUPLES:
        items: tuple[Any, ...] = (*(value.angle or ()), *(value.args or ()))
    elif isinstance(value, tuple):
        items = value
    else:
        return None, []
    words: list[str] = []
    sizes: list[Any] = []
    for one in items:
        one = text.meant(one)
        if one is None or (isinstance(one, Term) and one.name in _WHOLE):
            words.append("_")
            sizes.append(None)
            continue
        laid = layout(text, one) if isinstance(one, Term) and "ayout" in one.name else None
        if laid:
            words.append(str(laid))
            sizes.append(covered(laid) or str(laid))
        else:
            words.append(str(text.spelled(one)))
            sizes.append(text.spelled(one))
    return (None, sizes) if set(words) <= {"_"} else (f"({','.join(words)})", sizes)


def printed_tiler(words: str) -> tuple[str | None, list[Any]]:
    """A tiler as print() gives it: (_32,_32,_16), (_,_,_), (32:1,32:1,16:1), (_32,(_8,_2):(_1,_16),_16)."""
    words = re.sub(r"\s|_(?=\d)", "", words)
    if not (words.startswith("(") and words.endswith(")")):
        return None, []
    parts, deep, part = [], 0, ""
    for letter in words[1:-1]:
        deep += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and deep == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    out: list[str] = []
    sizes: list[Any] = []
    for one in (*parts, part):
        if one in ("_", "*", "None", ""):
            out.append("_")
            sizes.append(None)
        elif match := re.fullmatch(r"(\d+)(?::1)?", one):
            out.append(match[1])
            sizes.append(int(match[1]))
        else:
            laid = printed(one)
            out.append(one)
            sizes.append(covered(laid) if laid else None)
    return (None, sizes) if set(out) <= {"_"} else (f"({','.join(out)})", sizes)
