"""/layouts/triton and /layouts/tv: any layout, drawn. Every page's state is its address."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoopRoute, read_form_body
from lanescope.app.kit.page import render_page
from lanescope.app.kit.work import run_off_loop
from lanescope.app.layouts import triton, tv

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/layouts/triton")
def triton_page(request: Request) -> Response:
    """A layout of Triton or Gluon, or the layouts of a module."""
    return _render_triton(request, dict(request.query_params))


@router.post("/layouts/triton")
async def post_triton(request: Request) -> Response:
    """A module that no address holds: the same page, by its address where that holds it. Nothing is kept."""
    return await run_off_loop(_redirect_or_render, request, await read_form_body(request))


def _redirect_or_render(request: Request, query: dict[str, str]) -> Response:
    to = triton.link_form(query)
    return RedirectResponse(to, 303) if to else _render_triton(request, query)


def _render_triton(request: Request, query: dict[str, str]) -> Response:
    context = triton.build_context(query)
    return render_page(request, "layouts/triton.html", context, 422 if context["error"] else 200)


@router.get("/layouts/tv")
def tv_page(request: Request) -> Response:
    """Any thread-value layout over a tile."""
    context = tv.build_context(dict(request.query_params))
    return render_page(request, "layouts/tv.html", context, 422 if context["error"] else 200)
