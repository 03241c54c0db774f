"""Find the expression that computes an address, through the variables that pass it on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.names import resolve_path
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_STEPS = 13


def trace_site(run: KernelRunner, node: tree.Expression, scope: Scope, first: bool = False) -> tuple[int, int]:
    """Return the place of the expression that makes an address differ between lanes.

    first: return the first sum that the names lead to instead, which a loop advances.
    """
    *_, last = list_sites(run, node, scope, first)
    return last


def list_sites(
    run: KernelRunner, node: tree.Expression, scope: Scope, first: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the places of an expression and of those that it has its value or its difference from."""
    yield node.span
    for _ in range(MOST_STEPS):
        source = _find_source(run, node, scope, first)
        if source is None:
            break
        node, scope = source
        yield node.span


def _find_source(
    run: KernelRunner, node: tree.Expression, scope: Scope, first: bool
) -> tuple[tree.Expression, Scope] | None:
    """Return the expression that an expression has its value or its difference from, and its scope; None if none."""
    match node:
        case tree.Name() | tree.Unary(op="&", value=tree.Name()):
            arguments = _find_argument(run, node, scope)
            if arguments is not None and arguments[0] is not None:
                return arguments[0], arguments[1]
        case tree.Cast():
            return node.value, scope
        case tree.Call() if len(node.arguments) == 1 and _is_forwarding(node):
            return node.arguments[0], scope
        case tree.Binary() if node.op == "+" and not first and len(added := _list_added(run, node, scope)) == 1:
            return added[0], scope
        case tree.Binary() if node.op in "+-^|" and not first:
            varying = [side for side in (node.left, node.right) if _varies(run.evaluate(side, scope))]
            if len(varying) == 1 and isinstance(varying[0], tree.Name | tree.Cast | tree.Binary):
                return varying[0], scope
    return None


def _list_added(run: KernelRunner, node: tree.Binary, scope: Scope) -> list[tree.Expression]:
    """Return the terms of a sum that are not 0."""
    values = [(side, run.evaluate(side, scope)) for side in (node.left, node.right)]
    return [side for side, value in values if not isinstance(value, ThreadNumber) or value.known != 0]


def _is_forwarding(node: tree.Call) -> bool:
    name = node.function.last if isinstance(node.function, tree.Name) else ""
    return any(word in name.lower() for word in ("cvta", "smem", "shared", "uint32_t", "to_u"))


def _find_argument(run: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return (argument, its scope) of a parameter, also of a reference, such as to a tensor map, at &name."""
    if not isinstance(node, tree.Name):
        name = getattr(node, "value", None)
        if not isinstance(name, tree.Name) or resolve_path(run, name.path, scope) is not None:
            return None
        return scope.find_passed(name.last)
    place = resolve_path(run, node.path, scope)
    if isinstance(place, Pointer) and place.space == "local" and isinstance(place.array, LocalMemory):
        return place.array.initializer if not place.dims else None
    return scope.find_passed(node.last) if place is None else None


def _varies(value: Any) -> bool:
    """Return whether a value differs between the lanes of the first warp."""
    number = value.offset if isinstance(value, Pointer) else value
    terms = getattr(number, "terms", None)
    if terms is None:
        return number is None
    return any(not isinstance(term, int) and bool(np.any(term[:32] != term[0])) for term in terms.values())
