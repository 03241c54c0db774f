"""The parts of guide pages that come from tables of the engine: a line `@part name arguments` in a page is one of
PARTS, as Markdown.

Code that a part shows is compiled or assembled in the tests; tables hold what the catalogue holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lanescope.app.guide import cpp, orders, overviews, reading, slips
from lanescope.errors import LayoutError

_PART = re.compile(r"^@part (\S+)(?: (.+))?$", re.M)


def fill(text: str) -> str:
    """Return a page's Markdown with its parts put in; raise LayoutError for an unknown part."""
    return _PART.sub(lambda match: part(match[1], match[2] or ""), text)


def part(name: str, arguments: str) -> str:
    """One part as Markdown."""
    if name not in PARTS:
        raise LayoutError("bad_part", f"No part '{name}'.", f"Allowed: {', '.join(PARTS)}.", "guide")
    return PARTS[name](arguments)


PARTS: dict[str, Callable[[str], str]] = {
    "words": reading.words,
    "declare": reading.declare,
    "packing": reading.packing,
    "spaces": reading.spaces,
    "overview": overviews.shapes,
    "generations": overviews.generations,
    "api": cpp.api,
    "function": cpp.function,
    "kernel": cpp.kernel,
    "fragments": cpp.fragments,
    "memory": cpp.memory,
    "strides": cpp.strides,
    "elements": cpp.elements,
    "since": cpp.since,
    "bits": cpp.bits,
    "order": orders.ordering,
    "orders": orders.orders,
    "pattern": orders.pattern,
    "differences": slips.slips,
}
