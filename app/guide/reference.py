"""The parts of guide pages that come from tables of the engine: a line `@part name arguments` in a page is one of
PARTS, as Markdown.

Code of parts is compiled or assembled in the tests; tables are computed from the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lanescope.app.guide import cpp, differences, opcode_parts, orders, overviews
from lanescope.errors import LayoutError

_PART = re.compile(r"^@part (\S+)(?: (.+))?$", re.M)


def expand_parts(text: str) -> str:
    """Return a page's Markdown with its parts expanded; raise LayoutError for an unknown part."""
    return _PART.sub(lambda match: render_part(match[1], match[2] or ""), text)


def render_part(name: str, arguments: str) -> str:
    """Render one part as Markdown."""
    if name not in PARTS:
        raise LayoutError("bad_part", f"No part '{name}'.", f"Allowed: {', '.join(PARTS)}.", "guide")
    return PARTS[name](arguments)


PARTS: dict[str, Callable[[str], str]] = {
    "words": opcode_parts.render_opcode_words,
    "declare": opcode_parts.render_declarations,
    "packing": opcode_parts.render_packing,
    "spaces": opcode_parts.render_state_spaces,
    "overview": overviews.render_shapes,
    "generations": overviews.render_generations,
    "api": cpp.render_functions,
    "function": cpp.render_function,
    "kernel": cpp.render_kernel,
    "fragments": cpp.render_fragments,
    "memory": cpp.render_memory,
    "strides": cpp.render_strides,
    "elements": cpp.render_elements,
    "since": cpp.render_targets,
    "bits": cpp.render_bit_operations,
    "order": orders.render_ordering,
    "orders": orders.render_orderings,
    "pattern": orders.render_sequence,
    "differences": differences.render_differences,
}
