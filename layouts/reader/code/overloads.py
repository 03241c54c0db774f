"""Which function of a name a call means: C++'s overload resolution over the types of its arguments.

ISO C++20: [over.match.viable], [over.ics.rank], [over.match.best]. Where the type of an argument decides and is not
known, no function is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.integers import INT, promoted
from lanescope.reader.code import tree
from lanescope.reader.code.templates import fits_pattern, same_type
from lanescope.reader.code.values import Kind

EXACT, UNDERLYING, PROMOTED, CONVERTED, USER, ELLIPSIS = range(6)  # [over.ics.rank] 4.2: an enum's own type first
UNKNOWN = -1  # a rank that is not known
_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True)
class Argument:
    """What a call gives a parameter. kind: its type, None where unknown; place: whether it names an object; const: of
    that object; zero: the literal 0; null: nullptr.
    """

    value: Any
    kind: Kind | None
    place: bool = False
    const: bool | None = False
    zero: bool = False
    null: bool = False
    braced: int = 0
    where: Any = None
    loose: bool = False  # whether its value category is not known


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function that may be called, with the types of its parameters; deduced: what its template's are bound to."""

    function: tree.Function
    kinds: tuple[Kind | None, ...]
    deduced: dict[str, Any]


def accepts_count(function: tree.Function, count: int) -> bool:
    """Whether a function takes so many arguments."""
    least = sum(1 for p in function.parameters if p.default is None and not p.pack)
    packs = any(p.pack for p in function.parameters)
    return least <= count and (packs or count <= len(function.parameters))


def choose(candidates: Sequence[Candidate], arguments: Sequence[Argument]) -> Candidate | None:
    """Return the best candidate for some arguments; None where none fits, or more than one may."""
    ranked: list[tuple[Candidate, tuple[int, ...]]] = []
    for one in candidates:
        ranks = tuple(
            rank_of(argument, one.kinds[n] if n < len(one.kinds) else None) for n, argument in enumerate(arguments)
        )
        if None not in ranks:
            ranked.append((one, tuple(rank for rank in ranks if rank is not None)))
    best = [one for one in ranked if all(other is one or _better(one, other, arguments) for other in ranked)]
    return best[0][0] if len(best) == 1 else None


def rank_of(argument: Argument, kind: Kind | None) -> int | None:
    """How an argument converts to a parameter's type: EXACT, PROMOTED, CONVERTED, USER; UNKNOWN, or None."""
    if kind is None:
        return UNKNOWN
    if kind.name in ("auto", "..."):
        return EXACT if kind.name == "auto" else ELLIPSIS
    given = argument.kind
    if argument.loose and kind.reference and (kind.reference == "&&" or not kind.const):
        return UNKNOWN if given is None or _reaches(given, kind) else None
    if argument.const is None and argument.place and kind.reference == "&" and not kind.const:
        return UNKNOWN if given is None or _reaches(given, kind) else None
    if kind.reference == "&" and not kind.const and not (argument.place and argument.const is not True):
        return None
    if kind.reference == "&&" and (argument.place or (argument.const is True and not kind.const)):
        return None
    if argument.braced:
        return _braced_rank(argument.braced - 1, kind)
    if argument.null or (argument.zero and kind.pointers):
        return (EXACT if argument.null else CONVERTED) if kind.pointers else None if argument.null else UNKNOWN
    if given is None:
        return UNKNOWN
    if kind.pointers or kind.dims or given.pointers or given.dims:
        return _pointer_rank(given, kind)
    if given.record is not None or kind.record is not None:
        return _record_rank(given, kind)
    if kind.reference == "&" and not kind.const:
        same = same_type(_plain(given), _plain(kind))
        return EXACT if same else None if same is False else UNKNOWN
    return _number_rank(given, kind)


def _reaches(given: Kind, kind: Kind) -> bool:
    """Whether a reference to one type may bind an object of another, but for const."""
    if given.record is not None and kind.record is not None:
        return given.record.descends(kind.record)
    return same_type(_plain(given), _plain(kind)) is not False


