"""What a text defines without running anything: functions, classes, enumerations, templates, namespaces and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, IntegerType, enumeration_type, of_enumerators
from lanescope.reader.code import tree
from lanescope.reader.code.candidates import declared_before
from lanescope.reader.code.lookup import find_in, find_name, open_namespace
from lanescope.reader.code.records import merged_declarations
from lanescope.reader.code.values import Cell, Closure, Enumeration, Kind, Namespace, Record, Scope, Template, number
from lanescope.reader.code.word import Int, add, convert, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


DEFINITIONS = (tree.Function, tree.Struct, tree.Alias, tree.Enum, tree.Friend)


def define(ev: Evaluator, one: tree.Statement, scope: Scope) -> None:
    """Enter what a statement defines without running anything."""
    rule = _RULES.get(type(one))
    if rule is not None:
        rule(ev, one, scope)
    if not ev.python and not isinstance(scope.owner, Record):  # a class is complete in its functions
        for home, name, first in _declared(one, scope):
            home.since.setdefault(name, first)


def _declared(one: tree.Statement, scope: Scope) -> Iterator[tuple[Scope, str, int]]:
    """(scope, name, place from which on the name means it) of what a statement declares beside functions."""
    first, past = one.span
    match one:
        case tree.Alias(name=name) | tree.NamespaceAlias(name=name):
            yield scope, name, past
        case tree.Struct(name=name, specialized=None):
            yield scope, name, first
        case tree.Declare(name=name, specialized=None, owner=()) if one.templates:
            yield scope, name, first
        case tree.Using(path=path, whole=False):
            yield scope, path[-1][0], past
        case tree.Enum(name=name, members=members):
            yield scope, name, first
            for member, _, (_, end) in members if not one.scoped else ():
                yield scope, member, end
        case tree.Namespace(names=names):
            for name in names:
                yield scope, name, first
                found = scope.names.get(name)
                if not isinstance(found, Namespace):
                    return
                scope = found.scope


# functions and classes -------------------------------------------------------------------------------------------


def _define_function(ev: Evaluator, one: tree.Function, scope: Scope) -> None:
    """Enter a function beside others of its name, also one that is defined outside its class or namespace."""
    name = one.name
    if one.owner and not one.python:
        owner = ev.find_owner(one.owner, scope)
        if isinstance(owner, Namespace):
            scope = owner.scope
        elif isinstance(owner, Template):
            owner.outside.append(one)
            return
        else:
            return
    known = scope.names.get(name)
    if isinstance(known, Template) and isinstance(known.decl, tree.Struct) and one.body is None:
        return  # a deduction guide
    others = known.functions if isinstance(known, Closure) and not one.python else ()
    functions = merged_declarations([*others, one]) if others else (one,)
    scope.names[name] = Closure(functions, scope)
    if name.startswith("operator") and not one.python:
        mine = Closure((one,), scope)
        before = ev.operators.get(name)
        ev.operators[name] = before.joined(mine) if before is not None else mine


def _define_friend(ev: Evaluator, one: tree.Friend, scope: Scope) -> None:
    """Enter a function that a class declares as its friend."""
    _define_function(ev, one.function, scope)


def find_owner(ev: Evaluator, path: tree.Path, scope: Scope) -> Any:
    """The namespace or struct that a definition outside it names."""
    found: Any = None
    for n, (name, _) in enumerate(path):
        if n == 0:
            found = ev.globals if not name else find_name(scope, name)[0]
        elif isinstance(found, Namespace | Scope):
            found = find_in(found.scope if isinstance(found, Namespace) else found, name)[0]
        elif isinstance(found, Template) and isinstance(found.decl, tree.Struct):
            nested = next((m for m in found.decl.members if isinstance(m, tree.Struct) and m.name == name), None)
            kind = ev.applied(found, []) if nested is not None and not found.parameters else None
            found = kind.record.scope.names.get(name) if isinstance(kind, Kind) and kind.record else None
    return found


def _define_struct(ev: Evaluator, one: tree.Struct, scope: Scope) -> None:
    """Enter a class, a class template or a specialization, with the friends that it defines."""
    if one.specialized is not None:
        _define_specialization(one, one.specialized, scope)
        return
    known = scope.names.get(one.name)
    if isinstance(known, Template) and isinstance(known.decl, tree.Struct) and _is_redeclared(one, known):
        return
    scope.names[one.name] = Template(one, scope, one.templates)
    for member in one.members:
        if isinstance(member, tree.Friend):
            friend = member.function
            if one.templates and not friend.templates:
                friend = replace(friend, templates=one.templates)
            _define_function(ev, friend, _around(scope))


def _define_specialization(one: tree.Struct, arguments: tuple[tree.Expression, ...], scope: Scope) -> None:
    """Add a specialization to its class template, which is made where the text only declares it."""
    known = scope.names.get(one.name)
    if not isinstance(known, Template):
        known, _ = find_name(scope, one.name)
    if known is None:
        parameters = tuple(tree.Parameter(f"({n})", None) for n in range(len(arguments)))
        known = scope.names[one.name] = Template(tree.Struct(one.name, (), templates=parameters), scope, parameters)
    if isinstance(known, Template):
        known.specials.append(one)


def _is_redeclared(one: tree.Struct, known: Template) -> bool:
    """Return whether a class is the known one, declared again or completed here."""
    if not one.complete:
        return True
    assert isinstance(known.decl, tree.Struct)
    if known.decl.complete:
        return False
    # specializations may stand between a declaration and its definition
    defaults = zip(one.templates, known.parameters, strict=False)
    known.parameters = tuple(replace(p, default=p.default or q.default) for p, q in defaults)
    known.decl = one
    return True


def _define_variable(ev: Evaluator, one: tree.Declare, scope: Scope) -> None:
    """A variable template, its specialization, or a static member that is defined outside its class."""
    if one.owner:
        owner = ev.find_owner(one.owner, scope)
        if isinstance(owner, Template):
            owner.outside.append(one)
        return
    known = scope.names.get(one.name)
    if one.specialized is not None:
        if isinstance(known, Template):
            known.specials.append(one)
    elif one.templates:
        scope.names[one.name] = Template(one, scope, one.templates)


def _define_alias(ev: Evaluator, one: tree.Alias, scope: Scope) -> None:
    """Enter a name for a type."""
    if not (len(one.type.path) == 1 and one.type.name == one.name):  # typedef struct S S
        scope.names[one.name] = Template(one, scope, one.templates)


def _around(scope: Scope) -> Scope:
    """The namespace, function or text around a class."""
    return next((one for one in scope.chain() if not isinstance(one.owner, Record)), scope)


# enumerations ----------------------------------------------------------------------------------------------------


def _define_enum(ev: Evaluator, one: tree.Enum, scope: Scope) -> None:
    """Enter an enumeration, a type of its own in C++, and its enumerators."""
    inner = Scope(scope)
    base = ev.kind(one.base, scope).whole if one.base is not None else None
    fixed = base or (INT if one.scoped else None)
    cells = _enumerators(ev, one, inner, fixed)
    known = one.name in ev.enumerations  # two of one name are two types
    called = f"{one.name}@{one.span[0]}" if known else one.name
    made: IntegerType | None = None
    if not ev.python:
        kind = fixed if fixed is not None else of_enumerators(tuple(cell.value.const for cell in cells))
        made = enumeration_type(called, kind, one.scoped)
    for cell in cells:
        if made is not None:
            cell.value = replace(convert(cell.value, made), origin=cell.value.origin)
            cell.kind = Kind(one.name, made, made.bits)
        if not one.scoped:
            scope.names.setdefault(cell.name, cell)
    if one.name:
        scope.names[one.name] = Enumeration(one.name, inner, made or INT, one.scoped)
        ev.enumerations[called] = _around(scope)


def _enumerators(ev: Evaluator, one: tree.Enum, inner: Scope, kind: IntegerType | None) -> list[Cell]:
    """Return an enumeration's constants, each one more than the last where it has no value. kind: a fixed type."""
    following = Int(0, kind or INT)
    cells: list[Cell] = []
    for name, value, span in one.members:
        if value is not None:
            given = number(ev.value(value, inner))
            following = given if given is not None else free(name, BOOL)
            following = convert(following, kind) if kind is not None else following
        cell = Cell(Int(following.const, following.type, following.pieces, origin=(span,)), name=name, const=True)
        cells.append(cell)
        inner.names[name] = cell
        following = add(following, Int(1)) if kind is None else convert(add(following, Int(1)), kind)
    return cells


