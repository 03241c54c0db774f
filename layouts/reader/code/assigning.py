"""What is written where: assignments, bit fields, copies of objects, and values of which only the name is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON, ULONG, IntegerType
from lanescope.reader.code import tree, word
from lanescope.reader.code.places import pointee
from lanescope.reader.code.values import (
    PLACES,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Field,
    Joint,
    Kind,
    Object,
    Overlay,
    Part,
    Pointer,
    Record,
    Referred,
    Scope,
    Split,
    Term,
    number,
    short,
)
from lanescope.reader.code.word import UNKNOWN, Int, Span, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_DEEP = 3  # objects in objects that are copied


def evaluate_assignment(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    if ev.python:
        return _python_assign(ev, one, scope)
    made = ev.assign_place(one, scope)
    return ev.load(made, one) if isinstance(made, PLACES) else made


def assign_place(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    """Assign as C++ does, the right side first; return the place that was written."""
    argument: Any = None
    if isinstance(one.value, tree.Items) and one.value.type is None:
        place = _target(ev, one.target, scope)
        if isinstance(place, Part) and place.field.inner is not None:
            return _braced(ev, place, place.field.inner, one.value, scope)
        value: Any = ev.initial(one.value, _kind_of_place(ev, place), scope, getattr(place, "name", ""))
        if isinstance(value, Object):
            argument = ev.argument_of(value)
    else:
        argument = ev.evaluate_argument(one.value, scope) if not one.op else None
        value = _right_side(ev, one, scope, argument)
        place = _target(ev, one.target, scope)
    place = place.place if isinstance(place, Referred) else place
    if one.op:
        old = ev.load(place, one.target) if isinstance(place, PLACES) else place
        if isinstance(place, Cell) and isinstance(old, Term) and old.head == "uninitialised":
            old = ev.uninitialised(place, one.span)
        sign = one.op * 2 if one.step else f"{one.op}="
        given = None if one.step else value
        left = place if isinstance(place, PLACES) and not isinstance(old, Object) else old
        own = ev.operator(sign, left, given, one)
        if own is not None:
            return own.place if isinstance(own, Referred) else own
        declared = tree.Other("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
        value = ev.operate(one.op, old, value, one, left_at=declared, right_at=one.value)
    elif isinstance(place, PLACES) and _assigns_itself(ev, place):
        own = ev.operator("=", ev.load(place, one.target), argument or value, one)
        if own is not None:
            return own.place if isinstance(own, Referred) else own
    elif isinstance(place, Cell) and argument is not None and _assigned(ev, place, argument):
        return place
    value = value.place if isinstance(value, Referred) else value
    if not isinstance(place, PLACES):  # object.*member = …
        ev.forget_names(ev.text[slice(*one.target.span)], scope)
        hidden = isinstance(place, Term) and "::" in place.text
        around = ev.frames[-1].scope
        if hidden and around is not None and isinstance(one.target, tree.Unary):  # it may point to any member
            ev.forget_all(around)
        if isinstance(one.target, tree.Member):
            inner = ev.place(one.target.value, scope)
            ev.forget_alike(ev.load(inner, one) if isinstance(inner, PLACES) else inner, None)
        ev.forget_globals()
        return place if isinstance(place, Term) else value
    ev.wraps = bool(one.op)
    ev.store(place, value, one.span if one.op or not isinstance(place, Part) else one.value.span, one.span)
    ev.wraps = False
    return place


def _right_side(ev: Evaluator, one: tree.Assign, scope: Scope, argument: Any) -> Any:
    if argument is None:
        return ev.value(one.value, scope)
    value = argument.value
    plain = isinstance(value, Object) and value.held and not value.record.copies and not value.record.assigns
    return ev.copied(value, 1) if plain else value


def _assigned(ev: Evaluator, place: Cell, argument: Any) -> bool:
    """Assign an object where a member or a base has an operator= of its own; whether that was done."""
    old, value = place.value, argument.value
    if not isinstance(old, Object) or not isinstance(value, Object) or not old.record.assigns:
        return False
    if not value.record.descends(old.record) or value.record.hidden:
        return False
    ev.assign_into(old, old.record, argument)
    return True


def _assigns_itself(ev: Evaluator, place: Any) -> bool:
    """Whether a place holds an object whose class defines operator=."""
    value = place.value if isinstance(place, Cell) else None
    own = value.record.methods.get("operator=") if isinstance(value, Object) else None
    return own is not None and any(not f.defaulted for f in own.functions)


def _kind_of_place(ev: Evaluator, place: Any) -> Kind | None:
    if isinstance(place, Cell):
        if place.kind is None and isinstance(place.value, Object):
            return Kind(place.value.record.name, record=place.value.record)
        return place.kind
    return None


def _python_assign(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    if isinstance(one.target, tree.Items):
        value = ev.value(one.value, scope)
        for n, (_, target) in enumerate(one.target.items):
            ev.store(_target(ev, target, scope), ev.item(value, n, one.span), one.span)
        return value
    place = _target(ev, one.target, scope)
    if one.op:
        old = ev.load(place, one.target)
        if old is None:
            old = Int(0, PYTHON)
        right = ev.value(one.value, scope)
        declared = tree.Other("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
        value = ev.operate(one.op, old, right, one, left_at=declared, right_at=one.value)
    else:
        value = ev.value(one.value, scope)
    ev.store(place, value, one.span if one.op or not isinstance(place, Part) else one.value.span, one.span)
    return value


def _braced(ev: Evaluator, place: Part, inner: Record, given: tree.Items, scope: Scope) -> Any:
    """Members of a struct of bit fields by `{…}`: by their names, else in order; the others are 0."""
    whole = Int(0, UNKNOWN)
    ev.store(Part(place.of, replace(place.field, inner=None)), whole, given.span)
    for member, (key, value) in zip(inner.members, given.items, strict=False):
        ev.store(ev.member(place, key or member, value.span), ev.value(value, scope), value.span)
    return place


def _target(ev: Evaluator, target: tree.Expression, scope: Scope) -> Any:
    """The place an assignment writes to; a new variable in Python, and in a C snippet without its declaration."""
    if isinstance(target, tree.Name) and len(target.path) == 1:
        found = ev.resolve(target.path, scope, target.span[0])
        outer = ev.python and isinstance(found, Cell) and target.last not in ev.local(scope).names
        if isinstance(found, PLACES) and not outer:
            if isinstance(found, Cell) and isinstance(found.value, PLACES):
                return found.value
            return found
        if not ev.python and isinstance(found, Closure | Kind | Term):
            return found
        home = ev.local(scope)
        start = Term("", head="uninitialised") if not ev.python else None
        cell = home.names[target.last] = Cell(start, None, target.last, target.span, len(ev.frames), born=0)
        if outer and isinstance(found, Cell):
            cell.value = found.value
        return cell
    return ev.place(target, scope)


def local(ev: Evaluator, scope: Scope) -> Scope:
    """The scope new names of Python go to: the function's."""
    for one in scope.chain():
        if one.owner in ("function", "namespace") or one.parent is None:
            return one
    return scope


