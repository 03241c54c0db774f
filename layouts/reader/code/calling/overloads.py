"""C++'s overload resolution: choose the function of a call by the types of its arguments.

ISO C++20: [over.match.viable], [over.ics.rank], [over.match.best]. No function is chosen if the choice depends on an
unknown type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.integers import INT, IntegerType, promote
from lanescope.cxx.value_class import value_class
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.specializations import fits_pattern
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import RecordType, ResolvedType

EXACT, UNDERLYING, PROMOTED, CONVERTED, USER, ELLIPSIS = range(6)  # UNDERLYING: [over.ics.rank] 4.2
UNKNOWN = -1  # an unknown rank
_FLOATING = ("float", "double")
_ANYTHING = {"auto": EXACT, "...": ELLIPSIS}  # parameters that take an argument of any type
# Ranks by whether two types are the same: if a different type does not fit, and if equal types are already ranked.
_IDENTICAL = {True: EXACT, False: None, None: UNKNOWN}
_DIFFERENT = {False: None, None: UNKNOWN}


@value_class(frozen=True, slots=True)
class CallArgument:
    """An argument of a call.

    kind: its type, None if unknown. place: whether it is an lvalue; where: its place. const: whether the object is
    const. zero: the literal 0; null: nullptr. braced: 1 + number of items of a braced list, else 0.
    """

    value: Any
    kind: ResolvedType | None
    place: bool = False
    const: bool | None = False
    zero: bool = False
    null: bool = False
    braced: int = 0
    where: Any = None
    loose: bool = False  # whether its value category is unknown


@dataclass(frozen=True, slots=True)
class OverloadCandidate:
    """A function that may be called, with its parameter types. deduced: its template arguments."""

    function: tree.Function
    kinds: tuple[ResolvedType | None, ...]
    deduced: dict[str, Any]


def accepts_count(function: tree.Function, count: int) -> bool:
    """Return whether a function takes `count` arguments."""
    least = sum(1 for p in function.parameters if p.default is None and not p.pack)
    packs = any(p.pack for p in function.parameters)
    return least <= count and (packs or count <= len(function.parameters))


def choose_candidate(
    candidates: Sequence[OverloadCandidate], arguments: Sequence[CallArgument]
) -> OverloadCandidate | None:
    """Return the best candidate for some arguments; None if none or several may be best."""
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
    """Rank the conversion of an argument to a parameter's type; None if no conversion exists."""
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
        return _rank_null(argument, kind)
    return UNKNOWN if argument.kind is None else _rank_types(argument.kind, kind)


