"""/ and /go: the search, the families, and the way from a pasted text to its page."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app.catalogue import facts, topics
from app.catalogue.facts import chapters, known_shapes, thumbnails
from app.kit import names, rows
from app.kit.api import OffLoop
from app.kit.links import path_of
from app.kit.page import page
from layouts import catalog
from layouts.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/instructions")
@router.get("/")
def catalogue(request: Request) -> Response:
    """Search and families; one exact hit of a pasted line leads straight to its page."""
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
    context = {
        "given": given,
        "notices": notices,
        "found": found,
        "rows": [
            (row, *rows.in_words(catalog.find(row.ptx))) for row in found.instructions[: request.app.state.limits.rows]
        ],
        "guess": guess,
        "topics": topics.find(given["q"]),
        "topic_named": bool(topics.named(given["q"])),
        "chapters": chapters(),
        "types": names.known_types(),
        "targets": catalog.TARGETS,
        "shapes": known_shapes(),
        "total": len(catalog.instructions()),
        "favourites": thumbnails() if not any(given.values()) else [],
    }
    return page(
        request, "catalogue/rows.html" if request.query_params.get("part") == "rows" else "catalogue/page.html", context
    )


@router.get("/go")
def go(request: Request) -> Response:
    """Where pickers and the search box lead without scripts."""
    text = request.query_params.get("ptx", "")
    try:
        return RedirectResponse(path_of(catalog.find(text)), 303)
    except LayoutError:
        named = topics.named(text)
        return RedirectResponse(named[0].page if named else "/?q=" + quote(text), 303)
