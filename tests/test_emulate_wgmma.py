"""wgmma in the emulator: products against NumPy over tiles that are laid out by hand, fences, groups and findings.

A tile without swizzle is a row of core matrices of 8 rows of 16 bytes: PTX ISA 9.1, 9.7.15.5.1.2. The 128-byte swizzle
XORs bits 4 to 6 of an address with bits 7 to 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.machine import Machine, Schedule
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.emulated_kernels import execute, spell
from tests.oracle import ptx as pages, sparse
from tests.sample import FULL
from tests.test_emulate_matrices import BITS, draw, encode, pack

Array = NDArray[Any]
START_B = 16384  # bytes behind A's tile
SHARED = 49152


def lay_out(matrix: Array, name: str, swizzled: bool = False) -> bytes:
    """A K-major tile: core matrices along K first (LBO 128), then along M or N; or rows of 128 bytes, swizzled."""
    bits = BITS[name]
    rows, k = matrix.shape
    memory = bytearray(rows * (128 if swizzled else k * bits // 8))
    for r in range(rows):
        row = sum(encode(int(matrix[r, c]), name) << (c * bits) for c in range(k)).to_bytes(k * bits // 8, "little")
        for chunk in range(len(row) // 16):
            at = r * 128 + (chunk ^ r % 8) * 16 if swizzled else (r // 8 * (len(row) // 16) + chunk) * 128 + r % 8 * 16
            memory[at : at + 16] = row[chunk * 16 : chunk * 16 + 16]
    return bytes(memory)


def describe(register: str, offset: int, lbo: int, sbo: int, mode: int = 0) -> str:
    """The word of a descriptor of shared memory from an offset on."""
    high = lbo >> 4 << 16 | sbo >> 4 << 32 | mode << 62
    return (
        f"add.u32 %t3, %s, {offset}; and.b32 %t3, %t3, 0x3FFFF; shr.u32 %t3, %t3, 4; cvt.u64.u32 {register}, %t3;"
        f" or.b64 {register}, {register}, {high};\n"
    )


def copy_to_shared(words: int) -> str:
    """Store %i0… of 128 threads, one after the other."""
    stores = "".join(f"st.shared.b32 [%t0+{512 * n}], %i{n};\n" for n in range(words))
    return f"shl.b32 %t0, %tid, 2; add.u32 %t0, %t0, %s;\n{stores}fence.acq_rel.cta; bar.sync 0;\n"


def pad(data: bytes, size: int) -> bytes:
    assert len(data) <= size
    return data + bytes(size - len(data))


def run_wgmma(
    body: str, image: bytes, registers: Array, count: int, schedule: Schedule = Schedule()
) -> tuple[Array, Machine]:
    """Run a body of one warpgroup over an image of shared memory; its registers follow those of the image."""
    words = np.frombuffer(pad(image, -(-len(image) // 512) * 512), np.uint32).reshape(-1, 128)
    return execute(
        copy_to_shared(len(words)) + body,
        np.concatenate([words, registers]),
        count,
        shared=SHARED,
        schedule=schedule,
    )


WAIT = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
TYPES = (
    "m64n8k16.f32.f16.f16",
    "m64n16k16.f16.f16.f16",
    "m64n24k16.f32.bf16.bf16",
    "m64n8k8.f32.tf32.tf32",
    "m64n16k32.f32.e4m3.e5m2",
    "m64n8k32.f16.e5m2.e4m3",
    "m64n8k32.s32.s8.u8",
    "m64n8k256.s32.b1.b1.and.popc",
)
SCHEDULES = (Schedule(), Schedule(by_warp=True), Schedule(late=True), Schedule(by_warp=True, late=True))


@for_each("schedule", SCHEDULES, ids=str, sample=2)
def test_products_from_shared_memory_and_from_registers(schedule: Schedule) -> None:
    rng = np.random.default_rng(4)
    for name in TYPES if FULL or schedule == SCHEDULES[0] else [TYPES[2 * SCHEDULES.index(schedule)]]:
        instruction = catalog.find(f"wgmma.mma_async.sync.aligned.{name}")
        types, (m, n, k) = instruction.types, (instruction.sizes[axis] for axis in "mnk")
        a, b = draw(rng, types["a"], (m, k)), draw(rng, types["b"], (n, k))
        c = rng.integers(-9, 10, (m, n))
        width, bits = BITS[types["d"]], BITS[types["a"]]
        count = m * n * width // 32 // 128
        start, d = (pack(one, types["d"], width, pages.wgmma_d, count, 128) for one in (c, a @ b.T + c))
        image = pad(lay_out(a, types["a"]), START_B) + lay_out(b, types["b"])
        at = -(-len(image) // 512)
        a_registers = pack(a, types["a"], bits, pages.wgmma_a(bits), 4, 128)
        signs = ", 1, 1" if types["d"] != "s32" else ""
        transposes = {True: ", 0", False: ", 0, 0"} if bits == 16 else {True: "", False: ""}
        moves = "".join(f"mov.b32 %o{i}, %i{at + i};" for i in range(count))
        for registers in (False, True):
            operand = spell("i", at + count, 4) if registers else "%d0"
            body = (
                f"{describe('%d0', 0, 128, 256)}{describe('%d1', START_B, 128, 256)}{moves}"
                "setp.eq.u32 %p, 0, 0; wgmma.fence.sync.aligned;"
                f"{instruction.ptx} {spell('o', 0, count)}, {operand}, %d1, %p{signs}{transposes[registers]};"
                f"{WAIT}"
            )
            out, machine = run_wgmma(body, image, np.concatenate([start, a_registers]), count, schedule)
            assert (machine.status, machine.findings) == ("finished", []), name
            assert np.array_equal(out, d), (name, registers)


def test_swizzled_tiles_signs_and_a_chain() -> None:
    """Four steps along K of 128-byte rows: D is written, then added to; A is negated in the last one."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(-3, 4, (64, 64)), rng.integers(-3, 4, (32, 64))
    image = lay_out(a, "bf16", swizzled=True) + lay_out(b, "bf16", swizzled=True)
    steps = "".join(
        f"{describe('%d0', 32 * step, 16, 1024, 1)}{describe('%d1', 8192 + 32 * step, 16, 1024, 1)}"
        f"setp.ne.u32 %p, {step}, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {spell('o', 0, 16)}, %d0,"
        f" %d1, %p, {-1 if step == 3 else 1}, 1, 0, 0;\n"
        for step in range(4)
    )
    for schedule in SCHEDULES:
        out, machine = run_wgmma(
            f"wgmma.fence.sync.aligned; {steps}{WAIT}", image, np.zeros((0, 128), np.uint32), 16, schedule
        )
        assert (machine.status, machine.findings) == ("finished", [])
        signs = np.repeat([1, 1, 1, -1], 16)
        assert np.array_equal(out, pack((a * signs) @ b.T, "f32", 32, pages.wgmma_d, 16, 128))


