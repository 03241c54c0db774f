"""Find whether an expression is const, by declared types: it decides between overloads of member functions.

ISO C++17: [over.match.funcs], [expr.ref].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import PLACES, Address, FunctionSet, ObjectValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def find_constness(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> bool | None:
    """Return whether an expression is const; None if unknown."""
    match expression:
        case tree.Name():
            return _find_name_constness(ev, expression, scope)
        case tree.Member(value=inner, name=name):
            owner_const = (
                find_pointee_constness(ev, inner, scope) if expression.arrow else find_constness(ev, inner, scope)
            )
            return _find_member_constness(ev, _find_record(inner, scope, expression.arrow), name, owner_const)
        case tree.Index(value=inner):
            return _find_item_constness(ev, inner, scope)
        case tree.Unary(op="*", value=inner):
            return find_pointee_constness(ev, inner, scope)
        case tree.Cast(type=kind):
            return kind.const if not kind.pointers and kind.path and kind.path[-1][0] != "auto" else None
        case tree.ItemList(type=kind) if kind is not None:
            return kind.const
        case tree.Call(function=function) if isinstance(function, tree.Name | tree.Type):
            return _find_return_constness(ev, function, scope)
    return None


def _find_item_constness(ev: Evaluator, array: tree.Expression, scope: NameScope) -> bool | None:
    """Return whether an item of an array, or of a pointer's target, is const; None if unknown."""
    kind = _find_declared_type(array, scope)
    if kind is not None and kind.dims:
        return find_constness(ev, array, scope)
    return find_pointee_constness(ev, array, scope) if kind is not None and kind.pointers else None


def find_pointee_constness(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> bool | None:
    """Return whether a pointer's target is const; None if unknown."""
    if isinstance(expression, tree.Name) and expression.last == "this":
        return _find_this_constness(scope)
    if isinstance(expression, tree.Unary) and expression.op == "&":
        return find_constness(ev, expression.value, scope)
    kind = _find_declared_type(expression, scope)
    if kind is None or kind.pointers != 1 or kind.name in ("auto", "") or kind.unbound:
        return None
    return kind.const


def _find_this_constness(scope: NameScope) -> bool | None:
    entity, home = find_name(scope, "this")
    if entity is None or any(inner.owner == "lambda" for inner in _list_inner_scopes(scope, home)):
        return None if entity is None else "this" in home.consts
    return "this" in home.consts


def _list_inner_scopes(scope: NameScope, home: NameScope) -> list[NameScope]:
    scopes = []
    for enclosing in scope.iterate_outward():
        if enclosing is home:
            break
        scopes.append(enclosing)
    return scopes


def _find_name_constness(ev: Evaluator, name: tree.Name, scope: NameScope) -> bool | None:
    entity, home = find_name(scope, name.last) if len(name.path) == 1 else (None, scope)
    if entity is None or f"?{name.last}" in home.consts:
        return None
    if name.last in home.consts or (isinstance(entity, Cell) and entity.const):
        return True
    if "this" in home.names:  # a member of the object that a function is called for
        return _find_member_constness(
            ev, _get_pointee_record(home.names["this"]), name.last, _find_this_constness(scope)
        )
    if home.owner == "lambda" or not isinstance(entity, Cell):
        return None  # a copy: const unless the lambda is mutable
    kind = entity.kind
    if kind is None or kind.name in ("auto", "") or kind.unbound:
        return False
    return kind.const and not kind.pointers


def _get_pointee_record(pointer: Any) -> RecordType | None:
    """Return the class of the object that a variable points to; None if unknown."""
    inner = pointer.value.place if isinstance(pointer, Cell) and isinstance(pointer.value, Address) else None
    pointed = inner.value if isinstance(inner, Cell) else None
    return pointed.record if isinstance(pointed, ObjectValue) else None


def _find_member_constness(
    ev: Evaluator, record: RecordType | None, name: str, owner_const: bool | None
) -> bool | None:
    """Return whether a member is const; owner_const: whether its object is, None if unknown."""
    declared = record.members.get(name) if record is not None else None
    if declared is None or declared.type is None:
        return None
    assert record is not None
    kind = ev.resolve_type(declared.type, record.homes.get(name, record.scope))
    if kind.reference:
        return kind.const if not kind.pointers and not kind.unbound else None
    if declared.const or (kind.const and not kind.pointers):
        return True
    if "mutable" in ev.text[max(declared.span[0] - 40, 0) : declared.span[0]]:
        return None
    return owner_const


def _find_record(expression: tree.Expression, scope: NameScope, arrow: bool) -> RecordType | None:
    if isinstance(expression, tree.Name) and expression.last == "this":
        return _get_pointee_record(find_name(scope, "this")[0])
    kind = _find_declared_type(expression, scope)
    if kind is None and not arrow and isinstance(expression, tree.Name) and len(expression.path) == 1:
        entity = find_name(scope, expression.last)[0]
        value = entity.value if isinstance(entity, Cell) else None
        return value.record if isinstance(value, ObjectValue) else None
    return kind.record if kind is not None and bool(kind.pointers) == arrow else None


def _find_declared_type(expression: tree.Expression, scope: NameScope) -> ResolvedType | None:
    """Find the declared type of a variable."""
    if not isinstance(expression, tree.Name) or len(expression.path) != 1:
        return None
    entity = find_name(scope, expression.last)[0]
    return entity.kind if isinstance(entity, Cell) else None


def _find_return_constness(ev: Evaluator, function: tree.Name | tree.Type, scope: NameScope) -> bool | None:
    """Return whether a function's result is const; None if unknown or if its overloads differ."""
    binding = ev.resolve_name(function.path, scope, function.span[0])
    if isinstance(binding, FunctionSet):
        types = [f.returns for f in binding.functions]
        if any(t is None or t.pointers or t.name in ("auto", "decltype", "decltype(auto)") for t in types):
            return None
        consts = {t.const for t in types if t is not None}
        named = all(
            t is not None and ev.resolve_type(t, binding.get_home(f)).record is not None
            for t, f in zip(types, binding.functions, strict=True)
        )
        return consts.pop() if len(consts) == 1 and named else None
    return False if not isinstance(binding, PLACES) and binding is not None else None
