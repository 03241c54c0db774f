"""Enter definitions without running code: functions, classes, enumerations, templates, namespaces and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, IntegerType, find_enumerators_type, make_enumeration_type
from lanescope.reader.code.calling.candidates import filter_declared_before
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.lookup import find_name, find_qualified, open_namespace
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt, add_ints, convert_int, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import UnreadText
from lanescope.reader.code.types.records import merge_declarations
from lanescope.reader.code.values import (
    EnumerationType,
    FunctionSet,
    NamespaceValue,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


DEFINITIONS = (tree.Function, tree.StructDefinition, tree.Alias, tree.Enum, tree.FriendFunction)


def define(ev: Evaluator, statement: tree.Statement, scope: NameScope) -> None:
    """Enter the definitions of a statement into a scope."""
    rule = _RULES.get(type(statement))
    if rule is not None:
        rule(ev, statement, scope)
    if not ev.python and not isinstance(scope.owner, RecordType):  # in a class, the order does not matter
        for home, name, first in _list_declared(statement, scope):
            home.since.setdefault(name, first)


def _list_declared(statement: tree.Statement, scope: NameScope) -> Iterator[tuple[NameScope, str, int]]:
    """Yield (scope, name, place from which it is visible) of the declared names other than functions."""
    first, past = statement.span
    match statement:
        case tree.Alias(name=name) | tree.NamespaceAlias(name=name):
            yield scope, name, past
        case tree.StructDefinition(name=name, specialized=None):
            yield scope, name, first
        case tree.Declaration(name=name, specialized=None, owner=()) if statement.templates:
            yield scope, name, first
        case tree.UsingDeclaration(path=path, of_namespace=False):
            yield scope, path[-1][0], past
        case tree.Enum(name=name, members=members):
            yield scope, name, first
            for member, _, (_, end) in members if not statement.scoped else ():
                yield scope, member, end
        case tree.Namespace(names=names):
            for name in names:
                yield scope, name, first
                entity = scope.names.get(name)
                if not isinstance(entity, NamespaceValue):
                    return
                scope = entity.scope


# functions and classes -------------------------------------------------------------------------------------------


def _define_function(ev: Evaluator, function: tree.Function, scope: NameScope) -> None:
    """Enter a function beside its overloads, also one defined outside its class or namespace."""
    name = function.name
    if function.owner and not function.python:
        owner = find_owner(ev, function.owner, scope)
        if isinstance(owner, NamespaceValue):
            scope = owner.scope
        elif isinstance(owner, TemplateEntity):
            owner.outside.append(function)
            return
        else:
            return
    known = scope.names.get(name)
    if isinstance(known, TemplateEntity) and isinstance(known.decl, tree.StructDefinition) and function.body is None:
        return  # a deduction guide
    others = known.functions if isinstance(known, FunctionSet) and not function.python else ()
    functions = merge_declarations([*others, function]) if others else (function,)
    scope.names[name] = FunctionSet(functions, scope)
    if name.startswith("operator") and not function.python:
        overloads = FunctionSet((function,), scope)
        before = ev.operators.get(name)
        ev.operators[name] = before.join_functions(overloads) if before is not None else overloads


def _define_friend(ev: Evaluator, node: tree.FriendFunction, scope: NameScope) -> None:
    """Enter a friend function of a class."""
    _define_function(ev, node.function, scope)


def find_owner(ev: Evaluator, path: tree.Path, scope: NameScope) -> Any:
    """Find the namespace or class that qualifies an out-of-class definition."""
    entity: Any = None
    for n, (name, _) in enumerate(path):
        if n == 0:
            entity = ev.globals if not name else find_name(scope, name)[0]
        elif isinstance(entity, NamespaceValue | NameScope):
            entity = find_qualified(entity.scope if isinstance(entity, NamespaceValue) else entity, name)[0]
        elif isinstance(entity, TemplateEntity) and isinstance(entity.decl, tree.StructDefinition):
            nested = next(
                (m for m in entity.decl.members if isinstance(m, tree.StructDefinition) and m.name == name), None
            )
            kind = ev.apply_template(entity, []) if nested is not None and not entity.parameters else None
            entity = kind.record.scope.names.get(name) if isinstance(kind, ResolvedType) and kind.record else None
    return entity


def _define_struct(ev: Evaluator, node: tree.StructDefinition, scope: NameScope) -> None:
    """Enter a class, a class template or a specialization, with its friend functions."""
    if node.specialized is not None:
        _define_specialization(node, node.specialized, scope)
        return
    known = scope.names.get(node.name)
    if (
        isinstance(known, TemplateEntity)
        and isinstance(known.decl, tree.StructDefinition)
        and _is_redeclared(node, known)
    ):
        return
    scope.names[node.name] = TemplateEntity(node, scope, node.templates)
    for member in node.members:
        if isinstance(member, tree.FriendFunction):
            friend = member.function
            if node.templates and not friend.templates:
                friend = replace(friend, templates=node.templates)
            _define_function(ev, friend, _get_enclosing_scope(scope))


def _define_specialization(
    node: tree.StructDefinition, arguments: tuple[tree.Expression, ...], scope: NameScope
) -> None:
    """Add a specialization to its class template; make the template if it is missing."""
    known = scope.names.get(node.name)
    if not isinstance(known, TemplateEntity):
        known, _ = find_name(scope, node.name)
    if known is None:
        parameters = tuple(tree.Parameter(f"({n})", None) for n in range(len(arguments)))
        known = scope.names[node.name] = TemplateEntity(
            tree.StructDefinition(node.name, (), templates=parameters), scope, parameters
        )
    if isinstance(known, TemplateEntity):
        known.specials.append(node)


def _is_redeclared(node: tree.StructDefinition, known: TemplateEntity) -> bool:
    """Return whether a class is the known one, redeclared or completed here."""
    if not node.complete:
        return True
    assert isinstance(known.decl, tree.StructDefinition)
    if known.decl.complete:
        return False
    # keep the template object: specializations may precede the definition
    defaults = zip(node.templates, known.parameters, strict=False)
    known.parameters = tuple(replace(p, default=p.default or q.default) for p, q in defaults)
    known.decl = node
    return True


def _define_variable(ev: Evaluator, declaration: tree.Declaration, scope: NameScope) -> None:
    """Enter a variable template, its specialization, or an out-of-class static member."""
    if declaration.owner:
        owner = find_owner(ev, declaration.owner, scope)
        if isinstance(owner, TemplateEntity):
            owner.outside.append(declaration)
        return
    known = scope.names.get(declaration.name)
    if declaration.specialized is not None:
        if isinstance(known, TemplateEntity):
            known.specials.append(declaration)
    elif declaration.templates:
        scope.names[declaration.name] = TemplateEntity(declaration, scope, declaration.templates)


def _define_alias(ev: Evaluator, alias: tree.Alias, scope: NameScope) -> None:
    """Enter an alias of a type."""
    if alias.type.path != ((alias.name, None),):  # typedef struct S S
        scope.names[alias.name] = TemplateEntity(alias, scope, alias.templates)


def _get_enclosing_scope(scope: NameScope) -> NameScope:
    """Return the namespace, function or global scope that encloses a class."""
    return next(
        (enclosing for enclosing in scope.iterate_outward() if not isinstance(enclosing.owner, RecordType)), scope
    )


# enumerations ----------------------------------------------------------------------------------------------------


def _define_enum(ev: Evaluator, node: tree.Enum, scope: NameScope) -> None:
    """Enter an enumeration, which is a distinct type in C++, and its enumerators."""
    inner = NameScope(scope)
    base = ev.resolve_type(node.base, scope).integer if node.base is not None else None
    fixed = base or (INT if node.scoped else None)
    cells = _make_enumerators(ev, node, inner, fixed)
    known = node.name in ev.enumerations  # two of one name are two types
    unique_name = f"{node.name}@{node.span[0]}" if known else node.name
    enum_type: IntegerType | None = None
    if not ev.python:
        kind = fixed if fixed is not None else find_enumerators_type(tuple(cell.value.const for cell in cells))
        enum_type = make_enumeration_type(unique_name, kind, node.scoped)
    for cell in cells:
        if enum_type is not None:
            cell.value = replace(convert_int(cell.value, enum_type), origin=cell.value.origin)
            cell.kind = ResolvedType(node.name, enum_type, enum_type.bits)
        if not node.scoped:
            scope.names.setdefault(cell.name, cell)
    if node.name:
        scope.names[node.name] = EnumerationType(node.name, inner, enum_type or INT)
        ev.enumerations[unique_name] = _get_enclosing_scope(scope)


def _make_enumerators(ev: Evaluator, node: tree.Enum, inner: NameScope, kind: IntegerType | None) -> list[Cell]:
    """Make the constants of an enumeration. kind: its fixed underlying type, None without one."""
    following = SymbolicInt(0, kind or INT)
    cells: list[Cell] = []
    for name, value, span in node.members:
        if value is not None:
            integer = get_integer(ev.evaluate_expression(value, inner))
            following = integer if integer is not None else make_free(name, BOOL)
            following = convert_int(following, kind) if kind is not None else following
        cell = Cell(
            SymbolicInt(following.const, following.type, following.pieces, origin=(span,)), name=name, const=True
        )
        cells.append(cell)
        inner.names[name] = cell
        following = (
            add_ints(following, SymbolicInt(1))
            if kind is None
            else convert_int(add_ints(following, SymbolicInt(1)), kind)
        )
    return cells


# namespaces ------------------------------------------------------------------------------------------------------


def _define_namespace(ev: Evaluator, namespace: tree.Namespace, scope: NameScope) -> None:
    """Enter the definitions of a namespace."""
    inner = ev.namespace_scopes[id(namespace)] = open_namespace(scope, namespace.names, namespace.inline)
    for inside in namespace.body:
        ev.define(inside, inner)


def _define_namespace_alias(ev: Evaluator, node: tree.NamespaceAlias, scope: NameScope) -> None:
    """Enter an alias of a namespace."""
    binding = ev.resolve_name(node.path, scope, node.span[0])
    if isinstance(binding, NamespaceValue):
        scope.names[node.name] = binding


def execute_using(ev: Evaluator, node: tree.UsingDeclaration, scope: NameScope) -> None:
    """Bring the names of a namespace, or one name, into a scope."""
    binding = ev.resolve_name(node.path, scope, node.span[0])
    if node.of_namespace:
        if isinstance(binding, NamespaceValue) and binding.scope not in scope.using:
            scope.using.append(binding.scope)
        return
    name = node.path[-1][0]
    if binding is None:
        return
    known = scope.names.get(name)
    if isinstance(binding, FunctionSet):
        binding = filter_declared_before(binding, node.span[0])
        binding = known.join_functions(binding) if isinstance(known, FunctionSet) else binding
    scope.names[name] = binding
    owner = ev.resolve_name(node.path[:-1], scope) if len(node.path) > 1 else None
    if isinstance(owner, NamespaceValue) and isinstance(binding, ResolvedType):
        scope.names[name] = find_qualified(owner.scope, name)[0]  # a template without its arguments


def _define_unread(ev: Evaluator, node: UnreadText, scope: NameScope) -> None:
    """Enter the definitions inside text that did not parse."""
    for inside in node.body:
        if isinstance(inside, DEFINITIONS):
            ev.define(inside, scope)


_RULES: dict[type[tree.Statement], Callable[[Evaluator, Any, NameScope], None]] = {
    tree.Function: _define_function,
    tree.FriendFunction: _define_friend,
    tree.StructDefinition: _define_struct,
    tree.Alias: _define_alias,
    tree.Enum: _define_enum,
    tree.Namespace: _define_namespace,
    tree.NamespaceAlias: _define_namespace_alias,
    tree.UsingDeclaration: execute_using,
    tree.Declaration: _define_variable,
    UnreadText: _define_unread,
}