# stores ----------------------------------------------------------------------------------------------------------


def store(ev: Evaluator, place: Any, value: Any, span: Span, whole: Span | None = None) -> None:
    match place:
        case Cell() if isinstance(place.value, PLACES) and not ev.python:
            ev.store(place.value, value, span, whole)
        case Cell():
            unknown = isinstance(place.value, Term) and place.value.head != "uninitialised" and place.name != ""
            refers = place.kind.reference if place.kind is not None else unknown and "::" in place.value.text
            if unknown and refers and ev.frames[-1].scope is not None:
                ev.forget_all(ev.frames[-1].scope)  # it may refer to any of them
            _store_cell(ev, place, value, span, whole)
        case Part():
            _store_part(ev, place, value, span, whole)
        case Deref():
            _store_deref(ev, place, value, span)
        case Joint():
            _store_joint(ev, place, value, span)
        case Split():
            for one, first in ((place.yes, True), (place.no, False)):
                old = ev.load(one, tree.Other(""))
                made = (value, old) if first else (old, value)
                ev.store(one, ev.merge(place.condition, *made), span, whole)
        case Overlay():
            for name in place.of.record.overlaid - {place.name}:
                if name in place.of.members:
                    ev.forget(place.of.members[name])
            ev.store(place.place, value, span, whole)
        case Blurred():
            ev.forget(place.place)
        case Referred():
            ev.store(place.place, value, span, whole)


