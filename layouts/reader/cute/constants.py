"""Evaluate constants of CuTe code whose arguments are known.

These are get, size, shape and select of tuples and layouts, members such as Shape_MNK, conditionals, comparisons,
sizeof, and Python subscripts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanescope.cute.algebra import strip_swizzle
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves
from lanescope.cute.words import TUPLES
from lanescope.cxx.integers import COMPARED
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader.cute import shapes
from lanescope.reader.grammars.grammar import SyntaxTerm, Value
from lanescope.reader.grammars.terms import REDUCERS, TermText

_THREADS = {  # cutlass/cutlass.h
    "NumThreadsPerWarp": 32,
    "NumThreadsPerQuad": 4,
    "NumThreadsPerQuadPair": 8,
    "NumThreadsPerHalfWarp": 16,
    "NumThreadsPerWarpGroup": 128,
    "NumWarpsPerWarpGroup": 4,
}


def parse_items(home: TermText, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a tuple, or of a Shape or Tile; None for other values."""
    value = home.resolve_value(value)
    if isinstance(value, SyntaxTerm):
        return value.inside if value.name in TUPLES else None
    return value if isinstance(value, tuple) else None


# parsers of other values with a shape: tensors (`tensors.py`)
SHAPES: list[Callable[[TermText, Value], Any]] = []


def parse_shape(home: TermText, value: Value) -> Any:
    """Return the nested shape of a tuple, a layout, a tensor or a number, with symbols; None for other values."""
    shape = parse_plain_shape(home, value)
    if shape is None:
        shape = next((found for parse in SHAPES if (found := parse(home, value)) is not None), None)
    return shape


def parse_plain_shape(home: TermText, value: Value) -> Any:
    """Return the nested shape of a tuple, a layout or a number; None for other values."""
    found = _parse_layout_or_shape(home, value)
    return found.shape if isinstance(found, CuteLayout) else found


def _parse_layout_or_shape(home: TermText, value: Value) -> Any:
    try:
        found = shapes.evaluate_term(home, value)
    except (OpenCuteValueError, LayoutError):
        return None
    return found if isinstance(found, CuteLayout | tuple | int) else None


