"""Sparsity metadata."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.question import declare_question, number_field, parsed_field, text_field
from lanescope.app.metadata import order
from lanescope.app.metadata.facts import Metadata, build_metadata
from lanescope.app.metadata.order import OrderQuestion
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction


@declare_question
class MetadataQuestion:
    """A sparse instruction, and the metadata of its lanes."""

    ptx: Instruction = parsed_field(
        lambda value, field: lookup.find(value),
        "Instruction",
        "An instruction as PTX spells it, with or without `.sync.aligned`.",
        examples=("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",),
    )
    words: str = text_field(
        "",
        "e of every lane, or one word for all (hex)",
        "Hex words: one per thread, or one for all; 0x44444444 where it is empty.",
        examples=("0x44444444",),
    )
    selector: int = number_field(0, "Selector", "Which lanes supply the metadata.")


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
