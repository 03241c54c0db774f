"""Initialize variables: by default, or with a braced list. ISO C++20: [dcl.init]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, ULONG
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.maps.map_objects import is_map_type, make_map_array, make_map_value
from lanescope.reader.code.naming.name_resolution import expand_pack
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.braced_objects import make_braced_object
from lanescope.reader.code.objects.member_initialization import (
    MOST_ITEMS,
    link_inner_arrays,
    make_initial_object,
    make_initialized,
    zero_value,
)
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ArrayValue, ObjectValue, OpaqueValue, Pointer, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_CELLS = 64  # items of an array without an initializer that is evaluated item by item
_INTEGRAL = re.compile(r"_(\d+)$")


def make_default(ev: Evaluator, kind: ResolvedType | None, name: str) -> Any:
    """Make the value of a variable without an initializer."""
    if kind is None:
        return OpaqueValue(name)
    if kind.dims:
        return _make_default_array(ev, kind, name)
    if kind.record is not None and not kind.pointers:
        return make_initialized(ev, kind.record, name)
    if kind.integer is not None and not kind.pointers:
        return OpaqueValue(name, kind, head="uninitialised")
    return ev.make_symbolic_value(kind, name)


def _make_default_array(ev: Evaluator, kind: ResolvedType, name: str) -> Any:
    """Make an array without an initializer, or a pointer if its items are not evaluated."""
    element = replace(kind, dims=kind.dims[1:], reference="")
    size = kind.dims[0].known
    followed = kind.record is not None or (kind.integer is not None and not kind.pointers) or is_map_type(element)
    if size is not None and 0 < size <= MOST_CELLS and followed:
        cells = [Cell(ev.make_default(element, f"{name}[{n}]"), element, f"{name}[{n}]") for n in range(size)]
        return link_inner_arrays(ArrayValue(cells, element, name))
    item_type = replace(kind, dims=(), reference="")
    return Pointer(make_symbol(name), item_type, kind.dims[1:])


def construct_value(ev: Evaluator, kind: ResolvedType | None, arguments: list[Any], at: tree.SyntaxNode) -> Any:
    """Evaluate T(a, b) and T x(a, b)."""
    if kind is None:
        return OpaqueValue("")
    if kind.record is None or kind.pointers:
        return _construct_non_class(ev, kind, arguments, at)
    only = getattr(arguments[0], "value", arguments[0]) if len(arguments) == 1 else None
    if not isinstance(only, ObjectValue) or only.record is not kind.record:
        return ev.construct_object(ev.make_instance(kind.record, ""), arguments)
    if only.record.copies and only.stored:
        return ev.copy_construct(only, ev.make_constructor_argument(arguments[0]))
    return ev.copy_assigned(only) if only.stored else only


def _construct_non_class(ev: Evaluator, kind: ResolvedType, arguments: list[Any], at: tree.SyntaxNode) -> Any:
    """Construct a value of a type that is not a class of the text."""
    if kind.integer is not None or kind.pointers:
        return ev.convert_to_kind(arguments[0], kind, at.span) if arguments else SymbolicInt(0, kind.integer or ULONG)
    constant = _get_static_integer(kind)
    if constant is not None:
        return constant
    if is_map_type(kind):
        return make_map_value(arguments[:1], kind, "")
    if kind.name.rpartition("::")[2] == "vector" and kind.arguments and is_map_type(kind.arguments[0]):
        count = get_integer(arguments[0]) if len(arguments) == 1 else None
        if count is not None and count.known is not None and 0 < count.known <= MOST_CELLS:
            return make_map_array(count.known, kind.arguments[0], kind)
    return ArrayValue([Cell(value) for value in arguments], None, "", kind)


def _get_static_integer(kind: ResolvedType) -> SymbolicInt | None:
    """Return the value of a static integer: _64{}, Int<64>{}, C<64>{}, integral_constant<int, 64>{}; else None."""
    match = _INTEGRAL.fullmatch(kind.name)
    if match:
        return SymbolicInt(int(match[1]), INT)
    if kind.name in ("Int", "C", "constant", "integral_constant", "Number") and kind.arguments:
        return get_integer(kind.arguments[-1])
    return None


def evaluate_initializer(
    ev: Evaluator, expression: tree.Expression, kind: ResolvedType | None, scope: NameScope, name: str
) -> Any:
    """Evaluate an initializer, which may be a braced list."""
    if not isinstance(expression, tree.ItemList):
        return ev.evaluate_expression(expression, scope)
    if expression.type is not None:  # auto x = T{…}
        kind = ev.resolve_type(expression.type, scope)
    if kind is not None and kind.record is not None and not kind.dims and not kind.pointers and not ev.python:
        return make_braced_object(ev, expression, kind.record, scope, name)
    if kind is not None and kind.dims:
        return _make_braced_array(ev, expression, kind, scope, name)
    items = [(key, ev.evaluate_expression(value, scope), value.span) for key, value in expression.items[:MOST_ITEMS]]
    if kind is None:
        return ArrayValue([Cell(value, None, f"{name}[{n}]") for n, (_, value, _) in enumerate(items)], None, name)
    return _evaluate_braced_value(ev, kind, items, name)


def _evaluate_braced_value(ev: Evaluator, kind: ResolvedType, items: list[tuple[str, Any, Span]], name: str) -> Any:
    """Make a value from a braced list, of a type that is neither an array nor, in C++, a class of the text."""
    if kind.record is not None:
        return ev.construct_object(ev.make_instance(kind.record, name), [value for _, value, _ in items])
    if kind.integer is not None or kind.pointers:
        return ev.convert_to_kind(items[0][1], kind, items[0][2]) if items else SymbolicInt(0, kind.integer or ULONG)
    constant = _get_static_integer(kind)
    if constant is not None and not items:
        return constant
    if is_map_type(kind):
        return make_map_value([value for _, value, _ in items[:1]], kind, name)
    return _make_library_array(ev, kind, items, name)


def _make_library_array(ev: Evaluator, kind: ResolvedType, items: list[tuple[str, Any, Span]], name: str) -> ArrayValue:
    """Evaluate std::array<T, n>{…}, with zeros after its items, or another library type."""
    element = kind.arguments[0] if _is_element(kind) else None
    size = get_integer(kind.arguments[1]) if element is not None and len(kind.arguments) > 1 else None
    cells = [
        Cell(ev.convert_to_kind(v, k, s) if k else v, k)
        for k, (_, v, s) in _pair_items_with_kinds(kind, element, items)
    ]
    if len(items) == 1 and isinstance(items[0][1], ArrayValue) and size is not None:
        cells = [Cell(ev.copy_assigned(c.value), element) for c in items[0][1].cells]
    if element is not None:
        _nest_arrays(ev, cells, element)
        if size is not None and size.known is not None and kind.name.endswith("array"):
            while len(cells) < min(size.known, MOST_ITEMS):
                cells.append(Cell(zero_value(ev, element), element))
    return link_inner_arrays(ArrayValue(cells, element, name, kind))


def _nest_arrays(ev: Evaluator, cells: list[Cell], element: ResolvedType) -> None:
    """Convert the braced items of std::array<std::array<T, m>, n> to arrays."""
    if not element.name.endswith("array") or not element.arguments or element.pointers or element.dims:
        return
    for cell in cells:
        if isinstance(cell.value, ArrayValue) and cell.value.typed is None:
            inner = [("", inner_cell.value, (0, 0)) for inner_cell in cell.value.cells]
            cell.value = _make_library_array(ev, element, inner, "")


def _pair_items_with_kinds(
    kind: ResolvedType, element: ResolvedType | None, items: list[Any]
) -> Iterator[tuple[ResolvedType | None, Any]]:
    """Pair the items of a braced list with their types: those of a pair or tuple, else the element type."""
    types: list[ResolvedType | None] = [element] * len(items)
    if kind.name.rpartition("::")[2] in ("pair", "tuple") and len(kind.arguments) == len(items):
        types = [argument if isinstance(argument, ResolvedType) else None for argument in kind.arguments]
    return zip(types, items, strict=True)


def _make_braced_array(ev: Evaluator, node: tree.ItemList, kind: ResolvedType, scope: NameScope, name: str) -> Any:
    """Evaluate T name[n] = {…}, with zeros after its items."""
    element = replace(kind, dims=kind.dims[1:], reference="", const=False)
    values = [value for _, value in node.items]
    if len(values) == 1 and isinstance(values[0], tree.StringLiteral) and element.integer is not None:
        return make_text_array(values[0].value, kind, name)
    if not _is_supported_list(node, element):
        return OpaqueValue(name or "{…}")
    cells = _evaluate_cells(ev, values, element, scope, name)
    if cells is None:
        ev.forget_all(scope)
        return OpaqueValue(name or "{…}")
    while len(cells) < min(kind.dims[0].known or 0, MOST_ITEMS):
        cells.append(Cell(zero_value(ev, element), element, f"{name}[{len(cells)}]"))
    return link_inner_arrays(ArrayValue(cells, element, name))


def _is_supported_list(node: tree.ItemList, element: ResolvedType) -> bool:
    """Return whether a braced list is in order, not too long, and has no elided braces."""
    if any(key for key, _ in node.items) or len(node.items) > MOST_ITEMS:
        return False
    return not element.dims or all(
        isinstance(value, tree.ItemList) for _, value in node.items
    )  # else braces are elided


def _holds_objects(element: ResolvedType) -> bool:
    """Return whether the items of an array are objects."""
    return element.record is not None and not element.pointers


def _evaluate_items(
    ev: Evaluator, value: tree.Expression, element: ResolvedType, scope: NameScope, name: str
) -> list[Any] | None:
    """Evaluate one expression of a braced list to its items, several for a pack; None if unsupported."""
    if isinstance(value, tree.Unary) and value.op == "...":
        return [ev.convert_to_kind(v, element, value.span) for v in expand_pack(ev, value.value, scope)]
    if not _holds_objects(element) or isinstance(value, tree.ItemList):
        return [ev.convert_to_kind(ev.evaluate_initializer(value, element, scope, name), element, value.span)]
    object_value = ev.evaluate_expression(value, scope)
    if not isinstance(object_value, ObjectValue) or object_value.record is not element.record:
        return None
    return [ev.copy_assigned(make_initial_object(ev, object_value, value, scope))]


def _evaluate_cells(
    ev: Evaluator, values: list[tree.Expression], element: ResolvedType, scope: NameScope, name: str
) -> list[Cell] | None:
    """Evaluate the items of an array; None if they construct objects in an unsupported way."""
    cells: list[Cell] = []
    for n, value in enumerate(values):
        items = _evaluate_items(ev, value, element, scope, f"{name}[{n}]")
        if items is None:
            return None
        cells += [Cell(v, element, f"{name}[{len(cells) + k}]") for k, v in enumerate(items)]
    lacking = _holds_objects(element) and any(not isinstance(c.value, ObjectValue) for c in cells)
    return None if lacking else cells


def make_text_array(text: str, kind: ResolvedType, name: str) -> Any:
    """Make the array of char name[] = "text"."""
    element = replace(kind, dims=(), reference="", const=False)
    if "\\" in text or len(kind.dims) != 1 or element.integer is None or element.integer.bits != 8:
        return OpaqueValue(name or "{…}")
    codes = [ord(letter) for letter in text] + [0]
    size = kind.dims[0].known or len(codes)
    codes += [0] * (min(size, MOST_ITEMS) - len(codes))
    character = element.integer
    return ArrayValue(
        [Cell(SymbolicInt(character.wrap(c), character), element, f"{name}[{n}]") for n, c in enumerate(codes)],
        element,
        name,
    )


def _is_element(kind: ResolvedType) -> bool:
    """Return whether the first template argument of a type is its element type."""
    return (
        kind.name.rpartition("::")[2] in ("array", "vector", "initializer_list", "Array")
        and bool(kind.arguments)
        and isinstance(kind.arguments[0], ResolvedType)
    )
