"""Make objects of descriptor unions that the text does not declare, recognised by their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG
from lanescope.reader.code.expression.assignments import find_local_scope
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import is_other_descriptor_name
from lanescope.reader.code.naming.header_names import FIELDS_UNION, find_matching_union
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.type_resolution import find_named_type
from lanescope.reader.code.values import ArrayValue, ObjectValue, OpaqueValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def make_descriptor_object(ev: Evaluator, inner: tree.Expression, name: str, owner: Any, scope: NameScope) -> Any:
    """Make the object of an undeclared descriptor, or of one that a bodiless function returns; its bits are symbols.

    Return the owner unchanged if the member does not identify a descriptor.
    """
    if not isinstance(inner, tree.Name):
        return owner
    value = _find_unknown(inner.last, name, owner)
    record = _find_union(ev, name, inner.last, value, scope) if value is not None else None
    if value is None or record is None:
        return owner
    instance = ev.make_instance(record, inner.last)
    if inner.last in ev.frames[-1].symbols or (value.head and value.head != "uninitialised"):
        instance.store.value = make_free(value.text, ULONG)
    if _is_zeroed(owner):
        instance.store.value = SymbolicInt(0, ULONG)
    if isinstance(owner, Cell):
        ev.write_cell(owner, instance)
        return owner
    instance.store.outlive_block()
    cell = find_local_scope(scope).names[inner.last] = Cell(instance, None, inner.last, inner.span, len(ev.frames))
    return cell


def _is_zero_initializer(value: Any) -> bool:
    """Return whether a value of unknown type is {} or {0}."""
    if not isinstance(value, ArrayValue):
        return False
    integers = [get_integer(cell.value) for cell in value.cells if not isinstance(cell.value, ObjectValue | ArrayValue)]
    return len(integers) == len(value.cells) and all(cell is not None and cell.known == 0 for cell in integers)


def _is_zeroed(owner: Any) -> bool:
    """Return whether a variable of unknown type is initialized with {} or {0}."""
    return (
        isinstance(owner, Cell) and _is_zero_initializer(owner.value) and owner.kind is not None and not owner.kind.dims
    )


def _find_unknown(variable: str, member: str, owner: Any) -> OpaqueValue | None:
    """Return the unknown value of a variable whose member is named; None if the value is known."""
    if _is_zeroed(owner):
        return OpaqueValue(variable, owner.kind)
    value = owner.value if isinstance(owner, Cell) else owner
    if member == "bitfield" and _is_tcgen05_union(value):
        return OpaqueValue(variable)
    return value if isinstance(value, OpaqueValue) else None


def _find_union(ev: Evaluator, member: str, variable: str, value: OpaqueValue, scope: NameScope) -> RecordType | None:
    """Return the union of an unknown variable that has a member; None if the member does not identify one."""
    declared = _get_declared_name(value)
    halves, other = member in ("lo", "hi"), member in ev.unions
    kind = find_named_type(ev, FIELDS_UNION if other else "SmemDescriptor" if halves else "GmmaDescriptor", scope)
    if kind is None or kind.record is None or (halves and not _is_descriptor_half(ev, variable)):
        return None
    if is_other_descriptor_name(declared or variable):
        return None  # CUTLASS's UMMA::InstrDescriptor has a desc_, too
    undefined = None if halves else _keep_if_open(value.kind)
    if value.kind is not None and value.kind.name != kind.name and undefined is None:
        return None
    ev.assumed_unions[undefined.name if undefined is not None else variable] = (
        find_matching_union(ev.text) if other else kind.name
    )
    return kind.record


def _get_declared_name(value: OpaqueValue) -> str:
    """Return the unqualified name of a value's type, "" if it is not declared."""
    return value.kind.name.rpartition("::")[2] if value.kind is not None else ""


def _keep_if_open(kind: ResolvedType | None) -> ResolvedType | None:
    """Return a type if it is neither an integer nor a class of the text."""
    return kind if kind is not None and kind.record is None and kind.integer is None else None


def _is_descriptor_half(ev: Evaluator, name: str) -> bool:
    """Return whether name.lo belongs to a descriptor in code, not in printed output."""
    return "desc" in name.lower() and ";" in ev.text


def _is_tcgen05_union(value: Any) -> bool:
    """Return whether a value is CUTLASS's tcgen05 union, not another SmemDescriptor with a member `bitfield`."""
    named = isinstance(value, ObjectValue) and value.record.name == "SmemDescriptor"
    return named and "bitfield" not in value.record.members
