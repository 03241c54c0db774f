"""Integers with a value per thread: polynomials in names with unknown values, such as K or blockIdx.x.

A coefficient is an int if it is uniform, else an array [threads]. None is an unknown value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.integers import COMPARED, EXACT
from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.language.quotients import Coefficient, Monomial, cancel_quotients, divide_terms

MOST_TERMS = 24
INT, UINT, LONG, ULONG = (32, True), (32, False), (64, True), (64, False)
_ALL = (1 << 64) - 1
_keep_results = lru_cache(maxsize=1 << 10)


@value_class(frozen=True, slots=True, eq=False)
class ThreadNumber:
    """An integer of every thread.

    terms: product of names → coefficient; kind: bits, and whether it is signed. Numbers are equal only if they are one
    object, so that results can be kept: a loop computes most of its addresses again in every turn.
    """

    terms: dict[Monomial, Coefficient]
    kind: tuple[int, bool] = INT

    @property
    def const(self) -> Coefficient | None:
        """The value, None if it contains a name."""
        terms = self.terms
        if len(terms) == 1:
            return terms.get(())
        return None if terms else 0

    @property
    def known(self) -> int | None:
        """The uniform value of all threads, None if there is none."""
        value = self.const
        if value is None or isinstance(value, int):
            return value
        return int(value[0]) if (value == value[0]).all() else None

    @property
    def uniform(self) -> bool:
        """Whether the value is the same in all threads."""
        return all(isinstance(term, int) or bool((term == term[0]).all()) for term in self.terms.values())

    def format_key(self) -> str:
        """Return a text that equal uniform numbers share."""
        parts = ("*".join((str(_get_first(coefficient)), *names)) for names, coefficient in sorted(self.terms.items()))
        return "(" + "+".join(parts) + ")"


Number = ThreadNumber | None
_NAME = re.compile(r"[A-Za-z_][\w.]*")


def list_size_names(number: ThreadNumber) -> set[str]:
    """Return the open names in a number, also within results such as (K)/(32), without those of special registers."""
    words = {word for names in number.terms for name in names for word in _NAME.findall(name)}
    return {word for word in words if not word.startswith(("blockIdx.", "gridDim."))}


def _get_first(coefficient: Coefficient) -> int:
    return coefficient if isinstance(coefficient, int) else int(coefficient[0])


def make_number(value: Coefficient, kind: tuple[int, bool] = INT) -> ThreadNumber:
    """Return a constant number."""
    return ThreadNumber({(): value}, kind)


def make_name(name: str, kind: tuple[int, bool]) -> ThreadNumber:
    """Return the value of a name that is not known."""
    return ThreadNumber({(name,): 1}, kind)


def get_number(value: Any) -> ThreadNumber | None:
    """Return an integer value; None for any other value."""
    return value if isinstance(value, ThreadNumber) else None


_NARROW = {(8, True): np.int8, (16, True): np.int16, (32, True): np.int32}


def wrap_value(value: Coefficient, kind: tuple[int, bool]) -> Coefficient:
    """Wrap a value to an integer type; an array of unsigned 64-bit values keeps its bits."""
    bits, signed = kind
    if isinstance(value, int):
        value &= (1 << bits) - 1
        return value - (1 << bits) if signed and value >> (bits - 1) else value
    if bits >= 64:
        return value
    narrow = _NARROW.get(kind)
    return value.astype(narrow).astype(np.int64) if narrow is not None else value & ((1 << bits) - 1)


@lru_cache(maxsize=1 << 14)
def make_uniform(value: int, kind: tuple[int, bool] = INT) -> ThreadNumber:
    """Return an integer that all threads have, wrapped to its type: one object for each value."""
    return make_number(wrap_value(value, kind), kind)


def as_array(value: Coefficient) -> Any:
    """Return a coefficient as signed 64-bit integers for NumPy."""
    if not isinstance(value, int):
        return value
    value &= _ALL
    return np.int64(value - (1 << 64) if value >> 63 else value)


@_keep_results
def convert_number(number: Number, kind: tuple[int, bool]) -> Number:
    """Convert a number to another integer type."""
    if number is None:
        return None
    value = number.const
    if value is None:
        return ThreadNumber(number.terms, kind)
    if isinstance(value, int):
        return make_uniform(value, kind)
    if number.kind == (64, False) and kind == (64, True):
        return make_number(value, kind)
    return make_number(wrap_value(value, kind), kind)


@cache
def find_common_kind(left: tuple[int, bool], right: tuple[int, bool]) -> tuple[int, bool]:
    """Return the type of C's usual arithmetic conversions."""
    a, b = (kind if kind[0] >= 32 else INT for kind in (left, right))
    if a[0] != b[0]:
        return max(a, b)
    return a[0], a[1] and b[1]


