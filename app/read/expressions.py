"""Expressions of CuTe's algebra: `logical_divide((4,2,3):(2,1,8), 4:2)`."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import meaning_links, question_readings
from lanescope.app.read.facts import Meaning, Reading
from lanescope.cute import calls
from lanescope.cute.calls import AlgebraStep
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.reader.cute import cute_layout

_OPERATIONS = "|".join(sorted(calls.OPS))
_CALLED = re.compile(rf"\b(?:{_OPERATIONS})\s*[<(]|\)\s*[o∘]\s*\(")
_WHOLE = re.compile(rf"\s*(?:cute::)?(?:{_OPERATIONS})\s*(?:<[^<>()]*>)?\s*\(.*\)\s*;?\s*", re.S)
_LAYOUT = re.compile(r"[\d)]\s*:\s*[\d(_]|\bLayout\s*<|\bmake_layout\b")  # with its values in the text
_NOT_DERIVED = re.compile(r"\btile_to_shape\b|\bSw(?:izzle)?\s*<|make_swizzle")  # described without a type, too


def link_algebra(text: str) -> str:
    """Return the page of an expression of CuTe's algebra, "" for any other text."""
    return f"/cute?{urlencode({'expression': text})}" if _evaluate(text) else ""


def _evaluate(text: str) -> list[AlgebraStep]:
    """Return the steps of an expression; [] for any other text, and for a layout alone."""
    if len(text) > meaning_links.MOST_NAMED or not _CALLED.search(text):
        return []
    try:
        steps = calls.evaluate_statements(text)
    except LayoutError:
        return []
    return [] if all(step.op == "layout" for step in steps) else steps


def read_expression(text: str) -> Reading | None:
    """Read an expression of CuTe's algebra: its result, or why CuTe refuses it; None for any other text.

    One whose values are not in the text is unknown: its layouts alone are not what it says.
    """
    steps = _evaluate(text)
    if not steps:
        return _read_open(text)
    step, link = steps[-1], f"/cute?{urlencode({'expression': text})}"
    page = Meaning(kind="topic", title="CuTe’s algebra", link=link, facts={"page": link}, notices=())
    if step.error:
        notices = [f"{step.error.message} {step.error.hint}"]
        return question_readings.build_unknown(text, f"CuTe refuses {shorten_value(step.text, 60)}", notices, [page])
    result = calls.format_value(step.result)
    if not isinstance(step.result, CuteLayout):
        notice = f"{shorten_value(step.text, 200)} is {result}."
        return copy_fact(Reading, page, title=f"{step.op}: {result}", notices=(notice,), also=())
    notice = f"{shorten_value(step.text, 200)} is {result}. {step.says}".strip()
    first, *rest = (meaning_links.build_meaning(each, result) for each in cute_layout.recognise_layouts(result))
    return copy_fact(Reading, first, link=link, notices=(notice, *first.notices), also=tuple(rest))


def _read_open(text: str) -> Reading | None:
    """Explain why an expression is not evaluated; None for any other text."""
    if len(text) > meaning_links.MOST_NAMED or not _WHOLE.fullmatch(text) or _NOT_DERIVED.search(text):
        return None
    if not _LAYOUT.search(text):
        return None
    try:
        calls.evaluate_statements(text)
    except LayoutError as error:
        return question_readings.build_unknown(text, "Not evaluated", [f"{error.message} {error.hint}"])
    return None


# shapes ---------------------------------------------------------------------------------------------------------------


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
