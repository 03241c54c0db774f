"""The functions that a call may mean: template arguments that follow from a call's, constraints, specializations.

ISO C++20: [temp.deduct.call], [temp.constr], [temp.expl.spec].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.overloads import Argument, Candidate, accepts_count, choose, rank_of
from lanescope.reader.code.templates import match_one, matcher, mentions, same_argument, same_type, text_of
from lanescope.reader.code.values import (
    Closure,
    Kind,
    Pack,
    Scope,
    Template,
    Term,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def chosen(ev: Evaluator, closure: Closure, arguments: list[Argument]) -> Candidate | None:
    """The function of a name that some arguments choose; None where that is not known."""
    functions = [f for f in closure.functions if f.specialized is None]
    if any(f.qualifier for f in functions) and len(functions) > 1:
        return None  # by the value category of the object
    if closure.constant is None and len({f.const for f in functions if not f.static}) > 1:
        of_variable, of_constant = (
            ev.chosen(replace(closure, constant=constant), arguments) for constant in (False, True)
        )
        same = of_variable is not None and of_constant is not None and of_variable.function is of_constant.function
        return of_variable if same else None
    functions = _of_constness(functions, closure.constant)
    if closure.templates is not None and any(f.templates for f in functions):
        functions = [f for f in functions if f.templates]
    fitting = [f for f in functions if accepts_count(f, len(arguments))]
    if len(fitting) != 1:
        fitting = fitting or functions
    made = [_candidate(ev, closure, f, arguments) for f in fitting]
    candidates = [one for one in made if one is not None]
    if len(candidates) > 1:
        allowed = [(one, _enabled(ev, closure, one)) for one in candidates]
        if any(allows is None for _, allows in allowed):
            candidates = [one for one, allows in allowed if allows is not False]
            if len(candidates) > 1:
                return None
        candidates = [one for one, allows in allowed if allows is not False]
    best = candidates[0] if len(candidates) == 1 else choose(candidates, arguments)
    if best is None or not best.function.templates:
        return best
    specials = [f for f in closure.functions if f.specialized is not None]
    return _specialized(ev, closure, best, specials, arguments) if specials else best


def _candidate(ev: Evaluator, closure: Closure, function: tree.Function, arguments: list[Argument]) -> Candidate | None:
    """A function with the types of its parameters for some arguments; None where no template arguments follow."""
    scope = Scope(closure.home(function))
    deduced: dict[str, Any] = {}
    if function.templates:
        found = _deduced(ev, closure, function, arguments)
        if found is None:
            return None
        deduced = found
        enter_template(ev, function, deduced, scope)
    kinds: list[Kind | None] = []
    for parameter in function.parameters:
        count = max(len(arguments) - len(function.parameters) + 1, 0) if parameter.pack else 1
        kind = ev.kind(parameter.type, scope) if parameter.type is not None and not parameter.pack else None
        ellipsis = parameter.type is not None and parameter.type.name == "..."
        kinds += [Kind("..." if ellipsis else "auto")] * count if parameter.pack else [kind]
    return Candidate(function, tuple(kinds), deduced)


def enter_template(ev: Evaluator, function: tree.Function, deduced: dict[str, Any], scope: Scope) -> None:
    for parameter in function.templates:
        value = deduced.get(parameter.name)
        if isinstance(value, Pack):
            scope.names[parameter.name] = Pack(ev.template_argument_value(parameter, v, scope) for v in value)
        elif parameter.pack:
            scope.names[parameter.name] = Pack()
        elif parameter.name or parameter.default is not None:
            scope.names[parameter.name] = ev.template_argument_value(parameter, value, scope)


def _deduced(
    ev: Evaluator, closure: Closure, function: tree.Function, arguments: list[Argument]
) -> dict[str, Any] | None:
    """Template arguments, as given and as they follow from a call's; None where they contradict."""
    match = matcher(function.templates)
    given = list(closure.templates or ())
    for n, parameter in enumerate(function.templates):
        if parameter.pack:
            if given[n:]:
                match.bound[parameter.name] = Pack(given[n:])
            break
        if n < len(given):
            if parameter.is_type and not isinstance(given[n], Kind | Template | Term):
                return None
            if not parameter.is_type and isinstance(given[n], Kind):
                return None
            match.bound[parameter.name] = given[n]
    explicit = frozenset(match.bound)
    evaluate = ev.pattern_evaluator(closure.home(function))
    for n, parameter in enumerate(function.parameters):
        pattern = parameter.type
        if pattern is None or n >= len(arguments) or not mentions(pattern, match.names - explicit):
            continue
        if parameter.pack:
            _deduce_pack(ev, match, pattern, arguments[n:])
            continue
        kind = _adjusted(pattern, arguments[n])
        if kind is None:  # whatever type it has, it keeps
            names = [name for name, given in pattern.path if given is None and name in match.names]
            if len(pattern.path) == 1 and names:
                match.bound.setdefault(names[0], Kind(names[0]))
            continue
        bare = tree.Type(pattern.path, pattern.pointers, "", pattern.dims, None, False, span=pattern.span)
        if pattern.pointers and pattern.const:
            kind = replace(kind, const=False)
        if not match_one(match, bare, kind, evaluate):
            return None
    return match.bound


def _deduce_pack(ev: Evaluator, match: Any, pattern: tree.Type, arguments: list[Argument]) -> None:
    names = [name for name, _ in pattern.path if name in match.packs]
    if len(pattern.path) == 1 and names and not pattern.pointers and names[0] not in match.bound:
        kinds = [_adjusted(pattern, a) or Kind("?") for a in arguments]
        match.bound[names[0]] = Pack(kinds)


