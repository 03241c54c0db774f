"""/tmem: tensor memory with the operands of MMAs in it, and what an access touches."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.tmem import forms
from lanescope.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/tmem")
def tmem_page(request: Request) -> Response:
    """A placement; where a field is wrong, the form as it was sent over the default picture."""
    query = dict(request.query_params)
    try:
        return render_page(request, "tmem/page.html", forms.build_context(query))
    except LayoutError as error:
        given = {name: query.get(name, "") for name in forms.FIELDS}
        return render_page(request, "tmem/page.html", forms.build_context({}) | {"error": error, "given": given}, 422)
