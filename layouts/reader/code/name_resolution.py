"""Resolve names and types: qualified names, static members, aliases, enumerations."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, ULONG, find_integer_type
from lanescope.reader.code import traits, tree
from lanescope.reader.code.cute_mmas import MEMBER_TYPES, find_member_type
from lanescope.reader.code.cute_values import CuteEvaluator, freeze_value, is_cute_value, is_size_call
from lanescope.reader.code.integer_values import get_integer_or_symbol
from lanescope.reader.code.lookup import find_in, find_name, get_this, is_qualifier
from lanescope.reader.code.number_classes import is_number_class
from lanescope.reader.code.records import lay_out_record
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.templates import flatten_packs
from lanescope.reader.code.values import (
    EnumerationType,
    FunctionSet,
    NamespaceValue,
    ObjectValue,
    OpaqueValue,
    ParameterPack,
    Pointer,
    RecordType,
    ResolvedType,
    TemplateEntity,
    find_element_type,
)
from lanescope.reader.code.write_summaries import list_slots, walk_nodes

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_INTEGRAL = re.compile(r"_(\d+)$")
Path = tree.Path


@lru_cache(maxsize=4096)
def _find_plain_type(name: str, integral: bool) -> ResolvedType | None:
    """Return the built-in or element type of a name without arguments; integral: whether it may be an integer type."""
    integer = find_integer_type(name) if integral else None
    if integer is not None:
        return ResolvedType(name, integer, integer.bits)
    known = _INTEGRAL.fullmatch(name) or is_number_class(name)
    return find_element_type(name) or (ResolvedType(name) if known else None)


def resolve_name(ev: Evaluator, path: Path, scope: NameScope, at: int = 0) -> Any:
    """Return what a qualified name means; None if the text does not define it.

    at: the place of use; names that a namespace declares later are not visible there.
    """
    if not path:
        return None
    (name, template_arguments), *rest = path
    if not name and rest:  # ::name
        (name, template_arguments), *rest = rest
        entity, home = find_in(ev.globals, name)
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
    if ev.python:
        return find_name(scope, name)

    def declared(value: Any, home: NameScope) -> bool:
        if qualifier and not is_qualifier(value, home):
            return False
        known = home.since.get(name)
        if known is None:
            known = _get_begin(value) if home.owner == "namespace" else 0
        elif isinstance(value, FunctionSet):  # a using declaration beside functions of the namespace
            known = min([known, *(f.first for f in value.functions if value.get_home(f) is home)])
        return not at or known <= at

    entity, home = find_name(scope, name, declared)
    if entity is None and at:
        return find_name(scope, name, is_qualifier) if qualifier else find_name(scope, name)
    return entity, home


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
            arguments.extend(ev.expand_pack(expression.value, scope))
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
        inner, home = find_in(entity.scope, name)
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


def make_later_member(ev: Evaluator, member: tree.Declaration, scope: NameScope) -> LaterMember:
    """Make a static member that is evaluated on first use."""
    return LaterMember(member, scope)


def define_later_member(ev: Evaluator, member: tree.Statement, scope: NameScope) -> None:
    """Define a member of a class, as a namespace would."""
    ev.define(member, scope)


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
            value = ev.construct_value(
                kind, [ev.evaluate_expression(a, inner) for a in member.arguments], member, inner
            )
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


def resolve_type(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> ResolvedType:
    """Resolve a type in a scope."""
    dims = tuple(
        SymbolicInt(0, ULONG) if size is None else get_integer_or_symbol(ev.evaluate_expression(size, scope))
        for size in type_node.dims
    )
    base = _resolve_base_type(ev, type_node, scope)
    if not type_node.pointers and not dims and not type_node.reference and type_node.const <= base.const:
        return base
    return ResolvedType(
        base.name,
        base.integer,
        base.bits,
        base.record,
        pointers=base.pointers + type_node.pointers,
        dims=(*dims, *base.dims),
        arguments=base.arguments,
        reference=_collapse_reference(base.reference, type_node.reference),
        const=base.const or (type_node.const and not base.pointers),
    )


def _resolve_base_type(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> ResolvedType:
    """Resolve the name of a type, without its pointers, array sizes and references."""
    if isinstance(type_node.body, tree.StructDefinition):
        record = lay_out_record(ev, RecordType(type_node.body.name, type_node.body, scope))
        return ResolvedType(type_node.body.name, record=record, bits=record.bits or None)
    if type_node.name == "decltype" and type_node.path[-1][1]:
        return _evaluate_decltype(ev, type_node.path[-1][1][0], scope)
    binding = ev.resolve_name(type_node.path, scope, type_node.span[0])
    if isinstance(binding, Cell):
        binding = binding.value
    if isinstance(binding, TemplateEntity):
        binding = ev.apply_template(binding, [])
    if isinstance(binding, EnumerationType):
        binding = binding.kind
    return binding if isinstance(binding, ResolvedType) else _find_foreign_type(ev, type_node, scope)


def _find_foreign_type(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> ResolvedType:
    """Return an undefined type: a built-in one, T::type of a library template, or a type known only by name."""
    name = "::".join(part for part, _ in type_node.path)
    if len(type_node.path) > 1 and type_node.name == "type" and not ev.python:
        outer = ev.find_builtin_type(type_node.path[:-1], scope)
        inner = traits.find_trait_member(outer, "type") if outer is not None else None
        return inner if isinstance(inner, ResolvedType) else ResolvedType(name, unbound=True)
    builtin_type = ev.find_builtin_type(type_node.path, scope)
    return builtin_type or _find_mma_member(ev, type_node, scope) or ResolvedType(name)


def _find_mma_member(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> ResolvedType | None:
    """Return TiledMMA::AtomThrID and the like, None for another type."""
    if ev.python or len(type_node.path) < 2 or type_node.name not in MEMBER_TYPES:
        return None
    outer: Any = _resolve_base_type(ev, tree.Type(type_node.path[:-1], span=type_node.span), scope)
    return find_member_type(type_node.name, outer, CuteEvaluator(ev.text, None).evaluate_value)


def _evaluate_decltype(ev: Evaluator, inner: tree.Expression, scope: NameScope) -> ResolvedType:
    """Evaluate decltype(inner): the declared type of a name, else the type of the value."""
    if isinstance(inner, tree.Name | tree.Type):
        binding = ev.resolve_name(inner.path, scope, inner.span[0])
        if isinstance(binding, Cell) and binding.kind is not None and binding.kind.name not in ("auto", ""):
            return replace(binding.kind, const=binding.const or binding.kind.const)
    start = len(ev.write_log)
    try:
        value = ev.evaluate_expression(inner, scope)
    finally:  # decltype does not evaluate its operand: undo its writes
        for cell, old in ev.list_writes_since(start).values():
            cell.value = old
        ev.rewrite_log(start, {})
    if isinstance(inner, tree.Call) and isinstance(inner.function, tree.Name) and is_size_call(ev, inner.function.last):
        size = value.known if isinstance(value, SymbolicInt) else None
        if size is not None and (static := ev.find_builtin_type(((f"_{size}", None),), scope)):
            return static  # CuTe's size<0>(shape) has its value in its type
    known = ev.get_value_type(value) if not isinstance(value, OpaqueValue) or value.kind is not None else None
    return known or ResolvedType("decltype", arguments=(freeze_value(value) if is_cute_value(value) else value,))


def find_builtin_type(ev: Evaluator, path: Path, scope: NameScope) -> ResolvedType | None:
    """Return an integer or element type, CuTe's C<4>, _4, half_t …, or the result of a standard type trait."""
    if not path:
        return None
    name, template_arguments = path[-1]
    if template_arguments is not None:
        arguments = flatten_packs(ev.evaluate_template_arguments(template_arguments, scope))
        if name in traits.SEQUENCES:
            return traits.make_sequence(name, arguments) or ResolvedType(name, arguments=tuple(arguments))
        known = traits.find_trait_type(name, arguments)
        if known is None and traits.is_type_transformation(name):
            return ResolvedType(name, arguments=tuple(arguments), unbound=True)
        return known if isinstance(known, ResolvedType) else ResolvedType(name, arguments=tuple(arguments))
    if name in ("true_type", "false_type") and not ev.python:
        return ResolvedType(
            "integral_constant", arguments=(ResolvedType("bool", BOOL, 1), SymbolicInt(int(name == "true_type"), BOOL))
        )
    return _find_plain_type(name, len(path) < 3)


