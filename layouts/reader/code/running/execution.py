"""Execute statements symbolically within the step budget.

Descriptors, calls of functions without a body, asm statements and C pitfalls are recorded on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.call_arguments import is_move_call
from lanescope.reader.code.calling.call_evaluation import find_declared_return_type
from lanescope.reader.code.calling.candidates import deduce_arguments
from lanescope.reader.code.calling.overloads import OverloadCandidate
from lanescope.reader.code.naming.declarations import declare, unpack
from lanescope.reader.code.naming.definitions import DEFINITIONS, define
from lanescope.reader.code.naming.lookup import find_name, open_namespace
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.lifetimes import (
    abandon_temporaries,
    destroy_temporaries,
    forget_pending_ends,
    is_named_object,
    release_object,
)
from lanescope.reader.code.ptx.asm_statements import execute_assembly
from lanescope.reader.code.running.branches import execute_if, execute_switch, run_unscoped
from lanescope.reader.code.running.exceptions import execute_throw, execute_try
from lanescope.reader.code.running.forgetting import forget_function, skip_unread
from lanescope.reader.code.running.loops import execute_loop
from lanescope.reader.code.running.paths import EarlyExit, ThrownError
from lanescope.reader.code.running.range_loops import execute_range_loop
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import (
    Assembly,
    Block,
    ExpressionStatement,
    If,
    Jump,
    LabelStatement,
    Loop,
    RangeLoop,
    Return,
    Switch,
    Throw,
    Try,
    UnreadText,
)
from lanescope.reader.code.values import PLACES, ArrayValue, FunctionSet, ObjectValue, OpaqueValue, ReferredPlace

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


# statements ------------------------------------------------------------------------------------------------------


def execute_statements(ev: Evaluator, body: Sequence[tree.Statement], scope: NameScope) -> EarlyExit | None:
    """Execute statements; return an early exit, or None. A goto continues after its label if that is in this block."""
    at = 0
    early_exit: EarlyExit | None = None
    while at < len(body):
        early_exit = ev.execute_statement(body[at], scope)
        at += 1
        if early_exit is not None:
            label = _find_label(body, early_exit)
            if label is None:
                break
            at, early_exit = label, None
    ev.leave_block(scope, early_exit)
    return early_exit


def _find_label(body: Sequence[tree.Statement], early_exit: EarlyExit) -> int | None:
    """Return the index of a goto's label in a block; None if it is elsewhere."""
    if early_exit.word != "goto":
        return None
    return next(
        (
            n
            for n, statement in enumerate(body)
            if isinstance(statement, LabelStatement) and statement.name == early_exit.value
        ),
        None,
    )


def leave_block(ev: Evaluator, scope: NameScope, early_exit: EarlyExit | None) -> None:
    """End a block: destroy its variables, except the returned object."""
    if early_exit is not None and early_exit.word == "return" and isinstance(early_exit.value, ObjectValue):
        release_object(scope, early_exit.value)
    ev.destroy_variables(scope)


def execute_statement(ev: Evaluator, statement: tree.Statement, scope: NameScope) -> EarlyExit | None:
    """Execute a statement; return an early exit, or None."""
    ev.statement_start = statement.span[0]
    ev.spend_step()
    rule = _STATEMENTS.get(type(statement), define)
    if ev.python:
        return rule(ev, statement, scope)
    ev.frames[-1].scope = scope
    temporaries_before = len(ev.temporaries)
    try:
        early_exit = rule(ev, statement, scope)
        destroy_temporaries(
            ev, temporaries_before, statement.span, early_exit.value if early_exit is not None else None
        )
        if ev.pending_objects != []:
            forget_pending_ends(ev, scope)
        return early_exit
    except ThrownError as thrown:
        abandon_temporaries(ev, temporaries_before, statement.span)
        return EarlyExit("throw", thrown.value)
    finally:
        del ev.temporaries[temporaries_before:]
        if ev.misread_template:  # a < b … > c was read as template arguments: the rest of the statement is unknown
            ev.misread_template = False
            ev.forget_names(ev.text[slice(*statement.span)], scope)


def _execute_expression(ev: Evaluator, statement: ExpressionStatement, scope: NameScope) -> None:
    """Evaluate an expression for its effect."""
    ev.statements.add(id(statement.value))
    ev.evaluate_for_effect(statement.value, scope)
    if isinstance(statement.value, tree.Binary) and statement.value.op == ">>" and not ev.python:  # stream >> variable
        ev.forget_names(ev.text[slice(*statement.value.span)], scope)


