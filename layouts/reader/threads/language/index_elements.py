"""Elements that threads compute from two indices and store to a tile, such as a test pattern.

An element that is computed from its row and column is traced like one that is loaded from a matrix: its place in the
tile is checked, not its value. The indices are variables from which both its address and its value are computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.names import resolve_path
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.quotients import Coefficient
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import (
    DataBytes,
    FloatConstant,
    Ints,
    LocalMemory,
    Pointer,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_MOST = 1 << 20  # of an index
_MOST_DEEP = 6
_BEGINS_LOOP = re.compile(r"\bfor\s*\([^{};]*\Z")
_MOST_HEAD = 80  # characters of the head of a loop before its first value


class _UnknownIndexError(Exception):
    """A value depends on something other than the indices of its address."""


@dataclass(frozen=True, slots=True)
class _Index:
    """A variable, or a member of threadIdx.

    key: identifies it; value: None unless it is an integer; begun: the expression that it is computed from, with the
    scope of that.
    """

    name: str
    key: object
    value: ThreadNumber | None
    begun: tuple[tree.Expression, Scope] | None = None

    @property
    def lanes(self) -> Coefficient | None:
        """The value in every thread; None if it is not known."""
        return None if self.value is None else self.value.const


def number_element(run: KernelRunner, node: tree.Assignment, value: Any, place: Any, scope: Scope) -> Any:
    """Return the element that an assignment computes from two indices and stores to shared memory, else its value."""
    if not isinstance(place, Pointer) or place.space != "shared":
        return value
    computed = value is None or isinstance(value, FloatConstant | ThreadNumber)
    element = _find_element(run, node, place.type, scope) if computed else None
    return value if element is None else element


def _find_element(run: KernelRunner, node: tree.Assignment, kind: SizedType, scope: Scope) -> DataBytes | None:
    """Return the element that an assignment computes from two indices; None for any other assignment."""
    unlike = kind.vector or kind.scope is not None or kind.pointer or kind.size > (2 if kind.integer else 4)
    if node.op or unlike or not run.follows_bytes or not _list_names(run, node.value):
        return None
    around: dict[object, _Index] = {}
    near = [index for index in _list_indices(run, node.target, scope) if _collect_moving(run, index, around, 0)]
    used: dict[object, _Index] = {}
    try:
        _collect_used(run, node.value, scope, (around, used), 0)
    except _UnknownIndexError:
        return None
    pair = list(used.values()) if len(used) == 2 else near if len(used) == 1 else []
    return _make_element(run, node, kind, pair) if len(pair) == 2 else None


def _make_element(run: KernelRunner, node: tree.Assignment, kind: SizedType, pair: list[_Index]) -> DataBytes | None:
    """Return the element at two indices of the matrix that is named by the array and the indices."""
    pair = sorted(pair, key=lambda index: index.name)
    rows, columns = (spread_coefficient(index.lanes, run.threads) for index in pair)
    places = rows * _MOST + columns
    running = np.concatenate((rows[run.mask], columns[run.mask]))
    if running.size and (running.min() < 0 or running.max() >= _MOST):
        return None
    base = next((name.last for name in _list_names(run, node.target) if isinstance(name, tree.Name)), "the tile")
    array = f"{base} by {' and '.join(index.name for index in pair)}"  # no array of a kernel has such a name
    run.indices.setdefault(array, []).append(places[run.mask])
    return run.load_global(array, make_number(places * kind.size, LONG), kind.size, node.target.span)


def find_extents(places: list[Ints]) -> tuple[int, int] | None:
    """Return how many values each of two indices has in the stored elements; None if some pairs are missing."""
    pairs = np.unique(np.concatenate([np.zeros(0, np.int64), *places]))
    rows, columns = len(np.unique(pairs // _MOST)), len(np.unique(pairs % _MOST))
    return (rows, columns) if 0 < rows * columns == len(pairs) else None


# variables ------------------------------------------------------------------------------------------------------------


def _list_indices(run: KernelRunner, node: tree.Expression, scope: Scope) -> Iterator[_Index]:
    """Yield the variables that an expression names, each once."""
    seen: set[object] = set()
    for part in _list_names(run, node):
        index = _find_index(run, part, scope)
        if index is not None and index.key not in seen:
            seen.add(index.key)
            yield index


def _list_names(run: KernelRunner, node: tree.Expression) -> tuple[tree.Name | tree.Member, ...]:
    """List the names and the members of threadIdx in an expression, in order, without the names of functions."""
    if id(node) not in run.named:
        parts = sorted(walk_nodes(node), key=lambda part: part.span)
        called = {id(part.function) for part in parts if isinstance(part, tree.Call)}
        names = [p for p in parts if isinstance(p, tree.Name | tree.Member) and id(p) not in called]
        threads = {id(name.value) for name in names if isinstance(name, tree.Member) and _is_thread(name)}
        kept = (p for p in names if (isinstance(p, tree.Name) and id(p) not in threads) or _is_thread(p))
        run.named[id(node)] = tuple(kept)
    return run.named[id(node)]


def _is_thread(node: tree.Expression) -> bool:
    return isinstance(node, tree.Member) and isinstance(node.value, tree.Name) and node.value.last == "threadIdx"


def _find_index(run: KernelRunner, node: tree.Name | tree.Member, scope: Scope) -> _Index | None:
    """Return the variable, or the member of threadIdx, of a name; None for a constant."""
    if isinstance(node, tree.Member):
        value = run.evaluate(node, scope)
        return _Index(f"threadIdx.{node.name}", node.name, value if isinstance(value, ThreadNumber) else None)
    place = resolve_path(run, node.path, scope)
    if isinstance(place, ThreadNumber | FloatConstant):
        return None
    memory = place.array if isinstance(place, Pointer) and not place.dims and not place.type.pointer else None
    if not isinstance(memory, LocalMemory):
        return _Index(node.last, node.last, None)
    value = memory.read_value(0, place.type.size)
    begun = memory.initializer if memory.initializer and memory.initializer[0] is not None else None
    loop = begun is not None and _BEGINS_LOOP.search(run.text, max(begun[0].span[0] - _MOST_HEAD, 0), begun[0].span[0])
    begun = None if loop or memory.stepped else begun
    return _Index(node.last, id(memory), value if isinstance(value, ThreadNumber) else None, begun)


def _collect_moving(run: KernelRunner, index: _Index, moving: dict[object, _Index], depth: int) -> bool:
    """Collect an integer and those that it is computed from, if they differ between threads or iterations; return
    whether it does.
    """
    if index.lanes is None or depth > _MOST_DEEP:
        return False
    if index.begun is not None:
        inner = [_collect_moving(run, one, moving, depth + 1) for one in _list_indices(run, *index.begun)]
        if not any(inner) and index.value is not None and index.value.uniform:
            return False
    moving[index.key] = index
    return True


def _collect_used(
    run: KernelRunner, node: tree.Expression, scope: Scope, found: tuple[dict[object, _Index], ...], depth: int
) -> None:
    """Collect the indices of an address that a value depends on; _UnknownIndexError if it depends on anything else.

    found: (the indices of the address by key, those that are collected).
    """
    around, used = found
    for index in _list_indices(run, node, scope):
        if index.key in around:
            used[index.key] = index
        elif index.lanes is None or _collect_moving(run, index, {}, 0):
            if index.begun is None or depth > _MOST_DEEP:
                raise _UnknownIndexError
            _collect_used(run, *index.begun, found, depth + 1)