def find_named_type(ev: Evaluator, name: str, scope: NameScope) -> ResolvedType | None:
    """Return the type that a name means; None if it is not a type."""
    binding = ev.resolve_name(((name, None),), scope)
    named = ev.apply_template(binding, []) if isinstance(binding, TemplateEntity) else binding
    return named if isinstance(named, ResolvedType) else None


def get_value_type(ev: Evaluator, value: Any) -> ResolvedType | None:
    """Return the type of a value, as far as templates need it."""
    if isinstance(value, SymbolicInt):
        return ResolvedType(value.type.name, value.type, value.type.bits) if value.type != UNKNOWN else None
    if isinstance(value, ObjectValue):
        record = value.record
        return ResolvedType(record.name, record=record, bits=record.bits or None, arguments=record.arguments)
    if isinstance(value, Pointer) and value.element is not None:
        e = value.element
        if e.dims or value.dims:  # ResolvedType cannot express a pointer to an array
            return None
        return ResolvedType(
            e.name,
            e.integer,
            e.bits,
            e.record,
            pointers=e.pointers + 1,
            dims=(),
            arguments=e.arguments,
            reference="",
            const=e.const,
        )
    if isinstance(value, OpaqueValue):
        return value.kind or ResolvedType(value.text)
    return value if isinstance(value, ResolvedType) else None


def _collapse_reference(inner: str, outer: str) -> str:
    """Return a reference to a reference: [dcl.ref]."""
    return "&" if "&" in (inner, outer) else outer or inner


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
        return set().union(*(_list_names(getattr(pattern, slot)) for slot in list_slots(type(pattern))))  # type: ignore[arg-type]
    if isinstance(pattern, tuple):
        return set().union(*map(_list_names, pattern))
    return set()


class LaterMember:
    """A static member that has not been evaluated yet."""

    __slots__ = ("decl", "scope")

    def __init__(self, decl: tree.Declaration, scope: NameScope) -> None:
        self.decl = decl
        self.scope = scope