# namespaces ------------------------------------------------------------------------------------------------------


def _define_namespace(ev: Evaluator, one: tree.Namespace, scope: Scope) -> None:
    """Enter what a namespace defines."""
    inner = ev.spaces[id(one)] = open_namespace(scope, one.names, one.inline)
    for inside in one.body:
        ev.define(inside, inner)


def _define_namespace_alias(ev: Evaluator, one: tree.NamespaceAlias, scope: Scope) -> None:
    """Enter another name for a namespace."""
    found = ev.resolve(one.path, scope, one.span[0])
    if isinstance(found, Namespace):
        scope.names[one.name] = found


def execute_using(ev: Evaluator, one: tree.Using, scope: Scope) -> None:
    """Bring the names of a namespace, or one name, into a scope."""
    found = ev.resolve(one.path, scope, one.span[0])
    if one.whole:
        if isinstance(found, Namespace) and found.scope not in scope.using:
            scope.using.append(found.scope)
        return
    name = one.path[-1][0]
    if found is None:
        return
    known = scope.names.get(name)
    if isinstance(found, Closure):
        found = declared_before(found, one.span[0])
        found = known.joined(found) if isinstance(known, Closure) else found
    scope.names[name] = found
    owner = ev.resolve(one.path[:-1], scope) if len(one.path) > 1 else None
    if isinstance(owner, Namespace) and isinstance(found, Kind):
        scope.names[name] = find_in(owner.scope, name)[0]  # a template without its arguments


def _define_unread(ev: Evaluator, one: tree.Unread, scope: Scope) -> None:
    """Enter the definitions inside a text that the parser could not read."""
    for inside in one.body:
        if isinstance(inside, DEFINITIONS):
            ev.define(inside, scope)


_RULES: dict[type[tree.Statement], Callable[[Evaluator, Any, Scope], None]] = {
    tree.Function: _define_function,
    tree.Friend: _define_friend,
    tree.Struct: _define_struct,
    tree.Alias: _define_alias,
    tree.Enum: _define_enum,
    tree.Namespace: _define_namespace,
    tree.NamespaceAlias: _define_namespace_alias,
    tree.Using: execute_using,
    tree.Declare: _define_variable,
    tree.Unread: _define_unread,
}
