"""What names and types mean here: qualified names, static members, aliases, enumerations."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, ULONG, type_named
from lanescope.reader.code import traits, tree
from lanescope.reader.code.lookup import find_in, find_name, is_qualifier, this_of
from lanescope.reader.code.records import layout_of
from lanescope.reader.code.templates import flattened
from lanescope.reader.code.values import (
    Cell,
    Closure,
    Enumeration,
    Kind,
    Namespace,
    Object,
    Pack,
    Pointer,
    Record,
    Scope,
    Template,
    Term,
    element_kind,
)
from lanescope.reader.code.word import UNKNOWN, Int
from lanescope.reader.code.writes import nodes_of

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_INTEGRAL = re.compile(r"_(\d+)$")
Path = tree.Path


@lru_cache(maxsize=4096)
def _plain_kind(name: str, whole: bool) -> Kind | None:
    """Return the type of a name without arguments; whole: whether it may be an integer type."""
    integer = type_named(name) if whole else None
    if integer is not None:
        return Kind(name, integer, integer.bits)
    return element_kind(name) or (Kind(name) if _INTEGRAL.fullmatch(name) else None)


def resolve(ev: Evaluator, path: Path, scope: Scope, at: int = 0) -> Any:
    """Return what a qualified name means, None for what the text does not define. at: where it is used: what a
    namespace declares later is another's.
    """
    if not path:
        return None
    (name, given), *rest = path
    if not name and rest:  # ::name
        (name, given), *rest = rest
        found, home = find_in(ev.globals, name)
    else:
        found, home = _find(ev, scope, name, bool(rest), at)
    if found is None and rest:
        return ev.prelude.names.get(path[-1][0]) if path[-1][1] is None else None
    found = _instance(ev, _own(ev, found, home, name), given, scope)
    for name, given in rest:
        if found is None:
            return None
        found = _instance(ev, _below(ev, found, name, scope), given, scope)
    return found


def _find(ev: Evaluator, scope: Scope, name: str, qualifier: bool, at: int) -> tuple[Any, Scope]:
    """Find the first part of a name where it is used: what a namespace declares later does not count."""
    if ev.python:
        return find_name(scope, name)

    def declared(value: Any, home: Scope) -> bool:
        if qualifier and not is_qualifier(value, home):
            return False
        known = home.since.get(name)
        if known is None:
            known = _begins(value) if home.owner == "namespace" else 0
        elif isinstance(value, Closure):  # a using declaration beside functions of its own
            known = min([known, *(f.first for f in value.functions if value.home(f) is home)])
        return not at or known <= at

    found, home = find_name(scope, name, declared)
    if found is None and at:
        return find_name(scope, name, is_qualifier) if qualifier else find_name(scope, name)
    return found, home


def _own(ev: Evaluator, found: Any, home: Scope, name: str) -> Any:
    """Return what a name means, a static member evaluated."""
    return ev.forced(home, name) if isinstance(found, Later) else found


def _instance(ev: Evaluator, found: Any, given: tuple[tree.Expression, ...] | None, scope: Scope) -> Any:
    """Return a template with its arguments; a name that is no template and has some is misread."""
    if isinstance(found, Template) and isinstance(found.decl, tree.Declare):
        return ev.applied(found, ev.template_arguments(given or (), scope))
    if given is None or found is None:
        return found
    arguments = ev.template_arguments(given, scope)
    if isinstance(found, Template):
        return ev.applied(found, arguments)
    if isinstance(found, Closure):
        return replace(found, templates=tuple(arguments))
    if isinstance(found, Kind) and found.record is not None and isinstance(found.record.template, Template):
        return ev.applied(found.record.template, arguments)
    if isinstance(found, Kind):
        return Kind(found.name, arguments=tuple(arguments))
    ev.misread = True
    return Term("a template that is none")


def template_arguments(ev: Evaluator, given: tuple[tree.Expression, ...], scope: Scope) -> list[Any]:
    """Return template arguments, packs expanded."""
    out: list[Any] = []
    for one in given:
        if isinstance(one, tree.Unary) and one.op == "...":
            out.extend(ev.expanded(one.value, scope))
        else:
            out.append(ev.template_argument(one, scope))
    return out


def template_argument(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return a template argument: a type, a value or a template."""
    if isinstance(one, tree.Type | tree.Name) and one.path and one.path[-1][1] is None:
        plain = not isinstance(one, tree.Type) or not (one.pointers or one.dims or one.reference)
        found = ev.resolve(one.path, scope, one.span[0]) if plain else None
        if isinstance(found, Template) and found.parameters:
            return found
        if isinstance(found, Pack):
            return found
    return ev.value(one, scope)


