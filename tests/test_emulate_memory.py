"""Loads, stores and atomics of every form: against sequential Python, threads in the order of their indexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import decode_bits, encode_values
from tests.cases import for_each
from tests.emulated_kernels import run_text

Array = NDArray[Any]
THREADS, PLACES = 64, 5
RANDOM = np.random.default_rng(6)
HEAD = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 memory, .param .u64 values, .param .u64 found) {
.reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .b128 %q<4>; .reg .pred %p<3>;
.shared .align 16 .b8 buffer[1024];
ld.param.u64 %rd1, [memory]; ld.param.u64 %rd2, [values]; ld.param.u64 %rd3, [found];
mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 5; mul.wide.u32 %rd4, %r2, 16; add.u64 %rd1, %rd1, %rd4;
mul.wide.u32 %rd4, %r1, 16; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
"""


def run(body: str, memory: Array, values: Array) -> tuple[Array, Array]:
    """Run a body whose thread t has the address of place t % 5 in %rd1, its values' in %rd2, its results' in %rd3."""
    memory, found = memory.copy(), np.zeros((THREADS, 16), np.uint8)
    machine = run_text(HEAD + body + "\nret; }", [memory, values, found], block=(THREADS, 1, 1))
    assert machine.status == "finished", machine.findings
    assert not machine.findings
    return memory, found


OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, b, bits: old + b,
    "min": lambda old, b, bits: min(old, b),
    "max": lambda old, b, bits: max(old, b),
    "and": lambda old, b, bits: old & b,
    "or": lambda old, b, bits: old | b,
    "xor": lambda old, b, bits: old ^ b,
    "exch": lambda old, b, bits: b,
    "inc": lambda old, b, bits: 0 if old >= b else old + 1,
    "dec": lambda old, b, bits: b if old == 0 or old > b else old - 1,
}


