"""Block sizes of kernels: of a launch, of launch bounds, or as a request gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from lanescope.ptx.threads import MOST_THREADS, WARP
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import LaterValue, Scope, parse_expression
from lanescope.reader.threads.launches import KernelLaunch, count_launches, find_launch_bounds, uses_dimensions
from lanescope.reader.threads.runner import KernelRunner

_Evaluate = Callable[[KernelRunner, tree.Expression, Scope], Any]
_DIM3, _AXES = ("dim3", "uint3"), ("x", "y", "z")
THREADS_OPEN, LAUNCHED = "the number of threads is open", "launched with "


def find_block(
    host: KernelRunner, function: tree.Function, launch: KernelLaunch, enclosing: Scope, inner: Scope
) -> tuple[int, int, int] | None:
    """Return the block size of the launch, else that of the kernel's launch bounds, unless it asks for y or z."""
    expression = parse_expression(launch.block)
    sizes = read_sizes(host, expression, enclosing)
    if sizes is None and not uses_dimensions(host.text, function):  # bounds are a product
        bound = parse_expression(find_launch_bounds(host.text, function))
        sizes = read_sizes(host, bound, inner)
    if sizes is None and count_launches(host.text, function.name) == 1:
        sizes = read_sizes(host, expression, enclosing, _evaluate_either)
    return _make_block(sizes)


def find_given_block(host: KernelRunner, arguments: str, scope: Scope) -> tuple[int, int, int] | None:
    """Return the block size that a request gives, as the arguments of a dim3; None for none."""
    return _make_block(read_sizes(host, parse_expression(arguments), scope)) if arguments else None


def describe_open_block(host: KernelRunner, launch: KernelLaunch, enclosing: Scope) -> str:
    """Describe why a launch is not run: its block size is not known, or none that is followed."""
    sizes = read_sizes(host, parse_expression(launch.block), enclosing)
    if sizes is None:
        return THREADS_OPEN
    threads = prod(sizes)
    why = f"more than a block's {MOST_THREADS:,}" if threads > MOST_THREADS else "which are no whole warps"
    return f"{LAUNCHED}{threads:,} threads, {why}"


def _make_block(sizes: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    """Return a block size that is a multiple of a warp; None for any other."""
    if sizes is None:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return (x, y, z) if 0 < x * y * z <= MOST_THREADS and not x * y * z % WARP else None


def _list_sizes(expression: tree.Expression | None, scope: Scope) -> tuple[tree.Expression, ...]:
    """Return the sizes that a number, a list or a dim3, here or declared before, has."""
    items: tuple[tree.Expression, ...] = ()
    declaration = _find_dim3(expression, scope)
    if declaration is not None:
        expression, items = declaration.value, declaration.arguments or ()
    if isinstance(expression, tree.Call) and getattr(expression.function, "last", "") == "dim3":
        items = expression.arguments
    if isinstance(expression, tree.ItemList):
        items = tuple(value for _, value in expression.items)
    return items or ((expression,) if expression is not None else ())


def _find_dim3(expression: tree.Expression | None, scope: Scope) -> tree.Declaration | None:
    """Find the declaration of a variable of type dim3, or of one that becomes a dim3 in a launch."""
    found = scope.names.get(expression.last) if isinstance(expression, tree.Name) else None
    statement = found.statement if isinstance(found, LaterValue) else None
    if isinstance(statement, tree.Declaration) and statement.type is not None and statement.type.name in _DIM3:
        return statement
    return None


def _replace_members(node: tree.Expression, scope: Scope) -> tree.Expression:
    """Return an expression with the sizes of variables of type dim3 in place of their members x, y and z."""
    if isinstance(node, tree.Call):
        return replace(node, arguments=tuple(_replace_members(one, scope) for one in node.arguments))
    if isinstance(node, tree.Binary):
        return replace(node, left=_replace_members(node.left, scope), right=_replace_members(node.right, scope))
    if not isinstance(node, tree.Member) or node.name not in _AXES or _find_dim3(node.value, scope) is None:
        return node
    sizes, axis = _list_sizes(node.value, scope), _AXES.index(node.name)
    return sizes[axis] if axis < len(sizes) else parse_expression("1") or node


def read_sizes(
    host: KernelRunner, expression: tree.Expression | None, scope: Scope, evaluate: _Evaluate = KernelRunner.evaluate
) -> tuple[int, ...] | None:
    """Return the sizes of a number, a list or a dim3; None if one is unknown or 0."""
    values = [evaluate(host, _replace_members(size, scope), scope) for size in _list_sizes(expression, scope)]
    known = [value.known for value in values if isinstance(value, ThreadNumber)]
    if not values or len(known) < len(values) or not all(known):
        return None
    return tuple(int(size or 0) for size in known)


def _evaluate_either(host: KernelRunner, size: tree.Expression, scope: Scope) -> Any:
    """Return a size; where it depends on an open condition, the only known one of the two that it may have."""
    value = host.evaluate(size, scope)
    if isinstance(value, ThreadNumber) and value.known is not None:
        return value
    found = scope.names.get(size.last) if isinstance(size, tree.Name) else None
    statement = found.statement if isinstance(found, LaterValue) else None
    chosen = statement.value if isinstance(statement, tree.Declaration) else size
    if not isinstance(chosen, tree.ConditionalExpression):
        return value
    values = (_evaluate_either(host, branch, scope) for branch in (chosen.yes, chosen.no))
    known = {one.known: one for one in values if isinstance(one, ThreadNumber) and one.known}
    return next(iter(known.values())) if len(known) == 1 else value
