"""/kernel: a whole program around an instruction, its .cu and .py."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kernel import facts as programs
from lanescope.app.kernel.forms import context, fallback
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.errors import status_of
from lanescope.app.kit.page import page
from lanescope.app.kit.wire import Body, json_body
from lanescope.errors import LayoutError
from lanescope.product.planning import plan
from lanescope.ptx import catalog

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/kernel/{rest:path}")
def kernel_page(request: Request, rest: str) -> Response:
    """The program of an instruction: the page, or with .cu, .py, .json that form."""
    stem, dot, form = rest.rpartition(".")
    if not (dot and form in (*programs.FORMS, "json")):
        stem, form = rest, ""
    found = catalog.find(stem)
    query = dict(request.query_params)
    given = programs.chosen(query)
    if form:
        made = plan(found, *given.values())
        if form == "json":
            return json_body(programs.facts(made))
        return Body(
            programs.FORMS[form](made).encode(), f"text/{'x-python' if form == 'py' else 'plain'}; charset=utf-8"
        )
    try:
        made, error = plan(found, *given.values()), None
    except LayoutError as refused:
        made, error = fallback(found, given), refused
    if error is None and any("." in name for name in query):  # a form was sent: its plain address says the same in less
        return RedirectResponse(programs.address(found, programs.spelled(made)), 303)
    return page(request, "kernel/page.html", context(made, given, error), status_of(error) if error else 200)
