"""/read: one paste box for everything, and /go, its address once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoopRoute, read_form_body
from lanescope.app.kit.page import render_page
from lanescope.app.kit.rows import format_product_types, format_short_name
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.kit.work import run_off_loop
from lanescope.app.layouts import triton
from lanescope.app.read import draw, text_meanings, workbench
from lanescope.app.read.answer import read_and_verify
from lanescope.app.read.facts import Reading
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.ttgir import parse_module

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
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
    return _render_text(request, dict(request.query_params))


@router.get("/read.json")
def read_json(request: Request) -> Response:
    """What POST /api/v1/read answers for the same address."""
    query = dict(request.query_params)
    return encode_json_body(read_and_verify(_parse_text(query), workbench.parse_assumptions(query)))


@router.post("/read")
async def post_text(request: Request) -> Response:
    """A text that no address holds, or one from the workbench's forms: the same page, by its address where that holds
    it. Nothing is kept."""
    return await run_off_loop(_redirect_or_render, request, await read_form_body(request))


def _redirect_or_render(request: Request, query: dict[str, str]) -> Response:
    text = _parse_text(query)
    to = workbench.link_text(text, workbench.drop_default_assumptions(text, workbench.parse_assumptions(query)))
    return RedirectResponse(to, 303) if text and to != "/read" else _render_text(request, query)


def _parse_text(query: dict[str, str]) -> str:
    text = workbench.expand_text(query["z"]) if query.get("z") else query.get("text", "")
    return text.replace("\r\n", "\n")


def _render_text(request: Request, query: dict[str, str]) -> Response:
    error: LayoutError | None = None
    text, given = "", workbench.parse_assumptions(query)
    try:
        text = _parse_text(query)
        made = workbench.verify_text(text, given)
    except LayoutError as refused:
        error, made = refused, None
        if given and error.field in given:
            made = workbench.verify_text(text, {k: v for k, v in given.items() if k != error.field})
    if made is None:
        return _render_meanings(request, text, error)
    told = workbench.build_answer(made, text, given)
    owned = [one.descriptor for one in made.operands]
    shown = sorted(zip(told.operands, owned, strict=True), key=lambda one: one[0].verdict != "mismatch")
    context = {
        "text": text,
        "bench": told,
        "lines": workbench.mark_pieces(text, made),
        "given": given,
        "error": error,
        "needed": any(one.value is None for one in told.assumed),
        "wrong": error.field if error else "",
        "json": told.link.replace("/read?", "/read.json?", 1) if "?" in told.link else "",
        "shown": shown,
        "labels": LABEL_OF,
    }
    return render_page(request, "read/bench.html", context, 422 if error else 200)


@router.get("/go")
def go_page(request: Request) -> Response:
    """The same for addresses that pickers and older pages give."""
    answer = _render_meanings(request, request.query_params.get("ptx", ""))
    word, to = request.query_params.get("idesc", ""), answer.headers.get("location", "")
    if word and to.startswith("/i/") and "?" not in to:  # a picker's descriptor; the page says where it is not legal
        return RedirectResponse(f"{to}?{urlencode({'idesc': word})}", 303)
    return answer


def _render_meanings(request: Request, text: str, error: LayoutError | None = None) -> Response:
    text = text.replace("\r\n", "\n")
    found: Reading | None = None
    near: tuple[str, ...] = ()
    try:
        if not error and (address := text_meanings.find_certain_link(text)):
            return RedirectResponse(address, 303)
        if text.strip():
            found = text_meanings.read_text(text)
            near = text_meanings.find_nearest(text)
    except LayoutError as refused:
        error = refused
    meanings = [found, *found.also] if found and found.kind != "unknown" else []
    context = {
        "text": text,
        "found": found,
        "error": error,
        "meanings": meanings,
        "candidates": {ptx: catalog.find(ptx) for one in meanings for ptx in _list_instructions(one.facts)},
        "grids": {one.title: draw.build_offset_table(one.facts["cute"]) for one in meanings if one.kind == "layout"},
        "tiles": {one.title: draw.draw_meaning(one.kind, one.facts) for one in meanings},
        "near": [catalog.find(ptx) for ptx in near],
        "module": _link_module(text) if any(one.kind == "triton" for one in meanings) else "",
        "accepted": text_meanings.ACCEPTED,
        "named": format_short_name,
        "product": format_product_types,
        "in_majors": text_meanings.format_major_query,
        "stages": text_meanings.link_stages,
        "tile_of": text_meanings.link_tile,
    }
    return render_page(request, "read/page.html", context, 422 if error else 200)


def _link_module(text: str) -> str:
    """Return the page of a TTGIR module, "" for any other text."""
    return triton.link_form({"text": text}) if parse_module(text) else ""


def _list_instructions(facts: dict[str, Any]) -> list[str]:
    """The instructions that a meaning lists."""
    return list(dict.fromkeys(facts.get("candidates") or facts.get("all") or ()))
