"""Runs statements over values of which some are symbols: no loop without a bound, no step beyond the budget. What it
comes by on the way is kept: values that look like descriptors, calls the text has no body of, and C's pitfalls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.assembling import execute_assembly
from lanescope.reader.code.branches import execute_if, execute_switch, run_unscoped
from lanescope.reader.code.call_arguments import is_move
from lanescope.reader.code.declarations import declare, unpack
from lanescope.reader.code.definitions import DEFINITIONS, define
from lanescope.reader.code.exceptions import execute_throw, execute_try
from lanescope.reader.code.forgetting import forget_function, skip_unread
from lanescope.reader.code.lifetimes import has_name
from lanescope.reader.code.lookup import find_name, open_namespace
from lanescope.reader.code.loops import execute_each
from lanescope.reader.code.overloads import Candidate
from lanescope.reader.code.paths import Left, ThrownError
from lanescope.reader.code.values import PLACES, Array, Cell, Closure, Kind, Object, Referred, Scope, Term

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


# statements ------------------------------------------------------------------------------------------------------


def run(ev: Evaluator, body: Sequence[tree.Statement], scope: Scope) -> Left | None:
    """Execute statements; what ended them early, or None. A goto goes on behind its label where it stands here."""
    at = 0
    left: Left | None = None
    while at < len(body):
        left = ev.execute(body[at], scope)
        at += 1
        if left is not None:
            label = _label(body, left)
            if label is None:
                break
            at, left = label, None
    ev.leave_block(scope, left)
    return left


def _label(body: Sequence[tree.Statement], left: Left) -> int | None:
    """Where a goto goes on in a block; None where its label stands elsewhere."""
    if left.word != "goto":
        return None
    return next((n for n, one in enumerate(body) if isinstance(one, tree.Label) and one.name == left.value), None)


def leave_block(ev: Evaluator, scope: Scope, left: Left | None) -> None:
    """End a block: destroy its variables, but for the object that a function returns."""
    if left is not None and left.word == "return" and isinstance(left.value, Object):
        ev.release(scope, left.value)
    ev.destroy_variables(scope)


def execute(ev: Evaluator, one: tree.Statement, scope: Scope) -> Left | None:
    """Execute a statement; return what ended the statements around it early, or None."""
    ev.reached = one.span[0]
    ev.spend()
    rule = _STATEMENTS.get(type(one), define)
    if ev.python:
        return rule(ev, one, scope)
    ev.frames[-1].scope = scope
    made = len(ev.temporaries)
    try:
        left = rule(ev, one, scope)
        ev.destroy_temporaries(made, one.span, left.value if left is not None else None)
        if ev.haunting != []:
            ev.haunt(scope)
        return left
    except ThrownError as thrown:
        ev.abandon(made, one.span)
        return Left("throw", thrown.value)
    finally:
        del ev.temporaries[made:]
        if ev.misread:  # a < b … > c read as template arguments: what else stands there is not known
            ev.misread = False
            ev.forget_names(ev.text[slice(*one.span)], scope)


def _execute_expression(ev: Evaluator, one: tree.Do, scope: Scope) -> None:
    """Evaluate an expression for its effect."""
    ev.statements.add(id(one.value))
    ev.drop(one.value, scope)
    if isinstance(one.value, tree.Binary) and one.value.op == ">>" and not ev.python:  # stream >> variable
        ev.forget_names(ev.text[slice(*one.value.span)], scope)


def _execute_block(ev: Evaluator, one: tree.Block, scope: Scope) -> Left | None:
    """Execute the statements of a block, in a scope of its own where it has one."""
    if not one.scoped:
        return run_unscoped(ev, one.body, scope)
    return run(ev, one.body, Scope(scope))


def _execute_jump(ev: Evaluator, one: tree.Jump, scope: Scope) -> Left:
    """Leave by break, continue or goto."""
    return Left(one.word, one.label)


def _execute_loop(ev: Evaluator, one: tree.Loop, scope: Scope) -> Left | None:
    """Run a loop, whose variable stands in a scope of its own."""
    return ev.execute_loop(one, Scope(scope))


def _execute_label(ev: Evaluator, one: tree.Label, scope: Scope) -> None:
    """Pass a label, which a goto of which it is not known where it went may have reached from anywhere."""
    if ev.frames[-1].lost:
        forget_function(ev)


def _execute_namespace(ev: Evaluator, one: tree.Namespace, scope: Scope) -> None:
    """Execute what stands in a namespace beside its definitions."""
    inner = ev.spaces.get(id(one)) or open_namespace(scope, one.names, one.inline)
    for statement in one.body:
        if not isinstance(statement, DEFINITIONS):
            ev.execute(statement, inner)


# return ----------------------------------------------------------------------------------------------------------


def _execute_return(ev: Evaluator, one: tree.Return, scope: Scope) -> Left:
    """Leave a function with the value that it gives: a place, where it returns a reference."""
    frame = ev.frames[-1]
    if one.value is None:
        return Left("return")
    if ev.python:
        result = ev.value(one.value, scope)
    elif frame.refers:
        return Left("return", _returned_place(ev, one.value, scope))
    else:
        result = _returned_value(ev, one.value, scope)
    if frame.entry:
        ev.notice(result, frame.name, one.value.span)
    return Left("return", result)


def _returned_place(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return the place that a function's reference names, as the class that it declares."""
    frame = ev.frames[-1]
    place = ev.place(one, scope)
    inner = ev.load(place, one) if isinstance(place, PLACES) else None
    record = frame.returns.record if frame.returns is not None else None
    if isinstance(inner, Object) and record is not None and inner.record is not record:
        place = Cell(ev.upcast(inner, record), frame.returns)
    return Referred(place) if isinstance(place, PLACES) else place