def expanded(ev: Evaluator, pattern: tree.Expression, scope: Scope) -> list[Any]:
    """Return the values of `pattern...`, one for each item of the packs in it."""
    return [ev.value(pattern, inner) for inner in ev.pack_scopes(pattern, scope)]


def pack_scopes(ev: Evaluator, pattern: Any, scope: Scope) -> list[Scope]:
    """Return a scope for each item of the packs that an expression names."""
    packs = {name: found for name in _names(pattern) if isinstance(found := find_name(scope, name)[0], Pack)}
    if not packs:
        return []
    out = []
    for n in range(max(map(len, packs.values()))):
        inner = Scope(scope)
        inner.names.update({name: pack[n] for name, pack in packs.items() if n < len(pack)})
        out.append(inner)
    return out


def _below(ev: Evaluator, found: Any, name: str, scope: Scope) -> Any:
    """Return what a name means in a namespace, class, enumeration or object."""
    if isinstance(found, Namespace):
        inner, home = find_in(found.scope, name)
        return _own(ev, inner, home, name)
    if isinstance(found, Cell):
        found = found.value
    if isinstance(found, Template):
        found = ev.applied(found, [])
    if isinstance(found, Enumeration):
        return found.scope.names.get(name)
    if isinstance(found, Kind) and found.record is not None:
        return _member_of_class(ev, found.record, name, scope)
    if isinstance(found, Kind):
        known = traits.member(found, name)
        return known if known is not None else Term(f"{found}::{name}")
    if isinstance(found, Object | Term):
        return ev.member(found, name, (0, 0))
    return None


def _member_of_class(ev: Evaluator, record: Record, name: str, scope: Scope) -> Any:
    """Return what S::name means: a static member, a type, a function, or a member of `*this`."""
    if name in record.methods:
        return record.methods[name]
    if name in record.scope.names:
        return ev.forced(record.scope, name)
    if name in record.members:
        this = this_of(scope)
        if isinstance(this, Object) and this.record.descends(record) and name not in this.record.hidden:
            return ev.member(this, name, (0, 0))
        return Term(f"{record.name}::{name}")
    for base in record.bases:
        found = _member_of_class(ev, base, name, scope)
        if found is not None:
            return found
    return next((known for one in record.library if (known := traits.member(one, name)) is not None), None)


def later(ev: Evaluator, member: tree.Declare, scope: Scope) -> Later:
    """Return a static member that is evaluated when it is asked for."""
    return Later(member, scope)


def define_later(ev: Evaluator, member: tree.Statement, scope: Scope) -> None:
    """Define a member of a class, as of a namespace."""
    ev.define(member, scope)


def forced(ev: Evaluator, scope: Scope, name: str) -> Any:
    """Return a static member, evaluated when it is asked for."""
    found = scope.names.get(name)
    if isinstance(found, Later):
        scope.names[name] = Cell(Term(name), name=name)
        member = found.decl
        if not member.const:
            ev.statics.append((scope.names, name, found))
        kind = ev.kind(member.type, found.scope) if member.type else None
        inner, first = Scope(found.scope), len(ev.log)
        if member.value is not None:
            value = ev.initial(member.value, kind, inner, name)
        elif member.arguments is not None:
            value = ev.construct(kind, [ev.value(a, inner) for a in member.arguments], member, inner)
        else:
            value = ev.default(kind, name)
        if kind is not None and member.type and member.type.name != "auto":
            value = ev.converted(value, kind, member.span, name)
        if isinstance(value, Object):
            value.held = True
        found = scope.names[name] = Cell(value, kind, name, member.span, const=member.const)
        _forget_order(ev, found, member, inner, first)
        if ev.outlives(member):
            ev.earlier(found)
        if not member.const and ev.globals_lost:
            ev.forget(found, integers=True)
    return found


