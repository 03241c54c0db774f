"""/i: one instruction's page. Its whole state is in its address; without scripts the page has the same content."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.catalogue import topics
from lanescope.app.instruction import find, state, tcgen05 as forms, wording
from lanescope.app.instruction.context import build_context
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.look import split_refused
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question_form import Control, form_of
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.architectures import require_instruction
from lanescope.ptx.instruction import Instruction
from lanescope.reader.instructions import statements

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/i/{rest:path}")
def instruction_page(request: Request, rest: str) -> Response:
    """Show one instruction; redirect /operand to its page with that operand pinned."""
    front, slash, letter = rest.rpartition("/")
    name = front if slash else rest
    try:
        instruction = lookup.find(name)
    except LayoutError:
        named_topics = topics.find_named_topics(rest)
        if named_topics:
            return RedirectResponse(named_topics[0].page, 303)
        raise
    if letter in instruction.family.elsewhere and slash:  # the instruction's page shows its tile
        return RedirectResponse(link_instruction(instruction), 303)
    query = request.query_params
    if wish := forms.parse_idesc_query(instruction, query):
        return RedirectResponse(link_instruction(instruction, query=wish), 303)
    instruction, wrong_word = _bind_query_descriptor(instruction, query)
    refusals = [refused.message for refused in statements.find_refused_lines(name)]
    operand = instruction.operand(letter) if slash else None
    page_state, refused = state.parse_state(instruction, query)
    look = wording.build_controls(instruction, page_state, refused, query)
    lost, notices = split_refused(refused, look)
    notices = refusals + notices + _list_target_notices(instruction, page_state.target)
    if operand and not forms.is_on_stage(operand):
        return RedirectResponse(link_instruction(instruction, query=_keep_descriptor(query)), 303)
    found, refusal = _find_pins(instruction, page_state, query)
    if found is not None:
        return RedirectResponse(found, 303)
    if operand:
        pinned = _pin_operand(instruction, operand.name) | _keep_descriptor(query)
        return RedirectResponse(link_instruction(instruction, query=pinned), 303)
    server = request.app.state
    context = build_context(
        instruction, page_state, notices, request.query_params, server.hardware.reason, server.limits.table_values
    )
    context |= {"look": look, "word": _build_word_form(query, context["issued"], wrong_word)}
    context |= {"sought": query.get("find", ""), "refusal": refusal or lost, "view_wrong": bool(refused or wrong_word)}
    return render_page(request, "instruction/page.html", context)


def _pin_operand(instruction: Instruction, name: str) -> dict[str, str]:
    """Return the query that pins the first cell of an operand; {} for C, which lies as D does and has no picture."""
    pin = {"pin": f"{name}:0,0"}
    _, not_drawn = state.parse_state(instruction, pin)
    return {} if not_drawn else pin


def _build_word_form(query: Mapping[str, str], issued: object, wrong: LayoutError | None) -> dict[str, Control]:
    """Return the form of the instruction descriptor: with that of the page, or the wrong one of the query."""
    word = query["idesc"] if wrong else getattr(issued, "word", "")
    return form_of(forms.WordForm, {"idesc": word}, error=wrong)


def _keep_descriptor(query: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a query that binds the instruction: its descriptor, and the target."""
    return {name: query[name] for name in ("idesc", "target") if query.get(name)}


def _list_target_notices(instruction: Instruction, target: str) -> list[str]:
    """Return why a target lacks the instruction; nothing if it has it, or for any target."""
    try:
        require_instruction(instruction, target)
    except LayoutError as error:
        return [f"{error.message} {error.hint}"]
    return []


def _find_pins(
    instruction: Instruction, page_state: state.PageState, query: Mapping[str, str]
) -> tuple[str | None, str]:
    """Return the page state with the result of the find field pinned, or the error; (None, "") if the field is
    empty.
    """
    text = query.get("find", "").strip()
    if not text:
        return None, ""
    try:
        pins = find.find_pins(instruction, text, page_state.product)
    except LayoutError as error:
        return None, f"{error.message} {error.hint}".strip()
    default = state.make_default_state(instruction)
    shown = page_state.format_query(default, **{"pin2": "", **pins})
    return f"{link_instruction(instruction)}?{shown}", ""


def _bind_query_descriptor(
    instruction: Instruction, query: Mapping[str, str]
) -> tuple[Instruction, LayoutError | None]:
    """Return the instruction of the page, and why a query's instruction descriptor is not used."""
    try:
        return state.bind_descriptor(instruction, query), None
    except LayoutError as error:
        return state.bind_descriptor(instruction, {"target": query.get("target", "")}), error.move_to_field("idesc")