def _store_cell(ev: Evaluator, place: Cell, value: Any, span: Span, whole: Span | None) -> None:
    old = place.value
    if isinstance(old, Object) and old.record.fields is not None and not isinstance(value, Object):
        given = number(value)
        ctors = old.record.methods.get(old.record.name)
        if given is not None and ctors is None:
            ev.put(old.store, word.convert(given, old.store.value.type))
            ev.note(old.store, whole or span, place)
            return
    if isinstance(old, Object) and isinstance(value, Object) and not ev.python:
        if value.record is old.record:
            ev.copy_object(old, value)
        elif value.record.descends(old.record) and not value.record.hidden:
            ev.copy_object(old, ev.upcast(value, old.record))
        else:
            _assign_other(ev, place, old, value)
        ev.note(place, whole or span)
        return
    arrays = isinstance(old, Array) and isinstance(value, Array) and old.typed is not None and not ev.python
    if arrays and len(old.cells) == len(value.cells):
        for mine, other in zip(old.cells, value.cells, strict=True):
            ev.put(mine, ev.copied(other.value))
        return
    if isinstance(old, Array) and not isinstance(value, Array) and not ev.python:
        ev.forget(place)
        return
    if place.kind is not None:
        value = ev.converted(value, replace(place.kind, reference=""), span, place.name)
    ev.put(place, ev.copied(value))
    ev.note(place, whole or span)


def _assign_other(ev: Evaluator, place: Cell, old: Object, value: Object) -> None:
    """An object of one class assigned to one of another: by a constructor, else not known."""
    made = ev.converted(value, Kind(old.record.name, record=old.record), (0, 0))
    if isinstance(made, Object) and made.record is old.record:
        ev.copy_object(old, made)
    else:
        ev.forget(place)


def _store_part(ev: Evaluator, place: Part, value: Any, span: Span, whole: Span | None) -> None:
    store = place.of.store
    if isinstance(value, Part) and value.field.inner is not None:
        width = value.field.width
        value = word.extracted(value.of.store.value, value.field.low, width, IntegerType("bits", width, False))
    if isinstance(value, Array) and place.field.count:
        one = place.field.width // place.field.count
        for n, cell in enumerate(value.cells[: place.field.count]):
            part = Part(place.of, Field(place.field.low + n * one, one, place.field.whole))
            _store_part(ev, part, cell.value, span, whole)
        return
    if isinstance(value, Object) and value.record.fields is None and place.field.whole is not None:
        kind = Kind(place.field.whole.name, place.field.whole, place.field.whole.bits)
        value = ev.converted(value, kind, span)
    given = number(value)
    if place.field.width > 64 and (given is None or given.type.bits < place.field.width):
        ev.forget(place)
        return
    if given is None:
        given = free(str(value), UNKNOWN)
    if not isinstance(store.value, Int):
        ev.forget(store)
        return
    if place.field.whole is not None and place.field.whole.name == "bool":
        given = ev.narrowed(given, place.field.whole, span)
    if not ev.wraps and (place.of.record.bits == 64 or ev.python):
        ev.overflow(place.field, given, span)
    if place.field.whole is not None and place.field.width == store.value.type.bits:
        made = word.convert(ev.mark(given, span), store.value.type)
    else:
        given = ev.mark(given, span) if place.field.width > 16 else given  # several fields at once
        made = word.inserted(store.value, given, place.field.low, place.field.width, span)
    ev.put(store, made)
    if made.type.bits in (32, 64) or ev.python:
        ev.note(store, whole or span, record=place.of.record.name)
    else:
        _note_member(ev, place, whole or span)


