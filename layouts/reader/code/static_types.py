"""The type of an expression that is not evaluated: of the arm of `c ? a : b` that is not taken, of what sizeof is
given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, ULONG, IntegerType, common, promoted
from lanescope.reader.code import tree
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Cell,
    Closure,
    Deref,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
    Record,
    Scope,
    Template,
    Term,
)
from lanescope.reader.code.word import UNKNOWN, Int

MOST_DEEP = 32


def type_of(machine: Any, one: tree.Expression, scope: Scope, deep: int = 0) -> IntegerType | None:
    """Return the integer type of an expression; UNKNOWN where the text does not say it, None for what is no number."""
    if deep > MOST_DEEP:
        return UNKNOWN

    def of(inner: tree.Expression) -> IntegerType | None:
        return type_of(machine, inner, scope, deep + 1)

    match one:
        case tree.Num(type=kind):
            return kind
        case tree.Text() | tree.Lambda() | tree.Table():
            return None
        case tree.Binary(op=op, left=left, right=right):
            return _of_binary(op, of(left), of(right))
        case tree.Unary(op="post", value=tree.Assign(target=target)) | tree.Assign(target=target):
            return of(target)
        case tree.Unary(op="!" | "not"):
            return BOOL
        case tree.Unary(op=op, value=inner):
            return _of_unary(op, of(inner))
        case tree.Choice(yes=yes, no=no):
            return _of_both(of(yes), of(no), c_integers.arms)
        case tree.SizeOf():
            return ULONG
        case tree.Cast(type=given) | tree.Items(type=tree.Type() as given):
            return _of_kind(machine.kind(given, scope))
    return _of_named(machine, one, scope)


def _of_unary(op: str, inner: IntegerType | None) -> IntegerType | None:
    if inner is None or op == "&":
        return None
    return UNKNOWN if op == "*" else promoted(inner)


def _of_named(machine: Any, one: tree.Expression, scope: Scope) -> IntegerType | None:
    """The type of what a name says: a call, a variable, a member."""
    match one:
        case tree.Call(function=tree.Name() | tree.Type() as function):
            return _of_call(machine, function, scope)
        case tree.Name() | tree.Type():
            return _of_value(machine, machine.resolve(one.path, scope))
        case tree.Member(value=tree.Name()):
            return _of_value(machine, machine.place(one, scope))
    return UNKNOWN


def _of_binary(op: str, left: IntegerType | None, right: IntegerType | None) -> IntegerType | None:
    if op == ",":
        return right
    if op in ("&&", "||", *c_integers.COMPARED):
        return BOOL
    if op in ("<<", ">>"):
        return promoted(left) if left is not None else None
    return _of_both(left, right, common)


def _of_both(left: IntegerType | None, right: IntegerType | None, made: Any) -> IntegerType | None:
    if left is None or right is None:
        return None
    found: IntegerType = made(left, right)
    return found


def _of_kind(kind: Kind) -> IntegerType | None:
    if kind.pointers or kind.record is not None:
        return None
    return kind.whole or UNKNOWN


def _of_value(machine: Any, found: Any) -> IntegerType | None:
    if isinstance(found, Cell):
        if found.kind is not None and found.kind.whole is not None and not found.kind.pointers:
            return found.kind.whole
        found = found.value
    if isinstance(found, Part):
        found = machine.load(found, tree.Other(""))
    if isinstance(found, Int):
        return found.type
    if isinstance(found, Term):
        return found.kind.whole if found.kind is not None and found.kind.whole is not None else UNKNOWN
    if isinstance(found, Pointer | Address | Array | Closure | Object | Template | str):
        return None
    return found.whole if isinstance(found, Enumeration) else UNKNOWN


def _of_call(machine: Any, function: tree.Name | tree.Type, scope: Scope) -> IntegerType | None:
    found = machine.resolve(function.path, scope)
    if isinstance(found, Closure):
        returns = found.functions[0].returns
        if returns is None or returns.name in ("auto", "decltype") or len(found.functions) > 1:
            return UNKNOWN
        return _of_kind(machine.kind(returns, found.scope))
    if isinstance(found, Kind):
        return _of_kind(found)
    made = machine.builtin_kind(function.path, scope) if found is None else None
    return _of_kind(made) if made is not None and made.whole is not None else UNKNOWN


# what an expression names, as it is declared ------------------------------------------------------------------------


def declared_type(machine: Any, one: tree.Expression, scope: Scope, deep: int = 0) -> Kind | None:
    """Return the type that the text declares for a variable, a member, an item of an array or what a pointer points to,
    without the reference; None where the text does not say it. An array keeps its sizes.
    """
    if deep > MOST_DEEP:
        return None
    match one:
        case tree.Name() | tree.Type():
            return _of_path(machine, one, scope)
        case tree.Member(value=inner, name=name, owner=()):
            kind = declared_type(machine, inner, scope, deep + 1)
            if kind is None or kind.pointers + len(kind.dims) != int(one.arrow):
                return None
            return member_type(machine, kind.record, name)
        case tree.Index(value=inner, indices=(_,)) | tree.Unary(op="*", value=inner):
            kind = declared_type(machine, inner, scope, deep + 1)
            return None if kind is None else _item_type(kind)
        case tree.Unary(op="&", value=inner):
            kind = declared_type(machine, inner, scope, deep + 1)
            return replace(kind, pointers=kind.pointers + 1) if kind is not None and not kind.dims else None
        case tree.Cast(type=given):
            cast: Kind = machine.kind(given, scope)
            return replace(cast, reference="")
        case tree.Call(function=tree.Name() | tree.Type() as function):
            return _returned_type(machine, machine.resolve(function.path, scope, function.span[0]))
    return None


def member_type(machine: Any, record: Record | None, name: str) -> Kind | None:
    """Return the type of a data member as its class declares it, without the reference; None for what it has not."""
    declared = record.members.get(name) if record is not None else None
    if record is None or declared is None or declared.type is None or declared.bits is not None:
        return None
    if name in record.hidden or None in declared.type.dims:
        return None
    kind: Kind = machine.kind(declared.type, record.homes.get(name, record.scope))
    return replace(kind, reference="") if kind.name != "auto" else None  # a pointer to an array


def _of_path(machine: Any, one: tree.Name | tree.Type, scope: Scope) -> Kind | None:
    if not one.path or (isinstance(one, tree.Type) and _is_derived(one)):
        return None
    if len(one.path) == 1:
        return _of_single_name(machine, one, scope)
    owner = machine.resolve(one.path[:-1], scope, one.span[0])
    owner = machine.applied(owner, []) if isinstance(owner, Template) else owner
    if isinstance(owner, Kind) and owner.record is not None and one.path[-1][0] in owner.record.members:
        return member_type(machine, owner.record, one.path[-1][0])
    return _of_resolved(machine, one, scope)


def _is_derived(one: tree.Type) -> bool:
    """Whether a type is more than a name: a pointer, an array, a reference, const, or a body."""
    return bool(one.pointers or one.dims or one.reference or one.body or one.const)


def _of_single_name(machine: Any, one: tree.Name | tree.Type, scope: Scope) -> Kind | None:
    name = one.path[0][0]
    if name == "this":
        record = _class_around(scope)
        return Kind(record.name, record=record, bits=record.bits or None, pointers=1) if record else None
    home = find_name(scope, name)[1]
    record = _class_around(home) if "this" in home.names else None
    if record is not None and name in record.members:
        return member_type(machine, record, name)
    kind = _of_resolved(machine, one, scope)
    if kind is not None and kind.dims and f"({name})" in home.consts:  # a parameter is a pointer
        return replace(kind, dims=(), pointers=kind.pointers + 1) if len(kind.dims) == 1 else None
    return kind


def _of_resolved(machine: Any, one: tree.Name | tree.Type, scope: Scope) -> Kind | None:
    found = machine.resolve(one.path, scope, one.span[0])
    return _type_of_place(machine, found) if isinstance(found, PLACES) else None


def _type_of_place(machine: Any, found: Any) -> Kind | None:
    if isinstance(found, Cell):
        return _type_of_cell(machine, found)
    if isinstance(found, Deref):
        return None if found.pointer.dims else found.pointer.element
    if isinstance(found, Part):
        kind: Kind | None = machine.declared_kind(found, None)
        return replace(kind, dims=(Int(found.field.count, ULONG),)) if kind and found.field.count else kind
    return None


def _type_of_cell(machine: Any, cell: Cell) -> Kind | None:
    """The type of a variable: as it is declared, else that of its value."""
    value = cell.value
    if isinstance(value, PLACES):
        return _type_of_place(machine, value)
    if cell.kind is not None and cell.kind.name not in ("auto", ""):
        return replace(cell.kind, reference="")
    if value is None or (isinstance(value, Pointer) and _leads_to_array(value)):
        return None
    kind: Kind | None = machine.declared_kind(cell, value)
    if kind is None or (isinstance(value, Address) and kind.dims):
        return None
    return replace(kind, reference="")


def _leads_to_array(pointer: Pointer) -> bool:
    """Whether a pointer's items are arrays, or may be, which its type does not say."""
    array = pointer.array
    if array is None:
        return bool(pointer.dims)
    return bool(pointer.dims) or array.inside is not None or any(isinstance(c.value, Array) for c in array.cells[:1])


def _class_around(scope: Scope) -> Record | None:
    """The class of the object that `this` points to."""
    this = find_name(scope, "this")[0]
    value = this.value if isinstance(this, Cell) else None
    if isinstance(value, Term):
        return value.kind.record if value.kind is not None else None
    place = value.place if isinstance(value, Address) else None
    if isinstance(place, Part):
        return place.field.inner
    held = place.value if isinstance(place, Cell) else place
    return held.record if isinstance(held, Object) else None


def _item_type(kind: Kind) -> Kind | None:
    if kind.dims:
        return replace(kind, dims=kind.dims[1:])
    return replace(kind, pointers=kind.pointers - 1) if kind.pointers else None


def _returned_type(machine: Any, found: Any) -> Kind | None:
    """What the one function of a name returns, where that depends on nothing."""
    if not isinstance(found, Closure) or len(found.functions) > 1 or found.functions[0].templates:
        return None
    returns = found.functions[0].returns
    if returns is None or returns.name in ("auto", "decltype"):
        return None
    kind: Kind = machine.kind(returns, found.home(found.functions[0]))
    return replace(kind, reference="")
