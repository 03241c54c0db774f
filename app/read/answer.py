"""The answer of POST /read: the meanings of a text, and its parts verified together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.question import declare_question, options_of, raw_field
from lanescope.app.kit.target import parse_target, target_field
from lanescope.app.read import checked, workbench
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, find_nearest_word, require_object, require_text, shorten_value
from lanescope.reader import LONGEST
from lanescope.workbench import Workbench


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
    target: str = target_field()


def answer_read(body: Json) -> Reading:
    """Describe a text: PTX, a descriptor or code that builds one, a CuTe layout, a CUTLASS atom, a wmma fragment,
    SASS, or a word; the page that shows it, and other possible meanings. If one text has descriptors, tensor maps
    and instructions, `bench` has the result of verifying them together; `assume` gives values that the text leaves
    open. Of code, `check` has the report of POST /check.
    """
    check_keys(body, options_of(ReadBody))
    text = require_text(body.get("text"), "text", LONGEST)
    assumed = require_object(body.get("assume", {}), "assume", "Give {key: value}, by the keys of bench.assumed.")
    return read_and_check(text, {key: str(value) for key, value in assumed.items()}, parse_target(body))


def read_and_check(
    text: str, assumptions: Mapping[str, str], target: str = "", name: str = "", seconds: float | None = None
) -> Reading:
    """Return the meanings of a text, with its Workbench if it has one and, if it is code, the report of check;
    LayoutError for an unknown key of `assumptions`, or a wrong value. The other arguments are those of `examine_text`.
    """
    _refuse_unknown_keys(assumptions)
    reading = read_text(text)
    with _name_assumption():
        examined = checked.examine_text(text, assumptions, target, name, seconds)
    return dataclasses.replace(_add_bench(reading, examined.bench, text, assumptions), check=examined.report)


@contextmanager
def _name_assumption() -> Iterator[None]:
    """Name the assumption in an error about its value."""
    try:
        yield
    except LayoutError as error:
        raise error.move_to_field(f"assume.{error.field}") from None


def _refuse_unknown_keys(assumptions: Mapping[str, str]) -> None:
    for key in assumptions:
        if not key.startswith(workbench.KEYS):
            nearest = find_nearest_word(key, workbench.KEYS)
            hint = (f"Did you mean '{nearest}…'? " if nearest else "") + "Allowed: the keys of bench.assumed."
            raise LayoutError(
                "unknown_key", f"assume has no key '{shorten_value(key)}'.", hint, f"assume.{shorten_value(key)}"
            )


def _add_bench(reading: Reading, bench: Workbench, text: str, assumptions: Mapping[str, str]) -> Reading:
    if not workbench.has_verdict(bench):
        return reading
    assumed = {assumption.key: assumption.value for assumption in bench.assumed if assumption.deciding}
    return dataclasses.replace(
        reading, bench=workbench.build_answer(bench, text, assumptions), assumed=assumed, caution=bench.caution
    )
