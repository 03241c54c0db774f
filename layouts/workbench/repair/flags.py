"""Edits that flip transpose immediates and flags in template arguments of calls, or exchange outputs of an asm
statement or a number in it; `repairs.py` and `known_products.py` try each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lanescope.cxx.source_text import list_argument_spans
from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

MOST_CALLS = 8
_TRANSPOSE = re.compile(r"(?<=,)\s*([01])\s*(?=[,;])")
_OUTPUT = re.compile(r"\"=[rf]\"\s*\(((?:[^()]|\([^()]*\))*)\)")
_NUMBER = re.compile(r"(?<![\w.%])[1-9]\d*(?![\w.])")
_OTHER = {"0": "1", "1": "0", "false": "true", "true": "false"}


def flip_transposes(text: str, past: int) -> Iterator[tuple[TextEdit, ...]]:
    """Yield edits that flip a transpose immediate of the wgmma whose opcode ends at a place; then template flags."""
    end = text.find(";", past)
    bits = [match.span(1) for match in _TRANSPOSE.finditer(text, past, end + 1)] if end >= 0 else []
    yield from ((TextEdit(span, _OTHER[text[slice(*span)]]),) for span in bits[-2:])
    yield from flip_template_flags(text, past)


def edit_load(text: str, statement: Span) -> Iterator[tuple[TextEdit, ...]]:
    """Yield edits of an asm statement: neighbouring outputs exchanged, another number in its inputs."""
    outputs = [match.span(1) for match in _OUTPUT.finditer(text, *statement)]
    for one, other in pairwise(outputs):
        yield TextEdit(one, text[slice(*other)]), TextEdit(other, text[slice(*one)])
    for match in _NUMBER.finditer(text, max((past for _, past in outputs), default=statement[1]), statement[1]):
        number = int(match[0])
        others = dict.fromkeys((number - 16, number + 16, number // 2, number * 2, number - 8, number + 8))
        yield from ((TextEdit(match.span(), str(other)),) for other in others if other > 0 and other != number)


def flip_template_flags(text: str, at: int) -> Iterator[tuple[TextEdit, ...]]:
    """Yield edits that flip one template flag in calls of the function around a place: in one call, then in all calls.

    A flag is 0, 1, false or true, or a constant with such a value.
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, at)
    if function is None:
        return
    calls = [list_argument_spans(blank, *match.span(1)) for match in _find_calls(blank, function.name)][:MOST_CALLS]
    edits = [
        {n: edit for n, span in enumerate(call) if (edit := _flip_flag(blank, span)) is not None} for call in calls
    ]
    numbers = sorted(
        {n for call_edits in edits for n in call_edits}, reverse=True
    )  # transposes are the last template arguments
    for number in numbers:
        yield from ((call_edits[number],) for call_edits in edits if number in call_edits)
    for number in numbers:
        every = dict.fromkeys(call_edits[number] for call_edits in edits if number in call_edits)
        if len(every) > 1:
            yield tuple(every)


def _find_calls(blank: str, name: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"\b{re.escape(name)}\s*<([^<>;{{}}]*)>\s*\(", blank)


def _flip_flag(blank: str, span: Span) -> TextEdit | None:
    """Return the edit that flips a flag or the constant that defines it; None for another argument."""
    flag = blank[slice(*span)]
    if flag in _OTHER:
        return TextEdit(span, _OTHER[flag])
    if not flag.isidentifier():
        return None
    values = list(re.finditer(rf"\bconst\w*\s+\w+\s+{flag}\s*=\s*(0|1|false|true)\s*;", blank))
    return TextEdit(values[0].span(1), _OTHER[values[0][1]]) if len(values) == 1 else None
