"""Encode numbers as bits of any element type and decode them; everything follows from the type's row in dtypes.py."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.dtypes import DType, FloatFormat, SpecialCodes, get_dtype

Bits = NDArray[np.uint64]
Values = NDArray[np.float64]
TABLED = 16  # most bits of a type that is decoded by a table (512 KiB)
_NUMPY: dict[tuple[int, int], np.dtype[Any]] = {  # by bits of exponent and mantissa
    (5, 10): np.dtype(np.float16),
    (8, 23): np.dtype(np.float32),
    (11, 52): np.dtype(np.float64),
}
SCALE_VALUES = (0.5, 1.0, 2.0)  # the scale factors that runs use: products stay exact


def list_legal_values(name: str) -> tuple[int, ...]:
    """Return integers that the type represents exactly and whose products stay exact in every accumulator."""
    row = get_dtype(name)
    if row.bits == 1:
        return (0, 1)
    return (-2, -1, 0, 1, 2) if row.signed or row.kind == "bits" else (0, 1, 2, 3)


@lru_cache(maxsize=8)
def list_scale_codes(name: str) -> tuple[int, ...]:
    """Return the codes of SCALE_VALUES in a type of scale factors.

    >>> list_scale_codes("ue8m0")
    (126, 127, 128)
    """
    return tuple(encode_values(np.array(SCALE_VALUES), name).tolist())


def get_bounds(name: str) -> tuple[float, float]:
    """Return the smallest and the largest finite value of a type."""
    row = get_dtype(name)
    if row.format:
        least = -row.format.largest if row.signed else 0.0 if row.format.mantissa_bits else 2.0**-row.format.bias
        return least, row.format.largest
    return (
        (-float(1 << (row.bits - 1)), float((1 << (row.bits - 1)) - 1))
        if row.signed
        else (0.0, float((1 << row.bits) - 1))
    )


def round_to_type(values: Values, name: str) -> Values:
    """Round values to a type: floats to nearest, ties to even; integers are unchanged.

    They must lie within get_bounds().
    """
    float_format = get_dtype(name).format
    if float_format is None:
        return values
    exponent = _compute_exponents(np.abs(values), float_format) - (float_format.significant - 1)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))


def _compute_exponents(sizes: Values, float_format: FloatFormat) -> NDArray[np.int64]:
    """Return the exponent of each value's leading bit, at least that of the smallest normal number."""
    return np.where(
        sizes > 0,
        np.maximum(np.frexp(sizes)[1].astype(np.int64) - 1, float_format.least_exponent),
        float_format.least_exponent,
    )


def encode_values(values: NDArray[Any], name: str) -> Bits:
    """Encode numbers as element bits, in the low bits of a word.

    A float is rounded to nearest. Values beyond the largest become infinity, or the largest if the type has no
    infinity.
    """
    row = get_dtype(name)
    return _encode_floats(values.astype(np.float64), row.format) if row.format else _encode_integers(values, row)


def _find_numpy_type(float_format: FloatFormat) -> np.dtype[Any] | None:
    """Return the type of NumPy that has a format, None if there is none."""
    ieee = float_format.special is SpecialCodes.IEEE and float_format.signed
    return _NUMPY.get((float_format.exponent_bits, float_format.mantissa_bits)) if ieee else None


def _encode_floats(values: Values, float_format: FloatFormat) -> Bits:
    numpy_type = _find_numpy_type(float_format)
    if numpy_type is not None:
        with np.errstate(over="ignore"):
            bits = values.astype(numpy_type).view(f"u{numpy_type.itemsize}").astype(np.uint64)
        lost = np.isnan(values)
        sign = np.signbit(values[lost]).astype(np.uint64) << np.uint64(numpy_type.itemsize * 8 - 1)
        bits[lost] = np.uint64(float_format.nan) | sign
        return bits
    sizes = np.abs(values)
    finite = np.isfinite(sizes)
    exponent = _compute_exponents(np.where(finite, sizes, 0), float_format)
    scaled = np.ldexp(np.where(finite, sizes, 0), float_format.mantissa_bits - exponent)
    significand = np.rint(scaled).astype(np.int64)  # the mantissa, with its leading one
    if not float_format.mantissa_bits:
        significand = np.zeros_like(significand)  # every number is a power of two: its exponent is the code
    codes = ((exponent - float_format.least_exponent) << float_format.mantissa_bits) + significand
    codes = np.where(
        finite,
        np.minimum(codes, float_format.past_largest),
        np.where(np.isnan(sizes), float_format.nan, float_format.past_largest),
    )
    signs = np.signbit(values).astype(np.int64) << (float_format.exponent_bits + float_format.mantissa_bits)
    return (codes | signs).view(np.uint64)


