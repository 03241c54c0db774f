"""GET /api/v1/share: the texts and links to copy of a page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.kit.api import StrictRoute, make_text_parameter
from lanescope.app.kit.share import Share, build_share, read_card
from lanescope.app.kit.wire import CachedBody, encode_json_body
from lanescope.app.kit.work import run_off_loop
from lanescope.app.share.fetching import FetchedPage, fetch_page, make_address

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)
Address = Annotated[str, make_text_parameter("A page's address on this server, with its query.", "/banks?pad=16")]


@router.get("/share", responses={200: {"model": Share}})
async def share(request: Request, address: Address) -> Response:
    """Return the texts and links to copy of a page: link, picture, Markdown for an issue, LaTeX, a frame to embed."""
    path, _, query = address.partition("#")[0].partition("?")
    page = await fetch_page(request.scope, make_address(path, query))
    return await run_off_loop(_build_answer, request, page)


def _build_answer(request: Request, page: FetchedPage) -> CachedBody:
    return encode_json_body(build_share(read_card(page.text), page.address, str(request.base_url).rstrip("/")))
