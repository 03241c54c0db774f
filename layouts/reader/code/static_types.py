"""The type of an expression that is not evaluated: of the arm of `c ? a : b` that is not taken."""

from __future__ import annotations

from typing import Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, ULONG, IntegerType, common, promoted
from lanescope.reader.code import tree
from lanescope.reader.code.values import (
    Address,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
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
        case tree.Unary(op="post", value=tree.Assign(target=target)):
            return of(target)
        case tree.Unary(op=op, value=inner):
            if op in ("!", "not"):
                return BOOL
            own = of(inner)
            return None if own is None or op == "&" else UNKNOWN if op == "*" else promoted(own)
        case tree.Choice(yes=yes, no=no):
            return _of_both(of(yes), of(no), c_integers.arms)
        case tree.Assign(target=target):
            return of(target)
        case tree.SizeOf():
            return ULONG
        case tree.Cast(type=given):
            return _of_kind(machine.kind(given, scope))
        case tree.Items(type=tree.Type() as given):
            return _of_kind(machine.kind(given, scope))
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
