"""C++'s integers on 64-bit Linux (nvcc, gcc; LP64), and Python's: types, promotions, conversions, operators.

ISO C++20: [basic.fundamental], [conv.rank], [conv.prom], [expr.arith.conv], [expr.mul], [expr.shift]. An operation that
is undefined in C++ has a reason; its value is then what the device computes (PTX ISA 9.1, 9.7.8.8: shift amounts are
clamped; sums and products wrap), or None if that is not specified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from lanescope.cxx.value_class import value_class


@value_class(frozen=True, slots=True)
class IntegerType:
    """An integer type; two are equal if name, width and sign are equal: `uint64_t` is `unsigned long`.

    bits: of its values including the sign (bool: 1; Python's int: 0, unbounded); rank: its conversion rank; storage:
    its size in bytes; written: its spelling in the text; field_bits: of a bit field, else 0; underlying: the type of an
    enumeration's values; scoped: whether it is an enum class.
    """

    name: str
    bits: int
    signed: bool
    rank: int = field(default=0, compare=False)
    storage: int = field(default=0, compare=False)
    written: str = field(default="", compare=False)
    field_bits: int = 0
    underlying: IntegerType | None = field(default=None, compare=False)
    scoped: bool = field(default=False, compare=False)

    @property
    def enumeration(self) -> str:
        """The name of an enumeration; "" for another type."""
        return self.name if self.underlying is not None else ""

    @property
    def mask(self) -> int:
        """The mask of all bits of a value; -1 for Python's int."""
        return (1 << self.bits) - 1 if self.bits else -1

    @property
    def least(self) -> int:
        """The smallest value."""
        return -1 << (self.bits - 1) if self.signed else 0

    @property
    def most(self) -> int:
        """The largest value."""
        return self.mask >> self.signed

    @property
    def size(self) -> int:
        """The size in bytes: sizeof, and alignof on this platform."""
        return self.storage or max(self.bits // 8, 1)

    def wrap(self, value: int) -> int:
        """Return the value that a variable of this type holds after `value` is assigned.

        >>> INT.wrap(1 << 31), UINT.wrap(-1), BOOL.wrap(2)
        (-2147483648, 4294967295, 1)
        """
        if self.bits <= 1 and (not self.bits or not self.signed):
            return int(value != 0) if self.bits else value
        value &= self.mask
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def can_hold(self, value: int) -> bool:
        """Return whether a value fits the type."""
        return not self.bits or self.least <= value <= self.most


BOOL = IntegerType("bool", 1, False, 0, 1)
CHAR = IntegerType("char", 8, True, 1, 1)
SCHAR = IntegerType("signed char", 8, True, 1, 1)
UCHAR = IntegerType("unsigned char", 8, False, 1, 1)
SHORT = IntegerType("short", 16, True, 2, 2)
USHORT = IntegerType("unsigned short", 16, False, 2, 2)
INT = IntegerType("int", 32, True, 3, 4)
UINT = IntegerType("unsigned int", 32, False, 3, 4)
LONG = IntegerType("long", 64, True, 4, 8)
ULONG = IntegerType("unsigned long", 64, False, 4, 8)
LLONG = IntegerType("long long", 64, True, 5, 8)
ULLONG = IntegerType("unsigned long long", 64, False, 5, 8)
INT128 = IntegerType("__int128", 128, True, 6, 16)
UINT128 = IntegerType("unsigned __int128", 128, False, 6, 16)
WCHAR = IntegerType("wchar_t", 32, True, 3, 4)
CHAR8 = IntegerType("char8_t", 8, False, 1, 1)
CHAR16 = IntegerType("char16_t", 16, False, 2, 2)
CHAR32 = IntegerType("char32_t", 32, False, 3, 4)
PYTHON = IntegerType("python int", 0, True, 9)

TYPES = (
    BOOL,
    CHAR,
    SCHAR,
    UCHAR,
    SHORT,
    USHORT,
    INT,
    UINT,
    LONG,
    ULONG,
    LLONG,
    ULLONG,
    INT128,
    UINT128,
    WCHAR,
    CHAR8,
    CHAR16,
    CHAR32,
)
_BY_WIDTH = {True: {8: SCHAR, 16: SHORT, 32: INT, 64: LONG}, False: {8: UCHAR, 16: USHORT, 32: UINT, 64: ULONG}}
_UNSIGNED = {CHAR: UCHAR, SCHAR: UCHAR, SHORT: USHORT, INT: UINT, LONG: ULONG, LLONG: ULLONG, INT128: UINT128}

# typedef → type: glibc's stdint.h and stddef.h, CUDA's cuda.h, and what kernels define
TYPEDEFS: dict[str, IntegerType] = {
    **{f"{'' if s else 'u'}int{bits}_t": _BY_WIDTH[s][bits] for s in (True, False) for bits in (8, 16, 32, 64)},
    **{f"{'' if s else 'u'}int_least{bits}_t": _BY_WIDTH[s][bits] for s in (True, False) for bits in (8, 16, 32, 64)},
    **{
        f"{'' if s else 'u'}int_fast{bits}_t": _BY_WIDTH[s][8 if bits == 8 else 64]
        for s in (True, False)
        for bits in (8, 16, 32, 64)
    },
    "size_t": ULONG,
    "uintptr_t": ULONG,
    "uintmax_t": ULONG,
    "ptrdiff_t": LONG,
    "intptr_t": LONG,
    "intmax_t": LONG,
    "ssize_t": LONG,
    "CUdeviceptr": ULLONG,
    "cuuint32_t": UINT,
    "cuuint64_t": ULONG,
    "uint": UINT,
    "ulong": ULONG,
    "ushort": USHORT,
    "uchar": UCHAR,
    "byte": UCHAR,
    "__int128_t": INT128,
    "__uint128_t": UINT128,
    "u8": UCHAR,
    "u16": USHORT,
    "u32": UINT,
    "u64": ULONG,
    "i32": INT,
    "i64": LONG,
    "uint32": UINT,
    "uint64": ULONG,
}
_DISTINCT = {kind.name: kind for kind in (BOOL, WCHAR, CHAR8, CHAR16, CHAR32)}
_QUALIFIERS = frozenset("const volatile constexpr constinit static inline typename".split())
# the words of a type in alphabetical order (C++ allows any order) → type
_SPELLED = {("char",): CHAR, ("char", "signed"): SCHAR, ("char", "unsigned"): UCHAR} | {
    tuple(sorted((*sign, *words.split()))): _UNSIGNED[kind] if sign == ("unsigned",) else kind
    for words, kind in (
        ("int", INT),
        ("short", SHORT),
        ("short int", SHORT),
        ("long", LONG),
        ("long int", LONG),
        ("long long", LLONG),
        ("long long int", LLONG),
        ("__int128", INT128),
    )
    for sign in ((), ("signed",), ("unsigned",))
}
_SPELLED |= {("signed",): INT, ("unsigned",): UINT}


@lru_cache(maxsize=1024)
def find_integer_type(words: str) -> IntegerType | None:
    """Return the integer type of `unsigned long long`, `long unsigned int`, `std::uint32_t` …; None for other words.

    >>> (find_integer_type("long unsigned int") == find_integer_type("uint64_t"),
    ... find_integer_type("long long") == find_integer_type("long"))
    (True, False)
    """
    parts = [word.rpartition("::")[2] for word in words.split() if word not in _QUALIFIERS]
    if len(parts) == 1 and (known := TYPEDEFS.get(parts[0]) or _DISTINCT.get(parts[0])):
        return replace(known, written=parts[0])
    return _SPELLED.get(tuple(sorted(parts)))


# conversions ----------------------------------------------------------------------------------------------------------


def promote(kind: IntegerType) -> IntegerType:
    """Return the promoted type of an operand: int if that holds every value, else unsigned int, and so on.

    >>> promote(USHORT).name, promote(CHAR32).name, promote(ULONG).name
    ('int', 'unsigned int', 'unsigned long')
    """
    if kind.underlying is not None:
        return promote(replace(kind.underlying, field_bits=kind.field_bits) if kind.field_bits else kind.underlying)
    if kind.field_bits:
        declared = replace(kind, field_bits=0)
        if kind.field_bits < 32 or (kind.field_bits == 32 and kind.signed):
            return INT
        return UINT if kind.field_bits == 32 else promote(declared)
    if kind.name in _DISTINCT and kind.bits > 1:
        return UINT if kind == CHAR32 else INT
    return INT if 0 < kind.bits < 32 else kind


def find_common_type(left: IntegerType, right: IntegerType) -> IntegerType:
    """Return the type in which a binary operation is computed: the usual arithmetic conversions.

    >>> find_common_type(INT, UINT).name, find_common_type(LONG, UINT).name, find_common_type(LLONG, ULONG).name
    ('unsigned int', 'long', 'unsigned long long')
    """
    same = left is right
    left = promote(left)
    right = left if same else promote(right)
    if not left.bits or not right.bits:
        return PYTHON
    if same or left == right:
        return left
    if left.signed == right.signed:
        return left if left.rank >= right.rank else right
    unsigned, signed = (right, left) if left.signed else (left, right)
    if unsigned.rank >= signed.rank:
        return unsigned
    return signed if signed.bits > unsigned.bits else _UNSIGNED.get(signed, unsigned)


def find_arms_type(yes: IntegerType, no: IntegerType) -> IntegerType:
    """Return the type of `c ? yes : no`: the type of both if they are equal, else the common type."""
    return yes if yes == no else find_common_type(yes, no)


def make_enumeration_type(name: str, underlying: IntegerType, scoped: bool) -> IntegerType:
    """Return the type of an enumeration, which is distinct from its underlying type."""
    return replace(underlying, name=name, underlying=underlying, scoped=scoped, written="")


@lru_cache(maxsize=256)
def find_enumerators_type(values: tuple[int, ...]) -> IntegerType:
    """Return the type to which enumerators are promoted if the underlying type is not fixed."""
    return next((t for t in (INT, UINT, LONG, ULONG) if all(t.can_hold(value) for value in values)), ULONG)


# operators ------------------------------------------------------------------------------------------------------------


class OperatorResult(NamedTuple):
    """The result of an operator.

    value: what the device computes, None if that is not specified; undefined: why the operation is undefined in C++, ""
    if it is defined; exact: the mathematical value.
    """

    value: int | None
    type: IntegerType
    undefined: str = ""
    exact: int = 0

    @property
    def defined(self) -> int | None:
        """The value if C++ defines it, else None."""
        return None if self.undefined else self.value


def divide_truncated(left: int, right: int) -> int:
    """Return the quotient rounded toward zero, as in C; also for NumPy's integers.

    >>> divide_truncated(-7, 2), divide_truncated(7, -4)
    (-3, -1)
    """
    return abs(left) // abs(right) * (1 - 2 * ((left < 0) != (right < 0)))


def get_truncated_remainder(left: int, right: int) -> int:
    """Return the remainder with the dividend's sign, as in C; also for NumPy's integers.

    >>> get_truncated_remainder(-7, 4), get_truncated_remainder(7, -4)
    (-3, 3)
    """
    return left - divide_truncated(left, right) * right


# Operators of one type before the result is wrapped; also for NumPy's integers.
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divide_truncated,
    "%": get_truncated_remainder,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}
MOST_SHIFT = 4096  # of Python's int


def compute_binary(op: str, left: int, left_type: IntegerType, right: int, right_type: IntegerType) -> OperatorResult:
    """Compute `left op right` of typed values: + - * / % << >> & | ^, comparisons, && and

    .

    >>> (compute_binary("/", -16, INT, 3, UINT).value, compute_binary("<", -1, INT, 1, UINT).value,
    ... compute_binary("/", 1, INT, 0, INT).value)
    (1431655760, 0, None)
    """
    if op in ("<<", ">>"):
        return compute_shift(op, left, left_type, right)
    if op in ("&&", "||"):
        return OperatorResult(int(bool(left and right) if op == "&&" else bool(left or right)), BOOL)
    kind = find_common_type(left_type, right_type)
    if not kind.bits:
        return _compute_python(op, left, right)
    return _compute(op, kind.wrap(left), kind.wrap(right), kind)


def _compute(op: str, a: int, b: int, kind: IntegerType) -> OperatorResult:
    """Compute + - * / % & | ^ or a comparison of two values of one type."""
    if op in COMPARED:
        return OperatorResult(int(COMPARED[op](a, b)), BOOL)
    if op in ("/", "%") and not b:
        return OperatorResult(None, kind, f"{a} {op} 0 divides by zero")
    exact = EXACT[op](a, b)
    value = kind.wrap(exact)
    if op in ("/", "%") and kind.signed and b == -1 and a == kind.least:
        return OperatorResult(None, kind, f"{a} {op} -1 does not fit {kind.name}", exact)
    undefined = f"{a} {op} {b} does not fit {kind.name}" if kind.signed and value != exact else ""
    return OperatorResult(value, kind, undefined, exact)


def compute_shift(op: str, left: int, left_type: IntegerType, count: int) -> OperatorResult:
    """Compute `left << count` or `left >> count` in the left operand's promoted type.

    >>> (compute_shift("<<", 1, INT, 31).value, compute_shift("<<", 1, INT, 62).value,
    ... compute_shift(">>", -1, INT, 40).value)
    (-2147483648, 0, -1)
    >>> compute_shift("<<", 1, INT, 62).undefined
    'a shift by 62 of a value of 32 bits'
    """
    kind = promote(left_type)
    left = kind.wrap(left)
    if not kind.bits:
        if not 0 <= count <= MOST_SHIFT:
            return OperatorResult(None, kind, f"a shift by {count}")
        return OperatorResult(left << count if op == "<<" else left >> count, kind)
    undefined = "" if 0 <= count < kind.bits else f"a shift by {count} of a value of {kind.bits} bits"
    by = count if 0 <= count < kind.bits else kind.bits  # shl and shr clamp the amount, which is unsigned
    exact = left << by if op == "<<" else left >> by
    return OperatorResult(kind.wrap(exact) if op == ">>" or not undefined else 0, kind, undefined, exact)


def compute_unary(op: str, value: int, kind: IntegerType) -> OperatorResult:
    """Compute + - ~ or ! of a value.

    >>> compute_unary("-", 1, UINT).value, compute_unary("~", 0, USHORT).value, compute_unary("!", 2, LONG).value
    (4294967295, -1, 0)
    """
    if op == "!":
        return OperatorResult(int(not value), BOOL)
    promoted = promote(kind)
    exact = {"+": value, "-": -value, "~": ~value}[op]
    undefined = f"-({value}) does not fit {promoted.name}" if promoted.signed and not promoted.can_hold(exact) else ""
    return OperatorResult(promoted.wrap(exact), promoted, undefined, exact)


def _compute_python(op: str, left: int, right: int) -> OperatorResult:
    """Compute an operator on Python's int: no wrapping, // and % round down; `/` must divide exactly."""
    if op in COMPARED:
        return OperatorResult(int(COMPARED[op](left, right)), BOOL)
    if op in ("/", "//", "%") and not right:
        return OperatorResult(None, PYTHON, f"{left} {op} 0 divides by zero")
    if op == "/" and left % right:
        return OperatorResult(None, PYTHON, f"{left} / {right} is not an integer")
    if op == "**":
        if not 0 <= right <= 64 or abs(left) > 1 << 64:
            return OperatorResult(None, PYTHON, f"{left} ** {right} is too large")
        return OperatorResult(left**right, PYTHON)
    down: dict[str, Callable[[int, int], int]] = {"/": lambda a, b: a // b, "//": lambda a, b: a // b}
    exact = (down.get(op) or (lambda a, b: a % b) if op in ("/", "//", "%") else EXACT[op])(left, right)
    return OperatorResult(exact, PYTHON, "", exact)
