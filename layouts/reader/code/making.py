"""What a variable of a type holds, how objects are constructed, and what a value becomes in another type."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, LONG, ULONG, IntegerType
from lanescope.reader.code import calls, tree, word
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.known import FIELDS_UNION, union_alike
from lanescope.reader.code.lifetimes import MADE, has_name, may_copy, own_members
from lanescope.reader.code.overloads import Argument, Candidate
from lanescope.reader.code.paths import ThrownError
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import (
    VOID,
    Address,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Overlay,
    Part,
    Pointer,
    Record,
    Referred,
    Scope,
    Term,
    number,
    size_bytes,
    unsized,
)
from lanescope.reader.code.word import UNKNOWN, Int, Span, free, symbol, times

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_ITEMS = 256
MOST_CELLS = 64  # items of an array without an initializer whose values are followed
_NAMED = re.compile(r"smem|shared|ptr|buf|tile|^s?[AB]\b|^[ab]s?\b|(?<![a-z])s[A-Z]", re.I)  # what a pointer is called
_CONSTANT = re.compile(r"::|^[A-Z][A-Z0-9_]{2,}$|^k[A-Z]\w+$|\(")  # and what a constant or a call
_INTEGRAL = re.compile(r"_(\d+)$")


def _is_zero(value: Any) -> bool:
    """Whether a value of an unknown type is written {} or {0}."""
    if not isinstance(value, Array):
        return False
    given = [number(one.value) for one in value.cells if not isinstance(one.value, Object | Array)]
    return len(given) == len(value.cells) and all(one is not None and one.known == 0 for one in given)


def whole_number(ev: Evaluator, value: Any) -> Int:
    found = number(value)
    return found if found is not None else free(str(value), UNKNOWN)


# objects ---------------------------------------------------------------------------------------------------------


def instance(ev: Evaluator, record: Record, name: str) -> Object:
    """Return a new object before its constructor: integers 0, other members symbols of their names."""
    bits = IntegerType(record.name, record.bits or 64, False, 9)
    made = Object(record, Cell(Int(0, bits), None, name or record.name, frame=len(ev.frames)))
    if record.ends and not ev.python:
        ev.temporaries.append((made, MADE))
    if record.fields is None and not record.python:
        for member, declared in record.members.items():
            kind = ev.kind(declared.type, record.homes.get(member, record.scope)) if declared.type else None
            own = f"{name}.{member}" if name else member
            if kind is not None and kind.record is not None and not kind.pointers and not kind.dims:
                value: Any = ev.instance(kind.record, own)  # its constructor runs where the class's says
                value.held = True
            else:
                value = ev.default(kind, own)
            made.members[member] = Cell(value, kind, own, declared.span)
    return made


def initialized(ev: Evaluator, record: Record, name: str) -> Object:
    """Return a new object as its default constructor leaves it."""
    return ev.constructed(ev.instance(record, name), [])


def constructed(ev: Evaluator, made: Object, given: list[Any], record: Record | None = None) -> Object:
    """Run the constructor of an object's class, or of a base, that takes some values; without constructors, members
    in their order.
    """
    record = record or made.record
    if record.python:
        return _python_constructed(ev, made, given)
    only = given[0] if len(given) == 1 else None
    fresh = only.value if isinstance(only, Argument) and only.where is None and not only.place else only
    if isinstance(fresh, Object) and fresh.record is record is made.record and not fresh.held:
        made.store, made.members, fresh.held = fresh.store, fresh.members, True  # the very object
        return made
    ctors = record.methods.get(record.name)
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        ev.run_constructor(made, record, ctors, given)
    elif len(given) == 1 and _alike(getattr(given[0], "value", given[0]), record):
        ev.copy_members(made, record, ev.argument_like(given[0]))
    elif ctors is not None and given and not record.python:
        ev.forget(Cell(made))
    elif given and record.fields is not None and len(given) == 1 and not isinstance(given[0], Object):
        _member_defaults(ev, made, record, Scope(record.scope))
        one = number(getattr(given[0], "value", given[0]))
        if one is not None and not _has_more(record):
            ev.store(Cell(made), one, (0, 0))
        else:
            _aggregate(ev, made, record, given)
    else:
        _aggregate(ev, made, record, given)
    return made


def _aggregate(ev: Evaluator, made: Object, record: Record, given: list[Any]) -> None:
    """Store values in members, in their order; those behind them begin as they are declared."""
    names = list(record.fields or made.members)
    scope = ev.this_scope(record.scope, made, record)
    if record.bases:
        _member_defaults(ev, made, record, scope)
    if len(given) > len(names):
        ev.forget(Cell(made))
        return
    for name, value in zip(names, given, strict=False):
        ev.begin(ev.member(made, name, (0, 0)), getattr(value, "value", value), (0, 0))
    if not record.bases:
        _member_defaults(ev, made, record, scope, frozenset(names[: len(given)]))


def _member_defaults(
    ev: Evaluator, made: Object, record: Record, scope: Scope, but: frozenset[str] = frozenset()
) -> None:
    """Give members what their declarations initialize them with, and bases' what theirs do."""
    before = made.dynamic
    try:
        for base in record.bases:
            if base.name not in but:
                ev.constructed(made, [], base)
        made.dynamic = record if not record.python else before
        for name, declared in record.members.items():
            home = record.homes.get(name)
            if (home is None or home.owner is record) and name not in but:
                _default_member(ev, made, name, declared, scope)
    finally:
        made.dynamic = before


