"""What a variable of a type holds: without an initializer, or with a list in braces. ISO C++20: [dcl.init]."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, ULONG
from lanescope.reader.code import tree
from lanescope.reader.code.known import FIELDS_UNION, union_alike
from lanescope.reader.code.making import (
    MOST_ITEMS,
    constructed_by,
    default_members,
    fill_aggregate,
    initialized,
    initialized_by,
    own_items,
    start_member,
    zero_member,
    zero_value,
)
from lanescope.reader.code.values import (
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Part,
    Pointer,
    Record,
    Scope,
    Term,
    number,
)
from lanescope.reader.code.word import Int, Span, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_CELLS = 64  # items of an array without an initializer whose values are followed
_INTEGRAL = re.compile(r"_(\d+)$")


def _is_zero(value: Any) -> bool:
    """Whether a value of an unknown type is written {} or {0}."""
    if not isinstance(value, Array):
        return False
    given = [number(one.value) for one in value.cells if not isinstance(one.value, Object | Array)]
    return len(given) == len(value.cells) and all(one is not None and one.known == 0 for one in given)


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
        return own_items(Array(cells, element, name))
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
            cells.append(Cell(zero_value(ev, element), element))
    return own_items(Array(cells, element, name, kind))


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
            made = [ev.copied(initialized_by(ev, whole, value, scope))]
        else:
            made = [ev.converted(ev.initial(value, element, scope, f"{name}[{n}]"), element, value.span)]
        cells += [Cell(v, element, f"{name}[{len(cells) + k}]") for k, v in enumerate(made)]
    if element.record is not None and not element.pointers and any(not isinstance(c.value, Object) for c in cells):
        return _undone(ev, one, scope, name)
    while size is not None and len(cells) < min(size, MOST_ITEMS):
        cells.append(Cell(zero_value(ev, element), element, f"{name}[{len(cells)}]"))
    return own_items(Array(cells, element, name))


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
            only = initialized_by(ev, only, one.items[0][1], scope)
            return ev.copied(only) if only.held else only
        if isinstance(only, Object | Array) or (record.bases and any(b.members for b in record.bases)):
            return ev.forgotten(made)
        fill_aggregate(ev, made, record, [only])
        but = frozenset(list(record.members)[:1])
        default_members(ev, made, record, ev.this_scope(record.scope, made, record), but)
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
                zero_member(ev, made, member, declared, own)
            continue
        value = named[member]
        kind = ev.kind(declared.type, record.scope) if declared.type else None
        place = ev.member(made, member, value.span)
        if kind is not None and kind.reference:
            start_member(ev, made, member, declared, (value,), scope)
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
            ev.begin(place, initialized_by(ev, whole, value, scope), value.span)
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


def _store_array(ev: Evaluator, place: Part, array: Array, span: Span) -> None:
    one = place.field.width // place.field.count
    for n, cell in enumerate(array.cells):
        low = place.field.low + n * one
        ev.store(Part(place.of, type(place.field)(low, one, place.field.whole)), cell.value, span)


def _takes_list(function: tree.Function) -> bool:
    types = [p.type for p in function.parameters]
    return len(types) == 1 and types[0] is not None and types[0].name == "initializer_list"


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
