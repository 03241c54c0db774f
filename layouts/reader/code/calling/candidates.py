"""Choose the function of a call: deduce template arguments, check constraints, choose specializations.

ISO C++20: [temp.deduct.call], [temp.constr], [temp.expl.spec].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.overloads import (
    CallArgument,
    OverloadCandidate,
    accepts_count,
    choose_candidate,
    rank_conversion,
)
from lanescope.reader.code.cute.cute_values import freeze_value, is_cute_value
from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.instances import make_pattern_evaluator
from lanescope.reader.code.types.specializations import format_placeless
from lanescope.reader.code.types.templates import (
    Evaluate,
    TemplateMatch,
    has_names,
    is_same_argument,
    is_same_type,
    make_match,
    match_argument,
)
from lanescope.reader.code.values import FunctionSet, OpaqueValue, ParameterPack, ResolvedType, TemplateEntity

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def choose_function(ev: Evaluator, closure: FunctionSet, arguments: list[CallArgument]) -> OverloadCandidate | None:
    """Choose the function of a name for some arguments; None if unknown."""
    functions = [f for f in closure.functions if f.specialized is None]
    if any(f.qualifier for f in functions) and len(functions) > 1:
        return None  # depends on the value category of the object
    if closure.constant is None and len({f.const for f in functions if not f.static}) > 1:
        return _choose_for_any_constness(ev, closure, arguments)
    tried = [_make_candidate(ev, closure, f, arguments) for f in _select_fitting(closure, functions, len(arguments))]
    candidates = _select_check_constraints(ev, closure, [candidate for candidate in tried if candidate is not None])
    if candidates is None:
        return None
    best = candidates[0] if len(candidates) == 1 else choose_candidate(candidates, arguments)
    if best is None or not best.function.templates:
        return best
    return _choose_specialization(ev, closure, best)


def _choose_for_any_constness(
    ev: Evaluator, closure: FunctionSet, arguments: list[CallArgument]
) -> OverloadCandidate | None:
    """Return the function chosen for both a const and a non-const object; None if they differ."""
    variable, constant = (
        ev.choose_function(replace(closure, constant=constant), arguments) for constant in (False, True)
    )
    same = variable is not None and constant is not None and variable.function is constant.function
    return variable if same else None


def _select_fitting(closure: FunctionSet, functions: list[tree.Function], count: int) -> list[tree.Function]:
    """Return the functions viable for the object's constness, the template arguments and the number of arguments."""
    functions = _filter_by_constness(functions, closure.constant)
    if closure.templates is not None:
        functions = [f for f in functions if f.templates] or functions
    return [f for f in functions if accepts_count(f, count)] or functions


def _select_check_constraints(
    ev: Evaluator, closure: FunctionSet, candidates: list[OverloadCandidate]
) -> list[OverloadCandidate] | None:
    """Return the candidates whose constraints hold; None if that is unknown and matters."""
    if len(candidates) < 2:
        return candidates
    allowed = [(candidate, _check_constraints(ev, closure, candidate)) for candidate in candidates]
    viable = [candidate for candidate, allows in allowed if allows is not False]
    unsure = any(allows is None for _, allows in allowed)
    return None if unsure and len(viable) > 1 else viable


def _make_candidate(
    ev: Evaluator, closure: FunctionSet, function: tree.Function, arguments: list[CallArgument]
) -> OverloadCandidate | None:
    """Make a candidate with its parameter types for some arguments; None if deduction fails."""
    scope = NameScope(closure.get_home(function))
    deduced: dict[str, Any] = {}
    if function.templates:
        deduction = deduce_arguments(ev, closure, function, arguments)
        if deduction is None:
            return None
        deduced = deduction
        enter_template(ev, function, deduced, scope)
    kinds: list[ResolvedType | None] = []
    for parameter in function.parameters:
        count = max(len(arguments) - len(function.parameters) + 1, 0) if parameter.pack else 1
        kind = ev.resolve_type(parameter.type, scope) if parameter.type is not None and not parameter.pack else None
        ellipsis = parameter.type is not None and parameter.type.name == "..."
        kinds += [ResolvedType("..." if ellipsis else "auto")] * count if parameter.pack else [kind]
    return OverloadCandidate(function, tuple(kinds), deduced)


