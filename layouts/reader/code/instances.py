"""Instances of templates: their parameters, bound, and what is made of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.naming import Later
from lanescope.reader.code.records import layout_of
from lanescope.reader.code.templates import choose_special, flattened, match_arguments, matcher
from lanescope.reader.code.values import (
    Cell,
    Closure,
    Enumeration,
    Kind,
    Pack,
    Record,
    Scope,
    Template,
    Term,
)
from lanescope.reader.code.word import UNKNOWN, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_INSTANCES = 60  # templates inside one another


def applied(ev: Evaluator, template: Template, given: list[Any]) -> Any:
    """Return a struct, alias or variable with its template arguments."""
    ev.spend()
    decl = template.decl
    inner = Scope(template.scope)
    arguments = _bind(ev, template.parameters, given, inner)
    special: Any = None
    if template.specials:
        chosen = choose_special(template.specials, flattened(arguments), ev.pattern_evaluator(template.scope))
        if chosen is None:
            unknown = Kind(decl.name, arguments=tuple(arguments))
            return Term(f"{unknown}") if isinstance(decl, tree.Declare) else unknown
        special, bound = chosen
        if special is not None:
            decl, inner = special, Scope(template.scope)
            _enter_bound(ev, special.templates, bound, inner)
    if isinstance(decl, tree.Struct) and not decl.complete:
        return Kind(decl.name, arguments=tuple(arguments))
    if isinstance(decl, tree.Alias):
        return _aliased(ev, decl, inner)
    key = (id(template), tuple(key_of(one) for one in flattened(arguments)))
    if isinstance(decl, tree.Declare):
        return _variable_instance(ev, decl, inner, key)
    made = ev.records.get(key)
    if made is None:
        if len(ev.instances) > MOST_INSTANCES:
            return Kind(decl.name, arguments=tuple(arguments))
        made = ev.records[key] = Record(decl.name, decl, inner)
        made.python, made.template, made.arguments = ev.python, template, tuple(arguments)
        ev.instances.append(key)
        try:
            layout_of(ev, made)
        finally:
            ev.instances.pop()
        _add_outside(ev, template, made, arguments)
    return Kind(decl.name, record=made, bits=made.bits or None, arguments=tuple(arguments))


def _aliased(ev: Evaluator, decl: tree.Alias, inner: Scope) -> Any:
    """Return what an alias means."""
    if id(decl) in ev.opening:  # using barrier = cuda::barrier<…>: what it names is not in the text
        return Kind(decl.name)
    ev.opening.add(id(decl))
    try:
        found = ev.resolve(decl.type.path, inner, decl.type.span[0])
        shaped = decl.type.pointers or decl.type.dims or decl.type.const or decl.type.reference
        if isinstance(found, Template) and not shaped:
            return ev.applied(found, [])
        if isinstance(found, Enumeration) and not decl.type.pointers and not decl.type.dims:
            return found
        return ev.kind(decl.type, inner)
    finally:
        ev.opening.discard(id(decl))


def _variable_instance(ev: Evaluator, decl: tree.Declare, inner: Scope, key: Any) -> Cell:
    """Return an instance of a variable template."""
    made: Cell | None = ev.records.get(key)
    if made is None:
        made = ev.records[key] = Cell(Term(decl.name), None, decl.name, decl.span, const=decl.const)
        if not decl.const:
            ev.statics.append((ev.records, key, None))
        if len(ev.instances) > MOST_INSTANCES:
            return made
        ev.instances.append(key)
        try:
            inner.names[decl.name] = Later(replace(decl, templates=()), inner)
            ev.records[key] = ev.forced(inner, decl.name)
            made.value, made.kind = ev.records[key].value, ev.records[key].kind
            if not made.const and ev.globals_lost:
                ev.forget(made, integers=True)
        finally:
            ev.instances.pop()
    return made


def _bind(ev: Evaluator, parameters: tuple[tree.Parameter, ...], given: list[Any], inner: Scope) -> list[Any]:
    """Bind a template's parameters in a scope; return all arguments, defaults among them."""
    out: list[Any] = []
    flat = flattened(given)
    for n, parameter in enumerate(parameters):
        if parameter.pack:
            bound: Any = Pack(ev.template_argument_value(parameter, one, inner) for one in flat[n:])
        else:
            bound = ev.template_argument_value(parameter, flat[n] if n < len(flat) else None, inner)
        if parameter.name:
            inner.names[parameter.name] = bound
        out.append(Pack(map(_content, bound)) if isinstance(bound, Pack) else _content(bound))
    return out


