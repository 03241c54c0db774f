"""Examples of the page /layouts/triton."""

from __future__ import annotations

MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 2], instrShape = [16, 16, 16], isTransposed = true}>"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
PRESETS = (  # title, text, shape, bits
    ("blocked", BLOCKED, "32x32", "16"),
    ("nvidia_mma, mma.sync", MMA, "32x32", "32"),
    ("dot_op, A of mma.sync", f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", "32x32", "16"),
    (
        "nvidia_mma, wgmma",
        "gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 32, 16])",
        "64x32",
        "32",
    ),
    ("amd_mfma", MFMA, "32x32", "32"),
    ("slice", f"#ttg.slice<{{dim = 1, parent = {MMA}}}>", "64", "32"),
    (
        "linear",
        "#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],"
        " warp = [[16, 0], [0, 8]], block = []}>",
        "32x16",
        "16",
    ),
    ("swizzled_shared", "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>", "16x32", "16"),
    (
        "nvmma_shared",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
        "16x32",
        "16",
    ),
    ("tensor memory", "#ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>", "128x32", "32"),
    ("padded_shared", "#ttg.padded_shared<[32:+8] {order = [1, 0], shape = [16, 32]}>", "16x32", "16"),
    ("convert_layout", BLOCKED, "32x32", "16"),
)