def _enabled(ev: Evaluator, closure: Closure, one: Candidate) -> bool | None:
    """Whether a candidate's constraints hold (enable_if among its types, its requires clause); None: not known."""
    function = one.function
    conditions = list(_conditions(function))
    if function.deleted:
        return False
    if not conditions:
        return None if _opaque_constraint(function) else True
    scope = Scope(closure.home(function))
    enter_template(ev, function, one.deduced, scope)
    answers = [ev.truth(ev.value(condition, scope)) for condition in conditions]
    return False if False in answers else None if None in answers else True


def _specialized(
    ev: Evaluator, closure: Closure, one: Candidate, specials: list[tree.Function], arguments: list[Argument]
) -> Candidate | None:
    """The explicit specialization of a function template for the arguments it was chosen with, or itself."""
    scope = Scope(closure.home(one.function))
    enter_template(ev, one.function, one.deduced, scope)
    mine = [scope.names.get(p.name) for p in one.function.templates]
    kinds = [ev.kind(p.type, scope) if p.type is not None else None for p in one.function.parameters]
    unsure = False
    for special in specials:
        home = Scope(closure.home(special))
        given = ev.template_arguments(special.specialized or (), home)
        alike = [same_argument(a, b) for a, b in zip(mine, given, strict=False)]
        types = [ev.kind(p.type, home) if p.type is not None else None for p in special.parameters]
        if len(types) != len(kinds):
            continue
        if types:
            alike += [same_type(a, b) if a and b else None for a, b in zip(kinds, types, strict=True)]
        if False in alike:
            continue
        if None in alike:
            unsure = True
        else:
            return Candidate(special, tuple(types), {})
    return None if unsure else one


def may_fit(ev: Evaluator, closure: Closure, function: tree.Function, operands: list[Argument]) -> bool:
    """Whether a function could take operands."""
    one = _candidate(ev, closure, function, operands)
    return one is not None and all(_could(a, k) for a, k in zip(operands, one.kinds, strict=False))


def declared_before(closure: Closure, at: int) -> Closure:
    """The functions of a namespace that are declared before a place; all where none is.

    Explicit specializations are not looked up: one below the place is that of a template above it ([temp.expl.spec]).
    Where a later template may be the one that it specializes, it has no body.
    """
    if len(closure.functions) < 2 or not at:
        return closure

    def seen(one: tree.Function) -> bool:
        return one.first <= at or closure.home(one).owner != "namespace"

    hidden = [f for f in closure.functions if f.specialized is None and not seen(f)]
    if not hidden or not any(f.specialized is None and seen(f) for f in closure.functions):
        return closure
    unsure = any(f.templates for f in hidden)
    kept = [f for f in closure.functions if f.specialized is not None or seen(f)]
    functions = tuple(replace(f, body=None) if unsure and not seen(f) else f for f in kept)
    return replace(closure, functions=functions, homes=tuple(closure.home(f) for f in kept))


def _of_constness(functions: list[tree.Function], constant: bool | None) -> list[tree.Function]:
    """The member functions that a const object, or another, may be called with: of two alike the one of its own."""
    if constant:
        return [f for f in functions if f.const or f.static] or functions
    if constant is None:
        return functions
    mine = [[_kinds_text(p) for p in f.parameters] for f in functions if not f.const]
    return [f for f in functions if not (f.const and [_kinds_text(p) for p in f.parameters] in mine)]


def _kinds_text(parameter: tree.Parameter) -> str:
    return text_of(parameter.type)


def _adjusted(pattern: tree.Type, argument: Argument) -> Kind | None:
    """The type that a parameter's pattern is matched with: [temp.deduct.call]."""
    kind = argument.kind
    if kind is None:
        return None
    if pattern.reference == "&&" and len(pattern.path) == 1 and not pattern.const:
        return replace(kind, reference="&" if argument.place else "")
    if pattern.reference:
        return replace(kind, reference="", const=(kind.const or argument.const is True) and not pattern.const)
    if kind.dims:
        return replace(kind, dims=kind.dims[1:], pointers=kind.pointers + 1, reference="")
    return replace(kind, reference="", const=kind.const and bool(kind.pointers))


def _could(argument: Argument, kind: Kind | None) -> bool:
    return rank_of(argument, kind) is not None


def _conditions(function: tree.Function) -> Iterator[tree.Expression]:
    """The conditions under which a function template takes part: of enable_if anywhere in its types, of requires."""
    if function.constraint is not None:
        yield function.constraint
    types: list[Any] = [function.returns, *(p.type for p in function.parameters)]
    types += [part for p in function.templates for part in (p.type, p.default)]
    for one in types:
        if isinstance(one, tree.Type | tree.Name):
            for name, given in one.path:
                if name in ("enable_if_t", "enable_if") and given:
                    condition = given[0]
                    yield condition


def _opaque_constraint(function: tree.Function) -> bool:
    """Whether a template may be left out of a call for a reason that is not looked into: void_t, decltype of a call."""
    types: list[Any] = [function.returns, *(part for p in function.templates for part in (p.type, p.default))]
    names = {name for one in types if isinstance(one, tree.Type | tree.Name) for name, _ in one.path}
    return bool(function.templates) and bool(names & {"void_t", "decltype"})
