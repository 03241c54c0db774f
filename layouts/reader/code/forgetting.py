"""What is no longer known: after a goto, after text that is not read, and of what a call may have written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code import tree
from lanescope.reader.code.branches import branch
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.paths import Journal, Left
from lanescope.reader.code.side_effects import reachable
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Joint,
    Namespace,
    Object,
    Overlay,
    Part,
    Pointer,
    Record,
    Referred,
    Scope,
    Split,
    Template,
    Term,
)
from lanescope.reader.code.word import Int, free, inserted, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


_READ = re.compile(r'"[a-zA-Z0-9]+"\s*\([^()]*\)')  # operands that an asm statement only reads
_WORD = re.compile(r"[A-Za-z_]\w*")
# nothing is known of these but what they are: functions, and places that a reference names
_FIXED = (Closure, type(None), Part, Deref, Joint, Split, Blurred)


def fresh(ev: Evaluator, name: str) -> str:
    """A name for a value that is not known and may differ from all before."""
    count = ev.renewed[name] = ev.renewed.get(name, 0) + 1
    return f"{name}{chr(39) * count}" if count < 4 else f"{name}'{count}"


# goto, and what is not read --------------------------------------------------------------------------------------


def lose_control(ev: Evaluator, changed: Journal) -> None:
    """A goto under a condition that the text leaves open: what the function writes is not known from here on."""
    for cell, _ in changed.values():
        ev.forget(cell)
    ev.frames[-1].lost = True
    forget_function(ev)


def forget_function(ev: Evaluator) -> None:
    """Forget every variable that the function that is being run may write."""
    frame = ev.frames[-1]
    for cell, _ in ev.writes_since(frame.start).values():
        ev.forget(cell)
    ev.forget_globals()


def skip_unread(ev: Evaluator, one: tree.Unread, scope: Scope) -> Left | None:
    """Text that the parser could not read: what it may write is not known."""
    if one.body:
        ev.alternatives([(one.text[:40], branch(ev, tree.Block(one.body), scope)), ("", lambda: None)])
    ev.forget_names(_READ.sub("", one.text), scope)
    ev.forget_globals()
    returns = ev.frames[-1].returns
    for word, value in (
        ("return", ev.symbolic(returns, ev.fresh(ev.frames[-1].name or "?"))),
        ("break", None),
    ):
        if re.search(rf"\b{word}\b", one.text) and (word == "return" or ev.targets):
            ev.escape("?", Left(word, value), {})
    if re.search(r"\bgoto\b", one.text):
        ev.lose_control({})
    return None


# places ----------------------------------------------------------------------------------------------------------


def forget_names(ev: Evaluator, text: str, scope: Scope) -> None:
    """Forget the variables whose names stand in a text; a long one takes many steps."""
    ev.left -= len(text) >> 6
    for name in dict.fromkeys(_WORD.findall(text)):
        found = find_name(scope, name)[0]
        if isinstance(found, PLACES):
            ev.forget(found, integers=True)
            for place in reachable(found):
                ev.forget(place, integers=True)
        elif isinstance(found, Template | Namespace):  # a static member of it, an instance of it
            ev.forget_globals()


def forget(ev: Evaluator, place: Any, integers: bool = False, quiet: bool = False) -> None:
    """Make what a place holds unknown; integers: leave pointers and what is known by its name alone; quiet: what
    was found to be a descriptor there stays so, as it was used.
    """
    match place:
        case Cell():
            _forget_cell(ev, place, integers, quiet)
        case Part():
            store = place.of.store
            if isinstance(store.value, Int):
                name = ev.fresh(store.name or "?")
                width = place.field.width
                blank = free(name, IntegerType("bits", width, False, 9))
                made = inserted(store.value, blank, place.field.low, width, (0, 0))
                ev.put(store, made)
                ev.renote(store)
        case Deref():
            ev.store_memory(place, ev.symbolic(place.pointer.element, ev.fresh("*")), (0, 0))
        case Joint():
            for one in place.places:
                ev.forget(one)
        case Split():
            ev.forget(place.yes, integers, quiet)
            ev.forget(place.no, integers, quiet)
        case Blurred() | Referred():
            ev.forget(place.place, integers, quiet)
        case Overlay():
            ev.forget(Cell(place.of), integers, quiet)


def _forget_cell(ev: Evaluator, cell: Cell, integers: bool, quiet: bool = False) -> None:
    """Make what a variable holds unknown, as `forget` says."""
    value = cell.value
    if cell.const and not isinstance(value, Object | Array):
        return
    if isinstance(value, Int):
        ev.put(cell, free(ev.fresh(cell.name or "?"), value.type))
        if not quiet:
            ev.renote(cell)
    elif isinstance(value, Object):
        _forget_object(ev, value, cell.name, integers, quiet)
    elif isinstance(value, Array):
        for inner in value.cells:
            _forget_cell(ev, inner, integers, quiet)
    elif isinstance(value, Term) and value.head == "uninitialised" and value.kind is not None:
        ev.put(cell, ev.symbolic(value.kind, ev.fresh(cell.name or "?")))
    elif not integers and not isinstance(value, _FIXED):
        ev.put(cell, _unknown_like(ev, cell, value))


def _unknown_like(ev: Evaluator, cell: Cell, value: Any) -> Pointer | Term:
    """Return an unknown pointer for a pointer, else something of which only the variable's name is known."""
    if isinstance(value, Pointer | Address):
        return Pointer(symbol(ev.fresh(cell.name or "?")), value.element)
    return Term(ev.fresh(cell.name or str(value)), cell.kind)


