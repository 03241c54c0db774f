"""Copy, move, assign and destroy objects with the functions of their classes.

ISO C++17: [class.copy], [class.dtor], [class.temporary].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.allocating import has_own_allocation
from lanescope.reader.code.running.paths import ThrownError
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import Address, ArrayValue, ObjectValue, Pointer, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MADE, PASSED, PERHAPS = (
    "made",
    "passed",
    "perhaps",
)  # a temporary is destroyed unless a variable holds it; always; maybe
T = TypeVar("T")
_WORD = re.compile(r"[A-Za-z_]\w*")


# copies ----------------------------------------------------------------------------------------------------------


def copy_construct(ev: Evaluator, value: ObjectValue, argument: CallArgument) -> ObjectValue:
    """Copy an object with the copy constructors of its class, members and bases."""
    if not value.record.copies:
        return value
    instance: ObjectValue = ev.make_instance(value.record, value.store.name)
    copy_into(ev, instance, value.record, argument)
    return instance


def copy_into(ev: Evaluator, instance: ObjectValue, record: RecordType, argument: CallArgument) -> None:
    """Copy-initialize the part of an object that belongs to a class."""
    ctors = record.methods.get(record.name)
    if ctors is not None and any(may_copy(f, record.name, argument) for f in ctors.functions):
        ev.run_constructor(instance, record, ctors, [argument])
    else:
        copy_members(ev, instance, record, argument)


def copy_members(ev: Evaluator, instance: ObjectValue, record: RecordType, argument: CallArgument) -> None:
    """Copy bases, then members, as an implicit copy constructor does."""
    other = argument.value
    if not isinstance(other, ObjectValue):
        ev.forget_place(Cell(instance))
        return
    for base in record.bases if record.copies else ():
        copy_into(ev, instance, base, replace(argument, kind=ResolvedType(base.name, record=base)))
    if record.fields is not None or not record.copies:
        _copy_memberwise(ev, instance, other, record)
        return
    for name in list_own_members(record):
        if name in instance.members and name in other.members:
            cell = instance.members[name]
            ev.write_cell(cell, _copy_member(ev, other.members[name], argument))


def _copy_member(ev: Evaluator, cell: Cell, argument: CallArgument) -> Any:
    """Copy a member with the copy constructor of its class."""
    value = cell.value
    if isinstance(value, ObjectValue) and value.record.copies:
        kind = ResolvedType(value.record.name, record=value.record, arguments=value.record.arguments)
        copied = ev.copy_construct(value, replace(argument, value=value, kind=kind, where=Cell(value, kind)))
        copied.stored = True
        return copied
    if isinstance(value, ArrayValue) and value.cells and _is_item_copy(value):
        cells = [Cell(_copy_member(ev, c, argument), c.kind, c.name) for c in value.cells]
        return ArrayValue(cells, value.element, value.name, value.typed)
    return ev.copy_assigned(value, 1)


def _copy_memberwise(ev: Evaluator, instance: ObjectValue, other: ObjectValue, record: RecordType) -> None:
    """Copy the members of a class without copy constructors."""
    if instance.record.fields is not None and other.record.fields is not None and not other.members:
        ev.write_cell(instance.store, other.store.value)
        return
    for name in record.members:
        if name in instance.members and name in other.members:
            ev.write_cell(instance.members[name], ev.copy_assigned(other.members[name].value, 1))
        elif record.fields is not None and name in record.fields:
            value = ev.load_place(ev.find_member(other, name, (0, 0)), tree.OpaqueExpression(""))
            ev.store_value(ev.find_member(instance, name, (0, 0)), value, (0, 0))


# assignments -----------------------------------------------------------------------------------------------------


def assign_into(ev: Evaluator, instance: ObjectValue, record: RecordType, argument: CallArgument) -> None:
    """Assign the part of an object that belongs to a class, with its operator=, else those of its bases and members."""
    overloads = record.methods.get("operator=")
    if overloads is not None and any(
        can_take_own_class(f, record.name) and not f.defaulted for f in overloads.functions
    ):
        ev.call_function(replace(overloads, this=instance, direct=True), [argument], {}, (0, 0))
        return
    other = argument.value
    if not isinstance(other, ObjectValue):
        ev.forget_place(Cell(instance))
    else:
        for base in record.bases:
            ev.assign_into(instance, base, replace(argument, kind=ResolvedType(base.name, record=base)))
        if record.fields is not None:
            _copy_memberwise(ev, instance, other, record)
            return
        for name in list_own_members(record):
            if name in instance.members and name in other.members:
                _assign_member(ev, instance.members[name], other.members[name], argument)


def _assign_member(ev: Evaluator, target: Cell, source: Cell, argument: CallArgument) -> None:
    """Assign a member with the operator= of its class."""
    old, value = target.value, source.value
    if isinstance(old, ObjectValue) and isinstance(value, ObjectValue) and old.record is value.record:
        kind = ResolvedType(value.record.name, record=value.record, arguments=value.record.arguments)
        ev.assign_into(old, old.record, replace(argument, value=value, kind=kind, where=Cell(value, kind)))
    elif isinstance(old, ArrayValue) and isinstance(value, ArrayValue) and len(old.cells) == len(value.cells):
        for old_item, item in zip(old.cells, value.cells, strict=True):
            _assign_member(ev, old_item, item, argument)
    else:
        ev.write_cell(target, ev.copy_assigned(value, 1))


# ends ------------------------------------------------------------------------------------------------------------


def destroy_object(ev: Evaluator, value: Any, span: tuple[int, int]) -> None:
    """Run the destructors of an object, its members in reverse order, and its bases."""
    if isinstance(value, ArrayValue):
        for cell in reversed(value.cells):
            ev.destroy_object(cell.value, span)
    elif isinstance(value, ObjectValue):
        complete = value.derived or value
        first = len(ev.write_log)
        before = complete.dynamic
        try:
            _end_object(ev, complete, value.record, span)
        finally:
            complete.dynamic = before
        _forget_on_escaped_paths(ev, first)


def _end_object(ev: Evaluator, value: ObjectValue, record: RecordType, span: tuple[int, int]) -> None:
    """Run the destructors of a class, its members and its bases."""
    if not record.ends:
        return
    value.dynamic = record
    destructor = record.methods.get(f"~{record.name}")
    if destructor is not None and not destructor.functions[0].defaulted:
        ev.call_function(replace(destructor, this=value, direct=True), [], {}, span)
    for name in reversed(list_own_members(record)):
        if name in value.members and name not in record.overlaid:
            ev.destroy_object(value.members[name].value, span)
    for base in reversed(record.bases):
        _end_object(ev, value, base, span)


def _forget_on_escaped_paths(ev: Evaluator, first: int) -> None:
    """Make unknown what a destructor wrote on paths that left before it ran."""
    if ev.escaped_paths:
        for cell, _ in ev.list_writes_since(first).values():
            for path in ev.escaped_paths:
                current = cell.value
                ev.forget_place(cell, quiet=True)
                path.changes = {**path.changes, id(cell): (cell, cell.value)}
                cell.value = current


def run_perhaps(ev: Evaluator, run: Callable[[], Any]) -> None:
    """Run code that may or may not execute; what it writes becomes unknown."""
    _, changed = ev.follow_branch(run)
    for cell, _ in changed.values():
        ev.forget_place(cell)


def destroy_variables(ev: Evaluator, scope: NameScope) -> None:
    """Run the destructors of a block's variables in reverse order."""
    for cell in reversed(scope.names.pop("(destroyed)", ())):
        ev.destroy_object(cell.value, cell.span)


