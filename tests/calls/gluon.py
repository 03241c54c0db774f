"""Layouts of Triton and Gluon given as text, over tensors of every rank: maps, places, pictures and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from lanescope import triton
from lanescope.tiles.feeds import fed
from lanescope.triton.gluon import triton_layout
from tests.calls import Call
from tests.calls.captured import call

BLOCKED = "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])"
MMA = "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8])"
SCALES = "#ttng.tensor_memory_scales_encoding<>"
TEXTS: tuple[tuple[Any, ...], ...] = (
    (BLOCKED, (32, 16)), (BLOCKED, (32, 16), 1), (BLOCKED, (32, 16), 64), (BLOCKED, (32, 16), 0), (BLOCKED, (8, 4)),
    (f"#b = {BLOCKED}\ntensor<64x32xf32, #b>",),
    ("tensor<128x64xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp"
     " = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>",), (BLOCKED, (1 << 17, 1)), (BLOCKED, (0,
     16)), (BLOCKED, [32, 16]),
    (BLOCKED, "32"), (BLOCKED, (512, 512)), (BLOCKED, (1024, 512)), (BLOCKED, (32, 16, 2)), (BLOCKED, (32,)), (3,
    (32,)),
    ("gl.BlockedLayout([4], [32], [4], [0])", (512,)), ("gl.BlockedLayout([4], [32], [4], [0])", (256,)),
    ("gl.BlockedLayout([1, 2, 2], [2, 4, 4], [2, 2, 1], [2, 1, 0])", (4, 16, 8)),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0], [[1, 0]])", (64, 16)),
    ("gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])",
    (32, 16)), ("gl.BlockedLayout([1, 4], [8, 2], [4, 1], [1, 0])", (32, 16)),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 1])",
    (32, 16)), ("gl.BlockedLayout([1, 3], [8, 4], [4, 1], [1, 0])", (32, 16)),
    (MMA, (32, 32)), (MMA, (64,)), (MMA, (2, 32, 32)), (MMA.replace("[2, 0]", "[3, 0]"),
    (64, 64)), (MMA.replace("[2, 0]", "[1, 0]"), (32, 32)),
    (MMA.replace("[2, 0]", "[3, 0]").replace("[2, 2]", "[4, 1]").replace("[16, 8]", "[16, 64, 16]"), (128, 128)),
    (MMA.replace("[16, 8]", "[16, 12]"), (32, 32)), (MMA.replace("[16, 8]", "[257, 8]"),
    (32, 32)), (MMA.replace("[16, 8]", "[16]"), (32, 32)),
    *((f"gl.DotOperandLayout(operand_index={op}, parent={MMA}, k_width={width})", (32, 64), 16) for op,
    width in product((0, 1, 2), (1, 2, 4, 33))),
    (f"gl.DotOperandLayout(operand_index=0, parent={MMA.replace('[2, 0]', '[3, 0]')}, k_width=2)", (64, 64), 16),
    (f"gl.DotOperandLayout(operand_index=1, parent={MMA.replace('[2, 0]', '[3, 0]')}, k_width=2)", (64, 64), 16),
    (f"gl.DotOperandLayout(operand_index=0, parent={BLOCKED}, k_width=0)", (32, 8), 16),
    (f"gl.DotOperandLayout(operand_index=1, parent={BLOCKED}, k_width=0)", (8, 32), 16),
    (f"gl.DotOperandLayout(operand_index=0, parent=gl.SliceLayout(0, {BLOCKED}), k_width=2)", (32, 16), 16),
    (f"gl.SliceLayout(0, {BLOCKED})", (16,)), (f"gl.SliceLayout(1, {BLOCKED})",
    (32,)), (f"gl.SliceLayout(2, {BLOCKED})", (32,)),
    ("gl.SliceLayout(0, gl.SliceLayout(0, gl.BlockedLayout([1, 2, 2], [2, 4, 4], [2, 2, 1], [2, 1, 0])))", (8,)),
    ("gl.SliceLayout(0, gl.NVMMASharedLayout(128, 16))", (64,)), ("gl.SliceLayout(0, parent)", (64,)),
    ("gl.DistributedLinearLayout([[0, 1], [0, 2]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [], [], [32, 4])",
    (32, 4)),
    ("gl.DistributedLinearLayout([[0, 1], [0, 3]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [], [], [32, 4])",
    (32, 4)),
    ("gl.DistributedLinearLayout([[0, 1], [0, 0]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [], [], [32, 2])",
    (32, 2)),
    ("gl.DistributedLinearLayout([[0, 1]], [[1, 0], [2, 0], [4, 0], [8, 0]], [], [], [16, 2])", (16, 2)),
    ("gl.DistributedLinearLayout([[0, 1]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], [], [], [64, 2])",
    (64, 2)),
    ("#ttg.linear<{register = [[0, 1], [1, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]],"
     " warp = [], block = []}>",
     (32, 4)),
    *((f"gl.SwizzledSharedLayout(vec={vec}, per_phase={per}, max_phase={phases}, order={order})", shape, 16)
      for vec, per, phases, order, shape in ((8, 1, 8, [1, 0], (64, 64)), (4, 2, 4, [0, 1], (32, 16)),
      (1, 1, 1, [1, 0], (8, 8)),
       (8, 1, 8, [1, 0], (2, 16, 64)), (8, 1, 8, [2, 1, 0], (2, 16, 64)), (8, 1, 1, [0], (64,)), (3, 1, 8, [1, 0],
       (64, 64)))),
    *((f"gl.NVMMASharedLayout(swizzle_byte_width={width}, element_bitwidth={bits}, rank={len(shape)},"
       f" transposed={turned})",
       shape)
      for width, bits, turned, shape in ((128, 16, False, (64, 64)), (64, 16, True, (64, 64)),
      (32, 8, False, (32, 64)), (0, 16, False, (64, 64)),
       (0, 16, True, (64, 64)), (128, 16, False, (4, 64)), (128, 16, False, (64, 32)), (16, 16, False, (64, 64)), (128,
       32, False, (16, 512)),
       (128, 16, False, (2, 8, 64)), (0, 16, True, (2, 8, 64)), (128, 16, True, (64, 8, 8)))),
    ("gl.NVMMASharedLayout(128, 16, rank=2)", (3, 64, 64)), ("gl.NVMMASharedLayout(128, 8, rank=2, fp4_padded=True)",
    (64, 64)),
    ("gl.NVMMASharedLayout(64, 8, rank=2, fp4_padded=True)", (64, 64)), ("gl.NVMMASharedLayout(128, 16, rank=1)",
    (64,)),
    ("#ttg.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>", (64, 64)),
    ("#ttg.shared<{vec = 8, perPhase = 2, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>", (64, 64)),
    ("gl.PaddedSharedLayout.with_identity_for([[64, 8]], [64, 64], [1, 0])", (64, 64), 16),
    ("gl.PaddedSharedLayout.with_identity_for([[16, 4], [64, 8]], [32, 32], [0, 1])", (32, 32), 16),
    ("gl.PaddedSharedLayout.with_identity_for([[24, 8]], [64, 64], [1, 0])", (64, 64), 16),
    ("gl.SharedLinearLayout([[0, 1], [0, 2], [1, 0], [2, 2]])",
    (4, 4)), ("gl.SharedLinearLayout([[0, 1], [0, 2], [1, 0]], [[2, 0]])", (4, 4)),
    ("gl.SharedLinearLayout([[0, 1], [0, 3], [0, 2]])", (1, 4)), ("gl.SharedLinearLayout([[0, 1], [1, 1]])", (2, 4)),
    *((f"#ttng.tensor_memory_encoding<blockM = {rows}, blockN = {cols}, colStride = {stride}{more}>", shape, bits)
      for rows, cols, stride, more, shape, bits in ((128, 64, 1, "", (128, 64), 32), (64, 64, 1, "", (64, 64), 32),
      (64, 32, 1, "", (128, 32), 32),
       (64, 32, 1, "", (64, 64), 32), (128, 64, 2, "", (128, 64), 16), (128, 64, 2, "", (128, 64), 32), (128, 64, 3,
       "", (128, 64), 8), (96, 64, 1, "", (128, 64), 32),
       (128, 64, 1, ", twoCTAs = true", (256, 64), 32), (128, 64, 1, ", CTASplitM = 2, twoCTAs = true", (256, 64),
       32), (128, 32, 1, "", (2, 128, 64), 32),
       (128, 64, 1, "", (64, 64), 32), (128, 128, 1, "", (128, 64), 32), (128, 64, 1, "", (64,), 32), (128, 64, 4, "",
       (128, 64), 8), (128, 64, 1, "", (256, 128), None))),
    *((SCALES, shape) for shape in ((128, 4), (128, 8), (64, 4), (32, 4), (256, 16), (16, 2), (128, 4, 2), (4,))),
)  # fmt: skip


def of_gluon() -> Iterator[Call]:
    for given in TEXTS:
        words = f"{given}".replace("\n", " ")[-110:]
        yield call(words, asked, *given)
    for kind, params, shape in (
        ("blocked", {}, (32, 16)), ("other", {}, (32, 16)), ("blocked", {}, ()), ("blocked", {}, (1,) * 9), ("blocked",
        {}, (3, 4)),
        ("nvmma_shared", {"swizzlingByteWidth": 128, "elementBitWidth": 3}, (64, 64)), ("slice",
        {"dim": 0, "parent": 7}, (4,)),
        ("slice", {"dim": 0, "parent": {"attribute": "nvmma_shared", "params": {}}}, (4,)), ("padded_shared",
        {"intervals": [[64]]}, (64,)),
        ("padded_shared", {"intervals": [[64, 0]]}, (64,)), ("padded_shared", {"intervals": [], "offset": [[1], [2]]},
        (4,)),
        ("padded_shared", {"intervals": 3}, (4,)), ("swizzled_shared",
        {"vec": 1, "perPhase": 0, "maxPhase": 1, "order": [0]}, (4,)),
        ("shared_linear", {"offset": [[1]] * 25}, (2,)), ("shared_linear", {"offset": [[1], [1 << 16]]},
        (2,)), ("shared_linear", {"offset": [[1, 0]]}, (2,)),
        ("shared_linear", {"offset": [[1]], "block": [[2]]}, (4,)), ("nvidia_mma",
        {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": [0, 8]}, (32, 32)),
        ("nvidia_mma", {"versionMajor": 2, "warpsPerCTA": [2, 2]}, (32, 32)), ("nvidia_mma",
        {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": 3}, (32, 32)),
        ("nvidia_mma", {"versionMajor": 10, "warpsPerCTA": [2, 2]}, (32, 32)), ("nvidia_mma",
        {"versionMajor": True, "warpsPerCTA": [2, 2]}, (32, 32)),
        ("blocked",
        {"sizePerThread": [1, 4], "threadsPerWarp": [8, 4], "warpsPerCTA": [4, 1], "order": [1, 0],
        "CTAsPerCGA": [2, 2], "CTASplitNum": [2, 1]}, (64, 32)),
        ("blocked",
        {"sizePerThread": [1, 4], "threadsPerWarp": [8, 4], "warpsPerCTA": [4, 1], "order": [1, 0],
        "CTAsPerCGA": [2, 2], "CTASplitNum": [4, 1]}, (64, 32)),
        ("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "unpacked": True},
        (128, 64)), ("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "unpacked": False}, (128, 64)),
        ("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "colStride": 1, "fp4Padded": True}, (128, 64)),
        ("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "colStride": 2, "fp4Padded": True}, (128, 64)),
        ("tensor_memory_encoding", {"blockM": 128, "blockN": 64, "colStride": 1, "ctaMode": "TWO"}, (128, 64)),
        ("tensor_memory_encoding", {"blockM": 64, "blockN": 1, "colStride": 1, "twoCTAs": True, "CGALayout": [[1, 0]]},
        (128, 1)),
        ("tensor_memory_encoding",
        {"blockM": 64, "blockN": 32, "colStride": 1, "twoCTAs": True, "CGALayout": [[1, 0]]}, (128, 32)),
        ("tensor_memory_scales_encoding", {"blockRepOrder": "kThenMn"}, (256, 16)), ("tensor_memory_scales_encoding",
        {"blockRepOrder": "x"}, (256, 16)),
    ):  # fmt: skip
        for bits in (16, 8):
            yield call(f"{kind} {params} {shape} {bits}", triton.linear, kind, params, shape, bits)


def asked(*given: Any) -> list[Any]:
    made = triton_layout(*given)
    ends = [tuple(n - 1 for n in made.shape), tuple(n // 3 for n in made.shape), (0,) * len(made.shape)]
    held = [made.owner(*at) for at in ends]
    asked_of_threads = [fed(made.linear, bits)[:6] for bits in (None, 16)] if made.of_threads else made._repr_svg_()
    small = made._repr_svg_() if made.of_threads and made.threads * made.registers <= 4096 else ""
    return [made, held, asked_of_threads, small, made.linear.bases]
