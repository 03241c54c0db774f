"""Conditions that the text decides or leaves open: if, ?:, switch, and one value for the two of both branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, arms
from lanescope.reader.code import tree, word
from lanescope.reader.code.paths import Escape, Journal, Left, Target
from lanescope.reader.code.static_types import type_of
from lanescope.reader.code.values import (
    Address,
    Array,
    Cell,
    Closure,
    Either,
    Kind,
    Object,
    Pointer,
    Referred,
    Scope,
    Split,
    Term,
    number,
)
from lanescope.reader.code.word import UNKNOWN, Int, convert, free, merged

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def run_unscoped(ev: Evaluator, body: Sequence[tree.Statement], scope: Scope) -> Left | None:
    """Execute statements in a scope that others share; return what ended them early, or None."""
    for statement in body:
        left = ev.execute(statement, scope)
        if left is not None:
            return left
    return None


# if --------------------------------------------------------------------------------------------------------------


def execute_if(ev: Evaluator, one: tree.If, scope: Scope) -> Left | None:
    """Run the branch that a condition chooses, both where the text leaves it open."""
    inner = Scope(scope)
    if one.start is not None:
        ev.execute(one.start, inner)
    asked, condition = ev.decided(one.condition, inner)
    if condition is not None:
        chosen = one.yes if condition else one.no
        left = ev.execute(chosen, inner) if chosen is not None else None
    else:
        text = ev.condition_text(asked, one.condition)
        branches = [(text, branch(ev, one.yes, inner)), (f"!({text})", branch(ev, one.no, inner))]
        left = ev.alternatives(branches)
    ev.leave_block(inner, left)
    return left


def decided(ev: Evaluator, one: tree.Expression, scope: Scope) -> tuple[Any, bool | None]:
    """The value of a condition, and whether it holds."""

    def run() -> tuple[Any, bool | None]:
        asked = ev.value(one, scope)
        return asked, ev.truth(asked)

    result: tuple[Any, bool | None] = ev.whole_expression(run, one.span)
    return result


def branch(ev: Evaluator, body: tree.Statement | None, scope: Scope) -> Callable[[], Left | None]:
    """Return what runs a branch in a scope of its own."""
    return lambda: ev.execute(body, Scope(scope)) if body is not None else None


# c ? a : b ------------------------------------------------------------------------------------------------------


def evaluate_choice(ev: Evaluator, one: tree.Choice, scope: Scope) -> Any:
    """Return the value of `condition ? yes : no`."""
    asked = ev.value(one.condition, scope)
    condition = ev.truth(asked)
    if condition is None:
        text = ev.condition_text(asked, one.condition)
        if ev.python:
            return ev.merge(text, ev.value(one.yes, scope), ev.value(one.no, scope))
        return ev.evaluate_both_arms(one, text, scope)
    return ev.chosen_arm(one, condition, ev.value(one.yes if condition else one.no, scope), scope)


def chosen_arm(ev: Evaluator, one: tree.Choice, condition: bool, chosen: Any, scope: Scope) -> Any:
    """The value of the arm that a condition chooses, in the type that both arms have in common."""
    if not isinstance(chosen, Int) or ev.python:
        return chosen
    other = type_of(ev, one.no if condition else one.yes, scope)
    if other is None:
        return chosen
    kind = arms(chosen.type, other)
    if kind == UNKNOWN and chosen.known is not None and chosen.known < 0:  # -1 of how many bits?
        return word.opaque(f"{chosen.known} of an unknown type", kind)
    return word.convert(chosen, kind)


def evaluate_both_arms(ev: Evaluator, one: tree.Choice, text: str, scope: Scope) -> Any:
    """Both arms of a choice that the text leaves open."""
    values: list[Any] = []
    ev.alternatives(
        [
            (text, lambda: values.append(ev.value(one.yes, scope))),
            (f"!({text})", lambda: values.append(ev.value(one.no, scope))),
        ]
    )
    if len(values) < 2:  # the other throws
        return values[0] if values else Term(ev.words(one))
    return ev.merge(text, *values)


def condition_text(ev: Evaluator, asked: Any, at: tree.Expression) -> str:
    """A condition's name: of its value where it is a number, else as it is written."""
    own = number(asked) if not isinstance(asked, Term) else None
    text = word.name(own) if own is not None else ev.words(at)
    return text[1:-1] if word.bracketed(text) else text


