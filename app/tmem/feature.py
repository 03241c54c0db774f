"""Tensor memory of tcgen05."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.tmem import epilogue, facts
from lanescope.app.tmem.epilogue import EpilogueQuestion
from lanescope.app.tmem.facts import AccessQuestion, LayoutQuestion
from lanescope.blackwell.epilogue import ROWS

EPILOGUE = Tool(
    question=EpilogueQuestion,
    answer=epilogue.out,
    api="tmem/epilogue",
    page="/tmem/epilogue",
    template="tmem/epilogue.html",
    context=epilogue.show_epilogue,
    command="tmem epilogue",
    help="D from tensor memory to shared or global memory: what each thread holds, what storing it costs, and the"
    " code.",
    lines=epilogue.print_epilogue,
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
    tools=(EPILOGUE, LAYOUT, ACCESS),
    written=("page",),
    menu=(
        Entry(
            "Blackwell", 1, "Tensor memory", "/tmem", "what lies in which lane and column, and which warp may read it"
        ),
        Entry(
            "Blackwell", 2, "Epilogue", "/tmem/epilogue", "D from tensor memory to stmatrix or to rows of global memory"
        ),
    ),
    examples={
        "/api/v1/tmem/epilogue": "/api/v1/tmem/epilogue?m=64&n=128&access=tcgen05.ld.16x256b.x4",
        "/api/v1/tmem/layout": "/api/v1/tmem/layout?operand=a&kind=f16&m=64&n=64",
        "/api/v1/tmem/access": "/api/v1/tmem/access?access=tcgen05.cp.cta_group::1.32x128b.warpx4",
    },
)
