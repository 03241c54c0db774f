"""Evaluate known functions that a text does not define: addresses, casts and tuples of CUDA and CUTLASS, Python's
built-ins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, PYTHON, UINT, ULONG, IntegerType
from lanescope.ptx.table.descriptors import START
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.expression.lane_choices import shuffle_value
from lanescope.reader.code.expression.operations import apply_integer_operator
from lanescope.reader.code.findings import mark_bits
from lanescope.reader.code.naming.header_names import ENCODE, IDENTITY, SHARED_ADDRESS, STANDARD
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.running.work_words import ROUNDED_UP_NAMES
from lanescope.reader.code.symbolic_integers import SHARED_BITS, Span, SymbolicInt, int_from_linear, make_symbol
from lanescope.reader.code.values import Address, ArrayValue, OpaqueValue, Pointer, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MISSING = object()
# fixed-width integers in Python: ctypes, NumPy, cuda-python and the CuTe DSL → bits
_WIDTHS = {
    **dict.fromkeys("c_ulonglong c_uint64 uint64 UInt64 Uint64 c_int64 int64 Int64 cuuint64_t".split(), 64),
    **dict.fromkeys("c_uint32 uint32 Uint32 c_int32 int32 Int32 cuuint32_t".split(), 32),
}
_TUPLES = set(
    "make_tuple make_pair make_shape make_stride make_coord tie forward_as_tuple make_tile array tuple list".split()
)


def make_shared_address(value: Any) -> Any:
    """Evaluate __cvta_generic_to_shared: return the shared-window address of a place."""
    if isinstance(value, Pointer):
        return int_from_linear(value.base, ULONG, SHARED_BITS)
    if isinstance(value, OpaqueValue):
        return int_from_linear(make_symbol(value.text), ULONG, SHARED_BITS)
    if isinstance(value, Address):
        name = value.place.name if isinstance(value.place, Cell) else str(value.place)
        return int_from_linear(make_symbol(f"&{name}"), ULONG, SHARED_BITS)
    if isinstance(value, ArrayValue) and value.name:
        return int_from_linear(make_symbol(value.name), ULONG, SHARED_BITS)
    integer = get_integer(value)
    if integer is not None and integer.plain is not None and integer.pieces:
        return int_from_linear(integer.plain, ULONG, SHARED_BITS)
    return integer if integer is not None else OpaqueValue(f"{value}")


@lru_cache(maxsize=2048)
def _is_address_function(name: str) -> bool:
    return SHARED_ADDRESS.fullmatch(name) is not None


@lru_cache(maxsize=2048)
def _is_encoder(name: str) -> bool:
    return ENCODE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function of the language, its libraries or a kernel library."""

    ev: Evaluator
    name: str
    templates: tuple[Any, ...]
    values: list[Any]
    span: Span

    @property
    def first(self) -> Any:
        return self.values[0] if self.values else None

    @property
    def only_integer(self) -> SymbolicInt | None:
        """The only argument as an integer; None if there are several arguments."""
        return get_integer(self.values[0]) if len(self.values) == 1 else None

    def get_known_pair(self) -> tuple[SymbolicInt, int, int] | None:
        """Return (first argument, its value, the second's value) of two known integers; None otherwise."""
        if len(self.values) != 2:
            return None
        left, right = get_integer(self.values[0]), get_integer(self.values[1])
        if left is None or right is None or left.known is None or right.known is None:
            return None
        return left, left.known, right.known


_Reader = Callable[[_Call], Any]
_EVERYWHERE: dict[str, _Reader] = {}  # by the function's name
_OF_PYTHON: dict[str, _Reader] = {}


def _register_rule(table: dict[str, _Reader], *names: str) -> Callable[[_Reader], _Reader]:
    """Register a rule that evaluates some functions; it returns MISSING if it does not apply."""

    def register(reader: _Reader) -> _Reader:
        table.update(dict.fromkeys(names, reader))
        return reader

    return register


def evaluate_known_function(
    ev: Evaluator, name: str, templates: tuple[Any, ...], arguments: list[Any], span: Span
) -> Any:
    """Evaluate a well-known function; MISSING for another."""
    if len(arguments) > IDENTITY.get(name, len(arguments)):
        argument = arguments[IDENTITY[name]]
        return shuffle_value(ev, argument, arguments[2]) if name == "__shfl_sync" and len(arguments) > 2 else argument
    call = _Call(ev, name, templates, arguments, span)
    if len(arguments) == 1 and _is_address_function(name) and not isinstance(call.first, str):
        return _convert_address(call)
    if name in ev.standard_functions and arguments:
        return _make_standard_descriptor(ev, ev.standard_functions[name], call.first, span)
    if call.only_integer is not None and _is_encoder(name):
        return _encode_address(ev, name, call.only_integer)
    for table in (_EVERYWHERE, _OF_PYTHON) if ev.python else (_EVERYWHERE,):
        reader = table.get(name)
        result = reader(call) if reader is not None else MISSING
        if result is not MISSING:
            return result
    return MISSING


def _convert_address(call: _Call) -> Any:
    """Convert an address to the shared window; in C++ it is a 32-bit integer."""
    if call.ev.python:
        return make_shared_address(call.first)
    return call.ev.convert_to_kind(
        call.ev.evaluate_shared_address(call.first), ResolvedType("uint32_t", UINT, 32), call.span
    )


