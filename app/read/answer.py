"""The answer of POST /read: what a text is, and its parts verified together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lanescope.app.read import workbench
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value


def read_and_verify(text: str, given: Mapping[str, str]) -> Reading:
    """What a text is, with its Bench where it has one. LayoutError for an unknown key of `given`, or a wrong value."""
    for key in given:
        if not key.startswith(workbench.KEYS):
            near = find_nearest_word(key, workbench.KEYS)
            hint = (f"Did you mean '{near}…'? " if near else "") + "Allowed: the keys of bench.assumed."
            raise LayoutError(
                "unknown_key", f"assume has no key '{shorten_value(key)}'.", hint, f"assume.{shorten_value(key)}"
            )
    told = read_text(text)
    try:
        made = workbench.verify_text(text, given)
    except LayoutError as error:
        raise error.at(f"assume.{error.field}") from None
    if made is None:
        return told
    assumed = {one.key: one.value for one in made.assumed if one.deciding}
    return dataclasses.replace(
        told, bench=workbench.build_answer(made, text, given), assumed=assumed, caution=made.caution
    )
