"""/i: one instruction's page. Its whole state is in its address; everything a script shows stands in the page without
one.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.catalogue import topics
from lanescope.app.instruction import issued as forms
from lanescope.app.instruction import state
from lanescope.app.instruction.context import page_context
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.links import path_of
from lanescope.app.kit.page import page
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import statements

router = APIRouter(include_in_schema=False, route_class=OffLoop)


@router.get("/i/{rest:path}")
def instruction_page(request: Request, rest: str) -> Response:
    """One instruction; with /operand its page where that operand is pinned."""
    name, slash, letter = rest.rpartition("/")
    try:
        found = catalog.find(name if slash else rest)
    except LayoutError:
        named = topics.named(rest)
        if named:
            return RedirectResponse(named[0].page, 303)
        raise
    if letter in found.family.elsewhere and slash:  # its tile stands in the instruction's own page
        return RedirectResponse(path_of(found), 303)
    query = request.query_params
    if wish := forms.wish(found, query):
        return RedirectResponse(path_of(found, query=wish), 303)
    found, said = _with_descriptor(found, query)
    said += [one.message for one in statements.refused(name if slash else rest)]
    operand = found.operand(letter) if slash else None
    chosen, notices = state.read(found, query)
    notices = said + notices
    if operand and not forms.beside(operand):
        return RedirectResponse(path_of(found, query={"idesc": query["idesc"]} if "idesc" in query else {}), 303)
    if operand:
        kept = {"idesc": query["idesc"]} if query.get("idesc") else {}
        return RedirectResponse(path_of(found, query={"pin": f"{operand.name}:0,0", **kept}), 303)
    server = request.app.state
    context = page_context(
        found, chosen, notices, request.query_params, server.hardware.reason, server.limits.table_values
    )
    return page(request, "instruction/page.html", context)


def _with_descriptor(found: Instruction, query: Mapping[str, str]) -> tuple[Instruction, list[str]]:
    """Return what the page shows, and why a query's instruction descriptor is not used."""
    try:
        return state.with_descriptor(found, query), []
    except LayoutError as error:
        return state.with_descriptor(found, {}), [f"idesc is not used: {error.message} {error.hint}"]