def _braced_rank(count: int, kind: Kind) -> int | None:
    """How a list in braces converts: [over.ics.list]."""
    if kind.pointers:
        return CONVERTED if count == 0 else UNKNOWN
    if kind.whole is not None:
        return CONVERTED if count < 2 else None
    record = kind.record
    if record is None:
        return UNKNOWN
    if record.methods.get(record.name):
        return USER if any(accepts_count(f, count) for f in record.methods[record.name].functions) else UNKNOWN
    return USER if count <= len(record.members) else UNKNOWN


def _plain(kind: Kind) -> Kind:
    return Kind(
        kind.name, kind.whole, kind.bits, kind.record, pointers=kind.pointers, dims=kind.dims, arguments=kind.arguments
    )


def _number_rank(given: Kind, kind: Kind) -> int | None:
    if given.whole is not None and kind.whole is not None:
        if given.whole == kind.whole:
            return EXACT
        if getattr(kind.whole, "enumeration", "") or getattr(given.whole, "scoped", False):
            return None
        narrow = given.whole.underlying if given.whole.bits < INT.bits else None  # only a fixed one is
        if narrow == kind.whole:
            return UNDERLYING
        return PROMOTED if promoted(given.whole) == kind.whole else CONVERTED
    floating = [k.name in _FLOATING for k in (given, kind)]
    if all(floating):
        return EXACT if given.name == kind.name else PROMOTED if kind.name == "double" else CONVERTED
    if any(floating) and (given.whole is not None or kind.whole is not None):
        return CONVERTED
    same = same_type(_plain(given), _plain(kind))
    return EXACT if same else UNKNOWN


def _pointer_rank(given: Kind, kind: Kind) -> int | None:
    steps = given.pointers + len(given.dims)
    if not kind.pointers and not kind.dims and kind.record is not None and not kind.record.opaque:
        return USER if kind.record.methods.get(kind.record.name) else None
    if not kind.pointers and not kind.dims:
        return (
            CONVERTED
            if kind.whole is not None and kind.whole.name == "bool"
            else (None if kind.whole is not None or kind.name in _FLOATING else UNKNOWN)
        )
    if not steps:
        record = given.record
        converts = record is not None and (record.opaque or any(n.startswith("operator ") for n in record.methods))
        return UNKNOWN if converts else None
    if steps != kind.pointers + len(kind.dims):
        return CONVERTED if kind.name == "void" and kind.pointers == 1 else None
    if given.const and not kind.const and kind.pointers == 1 == steps:
        return None
    if kind.reference and kind.dims:  # T (&)[4]
        sizes = [tuple(dim.known for dim in dims) for dims in (given.dims, kind.dims)]
        if sizes[0] != sizes[1]:
            return UNKNOWN if None in (*sizes[0], *sizes[1]) or (not given.dims and given.const) else None
    one = Kind(given.name, given.whole, given.bits, given.record, arguments=given.arguments)
    two = Kind(kind.name, kind.whole, kind.bits, kind.record, arguments=kind.arguments)
    same = same_type(one, two)
    if same:
        return EXACT
    if kind.name == "void":
        return CONVERTED
    if given.record is not None and kind.record is not None:
        return CONVERTED if given.record.descends(kind.record) else None
    return None if same is False else UNKNOWN


def _record_rank(given: Kind, kind: Kind) -> int | None:
    mine, other = given.record, kind.record
    if mine is not None and other is not None:
        if mine is other:
            return EXACT
        if mine.descends(other):
            return CONVERTED
        converts = other.name in other.methods or any(name.startswith("operator ") for name in mine.methods)
        return UNKNOWN if converts else None
    if mine is not None:  # an object where a number is needed
        converts = any(name.startswith("operator ") for name in mine.methods)
        return (
            (USER if kind.whole is not None else UNKNOWN) if converts else None if kind.whole is not None else UNKNOWN
        )
    assert other is not None
    return USER if other.methods.get(other.name) else None if given.whole is not None else UNKNOWN


