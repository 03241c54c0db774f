"""/docs: the OpenAPI document as a page, without scripts of third parties."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.apidocs.draw import list_models, list_sections
from lanescope.app.apidocs.facts import ERRORS
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/docs")
def api_docs_page(request: Request) -> Response:
    """Show the API's routes and models, read from the OpenAPI document; q: only those with its words."""
    document, query = request.app.openapi(), request.query_params.get("q", "")
    sections, models = list_sections(document, query), list_models(document, query)
    context = {
        "query": query,
        "sections": sections,
        "errors": [(status, *entry) for status, entry in ERRORS.items()],
        "models": models,
        "total": sum(len(section["routes"]) for section in sections),
        "found": sum(not route["hidden"] for section in sections for route in section["routes"]),
        "models_found": sum(not model["hidden"] for model in models),
        "root": str(request.base_url).rstrip("/"),
    }
    return render_page(request, "kit/api.html", context, cacheable=False)
