"""Triton's tl.dot: the instruction, the layout of D, the condition that decides it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.maps import figure
from lanescope.app.kit.sheets import point_at_sheets
from lanescope.app.layouts.triton import build_staged_bench
from lanescope.app.triton_dot.facts import TritonDotFacts, TritonDotQuestion, build_triton_dot
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.triton.gluon import triton_layout

DRAWN = 64  # rows and columns of D that are drawn


def build_query(answer: TritonDotFacts) -> dict[str, str]:
    """Return the query of /layouts/triton for D's layout."""
    sizes = "x".join(map(str, answer.shape))
    return {"text": answer.layout, "shape": sizes, "element_bits": str(answer.element_bits)}


def build_dot_context(question: TritonDotQuestion, answer: TritonDotFacts) -> dict[str, Any]:
    """Return further template variables of the page."""
    known = catalog.find_instruction(answer.ptx)
    return {
        "instruction": link_instruction(known) if known else "",
        "layouts": f"/layouts/triton?{urlencode(build_query(answer))}",
        "caption": _caption_window(_find_window(answer)) if _is_drawn(answer) else "",
    }


def draw_dot(question: TritonDotQuestion, answer: TritonDotFacts) -> str:
    """Draw D as its layout distributes it; of a large D the first rows and columns, "" if it is too large."""
    if not _is_drawn(answer):
        return ""
    window = _find_window(answer)
    view = f"r:0-{window.rows},c:0-{window.cols}" if window.cut else ""
    bench, look = build_staged_bench({**build_query(answer), **({"view": view} if view else {})})
    return point_at_sheets(figure.draw_bench(bench, look, None), figure.list_sheets(bench, look), "thread")


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """The part of D's picture that is drawn: rows and columns of D, or lanes and columns of tensor memory."""

    rows: int
    cols: int
    cut: bool
    of_memory: bool


def _is_drawn(answer: TritonDotFacts) -> bool:
    try:
        triton_layout(answer.layout, list(answer.shape), answer.element_bits)
    except LayoutError:  # Triton's layouts are legal; only their size can be refused
        return False
    return True


def _find_window(answer: TritonDotFacts) -> DrawnWindow:
    bench, _ = build_staged_bench(build_query(answer))
    sizes = bench.maps[0].rows, bench.maps[0].cols
    rows, cols = (min(size, DRAWN) for size in sizes)
    return DrawnWindow(rows, cols, (rows, cols) != sizes, "tensor_memory" in answer.layout)


def _caption_window(window: DrawnWindow) -> str:
    what = "lanes and columns of tensor memory" if window.of_memory else "rows and columns of D"
    return (
        f"The first {window.rows} × {window.cols} {what}."
        if window.cut
        else f"All {what}: {window.rows} × {window.cols}."
    )


def format_dot(question: TritonDotQuestion, answer: TritonDotFacts) -> Iterator[str]:
    """Yield the lines of the command."""
    times = f"{answer.products} × " if answer.products > 1 else ""
    yield f"{times}{answer.instruction}: {answer.reason}"
    yield f"  {answer.ptx}"
    rows, cols = answer.shape
    yield f"  D {rows}×{cols}{', transposed' if answer.transposed else ''}: {answer.layout}"
    if answer.layout_before:
        yield f"    sums before the last product: {answer.layout_before}"
    for name, operand in (("A", answer.a), ("B", answer.b)):
        yield f"  {name}: {operand.type} in {operand.place}{f', {operand.layout}' if operand.layout else ''}"
    yield from (f"  {note}" for note in answer.notes)
    yield f"Triton {answer.triton}. {answer.scope}"


TRITON_DOT = Tool(
    question=TritonDotQuestion,
    answer=build_triton_dot,
    api="triton-dot",
    page="/triton-dot",
    template="triton_dot/page.html",
    context=build_dot_context,
    picture=draw_dot,
    command="triton-dot",
    lines=format_dot,
    examples=(
        ("fp16, sm_90a", {}),
        ("M = 32: no wgmma", {"m": "32"}),
        ("Two warps", {"num_warps": "2"}),
        ("FP8, exact sums", {"a": "fp8e4nv", "b": "fp8e4nv", "imprecise": "0"}),
        ("fp32, ieee", {"a": "fp32", "b": "fp32", "precision": "ieee"}),
        ("fp32, 3×TF32", {"a": "fp32", "b": "fp32", "precision": "tf32x3", "m": "64", "num_warps": "8"}),
        ("tcgen05, cluster of 2", {"target": "sm_100a", "m": "256", "num_ctas": "2"}),
        ("MXFP8, sm_120a", {"target": "sm_120a", "a": "fp8e4nv", "b": "fp8e5", "scales": "ab", "k": "128"}),
        ("FP4 × FP8, sm_120a", {"target": "sm_120a", "a": "e2m1", "b": "fp8e4nv", "scales": "ab", "k": "128"}),
    ),
)
FEATURE = Feature(
    tools=(TRITON_DOT,),
    menu=(
        Entry(
            "Tiles",
            8,
            "Triton's choice",
            "/triton-dot",
            "wgmma, mma, FMA or tcgen05 for a tl.dot, the layout of D, and why",
        ),
    ),
    examples={"/api/v1/triton-dot": "/api/v1/triton-dot?m=32&target=sm_90a"},
)