def test_columns_of_b_in_memory() -> None:
    """tnspB: 64 columns of N stand in 128 bytes, eight values of K a swizzle atom."""
    rng = np.random.default_rng(6)
    a, b = rng.integers(-3, 4, (64, 16)), rng.integers(-3, 4, (16, 64))
    image = pad(lay_out(a, "f16"), START_B) + lay_out(b, "f16", swizzled=True)
    body = (
        f"{describe('%d0', 0, 128, 256)}{describe('%d1', START_B, 16, 1024, 1)}setp.ne.u32 %p, 0, 0;"
        " wgmma.fence.sync.aligned;"
        f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {spell('o', 0, 32)}, %d0, %d1, %p, 1, 1, 0, 1; {WAIT}"
    )
    out, machine = run_wgmma(body, image, np.zeros((0, 128), np.uint32), 32)
    assert (machine.status, machine.findings) == ("finished", [])
    assert np.array_equal(out, pack(a @ b, "f32", 32, pages.wgmma_d, 32, 128))


def test_sparse_products() -> None:
    rng = np.random.default_rng(7)
    for name, k, bits in (
        ("m64n8k32.f32.f16.f16", 32, 16),
        ("m64n8k64.s32.s8.s8", 64, 8),
        ("m64n8k16.f32.tf32.tf32", 16, 32),
    ):
        kind, d_type = name.split(".")[2], name.split(".")[1]
        kept, group = {32: (1, 2), 16: (2, 4), 8: (2, 4)}[bits]
        for selector in range(1 if bits == 8 else 2):
            legal = [0x4, 0xE] if bits == 32 else [0x4, 0x8, 0x9, 0xC, 0xD, 0xE]
            nibbles = rng.choice(legal, (64, k // group))
            stored, b, c = draw(rng, kind, (64, k // 2)), draw(rng, kind, (8, k)), rng.integers(-9, 10, (64, 8))
            dense = np.zeros((64, k), np.int64)
            words = np.full((1, 128), 0x44444444, np.uint32)
            for row in range(64):
                for one in range(k // group):
                    nibble = int(nibbles[row, one])
                    places = [nibble >> 3] if kept == 1 else [nibble & 3, nibble >> 2]
                    dense[row, [one * group + place for place in places]] = stored[row, one * kept : (one + 1) * kept]
                    lane, first = sparse.metadata(k, bits, selector, row % 16, one)
                    words[0, row // 16 * 32 + lane] &= ~np.uint32(0xF << first)
                    words[0, row // 16 * 32 + lane] |= np.uint32(nibble << first)
            image = pad(lay_out(stored, kind), START_B) + lay_out(b, kind)
            at = -(-len(image) // 512)
            start, d = (pack(one, d_type, 32, pages.wgmma_d, 4, 128) for one in (c, dense @ b.T + c))
            moves = "".join(f"mov.b32 %o{i}, %i{at + i};" for i in range(4))
            rest = {16: ", 1, 1, 0, 0", 8: "", 32: ", 1, 1"}[bits]
            body = (
                f"{describe('%d0', 0, 128, 256)}{describe('%d1', START_B, 128, 512)}{moves}"
                "setp.eq.u32 %p, 0, 0; wgmma.fence.sync.aligned;"
                f"wgmma.mma_async.sp.sync.aligned.{name} {spell('o', 0, 4)}, %d0, %d1, %i{at + 4}, {selector},"
                f" %p{rest};"
                f"{WAIT}"
            )
            for schedule in (SCHEDULES[0], SCHEDULES[3]):
                out, machine = run_wgmma(body, image, np.concatenate([start, words]), 4, schedule)
                assert (machine.status, machine.findings) == ("finished", []), name
                assert np.array_equal(out, d), (name, selector)


IMAGE = bytes(64 * 32 + 8 * 32)
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%o0, %o1, %o2, %o3}, %d0, %d1, %p, 1, 1, 0, 0;"
BEGIN = f"{describe('%d0', 0, 128, 256)}{describe('%d1', 2048, 128, 256)}setp.ne.u32 %p, 0, 0;"
FENCE = "wgmma.fence.sync.aligned;"


def list_findings(body: str, schedule: Schedule = Schedule()) -> list[str]:
    _, machine = run_wgmma(body, IMAGE, np.zeros((0, 128), np.uint32), 4, schedule)
    return [machine.status, *(finding.code for finding in machine.findings)]


@for_each("schedule", SCHEDULES, ids=str)
def test_what_is_found(schedule: Schedule) -> None:
    begun = BEGIN + FENCE
    assert list_findings(begun + PRODUCT + WAIT, schedule) == ["finished"]
    assert list_findings(BEGIN + PRODUCT + WAIT, schedule) == ["finished", "missing_wgmma_fence"]
    written = "add.u32 %o0, %tid, 1;"
    assert list_findings(begun + written + PRODUCT + WAIT, schedule) == ["finished", "missing_wgmma_fence"]
    assert list_findings(BEGIN + written + FENCE + PRODUCT + WAIT, schedule) == ["finished"]
    assert list_findings(begun + PRODUCT + "wgmma.commit_group.sync.aligned;", schedule) == [
        "finished",
        "wgmma_in_flight",
    ]
    assert list_findings(begun + PRODUCT + "wgmma.wait_group.sync.aligned 0;", schedule) == [
        "finished",
        "wgmma_in_flight",
    ]
    newest = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;"
    assert list_findings(begun + PRODUCT + newest, schedule) == ["finished", "wgmma_in_flight"]
    assert list_findings(begun + describe("%d1", 4096, 128, 256) + PRODUCT + WAIT, schedule) == [
        "finished",
        "unwritten_shared",
    ]
    assert list_findings(begun + describe("%d1", SHARED - 128, 128, 256) + PRODUCT + WAIT, schedule) == [
        "fault",
        "out_of_bounds",
    ]


def test_operands_in_shared_memory_are_read_when_the_wait_needs_them() -> None:
    """A store between issue and wait: seen where work ends as late as it may, not where it ends at once."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(-3, 4, (64, 16)), rng.integers(1, 4, (8, 16))
    image = lay_out(a, "f16") + lay_out(b, "f16")
    body = f"{BEGIN}{FENCE}{PRODUCT} wgmma.commit_group.sync.aligned; mov.b32 %t2, 0; st.shared.b32 [%t0+2048], %t2;"
    results = {}
    for late in (False, True):
        out, _ = run_wgmma(
            f"{body} wgmma.wait_group.sync.aligned 0;", image, np.zeros((0, 128), np.uint32), 4, Schedule(late=late)
        )
        results[late] = out
    b_after = b.copy()
    b_after[:, :] = 0  # 128 words of 4 bytes cover all of it
    assert np.array_equal(results[False], pack(a @ b.T, "f32", 32, pages.wgmma_d, 4, 128))
    assert np.array_equal(results[True] & 0x7FFFFFFF, pack(a @ b_after.T, "f32", 32, pages.wgmma_d, 4, 128))


def test_a_sum_that_is_not_exact_is_noted() -> None:
    a, b = np.ones((64, 16), int), np.ones((8, 16), int)
    image = lay_out(a, "f16") + lay_out(b, "f16")
    for start, codes in ((2.0**23, []), (2.0**24, ["inexact_sum"])):
        registers = np.full((4, 128), np.float32(start).view(np.uint32))
        at = -(-len(image) // 512)
        moves = "".join(f"mov.b32 %o{i}, %i{at + i};" for i in range(4))
        body = f"{BEGIN}setp.eq.u32 %p, 0, 0;{moves}{FENCE}{PRODUCT}{WAIT}"
        _, machine = run_wgmma(body, image, registers, 4)
        assert [finding.code for finding in machine.findings] == codes
        assert all(finding.severity == "note" for finding in machine.findings)


def test_sums_of_8_bit_floats_as_an_h100_wrote_them() -> None:
    """Four products of one value in each of A's rows of a warp's first register, and C. B is all ones."""
    image = b"\x38" * 2048
    at = -(-len(image) // 512)
    for a, c, d in (
        (0x00, 2.0**13 + 1, 2.0**13 + 1),
        (0x00, 2.0**14 + 1, 2.0**14),  # 14 bits of C
        (0x38, 2.0**13, 2.0**13 + 4),
        (0x38, 2.0**14, 2.0**14),  # each 1 is cut off
        (0xB8, 2.0**14, 2.0**14),
        (0x40, 2.0**14, 2.0**14 + 8),
        (0x38, -(2.0**13) - 1, -(2.0**13) + 3),
    ):
        registers = np.zeros((8, 128), np.uint32)
        registers[:4] = np.float32(c).view(np.uint32)
        registers[4] = a
        moves = "".join(f"mov.b32 %o{i}, %i{at + i};" for i in range(4))
        body = (
            f"{describe('%d1', 0, 128, 256)}{moves}setp.eq.u32 %p, 0, 0; {FENCE}"
            "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%o0, %o1, %o2, %o3},"
            f" {spell('i', at + 4, 4)}, %d1, %p, 1, 1; {WAIT}"
        )
        out, machine = run_wgmma(body, image, registers, 4)
        assert machine.status == "finished" and (out[0] == np.float32(d).view(np.uint32)).all(), (a, c)


def test_sums_of_halves_are_rounded_to_the_nearest_even_half() -> None:
    """4100 + 2 lies between two numbers: an H100 wrote 4104 (mma.sync.m16n8k16.f16)."""
    registers = np.zeros((8, 32), np.uint32)
    registers[0], registers[4:6], registers[6:] = 0x3800, 0x3C003C00, 0x6C016C01
    out, _ = execute(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%o0, %o1}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {%i6, %i7};",
        registers,
        2,
    )
    assert (out[0] == 0x6C026C02).all()
