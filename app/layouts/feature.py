"""Thread-value layouts, Triton's layouts, and CuTe's algebra."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"

FEATURE = Feature(
    written=("api", "page"),
    menu=(
        Entry("Tiles", 5, "Thread-value layout", "/layouts/tv", "any CuTe TV layout over a tile, and what it feeds"),
        Entry("Tiles", 6, "CuTe algebra", "/cute", "composition, complement, divides and products, step by step"),
        Entry(
            "Tiles", 7, "Triton layout", "/layouts/triton", "bases, threads and registers, CuTe's words for the same"
        ),
    ),
    examples={
        "/api/v1/cute": "/api/v1/cute?expression=logical_divide((4,2,3):(2,1,8),4:2)",
        "/layouts/triton.{form}": "/layouts/triton.svg?text=gl.BlockedLayout([1,4],[8,4],[4,1],[1,0])&shape=32x16",
        "/layouts/tv.{form}": "/layouts/tv.svg?cute=((4,8),(2,2)):((32,1),(16,8))&tile=16x8",
        "/cute.{form}": "/cute.svg?expression=zipped_divide((8,16):(16,1),(4,8))",
    },
    bodies={
        "/api/v1/layouts/triton": {
            "text": BLOCKED,
            "shape": [32, 16],
            "element_bits": 16,
        },
        "/api/v1/layouts/triton/convert": {
            "text": BLOCKED,
            "to": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
            "shape": [32, 32],
        },
        "/api/v1/layouts/triton/feeds": {
            "text": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
            "shape": [32, 32],
            "element_bits": 32,
        },
        "/api/v1/layouts/tv": {"cute": "((4,8),(2,2,2)):((32,1),(16,8,128))", "tile": [16, 16]},
    },
)
