"""/steps: the steps of a product as a page and as text, with random matrices or the user's own."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.hardware import user_matrices
from lanescope.app.kit.api import OffLoopRoute, read_form_body
from lanescope.app.kit.enumerations import PTX
from lanescope.app.kit.errors import get_status
from lanescope.app.kit.links import link_steps
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import CachedBody, encode_json_body
from lanescope.app.kit.work import run_off_loop
from lanescope.app.runs.hardware import get_hardware
from lanescope.app.steps import requests
from lanescope.app.steps.api import trace_run
from lanescope.app.steps.draw import render_steps, render_text
from lanescope.app.steps.facts import Steps
from lanescope.app.steps.matrix_view import answer_query, build_matrix_view
from lanescope.app.steps.view import build_view
from lanescope.app.steps.wgmma import WgmmaSteps
from lanescope.app.steps.wgmma_view import build_wgmma_view, fill_storage
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.product.move_plan import moves_rows

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.post("/steps/file.json")
async def post_matrix_file(request: Request) -> Response:
    """Return a .npy file as rows of numbers, for the page's form."""
    raw = await request.body()
    return await run_off_loop(
        lambda: encode_json_body({"text": user_matrices.format_matrix(user_matrices.read_npy(raw, "file"))})
    )


@router.get("/steps")
def choose_page(request: Request) -> Response:
    """Redirect to a default product with the options of the address; its page links to the others."""
    return RedirectResponse(link_steps(lookup.find(PTX), dict(request.query_params)), 303)


@router.get("/steps/{rest:path}")
async def steps_page(request: Request, rest: str) -> Response:
    """Show the steps; .txt and .json have the same content."""
    return await _render_steps(request, rest, dict(request.query_params))


@router.post("/steps/{rest:path}")
async def post_steps(request: Request, rest: str) -> Response:
    """Show the steps for matrices that are too long for an address; the body is the form's query."""
    return await _render_steps(request, rest, await read_form_body(request))


async def _render_steps(request: Request, rest: str, query: dict[str, str]) -> Response:
    stem, dot, form = rest.rpartition(".")
    form = form if dot and form in ("txt", "json") else ""
    if await run_off_loop(_names_matrix_move, stem if form else rest):
        return await run_off_loop(_render_matrices, request, stem if form else rest, form, query)
    query = query if form else await run_off_loop(fill_storage, rest, query)
    context = await run_off_loop(requests.build_context, stem if form else rest, query, get_hardware(request).reason)
    found, status_code = context["found"], 200
    try:
        context["s"] = await trace_run(
            request, found, context["given"], await run_off_loop(requests.parse_inputs, found, context["given"])
        )
    except LayoutError as error:
        if form:
            raise
        context["error"], status_code = (
            await run_off_loop(requests.place_error, error, found, context["given"]),
            get_status(error),
        )
    if form:
        return await run_off_loop(_render_form, form, context["s"])
    view = build_wgmma_view if found.family.by_descriptor else build_view
    context |= await run_off_loop(view, found, query)
    context |= await run_off_loop(requests.place_errors, context)
    refused = context["stepper_error"]  # `no_stepper`: only the tables
    status_code = 422 if refused and refused.code != "no_stepper" else status_code
    return await run_off_loop(
        render_page,
        request,
        "steps/wgmma.html" if found.family.by_descriptor else "steps/page.html",
        context,
        status_code,
    )


def _names_matrix_move(ptx: str) -> bool:
    return moves_rows(lookup.find(ptx))


def _render_matrices(request: Request, ptx: str, form: str, query: dict[str, str]) -> CachedBody:
    """Show one ldmatrix or stmatrix, which needs no run."""
    instruction = lookup.find(ptx)
    if form:
        stepper = answer_query(instruction, query)
        return (
            encode_json_body(stepper)
            if form == "json"
            else CachedBody(render_text(stepper).encode(), "text/plain; charset=utf-8")
        )
    context = build_matrix_view(instruction, query)
    return render_page(request, "steps/matrices.html", context, 422 if context["error"] else 200)


def _render_form(form: str, steps: Steps | WgmmaSteps) -> CachedBody:
    return (
        encode_json_body(steps)
        if form == "json"
        else CachedBody(render_steps(steps).encode(), "text/plain; charset=utf-8")
    )