def _note_member(ev: Evaluator, place: Part, span: Span) -> None:
    """Note a 64-bit member of a larger struct as a variable of its own."""
    store, first, past = place.of.store, place.field.low, place.field.low + place.field.width
    for name, field in (place.of.record.fields or {}).items():
        if field.width == 64 and field.low <= first and past <= field.low + 64 and isinstance(store.value, Int):
            key = id(store), field.low
            called = f"{store.name}.{name}" if store.name else name
            kind = field.whole or ULONG
            cell = ev.inner_words.setdefault(key, Cell(None, None, called, span))
            cell.value = word.extracted(store.value, field.low, 64, kind)
            ev.note(cell, span)
            return


def _store_deref(ev: Evaluator, place: Deref, value: Any, span: Span) -> None:
    array = place.pointer.array
    if ev.python:
        if array is not None and place.pointer.base.terms[1:]:
            for n, cell in enumerate(array.cells):
                if isinstance(cell.value, Int):
                    ev.put(cell, free(f"{array.name}[{n}]", cell.value.type))
        return
    ev.store_memory(place, value, span)


def _store_joint(ev: Evaluator, place: Joint, value: Any, span: Span) -> None:
    given = number(value)
    if given is None:
        given = free(ev.fresh(str(value)), UNKNOWN)
    given = word.convert(given, IntegerType("bits", sum(place.widths), False))
    low = 0
    for one, width in zip(place.places, place.widths, strict=True):
        ev.store(one, word.extracted(given, low, width, IntegerType("bits", width, False)), span)
        low += width


def copied(ev: Evaluator, value: Any, deep: int = 0) -> Any:
    """What an assignment keeps of a value: objects and arrays in them are copied in C++, lambdas with what they
    captured.
    """
    if ev.python:
        return value
    if isinstance(value, Referred):
        value = ev.load(value.place, tree.Other(""))
    if isinstance(value, Int) and value.type.field_bits:  # auto takes a bit field's declared type
        return word.convert(value, replace(value.type, field_bits=0))
    if isinstance(value, Part) and value.field.inner is not None:
        return ev.part_object(value)
    if isinstance(value, Object):
        if deep > MOST_DEEP:
            return Term(short(value))
        if value.record.copies and (value.held or deep):
            made = ev.copy_constructed(value, ev.argument_like(value))
            made.held = True
            return made
        if not value.held and not deep:
            value.held = True
            return value
        return Object(
            value.record,
            Cell(value.store.value, value.store.kind, value.store.name),
            {
                name: c if isinstance(c.value, PLACES) else Cell(ev.copied(c.value, deep + 1), c.kind, c.name)
                for name, c in value.members.items()
            },
            True,
        )
    if isinstance(value, Array) and (value.typed is not None or deep):
        cells = [Cell(ev.copied(c.value, deep + 1), c.kind, c.name) for c in value.cells]
        return Array(cells, value.element, value.name, value.typed)
    if isinstance(value, Closure) and value.captured is not None and value.captured.owner == "lambda":
        if "(new)" in value.captured.consts:  # the lambda itself
            value.captured.consts.discard("(new)")
            return value
        inner = Scope(value.captured.parent, "lambda")
        for name, cell in value.captured.names.items():
            own = isinstance(cell, Cell) and cell.frame < 0
            inner.names[name] = replace(cell, value=ev.copied(cell.value)) if own else cell
        return replace(value, captured=inner)
    return value


def symbolic(ev: Evaluator, kind: Kind | None, name: str) -> Any:
    """A value of a type of which only its name is known."""
    if kind is None:
        return Term(name)
    if kind.dims:
        return Pointer(symbol(name), replace(kind, dims=(), reference=""), kind.dims[1:])
    if kind.pointers:
        return Pointer(symbol(name), pointee(kind))
    if kind.whole is not None:
        return free(name, kind.whole)
    return Term(name, kind)


# given by the classes below
