"""Recognise a pattern as the pages print it, `(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)`: its layout and operands."""

from __future__ import annotations

import re
from dataclasses import replace

from lanescope.ptx.pattern import Pattern
from lanescope.reader.cute import cute_layout
from lanescope.reader.meaning import TextMeaning

_PATTERN = re.compile(r"\s*(?:\([\w: ]*\)\s*){2}->\s*(?:\([\w ]*\)\s*)+")
_SAYS = (
    "A pattern of Lanescope: (digits of the thread) (digits of the value) -> the coordinates, the last digit fastest."
)


def recognise_patterns(text: str) -> tuple[TextMeaning, ...]:
    """Return the operands whose map a pattern is, and its CuTe layout. LayoutError names what is wrong in it."""
    if not _PATTERN.fullmatch(text):
        return ()
    pattern = Pattern.parse(text)
    layout, *operands = cute_layout.recognise_layouts(pattern.to_cute())
    facts = {**layout.facts, "storage": None, "tv": None}
    title = f"Pattern of {' × '.join(map(str, pattern.extents))}: CuTe layout {layout.facts['cute']}"
    own = replace(layout, title=title, facts=facts, notices=(_SAYS,), undetermined=())
    return (*(replace(operand, notices=(_SAYS, *operand.notices)) for operand in operands), own)
