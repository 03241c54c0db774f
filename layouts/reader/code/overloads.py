"""Which function of a name a call means: C++'s overload resolution over the types of its arguments.

ISO C++20: [over.match.viable], [over.ics.rank], [over.match.best]. Where the type of an argument decides and is not
known, no function is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.integers import INT, IntegerType, promote
from lanescope.reader.code import tree
from lanescope.reader.code.templates import fits_pattern, is_same_type
from lanescope.reader.code.values import RecordType, ResolvedType
from lanescope.value_class import value_class

EXACT, UNDERLYING, PROMOTED, CONVERTED, USER, ELLIPSIS = range(6)  # [over.ics.rank] 4.2: an enum's own type first
UNKNOWN = -1  # a rank that is not known
_FLOATING = ("float", "double")
_ANYTHING = {"auto": EXACT, "...": ELLIPSIS}  # parameters that take an argument of any type
# Ranks by whether two types are the same: where another type does not fit, and where the same one is ranked already.
_IDENTICAL = {True: EXACT, False: None, None: UNKNOWN}
_DIFFERENT = {False: None, None: UNKNOWN}


@value_class(frozen=True, slots=True)
class CallArgument:
    """What a call gives a parameter. kind: its type, None if unknown; place: whether it names an object; const: of
    that object; zero: the literal 0; null: nullptr.
    """

    value: Any
    kind: ResolvedType | None
    place: bool = False
    const: bool | None = False
    zero: bool = False
    null: bool = False
    braced: int = 0
    where: Any = None
    loose: bool = False  # whether its value category is not known


@dataclass(frozen=True, slots=True)
class OverloadCandidate:
    """A function that may be called, with the types of its parameters; deduced: what its template's are bound to."""

    function: tree.Function
    kinds: tuple[ResolvedType | None, ...]
    deduced: dict[str, Any]


def accepts_count(function: tree.Function, count: int) -> bool:
    """Return whether a function takes so many arguments."""
    least = sum(1 for p in function.parameters if p.default is None and not p.pack)
    packs = any(p.pack for p in function.parameters)
    return least <= count and (packs or count <= len(function.parameters))


def choose_candidate(
    candidates: Sequence[OverloadCandidate], arguments: Sequence[CallArgument]
) -> OverloadCandidate | None:
    """Return the best candidate for some arguments; None if none fits, or more than one may."""
    ranked: list[tuple[OverloadCandidate, tuple[int, ...]]] = []
    for candidate in candidates:
        ranks = tuple(
            rank_conversion(argument, candidate.kinds[n] if n < len(candidate.kinds) else None)
            for n, argument in enumerate(arguments)
        )
        if None not in ranks:
            ranked.append((candidate, tuple(rank for rank in ranks if rank is not None)))
    best = [
        candidate
        for candidate in ranked
        if all(other is candidate or _is_better(candidate, other, arguments) for other in ranked)
    ]
    return best[0][0] if len(best) == 1 else None


def rank_conversion(argument: CallArgument, kind: ResolvedType | None) -> int | None:
    """Rank the conversion of an argument to a parameter's type: EXACT, PROMOTED, CONVERTED, USER; UNKNOWN, or None."""
    if kind is None:
        return UNKNOWN
    if kind.name in _ANYTHING:
        return _ANYTHING[kind.name]
    binds = _binds_reference(argument, kind)
    if binds is not True:
        return UNKNOWN if binds is None else None
    if argument.braced:
        return _rank_braced(argument.braced - 1, kind)
    if argument.null or (argument.zero and kind.pointers):
        return _null_rank(argument, kind)
    return UNKNOWN if argument.kind is None else _rank_of_types(argument.kind, kind)