def enter_template(ev: Evaluator, function: tree.Function, deduced: dict[str, Any], scope: NameScope) -> None:
    """Bind the parameters of a function template in a scope; those not deduced become symbols."""
    for parameter in function.templates:
        value = deduced.get(parameter.name)
        if isinstance(value, ParameterPack):
            scope.names[parameter.name] = ParameterPack(
                ev.make_template_argument_value(parameter, v, scope) for v in value
            )
        elif parameter.pack:
            scope.names[parameter.name] = ParameterPack()
        elif parameter.name or parameter.default is not None:
            scope.names[parameter.name] = ev.make_template_argument_value(parameter, value, scope)


def deduce_arguments(
    ev: Evaluator, closure: FunctionSet, function: tree.Function, arguments: list[CallArgument]
) -> dict[str, Any] | None:
    """Deduce template arguments from explicit ones and from a call's arguments; None if they conflict."""
    match = make_match(function.templates)
    if not _bind_explicit(match, function, list(closure.templates or ())):
        return None
    open_ = match.names - frozenset(match.bound)
    evaluate = make_pattern_evaluator(ev, closure.get_home(function))
    for n, parameter in enumerate(function.parameters[: len(arguments)]):
        pattern = parameter.type
        if pattern is None or not has_names(pattern, open_):
            continue
        if parameter.pack:
            _deduce_pack(match, pattern, arguments[n:])
        elif not _deduce_parameter(match, pattern, arguments[n], evaluate):
            return None
    return match.bound


def _bind_explicit(match: TemplateMatch, function: tree.Function, template_arguments: list[Any]) -> bool:
    """Bind template parameters to explicit arguments; return False if one does not fit."""
    for n, parameter in enumerate(function.templates[: len(template_arguments)]):
        if parameter.pack:
            match.bound[parameter.name] = ParameterPack(template_arguments[n:])
            break
        if parameter.is_type and not isinstance(template_arguments[n], ResolvedType | TemplateEntity | OpaqueValue):
            return False
        if not parameter.is_type and isinstance(template_arguments[n], ResolvedType):
            return False
        match.bound[parameter.name] = template_arguments[n]
    return True


def _deduce_parameter(match: TemplateMatch, pattern: tree.Type, argument: CallArgument, evaluate: Evaluate) -> bool:
    """Match a parameter's type with an argument's; return False if they cannot match."""
    kind = _adjust_argument_type(pattern, argument)
    if kind is None:  # an unknown type is kept as it is
        names = [
            name for name, template_arguments in pattern.path if template_arguments is None and name in match.names
        ]
        if len(pattern.path) == 1 and names:
            known = is_cute_value(argument.value)
            kind = (
                ResolvedType("decltype", arguments=(freeze_value(argument.value),)) if known else ResolvedType(names[0])
            )
            match.bound.setdefault(names[0], kind)
        return True
    decays = bool(pattern.dims) and not pattern.reference  # T* tiles[] is T** tiles
    dims, pointers = pattern.dims[decays:], pattern.pointers + decays
    named_type = tree.Type(pattern.path, pointers, "", dims, None, False, span=pattern.span)
    if pattern.pointers and pattern.const:
        kind = replace(kind, const=False)
    return match_argument(match, named_type, kind, evaluate)


def _deduce_pack(match: TemplateMatch, pattern: tree.Type, arguments: list[CallArgument]) -> None:
    """Bind a pack to the types of all remaining arguments."""
    names = [name for name, _ in pattern.path if name in match.packs]
    if len(pattern.path) == 1 and names and not pattern.pointers and names[0] not in match.bound:
        kinds = [_adjust_argument_type(pattern, a) or ResolvedType("?") for a in arguments]
        match.bound[names[0]] = ParameterPack(kinds)


def _check_constraints(ev: Evaluator, closure: FunctionSet, candidate: OverloadCandidate) -> bool | None:
    """Return whether a candidate's constraints hold (enable_if and requires); None if unknown."""
    function = candidate.function
    conditions = list(_list_constraints(function))
    if function.deleted:
        return False
    if not conditions:
        return None if _has_opaque_constraint(function) else True
    scope = NameScope(closure.get_home(function))
    enter_template(ev, function, candidate.deduced, scope)
    answers = [ev.evaluate_truth(ev.evaluate_expression(condition, scope)) for condition in conditions]
    return False if False in answers else None if None in answers else True


