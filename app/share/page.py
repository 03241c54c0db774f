"""/embed/…: a page's picture and verdict in a frame; /picture/…: the picture of a page; /card/…: the preview of a
link.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.page import render_page
from lanescope.app.kit.picture import DrawingJob
from lanescope.app.kit.share import PageCard, make_picture_address, read_card
from lanescope.app.kit.wire import CachedBody, PictureSketch
from lanescope.app.kit.work import get_request_context, run_off_loop
from lanescope.app.share.card import draw_card
from lanescope.app.share.draw import THEMES, check_theme, draw_alone, make_drawing
from lanescope.app.share.fetching import FetchedPage, fetch_page, fetch_text, make_address
from lanescope.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
DRAWN = ("svg", "png", "pdf")


def split_theme(request: Request) -> tuple[str, str]:
    """Return (theme, rest of the query): the theme is for the frame or picture, the rest for the page."""
    pairs = parse_qsl(request.url.query, keep_blank_values=True)
    theme = next((value for name, value in pairs if name == "theme"), "")
    rest = [(name, value) for name, value in pairs if name != "theme"]
    return theme, request.url.query if len(rest) == len(pairs) else urlencode(rest)


@router.get("/embed/{rest:path}")
async def embed_page(request: Request, rest: str) -> Response:
    """Show a page's picture with its verdict and a link back; theme: light or dark, the reader's own by default."""
    theme, query = split_theme(request)
    page = await fetch_page(request.scope, make_address(rest, query))
    return await run_off_loop(_render_embed, request, page, theme)


def _render_embed(request: Request, page: FetchedPage, theme: str) -> Response:
    card = read_card(page.text)
    if not card.pictured:
        raise LayoutError("no_picture", f"{page.address} has no picture.", f"The page itself: {page.address}")
    if theme:
        check_theme(theme)
    pictures = {name: make_picture_address(card, page.address, "svg", name) for name in THEMES}
    context = {"card": card, "address": page.address, "pictures": pictures, "theme": theme}
    return render_page(request, "share/embed.html", context, cacheable=False)


@router.get("/picture/{rest:path}.{form}")
async def page_picture(request: Request, rest: str, form: str) -> Response:
    """Draw the first picture of a page, in the light or the dark theme."""
    theme, query = split_theme(request)
    if form not in DRAWN:
        raise LayoutError("not_found", f"No form '{form[:20]}'.", f"Allowed: {', '.join(DRAWN)}.", "form")
    page = await fetch_page(request.scope, make_address(rest, query))
    drawn = await run_off_loop(_draw_picture, page, form, theme)
    if isinstance(drawn, str):
        drawn = await run_off_loop(_make_sketch, form, (await fetch_text(request.scope, drawn, FORMS["svg"])).text)
    return await get_request_context().work.draw_sketch(drawn) if isinstance(drawn, PictureSketch) else drawn


@router.get("/card/{rest:path}.png")
async def page_card(request: Request, rest: str) -> Response:
    """Draw a page's card: its title, verdict and picture, 1200 × 630."""
    page = await fetch_page(request.scope, make_address(rest, request.url.query))
    card = await run_off_loop(read_card, page.text)
    picture = (await fetch_text(request.scope, card.drawn, FORMS["svg"])).text if card.drawn else ""
    return await get_request_context().work.draw_sketch(await run_off_loop(_sketch_card, card, picture))


def _sketch_card(card: PageCard, picture: str) -> PictureSketch:
    alone = draw_alone(card.svg, "light", card.headline) if card.svg else picture
    return PictureSketch(DrawingJob("png", draw_card(card, alone)))


def _draw_picture(page: FetchedPage, form: str, theme: str) -> Response | str:
    """Return the picture, or the address of its SVG if it has one."""
    card = read_card(page.text)
    if not card.pictured:
        raise LayoutError("not_found", f"{page.address} has no picture.", f"The page itself: {page.address}")
    if card.drawn:
        picture_address = make_picture_address(card, page.address, "svg", theme)
        return RedirectResponse(picture_address, 307) if form == "svg" else picture_address
    svg = draw_alone(card.svg, theme or "light", card.headline)
    return CachedBody(svg.encode(), FORMS[form]) if form == "svg" else _make_sketch(form, svg)


def _make_sketch(form: str, svg: str) -> PictureSketch:
    return PictureSketch(make_drawing(form, svg))
