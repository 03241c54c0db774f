"""Instantiate templates of structs, aliases and variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from lanescope.reader.code.naming.scopes import Cell, NameScope, get_content
from lanescope.reader.code.objects.later_members import LaterMember
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.records import lay_out_record
from lanescope.reader.code.types.specializations import choose_special
from lanescope.reader.code.types.templates import flatten_packs, make_match, match_arguments
from lanescope.reader.code.values import (
    EnumerationType,
    FunctionSet,
    OpaqueValue,
    ParameterPack,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_INSTANCES = 60  # nested instantiations


def apply_template(ev: Evaluator, template: TemplateEntity, template_arguments: list[Any]) -> Any:
    """Instantiate a struct, alias or variable with template arguments."""
    ev.spend_step()
    decl = template.decl
    inner = NameScope(template.scope)
    arguments = _bind_template_parameters(ev, template.parameters, template_arguments, inner)
    special: Any = None
    if template.specials:
        chosen = choose_special(template.specials, flatten_packs(arguments), make_pattern_evaluator(ev, template.scope))
        if chosen is None:
            unknown = ResolvedType(decl.name, arguments=tuple(arguments))
            return OpaqueValue(f"{unknown}") if isinstance(decl, tree.Declaration) else unknown
        special, bound = chosen
        if special is not None:
            decl, inner = special, NameScope(template.scope)
            _enter_bound_parameters(ev, special.templates, bound, inner)
    if isinstance(decl, tree.StructDefinition) and not decl.complete:
        return ResolvedType(decl.name, arguments=tuple(arguments))
    if isinstance(decl, tree.Alias):
        return _resolve_alias(ev, decl, inner) if template.parameters else _resolve_plain_alias(ev, template, inner)
    key = (id(template), tuple(make_argument_key(argument) for argument in flatten_packs(arguments)))
    if isinstance(decl, tree.Declaration):
        return _make_variable_instance(ev, decl, inner, key)
    record_type = ev.records.get(key)
    if record_type is None:
        if len(ev.instances) > MOST_INSTANCES:
            return ResolvedType(decl.name, arguments=tuple(arguments))
        record_type = ev.records[key] = RecordType(decl.name, decl, inner)
        record_type.python, record_type.template, record_type.arguments = ev.python, template, tuple(arguments)
        ev.instances.append(key)
        try:
            lay_out_record(ev, record_type)
        finally:
            ev.instances.pop()
        _add_outside_members(ev, template, record_type, arguments)
    return ResolvedType(decl.name, record=record_type, bits=record_type.bits or None, arguments=tuple(arguments))


def _resolve_plain_alias(ev: Evaluator, template: TemplateEntity, inner: NameScope) -> Any:
    """Resolve an alias without parameters; the result is cached unless it is, or uses, an alias of itself."""
    if template.meaning is None:
        recursive = ev.recursive_aliases
        meaning = _resolve_alias(ev, cast("tree.Alias", template.decl), inner)
        if not isinstance(meaning, ResolvedType) or meaning.unbound or ev.recursive_aliases != recursive:
            return meaning
        template.meaning = meaning
    return template.meaning


def _resolve_alias(ev: Evaluator, decl: tree.Alias, inner: NameScope) -> Any:
    """Resolve an alias; a recursive one names a type that is not in the text."""
    if id(decl) in ev.aliases_in_progress:  # using barrier = cuda::barrier<…>
        ev.recursive_aliases += 1
        return ResolvedType(decl.name)
    ev.aliases_in_progress.add(id(decl))
    home = _find_home(decl, inner) if decl.type.path[0][0] == decl.name else None
    hidden_alias = home.names.pop(decl.name) if home is not None else None  # using Storage = Storage<T>: the outer one
    try:
        binding = ev.resolve_name(decl.type.path, inner, decl.type.span[0])
        shaped = decl.type.pointers or decl.type.dims or decl.type.const or decl.type.reference
        if isinstance(binding, TemplateEntity) and not shaped:
            return ev.apply_template(binding, [])
        if isinstance(binding, EnumerationType) and not decl.type.pointers and not decl.type.dims:
            return binding
        return ev.resolve_type(decl.type, inner)
    finally:
        ev.aliases_in_progress.discard(id(decl))
        if home is not None:
            home.names[decl.name] = hidden_alias


def _find_home(decl: tree.Alias, inner: NameScope) -> NameScope | None:
    """Return the scope in which a name means an alias."""
    scopes = (scope for scope in inner.iterate_outward() if decl.name in scope.names)
    home = next(scopes, None)
    entity = home.names[decl.name] if home is not None else None
    return home if isinstance(entity, TemplateEntity) and entity.decl is decl else None


def _make_variable_instance(ev: Evaluator, decl: tree.Declaration, inner: NameScope, key: Any) -> Cell:
    """Instantiate a variable template."""
    cell: Cell | None = ev.records.get(key)
    if cell is None:
        cell = ev.records[key] = Cell(OpaqueValue(decl.name), None, decl.name, decl.span, const=decl.const)
        if not decl.const:
            ev.static_members.append((ev.records, key, None))
        if len(ev.instances) > MOST_INSTANCES:
            return cell
        ev.instances.append(key)
        try:
            inner.names[decl.name] = LaterMember(replace(decl, templates=()), inner)
            ev.records[key] = ev.evaluate_later_member(inner, decl.name)
            cell.value, cell.kind = ev.records[key].value, ev.records[key].kind
            if not cell.const and ev.globals_lost:
                ev.forget_place(cell, integers=True)
        finally:
            ev.instances.pop()
    return cell


def _bind_template_parameters(
    ev: Evaluator, parameters: tuple[tree.Parameter, ...], template_arguments: list[Any], inner: NameScope
) -> list[Any]:
    """Bind template parameters in a scope; return all arguments, including defaults."""
    arguments: list[Any] = []
    flat = flatten_packs(template_arguments)
    for n, parameter in enumerate(parameters):
        if parameter.pack:
            bound: Any = ParameterPack(
                ev.make_template_argument_value(parameter, argument, inner) for argument in flat[n:]
            )
        else:
            bound = ev.make_template_argument_value(parameter, flat[n] if n < len(flat) else None, inner)
        if parameter.name:
            inner.names[parameter.name] = bound
        arguments.append(
            ParameterPack(map(get_content, bound)) if isinstance(bound, ParameterPack) else get_content(bound)
        )
    return arguments


def _enter_bound_parameters(
    ev: Evaluator, parameters: tuple[tree.Parameter, ...], bound: dict[str, Any], scope: NameScope
) -> None:
    """Bind template parameters to matched arguments."""
    for parameter in parameters:
        value = bound.get(parameter.name)
        if isinstance(value, ParameterPack):
            scope.names[parameter.name] = ParameterPack(
                ev.make_template_argument_value(parameter, argument, scope) for argument in value
            )
        elif parameter.pack and value is None:
            scope.names[parameter.name] = ParameterPack()
        elif parameter.name:
            scope.names[parameter.name] = ev.make_template_argument_value(parameter, value, scope)


def make_pattern_evaluator(ev: Evaluator, scope: NameScope) -> Any:
    """Return a function that evaluates a part of a pattern with the parameters bound so far."""

    def evaluate(pattern: tree.Expression, bound: dict[str, Any]) -> Any:
        inner = NameScope(scope)
        inner.names.update(
            {
                k: v if isinstance(v, ResolvedType | TemplateEntity | ParameterPack) else Cell(v)
                for k, v in bound.items()
            }
        )
        return ev.evaluate_template_argument(pattern, inner)

    return evaluate


def _add_outside_members(ev: Evaluator, template: TemplateEntity, record: RecordType, arguments: list[Any]) -> None:
    """Add the members defined outside the class to an instance."""
    for member in template.outside:
        owner = member.owner[-1][1]
        inner = NameScope(record.scope)
        heads = member.owner_templates if isinstance(member, tree.Function) else member.templates
        if owner is not None:
            match = make_match(heads)
            if not match_arguments(match, owner, arguments, make_pattern_evaluator(ev, template.scope)):
                continue
            _enter_bound_parameters(ev, heads, match.bound, inner)
        explicit = owner is not None and not heads  # of one instance alone
        if isinstance(member, tree.Function):
            _add_function(record, member, inner, explicit)
        elif explicit or not isinstance(record.scope.names.get(member.name), Cell):
            record.scope.names[member.name] = LaterMember(replace(member, templates=()), inner)


def _add_function(record: RecordType, member: tree.Function, inner: NameScope, explicit: bool) -> None:
    """Replace a member function's declaration by its definition; an explicit specialization replaces any definition."""
    known = record.methods.get(member.name)
    functions = known.functions if known is not None else ()
    overloads = tuple(
        f for f in functions if (f.body is not None and not explicit) or len(f.parameters) != len(member.parameters)
    )
    method = member
    if any(f.static for f in functions) and not member.static:
        method = replace(member, static=True)
    declared = next((f for f in functions if f.body is None), None)
    if declared is not None and any(p.default is not None for p in declared.parameters):
        method = _add_default_arguments(method, declared)
    function_set = FunctionSet((method,), inner)
    if known is not None and overloads:
        function_set = function_set.join_functions(
            FunctionSet(overloads, known.scope, homes=tuple(known.get_home(f) for f in overloads))
        )
    record.methods[member.name] = record.scope.names[member.name] = function_set