def _enter_bound(ev: Evaluator, parameters: tuple[tree.Parameter, ...], bound: dict[str, Any], scope: Scope) -> None:
    """Bind a template's parameters to what matching found."""
    for parameter in parameters:
        value = bound.get(parameter.name)
        if isinstance(value, Pack):
            scope.names[parameter.name] = Pack(ev.template_argument_value(parameter, one, scope) for one in value)
        elif parameter.pack and value is None:
            scope.names[parameter.name] = Pack()
        elif parameter.name:
            scope.names[parameter.name] = ev.template_argument_value(parameter, value, scope)


def pattern_evaluator(ev: Evaluator, scope: Scope) -> Any:
    """Return what evaluates a part of a pattern, with the parameters bound so far."""

    def evaluate(pattern: tree.Expression, bound: dict[str, Any]) -> Any:
        inner = Scope(scope)
        inner.names.update({k: v if isinstance(v, Kind | Template | Pack) else Cell(v) for k, v in bound.items()})
        return ev.template_argument(pattern, inner)

    return evaluate


def _add_outside(ev: Evaluator, template: Template, record: Record, arguments: list[Any]) -> None:
    """Give an instance the members that are defined outside its class."""
    for member in template.outside:
        owner = member.owner[-1][1]
        inner = Scope(record.scope)
        heads = member.owner_templates if isinstance(member, tree.Function) else member.templates
        if owner is not None:
            match = matcher(heads)
            if not match_arguments(match, owner, arguments, ev.pattern_evaluator(template.scope)):
                continue
            _enter_bound(ev, heads, match.bound, inner)
        explicit = owner is not None and not heads  # of one instance alone
        if isinstance(member, tree.Function):
            _add_function(record, member, inner, explicit)
        elif explicit or not isinstance(record.scope.names.get(member.name), Cell):
            record.scope.names[member.name] = Later(replace(member, templates=()), inner)


def _add_function(record: Record, member: tree.Function, inner: Scope, explicit: bool) -> None:
    """Put a member function's definition in the place of its declaration; one of one instance alone in that of any."""
    known = record.methods.get(member.name)
    functions = known.functions if known is not None else ()
    kept = tuple(
        f for f in functions if (f.body is not None and not explicit) or len(f.parameters) != len(member.parameters)
    )
    own = member
    if any(f.static for f in functions) and not member.static:
        own = replace(member, static=True)
    declared = next((f for f in functions if f.body is None), None)
    if declared is not None and any(p.default is not None for p in declared.parameters):
        own = _with_defaults(own, declared)
    made = Closure((own,), inner)
    if known is not None and kept:
        made = made.joined(Closure(kept, known.scope, homes=tuple(known.home(f) for f in kept)))
    record.methods[member.name] = record.scope.names[member.name] = made


def template_argument_value(ev: Evaluator, parameter: tree.Parameter, given: Any, scope: Scope) -> Any:
    """Return what a template's parameter is bound to: a type, a template, or a cell with a value."""
    if given is None and parameter.default is not None and not parameter.pack:
        given = ev.template_argument(parameter.default, scope)
    if isinstance(given, Cell):
        given = given.value
    if isinstance(given, Template | Pack):
        return given
    if parameter.is_type or isinstance(given, Kind):
        if isinstance(given, Term):
            return given.kind or Kind(given.text)
        return given if given is not None else Kind(parameter.name, unbound=True)
    return _bind_value(ev, parameter, given, scope)


def _bind_value(ev: Evaluator, parameter: tree.Parameter, given: Any, scope: Scope) -> Cell:
    """Return a template's parameter that is a value: what it is given, None for a symbol."""
    kind = ev.kind(parameter.type, scope) if parameter.type else None
    if given is None:
        given = free(parameter.name, kind.whole if kind and kind.whole else UNKNOWN)
    elif kind is not None and kind.whole is not None and not kind.pointers:
        given = ev.converted(given, kind, parameter.span)
    return Cell(given, kind, parameter.name, parameter.span, const=True)


def _content(bound: Any) -> Any:
    """Return a template argument as a value, not as a cell."""
    return bound.value if isinstance(bound, Cell) else bound


def key_of(one: Any) -> Any:
    """Return what tells template arguments apart."""
    if isinstance(one, Kind):
        base = id(one.record) if one.record is not None else one.whole or (one.name, tuple(map(key_of, one.arguments)))
        return (base, one.pointers, one.reference, one.const, tuple(str(dim) for dim in one.dims))
    if isinstance(one, Template):
        return id(one)
    return str(one)


def _with_defaults(function: tree.Function, declared: tree.Function) -> tree.Function:
    """Return a definition with the default arguments of its declaration."""
    pairs = zip(function.parameters, declared.parameters, strict=False)
    parameters = [replace(mine, default=mine.default or other.default) for mine, other in pairs]
    return replace(function, parameters=tuple(parameters))
