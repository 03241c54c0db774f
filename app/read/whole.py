"""The answer of POST /read: what a text is, and its parts verified together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lanescope.app.read import bench
from lanescope.app.read.facts import Reading
from lanescope.app.read.reading import read
from lanescope.errors import LayoutError
from lanescope.reading import nearest, shown


def whole(text: str, given: Mapping[str, str]) -> Reading:
    """What a text is, with its Bench where it has one. LayoutError for an unknown key of `given`, or a wrong value."""
    for key in given:
        if not key.startswith(bench.KEYS):
            near = nearest(key, bench.KEYS)
            hint = (f"Did you mean '{near}…'? " if near else "") + "Allowed: the keys of bench.assumed."
            raise LayoutError("unknown_key", f"assume has no key '{shown(key)}'.", hint, f"assume.{shown(key)}")
    told = read(text)
    try:
        made = bench.of(text, given)
    except LayoutError as error:
        raise error.at(f"assume.{error.field}") from None
    if made is None:
        return told
    assumed = {one.key: one.value for one in made.assumed if one.deciding}
    return dataclasses.replace(told, bench=bench.facts(made, text, given), assumed=assumed, caution=made.caution)
