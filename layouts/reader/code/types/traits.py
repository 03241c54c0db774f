"""Evaluate standard type traits: `std::is_same_v<A, B>`, `std::conditional_t<c, A, B>`.

ISO C++20 [meta]. A trait of unknown types has no value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lanescope.cxx.integers import BOOL, INT, ULONG, IntegerType, find_integer_type
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.types.templates import get_argument_value, is_same_type
from lanescope.reader.code.values import ResolvedType

_FLOATING = frozenset(("float", "double", "long double"))
SEQUENCES = frozenset(("make_index_sequence", "make_integer_sequence"))
Arguments = list[Any]


def _is_integral(kind: ResolvedType) -> bool | None:
    if kind.pointers or kind.reference or kind.record is not None:
        return False
    if kind.integer is not None:
        return not getattr(kind.integer, "enumeration", False)
    return False if kind.name in _FLOATING else None


def _is_floating(kind: ResolvedType) -> bool | None:
    if kind.pointers or kind.reference or kind.record is not None or kind.integer is not None:
        return False
    return True if kind.name in _FLOATING else None


def _is_unsigned(kind: ResolvedType) -> bool | None:
    integral = _is_integral(kind)
    return not kind.integer.signed if integral and kind.integer else None if integral is None else False


def _is_signed(kind: ResolvedType) -> bool | None:
    integral = _is_integral(kind)
    if integral and kind.integer:
        return kind.integer.signed
    return _is_floating(kind) if not integral else None


def _combine_either(left: bool | None, right: bool | None) -> bool | None:
    return True if left or right else False if left is False and right is False else None


_UNARY: dict[str, Callable[[ResolvedType], bool | None]] = {
    "is_integral": _is_integral,
    "is_floating_point": _is_floating,
    "is_arithmetic": lambda kind: _combine_either(_is_integral(kind), _is_floating(kind)),
    "is_unsigned": _is_unsigned,
    "is_signed": _is_signed,
    "is_pointer": lambda kind: bool(kind.pointers) and not kind.reference,
    "is_reference": lambda kind: bool(kind.reference),
    "is_lvalue_reference": lambda kind: kind.reference == "&",
    "is_rvalue_reference": lambda kind: kind.reference == "&&",
    "is_const": lambda kind: None if kind.pointers else kind.const and not kind.reference,
    "is_array": lambda kind: bool(kind.dims) and not kind.reference,
    "is_void": lambda kind: kind.name == "void" and not kind.pointers,
    "is_class": lambda kind: (kind.record is not None and not _is_union(kind) and not kind.pointers) or None,
}


def _is_union(kind: ResolvedType) -> bool:
    return kind.record is not None and kind.record.decl is not None and kind.record.decl.union


def find_truth(name: str, arguments: Arguments) -> bool | None:
    """Evaluate a standard type trait; None if it is unsupported or its value unknown."""
    kinds = [argument for argument in arguments if isinstance(argument, ResolvedType)]
    if len(kinds) != len(arguments):
        return None
    if name == "is_same" and len(kinds) == 2:
        return is_same_type(*kinds)
    if name == "is_base_of" and len(kinds) == 2 and kinds[0].record is not None and kinds[1].record is not None:
        return kinds[1].record.is_derived_from(kinds[0].record)
    if name in _UNARY and len(kinds) == 1:
        return _UNARY[name](kinds[0])
    return None


def find_trait_value(name: str, arguments: Arguments) -> SymbolicInt | None:
    """Evaluate `std::is_same_v<…>` and the like; None for another variable or an unknown value."""
    if not name.endswith("_v"):
        return None
    if name == "rank_v" and isinstance(arguments[0], ResolvedType):
        return SymbolicInt(len(arguments[0].dims), ULONG)
    known = find_truth(name.removesuffix("_v"), arguments)
    return None if known is None else SymbolicInt(int(known), BOOL)


def find_trait_member(kind: ResolvedType, name: str) -> Any:
    """Return `value` or `type` of a trait, a member of integral_constant; None for another."""
    arguments = list(kind.arguments)
    head = kind.name.rpartition("::")[2]
    if head in ("integral_constant", "constant") and len(arguments) == 2 and name == "value":
        return get_argument_value(arguments[1])
    if head in ("true_type", "false_type") and name == "value":
        return SymbolicInt(int(head == "true_type"), BOOL)
    if head in ("bool_constant", "C", "Int") and len(arguments) == 1 and name == "value":
        return get_argument_value(arguments[0])
    if name == "value":
        known = find_truth(head, arguments) if arguments else None
        return None if known is None else SymbolicInt(int(known), BOOL)
    if name == "type":
        return find_trait_type(head + "_t", arguments)
    return None


def find_trait_type(name: str, arguments: Arguments) -> ResolvedType | None:
    """Return the type of `std::conditional_t<…>`, `std::remove_cv_t<…>` …; None if unsupported or unknown."""
    head = name.rpartition("::")[2]
    if head == "enable_if_t" and arguments:
        return _enable_if(arguments)
    choose = _CHOICES.get((head, len(arguments)))
    if choose is not None:
        return choose(arguments)
    change = _CHANGES.get(head)
    if change is None or not arguments or not isinstance(arguments[0], ResolvedType):
        return None
    return change(arguments[0])


def _conditional(arguments: Arguments) -> ResolvedType | None:
    condition = get_argument_value(arguments[0])
    if condition is None or condition.known is None:
        return None
    chosen = arguments[1] if condition.known else arguments[2]
    return chosen if isinstance(chosen, ResolvedType) else None


def _enable_if(arguments: Arguments) -> ResolvedType | None:
    condition = get_argument_value(arguments[0])
    result = arguments[1] if len(arguments) > 1 else ResolvedType("void", None, 8)
    return result if condition is not None and condition.known and isinstance(result, ResolvedType) else None


def _make_bool_constant(arguments: Arguments) -> ResolvedType:
    return ResolvedType("integral_constant", arguments=(ResolvedType("bool", BOOL, 1), arguments[0]))


_CHOICES: dict[tuple[str, int], Callable[[Arguments], ResolvedType | None]] = {  # by (trait, number of arguments)
    ("conditional_t", 3): _conditional,
    ("bool_constant", 1): _make_bool_constant,
}


def make_sequence(name: str, arguments: Arguments) -> ResolvedType | None:
    """Return index_sequence<0, 1, …> for std::make_index_sequence<n>, integer_sequence<T, 0, 1, …> for
    make_integer_sequence<T, n>; None for another name.
    """
    count = get_argument_value(arguments[-1]) if arguments else None
    if name not in SEQUENCES or count is None or count.known is None or not 0 <= count.known <= 256:
        return None
    kind = arguments[0] if len(arguments) == 2 else None
    if name == "make_index_sequence" or not isinstance(kind, ResolvedType):
        return ResolvedType("index_sequence", arguments=tuple(SymbolicInt(n, ULONG) for n in range(count.known)))
    items = (SymbolicInt(n, kind.integer or ULONG) for n in range(count.known))
    return ResolvedType("integer_sequence", arguments=(kind, *items))


def is_type_transformation(name: str) -> bool:
    """Return whether a name is that of a trait that transforms types."""
    return name in _CHANGES or name in ("conditional_t", "enable_if_t", "common_type_t", "invoke_result_t")


def _change_sign(kind: ResolvedType, signed: bool) -> ResolvedType | None:
    integer = kind.integer
    if integer is None or kind.pointers or kind.reference or integer.name == "bool" or integer.bits < 8:
        return None
    if integer.signed == signed and integer.name != "char":
        return kind
    words = {8: "char", 16: "short", 32: "int"}.get(
        integer.bits, "long long" if "long long" in integer.name else "long"
    )
    integer_type: IntegerType | None = find_integer_type(
        ("" if not signed else "signed " if words == "char" else "") + words if signed else f"unsigned {words}"
    )
    return replace(kind, name=integer_type.name, integer=integer_type) if integer_type is not None else None


def _get_underlying(kind: ResolvedType) -> ResolvedType | None:
    integer_type = kind.integer
    inner = getattr(integer_type, "underlying", None)
    return ResolvedType(inner.name, inner, inner.bits, const=kind.const) if inner is not None else None


def _strip_pointer(kind: ResolvedType) -> ResolvedType:
    return replace(kind, pointers=kind.pointers - 1) if kind.pointers and not kind.reference else kind


def _decay_type(kind: ResolvedType) -> ResolvedType:
    value_type = replace(kind, reference="")
    if value_type.dims:
        return replace(value_type, dims=(), pointers=value_type.pointers + 1)
    return value_type if value_type.pointers else replace(value_type, const=False)


def _drop_const(kind: ResolvedType) -> ResolvedType:
    return kind if kind.reference or kind.pointers else replace(kind, const=False)


_CHANGES: dict[str, Callable[[ResolvedType], ResolvedType | None]] = {
    "remove_reference_t": lambda kind: replace(kind, reference=""),
    "remove_const_t": _drop_const,
    "remove_cv_t": _drop_const,
    "remove_cvref_t": lambda kind: _drop_const(replace(kind, reference="")),
    "decay_t": _decay_type,
    "remove_pointer_t": _strip_pointer,
    "remove_extent_t": lambda kind: replace(kind, dims=kind.dims[1:]),
    "add_pointer_t": lambda kind: replace(kind, reference="", pointers=kind.pointers + 1),
    "add_const_t": lambda kind: kind if kind.reference else None if kind.pointers else replace(kind, const=True),
    "add_lvalue_reference_t": lambda kind: replace(kind, reference="&"),
    "make_unsigned_t": lambda kind: _change_sign(kind, False),
    "make_signed_t": lambda kind: _change_sign(kind, True),
    "underlying_type_t": _get_underlying,
    "type_identity_t": lambda kind: kind,
}


def get_numeric_limit(kind: ResolvedType, name: str) -> SymbolicInt | None:
    """Return a member of std::numeric_limits<kind>: max(), min(), digits, is_signed; None if unknown."""
    integer_type = kind.integer
    if integer_type is None or kind.pointers or kind.reference or getattr(integer_type, "enumeration", False):
        return None
    most = integer_type.mask >> integer_type.signed
    if name == "max":
        return SymbolicInt(most, integer_type)
    if name in ("min", "lowest"):
        return SymbolicInt(-most - 1 if integer_type.signed else 0, integer_type)
    if name == "digits":
        return SymbolicInt(most.bit_length(), INT)
    return SymbolicInt(int(integer_type.signed), BOOL) if name == "is_signed" else None
