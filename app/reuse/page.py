"""/reuse: which elements of an accumulator stay in their lane."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.asked import instruction
from lanescope.app.kit.page import page
from lanescope.app.reuse.draw import reuse_svg
from lanescope.app.reuse.facts import FLASH, reuse_facts
from lanescope.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/reuse")
def reuse_page(request: Request) -> Response:
    """Which elements of an accumulator stay in their lane when it becomes the next A."""
    given = {"from": request.query_params.get("from") or FLASH[0], "to": request.query_params.get("to") or FLASH[1]}
    context: dict[str, Any] = {"given": given, "error": None}
    try:
        first, second = instruction(given["from"], "from"), instruction(given["to"], "to")
        facts = reuse_facts(first, second, request.query_params.get("step") or "0")
        context |= {"facts": facts, "svg": reuse_svg(second, facts), "first": first, "second": second}
        sizes = [(op.row_count, op.col_count) for op in (first.operand("d"), second.operand("a"))]
        context["compared"] = links.compare(f"{first.ptx}/d", f"{second.ptx}/a") if sizes[0] == sizes[1] else ""
    except LayoutError as error:
        context["error"] = error
    return page(request, "reuse/page.html", context, 422 if context["error"] else 200)
