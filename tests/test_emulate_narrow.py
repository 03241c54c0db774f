"""Instructions of sm_100 and later, for which no device was at hand: against exact fractions and tables of codes."""

from __future__ import annotations

import io
import json
import lzma
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import decode_bits
from tests.cases import for_each
from tests.emulated_kernels import run_text
from tests.emulated_statements import THREADS, Case, run_statement, write_kernel

Words = NDArray[np.uint64]
RANDOM = np.random.default_rng(5)


def make_floats(scale: float = 1.0) -> NDArray[np.float32]:
    values = (RANDOM.normal(size=THREADS) * scale).astype(np.float32)
    values[:6] = [0.0, -0.0, 1.0, -2.5, 0.75, 1.25]
    return values


def as_words(values: NDArray[np.float32]) -> Words:
    return values.view(np.uint32).astype(np.uint64)


def round_fraction(value: Fraction, digits: int) -> Fraction:
    """Round to a number of significant bits, to nearest, ties to even."""
    if value == 0:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    unit = Fraction(2) ** (exponent - digits + 1)
    return round(value / unit) * unit


def test_two_floats_in_a_register() -> None:
    a, b, c = (make_floats() for _ in range(3)), (make_floats() for _ in range(3)), (make_floats() for _ in range(3))
    (a0, a1, _), (b0, b1, _), (c0, c1, _) = a, b, c
    operands = {
        f"b64 {name}": as_words(low) | as_words(high) << np.uint64(32)
        for name, low, high in (("a", a0, a1), ("b", b0, b1), ("c", c0, c1))
    }
    result = run_statement("fma.rn.f32x2 %d, %a, %b, %c;", "b64", operands, "sm_100a")
    for half, parts in enumerate(((a0, b0, c0), (a1, b1, c1))):
        got = (result >> np.uint64(32 * half)).astype(np.uint32).view(np.float32)
        for thread, (x, y, z) in enumerate(zip(*parts, strict=True)):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            assert Fraction(float(got[thread])) == round_fraction(exact, 24)


@for_each("name", ["f16", "bf16"])
def test_mixed_precision(name: str) -> None:
    a, b = (RANDOM.integers(0, 1 << 14, THREADS).astype(np.uint64) + (1 << 13) for _ in range(2))
    c = make_floats(1e-3)
    x, y = decode_bits(a, name), decode_bits(b, name)
    result = run_statement(f"fma.rn.f32.{name} %d, %a, %b, %c;", "b32", {"b16 a": a, "b16 b": b, "b32 c": as_words(c)})
    got = result.astype(np.uint32).view(np.float32)
    for thread in range(THREADS):
        exact = Fraction(float(x[thread])) * Fraction(float(y[thread])) + Fraction(float(c[thread]))
        assert Fraction(float(got[thread])) == round_fraction(exact, 24)
    result = run_statement(f"sub.f32.{name} %d, %a, %c;", "b32", {"b16 a": a, "b16 b": b, "b32 c": as_words(c)})
    np.testing.assert_array_equal(
        result.astype(np.uint32).view(np.float32), (x - c.astype(np.float64)).astype(np.float32)
    )


def test_least_of_three() -> None:
    a, b, c = make_floats(), make_floats(), make_floats()
    a[10] = b[11] = c[12] = np.nan
    operands = {"b32 a": as_words(a), "b32 b": as_words(b), "b32 c": as_words(c)}
    least = run_statement("min.f32 %d, %a, %b, %c;", "b32", operands, "sm_100a").astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(least, np.fmin(np.fmin(a, b), c))
    most = run_statement("max.NaN.abs.f32 %d, %a, %b, %c;", "b32", operands, "sm_100a").astype(np.uint32)
    np.testing.assert_array_equal(most.view(np.float32), np.maximum(np.maximum(abs(a), abs(b)), abs(c)))
    assert (most[10:13] == 0x7FFFFFFF).all()


@for_each("words", ["min", "max", "min.abs", "max.NaN"])
def test_float_reduction_of_a_warp(words: str) -> None:
    values = make_floats()
    values[40] = np.nan
    result = run_statement(f"redux.sync.{words}.f32 %d, %a, -1;", "b32", {"b32 a": as_words(values)}, "sm_100a")
    got = result.astype(np.uint32).view(np.float32).reshape(2, 32)
    warps = (abs(values) if "abs" in words else values).reshape(2, 32)
    choose = {"min": np.fmin, "max": np.fmax, "min.abs": np.fmin, "max.NaN": np.maximum}[words]
    np.testing.assert_array_equal(got, np.broadcast_to(choose.reduce(warps, axis=1)[:, None], (2, 32)))


SMALL = {"e2m1x2": ("e2m1", 4, 6.0), "e2m3x2": ("e2m3", 8, 7.5), "e3m2x2": ("e3m2", 8, 28.0)}


