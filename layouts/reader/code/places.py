"""What an expression names: a cell, a part of an object, what a pointer points to; and what stands there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG, IntegerType
from lanescope.reader.code import tree, word
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.known import OF_DESCRIPTOR
from lanescope.reader.code.members import item_of, pointed_object, qualified_member
from lanescope.reader.code.pointers import load_memory
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Deref,
    Enumeration,
    Joint,
    Kind,
    Overlay,
    Part,
    Pointer,
    Referred,
    Scope,
    Split,
    Term,
    moved,
    number,
)
from lanescope.reader.code.views import cast_reference
from lanescope.reader.code.word import Int, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def place(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """What an expression names: a cell, a part of an object, what a pointer points to; else its value."""
    rule: _Rule = (_RULES if ev.python else _CXX_RULES).get(type(one), _value_of)
    return rule(ev, one, scope)


def _value_of(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return the value of what names no place."""
    return ev.value(one, scope)


def _place_name(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Any:
    """Return the variable of a name."""
    found = ev.resolve(one.path, scope, one.span[0])
    return found if isinstance(found, (*PLACES, Enumeration)) else ev.named(one, scope)


def _place_member(ev: Evaluator, one: tree.Member, scope: Scope) -> Any:
    """Return the member of an object, also of the one that a pointer points to."""
    whole = ev.place(one.value, scope)
    if one.arrow:
        whole = pointed_object(ev, whole, one)
    if (one.name in OF_DESCRIPTOR or one.name in ev.unions) and not ev.python:
        whole = ev.described(one.value, one.name, whole, scope)
    if one.owner:
        return qualified_member(ev, whole, one, scope)
    return ev.member(whole, one.name, one.span, one.templates)


def _place_item(ev: Evaluator, one: tree.Index, scope: Scope) -> Any:
    """Return the item of an array, or what an operator[] gives."""
    whole = ev.place(one.value, scope)
    const = const_of(ev, one.value, scope) if "[" in ev.overloaded and not ev.python else None
    for index in one.indices:
        whole = item_of(ev, whole, ev.value(index, scope), one, const)
    return whole


def _place_unary(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """Return what *p names."""
    if one.op != "*":
        return ev.value(one, scope)
    return ev.pointee_of(ev.value(one.value, scope), one)


def _place_cast(ev: Evaluator, one: tree.Cast, scope: Scope) -> Any:
    """Return what a cast to a reference names."""
    if not one.type.reference:
        return ev.value(one, scope)
    return cast_reference(ev, ev.kind(one.type, scope), ev.place(one.value, scope))


def _place_assigned(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    """Return the left side of an assignment."""
    return ev.assign_place(one, scope)


def _place_binary(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """Return what the right side of a comma names."""
    if one.op != ",":
        return ev.value(one, scope)
    ev.value(one.left, scope)
    return ev.place(one.right, scope)


def _place_choice(ev: Evaluator, one: tree.Choice, scope: Scope) -> Any:
    """Return what the chosen arm of ?: names, or one of both."""
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


def _place_call(ev: Evaluator, one: tree.Call, scope: Scope) -> Any:
    """Return what the reference that a function gives names."""
    made = ev.evaluate_call(one, scope)
    return made.place if isinstance(made, Referred) else made


_Rule = Callable[["Evaluator", Any, Scope], Any]
_RULES: dict[type[tree.Expression], _Rule] = {
    tree.Name: _place_name,
    tree.Type: _place_name,
    tree.Member: _place_member,
    tree.Index: _place_item,
    tree.Unary: _place_unary,
    tree.Cast: _place_cast,
}
_CXX_RULES: dict[type[tree.Expression], _Rule] = {
    **_RULES,
    tree.Assign: _place_assigned,
    tree.Binary: _place_binary,
    tree.Choice: _place_choice,
    tree.Call: _place_call,
}


def address_of(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return the value of &x."""
    place = ev.place(one, scope)
    if isinstance(place, Deref):
        return place.pointer
    if isinstance(place, Cell) and isinstance(place.value, Array) and place.value.name:
        return ev.decayed(place.value)
    if isinstance(one, tree.Index) and isinstance(place, Cell):
        there = _address_of_item(ev, one, scope)
        if there is not None:
            return there
    if isinstance(place, Pointer):  # &array[i] of an array of arrays
        return place
    if isinstance(place, PLACES):
        return Address(place)
    return Pointer(symbol(f"&{place}")) if isinstance(place, Term) else place


def _address_of_item(ev: Evaluator, one: tree.Index, scope: Scope) -> Pointer | None:
    """Return &array[i] as array + i; None where the array has no name, or more than one index."""
    whole = ev.place(one.value, scope)
    value = ev.load(whole, one.value)
    offset = number(ev.value(one.indices[0], scope)) if len(one.indices) == 1 else None
    if offset is None:
        return None
    if isinstance(value, Array) and (value.name or value.element is not None):
        return moved(ev.decayed(value), offset)
    return moved(value, offset) if isinstance(value, Pointer) and value.array is not None else None


# what stands in a place ------------------------------------------------------------------------------------------


def load(ev: Evaluator, place: Any, at: tree.Expression) -> Any:
    """What stands in a place."""
    if isinstance(place, Cell):
        return place.value if not isinstance(place.value, PLACES) else ev.load(place.value, at)
    if isinstance(place, Part):
        return _load_part(ev, place)
    if isinstance(place, Deref):
        return load_memory(ev, place, at)
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
    """Return what the bits of a member hold; structs and arrays stay places."""
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
    """Return the integer that several places are together."""
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
