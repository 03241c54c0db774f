"""Tensor memory of tcgen05."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.tmem import epilogue, facts, find, placement
from lanescope.app.tmem.epilogue import EpilogueQuestion
from lanescope.app.tmem.facts import AccessQuestion, LayoutQuestion
from lanescope.app.tmem.placement import PlacementQuestion
from lanescope.blackwell.epilogue import ROWS

FOUR_WARPS = {"access": "tcgen05.ld.sync.aligned.32x32b.x32.b32", "at": "64:32", "warp": "2"}
PLACEMENT = Tool(
    question=PlacementQuestion,
    answer=placement.place_operands,
    page="/tmem",
    template="tmem/page.html",
    context=find.build_placement_context,
    picture=find.draw_placement,
    opening=FOUR_WARPS,
    pointing=("find", "pin", "pin2"),
    examples=(
        ("f16, 128 × 256, D read by four warps", FOUR_WARPS),
        (
            "A from tensor memory, 64 rows",
            {"m": "64", "n": "128", "a_at": "128", "access": "tcgen05.st.16x128b.x4", "at": "0:128", "warp": "0"},
        ),
        (
            "A pair of CTAs, M = 256",
            {"cta_group": "2", "m": "256", "access": "tcgen05.ld.16x256b.x8", "at": "16:0", "warp": "0"},
        ),
        (
            "mxf4nvf4 with scale factors",
            {
                "kind": "mxf4nvf4",
                "n": "256",
                "scale_vec": "4X",
                "scale_a_at": "256",
                "scale_b_at": "260",
                "access": "tcgen05.cp.cta_group::1.32x128b.warpx4",
                "at": "0:256",
                "warp": "0",
            },
        ),
        ("Sparse f16 with metadata", {"sparse": "1", "n": "256", "metadata_at": "256"}),
        ("Two accumulators in 512 columns", {"n": "256", "more": "m=128 n=256 d=256"}),
    ),
)
EPILOGUE = Tool(
    question=EpilogueQuestion,
    answer=epilogue.answer_epilogue,
    name="out",
    api="tmem/epilogue",
    page="/tmem/epilogue",
    template="tmem/epilogue.html",
    context=epilogue.build_epilogue_context,
    command="tmem epilogue",
    help="D from tensor memory to shared or global memory: what each thread holds, what storing it costs, and the"
    " code.",
    lines=epilogue.format_epilogue,
    examples=(
        ("16x256b → stmatrix", {}),
        ("32x32b → rows of global memory", {"access": "tcgen05.ld.32x32b.x32"}),
        ("f16 D, packed → stmatrix", {"d": "f16", "element": "f16", "access": "tcgen05.ld.16x128b.x8.pack::16b"}),
        ("M = 64", {"m": "64", "n": "128"}),
        ("A pair, M = 128", {"cta_group": "2", "n": "128"}),
        ("Whole rows in shared memory", {"stored": ROWS, "n": "64"}),
    ),
)
LAYOUT = Tool(question=LayoutQuestion, answer=facts.layout, api="tmem/layout")
ACCESS = Tool(question=AccessQuestion, answer=facts.access, api="tmem/access")

FEATURE = Feature(
    tools=(PLACEMENT, EPILOGUE, LAYOUT, ACCESS),
    menu=(
        Entry(
            "Shared memory",
            5,
            "Tensor memory",
            "/tmem",
            "what is in which lane and column, and which warp may read it",
            badge="sm_100",
        ),
        Entry(
            "Shared memory",
            6,
            "Epilogue",
            "/tmem/epilogue",
            "D from tensor memory to stmatrix or to rows of global memory",
            below="/tmem",
        ),
    ),
    examples={
        "/api/v1/tmem/epilogue": "/api/v1/tmem/epilogue?m=64&n=128&access=tcgen05.ld.16x256b.x4",
        "/api/v1/tmem/layout": "/api/v1/tmem/layout?operand=a&kind=f16&m=64&n=64",
        "/api/v1/tmem/access": "/api/v1/tmem/access?access=tcgen05.cp.cta_group::1.32x128b.warpx4",
    },
)
