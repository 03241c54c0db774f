"""/steps: everything one mma does, as a page and text, with random matrices or with a user's own."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.hardware import own
from lanescope.app.kit.api import OffLoop, form_object
from lanescope.app.kit.errors import status_of
from lanescope.app.kit.page import page
from lanescope.app.kit.wire import Body, json_body
from lanescope.app.kit.work import off_loop
from lanescope.app.runs.hardware import hardware
from lanescope.app.steps import asked as asking
from lanescope.app.steps.api import traced
from lanescope.app.steps.draw import text
from lanescope.app.steps.facts import Steps
from lanescope.app.steps.wgmma import WgmmaSteps
from lanescope.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.post("/steps/file.json")
async def steps_file(request: Request) -> Response:
    """For the page's form: a .npy file as rows of numbers."""
    raw = await request.body()
    return await off_loop(lambda: json_body({"text": own.to_text(own.from_file(raw, "file"))}))


@router.get("/steps/{rest:path}")
async def steps_page(request: Request, rest: str) -> Response:
    """The page; .txt and .json are the same."""
    return await _page(request, rest, dict(request.query_params))


@router.post("/steps/{rest:path}")
async def steps_posted(request: Request, rest: str) -> Response:
    """The same page for matrices that are too long for an address: what its form would put into the query
    is the body.
    """
    return await _page(request, rest, await form_object(request))


async def _page(request: Request, rest: str, query: dict[str, str]) -> Response:
    stem, dot, form = rest.rpartition(".")
    form = form if dot and form in ("txt", "json") else ""
    context = await off_loop(asking.context, stem if form else rest, query, hardware(request).reason)
    found, status_code = context["found"], 200
    try:
        context["s"] = await traced(
            request, found, context["given"], await off_loop(asking.asked, found, context["given"])
        )
    except LayoutError as error:
        if form:
            raise
        context["error"], status_code = await off_loop(asking.beside, error, found, context["given"]), status_of(error)
    if form:
        return await off_loop(_text, form, context["s"])
    return await off_loop(
        page, request, "steps/wgmma.html" if found.family.by_descriptor else "steps/page.html", context, status_code
    )


def _text(form: str, found: Steps | WgmmaSteps) -> Body:
    return json_body(found) if form == "json" else Body(text(found).encode(), "text/plain; charset=utf-8")
