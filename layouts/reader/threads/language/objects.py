"""What objects of classes run by themselves in device code: default constructors, destructors and operators.

A class may hold a barrier, a commit or a wait in any of them, as the pipelines of some kernels do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import BASES, FunctionSet, Scope
from lanescope.reader.threads.memory.storage import Mask, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_OBJECTS = "~"  # the name under which a scope lists its objects with destructors, in the order of their declarations
NOT_HERE = object()  # the result if an operand is not an object, or its class lacks the operator


def find_method(place: Any, name: str) -> FunctionSet | None:
    """Return the functions of an object's class with a name; None for another value."""
    if not isinstance(place, Pointer) or place.type.scope is None or place.type.pointer or place.dims:
        return None
    found = place.type.scope.names.get(name)
    return found if isinstance(found, FunctionSet) else None


def note_object(run: KernelRunner, place: Pointer, scope: Scope, constructed: bool) -> None:
    """Note a new variable of a class, whose destructor runs where its scope ends.

    constructed: whether its constructor was run; else what that would do to the order is unknown.
    """
    unknown = find_method(place, place.type.name) is not None and not constructed
    if unknown or BASES in place.type.scope.names:
        run.forget_order()
    if find_method(place, f"~{place.type.name}") is not None:
        scope.names.setdefault(_OBJECTS, []).append(place)


def end_scope(run: KernelRunner, scope: Scope, mask: Mask) -> None:
    """Run the destructors of a scope's objects for the threads that entered it, the last object first."""
    for place in reversed(scope.names.pop(_OBJECTS, ())):
        before, run.mask = run.mask, mask
        call = tree.Call(tree.Name(((f"~{place.type.name}", None),)), (), span=_find_body_span(place))
        run.call_method(place, f"~{place.type.name}", call, scope)
        run.mask = before


def _find_body_span(place: Pointer) -> tuple[int, int]:
    functions = find_method(place, f"~{place.type.name}")
    return functions.functions[0].span if functions is not None else (0, 0)


def call_operator(
    run: KernelRunner, op: str, operands: Sequence[tree.Expression], node: tree.Expression, scope: Scope
) -> Any:
    """Call the operator of the first operand's class; NOT_HERE if it is not an object or lacks the operator."""
    if op == "post" and isinstance(operands[0], tree.Assignment):  # x++ calls operator++(0)
        op, operands = operands[0].op * 2, (operands[0].target, tree.NumberLiteral(0, INT))
    if not run.has_operators or not _names_object(operands[0]):
        return NOT_HERE
    place = find_place(run, operands[0], scope)
    if find_method(place, f"operator{op}") is None:
        return NOT_HERE
    call = tree.Call(tree.Name(((f"operator{op}", None),)), tuple(operands[1:]), span=node.span)
    return run.call_method(place, f"operator{op}", call, scope)


def _names_object(node: tree.Expression) -> bool:
    """Return whether an expression is a name, a member or *this, which nothing is evaluated for twice."""
    if isinstance(node, tree.Unary) and node.op == "*":
        return isinstance(node.value, tree.Name) and node.value.last == "this"
    return isinstance(node, tree.Name | tree.Member)