def _combine_values(left: ThreadNumber, right: ThreadNumber, sign: int) -> dict[Monomial, Coefficient]:
    terms = dict(left.terms)
    for names, factor in right.terms.items():
        terms[names] = _add_terms(terms.get(names, 0), factor, sign)
        if names and isinstance(terms[names], int) and terms[names] == 0:
            del terms[names]
    return terms


def _add_terms(left: Coefficient, right: Coefficient, sign: int) -> Coefficient:
    if isinstance(left, int) and isinstance(right, int):
        return left + sign * right
    total: Coefficient = as_array(left) + as_array(right) if sign > 0 else as_array(left) - as_array(right)
    return total


def multiply_coefficients(left: Coefficient, right: Coefficient) -> Coefficient:
    """Multiply two coefficients, modulo 2⁶⁴ if they are arrays."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return as_array(left) * as_array(right)  # type: ignore[no-any-return]


@_keep_results
def add_numbers(left: Number, right: Number, sign: int = 1) -> Number:
    """Add two numbers, or subtract the second."""
    if left is None or right is None:
        return None
    kind = find_common_kind(left.kind, right.kind)
    a, b = left.const, right.const
    if isinstance(a, int) and isinstance(b, int):
        return make_uniform(a + sign * b, kind)
    result = ThreadNumber(_combine_values(left, right, sign), kind)
    if len(result.terms) > MOST_TERMS:
        return None
    return convert_number(result, kind) if result.const is not None else result


@_keep_results
def multiply_numbers(left: Number, right: Number) -> Number:
    """Multiply two numbers."""
    if left is None or right is None or len(left.terms) * len(right.terms) > MOST_TERMS:
        return None
    kind = find_common_kind(left.kind, right.kind)
    x, y = left.const, right.const
    if isinstance(x, int) and isinstance(y, int):
        return make_uniform(x * y, kind)
    terms: dict[Monomial, Coefficient] = {}
    for a, x in left.terms.items():
        for b, y in right.terms.items():
            names = tuple(sorted((*a, *b)))
            terms[names] = _add_terms(terms.get(names, 0), multiply_coefficients(x, y), 1)
    result = ThreadNumber(cancel_quotients(terms), kind)
    return convert_number(result, kind) if result.const is not None else result


@_keep_results
def step_offset(offset: Number, index: Number, size: int, sign: int = 1) -> Number:
    """Return the offset in bytes of an item of an array at an offset. size: the bytes of an item."""
    return add_numbers(offset, multiply_numbers(convert_number(index, LONG), make_uniform(size, LONG)), sign)


_WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    **{op: EXACT[op] for op in "/%&|^"},
    "min": lambda a, b: np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b),
    "max": lambda a, b: np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b),
}


@_keep_results
def apply_operator(op: str, left: Number, right: Number) -> Number:
    """Apply a binary operator of C to two numbers."""
    if left is None or right is None:
        return None
    if op in "+-":
        return add_numbers(left, right, 1 if op == "+" else -1)
    if op == "*":
        return multiply_numbers(left, right)
    if op in ("<<", ">>"):
        return _shift_number(op, left, right)
    if op in COMPARED:
        return _compare_numbers(op, left, right)
    a, b = left.const, right.const
    kind = find_common_kind(left.kind, right.kind)
    if op not in _WHOLE:
        return None
    if a is None or b is None:
        return _name_result(op, left, right, kind)
    return _apply_to_values(op, a, b, kind)


def _apply_to_values(op: str, a: Coefficient, b: Coefficient, kind: tuple[int, bool]) -> Number:
    """Apply an operator to integers; None for division by 0 or with a negative operand."""
    if op in "/%" and (not np.all(as_array(b)) or (kind == ULONG and (np.any(as_array(a) < 0)))):
        return None
    if isinstance(a, int) and isinstance(b, int):
        return make_uniform(_WHOLE[op](wrap_value(a, kind), wrap_value(b, kind)), kind)
    x, y = as_array(wrap_value(a, kind)), as_array(wrap_value(b, kind))
    return make_number(wrap_value(np.asarray(_WHOLE[op](x, y), np.int64), kind), kind)


_DIVISORS: dict[str, Callable[[int], int]] = {"/": int, ">>": lambda count: 1 << min(count, 64)}


def _name_result(op: str, left: ThreadNumber, right: ThreadNumber, kind: tuple[int, bool]) -> Number:
    """Return a name for the result of an operator on open uniform values; of others, a quotient by a known number."""
    if op == "/" and right.known == 1:
        return left
    if op in _DIVISORS and right.known and right.known > 0 and not left.uniform:
        terms = divide_terms(left.terms, _DIVISORS[op](right.known))
        return ThreadNumber(terms, kind) if terms is not None else None
    key = f"{left.format_key()}{op}{right.format_key()}"
    return make_name(key, kind) if left.uniform and right.uniform and len(key) < 400 else None


def _shift_number(op: str, left: ThreadNumber, right: ThreadNumber) -> Number:
    kind = left.kind if left.kind[0] >= 32 else INT
    by, value = right.const, left.const
    if op == "<<" and isinstance(right.known, int) and 0 <= right.known < kind[0]:
        result = multiply_numbers(ThreadNumber(left.terms, kind), make_number(1 << right.known, kind))
        return result if result is None else convert_number(result, kind) if result.const is not None else result
    if value is None or by is None:
        return _name_result(op, left, right, kind)
    if np.any(as_array(by) < 0) or np.any(as_array(by) >= kind[0]):
        return None
    return _shift_values(op, value, by, kind)


def _shift_values(op: str, value: Coefficient, by: Coefficient, kind: tuple[int, bool]) -> Number:
    """Shift integers by less than their width."""
    if isinstance(value, int) and isinstance(by, int):
        return make_uniform(value << by if op == "<<" else value >> by, kind)
    x, y = np.asarray(as_array(value)), np.asarray(as_array(by))
    if op == "<<":
        made_value = x << y
    elif kind == ULONG:
        made_value = (x.view(np.uint64) >> y.view(np.uint64)).view(np.int64)
    else:
        made_value = x >> y
    return make_number(wrap_value(made_value, kind), kind)


def _compare_numbers(op: str, left: ThreadNumber, right: ThreadNumber) -> Number:
    kind = find_common_kind(left.kind, right.kind)
    a, b = left.const, right.const
    if a is None or b is None:
        rest = ThreadNumber({n: c for n, c in _combine_values(left, right, -1).items() if not n or np.any(as_array(c))})
        a, b = rest.const, 0
        if a is None:
            return None
    elif isinstance(a, int) and isinstance(b, int):
        a, b = wrap_value(a, kind), wrap_value(b, kind)
    compare: Callable[[Any, Any], Any] = COMPARED[op]
    result = compare(a, b)
    return (
        make_uniform(int(result)) if isinstance(result, bool | np.bool_) else make_number(np.asarray(result, np.int64))
    )


def select_numbers(mask: NDArray[np.bool_], yes: Number, no: Number) -> Number:
    """Return one number where the mask is set, else the other."""
    if yes is None or no is None:
        return None
    terms: dict[Monomial, Coefficient] = {}
    for names in dict.fromkeys((*yes.terms, *no.terms)):
        a, b = yes.terms.get(names, 0), no.terms.get(names, 0)
        same = isinstance(a, int) and isinstance(b, int) and a == b
        terms[names] = a if same else np.where(mask, as_array(a), as_array(b))
    return ThreadNumber(terms, yes.kind)
