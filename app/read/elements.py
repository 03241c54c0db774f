"""Questions about an element, a lane or a register of an instruction: `A[5][9] of mma.m16n8k16 bf16`, `R2 of lane 20`.
The engine answers; the link opens the page with the answer pinned. No framework.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanescope.app.instruction import answers, lanes, wording
from lanescope.app.instruction.answers import HeldValue
from lanescope.app.instruction.find import list_warp, pin_places
from lanescope.app.instruction.state import SEPARATE, bind_descriptor
from lanescope.app.kit import links
from lanescope.app.kit.find import MOST_TOGETHER, SoughtPlace, check_whole
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.names import name_form
from lanescope.app.read import address_elements, place_readings, scale_elements
from lanescope.app.read.element_forms import NamedForms, find_forms
from lanescope.app.read.element_texts import SCALES, ElementQuestion, parse_question
from lanescope.app.read.facts import Meaning
from lanescope.app.read.place_readings import PlaceReading
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.render.view import make_figure

MOST_FORMS = 12  # that are answered
_ADDRESS = re.compile(r"\b(?:address(?:es)?|points?|pointer)\b", re.I)
MOST_RUNS = 8  # of threads that a sentence lists
_SCALES = re.compile(r"\b(?:scales?(?!\s+ue\d)|sf[ab]?|metadata)\b", re.I)  # not `scale ue4m3` of a name


@dataclass(frozen=True, slots=True)
class ElementAnswers:
    """The answers for each form that fits, the plain one first, or why there is none.

    certain: whether the first is right for every form with its opcode; more: how many other forms fit; unused: words
    that the answers do not use; elsewhere: pages that show a place which no thread holds.
    """

    question: ElementQuestion
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
    """Return whether scale factors or metadata are meant by a word beside the place, not by the place itself."""
    return any(place.letter not in (*SCALES, "e") for place in question.places) and _SCALES.search(text) is not None


def answer_question(text: str) -> ElementAnswers | None:
    """Answer a question about an element, a row, a lane or a register; None for any other text, or if its instruction
    is not known.
    """
    question = parse_question(text)
    if question is None or _names_scales(text, question):
        return None
    named = find_forms(question.rest)
    found = named.forms
    if not found:
        return None
    meanings: list[Meaning] = []
    elsewhere: tuple[Meaning, ...] = ()
    refused, is_open, answered = None, False, 0
    for form in found:
        if len(meanings) >= MOST_FORMS or answered == MOST_FORMS:
            break
        answered += 1
        try:
            form_bound = bind_descriptor(form, {})
            readings = place_readings.list_readings(form_bound, question.places, named.a_shared)
            is_open |= len(readings) > 1
            meanings += [_build_reading(form_bound, question, reading, named) for reading in readings]
        except LayoutError as error:
            refused = refused or error
            if error is refused:
                elsewhere = place_readings.link_shared(form_bound, question.place)
    alike = [meaning for meaning in meanings if _get_opcode(meaning) == _get_opcode(meanings[0])]
    certain = (
        not (named.unused or is_open)
        and len(found) <= MOST_FORMS
        and bool(meanings)
        and meanings[0].facts["ptx"] == bind_descriptor(found[0], {}).ptx
        and all(meaning.facts["holders"] == meanings[0].facts["holders"] for meaning in alike)
    )
    return ElementAnswers(
        question,
        tuple(meanings),
        certain,
        len(found) - answered,
        None if meanings else refused,
        named.unused,
        elsewhere,
    )


def _build_reading(form: Instruction, question: ElementQuestion, reading: PlaceReading, named: NamedForms) -> Meaning:
    """Build the answer for one of the ways in which the places of a question may be meant."""
    build = _build_answer if len(reading.places) == 1 else _build_comparison
    meaning = build(form, dataclasses.replace(question, places=reading.places), named)
    return dataclasses.replace(meaning, notices=(*meaning.notices, *reading.notices))


def _get_opcode(meaning: Meaning) -> str:
    return catalog.find(meaning.facts["ptx"]).syntax.opcode


def _build_comparison(form: Instruction, question: ElementQuestion, named: NamedForms) -> Meaning:
    """Build the answer about two places: both holders, and the page with both pins."""
    if len(question.places) > MOST_TOGETHER:
        message = f"The text names {len(question.places)} places; a page compares two."
        raise LayoutError("bad_find", message, "Ask for two of them.", "text")
    first, second = (
        _build_answer(form, dataclasses.replace(question, places=(one,)), named) for one in question.places
    )
    return dataclasses.replace(
        first,
        title=f"{question.text} of {name_form(form).text}",
        link=links.link_instruction(form, query=pin_places(form, question.places)),
        facts={**first.facts, "holders": [*first.facts["holders"], *second.facts["holders"]]},
        notices=tuple(
            dict.fromkeys(
                (*_name_lane(question.places[0], first, second), *_name_lane(question.places[1], second, first))
            )
        ),
    )


def _name_lane(place: SoughtPlace, meaning: Meaning, other: Meaning) -> list[str]:
    """Return the notices of one of two places; those that list what a lane holds begin with the lane."""
    lane = "" if place.thread is None else f"{place.text[0].upper()}{place.text[1:]}: "
    return [notice if notice in other.notices else lane + notice for notice in meaning.notices]


def _build_answer(form: Instruction, question: ElementQuestion, named: NamedForms) -> Meaning:
    place = question.place
    if not (place.coords and min(place.coords) < 0):  # the answer names the range
        check_whole(place, "bad_coordinate", "text")
    if named.a_shared and place.letter == "a":
        raise LayoutError(
            "operand_not_in_registers",
            f"A of {name_form(form).text} is in shared memory, as _SS says: no thread holds its elements.",
            "A descriptor says where they lie; of an _RS atom A is in registers.",
            "text",
        )
    if place.letter in (*SCALES, "e"):
        holders, query, notices = scale_elements.answer_place(form, place)
    elif place.coords:
        holders, query, notices = _answer_element(form, place)
    elif form.address and place.line and place.line[0] == "row" and _ADDRESS.search(question.rest):
        holders, query, notices = address_elements.answer_row(form, place, place.line[1])
    elif place.line:
        holders, query, notices = _answer_line(form, place, *place.line)
    elif place.is_warp:
        holders, query, notices = _answer_warp(form, place, named.a_shared)
    elif form.address and _ADDRESS.search(question.rest):
        holders, query, notices = address_elements.answer_lane(form, place)
    else:
        holders, query, notices = _answer_lane(form, place, named.a_shared)
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
    link = links.link_instruction(form, query=query)
    return Meaning(kind="instruction", title=f"{place.text} of {name}", link=link, facts=facts, notices=notices)


def _answer_element(
    form: Instruction, sought: SoughtPlace
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    op = place_readings.find_operand(form, sought.letter)
    assert sought.coords is not None
    row, col = sought.coords
    letter = lanes.format_panel_title(op.name)
    place_readings.check_coords(form, op, row, col)
    holders = [
        _describe_holder(form, op, held)
        for place in _list_places(op, row, col, sought.part)
        for held in answers.find_owners(op, place).owners
    ]
    name = letter if sought.part is None else f"matrix {sought.part}"
    held = format_holders(holders).removeprefix(f"{name}: ")
    where = "tensor memory: " if _is_tensor(op) else ""
    notices = [f"{name}[{row}][{col}] is in {where}{held}."]
    if op.sparsity:
        notices.append(f"{letter} is stored compressed: the column counts what is stored, the metadata place it.")
    if not form.family.specified:
        notices.append(form.family.note or "PTX does not say where these elements lie.")
    if op.name == "a" and form.family.by_descriptor:
        place = "tensor memory" if _is_tensor(op) else "registers"
        notices.append(f"This is A in {place}; a descriptor can read it from shared memory instead.")
    if form.family.issue:
        notices.append("M, N and the types are those of the usual instruction descriptor.")
    panel = _find_panel(form, op) if sought.part is None else f"matrix{sought.part}"
    if not panel and op.name == "c":
        notices.append("The page shows D, which lies otherwise.")
    return holders, {"pin": PIN.format(panel=panel, row=row, col=col)} if panel else {}, tuple(notices)


def _answer_line(
    form: Instruction, sought: SoughtPlace, axis: str, number: int
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Answer who holds a row or a column of an operand."""
    op = place_readings.find_operand(form, sought.letter)
    letter = lanes.format_panel_title(op.name)
    word = "row" if axis == "row" else "column"
    place_readings.check_coords(form, op, *((number, 0) if axis == "row" else (0, number)))
    across = range(op.col_count if axis == "row" else op.row_count)
    cells = [(number, other) if axis == "row" else (other, number) for other in across]
    holders = [
        _describe_holder(form, op, held)
        for cell in cells
        for place in _list_places(op, *cell)
        for held in answers.find_owners(op, place).owners
    ]
    threads = sorted({holder["thread"] for holder in holders})
    unit = form.family.scope.thread
    shown = lanes.format_runs(threads).split(", ")
    if len(shown) > MOST_RUNS:
        shown = [*shown[:3], "…", shown[-1]]
    who = f"{unit} {threads[0]}" if len(threads) == 1 else f"{unit}s {', '.join(shown)}"
    query = {"lanes": lanes.format_runs(threads, "-", ",")} if threads else {}
    name = "each matrix" if op.extents.get("matrix", 1) > 1 else letter
    return holders, query, (f"{word.capitalize()} {number} of {name} is in {who}.",)