def make_template_argument_value(
    ev: Evaluator, parameter: tree.Parameter, template_argument: Any, scope: NameScope
) -> Any:
    """Return the binding of a template parameter: a type, a template, or a cell with a value."""
    if template_argument is None and parameter.name in ev.supplied_names and not parameter.pack:
        template_argument = _find_supplied_entity(ev, ev.supplied_names[parameter.name], scope)
    if template_argument is None and parameter.default is not None and not parameter.pack:
        template_argument = ev.evaluate_template_argument(parameter.default, scope)
    if isinstance(template_argument, Cell):
        template_argument = template_argument.value
    if isinstance(template_argument, TemplateEntity | ParameterPack):
        return template_argument
    if parameter.is_type or isinstance(template_argument, ResolvedType):
        if isinstance(template_argument, OpaqueValue):
            return template_argument.kind or ResolvedType(template_argument.text)
        return template_argument if template_argument is not None else ResolvedType(parameter.name, unbound=True)
    return _bind_value(ev, parameter, template_argument, scope)


def _find_supplied_entity(ev: Evaluator, name: str, scope: NameScope) -> Any:
    """Return the type or enumerator that a supplied name means; None if it means neither."""
    path: tree.Path = tuple((part, None) for part in name.split("::"))
    entity = ev.resolve_name(path, scope)
    entity = ev.find_builtin_type(path, scope) if entity is None else entity
    if isinstance(entity, TemplateEntity):
        entity = ev.apply_template(entity, [])
    return entity if isinstance(entity, Cell | ResolvedType) else None


