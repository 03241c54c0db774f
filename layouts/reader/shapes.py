"""CuTe's shapes, strides, layouts and tilers inside C++ and Python, as CuTe text; symbols keep their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.cute import algebra, tuples
from lanescope.cute import layout as cute
from lanescope.cute.words import LAYOUTS, LEFT, RIGHT, SWIZZLES, TUPLES, UNDERSCORES
from lanescope.errors import LayoutError
from lanescope.reader.terms import Term, Text

Nested = Any  # an int, the name of a symbol, or a tuple of Nested


def nested(text: Text, value: Any, deep: int = 0) -> Nested:
    """Ints and symbols, nested as a shape or stride nests them; None where a value is neither."""
    value = text.meant(value)
    if deep > cute.DEEPEST:
        return None
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
    elif isinstance(value, Term) and value.name in TUPLES:
        items = value.inside
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

    @property
    def known(self) -> bool:
        """Whether no symbol stands in it, and its stride is known."""
        return self.stride is not None and not symbols(self.shape, self.stride)

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


_DIRECTIONS: Mapping[str, Callable[[Nested], Nested]] = {
    **dict.fromkeys(LEFT, compact),
    **dict.fromkeys(RIGHT, _rightmost),
}


def layout(text: Text, value: Any) -> Laid | None:
    """Layout<Shape, Stride>, make_layout(…), cute.make_layout((…), stride=(…)), a bare shape; None for any other."""
    value = text.meant(value)
    if isinstance(value, Term) and value.name in LAYOUTS:
        given = [text.meant(one) for one in value.inside]
        if not given:
            return None
        shape = nested(text, given[0])
        stride = given[1] if len(given) > 1 else text.meant(value.at(9, "stride", "order"))
        if value.name == "make_ordered_layout" and not _is_direction(stride):
            return Laid(shape, _ordered(shape, nested(text, stride)))
        return Laid(shape, _stride(text, shape, stride))
    if isinstance(value, tuple | int) or (isinstance(value, Term) and value.name in TUPLES):
        shape = nested(text, value)
        return Laid(shape, _stride(text, shape, None))
    return None


def _is_direction(stride: Any) -> bool:
    """Whether strides are compact from the left or the right: LayoutLeft, LayoutRight, none at all."""
    return stride is None or (isinstance(stride, Term) and stride.name in _DIRECTIONS)


def _stride(text: Text, shape: Nested, stride: Any) -> Nested:
    """The strides that a layout is given, compact ones without any; None where the shape leaves them open."""
    if not _is_direction(stride):
        return nested(text, stride)
    if symbols(shape):
        return None
    return compact(shape) if stride is None else _DIRECTIONS[stride.name](shape)


def _ordered(shape: Nested, order: Nested) -> Nested:
    """The compact strides of a shape in an order of its modes; None where either is open."""
    known = isinstance(order, tuple) and all(isinstance(one, int) for one in order)
    return compact(shape, order) if known and not symbols(shape) else None


@dataclass(frozen=True, slots=True)
class Composed:
    """swizzle o middle o layout. numbers: of the swizzle, None for one that is open; middle: what stands between them,
    None where nothing does; flagged: whether that is smem_ptr_flag_bits, and unit_bits its number; open: the words of
    the swizzle's numbers that are open.
    """

    swizzle: Term
    numbers: tuple[int | None, ...]
    middle: Any
    flagged: bool
    unit_bits: int | None
    inner: Laid
    open: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether nothing in it is open but the offset in the middle."""
        return not self.open and self.inner.known and not (self.flagged and self.unit_bits is None)


def composed(text: Text, parts: Sequence[Any]) -> Composed | None:
    """The parts of composition(Swizzle<3,3,3>{}, Layout<…>{}) or ComposedLayout<Swizzle<3,4,3>, …, Layout<…>>; None
    where they are no swizzle and layout.
    """
    first, *middle, last = (text.meant(one) for one in parts)
    if not isinstance(first, Term) or first.name not in SWIZZLES:
        return None
    inner = layout(text, last)
    if inner is None:
        return None
    between = middle[0] if middle else None
    flag = between if isinstance(between, Term) and between.name == "smem_ptr_flag_bits" else None
    unit_bits = text.number(flag.angle[0]) if flag and flag.angle else None
    numbers = tuple(text.number(one) for one in first.inside)
    open_ = tuple(text.words(one) for one, number in zip(first.inside, numbers, strict=True) if number is None)
    return Composed(first, numbers, between, flag is not None, unit_bits, inner, open_)


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
    if not laid.known or not tuples.congruent(laid.shape, laid.stride):
        return size(laid.shape)
    try:
        return algebra.covered(cute.CuteLayout(laid.shape, laid.stride))
    except LayoutError:
        return size(laid.shape)


def tiler(text: Text, value: Any) -> tuple[str | None, list[Any]]:
    """(CuTe Tile text, None where every mode is whole; the size of each mode: int, symbol or None for whole)."""
    value = text.meant(value)
    if isinstance(value, Term) and value.name in TUPLES:
        items: tuple[Any, ...] = value.inside
    elif isinstance(value, tuple):
        items = value
    else:
        return None, []
    words: list[str] = []
    sizes: list[Any] = []
    for one in items:
        one = text.meant(one)
        if one is None or (isinstance(one, Term) and one.name in UNDERSCORES):
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
