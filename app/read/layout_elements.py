"""Questions about a coordinate of a CuTe layout: `index of (5, 9) in Sw<3,4,3> o (8,64):(64,1)`."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from lanescope.app.read.facts import Meaning
from lanescope.cute import tuples
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_coordinate, parse_cute_layout
from lanescope.errors import LayoutError

LONGEST = 400  # characters of a question
_PAIR = r"\((?:[\d\s,]|\((?:[\d\s,]|\([\d\s,]*\))*\))+\)"  # nested three deep
_COORDINATE = rf"(?P<coord>{_PAIR}|\[[\d\s,]+\])"
_ASKING = r"(?:(?:what|where|which|is|the|address|index|offset|place|of|element|at|does|cell)\s+)*"
_QUESTIONS = (
    re.compile(rf"{_ASKING}{_COORDINATE}\s+(?:go\s+|lie\s+)?(?:of|in|for|under|with)\s+(?P<layout>\S.*)", re.I),
    re.compile(rf"(?:crd2idx|cute::crd2idx)\({_COORDINATE}\s*,\s*(?P<layout>\S.*)\)", re.I),
    re.compile(rf"(?P<layout>.*[:>].*?)\s+at\s+{_COORDINATE}", re.I),
)


def answer_question(text: str) -> Meaning | LayoutError | None:
    """Return the index of a coordinate in a layout, or why it is outside; None for any other text."""
    text = text.strip().rstrip("?").rstrip()
    match = (
        next((found for question in _QUESTIONS if (found := question.fullmatch(text))), None)
        if len(text) <= LONGEST
        else None
    )
    if match is None:
        return None
    try:
        layout = parse_cute_layout(match["layout"])
    except LayoutError:
        return None
    try:
        coord = parse_coordinate(match["coord"].replace("[", "(").replace("]", ")"))
        _check_coordinate(coord, layout)
        index = layout(coord)
    except LayoutError as error:
        return error
    link = f"/cute?{urlencode({'expression': str(layout)})}"
    shown = f"({', '.join(map(str, tuples.list_modes(coord)))})" if not isinstance(coord, int) else str(coord)
    swizzled = f" Before the XOR it is {CuteLayout(layout.shape, layout.stride, offset=layout.offset)(coord)}."
    notice = (
        f"The index counts elements: times the size of one it is an offset in bytes.{swizzled * bool(layout.swizzle)}"
    )
    title = f"{shown} of {layout} is at index {index}"
    return Meaning(kind="topic", title=title, link=link, facts={"page": link, "index": index}, notices=(notice,))


def _check_coordinate(coord: tuples.Nested, layout: CuteLayout) -> None:
    """Raise LayoutError for a coordinate outside a layout."""
    modes = tuples.list_modes(coord)
    sizes = [tuples.size(mode) for mode in tuples.list_modes(layout.shape)]
    if isinstance(coord, int) or len(modes) == 1:
        modes, sizes = tuples.list_modes(coord), [layout.size]
    if len(modes) != len(sizes) or any(
        isinstance(m, int) and not 0 <= m < n for m, n in zip(modes, sizes, strict=False)
    ):
        legal = ", ".join(f"0–{size - 1}" for size in sizes)
        raise LayoutError(
            "bad_coordinate", f"The layout {layout} has no such coordinate.", f"It has ({legal}).", "text"
        )
