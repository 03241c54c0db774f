"""tcgen05 in the emulator: products against NumPy, with operands that lie as PTX's text says (no swizzle, K-major)."""

from __future__ import annotations

import numpy as np

from lanescope.emulate.run import emulate
from tests.cases import for_each

HEAD = """
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 bytes) {
 .reg .pred %p<4>; .reg .b32 %r<300>; .reg .b64 %rd<20>;
 .shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bar; .shared .align 4 .b32 place;
 ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [bytes];
 mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, tile;
copy: setp.ge.u32 %p1, %r3, %r1; @%p1 bra copied;
 cvt.u64.u32 %rd3, %r3; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r5, [%rd4]; add.s32 %r6, %r4, %r3;
 st.shared.u32 [%r6], %r5; add.s32 %r3, %r3, 512; bra copy;
copied: mov.u32 %r7, bar; mov.u32 %r8, place;
 setp.ne.u32 %p2, %r2, 0; @!%p2 mbarrier.init.shared::cta.b64 [%r7], 1;
 setp.ge.u32 %p3, %r2, 32;
 @%p3 bra allocated;
 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 256;
allocated: fence.proxy.async.shared::cta; bar.sync 0; ld.shared.u32 %r9, [place];
"""
TAIL = """
 @%p2 bra waits;
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];
waits: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0; @!%p1 bra waits;
 tcgen05.fence::after_thread_sync;
 shr.u32 %r10, %r2, 5; shl.b32 %r10, %r10, 21; add.s32 %r11, %r9, %r10;
"""
END = """
 bar.sync 0; @%p3 bra done; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 256;
done: ret; }
"""


def store_columns(count: int, per_thread: int) -> str:
    """Load `count` columns of a warp's quarter and store them, thread after thread."""
    registers = ", ".join(f"%r{20 + n}" for n in range(count))
    lines = [
        f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{registers}}}, [%r11]; tcgen05.wait::ld.sync.aligned;",
        f"mul.wide.u32 %rd5, %r2, {4 * per_thread}; add.s64 %rd6, %rd2, %rd5;",
        *(f"st.global.u32 [%rd6+{4 * n}], %r{20 + n};" for n in range(count)),
    ]
    return "\n".join(lines)


def place_core_matrices(matrix: np.ndarray) -> np.ndarray:
    """Rows by K as core matrices of 8 rows × 16 bytes: along K 128 bytes apart, along rows K / 8 of them (f16)."""
    rows, k = matrix.shape
    return matrix.reshape(rows // 8, 8, k // 8, 8).transpose(0, 2, 1, 3).reshape(-1)


def describe(start: int, lbo: int, sbo: int) -> int:
    return start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | 1 << 46


def run(text: str, image: np.ndarray, words: int) -> tuple[np.ndarray, object]:
    launch = {
        "grid": [1, 1, 1],
        "block": [128, 1, 1],
        "args": ["image", "out", int(image.nbytes)],
        "buffer": {
            "image": {"type": "u8", "shape": [image.nbytes], "file": "i.npy"},
            "out": {"type": "u32", "shape": [words], "fill": 0},
        },
    }
    result = emulate(text, launch, buffers={"image": image.view(np.uint8)})
    out = next((one.array for one in result.outputs.values() if one.name == "out"), np.zeros(0, np.uint32))
    return out, result


def idesc(m: int, n: int) -> int:
    """kind::f16: D f32 (bit 4), A and B f16, N / 8 from bit 17, M / 16 from bit 24. PTX ISA 9.1, Table 44."""
    return 1 << 4 | n // 8 << 17 | m // 16 << 24


@for_each(("m", "n", "accumulate"), [(128, 64, False), (128, 32, True), (64, 64, False)])
def test_a_product_of_f16_is_numpys(m: int, n: int, accumulate: bool) -> None:
    random = np.random.default_rng(m + n)
    a, b = random.integers(-4, 5, (m, 32)), random.integers(-4, 5, (n, 32))
    image = np.concatenate([place_core_matrices(a.astype(np.float16)), place_core_matrices(b.astype(np.float16))])
    begin = 1024  # a block's shared memory begins here
    steps = []
    for step in range(2):
        words = [describe(begin + at + step * 256, 128, 512) for at in (0, m * 64)]
        enable = "0" if step == 0 and not accumulate else "1"
        steps.append(
            f"mov.b64 %rd7, {words[0]:#x}; mov.b64 %rd8, {words[1]:#x}; mov.b32 %r12, {idesc(m, n):#x};"
            f" setp.ne.u32 %p1, {enable}, 0;"
            " tcgen05.mma.cta_group::1.kind::f16 [%r9], %rd7, %rd8, %r12, %p1;"
        )
    issue = "@%p2 bra issued;\n" + "\n".join(steps) + "\nissued:"
    ones = ", ".join(["%r13"] * n)
    fill = (
        "mov.b32 %r13, 0f40400000; shr.u32 %r10, %r2, 5; shl.b32 %r10, %r10, 21; add.s32 %r11, %r9, %r10;"
        f" tcgen05.st.sync.aligned.32x32b.x{n}.b32 [%r11], {{{ones}}}; tcgen05.wait::st.sync.aligned; bar.sync 0;"
    )
    out, result = run(HEAD + fill + issue + TAIL + store_columns(n, n) + END, image, 128 * n)
    assert result.status == "finished", result.findings
    assert not result.findings
    lanes = out.view(np.float32).reshape(128, n)
    expected = (a @ b.T + 3 * accumulate).astype(np.float32)
    if m == 128:
        assert np.array_equal(lanes, expected)
    else:  # 16 rows in the first lanes of each quarter; the others keep what was there
        assert np.array_equal(lanes.reshape(4, 32, n)[:, :16].reshape(64, n), expected)
        assert (lanes.reshape(4, 32, n)[:, 16:] == 3).all()


def test_a_warp_reaches_its_own_quarter_alone() -> None:
    text = HEAD + TAIL.replace("add.s32 %r11, %r9, %r10", "mov.b32 %r11, %r9") + store_columns(4, 4) + END
    _, result = run(text, np.zeros(16, np.uint8), 512)
    assert [one.code for one in result.findings] == ["tensor_memory_lanes"]


def test_columns_that_are_not_allocated_are_reported() -> None:
    text = HEAD + TAIL.replace("add.s32 %r11, %r9, %r10", "add.s32 %r11, %r9, %r10; add.s32 %r11, %r11, 256")
    _, result = run(text + store_columns(4, 4) + END, np.zeros(16, np.uint8), 512)
    assert [one.code for one in result.findings] == ["tensor_memory_unallocated"]
