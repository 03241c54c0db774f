"""The answer of POST /read: what a text is, and its parts verified together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lanescope.app.read import workbench
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value


def read_and_verify(text: str, assumptions: Mapping[str, str]) -> Reading:
    """Return what a text is, with its Bench if it has one; LayoutError for an unknown key of `assumptions`, or a wrong
    value.
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
