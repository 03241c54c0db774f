"""Questions about an element, a lane or a register of an instruction: `A[5][9] of mma.m16n8k16 bf16`, `R2 of lane 20`.
The engine answers; the link opens the page with the answer pinned.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lanescope.app.instruction import answers, lanes
from lanescope.app.instruction.find import pin_places
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.kit import links
from lanescope.app.kit.answer import format_runs
from lanescope.app.kit.find import MOST_TOGETHER
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.sought_place import SoughtPlace, check_whole
from lanescope.app.read import (
    address_elements,
    lane_elements,
    narrowed_places,
    place_readings,
    scale_elements,
    tensor_forms,
)
from lanescope.app.read.element_forms import NamedForms, find_forms, select_types
from lanescope.app.read.element_holders import (
    describe_holder,
    find_panel,
    format_holders,
    is_in_tensor_memory,
    list_places,
)
from lanescope.app.read.element_texts import SCALES, ElementQuestion, parse_question
from lanescope.app.read.facts import Meaning
from lanescope.app.read.place_readings import PlaceReading
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand

# the holders of a place, the query of the page that shows them, and the notices
ElementHolders: TypeAlias = tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]
MOST_FORMS = 12  # that are answered
_ADDRESS = re.compile(r"\b(?:address(?:es)?|points?|pointer|suppl(?:y|ies|ied))\b", re.I)
MOST_RUNS = 8  # of threads that a sentence lists
_SCALES = re.compile(r"\b(?:scales?(?!\s+ue\d)|sf[ab]?|metadata)\b", re.I)  # not `scale ue4m3` of a name


@dataclass(frozen=True, slots=True)
class ElementAnswers:
    """The answers for each matching form, the plain one first, or why there is none.

    certain: whether the first is right for every form with its opcode; more: how many other forms fit; unused: words
    that the answers ignore; elsewhere: pages with a place that no thread holds.
    """

    meanings: tuple[Meaning, ...]
    certain: bool = False
    more: int = 0
    refused: LayoutError | None = None
    unused: tuple[str, ...] = ()
    elsewhere: tuple[Meaning, ...] = ()


def asks_for_scales(text: str) -> bool:
    """Return whether a question is about scale factors or metadata, which no answer covers."""
    question = parse_question(text)
    return question is not None and _names_scales(text, question)


def _names_scales(text: str, question: ElementQuestion) -> bool:
    """Return whether a word beside the place, and not the place itself, means scale factors or metadata."""
    return any(place.letter not in (*SCALES, "e") for place in question.places) and _SCALES.search(text) is not None


def answer_question(text: str) -> ElementAnswers | None:
    """Answer a question about an element, a row, a lane or a register; None for any other text, or if its instruction
    is not known.
    """
    question = parse_question(text)
    if question is None or _names_scales(text, question):
        return None
    named = select_types(text, find_forms(question.rest))
    found = named.forms
    if not found:
        refusal = LayoutError("unknown_instruction", named.refused, "", "text")
        return ElementAnswers((), refused=refusal) if named.refused else None
    meanings: list[Meaning] = []
    elsewhere: tuple[Meaning, ...] = ()
    refused, is_open, answered = None, False, 0
    for form in found:
        if len(meanings) >= MOST_FORMS or answered == MOST_FORMS:
            break
        answered += 1
        try:
            form_bound = bind_descriptor(form, {})
            narrowed_places.check_numbers(text, question.rest, named)
            places = narrowed_places.list_places(question)
            readings = place_readings.list_readings(form_bound, places, named.a_shared)
            is_open |= len(readings) > 1
            meanings += [_build_reading(form_bound, question, reading, named) for reading in readings]
        except LayoutError as error:
            refused = refused or error
            if error is refused:
                elsewhere = place_readings.link_shared(form_bound, question.place)
    meanings = _sort_meanings(question, meanings, refused, bind_descriptor(found[0], {}).ptx)
    return ElementAnswers(
        tuple(meanings),
        not (is_open or question.narrowing) and _is_certain(named, meanings),
        len(found) - answered,
        None if meanings else refused,
        named.unused,
        elsewhere,
    )


def _sort_meanings(
    question: ElementQuestion, meanings: list[Meaning], refused: LayoutError | None, plain: str
) -> list[Meaning]:
    """Sort the answers: of the first opcode those with a holder first; the first says why the plain form has none."""
    if not meanings:
        return meanings
    if question.narrowing:
        opcode = _get_opcode(meanings[0])
        meanings = sorted(meanings, key=lambda each: not each.facts["holders"] or _get_opcode(each) != opcode)
    first, *rest = meanings
    if refused and all(meaning.facts["ptx"] != plain for meaning in meanings):
        first = dataclasses.replace(first, notices=tuple(dict.fromkeys((*first.notices, refused.message))))
    return [first, *rest]


def _is_certain(named: NamedForms, meanings: list[Meaning]) -> bool:
    """Return whether the first answer is of the plain form, and that of every form with its opcode."""
    if named.unused or len(named.forms) > MOST_FORMS or not meanings:
        return False
    first = meanings[0]
    alike = [meaning for meaning in meanings if _get_opcode(meaning) == _get_opcode(first)]
    return first.facts["ptx"] == bind_descriptor(named.forms[0], {}).ptx and all(
        meaning.facts["holders"] == first.facts["holders"] for meaning in alike
    )


def _build_reading(form: Instruction, question: ElementQuestion, reading: PlaceReading, named: NamedForms) -> Meaning:
    """Build the answer for one interpretation of the places of a question."""
    count = len(question.places)
    build = _build_answer if count == 1 else _build_comparison
    completed = dataclasses.replace(question, places=reading.places[:count], narrowing=reading.places[count:])
    meaning = build(form, completed, named)
    return dataclasses.replace(meaning, notices=(*meaning.notices, *reading.notices))


def _get_opcode(meaning: Meaning) -> str:
    return catalog.find(meaning.facts["ptx"]).syntax.opcode


def _build_comparison(form: Instruction, question: ElementQuestion, named: NamedForms) -> Meaning:
    """Build the answer about two places: both holders, and the page with both pins."""
    if len(question.places) > MOST_TOGETHER:
        message = f"The text names {len(question.places)} places; a page compares two."
        raise LayoutError("bad_find", message, "Ask for two of them.", "text")
    if question.narrowing:
        message = f"{question.text} are more places than a page compares."
        raise LayoutError("bad_find", message, "Ask for one of them, or compare two.", "text")
    first, second = (
        _build_answer(form, dataclasses.replace(question, places=(place,)), named) for place in question.places
    )
    return dataclasses.replace(
        first,
        title=f"{question.text} of {name_form(form).text}",
        link=links.link_instruction(form, query={**_describe_unusual(form), **pin_places(form, question.places)}),
        facts={**first.facts, "holders": [*first.facts["holders"], *second.facts["holders"]]},
        notices=tuple(
            dict.fromkeys(
                (*_name_lane(question.places[0], first, second), *_name_lane(question.places[1], second, first))
            )
        ),
    )


def _name_lane(place: SoughtPlace, meaning: Meaning, other: Meaning) -> list[str]:
    """Return the notices of one of two places; lists of a lane's elements begin with the lane."""
    lane = "" if place.thread is None else f"{place.text[0].upper()}{place.text[1:]}: "
    return [notice if notice in other.notices else lane + notice for notice in meaning.notices]


