"""cvt to and from packed formats (f16x2, bf16x2, fp8, fp6, fp4, ue8m0) and tf32. PTX ISA 9.1, 9.7.9.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError
from lanescope.emulate.instructions.arithmetic import apply_types, check_words
from lanescope.emulate.instructions.conversions import SPECIAL, limit_finite
from lanescope.emulate.instructions.floats import finish
from lanescope.emulate.instructions.rounding import ELEMENTS, decode, encode
from lanescope.emulate.text.program import Statement
from lanescope.ptx.codec import decode_bits, encode_values, get_bounds
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.operations.operation import join_lanes, take_lanes
from lanescope.ptx.register_types import TYPES, RegisterType

Array = NDArray[Any]
Convert = Callable[[Array], Array]
_SMALL = {"e4m3x2": "e4m3", "e5m2x2": "e5m2", "e2m1x2": "e2m1", "e2m3x2": "e2m3", "e3m2x2": "e3m2"}
_HALVES = {"f16x2": "f16", "bf16x2": "bf16"}
_ALLOWED = ("rn", "rz", "rp", "rs", "relu", "satfinite")
_B32 = TYPES["b32"]


def _build_packed(compiler: Compiler, statement: Statement) -> Action:
    """Build a conversion; the narrower of the two types selects the encoding."""
    to, origin = check_words(statement, _ALLOWED, types=2)
    if to.name in _HALVES and origin.name == "f32":
        return _pack_halves(compiler, statement, to)
    if to.name in _SMALL and origin.name in ("f32", *_HALVES):
        return _encode_small(compiler, statement, to, origin)
    if to.name == "f16x2" and origin.name in _SMALL:
        return _decode_small(compiler, statement, to, origin)
    if to.name == "ue8m0x2" and origin.name in ("f32", "bf16x2"):
        return _encode_scales(compiler, statement, to, origin)
    if to.name == "bf16x2" and origin.name == "ue8m0x2":
        return _decode_scales(compiler, statement, to)
    raise UnknownInstructionError(statement)


for _name in (*_SMALL, *_HALVES, "ue8m0x2"):
    SPECIAL[_name] = _build_packed


def _join_two(
    compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType, convert: Convert
) -> Action:
    """Build a conversion of two numbers, from one packed register or two f32 (the first becomes the upper half)."""
    part = np.dtype(f"uint{max(8, to.bits // 2)}")

    def join(low: Array, high: Array) -> Array:
        if to.bits == 8:
            return np.asarray((low | high << np.uint8(4)).astype(np.uint8))
        low, high = np.broadcast_arrays(low, high)
        return join_lanes(np.stack([np.atleast_1d(low), np.atleast_1d(high)], axis=1).astype(part), to.storage)

    bits = TYPES[f"b{to.bits}"]
    if origin.name == "f32":
        return apply_types(
            compiler,
            statement,
            bits,
            [_B32, _B32],
            lambda a, b: join(convert(decode(b, ELEMENTS["f32"])), convert(decode(a, ELEMENTS["f32"]))),
        )
    element = ELEMENTS[_HALVES[origin.name]]

    def unpack(values: Array) -> Array:
        lanes = decode(take_lanes(values, np.uint16), element)
        return join(convert(lanes[:, 0]), convert(lanes[:, 1]))

    return apply_types(compiler, statement, bits, [_B32], unpack)


def _pack_halves(compiler: Compiler, statement: Statement, to: RegisterType) -> Action:
    element = ELEMENTS[_HALVES[to.name]]
    words = frozenset(statement.words[1:]) & {"relu"}
    finite = statement.has("satfinite")
    if statement.has("rs"):
        return _round_randomly(compiler, statement, to, words, finite)
    direction = statement.find_word(("rn", "rz"))
    if not direction or statement.has("rp"):
        raise UnknownInstructionError(statement)

    def convert(values: Array) -> Array:
        bits = encode(values, element, direction)
        return finish(limit_finite(bits, element.name) if finite else bits, element, words)

    return _join_two(compiler, statement, to, TYPES["f32"], convert)


def _round_randomly(
    compiler: Compiler, statement: Statement, to: RegisterType, words: frozenset[str], finite: bool
) -> Action:
    """Build stochastic rounding: random bits are added to the discarded ones, 13 for f16, 16 for bf16."""
    element = ELEMENTS[_HALVES[to.name]]
    cut = 13 if element.name == "f16" else 16
    least, largest = (2.0**-14, 65504.0) if element.name == "f16" else (2.0**-126, 3.3895313892515355e38)

    def convert(bits: Array, random: Array) -> Array:
        values = decode(bits, ELEMENTS["f32"])
        if ((np.abs(values) < least) & (values != 0)).any():
            raise UnknownInstructionError(statement, f"{statement.opcode} of a number below the least normal one")
        mask = np.uint32((1 << cut) - 1)
        raised = np.where(np.isfinite(values), np.atleast_1d(bits) + (random & mask), bits)
        result = encode(decode(raised & ~mask, ELEMENTS["f32"]), element, "rn")
        over = np.isfinite(values) & (np.abs(decode(raised & ~mask, ELEMENTS["f32"])) > largest)
        if over.any() and not finite:
            raise UnknownInstructionError(statement, f"{statement.opcode} of a number beyond the largest one")
        return finish(limit_finite(result, element.name) if finite else result, element, words)

    def compute(a: Array, b: Array, random: Array) -> Array:
        high, low = convert(a, random >> np.uint32(16)), convert(b, random & np.uint32(0xFFFF))
        low, high = np.broadcast_arrays(low, high)
        return join_lanes(np.stack([low, high], axis=1), to.storage)

    return apply_types(compiler, statement, _B32, [_B32, _B32, _B32], compute)


def _encode_small(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    """Build a conversion that rounds to nearest and saturates.

    NaN stays NaN in fp8 and becomes the largest number in fp6 and fp4.
    """
    if not (statement.has("rn") and statement.has("satfinite")) or statement.find_word(("rz", "rp", "rs")):
        raise UnknownInstructionError(statement)
    name, relu = _SMALL[to.name], statement.has("relu")
    largest = get_bounds(name)[1]
    has_nan = name in ("e4m3", "e5m2")

    def convert(values: Array) -> Array:
        limited = np.clip(np.where(np.isnan(values), largest, values), -largest, largest)
        if relu:
            limited = np.where(np.signbit(limited), 0.0, limited)
        codes = encode_values(limited, name).astype(np.uint8)
        return np.where(np.isnan(values), np.uint8(0x7F), codes) if has_nan else codes

    return _join_two(compiler, statement, to, origin, convert)


def _decode_small(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    if not statement.has("rn") or statement.find_word(("rz", "rp", "rs", "satfinite")):
        raise UnknownInstructionError(statement)
    name, element = _SMALL[origin.name], ELEMENTS["f16"]
    words = frozenset(statement.words[1:]) & {"relu"}
    bits = get_dtype(name).bits

    def convert(values: Array) -> Array:
        encoded = np.atleast_1d(values).astype(np.uint32)
        codes = np.stack([encoded & 0xF, encoded >> 4] if bits == 4 else [encoded & 0xFF, encoded >> 8], axis=1)
        if bits == 6 and (codes >> 6).any():
            raise UnknownInstructionError(statement, f"{statement.opcode} of a byte whose upper two bits are not zero")
        return join_lanes(
            finish(encode(decode_bits(codes.astype(np.uint64), name), element), element, words), to.storage
        )

    return apply_types(compiler, statement, _B32, [TYPES[f"b{origin.bits}"]], convert)


def _encode_scales(compiler: Compiler, statement: Statement, to: RegisterType, origin: RegisterType) -> Action:
    """Build a conversion to ue8m0: the next power of two below or above; negative numbers have no encoding."""
    up, finite = statement.has("rp"), statement.has("satfinite")
    if up == statement.has("rz") or statement.find_word(("rn", "rs", "relu")):
        raise UnknownInstructionError(statement)

    def convert(values: Array) -> Array:
        if (np.signbit(values) | (values < 2.0**-127)).any():
            raise UnknownInstructionError(statement, f"{statement.opcode} of a negative number or one below 2**-127")
        if (np.isinf(values) | (values > 2.0**127)).any() and not (finite and up):
            raise UnknownInstructionError(statement, f"{statement.opcode} of a number above 2**127")
        fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 2.0**127))
        codes = exponent + 126 + ((fraction > 0.5) & up)
        codes = np.where(np.isinf(values), 254, np.minimum(codes, 254))
        return np.where(np.isnan(values), 255, codes).astype(np.uint8)

    return _join_two(compiler, statement, to, origin, convert)


def _decode_scales(compiler: Compiler, statement: Statement, to: RegisterType) -> Action:
    if not statement.has("rn") or statement.find_word(("rz", "rp", "rs", "relu", "satfinite")):
        raise UnknownInstructionError(statement)

    def convert(values: Array) -> Array:
        codes = take_lanes(values, np.uint8).astype(np.float64)
        numbers = np.where(codes == 255, np.nan, np.exp2(codes - 127))
        return join_lanes(encode(numbers, ELEMENTS["bf16"]), to.storage)

    return apply_types(compiler, statement, _B32, [TYPES["b16"]], convert)


def _build_tensor_float(compiler: Compiler, statement: Statement) -> Action:
    """Build a conversion to tf32: f32 with 13 low zero bits; .rna rounds halves away from zero."""
    to, origin = check_words(statement, ("rna", "rn", "rz", "relu", "satfinite"), types=2)
    if to.name != "tf32" or origin.name != "f32":
        raise UnknownInstructionError(statement)
    direction, element = statement.find_word(("rna", "rn", "rz")), ELEMENTS["f32"]
    finite = statement.has("satfinite")
    if not direction or (direction == "rna" and statement.has("relu")) or (finite and direction != "rna"):
        raise UnknownInstructionError(statement)
    words = frozenset(statement.words[1:]) & {"relu"}
    low = np.uint32(0x1FFF)

    def convert(bits: Array) -> Array:
        values = decode(bits, element)
        odd = bits >> np.uint32(13) & np.uint32(1)
        step = {"rna": np.uint32(0x1000), "rn": np.uint32(0xFFF) + odd, "rz": np.uint32(0)}[direction]
        rounded = np.where(np.isfinite(values), (bits + step) & ~low, bits)
        nan = bits & ~low if direction == "rna" else np.uint32(0x7FFFE000)  # measured
        rounded = np.where(np.isnan(values), nan, rounded)
        if finite:  # measured: NaNs lose a unit as well
            beyond = rounded & np.uint32(0x7FFFFFFF) >= np.uint32(0x7F800000)
            rounded = np.where(beyond, rounded - np.uint32(0x2000), rounded)
        return finish(rounded, element, words)

    return apply_types(compiler, statement, _B32, [_B32], convert)


SPECIAL["tf32"] = _build_tensor_float