# truth -----------------------------------------------------------------------------------------------------------

_PRESENT = (Pointer, Address, Array, Closure, Either)  # what is true as it is there


def truth(ev: Evaluator, value: Any) -> bool | None:
    """Whether a value is true; None where the text leaves it open."""
    if isinstance(value, str | dict):
        return bool(value)
    if ev.python:
        if is_none(value):
            return False
        if isinstance(value, Array):
            return bool(value.cells)
    else:
        if isinstance(value, Object):
            value = ev.decay(value, Kind("bool", BOOL, 1)) if value.record.methods else value
            if isinstance(value, Object):
                return None
        if isinstance(value, Pointer) and value.array is None:
            return _points_somewhere(value)
    if isinstance(value, _PRESENT):
        return True
    return _truth_of_number(None if is_real(value) else number(value))


def _points_somewhere(pointer: Pointer) -> bool | None:
    """Return whether a pointer is not null; None where it may be."""
    if any(name.startswith("&") for name, _ in pointer.base.terms):
        return True
    return None if pointer.base.terms else bool(pointer.base.const)


def _truth_of_number(value: Int | None) -> bool | None:
    """Return whether a number is not 0; None where it may be."""
    if value is None:
        return None
    if value.known is not None:
        return bool(value.known)
    return True if value.const else None


def is_none(value: Any) -> bool:
    """Return whether a value is Python's None."""
    return value is None or (isinstance(value, Term) and value.text == "None")


def is_real(value: Any) -> bool:
    """Return whether a value is a floating-point number."""
    return isinstance(value, Term) and value.kind is not None and value.kind.name in ("float", "double")


# values of both branches -----------------------------------------------------------------------------------------