def _answer_warp(
    form: Instruction, sought: SoughtPlace, a_shared: bool
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Answer which rows and columns of each operand a warp holds."""
    threads = list_warp(form, sought)
    operands = _find_operands(form, sought, a_shared).values()
    holders = [
        _describe_holder(form, op, held)
        for op in operands
        for thread in threads
        for held in answers.find_lane_values(op, thread, None).values
    ]
    unit = form.family.scope.thread
    notices = [f"Warp {sought.warp} is {unit}s {threads[0]}–{threads[-1]}."]
    for op in operands:
        held = [one for one in holders if one["operand"] == op.name and "row" in one and "col" in one]
        letter = lanes.format_panel_title(op.name)
        rows, cols = (sorted({one[axis] for one in held}) for axis in ("row", "col"))
        if len({(one["row"], one["col"]) for one in held}) == len(rows) * len(cols) > 0:
            notices.append(f"{letter}: rows {lanes.format_runs(rows)}, columns {lanes.format_runs(cols)}.")
    return holders, {"lanes": f"{threads[0]}-{threads[-1]}"}, tuple(notices)


def format_holders(holders: list[dict[str, Any]]) -> str:
    """Format who holds an element: each, or the first four and how many more."""
    shown = "; ".join(holder["text"] for holder in holders[:4])
    return f"{shown}; and {len(holders) - 4} more" if len(holders) > 4 else shown


def _format_bits(first: int, count: int) -> str:
    return f"bits {first + count - 1}:{first}" if count > 1 else f"bit {first}"


def _list_places(op: Operand, row: int, col: int, part: int | None = None) -> list[str]:
    """List the coordinates of an element: one, or one of each of m8n8k4's products or a load's matrices. part: of
    which alone; LayoutError if there is none.
    """
    down, across = op.plane
    extra = [axis for axis in op.axes if axis not in (down, across)]
    places: list[dict[str, int]] = [{down: row, across: col}]
    for axis in extra:
        count = op.extents[axis]
        if part is not None and part >= count:
            hint = f"They go from 0 to {count - 1}."
            raise LayoutError("bad_coordinate", f"There is no {axis} {part}.", hint, "text")
        places = [
            {**place, axis: n} for place in places for n in (range(count) if part is None else range(part, part + 1))
        ]
    return [",".join(str(place[axis]) for axis in op.axes) for place in places]


def _find_panel(form: Instruction, op: Operand) -> str:
    """Find the panel of the page that shows an operand, "" if none does; D's shows C if both are alike."""
    panels = {panel.name for panel in make_figure(form).panels if panel.grid}
    if op.name in panels:
        return op.name
    return "d" if op.name == "c" and "d" in panels and lanes.is_c_like_d(form) else ""


def _is_tensor(op: Operand) -> bool:
    return op.scope.place is OperandPlace.TENSOR


def _find_operands(form: Instruction, sought: SoughtPlace, a_shared: bool) -> dict[str, Operand]:
    """Find the operand that a place names, or all that threads may hold."""
    names = [sought.letter] if sought.letter else [op.name for op in lanes.list_distinct_operands(form)]
    found = (place_readings.find_operand(form, name) for name in names if name != "a" or not a_shared)
    return {op.name: op for op in found}


def _answer_lane(
    form: Instruction, sought: SoughtPlace, a_shared: bool
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    lane = sought.thread or 0
    operands = _find_operands(form, sought, a_shared)
    if any(map(_is_tensor, operands.values())) and (sought.register is not None or not sought.is_lane):
        raise LayoutError(
            "operand_not_in_registers",
            f"{name_form(form).text} has its operands in tensor memory: lanes and columns, no registers of threads.",
            f"Ask for lane {lane}.",
            "text",
        )
    threads = min(form.threads, 32) if sought.is_lane and form.family.scope.several else form.threads
    word = "lane" if sought.is_lane else form.family.scope.thread
    if lane >= threads:
        raise LayoutError(
            "bad_lane", f"{name_form(form).text} has no {word} {lane}.", f"They go from 0 to {threads - 1}.", "text"
        )
    if sought.warp is not None:
        warps = form.threads // 32
        if sought.warp >= warps:
            hint = f"It has warp {'0 alone' if warps == 1 else f'0 to {warps - 1}'}."
            raise LayoutError("bad_lane", f"{name_form(form).text} has no warp {sought.warp}.", hint, "text")
        lane += 32 * sought.warp
    holders = [
        _describe_holder(form, op, held)
        for op in operands.values()
        for held in answers.find_lane_values(op, lane, None).values
        if sought.register in (None, held.register) and sought.value in (None, held.value)
    ]
    if not holders:
        most = max(op.registers for op in operands.values())
        hint = f"Registers go from R0 to R{most - 1}."
        if sought.value is not None:
            last = max(op.values for op in operands.values()) - 1
            hint = f"Values go from {sought.letter}0 to {sought.letter}{last}."
        raise LayoutError("bad_register", f"{sought.text} holds nothing of {name_form(form).text}.", hint, "text")
    notices = [_format_lane(op, [one for one in holders if one["operand"] == op.name]) for op in operands.values()]
    if form.family.scope.several and sought.is_lane and sought.warp is None:
        notices.append("This is the lane of the warpgroup's first warp; the others follow 32 threads apart.")
    query = {"lanes": str(lane)}
    first = holders[0]
    if product := next((first[axis] for axis in SEPARATE if axis in first), 0):
        query["product"] = str(product)
    panel = f"matrix{first['matrix']}" if "matrix" in first else _find_panel(form, operands[first["operand"]])
    if panel and "row" in first and "col" in first:
        query["pin"] = PIN.format(panel=panel, row=first["row"], col=first["col"])
    return holders, query, tuple(filter(None, notices))


def _format_lane(op: Operand, held: list[dict[str, Any]]) -> str:
    """Format what a lane holds of an operand: the elements of each register."""
    letter = lanes.format_panel_title(op.name)
    registers: dict[int, list[str]] = {}
    for one in held:
        registers.setdefault(one["register"], []).append(_name_element(op, letter, one))
    prefix = f"{op.scope.register} " if _is_tensor(op) else "R"
    shown = [f"{prefix}{register} {' '.join(places)}" for register, places in list(registers.items())[:8]]
    more = f" and {len(registers) - 8} more {op.scope.register}s" if len(registers) > 8 else ""
    parts = {f" of {axis} {one[axis]}" for one in held for axis in SEPARATE if axis in one}
    part = parts.pop() if len(parts) == 1 else ""
    return f"{letter}{part}: {', '.join(shown)}{more}." if shown else ""


def _name_element(op: Operand, letter: str, one: dict[str, Any]) -> str:
    """Name the element that a value is: A[5][9], matrix 1[3][2] of a load, lane 5 column 3 of tensor memory."""
    if "row" not in one or "col" not in one:
        return " ".join(f"{axis} {one[axis]}" for axis in op.axes if axis in one) or one["name"]
    name = f"matrix {one['matrix']}" if "matrix" in one else letter
    return f"{name}[{one['row']}][{one['col']}]"


def _describe_holder(form: Instruction, op: Operand, held: HeldValue) -> dict[str, Any]:
    """Describe one value of a thread: where it is held and which element it is."""
    facts = {name: value for name, value in dataclasses.asdict(held).items() if value is not None}
    facts["bit"] = bit = held.bit + op.padding_below
    who, more = wording.format_holder(form, held.thread)
    where = f"register R{held.register}" if op.scope.register == "register" else f"{op.scope.register} {held.register}"
    bits = f", {_format_bits(bit, held.bits)}" if held.bits < op.register_bits else ""
    thread = f" ({more})" if form.family.scope.several else ""
    part = "".join(f"{axis} {facts[axis]}: " for axis in op.axes if axis not in op.plane and axis in facts)
    return {"operand": op.name, **facts, "text": f"{part}{who}{thread}, {where}{bits}"}
