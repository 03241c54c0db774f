"""Run a loop of one thread that fills a tile many iterations at once: one in each lane of the block.

That is exact if no iteration depends on another, or on the thread: the body computes variables of its own from the
counter, loads global memory, and has one store to shared memory, or one to each of some arrays. Of stores to the same
bytes, NumPy keeps the last one, as the loop does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.language.names import resolve_path
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.language.program import FunctionSet, Scope
from lanescope.reader.threads.memory.storage import LocalMemory, Mask, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_LEAST, _MOST = 16, 1 << 17  # iterations
_MOST_DEEP = 3  # calls in calls
_LEAVING = statements.Assembly | statements.Return | statements.Jump | statements.Loop | statements.Switch | tree.Lambda
_HARMLESS = ("half", "float", "bfloat16", "bf16", "make_", "static_cast", "min", "max", "ldg")


def fold_iterations(run: KernelRunner, loop: statements.Loop, scope: Scope, active: Mask) -> bool:
    """Run all iterations of a loop of one thread, many at once; return whether that was possible."""
    if (
        run.order is not None
        or run.barriers is not None
        or run.tape is not None
        or np.count_nonzero(active) != 1
        or run.assumed
    ):
        return False
    start = loop.start.body[0] if isinstance(loop.start, statements.Block) and loop.start.body else loop.start
    found = _find_counter(run, loop, start, scope)
    if found is None or not _is_independent(run, loop.body, scope, getattr(start, "name", "")):
        return False
    counter, values = found
    outer, memory, kind = run.folded, counter.array, counter.type
    run.folded = True
    for first in range(0, len(values), run.threads):
        part = values[first : first + run.threads]
        lanes = np.full(run.threads, part[0], np.int64)
        lanes[: len(part)] = part
        memory.cells[0] = make_number(lanes, kind.kind), kind.size
        run.run(loop.body, scope, np.arange(run.threads) < len(part))
    run.folded = outer
    return True


def _find_counter(
    run: KernelRunner, loop: statements.Loop, start: tree.Statement | None, scope: Scope
) -> tuple[Pointer, range] | None:
    """Return the variable that a loop counts in, and its values; None if they are not known."""
    step, condition = loop.step, loop.condition
    step = step.value if isinstance(step, tree.Unary) and step.op == "post" else step
    if not isinstance(start, tree.Declaration) or not isinstance(step, tree.Assignment) or loop.late:
        return None
    if not isinstance(condition, tree.Binary) or (condition.op, step.op) not in (("<", "+"), ("<=", "+")):
        return None
    counter = scope.names.get(start.name)
    named = {getattr(node, "last", "") for node in (condition.left, step.target)} == {start.name}
    if not named or not isinstance(counter, Pointer) or not counter.type.integer:
        return None
    first, past, by = (_find_uniform(run, node, scope) for node in (condition.left, condition.right, step.value))
    values = _list_values(first, past, by, condition.op == "<=")
    return (counter, values) if _LEAST <= len(values) <= _MOST else None


def _list_values(first: int | None, past: int | None, by: int | None, last: bool) -> range:
    """Return the values of a counter; none if they are not known. last: whether `past` is among them."""
    return range(0) if first is None or past is None or not by or by < 0 else range(first, past + last, by)


def _find_uniform(run: KernelRunner, node: tree.Expression, scope: Scope) -> int | None:
    value = run.evaluate(node, scope)
    return value.known if isinstance(value, ThreadNumber) and value.uniform else None


def _is_independent(run: KernelRunner, body: tree.Statement, scope: Scope, counter: str) -> bool:
    """Return whether no iteration of a loop depends on another one, or on the thread."""
    nodes = list(walk_nodes(body))
    if any(isinstance(node, _LEAVING) or getattr(node, "lasting", False) for node in nodes):
        return False
    own = {node.name for node in nodes if isinstance(node, tree.Declaration)}
    stores = [node for node in nodes if _is_store(node, own)]
    calls = [node for node in nodes if isinstance(node, tree.Call)]
    if not _fill_own_arrays(run, stores, scope) or not all(_is_pure(run, call, scope, 0) for call in calls):
        return False
    inside = {id(part) for store in stores for part in walk_nodes(store.target)}
    names = {id(name): name for name in _list_names(body) if name.last not in own | {counter}}
    for call in calls:
        names.pop(id(call.function), None)
    return all(_is_alike(run, name, scope, at in inside) for at, name in names.items())


def _is_store(node: tree.SyntaxNode, own: set[str]) -> TypeGuard[tree.Assignment]:
    """Return whether a node assigns to anything but a variable of the body."""
    return isinstance(node, tree.Assignment) and not _is_own(node.target, own)


def _is_own(target: tree.Expression, own: set[str]) -> bool:
    """Return whether the target of an assignment is a variable of the body."""
    return isinstance(target, tree.Name) and target.last in own


def _fill_own_arrays(run: KernelRunner, stores: list[tree.Assignment], scope: Scope) -> bool:
    """Return whether assignments store to shared memory, if there are several each to an array declared there."""
    arrays = [_find_shared(run, store.target, scope, len(stores) > 1) for store in stores if not store.op]
    return 0 < len(arrays) == len(stores) == len(set(arrays)) and "" not in arrays


def _find_shared(run: KernelRunner, target: tree.Expression, scope: Scope, declared: bool) -> str:
    """Return the name whose element in shared memory a target is; "" for any other target. declared: whether it must be
    that of an array, as pointers may lead to the same one.
    """
    for name in _list_names(target) if not isinstance(target, tree.Name) else ():
        found = resolve_path(run, name.path, scope) if declared else _resolve(run, name, scope)
        if isinstance(found, Pointer) and found.space == "shared":
            return name.last
    return ""


def _list_names(node: tree.SyntaxNode) -> Iterator[tree.Name]:
    return (part for part in walk_nodes(node) if isinstance(part, tree.Name))


def _resolve(run: KernelRunner, name: tree.Name, scope: Scope) -> Any:
    """Return the meaning of a name from outside the loop; of a variable, its value."""
    found = resolve_path(run, name.path, scope)
    local = isinstance(found, Pointer) and found.space == "local" and not found.dims
    return found.array.read_value(0, found.type.size) if local and isinstance(found.array, LocalMemory) else found


def _is_alike(run: KernelRunner, name: tree.Name, scope: Scope, stored: bool) -> bool:
    """Return whether a name has the same value in all iterations. stored: whether it is in the target of a store."""
    if name.last == "blockIdx":
        return True
    found = _resolve(run, name, scope)
    if isinstance(found, ThreadNumber):
        return found.uniform
    if not isinstance(found, Pointer) or found.offset is None or not found.offset.uniform:
        return False
    return found.space == "global" or (found.space == "shared" and stored)


def _is_pure(run: KernelRunner, call: tree.Call, scope: Scope, depth: int) -> bool:
    """Return whether a call only converts a value, or calls a function that only computes its result."""
    name = call.function.last if isinstance(call.function, tree.Name) else ""
    found = resolve_path(run, call.function.path, scope) if isinstance(call.function, tree.Name) else None
    if not isinstance(found, FunctionSet):
        return any(word in name for word in _HARMLESS)
    return depth < _MOST_DEEP and all(_is_computation(run, one, scope, depth) for one in found.functions)


def _is_computation(run: KernelRunner, function: tree.Function, scope: Scope, depth: int) -> bool:
    """Return whether a function only computes its result from its arguments."""
    nodes = list(walk_nodes(function.body)) if function.body is not None else []
    own = {node.name for node in nodes if isinstance(node, tree.Declaration)}
    own |= {parameter.name for parameter in function.parameters}
    by_reference = any(parameter.type is None or parameter.type.reference for parameter in function.parameters)
    return (
        not by_reference
        and not any(map(partial(_has_effect, own), nodes))
        and all(_is_pure(run, node, scope, depth + 1) for node in nodes if isinstance(node, tree.Call))
    )


def _has_effect(own: set[str], node: tree.SyntaxNode) -> bool:
    """Return whether a node of a function has a side effect, or depends on the thread."""
    if isinstance(node, tree.Assignment):
        return not _is_own(node.target, own)
    of_thread = isinstance(node, tree.Name) and node.last == "threadIdx"
    return of_thread or (isinstance(node, _LEAVING) and not isinstance(node, statements.Return))
