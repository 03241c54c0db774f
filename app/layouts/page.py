"""/layouts/triton and /layouts/tv: any layout, drawn. Every page's state is its address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoopRoute, read_form_body
from lanescope.app.kit.maps.stage import PINS
from lanescope.app.kit.page import render_page
from lanescope.app.kit.work import run_off_loop
from lanescope.app.layouts import triton, tv

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/layouts/triton")
def triton_page(request: Request) -> Response:
    """Show a layout of Triton or Gluon, or the layouts of a module."""
    return _render_triton(request, dict(request.query_params))


@router.post("/layouts/triton")
async def post_triton(request: Request) -> Response:
    """Show a module that is too long for an address; redirect if it fits. Nothing is kept."""
    return await run_off_loop(_redirect_or_render, request, await read_form_body(request))


def _redirect_or_render(request: Request, query: dict[str, str]) -> Response:
    to = triton.link_form(query) if query.get("text", "").strip() else ""
    return RedirectResponse(to, 303) if to else _render_triton(request, query)


def _render_triton(request: Request, query: dict[str, str]) -> Response:
    return _render(request, "layouts/triton.html", triton.build_context(query), query)


@router.get("/layouts/tv")
def tv_page(request: Request) -> Response:
    """Show a thread-value layout over a tile."""
    query = dict(request.query_params)
    return _render(request, "layouts/tv.html", tv.build_context(query), query)


def _render(request: Request, template: str, context: dict[str, Any], query: dict[str, str]) -> Response:
    """Render a page, or redirect to it with the places of the find field pinned."""
    path, sought = template.replace("layouts", "/layouts").removesuffix(".html"), context.get("sought", "").strip()
    if request.method == "GET" and sought and not context["refusal"]:
        kept = {name: text for name, text in query.items() if name not in ("find", "thread", *PINS)}
        return RedirectResponse(f"{path}?{urlencode(kept | context['pins'], safe=':,')}", 303)
    return render_page(request, template, context)
