"""cvt between integers and floats, and cvt.pack. PTX ISA 9.1, 9.7.9.21 and 9.7.9.22.

8-bit formats are in narrow.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Builder, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply_types, check_words
from lanescope.emulate.instructions.floats import finish
from lanescope.emulate.instructions.rounding import DIRECTIONS, ELEMENTS, Element, add_to_odd, decode, encode, flush
from lanescope.emulate.text.program import Statement
from lanescope.ptx.register_types import TYPES, RegisterType

Array = NDArray[Any]
_TO_INTEGER: dict[str, Callable[[Array], Array]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
SPECIAL: dict[str, Builder] = {}  # builders for packed formats and tf32


@instruction("cvt")
def build_conversion(compiler: Compiler, statement: Statement) -> Action:
    types = [word for word in statement.words[1:] if word in TYPES]
    special = next((SPECIAL[word] for word in types if word in SPECIAL), None)
    if special:
        return special(compiler, statement)
    to, origin = check_words(statement, (*DIRECTIONS, *_TO_INTEGER, "sat", "ftz", "relu", "satfinite"), types=2)
    if to.kind in "us" and origin.kind in "us":
        return _convert_integers(compiler, statement, to, origin)
    if to.kind in "us" and origin.name in ELEMENTS:
        return _convert_to_integers(compiler, statement, to, origin)
    if origin.kind in "us" and to.name in ELEMENTS:
        return _convert_from_integers(compiler, statement, to, origin)
    if to.name in ELEMENTS and origin.name in ELEMENTS:
        return _convert_floats(compiler, statement, to, origin)
    raise UnknownInstructionError(statement)


def _get_bounds(row: RegisterType) -> tuple[int, int]:
    return (-(1 << row.bits - 1), (1 << row.bits - 1) - 1) if row.kind == "s" else (0, (1 << row.bits) - 1)


def _check_only(statement: Statement, *allowed: str) -> None:
    for word in statement.words[1:]:
        if word not in TYPES and word not in allowed:
            raise UnknownInstructionError(statement)


def _convert_integers(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    _check_only(statement, "sat")
    if not statement.has("sat"):
        return apply_types(compiler, statement, to, [origin], lambda a: a.astype(to.dtype))
    low, high = (
        max(a, b) if n == 0 else min(a, b)
        for n, (a, b) in enumerate(zip(_get_bounds(to), _get_bounds(origin), strict=True))
    )
    first, last = origin.dtype.type(low), origin.dtype.type(high)
    return apply_types(
        compiler, statement, to, [origin], lambda a: np.minimum(np.maximum(a, first), last).astype(to.dtype)
    )


def _convert_to_integers(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    """Build a conversion to integers: round and clamp.

    NaN becomes 0, or the top bit alone where either type has 64 bits.
    """
    _check_only(statement, *_TO_INTEGER, "ftz", "sat")
    name = statement.find_word(_TO_INTEGER)
    if not name or (statement.has("ftz") and origin.name != "f32"):
        raise UnknownInstructionError(statement)
    round_integer, flushes, element = _TO_INTEGER[name], statement.has("ftz"), ELEMENTS[origin.name]
    low, high = _get_bounds(to)
    wide = to.bits == 64 or origin.name == "f64"
    unordered = (1 << to.bits - 1) if wide else 0
    none = np.array(unordered & (1 << to.bits) - 1, to.storage).view(to.dtype)

    def convert(bits: Array) -> Array:
        values = decode(bits, element)
        integers = round_integer(flush(values) if flushes else values)
        inside = (integers >= low) & (integers < float(high + 1))
        result = np.where(inside, integers, 0.0).astype(to.dtype)
        if not inside.all():
            result = np.where(integers < low, to.dtype.type(low), result)
            result = np.where(integers >= float(high + 1), to.dtype.type(high), result)
            result = np.where(np.isnan(values), none, result)
        return result

    return apply_types(compiler, statement, to, [TYPES[f"b{origin.bits}"]], convert)


def _convert_from_integers(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    _check_only(statement, *DIRECTIONS, "sat", "ftz")
    direction, element = statement.find_word(DIRECTIONS), ELEMENTS[to.name]
    if not direction:
        raise UnknownInstructionError(statement)
    words = frozenset(("sat",)) if statement.has("sat") else frozenset()
    upper = np.dtype(np.int64 if origin.kind == "s" else np.uint64)

    def convert(values: Array) -> Array:
        if origin.bits == 64:
            if element.name == "f64":
                return finish(_round_long(values, direction), element, words)
            high = (values >> upper.type(32)).astype(np.float64) * 2.0**32
            exact = add_to_odd(high, (values & upper.type(0xFFFFFFFF)).astype(np.float64))
        else:
            exact = values.astype(np.float64)
        return finish(encode(exact, element, direction), element, words)

    return apply_types(compiler, statement, TYPES[f"b{to.bits}"], [origin], convert)


def _round_long(values: Array, direction: str) -> Array:
    """Return 64-bit integers rounded to binary64 bits."""
    near = np.asarray(values.astype(np.float64))
    if direction != "rn":
        exact = [int(value) for value in np.atleast_1d(values)]
        near = np.array(
            [
                _step(float(near_value), int(near_value), value, direction)
                for near_value, value in zip(np.atleast_1d(near), exact, strict=True)
            ]
        )
    return near.view(np.uint64)


def _step(near: float, rounded: int, exact: int, direction: str) -> float:
    down = direction == "rm" or (direction == "rz" and exact > 0)
    if rounded > exact and down:
        return float(np.nextafter(near, -np.inf))
    if rounded < exact and not down:
        return float(np.nextafter(near, np.inf))
    return near


def _check_words_of_floats(statement: Statement, to: RegisterType, origin: RegisterType) -> None:
    """Raise UnknownInstructionError for qualifiers that ptxas rejects between these types."""
    direction = statement.find_word(DIRECTIONS)
    allowed = (
        (_TO_INTEGER, to.name == origin.name and not direction),
        (("ftz",), "f32" in (to.name, origin.name)),
        (("satfinite",), to.bits == 16 and origin.name == "f32"),
        (("relu",), to.bits == 16),
        (("sat",), to.name != "bf16"),
    )
    narrows = to.bits < origin.bits  # between f16 and bf16, ptxas defaults to rounding to nearest
    if narrows and not direction:
        raise UnknownInstructionError(statement)
    if any(statement.find_word(words) and not takes for words, takes in allowed):
        raise UnknownInstructionError(statement)


def _convert_floats(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    rounding = statement.find_word(_TO_INTEGER)
    direction = statement.find_word(DIRECTIONS)
    source, element = ELEMENTS[origin.name], ELEMENTS[to.name]
    flushes, words = statement.has("ftz"), frozenset(statement.words[1:]) & {"sat", "relu"}
    finite = statement.has("satfinite")
    _check_words_of_floats(statement, to, origin)
    if to.name == origin.name and to.bits > 16 and not (rounding or flushes or words):
        return apply_types(compiler, statement, TYPES[f"b{to.bits}"], [TYPES[f"b{origin.bits}"]], _keep)
    pair = (origin.name, to.name)
    keeps_nan = _keeps_nan(pair, flushes)
    before = flush if _flushes_source(statement, pair) else _keep
    round_integer = _TO_INTEGER[rounding] if rounding else _keep
    last_words = words | {"ftz"} if flushes and element.name == "f32" else words

    def convert(bits: Array) -> Array:
        values = round_integer(before(decode(bits, source)))
        result = encode(values, element, direction or "rn")
        unordered = np.isnan(values)
        if keeps_nan and unordered.any():
            result = np.where(unordered, _carry_nan(bits, source, element, flushes), result)
        return finish(limit_finite(result, element.name) if finite else result, element, last_words)

    return apply_types(compiler, statement, TYPES[f"b{to.bits}"], [TYPES[f"b{origin.bits}"]], convert)


_FRACTIONS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def _carry_nan(bits: Array, source: Element, element: Element, flushes: bool) -> Array:
    """Return NaNs with their sign and the upper bits of their payload, as sm_90 converts them (measured).

    They become quiet, except from bf16 to f32, which only shifts.
    """
    if flushes and source.name == "f32":
        bits = np.full_like(bits, source.nan)
    wide = np.asarray(bits).astype(np.uint64)
    source_bits, to = _FRACTIONS[source.name], _FRACTIONS[element.name]
    width, to_width = source.bits.itemsize * 8, element.bits.itemsize * 8
    payload = wide & np.uint64((1 << source_bits) - 1)
    payload = payload << np.uint64(to - source_bits) if to >= source_bits else payload >> np.uint64(source_bits - to)
    if (source.name, element.name) != ("bf16", "f32"):
        payload = payload | np.uint64(1 << to - 1)
    exponent = np.uint64((1 << to_width - 1) - (1 << to))
    sign = (wide >> np.uint64(width - 1)) << np.uint64(to_width - 1)
    return (sign | exponent | payload).astype(element.bits)


def _keeps_nan(pair: tuple[str, str], flushes: bool) -> bool:
    """Return whether a NaN keeps its payload instead of becoming canonical."""
    return "f64" in pair or (pair == ("bf16", "f32") and not flushes)


def _flushes_source(statement: Statement, pair: tuple[str, str]) -> bool:
    """Return whether .ftz flushes subnormal sources; a conversion to f16 flushes none (measured)."""
    return statement.has("ftz") and pair[0] == "f32" and pair[1] != "f16"


def _keep(values: Array) -> Array:
    return values


def limit_finite(bits: Array, name: str) -> Array:
    """Return f16 or bf16 results with infinities replaced by the largest finite number of their sign."""
    infinity = np.uint16(0x7C00 if name == "f16" else 0x7F80)
    return np.where(bits & np.uint16(0x7FFF) == infinity, bits - np.uint16(1), bits)


@instruction("cvt.pack")
def build_packed_integers(compiler: Compiler, statement: Statement) -> Action:
    """Build cvt.pack: clamp two 32-bit integers to a narrower type and shift a third operand in above them."""
    words = statement.words
    if len(words) not in (5, 6) or words[2] != "sat" or words[4] != "s32" or words[3][1:] not in ("2", "4", "8", "16"):
        raise UnknownInstructionError(statement)
    signed, bits = words[3][0] == "s", int(words[3][1:])
    if (bits == 16) != (len(words) == 5) or (len(words) == 6 and words[5] != "b32") or words[3][0] not in "us":
        raise UnknownInstructionError(statement)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    mask, size = np.uint32((1 << bits) - 1), np.uint32(bits)

    def pack(a: Array, b: Array, c: Any = None) -> Array:
        first, second = (np.clip(operand, low, high).astype(np.int32).view(np.uint32) & mask for operand in (a, b))
        joined = first << size | second
        return joined if c is None else joined | c << size * np.uint32(2)

    origins = [TYPES["s32"], TYPES["s32"], *([TYPES["b32"]] if len(words) == 6 else [])]
    return apply_types(compiler, statement, TYPES["b32"], origins, pack)
