"""Run if, ?: and switch on known and unknown conditions, and merge the values of both branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, find_arms_type
from lanescope.cxx.source_text import is_parenthesized
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import get_integer, get_integer_or_symbol
from lanescope.reader.code.expression.lane_choices import note_lane_choice
from lanescope.reader.code.maps.map_objects import choose_map, is_allocated_map, list_pointed_maps
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.ptx.asm_statements import is_absent
from lanescope.reader.code.running.paths import EarlyExit, EscapedPath, Journal, JumpTarget
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt, convert_int, merge_ints
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import If, Switch
from lanescope.reader.code.types.static_types import find_integer_type
from lanescope.reader.code.values import (
    LOST,
    Address,
    ArrayValue,
    EitherFunction,
    FunctionSet,
    ObjectValue,
    OpaqueValue,
    Pointer,
    ReferredPlace,
    ResolvedType,
    SplitPlace,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def run_unscoped(ev: Evaluator, body: Sequence[tree.Statement], scope: NameScope) -> EarlyExit | None:
    """Execute statements in the enclosing scope; return an early exit, or None."""
    for statement in body:
        early_exit = ev.execute_statement(statement, scope)
        if early_exit is not None:
            return early_exit
    return None


# if --------------------------------------------------------------------------------------------------------------


def execute_if(ev: Evaluator, statement: If, scope: NameScope) -> EarlyExit | None:
    """Run the chosen branch of an if, or both if the condition is unknown."""
    inner = NameScope(scope)
    if statement.start is not None:
        ev.execute_statement(statement.start, inner)
    tested, condition = ev.decide_condition(statement.condition, inner)
    if condition is not None:
        chosen = statement.yes if condition else statement.no
        early_exit = ev.execute_statement(chosen, inner) if chosen is not None else None
    else:
        text = format_condition(ev, tested, statement.condition)
        branches = [(text, branch(ev, statement.yes, inner)), (f"!({text})", branch(ev, statement.no, inner))]
        early_exit = ev.follow_alternatives(branches)
    ev.leave_block(inner, early_exit)
    return early_exit


def decide_condition(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> tuple[Any, bool | None]:
    """Evaluate a condition: return (value, whether it holds or None)."""

    def run() -> tuple[Any, bool | None]:
        condition = ev.evaluate_expression(expression, scope)
        return condition, ev.evaluate_truth(condition)

    result: tuple[Any, bool | None] = ev.evaluate_full_expression(run, expression.span)
    return result


def branch(ev: Evaluator, body: tree.Statement | None, scope: NameScope) -> Callable[[], EarlyExit | None]:
    """Return a function that runs a branch in a new scope."""
    return lambda: ev.execute_statement(body, NameScope(scope)) if body is not None else None


# c ? a : b ------------------------------------------------------------------------------------------------------


def evaluate_choice(ev: Evaluator, node: tree.ConditionalExpression, scope: NameScope) -> Any:
    """Return the value of `condition ? yes : no`."""
    tested = ev.evaluate_expression(node.condition, scope)
    condition = ev.evaluate_truth(tested)
    if condition is None:
        text = format_condition(ev, tested, node.condition)
        if ev.python:
            return ev.merge(text, ev.evaluate_expression(node.yes, scope), ev.evaluate_expression(node.no, scope))
        return evaluate_both_arms(ev, node, text, scope)
    return evaluate_chosen_arm(
        ev, node, condition, ev.evaluate_expression(node.yes if condition else node.no, scope), scope
    )


def evaluate_chosen_arm(
    ev: Evaluator, node: tree.ConditionalExpression, condition: bool, chosen: Any, scope: NameScope
) -> Any:
    """Convert the chosen arm's value to the common type of both arms."""
    if not isinstance(chosen, SymbolicInt) or ev.python:
        return chosen
    other = find_integer_type(ev, node.no if condition else node.yes, scope)
    if other is None:
        return chosen
    kind = find_arms_type(chosen.type, other)
    if kind == UNKNOWN and chosen.known is not None and chosen.known < 0:  # -1 of how many bits?
        return symbolic_integers.make_opaque(f"{chosen.known} of an unknown type", kind)
    return symbolic_integers.convert_int(chosen, kind)


def evaluate_both_arms(ev: Evaluator, node: tree.ConditionalExpression, text: str, scope: NameScope) -> Any:
    """Evaluate both arms of an undecided choice and merge their values."""
    values: list[Any] = []
    ev.follow_alternatives(
        [
            (text, lambda: values.append(ev.evaluate_expression(node.yes, scope))),
            (f"!({text})", lambda: values.append(ev.evaluate_expression(node.no, scope))),
        ]
    )
    if len(values) < 2:  # the other arm throws
        return values[0] if values else OpaqueValue(ev.format_expression(node))
    chosen = ev.merge(text, *values)
    note_lane_choice(ev, node, chosen, scope)
    return chosen


