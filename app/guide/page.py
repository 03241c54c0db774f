"""/guide, its pages and worked examples, and /help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope import find
from lanescope.app.catalogue import topics
from lanescope.app.guide import benchmarks
from lanescope.app.guide.examples import BY_SLUG, EXAMPLES, INSTRUCTION, TRANSPOSE, side, stored
from lanescope.app.guide.index import GROUPS, ORDER, title_of
from lanescope.app.guide.render import asked, blocks, headings, rendered, sections, slugs, thumbnail
from lanescope.app.guide.words import GLOSSARY, KEYS
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.encode import dumps
from lanescope.app.kit.page import page
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import mode
from lanescope.shared.tiling import Tile

WORKED = "Worked examples"
WHY = "Why K-major needs no transpose"
router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/guide")
def index(request: Request) -> Response:
    """What there is to read."""
    groups = [
        (name, [(topics.BY_PAGE[f"/guide/{entry.slug}"], thumbnail(entry.slug)) for entry in entries])
        for name, entries in GROUPS
    ]
    worked = [(each, side("B", Tile(16, each.b[0], mode(each.b[1]), 32, 16, "mn"))["svg"]) for each in EXAMPLES]
    context = {"worked": worked, "groups": groups, "benchmarks": benchmarks, "bars": benchmarks.thumbnail()}
    return page(request, "guide/index.html", context)


def contents(slug: str, inside: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The rail of a page: every page of the guide by group, and the sections of the one that is open."""
    groups = [(name, [(entry.slug, title_of(entry.slug)) for entry in entries]) for name, entries in GROUPS]
    groups.append((WORKED, [*((each.slug, each.title) for each in EXAMPLES), (TRANSPOSE, WHY)]))
    groups.append((benchmarks.GROUP, [(benchmarks.SLUG, benchmarks.TITLE)]))
    return {"contents": groups, "here": slug, "inside": inside}


@router.get(f"/guide/{TRANSPOSE}")
def transpose(request: Request) -> Response:
    """Why K-major operands take transpose 0."""
    pictures = []
    for letter, major in (("B", "K"), ("B", "MN")):
        tile = Tile(16, major, mode("none"), 32, 16, "mn")
        pictures.append(side(letter, tile))
    return page(request, "guide/transpose.html", {"sides": pictures, **contents(TRANSPOSE)})


@router.get(f"/guide/{benchmarks.SLUG}")
def benchmark_charts(request: Request) -> Response:
    """docs/benchmarks.md, each table with its charts above it."""
    text = benchmarks.source()
    found, made = iter(benchmarks.tables(text)), blocks(text)
    parts = []
    for block in made:
        charts = benchmarks.charts(next(found)) if "<table>" in block else []
        if charts:
            parts.append(("", [_shown(chart) for chart in charts]))
        parts.append((block, []))
    inside = headings("\n".join(made))
    context = {"parts": parts, "lead": benchmarks.LEAD, **contents(benchmarks.SLUG, inside)}
    return page(request, "guide/benchmarks.html", context)


def _shown(chart: dict[str, Any]) -> dict[str, Any]:
    """What the page says of a chart."""
    told = {"title": chart["title"], "rows": len(chart["names"]), "log": chart["log"], "marked": bool(chart["marks"])}
    return told | {"data": dumps(chart).decode()}


@router.get("/guide/{slug}")
def example(request: Request, slug: str) -> Response:
    """One worked m64n32k16 example."""
    if slug in ORDER:
        at = ORDER.index(slug)
        near = {"before": ORDER[at - 1] if at else None, "after": ORDER[at + 1] if at + 1 < len(ORDER) else None}
        context = {
            "slug": slug,
            "title": title_of(slug),
            "body": asked(rendered(slug), request.query_params.get("ptx", "")),
            "near": near,
            "title_of": title_of,
            "lead": topics.BY_PAGE[f"/guide/{slug}"].summary,
            **contents(slug, sections(slug)),
        }
        return page(request, "guide/page.html", context)
    found = BY_SLUG.get(slug)
    if found is None:
        raise LayoutError("not_found", f"No guide page '{slug[:60]}'.", "There are " + ", ".join(slugs()) + ".", "slug")
    sides = []
    if found.a:
        sides.append(side("A", Tile(16, found.a[0], mode(found.a[1]), 64, 16, order="mn", base=0x1000)))
    sides.append(side("B", Tile(16, found.b[0], mode(found.b[1]), 32, 16, order="mn", base=0x2000)))
    instruction = find(INSTRUCTION)
    context = {
        "example": found,
        "sides": sides,
        "instruction": instruction,
        "a": instruction.operand("a"),
        "others": EXAMPLES,
        "program": programs.address(
            instruction, {letter: stored(given) for letter, given in (("a", found.a), ("b", found.b))}
        ),
        **contents(slug),
    }
    return page(request, "guide/example.html", context)


@router.get("/help")
def help_page(request: Request) -> Response:
    """Keys and words."""
    return page(request, "kit/help.html", {"keys": KEYS, "glossary": GLOSSARY})
