"""/docs: the OpenAPI document as a page, without scripts of third parties."""

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
    """Show the API's routes and models, read from the OpenAPI document."""
    document = request.app.openapi()
    groups = [
        tag | {"routes": [route for route in list_routes(document) if route["tag"] == tag["name"]]}
        for tag in document["tags"]
    ]
    context = {
        "document": document,
        "groups": groups,
        "errors": [(status, *entry) for status, entry in ERRORS.items()],
        "models": [
            build_model_rows(name, document["components"]["schemas"]) for name in document["components"]["schemas"]
        ],
        "root": str(request.base_url).rstrip("/"),
    }
    return render_page(request, "kit/api.html", context, keep=False)
