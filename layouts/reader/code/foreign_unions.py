"""Descriptors in unions that the text does not declare: their members say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG
from lanescope.reader.code import tree
from lanescope.reader.code.header_names import FIELDS_UNION, find_matching_union
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.values import ArrayValue, ObjectValue, OpaqueValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def make_descriptor_object(ev: Evaluator, inner: tree.Expression, name: str, whole: Any, scope: NameScope) -> Any:
    """Return a GmmaDescriptor that the text does not declare, or that a function without a body gives, as an object.

    Its members say what it is. Its bits are symbols.
    """
    if not isinstance(inner, tree.Name):
        return whole
    value = _find_unknown(inner.last, name, whole)
    record = _find_union(ev, name, inner.last, value, scope) if value is not None else None
    if value is None or record is None:
        return whole
    instance = ev.make_instance(record, inner.last)
    if inner.last in ev.frames[-1].symbols or (value.head and value.head != "uninitialised"):
        instance.store.value = make_free(value.text, ULONG)
    if _is_zeroed(whole):
        instance.store.value = SymbolicInt(0, ULONG)
    if isinstance(whole, Cell):
        ev.write_cell(whole, instance)
        return whole
    instance.store.outlive_block()
    cell = ev.find_local_scope(scope).names[inner.last] = Cell(instance, None, inner.last, inner.span, len(ev.frames))
    return cell


def _is_zero_initializer(value: Any) -> bool:
    """Return whether a value of an unknown type is written {} or {0}."""
    if not isinstance(value, ArrayValue):
        return False
    integers = [get_integer(cell.value) for cell in value.cells if not isinstance(cell.value, ObjectValue | ArrayValue)]
    return len(integers) == len(value.cells) and all(cell is not None and cell.known == 0 for cell in integers)


def _is_zeroed(whole: Any) -> bool:
    """Return whether a variable of an unknown type begins with {} or {0}."""
    return (
        isinstance(whole, Cell) and _is_zero_initializer(whole.value) and whole.kind is not None and not whole.kind.dims
    )


def _find_unknown(variable: str, member: str, whole: Any) -> OpaqueValue | None:
    """Return the unknown value of a variable, one of whose members is named; None if something is known of it."""
    if _is_zeroed(whole):
        return OpaqueValue(variable, whole.kind)
    value = whole.value if isinstance(whole, Cell) else whole
    if member == "bitfield" and _is_tcgen05_union(value):
        return OpaqueValue(variable)
    return value if isinstance(value, OpaqueValue) else None


def _find_union(ev: Evaluator, member: str, variable: str, value: OpaqueValue, scope: NameScope) -> RecordType | None:
    """Return the class of an unknown variable that has a member; None if that does not follow."""
    halves, other = member in ("lo", "hi"), member in ev.unions
    kind = ev.find_named_type(FIELDS_UNION if other else "SmemDescriptor" if halves else "GmmaDescriptor", scope)
    if kind is None or kind.record is None or (halves and not _is_descriptor_half(ev, variable)):
        return None
    opened = None if halves else _keep_if_open(value.kind)
    if value.kind is not None and value.kind.name != kind.name and opened is None:
        return None
    ev.foreign[opened.name if opened is not None else variable] = find_matching_union(ev.text) if other else kind.name
    return kind.record


def _keep_if_open(kind: ResolvedType | None) -> ResolvedType | None:
    """Return a type if it is neither an integer nor a class of the text."""
    return kind if kind is not None and kind.record is None and kind.integer is None else None


def _is_descriptor_half(ev: Evaluator, name: str) -> bool:
    """Return whether name.lo is a descriptor's, and in a statement: a printout writes it as well."""
    return "desc" in name.lower() and ";" in ev.text


def _is_tcgen05_union(value: Any) -> bool:
    """Return whether a value is of CUTLASS's tcgen05 union; unions with a member `bitfield` have that name as well."""
    named = isinstance(value, ObjectValue) and value.record.name == "SmemDescriptor"
    return named and "bitfield" not in value.record.members