def _execute_block(ev: Evaluator, block: Block, scope: NameScope) -> EarlyExit | None:
    """Execute the statements of a block, in a new scope if the block has one."""
    if not block.scoped:
        return run_unscoped(ev, block.body, scope)
    return execute_statements(ev, block.body, NameScope(scope))


def _execute_jump(ev: Evaluator, statement: Jump, scope: NameScope) -> EarlyExit:
    """Leave by break, continue or goto."""
    return EarlyExit(statement.word, statement.label)


def _execute_loop(ev: Evaluator, loop: Loop, scope: NameScope) -> EarlyExit | None:
    """Run a loop, with its variable in a new scope."""
    return execute_loop(ev, loop, NameScope(scope))


def _execute_label(ev: Evaluator, node: LabelStatement, scope: NameScope) -> None:
    """Execute a label. After an undecided goto every variable becomes unknown: it may jump here from anywhere."""
    if ev.frames[-1].lost:
        forget_function(ev)


def _execute_namespace(ev: Evaluator, namespace: tree.Namespace, scope: NameScope) -> None:
    """Execute the statements of a namespace other than definitions."""
    inner = ev.namespace_scopes.get(id(namespace)) or open_namespace(scope, namespace.names, namespace.inline)
    for statement in namespace.body:
        if not isinstance(statement, DEFINITIONS):
            ev.execute_statement(statement, inner)


# return ----------------------------------------------------------------------------------------------------------


def _execute_return(ev: Evaluator, statement: Return, scope: NameScope) -> EarlyExit:
    """Leave a function with its value, or with a place if it returns a reference."""
    frame = ev.frames[-1]
    if statement.value is None:
        return EarlyExit("return")
    if ev.python:
        result = ev.evaluate_expression(statement.value, scope)
    elif frame.refers:
        return EarlyExit("return", _find_returned_place(ev, statement.value, scope))
    else:
        result = _make_returned_value(ev, statement.value, scope)
    if frame.entry:
        ev.note_value(result, frame.name, statement.value.span)
    return EarlyExit("return", result)


