"""/i: one instruction's page. Its whole state is in its address; everything a script shows stands in the page without
one.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.catalogue import topics
from lanescope.app.instruction import state
from lanescope.app.instruction import tcgen05 as forms
from lanescope.app.instruction.context import build_context
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.page import render_page
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import statements

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/i/{rest:path}")
def instruction_page(request: Request, rest: str) -> Response:
    """One instruction; with /operand its page where that operand is pinned."""
    name, slash, letter = rest.rpartition("/")
    try:
        found = catalog.find(name if slash else rest)
    except LayoutError:
        named = topics.find_named_topics(rest)
        if named:
            return RedirectResponse(named[0].page, 303)
        raise
    if letter in found.family.elsewhere and slash:  # its tile stands in the instruction's own page
        return RedirectResponse(link_instruction(found), 303)
    query = request.query_params
    if wish := forms.parse_idesc_query(found, query):
        return RedirectResponse(link_instruction(found, query=wish), 303)
    found, said = _with_descriptor(found, query)
    said += [one.message for one in statements.find_refused_lines(name if slash else rest)]
    operand = found.operand(letter) if slash else None
    chosen, notices = state.parse_state(found, query)
    notices = said + notices
    if operand and not forms.is_on_stage(operand):
        return RedirectResponse(
            link_instruction(found, query={"idesc": query["idesc"]} if "idesc" in query else {}), 303
        )
    if operand:
        kept = {"idesc": query["idesc"]} if query.get("idesc") else {}
        return RedirectResponse(link_instruction(found, query={"pin": f"{operand.name}:0,0", **kept}), 303)
    server = request.app.state
    context = build_context(
        found, chosen, notices, request.query_params, server.hardware.reason, server.limits.table_values
    )
    return render_page(request, "instruction/page.html", context)


def _with_descriptor(found: Instruction, query: Mapping[str, str]) -> tuple[Instruction, list[str]]:
    """Return what the page shows, and why a query's instruction descriptor is not used."""
    try:
        return state.bind_descriptor(found, query), []
    except LayoutError as error:
        return state.bind_descriptor(found, {}), [f"idesc is not used: {error.message} {error.hint}"]