def _bind_value(ev: Evaluator, parameter: tree.Parameter, argument: Any, scope: NameScope) -> Cell:
    """Bind a non-type template parameter to an argument, or to a symbol if the argument is None."""
    kind = ev.resolve_type(parameter.type, scope) if parameter.type else None
    if argument is None and parameter.name in ev.supplied_values:
        argument = SymbolicInt(ev.supplied_values[parameter.name])
    if argument is None:
        argument = make_free(parameter.name, kind.integer if kind and kind.integer else UNKNOWN)
    elif kind is not None and kind.integer is not None and not kind.pointers:
        argument = ev.convert_to_kind(argument, kind, parameter.span)
    return Cell(argument, kind, parameter.name, parameter.span, const=True)


def make_argument_key(argument: Any) -> Any:
    """Return a key of a template argument."""
    if isinstance(argument, ResolvedType):
        base = (
            id(argument.record)
            if argument.record is not None
            else argument.integer or (argument.name, tuple(map(make_argument_key, argument.arguments)))
        )
        return (base, argument.pointers, argument.reference, argument.const, tuple(str(dim) for dim in argument.dims))
    if isinstance(argument, TemplateEntity):
        return id(argument)
    return str(argument)


def _add_default_arguments(function: tree.Function, declared: tree.Function) -> tree.Function:
    """Return a definition with the default arguments of its declaration."""
    pairs = zip(function.parameters, declared.parameters, strict=False)
    parameters = [replace(new, default=new.default or old.default) for new, old in pairs]
    return replace(function, parameters=tuple(parameters))
