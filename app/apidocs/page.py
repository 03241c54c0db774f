"""/docs: the OpenAPI document as a page, without a script of anybody's."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.apidocs.draw import build_model_rows, list_routes
from lanescope.app.apidocs.facts import ERRORS
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/docs")
def api_docs_page(request: Request) -> Response:
    """The API's routes and models, read from the OpenAPI document."""
    made = request.app.openapi()
    groups = [
        tag | {"routes": [route for route in list_routes(made) if route["tag"] == tag["name"]]} for tag in made["tags"]
    ]
    context = {
        "document": made,
        "groups": groups,
        "errors": [(status, *told) for status, told in ERRORS.items()],
        "models": [build_model_rows(name, made["components"]["schemas"]) for name in made["components"]["schemas"]],
        "root": str(request.base_url).rstrip("/"),
    }
    return render_page(request, "kit/api.html", context, keep=False)
