"""Resolve names: qualified names, members of classes and namespaces, template arguments, packs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name, find_qualified, get_this, is_qualifier, skip_scopes
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.later_members import LaterMember
from lanescope.reader.code.running.write_summaries import list_slots
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import traits
from lanescope.reader.code.values import (
    EnumerationType,
    FunctionSet,
    NamespaceValue,
    ObjectValue,
    OpaqueValue,
    ParameterPack,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def resolve_name(ev: Evaluator, path: tree.Path, scope: NameScope, at: int = 0) -> Any:
    """Return what a qualified name means; None if the text does not define it.

    at: the place of use; names that a namespace declares later are not visible there.
    """
    if not path:
        return None
    (name, template_arguments), *rest = path
    if not name and rest:  # ::name
        (name, template_arguments), *rest = rest
        entity, home = find_qualified(ev.globals, name)
    else:
        entity, home = _find_qualified(ev, scope, name, bool(rest), at)
    if entity is None and rest:
        return ev.prelude.names.get(path[-1][0]) if path[-1][1] is None else None
    entity = _make_instance_of(ev, _get_own_meaning(ev, entity, home, name), template_arguments, scope)
    for name, template_arguments in rest:
        if entity is None:
            return None
        entity = _make_instance_of(ev, _find_below(ev, entity, name, scope), template_arguments, scope)
    return entity


def _find_qualified(ev: Evaluator, scope: NameScope, name: str, qualifier: bool, at: int) -> tuple[Any, NameScope]:
    """Find the first part of a name as visible at its place of use."""
    start = skip_scopes(scope, name)
    if start is None:
        return None, scope
    if name in start.names and not (qualifier or start.using or name in start.since or start.owner == "namespace"):
        return start.names[name], start  # a local name or a member
    if ev.python:
        return find_name(start, name)

    def fits(value: Any, home: NameScope) -> bool:
        return (is_qualifier(value, home) or not qualifier) and (not at or _find_begin(value, home, name) <= at)

    entity, home = find_name(start, name, fits)
    if entity is None and at:
        return find_name(start, name, is_qualifier) if qualifier else find_name(start, name)
    return entity, home


def _find_begin(value: Any, home: NameScope, name: str) -> int:
    """Return the place in the text from which a name of a scope is declared."""
    known = home.since.get(name)
    if known is None:
        return _get_begin(value) if home.owner == "namespace" else 0
    if isinstance(value, FunctionSet):  # a using declaration beside functions of the namespace
        return min([known, *(f.first for f in value.functions if value.get_home(f) is home)])
    return known


def _get_own_meaning(ev: Evaluator, entity: Any, home: NameScope, name: str) -> Any:
    """Return what a name means; evaluate it if it is a static member."""
    return ev.evaluate_later_member(home, name) if isinstance(entity, LaterMember) else entity


def _make_instance_of(
    ev: Evaluator, entity: Any, expressions: tuple[tree.Expression, ...] | None, scope: NameScope
) -> Any:
    """Apply template arguments to a template; note a misread expression if the name is not a template."""
    if isinstance(entity, TemplateEntity) and isinstance(entity.decl, tree.Declaration):
        return ev.apply_template(entity, ev.evaluate_template_arguments(expressions or (), scope))
    if expressions is None or entity is None:
        return entity
    arguments = ev.evaluate_template_arguments(expressions, scope)
    if isinstance(entity, TemplateEntity):
        return ev.apply_template(entity, arguments)
    if isinstance(entity, FunctionSet):
        return replace(entity, templates=tuple(arguments))
    if (
        isinstance(entity, ResolvedType)
        and entity.record is not None
        and isinstance(entity.record.template, TemplateEntity)
    ):
        return ev.apply_template(entity.record.template, arguments)
    if isinstance(entity, ResolvedType):
        return ResolvedType(entity.name, arguments=tuple(arguments))
    ev.misread_template = True
    return OpaqueValue("not a template")


def evaluate_template_arguments(ev: Evaluator, expressions: tuple[tree.Expression, ...], scope: NameScope) -> list[Any]:
    """Evaluate template arguments, with packs expanded."""
    arguments: list[Any] = []
    for expression in expressions:
        if isinstance(expression, tree.Unary) and expression.op == "...":
            arguments.extend(expand_pack(ev, expression.value, scope))
        else:
            arguments.append(ev.evaluate_template_argument(expression, scope))
    return arguments


def evaluate_template_argument(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Evaluate a template argument: a type, a value or a template."""
    if isinstance(expression, tree.Type | tree.Name) and expression.path and expression.path[-1][1] is None:
        plain = not isinstance(expression, tree.Type) or not (
            expression.pointers or expression.dims or expression.reference
        )
        entity = ev.resolve_name(expression.path, scope, expression.span[0]) if plain else None
        if isinstance(entity, TemplateEntity) and entity.parameters:
            return entity
        if isinstance(entity, ParameterPack):
            return entity
    return ev.evaluate_expression(expression, scope)


