"""/instructions: every instruction, with filters and words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.catalogue import facts, groups, topics
from lanescope.app.catalogue.groups import GroupCount
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question_form import answer_without_wrong
from lanescope.app.read import certain_links, question_readings
from lanescope.app.read.facts import Reading
from lanescope.errors import LayoutError
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import list_widest

MOST_QUESTION = 400  # characters of a question that is answered here
MOST_HITS = 4  # forms named above the matrices
TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_107a", "sm_120a")
OFTEN = (
    "mma.m16n8k16 f16",
    "mma.m16n8k16 bf16",
    "wgmma.m64n256k16 bf16",
    "ldmatrix x4",
    "ldmatrix x2 trans",
    "tcgen05.mma f16",
    "A[5][9] of mma.m16n8k16 bf16",
)

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/instructions")
def catalogue_page(request: Request) -> Response:
    """Show the filtered instructions; redirect an exact match of a pasted line to its page."""
    filters = {name: request.query_params.get(name, "").strip() for name in facts.FILTERS}
    listing, filters, notices = _list_narrowed(filters)
    family = filters.pop("family")
    status = 422 if notices else 200
    answer = question_readings.read_place_question(filters["q"]) if len(filters["q"]) <= MOST_QUESTION else None
    guess, refusal = _guess_instruction(filters["q"])
    if refusal and not listing.count and not topics.find_named_topics(filters["q"]):
        notices.append(refusal)
    chosen = request.app.state.limits.chosen
    context = _build_matrices(chosen, family, _list_shown(request, listing, answer))
    context |= _answer_words(filters["q"], answer, context["rows"])
    context |= {
        "given": {**filters, "family": family},
        "notices": notices,
        "name_form": name_form,
        "link_instruction": link_instruction,
        "has_run": hardware_runs.has_run,
        "devices": [
            hardware_runs.shorten_device_name(data["meta"]["device"]) for data in hardware_runs.load_evidence()
        ],
        "guess": guess,
        "often": OFTEN,
        "targets": list_widest() if chosen else list(dict.fromkeys(filter(None, (*TARGETS, filters["target"])))),
        "assembler": catalog.get_assembler_release(),
        "takes": facts.FILTERS,
        "narrowed": [name for name in ("type", "shape") if filters[name]],
        "link": lambda **changes: _link_catalogue({**filters, "family": family, **changes}),
    }
    part = request.query_params.get("part") == "rows"
    name = "catalogue/rows.html" if part else "catalogue/page.html"
    return render_page(request, name, context, status)


def _list_narrowed(filters: dict[str, str]) -> tuple[facts.Listing, dict[str, str], list[str]]:
    """Return the listing of all families, the filters without unknown values, and why those are ignored."""

    def answer(kept: dict[str, str]) -> facts.Listing:
        facts.check_filter("family", kept.get("family", ""), catalog.FAMILY_NAMES)
        return facts.list_instructions(**{name: text for name, text in kept.items() if name != "family"})

    listing, error = answer_without_wrong(answer, filters)
    if listing is None:
        raise error or AssertionError
    errors = error.every if error else ()
    wrong = {one.field: f"{one.message} {one.hint} Shown without this filter." for one in errors}
    known = {name: "" if name in wrong else text for name, text in filters.items()}
    return listing, known, list(wrong.values())


def _build_matrices(chosen: Collection[str], family: str, rows: list[Instruction]) -> dict[str, Any]:
    """Return the matching forms, counted by group, and the matrices of the shown groups."""
    every = [i for i in catalog.instructions() if not chosen or i.ptx in chosen]
    counts = groups.count_groups(every, rows)
    found = {i.ptx for i in rows}
    return {
        "rows": rows,
        "count": len(rows),
        "total": len(every),
        "ran": sum(count.ran for count in counts),
        "tabs": counts,
        "shown": [
            (count.group, groups.build_matrices((i for i in count.group.forms if i.ptx in found), family))
            for count in _choose_groups(counts, family, all_of_them=bool(chosen))
        ],
    }


def _answer_words(text: str, answer: Reading | None, rows: list[Instruction]) -> dict[str, Any]:
    """Return the text above the matrices: the answer to a question, otherwise the first forms and the topics."""
    return {
        "answer": answer,
        "certain": certain_links.find_certain_link(text) if answer else "",
        "hits": [] if answer or not text else rows[:MOST_HITS],
        "topics": [] if answer else topics.find_topics(text),
        "topic_named": bool(topics.find_named_topics(text)),
    }


def _guess_instruction(text: str) -> tuple[Instruction | None, str]:
    """Return the instruction of a text, or the error; neither if it has no opcode."""
    if not text or not catalog.extract_opcode(text):
        return None, ""
    try:
        return catalog.find(text), ""
    except LayoutError as error:
        return None, f"{error.message} {error.hint}"


def _list_shown(request: Request, listing: facts.Listing, answer: Reading | None) -> list[Instruction]:
    """Return the matching forms of this server.

    The words of a question are not a filter: its forms are those of the answer.
    """
    chosen = request.app.state.limits.chosen
    found = [row.ptx for row in listing.instructions]
    if answer:
        found = [meaning.facts["ptx"] for meaning in (answer, *answer.also) if meaning.facts.get("ptx")]
    return [catalog.find(ptx) for ptx in found if not chosen or ptx in chosen]


def _choose_groups(counts: list[GroupCount], family: str, all_of_them: bool) -> list[GroupCount]:
    """Choose the shown groups: all of an exported page, otherwise the family's, otherwise the first with a form."""
    if all_of_them:
        return counts
    named = [
        count
        for count in counts
        if count.group.leading == family or (family and any(i.family.name == family for i in count.group.forms))
    ]
    best = next((count for count in named if count.group.leading == family), None)
    return [best] if best else named[:1] or [count for count in counts if count.found][:1] or counts[:1]


def _link_catalogue(query: dict[str, str]) -> str:
    filters = {name: value for name, value in query.items() if value}
    return f"/instructions?{urlencode(filters)}" if filters else "/instructions"
