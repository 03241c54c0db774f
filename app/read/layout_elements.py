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
_COORDINATE = rf"(?P<coord>{_PAIR}|\[[\d\s,]+\]|\d{{1,9}})"
_ROW_AND_COLUMN = re.compile(r"\brow\s+(\d+)\s*,?\s*(?:and\s+)?col(?:umn)?\s+(\d+)\b", re.I)
_ASKING = r"(?:(?:what|where|which|is|the|address|index|offset|place|of|element|at|does|cell)\s+)*"
_QUESTIONS = (
    re.compile(rf"{_ASKING}{_COORDINATE}\s+(?:go\s+|lie\s+)?(?:of|in|for|under|with)\s+(?P<layout>\S.*)", re.I),
    re.compile(rf"(?:crd2idx|cute::crd2idx)\({_COORDINATE}\s*,\s*(?P<layout>\S.*)\)", re.I),
    re.compile(rf"(?P<layout>.*[:>].*?)(?:\s+at\s+|\s*\{{\s*\}}\s*|\s+){_COORDINATE}", re.I),
)


def answer_question(text: str) -> Meaning | LayoutError | None:
    """Return the index of a coordinate in a layout, or why it is outside; None for any other text."""
    text = _ROW_AND_COLUMN.sub(r"(\1,\2)", text.strip().rstrip("?").rstrip())
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
        coord = _fit_layout(parse_coordinate(match["coord"].replace("[", "(").replace("]", ")")), layout)
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


def _fit_layout(coord: tuples.Nested, layout: CuteLayout) -> tuples.Nested:
    """Return a coordinate with as many parentheses as the layout has: (9) is 9; LayoutError if it is outside."""
    fitted = _fit_shape(coord, layout.shape)
    if fitted is None:
        is_index = isinstance(coord, int) or len(tuples.list_leaves(coord)) == 1
        sizes = [layout.size] if is_index else [tuples.size(mode) for mode in tuples.list_modes(layout.shape)]
        legal = ", ".join(f"0–{size - 1}" for size in sizes)
        raise LayoutError(
            "bad_coordinate", f"The layout {layout} has no such coordinate.", f"It has ({legal}).", "text"
        )
    return fitted


def _fit_shape(coord: tuples.Nested, shape: tuples.Nested) -> tuples.Nested | None:
    """Return a coordinate of a mode without additional parentheses, None if the mode does not have it."""
    if isinstance(coord, int):
        return coord if 0 <= coord < tuples.size(shape) else None
    if len(coord) == 1 and (isinstance(shape, int) or len(shape) > 1):
        return _fit_shape(coord[0], shape)
    if isinstance(shape, int) or len(coord) != len(shape):
        return None
    modes = tuple(map(_fit_shape, coord, shape))
    return None if None in modes else modes
