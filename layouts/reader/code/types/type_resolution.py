"""Resolve types: of names, of decltype, and of values."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, ULONG, find_integer_type
from lanescope.reader.code.cute.cute_mmas import MEMBER_TYPES, find_member_type
from lanescope.reader.code.cute.cute_values import CuteEvaluator, freeze_value, is_cute_value, is_size_call
from lanescope.reader.code.expression.integer_values import get_integer_or_symbol
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.number_classes import is_number_class
from lanescope.reader.code.running.paths import rewrite_log
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import traits
from lanescope.reader.code.types.records import lay_out_record
from lanescope.reader.code.types.templates import flatten_packs
from lanescope.reader.code.values import (
    PLACES,
    EnumerationType,
    ObjectValue,
    OpaqueValue,
    Pointer,
    RecordType,
    ResolvedType,
    TemplateEntity,
    find_element_type,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_INTEGRAL = re.compile(r"_(\d+)$")


@lru_cache(maxsize=4096)
def _find_plain_type(name: str, integral: bool) -> ResolvedType | None:
    """Return the built-in or element type of a name without arguments; integral: whether it may be an integer type."""
    integer = find_integer_type(name) if integral else None
    if integer is not None:
        return ResolvedType(name, integer, integer.bits)
    known = _INTEGRAL.fullmatch(name) or is_number_class(name)
    return find_element_type(name) or (ResolvedType(name) if known else None)


def resolve_type(ev: Evaluator, type_node: tree.Type, scope: NameScope) -> ResolvedType:
    """Resolve a type in a scope."""
    dims: tuple[SymbolicInt, ...] = ()
    if type_node.dims:
        dims = tuple(
            SymbolicInt(0, ULONG) if size is None else get_integer_or_symbol(ev.evaluate_expression(size, scope))
            for size in type_node.dims
        )
    base = _resolve_base_type(ev, type_node, scope)
    if not type_node.pointers and not dims and not type_node.reference and type_node.const <= base.const:
        return base
    known = ev.derived_types.get(id(type_node))
    if known is not None and known[1] is base and not dims:
        return known[0]
    derived = replace(
        base,
        pointers=base.pointers + type_node.pointers,
        dims=(*dims, *base.dims),
        reference=_collapse_reference(base.reference, type_node.reference),
        const=base.const or (type_node.const and not base.pointers),
        unbound=False,
    )
    if not dims:
        ev.derived_types[id(type_node)] = derived, base, type_node  # the node is kept, so that its id stays its own
    return derived


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
    """Evaluate decltype(inner): the declared type of a name, else the type of the value; a reference to it if the
    expression is an lvalue: [dcl.type.decltype].
    """
    if isinstance(inner, tree.Unary) and inner.op == "()":
        value, referred = _evaluate_unevaluated(ev, inner.value, scope, named=False)
        inner = inner.value
    else:
        declared = _find_variable_type(ev, inner, scope) if isinstance(inner, tree.Name | tree.Type) else None
        if declared is not None:
            return declared
        named = isinstance(inner, tree.Name | tree.Type | tree.Member)
        value, referred = _evaluate_unevaluated(ev, inner, scope, named)
    static = _find_static_size(ev, inner, value, scope)
    if static is not None:
        return static
    if referred is not None:
        return replace(referred, reference="&")
    known = ev.get_value_type(value) if not isinstance(value, OpaqueValue) or value.kind is not None else None
    return known or ResolvedType("decltype", arguments=(freeze_value(value) if is_cute_value(value) else value,))


def _find_variable_type(ev: Evaluator, name: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    """Return the declared type of a variable; None if it is deduced, or the name is not one of a variable."""
    binding = ev.resolve_name(name.path, scope, name.span[0])
    if not isinstance(binding, Cell) or binding.kind is None or binding.kind.name in ("auto", ""):
        return None
    own = replace(binding.kind, const=binding.const or binding.kind.const)
    return replace(own, reference="&") if _is_reference(ev, name, binding, scope) else own


def _evaluate_unevaluated(
    ev: Evaluator, operand: tree.Expression, scope: NameScope, named: bool
) -> tuple[Any, ResolvedType | None]:
    """Return the value of an operand of decltype and, if it is an lvalue and not `named`, the type referred to.

    The operand has no effect: its writes are undone.
    """
    start = len(ev.write_log)
    try:
        place = None if named or ev.python else ev.find_place(operand, scope)
        if not isinstance(place, PLACES):
            return ev.evaluate_expression(operand, scope), None
        value = ev.load_place(place, operand)
        return value, ev.find_declared_type(place, value) or ResolvedType("auto")
    finally:
        for cell, old in ev.list_writes_since(start).values():
            cell.value = old
        rewrite_log(ev, start, {})


def _find_static_size(ev: Evaluator, operand: tree.Expression, value: Any, scope: NameScope) -> ResolvedType | None:
    """Return the type of CuTe's size<0>(shape), which has its value in its type; None for another operand."""
    if not isinstance(operand, tree.Call) or not isinstance(operand.function, tree.Name):
        return None
    size = value.known if isinstance(value, SymbolicInt) and is_size_call(ev, operand.function.last) else None
    return ev.find_builtin_type(((f"_{size}", None),), scope) if size is not None else None


def _is_reference(ev: Evaluator, name: tree.Name | tree.Type, cell: Cell, scope: NameScope) -> bool:
    """Return whether a name is one of a reference to a variable: it has another name, or is of a caller."""
    if ev.python or len(name.path) != 1 or (isinstance(cell.kind, ResolvedType) and cell.kind.reference):
        return False
    home = find_name(scope, name.path[0][0])[1]
    if home.owner == "namespace" or isinstance(home.owner, RecordType):
        return False
    return cell.name != name.path[0][0] or 0 < cell.frame < len(ev.frames)


def find_builtin_type(ev: Evaluator, path: tree.Path, scope: NameScope) -> ResolvedType | None:
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
        return replace(e, pointers=e.pointers + 1, dims=(), reference="", unbound=False)
    if isinstance(value, OpaqueValue):
        return value.kind or ResolvedType(value.text)
    return value if isinstance(value, ResolvedType) else None


def _collapse_reference(inner: str, outer: str) -> str:
    """Return a reference to a reference: [dcl.ref]."""
    return "&" if "&" in (inner, outer) else outer or inner
