"""Thread-value layouts, Triton's layouts, and CuTe's algebra."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.layouts import cute, facts
from lanescope.app.layouts.facts import CuteQuestion

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"

CUTE = Tool(
    question=CuteQuestion,
    answer=facts.build_cute,
    api="cute",
    command="cute",
    lines=facts.format_cute,
    name="cute_api",
)
CUTE_PAGE = Tool(
    question=CuteQuestion,
    answer=facts.evaluate_expression,  # a step that CuTe refuses is drawn, too
    page=cute.PATH,
    template="layouts/cute.html",
    context=cute.show_steps,
    examples=(
        ("composition", {"expression": "composition((6,2):(8,2), (4,3):(3,1))"}),
        ("complement", {"expression": "complement((2,2):(1,6), 24)"}),
        ("logical_divide", {"expression": "A = (4,2,3):(2,1,8)\nlogical_divide(A, 4:2)"}),
        ("zipped_divide", {"expression": "A = (8,16):(16,1)\nT = zipped_divide(A, (4,8))\nT(_,(1,0))"}),
        ("blocked_product", {"expression": "blocked_product((2,5):(5,1), (3,4):(1,3))"}),
        ("raked_product", {"expression": "raked_product((2,5):(5,1), (3,4):(1,3))"}),
        ("right_inverse", {"expression": "right_inverse((4,8):(8,1))"}),
        ("coalesce", {"expression": "coalesce((2,(1,6)):(1,(6,2)))"}),
        ("slice", {"expression": "A = ((4,8),(2,2)):((32,1),(16,8))\nA((_,3),(_,1))"}),
        ("swizzle", {"expression": "A = Sw<3,3,3> o (8,64):(64,1)\nzipped_divide(A, (8,8))"}),
        ("not admissible", {"expression": "composition((4,6):(1,8), 6:3)"}),
    ),
)
FEATURE = Feature(
    tools=(CUTE, CUTE_PAGE),
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