def merge(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """One value for two that a condition of the text decides between."""
    if yes is no or yes == no:
        return yes
    if yes is None or no is None:  # a function that ends in __trap() on one side
        return no if yes is None else yes
    for rule in _MERGES:
        made = rule(ev, condition, yes, no)
        if made is not None:
            return made
    one, two = number(yes), number(no)
    if one is not None and two is not None:
        return merged(condition, one, two)
    return _either_text(condition, yes, no)


def _either_text(condition: str, yes: Any, no: Any) -> Term:
    """Return an unknown value that is called what a choice between two is written like."""
    return Term(f"({condition} ? {yes} : {no})")


def _merge_absent(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Take the other value where one is no object yet or has not been set."""
    if ev.python:
        return None
    if ev.absent(yes) or ev.absent(no):
        return no if ev.absent(yes) else yes
    return None


def _merge_functions(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Keep both of two functions."""
    both = isinstance(yes, Closure | Either) and isinstance(no, Closure | Either)
    return Either(condition, yes, no) if both else None


def _merge_uninitialised(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Take the other value where a variable has none yet."""
    if ev.python:
        return None
    if isinstance(yes, Term) and yes.head == "uninitialised":
        return no
    return yes if isinstance(no, Term) and no.head == "uninitialised" else None


def _merge_references(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Refer to one of two places."""
    both = isinstance(yes, Referred) and isinstance(no, Referred)
    return Referred(Split(condition, yes.place, no.place)) if both else None


def _merge_pointers(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two pointers into one array, or into none that is known."""
    if not (isinstance(yes, Pointer) and isinstance(no, Pointer)):
        return None
    made = Pointer(merged(condition, ev.whole(yes), ev.whole(no)).linear(), yes.element)
    if yes.array is None and no.array is None:
        return made
    return replace(made, array=yes.array) if yes.array is no.array else _either_text(condition, yes, no)


def _merge_addresses(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Point to one of two variables."""
    both = isinstance(yes, Address) and isinstance(no, Address)
    return Address(Split(condition, ev.target(yes), ev.target(no))) if both else None


def _merge_objects(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two objects of a class member by member; other objects and arrays are not known."""
    if not isinstance(yes, Object) or not isinstance(no, Object) or yes.record is not no.record:
        aggregate = isinstance(yes, Object | Array) or isinstance(no, Object | Array)
        return _either_text(condition, yes, no) if aggregate else None
    members = {
        name: Cell(ev.merge(condition, cell.value, no.members[name].value), cell.kind, cell.name)
        for name, cell in yes.members.items()
        if name in no.members
    }
    store = merged(condition, yes.store.value, no.store.value) if yes.record.fields is not None else yes.store.value
    return Object(yes.record, Cell(store, yes.store.kind, yes.store.name), members)


# tried in order; each gives None where it says nothing
_MERGES: tuple[Callable[[Evaluator, str, Any, Any], Any], ...] = (
    _merge_absent,
    _merge_functions,
    _merge_uninitialised,
    _merge_references,
    _merge_pointers,
    _merge_addresses,
    _merge_objects,
)


def whole(ev: Evaluator, value: Any) -> Int:
    """Return a value as an integer, a symbol of its name where it is none."""
    found = number(value)
    return found if found is not None else free(str(value), BOOL)


# switch ----------------------------------------------------------------------------------------------------------


def execute_switch(ev: Evaluator, one: tree.Switch, scope: Scope) -> Left | None:
    """Run a switch from the label of its value on; from every label where the text leaves the value open."""
    outer = Scope(scope)
    if one.start is not None:
        ev.execute(one.start, outer)
    left = _switched(ev, one, outer)
    ev.leave_block(outer, left)
    return left


def _switched(ev: Evaluator, one: tree.Switch, outer: Scope) -> Left | None:
    """Run a switch in the scope of its value."""
    asked = ev.whole_expression(lambda: ev.value(one.value, outer), one.value.span)
    value = number(ev.number_of_object(asked) if not ev.python else asked)
    tests = [None if test is None else number(ev.value(test, outer)) for test, _ in one.cases]
    default = next((n for n, (test, _) in enumerate(one.cases) if test is None), None)
    known = value.known if value is not None else None
    if known is not None and all(t is None or t.known is not None for t in tests):
        kind = value.type if value is not None else INT
        start = next((n for n, t in enumerate(tests) if t is not None and convert(t, kind).known == known), default)
        return _cases(ev, one, start, outer)
    text = ev.words(one.value)
    starts = [n for n, t in enumerate(tests) if t is not None]
    runs = [(f"{text} == {ev.words(one.cases[n][0])}", ev.enter_case(one, n, outer)) for n in starts]
    return ev.alternatives([*runs, ("default", ev.enter_case(one, default, outer))])


def enter_case(ev: Evaluator, one: tree.Switch, start: int | None, scope: Scope) -> Callable[[], Left | None]:
    """Return what runs a switch from one of its labels on."""
    return lambda: _cases(ev, one, start, scope)


def _cases(ev: Evaluator, one: tree.Switch, start: int | None, scope: Scope) -> Left | None:
    """A switch from one of its labels on, up to a break."""
    if start is None:
        return None
    inner, target = Scope(scope), Target(False, len(ev.branches))
    ev.targets.append(target)
    left: Left | None = None
    try:
        for _, body in one.cases[start:]:
            left = run_unscoped(ev, body, inner)
            if left is not None:
                break
    finally:
        ev.targets.pop()
        ev.destroy_variables(inner)
    return ev.after_breaks(target.breaks, left, True)


def after_breaks(ev: Evaluator, breaks: list[Escape], left: Left | None, ends: bool) -> Left | None:
    """What follows a loop or switch that some paths may have left by break, when another came to `left`."""
    if left is not None and left.word == "break":
        left = None
    if left is not None and breaks:
        here: Journal = {
            key: (cell, cell.value)
            for one in breaks
            for key, (cell, _) in {**ev.writes_since(one.start), **one.changes}.items()
        }
        ev.return_to(breaks)
        ev.escape("?", left, here)
        left = None
    ev.rejoin(breaks)
    return left
