"""Make values unknown: after a goto, after unread text, and where a call may have written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.branches import branch
from lanescope.reader.code.running.paths import EarlyExit, Journal
from lanescope.reader.code.running.run_records import record_skipped
from lanescope.reader.code.running.side_effects import list_reachable_places
from lanescope.reader.code.symbolic_integers import SymbolicInt, insert_bits, make_free, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Block, UnreadText
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    BlurredPlace,
    FunctionSet,
    JointPlace,
    LostValue,
    NamespaceValue,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    PointedPlace,
    Pointer,
    RecordType,
    ReferredPlace,
    SplitPlace,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


_READ = re.compile(r'"[a-zA-Z0-9]+"\s*\([^()]*\)')  # operands that an asm statement only reads
_WORD = re.compile(r"[A-Za-z_]\w*")
# functions, and places that references name: they do not change; a lost value is unknown already
_FIXED = (FunctionSet, type(None), ObjectPart, PointedPlace, JointPlace, SplitPlace, BlurredPlace, LostValue)


def make_fresh_name(ev: Evaluator, name: str) -> str:
    """Make a new name for an unknown value that may differ from all before."""
    count = ev.fresh_name_counts[name] = ev.fresh_name_counts.get(name, 0) + 1
    return name + "'" * count if count < 4 else f"{name}'{count}"


# goto, and unread text --------------------------------------------------------------------------------------


def forget_after_goto(ev: Evaluator, changed: Journal) -> None:
    """Make unknown what the function writes after a goto under an undecided condition."""
    for cell, _ in changed.values():
        ev.forget_place(cell)
    ev.frames[-1].lost = True
    forget_function(ev)


def forget_function(ev: Evaluator) -> None:
    """Make every variable unknown that the running function may write."""
    frame = ev.frames[-1]
    for cell, _ in ev.list_writes_since(frame.start).values():
        ev.forget_place(cell)
    ev.forget_globals()


def skip_unread(ev: Evaluator, node: UnreadText, scope: NameScope) -> EarlyExit | None:
    """Skip text that did not parse, and make unknown what it may write."""
    record_skipped(ev, node.span)
    if node.body:
        ev.follow_alternatives([(node.text[:40], branch(ev, Block(node.body), scope)), ("", lambda: None)])
    ev.forget_names(_READ.sub("", node.text), scope)
    ev.forget_globals()
    returns = ev.frames[-1].returns
    for word, value in (
        ("return", ev.make_symbolic_value(returns, ev.make_fresh_name(ev.frames[-1].name or "?"))),
        ("break", None),
    ):
        if re.search(rf"\b{word}\b", node.text) and (word == "return" or ev.jump_targets):
            ev.keep_escape("?", EarlyExit(word, value), {})
    if re.search(r"\bgoto\b", node.text):
        ev.forget_after_goto({})
    return None


# places ----------------------------------------------------------------------------------------------------------


def forget_names(ev: Evaluator, text: str, scope: NameScope) -> None:
    """Make the variables named in a text unknown; a long text takes many steps."""
    ev.steps_left -= len(text) >> 6
    for name in dict.fromkeys(_WORD.findall(text)):
        entity = find_name(scope, name)[0]
        if isinstance(entity, PLACES):
            ev.forget_place(entity, integers=True)
            for place in list_reachable_places(entity):
                ev.forget_place(place, integers=True)
        elif isinstance(entity, TemplateEntity | NamespaceValue):  # a static member of it, an instance of it
            ev.forget_globals()


def forget_place(ev: Evaluator, place: Any, integers: bool = False, quiet: bool = False) -> None:
    """Make the value in a place unknown.

    integers: keep pointers and values known only by name. quiet: keep the descriptor recorded for the place.
    """
    match place:
        case Cell():
            _forget_cell(ev, place, integers, quiet)
        case ObjectPart():
            store = place.of.store
            if isinstance(store.value, SymbolicInt):
                name = ev.make_fresh_name(store.name or "?")
                width = place.field.width
                blank = make_free(name, IntegerType("bits", width, False, 9))
                forgotten = insert_bits(store.value, blank, place.field.low, width, (0, 0))
                ev.write_cell(store, forgotten)
                ev.update_noted(store)
        case PointedPlace():
            ev.store_memory(place, ev.make_symbolic_value(place.pointer.element, ev.make_fresh_name("*")), (0, 0))
        case JointPlace():
            for inner in place.places:
                ev.forget_place(inner)
        case SplitPlace():
            ev.forget_place(place.yes, integers, quiet)
            ev.forget_place(place.no, integers, quiet)
        case BlurredPlace() | ReferredPlace():
            ev.forget_place(place.place, integers, quiet)
        case OverlayPlace():
            ev.forget_place(Cell(place.of), integers, quiet)


def _forget_cell(ev: Evaluator, cell: Cell, integers: bool, quiet: bool = False) -> None:
    """Make the value of a variable unknown; see `forget_place`."""
    value = cell.value
    if cell.const and not isinstance(value, ObjectValue | ArrayValue):
        return
    if isinstance(value, SymbolicInt):
        ev.write_cell(cell, make_free(ev.make_fresh_name(cell.name or "?"), value.type))
        if not quiet:
            ev.update_noted(cell)
    elif isinstance(value, ObjectValue):
        _forget_object(ev, value, cell.name, integers, quiet)
    elif isinstance(value, ArrayValue):
        for inner in value.cells:
            item = inner.value
            if type(item) is not OpaqueValue or item.head == "uninitialised":
                _forget_cell(ev, inner, integers, quiet)
            elif not integers and not inner.const:
                ev.write_cell(inner, OpaqueValue(ev.make_fresh_name(inner.name or str(item)), inner.kind))
    else:
        _forget_single_value(ev, cell, integers)


def _forget_single_value(ev: Evaluator, cell: Cell, integers: bool) -> None:
    """Make the value of a variable unknown that is neither an integer nor has parts."""
    value = cell.value
    if isinstance(value, OpaqueValue) and value.head == "uninitialised" and value.kind is not None:
        ev.write_cell(cell, ev.make_symbolic_value(value.kind, ev.make_fresh_name(cell.name or "?")))
    elif (not integers or _is_number(value)) and not isinstance(value, _FIXED):
        ev.write_cell(cell, _make_unknown_like(ev, cell, value))


def _is_number(value: Any) -> bool:
    """Return whether a pointer is a known number, such as nullptr."""
    return isinstance(value, Pointer) and not value.base.terms


def _make_unknown_like(ev: Evaluator, cell: Cell, value: Any) -> Pointer | OpaqueValue:
    """Return an unknown pointer for a pointer, else an unknown value named by the variable."""
    if isinstance(value, Pointer | Address):
        dims = value.dims if isinstance(value, Pointer) else ()
        return Pointer(make_symbol(ev.make_fresh_name(cell.name or "?")), value.element, dims)
    return OpaqueValue(ev.make_fresh_name(cell.name or str(value)), cell.kind)


def _forget_object(ev: Evaluator, value: ObjectValue, name: str, integers: bool, quiet: bool) -> None:
    """Make the members of an object unknown."""
    if isinstance(value.store.value, SymbolicInt):
        fresh_name = ev.make_fresh_name(value.store.name or name or "?")
        ev.write_cell(value.store, make_free(fresh_name, value.store.value.type))
        if not quiet:
            ev.update_noted(value.store)
    for inner in value.members.values():
        if not isinstance(inner.value, PLACES):
            _forget_cell(ev, inner, integers, quiet)


# everything ------------------------------------------------------------------------------------------------------


def forget_globals(ev: Evaluator) -> None:
    """Make unknown what any function may write: non-const global and static variables."""
    seen: set[int] = set()
    ev.globals_lost = True
    for place in list(ev.escaped_places.values()):
        ev.forget_place(place, integers=True)
    pending = [ev.globals]
    while pending:
        scope = pending.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for value in scope.names.values():
            if isinstance(value, Cell):
                _forget_lasting_variable(ev, value)
            elif isinstance(value, NamespaceValue):
                pending.append(value.scope)
    for cell in ev.static_variables.values():
        _forget_lasting_variable(ev, cell)
    for record in ev.records.values():
        if isinstance(record, Cell):
            _forget_lasting_variable(ev, record)
        elif isinstance(record, RecordType):
            for value in record.scope.names.values():
                if isinstance(value, Cell):
                    _forget_lasting_variable(ev, value)


def _forget_lasting_variable(ev: Evaluator, cell: Cell) -> None:
    """Make a global or static variable unknown, and what can be reached from it."""
    for place in list_reachable_places(cell.value):
        ev.forget_place(place, integers=True)
    if not cell.const:
        has_target = isinstance(cell.value, Address) or (
            isinstance(cell.value, Pointer) and cell.value.array is not None
        )
        _forget_cell(ev, cell, integers=not has_target)


def forget_all(ev: Evaluator, scope: NameScope) -> None:
    """Make every variable visible here or in a calling function unknown, and all global ones."""
    for cell in _list_variables(ev, scope):
        _forget_cell(ev, cell, True)
    ev.forget_globals()


def _list_variables(ev: Evaluator, scope: NameScope) -> list[Cell]:
    """Return the variables visible here and in the calling functions."""
    cells: dict[int, Cell] = {}
    for inner in (scope, *(frame.scope for frame in ev.frames if frame.scope is not None)):
        for enclosing in inner.iterate_outward():
            if enclosing.owner == "namespace":
                break
            cells.update((id(cell), cell) for cell in list(enclosing.names.values()) if isinstance(cell, Cell))
    return list(cells.values())


def forget_same_class(ev: Evaluator, this: Any, function: tree.Function | None) -> None:
    """Make unknown what a member function of an unknown object may write: any object of its class."""
    if function is not None and function.const and not function.virtual:
        return
    kind = this.kind if isinstance(this, OpaqueValue) else getattr(this, "element", None)
    record = kind.record if kind is not None else None
    scope = ev.frames[-1].scope or ev.globals
    cells = [*_list_variables(ev, scope), *(c for c in ev.globals.names.values() if isinstance(c, Cell))]
    if any(_holds_object(cell.value, record) for cell in cells):
        ev.forget_all(scope)


def _holds_object(value: Any, record: RecordType | None) -> bool:
    """Return whether a value is an object of a class, or of one derived from it."""
    if isinstance(value, ArrayValue):
        return bool(value.cells) and _holds_object(value.cells[0].value, record)
    return isinstance(value, ObjectValue) and record is not None and value.record.is_derived_from(record)
