"""/read: one paste box for everything, and /go, its address once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoop, form_object
from lanescope.app.kit.page import page
from lanescope.app.kit.rows import named, product
from lanescope.app.kit.wire import json_body
from lanescope.app.kit.work import off_loop
from lanescope.app.layouts import triton
from lanescope.app.read import bench, draw, reading
from lanescope.app.read.facts import Reading
from lanescope.app.read.whole import whole
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.ttgir import module

router = APIRouter(include_in_schema=False, route_class=OffLoop)
LABEL_OF = {
    "tensor_map": "Tensor map",
    "descriptor": "Descriptor",
    "instruction": "Instruction",
    "layout": "CuTe layout",
}


@router.get("/read")
def read_page(request: Request) -> Response:
    """What a text is. One that means a single thing leads straight to its page; one with several to verify is shown on
    the workbench.
    """
    return _read(request, dict(request.query_params))


@router.get("/read.json")
def read_json(request: Request) -> Response:
    """What POST /api/v1/read answers for the same address."""
    query = dict(request.query_params)
    return json_body(whole(_text(query), bench.asked(query)))


@router.post("/read")
async def read_posted(request: Request) -> Response:
    """A text that no address holds, or one from the workbench's forms: the same page, by its address where that holds
    it. Nothing is kept."""
    return await off_loop(_posted, request, await form_object(request))


def _posted(request: Request, query: dict[str, str]) -> Response:
    text = _text(query)
    to = bench.address(text, bench.changed(text, bench.asked(query)))
    return RedirectResponse(to, 303) if text and to != "/read" else _read(request, query)


def _text(query: dict[str, str]) -> str:
    text = bench.unpacked(query["z"]) if query.get("z") else query.get("text", "")
    return text.replace("\r\n", "\n")


def _read(request: Request, query: dict[str, str]) -> Response:
    error: LayoutError | None = None
    text, given = "", bench.asked(query)
    try:
        text = _text(query)
        made = bench.of(text, given)
    except LayoutError as refused:
        error, made = refused, None
        if given and error.field in given:
            made = bench.of(text, {k: v for k, v in given.items() if k != error.field})
    if made is None:
        return _answered(request, text, error)
    told = bench.facts(made, text, given)
    owned = [one.descriptor for one in made.operands]
    shown = sorted(zip(told.operands, owned, strict=True), key=lambda one: one[0].verdict != "mismatch")
    context = {
        "text": text,
        "bench": told,
        "lines": bench.marked(text, made),
        "given": given,
        "error": error,
        "needed": any(one.value is None for one in told.assumed),
        "wrong": error.field if error else "",
        "json": told.link.replace("/read?", "/read.json?", 1) if "?" in told.link else "",
        "shown": shown,
        "labels": LABEL_OF,
    }
    return page(request, "read/bench.html", context, 422 if error else 200)


@router.get("/go")
def go(request: Request) -> Response:
    """The same for addresses that pickers and older pages give."""
    answer = _answered(request, request.query_params.get("ptx", ""))
    word, to = request.query_params.get("idesc", ""), answer.headers.get("location", "")
    if word and to.startswith("/i/") and "?" not in to:  # a picker's descriptor; the page says where it is not legal
        return RedirectResponse(f"{to}?{urlencode({'idesc': word})}", 303)
    return answer


def _answered(request: Request, text: str, error: LayoutError | None = None) -> Response:
    text = text.replace("\r\n", "\n")
    found: Reading | None = None
    near: tuple[str, ...] = ()
    try:
        if not error and (address := reading.certain(text)):
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
        "tiles": {one.title: draw.tiles(one.kind, one.facts) for one in meanings},
        "near": [catalog.find(ptx) for ptx in near],
        "module": _module(text) if any(one.kind == "triton" for one in meanings) else "",
        "accepted": reading.ACCEPTED,
        "named": named,
        "product": product,
        "in_majors": reading.in_majors,
        "stages": reading.stages,
        "tile_of": reading.tile_of,
    }
    return page(request, "read/page.html", context, 422 if error else 200)


def _module(text: str) -> str:
    """Return the page of a TTGIR module, "" for any other text."""
    return triton.address({"text": text}) if module(text) else ""


def _texts(facts: dict[str, Any]) -> list[str]:
    """The instructions that a meaning lists."""
    return list(dict.fromkeys(facts.get("candidates") or facts.get("all") or ()))