def _rank_types(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    """Rank the conversion of a value of one type to another."""
    if kind.pointers or kind.dims or source_type.pointers or source_type.dims:
        return _rank_pointer(source_type, kind)
    if source_type.record is not None or kind.record is not None:
        return _rank_record(source_type, kind)
    if kind.reference == "&" and not kind.const:
        return _IDENTICAL[is_same_type(_strip_reference(source_type), _strip_reference(kind))]
    return _rank_number(source_type, kind)


def _binds_reference(argument: CallArgument, kind: ResolvedType) -> bool | None:
    """Return whether a reference parameter may bind an argument by value category and const; None if unknown."""
    if not kind.reference or (kind.reference == "&" and kind.const):
        return True
    if argument.loose or (argument.const is None and argument.place and kind.reference == "&"):
        return None if argument.kind is None or binds_without_conversion(argument.kind, kind) else False
    if kind.reference == "&":
        return argument.place and argument.const is not True
    return not argument.place and (argument.const is not True or kind.const)


def _rank_null(argument: CallArgument, kind: ResolvedType) -> int | None:
    """Rank the conversion of nullptr, or of the literal 0 to a pointer."""
    if not kind.pointers:
        return None
    return EXACT if argument.null else CONVERTED


def binds_without_conversion(source_type: ResolvedType, kind: ResolvedType) -> bool:
    """Return whether a reference may bind an object of another type without a conversion, ignoring const."""
    if source_type.record is not None and kind.record is not None:
        return source_type.record.is_derived_from(kind.record)
    return is_same_type(_strip_reference(source_type), _strip_reference(kind)) is not False


def _rank_braced(count: int, kind: ResolvedType) -> int | None:
    """Rank the conversion of a braced list: [over.ics.list]."""
    if kind.pointers:
        return CONVERTED if count == 0 else UNKNOWN
    if kind.integer is not None:
        return CONVERTED if count < 2 else None
    record = kind.record
    if record is None:
        return UNKNOWN
    if record.methods.get(record.name):
        return USER if any(accepts_count(f, count) for f in record.methods[record.name].functions) else UNKNOWN
    return USER if count <= len(record.members) else UNKNOWN


def _strip_reference(kind: ResolvedType) -> ResolvedType:
    return ResolvedType(
        kind.name,
        kind.integer,
        kind.bits,
        kind.record,
        pointers=kind.pointers,
        dims=kind.dims,
        arguments=kind.arguments,
    )


def _rank_number(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    if source_type.integer is not None and kind.integer is not None:
        return _rank_integer(source_type.integer, kind.integer)
    floating = [k.name in _FLOATING for k in (source_type, kind)]
    if all(floating):
        return EXACT if source_type.name == kind.name else PROMOTED if kind.name == "double" else CONVERTED
    if any(floating) and (source_type.integer is not None or kind.integer is not None):
        return CONVERTED
    same = is_same_type(_strip_reference(source_type), _strip_reference(kind))
    return EXACT if same else UNKNOWN


def _rank_integer(integer_type: IntegerType, kind: IntegerType) -> int | None:
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
        return _rank_pointer_to_value(kind)
    steps = source_type.pointers + len(source_type.dims)
    if not steps:
        return UNKNOWN if _may_convert(source_type.record) else None
    if steps != kind.pointers + len(kind.dims):
        return CONVERTED if kind.name == "void" and kind.pointers == 1 else None
    if source_type.const and not kind.const and kind.pointers == 1 == steps:
        return None
    if kind.reference and kind.dims and _get_sizes(source_type) != _get_sizes(kind):  # T (&)[4]
        return UNKNOWN if _may_have_same_sizes(source_type, kind) else None
    return _rank_pointed_types(source_type, kind)


def _may_have_same_sizes(source_type: ResolvedType, kind: ResolvedType) -> bool:
    """Return whether different array sizes may be equal, since one is unknown."""
    return None in (*_get_sizes(source_type), *_get_sizes(kind)) or (not source_type.dims and source_type.const)


def _rank_pointed_types(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    """Rank the conversion of a pointer to another with the same number of levels."""
    same = is_same_type(_strip_pointers(source_type), _strip_pointers(kind))
    if same:
        return EXACT
    if kind.name == "void":
        return CONVERTED
    if source_type.record is not None and kind.record is not None:
        return CONVERTED if source_type.record.is_derived_from(kind.record) else None
    return _DIFFERENT[same]


def _rank_pointer_to_value(kind: ResolvedType) -> int | None:
    """Rank the conversion of a pointer to a non-pointer type."""
    if kind.record is not None and not kind.record.opaque:
        return USER if kind.record.methods.get(kind.record.name) else None
    if kind.integer is not None:
        return CONVERTED if kind.integer.name == "bool" else None
    return None if kind.name in _FLOATING else UNKNOWN


def _get_sizes(kind: ResolvedType) -> tuple[int | None, ...]:
    return tuple(dim.known for dim in kind.dims)


def _strip_pointers(kind: ResolvedType) -> ResolvedType:
    """Return a type without its pointers."""
    return ResolvedType(kind.name, kind.integer, kind.bits, kind.record, arguments=kind.arguments)


def _may_convert(record: RecordType | None) -> bool:
    """Return whether an object may be converted to a pointer."""
    return record is not None and (record.opaque or record.converts)


def _rank_record(source_type: ResolvedType, kind: ResolvedType) -> int | None:
    source, target = source_type.record, kind.record
    if source is None:
        assert target is not None
        if target.methods.get(target.name):
            return USER
        return None if source_type.integer is not None else UNKNOWN
    if target is None:  # an object where a number is needed
        if kind.integer is None:
            return UNKNOWN
        return USER if source.converts else None
    if source is target:
        return EXACT
    if source.is_derived_from(target):
        return CONVERTED
    return UNKNOWN if target.name in target.methods or source.converts else None


def _is_better(
    first: tuple[OverloadCandidate, tuple[int, ...]],
    second: tuple[OverloadCandidate, tuple[int, ...]],
    arguments: Sequence[CallArgument],
) -> bool:
    """Return whether the first of two viable functions is certainly better."""
    (left, left_ranks), (right, right_ranks) = first, second
    if UNKNOWN in (*left_ranks, *right_ranks) and not _is_same_where_unknown(left, right, left_ranks, right_ranks):
        return False
    if any(a > b for a, b in zip(left_ranks, right_ranks, strict=True)):
        return False
    if any(a < b for a, b in zip(left_ranks, right_ranks, strict=True)):
        return True
    bound = [_compare_binding(a, k, m) for a, k, m in zip(arguments, left.kinds, right.kinds, strict=False)]
    if -1 in bound:
        return False
    return 1 in bound or _is_preferred_template(left.function, right.function)


def _is_preferred_template(first: tree.Function, second: tree.Function) -> bool:
    """Return whether a function is preferred to another with the same conversions.

    It is if only the other is a template, or if it is more specialized or constrained.
    """
    if bool(first.templates) != bool(second.templates):
        return not first.templates
    if first.templates:
        return _is_more_special(first, second)
    return bool(first.constraint) and not second.constraint


def _is_same_where_unknown(
    left: OverloadCandidate, right: OverloadCandidate, left_ranks: tuple[int, ...], right_ranks: tuple[int, ...]
) -> bool:
    """Return whether both candidates have the same parameter wherever a conversion is unknown."""
    for n, (a, b) in enumerate(zip(left_ranks, right_ranks, strict=True)):
        if UNKNOWN not in (a, b):
            continue
        left_kind = left.kinds[n] if n < len(left.kinds) else None
        right_kind = right.kinds[n] if n < len(right.kinds) else None
        if a != b or left_kind is None or right_kind is None or not is_same_type(left_kind, right_kind):
            return False
    return True


def _compare_binding(argument: CallArgument, first: ResolvedType | None, second: ResolvedType | None) -> int:
    """Return 1 if the first parameter type binds an argument better than the second, -1 if worse, else 0."""
    if first is None or second is None:
        return 0
    nearer = _compare_base_distance(argument.kind, first, second)
    if nearer:
        return nearer
    if first.pointers == 1 == second.pointers and first.const != second.const:
        return 1 if not first.const else -1  # a pointer to non-const is better
    if not first.reference or not second.reference:
        return 0
    if first.reference != second.reference:
        return (1 if first.reference == "&&" else -1) if not argument.place else 0
    if first.const != second.const and not first.pointers:
        return 1 if not first.const else -1
    return 0


def _compare_base_distance(source_type: ResolvedType | None, first: ResolvedType, second: ResolvedType) -> int:
    """Return 1 if the first of two types is the nearer base of a class, -1 if the second is, else 0.

    [over.ics.rank] 4.4.
    """
    first_record, second_record = first.record, second.record
    if (
        source_type is None
        or source_type.record is None
        or first_record is second_record
        or first.pointers != source_type.pointers
    ):
        return 0
    if not _has_base(source_type.record, first_record):
        return -1 if second.pointers and first.name == "void" and _has_base(source_type.record, second_record) else 0
    if second_record is None:
        return 1 if first.pointers and second.name == "void" else 0
    if _has_base(first_record, second_record):
        return 1
    return -1 if _has_base(second_record, first_record) else 0


def _has_base(record: RecordType | None, base: RecordType | None) -> bool:
    """Return whether a class is `base` or derived from it."""
    return record is not None and base is not None and record.is_derived_from(base)


def _is_more_special(first: tree.Function, second: tree.Function) -> bool:
    """Return whether a function template is more specialized than another: [temp.func.order]."""
    first_types = [_strip_parameter_type(p.type) for p in first.parameters if p.type is not None]
    second_types = [_strip_parameter_type(p.type) for p in second.parameters if p.type is not None]
    if any(p.pack for p in second.parameters) and not any(p.pack for p in first.parameters):
        return True
    forwards = fits_pattern(first_types, second_types, second.templates)
    backwards = fits_pattern(second_types, first_types, first.templates)
    if forwards and backwards:
        return bool(first.constraint) and not second.constraint
    return forwards


def _strip_parameter_type(kind: tree.Type) -> tree.Type:
    """Strip the reference and top-level const from a parameter's type."""
    const = kind.const and bool(kind.pointers)
    return tree.Type(kind.path, kind.pointers, "", kind.dims, kind.body, const, span=kind.span)
