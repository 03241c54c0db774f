"""Evaluate operator expressions of C++ and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, promote
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.expression.places import take_address
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.branches import is_floating_point
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ObjectValue, OpaqueValue, ParameterPack, TemplateEntity

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


_LOGICAL = ("&&", "||")


def evaluate_binary(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Evaluate `left op right`."""
    if node.op == ",":
        return _evaluate_comma(ev, node, scope)
    if node.op == ">" and not ev.python and (name := _find_misread_name(ev, node, scope)) is not None:
        return ev.evaluate_expression(name, scope)
    if node.op in _LOGICAL:
        return _evaluate_logical(ev, node, scope)
    if not ev.python and node.op in ev.overloaded:
        left_operand, right_operand = (ev.evaluate_argument(side, scope) for side in (node.left, node.right))
        result = ev.evaluate_operator(node.op, left_operand, right_operand, node)
        if result is not None:
            return result
        left, right = ev.get_argument_value(left_operand), ev.get_argument_value(right_operand)
    else:
        left, right = ev.evaluate_expression(node.left, scope), ev.evaluate_expression(node.right, scope)
    return ev.apply_operator(node.op, left, right, node, left_at=node.left, right_at=node.right)


def _evaluate_comma(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Evaluate both sides; return the value of the right one."""
    first = ev.evaluate_expression(node.left, scope)
    if isinstance(first, ObjectValue) and "operator," in first.record.methods:
        return ev.evaluate_operator(",", first, ev.evaluate_expression(node.right, scope), node)
    return ev.evaluate_expression(node.right, scope)


def _evaluate_logical(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Evaluate && or ||; the right side only if the left side does not decide."""
    left = ev.evaluate_expression(node.left, scope)
    if isinstance(left, ObjectValue) and f"operator{node.op}" in left.record.methods:
        return ev.evaluate_operator(node.op, left, ev.evaluate_expression(node.right, scope), node)
    decides = node.op == "||"  # the truth of a side that makes the other irrelevant
    truth = ev.evaluate_truth(left)
    if truth is decides:
        return left if ev.python else SymbolicInt(int(truth), BOOL)
    if ev.python:
        right = ev.evaluate_expression(node.right, scope)
        return right if truth is not None else make_unknown(ev, node)
    right = ev.evaluate_expression(node.right, scope) if truth is not None else _evaluate_perhaps(ev, node, scope)
    other = ev.evaluate_truth(right)
    if other is not None and (truth is not None or other is decides):
        return SymbolicInt(int(other), BOOL)
    return _make_unknown_logical(ev, node, left, right, truth)


def _find_misread_name(ev: Evaluator, node: tree.Binary, scope: NameScope) -> tree.Name | None:
    """Find Outer<4>::Inner<4>::value, which the grammar reads as Outer<4>::Inner < 4 > ::value."""
    left, right = node.left, node.right
    if not (isinstance(left, tree.Binary) and left.op == "<" and isinstance(left.left, tree.Name)):
        return None
    if not isinstance(right, tree.Name) or right.path[0][0]:
        return None
    if not isinstance(ev.resolve_name(left.left.path, scope, left.span[0]), TemplateEntity):
        return None
    *outer, (last, _) = left.left.path
    return tree.Name((*outer, (last, (left.right,)), *right.path[1:]), span=node.span)


def _evaluate_perhaps(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Evaluate the right side of && or || as an alternative, since the left side is unknown."""
    values: list[Any] = []
    ev.follow_alternatives(
        [
            (ev.format_expression(node.left), lambda: values.append(ev.evaluate_expression(node.right, scope))),
            ("", lambda: None),
        ]
    )
    return values[0] if values else OpaqueValue(ev.format_expression(node.right))


def _make_unknown_logical(ev: Evaluator, node: tree.Binary, left: Any, right: Any, truth: bool | None) -> SymbolicInt:
    """Make the value of an undecided a && b or a || b."""
    a, b = get_integer(left), get_integer(right)
    if a is None or b is None or isinstance(left, OpaqueValue) or isinstance(right, OpaqueValue):
        return make_unknown(ev, node)
    if truth is not None:
        return symbolic_integers.convert_to_bool(b)
    return symbolic_integers.make_opaque(
        f"{symbolic_integers.format_factor(a)} {node.op} {symbolic_integers.format_factor(b)}", BOOL, a, b
    )


def make_unknown(ev: Evaluator, expression: tree.Expression) -> SymbolicInt:
    """Make an unknown bool named by an expression."""
    return make_free(ev.format_expression(expression), BOOL)


def evaluate_unary(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate a unary operator, including x++ and x--."""
    rule = _UNARY.get(node.op, _evaluate_sign)
    return rule(ev, node, scope)


def _evaluate_address(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate &x."""
    if "&" in ev.overloaded and isinstance(value := ev.evaluate_argument(node.value, scope).value, ObjectValue):
        result = ev.evaluate_operator("&", value, None, node)
        if result is not None:
            return ev.load_place(result, node)
    return take_address(ev, node.value, scope)


def _evaluate_expansion(ev: Evaluator, node: tree.Unary, scope: NameScope) -> OpaqueValue:
    """Evaluate an unexpanded parameter pack."""
    return OpaqueValue(ev.format_expression(node))


def _evaluate_pointee(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate *p."""
    return ev.load_place(ev.evaluate_dereference(ev.evaluate_expression(node.value, scope), node), node)


def _evaluate_not(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate !x."""
    value = ev.evaluate_expression(node.value, scope)
    result = ev.evaluate_operator(node.op, value, None, node) if not ev.python else None
    if result is not None:
        return ev.load_place(result, node)
    truth = ev.evaluate_truth(value)
    if truth is not None:
        return SymbolicInt(int(not truth), BOOL)
    integer = get_integer(value)
    return (
        symbolic_integers.make_opaque(f"{symbolic_integers.format_factor(integer)} == 0", BOOL, integer)
        if integer is not None
        else make_unknown(ev, node)
    )


def _evaluate_sign(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate +x, -x, ~x."""
    value = ev.evaluate_expression(node.value, scope)
    if not ev.python:
        result = ev.evaluate_operator(node.op, value, None, node)
        if result is not None:
            return ev.load_place(result, node)
        value = ev.convert_object_to_number(value)
    if is_floating_point(value):
        return OpaqueValue(ev.format_expression(node), value.kind)
    integer = get_integer(value)
    if integer is None:
        return OpaqueValue(ev.format_expression(node))
    kind = promote(integer.type)
    if node.op == "+":
        return symbolic_integers.convert_int(integer, kind)
    if node.op == "-":
        return symbolic_integers.add_ints(SymbolicInt(0, kind), symbolic_integers.convert_int(integer, kind), -1)
    return symbolic_integers.invert_int(integer)


def _evaluate_post_step(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Evaluate x++ and x--: return the old value."""
    assert isinstance(node.value, tree.Assignment)
    if not ev.python:
        place = ev.find_place(node.value.target, scope)
        value = ev.load_place(place, node)
        if isinstance(value, ObjectValue):
            result = ev.evaluate_operator(node.value.op * 2, value, SymbolicInt(0), node)
            if result is None:
                ev.forget_place(place)
            return ev.load_place(result, node) if result is not None else OpaqueValue(ev.format_expression(node))
        old = ev.copy_assigned(value)
    else:
        old = ev.evaluate_expression(node.value.target, scope)
    ev.evaluate_expression(node.value, scope)
    return old


_UNARY: dict[str, Callable[[Evaluator, tree.Unary, NameScope], Any]] = {
    "post": _evaluate_post_step,
    "&": _evaluate_address,
    "...": _evaluate_expansion,
    "*": _evaluate_pointee,
    "!": _evaluate_not,
    "not": _evaluate_not,
}


# folds over parameter packs --------------------------------------------------------------------------------------


def evaluate_fold(ev: Evaluator, node: tree.Fold, scope: NameScope) -> Any:
    """Evaluate (pack op …), (… op pack), and both with an initial value: [expr.prim.fold]."""
    right = node.right is not None and bool(ev.make_pack_scopes(node.right, scope))
    pattern, first = (node.right, node.left) if right or node.left is None else (node.left, node.right)
    assert pattern is not None
    scopes = ev.make_pack_scopes(pattern, scope)
    if not scopes and not _is_empty_pack(pattern, scope):
        return OpaqueValue(ev.format_expression(node), span=node.span)
    if node.op in _LOGICAL:
        return _evaluate_logical_fold(ev, node, pattern, scopes)
    if node.op.endswith("=") and node.op not in ("==", "!=", "<=", ">="):
        return OpaqueValue(ev.format_expression(node), span=node.span)
    values = [_evaluate_element(ev, pattern, inner) for inner in scopes]
    if first is not None:
        values = (
            [ev.evaluate_expression(first, scope), *values]
            if right
            else [*values, ev.evaluate_expression(first, scope)]
        )
    return _fold_values(ev, node, values, right or node.left is None)


def _evaluate_element(ev: Evaluator, pattern: tree.Expression, scope: NameScope) -> Any:
    """Evaluate the pattern of a fold for one element, as an iteration of a loop over the numbers of its pack."""
    counts = {name: cell.value for name, cell in scope.names.items() if isinstance(cell, Cell)}
    numbers = [(name, value) for name, value in counts.items() if isinstance(value, SymbolicInt)]
    ev.loops += numbers[:1]
    try:
        return ev.evaluate_expression(pattern, scope)
    finally:
        del ev.loops[len(ev.loops) - len(numbers[:1]) :]


def _fold_values(ev: Evaluator, node: tree.Fold, values: list[Any], from_left: bool) -> Any:
    """Fold values with an operator, from the left or from the right."""
    if not values:
        return None if node.op == "," else OpaqueValue(ev.format_expression(node), span=node.span)
    if node.op == ",":
        return values[-1]
    ordered = values if from_left else values[::-1]
    total = ordered[0]
    for value in ordered[1:]:
        left, right = (total, value) if from_left else (value, total)
        total = ev.apply_operator(node.op, left, right, node, left_at=node, right_at=node)
    return total


def _is_empty_pack(pattern: tree.Expression, scope: NameScope) -> bool:
    """Return whether an expression names a parameter pack."""
    names = pattern.path if isinstance(pattern, tree.Name | tree.Type) else ()
    return any(isinstance(find_name(scope, name)[0], ParameterPack) for name, _ in names)


def _evaluate_logical_fold(ev: Evaluator, node: tree.Fold, pattern: tree.Expression, scopes: list[NameScope]) -> Any:
    """Fold with && or ||."""
    for inner in scopes:
        truth = ev.evaluate_truth(ev.evaluate_expression(pattern, inner))
        if truth is None:
            return make_unknown(ev, node)
        if truth == (node.op == "||"):
            return SymbolicInt(int(truth), BOOL)
    return SymbolicInt(int(node.op == "&&"), BOOL)
