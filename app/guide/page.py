"""/guide, its pages and worked examples, and /help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope import find
from lanescope.app.catalogue import topics
from lanescope.app.guide import benchmarks
from lanescope.app.guide.examples import BY_SLUG, EXAMPLES, INSTRUCTION, TRANSPOSE, build_side, format_storage
from lanescope.app.guide.index import GROUPS, ORDER, read_title
from lanescope.app.guide.rendering import (
    insert_ptx_form,
    list_sections,
    list_slugs,
    parse_headings,
    render_blocks,
    render_guide_page,
    render_thumbnail,
)
from lanescope.app.guide.words import GLOSSARY, KEYS
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.page import render_page
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

WORKED = "Worked examples"
WHY = "Why K-major needs no transpose"
router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/guide")
def index_page(request: Request) -> Response:
    """What there is to read."""
    groups = [
        (name, [(topics.BY_PAGE[f"/guide/{entry.slug}"], render_thumbnail(entry.slug)) for entry in entries])
        for name, entries in GROUPS
    ]
    worked = [
        (each, build_side("B", Tile(16, each.b[0], get_mode(each.b[1]), 32, 16, "mn"))["svg"]) for each in EXAMPLES
    ]
    context = {"worked": worked, "groups": groups, "benchmarks": benchmarks, "bars": benchmarks.draw_thumbnail()}
    return render_page(request, "guide/index.html", context)


def build_contents(slug: str, inside: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The rail of a page: every page of the guide by group, and the sections of the one that is open."""
    groups = [(name, [(entry.slug, read_title(entry.slug)) for entry in entries]) for name, entries in GROUPS]
    groups.append((WORKED, [*((each.slug, each.title) for each in EXAMPLES), (TRANSPOSE, WHY)]))
    groups.append((benchmarks.GROUP, [(benchmarks.SLUG, benchmarks.TITLE)]))
    return {"contents": groups, "here": slug, "inside": inside}


@router.get(f"/guide/{TRANSPOSE}")
def transpose_page(request: Request) -> Response:
    """Why K-major operands take transpose 0."""
    pictures = []
    for letter, major in (("B", "K"), ("B", "MN")):
        tile = Tile(16, major, get_mode("none"), 32, 16, "mn")
        pictures.append(build_side(letter, tile))
    return render_page(request, "guide/transpose.html", {"sides": pictures, **build_contents(TRANSPOSE)})


@router.get(f"/guide/{benchmarks.SLUG}")
def benchmarks_page(request: Request) -> Response:
    """docs/benchmarks.md, each table with its charts above it."""
    text = benchmarks.read_benchmarks()
    found, made = iter(benchmarks.parse_tables(text)), render_blocks(text)
    parts = []
    for block in made:
        charts = benchmarks.build_charts(next(found)) if "<table>" in block else []
        if charts:
            parts.append(("", [_describe_chart(chart) for chart in charts]))
        parts.append((block, []))
    inside = parse_headings("\n".join(made))
    context = {"parts": parts, "lead": benchmarks.LEAD, **build_contents(benchmarks.SLUG, inside)}
    return render_page(request, "guide/benchmarks.html", context)


def _describe_chart(chart: dict[str, Any]) -> dict[str, Any]:
    """What the page says of a chart."""
    told = {"title": chart["title"], "rows": len(chart["names"]), "log": chart["log"], "marked": bool(chart["marks"])}
    return told | {"data": encode_json(chart).decode()}


@router.get("/guide/{slug}")
def example_page(request: Request, slug: str) -> Response:
    """One worked m64n32k16 example."""
    if slug in ORDER:
        at = ORDER.index(slug)
        near = {"before": ORDER[at - 1] if at else None, "after": ORDER[at + 1] if at + 1 < len(ORDER) else None}
        context = {
            "slug": slug,
            "title": read_title(slug),
            "body": insert_ptx_form(render_guide_page(slug), request.query_params.get("ptx", "")),
            "near": near,
            "title_of": read_title,
            "lead": topics.BY_PAGE[f"/guide/{slug}"].summary,
            **build_contents(slug, list_sections(slug)),
        }
        return render_page(request, "guide/page.html", context)
    found = BY_SLUG.get(slug)
    if found is None:
        raise LayoutError(
            "not_found", f"No guide page '{slug[:60]}'.", "There are " + ", ".join(list_slugs()) + ".", "slug"
        )
    sides = []
    if found.a:
        sides.append(build_side("A", Tile(16, found.a[0], get_mode(found.a[1]), 64, 16, order="mn", base=0x1000)))
    sides.append(build_side("B", Tile(16, found.b[0], get_mode(found.b[1]), 32, 16, order="mn", base=0x2000)))
    instruction = find(INSTRUCTION)
    context = {
        "example": found,
        "sides": sides,
        "instruction": instruction,
        "a": instruction.operand("a"),
        "others": EXAMPLES,
        "program": programs.link_program(
            instruction, {letter: format_storage(given) for letter, given in (("a", found.a), ("b", found.b))}
        ),
        **build_contents(slug),
    }
    return render_page(request, "guide/example.html", context)


@router.get("/help")
def help_page(request: Request) -> Response:
    """Keys and words."""
    return render_page(request, "kit/help.html", {"keys": KEYS, "glossary": GLOSSARY})