def _reduce_get(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate get<0>(Shape<_16,_8>{}) and get<1,0>(…)."""
    path, args = [home.parse_number(argument) for argument in term.angle or ()], term.args or ()
    value = args[0] if path and len(args) == 1 else None
    for at in path:
        items = parse_items(home, value)
        if items is None or at is None or not 0 <= at < len(items):
            return None
        value = items[at]
    return value


def _reduce_shape(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate shape(…), shape<0>(…), and Python's layout.shape."""
    if not (home.python and term.owner is not None and term.args is None):
        return _reduce_call(home, term)
    shape = parse_shape(home, term.owner)
    return shape if _is_known(shape) else None


def _reduce_call(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate a function of shapes and layouts that are known."""
    result = _call(home, term, [_parse_shaped(home, argument) for argument in term.args or ()])
    return result if _is_known(result) else None


def _reduce_modes(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate select, take, append and prepend of a tuple, whose items may be unknown."""
    args = term.args or ()
    return _call(home, term, [parse_items(home, args[0]), *args[1:]]) if args else None


def _call(home: TermText, term: SyntaxTerm, values: list[Value]) -> Value:
    """Apply a function of modes, chosen in <…> (C++) or by mode=[…] (Python); None if it is not defined."""
    mode = home.resolve_value(term.keywords.get("mode"))
    chosen = (mode if isinstance(mode, tuple) else (mode,)) if "mode" in term.keywords else term.angle or ()
    places = [place for item in chosen if (place := home.parse_number(item)) is not None]
    if None in values or len(places) < len(chosen):
        return None
    try:
        return call_function(term.name, values, places)
    except OpenCuteValueError:
        return None


def _parse_shaped(home: TermText, value: Value) -> Any:
    """Return a layout if it is known, else the shape of a value; None for other values."""
    layout = _parse_layout_or_shape(home, value)
    known = isinstance(layout, CuteLayout) and layout.known
    return strip_swizzle(layout) if known else parse_shape(home, value)


def _is_known(shape: Any) -> bool:
    return shape is not None and all(isinstance(leaf, int) for leaf in list_leaves(shape))


def _reduce_variable(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate size_v<Shape>, rank_v<Layout> and cosize_v<Layout>."""
    return _reduce_call(home, SyntaxTerm(term.name.removesuffix("_v"), args=term.angle))


def _reduce_least(home: TermText, term: SyntaxTerm) -> Value:
    numbers = [home.parse_number(argument) for argument in term.args or ()]
    if len(numbers) < 2 or None in numbers:
        return None
    return (min if term.name == "min" else max)(number for number in numbers if number is not None)


def _reduce_choice(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate a ? b : c."""
    args = term.args or ()
    return _choose(home, args) if len(args) == 3 else None


def _reduce_conditional(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate std::conditional_t<a, b, c>."""
    return _choose(home, term.angle or ()) if len(term.angle or ()) == 3 else None


def _choose(home: TermText, parts: tuple[Value, ...]) -> Value:
    condition = parse_condition(home, parts[0])
    return None if condition is None else parts[1] if condition else parts[2]


def parse_condition(home: TermText, value: Value, depth: int = 0) -> bool | None:
    """Return whether a condition is true; None if unknown."""
    value = home.resolve_value(value)
    if isinstance(value, SyntaxTerm) and value.name.lower() in ("true", "false"):
        return value.name.lower() == "true"
    if isinstance(value, SyntaxTerm) and value.path == "!" and value.args and depth < 16:
        inner = parse_condition(home, value.args[0], depth + 1)
        return None if inner is None else not inner
    number = home.parse_number(value)
    return None if number is None else number != 0


def _reduce_logic(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate a && b and a || b, which one known side may decide."""
    sides = [parse_condition(home, argument) for argument in term.args or ()]
    decides = term.path == "||"
    if decides in sides:
        return int(decides)
    return None if None in sides else int(not decides)


def _reduce_comparison(home: TermText, term: SyntaxTerm) -> Value:
    numbers = [home.parse_number(argument) for argument in term.args or ()]
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
        return None
    return int(COMPARED[term.path](numbers[0], numbers[1]))


def _reduce_same_type(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate std::is_same_v<A, B> and is_same<A, B>::value of element types."""
    value = term.owner if term.name == "value" else term
    angle = value.angle if isinstance(value, SyntaxTerm) else None
    if not angle or len(angle) != 2:
        return None
    names = [home.find_name(argument) for argument in angle]
    kinds = [_ELEMENTS.get(name, "") for name in names]
    return int(kinds[0] == kinds[1]) if all(kinds) else None


_ELEMENTS = {  # types of cutlass/numeric_types.h, all different
    name: name
    for name in (
        "half_t bfloat16_t tfloat32_t float double float_e4m3_t float_e5m2_t int8_t uint8_t int uint4b_t int4b_t"
    ).split()
} | {"__half": "__half", "int32_t": "int", "half": "__half", "__nv_bfloat16": "__nv_bfloat16"}


def _reduce_sizeof(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate sizeof(T), sizeof_bits_v<T> and sizeof_bits<T>::value."""
    value = term.owner if term.name == "value" else term
    if not isinstance(value, SyntaxTerm) or len(value.inside) != 1:
        return None
    bits = find_element_bits(home.find_name(value.inside[0]))
    if not bits:
        return None
    return bits if value.name != "sizeof" else max(bits // 8, 1)


def _reduce_value(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate X::value of a constant's type, sizeof_bits or is_same."""
    owner = term.owner
    if not isinstance(owner, SyntaxTerm):
        return owner if isinstance(owner, int) else None
    if owner.name in ("sizeof_bits", "is_same"):
        return REDUCERS[owner.name](home, term)
    return home.parse_number(owner)


def _reduce_width(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate dtype.width of the DSL's element types."""
    name = home.find_name(term.owner) if home.python and term.owner is not None else ""
    return find_element_bits(name) or None


def _reduce_subscript(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate x[0] of a tuple."""
    args = term.args or ()
    items = parse_items(home, args[0]) if len(args) == 2 else None
    at = home.parse_number(args[1]) if items is not None else None
    if items is None or at is None or not -len(items) <= at < len(items):
        return None
    return items[at]


def _reduce_static(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate CUTE_STATIC_V(x), x as a constant."""
    return home.parse_number(next(iter(term.args or ()), None))


def _reduce_warp(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate cute.arch.WARP_SIZE."""
    return 32 if isinstance(term.owner, SyntaxTerm) and term.owner.name == "arch" else None


def _reduce_threads(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate cutlass::NumThreadsPerWarp."""
    owner = term.owner
    return _THREADS[term.name] if isinstance(owner, SyntaxTerm) and owner.name == "cutlass" else None


REDUCERS.update(
    {
        **dict.fromkeys(MODE_FUNCTIONS, _reduce_call),
        **dict.fromkeys(("select", "take", "append", "prepend"), _reduce_modes),
        "get": _reduce_get,
        **dict.fromkeys(("size_v", "rank_v", "cosize_v"), _reduce_variable),
        "shape": _reduce_shape,
        **dict.fromkeys(("min", "max"), _reduce_least),
        "?": _reduce_choice,
        **dict.fromkeys(("conditional_t", "conditional"), _reduce_conditional),
        **dict.fromkeys(("&&", "||"), _reduce_logic),
        **dict.fromkeys(COMPARED, _reduce_comparison),
        **dict.fromkeys(("is_same_v", "is_same"), _reduce_same_type),
        **dict.fromkeys(("sizeof", "sizeof_bits_v", "sizeof_bits"), _reduce_sizeof),
        "value": _reduce_value,
        "width": _reduce_width,
        "[]": _reduce_subscript,
        **dict.fromkeys(_THREADS, _reduce_threads),
        "CUTE_STATIC_V": _reduce_static,
        "WARP_SIZE": _reduce_warp,
    }
)
