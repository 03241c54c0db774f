"""Evaluate expressions symbolically: literals, names, casts, members and calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON, ULONG
from lanescope.deadline import check_deadline
from lanescope.reader.code.calling.lambdas import evaluate_lambda
from lanescope.reader.code.calling.launches import note_instance
from lanescope.reader.code.expression.assignments import evaluate_assignment
from lanescope.reader.code.expression.operators import evaluate_binary, evaluate_fold, evaluate_unary
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.naming.undeclared_names import evaluate_undeclared
from lanescope.reader.code.objects.allocating import evaluate_new
from lanescope.reader.code.objects.lifetimes import run_delete
from lanescope.reader.code.objects.pointers import get_pointee_type
from lanescope.reader.code.running.branches import evaluate_choice
from lanescope.reader.code.running.paths import EarlyExit
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.record_measures import measure_record
from lanescope.reader.code.types.sizing import evaluate_sizeof
from lanescope.reader.code.values import (
    PLACES,
    VOID,
    EnumerationType,
    ObjectValue,
    OpaqueValue,
    Pointer,
    ReferredPlace,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_ACTS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--|\(")
_THROWS = re.compile(r"\bthrow\b")
_ADDRESS = re.compile(r"addr|desc|enc|int|u32|u64|off|base|lo(?:w)?$|start", re.I)  # names of integers, not pointers


class BudgetError(Exception):
    """The budget of an evaluation is spent."""


def spend_step(ev: Evaluator) -> None:
    """Count a step; BudgetError if the budget is spent."""
    ev.steps_left -= 1
    if not ev.steps_left & 15:
        check_deadline()
    if ev.steps_left < 0 or ev.nesting > 150:
        ev.spent_loops = tuple(name for name, _ in ev.loops if name)
        raise BudgetError


def evaluate_for_effect(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> None:
    """Evaluate an expression for its effect."""
    if isinstance(expression, tree.Unary) and expression.op == "post" and ev.python:
        expression = expression.value
    ev.evaluate_expression(expression, scope)


def evaluate_expression(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Evaluate an expression; values.py lists the kinds of values."""
    ev.spend_step()
    ev.nesting += 1
    try:
        return _RULES.get(type(expression), _evaluate_unread)(ev, expression, scope)
    finally:
        ev.nesting -= 1


# rules, by the class of an expression ------------------------------------------------------------------------------


def _evaluate_integer(ev: Evaluator, node: tree.NumberLiteral, scope: NameScope) -> SymbolicInt:
    """Evaluate an integer literal."""
    return SymbolicInt(
        node.value, PYTHON if ev.python else node.type, low=_get_lowest_mask_bit(node.value), origin=(node.span,)
    )


def _evaluate_real(ev: Evaluator, node: tree.RealLiteral, scope: NameScope) -> OpaqueValue:
    """Evaluate a floating-point literal."""
    return OpaqueValue(
        node.text, ResolvedType("double" if node.bits == 64 else "float", None, node.bits), span=node.span
    )


def _evaluate_text(ev: Evaluator, node: tree.StringLiteral, scope: NameScope) -> str:
    """Evaluate a string literal."""
    return node.value


def _evaluate_place(ev: Evaluator, node: tree.Member | tree.Index, scope: NameScope) -> Any:
    """Evaluate a member or an item."""
    return ev.load_place(ev.find_place(node, scope), node)


