"""/scale-factors: one factor followed from global memory to tensor memory, and the copies and MMAs of a tile."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.page import form_page
from lanescope.app.scales import forms

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/scale-factors")
def scales_page(request: Request) -> Response:
    """A tile; where a field is wrong, the form as it was sent over the default tile."""
    return form_page(request, "scales/page.html", forms.context)
