"""Find the variables that a statement may write, by its syntax: code that is not run makes them unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Assembly, Jump, Return, UnreadText

# Parts of the names of functions that are assumed not to change their arguments. Of methods whose class is not in the
# text, only those with the name of a device operation: log.print(x) may write x.
_DEVICE_OPERATIONS = (
    r"mma|gemm|load|store|copy|issue|sync|wait|arrive|fence|commit"
    r"|launch|fetch|expect|barrier|tma|tensor_?map|tcgen|umma"
)
READ_ONLY_NAMES = re.compile(
    _DEVICE_OPERATIONS
    + r"|print|assert|check|log|trap|sleep|visit|dump|show|debug|verify|test|likely|unused|ignore|void|use\b"
    r"|emit|send|record",
    re.I,
)
READ_ONLY_METHODS = re.compile(_DEVICE_OPERATIONS, re.I)
_PARTS = (tuple, tree.SyntaxNode)  # of a node, that may hold further nodes


def is_read_only_call(function: tree.Expression, name: str) -> bool:
    """Return whether a bodiless function is assumed, by its name, not to change its arguments."""
    member = isinstance(function, tree.Member) or (isinstance(function, tree.Name) and len(function.path) > 1)
    return (READ_ONLY_METHODS if member else READ_ONLY_NAMES).search(name) is not None


def walk_nodes(value: object) -> Iterator[tree.SyntaxNode]:
    """Yield a node and all its descendants; function bodies are lowered when reached."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending.extend([part for part in node if isinstance(part, _PARTS)])
        elif isinstance(node, tree.DeferredBody):
            pending.append(node.make())
        elif isinstance(node, tree.SyntaxNode):
            yield node
            slots = list_slots(type(node))  # type: ignore[arg-type]  # slots
            pending.extend([part for slot in slots if isinstance(part := getattr(node, slot), _PARTS)])


@lru_cache(maxsize=64)
def list_slots(kind: Any) -> tuple[str, ...]:
    """Return the attributes of a class of nodes, except the span."""
    return tuple(slot for slot in getattr(kind, "__slots__", ()) if slot != "span")


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """The possible effects of a statement, by its syntax.

    names: variables that it may write. calls: whether it calls a function. accumulated: variables changed by a
    compound assignment other than +=. returns, jumps: whether it may return or goto.
    """

    names: frozenset[str]
    calls: bool
    accumulated: frozenset[str]
    returns: bool
    jumps: bool


class WriteSummaries:
    """A cache of the summaries of one text's statements."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[tree.Statement | tree.Expression, WriteSummary]] = {}
        self.used: dict[int, tuple[tree.Function, set[str]]] = {}

    def get_summary(self, node: tree.Statement | tree.Expression) -> WriteSummary:
        """Return the summary of a node, computed once."""
        summary = self.known.get(id(node))
        if summary is None:
            summary = self.known[id(node)] = node, summarize_writes(node)
        return summary[1]

    def list_used_names(self, function: tree.Function) -> set[str]:
        """Return every name that a function's body uses, computed once."""
        used = self.used.get(id(function))
        if used is None:
            parts = (node for node in walk_nodes(function.body) if isinstance(node, tree.Name | tree.Type))
            used = self.used[id(function)] = function, {node.path[0][0] for node in parts if node.path}
        return used[1]


def summarize_writes(statement: tree.Statement | tree.Expression) -> WriteSummary:
    """Summarize the possible effects of a statement."""
    names: set[str] = set()
    declared: set[str] = set()
    accumulated: set[str] = set()
    calls = returns = jumps = False
    for node in walk_nodes(statement):
        match node:
            case tree.Declaration():
                declared.add(node.name)
            case tree.Assignment():
                names.add(get_root_name(node.target))
                if node.op not in ("", "+"):
                    accumulated.add(get_root_name(node.target))
            case tree.Unary(op="&"):
                names.add(get_root_name(node.value))
            case tree.Call():
                calls = True
                names.update(_list_written_by_call(node))
            case Assembly():
                names.update(get_root_name(value) for constraint, value in node.operands if constraint[:1] in "=+")
            case UnreadText():
                calls = True
            case Return():
                returns = True
            case Jump(word="goto"):
                jumps = True
    return WriteSummary(frozenset(names - declared - {""}), calls, frozenset(accumulated), returns, jumps)


def _list_written_by_call(call: tree.Call) -> Iterator[str]:
    """Yield the variables that a call may write: its arguments, and the object of a method."""
    last = getattr(call.function, "last", "") or getattr(call.function, "name", "")
    if not is_read_only_call(call.function, last):
        yield from (get_root_name(argument) for argument in call.arguments)
    if isinstance(call.function, tree.Member):
        yield get_root_name(call.function.value)


def get_root_name(expression: tree.Expression) -> str:
    """Return the variable that an expression is a part of; "" if it is part of none."""
    while True:
        match expression:
            case tree.Member() | tree.Index() | tree.Unary() | tree.Cast():
                expression = expression.value
            case tree.Name():
                return expression.path[0][0]
            case _:
                return ""
