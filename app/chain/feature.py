"""ldmatrix and stmatrix between a storage and an operand."""

from __future__ import annotations

from lanescope.app.chain import facts
from lanescope.app.chain.facts import LoadChainBody
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.tiles import main_loop_facts
from lanescope.app.tiles.questions import LoopBody

CHAIN = Tool(
    question=LoadChainBody,
    answer=facts.answer_chain,
    api="chain",
    body="ChainBody",
    instead={"tiled_mma": Tool(question=LoopBody, answer=main_loop_facts.build_loop, raw=True)},
    raw=True,
    name="chain_api",
)
FEATURE = Feature(
    tools=(CHAIN,),
    written=("page",),
    menu=(
        Entry(
            "Shared memory",
            4,
            "ldmatrix chain",
            "/chain",
            "from a stored tile to the operand's registers, and its bank conflicts",
        ),
    ),
    bodies={
        "/api/v1/chain": {
            "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 144},
            "load": "ldmatrix.m8n8.x4.shared.b16",
            "mma": "mma.m16n8k16.row.col.f32.f16.f16.f32",
            "operand": "a",
        },
    },
)
