"""Places that narrow another: the elements of `column 3 of D` that `lane 10` holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanescope.app.instruction import lanes
from lanescope.app.kit.answer import format_runs
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.read import lane_elements, place_readings, tensor_forms
from lanescope.app.read.element_forms import NamedForms
from lanescope.app.read.element_texts import ElementQuestion
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, shorten_value
from lanescope.names import lookup, search
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction
from lanescope.render.view import ADDRESS

MOST_LISTED = 8  # elements of a notice
_TENSOR = re.compile(r"\b(?:tmem|tensor memory)\b", re.I)
_NUMBER = re.compile(r"\d")


def list_places(question: ElementQuestion) -> tuple[SoughtPlace, ...]:
    """List the places of a question, then those that narrow them, with the matrix that one of these names; LayoutError
    if they name several.
    """
    places = (*question.places, *question.narrowing)
    if not question.narrowing:
        return places
    named = {place.matrix.replace("c", "d"): place.matrix for place in places if place.matrix}
    letters = {name: matrix for name, matrix in named.items() if not name.startswith("matrix")}
    if len(letters) > 1 or len(named) - len(letters) > 1:
        message = f"The text names {join_words(sorted(name.upper() for name in named.values()))}."
        raise LayoutError("bad_find", message, "An element is of one matrix.", "text")
    matrix = next(iter((letters or named).values()), "")
    return tuple(
        place if place.matrix or (not letters and place.thread is not None) else replace(place, matrix=matrix)
        for place in places
    )


def check_numbers(text: str, rest: str, named: NamedForms) -> None:
    """Raise LayoutError if the unused words of a question have a number, which may be a part of the place.

    rest: the text without its places.
    """
    words = [word for word in named.unused if _NUMBER.search(word)]
    if not words:
        return
    if shapes := [word for word in words if _may_be_shape(word.lower())]:
        message = f"No instruction has {lookup.quote_words(shapes)}.{lookup.list_alike(shapes, named.forms)}"
        raise LayoutError("unknown_instruction", tensor_forms.explain_none(rest) or message, "", "text")
    match = re.search(rf"(?:\b[a-z]+\s+)?\S*(?<!\w){re.escape(words[0])}(?!\w)\S*", text, re.I)
    part = match[0].strip(",.?") if match else words[0]
    message = f"‘{shorten_value(part, 40)}’ is not read as a part of a place."
    hint = "A place is A[5][9], row 3 of D, lane 13, R2 of lane 20, or value 3 of thread 5."
    raise LayoutError("bad_find", message, hint, "text")


def _may_be_shape(word: str) -> bool:
    """Return whether a word may be an instruction's shape: m64n100, or three lengths such as 64x100x16; 2x2 is not."""
    parts = search.split_shape(word)
    return "0x" not in word and (len(parts) == 3 or (bool(parts) and word[0] in "mnk"))


def narrow_holders(
    form: Instruction, holders: list[dict[str, Any]], place: SoughtPlace, others: Sequence[Mapping[str, Any]] | None
) -> list[dict[str, Any]]:
    """Return the holders that another place has, too. others: those of this place, None if it is only a detail."""
    if others is not None:
        kept = {_make_key(form, holder) for holder in others}
        return [holder for holder in holders if _make_key(form, holder) in kept]
    _check_detail(form, place)
    return [holder for holder in holders if _has_detail(form, holder, place)]


def list_warps(form: Instruction, place: SoughtPlace) -> list[SoughtPlace]:
    """List a lane in every warp that executes an instruction, if the text does not name its warp; else the place."""
    if not (place.is_lane and place.warp is None and form.family.scope.several):
        return [place]
    return [replace(place, warp=warp) for warp in range(form.threads // 32)]


def check_lanes(form: Instruction, question: ElementQuestion) -> None:
    """Raise LayoutError for a lane beside a row or a column that may be of tensor memory."""
    places = (question.place, *question.narrowing)
    lane = next((place for place in places if place.is_lane), None)
    in_lanes = any("lane" in op.axes for op in form.operands.values()) or _TENSOR.search(question.rest)
    if lane is not None and in_lanes and any(place.line or place.coords for place in places):
        message = f"The lane and the column of ‘{question.text}’ may be of tensor memory, or of a warp and a matrix."
        hint = f"Write thread {lane.thread}, row {lane.thread}, or tmem lane {lane.thread} without an instruction."
        raise LayoutError("bad_find", message, hint, "text")


def describe_narrowed(form: Instruction, question: ElementQuestion, holders: list[dict[str, Any]]) -> str:
    """Describe what is left of a place, element by element."""
    if not holders:
        within = join_words([f"in {text}" for text in question.list_narrowing()])
        return f"Nothing of {question.place.text} is {within}."
    shown = [f"{_name_element(form, holder)} is in {holder['text']}" for holder in holders[:MOST_LISTED]]
    more = f"; and {len(holders) - MOST_LISTED} more" if len(holders) > MOST_LISTED else ""
    return f"{'; '.join(shown)}{more}."


def link_narrowed(form: Instruction, holders: list[dict[str, Any]]) -> dict[str, str]:
    """Return the query of the page that shows the holders, the first element pinned."""
    threads = sorted({holder["thread"] for holder in holders})
    return {"lanes": format_runs(threads, "-", ",")} | lane_elements.pin_value(form, form.operands, holders[0])


def _name_element(form: Instruction, holder: Mapping[str, Any]) -> str:
    op = form.operands.get(holder["operand"])
    name = lane_elements.name_element(op.axes if op else ("matrix", "row"), holder)
    return f"the address of {name}" if holder["operand"] == ADDRESS else name


def _make_key(form: Instruction, holder: Mapping[str, Any]) -> tuple[Any, ...]:
    operand = "d" if holder["operand"] == "c" and lanes.is_c_like_d(form) else holder["operand"]
    return (operand, *(holder.get(name) for name in ("thread", "value", "register", "bit", "matrix", "row", "col")))


def _check_detail(form: Instruction, place: SoughtPlace) -> None:
    """Raise LayoutError for a register, a value, bits or a matrix that no operand has."""
    letters = [place.letter] if place.letter else list(form.operands)
    operands = [place_readings.find_operand(form, letter) for letter in letters]
    sizes = {
        "register": max(op.registers for op in operands),
        "value": max(op.values for op in operands),
        "bit": max(op.register_bits for op in operands),
        "matrix": max(op.extents.get("matrix", op.extents.get("product", 1)) for op in operands),
    }
    sought = {
        "register": place.register,
        "value": place.value,
        "bit": place.bits[1] if place.bits else None,
        "matrix": place.part,
    }
    for what, number in sought.items():
        if number is not None and number >= sizes[what]:
            unit = "register" if what == "bit" else "thread"
            message = f"{name_form(form).text} has no {what} {number} in a {unit}."
            raise LayoutError("bad_find", message, f"They go from 0 to {sizes[what] - 1}.", "text")


def _has_detail(form: Instruction, holder: Mapping[str, Any], place: SoughtPlace) -> bool:
    operand = place_readings.find_operand(form, place.letter).name if place.letter else ""
    alike = {"c", "d"} if lanes.is_c_like_d(form) and operand in ("c", "d") else {operand}
    first, last = place.bits or (0, holder["bit"])
    return (
        (not operand or holder["operand"] in alike)
        and place.register in (None, holder["register"])
        and place.value in (None, holder["value"])
        and place.part in (None, holder.get("matrix", holder.get("product")))
        and first < holder["bit"] + holder["bits"]
        and holder["bit"] <= last
    )
