"""Functions that a text uses without writing them: CUDA's and CUTLASS's addresses, casts and tuples, and Python's
built-ins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, PYTHON, UINT, ULONG, IntegerType
from lanescope.ptx.table.descriptors import START
from lanescope.reader.code import word
from lanescope.reader.code.known import ENCODE, IDENTITY, SHARED_ADDRESS, STANDARD
from lanescope.reader.code.values import (
    Address,
    Array,
    Cell,
    Kind,
    Pointer,
    Term,
    number,
)
from lanescope.reader.code.word import SHARED_BITS, Int, Span, of_linear, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MISSING = object()
# Python's integers of a width, of ctypes, NumPy, cuda-python and CuTe's DSL
_WIDTHS = {
    **dict.fromkeys("c_ulonglong c_uint64 uint64 UInt64 Uint64 c_int64 int64 Int64 cuuint64_t".split(), 64),
    **dict.fromkeys("c_uint32 uint32 Uint32 c_int32 int32 Int32 cuuint32_t".split(), 32),
}
_TUPLES = set(
    "make_tuple make_pair make_shape make_stride make_coord tie forward_as_tuple make_uint2 make_tile array tuple"
    " list".split()
)


def shared_address(value: Any) -> Any:
    """__cvta_generic_to_shared: the same place as an address of the shared window."""
    if isinstance(value, Pointer):
        return of_linear(value.base, ULONG, SHARED_BITS)
    if isinstance(value, Term):
        return of_linear(symbol(value.text), ULONG, SHARED_BITS)
    if isinstance(value, Address):
        name = value.place.name if isinstance(value.place, Cell) else str(value.place)
        return of_linear(symbol(f"&{name}"), ULONG, SHARED_BITS)
    if isinstance(value, Array) and value.name:
        return of_linear(symbol(value.name), ULONG, SHARED_BITS)
    given = number(value)
    if given is not None and given.plain is not None and given.pieces:
        return of_linear(given.plain, ULONG, SHARED_BITS)
    return given if given is not None else Term(f"{value}")


@lru_cache(maxsize=2048)
def _gives_address(name: str) -> bool:
    return SHARED_ADDRESS.fullmatch(name) is not None


@lru_cache(maxsize=2048)
def _encodes(name: str) -> bool:
    return ENCODE.fullmatch(name) is not None


def known(machine: Evaluator, name: str, templates: tuple[Any, ...], given: list[Any], span: Span) -> Any:
    """What a well-known function gives; MISSING for another."""
    one = given[0] if given else None
    whole = number(one) if len(given) == 1 else None
    if len(given) > IDENTITY.get(name, len(given)):
        return given[IDENTITY[name]]
    if len(given) == 1 and _gives_address(name) and not isinstance(one, str):
        return (
            machine.converted(machine.shared_address(one), Kind("uint32_t", UINT, 32), span)
            if not machine.python
            else shared_address(one)
        )
    if name in machine.standard and given:
        return _standard(machine, machine.standard[name], one, span)
    if whole is not None and _encodes(name):
        machine.taken.setdefault(name)
        wide = whole if machine.python else word.convert(whole, ULONG)
        return word.shifted(word.both(wide, Int(START.mask, wide.type)), -4)
    if name in ("min", "max") and len(given) == 2:
        left, right = number(one), number(given[1])
        if left is not None and right is not None and left.known is not None and right.known is not None:
            return left if (left.known <= right.known) == (name == "min") else right
    if name in ("ceil_div", "cdiv", "div_up", "ceildiv") and len(given) == 2:
        left, right = number(one), number(given[1])
        if left is not None and right is not None and left.known is not None and right.known:
            return Int(-(-left.known // right.known), left.type)
    refers = name in ("tie", "forward_as_tuple")  # to its arguments
    if name in _TUPLES and not (name in ("list", "tuple", "array") if machine.python else refers):
        return Array([Cell(value) for value in given], None, "", Kind(name))
    if name == "sizeof_bits" and templates and isinstance(templates[0], Kind) and templates[0].bits:
        return Int(templates[0].bits, INT)
    if machine.python:
        return _python(machine, name, given, whole, span)
    return MISSING


def _standard(machine: Evaluator, mode: str, one: Any, span: Span) -> Int:
    """What a function without code gives that is taken to build the descriptor of a K-major tile: the start's bits, LBO
    1, SBO of eight rows, the swizzle's code.
    """
    width, code = STANDARD[mode]
    address = one if isinstance(one, Int) and not one.pieces else shared_address(one)
    start = word.convert(number(address) or Int(0, ULONG), ULONG)
    low = word.shifted(word.both(start, Int(START.mask, ULONG)), -4)
    rest = Int(1 << 16 | (8 * width >> 4) << 32 | code << 62, ULONG)
    made: Int = machine.binary("|", machine.mark(low, span), machine.mark(rest, span))
    return made


def _python(machine: Evaluator, name: str, given: list[Any], whole: Int | None, span: Span) -> Any:
    one = given[0] if given else None
    bits = _WIDTHS.get(name)
    if bits and whole is not None:
        cut = word.convert(whole, IntegerType(name, bits, "u" not in name.lower()))
        return word.convert(cut, PYTHON)
    if name in ("int", "constexpr", "hex", "index", "cast", "bool") and (whole is not None or name == "cast"):
        return one
    if name == "len":
        if isinstance(one, Array):
            return Int(len(one.cells), PYTHON)
        return Int(len(one), PYTHON) if isinstance(one, str | dict) else Term(f"len({one})")
    if name == "bit_length" and whole is not None and whole.known is not None:
        return Int(whole.known.bit_length(), PYTHON)
    if name in ("list", "tuple") and isinstance(one, Array):
        return Array([Cell(c.value) for c in one.cells], one.element)
    if name in ("range", "static_range", "range_constexpr", "range_dynamic", "serial", "unroll"):
        return Term(name, head="range", arguments=tuple(given), span=span)
    if name == "enumerate":
        return Term(name, head="enumerate", arguments=tuple(given), span=span)
    if name == "abs" and whole is not None and whole.known is not None:
        return Int(abs(whole.known), PYTHON)
    return MISSING
