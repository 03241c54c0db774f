"""Refuse a CuTe shape without strides, and suggest the layout that it may mean."""

from __future__ import annotations

import re

from lanescope.app.read import question_readings
from lanescope.app.read.facts import Reading
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

_LONGEST = 200  # characters
_SHAPE = re.compile(
    r"\s*(?:cute(?:::|\.))?(?:Shape\s*<[^:]*>|make_shape\s*\([^:]*\)|Int\s*<\s*\d+\s*>|C\s*<\s*\d+\s*>|_\d+"
    r"|\((?=[^:]*[_()])[\d\s,_()]*\)|\(\s*\d+\s*(?:,\s*\d+\s*)+\))\s*(?:\{\s*\})?\s*;?\s*"
)


def read_shape(text: str) -> Reading | None:
    """Read a text that is nothing but a shape; None for any other text."""
    if len(text) > _LONGEST or _SHAPE.fullmatch(text) is None:
        return None
    try:
        layout = parse_cute_layout(text, "text")
    except LayoutError as error:
        return question_readings.build_unknown(text, "A shape without strides", [f"{error.message} {error.hint}"])
    notice = (
        f"{shorten_value(text.strip(), 60)} is a shape without strides: write shape:stride, for example {layout},"
        " or an element with its instruction, (3,12) of mma.m16n8k16 bf16."
    )
    return question_readings.build_unknown(text, "A shape without strides", [notice])