@for_each("space", ["", ".global", ".shared"])
@for_each(
    ("name", "kind"),
    [(n, k) for n in ("add", "min", "max") for k in ("u32", "s32", "u64", "s64") if (n, k) != ("add", "s64")]
    + [(n, k) for n in ("and", "or", "xor", "exch") for k in ("b32", "b64")]
    + [("inc", "u32"), ("dec", "u32")],
)
def test_integer_atomics(name: str, kind: str, space: str) -> None:
    bits = int(kind[1:])
    dtype = np.dtype(f"{'int' if kind[0] == 's' else 'uint'}{bits}")
    memory = np.zeros((PLACES, 16 // dtype.itemsize), dtype)
    values = np.zeros((THREADS, 16 // dtype.itemsize), dtype)
    memory[:, 0] = RANDOM.integers(0, 50, PLACES)
    values[:, 0] = RANDOM.integers(-20, 60, THREADS).astype(dtype) if name not in ("inc", "dec") else 7
    register = "%r5" if bits == 32 else "%rd5"
    found = "%r6" if bits == 32 else "%rd6"
    body = f"ld.global.b{bits} {register}, [%rd2];"
    if space == ".shared":
        body += (
            "mov.u32 %r9, buffer; mad.lo.u32 %r9, %r2, 16, %r9; setp.lt.u32 %p1, %r1, 5;"
            f" @%p1 ld.global.b{bits} {found}, [%rd1]; @%p1 st.shared.b{bits} [%r9], {found}; bar.sync 0;"
            f" atom.shared.{name}.{kind} {found}, [%r9], {register};"
            f" st.global.b{bits} [%rd3], {found}; bar.sync 0;"
            f" @%p1 ld.shared.b{bits} {found}, [%r9]; @%p1 st.global.b{bits} [%rd1], {found};"
        )
    else:
        body += f"atom.relaxed.gpu{space}.{name}.{kind} {found}, [%rd1], {register}; st.global.b{bits} [%rd3], {found};"
    after, got = run(body, memory, values)
    expected, seen = [int(one) for one in memory[:, 0]], []
    for thread in range(THREADS):
        old = expected[thread % PLACES]
        seen.append(old)
        new = OPERATIONS[name](old, int(values[thread, 0]), bits) & (1 << bits) - 1
        expected[thread % PLACES] = new - (1 << bits) if kind[0] == "s" and new >> bits - 1 else new
    np.testing.assert_array_equal(after[:, 0], expected)
    np.testing.assert_array_equal(got.view(dtype)[:, 0], seen)


@for_each("kind", ["u32", "s32"])
def test_reductions_leave_what_atomics_leave(kind: str) -> None:
    dtype = np.dtype(f"{'int' if kind[0] == 's' else 'uint'}32")
    memory, values = np.zeros((PLACES, 4), dtype), RANDOM.integers(0, 100, (THREADS, 4)).astype(dtype)
    for name in ("add", "min", "max"):
        one, _ = run(f"ld.global.b32 %r5, [%rd2]; red.global.{name}.{kind} [%rd1], %r5;", memory, values)
        other, _ = run(f"ld.global.b32 %r5, [%rd2]; atom.global.{name}.{kind} %r6, [%rd1], %r5;", memory, values)
        np.testing.assert_array_equal(one, other)


def test_compare_and_swap_in_every_width() -> None:
    for bits, register in ((16, "%h"), (32, "%r1"), (64, "%rd1")):
        dtype = np.dtype(f"uint{bits}")
        memory, values = (
            np.zeros((PLACES, 16 // dtype.itemsize), dtype),
            np.zeros((THREADS, 16 // dtype.itemsize), dtype),
        )
        values[:, 0] = np.arange(THREADS) // PLACES  # what the thread before left
        body = (
            f"ld.global.b{bits} {register}1, [%rd2]; add.u{bits} {register}0, {register}1, 1;"
            f" atom.global.cas.b{bits} {register}0, [%rd1], {register}1, {register}0;"
            f" st.global.b{bits} [%rd3], {register}0;"
        )
        after, got = run(body, memory, values)
        np.testing.assert_array_equal(after[:, 0], [13, 13, 13, 13, 12])
        np.testing.assert_array_equal(got.view(dtype)[:, 0], values[:, 0])


def test_exchange_of_128_bits() -> None:
    memory = RANDOM.integers(0, 256, (PLACES, 16), dtype=np.uint8)
    values = RANDOM.integers(0, 256, (THREADS, 16), dtype=np.uint8)
    body = "ld.global.b128 %q1, [%rd2]; atom.global.exch.b128 %q2, [%rd1], %q1; st.global.b128 [%rd3], %q2;"
    after, got = run(body, memory, values)
    np.testing.assert_array_equal(after, values[[60, 61, 62, 63, 59]])
    np.testing.assert_array_equal(got, np.concatenate([memory, values[:-PLACES]]))


@for_each("kind", ["f32", "f64", "f16", "bf16", "f16x2", "bf16x2"])
def test_float_sums(kind: str) -> None:
    """Whole numbers: the sums are exact in every format."""
    element, lanes = kind.partition("x")[0], 2 if "x2" in kind else 1
    size = {"f32": 32, "f64": 64}.get(kind, 16)
    dtype = np.dtype(f"uint{size}")
    numbers = RANDOM.integers(-3, 4, (THREADS, lanes)).astype(np.float64)
    values = np.zeros((THREADS, 16 // dtype.itemsize), dtype)
    values[:, :lanes] = encode_values(numbers, element).astype(dtype)
    memory = np.zeros((PLACES, 16 // dtype.itemsize), dtype)
    width = size * lanes
    register = {16: "%h1", 32: "%r5", 64: "%rd5"}[width]
    rounds = "" if size > 16 else ".noftz"
    body = f"ld.global.b{width} {register}, [%rd2]; red.global.add{rounds}.{kind} [%rd1], {register};"
    after, _ = run(body, memory, values)
    sums = np.array([numbers[place::PLACES].sum(axis=0) for place in range(PLACES)])
    np.testing.assert_array_equal(decode_bits(after[:, :lanes].astype(np.uint64), element), sums)


def test_vectors_of_atomics() -> None:
    numbers = RANDOM.integers(-5, 6, (THREADS, 4)).astype(np.float32)
    body = (
        "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd2];"
        " atom.global.v4.f32.add {%r9, %r10, %r11, %r12}, [%rd1], {%r5, %r6, %r7, %r8};"
        " st.global.v4.b32 [%rd3], {%r9, %r10, %r11, %r12};"
    )
    after, got = run(body, np.zeros((PLACES, 4), np.float32), numbers)
    np.testing.assert_array_equal(after, [numbers[place::PLACES].sum(axis=0) for place in range(PLACES)])
    for place in range(PLACES):
        before = numbers[place::PLACES].cumsum(axis=0) - numbers[place::PLACES]
        np.testing.assert_array_equal(got.view(np.float32)[place::PLACES], before)


ACCESSES = [
    "ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {A}, [%rd2]; st.global.wb.v4.b32 [%rd3], {A};",
    "ld.volatile.global.v4.u32 {A}, [%rd2]; st.volatile.global.v4.u32 [%rd3], {A};",
    "ld.relaxed.gpu.v2.b64 {B}, [%rd2]; st.release.sys.global.b64 [%rd3], %rd7; st.relaxed.cta.b64 [%rd3+8], %rd8;",
    "ld.acquire.cta.global.b64 %rd7, [%rd2]; ld.weak.global.cs.b64 %rd8, [%rd2+8]; st.cg.v2.b64 [%rd3], {B};",
    "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0; ld.global.L2::cache_hint.v4.f32 {A}, [%rd2], %rd9;"
    " st.global.L1::evict_last.L2::cache_hint.v4.f32 [%rd3], {A}, %rd9;",
    "ld.b128 %q1, [%rd2]; mov.b128 {B}, %q1; mov.b128 %q2, {B}; st.b128 [%rd3], %q2;",
    "ldu.global.v4.u32 {A}, [%rd2]; prefetch.global.L2 [%rd2]; st.v4.u32 [%rd3], {A};",
]


@for_each("body", ACCESSES)
def test_accesses_move_sixteen_bytes(body: str) -> None:
    values = RANDOM.integers(0, 256, (THREADS, 16), dtype=np.uint8)
    text = body.replace("{A}", "{%r5, %r6, %r7, %r8}").replace("{B}", "{%rd7, %rd8}")
    _, got = run(text, np.zeros((PLACES, 16), np.uint8), values)
    np.testing.assert_array_equal(got, values)


@for_each(
    "line",
    [
        "ld.global.L9::twice.u32 %r5, [%rd2];",
        "st.global.sometimes.u32 [%rd3], %r5;",
        "atom.global.mul.u32 %r5, [%rd1], %r6;",
        "add.sometimes.u32 %r5, %r5, %r6;",
        "add.rz.s32 %r5, %r5, %r6;",
        "multimem.ld_reduce.global.add.u32 %r5, [%rd2];",
        "cvt.rn.satfinite.f32.f32 %r5, %r6;",
        "shfl.sync.around.b32 %r5, %r6, 1, 31, -1;",
    ],
)
def test_unknown_qualifiers_stop_the_run(line: str) -> None:
    arguments = [np.zeros((THREADS, 16), np.uint8) for _ in range(3)]
    machine = run_text(HEAD + line + "\nret; }", arguments, block=(32, 1, 1))
    assert machine.status == "unknown_instruction"
    assert machine.findings[0].line == HEAD.count("\n") + 1


WRAPS = {  # a 32-bit base and a negative index as an unsigned one: the sum leaves 32 bits
    "of registers": "add.u32 %r9, %r9, 0xFFFFFFF0; add.u32 %r9, %r9, 32; st.shared.u32 [%r9], 7;",
    "with an offset": "add.u32 %r9, %r9, 0xFFFFFFF0; st.shared.u32 [%r9+32], 7;",
    "below zero and back": "neg.s32 %r8, %r9; sub.u32 %r8, 0, %r8; st.shared.u32 [%r8+16], 7;",
    "past the end of 32 bits": "mov.u32 %r8, 0xFFFFFFF0; add.u32 %r8, %r8, %r9; st.shared.u32 [%r8+32], 7;",
    "of 64 bits, truncated": "cvt.u64.u32 %rd8, %r9; add.u64 %rd8, %rd8, 0x300000010; st.shared.u32 [%rd8], 7;",
    "of 64 bits, negative": "cvt.u64.u32 %rd8, %r9; sub.u64 %rd8, %rd8, 0x100000000; st.shared.u32 [%rd8+16], 7;",
    "of an atomic": "mov.u32 %r8, 0; add.u32 %r7, %r9, 32; sub.u32 %r7, %r7, 48; st.shared.u32 [%r7+32], 3;"
    " atom.shared.add.u32 %r8, [%r7+32], 4;",
}


@for_each("body", WRAPS.values(), ids=WRAPS)
def test_shared_addresses_have_32_bits(body: str) -> None:
    """PTX ISA 9.1, 9.7.9.8: an address register wider than its space is truncated; sums of .u32 wrap."""
    start = "mov.u32 %r9, buffer; setp.eq.u32 %p1, %r1, 0; @!%p1 bra E;\n"
    stored = "ld.shared.u32 %r10, [buffer+16]; st.global.u32 [%rd1], %r10; E:"
    after, _ = run(start + body + stored, np.zeros((PLACES, 4), np.uint32), np.zeros((THREADS, 4), np.uint32))
    assert after[0, 0] == 7


def test_an_offset_wraps_in_local_memory() -> None:
    body = (
        ".local .align 16 .b8 own[32]; mov.u32 %r9, own; add.u32 %r9, %r9, 0xFFFFFFF0; st.local.u32 [%r9+16], %r1;"
        " ld.local.u32 %r5, [own]; st.global.u32 [%rd3], %r5;"
    )
    _, found = run(body, np.zeros((PLACES, 4), np.uint32), np.zeros((THREADS, 4), np.uint32))
    assert found.view(np.uint32)[:, 0].tolist() == list(range(THREADS))


@for_each("wide", [False, True])
def test_the_address_of_an_mbarrier_wraps(wide: bool) -> None:
    bar = "mov.u32 %r9, buffer; add.u32 %r9, %r9, 0xFFFFFFF8;"
    address, high = "%r9", ""
    if wide:
        address, high = "%rd8", "cvt.u64.u32 %rd8, %r9; sub.u64 %rd8, %rd8, 0x200000000;"
    body = (
        bar
        + high
        + (
            f"setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [{address}+24], 64; bar.sync 0;"
            f" mbarrier.arrive.shared.b64 %rd5, [{address}+24]; mbarrier.test_wait.shared.b64 %p2, [buffer+16], %rd5;"
        )
    )
    run(body, np.zeros((PLACES, 4), np.uint32), np.zeros((THREADS, 4), np.uint32))
