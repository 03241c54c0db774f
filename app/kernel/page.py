"""/kernel: a whole program around an instruction, its .cu and .py."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kernel import facts as programs
from lanescope.app.kernel.forms import build_context, find_legal_plan
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.errors import get_status
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import CachedBody, encode_json_body
from lanescope.errors import LayoutError
from lanescope.ptx import catalog

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/kernel/{rest:path}")
def kernel_page(request: Request, rest: str) -> Response:
    """The program of an instruction: the page, or with .cu, .py, .json that form."""
    stem, dot, form = rest.rpartition(".")
    if not (dot and form in (*programs.FORMS, "json")):
        stem, form = rest, ""
    found = catalog.find(stem)
    query = dict(request.query_params)
    given = programs.parse_options(query)
    if form:
        made = programs.plan_program(found, given)
        if form == "json":
            return encode_json_body(programs.build_program(made))
        return CachedBody(
            programs.write_program(made, form).encode(),
            f"text/{'x-python' if form == 'py' else 'plain'}; charset=utf-8",
        )
    try:
        made, error = programs.plan_program(found, given), None
    except LayoutError as refused:
        made, error = find_legal_plan(found, given), refused
    if error is None and any("." in name for name in query):  # a form was sent: its plain address says the same in less
        return RedirectResponse(programs.link_program(found, programs.format_options(made)), 303)
    return render_page(
        request, "kernel/page.html", build_context(made, given, error), get_status(error) if error else 200
    )
