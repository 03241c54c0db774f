"""What an expression names: a cell, a part of an object, what a pointer points to; members, items and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, LONG, UINT, ULONG, IntegerType
from lanescope.reader.code import tree, word
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.known import BUILT_IN, CONSTANTS, OF_DESCRIPTOR
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import (
    PLACES,
    VOID,
    Address,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Enumeration,
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
    Template,
    Term,
    moved,
    number,
    size_bytes,
    unsized,
)
from lanescope.reader.code.word import Int, Linear, Span, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_LEAVES = 128  # integers of an object that is read as another type


def place(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """What an expression names: a cell, a part of an object, what a pointer points to; else its value."""
    match one:
        case tree.Name() | tree.Type():
            found = ev.resolve(one.path, scope, one.span[0])
            return found if isinstance(found, (*PLACES, Enumeration)) else ev.named(one, scope)
        case tree.Member(value=inner, name=name):
            whole = ev.place(inner, scope)
            if one.arrow:
                whole = pointed_object(ev, whole, one)
            if (name in OF_DESCRIPTOR or name in ev.unions) and not ev.python:
                whole = ev.described(inner, name, whole, scope)
            if one.owner:
                return _qualified_member(ev, whole, one, scope)
            return ev.member(whole, name, one.span, one.templates)
        case tree.Index(value=inner, indices=indices):
            whole = ev.place(inner, scope)
            const = const_of(ev, inner, scope) if "[" in ev.overloaded and not ev.python else None
            for index in indices:
                whole = _indexed(ev, whole, ev.value(index, scope), one, const)
            return whole
        case tree.Unary(op="*", value=inner):
            return ev.pointee_of(ev.value(inner, scope), one)
        case tree.Assign() if not ev.python:
            return ev.assign_place(one, scope)
        case tree.Binary(op=",") if not ev.python:
            ev.value(one.left, scope)
            return ev.place(one.right, scope)
        case tree.Choice() if not ev.python:
            condition = ev.truth(asked := ev.value(one.condition, scope))
            if condition is not None:
                chosen = ev.place(one.yes if condition else one.no, scope)
                return chosen if isinstance(chosen, PLACES) else ev.chosen_arm(one, condition, chosen, scope)
            if any(ev.summaries.of(arm).calls or ev.summaries.of(arm).names for arm in (one.yes, one.no)):
                return ev.evaluate_both_arms(one, ev.condition_text(asked, one.condition), scope)
            yes, no = ev.place(one.yes, scope), ev.place(one.no, scope)
            if isinstance(yes, PLACES) and isinstance(no, PLACES):
                return Split(ev.words(one.condition), yes, no)
            return ev.merge(ev.words(one.condition), ev.load(yes, one.yes), ev.load(no, one.no))
        case tree.Cast(type=kind, value=inner) if kind.reference:
            return _cast_reference(ev, ev.kind(kind, scope), ev.place(inner, scope))
        case tree.Call() if not ev.python:
            made = ev.evaluate_call(one, scope)
            return made.place if isinstance(made, Referred) else made
        case _:
            return ev.value(one, scope)


def load(ev: Evaluator, place: Any, at: tree.Expression) -> Any:
    """What stands in a place."""
    if isinstance(place, Cell):
        return place.value if not isinstance(place.value, PLACES) else ev.load(place.value, at)
    if isinstance(place, Part):
        return _load_part(ev, place)
    if isinstance(place, Deref):
        return _load_memory(ev, place, at)
    if isinstance(place, Joint):
        return _load_joint(ev, place, at)
    if isinstance(place, Split):
        return ev.merge(place.condition, ev.load(place.yes, at), ev.load(place.no, at))
    if isinstance(place, Overlay):
        return ev.load(place.place, at)
    if isinstance(place, Blurred):
        return ev.symbolic(place.kind, ev.fresh(ev.words(at) or "?"))
    if isinstance(place, Referred):
        return ev.load(place.place, at)
    return place


def _load_part(ev: Evaluator, place: Part) -> Any:
    if place.field.inner is not None or place.field.count:
        return place
    store = place.of.store.value
    kind = place.field.whole or ULONG
    if not isinstance(store, Int):
        return Term(f"{place.of.store.name or '?'}", Kind(kind.name, kind, kind.bits))
    if place.field.width == store.type.bits and not place.field.low:
        return word.convert(store, kind)
    return word.extracted(store, place.field.low, place.field.width, kind)


def _load_joint(ev: Evaluator, place: Joint, at: tree.Expression) -> Int:
    total = Int(0, IntegerType("bits", sum(place.widths), False))
    low = 0
    for one, width in zip(place.places, place.widths, strict=True):
        value = number(ev.load(one, at))
        if value is None:
            return free(ev.fresh("?"), place.whole)
        cut = word.convert(word.convert(value, IntegerType("bits", width, False)), total.type)
        total = word.either(total, word.shifted(cut, low))
        low += width
    return word.convert(replace(total, type=IntegerType("bits", low, False)), place.whole)


# pointers --------------------------------------------------------------------------------------------------------


def pointee_of(ev: Evaluator, value: Any, at: tree.Expression) -> Any:
    """What *value names."""
    if isinstance(value, Address):
        return ev.target(value)
    if isinstance(value, Array) and not ev.python:
        value = ev.decayed(value)
    if isinstance(value, Closure):
        return value
    if isinstance(value, Pointer):
        if value.dims and value.array is None:
            return Pointer(value.base, value.element, value.dims[1:], value.shared)
        return item_at(ev, value)
    if isinstance(value, Object):
        made = ev.operator("*", value, None, at)
        return made.place if isinstance(made, Referred) else made if made is not None else Term(ev.words(at))
    if isinstance(value, Int) and value.known is None:
        value = ev.pointed(value, VOID) or value
        if isinstance(value, Pointer):
            return Deref(value)
    return Term(f"*{value}")


def item_at(ev: Evaluator, pointer: Pointer) -> Any:
    """The place that a pointer points to."""
    array = pointer.array
    if array is None:
        return Deref(pointer)
    same = pointer.element is None or array.element is None or same_type(_bare(pointer.element), _bare(array.element))
    if same:
        at = pointer.at.known if pointer.at is not None else None
        if at is not None and 0 <= at < len(array.cells):
            return array.cells[at]
        return _beyond(array, at, pointer.element)
    return viewed(ev, Cell(array), pointer.element, pointer.at)


def target(ev: Evaluator, address: Address) -> Any:
    """The place that an address means, as the type that a cast gave it."""
    if address.element is None and address.at.known == 0:
        return address.place
    return viewed(ev, address.place, address.element or ev.kind_of(ev.load(address.place, tree.Other(""))), address.at)


def viewed(ev: Evaluator, place: Any, element: Kind | None, at: Int | None) -> Any:
    """Bytes of an object as an integer of another type: `((uint32_t*)&desc)[1]`."""
    if element is None or element.pointers or at is None or at.known is None:
        return Blurred(place, element)
    if element.record is not None:
        return _viewed_record(ev, place, element.record, at.known)
    if element.whole is None or element.whole.bits < 8:
        return Blurred(place, element)
    return ev.viewed_bits(place, element, at.known * element.whole.bits)


def viewed_bits(ev: Evaluator, place: Any, element: Kind, low: int) -> Any:
    """An integer of a type that begins at a bit of an object."""
    assert element.whole is not None
    if isinstance(place, Part) and place.of.record.bits and place.of.record.fields:
        low, place = low + place.field.low, Cell(place.of)
    leaves = list(_leaves(ev, place))
    if not leaves or any(width == 0 for _, width in leaves):
        return Blurred(place, element)
    width = element.whole.bits
    taken, start = [], 0
    for leaf, bits in leaves:
        if start < low + width and low < start + bits:
            taken.append((leaf, start, bits))
        start += bits
    if low < 0 or low + width > start:
        return Blurred(Cell(place.of) if isinstance(place, Part) else place, element)
    if len(taken) == 1:
        leaf, begin, bits = taken[0]
        return Part(leaf.of, Field(leaf.field.low + low - begin, width, element.whole))
    if taken[0][1] != low or taken[-1][1] + taken[-1][2] != low + width:
        return Blurred(place, element)
    return Joint(tuple(leaf for leaf, _, _ in taken), tuple(bits for _, _, bits in taken), element.whole)


def _viewed_record(ev: Evaluator, place: Any, record: Record, at: int) -> Any:
    """An integer as a struct of bit fields: `reinterpret_cast<Bits*>(&desc)->stride`."""
    value = place.value if isinstance(place, Cell) else place
    leaves = list(_leaves(ev, place))
    if record.fields is None or at or len(leaves) != 1 or leaves[0][1] < record.bits:
        return Blurred(place, Kind(record.name, record=record))
    if isinstance(value, Object) and value.record is record:
        return place
    leaf = leaves[0][0]
    return Part(leaf.of, Field(leaf.field.low, record.bits, None, record))


def _leaves(ev: Evaluator, place: Any, deep: int = 0) -> Iterator[tuple[Part, int]]:
    """The integers that an object is made of, each as a part with its width in bits; a width of 0 where unknown."""
    value = place.value if isinstance(place, Cell) else place
    if isinstance(value, PLACES) and not isinstance(place, Part) and not isinstance(value, Part):
        yield from _leaves(ev, value, deep + 1)
    elif isinstance(value, Part):
        width = value.field.width
        yield Part(value.of, Field(value.field.low, width, value.field.whole)), width
    elif isinstance(value, Object) and value.record.fields is not None and value.record.bits:
        yield Part(value, Field(0, value.record.bits, None)), value.record.bits
    elif isinstance(value, Array) and deep < 3 and len(value.cells) <= MOST_LEAVES:
        for cell in value.cells:
            yield from _leaves(ev, cell, deep + 1)
    elif isinstance(place, Cell):
        kind = place.kind.whole if place.kind is not None and not place.kind.pointers else None
        if isinstance(value, Term) and value.head == "uninitialised" and kind is not None:
            place.value = value = Int(0, kind)
        bits = value.type.bits if isinstance(value, Int) else 0
        if bits < 8:
            bits = 0
        yield Part(Object(Record("bits", None, Scope(), {}, bits), place), Field(0, bits, None)), bits
    else:
        yield Part(Object(Record("bits", None, Scope(), {}, 0), Cell(Int(0))), Field(0, 0, None)), 0


def _cast_reference(ev: Evaluator, kind: Kind, place: Any) -> Any:
    """What reinterpret_cast<T&>(place) and static_cast<T&&>(place) name."""
    value = ev.load(place, tree.Other(""))
    own = place.kind if isinstance(place, Cell) and place.kind is not None else ev.kind_of(value)
    bare = replace(kind, reference="", const=False)
    if own is None or kind.name == "auto" or same_type(_bare(own), _bare(bare)) is not False:
        return place
    if isinstance(value, Object) and bare.record is not None and value.record.descends(bare.record):
        return place if value.record is bare.record else Cell(ev.upcast(value, bare.record), bare)
    down = value.whole if isinstance(value, Object) else None
    if down is not None and bare.record is not None and down.record.descends(bare.record):
        return Cell(down if down.record is bare.record else ev.upcast(down, bare.record), bare)
    return viewed(ev, place, bare, Int(0))


# memory that no variable of the text is ---------------------------------------------------------------------------


def _memory_key(ev: Evaluator, pointer: Pointer) -> tuple[str, int]:
    kind = pointer.element
    return str(pointer.base), kind.bits or 0 if kind is not None and not kind.pointers else 64


def _load_memory(ev: Evaluator, place: Deref, at: tree.Expression) -> Any:
    known = ev.memory.get(_memory_key(ev, place.pointer))
    if known is not None:
        return known[1].value
    element = place.pointer.element
    text = ev.words(at)
    if ev.written_memory:
        text = ev.fresh(text)
    if element is not None and element.whole is not None and not element.pointers:
        made: Any = free(text, element.whole)
    elif element is not None and element.pointers:
        made = Pointer(symbol(text), pointee(element))
    else:
        return Term(text, element, span=at.span)
    ev.memory[_memory_key(ev, place.pointer)] = place.pointer, Cell(made, element, text)
    return made


def store_memory(ev: Evaluator, place: Deref, value: Any, span: Span) -> None:
    """Write through a pointer to no variable; what other pointers of the same name may mean is forgotten."""
    ev.written_memory = True
    pointer = place.pointer
    if not ev.python and any("::" in name for name, _ in pointer.base.terms) and ev.frames[-1].scope is not None:
        ev.forget_all(ev.frames[-1].scope)  # of a hidden member, which may point to any of them
    if any("(" in name for name, _ in pointer.base.terms):  # from a function: it may point to any variable
        ev.forget_globals()
    for escaped in list(ev.escaped.values()):
        ev.forget(escaped, integers=True)
    key = _memory_key(ev, pointer)
    for other, (apart, cell) in list(ev.memory.items()):
        if other != key and _may_alias(pointer, apart):
            ev.put(cell, ev.symbolic(cell.kind, ev.fresh(cell.name)))
    name = next((term for term, factor in pointer.base.terms if factor == 1), str(pointer.base))
    known = ev.memory.get(key)
    if known is None:
        cell = Cell(ev.symbolic(pointer.element, ev.fresh(f"*{name}")), pointer.element, name, span)
        known = ev.memory[key] = pointer, cell
    element = pointer.element
    if element is not None and (element.whole is not None or element.pointers):
        value = ev.converted(value, element, span)
    ev.put(known[1], value)
    ev.note(known[1], span)


def part_items(ev: Evaluator, part: Part) -> list[Part]:
    """The items of an array in a struct that is kept as bits."""
    one = part.field.width // part.field.count
    fields = [Field(part.field.low + n * one, one, part.field.whole, part.field.inner) for n in range(part.field.count)]
    return [Part(part.of, field) for field in fields]


# items and members -----------------------------------------------------------------------------------------------


def _indexed(ev: Evaluator, whole: Any, index: Any, at: tree.Index, const: bool | None = None) -> Any:
    if isinstance(whole, Overlay):
        inner = _indexed(ev, whole.place, index, at, const)
        return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
    at_number = number(index)
    value: Any = ev.load(whole, at.value) if isinstance(whole, PLACES) and not isinstance(whole, Deref) else whole
    if isinstance(value, Int) and isinstance(index, Array | Pointer) and not ev.python:
        at_number = value  # 1[array]
        value, index = index, value
    if isinstance(value, Object) and not ev.python:
        made = ev.operator("[]", value, index, at, constant=const)
        if made is not None:
            return made.place if isinstance(made, Referred) else made
    if isinstance(value, Array) and at_number is not None:
        if at_number.known is not None and 0 <= at_number.known < len(value.cells):
            return value.cells[at_number.known]
        if at_number.known is not None and ev.python and -len(value.cells) <= at_number.known < 0:
            return value.cells[at_number.known]
        if not ev.python and at_number.known is None and value.cells:
            return Blurred(Cell(value), value.element)
        value = ev.decayed(value)
    if isinstance(value, dict):
        return value.get(ev.key(index), Term(ev.words(at), span=at.span))
    if isinstance(value, Part) and value.field.count and at_number is not None:
        one = value.field.width // value.field.count
        if at_number.known is None or not 0 <= at_number.known < value.field.count:
            return Blurred(Cell(value.of), Kind("", value.field.whole))
        low = value.field.low + one * at_number.known
        return Part(value.of, Field(low, one, value.field.whole, value.field.inner))
    if isinstance(value, Pointer) and at_number is not None:
        there = moved(value, at_number)
        if there.array is not None:
            return item_at(ev, there)
        if there.dims:
            return Pointer(there.base, there.element, there.dims[1:], there.shared)
        return Deref(there)
    if isinstance(value, Address) and at_number is not None:
        step = word.add(value.at, Int(at_number.const, LONG, at_number.pieces))
        return ev.target(replace(value, at=step))
    if isinstance(value, Deref):
        element = value.pointer.element
        if element is not None and element.open:
            value = Term(ev.words(at.value))  # buf[stage][k] of an undeclared buf: each buf[stage] is a pointer
        else:
            value = ev.load(value, at.value)
            if isinstance(value, Pointer):
                return _indexed(ev, value, index, at)
    if at_number is not None and not ev.python and isinstance(value, Term):
        known = value.kind if value.kind and value.kind.bits else unsized(value.text)
        base = symbol(value.text) + word.times(at_number, size_bytes(known)).linear()
        return Deref(Pointer(base, known))
    return Term(ev.words(at), span=at.span)


def decayed(ev: Evaluator, array: Array) -> Pointer:
    """The pointer to an array's first item."""
    return Pointer(symbol(array.name or "{…}"), array.element, array=array, at=Int(0, LONG))


