"""/guide, its pages and worked examples, and /help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope import find
from lanescope.app.catalogue import topics
from lanescope.app.guide import benchmarks, examples, integrations, pipeline_figure, row_figure
from lanescope.app.guide.examples import EXAMPLES, INSTRUCTION, WorkedExample, build_side, format_storage
from lanescope.app.guide.index import GROUPS, MOVED, ORDER, read_title
from lanescope.app.guide.page_markdown import render_llms, render_page_markdown
from lanescope.app.guide.pipeline_figure import insert_pipeline
from lanescope.app.guide.rendering import (
    find_stepper,
    insert_ptx_form,
    list_sections,
    parse_headings,
    render_blocks,
    render_guide_page,
    render_integrations,
    render_thumbnail,
)
from lanescope.app.guide.row_figure import insert_row_figure
from lanescope.app.guide.words import GLOSSARY, KEYS
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.page import render_page
from lanescope.app.kit.prefix import get_root_path
from lanescope.app.kit.wire import CachedBody
from lanescope.app.steps.embed import build_embed
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

MARKDOWN = "text/markdown; charset=utf-8"

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/guide")
def index_page(request: Request) -> Response:
    """Show the contents of the guide."""
    groups = [
        (name, [(topics.BY_PAGE[f"/guide/{entry.slug}"], render_thumbnail(entry.slug)) for entry in entries])
        for name, entries in GROUPS
    ]
    worked = build_side("B", Tile(16, EXAMPLES[1].b[0], get_mode(EXAMPLES[1].b[1]), 32, 16, "mn"))["svg"]
    context = {
        "worked": worked,
        "examples": examples,
        "groups": groups,
        "benchmarks": benchmarks,
        "bars": benchmarks.draw_thumbnail(),
    }
    return render_page(request, "guide/index.html", context)


def build_contents(slug: str, sections: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Build the rail of a page: every page of the guide by group, and the sections of the open one."""
    groups = [(name, [(entry.slug, read_title(entry.slug)) for entry in entries]) for name, entries in GROUPS]
    groups.append((examples.TITLE, [(examples.SLUG, examples.TITLE)]))
    groups.append((benchmarks.GROUP, [(benchmarks.SLUG, benchmarks.TITLE)]))
    return {"contents": groups, "here": slug, "inside": sections}


@router.get(f"/guide/{examples.SLUG}")
def examples_page(request: Request) -> Response:
    """Show the worked m64n32k16 examples, a section each."""
    sections = [(example.slug, example.title) for example in EXAMPLES]
    instruction = find(INSTRUCTION)
    context = {
        "worked": [(example, _build_sides(example), _link_program(example)) for example in EXAMPLES],
        "title": examples.TITLE,
        "lead": examples.LEAD,
        "instruction": instruction,
        "a": instruction.operand("a"),
        **build_contents(examples.SLUG, sections),
    }
    return render_page(request, "guide/example.html", context)


def _build_sides(example: WorkedExample) -> list[dict[str, Any]]:
    """Build the operands of an example that are in shared memory."""
    sides = []
    if example.a:
        sides.append(build_side("A", Tile(16, example.a[0], get_mode(example.a[1]), 64, 16, order="mn", base=0x1000)))
    sides.append(build_side("B", Tile(16, example.b[0], get_mode(example.b[1]), 32, 16, order="mn", base=0x2000)))
    return sides


def _link_program(example: WorkedExample) -> str:
    options = {letter: format_storage(storage) for letter, storage in (("a", example.a), ("b", example.b))}
    return programs.link_program(find(INSTRUCTION), options)


@router.get(f"/guide/{benchmarks.SLUG}")
def benchmarks_page(request: Request) -> Response:
    """Show docs/benchmarks.md, each table with its charts above it."""
    text = benchmarks.read_benchmarks()
    tables, blocks = iter(benchmarks.parse_tables(text)), render_blocks(text)
    parts = []
    for block in blocks:
        charts = benchmarks.build_charts(next(tables)) if "<table>" in block else []
        if charts:
            parts.append(("", [_describe_chart(chart) for chart in charts]))
        parts.append((block, []))
    sections = parse_headings("\n".join(blocks))
    context = {"parts": parts, "lead": benchmarks.LEAD, **build_contents(benchmarks.SLUG, sections)}
    return render_page(request, "guide/benchmarks.html", context)


def _describe_chart(chart: dict[str, Any]) -> dict[str, Any]:
    """Describe a chart for the page: its title, size and data."""
    summary = {
        "title": chart["title"],
        "rows": len(chart["names"]),
        "log": chart["log"],
        "marked": bool(chart["marks"]),
    }
    return summary | {"data": encode_json(chart).decode()}


def _fill_live_parts(body: str, query: Mapping[str, str]) -> str:
    """Replace the markers of a page by the parts that depend on the query."""
    return insert_pipeline(insert_row_figure(insert_ptx_form(body, query.get("ptx", "")), query), query)


@router.get(integrations.ADDRESS)
def integrations_page(request: Request) -> Response:
    """Show how to set up Lanescope in other tools."""
    body = render_integrations()
    context = {
        "title": integrations.TITLE,
        "lead": integrations.read_integrations_lead(),
        "address": integrations.ADDRESS,
        "sections": parse_headings(body),
        "body": body,
    }
    return render_page(request, "guide/integrations.html", context)


@router.get(f"{integrations.ADDRESS}.md")
def integrations_markdown_page(request: Request) -> Response:
    """Return /docs/integrations as Markdown, for programs."""
    return markdown_page(request, integrations.SLUG)


@router.get("/guide/{slug}.md")
def markdown_page(request: Request, slug: str) -> Response:
    """Return a page of the guide as Markdown, for programs."""
    return CachedBody(render_page_markdown(slug, get_root_path(request.scope)).encode(), MARKDOWN)


@router.get("/llms.txt")
def llms_page(request: Request) -> Response:
    """Return the list of the guide's pages, for programs: https://llmstxt.org."""
    return CachedBody(render_llms(get_root_path(request.scope)).encode(), MARKDOWN)


@router.get("/guide/{slug}")
def guide_page(request: Request, slug: str) -> Response:
    """Show a page of the guide; redirect from one that was merged into another."""
    if slug in ORDER:
        position, stepper = ORDER.index(slug), find_stepper(slug)
        neighbours = {
            "before": ORDER[position - 1] if position else None,
            "after": ORDER[position + 1] if position + 1 < len(ORDER) else None,
        }
        context = {
            "slug": slug,
            "title": read_title(slug),
            "body": _fill_live_parts(render_guide_page(slug), request.query_params),
            "live": slug == row_figure.SLUG,
            "timeline": slug == pipeline_figure.SLUG,
            "near": neighbours,
            "title_of": read_title,
            "lead": topics.BY_PAGE[f"/guide/{slug}"].summary,
            **build_contents(slug, list_sections(slug)),
        }
        if stepper:
            context = build_embed(stepper, request.query_params) | context
        return render_page(request, "guide/page.html", context)
    if slug in MOVED:
        return RedirectResponse(f"/guide/{MOVED[slug]}", 308)
    if slug == integrations.SLUG:
        return RedirectResponse(integrations.ADDRESS, 308)
    raise LayoutError(
        "not_found",
        f"No guide page '{slug[:60]}'.",
        "The guide lists its pages; their titles can be pasted, too.",
        "slug",
    )


@router.get("/help")
def help_page(request: Request) -> Response:
    """Show the keys and the glossary."""
    return render_page(request, "kit/help.html", {"keys": KEYS, "glossary": GLOSSARY})