def _find_returned_place(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Find the place that a function returns a reference to, as its declared class."""
    frame = ev.frames[-1]
    place = ev.find_place(expression, scope)
    inner = ev.load_place(place, expression) if isinstance(place, PLACES) else None
    record = frame.returns.record if frame.returns is not None else None
    if isinstance(inner, ObjectValue) and record is not None and inner.record is not record:
        place = Cell(ev.upcast_object(inner, record), frame.returns)
    return ReferredPlace(place) if isinstance(place, PLACES) else place


def _make_returned_value(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Convert a returned value to the declared return type."""
    frame = ev.frames[-1]
    result = ev.evaluate_initializer(expression, frame.returns, scope, frame.name)
    if isinstance(result, ArrayValue) and result.typed is None and result.element is not None:
        result = ev.decay_array(result)
    if frame.returns is not None and result is not None:
        result = ev.convert_to_kind(result, frame.returns, expression.span, frame.name)
    return (
        _make_returned_object(ev, result, expression, scope)
        if isinstance(result, ObjectValue)
        else ev.copy_assigned(result)
    )


def _make_returned_object(ev: Evaluator, value: ObjectValue, at: tree.Expression, scope: NameScope) -> Any:
    """Make the object that a function returns.

    A local variable is returned without a copy if all returns name it, as compilers do; a parameter is moved; any other
    named object is copied.
    """
    home = _find_local_home(ev, value, at, scope)
    is_parameter = isinstance(at, tree.Name) and home is not None and f"({at.last})" in home.consts
    if not value.stored and not is_named_object(at):
        result: Any = ev.copy_assigned(value)
    elif home is not None and not is_parameter:
        elided = ev.frames[-1].single and home.owner == "function"  # gcc moves a variable of an inner block
        copy_matters = value.record.copies or value.record.ends
        result = value if elided or not copy_matters else _make_unknown_copy(ev, value)
    elif value.record.copies:
        moved = home is not None or is_move_call(at)
        result = ev.copy_construct(value, replace(ev.make_place_argument(value), place=not moved, const=None))
    else:
        result = ev.copy_assigned(value, 1)
    if isinstance(result, ObjectValue):
        result.stored = False
    return result


def _find_local_home(ev: Evaluator, value: ObjectValue, at: tree.Expression, scope: NameScope) -> NameScope | None:
    """Return the scope of the local variable or parameter that an expression names and that holds an object."""
    if not isinstance(at, tree.Name):
        return None
    cell, home = find_name(scope, at.last)
    if not isinstance(cell, Cell) or cell.value is not value or not _is_in_function(scope, home):
        return None
    if f"static {at.last}" in home.consts:
        return None
    # the cell of a reference has the name of its target, or belongs to the frame of a caller
    named = cell.name == at.last and cell.frame == len(ev.frames)
    return home if named or f"({at.last})" in home.consts else None


def _is_in_function(scope: NameScope, home: NameScope) -> bool:
    """Return whether `home` is a scope of the function that contains `scope`."""
    for enclosing in scope.iterate_outward():
        if enclosing is home:
            return True
        if enclosing.owner == "function":
            return False
    return False


def _make_unknown_copy(ev: Evaluator, value: ObjectValue) -> ObjectValue:
    """Make a copy with unknown contents: whether the object was copied, moved or neither is unknown."""
    ev.run_perhaps(lambda: ev.destroy_object(value, (0, 0)))
    ev.forget_globals()
    return ev.forget_members(ev.make_instance(value.record, value.store.name))


def finish_function(ev: Evaluator, early_exit: EarlyExit | None, scope: NameScope) -> Any:
    """Return the value of a function, with its conditional returns merged; ThrownError if it throws."""
    frame = ev.frames[-1]
    value = early_exit.value if early_exit is not None and early_exit.word == "return" else None
    if early_exit is not None and early_exit.word == "throw":
        if not frame.escapes:
            raise ThrownError(early_exit.value)
        if ev.try_blocks:
            ev.forget_globals()
        value = ev.restore_last_path(frame.escapes)
    if (early_exit is not None and early_exit.word == "goto") or frame.lost:
        forget_function(ev)
        value = OpaqueValue(ev.make_fresh_name(frame.name or "goto"), frame.returns)
    while frame.escapes:
        value = ev.merge(frame.escapes[-1].text, frame.escapes[-1].value, value)
        last = [frame.escapes.pop()]
        ev.rejoin_paths(last)
    return value


_STATEMENTS: dict[type[tree.Statement], Callable[[Evaluator, Any, NameScope], EarlyExit | None]] = {
    tree.Declaration: declare,
    ExpressionStatement: _execute_expression,
    Block: _execute_block,
    If: execute_if,
    Return: _execute_return,
    Jump: _execute_jump,
    Loop: _execute_loop,
    RangeLoop: execute_range_loop,
    Switch: execute_switch,
    Assembly: execute_assembly,
    tree.UnpackDeclaration: unpack,
    LabelStatement: _execute_label,
    Throw: execute_throw,
    Try: execute_try,
    UnreadText: skip_unread,
    tree.Namespace: _execute_namespace,
}


# functions -------------------------------------------------------------------------------------------------------


def run_body(ev: Evaluator, function: tree.Function, scope: NameScope) -> EarlyExit | None:
    """Run the body of a function; return its early exit."""
    body = function.body.make() if isinstance(function.body, tree.DeferredBody) else function.body
    if isinstance(body, Block):
        return execute_statements(ev, body.body, scope)
    return ev.execute_statement(body, scope) if body is not None else None


def run_entry(
    ev: Evaluator,
    function: tree.Function,
    scope: NameScope,
    this: Any = None,
    templates: tuple[Any, ...] | None = None,
) -> Any:
    """Run a function with symbols as parameters; return its value. templates: template arguments of the instance."""
    closure = FunctionSet((function,), scope, this, templates)
    deduced = deduce_arguments(ev, closure, function, []) if templates is not None else None
    inner = ev.bind_parameters(closure, OverloadCandidate(function, (), deduced or {}), [], {}, symbolic=True)
    ev.called.add(function.key)
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter_function(function.name, function.span, entry=True, refers=refers)
    try:
        ev.frames[-1].returns = None if ev.python else find_declared_return_type(ev, function, inner)
        ev.frames[-1].symbols = frozenset(inner.names)
        early_exit = ev.run_body(function, inner)
        pending = bool(ev.frames[-1].escapes)
        value = ev.finish_function(early_exit, inner)
        if pending and value is not None:
            ev.note_value(value, function.name, function.span, replace=True)
        return (
            ev.load_place(value, tree.OpaqueExpression("", span=function.span))
            if isinstance(value, ReferredPlace)
            else value
        )
    except ThrownError:
        return None
    finally:
        ev.leave_function()


def make_array(ev: Evaluator, values: Iterable[Any]) -> ArrayValue:
    """Make an array that no variable holds."""
    return ArrayValue([Cell(value) for value in values])
