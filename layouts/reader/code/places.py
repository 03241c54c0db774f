"""What an expression names: a cell, a part of an object, what a pointer points to; members, items and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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

MOST_LEAVES = 128  # integers of an object that is read as another type


class Places:
    """Places of one evaluation."""

    python: bool
    unions: frozenset[str]

    def place(self, one: tree.Expression, scope: Scope) -> Any:
        """What an expression names: a cell, a part of an object, what a pointer points to; else its value."""
        match one:
            case tree.Name() | tree.Type():
                found = self.resolve(one.path, scope, one.span[0])
                return found if isinstance(found, (*PLACES, Enumeration)) else self.named(one, scope)
            case tree.Member(value=inner, name=name):
                whole = self.place(inner, scope)
                if one.arrow:
                    whole = self.pointed_object(whole, one)
                if (name in OF_DESCRIPTOR or name in self.unions) and not self.python:
                    whole = self.described(inner, name, whole, scope)
                if one.owner:
                    return self._qualified_member(whole, one, scope)
                return self.member(whole, name, one.span, one.templates)
            case tree.Index(value=inner, indices=indices):
                whole = self.place(inner, scope)
                const = const_of(self, inner, scope) if "[" in self.overloaded and not self.python else None
                for index in indices:
                    whole = self._indexed(whole, self.value(index, scope), one, const)
                return whole
            case tree.Unary(op="*", value=inner):
                return self.pointee_of(self.value(inner, scope), one)
            case tree.Assign() if not self.python:
                return self.assign_place(one, scope)
            case tree.Binary(op=",") if not self.python:
                self.value(one.left, scope)
                return self.place(one.right, scope)
            case tree.Choice() if not self.python:
                condition = self.truth(asked := self.value(one.condition, scope))
                if condition is not None:
                    chosen = self.place(one.yes if condition else one.no, scope)
                    return chosen if isinstance(chosen, PLACES) else self.chosen_arm(one, condition, chosen, scope)
                if any(self.summaries.of(arm).calls or self.summaries.of(arm).names for arm in (one.yes, one.no)):
                    return self._either(one, self.condition_text(asked, one.condition), scope)
                yes, no = self.place(one.yes, scope), self.place(one.no, scope)
                if isinstance(yes, PLACES) and isinstance(no, PLACES):
                    return Split(self.words(one.condition), yes, no)
                return self.merge(self.words(one.condition), self.load(yes, one.yes), self.load(no, one.no))
            case tree.Cast(type=kind, value=inner) if kind.reference:
                return self._cast_reference(self.kind(kind, scope), self.place(inner, scope))
            case tree.Call() if not self.python:
                made = self._call(one, scope)
                return made.place if isinstance(made, Referred) else made
            case _:
                return self.value(one, scope)

    def load(self, place: Any, at: tree.Expression) -> Any:
        """What stands in a place."""
        if isinstance(place, Cell):
            return place.value if not isinstance(place.value, PLACES) else self.load(place.value, at)
        if isinstance(place, Part):
            return self._load_part(place)
        if isinstance(place, Deref):
            return self._load_memory(place, at)
        if isinstance(place, Joint):
            return self._load_joint(place, at)
        if isinstance(place, Split):
            return self.merge(place.condition, self.load(place.yes, at), self.load(place.no, at))
        if isinstance(place, Overlay):
            return self.load(place.place, at)
        if isinstance(place, Blurred):
            return self.symbolic(place.kind, self.fresh(self.words(at) or "?"))
        if isinstance(place, Referred):
            return self.load(place.place, at)
        return place

    def _load_part(self, place: Part) -> Any:
        if place.field.inner is not None or place.field.count:
            return place
        store = place.of.store.value
        kind = place.field.whole or ULONG
        if not isinstance(store, Int):
            return Term(f"{place.of.store.name or '?'}", Kind(kind.name, kind, kind.bits))
        if place.field.width == store.type.bits and not place.field.low:
            return word.convert(store, kind)
        return word.extracted(store, place.field.low, place.field.width, kind)

    def _load_joint(self, place: Joint, at: tree.Expression) -> Int:
        total = Int(0, IntegerType("bits", sum(place.widths), False))
        low = 0
        for one, width in zip(place.places, place.widths, strict=True):
            value = number(self.load(one, at))
            if value is None:
                return free(self.fresh("?"), place.whole)
            cut = word.convert(word.convert(value, IntegerType("bits", width, False)), total.type)
            total = word.either(total, word.shifted(cut, low))
            low += width
        return word.convert(replace(total, type=IntegerType("bits", low, False)), place.whole)

    # pointers --------------------------------------------------------------------------------------------------------

    def pointee_of(self, value: Any, at: tree.Expression) -> Any:
        """What *value names."""
        if isinstance(value, Address):
            return self.target(value)
        if isinstance(value, Array) and not self.python:
            value = self.decayed(value)
        if isinstance(value, Closure):
            return value
        if isinstance(value, Pointer):
            if value.dims and value.array is None:
                return Pointer(value.base, value.element, value.dims[1:], value.shared)
            return self.item_at(value)
        if isinstance(value, Object):
            made = self.operator("*", value, None, at)
            return made.place if isinstance(made, Referred) else made if made is not None else Term(self.words(at))
        if isinstance(value, Int) and value.known is None:
            value = self.pointed(value, VOID) or value
            if isinstance(value, Pointer):
                return Deref(value)
        return Term(f"*{value}")

    def item_at(self, pointer: Pointer) -> Any:
        """The place that a pointer points to."""
        array = pointer.array
        if array is None:
            return Deref(pointer)
        same = (
            pointer.element is None or array.element is None or same_type(_bare(pointer.element), _bare(array.element))
        )
        if same:
            at = pointer.at.known if pointer.at is not None else None
            if at is not None and 0 <= at < len(array.cells):
                return array.cells[at]
            return _beyond(array, at, pointer.element)
        return self.viewed(Cell(array), pointer.element, pointer.at)

    def target(self, address: Address) -> Any:
        """The place that an address means, as the type that a cast gave it."""
        if address.element is None and address.at.known == 0:
            return address.place
        return self.viewed(
            address.place, address.element or self.kind_of(self.load(address.place, tree.Other(""))), address.at
        )

    def viewed(self, place: Any, element: Kind | None, at: Int | None) -> Any:
        """Bytes of an object as an integer of another type: `((uint32_t*)&desc)[1]`."""
        if element is None or element.pointers or at is None or at.known is None:
            return Blurred(place, element)
        if element.record is not None:
            return self._viewed_record(place, element.record, at.known)
        if element.whole is None or element.whole.bits < 8:
            return Blurred(place, element)
        return self.viewed_bits(place, element, at.known * element.whole.bits)

    def viewed_bits(self, place: Any, element: Kind, low: int) -> Any:
        """An integer of a type that begins at a bit of an object."""
        assert element.whole is not None
        if isinstance(place, Part) and place.of.record.bits and place.of.record.fields:
            low, place = low + place.field.low, Cell(place.of)
        leaves = list(self._leaves(place))
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

    def _viewed_record(self, place: Any, record: Record, at: int) -> Any:
        """An integer as a struct of bit fields: `reinterpret_cast<Bits*>(&desc)->stride`."""
        value = place.value if isinstance(place, Cell) else place
        leaves = list(self._leaves(place))
        if record.fields is None or at or len(leaves) != 1 or leaves[0][1] < record.bits:
            return Blurred(place, Kind(record.name, record=record))
        if isinstance(value, Object) and value.record is record:
            return place
        leaf = leaves[0][0]
        return Part(leaf.of, Field(leaf.field.low, record.bits, None, record))

    def _leaves(self, place: Any, deep: int = 0) -> Iterator[tuple[Part, int]]:
        """The integers that an object is made of, each as a part with its width in bits; a width of 0 where unknown."""
        value = place.value if isinstance(place, Cell) else place
        if isinstance(value, PLACES) and not isinstance(place, Part) and not isinstance(value, Part):
            yield from self._leaves(value, deep + 1)
        elif isinstance(value, Part):
            width = value.field.width
            yield Part(value.of, Field(value.field.low, width, value.field.whole)), width
        elif isinstance(value, Object) and value.record.fields is not None and value.record.bits:
            yield Part(value, Field(0, value.record.bits, None)), value.record.bits
        elif isinstance(value, Array) and deep < 3 and len(value.cells) <= MOST_LEAVES:
            for cell in value.cells:
                yield from self._leaves(cell, deep + 1)
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

    def _cast_reference(self, kind: Kind, place: Any) -> Any:
        """What reinterpret_cast<T&>(place) and static_cast<T&&>(place) name."""
        value = self.load(place, tree.Other(""))
        own = place.kind if isinstance(place, Cell) and place.kind is not None else self.kind_of(value)
        bare = replace(kind, reference="", const=False)
        if own is None or kind.name == "auto" or same_type(_bare(own), _bare(bare)) is not False:
            return place
        if isinstance(value, Object) and bare.record is not None and value.record.descends(bare.record):
            return place if value.record is bare.record else Cell(self.upcast(value, bare.record), bare)
        down = value.whole if isinstance(value, Object) else None
        if down is not None and bare.record is not None and down.record.descends(bare.record):
            return Cell(down if down.record is bare.record else self.upcast(down, bare.record), bare)
        return self.viewed(place, bare, Int(0))

    # memory that no variable of the text is ---------------------------------------------------------------------------

    def _memory_key(self, pointer: Pointer) -> tuple[str, int]:
        kind = pointer.element
        return str(pointer.base), kind.bits or 0 if kind is not None and not kind.pointers else 64

    def _load_memory(self, place: Deref, at: tree.Expression) -> Any:
        known = self.memory.get(self._memory_key(place.pointer))
        if known is not None:
            return known[1].value
        element = place.pointer.element
        text = self.words(at)
        if self.written_memory:
            text = self.fresh(text)
        if element is not None and element.whole is not None and not element.pointers:
            made: Any = free(text, element.whole)
        elif element is not None and element.pointers:
            made = Pointer(symbol(text), pointee(element))
        else:
            return Term(text, element, span=at.span)
        self.memory[self._memory_key(place.pointer)] = place.pointer, Cell(made, element, text)
        return made

    def store_memory(self, place: Deref, value: Any, span: Span) -> None:
        """Write through a pointer to no variable; what other pointers of the same name may mean is forgotten."""
        self.written_memory = True
        pointer = place.pointer
        if (
            not self.python
            and any("::" in name for name, _ in pointer.base.terms)
            and self.frames[-1].scope is not None
        ):
            self.forget_all(self.frames[-1].scope)  # of a hidden member, which may point to any of them
        if any("(" in name for name, _ in pointer.base.terms):  # from a function: it may point to any variable
            self.forget_globals()
        for escaped in list(self.escaped.values()):
            self.forget(escaped, integers=True)
        key = self._memory_key(pointer)
        for other, (apart, cell) in list(self.memory.items()):
            if other != key and _may_alias(pointer, apart):
                self.put(cell, self.symbolic(cell.kind, self.fresh(cell.name)))
        name = next((term for term, factor in pointer.base.terms if factor == 1), str(pointer.base))
        known = self.memory.get(key)
        if known is None:
            cell = Cell(self.symbolic(pointer.element, self.fresh(f"*{name}")), pointer.element, name, span)
            known = self.memory[key] = pointer, cell
        element = pointer.element
        if element is not None and (element.whole is not None or element.pointers):
            value = self.converted(value, element, span)
        self.put(known[1], value)
        self.note(known[1], span)

    def part_items(self, part: Part) -> list[Part]:
        """The items of an array in a struct that is kept as bits."""
        one = part.field.width // part.field.count
        fields = [
            Field(part.field.low + n * one, one, part.field.whole, part.field.inner) for n in range(part.field.count)
        ]
        return [Part(part.of, field) for field in fields]

    # items and members -----------------------------------------------------------------------------------------------

    def _indexed(self, whole: Any, index: Any, at: tree.Index, const: bool | None = None) -> Any:
        if isinstance(whole, Overlay):
            inner = self._indexed(whole.place, index, at, const)
            return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
        at_number = number(index)
        value: Any = self.load(whole, at.value) if isinstance(whole, PLACES) and not isinstance(whole, Deref) else whole
        if isinstance(value, Int) and isinstance(index, Array | Pointer) and not self.python:
            at_number = value  # 1[array]
            value, index = index, value
        if isinstance(value, Object) and not self.python:
            made = self.operator("[]", value, index, at, constant=const)
            if made is not None:
                return made.place if isinstance(made, Referred) else made
        if isinstance(value, Array) and at_number is not None:
            if at_number.known is not None and 0 <= at_number.known < len(value.cells):
                return value.cells[at_number.known]
            if at_number.known is not None and self.python and -len(value.cells) <= at_number.known < 0:
                return value.cells[at_number.known]
            if not self.python and at_number.known is None and value.cells:
                return Blurred(Cell(value), value.element)
            value = self.decayed(value)
        if isinstance(value, dict):
            return value.get(self.key(index), Term(self.words(at), span=at.span))
        if isinstance(value, Part) and value.field.count and at_number is not None:
            one = value.field.width // value.field.count
            if at_number.known is None or not 0 <= at_number.known < value.field.count:
                return Blurred(Cell(value.of), Kind("", value.field.whole))
            low = value.field.low + one * at_number.known
            return Part(value.of, Field(low, one, value.field.whole, value.field.inner))
        if isinstance(value, Pointer) and at_number is not None:
            there = moved(value, at_number)
            if there.array is not None:
                return self.item_at(there)
            if there.dims:
                return Pointer(there.base, there.element, there.dims[1:], there.shared)
            return Deref(there)
        if isinstance(value, Address) and at_number is not None:
            step = word.add(value.at, Int(at_number.const, LONG, at_number.pieces))
            return self.target(replace(value, at=step))
        if isinstance(value, Deref):
            element = value.pointer.element
            if element is not None and element.open:
                value = Term(self.words(at.value))  # buf[stage][k] of an undeclared buf: each buf[stage] is a pointer
            else:
                value = self.load(value, at.value)
                if isinstance(value, Pointer):
                    return self._indexed(value, index, at)
        if at_number is not None and not self.python and isinstance(value, Term):
            known = value.kind if value.kind and value.kind.bits else unsized(value.text)
            base = symbol(value.text) + word.times(at_number, size_bytes(known)).linear()
            return Deref(Pointer(base, known))
        return Term(self.words(at), span=at.span)

    def decayed(self, array: Array) -> Pointer:
        """The pointer to an array's first item."""
        return Pointer(symbol(array.name or "{…}"), array.element, array=array, at=Int(0, LONG))

    def _address(self, one: tree.Expression, scope: Scope) -> Any:
        place = self.place(one, scope)
        if isinstance(place, Deref):
            return place.pointer
        if isinstance(place, Cell) and isinstance(place.value, Array) and place.value.name:
            return self.decayed(place.value)
        if isinstance(one, tree.Index) and isinstance(place, Cell):
            whole = self.place(one.value, scope)
            value = self.load(whole, one.value)
            offset = number(self.value(one.indices[0], scope)) if len(one.indices) == 1 else None
            if isinstance(value, Array) and offset is not None and (value.name or value.element is not None):
                return moved(self.decayed(value), offset)
            if isinstance(value, Pointer) and value.array is not None and offset is not None:
                return moved(value, offset)
        if isinstance(place, Pointer):  # &array[i] of an array of arrays
            return place
        if isinstance(place, PLACES):
            return Address(place)
        return Pointer(symbol(f"&{place}")) if isinstance(place, Term) else place

    def pointed_object(self, whole: Any, at: tree.Member) -> Any:
        """What the left side of -> points to."""
        value = self.load(whole, at.value) if isinstance(whole, PLACES) else whole
        if isinstance(value, Address):
            return self.target(value)
        if isinstance(value, Pointer) and value.array is not None:
            return self.item_at(value)
        if isinstance(value, Object) and "operator->" in value.record.methods:
            made = self.call(replace(value.record.methods["operator->"], this=value), [], {}, at.span)
            return self.pointed_object(self.load(made, at), at)
        return whole

    def _qualified_member(self, whole: Any, at: tree.Member, scope: Scope) -> Any:
        """object.Base::name: a function of the base; a member that no derived class hides."""
        value = self.load(whole, at.value) if isinstance(whole, PLACES) else whole
        base = self.resolve(at.owner, scope, at.span[0])
        record = base.record if isinstance(base, Kind) else None
        if not isinstance(value, Object) or record is None:
            return Term(self.words(at), span=at.span)
        if at.name in record.methods:
            return replace(record.methods[at.name], this=value)
        if record is value.record or at.name not in value.record.hidden:
            return self.member(whole, at.name, at.span)
        return Term(self.words(at), span=at.span)

    def member(self, whole: Any, name: str, span: Span, templates: Any = None) -> Any:
        """whole.name or whole->name."""
        if isinstance(whole, Overlay):
            inner = self.member(whole.place, name, span, templates)
            return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
        value = whole.value if isinstance(whole, Cell) else whole
        if isinstance(value, PLACES) and not isinstance(value, Part | Deref):
            value = self.load(value, tree.Other("", span=span))
        if isinstance(value, Address):
            value = self.target(value)
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
            return self._object_member(value, name, span, templates)
        if (
            isinstance(value, Array)
            and value.typed is not None
            and name in ("first", "second")
            and len(value.cells) == 2
        ):
            return value.cells[name == "second"]
        if isinstance(value, Kind) and value.record is not None:
            if name in value.record.methods:
                return value.record.methods[name]
            return self.forced(value.record.scope, name)
        if isinstance(value, Enumeration):
            return value.scope.names.get(name) or Term(f"{value.name}.{name}", span=span)
        if isinstance(value, Template):
            made_kind = self.kind(tree.Type(((value.decl.name, None),)), value.scope)
            return self.member(made_kind, name, span) if made_kind.record else Term(f"{value.decl.name}.{name}")
        if name in CONSTANTS:
            return Int(CONSTANTS[name], INT, origin=(span,))
        if self.python and isinstance(value, Int) and name in ("value", "to", "ir_value", "item"):
            return value
        return self._unknown_member(value, name, span, templates)

    def _object_member(self, value: Object, name: str, span: Span, templates: Any) -> Any:
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
            return self.forced(record.scope, name)
        for base in record.bases:
            if base.scope.names.get(name) is not None:
                return self.forced(base.scope, name)
        if self.python:
            made = value.members[name] = Cell(Term(f"{value.store.name or record.name}.{name}"), name=name)
            return made
        whole = (value,) if record.opaque else ()
        return Term(f"{value.store.name or record.name}.{name}", head=name if whole else "", span=span, arguments=whole)

    def _unknown_member(self, value: Any, name: str, span: Span, templates: Any) -> Any:
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
                member_kind = self.kind(declared.type, record_of.scope) if declared.type else None
                return self.symbolic(member_kind, f"{text}.{name}")
            if name in record_of.scope.names:
                return self.forced(record_of.scope, name)
        if (text, name) in BUILT_IN and not self.python:
            return free(f"{text}.{name}", UINT, BUILT_IN[text, name])
        return Term(f"{text or value}.{name}", head=name, span=span, arguments=(value,))

    # given by the classes below
    frames: Any
    forget_all: Any
    chosen_arm: Any
    summaries: Any
    _either: Any
    condition_text: Any
    overloaded: frozenset[str]
    forget: Any
    forget_globals: Any
    escaped: dict[int, Any]
    resolve: Any
    named: Any
    value: Any
    described: Any
    key: Any
    words: Any
    forced: Any
    kind: Any
    kind_of: Any
    symbolic: Any
    assign_place: Any
    upcast: Any
    truth: Any
    merge: Any
    operator: Any
    pointed: Any
    fresh: Any
    put: Any
    note: Any
    call: Any
    converted: Any
    _call: Any
    memory: dict[tuple[str, int], tuple[Pointer, Cell]]
    written_memory: bool


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