def _forget_order(ev: Evaluator, cell: Cell, member: tree.Declare, scope: Scope, first: int) -> None:
    """Forget what a static member writes or reads when it begins, with the program: it may have changed since."""
    written = [c for c, _ in ev.writes_since(first).values() if c.born < cell.born and c.frame <= 1 and c.name]
    if written or (not member.const and (_begins_globally(ev, cell.value) or _reads_variables(member, scope))):
        for one in written:
            ev.forget(one)
        ev.forget(cell)


def _begins_globally(ev: Evaluator, value: Any) -> bool:
    """Return whether a constructor makes a value, which may read variables of namespaces."""
    globals_ = ev.globals.names.values()
    return isinstance(value, Object) and value.record.begins and any(_is_global_variable(c) for c in globals_)


def _reads_variables(member: tree.Declare, scope: Scope) -> bool:
    """Return whether a static member's initializer names a variable of a namespace, or calls a function."""
    nodes = list(nodes_of(member.value)) if member.value is not None else []
    named = (find_name(scope, node.last)[0] for node in nodes if isinstance(node, tree.Name))
    return any(isinstance(node, tree.Call) for node in nodes) or any(map(_is_global_variable, named))


def _is_global_variable(value: Any) -> bool:
    """Return whether a name means a variable of a namespace that may be written."""
    return isinstance(value, Cell) and not value.const and value.frame <= 1


def kind(ev: Evaluator, given: tree.Type, scope: Scope) -> Kind:
    """Return a type as it is here."""
    dims = tuple(Int(0, ULONG) if size is None else ev.whole_number(ev.value(size, scope)) for size in given.dims)
    base = _base(ev, given, scope)
    if not given.pointers and not dims and not given.reference and given.const <= base.const:
        return base
    return Kind(
        base.name,
        base.whole,
        base.bits,
        base.record,
        pointers=base.pointers + given.pointers,
        dims=(*dims, *base.dims),
        arguments=base.arguments,
        reference=_collapsed(base.reference, given.reference),
        const=base.const or (given.const and not base.pointers),
    )


def _base(ev: Evaluator, given: tree.Type, scope: Scope) -> Kind:
    """Return the type that a name means, without pointers, sizes and references beside it."""
    if isinstance(given.body, tree.Struct):
        record = layout_of(ev, Record(given.body.name, given.body, scope))
        return Kind(given.body.name, record=record, bits=record.bits or None)
    if given.name == "decltype" and given.path[-1][1]:
        return _declared_type(ev, given.path[-1][1][0], scope)
    found = ev.resolve(given.path, scope, given.span[0])
    if isinstance(found, Cell):
        found = found.value
    if isinstance(found, Template):
        found = ev.applied(found, [])
    if isinstance(found, Enumeration):
        found = found.kind
    return found if isinstance(found, Kind) else _find_foreign_type(ev, given, scope)


def _find_foreign_type(ev: Evaluator, given: tree.Type, scope: Scope) -> Kind:
    """Return a type that the text does not define: a built-in one, T::type of a library's template, or a name alone."""
    name = "::".join(part for part, _ in given.path)
    if len(given.path) > 1 and given.name == "type" and not ev.python:
        outer = ev.builtin_kind(given.path[:-1], scope)
        inner = traits.member(outer, "type") if outer is not None else None
        return inner if isinstance(inner, Kind) else Kind(name, unbound=True)
    return ev.builtin_kind(given.path, scope) or Kind(name)