def address_of(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    place = ev.place(one, scope)
    if isinstance(place, Deref):
        return place.pointer
    if isinstance(place, Cell) and isinstance(place.value, Array) and place.value.name:
        return ev.decayed(place.value)
    if isinstance(one, tree.Index) and isinstance(place, Cell):
        whole = ev.place(one.value, scope)
        value = ev.load(whole, one.value)
        offset = number(ev.value(one.indices[0], scope)) if len(one.indices) == 1 else None
        if isinstance(value, Array) and offset is not None and (value.name or value.element is not None):
            return moved(ev.decayed(value), offset)
        if isinstance(value, Pointer) and value.array is not None and offset is not None:
            return moved(value, offset)
    if isinstance(place, Pointer):  # &array[i] of an array of arrays
        return place
    if isinstance(place, PLACES):
        return Address(place)
    return Pointer(symbol(f"&{place}")) if isinstance(place, Term) else place


def pointed_object(ev: Evaluator, whole: Any, at: tree.Member) -> Any:
    """What the left side of -> points to."""
    value = ev.load(whole, at.value) if isinstance(whole, PLACES) else whole
    if isinstance(value, Address):
        return ev.target(value)
    if isinstance(value, Pointer) and value.array is not None:
        return item_at(ev, value)
    if isinstance(value, Object) and "operator->" in value.record.methods:
        made = ev.call(replace(value.record.methods["operator->"], this=value), [], {}, at.span)
        return pointed_object(ev, ev.load(made, at), at)
    return whole


def _qualified_member(ev: Evaluator, whole: Any, at: tree.Member, scope: Scope) -> Any:
    """object.Base::name: a function of the base; a member that no derived class hides."""
    value = ev.load(whole, at.value) if isinstance(whole, PLACES) else whole
    base = ev.resolve(at.owner, scope, at.span[0])
    record = base.record if isinstance(base, Kind) else None
    if not isinstance(value, Object) or record is None:
        return Term(ev.words(at), span=at.span)
    if at.name in record.methods:
        return replace(record.methods[at.name], this=value)
    if record is value.record or at.name not in value.record.hidden:
        return ev.member(whole, at.name, at.span)
    return Term(ev.words(at), span=at.span)


def member(ev: Evaluator, whole: Any, name: str, span: Span, templates: Any = None) -> Any:
    """whole.name or whole->name."""
    if isinstance(whole, Overlay):
        inner = ev.member(whole.place, name, span, templates)
        return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
    value = whole.value if isinstance(whole, Cell) else whole
    if isinstance(value, PLACES) and not isinstance(value, Part | Deref):
        value = ev.load(value, tree.Other("", span=span))
    if isinstance(value, Address):
        value = ev.target(value)
        value = value.value if isinstance(value, Cell) else value
    if isinstance(value, Part) and value.field.inner is not None:
        inner = value.field.inner
        found = (inner.fields or {}).get(name)
        if found is not None:
            low = value.field.low + found.low
            return Part(value.of, Field(low, found.width, found.whole, found.inner, found.count))
        if name in inner.methods:
            return replace(inner.methods[name], this=value, templates=templates)
    if isinstance(value, Object):
        return _object_member(ev, value, name, span, templates)
    if isinstance(value, Array) and value.typed is not None and name in ("first", "second") and len(value.cells) == 2:
        return value.cells[name == "second"]
    if isinstance(value, Kind) and value.record is not None:
        if name in value.record.methods:
            return value.record.methods[name]
        return ev.forced(value.record.scope, name)
    if isinstance(value, Enumeration):
        return value.scope.names.get(name) or Term(f"{value.name}.{name}", span=span)
    if isinstance(value, Template):
        made_kind = ev.kind(tree.Type(((value.decl.name, None),)), value.scope)
        return ev.member(made_kind, name, span) if made_kind.record else Term(f"{value.decl.name}.{name}")
    if name in CONSTANTS:
        return Int(CONSTANTS[name], INT, origin=(span,))
    if ev.python and isinstance(value, Int) and name in ("value", "to", "ir_value", "item"):
        return value
    return _unknown_member(ev, value, name, span, templates)


def _object_member(ev: Evaluator, value: Object, name: str, span: Span, templates: Any) -> Any:
    record = value.record
    if name in value.members:
        cell = value.members[name]
        if name in record.overlaid:
            return Overlay(value, name, cell)
        return cell.value if isinstance(cell.value, PLACES) else cell
    if record.fields and name in record.fields:
        return Part(value, record.fields[name])
    if name in record.methods:
        return replace(record.methods[name], this=value, templates=templates)
    if record.scope.names.get(name) is not None:
        return ev.forced(record.scope, name)
    for base in record.bases:
        if base.scope.names.get(name) is not None:
            return ev.forced(base.scope, name)
    if ev.python:
        made = value.members[name] = Cell(Term(f"{value.store.name or record.name}.{name}"), name=name)
        return made
    whole = (value,) if record.opaque else ()
    return Term(f"{value.store.name or record.name}.{name}", head=name if whole else "", span=span, arguments=whole)


def _unknown_member(ev: Evaluator, value: Any, name: str, span: Span, templates: Any) -> Any:
    """A member of what is known by its name alone."""
    kind: Kind | None = None
    text = ""
    if isinstance(value, Deref):
        kind, text = value.pointer.element, str(value.pointer.base)
    elif isinstance(value, Pointer):
        kind, text = value.element, str(value.base)
    elif isinstance(value, Term):
        kind, text = value.kind, value.text
    record_of = kind.record if kind else None
    if record_of is not None:
        if name in record_of.methods:
            return replace(record_of.methods[name], this=Term(text, kind), templates=templates)
        if name in record_of.members:
            declared = record_of.members[name]
            member_kind = ev.kind(declared.type, record_of.scope) if declared.type else None
            return ev.symbolic(member_kind, f"{text}.{name}")
        if name in record_of.scope.names:
            return ev.forced(record_of.scope, name)
    if (text, name) in BUILT_IN and not ev.python:
        return free(f"{text}.{name}", UINT, BUILT_IN[text, name])
    return Term(f"{text or value}.{name}", head=name, span=span, arguments=(value,))


# given by the classes below


def _beyond(array: Array, at: int | None, element: Kind | None) -> Any:
    """The item of an array of arrays that lies behind its row's end; somewhere in all of it where not known."""
    root = array
    while root.inside is not None:
        root = root.inside
    cells = list(_flat(root))
    first = next((n for n, cell in enumerate(cells) if array.cells and cell is array.cells[0]), None)
    if at is not None and first is not None and root is not array and 0 <= first + at < len(cells):
        return cells[first + at]
    return Blurred(Cell(root), element)


def _flat(array: Array) -> Iterator[Cell]:
    for cell in array.cells:
        if isinstance(cell.value, Array):
            yield from _flat(cell.value)
        else:
            yield cell


def _bare(kind: Kind) -> Kind:
    return replace(kind, const=False, reference="")


def _may_alias(one: Pointer, two: Pointer) -> bool:
    """Whether two pointers may overlap: those made of the same names, unless they are a known distance apart."""
    gap: Linear = one.base + two.base.scaled(-1)
    if not gap.terms:
        sizes = [(p.element.bits or 64) // 8 if p.element is not None else 8 for p in (one, two)]
        return -sizes[0] < gap.const < sizes[1]
    return bool({name for name, _ in one.base.terms} & {name for name, _ in two.base.terms})


def pointee(kind: Kind) -> Kind | None:
    """The type that a pointer's points to."""
    if kind.pointers == 1 and kind.name in ("void", "auto", ""):
        return VOID
    return Kind(
        kind.name, kind.whole, kind.bits, kind.record, pointers=kind.pointers - 1, dims=(), arguments=kind.arguments
    )
