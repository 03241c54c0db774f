"""/read: one paste box for everything, and /go, its address once."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app.kit.api import OffLoop
from app.kit.page import page
from app.kit.rows import named, product
from app.read import draw, reading
from app.read.facts import Reading
from layouts import catalog
from layouts.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/read")
def read_page(request: Request) -> Response:
    """What a text is. One that means a single thing leads straight to its page."""
    return _answered(request, request.query_params.get("text", ""))


@router.get("/go")
def go(request: Request) -> Response:
    """The same for addresses that pickers and older pages give."""
    return _answered(request, request.query_params.get("ptx", ""))


def _answered(request: Request, text: str) -> Response:
    text = text.replace("\r\n", "\n")
    found: Reading | None = None
    near: tuple[str, ...] = ()
    error: LayoutError | None = None
    try:
        if address := reading.certain(text):
            return RedirectResponse(address, 303)
        if text.strip():
            found = reading.read(text)
            near = reading.nearest(text)
    except LayoutError as refused:
        error = refused
    meanings = [found, *found.also] if found and found.kind != "unknown" else []
    context = {
        "text": text,
        "found": found,
        "error": error,
        "meanings": meanings,
        "candidates": {ptx: catalog.find(ptx) for one in meanings for ptx in _texts(one.facts)},
        "grids": {one.title: draw.offsets(one.facts["cute"]) for one in meanings if one.kind == "layout"},
        "near": [catalog.find(ptx) for ptx in near],
        "accepted": reading.ACCEPTED,
        "named": named,
        "product": product,
    }
    return page(request, "read/page.html", context, 422 if error else 200)


def _texts(facts: dict[str, Any]) -> list[str]:
    """The instructions that a meaning lists."""
    return list(dict.fromkeys(facts.get("candidates") or facts.get("all") or ()))