def expand_pack(ev: Evaluator, pattern: tree.Expression, scope: NameScope) -> list[Any]:
    """Evaluate `pattern...`: one value for each element of the packs in it."""
    return [ev.evaluate_expression(pattern, inner) for inner in ev.make_pack_scopes(pattern, scope)]


def make_pack_scopes(ev: Evaluator, pattern: Any, scope: NameScope) -> list[NameScope]:
    """Make a scope for each element of the packs that an expression names."""
    packs = {
        name: entity for name in _list_names(pattern) if isinstance(entity := find_name(scope, name)[0], ParameterPack)
    }
    if not packs:
        return []
    scopes = []
    for n in range(max(map(len, packs.values()))):
        inner = NameScope(scope)
        inner.names.update({name: pack[n] for name, pack in packs.items() if n < len(pack)})
        scopes.append(inner)
    return scopes


def _find_below(ev: Evaluator, entity: Any, name: str, scope: NameScope) -> Any:
    """Return what a name means in a namespace, class, enumeration or object."""
    if isinstance(entity, NamespaceValue):
        inner, home = find_qualified(entity.scope, name)
        return _get_own_meaning(ev, inner, home, name)
    if isinstance(entity, Cell):
        entity = entity.value
    if isinstance(entity, TemplateEntity):
        entity = ev.apply_template(entity, [])
    if isinstance(entity, EnumerationType):
        return entity.scope.names.get(name)
    if isinstance(entity, ResolvedType) and entity.record is not None:
        return _find_class_member(ev, entity.record, name, scope)
    if isinstance(entity, ResolvedType):
        known = traits.find_trait_member(entity, name)
        return known if known is not None else OpaqueValue(f"{entity}::{name}", named=(("::", entity),))
    if isinstance(entity, ObjectValue | OpaqueValue):
        return ev.find_member(entity, name, (0, 0))
    return None


def _find_class_member(ev: Evaluator, record: RecordType, name: str, scope: NameScope) -> Any:
    """Find S::name: a static member, a type, a function, or a member of `*this`."""
    if name in record.methods:
        return record.methods[name]
    if name in record.scope.names:
        return ev.evaluate_later_member(record.scope, name)
    if name in record.members:
        this = get_this(scope)
        if isinstance(this, ObjectValue) and this.record.is_derived_from(record) and name not in this.record.hidden:
            return ev.find_member(this, name, (0, 0))
        return OpaqueValue(f"{record.name}::{name}")
    for base in record.bases:
        class_member = _find_class_member(ev, base, name, scope)
        if class_member is not None:
            return class_member
    return next(
        (known for base_type in record.library if (known := traits.find_trait_member(base_type, name)) is not None),
        None,
    )


def _get_begin(value: Any) -> int:
    """Return where a variable or the first of some functions is declared; 0 for names usable before that."""
    if isinstance(value, Cell):
        return value.span[0]
    if isinstance(value, LaterMember):
        return value.decl.span[0]
    if isinstance(value, FunctionSet):
        return min(function.first for function in value.functions)
    return 0


def _list_names(pattern: Any) -> set[str]:
    """Return every name in an expression."""
    if isinstance(pattern, tree.Name | tree.Type):
        names = {name for name, _ in pattern.path}
        for _, template_arguments in pattern.path:
            names |= _list_names(template_arguments or ())
        return names | (_list_names(pattern.dims) if isinstance(pattern, tree.Type) else set())
    if isinstance(pattern, tree.SyntaxNode):
        parts = (getattr(pattern, slot) for slot in list_slots(type(pattern)))  # type: ignore[arg-type]  # slots
        return set().union(*map(_list_names, parts))
    if isinstance(pattern, tuple):
        return set().union(*map(_list_names, pattern))
    return set()
