"""D of one instruction as A of another."""

from __future__ import annotations

from typing import Any

from lanescope.app.kit import links
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.reuse.draw import draw_reuse
from lanescope.app.reuse.facts import Reuse, ReuseQuestion, find_reuse


def show_reuse(question: ReuseQuestion, answer: Reuse) -> dict[str, Any]:
    """Return the template's variables."""
    first, second = question.from_, question.to
    sizes = [(op.row_count, op.col_count) for op in (first.operand("d"), second.operand("a"))]
    compare_link = links.link_compare(f"{first.ptx}/d", f"{second.ptx}/a") if sizes[0] == sizes[1] else ""
    return {"first": first, "second": second, "compared": compare_link}


REUSE = Tool(
    question=ReuseQuestion,
    answer=find_reuse,
    api="reuse",
    page="/reuse",
    template="reuse/page.html",
    context=show_reuse,
    picture=lambda question, answer: draw_reuse(question.to, answer),
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