def _encode_address(ev: Evaluator, name: str, integer: SymbolicInt) -> SymbolicInt:
    """Evaluate PTX's matrix-descriptor-encode."""
    ev.encode_functions.setdefault(name)
    wide = integer if ev.python else symbolic_integers.convert_int(integer, ULONG)
    return symbolic_integers.shift_int(symbolic_integers.and_ints(wide, SymbolicInt(START.mask, wide.type)), -4)


@_register_rule(_EVERYWHERE, "min", "max")
def _choose_extreme(call: _Call) -> Any:
    pair = call.get_known_pair()
    if pair is None:
        return MISSING
    left, first, second = pair
    return left if (first <= second) == (call.name == "min") else get_integer(call.values[1])


@_register_rule(_EVERYWHERE, *ROUNDED_UP_NAMES, *map(str.upper, ROUNDED_UP_NAMES))
def _divide_up(call: _Call) -> Any:
    pair = call.get_known_pair()
    if pair is None or not pair[2]:
        return MISSING
    left, dividend, divisor = pair
    return SymbolicInt(-(-dividend // divisor), left.type)


@_register_rule(_EVERYWHERE, "canonical_warp_group_idx", "canonical_warp_idx", "canonical_warp_idx_sync")
def _number_warps(call: _Call) -> Any:
    """Return CUTLASS's number of the warp, or of the warpgroup, of a block with one dimension."""
    if call.values or call.ev.python:
        return MISSING
    name, bits = ("threadIdx.x/128", 3) if "group" in call.name else ("threadIdx.x/32", 5)
    return int_from_linear(make_symbol(name), INT, bits)


@_register_rule(_EVERYWHERE, *_TUPLES)
def _make_tuple(call: _Call) -> Any:
    """Make a tuple of the arguments, except for C++'s tie and forward_as_tuple, which refer to them."""
    others = ("list", "tuple", "array") if call.ev.python else ("tie", "forward_as_tuple")
    if call.name in others:
        return MISSING
    return ArrayValue([Cell(value) for value in call.values], None, "", ResolvedType(call.name))


@_register_rule(_EVERYWHERE, "sizeof_bits")
def _get_size_in_bits(call: _Call) -> Any:
    kind = call.templates[0] if call.templates else None
    return SymbolicInt(kind.bits, INT) if isinstance(kind, ResolvedType) and kind.bits else MISSING


def _make_standard_descriptor(ev: Evaluator, mode: str, value: Any, span: Span) -> SymbolicInt:
    """Make the descriptor of a K-major tile that a bodiless function is assumed to build.

    It has LBO 1, an SBO of eight rows, and the code of the swizzle.
    """
    width, code = STANDARD[mode]
    address = value if isinstance(value, SymbolicInt) and not value.pieces else make_shared_address(value)
    start = symbolic_integers.convert_int(get_integer(address) or SymbolicInt(0, ULONG), ULONG)
    low = symbolic_integers.shift_int(symbolic_integers.and_ints(start, SymbolicInt(START.mask, ULONG)), -4)
    rest = SymbolicInt(1 << 16 | (8 * width >> 4) << 32 | code << 62, ULONG)
    integer: SymbolicInt = apply_integer_operator("|", mark_bits(low, span), mark_bits(rest, span))
    return integer


@_register_rule(_OF_PYTHON, *_WIDTHS)
def _narrow_integer(call: _Call) -> Any:
    """Narrow an integer to a fixed-width type of ctypes, NumPy or a DSL."""
    if call.only_integer is None:
        return MISSING
    cut = symbolic_integers.convert_int(
        call.only_integer, IntegerType(call.name, _WIDTHS[call.name], "u" not in call.name.lower())
    )
    return symbolic_integers.convert_int(cut, PYTHON)


@_register_rule(_OF_PYTHON, "int", "constexpr", "hex", "index", "cast", "bool")
def _return_argument(call: _Call) -> Any:
    return call.first if call.only_integer is not None or call.name == "cast" else MISSING


@_register_rule(_OF_PYTHON, "len")
def _get_length(call: _Call) -> Any:
    value = call.first
    if isinstance(value, ArrayValue):
        return SymbolicInt(len(value.cells), PYTHON)
    return SymbolicInt(len(value), PYTHON) if isinstance(value, str | dict) else OpaqueValue(f"len({value})")


@_register_rule(_OF_PYTHON, "bit_length", "abs")
def _apply_to_integer(call: _Call) -> Any:
    if call.only_integer is None or call.only_integer.known is None:
        return MISSING
    value = call.only_integer.known
    return SymbolicInt(abs(value) if call.name == "abs" else value.bit_length(), PYTHON)


@_register_rule(_OF_PYTHON, "list", "tuple")
def _copy_array(call: _Call) -> Any:
    value = call.first
    return ArrayValue([Cell(c.value) for c in value.cells], value.element) if isinstance(value, ArrayValue) else MISSING


@_register_rule(_OF_PYTHON, "range", "static_range", "range_constexpr", "range_dynamic", "serial", "unroll")
def _make_range(call: _Call) -> Any:
    return OpaqueValue(call.name, head="range", arguments=tuple(call.values), span=call.span)


@_register_rule(_OF_PYTHON, "enumerate")
def _make_enumerate(call: _Call) -> Any:
    return OpaqueValue(call.name, head="enumerate", arguments=tuple(call.values), span=call.span)