def format_condition(ev: Evaluator, tested: Any, at: tree.Expression) -> str:
    """Return a condition's name: its value if it is a number, else its source text."""
    integer = get_integer(tested) if not isinstance(tested, OpaqueValue) else None
    text = symbolic_integers.format_name(integer) if integer is not None else ev.format_expression(at)
    return text[1:-1] if is_parenthesized(text) else text


# truth -----------------------------------------------------------------------------------------------------------

_PRESENT = (Pointer, Address, ArrayValue, FunctionSet, EitherFunction)  # always true


def evaluate_truth(ev: Evaluator, value: Any) -> bool | None:
    """Return whether a value is true; None if unknown."""
    if isinstance(value, str | dict):
        return bool(value)
    if ev.python:
        if is_none(value):
            return False
        if isinstance(value, ArrayValue):
            return bool(value.cells)
    else:
        if isinstance(value, ObjectValue):
            value = (
                ev.convert_object_to_integer(value, ResolvedType("bool", BOOL, 1)) if value.record.methods else value
            )
            if isinstance(value, ObjectValue):
                return None
        if isinstance(value, Pointer) and value.array is None:
            return _is_non_null(value)
    if isinstance(value, _PRESENT):
        return True
    return _is_nonzero(None if is_floating_point(value) else get_integer(value))


def _is_non_null(pointer: Pointer) -> bool | None:
    """Return whether a pointer is not null; None if unknown."""
    if any(name.startswith("&") for name, _ in pointer.base.terms):
        return True
    return None if pointer.base.terms else bool(pointer.base.const)


def _is_nonzero(value: SymbolicInt | None) -> bool | None:
    """Return whether a number is not 0; None if unknown."""
    if value is None:
        return None
    if value.known is not None:
        return bool(value.known)
    return True if value.const else None


def is_none(value: Any) -> bool:
    """Return whether a value is Python's None."""
    return value is None or (isinstance(value, OpaqueValue) and value.text == "None")


def is_floating_point(value: Any) -> bool:
    """Return whether a value is a floating-point number."""
    return isinstance(value, OpaqueValue) and value.kind is not None and value.kind.name in ("float", "double")


# values of both branches -----------------------------------------------------------------------------------------


