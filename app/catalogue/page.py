"""/instructions: every instruction, narrowed by filters and words."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.catalogue import facts, topics
from lanescope.app.catalogue.facts import chapters, known_shapes
from lanescope.app.catalogue.groups import groups
from lanescope.app.kit import names
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.page import page
from lanescope.errors import LayoutError
from lanescope.ptx import catalog

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/instructions")
def catalogue(request: Request) -> Response:
    """Every instruction, narrowed; one exact hit of a pasted line leads straight to its page."""
    given = {name: request.query_params.get(name, "").strip() for name in facts.FILTERS}
    notices: list[str] = []
    try:
        found = facts.listing(**given)
    except LayoutError as error:
        notices.append(f"{error.message} {error.hint} Shown without this filter.")
        found = facts.listing(**{**given, error.field: ""})
    guess = None
    if given["q"] and catalog.opcode_of(given["q"]):
        try:
            guess = catalog.find(given["q"])
        except LayoutError as error:
            if not found.count and not topics.named(given["q"]):
                notices.append(f"{error.message} {error.hint}")
    limits = request.app.state.limits
    rows = [row.ptx for row in found.instructions if not limits.chosen or row.ptx in limits.chosen]
    context = {
        "given": given,
        "notices": notices,
        "count": len(rows),
        "groups": groups(map(catalog.find, rows), limits.shapes),
        "guess": guess,
        "topics": topics.find(given["q"]),
        "topic_named": bool(topics.named(given["q"])),
        "chapters": chapters(),
        "types": names.known_types(),
        "targets": catalog.TARGETS,
        "shapes": known_shapes(),
        "total": len(limits.chosen) or len(catalog.instructions()),
        "assembler": catalog.assembler_release(),
        "more": urlencode({name: value for name, value in given.items() if value and name != "family"}),
    }
    part = request.query_params.get("part") == "rows"
    return page(request, "catalogue/rows.html" if part else "catalogue/page.html", context)