@for_each("name", SMALL)
def test_numbers_of_four_and_six_bits(name: str) -> None:
    """Every result is the code whose value is nearest, the even one of two; beyond the largest, the largest."""
    element, room, largest = SMALL[name]
    bits = 4 if room == 4 else 6
    table = decode_bits(np.arange(1 << bits - 1, dtype=np.uint64), element)  # not negative
    high, low = make_floats(3.0), make_floats(3.0)
    high[8:11], low[8:11] = [np.nan, np.inf, -np.inf], [1e9, -1e9, 0.125]
    ties = (table[1:] + table[:-1]) / 2
    low[20 : 20 + min(len(ties), 40)] = ties[:40]

    def encode(value: float) -> int:
        if np.isnan(value):
            return len(table) - 1
        distances = np.abs(table - min(abs(value), largest))
        nearest = np.flatnonzero(distances == distances.min())
        code = int(next((one for one in nearest if one % 2 == 0), nearest[0]))
        return code | int(np.signbit(value)) << bits - 1

    expected = [encode(float(a)) << room | encode(float(b)) for a, b in zip(high, low, strict=True)]
    text = "{ .reg .b8 z; cvt.rn.satfinite.e2m1x2.f32 z, %a, %b; cvt.u16.u8 %d, z; }"
    if bits == 6:
        text = f"cvt.rn.satfinite.{name}.f32 %d, %a, %b;"
    result = run_statement(text, "b16", {"b32 a": as_words(high), "b32 b": as_words(low)}, "sm_100a")
    np.testing.assert_array_equal(result, expected)
    back = f"cvt.rn.f16x2.{name} %d, %a;"
    if bits == 4:
        back = "{ .reg .b8 z; cvt.u8.u16 z, %a; cvt.rn.f16x2.e2m1x2 %d, z; }"
    halves = run_statement(back, "b32", {"b16 a": result}, "sm_100a").astype(np.uint32).view(np.float16).reshape(-1, 2)
    codes = np.array(expected, np.uint64)
    np.testing.assert_array_equal(halves[:, 1], decode_bits(codes >> np.uint64(room), element))
    np.testing.assert_array_equal(halves[:, 0], decode_bits(codes & np.uint64((1 << room) - 1), element))


def test_scale_factors() -> None:
    values = np.abs(make_floats(1e4)) + np.float32(2.0**-20)
    operands = {"b32 a": as_words(values), "b32 b": as_words(values[::-1].copy())}
    for words, rounded in (("rz", np.floor), ("rp", np.ceil)):
        result = run_statement(f"cvt.{words}.satfinite.ue8m0x2.f32 %d, %a, %b;", "b16", operands, "sm_100a")
        exponents = rounded(np.log2(values.astype(np.float64))).astype(np.int64) + 127
        np.testing.assert_array_equal(result >> np.uint64(8), exponents)
        np.testing.assert_array_equal(result & np.uint64(255), exponents[::-1])
        halves = run_statement("cvt.rn.bf16x2.ue8m0x2 %d, %a;", "b32", {"b16 a": result}, "sm_100a")
        np.testing.assert_array_equal(decode_bits(halves >> np.uint64(16), "bf16"), np.exp2(exponents - 127.0))


@for_each(("name", "cut"), [("f16", 13), ("bf16", 16)])
def test_random_bits_decide_the_direction(name: str, cut: int) -> None:
    values, random = make_floats() + np.float32(3.0), RANDOM.integers(0, 1 << 32, THREADS, dtype=np.uint64)
    if name == "f16":
        random &= np.uint64(0x1FFF1FFF)
    operands = {"b32 a": as_words(values), "b32 b": as_words(values), "b32 c": random}
    result = run_statement(f"cvt.rs.{name}x2.f32 %d, %a, %b, %c;", "b32", operands, "sm_100a")
    bits = as_words(values)
    for half, own in ((0, random & np.uint64(0xFFFF)), (1, random >> np.uint64(16))):
        kept = ((bits + own) >> np.uint64(cut) << np.uint64(cut)).astype(np.uint32).view(np.float32)
        np.testing.assert_array_equal(decode_bits(result >> np.uint64(16 * half) & np.uint64(0xFFFF), name), kept)


# every integer, float, conversion, comparison and warp instruction does what an h100 did wi ---------------------------

EVIDENCE = Path(__file__).parent / "golden" / "emulated" / "instructions.npz.xz"


@lru_cache(maxsize=1)
def read_evidence() -> tuple[list[Case], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return statements (text, type of the result, types of the operands, number of their values), values, results."""
    with np.load(io.BytesIO(lzma.decompress(EVIDENCE.read_bytes()))) as arrays:
        return json.loads(arrays["cases"].tobytes()), arrays["inputs"], arrays["results"]


def get_name(text: str) -> str:
    """Return the tested instruction of a case: the last opcode that does not only prepare or store values."""
    words = [part.split()[0] for part in text.strip("{} ").replace("L:", "").split(";") if part.strip()]
    return (
        [word.split(".")[0] for word in words if not word.startswith((".", "@", "mov.", "setp.gt", "setp.ge.u32"))][-1]
        if len(words) > 1
        else words[0].split(".")[0]
    )


def list_names() -> list[str]:
    return sorted({get_name(case[0]) for case in read_evidence()[0]})


@for_each("name", list_names(), sample=14)
def test_results_equal_the_devices(name: str) -> None:
    cases, inputs, results = read_evidence()
    by_values: dict[int, list[int]] = defaultdict(list)
    for number, case in enumerate(cases):
        if get_name(case[0]) == name:
            by_values[case[3]].append(number)
    for values, numbers in by_values.items():
        out = np.zeros((len(numbers), THREADS), np.uint64)
        machine = run_text(
            write_kernel([cases[number] for number in numbers]), [inputs[values].copy(), out], block=(THREADS, 1, 1)
        )
        assert machine.status == "finished", machine.findings
        for number, own in zip(numbers, out, strict=True):
            np.testing.assert_array_equal(own, results[number], err_msg=cases[number][0])