def release_object(scope: NameScope, value: Any) -> None:
    """Release a variable's object that a function returns, so that the block does not destroy it."""
    for enclosing in scope.iterate_outward():
        cells = enclosing.names.get("(destroyed)", ())
        if any(cell.value is value for cell in cells):
            enclosing.names["(destroyed)"] = tuple(cell for cell in cells if cell.value is not value)
            return


def destroy_temporaries(ev: Evaluator, first: int, span: tuple[int, int], returned: Any) -> None:
    """Run the destructors of an expression's temporaries in reverse order."""
    for value, state in reversed(ev.temporaries[first:]):
        if value is returned or (state == MADE and value.stored):
            continue
        if state == PERHAPS:
            ev.run_perhaps(partial(ev.destroy_object, value, span))
        else:
            ev.destroy_object(value, span)


def evaluate_full_expression(ev: Evaluator, run: Callable[[], T], span: tuple[int, int]) -> T:
    """Evaluate a full-expression, and destroy its temporaries."""
    first = len(ev.temporaries)
    try:
        result = run()
        destroy_temporaries(ev, first, span, result)
        return result
    except ThrownError:
        abandon_temporaries(ev, first, span)
        raise
    finally:
        del ev.temporaries[first:]


def abandon_temporaries(ev: Evaluator, first: int, span: tuple[int, int]) -> None:
    """Destroy the temporaries of an expression that threw; some may not have been constructed."""
    for value, _ in ev.temporaries[first:]:
        ev.run_perhaps(partial(ev.destroy_object, value, span))


def forget_pending_ends(ev: Evaluator, scope: NameScope) -> None:
    """Make unknown, after a statement, what objects that may end at any time write in their destructors."""
    if ev.checking_pending:
        return
    ev.checking_pending = True
    try:
        if ev.pending_objects is None:
            ev.forget_all(scope)
        else:
            for value in ev.pending_objects:
                ev.run_perhaps(partial(ev.destroy_object, value, (0, 0)))
    finally:
        ev.checking_pending = False


def note_library_objects(ev: Evaluator, kinds: Sequence[Any], scope: NameScope) -> None:
    """Note a library type or function with classes of the text, whose objects it may create and destroy."""
    records = [kind.record for kind in _list_types(kinds) if kind.record is not None and not kind.pointers]
    if any(record.ends or _may_write_outside(ev, record) for record in records):
        ev.pending_objects = None
        ev.forget_all(scope)


