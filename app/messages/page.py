"""/messages/{slug}: one message, its reason, its change and its programs."""

from __future__ import annotations

from difflib import SequenceMatcher
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.messages.facts import build_message, link_message
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, join_words, shorten_value
from lanescope.messages import BY_SLUG, GROUPS, SOURCES, MessageRow
from lanescope.messages.row import DRIVER

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


def require_message(slug: str) -> MessageRow:
    """Return the row of a page; LayoutError if there is none."""
    if slug in BY_SLUG:
        return BY_SLUG[slug]
    near = find_nearest_word(slug, BY_SLUG)
    hint = f"Did you mean '{near}'?" if near else "/messages lists them."
    raise LayoutError("not_found", f"No message '{shorten_value(slug, 60)}'.", hint, "slug")


def format_numbers(row: MessageRow) -> str:
    """Return the numbers of a message with their releases, "" if it has none."""
    releases: dict[str, list[str]] = {}
    for release, code in row.codes:
        releases.setdefault(code, []).append(release)
    return ", ".join(f"{code} in ptxas {join_words(names, 'and')}" for code, names in releases.items())


def link_readings(row: MessageRow) -> tuple[str, str] | None:
    """Link to the reader with the boxes of a rule's calls, the wrong one and the right one; None for others."""
    if row.source != DRIVER or not row.raised:
        return None
    wrong, right = (f"/read?{urlencode({'text': text})}" for text in (row.wrong, row.right))
    return wrong, right


def mark_changes(program: str, other: str) -> list[tuple[str, bool]]:
    """Return the lines of a program, each with whether the other program lacks it."""
    lines = program.splitlines()
    kept: set[int] = set()
    for block in SequenceMatcher(None, lines, other.splitlines(), autojunk=False).get_matching_blocks():
        kept |= set(range(block.a, block.a + block.size))
    return [(line, n not in kept) for n, line in enumerate(lines)]


@router.get("/messages/{slug}")
def message_page(request: Request, slug: str) -> Response:
    """Show one message."""
    row = require_message(slug)
    group, rows = next((name, rows) for name, rows in GROUPS if row in rows)
    context = {
        "row": row,
        "answer": build_message(row),
        "source": SOURCES[row.source],
        "numbers": format_numbers(row),
        "readings": link_readings(row),
        "wrong": mark_changes(row.wrong, row.right),
        "right": mark_changes(row.right, row.wrong),
        "group": group,
        "beside": [other for other in rows if other is not row],
        "link_message": link_message,
    }
    return render_page(request, "messages/page.html", context)
