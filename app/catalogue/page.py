"""/instructions: every instruction, narrowed by filters and words."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.catalogue import facts, topics
from lanescope.app.catalogue.facts import list_chapters, list_shapes
from lanescope.app.catalogue.groups import group_instructions
from lanescope.app.kit import enumerations
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.errors import LayoutError
from lanescope.ptx import catalog

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/instructions")
def catalogue_page(request: Request) -> Response:
    """Show every instruction, narrowed; one exact hit of a pasted line leads straight to its page."""
    filters = {name: request.query_params.get(name, "").strip() for name in facts.FILTERS}
    notices: list[str] = []
    unknown = ""
    try:
        listing = facts.list_instructions(**filters)
    except LayoutError as error:
        if error.field not in filters:
            raise
        unknown = error.field
        notices.append(f"{error.message} {error.hint} Shown without this filter.")
        listing = facts.list_instructions(**{**filters, error.field: ""})
    guess = None
    if filters["q"] and catalog.extract_opcode(filters["q"]):
        try:
            guess = catalog.find(filters["q"])
        except LayoutError as error:
            if not listing.count and not topics.find_named_topics(filters["q"]):
                notices.append(f"{error.message} {error.hint}")
    limits = request.app.state.limits
    rows = [row.ptx for row in listing.instructions if not limits.chosen or row.ptx in limits.chosen]
    context = {
        "given": filters,
        "notices": notices,
        "count": len(rows),
        "groups": group_instructions(map(catalog.find, rows), limits.shapes),
        "guess": guess,
        "topics": topics.find_topics(filters["q"]),
        "topic_named": bool(topics.find_named_topics(filters["q"])),
        "chapters": list_chapters(),
        "types": enumerations.list_element_types(),
        "targets": catalog.TARGETS,
        "shapes": list_shapes(),
        "total": len(limits.chosen) or len(catalog.instructions()),
        "assembler": catalog.get_assembler_release(),
        "more": urlencode({name: value for name, value in filters.items() if value and name != "family"}),
    }
    part = request.query_params.get("part") == "rows"
    name = "catalogue/rows.html" if part else "catalogue/page.html"
    return render_page(request, name, context, 422 if unknown else 200)