def _may_write_outside(ev: Evaluator, record: RecordType) -> bool:
    """Return whether a constructor may write outside its object."""
    named = [record.methods[name] for name in (record.name, "operator=") if name in record.methods]
    special = [function for closure in named for function in closure.functions]
    if not special:
        return any(_may_write_outside(ev, base) for base in record.bases)
    types = [declared.type for declared in record.members.values() if declared.type is not None]
    if any(kind.pointers or kind.reference for kind in types):
        return True
    words = {word for f in special for word in _WORD.findall(ev.text[slice(*f.span)])}
    return not words.isdisjoint({*_list_variables(record.scope), *_list_variables(ev.globals)})


def _list_variables(scope: NameScope) -> list[str]:
    """Return the names of a scope's variables that are not constant."""
    return [name for name, value in scope.names.items() if isinstance(value, Cell) and not value.const]


def run_delete(ev: Evaluator, node: tree.Delete, scope: NameScope) -> None:
    """Run delete p: the destructor of a known object; else make variables unknown."""
    value = ev.evaluate_expression(node.value, scope)
    place = ev.evaluate_dereference(value, node)
    inner = place.value if isinstance(place, Cell) else None
    if has_own_allocation(ev, "delete", inner.record if isinstance(inner, ObjectValue) else None):
        ev.forget_all(scope)
    if isinstance(value, Address) and isinstance(inner, ObjectValue) and not node.array:
        _delete_object(ev, inner, node.span)
    elif node.array and isinstance(value, Pointer) and _begins_array(value):
        ev.destroy_object(value.array, node.span)
    elif ev.evaluate_truth(value) is not False and not isinstance(inner, SymbolicInt | ArrayValue) and _may_end(value):
        ev.forget_all(scope)


def _delete_object(ev: Evaluator, value: ObjectValue, span: tuple[int, int]) -> None:
    """Destroy the complete object that a pointer to a base points into."""
    complete = value.derived or value
    if complete.record is not value.record and not value.record.has_virtual(f"~{value.record.name}"):
        ev.forget_globals()
    ev.destroy_object(complete, span)


def _begins_array(pointer: Pointer) -> bool:
    """Return whether a pointer points to the first item of an array whose items are known."""
    return pointer.array is not None and pointer.at is not None and pointer.at.known == 0


def _may_end(value: Any) -> bool:
    """Return whether a pointer's target may have a destructor."""
    kind = getattr(value, "element", None) or getattr(value, "kind", None)
    if kind is None or kind.open:
        return True
    return kind.record is not None and (kind.record.ends or kind.record.polymorphic)


def _list_types(values: Sequence[Any], depth: int = 0) -> Iterator[ResolvedType]:
    """Yield the types among values, and those in their template arguments."""
    for value in values:
        if isinstance(value, ResolvedType):
            yield value
            if depth < 4 and value.record is None:
                yield from _list_types(value.arguments, depth + 1)


def is_named_object(expression: tree.Expression) -> bool:
    """Return whether an expression names an object, so that its initializer copies it: a name, *p, std::move(x)."""
    if isinstance(expression, tree.Call):
        return (
            isinstance(expression.function, tree.Name)
            and expression.function.last == "move"
            and len(expression.arguments) == 1
        )
    return isinstance(expression, tree.Name | tree.Member | tree.Index) or (
        isinstance(expression, tree.Unary) and expression.op == "*"
    )


def list_own_members(record: RecordType) -> list[str]:
    """Return the data members that a class declares itself."""
    members = []
    for name in record.members:
        home = record.homes.get(name)
        if home is None or home.owner is record:
            members.append(name)
    return members


def _is_item_copy(value: ArrayValue) -> bool:
    """Return whether an array has objects with a copy constructor."""
    first = value.cells[0].value if value.cells else None
    return (
        _is_item_copy(first)
        if isinstance(first, ArrayValue)
        else isinstance(first, ObjectValue) and first.record.copies
    )


def can_take_own_class(function: tree.Function, name: str) -> bool:
    """Return whether a function can be called with only an object of its own class."""
    if not function.parameters or any(p.default is None and not p.pack for p in function.parameters[1:]):
        return False
    first = function.parameters[0].type
    return first is not None and (first.name == name or (bool(function.templates) and first.reference != ""))


def may_copy(function: tree.Function, name: str, argument: CallArgument) -> bool:
    """Return whether a constructor may copy or move an object of its class."""
    if not can_take_own_class(function, name) or function.defaulted:
        return False
    first = function.parameters[0].type
    if not function.templates:
        return first is not None and first.name == name
    record = argument.kind.record if argument.kind is not None else None
    derived = record is None or record.name != name
    return derived or (argument.place and argument.const is not True and not (first is not None and first.const))
