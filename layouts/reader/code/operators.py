"""Expressions with operators, C's and Python's: which sides are evaluated, and which operator of the text is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, promoted
from lanescope.reader.code import tree, word
from lanescope.reader.code.branches import is_real
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.values import (
    Object,
    Pack,
    Scope,
    Template,
    Term,
    number,
)
from lanescope.reader.code.word import Int, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


_LOGICAL = ("&&", "||")


def evaluate_binary(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """Return the value of `left op right`."""
    if one.op == ",":
        return _evaluate_comma(ev, one, scope)
    if one.op == ">" and not ev.python and (name := _misread_name(ev, one, scope)) is not None:
        return ev.value(name, scope)
    if one.op in _LOGICAL:
        return _evaluate_logical(ev, one, scope)
    if not ev.python and one.op in ev.overloaded:
        left_operand, right_operand = (ev.evaluate_argument(side, scope) for side in (one.left, one.right))
        own = ev.operator(one.op, left_operand, right_operand, one)
        if own is not None:
            return own
        left, right = ev.argument_value(left_operand), ev.argument_value(right_operand)
    else:
        left, right = ev.value(one.left, scope), ev.value(one.right, scope)
    return ev.operate(one.op, left, right, one, left_at=one.left, right_at=one.right)


def _evaluate_comma(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """Evaluate both sides; return the value of the right one."""
    first = ev.value(one.left, scope)
    if isinstance(first, Object) and "operator," in first.record.methods:
        return ev.operator(",", first, ev.value(one.right, scope), one)
    return ev.value(one.right, scope)


def _evaluate_logical(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """Return the value of && or ||, whose right side is evaluated where the left one does not decide."""
    left = ev.value(one.left, scope)
    if isinstance(left, Object) and f"operator{one.op}" in left.record.methods:
        return ev.operator(one.op, left, ev.value(one.right, scope), one)
    decides = one.op == "||"  # the truth of a side that makes the other irrelevant
    truth = ev.truth(left)
    if truth is decides:
        return left if ev.python else Int(int(truth), BOOL)
    if ev.python:
        right = ev.value(one.right, scope)
        return right if truth is not None else ev.unknown(one)
    right = ev.value(one.right, scope) if truth is not None else _perhaps(ev, one, scope)
    other = ev.truth(right)
    if other is not None and (truth is not None or other is decides):
        return Int(int(other), BOOL)
    return _both_open(ev, one, left, right, truth)


def _misread_name(ev: Evaluator, one: tree.Binary, scope: Scope) -> tree.Name | None:
    """Outer<4>::Inner<4>::value, which the grammar reads as Outer<4>::Inner < 4 > ::value."""
    left, right = one.left, one.right
    if not (isinstance(left, tree.Binary) and left.op == "<" and isinstance(left.left, tree.Name)):
        return None
    if not isinstance(right, tree.Name) or right.path[0][0]:
        return None
    if not isinstance(ev.resolve(left.left.path, scope, left.span[0]), Template):
        return None
    *outer, (last, _) = left.left.path
    return tree.Name((*outer, (last, (left.right,)), *right.path[1:]), span=one.span)


def _perhaps(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """The right side of && or || that may not be evaluated."""
    values: list[Any] = []
    ev.alternatives([(ev.words(one.left), lambda: values.append(ev.value(one.right, scope))), ("", lambda: None)])
    return values[0] if values else Term(ev.words(one.right))


def _both_open(ev: Evaluator, one: tree.Binary, left: Any, right: Any, truth: bool | None) -> Int:
    """a && b and a || b that the text leaves open."""
    a, b = number(left), number(right)
    if a is None or b is None or isinstance(left, Term) or isinstance(right, Term):
        return ev.unknown(one)
    if truth is not None:
        return word.truth_of(b)
    return word.opaque(f"{word.factor(a)} {one.op} {word.factor(b)}", BOOL, a, b)


def unknown(ev: Evaluator, one: tree.Expression) -> Int:
    """Return the unknown truth of an expression."""
    return free(ev.words(one), BOOL)


def evaluate_unary(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """Return the value of an operator with one operand, x++ and x-- among them."""
    rule = _UNARY.get(one.op, _evaluate_sign)
    return rule(ev, one, scope)


def _evaluate_address(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """&x."""
    if "&" in ev.overloaded and isinstance(value := ev.evaluate_argument(one.value, scope).value, Object):
        own = ev.operator("&", value, None, one)
        if own is not None:
            return ev.load(own, one)
    return ev.address_of(one.value, scope)


def _evaluate_expansion(ev: Evaluator, one: tree.Unary, scope: Scope) -> Term:
    """A parameter pack where it is not expanded."""
    return Term(ev.words(one))


def _evaluate_pointee(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """*p."""
    return ev.load(ev.pointee_of(ev.value(one.value, scope), one), one)


def _evaluate_not(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """!x."""
    value = ev.value(one.value, scope)
    own = ev.operator(one.op, value, None, one) if not ev.python else None
    if own is not None:
        return ev.load(own, one)
    truth = ev.truth(value)
    if truth is not None:
        return Int(int(not truth), BOOL)
    given = number(value)
    return word.opaque(f"{word.factor(given)} == 0", BOOL, given) if given is not None else ev.unknown(one)


def _evaluate_sign(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """+x, -x, ~x."""
    value = ev.value(one.value, scope)
    if not ev.python:
        own = ev.operator(one.op, value, None, one)
        if own is not None:
            return ev.load(own, one)
        value = ev.number_of_object(value)
    if is_real(value):
        return Term(ev.words(one), value.kind)
    given = number(value)
    if given is None:
        return Term(ev.words(one))
    kind = promoted(given.type)
    if one.op == "+":
        return word.convert(given, kind)
    if one.op == "-":
        return word.add(Int(0, kind), word.convert(given, kind), -1)
    return word.inverted(given)


def _post(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """x++ and x--: the value before."""
    assert isinstance(one.value, tree.Assign)
    if not ev.python:
        place = ev.place(one.value.target, scope)
        value = ev.load(place, one)
        if isinstance(value, Object):
            made = ev.operator(one.value.op * 2, value, Int(0), one)
            if made is None:
                ev.forget(place)
            return ev.load(made, one) if made is not None else Term(ev.words(one))
        old = ev.copied(value)
    else:
        old = ev.value(one.value.target, scope)
    ev.value(one.value, scope)
    return old


_UNARY: dict[str, Callable[[Evaluator, tree.Unary, Scope], Any]] = {
    "post": _post,
    "&": _evaluate_address,
    "...": _evaluate_expansion,
    "*": _evaluate_pointee,
    "!": _evaluate_not,
    "not": _evaluate_not,
}


# folds over parameter packs --------------------------------------------------------------------------------------


def evaluate_fold(ev: Evaluator, one: tree.Fold, scope: Scope) -> Any:
    """(pack op …), (… op pack), and both with a first value: [expr.prim.fold]."""
    right = one.right is not None and bool(ev.pack_scopes(one.right, scope))
    pattern, first = (one.right, one.left) if right or one.left is None else (one.left, one.right)
    assert pattern is not None
    scopes = ev.pack_scopes(pattern, scope)
    if not scopes and not _names_empty_pack(ev, pattern, scope):
        return Term(ev.words(one), span=one.span)
    if one.op in _LOGICAL:
        return _logical_fold(ev, one, pattern, scopes)
    if one.op.endswith("=") and one.op not in ("==", "!=", "<=", ">="):
        return Term(ev.words(one), span=one.span)
    values = [ev.value(pattern, inner) for inner in scopes]
    if first is not None:
        values = [ev.value(first, scope), *values] if right else [*values, ev.value(first, scope)]
    return _folded(ev, one, values, right or one.left is None)


def _folded(ev: Evaluator, one: tree.Fold, values: list[Any], from_left: bool) -> Any:
    """Apply a fold's operator to values one by one, from the left or from the right."""
    if not values:
        return None if one.op == "," else Term(ev.words(one), span=one.span)
    if one.op == ",":
        return values[-1]
    ordered = values if from_left else values[::-1]
    total = ordered[0]
    for value in ordered[1:]:
        left, right = (total, value) if from_left else (value, total)
        total = ev.operate(one.op, left, right, one, left_at=one, right_at=one)
    return total


def _names_empty_pack(ev: Evaluator, pattern: tree.Expression, scope: Scope) -> bool:
    """Return whether a name is of a parameter pack."""
    names = pattern.path if isinstance(pattern, tree.Name | tree.Type) else ()
    return any(isinstance(find_name(scope, name)[0], Pack) for name, _ in names)


def _logical_fold(ev: Evaluator, one: tree.Fold, pattern: tree.Expression, scopes: list[Scope]) -> Any:
    """Fold with && or ||."""
    for inner in scopes:
        truth = ev.truth(ev.value(pattern, inner))
        if truth is None:
            return ev.unknown(one)
        if truth == (one.op == "||"):
            return Int(int(truth), BOOL)
    return Int(int(one.op == "&&"), BOOL)