def _returned_value(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return a function's value in the type that it declares."""
    frame = ev.frames[-1]
    result = ev.initial(one, frame.returns, scope, frame.name)
    if isinstance(result, Array) and result.typed is None and result.element is not None:
        result = ev.decayed(result)
    if frame.returns is not None and result is not None:
        result = ev.converted(result, frame.returns, one.span, frame.name)
    return _returned_object(ev, result, one, scope) if isinstance(result, Object) else ev.copied(result)


def _returned_object(ev: Evaluator, value: Object, at: tree.Expression, scope: Scope) -> Any:
    """The object that a function gives: of a variable of its own the very object, which compilers do not copy where
    all returns name it; a parameter is moved, all else that has a name is copied.
    """
    home = _own_variable(ev, value, at, scope)
    given = isinstance(at, tree.Name) and home is not None and f"({at.last})" in home.consts
    if not value.held and not has_name(at):
        result: Any = ev.copied(value)
    elif home is not None and not given:
        plain = ev.frames[-1].single and home.owner == "function"  # gcc moves one of an inner block
        several = (value.record.copies or value.record.ends) and not plain
        result = _lost_copy(ev, value) if several else value
    elif value.record.copies:
        moved = home is not None or is_move(at)
        result = ev.copy_constructed(value, replace(ev.argument_of_place(value), place=not moved, const=None))
    else:
        result = ev.copied(value, 1)
    if isinstance(result, Object):
        result.held = False  # nobody has it yet
    return result


def _own_variable(ev: Evaluator, value: Object, at: tree.Expression, scope: Scope) -> Scope | None:
    """Return the scope of the function's own variable or parameter that an expression names, if it holds an object."""
    if not isinstance(at, tree.Name):
        return None
    found, home = find_name(scope, at.last)
    if not isinstance(found, Cell) or found.value is not value or not _in_function(scope, home):
        return None
    if f"static {at.last}" in home.consts:
        return None
    # a reference has the name of what it refers to, or is of a caller
    named = found.name == at.last and found.frame == len(ev.frames)
    return home if named or f"({at.last})" in home.consts else None


def _in_function(scope: Scope, home: Scope) -> bool:
    """Whether a scope is one of the function's that another stands in."""
    for one in scope.chain():
        if one is home:
            return True
        if one.owner == "function":
            return False
    return False


def _lost_copy(ev: Evaluator, value: Object) -> Object:
    """A copy of which it is not known how it is made."""
    ev.perhaps(lambda: ev.destroy(value, (0, 0)))
    ev.forget_globals()
    return ev.forgotten(ev.instance(value.record, value.store.name))


def finish(ev: Evaluator, left: Left | None, scope: Scope) -> Any:
    """The value that a function ends with, its conditional returns joined; ThrownError where it throws."""
    frame = ev.frames[-1]
    value = left.value if left is not None and left.word == "return" else None
    if left is not None and left.word == "throw":
        if not frame.escapes:
            raise ThrownError(left.value)
        if ev.tries:
            ev.forget_globals()
        value = ev.return_to(frame.escapes)
    if (left is not None and left.word == "goto") or frame.lost:
        forget_function(ev)
        value = Term(ev.fresh(frame.name or "goto"), frame.returns)
    while frame.escapes:
        value = ev.merge(frame.escapes[-1].text, frame.escapes[-1].value, value)
        last = [frame.escapes.pop()]
        ev.rejoin(last)
    return value


_STATEMENTS: dict[type[tree.Statement], Callable[[Evaluator, Any, Scope], Left | None]] = {
    tree.Declare: declare,
    tree.Do: _execute_expression,
    tree.Block: _execute_block,
    tree.If: execute_if,
    tree.Return: _execute_return,
    tree.Jump: _execute_jump,
    tree.Loop: _execute_loop,
    tree.Each: execute_each,
    tree.Switch: execute_switch,
    tree.Assembly: execute_assembly,
    tree.Unpack: unpack,
    tree.Label: _execute_label,
    tree.Throw: execute_throw,
    tree.Try: execute_try,
    tree.Unread: skip_unread,
    tree.Namespace: _execute_namespace,
}


# functions -------------------------------------------------------------------------------------------------------


def run_body(ev: Evaluator, function: tree.Function, scope: Scope) -> Left | None:
    """Run the body of a function; return what ended it."""
    body = function.body.make() if isinstance(function.body, tree.Deferred) else function.body
    if isinstance(body, tree.Block):
        return run(ev, body.body, scope)
    return ev.execute(body, scope) if body is not None else None


def entry(ev: Evaluator, function: tree.Function, scope: Scope, this: Any = None) -> Any:
    """Run a function nothing in the text calls, its parameters as symbols; return what it gives."""
    closure = Closure((function,), scope, this)
    inner = ev.bound(closure, Candidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(id(function))
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter(function.name, function.span, entry=True, refers=refers, constant=function.const)
    ev.frames[-1].returns = None if ev.python else ev.return_kind(function, inner)
    ev.frames[-1].symbols = frozenset(inner.names)
    try:
        left = ev.run_body(function, inner)
        pending = bool(ev.frames[-1].escapes)
        value = ev.finish(left, inner)
        if pending and value is not None:
            ev.notice(value, function.name, function.span, replace=True)
        return ev.load(value, tree.Other("", span=function.span)) if isinstance(value, Referred) else value
    except ThrownError:
        return None
    finally:
        ev.leave()


def array(ev: Evaluator, values: Iterable[Any], element: Kind | None = None, name: str = "") -> Array:
    """Return an array that is no variable's, of values."""
    return Array([Cell(value, element) for value in values], element, name)
