"""Evaluations of one text under two choices of a condition of #if → one: what they agree on stays, what differs depends
on the condition, as after an `if` that the text leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lanescope.reader.code.finding import Assembled, Found, Made, Pitfall
from lanescope.reader.code.values import Address, Array, Cell, Object, Pointer, Term, number
from lanescope.reader.code.word import Int, Span, free, merged

MOST_DEPTH = 6  # of values that hold one another
Place = Callable[[Span], bool]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Records:
    """What an evaluation found. holds: whether a place of the pasted text is in what was evaluated; loses: whether what
    it says there is not known.
    """

    found: tuple[Found, ...]
    made: tuple[Made, ...]
    warnings: tuple[Pitfall, ...]
    assembled: tuple[Assembled, ...]
    holds: Place
    loses: Place


def merge(condition: str, yes: Records, no: Records) -> Records:
    """What both found; condition: what decides between them."""
    made, assembled = _ordered(condition, yes, no)
    return Records(
        _found(condition, yes, no),
        made,
        _warnings(condition, yes, no),
        assembled,
        lambda span: yes.holds(span) or no.holds(span),
        lambda span: yes.loses(span) or no.loses(span),
    )


# values ---------------------------------------------------------------------------------------------------------------


def same(one: Any, two: Any, depth: int = 0) -> bool:
    """Whether values of two evaluations are the same, as far as they can be looked into."""
    if isinstance(one, Int) and isinstance(two, Int):
        return (one.const, one.pieces, one.type) == (two.const, two.pieces, two.type)
    if type(one) is not type(two) or depth > MOST_DEPTH:
        return False
    compare = _COMPARED.get(type(one))
    if compare is not None:
        return compare(one, two, depth + 1)
    return bool(one == two) or str(one) == str(two)


def _same_arrays(one: Array, two: Array, depth: int) -> bool:
    return len(one.cells) == len(two.cells) and all(
        same(a.value, b.value, depth) for a, b in zip(one.cells, two.cells, strict=True)
    )


def _same_pointers(one: Pointer, two: Pointer, depth: int) -> bool:
    kinds = str(one.element) == str(two.element) and one.shared == two.shared
    return kinds and one.base == two.base and same(one.array, two.array, depth)


def _same_addresses(one: Address, two: Address, depth: int) -> bool:
    return same(_held(one.place), _held(two.place), depth)


def _same_objects(one: Object, two: Object, depth: int) -> bool:
    return (
        _alike(one, two)
        and same(one.store.value, two.store.value, depth)
        and all(same(cell.value, two.members[name].value, depth) for name, cell in one.members.items())
    )


def _same_terms(one: Term, two: Term, depth: int) -> bool:
    if one.text != two.text or one.head != two.head or len(one.arguments) != len(two.arguments):
        return False
    return all(same(a, b, depth) for a, b in zip(one.arguments, two.arguments, strict=True))


_COMPARED: dict[type, Callable[[Any, Any, int], bool]] = {
    Array: _same_arrays,
    Pointer: _same_pointers,
    Address: _same_addresses,
    Object: _same_objects,
    Term: _same_terms,
}


def _alike(one: Object, two: Object) -> bool:
    """Whether objects are of one struct."""
    return one.record.name == two.record.name and one.members.keys() == two.members.keys()


def _held(place: Any) -> Any:
    return place.value if isinstance(place, Cell) else place


def value(condition: str, yes: Any, no: Any, depth: int = 0) -> Any:
    """One value for two that a condition decides between."""
    if same(yes, no):
        return yes
    if depth > MOST_DEPTH:
        return Term(f"({condition} ? {yes} : {no})")
    merge_inside = _MERGED.get(type(yes)) if type(yes) is type(no) else None
    made = merge_inside(condition, yes, no, depth) if merge_inside is not None else None
    if made is not None:
        return made
    a, b = number(yes), number(no)
    if a is not None and b is not None:
        return merged(condition, a, b)
    return Term(f"({condition} ? {yes} : {no})")


def _merge_arrays(condition: str, yes: Array, no: Array, depth: int) -> Array | None:
    if len(yes.cells) != len(no.cells):
        return None
    cells = [
        replace(a, value=value(condition, a.value, b.value, depth + 1))
        for a, b in zip(yes.cells, no.cells, strict=True)
    ]
    return Array(cells, yes.element if str(yes.element) == str(no.element) else None, yes.name, yes.typed)


def _merge_addresses(condition: str, yes: Address, no: Address, depth: int) -> Address | None:
    if not isinstance(yes.place, Cell):
        return None
    held = value(condition, _held(yes.place), _held(no.place), depth + 1)
    return Address(replace(yes.place, value=held))


def _merge_objects(condition: str, yes: Object, no: Object, depth: int) -> Object | None:
    if not _alike(yes, no):
        return None
    store = replace(yes.store, value=value(condition, yes.store.value, no.store.value, depth + 1))
    members = {
        name: replace(cell, value=value(condition, cell.value, no.members[name].value, depth + 1))
        for name, cell in yes.members.items()
    }
    return Object(yes.record, store, members)


def _merge_calls(condition: str, yes: Term, no: Term, depth: int) -> Term | None:
    return term(condition, yes, no, depth) if yes.head and yes.head == no.head else None


_MERGED: dict[type, Callable[[str, Any, Any, int], Any]] = {
    Array: _merge_arrays,
    Address: _merge_addresses,
    Object: _merge_objects,
    Term: _merge_calls,
}


def term(condition: str, yes: Term, no: Term, depth: int = 0) -> Term:
    """One call for two of the same function."""
    if len(yes.arguments) != len(no.arguments) or [n for n, _ in yes.named] != [n for n, _ in no.named]:
        return Term(f"({condition} ? {yes} : {no})", yes.kind, "", (), (), yes.span)
    arguments = tuple(value(condition, a, b, depth + 1) for a, b in zip(yes.arguments, no.arguments, strict=True))
    named = tuple((n, value(condition, a, b, depth + 1)) for (n, a), (_, b) in zip(yes.named, no.named, strict=True))
    text = yes.text if yes.text == no.text else f"({condition} ? {yes.text} : {no.text})"
    return replace(yes, text=text, arguments=arguments, named=named)


# records --------------------------------------------------------------------------------------------------------------


def _numbered(items: Iterable[T], key: Callable[[T], Hashable]) -> dict[Hashable, T]:
    """The items by their keys, those of one key by their number among them."""
    seen: dict[Hashable, int] = {}
    out: dict[Hashable, T] = {}
    for one in items:
        name = key(one)
        seen[name] = n = seen.get(name, -1) + 1
        out[name, n] = one
    return out


def _turns(loops: Sequence[tuple[str, Int]]) -> Hashable:
    return tuple((name, turn.known if turn.known is not None else str(turn)) for name, turn in loops)


def _woven(yes: Sequence[Hashable], no: Sequence[Hashable]) -> list[Hashable]:
    """The keys of both in their orders: one that only the second has stands behind the one before it."""
    own = set(yes)
    behind: dict[Hashable, list[Hashable]] = {}
    last: Hashable = None
    for key in no:
        if key in own:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    out = list(behind.get(None, ()))
    for key in yes:
        out += [key, *behind.get(key, ())]
    return out


def _found(condition: str, yes: Records, no: Records) -> tuple[Found, ...]:
    def key(one: Found) -> Hashable:
        return one.name, one.span, one.calls, _turns(one.loops), one.kind

    ours, theirs = _numbered(yes.found, key), _numbered(no.found, key)
    cells: dict[int, Cell] = {}  # of the second: the same variable of the first
    for name, one in ours.items():
        if name in theirs and one.cell is not None and theirs[name].cell is not None:
            cells[id(theirs[name].cell)] = one.cell
    out: list[Found] = []
    for name in _woven(list(ours), list(theirs)):
        a, b = ours.get(name), theirs.get(name)
        if a is not None and b is not None:
            out.append(a if same(a.value, b.value) else replace(a, value=merged(condition, a.value, b.value)))
        elif a is not None:
            out.append(_alone(condition, a, no.holds))
        elif b is not None:
            cell = cells.get(id(b.cell), b.cell)
            out.append(_alone(f"!({condition})", replace(b, cell=cell), yes.holds))
    return tuple(out)


def _alone(condition: str, one: Found, holds: Place) -> Found:
    """What was found under one choice only: where the other has the same line, it has another value there."""
    if not all(holds(span) for span in (one.span, *one.calls)):
        return one
    other = free("another value", one.value.type)
    return replace(one, value=merged(condition, one.value, other))


def _lost(span: Span, calls: Iterable[tuple[str, Span]], other: Records) -> bool:
    """Whether an evaluation does not know what runs at a place."""
    return other.loses(span) or any(other.loses(at) for _, at in calls)


def _other(condition: str, value: Int | None) -> Int | None:
    return value and merged(condition, value, free("another value", value.type))


def _unknown(condition: str, one: Term) -> Term:
    """A call of which only one choice of a condition is known."""
    arguments = tuple(
        _other(condition, x) if isinstance(x, Int) else Term(f"({condition} ? {x} : …)") for x in one.arguments
    )
    named = tuple(
        (name, _other(condition, x) if isinstance(x, Int) else Term(f"({condition} ? {x} : …)"))
        for name, x in one.named
    )
    return replace(one, arguments=arguments, named=named)


def _warnings(condition: str, yes: Records, no: Records) -> tuple[Pitfall, ...]:
    """Pitfalls of both; one that only one choice has names it."""
    first = {(one.code, one.span): one for one in yes.warnings}
    second = {(one.code, one.span): one for one in no.warnings}
    out = []
    for key in _woven(list(first), list(second)):
        a, b = first.get(key), second.get(key)  # type: ignore[call-overload]
        one = a or b
        assert one is not None  # a key is one of either
        where = f" This is so {'where' if a else 'unless'} {condition} holds."
        out.append(one if a and b else replace(one, message=one.message + where))
    return tuple(out)


def _ordered(condition: str, yes: Records, no: Records) -> tuple[tuple[Made, ...], tuple[Assembled, ...]]:
    """Calls and asm statements of both, numbered anew in the order they are run."""
    ours, theirs = _by_identity(yes), _by_identity(no)
    merged_: list[Made | Assembled] = []
    for n, name in enumerate(_woven(list(ours), list(theirs)), 1):
        a, b = ours.get(name), theirs.get(name)
        if a is not None and b is not None:
            one = _merge_run(condition, a, b)
        elif a is not None:
            one = _run_under_one_choice(condition, a, no)
        else:
            one = _run_under_one_choice(condition, theirs[name], yes)
        merged_.append(replace(one, order=n))
    made = tuple(one for one in merged_ if isinstance(one, Made))
    return made, tuple(one for one in merged_ if isinstance(one, Assembled))


def _by_identity(records: Records) -> dict[Hashable, Made | Assembled]:
    """Calls and asm statements in the order they are run, by what tells them apart."""

    def key(one: Made | Assembled) -> Hashable:
        own: Hashable
        if isinstance(one, Made):
            own = (one.term.head, one.term.span, one.result, len(one.term.arguments))
        else:
            own = (one.text, one.span, len(one.given))
        return own, one.calls, _turns(one.loops)

    return _numbered(sorted((*records.made, *records.assembled), key=lambda one: one.order), key)


def _merge_run(condition: str, yes: Made | Assembled, no: Made | Assembled) -> Made | Assembled:
    """One call or asm statement for the same one under both choices."""
    if isinstance(yes, Made) and isinstance(no, Made):
        return replace(yes, term=term(condition, yes.term, no.term))
    assert isinstance(yes, Assembled) and isinstance(no, Assembled)  # of one identity
    given = tuple(
        (kind, _merge_input(condition, x, y), at) for (kind, x, at), (_, y, _) in zip(yes.given, no.given, strict=True)
    )
    return replace(yes, given=given)


def _merge_input(condition: str, yes: Int | None, no: Int | None) -> Int | None:
    """An operand of an asm statement."""
    if yes is None or no is None:
        return None
    return yes if same(yes, no) else merged(condition, yes, no)


def _run_under_one_choice(condition: str, one: Made | Assembled, other: Records) -> Made | Assembled:
    """A call or asm statement that the other choice has not; where that may have lost it, its operands are open."""
    if isinstance(one, Made):
        lost = _lost(one.term.span, one.calls, other)
        return replace(one, term=_unknown(condition, one.term)) if lost else one
    if not _lost(one.span, one.calls, other):
        return one
    return replace(one, given=tuple((kind, _other(condition, x), at) for kind, x, at in one.given))
