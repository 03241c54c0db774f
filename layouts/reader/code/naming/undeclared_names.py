"""Evaluate undeclared names: constants and traits of libraries, and supplied values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT
from lanescope.reader.code.naming.header_names import CONSTANTS, LIMITS, MEMBERS
from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import traits
from lanescope.reader.code.values import PLACES, OpaqueValue, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_undeclared(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Evaluate an undeclared name: a library's constant, a supplied value, else a symbol."""
    for rule in _RULES:
        result = rule(ev, node, scope)
        if result is not None:
            return result
    text = "::".join(name for name, _ in node.path)
    return SymbolicInt(ev.supplied_values[text]) if text in ev.supplied_values else OpaqueValue(text, span=node.span)


# rules tried in order; each returns None if it does not apply


def _evaluate_constant(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> SymbolicInt | None:
    """Return a constant of CUDA or a limit of C, by its last name."""
    last = node.path[-1][0] if node.path else ""
    if last in CONSTANTS:
        return SymbolicInt(CONSTANTS[last], INT, origin=(node.span,))
    if last in LIMITS and not ev.python:
        return SymbolicInt(*LIMITS[last], origin=(node.span,))
    return None


def _evaluate_enumerator(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> SymbolicInt | None:
    """Return an enumerator of a library."""
    for name, _ in node.path[:-1]:
        if (name, node.path[-1][0]) in MEMBERS:
            return SymbolicInt(MEMBERS[name, node.path[-1][0]], INT, origin=(node.span,))
    return None


def _evaluate_integral_constant(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> SymbolicInt | None:
    """Evaluate decltype(x)::value, the value that every object of x's type has."""
    if ev.python or len(node.path) != 2 or node.path[1][0] != "value":
        return None
    named = re.fullmatch(r"decltype\s*\(\s*(\w+)\s*\)", node.path[0][0])
    place = ev.resolve_name(((named[1], None),), scope, node.span[0]) if named else None
    value = ev.load_place(place, node) if isinstance(place, PLACES) else None
    return value if isinstance(value, SymbolicInt) and value.known is not None else None


def _evaluate_trait(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Evaluate a trait of the standard library: is_same_v<A, B>, is_same<A, B>::value, remove_cv<T>::type."""
    if ev.python or not node.path:
        return None
    last, arguments = node.path[-1]
    if arguments is not None:
        known = traits.find_trait_value(last, ev.evaluate_template_arguments(arguments, scope))
        if known is not None:
            return known
    if len(node.path) > 1 and last in ("value", "type"):
        kind = ev.find_builtin_type(node.path[:-1], scope)
        return traits.find_trait_member(kind, last) if kind is not None else None
    return None


def _find_builtin(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    """Return a built-in type."""
    return ev.find_builtin_type(node.path, scope)


_RULES: tuple[Callable[[Evaluator, tree.Name | tree.Type, NameScope], Any], ...] = (
    _evaluate_constant,
    _evaluate_enumerator,
    _evaluate_integral_constant,
    _evaluate_trait,
    _find_builtin,
)
