"""The answer of POST /read: the meanings of a text, and its parts verified together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated

from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.question import declare_question, options_of, raw_field
from lanescope.app.read import workbench
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, find_nearest_word, require_object, require_text, shorten_value
from lanescope.reader import LONGEST


@declare_question
class ReadBody:
    """A pasted text."""

    text: str = raw_field(
        "Text",
        "",
        required=True,
        type=Annotated[str, Description(limits={"maxLength": LONGEST})],
        examples=("SM90_64x128x16_F32BF16BF16_SS", "HMMA.16816.F32"),
    )
    assume: Json = raw_field(
        "Assumed",
        "Values that the text does not specify, by the keys of bench.assumed.",
        {},
        derived=True,
        type=dict[str, str | int],
        examples=({"at.smem_A": "0x400", "major.b": "MN"},),
    )


def answer_read(body: Json) -> Reading:
    """Describe a text: PTX, a descriptor or code that builds one, a CuTe layout, a CUTLASS atom, a wmma fragment,
    SASS, or a word; the page that shows it, and other possible meanings. If one text has descriptors, tensor maps
    and instructions, `bench` has the result of verifying them together; `assume` gives values that the text leaves
    open.
    """
    check_keys(body, options_of(ReadBody))
    text = require_text(body.get("text"), "text", LONGEST)
    assumed = require_object(body.get("assume", {}), "assume", "Give {key: value}, by the keys of bench.assumed.")
    return read_and_verify(text, {key: str(value) for key, value in assumed.items()})


def read_and_verify(text: str, assumptions: Mapping[str, str]) -> Reading:
    """Return the meanings of a text, with its Bench if it has one; LayoutError for an unknown key of `assumptions`, or
    a wrong value.
    """
    for key in assumptions:
        if not key.startswith(workbench.KEYS):
            nearest = find_nearest_word(key, workbench.KEYS)
            hint = (f"Did you mean '{nearest}…'? " if nearest else "") + "Allowed: the keys of bench.assumed."
            raise LayoutError(
                "unknown_key", f"assume has no key '{shorten_value(key)}'.", hint, f"assume.{shorten_value(key)}"
            )
    reading = read_text(text)
    try:
        bench = workbench.verify_text(text, assumptions)
    except LayoutError as error:
        raise error.move_to_field(f"assume.{error.field}") from None
    if bench is None:
        return reading
    assumed = {assumption.key: assumption.value for assumption in bench.assumed if assumption.deciding}
    return dataclasses.replace(
        reading, bench=workbench.build_answer(bench, text, assumptions), assumed=assumed, caution=bench.caution
    )
