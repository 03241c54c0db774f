"""Where a number of a text is written that a call gets: through parameters, arrays and constants to its own place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.workbench.function_texts import FunctionText, find_closing, find_function_at, split_arguments
from lanescope.workbench.results import Span

_NAME = re.compile(r"&?\s*([A-Za-z_]\w*)\s*$")
_MOST = 8  # places that are followed


def find_argument_span(blank: str, call: Span, number: int) -> Span | None:
    """Find an argument of a call as it is written."""
    opening = blank.find("(", *call)
    while opening >= 0 and find_closing(blank, opening) + 1 < call[1]:  # WRAPPER(function)(arguments)
        opening = blank.find("(", find_closing(blank, opening) + 1, call[1])
    if opening < 0:
        return None
    return _find_part(blank, opening, number)


def _find_item_span(blank: str, at: Span, item: int) -> Span | None:
    """Find an item of {…}, behind a cast or not."""
    opening = blank.find("{", *at)
    return _find_part(blank, opening, item) if opening >= 0 else None


def follow_number(
    blank: str,
    functions: tuple[FunctionText, ...],
    at: Span,
    calls: Sequence[tuple[str, Span]],
    item: int | None = None,
) -> Span:
    """Follow a name to where its number is written. calls: the functions around it, outermost first; item: which of an
    array's items it is.
    """
    around = list(calls)
    for _ in range(_MOST):
        if item is not None and (inside := _find_item_span(blank, at, item)) is not None:
            at, item = inside, None
            continue
        match = _NAME.match(blank[slice(*at)])
        if match is None:
            break
        further = find_given_value(blank, functions, match[1], at, around)
        if further is None:
            break
        at = further
    return at


def find_given_value(
    blank: str,
    functions: tuple[FunctionText, ...],
    name: str,
    at: Span,
    calls: list[tuple[str, Span]] | None = None,
) -> Span | None:
    """Find what a variable is set to: its declaration, its function's argument, a constant of the text.

    calls: the functions around it, outermost first; those that are left are taken away.
    """
    around = calls if calls is not None else []
    function = find_function_at(functions, at[0])
    if function is not None:
        declared = _list_values(blank, name, function.body[0], at[0])
        if declared:
            return declared[0] if len(declared) == 1 else None
        if name in function.parameters:
            while around and around[-1][0] != function.name:
                around.pop()
            return find_argument_span(blank, around.pop()[1], function.parameters.index(name)) if around else None
    macros = list(re.finditer(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([^\n]*)", blank, re.M))
    if macros:
        return _trim(blank, macros[0].span(1)) if len(macros) == 1 else None
    outside = [
        match
        for match in re.finditer(rf"\b(?:const|constexpr)\b[^;(){{}}]*?\b{name}\s*=\s*([^;,]+)[;,]", blank)
        if find_function_at(functions, match.start()) is None
    ]
    return _trim(blank, outside[0].span(1)) if len(outside) == 1 else None


def _list_values(blank: str, name: str, first: int, past: int) -> list[Span]:
    """List what declarations and assignments between two places set a variable to."""
    form = re.compile(rf"[\w>\]*&,]\s+{name}\s*(?:\[[^\]]*\]\s*)?(?:=\s*|(?=\{{))(\{{[^{{}}]*\}}|[^;,{{}}]+)")
    found = [_trim(blank, match.span(1)) for match in form.finditer(blank, first, past)]
    later = re.compile(rf"\b{name}\s*(?:\[[^\]]*\]\s*)?(?:[-+*/|&^]|<<|>>)?=(?!=)").finditer(blank, first, past)
    starts = {at[0] for at in found}
    return found + [match.span() for match in later if match.end() + _count_blanks(blank, match.end()) not in starts]


def _count_blanks(blank: str, at: int) -> int:
    return len(blank[at : at + 40]) - len(blank[at : at + 40].lstrip())


def _find_part(blank: str, opening: int, number: int) -> Span | None:
    parts = split_arguments(blank[opening + 1 : find_closing(blank, opening)])
    if not -len(parts) <= number < len(parts):
        return None
    at = opening + 1 + sum(len(part) + 1 for part in parts[: number % len(parts)])
    return _trim(blank, (at, at + len(parts[number])))


def _trim(blank: str, span: Span) -> Span:
    text = blank[slice(*span)]
    return span[0] + len(text) - len(text.lstrip()), span[1] - (len(text) - len(text.rstrip()))
