"""Sparsity metadata."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.metadata import order
from lanescope.app.metadata.facts import Metadata, MetadataQuestion, build_metadata
from lanescope.app.metadata.order import OrderQuestion


def answer_metadata(question: MetadataQuestion) -> Metadata:
    """Return a stored A under metadata words: [thread][value] → dense column, and lane and bit of its index in e."""
    return build_metadata(question.ptx, question.words, question.selector)


ORDER = Tool(
    question=OrderQuestion,
    answer=order.find_index,
    api="metadata-order",
    page="/metadata/order",
    template="metadata/order.html",
    context=order.build_order_context,
    command="metadata order",
    help="Sparsity metadata in the order that CUTLASS's compressors write: the word and bits of one group.",
    lines=order.print_index,
    name="order_api",
)
METADATA = Tool(
    question=MetadataQuestion, answer=answer_metadata, api="instructions/{ptx}/metadata", name="metadata_api"
)

FEATURE = Feature(
    tools=(ORDER, METADATA),
    written=("page",),
    menu=(
        Entry(
            "Instructions",
            3,
            "Sparse metadata order",
            "/metadata/order",
            "sparsity metadata as CUTLASS’s compressors write them",
            below="/instructions",
        ),
    ),
    examples={
        "/api/v1/instructions/{ptx}/metadata": (
            "/api/v1/instructions/mma.sp.m16n8k32.row.col.f32.f16.f16.f32/metadata?words=0x44444444"
        ),
        "/api/v1/metadata-order": "/api/v1/metadata-order?opcode=wgmma.sp&element=f16&tile_k=64",
    },
)
