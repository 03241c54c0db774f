"""Pages of shared memory: the tile explorer and the descriptor editor. Both work by links and forms; scripts add
speed.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit import links
from lanescope.app.kit.api import JsonBody, OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.memory import atoms as atom_views, descriptors as memory, tile_page
from lanescope.app.memory.editor import build_context, find_descriptor_link
from lanescope.app.memory.word_form import build_refused, encode_fields
from lanescope.app.read import workbench
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_integer
from lanescope.ptx.table.descriptors import FORMATS, USUAL

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


# the tile explorer ----------------------------------------------------------------------------------------------------


@router.get("/smem")
def smem_page(request: Request) -> Response:
    """Show a tile: logical and memory picture, strides, CuTe, steps."""
    context = tile_page.build_context(request.query_params)
    return render_page(request, "memory/tile.html", context, 422 if context["error"] else 200)


@router.get("/smem/atoms")
def atoms_page(request: Request) -> Response:
    """Show the eight atoms, and tiles made of them in both orders."""
    return render_page(request, "memory/atoms.html", atom_views.build_context(dict(request.query_params)))


# the descriptor editor ------------------------------------------------------------------------------------------------


@router.get("/descriptor")
def descriptor_entry(request: Request) -> Response:
    """Redirect a form, with a word or its fields, to the page of that descriptor."""
    return _redirect_to_word(request, USUAL)


def _add_format_routes(form: DescriptorFormat) -> None:
    """Add the addresses of one format: its form, and the page of a word."""

    @router.get(f"/descriptor/{form.name}")
    def entry(request: Request) -> Response:
        return _redirect_to_word(request, form)

    @router.get(f"/descriptor/{form.name}/{{word:path}}")
    def shown(request: Request, word: str) -> Response:
        return _render_descriptor(request, word, form) if word.strip() else _redirect_to_word(request, form)


for _form in FORMATS:
    _add_format_routes(_form)


def _redirect_to_word(request: Request, form: DescriptorFormat) -> Response:
    query = dict(request.query_params)
    form = memory.fit_to_target(form, query)
    word = query.pop("word", "").strip()
    names = [f.amount for f in form.fields]
    amounts = {name: query.pop(name) for name in names if name in query}
    start = query.pop("start", "0")
    text = word or form.example
    if not word and not amounts and (to := find_descriptor_link(form, query)):
        return RedirectResponse(to, 303)
    if amounts and not word:
        standing, error = encode_fields(form, amounts)
        if error:
            return _render_refused(request, standing, query, error, amounts)
        return RedirectResponse(links.link_descriptor(str(standing), query, form.name), 303)
    try:
        read, notices = memory.read_descriptor(text, parse_integer(start, "start"), form)
    except LayoutError as error:
        if to := workbench.link_workbench(text):
            return RedirectResponse(to, 303)
        return _render_refused(request, encode_fields(form, {})[0], query, error, {"word": text})
    if notices:  # what C++ makes of the expression is shown on the page of the word
        query["from"] = text
    return RedirectResponse(links.link_descriptor(str(read), query, form.name), 303)


@router.post("/descriptor/read.json")
def post_descriptor_text(body: JsonBody) -> Response:
    """Read the editor's {"text", "start"}: return the word that the text spells or builds, and its warnings.

    For code that only the workbench reads, return the workbench's address.
    """
    check_keys(body, ("text", "start"))
    try:
        read, notices = memory.read_descriptor(body.get("text"), parse_integer(body.get("start", 0), "start"))
    except LayoutError:
        text = body.get("text")
        if isinstance(text, str) and (to := workbench.link_workbench(text)):
            return encode_json_body({"descriptor": None, "notices": [], "leads": to})
        raise
    return encode_json_body({"descriptor": str(read), "notices": notices})


def _render_descriptor(request: Request, word: str, form: DescriptorFormat) -> Response:
    query = dict(request.query_params)
    form = memory.fit_to_target(form, query)
    try:
        descriptor = memory.parse_descriptor(word, form)
    except LayoutError as error:
        return _render_refused(request, encode_fields(form, {})[0], query, error, {"word": word})
    context = build_context(descriptor, query)
    context["word_notes"] = _format_notes(descriptor, query.get("from", ""))
    context["no_gpu"] = request.app.state.hardware.reason
    part = query.get("part") == "analysis"
    status = 422 if context["compare_error"] else 200
    return render_page(request, "memory/part.html" if part else "memory/descriptor.html", context, status)


def _render_refused(
    request: Request, standing: Descriptor, query: dict[str, str], error: LayoutError, typed: dict[str, str]
) -> Response:
    """Show a wrong word, or wrong fields of one, as typed, with their errors and without a verdict.

    standing: the descriptor of the fields that are right.
    """
    context = build_context(standing, query) | build_refused(standing, typed, error)
    return render_page(request, "memory/descriptor.html", context, 422)


def _format_notes(descriptor: Descriptor, written: str) -> str:
    """Return the warnings about the expression of the word; none if it gives another word."""
    try:
        read, notices = (
            memory.read_descriptor(written, descriptor.start_address, descriptor.format)
            if written
            else (descriptor, [])
        )
    except LayoutError:
        return ""
    return " ".join(notices) if read == descriptor else ""