def _declared_type(ev: Evaluator, inner: tree.Expression, scope: Scope) -> Kind:
    """Evaluate decltype(inner): of a name what it was declared as, else the type of the value."""
    if isinstance(inner, tree.Name | tree.Type):
        found = ev.resolve(inner.path, scope, inner.span[0])
        if isinstance(found, Cell) and found.kind is not None and found.kind.name not in ("auto", ""):
            return replace(found.kind, const=found.const or found.kind.const)
    start = len(ev.log)
    try:
        value = ev.value(inner, scope)
    finally:  # an operand that is not evaluated
        for cell, old in ev.writes_since(start).values():
            cell.value = old
        ev.rewrite(start, {})
    known = ev.kind_of(value) if not isinstance(value, Term) or value.kind is not None else None
    return known or Kind("decltype", arguments=(value,))


def builtin_kind(ev: Evaluator, path: Path, scope: Scope) -> Kind | None:
    """Return an integer or element type, cute's C<4>, _4, half_t …, and what the standard library's traits give."""
    if not path:
        return None
    name, given = path[-1]
    if given is not None:
        arguments = flattened(ev.template_arguments(given, scope))
        if name in ("make_index_sequence", "make_integer_sequence"):
            return traits.sequence(arguments) or Kind(name, arguments=tuple(arguments))
        known = traits.type_of(name, arguments)
        if known is None and traits.is_transformation(name):
            return Kind(name, arguments=tuple(arguments), unbound=True)
        return known if isinstance(known, Kind) else Kind(name, arguments=tuple(arguments))
    if name in ("true_type", "false_type") and not ev.python:
        return Kind("integral_constant", arguments=(Kind("bool", BOOL, 1), Int(int(name == "true_type"), BOOL)))
    return _plain_kind(name, len(path) < 3)


def named_kind(ev: Evaluator, name: str, scope: Scope) -> Kind | None:
    """Return the type that a name means; None where it means none."""
    found = ev.resolve(((name, None),), scope)
    made = ev.applied(found, []) if isinstance(found, Template) else found
    return made if isinstance(made, Kind) else None


def kind_of(ev: Evaluator, value: Any) -> Kind | None:
    """Return the type of a value, as far as templates need it."""
    if isinstance(value, Int):
        return Kind(value.type.name, value.type, value.type.bits) if value.type != UNKNOWN else None
    if isinstance(value, Object):
        record = value.record
        return Kind(record.name, record=record, bits=record.bits or None, arguments=record.arguments)
    if isinstance(value, Pointer) and value.element is not None:
        e = value.element
        return Kind(
            e.name,
            e.whole,
            e.bits,
            e.record,
            pointers=e.pointers + 1,
            dims=(),
            arguments=e.arguments,
            reference="",
            const=e.const,
        )
    if isinstance(value, Term):
        return value.kind or Kind(value.text)
    return value if isinstance(value, Kind) else None


def _collapsed(inner: str, outer: str) -> str:
    """Return a reference to a reference: [dcl.ref]."""
    return "&" if "&" in (inner, outer) else outer or inner


def _begins(value: Any) -> int:
    """Return where a variable or the first of some functions is declared; 0 for what may be used before."""
    if isinstance(value, Cell):
        return value.span[0]
    if isinstance(value, Later):
        return value.decl.span[0]
    if isinstance(value, Closure):
        return min(function.first for function in value.functions)
    return 0


def _names(pattern: Any) -> set[str]:
    """Return every name in an expression."""
    if isinstance(pattern, tree.Name | tree.Type):
        out = {name for name, _ in pattern.path}
        for _, given in pattern.path:
            out |= _names(given or ())
        return out | (_names(pattern.dims) if isinstance(pattern, tree.Type) else set())
    if isinstance(pattern, tree.Node):
        return set().union(*(_names(getattr(pattern, slot)) for slot in _slots(type(pattern))))  # type: ignore[arg-type]
    if isinstance(pattern, tuple):
        return set().union(*map(_names, pattern))
    return set()


@lru_cache(maxsize=64)
def _slots(kind: Any) -> tuple[str, ...]:
    """Return the attributes of a node of the tree, its place left out."""
    return tuple(slot for slot in getattr(kind, "__slots__", ()) if slot != "span")


class Later:
    """A static member not yet evaluated."""

    __slots__ = ("decl", "scope")

    def __init__(self, decl: tree.Declare, scope: Scope) -> None:
        self.decl = decl
        self.scope = scope
