"""D of one instruction as A of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanescope.app.kit import links
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.reuse.draw import draw_reuse
from lanescope.app.reuse.facts import Reuse, ReuseQuestion, find_reuse

EXAMPLES = (
    (
        "wgmma fp8, N = 128",
        "wgmma.mma_async.m64n128k32.f32.e4m3.e4m3",
        "wgmma.mma_async.m64n128k32.f32.e4m3.e4m3",
    ),
    (
        "f32 to packed e2m1",
        "mma.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    ),
    ("fp8 to fp8", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ("wgmma f16", "wgmma.mma_async.m64n64k16.f32.f16.f16", "wgmma.mma_async.m64n64k16.f32.f16.f16"),
    ("int8", "mma.m16n8k16.row.col.s32.s8.s8.s32", "mma.m16n8k32.row.col.s32.s8.s8.s32"),
    ("tf32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32"),
)


def build_reuse_context(question: ReuseQuestion, answer: Reuse) -> dict[str, Any]:
    """Return the template's variables."""
    first, second = question.from_, question.to
    sizes = [(op.row_count, op.col_count) for op in (first.operand("d"), second.operand("a"))]
    compare_link = links.link_compare(f"{first.ptx}/d", f"{second.ptx}/a") if sizes[0] == sizes[1] else ""
    return {"first": first, "second": second, "compared": compare_link}


def format_reuse(question: ReuseQuestion, answer: Reuse) -> Iterator[str]:
    """Yield the lines of the command."""
    yield answer.headline
    yield f"  {answer.advice}"
    if answer.order_text:
        yield f"  Order of K: {answer.order_text}."
    yield f"  Conversion: {answer.conversion}."
    yield answer.code


REUSE = Tool(
    question=ReuseQuestion,
    answer=find_reuse,
    api="reuse",
    page="/reuse",
    template="reuse/page.html",
    context=build_reuse_context,
    picture=lambda question, answer: draw_reuse(question.to, answer),
    command="reuse",
    lines=format_reuse,
    succeeds=lambda answer: answer.verdict != "shuffle",
    examples=tuple((title, {"from": first, "to": second}) for title, first, second in EXAMPLES),
    name="reuse_api",
)
FEATURE = Feature(
    tools=(REUSE,),
    menu=(Entry("Instructions", 5, "D as the next A", "/reuse", "which values have to move between lanes"),),
    examples={
        "/api/v1/reuse": (
            "/api/v1/reuse?from=mma.m16n8k16.row.col.f32.f16.f16.f32&to=mma.m16n8k16.row.col.f32.f16.f16.f32"
        ),
    },
)
