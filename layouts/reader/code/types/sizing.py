"""Evaluate sizeof and alignof of types, values and parameter packs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import sizes as c_sizes
from lanescope.cxx.integers import ULONG
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import make_size
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.record_measures import measure_record
from lanescope.reader.code.types.static_types import find_declared_type
from lanescope.reader.code.values import ArrayValue, ObjectValue, OpaqueValue, ParameterPack, Pointer, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_sizeof(ev: Evaluator, node: tree.SizeOf, inner: tree.Expression, scope: NameScope) -> SymbolicInt:
    """Evaluate sizeof(inner) or alignof(inner); a symbol if unknown."""
    if node.pack:
        pack = find_name(scope, inner.path[0][0])[0] if isinstance(inner, tree.Name | tree.Type) else None
        return (
            SymbolicInt(len(pack), ULONG)
            if isinstance(pack, ParameterPack)
            else make_free(ev.format_expression(node), ULONG, 16)
        )
    if isinstance(inner, tree.StringLiteral) and "\\" not in inner.value:
        return SymbolicInt(len(inner.value) + 1, ULONG)
    if isinstance(inner, tree.Type):
        item = _find_misread_item(ev, inner, scope)
        if item is not None:
            return evaluate_sizeof(ev, node, item, scope)
    if not isinstance(inner, tree.Type | tree.Name):
        return _get_operand_size(ev, node, inner, scope)
    declared = find_declared_type(ev, inner, scope)
    operand = ev.evaluate_name(inner, scope) if declared is None else declared
    if isinstance(operand, ArrayValue) and operand.typed is None:  # a parameter, which is a pointer
        return make_free(ev.format_expression(node), ULONG, 16)
    return _get_value_size(ev, node, inner, operand)


def _find_misread_item(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> tree.Expression | None:
    """Return the item of sizeof(array[0]), which the grammar reads as a type; None if it is a type."""
    if (
        not type_node.dims
        or type_node.pointers
        or not isinstance(ev.resolve_name(type_node.path, scope, type_node.span[0]), Cell)
    ):
        return None
    value: tree.Expression = tree.Name(type_node.path, span=type_node.span)
    for dim in type_node.dims:
        value = tree.Index(value, (dim if dim is not None else tree.OpaqueExpression(""),), span=type_node.span)
    return value


def _get_operand_size(ev: Evaluator, node: tree.SizeOf, inner: tree.Expression, scope: NameScope) -> SymbolicInt:
    """Return the size of an expression's type."""
    member = isinstance(inner, tree.Member | tree.Index) or (isinstance(inner, tree.Unary) and inner.op in "*&")
    declared = find_declared_type(ev, inner, scope) if member else None
    if declared is not None and (known := get_size(ev, declared, node)).known is not None:
        return known
    operand = _evaluate_and_discard(ev, inner, scope)
    unsure = Pointer if isinstance(inner, tree.Member) else Pointer | SymbolicInt
    if member and isinstance(operand, unsure) and declared is None:
        return make_free(ev.format_expression(node), ULONG, 16)  # an array may be read as a pointer to its first item
    return _get_value_size(ev, node, inner, operand)


def _get_value_size(ev: Evaluator, node: tree.SizeOf, inner: tree.Expression, value: Any) -> SymbolicInt:
    """Return the size of a type, or of the type of a value."""
    kind = _find_measured_type(value)
    if kind is not None:
        return get_size(ev, kind, node)
    if isinstance(value, SymbolicInt) and value.type.bits and value.type != UNKNOWN:
        return SymbolicInt(value.type.size, ULONG)
    if isinstance(value, ArrayValue) and value.typed is None and value.element is not None:
        return symbolic_integers.multiply_ints(get_size(ev, value.element, node), SymbolicInt(len(value.cells), ULONG))
    known = c_sizes.find_size(value.text) if isinstance(value, OpaqueValue) else None
    if known is not None or isinstance(value, Pointer):
        return SymbolicInt(known.bytes if known is not None else 8, ULONG)
    return make_free(f"sizeof({ev.format_expression(inner)})", ULONG, 16)


def _find_measured_type(value: Any) -> ResolvedType | None:
    """Return the type to measure: a type itself, or that of an object or a term; else None."""
    if isinstance(value, ResolvedType):
        return replace(value, reference="")
    if isinstance(value, ObjectValue):
        return ResolvedType(value.record.name, record=value.record, bits=value.record.bits or None)
    return value.kind if isinstance(value, OpaqueValue) else None


def _evaluate_and_discard(ev: Evaluator, inner: tree.Expression, scope: NameScope) -> Any:
    """Evaluate an operand for its type, discarding its effects."""
    values: list[Any] = []
    first = len(ev.temporaries)
    ev.follow_branch(lambda: values.append(ev.evaluate_expression(inner, scope)))
    del ev.temporaries[first:]
    return values[0] if values else OpaqueValue(ev.format_expression(inner))


def get_size(ev: Evaluator, kind: ResolvedType, node: tree.SizeOf) -> SymbolicInt:
    """Return the size or alignment of a type in bytes."""
    if kind.record is None or kind.pointers or kind.record.fields is not None:
        return _get_alignment(kind) if node.align else make_size(kind)
    if kind.dims:
        size = get_size(ev, replace(kind, dims=()), node)
        for dim in kind.dims if not node.align else ():
            size = symbolic_integers.multiply_ints(size, dim)
        return size
    layout = measure_record(ev, kind.record)
    known = layout.align if node.align else layout.size
    return SymbolicInt(known, ULONG) if known is not None else make_free(ev.format_expression(node), ULONG, 16)


def _get_alignment(kind: ResolvedType) -> SymbolicInt:
    """Return the alignment of a type that is not a struct of other members than integers."""
    if kind.pointers:
        return SymbolicInt(8, ULONG)
    if kind.integer is not None:
        return SymbolicInt(kind.integer.size, ULONG)
    if kind.record is not None and kind.record.fields is not None:
        return SymbolicInt(kind.record.align // 8, ULONG)
    size = c_sizes.find_size(kind.name) if kind.record is None and not kind.arguments else None
    return SymbolicInt(size.align, ULONG) if size is not None else make_free(f"alignof({kind})", ULONG, 16)