def _choose_specialization(
    ev: Evaluator, closure: FunctionSet, candidate: OverloadCandidate
) -> OverloadCandidate | None:
    """Return the explicit specialization for a chosen candidate, or the candidate itself; None if unknown."""
    specials = [f for f in closure.functions if f.specialized is not None]
    if not specials:
        return candidate
    scope = NameScope(closure.get_home(candidate.function))
    enter_template(ev, candidate.function, candidate.deduced, scope)
    bound_arguments = [scope.names.get(p.name) for p in candidate.function.templates]
    kinds = _list_parameter_kinds(ev, candidate.function, scope)
    unsure = False
    for special in specials:
        home = NameScope(closure.get_home(special))
        template_arguments = ev.evaluate_template_arguments(special.specialized or (), home)
        types = _list_parameter_kinds(ev, special, home)
        if len(types) != len(kinds):
            continue
        alike = [is_same_argument(a, b) for a, b in zip(bound_arguments, template_arguments, strict=False)]
        alike += [is_same_type(a, b) if a and b else None for a, b in zip(kinds, types, strict=True)]
        if all(alike):
            return OverloadCandidate(special, tuple(types), {})
        unsure = unsure or False not in alike
    return None if unsure else candidate


def _list_parameter_kinds(ev: Evaluator, function: tree.Function, scope: NameScope) -> list[ResolvedType | None]:
    """Return the types of a function's parameters."""
    return [ev.resolve_type(p.type, scope) if p.type is not None else None for p in function.parameters]


def may_fit(ev: Evaluator, closure: FunctionSet, function: tree.Function, operands: list[CallArgument]) -> bool:
    """Return whether a function could take operands."""
    candidate = _make_candidate(ev, closure, function, operands)
    return candidate is not None and all(
        rank_conversion(a, k) is not None for a, k in zip(operands, candidate.kinds, strict=False)
    )


def filter_declared_before(closure: FunctionSet, at: int) -> FunctionSet:
    """Return the functions of a namespace that are declared before a place; all if none is.

    Explicit specializations are kept, since lookup does not find them ([temp.expl.spec]). One that may specialize a
    later template loses its body.
    """
    if len(closure.functions) < 2 or not at:
        return closure
    late = {id(f) for f in closure.functions if f.first > at and closure.get_home(f).owner == "namespace"}
    plain = [f for f in closure.functions if f.specialized is None]
    hidden = [f for f in plain if id(f) in late]
    if len(hidden) in (0, len(plain)):
        return closure
    unsure = any(f.templates for f in hidden)
    visible = [f for f in closure.functions if f.specialized is not None or id(f) not in late]
    functions = tuple(replace(f, body=None) if unsure and id(f) in late else f for f in visible)
    return replace(closure, functions=functions, homes=tuple(closure.get_home(f) for f in visible))


def _filter_by_constness(functions: list[tree.Function], constant: bool | None) -> list[tree.Function]:
    """Return the member functions callable on a const or non-const object; of a const pair, only the better one."""
    if constant:
        return [f for f in functions if f.const or f.static] or functions
    if constant is None:
        return functions
    non_const_types = [[_format_parameter_type(p) for p in f.parameters] for f in functions if not f.const]
    return [
        f for f in functions if not (f.const and [_format_parameter_type(p) for p in f.parameters] in non_const_types)
    ]


def _format_parameter_type(parameter: tree.Parameter) -> str:
    """Return a parameter's type as text."""
    return format_placeless(parameter.type)


def _adjust_argument_type(pattern: tree.Type, argument: CallArgument) -> ResolvedType | None:
    """Return the type that a parameter's pattern is matched with: [temp.deduct.call]."""
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


def _list_constraints(function: tree.Function) -> Iterator[tree.Expression]:
    """Yield the constraints of a function template: conditions of enable_if and requires."""
    if function.constraint is not None:
        yield function.constraint
    types: list[Any] = [function.returns, *(p.type for p in function.parameters)]
    types += [part for p in function.templates for part in (p.type, p.default)]
    for constrained in types:
        if isinstance(constrained, tree.Type | tree.Name):
            for name, template_arguments in constrained.path:
                if name in ("enable_if_t", "enable_if") and template_arguments:
                    condition = template_arguments[0]
                    yield condition


def _has_opaque_constraint(function: tree.Function) -> bool:
    """Return whether a template has a constraint that is not evaluated: void_t, or decltype of a call."""
    types: list[Any] = [function.returns, *(part for p in function.templates for part in (p.type, p.default))]
    names = {
        name for constrained in types if isinstance(constrained, tree.Type | tree.Name) for name, _ in constrained.path
    }
    return bool(function.templates) and bool(names & {"void_t", "decltype"})