def _build_answer(form: Instruction, question: ElementQuestion, named: NamedForms) -> Meaning:
    place = question.place
    for each in (place, *question.narrowing):
        if not (each.coords and min(each.coords) < 0):  # the answer names the range
            check_whole(each, "bad_coordinate", "text")
    if named.a_shared and place.letter == "a":
        raise LayoutError(
            "operand_not_in_registers",
            f"A of {name_form(form).text} (_SS) is in shared memory: no thread holds its elements.",
            "A descriptor defines where they are; A of an _RS atom is in registers.",
            "text",
        )
    holders, query, notices = _find_holders(form, question, named.a_shared)
    if question.narrowing:
        holders, query, notices = _narrow_answer(form, question, named.a_shared)
    name = name_form(form).text
    if named.unused:
        notices = (*notices, f"Not used: {join_words(list(named.unused))}.")
    facts: dict[str, Any] = {
        "ptx": form.ptx,
        "candidates": [],
        "operand": holders[0]["operand"] if holders else None,
        "all": [form.ptx],
        "holders": holders,
    }
    link = links.link_instruction(form, query={**_describe_unusual(form), **query})
    return Meaning(kind="instruction", title=f"{question.text} of {name}", link=link, facts=facts, notices=notices)


def _narrow_answer(form: Instruction, question: ElementQuestion, a_shared: bool) -> ElementHolders:
    """Return the holders of the part of a place that the other places of its question have, too."""
    narrowed_places.check_lanes(form, question)
    _, query, notices = _find_holders(form, question, a_shared)
    kept = _list_holders(form, question, question.place, a_shared)
    for place in question.narrowing:
        others = None if place.is_detail else _list_holders(form, question, place, a_shared)
        kept = narrowed_places.narrow_holders(form, kept, place, others)
    left = narrowed_places.describe_narrowed(form, question, kept)
    if not kept:
        return kept, query, (left, *notices)
    return kept, query if question.place.coords else narrowed_places.link_narrowed(form, kept), (left,)


