"""Loops of one thread that fill a tile, run for as many turns at once as the block has threads.

Every lane then stands for one turn. That is exact if no turn depends on another, or on the thread: the body computes
variables of its own from the counter, loads global memory and stores to shared memory, each array once. Of stores to
the same bytes the last turn is kept, as NumPy does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.language.names import resolve_path
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.language.program import FunctionSet, Scope
from lanescope.reader.threads.memory.storage import LocalMemory, Mask, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_LEAST = 16  # turns
_MOST = 1 << 17
_MOST_DEEP = 3  # calls in calls
_LEAVING = statements.Assembly | statements.Return | statements.Jump | statements.Loop | statements.Switch | tree.Lambda
_HARMLESS = ("half", "float", "bfloat16", "bf16", "make_", "static_cast", "min", "max", "ldg")


def fold_turns(run: KernelRunner, loop: statements.Loop, scope: Scope, active: Mask) -> bool:
    """Run all turns of a loop of one thread, many at once; return whether that was possible."""
    if run.order is not None or run.barriers is not None or np.count_nonzero(active) != 1 or run.assumed:
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
    if not isinstance(start, tree.Declaration) or not isinstance(step, tree.Assignment) or step.op != "+" or loop.late:
        return None
    if not isinstance(condition, tree.Binary) or condition.op not in ("<", "<="):
        return None
    if any(getattr(node, "last", "") != start.name for node in (condition.left, step.target)):
        return None
    counter = scope.names.get(start.name)
    if not isinstance(counter, Pointer) or not isinstance(counter.array, LocalMemory) or not counter.type.integer:
        return None
    numbers = [run.evaluate(node, scope) for node in (condition.left, condition.right, step.value)]
    known = [number.known for number in numbers if isinstance(number, ThreadNumber) and number.uniform]
    if len(known) < len(numbers) or None in known:
        return None
    first, past, by = (int(value or 0) for value in known)
    values = range(first, past + (condition.op == "<="), by) if by > 0 else range(0)
    return (counter, values) if _LEAST <= len(values) <= _MOST else None


def _is_independent(run: KernelRunner, body: tree.Statement, scope: Scope, counter: str) -> bool:
    """Return whether no turn of a loop depends on another one, or on the thread."""
    nodes = list(walk_nodes(body))
    own = {node.name for node in nodes if isinstance(node, tree.Declaration)}
    assigned = [node for node in nodes if isinstance(node, tree.Assignment)]
    if any(isinstance(node, _LEAVING) for node in nodes) or any(node.static or node.lasting for node in _pick(nodes)):
        return False
    own.add(counter)
    stored: list[str] = []
    for node in assigned:
        if isinstance(node.target, tree.Name):
            if node.target.last not in own or node.target.last == counter:
                return False
            continue
        base = next((part.last for part in _list_names(node.target) if _is_shared(run, part, scope)), "")
        if not base or node.op:
            return False
        stored.append(base)
    calls = [node for node in nodes if isinstance(node, tree.Call)]
    if len(set(stored)) < len(stored) or not stored or not all(_is_pure(run, call, scope, 0) for call in calls):
        return False
    targets = {id(part) for node in assigned for part in walk_nodes(node.target)}
    called = {id(call.function) for call in calls}
    names = [n for n in _list_names(body) if n.last not in own and id(n) not in called]
    return all(_is_alike(run, name, scope, id(name) in targets) for name in names)


def _pick(nodes: list[tree.SyntaxNode]) -> Iterator[tree.Declaration]:
    return (node for node in nodes if isinstance(node, tree.Declaration))


def _list_names(node: tree.SyntaxNode) -> Iterator[tree.Name]:
    return (part for part in walk_nodes(node) if isinstance(part, tree.Name))


def _resolve(run: KernelRunner, name: tree.Name, scope: Scope) -> Any:
    """Return what a name of outside the loop is: its value if it is a variable."""
    found = resolve_path(run, name.path, scope)
    local = isinstance(found, Pointer) and found.space == "local" and not found.dims
    return found.array.read_value(0, found.type.size) if local and isinstance(found.array, LocalMemory) else found


def _is_shared(run: KernelRunner, name: tree.Name, scope: Scope) -> bool:
    found = _resolve(run, name, scope)
    return isinstance(found, Pointer) and found.space == "shared"


def _is_alike(run: KernelRunner, name: tree.Name, scope: Scope, stored: bool) -> bool:
    """Return whether a name has the same value in all turns. stored: whether it is in the target of a store."""
    if name.last == "blockIdx":
        return True
    found = _resolve(run, name, scope)
    if isinstance(found, ThreadNumber):
        return found.uniform
    if not isinstance(found, Pointer) or found.offset is None or not found.offset.uniform:
        return False
    return found.space == "global" or (found.space == "shared" and stored)


def _is_pure(run: KernelRunner, call: tree.Call, scope: Scope, depth: int) -> bool:
    """Return whether a call only computes a value: of a conversion, or of a function that depends on its arguments."""
    name = call.function.last if isinstance(call.function, tree.Name) else ""
    found = resolve_path(run, call.function.path, scope) if isinstance(call.function, tree.Name) else None
    if not isinstance(found, FunctionSet):
        return any(word in name for word in _HARMLESS)
    return depth < _MOST_DEEP and all(_is_computation(run, one, scope, depth) for one in found.functions)


def _is_computation(run: KernelRunner, function: tree.Function, scope: Scope, depth: int) -> bool:
    nodes = list(walk_nodes(function.body)) if function.body is not None else []
    own = {node.name for node in _pick(nodes)} | {parameter.name for parameter in function.parameters}
    plain = all(parameter.type is not None and not parameter.type.reference for parameter in function.parameters)
    targets = [node.target for node in nodes if isinstance(node, tree.Assignment)]
    inside = all(isinstance(target, tree.Name) and target.last in own for target in targets)
    barred = statements.Assembly | statements.Jump | statements.Loop | statements.Switch | tree.Lambda
    if not plain or not inside or any(isinstance(node, barred) for node in nodes):
        return False
    if any(name.last == "threadIdx" for node in nodes for name in ([node] if isinstance(node, tree.Name) else [])):
        return False
    return all(_is_pure(run, node, scope, depth + 1) for node in nodes if isinstance(node, tree.Call))
