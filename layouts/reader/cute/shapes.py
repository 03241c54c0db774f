"""Parse CuTe's shapes, strides, layouts and tilers in C++ and Python; symbols keep their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.cute import algebra, layout as cute, text as cute_text, tuples
from lanescope.cute.tuples import format_tuple, list_leaves, make_compact_strides, make_row_major_strides
from lanescope.cute.words import LAYOUTS, LEFT, RIGHT, TUPLES, UNDERSCORES
from lanescope.errors import LayoutError
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

Nested = Any  # an int, a symbol's name, or a tuple of Nested


def parse_nested(text: TermText, value: Any, depth: int = 0) -> Nested:
    """Parse integers and symbols, nested as in a shape or stride; None for other values."""
    value = text.resolve_value(value)
    if depth > cute.DEEPEST:
        return None
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
    elif isinstance(value, SyntaxTerm) and value.name in TUPLES:
        items = value.inside
    else:
        return text.get_number_or_words(value) if value is not None else None
    return tuple(parse_nested(text, item, depth + 1) for item in items)


def list_symbols(*values: Nested) -> list[str]:
    """Return the symbols in the shapes, without repeats."""
    return list(
        dict.fromkeys(str(leaf) for value in values for leaf in list_leaves(value) if not isinstance(leaf, int))
    )


def compute_size(value: Nested) -> int | None:
    """Compute the product of a shape; None if it contains a symbol."""
    leaves = list_leaves(value)
    return prod(leaves) if all(isinstance(leaf, int) for leaf in leaves) else None


@dataclass(frozen=True, slots=True)
class SymbolicLayout:
    """A layout: its shape, and its stride (None if unknown)."""

    shape: Nested
    stride: Nested

    @property
    def rank(self) -> int:
        """The number of modes; 1 for a single size."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def known(self) -> bool:
        """Whether it contains no symbol and its stride is known."""
        return self.stride is not None and not list_symbols(self.shape, self.stride)

    def __str__(self) -> str:
        return format_tuple(self.shape) + (f":{format_tuple(self.stride)}" if self.stride is not None else "")


_DIRECTIONS: Mapping[str, Callable[[Nested], Nested]] = {
    **dict.fromkeys(LEFT, make_compact_strides),
    **dict.fromkeys(RIGHT, make_row_major_strides),
}


def parse_layout(text: TermText, value: Any) -> SymbolicLayout | None:
    """Parse Layout<Shape, Stride>, make_layout(…), cute.make_layout((…), stride=(…)) or a bare shape.

    None for other values.
    """
    value = text.resolve_value(value)
    if isinstance(value, SyntaxTerm) and value.name in LAYOUTS:
        arguments = [text.resolve_value(argument) for argument in value.inside]
        if not arguments:
            return None
        shape = parse_nested(text, arguments[0])
        stride = arguments[1] if len(arguments) > 1 else text.resolve_value(value.get_argument(9, "stride", "order"))
        if value.name == "make_ordered_layout" and not _is_direction(stride):
            return SymbolicLayout(shape, _make_ordered_layout(shape, parse_nested(text, stride)))
        return SymbolicLayout(shape, _parse_stride(text, shape, stride))
    if isinstance(value, tuple | int) or (isinstance(value, SyntaxTerm) and value.name in TUPLES):
        shape = parse_nested(text, value)
        return SymbolicLayout(shape, _parse_stride(text, shape, None))
    return None


def _is_direction(stride: Any) -> bool:
    """Return whether strides are LayoutLeft, LayoutRight or omitted, and so compact."""
    return stride is None or (isinstance(stride, SyntaxTerm) and stride.name in _DIRECTIONS)


def _parse_stride(text: TermText, shape: Nested, stride: Any) -> Nested:
    """Return the strides of a layout, compact ones by default; None if the shape does not determine them."""
    if not _is_direction(stride):
        return parse_nested(text, stride)
    if list_symbols(shape):
        return None
    return make_compact_strides(shape) if stride is None else _DIRECTIONS[stride.name](shape)


def _make_ordered_layout(shape: Nested, order: Nested) -> Nested:
    """Return the layout with compact strides in an order of the modes; None if shape or order is unknown."""
    known = isinstance(order, tuple) and all(isinstance(mode, int) for mode in order) and not list_symbols(shape)
    if not known or not isinstance(shape, tuple) or len(shape) != len(order):
        return None
    return algebra.make_ordered_layout(shape, order).stride


def parse_printed_layout(words: str) -> SymbolicLayout | None:
    """Parse a printed layout, also `32:1` and plain sizes."""
    try:
        layout = cute_text.parse_cute_layout(words)
    except LayoutError:
        return None
    return SymbolicLayout(layout.shape, layout.stride)


def compute_covered_size(layout: SymbolicLayout) -> int | None:
    """Return the least size of a tile's mode with this permutation, gaps included; None if it contains a symbol.

    For a permutation that CuTe rejects, this is its number of elements.
    """
    if not layout.known or not tuples.is_congruent(layout.shape, layout.stride):
        return compute_size(layout.shape)
    try:
        return algebra.get_covered_size(cute.CuteLayout(layout.shape, layout.stride))
    except LayoutError:
        return compute_size(layout.shape)


def parse_tiler(text: TermText, value: Any) -> tuple[str | None, list[Any]]:
    """Parse a tiler; return its CuTe Tile text (None if it tiles no mode) and the size of each mode.

    A size is an int, a symbol, or None for the complete mode.
    """
    value = text.resolve_value(value)
    if isinstance(value, SyntaxTerm) and value.name in TUPLES:
        items: tuple[Any, ...] = value.inside
    elif isinstance(value, tuple):
        items = value
    else:
        return None, []
    words: list[str] = []
    sizes: list[Any] = []
    for mode in items:
        mode = text.resolve_value(mode)
        if mode is None or (isinstance(mode, SyntaxTerm) and mode.name in UNDERSCORES):
            words.append("_")
            sizes.append(None)
            continue
        layout = parse_layout(text, mode) if isinstance(mode, SyntaxTerm) and "ayout" in mode.name else None
        if layout:
            words.append(str(layout))
            sizes.append(compute_covered_size(layout) or str(layout))
        else:
            words.append(str(text.get_number_or_words(mode)))
            sizes.append(text.get_number_or_words(mode))
    return (None, sizes) if set(words) <= {"_"} else (f"({','.join(words)})", sizes)


def parse_printed_tiler(words: str) -> tuple[str | None, list[Any]]:
    """Parse a printed tiler: (_32,_32,_16), (_,_,_), (32:1,32:1,16:1), (_32,(_8,_2):(_1,_16),_16)."""
    try:
        tiler = cute_text.parse_tiler(words.replace("*", "_"))
    except LayoutError:
        return None, []
    modes = [
        mode.shape if isinstance(mode, cute.CuteLayout) and mode.stride == 1 else mode
        for mode in (tiler if isinstance(tiler, tuple) else ())
    ]
    sizes = [_get_tiler_size(mode) for mode in modes]
    return (algebra.format_tiler(tuple(modes)) if any(mode is not None for mode in modes) else None), sizes


def _get_tiler_size(mode: algebra.Tiler) -> int | None:
    if isinstance(mode, cute.CuteLayout):
        return compute_covered_size(SymbolicLayout(mode.shape, mode.stride))
    return compute_size(mode) if mode is not None else None