def _list_holders(
    form: Instruction, question: ElementQuestion, place: SoughtPlace, a_shared: bool
) -> list[dict[str, Any]]:
    """List the holders of one place of a question, of a lane without a warp those in every warp."""
    return [
        holder
        for each in narrowed_places.list_warps(form, place)
        for holder in _find_holders(form, dataclasses.replace(question, places=(each,)), a_shared)[0]
    ]


def _find_holders(form: Instruction, question: ElementQuestion, a_shared: bool) -> ElementHolders:
    """Return the holders of the places of a question, the query of the page that shows them, and the notices."""
    place = question.place
    asks_address = form.address and _ADDRESS.search(question.rest)
    if place.letter in (*SCALES, "e"):
        return scale_elements.answer_place(form, place)
    if place.coords:
        return _answer_element(form, place)
    if asks_address and place.line and place.line[0] == "row":
        return address_elements.answer_row(form, place, place.line[1])
    if place.line:
        return _answer_line(form, place, *place.line)
    if place.is_warp:
        return lane_elements.answer_warp(form, place, a_shared)
    if asks_address:
        return address_elements.answer_lane(form, place)
    return lane_elements.answer_lane(form, place, a_shared)


def _answer_element(form: Instruction, sought: SoughtPlace) -> ElementHolders:
    op = place_readings.find_operand(form, sought.letter)
    assert sought.coords is not None
    row, col = sought.coords
    letter = lanes.format_panel_title(op.name)
    place_readings.check_coords(form, op, row, col)
    holders = [
        describe_holder(form, op, owner)
        for place in list_places(op, row, col, sought.part)
        for owner in answers.find_owners(op, place).owners
    ]
    name = letter if sought.part is None else f"matrix {sought.part}"
    holder_text = format_holders(holders).removeprefix(f"{name}: ")
    where = "tensor memory: " if is_in_tensor_memory(op) else ""
    notices = [f"{name}[{row}][{col}] is in {where}{holder_text}.", *_list_notices(form, op)]
    panel = find_panel(form, op) if sought.part is None else f"matrix{sought.part}"
    if not panel and op.name == "c":
        notices.append("The page shows D, which has another layout.")
    return holders, {"pin": PIN.format(panel=panel, row=row, col=col)} if panel else {}, tuple(notices)


def _list_notices(form: Instruction, op: Operand) -> Iterator[str]:
    """Yield the limitations of an answer about an element of an operand."""
    if op.sparsity:
        letter = lanes.format_panel_title(op.name)
        yield f"{letter} is stored compressed: the column counts what is stored, the metadata place it."
    if not form.family.specified:
        yield form.family.note or "PTX does not define where these elements are."
    if op.name == "a" and form.family.by_descriptor:
        place = "tensor memory" if is_in_tensor_memory(op) else "registers"
        yield f"This is A in {place}; a descriptor can read it from shared memory instead."
    if form.family.issue:
        word = _describe_unusual(form).get("idesc")
        descriptor = f"instruction descriptor {word}" if word else "usual instruction descriptor"
        yield f"M, N and the types are those of the {descriptor}."


def _describe_unusual(form: Instruction) -> dict[str, str]:
    """Return the part of a page's query that has the descriptor of a tcgen05.mma; {} for the usual one."""
    is_usual = not form.family.issue or bind_descriptor(catalog.find(form.listed_ptx), {}) == form
    return {} if is_usual else tensor_forms.make_descriptor_query(form)


def _answer_line(form: Instruction, sought: SoughtPlace, axis: str, number: int) -> ElementHolders:
    """Return the holders of a row or a column of an operand."""
    op = place_readings.find_operand(form, sought.letter)
    letter = lanes.format_panel_title(op.name)
    word = "row" if axis == "row" else "column"
    place_readings.check_coords(form, op, *((number, 0) if axis == "row" else (0, number)))
    across = range(op.col_count if axis == "row" else op.row_count)
    cells = [(number, other) if axis == "row" else (other, number) for other in across]
    holders = [
        describe_holder(form, op, owner)
        for cell in cells
        for place in list_places(op, *cell, sought.part)
        for owner in answers.find_owners(op, place).owners
    ]
    threads = sorted({holder["thread"] for holder in holders})
    unit = form.family.scope.thread
    shown = format_runs(threads).split(", ")
    if len(shown) > MOST_RUNS:
        shown = [*shown[:3], "…", shown[-1]]
    who = f"{unit} {threads[0]}" if len(threads) == 1 else f"{unit}s {', '.join(shown)}"
    query = {"lanes": format_runs(threads, "-", ",")} if threads else {}
    name = "each matrix" if op.extents.get("matrix", 1) > 1 else letter
    name = name if sought.part is None else f"matrix {sought.part}"
    return holders, query, (f"{word.capitalize()} {number} of {name} is in {who}.",)
