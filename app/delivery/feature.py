"""From storage to operand: the question, its page, route and command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from lanescope.app.delivery.draw import draw_bits, draw_registers
from lanescope.app.delivery.facts import DeliveryFacts, DeliveryQuestion, build_delivery, find_delivery, make_request
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.delivery.ask import DeliveryRequest
from lanescope.delivery.named import NAMED
from lanescope.delivery.solve import parse_allowed
from lanescope.inputs import format_count, join_words


def list_changes(request: DeliveryRequest) -> dict[str, str]:
    """Return a request as a query: the fields that are not the default."""
    return {
        field.name: str(getattr(request, field.name))
        for field in fields(request)
        if getattr(request, field.name) != field.default
    }


def build_delivery_context(question: DeliveryQuestion, answer: DeliveryFacts) -> dict[str, Any]:
    """Return further template variables of the page."""
    found = find_delivery(make_request(question))
    return {
        "registers": draw_registers(found) if answer.found else "",
        "verdict": summarize(answer),
        "moves": join_words(parse_allowed(question.moves)),
    }


def summarize(answer: DeliveryFacts) -> str:
    """Return the answer as a sentence."""
    if not answer.found:
        return answer.why
    count = format_count(answer.instructions, "instruction")
    return f"{count} per warp. No sequence of the allowed steps has fewer."


def format_delivery(question: DeliveryQuestion, answer: DeliveryFacts) -> Iterator[str]:
    """Yield the lines of the command."""
    yield summarize(answer)
    for step in answer.steps:
        yield f"  {step.instructions:3}  {step.says}"
        yield f"       {' '.join(bit.holds for bit in step.after)}"
    if answer.least_swizzle:
        counts = f"{answer.wavefronts} wavefronts for {answer.ideal_wavefronts}"
        yield f"  bank conflicts: {counts}; {answer.least_swizzle} frees"
    if not answer.found:
        for fitting in answer.fitting:
            yield f"  {fitting.load} alone suffices if the lowest address bits are {' '.join(fitting.lowest) or 'any'}"
    if answer.renumbering:
        yield f"  permuted, as allowed (bit of the operand ← bit in the registers): {', '.join(answer.renumbering)}"
    yield answer.executed
    if answer.code:
        yield answer.code


DELIVER = Tool(
    question=DeliveryQuestion,
    answer=build_delivery,
    api="deliver",
    page="/deliver",
    template="delivery/page.html",
    context=build_delivery_context,
    picture=lambda question, answer: draw_bits(answer),
    command="deliver",
    lines=format_delivery,
    succeeds=lambda answer: answer.found,
    examples=tuple((title, list_changes(request)) for title, request in NAMED.items()),
    opening=list_changes(NAMED["FP8 V, transposed"]),
)
FEATURE = Feature(
    tools=(DELIVER,),
    menu=(
        Entry(
            "Shared memory",
            5,
            "Loads and moves",
            "/deliver",
            "the shortest loads and register moves that deliver an operand, or why there are none",
            below="/chain",
        ),
    ),
    examples={"/api/v1/deliver": "/api/v1/deliver?operand=b&first=8&stored=u4&source=chosen"},
)
