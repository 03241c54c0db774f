"""Run loops symbolically. Every loop is bounded; variables it may change become unknown afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lanescope.reader.code import tree
from lanescope.reader.code.calling import reachable
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.paths import Escape, Journal, Left, Target
from lanescope.reader.code.values import PLACES, Array, Cell, Object, Part, Scope, Term
from lanescope.reader.code.word import Int, free
from lanescope.reader.code.writes import Summaries, nodes_of, root_of

MOST_TURNS = (16, 16, 8, 4)  # of a loop that builds descriptors, by how many it stands in
MOST_QUIET = 1100  # of a loop that builds none
MOST_SPENT = 4000  # steps of such a loop
FREE_TURNS = (3, 3, 2)  # of a loop whose end is not known, by how many it stands in: enough to see what a turn changes


class Loops:
    """The loops of one evaluation."""

    def _turns(self) -> int:
        return MOST_TURNS[min(len(self.loops), len(MOST_TURNS) - 1)]

    def _free_turns(self) -> int:
        """Of the loop that is being run, when its end is not known."""
        return FREE_TURNS[min(len(self.loops), len(FREE_TURNS)) - 1]

    def _kept(self) -> int:
        """What a loop may find: the more of it, the fewer turns are followed."""
        return len(self.found) + len(self.assembled) + len(self.made)

    def _loop(self, one: tree.Loop, scope: Scope) -> Left | None:
        if one.start is not None:
            self.execute(one.start, scope)
        variable = self._variable(one, scope)
        few, turn, whole, told = self._turns(), 0, False, True
        most = MOST_QUIET if not self.python else few
        kept, budget = self._kept(), min(self.left // 3, MOST_SPENT)
        inner = scope
        first = len(self.log)
        left: Left | None = None
        target = Target(True, len(self.branches))
        self.targets.append(target)
        self.loops.append(("", Int(0)))
        start = self.left
        try:
            while True:
                if one.condition is not None and not (one.late and not turn):
                    inner = Scope(scope)
                    goes_on = self.decided(one.condition, inner)[1]
                    if goes_on is None:
                        most, told = min(most, self._free_turns()), False
                        self.endless.add(variable.name if variable is not None else "")
                    elif not goes_on:
                        self._leave_block(inner, None)
                        whole = told
                        break
                elif one.condition is None and variable is None and self.python:
                    most = min(most, self._free_turns())
                if turn >= most or (turn >= few and (self._kept() > kept or start - self.left > budget)):
                    break
                if variable is not None:
                    self.loops[-1] = (variable.name, self.whole(variable.value))
                left = self.execute(one.body, inner)
                self.rejoin(target.continues)
                if left is not None and left.word == "continue":
                    left = None
                self._leave_block(inner, left)
                if left is not None:
                    whole = told
                    break
                if one.step is not None:
                    self.whole_expression(lambda: self.drop(one.step, scope), one.step.span)
                turn += 1
                if not told and turn >= 2 and self._kept() == kept:
                    break
                if one.condition is None and self._kept() > kept:
                    most = min(most, self._free_turns())
        finally:
            self.loops.pop()
            self.targets.pop()
            journal = self.writes_since(first)
        if not told and left is not None and left.word not in ("break", "continue"):
            self.escape("?", left, {})
            left = None
        left = self.after_breaks(target.breaks, left, whole)
        if not whole:
            self._left_open(one, journal, scope, told)
            self._may_return(one)
        self._leave_block(scope, left)
        return left

    def _may_return(self, one: tree.Statement) -> None:
        """A turn that was not followed may return, or go elsewhere."""
        if self.python:
            return
        summary, frame = self.summaries.of(one), self.frames[-1]
        if summary.returns:
            self.escape("?", Left("return", self.symbolic(frame.returns, self.fresh(frame.name or "?"))), {})
        if summary.jumps:
            self.lose_control({})

    def _left_open(self, one: tree.Statement, written: Journal, scope: Scope, told: bool) -> None:
        """After a loop that has more turns than were gone through, or may have: what it writes is not known. Items of
        an array that each turn fills another of are what the turns put there; others may be filled, too.
        """
        if not told and not self.python:  # later turns may put other bits into a word that is put together turn by turn
            gathered = self.summaries.of(one).gathered
            cells = {id(cell) for cell, _ in written.values() if cell.name in gathered}
            self.found = [f for f in self.found if not (f.loops and id(f.cell) in cells)]
        filled = _filled(one)
        spared: set[int] = set()
        for name, array in _arrays(scope):
            if not any(id(cell) in written for cell in array.cells):
                continue
            fresh = name in filled or self.python
            for n, cell in enumerate(array.cells):
                old = written[id(cell)][1] if id(cell) in written else None
                unset = isinstance(old, Term) and old.head == "uninitialised"
                if id(cell) in written and fresh and (told or unset or self.python):
                    spared.add(id(cell))
                elif isinstance(cell.value, Int):
                    self.put(cell, free(self.fresh(f"{name}[{n}]"), cell.value.type))
        for key, (cell, old) in written.items():
            if key in spared:
                continue
            if self.python:
                if isinstance(cell.value, Int) and cell.name and cell.value != old:
                    self.put(cell, free(cell.name, cell.value.type))
            else:
                inside = any(f.cell is cell and f.loops for f in self.found[-96:])
                self.forget(cell, quiet=inside)
        if not self.python:
            self._forget_assigned(one, scope)

    def _forget_assigned(self, one: tree.Statement, scope: Scope) -> None:
        """Forget what a statement assigns anywhere in it, run or not."""
        summary = self.summaries.of(one)
        for name in summary.names:
            found = find_name(scope, name)[0]
            if isinstance(found, PLACES):
                inner = found.value if isinstance(found, Cell) else None
                self.forget(found, integers=not isinstance(inner, Array))
        if summary.calls:
            self.forget_globals()

    def _variable(self, one: tree.Loop, scope: Scope) -> Cell | None:
        """The variable that a loop counts."""
        step = one.step
        while isinstance(step, tree.Unary | tree.Binary):
            step = step.value if isinstance(step, tree.Unary) else step.left
        target = step.target if isinstance(step, tree.Assign) else None
        found = find_name(scope, target.last)[0] if isinstance(target, tree.Name) else None
        return found if isinstance(found, Cell) else None

    def _each(self, one: tree.Each, scope: Scope) -> Left | None:
        if one.start is not None:
            scope = Scope(scope)
            self.execute(one.start, scope)
        source = self.value(one.values, scope)
        turns = self._turns() if self.python else MOST_QUIET
        values, whole = self.items_of(source, turns, one.names[0] if one.names else "")
        items: list[Any] = list(source.cells) if isinstance(source, Array) else []
        if isinstance(source, Part) and source.field.count and not self.python:
            items = self.part_items(source)
            values, whole = [self.load(item, one.values) for item in items], True
        refers = one.type is not None and bool(one.type.reference) and bool(items)
        if not self.python and not items:
            whole = whole and isinstance(source, Array)
            if isinstance(source, Object) or (one.type is not None and one.type.reference):
                self._forget_range(one, source, scope)
        first = len(self.log)
        target = Target(True, len(self.branches))
        left: Left | None = None
        self.targets.append(target)
        self.loops.append(("", Int(0)))
        try:
            for n, item in enumerate(values):
                inner = scope if self.python else Scope(scope)
                self._bind_item(one, item, items[n] if refers else None, inner)
                left = self.execute(one.body, inner)
                self.rejoin(target.continues)
                if left is not None and left.word == "continue":
                    left = None
                self._leave_block(inner, left)
                if left is not None:
                    whole = True
                    break
        finally:
            self.loops.pop()
            self.targets.pop()
            journal = self.writes_since(first)
        if not whole and left is not None and left.word not in ("break", "continue"):
            self.escape("?", left, {})
            left = None
        left = self.after_breaks(target.breaks, left, whole)
        if not whole:
            self._left_open(one, journal, scope, False)
            self._may_return(one)
            if isinstance(source, Object) and not self.python:
                self._forget_range(one, source, scope)
        return left

    def _forget_range(self, one: tree.Each, source: Any, scope: Scope) -> None:
        """Forget what the items of an object, which are not followed, may refer to."""
        self.forget_names(self.text[slice(*one.values.span)], scope)
        if isinstance(source, Object):  # its begin() and end() may write, too
            self.forget(Cell(source))
            for place in reachable(source):
                self.forget(place)
            self.forget_globals()

    def _bind_item(self, one: tree.Each, value: Any, cell: Any, scope: Scope) -> None:
        """Give a loop's variables the next item, the very item where they are references."""
        first = one.names[0] if one.names else ""
        if len(one.names) == 1:
            if isinstance(value, Int):
                self.loops[-1] = (first, value)
            if cell is not None:
                scope.names[first] = cell
                const = (one.type is not None and one.type.const) or const_of(self, one.values, scope)
                if const is not False:
                    scope.consts.add(first if const else f"?{first}")
            elif self.python:
                self.assign_name(first, value, scope, one.span)
            else:
                kind = self.kind(one.type, scope) if one.type is not None and one.type.name != "auto" else None
                kind = replace(kind, reference="") if kind is not None else None
                if isinstance(value, Object) and value.record.copies:
                    value = self.copy_constructed(value, self.argument_in(one.values, scope, value))
                made = self.copied(self.converted(value, kind, one.span, first) if kind is not None else value)
                made_cell = scope.names[first] = Cell(made, kind, first, one.span, len(self.frames))
                if isinstance(made, Object) and made.record.ends:
                    scope.names["(destroyed)"] = (made_cell,)
                self.note(made_cell, one.span)
            return
        for place, name in enumerate(one.names):
            where = self.item_place(value, place) if cell is not None else None
            item = self.item(value, place, one.span)
            if place == 0 and isinstance(item, Int):
                self.loops[-1] = (name, item)
            if isinstance(where, PLACES):
                scope.names[name] = where
            elif self.python:
                self.assign_name(name, item, scope, one.span)
            else:
                scope.names[name] = Cell(item, None, name, one.span, len(self.frames))

    # given by the machine
    python: bool
    left: int
    found: list[Any]
    made: list[Any]
    assembled: list[Any]
    loops: list[tuple[str, Int]]
    targets: list[Target]
    endless: set[str]
    log: list[tuple[Cell, Any]]
    branches: list[int]
    writes_since: Callable[[int], Journal]
    frames: list[Any]
    execute: Callable[..., Left | None]
    after_breaks: Callable[[list[Escape], Left | None, bool], Left | None]
    rejoin: Any
    escape: Any
    value: Any
    truth: Any
    whole: Any
    drop: Any
    items_of: Any
    item_place: Any
    assign_name: Any
    item: Any
    put: Any
    forget: Any
    forget_globals: Any
    summaries: Summaries
    fresh: Any
    part_items: Any
    load: Any
    forget_names: Any
    text: str
    symbolic: Any
    lose_control: Any
    kind: Any
    converted: Any
    copied: Any
    note: Any
    decided: Any
    _leave_block: Any
    whole_expression: Any
    copy_constructed: Any
    argument_in: Any


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