def _rank_of_types(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    """Rank the conversion of a value of one type to another."""
    if kind.pointers or kind.dims or source_type.pointers or source_type.dims:
        return _rank_pointer(source_type, kind)
    if source_type.record is not None or kind.record is not None:
        return _rank_record(source_type, kind)
    if kind.reference == "&" and not kind.const:
        return _IDENTICAL[is_same_type(_strip_reference(source_type), _strip_reference(kind))]
    return _rank_number(source_type, kind)


def _binds_reference(argument: CallArgument, kind: ResolvedType) -> bool | None:
    """Return whether a reference parameter may bind an argument by its value category and const; None if not known."""
    if not kind.reference or (kind.reference == "&" and kind.const):
        return True
    if argument.loose or (argument.const is None and argument.place and kind.reference == "&"):
        return None if argument.kind is None or binds_without_conversion(argument.kind, kind) else False
    if kind.reference == "&":
        return argument.place and argument.const is not True
    return not argument.place and (argument.const is not True or kind.const)


def _null_rank(argument: CallArgument, kind: ResolvedType) -> int | None:
    """Rank the conversion of nullptr, or of the literal 0 to a pointer."""
    if not kind.pointers:
        return None
    return EXACT if argument.null else CONVERTED


def binds_without_conversion(source_type: ResolvedType, kind: ResolvedType) -> bool:
    """Return whether a reference to a type may bind an object of another without a conversion, but for const."""
    if source_type.record is not None and kind.record is not None:
        return source_type.record.is_derived_from(kind.record)
    return is_same_type(_strip_reference(source_type), _strip_reference(kind)) is not False


def _rank_braced(count: int, kind: ResolvedType) -> int | None:
    """Rank the conversion of a list in braces: [over.ics.list]."""
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


def _strip_reference(kind: ResolvedType) -> ResolvedType:
    return ResolvedType(
        kind.name, kind.whole, kind.bits, kind.record, pointers=kind.pointers, dims=kind.dims, arguments=kind.arguments
    )


def _rank_number(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    if source_type.whole is not None and kind.whole is not None:
        return _integer_rank(source_type.whole, kind.whole)
    floating = [k.name in _FLOATING for k in (source_type, kind)]
    if all(floating):
        return EXACT if source_type.name == kind.name else PROMOTED if kind.name == "double" else CONVERTED
    if any(floating) and (source_type.whole is not None or kind.whole is not None):
        return CONVERTED
    same = is_same_type(_strip_reference(source_type), _strip_reference(kind))
    return EXACT if same else UNKNOWN


def _integer_rank(integer_type: IntegerType, kind: IntegerType) -> int | None:
    if integer_type == kind:
        return EXACT
    if kind.enumeration or integer_type.scoped:
        return None
    narrow = integer_type.underlying if integer_type.bits < INT.bits else None  # only a fixed one is
    if narrow == kind:
        return UNDERLYING
    return PROMOTED if promote(integer_type) == kind else CONVERTED


def _rank_pointer(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    if not kind.pointers and not kind.dims:
        return _rank_of_pointer_as_value(kind)
    steps = source_type.pointers + len(source_type.dims)
    if not steps:
        return UNKNOWN if _may_convert(source_type.record) else None
    if steps != kind.pointers + len(kind.dims):
        return CONVERTED if kind.name == "void" and kind.pointers == 1 else None
    if source_type.const and not kind.const and kind.pointers == 1 == steps:
        return None
    if kind.reference and kind.dims and _sizes(source_type) != _sizes(kind):  # T (&)[4]
        return UNKNOWN if _may_have_sizes(source_type, kind) else None
    return _rank_of_pointed(source_type, kind)


def _may_have_sizes(source_type: ResolvedType, kind: ResolvedType) -> bool:
    """Return whether different array sizes may be equal, since one is not known."""
    return None in (*_sizes(source_type), *_sizes(kind)) or (not source_type.dims and source_type.const)


def _rank_of_pointed(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    """Rank the conversion of a pointer to another of as many levels."""
    same = is_same_type(_pointed(source_type), _pointed(kind))
    if same:
        return EXACT
    if kind.name == "void":
        return CONVERTED
    if source_type.record is not None and kind.record is not None:
        return CONVERTED if source_type.record.is_derived_from(kind.record) else None
    return _DIFFERENT[same]


def _rank_of_pointer_as_value(kind: ResolvedType) -> int | None:
    """Rank the conversion of a pointer to a type that is none."""
    if kind.record is not None and not kind.record.opaque:
        return USER if kind.record.methods.get(kind.record.name) else None
    if kind.whole is not None:
        return CONVERTED if kind.whole.name == "bool" else None
    return None if kind.name in _FLOATING else UNKNOWN


def _sizes(kind: ResolvedType) -> tuple[int | None, ...]:
    return tuple(dim.known for dim in kind.dims)


def _pointed(kind: ResolvedType) -> ResolvedType:
    """Return what a pointer points to."""
    return ResolvedType(kind.name, kind.whole, kind.bits, kind.record, arguments=kind.arguments)


def _may_convert(record: RecordType | None) -> bool:
    """Return whether an object may be converted to a pointer."""
    return record is not None and (record.opaque or record.converts)


def _rank_record(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    mine, other = source_type.record, kind.record
    if mine is None:
        assert other is not None
        if other.methods.get(other.name):
            return USER
        return None if source_type.whole is not None else UNKNOWN
    if other is None:  # an object where a number is needed
        if kind.whole is None:
            return UNKNOWN
        return USER if mine.converts else None
    if mine is other:
        return EXACT
    if mine.is_derived_from(other):
        return CONVERTED
    return UNKNOWN if other.name in other.methods or mine.converts else None


def _is_better(
    one: tuple[OverloadCandidate, tuple[int, ...]],
    two: tuple[OverloadCandidate, tuple[int, ...]],
    arguments: Sequence[CallArgument],
) -> bool:
    """Return whether one viable function is certainly the better of two."""
    (left, mine), (right, other) = one, two
    if UNKNOWN in (*mine, *other) and not _is_same_where_unknown(left, right, mine, other):
        return False
    if any(a > b for a, b in zip(mine, other, strict=True)):
        return False
    if any(a < b for a, b in zip(mine, other, strict=True)):
        return True
    bound = [_compare_binding(a, k, m) for a, k, m in zip(arguments, left.kinds, right.kinds, strict=False)]
    if -1 in bound:
        return False
    return 1 in bound or _more_special_template(left.function, right.function)


def _more_special_template(one: tree.Function, two: tree.Function) -> bool:
    """Return whether a function with the same conversions is preferred to another.

    It is not a template, or it is more specialized or constrained.
    """
    if bool(one.templates) != bool(two.templates):
        return not one.templates
    if one.templates:
        return _is_more_special(one, two)
    return bool(one.constraint) and not two.constraint


def _is_same_where_unknown(
    left: OverloadCandidate, right: OverloadCandidate, mine: tuple[int, ...], other: tuple[int, ...]
) -> bool:
    """Return whether both have the same parameter wherever the conversion of an argument to one of them is unknown."""
    for n, (a, b) in enumerate(zip(mine, other, strict=True)):
        if UNKNOWN not in (a, b):
            continue
        one = left.kinds[n] if n < len(left.kinds) else None
        two = right.kinds[n] if n < len(right.kinds) else None
        if a != b or one is None or two is None or not is_same_type(one, two):
            return False
    return True


def _compare_binding(argument: CallArgument, one: ResolvedType | None, two: ResolvedType | None) -> int:
    """Return 1 if the first parameter binds an argument better than the second, -1 the other way round, else 0."""
    if one is None or two is None:
        return 0
    nearer = _compare_base_distance(argument.kind, one, two)
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


def _compare_base_distance(source_type: ResolvedType | None, one: ResolvedType, two: ResolvedType) -> int:
    """Return 1 if the first of two types is the nearer base of an object's or pointer's class, -1 if the second is.

    [over.ics.rank] 4.4.
    """
    mine, other = one.record, two.record
    if source_type is None or source_type.record is None or mine is other or one.pointers != source_type.pointers:
        return 0
    if not _has_base(source_type.record, mine):
        return -1 if two.pointers and one.name == "void" and _has_base(source_type.record, other) else 0
    if other is None:
        return 1 if one.pointers and two.name == "void" else 0
    if _has_base(mine, other):
        return 1
    return -1 if _has_base(other, mine) else 0


def _has_base(record: RecordType | None, base: RecordType | None) -> bool:
    """Return whether a class is another or derived from it."""
    return record is not None and base is not None and record.is_derived_from(base)


def _is_more_special(one: tree.Function, two: tree.Function) -> bool:
    """Return whether a function template is more specialized than another, by their parameters: [temp.func.order]."""
    mine = [_strip_parameter_type(p.type) for p in one.parameters if p.type is not None]
    other = [_strip_parameter_type(p.type) for p in two.parameters if p.type is not None]
    if any(p.pack for p in two.parameters) and not any(p.pack for p in one.parameters):
        return True
    forwards = fits_pattern(mine, one.templates, other, two.templates)
    backwards = fits_pattern(other, two.templates, mine, one.templates)
    if forwards and backwards:
        return bool(one.constraint) and not two.constraint
    return forwards


def _strip_parameter_type(kind: tree.Type) -> tree.Type:
    """Strip the reference from a parameter's type, and const if it applies to all of it."""
    const = kind.const and bool(kind.pointers)
    return tree.Type(kind.path, kind.pointers, "", kind.dims, kind.body, const, span=kind.span)
