"""/: the home page, which is rendered once and cached."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.catalogue.facts import FILTERS
from lanescope.app.home import draw, facts
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.read.text_meanings import TRIED

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/")
def home_page(request: Request) -> Response:
    """Show the home page; redirect an old address of the catalogue."""
    if any(name in request.query_params for name in FILTERS):
        return RedirectResponse(f"/instructions?{request.url.query}", 303)
    context = {
        "tried": TRIED,
        "popular": facts.list_popular(),
        "proof": facts.count_evidence(),
        "layout": draw.draw_layout(facts.PICTURED),
        "bits": draw.draw_bits(facts.WORD),
        "figure": draw.draw_labelled(facts.PICTURED),
        "word": f"{facts.WORD:#018x}",
        "pictured": facts.PICTURED,
        "takes": FILTERS,
    }
    return render_page(request, "home/page.html", context)
