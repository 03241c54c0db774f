"""Evaluate static members of classes on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ObjectValue, OpaqueValue

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


class LaterMember:
    """A static member that has not been evaluated yet."""

    __slots__ = ("decl", "scope")

    def __init__(self, decl: tree.Declaration, scope: NameScope) -> None:
        self.decl = decl
        self.scope = scope


def evaluate_later_member(ev: Evaluator, scope: NameScope, name: str) -> Any:
    """Return a static member, evaluated on first use."""
    cell = scope.names.get(name)
    if isinstance(cell, LaterMember):
        scope.names[name] = Cell(OpaqueValue(name), name=name)
        member = cell.decl
        if not member.const:
            ev.static_members.append((scope.names, name, cell))
        kind = ev.resolve_type(member.type, cell.scope) if member.type else None
        inner, first = NameScope(cell.scope), len(ev.write_log)
        if member.value is not None:
            value = ev.evaluate_initializer(member.value, kind, inner, name)
        elif member.arguments is not None:
            value = ev.construct_value(kind, [ev.evaluate_expression(a, inner) for a in member.arguments], member)
        else:
            value = ev.make_default(kind, name)
        if kind is not None and member.type and member.type.name != "auto":
            value = ev.convert_to_kind(value, kind, member.span, name)
        if isinstance(value, ObjectValue):
            value.stored = True
        cell = scope.names[name] = Cell(value, kind, name, member.span, const=member.const)
        _forget_initialization_order(ev, cell, member, inner, first)
        if ev.is_changed_before_entry(member):
            ev.give_earlier_value(cell)
        if not member.const and ev.globals_lost:
            ev.forget_place(cell, integers=True)
    return cell


def _forget_initialization_order(
    ev: Evaluator, cell: Cell, member: tree.Declaration, scope: NameScope, first: int
) -> None:
    """Make unknown what a static member's initializer reads or writes: other code may have run since program start."""
    changed = [
        c for c, _ in ev.list_writes_since(first).values() if abs(c.born) < abs(cell.born) and c.frame <= 1 and c.name
    ]
    if changed or (not member.const and (_begins_globally(ev, cell.value) or _reads_variables(member, scope))):
        for variable in changed:
            ev.forget_place(variable)
        ev.forget_place(cell)


def _begins_globally(ev: Evaluator, value: Any) -> bool:
    """Return whether a constructor made the value, so that it may depend on global variables."""
    globals_ = ev.globals.names.values()
    return isinstance(value, ObjectValue) and value.record.begins and any(_is_global_variable(c) for c in globals_)


def _reads_variables(member: tree.Declaration, scope: NameScope) -> bool:
    """Return whether a static member's initializer names a global variable or calls a function."""
    nodes = list(walk_nodes(member.value)) if member.value is not None else []
    named = (find_name(scope, node.last)[0] for node in nodes if isinstance(node, tree.Name))
    return any(isinstance(node, tree.Call) for node in nodes) or any(map(_is_global_variable, named))


def _is_global_variable(value: Any) -> bool:
    """Return whether a name means a global variable that may be written."""
    return isinstance(value, Cell) and not value.const and value.frame <= 1
