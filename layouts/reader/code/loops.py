"""Run loops symbolically. Every loop is bounded; variables it may change become unknown afterwards."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.paths import Journal, Left, Target
from lanescope.reader.code.side_effects import reachable
from lanescope.reader.code.values import PLACES, Array, Cell, Object, Part, Scope, Term
from lanescope.reader.code.word import Int, free
from lanescope.reader.code.writes import nodes_of, root_of

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_TURNS = (16, 16, 8, 4)  # of a loop that builds descriptors, by how many it stands in
MOST_QUIET = 1100  # of a loop that builds none
MOST_SPENT = 4000  # steps of such a loop
FREE_TURNS = (3, 3, 2)  # of a loop whose end is not known, by how many it stands in: enough to see what a turn changes


def _turns(ev: Evaluator) -> int:
    return MOST_TURNS[min(len(ev.loops), len(MOST_TURNS) - 1)]


def _free_turns(ev: Evaluator) -> int:
    """Of the loop that is being run, when its end is not known."""
    return FREE_TURNS[min(len(ev.loops), len(FREE_TURNS)) - 1]


def _kept(ev: Evaluator) -> int:
    """What a loop may find: the more of it, the fewer turns are followed."""
    return len(ev.found) + len(ev.assembled) + len(ev.made)


def execute_loop(ev: Evaluator, one: tree.Loop, scope: Scope) -> Left | None:
    if one.start is not None:
        ev.execute(one.start, scope)
    variable = _variable(ev, one, scope)
    few, turn, whole, told = _turns(ev), 0, False, True
    most = MOST_QUIET if not ev.python else few
    kept, budget = _kept(ev), min(ev.left // 3, MOST_SPENT)
    inner = scope
    first = len(ev.log)
    left: Left | None = None
    target = Target(True, len(ev.branches))
    ev.targets.append(target)
    ev.loops.append(("", Int(0)))
    start = ev.left
    try:
        while True:
            if one.condition is not None and not (one.late and not turn):
                inner = Scope(scope)
                goes_on = ev.decided(one.condition, inner)[1]
                if goes_on is None:
                    most, told = min(most, _free_turns(ev)), False
                    ev.endless.add(variable.name if variable is not None else "")
                elif not goes_on:
                    ev.leave_block(inner, None)
                    whole = told
                    break
            elif one.condition is None and variable is None and ev.python:
                most = min(most, _free_turns(ev))
            if turn >= most or (turn >= few and (_kept(ev) > kept or start - ev.left > budget)):
                break
            if variable is not None:
                ev.loops[-1] = (variable.name, ev.whole(variable.value))
            left = ev.execute(one.body, inner)
            ev.rejoin(target.continues)
            if left is not None and left.word == "continue":
                left = None
            ev.leave_block(inner, left)
            if left is not None:
                whole = told
                break
            if one.step is not None:
                ev.whole_expression(partial(ev.drop, one.step, scope), one.step.span)
            turn += 1
            if not told and turn >= 2 and _kept(ev) == kept:
                break
            if one.condition is None and _kept(ev) > kept:
                most = min(most, _free_turns(ev))
    finally:
        ev.loops.pop()
        ev.targets.pop()
        journal = ev.writes_since(first)
    if not told and left is not None and left.word not in ("break", "continue"):
        ev.escape("?", left, {})
        left = None
    left = ev.after_breaks(target.breaks, left, whole)
    if not whole:
        _left_open(ev, one, journal, scope, told)
        _may_return(ev, one)
    ev.leave_block(scope, left)
    return left


def _may_return(ev: Evaluator, one: tree.Statement) -> None:
    """A turn that was not followed may return, or go elsewhere."""
    if ev.python:
        return
    summary, frame = ev.summaries.of(one), ev.frames[-1]
    if summary.returns:
        ev.escape("?", Left("return", ev.symbolic(frame.returns, ev.fresh(frame.name or "?"))), {})
    if summary.jumps:
        ev.lose_control({})


def _left_open(ev: Evaluator, one: tree.Statement, written: Journal, scope: Scope, told: bool) -> None:
    """After a loop that has more turns than were gone through, or may have: what it writes is not known. Items of
    an array that each turn fills another of are what the turns put there; others may be filled, too.
    """
    if not told and not ev.python:  # later turns may put other bits into a word that is put together turn by turn
        gathered = ev.summaries.of(one).gathered
        cells = {id(cell) for cell, _ in written.values() if cell.name in gathered}
        ev.found = [f for f in ev.found if not (f.loops and id(f.cell) in cells)]
    filled = _filled(one)
    spared: set[int] = set()
    for name, array in _arrays(scope):
        if not any(id(cell) in written for cell in array.cells):
            continue
        fresh = name in filled or ev.python
        for n, cell in enumerate(array.cells):
            old = written[id(cell)][1] if id(cell) in written else None
            unset = isinstance(old, Term) and old.head == "uninitialised"
            if id(cell) in written and fresh and (told or unset or ev.python):
                spared.add(id(cell))
            elif isinstance(cell.value, Int):
                ev.put(cell, free(ev.fresh(f"{name}[{n}]"), cell.value.type))
    for key, (cell, old) in written.items():
        if key in spared:
            continue
        if ev.python:
            if isinstance(cell.value, Int) and cell.name and cell.value != old:
                ev.put(cell, free(cell.name, cell.value.type))
        else:
            inside = any(f.cell is cell and f.loops for f in ev.found[-96:])
            ev.forget(cell, quiet=inside)
    if not ev.python:
        _forget_assigned(ev, one, scope)


def _forget_assigned(ev: Evaluator, one: tree.Statement, scope: Scope) -> None:
    """Forget what a statement assigns anywhere in it, run or not."""
    summary = ev.summaries.of(one)
    for name in summary.names:
        found = find_name(scope, name)[0]
        if isinstance(found, PLACES):
            inner = found.value if isinstance(found, Cell) else None
            ev.forget(found, integers=not isinstance(inner, Array))
    if summary.calls:
        ev.forget_globals()


def _variable(ev: Evaluator, one: tree.Loop, scope: Scope) -> Cell | None:
    """The variable that a loop counts."""
    step = one.step
    while isinstance(step, tree.Unary | tree.Binary):
        step = step.value if isinstance(step, tree.Unary) else step.left
    target = step.target if isinstance(step, tree.Assign) else None
    found = find_name(scope, target.last)[0] if isinstance(target, tree.Name) else None
    return found if isinstance(found, Cell) else None


def execute_each(ev: Evaluator, one: tree.Each, scope: Scope) -> Left | None:
    if one.start is not None:
        scope = Scope(scope)
        ev.execute(one.start, scope)
    source = ev.value(one.values, scope)
    turns = _turns(ev) if ev.python else MOST_QUIET
    values, whole = ev.items_of(source, turns, one.names[0] if one.names else "")
    items: list[Any] = list(source.cells) if isinstance(source, Array) else []
    if isinstance(source, Part) and source.field.count and not ev.python:
        items = ev.part_items(source)
        values, whole = [ev.load(item, one.values) for item in items], True
    refers = one.type is not None and bool(one.type.reference) and bool(items)
    if not ev.python and not items:
        whole = whole and isinstance(source, Array)
        if isinstance(source, Object) or (one.type is not None and one.type.reference):
            _forget_range(ev, one, source, scope)
    first = len(ev.log)
    target = Target(True, len(ev.branches))
    left: Left | None = None
    ev.targets.append(target)
    ev.loops.append(("", Int(0)))
    try:
        for n, item in enumerate(values):
            inner = scope if ev.python else Scope(scope)
            _bind_item(ev, one, item, items[n] if refers else None, inner)
            left = ev.execute(one.body, inner)
            ev.rejoin(target.continues)
            if left is not None and left.word == "continue":
                left = None
            ev.leave_block(inner, left)
            if left is not None:
                whole = True
                break
    finally:
        ev.loops.pop()
        ev.targets.pop()
        journal = ev.writes_since(first)
    if not whole and left is not None and left.word not in ("break", "continue"):
        ev.escape("?", left, {})
        left = None
    left = ev.after_breaks(target.breaks, left, whole)
    if not whole:
        _left_open(ev, one, journal, scope, False)
        _may_return(ev, one)
        if isinstance(source, Object) and not ev.python:
            _forget_range(ev, one, source, scope)
    return left


def _forget_range(ev: Evaluator, one: tree.Each, source: Any, scope: Scope) -> None:
    """Forget what the items of an object, which are not followed, may refer to."""
    ev.forget_names(ev.text[slice(*one.values.span)], scope)
    if isinstance(source, Object):  # its begin() and end() may write, too
        ev.forget(Cell(source))
        for place in reachable(source):
            ev.forget(place)
        ev.forget_globals()


def _bind_item(ev: Evaluator, one: tree.Each, value: Any, cell: Any, scope: Scope) -> None:
    """Give a loop's variables the next item, the very item where they are references."""
    first = one.names[0] if one.names else ""
    if len(one.names) == 1:
        if isinstance(value, Int):
            ev.loops[-1] = (first, value)
        if cell is not None:
            scope.names[first] = cell
            const = (one.type is not None and one.type.const) or const_of(ev, one.values, scope)
            if const is not False:
                scope.consts.add(first if const else f"?{first}")
        elif ev.python:
            ev.assign_name(first, value, scope, one.span)
        else:
            kind = ev.kind(one.type, scope) if one.type is not None and one.type.name != "auto" else None
            kind = replace(kind, reference="") if kind is not None else None
            if isinstance(value, Object) and value.record.copies:
                value = ev.copy_constructed(value, ev.argument_in(one.values, scope, value))
            made = ev.copied(ev.converted(value, kind, one.span, first) if kind is not None else value)
            made_cell = scope.names[first] = Cell(made, kind, first, one.span, len(ev.frames))
            if isinstance(made, Object) and made.record.ends:
                scope.names["(destroyed)"] = (made_cell,)
            ev.note(made_cell, one.span)
        return
    for place, name in enumerate(one.names):
        where = ev.item_place(value, place) if cell is not None else None
        item = ev.item(value, place, one.span)
        if place == 0 and isinstance(item, Int):
            ev.loops[-1] = (name, item)
        if isinstance(where, PLACES):
            scope.names[name] = where
        elif ev.python:
            ev.assign_name(name, item, scope, one.span)
        else:
            scope.names[name] = Cell(item, None, name, one.span, len(ev.frames))


# given by the machine


def _arrays(scope: Scope) -> list[tuple[str, Array]]:
    """The arrays that can be named here."""
    held = [cell for one in scope.chain() for cell in one.names.values() if isinstance(cell, Cell)]
    return [(c.name, c.value) for c in held if isinstance(c.value, Array)]


def _filled(one: tree.Statement) -> set[str]:
    """The arrays of which each turn of a counting loop writes the item that its variable counts, and no other."""
    if not isinstance(one, tree.Loop):
        return set()
    step = one.step.value if isinstance(one.step, tree.Unary) and one.step.op == "post" else one.step
    if not isinstance(step, tree.Assign) or step.op != "+" or not isinstance(step.target, tree.Name):
        return set()
    counter = step.target.last
    written: dict[str, bool] = {}
    for node in nodes_of(one.body):
        if isinstance(node, tree.Assign):
            name = root_of(node.target)
            target = node.target
            own = isinstance(target, tree.Index) and isinstance(target.value, tree.Name) and len(target.indices) == 1
            index = target.indices[0] if isinstance(target, tree.Index) and own else None
            fits = isinstance(index, tree.Name) and index.last == counter and not node.op
            written[name] = written.get(name, True) and fits
    return {name for name, fits in written.items() if fits}
