"""Find long loops over numbers that need not be run, such as a reference product on the host.

Such a loop is cut: after its step limit, what it writes becomes unknown. If its body has nothing that is checked,
running a part of it first changes nothing, so it is not run at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.loop_steps import count_cut_steps
from lanescope.reader.code.running.side_effects import list_reachable_places
from lanescope.reader.code.running.work_words import WORDS
from lanescope.reader.code.running.write_summaries import get_root_name, is_read_only_call, walk_nodes
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Block, ExpressionStatement, If, Jump, Loop, Return
from lanescope.reader.code.values import (
    LOST,
    PLACES,
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    Pointer,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_NESTED = 4  # calls of functions of the text in a loop
_SHIFTS = ("<<", ">>", "|", "<<=", ">>=", "|=")  # may build a descriptor, or may be a mistake that is reported
_STREAMS = frozenset(("cout", "cerr", "clog"))
# Parts of the names of bodiless functions that matter in a kernel, for a copy, or for a descriptor.
_MATTERS = re.compile(
    r"mma|gemm|load|store|copy|cpy|issue|sync|wait|arrive|fence|commit|launch|fetch|expect|barrier|tma|tensor|map"
    r"|matrix|desc|encode|fragment|bulk|tcgen|atomic|shared|smem|addr|cvta|cu[A-Z]|cuda|throw|exit"
    r"|abort|assert|trap|new|move|swap",
    re.I,
)
_PLAIN = (
    tree.NumberLiteral,
    tree.RealLiteral,
    tree.StringLiteral,
    tree.Name,
    tree.Type,
    tree.ConditionalExpression,
    tree.Index,
    tree.ItemList,
    ExpressionStatement,
    If,
    Block,
    Loop,
    Return,
)


@dataclass(frozen=True, slots=True)
class LoopWrites:
    """What a silent loop may write.

    variables: by their own names. targets: items, members and targets of these names. passed: arguments of calls, and
    the objects of their methods. calls: whether it calls a function.
    """

    variables: frozenset[str]
    targets: frozenset[str]
    passed: frozenset[str]
    calls: bool


def skip_silent_loop(ev: Evaluator, loop: Loop, scope: NameScope, most: int) -> bool:
    """Skip a loop that has nothing to check and would be cut; return whether it is skipped.

    Its start has been executed. most: the steps that such a loop may take.
    """
    if ev.python or loop.condition is None or (writes := _find_silent_writes(ev, loop, scope)) is None:
        return False
    condition = ev.summaries.get_summary(loop.condition)
    if condition.names or condition.calls:  # to evaluate it once more changes what it writes
        return False
    goes_on = ev.decide_condition(loop.condition, NameScope(scope))[1]
    steps = count_cut_steps(loop, scope, len(ev.loops) + 1, bool(goes_on), most) if goes_on is not False else 0
    if not steps:
        return False
    ev.steps_left -= steps  # as if it had been run: what follows does not depend on how loops are skipped
    variable = find_loop_variable(loop, scope)
    name = variable.name if variable is not None else ""
    ev.cut_variables.add(name)
    if goes_on is None:
        ev.unbounded_variables.add(name)
    _forget_silent_writes(ev, writes, scope)
    return True


def find_loop_variable(loop: Loop, scope: NameScope) -> Cell | None:
    """Find the variable that a loop counts."""
    step = loop.step
    while isinstance(step, tree.Unary | tree.Binary):
        step = step.value if isinstance(step, tree.Unary) else step.left
    target = step.target if isinstance(step, tree.Assignment) else None
    entity = find_name(scope, target.last)[0] if isinstance(target, tree.Name) else None
    return entity if isinstance(entity, Cell) else None


def _find_silent_writes(ev: Evaluator, loop: Loop, scope: NameScope) -> LoopWrites | None:
    """Return what a loop writes if it has nothing that is checked, else None."""
    if id(loop) in ev.checked_loops:
        return None
    writes = _find_writes(ev, loop, scope)  # a name that it calls may be another function each time
    if writes is None:
        ev.checked_loops[id(loop)] = loop
        return None
    return writes if _can_forget(ev, writes, loop, scope) else None


def _find_writes(ev: Evaluator, loop: Loop, scope: NameScope) -> LoopWrites | None:
    words = ev.working_names
    if words is None or loop.late or ev.python or not words.isdisjoint(WORDS.findall(ev.text, *loop.span)):
        return None
    found = _WriteCollector(scope)
    for node in walk_nodes((loop.condition, loop.step, loop.body)):
        if not _is_plain(ev, node, scope, 0) or _may_call_operator(ev, node, scope) or not found.add(node):
            return None
    return found.make_writes()


class _WriteCollector:
    """The names that the nodes of a loop write. declared: its own variables, and whether each is an array."""

    def __init__(self, scope: NameScope) -> None:
        self.scope = scope
        self.declared: dict[str, bool] = {}
        self.variables: set[str] = set()
        self.targets: set[str] = set()
        self.passed: set[str] = set()
        self.calls = False

    def add(self, node: tree.SyntaxNode) -> bool:
        """Add what a node writes; return False if it may write a variable of a namespace or class."""
        match node:
            case tree.Declaration():
                self.declared[node.name] = bool(node.type is not None and node.type.dims)
            case tree.Assignment():
                (self.variables if isinstance(node.target, tree.Name) else self.targets).add(get_root_name(node.target))
                return not _is_qualified(node.target)
            case tree.Call():
                self.calls = True
                self.passed |= _list_passed_names(node, self.scope)
                return not any(map(_is_qualified, node.arguments))
        return True

    def make_writes(self) -> LoopWrites | None:
        """Return what is written outside the loop; None if a name may mean two variables, or a member."""
        if any(not self.declared.get(name, True) for name in self.targets):
            return None
        if "this" in self.targets | self.variables | self.passed:
            return None
        if any(find_name(self.scope, name)[0] is not None for name in self.declared):
            return None  # it hides a variable, which the rest of the body may write
        own = self.declared.keys() | {""}
        return LoopWrites(
            frozenset(self.variables - own), frozenset(self.targets - own), frozenset(self.passed - own), self.calls
        )


def _list_passed_names(call: tree.Call, scope: NameScope) -> set[str]:
    """Return the names that a call may write: its arguments', and its function's, an object with operator()."""
    parts: list[tree.Expression] = [call.function]
    for argument in call.arguments:
        if not _is_passed_number(call, argument, scope):
            parts += [name for name in walk_nodes(argument) if isinstance(name, tree.Name)]
    return set(map(get_root_name, parts))


def _is_passed_number(call: tree.Call, argument: tree.SyntaxNode, scope: NameScope) -> bool:
    """Return whether an argument is an integer of an undeclared function whose name says that it only reads."""
    function = call.function
    if not isinstance(function, tree.Name) or not isinstance(argument, tree.Name) or argument is function:
        return False
    undeclared = len(function.path) == 1 and find_name(scope, function.last)[0] is None
    reads = undeclared and is_read_only_call(function, function.last)
    found = find_name(scope, argument.last)[0] if reads else None
    return isinstance(found, Cell) and isinstance(found.value, SymbolicInt)


def _is_plain(ev: Evaluator, node: tree.SyntaxNode, scope: NameScope, depth: int) -> bool:
    """Return whether a node has no effect other than writing variables."""
    if isinstance(node, tree.Call):
        return _is_silent_call(ev, node, scope, depth)
    is_plain = _PLAIN_IF.get(type(node))
    return isinstance(node, _PLAIN) if is_plain is None else is_plain(node, scope)


def _is_plain_declaration(node: tree.Declaration, scope: NameScope) -> bool:
    """Return whether a declaration makes a local variable that is not a reference, a pointer or an object."""
    kind = node.type
    if kind is not None and (kind.reference or kind.pointers or _may_refer(kind, scope)):
        return False
    return not (node.lasting or node.external or node.arguments)


_PLAIN_IF: dict[type, Callable[[Any, NameScope], bool]] = {
    tree.Declaration: _is_plain_declaration,
    tree.Cast: lambda node, scope: not _is_class(node.type, scope),
    tree.Assignment: lambda node, scope: node.op not in ("<<", ">>", "|") and bool(get_root_name(node.target)),
    tree.Unary: lambda node, scope: node.op not in ("&", "&&", "throw"),
    tree.Binary: lambda node, scope: node.op not in _SHIFTS or _is_stream(node),
    tree.Member: lambda node, scope: not node.owner,
    Jump: lambda node, scope: node.word != "goto",
}


def _is_qualified(expression: tree.Expression) -> bool:
    """Return whether an expression names a variable of a namespace or class of the text."""
    names = (node for node in walk_nodes(expression) if isinstance(node, tree.Name) and len(node.path) > 1)
    return any(name.path[0][0] != "std" for name in names)


def _may_call_operator(ev: Evaluator, node: tree.SyntaxNode, scope: NameScope) -> bool:
    """Return whether a node names an object, of which an operator or a conversion may be called."""
    if not isinstance(node, tree.Name) or not node.path or "operator" not in ev.text:
        return False
    found = find_name(scope, node.path[0][0])[0]
    value = found.value if isinstance(found, Cell) else found
    if isinstance(value, ArrayValue):
        return value.element is None or value.element.record is not None
    return isinstance(value, (ObjectValue, *PLACES)) and not isinstance(value, Cell)


def _may_refer(kind: tree.Type, scope: NameScope, depth: int = 0) -> bool:
    """Return whether a variable of a type may be a reference, a pointer, or an object of a class."""
    found = find_name(scope, kind.path[0][0])[0] if kind.path else None
    if found is None:
        return any(arguments for _, arguments in kind.path)  # std::add_lvalue_reference_t<T>
    if isinstance(found, TemplateEntity) and isinstance(found.decl, tree.Alias) and depth < MOST_NESTED:
        kind = found.decl.type
        return bool(kind.reference or kind.pointers) or _may_refer(kind, found.scope, depth + 1)
    if isinstance(found, ResolvedType):
        return bool(found.reference or found.pointers or found.integer is None)
    return True


def _is_class(kind: tree.Type, scope: NameScope, depth: int = 0) -> bool:
    """Return whether a type is a class of the text, whose constructor may do anything."""
    entity = find_name(scope, kind.path[-1][0])[0] if kind.path else None
    if not isinstance(entity, TemplateEntity):
        return False
    if isinstance(entity.decl, tree.Alias) and depth < MOST_NESTED:
        return _is_class(entity.decl.type, entity.scope, depth + 1)
    return isinstance(entity.decl, tree.StructDefinition)


def _is_stream(node: tree.Expression) -> bool:
    """Return whether an expression is std::cout << a << b."""
    while isinstance(node, tree.Binary) and node.op == "<<":
        node = node.left
    return isinstance(node, tree.Name) and node.last in _STREAMS


def _is_silent_call(ev: Evaluator, call: tree.Call, scope: NameScope, depth: int) -> bool:
    """Return whether a call does nothing that is checked, and writes at most its arguments and global variables."""
    function = call.function
    if call.named or not isinstance(function, tree.Name | tree.Member):
        return isinstance(function, tree.Type)
    name = function.last if isinstance(function, tree.Name) else function.name
    if _MATTERS.search(name):
        return False
    root = find_name(scope, get_root_name(function))[0]
    value = root.value if isinstance(root, Cell) else root
    if isinstance(function, tree.Member):
        return isinstance(root, Cell) and not isinstance(value, ObjectValue | FunctionSet)
    if isinstance(value, FunctionSet):
        return depth < MOST_NESTED and _is_silent_function(ev, value, scope, depth + 1)
    return not isinstance(value, ObjectValue)


def _is_silent_function(ev: Evaluator, functions: FunctionSet, scope: NameScope, depth: int) -> bool:
    """Return whether all overloads have plain bodies. A method or a lambda may write members or captured variables."""
    if functions.this is not None or isinstance(functions.scope.owner, RecordType) or functions.captured is not None:
        return False
    bodies = tuple(overload.body for overload in functions.functions)
    return None not in bodies and all(_is_plain_inside(ev, node, scope, depth) for node in walk_nodes(bodies))


def _is_plain_inside(ev: Evaluator, node: tree.SyntaxNode, scope: NameScope, depth: int) -> bool:
    """Return whether a node of a called function is plain and writes only variables by their names."""
    if isinstance(node, tree.Assignment) and not isinstance(node.target, tree.Name):
        return False
    return _is_plain(ev, node, scope, depth)


def _can_forget(ev: Evaluator, writes: LoopWrites, loop: Loop, scope: NameScope) -> bool:
    """Return whether everything that a loop writes can be made unknown, with no loss but numbers."""
    if ev.try_blocks or ev.pending_objects != []:
        return False
    host = any(first <= loop.span[0] < past for first, past in ev.host_spans)
    for name in (*writes.variables, *writes.targets, *writes.passed):
        entity = find_name(scope, name)[0]
        value = entity.value if isinstance(entity, Cell) else entity
        if isinstance(value, PLACES) or (isinstance(entity, PLACES) and not isinstance(entity, Cell)):
            return False
        if entity is None and name in writes.variables | writes.targets:
            return False  # an undeclared name may be shared memory
        if name in writes.variables and isinstance(value, ObjectValue | ArrayValue | FunctionSet):
            return False
        if name in writes.targets | writes.passed and not _has_plain_target(value, name in writes.targets, host):
            return False
    return True


def _has_plain_target(value: Any, assigned: bool, host: bool) -> bool:
    """Return whether every place that a write through a value may reach is known and holds no integer.

    assigned: whether the loop assigns it. host: whether the loop runs on the host; elsewhere the order of stores to
    shared memory is checked.
    """
    if isinstance(value, Pointer):
        return host if value.array is None else _holds_reals(value.array)
    if isinstance(value, ArrayValue):
        return _holds_reals(value) if assigned else not any(True for _ in list_reachable_places(value))
    if isinstance(value, FunctionSet):
        return value.captured is None and not assigned
    return not isinstance(value, Address | ObjectValue | ObjectPart)


def _holds_reals(array: ArrayValue) -> bool:
    """Return whether the items of an array are floating-point numbers, which are unknown after a loop."""
    kind = array.element
    return kind is not None and kind.integer is None and kind.record is None and not kind.pointers and not kind.dims


def _forget_silent_writes(ev: Evaluator, writes: LoopWrites, scope: NameScope) -> None:
    """Make unknown what a loop that is not run may write."""
    for name in sorted(writes.variables):
        entity = find_name(scope, name)[0]
        if isinstance(entity, Cell):
            ev.forget_place(entity)
    for name in sorted(writes.targets | writes.passed):
        entity = find_name(scope, name)[0]
        if not isinstance(entity, Cell):
            continue
        value = entity.value
        if isinstance(value, Pointer) and value.array is None:
            _forget_memory(ev, value, scope)
        elif isinstance(value, Pointer):
            ev.forget_place(Cell(value.array))
        else:
            ev.forget_place(entity, integers=not isinstance(value, ArrayValue))
    if writes.calls:
        ev.forget_globals()


def _forget_memory(ev: Evaluator, pointer: Pointer, scope: NameScope) -> None:
    """Lose all memory that may have the same names in its address as a pointer."""
    ev.written_memory = True
    for cell in ev.memory.list_same_names(pointer):
        ev.write_cell(cell, LOST)
    for place in list(ev.escaped_places.values()):
        ev.forget_place(place, integers=True)
    if any("(" in name or "::" in name for name, _ in pointer.base.terms):  # it may point to any variable
        ev.forget_all(scope)
