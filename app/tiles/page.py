"""/tiles/mma and its siblings: whole tiles on one bench. Every page's state is its address."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.kit.api import OffLoop
from app.kit.page import page
from app.tiles import facts, forms
from layouts.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/tiles/mma")
def mma_page(request: Request) -> Response:
    """A TiledMMA: A, B and C of a whole tile by thread, warp and value."""
    asked = forms.given(request.query_params, forms.MMA)
    context: dict[str, Any] = {"given": asked, "error": None, "found": None}
    code = 200
    try:
        context["found"] = facts.mma_facts(facts.mma_of(forms.mma_body(asked)))
    except LayoutError as error:
        context["error"], code = error, 422
    return page(request, "tiles/mma.html", context, code)