def _evaluate_operation(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Evaluate left op right; load the reference that an overloaded operator returns."""
    result = evaluate_binary(ev, node, scope)
    return ev.load_place(result, node) if isinstance(result, ReferredPlace) else result


def _evaluate_call(ev: Evaluator, call: tree.Call, scope: NameScope) -> Any:
    """Evaluate a call; load the reference that the function returns."""
    result = ev.evaluate_call(call, scope)
    return ev.load_place(result, call) if isinstance(result, ReferredPlace) else result


def _evaluate_cast(ev: Evaluator, node: tree.Cast, scope: NameScope) -> Any:
    """Evaluate a cast, also T(value) and T{…}."""
    if node.type.reference and not ev.python:
        return ev.load_place(ev.find_place(node, scope), node)
    summed = _find_misread_cast(ev, node, scope)
    if summed is not None:
        return ev.evaluate_expression(summed, scope)
    kind = ev.resolve_type(node.type, scope)
    if isinstance(node.value, tree.ItemList):
        return ev.evaluate_initializer(node.value, kind, scope, "")
    operand = ev.evaluate_expression(node.value, scope)
    if isinstance(operand, SymbolicInt):
        operand = _prepare_cast(ev, node, kind, node.value, operand)
    return convert_explicitly(ev, operand, kind, node)


def _evaluate_declared(ev: Evaluator, node: tree.ConditionDeclaration, scope: NameScope) -> Any:
    """Evaluate a declaration as a condition: the variable's value."""
    ev.execute_statement(node.statement, scope)
    entity = scope.names.get(node.statement.name)
    return ev.load_place(entity, node) if isinstance(entity, PLACES) else entity


def _evaluate_offset(ev: Evaluator, node: tree.OffsetOf, scope: NameScope) -> SymbolicInt:
    """Evaluate offsetof(type, member)."""
    record = ev.resolve_type(node.type, scope).record
    offset = measure_record(ev, record).offsets.get(node.member) if record is not None else None
    return SymbolicInt(offset, ULONG) if offset is not None else make_free(ev.format_expression(node), ULONG)


def _evaluate_items(ev: Evaluator, node: tree.ItemList, scope: NameScope) -> Any:
    """Evaluate {a, b} and T{a, b}."""
    return ev.evaluate_initializer(node, ev.resolve_type(node.type, scope) if node.type else None, scope, "")


def _evaluate_sizeof(ev: Evaluator, node: tree.SizeOf, scope: NameScope) -> SymbolicInt:
    """Evaluate sizeof and alignof."""
    return evaluate_sizeof(ev, node, node.value, scope)


def _evaluate_table(ev: Evaluator, node: tree.DictLiteral, scope: NameScope) -> dict[Any, Any]:
    """Evaluate a dict of Python."""
    return {ev.make_key(ev.evaluate_expression(k, scope)): ev.evaluate_expression(v, scope) for k, v in node.items}


def _evaluate_other(ev: Evaluator, node: tree.OpaqueExpression, scope: NameScope) -> OpaqueValue:
    """Evaluate an unsupported expression, such as ({ … }): what it may write becomes unknown, and it may throw."""
    if _ACTS.search(node.text) and not ev.python:
        ev.forget_names(node.text, scope)
        ev.forget_globals()
    if ev.try_blocks and _THROWS.search(node.text):
        ev.keep_escape("?", EarlyExit("throw", None), {})
    return OpaqueValue(node.text, span=node.span)


def _evaluate_unread(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> OpaqueValue:
    """Evaluate an expression without a rule to a symbol named by its text."""
    return OpaqueValue(ev.format_expression(expression), span=expression.span)


def _prepare_cast(
    ev: Evaluator, node: tree.Cast, kind: ResolvedType, inner: tree.Expression, integer: SymbolicInt
) -> Any:
    """Convert the operand of a cast to a pointer if it has an undeclared name that may be one.

    In (uint64_t)(p + k), p is an address in bytes or a pointer to elements.
    """
    if kind.pointers or (node.pointer and kind.integer):
        return ev.make_name_pointer(integer, get_pointee_type(kind) or VOID, cast=True) or integer
    summed = isinstance(inner, tree.Binary) and inner.op in "+-"
    wide = kind.integer is not None and kind.integer.bits == 64
    if ev.python or not summed or not wide or "cast<" in ev.text[slice(*node.span)][:20]:
        return integer  # static_cast takes no pointer
    name_pointer = ev.make_name_pointer(integer, VOID)
    if name_pointer is None or not (name := get_pointer_name(name_pointer.base)):
        return integer
    ev.widened_names.add(name)
    return name_pointer


def make_key(ev: Evaluator, value: Any) -> Any:
    """Make a dict key of a value."""
    return value.known if isinstance(value, SymbolicInt) and value.known is not None else str(value)


def convert_explicitly(ev: Evaluator, value: Any, kind: ResolvedType, node: tree.Cast) -> Any:
    """Convert a value to a type as a cast does."""
    if isinstance(value, ObjectValue) and kind.record is None and kind.integer is None and kind.open:
        return OpaqueValue(ev.format_expression(node), kind, span=node.span)
    if isinstance(value, ObjectValue) and kind.integer is not None and value.record.fields is not None:
        converts = any(name.startswith("operator ") for name in value.record.methods)
        if not converts and value.record.bits not in (0, kind.integer.bits):
            return OpaqueValue(ev.format_expression(node), kind, span=node.span)
    ev.casting, before = True, ev.casting
    try:
        if kind.pointers and kind.dims:
            return _point_to_array(ev, value, kind, node)
        return ev.convert_to_kind(value, kind, node.span)
    finally:
        ev.casting = before


def _point_to_array(ev: Evaluator, value: Any, kind: ResolvedType, node: tree.Cast) -> Any:
    """Convert a value to a pointer to an array: no cast makes an array of pointers."""
    pointer = ev.convert_to_kind(value, replace(kind, dims=()), node.span)
    typed = isinstance(pointer, Pointer) and pointer.array is None and pointer.element is not None
    return replace(pointer, dims=kind.dims) if typed else value


def _find_misread_cast(ev: Evaluator, node: tree.Cast, scope: NameScope) -> tree.Binary | None:
    """Find (name) + 1, which the grammar reads as a cast of +1 to a type."""
    kind, inner = node.type, node.value
    if ev.python or not isinstance(inner, tree.Unary) or inner.op not in "+-*&" or kind.pointers or kind.dims:
        return None
    entity = ev.resolve_name(kind.path, scope, kind.span[0]) if kind.path and not kind.const else None
    if not isinstance(entity, PLACES) or (isinstance(entity, Cell) and isinstance(entity.value, ResolvedType)):
        return None
    return tree.Binary(inner.op, tree.Name(kind.path, span=kind.span), inner.value, span=node.span)


# names -----------------------------------------------------------------------------------------------------------


def evaluate_name(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Evaluate a name or a type: a variable's value, a type, functions, or an undeclared name."""
    if isinstance(node, tree.Type) and _is_type(node):
        return ev.resolve_type(node, scope)
    binding = ev.resolve_name(node.path, scope, node.span[0])
    if isinstance(binding, PLACES):
        return ev.load_place(binding, node)
    if isinstance(binding, TemplateEntity):
        return ev.resolve_type(tree.Type(node.path, span=node.span), scope)
    if isinstance(binding, EnumerationType):
        return binding.kind
    if binding is not None:
        note_instance(ev, binding)  # f<64> as a value
        return binding
    return evaluate_undeclared(ev, node, scope)


def _is_type(type_node: tree.Type) -> bool:
    """Return whether a node that the grammar reads as a type is certainly a type."""
    shaped = type_node.pointers or type_node.dims or type_node.reference or type_node.const or type_node.body
    return bool(shaped) or type_node.name == "decltype"


_RULES: dict[type[tree.Expression], Callable[[Evaluator, Any, NameScope], Any]] = {
    tree.NumberLiteral: _evaluate_integer,
    tree.RealLiteral: _evaluate_real,
    tree.StringLiteral: _evaluate_text,
    tree.Name: evaluate_name,
    tree.Type: evaluate_name,
    tree.Binary: _evaluate_operation,
    tree.Assignment: evaluate_assignment,
    tree.Call: _evaluate_call,
    tree.Member: _evaluate_place,
    tree.Index: _evaluate_place,
    tree.Cast: _evaluate_cast,
    tree.Unary: evaluate_unary,
    tree.ConditionDeclaration: _evaluate_declared,
    tree.Fold: evaluate_fold,
    tree.New: evaluate_new,
    tree.Delete: run_delete,
    tree.OffsetOf: _evaluate_offset,
    tree.ConditionalExpression: evaluate_choice,
    tree.ItemList: _evaluate_items,
    tree.SizeOf: _evaluate_sizeof,
    tree.Lambda: evaluate_lambda,
    tree.DictLiteral: _evaluate_table,
    tree.OpaqueExpression: _evaluate_other,
}


def get_pointer_name(base: LinearExpression) -> str:
    """Return the name in an address that is a pointer to elements; "" if its names are addresses or descriptors."""
    names = [name for name, factor in base.terms if factor == 1 and re.fullmatch(r"[A-Za-z_]\w*", name)]
    return next((name for name in names if not _ADDRESS.search(name)), "")


def _get_lowest_mask_bit(value: int) -> int:
    """Return the lowest bit of a literal that is clearly a shifted field (0x4000…), else 0."""
    return (value & -value).bit_length() - 1 if value >= 1 << 32 else 0
