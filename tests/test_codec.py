"""Element types are a row each: their bits against NumPy's IEEE types, the formats' documents, and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lanescope.ptx import codec, dtypes
from lanescope.ptx.dtypes import DTYPES, DType, FloatFormat, SpecialCodes
from tests.cases import for_each

FLOATS = [name for name, row in DTYPES.items() if row.format]
NATIVE = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}
# (largest, least normal, least above zero) as the documents print them: OCP FP8 1.0, table 2; OCP MX 1.0, 3 to 5 and 7.
PRINTED = {
    "e4m3": (448, 2**-6, 2**-9),
    "e5m2": (57344, 2**-14, 2**-16),
    "e3m2": (28, 0.25, 0.0625),
    "e2m3": (7.5, 1, 0.125),
    "e2m1": (6, 1, 0.5),
    "ue8m0": (2.0**127, 2.0**-127, 2.0**-127),
    "bf16": (float.fromhex("0x1.fep127"), 2.0**-126, 2.0**-133),
}


def decode_code(code: int, held: FloatFormat) -> float:
    """The value of one code, in exact arithmetic."""
    exponent, mantissa = divmod(code, 1 << held.mantissa_bits)
    sign, exponent = divmod(exponent, 1 << held.exponent_bits)
    full = exponent == (1 << held.exponent_bits) - 1
    if held.special is SpecialCodes.IEEE and full:
        return math.nan if mantissa else -math.inf if sign else math.inf
    if held.special is SpecialCodes.ONE_NAN and full and mantissa == (1 << held.mantissa_bits) - 1:
        return math.nan
    normal = exponent > 0 or held.mantissa_bits == 0
    size = Fraction(mantissa, 1 << held.mantissa_bits) + normal
    value = float(size * Fraction(2) ** ((exponent if normal else 1) - held.bias))
    return -value if sign and held.signed else value


@for_each("name", [name for name in FLOATS if DTYPES[name].bits <= 16])
def test_every_code_of_a_narrow_type(name: str) -> None:
    row = DTYPES[name]
    assert row.format
    codes = np.arange(1 << row.bits, dtype=np.uint64)
    values = codec.decode_bits(codes, name)
    assert np.array_equal(
        values, [decode_code(int(code) & (1 << row.bits) - 1, row.format) for code in codes], equal_nan=True
    )
    held = np.isfinite(values) & (codes < 1 << (row.bits - (not row.signed and row.format.mantissa_bits > 0)))
    assert np.array_equal(codec.encode_values(values[held], name), codes[held])


@for_each("name", NATIVE)
def test_ieee_types_are_numpys(name: str) -> None:
    whole, real = NATIVE[name]
    bits = DTYPES[name].bits
    some = np.random.default_rng(1).integers(0, (1 << bits) - 1, 5000, dtype=np.uint64, endpoint=True)
    codes = np.concatenate([some, np.array([0, 1, 1 << (bits - 1)], np.uint64)])
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wanted = codes.astype(whole).view(real).astype(np.float64)
    assert np.array_equal(codec.decode_bits(codes, name), wanted, equal_nan=True)
    kept = ~np.isnan(wanted)
    assert np.array_equal(codec.encode_values(wanted[kept], name), codes[kept])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_rounding_is_numpys(values: list[float]) -> None:
    given_ = np.array(values)
    for name, (whole, real) in list(NATIVE.items())[:2]:
        with np.errstate(over="ignore"):
            rounded = given_.astype(real)
        assert np.array_equal(codec.encode_values(given_, name), rounded.view(whole).astype(np.uint64))
        inside = np.isfinite(rounded)
        assert np.array_equal(codec.round_to_type(given_[inside], name), rounded[inside].astype(np.float64))


@pytest.mark.parametrize("name", FLOATS)
@given(value=st.floats(0, 500, allow_subnormal=False))
def test_nothing_lies_nearer(name: str, value: float) -> None:
    low, high = codec.get_bounds(name)
    at = min(max(value, low), high)
    (found,) = codec.round_to_type(np.array([at]), name)
    code = codec.encode_values(np.array([found]), name)
    for step in (-1, 1):
        beside = codec.decode_bits((code.astype(np.int64) + step).clip(0).view(np.uint64), name)
        if np.isfinite(beside[0]) and low <= beside[0] <= high and name != "tf32":
            assert abs(found - at) <= abs(beside[0] - at)


@for_each("name", PRINTED)
def test_limits_are_those_of_the_documents(name: str) -> None:
    largest, normal, least = PRINTED[name]
    held = DTYPES[name].format
    assert held and codec.get_bounds(name)[1] == largest and 2.0**held.least_exponent == normal
    codes = codec.decode_bits(np.arange(1 << min(DTYPES[name].bits, 16), dtype=np.uint64), name)
    assert codes[codes > 0].min() == least


def test_scale_factors_are_a_half_one_and_two() -> None:
    for name in ("ue8m0", "ue4m3"):
        assert codec.decode_bits(np.array(codec.list_scale_codes(name), np.uint64), name).tolist() == [0.5, 1, 2]


# Past the largest, infinite and negative: infinity where there is one, else the largest.
# OCP FP8 1.0, table 1; OCP MX 1.0.
PAST = {
    "e4m3": (0x7E, 0x7E, 0xFE),
    "e5m2": (0x7C, 0x7C, 0xFC),
    "e3m2": (0x1F, 0x1F, 0x3F),
    "e2m3": (0x1F, 0x1F, 0x3F),
    "e2m1": (0x7, 0x7, 0xF),
    "f16": (0x7C00, 0x7C00, 0xFC00),
    "bf16": (0x7F80, 0x7F80, 0xFF80),
}


@for_each("name", list(PAST))
def test_what_is_too_large_has_a_code_of_its_own(name: str) -> None:
    largest = codec.get_bounds(name)[1]
    assert tuple(codec.encode_values(np.array([4 * largest, np.inf, -np.inf]), name).tolist()) == PAST[name]


def test_whole_numbers_wrap_as_two_s_complement() -> None:
    assert codec.encode_values(np.array([-1, -2, 7]), "s4").tolist() == [15, 14, 7]
    assert codec.decode_bits(np.array([15, 14, 7, 0xF3], np.uint64), "s4").tolist() == [-1, -2, 7, 3]
    assert codec.decode_bits(np.array([0x80000000], np.uint64), "s32").tolist() == [-(2.0**31)]


def test_a_new_type_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new type needs beside its row: nothing."""
    monkeypatch.setitem(dtypes.DTYPES, "e3m4", DType("e3m4", 8, "float", format=FloatFormat(3, 4)))
    monkeypatch.setitem(dtypes.DTYPES, "u2", DType("u2", 2, "uint"))
    assert codec.get_bounds("e3m4") == (-15.5, 15.5) and codec.list_legal_values("e3m4") == (-2, -1, 0, 1, 2)
    assert codec.encode_values(np.array([0, 1, -2.5, 15.5, 99]), "e3m4").tolist() == [0, 0x30, 0xC4, 0x6F, 0x70]
    assert codec.decode_bits(codec.encode_values(np.array([0.015625, 7.25]), "e3m4"), "e3m4").tolist() == [
        0.015625,
        7.25,
    ]
    assert codec.get_bounds("u2") == (0, 3) and codec.list_legal_values("u2") == (0, 1, 2, 3)
    assert codec.decode_bits(codec.encode_values(np.array([3, 1]), "u2"), "u2").tolist() == [3, 1]