def _zero_member(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    """Initialize a member that a list in braces leaves out: its own initializer, or zeros."""
    kind = ev.kind(declared.type, scope) if declared.type else None
    plain = declared.value is None and kind is not None and kind.record is None and not kind.reference
    if plain and kind is not None and name in made.members and (kind.dims or kind.whole is not None):
        made.members[name].value = _enclosing(v) if isinstance(v := _zero(ev, kind), Array) else v
    else:
        _default_member(ev, made, name, declared, scope)


def _default_member(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    """Initialize a member that a constructor does not name."""
    if declared.value is not None:
        _initialize(ev, made, name, declared, scope)
    elif name in made.members and isinstance(made.members[name].value, Object) and name not in made.record.overlaid:
        ev.constructed(made.members[name].value, [])


def _initialize(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    assert declared.value is not None
    place = ev.member(made, name, declared.span)
    kind = ev.kind(declared.type, scope) if declared.type else None
    first = declared.value
    value = ev.whole_expression(lambda: ev.initial(first, kind, scope, name), first.span)
    ev.begin(place, _initialized_by(ev, value, first, scope), first.span)


def begin(ev: Evaluator, place: Any, value: Any, span: Span) -> None:
    """Put a value into a member that nothing was put into: no operator= is called."""
    if isinstance(place, Overlay):
        for name in place.of.record.overlaid - {place.name}:
            if name in place.of.members:
                ev.forget(place.of.members[name])
        place = place.place
    old = place.value if isinstance(place, Cell) else None
    if isinstance(old, Object) and old.record.begins and not isinstance(value, Object):
        value = ev.converted(value, Kind(old.record.name, record=old.record), span)
        if not isinstance(value, Object):
            ev.forget(place)
            return
    if isinstance(old, Object) and isinstance(value, Object) and old.record is value.record and old.members:
        ev.put(place, ev.copied(value))
    else:
        ev.store(place, value, span)


def _initialized_by(ev: Evaluator, value: Any, one: tree.Expression, scope: Scope) -> Any:
    """What a variable or member gets of an object that an expression gives: a copy of one that has a name."""
    named = isinstance(value, Object) and (value.held or has_name(one))
    if named and value.record.copies and not ev.python:
        value = ev.copy_constructed(value, ev.argument_in(one, scope, value))
    return value


def argument_in(ev: Evaluator, one: tree.Expression, scope: Scope, value: Object) -> Argument:
    """An object that has a name, as the argument of a copy constructor."""
    moved = isinstance(one, tree.Call) and has_name(one)
    const = const_of(ev, one.arguments[0] if moved and isinstance(one, tree.Call) else one, scope)
    made: Argument = ev.argument_of_place(value)
    return replace(made, place=not moved, const=const, loose=not has_name(one))


def argument_like(ev: Evaluator, given: Any) -> Argument:
    """What a constructor is given, as an argument: of an object whose value category is not known."""
    if isinstance(given, Argument):
        return given
    made: Argument = ev.argument_of(given)
    if isinstance(given, Object) and given.held:
        return replace(made, place=True, const=None, loose=True, where=Cell(given, made.kind))
    return made


def run_constructor(ev: Evaluator, made: Object, record: Record, ctors: Closure, given: list[Any]) -> None:
    """Run the constructor that some values choose; nothing is known of one that is not chosen or has no body."""
    closure = replace(ctors, this=made, constant=False)
    arguments = [ev.argument_like(one) for one in given]
    first = arguments[0] if len(arguments) == 1 else None
    other = first.value if first is not None else None
    same = isinstance(other, Object) and other.record.descends(record)
    if first is not None and same and not any(may_copy(f, record.name, first) for f in ctors.functions):
        ev.copy_members(made, record, first)
        return
    chosen = ev.chosen(closure, arguments)
    if first is not None and same and (first.loose or first.const is None) and chosen is not None:
        chosen = chosen if not chosen.function.templates else None  # the implicit one may be the better
    if chosen is not None and chosen.function.defaulted:
        if first is not None and same:
            ev.copy_members(made, record, first)
        else:
            _member_defaults(ev, made, record, ev.this_scope(record.scope, made, record))
        return
    if chosen is None or (chosen.function.body is None and not chosen.function.starts):
        ev.forget(Cell(made.whole or made))
        ev.forget_call(arguments, closure)
        return
    function = chosen.function
    owner = closure.home(function).owner
    if isinstance(owner, Record) and owner is not record:  # using Base::Base
        _member_defaults(ev, made, record, ev.this_scope(record.scope, made, record), frozenset((owner.name,)))
        ev.run_constructor(made, owner, closure, given)
        return
    scope = ev.bound(closure, chosen, arguments, {})
    ev.called.add(id(function))
    ev.enter(function.name, function.span)
    _run_started(ev, made, record, function, scope)


def construct_entry(ev: Evaluator, function: tree.Function, home: Scope, made: Object, record: Record) -> None:
    """Run a constructor that nothing in the text calls, its parameters as symbols."""
    closure = Closure((function,), home, made)
    scope = ev.bound(closure, Candidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(id(function))
    ev.enter(function.name, function.span, entry=True)
    _run_started(ev, made, record, function, scope)


def _run_started(ev: Evaluator, made: Object, record: Record, function: tree.Function, scope: Scope) -> None:
    """Initialize bases and members as a constructor that was entered says, then run its body."""
    starts = dict(function.starts)
    before, made.dynamic = made.dynamic, record
    try:
        if record.name in starts:  # it delegates to another
            ev.constructed(made, ev.arguments(tree.Call(tree.Other(""), starts[record.name]), scope), record)
        else:
            for base in record.bases:
                values = starts.get(base.name)
                call = tree.Call(tree.Other(""), values or ())
                ev.constructed(made, ev.arguments(call, scope), base)
            for name, declared in record.members.items():
                home = record.homes.get(name)
                if home is not None and home.owner is not record:
                    continue
                if name in starts:
                    values = starts[name]
                    ev.whole_expression(partial(_start_member, ev, made, name, declared, values, scope), declared.span)
                else:
                    _default_member(ev, made, name, declared, scope)
        if function.body is not None:
            made.dynamic = record
            ev.finish(ev.run_body(function, scope), scope)
    except ThrownError:
        ev.perhaps(lambda: _end_parts(ev, made, record))
        raise
    finally:
        made.dynamic = before
        ev.leave()


def _end_parts(ev: Evaluator, made: Object, record: Record) -> None:
    """What of an object has begun ends when its constructor throws."""
    for name in reversed(own_members(record)):
        if name in made.members:
            ev.destroy(made.members[name].value, (0, 0))
    for base in reversed(record.bases):
        ev.destroy(Object(base, made.store, made.members, True, None, made), (0, 0))


def _started(ev: Evaluator, values: tuple[tree.Expression, ...], kind: Kind | None, scope: Scope) -> list[Any]:
    return [ev.initial(one, kind, scope, "") for one in values]


def _start_member(
    ev: Evaluator, made: Object, name: str, declared: tree.Declare, values: tuple[tree.Expression, ...], scope: Scope
) -> None:
    place = ev.member(made, name, declared.span)
    kind = ev.kind(declared.type, scope) if declared.type else None
    if kind is not None and kind.reference:
        if isinstance(place, Cell) and values:
            _refer_member(ev, place, name, kind, values[0], scope)
        return
    if kind is not None and (kind.dims or (kind.record is None and len(values) > 1)):
        items = tree.Items(tuple(("", one) for one in values))
        ev.store(place, ev.initial(items, kind, scope, name), declared.span)
    elif kind is not None and kind.record is not None and not kind.pointers:
        inner = place.value if isinstance(place, Cell) else None
        call = tree.Call(tree.Other(""), values)
        if isinstance(inner, Object) and not any(isinstance(v, tree.Items) for v in values):
            given = ev.arguments(call, scope)
            only = given[0].value if len(given) == 1 else None
            if isinstance(only, Object) and only.record is inner.record and not only.held and given[0].where is None:
                ev.put(place, ev.copied(only))  # the very object
            else:
                ev.constructed(inner, given)
        else:
            value = ev.construct(kind, _started(ev, values, None, scope), declared, scope)
            ev.begin(place, value, declared.span)
    else:
        value = ev.initial(values[0], kind, scope, name) if values else Int(0)
        ev.store(place, value, values[0].span if values else declared.span)


def _refer_member(ev: Evaluator, cell: Cell, name: str, kind: Kind, value: tree.Expression, scope: Scope) -> None:
    """Let a member that is a reference name a place."""
    place = ev.place(value, scope)
    inner = place.value if isinstance(place, Cell) else None
    if isinstance(inner, Object) and kind.record is not None and inner.record is not kind.record:
        cell.value = Cell(ev.upcast(inner, kind.record), replace(kind, reference=""))
    elif isinstance(place, Cell | Part):
        cell.value = place
    else:
        cell.value = Term(name)


def sliced_to(ev: Evaluator, value: Object, kind: Kind | None) -> Object:
    """An object as the base that a variable of a type gets a copy of."""
    record = kind.record if kind is not None and not kind.pointers else None
    if record is None or record is value.record or not record.copies or not value.record.descends(record):
        return value
    made = ev.upcast(value, record)
    return made if isinstance(made, Object) else value


def _python_constructed(ev: Evaluator, made: Object, given: list[Any]) -> Object:
    record = made.record
    if "__init__" in record.methods:
        ev.call(replace(record.methods["__init__"], this=made), given, {}, (0, 0))
    return made


def copy_object(ev: Evaluator, made: Object, other: Object) -> None:
    """Make an object's members what another's are, as its class assigns them."""
    kind = Kind(other.record.name, record=other.record, arguments=other.record.arguments)
    ev.assign_into(made, made.record, Argument(other, kind, True, None, where=Cell(other, kind), loose=True))


# values of a type ------------------------------------------------------------------------------------------------


def default(ev: Evaluator, kind: Kind | None, name: str, symbolic: bool = False) -> Any:
    """What a variable holds that nothing was put into."""
    if kind is None:
        return Term(name)
    if kind.dims:
        return _array(ev, kind, name)
    if kind.record is not None and not kind.pointers:
        return initialized(ev, kind.record, name) if not symbolic else ev.instance(kind.record, name)
    if kind.whole is not None and not kind.pointers and not symbolic:
        return Term(name, kind, head="uninitialised")
    return ev.symbolic(kind, name)


def _array(ev: Evaluator, kind: Kind, name: str) -> Any:
    element = replace(kind, dims=kind.dims[1:], reference="")
    size = kind.dims[0].known
    followed = kind.record is not None or (kind.whole is not None and not kind.pointers)
    if size is not None and 0 < size <= MOST_CELLS and followed:
        cells = [Cell(ev.default(element, f"{name}[{n}]"), element, f"{name}[{n}]") for n in range(size)]
        return _enclosing(Array(cells, element, name))
    bare = replace(kind, dims=(), reference="")
    return Pointer(symbol(name), bare, kind.dims[1:])


def described(ev: Evaluator, inner: tree.Expression, name: str, whole: Any, scope: Scope) -> Any:
    """A GmmaDescriptor that the text does not declare, or that a function without a body gives, as an object: its
    members say what it is. Its bits are symbols.
    """
    value = whole.value if isinstance(whole, Cell) else whole
    zero = isinstance(whole, Cell) and _is_zero(value) and whole.kind is not None and not whole.kind.dims
    value = Term(inner.last, whole.kind) if zero and isinstance(inner, tree.Name) else value
    if name == "bitfield" and isinstance(inner, tree.Name) and _lacks_bitfield(value):
        value = Term(inner.last)
    if not isinstance(value, Term) or not isinstance(inner, tree.Name):
        return whole
    halves = name in ("lo", "hi")
    other = name in ev.unions
    kind = ev.named_kind(FIELDS_UNION if other else "SmemDescriptor" if halves else "GmmaDescriptor", scope)
    if kind is None or kind.record is None or (halves and not _a_half(ev, inner.last)):
        return whole
    unknown = not halves and value.kind is not None and value.kind.record is None and value.kind.whole is None
    if value.kind is not None and value.kind.name != kind.name and not unknown:
        return whole
    of = value.kind.name if unknown and value.kind is not None else inner.last
    ev.foreign[of] = union_alike(ev.text) if other else kind.name
    made = ev.instance(kind.record, inner.last)
    if inner.last in ev.frames[-1].symbols or (value.head and value.head != "uninitialised"):
        made.store.value = free(value.text, ULONG)
    if zero:
        made.store.value = Int(0, ULONG)
    if isinstance(whole, Cell):
        ev.put(whole, made)
        return whole
    made.store.born = 0
    cell = ev.local(scope).names[inner.last] = Cell(made, None, inner.last, inner.span, len(ev.frames))
    return cell


def _a_half(ev: Evaluator, name: str) -> bool:
    """Whether name.lo is a descriptor's, and in a statement: a printout writes it as well."""
    return "desc" in name.lower() and ";" in ev.text


def construct(ev: Evaluator, kind: Kind | None, given: list[Any], at: tree.Node, scope: Scope) -> Any:
    """T(a, b) and T x(a, b)."""
    if kind is None:
        return Term("")
    if kind.record is not None and not kind.pointers:
        only = getattr(given[0], "value", given[0]) if len(given) == 1 else None
        if isinstance(only, Object) and only.record is kind.record:
            if only.record.copies and only.held:
                return ev.copy_constructed(only, ev.argument_like(given[0]))
            return ev.copied(only) if only.held else only
        return ev.constructed(ev.instance(kind.record, ""), given)
    if kind.whole is not None or kind.pointers:
        return ev.converted(given[0], kind, at.span) if given else Int(0, kind.whole or ULONG)
    constant = _integral(ev, kind)
    if constant is not None:
        return constant
    return Array([Cell(value) for value in given], None, "", kind)


def _integral(ev: Evaluator, kind: Kind) -> Int | None:
    """cute's static integers: _64{}, Int<64>{}, C<64>{}, integral_constant<int, 64>{}."""
    found = _INTEGRAL.fullmatch(kind.name)
    if found:
        return Int(int(found[1]), INT)
    if kind.name in ("Int", "C", "constant", "integral_constant", "Number") and kind.arguments:
        return number(kind.arguments[-1])
    return None


def initial(ev: Evaluator, one: tree.Expression, kind: Kind | None, scope: Scope, name: str) -> Any:
    """The value of an initialiser, {…} among them."""
    if not isinstance(one, tree.Items):
        return ev.value(one, scope)
    if one.type is not None:  # auto x = T{…}
        kind = ev.kind(one.type, scope)
    if kind is not None and kind.record is not None and not kind.dims and not kind.pointers and not ev.python:
        return _braced_object(ev, one, kind.record, scope, name)
    if kind is not None and kind.dims:
        return _braced_array(ev, one, kind, scope, name)
    items = [(key, ev.value(value, scope), value.span) for key, value in one.items[:MOST_ITEMS]]
    if kind is None:
        return Array([Cell(value, None, f"{name}[{n}]") for n, (_, value, _) in enumerate(items)], None, name)
    if kind.record is not None:
        return ev.constructed(ev.instance(kind.record, name), [value for _, value, _ in items])
    if kind.whole is not None or kind.pointers:
        return ev.converted(items[0][1], kind, items[0][2]) if items else Int(0, kind.whole or ULONG)
    constant = _integral(ev, kind)
    if constant is not None and not items:
        return constant
    return _library_array(ev, kind, items, name)


def _library_array(ev: Evaluator, kind: Kind, items: list[tuple[str, Any, Span]], name: str) -> Array:
    """std::array<T, n>{…} with zeros behind its items; a vector, or what is not known."""
    element = kind.arguments[0] if _element(kind) else None
    cells = [Cell(ev.converted(v, element, s) if element else v, element) for _, v, s in items]
    if kind.name.rpartition("::")[2] in ("pair", "tuple") and len(kind.arguments) == len(items):
        each = [one if isinstance(one, Kind) else None for one in kind.arguments]
        cells = [Cell(ev.converted(v, k, s) if k else v, k) for k, (_, v, s) in zip(each, items, strict=True)]
    size = number(kind.arguments[1]) if element is not None and len(kind.arguments) > 1 else None
    if len(items) == 1 and isinstance(items[0][1], Array) and size is not None:
        cells = [Cell(ev.copied(c.value), element) for c in items[0][1].cells]
    if element is not None and element.name.endswith("array") and element.arguments and not element.pointers:
        for cell in cells:  # std::array<std::array<T, m>, n>
            if isinstance(cell.value, Array) and cell.value.typed is None and not element.dims:
                inner = [("", one.value, (0, 0)) for one in cell.value.cells]
                cell.value = _library_array(ev, element, inner, "")
    if element is not None and size is not None and size.known is not None and kind.name.endswith("array"):
        while len(cells) < min(size.known, MOST_ITEMS):
            cells.append(Cell(_zero(ev, element), element))
    return _enclosing(Array(cells, element, name, kind))


def _zero(ev: Evaluator, element: Kind) -> Any:
    """An item that an initializer leaves out."""
    if element.dims:
        size = element.dims[0].known or 0
        inner = replace(element, dims=element.dims[1:])
        return _enclosing(Array([Cell(_zero(ev, inner), inner) for _ in range(min(size, MOST_ITEMS))], inner))
    if element.record is not None and not element.pointers:
        return initialized(ev, element.record, "")
    if element.whole is not None and not element.pointers:
        return Int(0, element.whole)
    return ev.symbolic(element, "0")


def _braced_array(ev: Evaluator, one: tree.Items, kind: Kind, scope: Scope, name: str) -> Any:
    element = replace(kind, dims=kind.dims[1:], reference="", const=False)
    size = kind.dims[0].known if kind.dims[0].known else None
    checked = [v for _, v in one.items]
    if len(checked) == 1 and isinstance(checked[0], tree.Text) and element.whole is not None:
        return ev.text_array(checked[0].value, kind, name)
    if any(key for key, _ in one.items) or len(one.items) > MOST_ITEMS:
        return Term(name or "{…}")
    if element.dims and any(not isinstance(value, tree.Items) for _, value in one.items):
        return Term(name or "{…}")  # braces left out
    cells: list[Cell] = []
    for n, (_, value) in enumerate(one.items):
        if isinstance(value, tree.Unary) and value.op == "...":
            made = [ev.converted(v, element, value.span) for v in ev.expanded(value.value, scope)]
        elif element.record is not None and not element.pointers and not isinstance(value, tree.Items):
            whole = ev.value(value, scope)
            if not isinstance(whole, Object) or whole.record is not element.record:
                return _undone(ev, one, scope, name)
            made = [ev.copied(_initialized_by(ev, whole, value, scope))]
        else:
            made = [ev.converted(ev.initial(value, element, scope, f"{name}[{n}]"), element, value.span)]
        cells += [Cell(v, element, f"{name}[{len(cells) + k}]") for k, v in enumerate(made)]
    if element.record is not None and not element.pointers and any(not isinstance(c.value, Object) for c in cells):
        return _undone(ev, one, scope, name)
    while size is not None and len(cells) < min(size, MOST_ITEMS):
        cells.append(Cell(_zero(ev, element), element, f"{name}[{len(cells)}]"))
    return _enclosing(Array(cells, element, name))


def _undone(ev: Evaluator, one: tree.Items, scope: Scope, name: str) -> Term:
    """A list whose items begin objects in a way that is not followed."""
    ev.forget_all(scope)
    return Term(name or "{…}")


def text_array(ev: Evaluator, text: str, kind: Kind, name: str) -> Any:
    """char name[] = "text"."""
    element = replace(kind, dims=(), reference="", const=False)
    if "\\" in text or len(kind.dims) != 1 or element.whole is None or element.whole.bits != 8:
        return Term(name or "{…}")
    codes = [ord(letter) for letter in text] + [0]
    size = kind.dims[0].known or len(codes)
    codes += [0] * (min(size, MOST_ITEMS) - len(codes))
    kinds = element.whole
    return Array([Cell(Int(kinds.wrap(c), kinds), element, f"{name}[{n}]") for n, c in enumerate(codes)], element, name)


def _braced_object(ev: Evaluator, one: tree.Items, record: Record, scope: Scope, name: str) -> Any:
    """T{…}: its constructor where it has one, else its members by their names or in order."""
    made = ev.instance(record, name)
    ctors = record.methods.get(record.name)
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        listed = [f for f in ctors.functions if _takes_list(f)]
        if listed and one.items:
            return _listed(ev, made, one, listed[0], ctors, scope)
        call = tree.Call(tree.Other(""), tuple(value for _, value in one.items), span=one.span)
        return ev.constructed(made, ev.arguments(call, scope))
    first = next(iter(record.members.values()), None)
    refers = first is not None and first.type is not None and bool(first.type.reference)
    if len(one.items) == 1 and not one.items[0][0] and not isinstance(one.items[0][1], tree.Items) and not refers:
        only = ev.value(one.items[0][1], scope)
        if isinstance(only, Object) and only.record is record:
            only = _initialized_by(ev, only, one.items[0][1], scope)
            return ev.copied(only) if only.held else only
        if isinstance(only, Object | Array) or (record.bases and any(b.members for b in record.bases)):
            return ev.forgotten(made)
        _aggregate(ev, made, record, [only])
        but = frozenset(list(record.members)[:1])
        _member_defaults(ev, made, record, ev.this_scope(record.scope, made, record), but)
        return made
    if (record.bases or record.opaque) and one.items:
        ev.forget_all(scope)
        return ev.forgotten(made)
    names = list(record.members)
    if record.decl is not None and record.decl.union:
        names = names[:1]
    if len(one.items) > len(names) or (set(names) & {""}):
        return ev.forgotten(made)
    named = {key or names[n]: value for n, (key, value) in enumerate(one.items)}
    if not named.keys() <= record.members.keys():
        return ev.forgotten(made)
    own = ev.this_scope(record.scope, made, record)
    for member, declared in record.members.items():
        if member not in named:
            if not (record.decl is not None and record.decl.union and named):
                _zero_member(ev, made, member, declared, own)
            continue
        value = named[member]
        kind = ev.kind(declared.type, record.scope) if declared.type else None
        place = ev.member(made, member, value.span)
        if kind is not None and kind.reference:
            _start_member(ev, made, member, declared, (value,), scope)
            continue
        if isinstance(value, tree.Items) and kind is not None and kind.record is None and kind.dims:
            array = ev.initial(value, kind, scope, member)
            if isinstance(place, Part) and isinstance(array, Array):
                _store_array(ev, place, array, value.span)
                continue
            ev.store(place, array, value.span)
        elif kind is not None and (kind.dims or kind.record is not None) and not isinstance(value, tree.Items):
            whole = ev.value(value, scope)
            if not isinstance(whole, Object) or whole.record is not kind.record:
                return ev.forgotten(made)  # braces left out
            ev.begin(place, _initialized_by(ev, whole, value, scope), value.span)
        else:
            ev.begin(place, ev.initial(value, kind, scope, member), value.span)
    return made


def _listed(
    ev: Evaluator, made: Object, one: tree.Items, function: tree.Function, ctors: Closure, scope: Scope
) -> Object:
    """T{a, b} by a constructor that takes std::initializer_list."""
    home = ctors.home(function)
    kind = ev.kind(function.parameters[0].type, home) if function.parameters[0].type else None
    element = kind.arguments[0] if kind is not None and kind.arguments else None
    if not isinstance(element, Kind):
        return ev.forgotten(made)
    cells = [Cell(ev.converted(ev.value(v, scope), element, v.span), element) for _, v in one.items]
    closure = replace(ctors, functions=(function,), homes=(home,))
    return constructed_by(ev, made, closure, [Array(cells, element, "", kind)])


def constructed_by(ev: Evaluator, made: Object, closure: Closure, given: list[Any]) -> Object:
    ev.run_constructor(made, made.record, closure, given)
    return made


def _store_array(ev: Evaluator, place: Part, array: Array, span: Span) -> None:
    one = place.field.width // place.field.count
    for n, cell in enumerate(array.cells):
        low = place.field.low + n * one
        ev.store(Part(place.of, type(place.field)(low, one, place.field.whole)), cell.value, span)


def forgotten(ev: Evaluator, made: Object) -> Object:
    ev.forget(Cell(made))
    return made


# conversions -----------------------------------------------------------------------------------------------------


def converted(ev: Evaluator, value: Any, kind: Kind, span: Span, name: str = "") -> Any:
    """A value put into a type."""
    if kind.dims:
        return value
    if kind.pointers:
        return _to_pointer(ev, value, kind)
    if kind.whole is not None:
        if isinstance(value, Object) and (value.record.fields is None or _converts(value.record)):
            value = ev.decay(value, kind)
        if isinstance(value, Part) and value.field.inner is not None and _converts(value.field.inner):
            value = ev.decay(ev.part_object(value), kind)
        given = number(value)
        if given is None or (isinstance(value, Array) and value.typed is None):
            return value
        if isinstance(value, Term) and value.kind is not None and value.kind.name in ("float", "double"):
            return free(f"({kind.whole.name}){value.text}", kind.whole)
        return ev.narrowed(given, kind.whole, span, name)
    if kind.record is not None and not isinstance(value, Object):
        return _to_record(ev, value, kind.record, name)
    if kind.record is not None and value.record is not kind.record and not kind.reference:
        return _sliced(ev, value, kind.record, name)
    if isinstance(value, Int) and kind.bits and kind.name in ("float", "double", "half", "__half"):
        return Term(f"({kind.name}){value}", kind)
    unknown = kind.open and not kind.arguments and not ev.python and kind.name not in ("auto", "", "decltype")
    unknown = unknown and not re.search(r"desc|64|word", kind.name, re.I)
    if unknown and isinstance(value, Int) and value.known is not None and not 0 <= value.known < 128:
        return Term(f"({kind}){value}"[:100], kind)
    if isinstance(value, Int) and kind.unbound and not (value.known is not None and 0 <= value.known < 128):
        return Term(f"({kind}){value}"[:100], kind)
    return value


def _to_record(ev: Evaluator, value: Any, record: Record, name: str) -> Any:
    given = number(value)
    ctors = record.methods.get(record.name)
    if ctors is not None and any(f.explicit for f in ctors.functions) and not isinstance(value, Term):
        kept = tuple(f for f in ctors.functions if not f.explicit)
        if not kept:
            return Term(f"{record.name}({value})"[:80], Kind(record.name, record=record))
        ctors = replace(ctors, functions=kept, homes=tuple(ctors.home(f) for f in kept))
        return constructed_by(ev, ev.instance(record, name), ctors, [value])
    if ctors is not None and any(f.body is not None for f in ctors.functions) and not isinstance(value, Term):
        return ev.constructed(ev.instance(record, name), [value])
    if given is not None and record.fields is not None and not isinstance(value, Term):
        made = ev.instance(record, name)
        made.store.value = word.convert(given, made.store.value.type)
        return made
    return value


def _sliced(ev: Evaluator, value: Object, record: Record, name: str) -> Any:
    """An object where one of another class is needed: its base's part, or what a constructor makes of it."""
    made = ev.instance(record, name)
    if value.record.descends(record) and record.copies and not value.record.hidden:
        ev.copy_into(made, record, replace(ev.argument_of_place(value), const=None, loose=True))
        return made
    if value.record.descends(record) and record.fields is None and not value.record.hidden:
        for member, cell in made.members.items():
            if member in value.members:
                ev.put(cell, ev.copied(value.members[member].value))
        return made
    ctors = record.methods.get(record.name)
    if ctors is not None and not value.record.descends(record):
        return ev.constructed(made, [value])
    return ev.forgotten(made)


def _to_pointer(ev: Evaluator, value: Any, kind: Kind) -> Any:
    element = replace(kind, pointers=kind.pointers - 1, reference="", dims=())
    if kind.pointers == 1 and kind.name == "void":
        element = VOID
    if isinstance(value, Address) and not ev.python:
        return _recast_address(ev, value, element)
    if isinstance(value, Pointer):
        keep = kind.name in ("auto", "")
        own = value.element if keep else element
        at = value.at if keep or own == value.element else _recast(value.at, value.element, own)
        return Pointer(value.base, own, value.dims if keep else (), value.shared, value.array, at)
    if isinstance(value, Int):
        return ev.pointed(value, element) or Pointer(value.linear(), element)
    if isinstance(value, Term):
        unsure = element.open and (not value.kind or value.kind.open) and not ev.python
        return Pointer(symbol(value.text), unsized(value.text) if unsure else element)
    if isinstance(value, Array) and (value.name or value.typed is None):
        made = ev.decayed(value)
        own = made.element if kind.name in ("auto", "") else element
        return replace(made, element=own)
    return value


def _recast_address(ev: Evaluator, value: Address, element: Kind) -> Any:
    """&variable as a pointer to another type."""
    if element.name in ("void", "auto", "") and not element.pointers:
        return value
    inner = ev.load(value.place, tree.Other(""))
    if isinstance(inner, Object) and element.record is not None and inner.record.descends(element.record):
        if inner.record is element.record:
            return replace(value, element=None) if value.at.known == 0 else value
        return Address(Cell(ev.upcast(inner, element.record), element))
    down = inner.whole if isinstance(inner, Object) and ev.casting else None
    if down is not None and element.record is not None and down.record.descends(element.record):
        same = down.record is element.record
        return Address(Cell(down if same else ev.upcast(down, element.record), element))
    own = value.element or ev.declared_kind(value.place, inner)
    bare = replace(element, const=False)
    if own is None or same_type(replace(own, const=False, reference=""), bare) is not False:
        return value
    at = _recast(value.at, own, bare)
    return Address(value.place, bare, at if at is not None else free("?", LONG))


def decay(ev: Evaluator, value: Object, kind: Kind) -> Any:
    """An object's conversion to an integer, where it has an operator for it: that of the very type, or the only
    one.
    """
    found: list[tuple[Closure, Kind]] = []
    for name, closure in value.record.methods.items():
        if name.startswith("operator ") and closure.functions[0].returns is not None:
            if not ev.casting and kind.whole is not BOOL and any(f.explicit for f in closure.functions):
                continue
            found.append((closure, ev.kind(closure.functions[0].returns, closure.home(closure.functions[0]))))
    exact = [closure for closure, target in found if target.whole == kind.whole]
    whole = [closure for closure, target in found if target.whole is not None and not target.pointers]
    chosen = exact if len(exact) == 1 else whole if len(whole) == 1 else []
    if not chosen:
        return Term(f"({kind}){value}") if found else value
    made = ev.call(replace(chosen[0], this=value), [], {}, (0, 0))
    return ev.load(made.place, tree.Other("")) if isinstance(made, Referred) else made


def part_object(ev: Evaluator, part: Part) -> Object:
    """A member that is a struct, as an object of its own."""
    inner = part.field.inner
    assert inner is not None
    made = ev.instance(inner, inner.name)
    made.store.value = word.extracted(part.of.store.value, part.field.low, part.field.width, made.store.value.type)
    return made


def shared_address(ev: Evaluator, value: Any) -> Any:
    """__cvta_generic_to_shared takes a pointer, so what it is given is one."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        ev.lent[f"&{value.place.name}"] = value.place
    return calls.shared_address(ev.pointed(value, VOID) or value if isinstance(value, Int) else value)


def pointed(ev: Evaluator, value: Int, element: Kind, cast: bool = False) -> Pointer | None:
    """name + n where a pointer is needed, and the text does not declare the name; None for anything else.

    C++ converts no other pointer and no integer to T*, so for a T* the name is a T* and n counts its elements. What
    void*, a template's T* or a cast is given may point to anything: n counts sizeof(*name).
    """
    line = value.plain
    if line is None or not value.pieces or value.pieces[0].width <= 32:
        return None
    names = [name for name, factor in line.terms if factor == 1 and name in ev.loose]
    names = [one for one in names if not _CONSTANT.search(one)] or names
    name = next((one for one in names if _NAMED.search(one)), names[0] if names else "")
    if not name:
        return None
    if element.bits and element.name != "void" and not element.pointers and not cast:
        size = size_bytes(element)
    else:
        size = size_bytes(unsized(name))
        if cast and element.bits and element.name != "void":
            ev.recast.add(name)
    base = symbol(name)
    for other, factor in line.terms:
        if other != name:
            base += times(free(other, ULONG), size).linear().scaled(factor)
    base += size.linear().scaled(line.const)
    return Pointer(base, unsized(name) if element.open else element)


# given by the classes below


def _recast(at: Int | None, old: Kind | None, new: Kind | None) -> Int | None:
    """A count of elements of one type, counted in another; None where it is no whole number."""
    if at is None or at.known is None:
        return None
    if at.known == 0:
        return at
    sizes = [size_bytes(kind).known if kind is not None else None for kind in (old, new)]
    if not sizes[0] or not sizes[1] or at.known * sizes[0] % sizes[1]:
        return None
    return Int(at.known * sizes[0] // sizes[1], LONG)


def _alike(value: Any, record: Record) -> bool:
    return isinstance(value, Object) and value.record is record


def _enclosing(array: Array) -> Array:
    """An array whose items, where they are arrays, know it."""
    for cell in array.cells:
        if isinstance(cell.value, Array):
            cell.value.inside = array
        elif isinstance(cell.value, Object):
            cell.value.held = True
    return array


def _takes_list(function: tree.Function) -> bool:
    types = [p.type for p in function.parameters]
    return len(types) == 1 and types[0] is not None and types[0].name == "initializer_list"


def _converts(record: Record) -> bool:
    return any(name.startswith("operator ") for name in record.methods)


def _has_more(record: Record) -> bool:
    """Whether the first member of a struct of integers is not the whole of it."""
    fields = record.fields or {}
    first = next(iter(fields.values()), None)
    named = record.decl is not None and not record.decl.union and not record.python
    return named and first is not None and len(fields) > 1 and first.width < record.bits


def _element(kind: Kind) -> bool:
    return (
        kind.name.rpartition("::")[2] in ("array", "vector", "initializer_list", "Array")
        and bool(kind.arguments)
        and isinstance(kind.arguments[0], Kind)
    )


def _lacks_bitfield(value: Any) -> bool:
    """Whether a value is of CUTLASS's tcgen05 union; unions with a member `bitfield` have that name as well."""
    named = isinstance(value, Object) and value.record.name == "SmemDescriptor"
    return named and "bitfield" not in value.record.members