def merge(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge the values of both branches of an undecided condition."""
    if yes is no or yes == no:
        return yes
    if yes is None or no is None:  # one side ends in __trap()
        return no if yes is None else yes
    if yes is LOST or no is LOST:
        return LOST
    for rule in _MERGES:
        merged = rule(ev, condition, yes, no)
        if merged is not None:
            return merged
    left, right = get_integer(yes), get_integer(no)
    if left is not None and right is not None:
        return merge_ints(condition, left, right)
    return _make_unknown_choice(condition, yes, no)


def _make_unknown_choice(condition: str, yes: Any, no: Any) -> OpaqueValue:
    """Return an unknown value named (condition ? yes : no)."""
    return OpaqueValue(f"({condition} ? {yes} : {no})")


def _merge_absent(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Take the other value if one pointer has no object yet."""
    if ev.python:
        return None
    if is_absent(ev, yes) or is_absent(ev, no):
        return no if is_absent(ev, yes) else yes
    return None


def _merge_functions(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Keep both functions."""
    both = isinstance(yes, FunctionSet | EitherFunction) and isinstance(no, FunctionSet | EitherFunction)
    return EitherFunction(condition, yes, no) if both else None


def _merge_uninitialised(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Take the other value if one is uninitialised."""
    if ev.python:
        return None
    if isinstance(yes, OpaqueValue) and yes.head == "uninitialised":
        return no
    return yes if isinstance(no, OpaqueValue) and no.head == "uninitialised" else None


def _merge_references(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two references into one to either place."""
    both = isinstance(yes, ReferredPlace) and isinstance(no, ReferredPlace)
    return ReferredPlace(SplitPlace(condition, yes.place, no.place)) if both else None


def _merge_pointers(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two pointers; the array is kept if both point into the same one."""
    if not (isinstance(yes, Pointer) and isinstance(no, Pointer)):
        return None
    pointer = Pointer(
        merge_ints(condition, get_integer_or_symbol(yes, BOOL), get_integer_or_symbol(no, BOOL)).make_linear(),
        yes.element,
    )
    if yes.array is None and no.array is None:
        return pointer
    return replace(pointer, array=yes.array) if yes.array is no.array else _make_unknown_choice(condition, yes, no)


def _merge_addresses(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two addresses into one of either variable."""
    both = isinstance(yes, Address) and isinstance(no, Address)
    return Address(SplitPlace(condition, ev.find_target_place(yes), ev.find_target_place(no))) if both else None


def _merge_objects(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two objects of a class member by member; other objects and arrays become unknown."""
    if not isinstance(yes, ObjectValue) or not isinstance(no, ObjectValue) or yes.record is not no.record:
        aggregate = isinstance(yes, ObjectValue | ArrayValue) or isinstance(no, ObjectValue | ArrayValue)
        return _make_unknown_choice(condition, yes, no) if aggregate else None
    members = {
        name: Cell(ev.merge(condition, cell.value, no.members[name].value), cell.kind, cell.name)
        for name, cell in yes.members.items()
        if name in no.members
    }
    store = merge_ints(condition, yes.store.value, no.store.value) if yes.record.fields is not None else yes.store.value
    return ObjectValue(yes.record, Cell(store, yes.store.kind, yes.store.name), members)


def _merge_maps(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Merge two objects that hold tensor maps: it is one of both."""
    return choose_map((yes, no))


def _merge_cached_maps(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """Take the pointer to a known map if the other value is unknown, such as a map that an earlier call has cached; of
    two such maps, it leads to one of both.
    """
    known = [value for value in (yes, no) if list_pointed_maps(value)]
    if is_allocated_map(yes) and is_allocated_map(no) and (either := choose_map((yes.place.value, no.place.value))):
        return Address(replace(yes.place, value=either))
    other = no if known and known[0] is yes else yes
    return known[0] if len(known) == 1 and isinstance(other, Pointer | OpaqueValue | SymbolicInt) else None


# tried in order; each returns None if it does not apply
_MERGES: tuple[Callable[[Evaluator, str, Any, Any], Any], ...] = (
    _merge_absent,
    _merge_cached_maps,
    _merge_functions,
    _merge_uninitialised,
    _merge_references,
    _merge_pointers,
    _merge_addresses,
    _merge_objects,
    _merge_maps,
)


# switch ----------------------------------------------------------------------------------------------------------


def execute_switch(ev: Evaluator, switch: Switch, scope: NameScope) -> EarlyExit | None:
    """Run a switch from the label of its value; from every label if the value is unknown."""
    outer = NameScope(scope)
    if switch.start is not None:
        ev.execute_statement(switch.start, outer)
    early_exit = _execute_switch_body(ev, switch, outer)
    ev.leave_block(outer, early_exit)
    return early_exit


def _execute_switch_body(ev: Evaluator, switch: Switch, outer: NameScope) -> EarlyExit | None:
    """Run a switch in the scope of its value."""
    condition = ev.evaluate_full_expression(lambda: ev.evaluate_expression(switch.value, outer), switch.value.span)
    value = get_integer(ev.convert_object_to_number(condition) if not ev.python else condition)
    tests = [None if test is None else get_integer(ev.evaluate_expression(test, outer)) for test, _ in switch.cases]
    default = next((n for n, (test, _) in enumerate(switch.cases) if test is None), None)
    known = value.known if value is not None else None
    if known is not None and all(t is None or t.known is not None for t in tests):
        kind = value.type if value is not None else INT
        start = next((n for n, t in enumerate(tests) if t is not None and convert_int(t, kind).known == known), default)
        return _execute_cases(ev, switch, start, outer)
    text = ev.format_expression(switch.value)
    starts = [n for n, t in enumerate(tests) if t is not None]
    runs = [
        (f"{text} == {ev.format_expression(switch.cases[n][0])}", make_case_branch(ev, switch, n, outer))
        for n in starts
    ]
    return ev.follow_alternatives([*runs, ("default", make_case_branch(ev, switch, default, outer))])


def make_case_branch(
    ev: Evaluator, switch: Switch, start: int | None, scope: NameScope
) -> Callable[[], EarlyExit | None]:
    """Return a function that runs a switch from one of its labels."""
    return lambda: _execute_cases(ev, switch, start, scope)


def _execute_cases(ev: Evaluator, switch: Switch, start: int | None, scope: NameScope) -> EarlyExit | None:
    """Execute a switch from one of its labels up to a break."""
    if start is None:
        return None
    inner, target = NameScope(scope), JumpTarget(False, len(ev.branches))
    ev.jump_targets.append(target)
    early_exit: EarlyExit | None = None
    try:
        for _, body in switch.cases[start:]:
            early_exit = run_unscoped(ev, body, inner)
            if early_exit is not None:
                break
    finally:
        ev.jump_targets.pop()
        ev.destroy_variables(inner)
    return ev.join_breaks(target.breaks, early_exit)


def join_breaks(ev: Evaluator, breaks: list[EscapedPath], early_exit: EarlyExit | None) -> EarlyExit | None:
    """Join the paths that left a loop or switch by break with the one that ended in `early_exit`.

    Return the early exit of the joined path, or None.
    """
    if early_exit is not None and early_exit.word == "break":
        early_exit = None
    if early_exit is not None and breaks:
        written_values: Journal = {
            key: (cell, cell.value)
            for path in breaks
            for key, (cell, _) in {**ev.list_writes_since(path.start), **path.changes}.items()
        }
        ev.restore_last_path(breaks)
        ev.keep_escape("?", early_exit, written_values)
        early_exit = None
    ev.rejoin_paths(breaks)
    return early_exit