def _forget_object(ev: Evaluator, value: Object, name: str, integers: bool, quiet: bool) -> None:
    """Make what the members of an object hold unknown."""
    if isinstance(value.store.value, Int):
        own = ev.fresh(value.store.name or name or "?")
        ev.put(value.store, free(own, value.store.value.type))
        if not quiet:
            ev.renote(value.store)
    for inner in value.members.values():
        if not isinstance(inner.value, PLACES):
            _forget_cell(ev, inner, integers, quiet)


# everything ------------------------------------------------------------------------------------------------------


def forget_globals(ev: Evaluator) -> None:
    """Forget what every function may write: variables of namespaces and static ones that are not constant."""
    seen: set[int] = set()
    ev.globals_lost = True
    for place in list(ev.escaped.values()):
        ev.forget(place, integers=True)
    waiting = [ev.globals]
    while waiting:
        scope = waiting.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for value in scope.names.values():
            if isinstance(value, Cell):
                _forget_lasting(ev, value)
            elif isinstance(value, Namespace):
                waiting.append(value.scope)
    for cell in ev.lasting.values():
        _forget_lasting(ev, cell)
    for made in ev.records.values():
        if isinstance(made, Cell):
            _forget_lasting(ev, made)
        elif isinstance(made, Record):
            for value in made.scope.names.values():
                if isinstance(value, Cell):
                    _forget_lasting(ev, value)


def _forget_lasting(ev: Evaluator, cell: Cell) -> None:
    """Forget a variable that every function sees, and what can be reached from it."""
    for place in reachable(cell.value):
        ev.forget(place, integers=True)
    if not cell.const:
        aims = isinstance(cell.value, Address) or (isinstance(cell.value, Pointer) and cell.value.array is not None)
        _forget_cell(ev, cell, not aims)


def forget_all(ev: Evaluator, scope: Scope) -> None:
    """Forget every variable that can be named here or in a calling function, and those that every function may
    write.
    """
    for cell in _variables(ev, scope):
        ev.forget(cell, integers=True)
    ev.forget_globals()


def _variables(ev: Evaluator, scope: Scope) -> list[Cell]:
    """The variables that can be named here and in the calling functions."""
    found: dict[int, Cell] = {}
    for inner in (scope, *(frame.scope for frame in ev.frames if frame.scope is not None)):
        for one in inner.chain():
            if one.owner == "namespace":
                break
            found.update((id(cell), cell) for cell in list(one.names.values()) if isinstance(cell, Cell))
    return list(found.values())


def forget_alike(ev: Evaluator, this: Any, function: tree.Function | None) -> None:
    """A function of an object that is not known may write any object of its class, and what that refers to."""
    kind = this.kind if isinstance(this, Term) else getattr(this, "element", None)
    record = kind.record if kind is not None else None
    scope = ev.frames[-1].scope or ev.globals
    if function is not None and function.const and not function.virtual:
        return
    cells = [*_variables(ev, scope), *(c for c in ev.globals.names.values() if isinstance(c, Cell))]
    if any(_has_object(cell.value, record) for cell in cells):
        ev.forget_all(scope)


def _has_object(value: Any, record: Record | None) -> bool:
    """Return whether a value is an object of a class, or of one derived from it."""
    if isinstance(value, Array):
        return bool(value.cells) and _has_object(value.cells[0].value, record)
    return isinstance(value, Object) and record is not None and value.record.descends(record)
