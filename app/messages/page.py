"""/messages/{slug}: one message, its reason, its change and its programs."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.messages.facts import build_message, link_message
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value
from lanescope.messages import BY_SLUG, GROUPS, SOURCES, MessageRow

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


def require_message(slug: str) -> MessageRow:
    """Return the row of a page; LayoutError if there is none."""
    if slug in BY_SLUG:
        return BY_SLUG[slug]
    near = find_nearest_word(slug, BY_SLUG)
    hint = f"Did you mean '{near}'?" if near else "/messages lists them."
    raise LayoutError("not_found", f"No message '{shorten_value(slug, 60)}'.", hint, "slug")


@router.get("/messages/{slug}")
def message_page(request: Request, slug: str) -> Response:
    """Show one message."""
    row = require_message(slug)
    group, rows = next((name, rows) for name, rows in GROUPS if row in rows)
    context = {
        "row": row,
        "told": build_message(row),
        "source": SOURCES[row.source],
        "group": group,
        "beside": [other for other in rows if other is not row],
        "link_message": link_message,
    }
    return render_page(request, "messages/page.html", context)