def _encode_integers(values: NDArray[Any], row: DType) -> Bits:
    return values.astype(np.int64).view(np.uint64) & np.uint64((1 << row.bits) - 1)


def decode_bits(bits: Bits, name: str) -> Values:
    """Decode element bits to values, NaN and infinities included; higher bits of a word are ignored."""
    row = get_dtype(name)
    codes = bits.astype(np.uint64).view(np.int64)
    if row.format:
        if row.bits > TABLED:
            return _decode_floats(codes, row.format)
        return np.asarray(_lookup_values(row.format, row.bits)[codes & (1 << row.bits) - 1])
    integers = codes & (1 << row.bits) - 1
    return (integers - ((integers >> (row.bits - 1)) << row.bits) if row.signed else integers).astype(np.float64)


@cache
def _lookup_values(float_format: FloatFormat, bits: int) -> Values:
    """Return the value of every code of a narrow type."""
    return _decode_floats(np.arange(1 << bits, dtype=np.int64), float_format)


def _decode_floats(codes: NDArray[np.int64], float_format: FloatFormat) -> Values:
    numpy_type = _find_numpy_type(float_format)
    if numpy_type is not None:
        with np.errstate(invalid="ignore"):  # NaNs that signal
            return codes.astype(f"u{numpy_type.itemsize}").view(numpy_type).astype(np.float64)
    exponent = codes >> float_format.mantissa_bits & (1 << float_format.exponent_bits) - 1
    mantissa = codes & (1 << float_format.mantissa_bits) - 1
    normal = exponent > 0 if float_format.mantissa_bits else np.ones(codes.shape, bool)
    significand = mantissa + (normal.astype(np.int64) << float_format.mantissa_bits)
    number = _find_finite_codes(exponent, mantissa, float_format)
    sizes = np.ldexp(
        np.where(number, significand, 0).astype(np.float64),
        np.where(normal, exponent, 1) - float_format.bias - float_format.mantissa_bits,
    )
    sizes = np.where(number, sizes, np.inf if float_format.special is SpecialCodes.IEEE else np.nan)
    sizes = np.where(~number & (mantissa > 0), np.nan, sizes)
    sign = codes >> (float_format.exponent_bits + float_format.mantissa_bits) & 1
    return np.where(float_format.signed & sign.astype(bool), -sizes, sizes)


def _find_finite_codes(
    exponent: NDArray[np.int64], mantissa: NDArray[np.int64], float_format: FloatFormat
) -> NDArray[np.bool_]:
    """Return which codes are finite numbers, by their exponent and mantissa fields."""
    top = exponent == (1 << float_format.exponent_bits) - 1
    if float_format.special is SpecialCodes.IEEE:
        return np.asarray(~top)
    if float_format.special is SpecialCodes.ONE_NAN:
        return np.asarray(~(top & (mantissa == (1 << float_format.mantissa_bits) - 1)))
    return np.ones(exponent.shape, bool)


def mask_unread_bits(codes: Bits, name: str) -> Bits:
    """Return codes as an instruction reads them: the low bits that it ignores are cleared."""
    unread = np.uint64(get_dtype(name).unread_bits)
    return codes.astype(np.uint64) >> unread << unread


def mask_unread_memory(data: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """Return packed elements as an instruction reads them: the bits that it ignores are cleared in every element."""
    row = get_dtype(name)
    if not row.unread_bits:
        return data
    size = row.bits // 8
    aligned = len(data) // size * size
    words = data[:aligned].copy().view(f"<u{size}") >> row.unread_bits << row.unread_bits
    return np.concatenate([words.astype(f"<u{size}").view(np.uint8), data[aligned:]])


def make_comparison_keys(codes: Bits, row: DType) -> Bits:
    """Return canonical codes, equal if the instruction reads equal numbers: unread bits cleared, one zero, one NaN."""
    codes = mask_unread_bits(codes, row.name)
    if row.format is None or not row.format.mantissa_bits:
        return codes
    values = decode_bits(codes, row.name)
    codes = np.where(values == 0, np.uint64(0), codes)
    return np.where(np.isnan(values), np.uint64(row.format.nan), codes)


def decode_as_read(codes: Bits, row: DType) -> Values:
    """Return the numbers that an instruction reads from codes."""
    return decode_bits(make_comparison_keys(codes, row), row.name)