def _better(
    one: tuple[Candidate, tuple[int, ...]], two: tuple[Candidate, tuple[int, ...]], arguments: Sequence[Argument]
) -> bool:
    """Whether one viable function is the better of two, for certain."""
    (left, mine), (right, other) = one, two
    if UNKNOWN in (*mine, *other):
        alike = all(a == b or UNKNOWN not in (a, b) for a, b in zip(mine, other, strict=True)) and _same_where_unknown(
            left, right, mine, other
        )
        if not alike:
            return False
    if any(a > b for a, b in zip(mine, other, strict=True)):
        return False
    if any(a < b for a, b in zip(mine, other, strict=True)):
        return True
    bound = [_binding(a, k, m) for a, k, m in zip(arguments, left.kinds, right.kinds, strict=False)]
    if -1 in bound:
        return False
    if 1 in bound:
        return True
    if bool(left.function.templates) != bool(right.function.templates):
        return not left.function.templates
    if left.function.templates:
        return _more_special(left.function, right.function)
    return bool(left.function.constraint) and not right.function.constraint


def _same_where_unknown(left: Candidate, right: Candidate, mine: tuple[int, ...], other: tuple[int, ...]) -> bool:
    for n, (a, b) in enumerate(zip(mine, other, strict=True)):
        if UNKNOWN in (a, b):
            one = left.kinds[n] if n < len(left.kinds) else None
            two = right.kinds[n] if n < len(right.kinds) else None
            if one is None or two is None or not same_type(one, two):
                return False
    return True


def _binding(argument: Argument, one: Kind | None, two: Kind | None) -> int:
    """1 where the first parameter binds an argument better than the second, -1 the other way round, else 0."""
    if one is None or two is None:
        return 0
    nearer = _nearer(argument.kind, one, two)
    if nearer:
        return nearer
    if one.pointers == 1 == two.pointers and one.const != two.const:
        return 1 if not one.const else -1  # of a pointer to what is not const
    if not one.reference or not two.reference:
        return 0
    if one.reference != two.reference:
        return (1 if one.reference == "&&" else -1) if not argument.place else 0
    if one.const != two.const and not one.pointers:
        return 1 if not one.const else -1
    return 0


def _nearer(given: Kind | None, one: Kind, two: Kind) -> int:
    """1 where an object's or pointer's class is converted to a nearer base by the first of two types, -1 by the second:
    [over.ics.rank] 4.4.
    """
    mine, other = one.record, two.record
    if given is None or given.record is None or mine is other or one.pointers != given.pointers:
        return 0
    if mine is None or not given.record.descends(mine):
        return -1 if other is not None and two.pointers and one.name == "void" and given.record.descends(other) else 0
    if other is None:
        return 1 if one.pointers and two.name == "void" else 0
    return 1 if mine.descends(other) else -1 if other.descends(mine) else 0


def _more_special(one: tree.Function, two: tree.Function) -> bool:
    """Whether a function template is more specialized than another, by their parameters: [temp.func.order]."""
    mine = [_referred(p.type) for p in one.parameters if p.type is not None]
    other = [_referred(p.type) for p in two.parameters if p.type is not None]
    if any(p.pack for p in two.parameters) and not any(p.pack for p in one.parameters):
        return True
    forwards = fits_pattern(mine, one.templates, other, two.templates)
    backwards = fits_pattern(other, two.templates, mine, one.templates)
    if forwards and backwards:
        return bool(one.constraint) and not two.constraint
    return forwards


def _referred(kind: tree.Type) -> tree.Type:
    """A parameter's type without its reference, and without const where that is all of it."""
    const = kind.const and bool(kind.pointers)
    return tree.Type(kind.path, kind.pointers, "", kind.dims, kind.body, const, span=kind.span)
