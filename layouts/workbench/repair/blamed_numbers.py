"""Trace a number that a call receives to where it is written: through parameters, arrays and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lanescope.cxx.source_text import MACRO, find_closing, list_argument_spans, trim_span
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function, list_launches

_NAME = re.compile(r"&?\s*([A-Za-z_]\w*)\s*$")
_CAST = re.compile(
    r"\s*(?:(?:static_cast\s*<[\w:\s]+>|u?int\d*_t|cuuint\d+_t|unsigned|int)\s*\(\s*(\w+)\s*\)"
    r"|\(\s*[\w:]+(?:\s\w+)?\s*\)\s*(\w+))\s*"
)
_MOST_NAMED = 2  # the declaration and this use
_MOST = 8  # places that are followed


def find_argument_span(blank: str, call: Span, number: int) -> Span | None:
    """Find the span of a call's argument."""
    opening = blank.find("(", *call)
    while opening >= 0 and find_closing(blank, opening) + 1 < call[1]:  # WRAPPER(function)(arguments)
        opening = blank.find("(", find_closing(blank, opening) + 1, call[1])
    if opening < 0:
        return None
    return _find_part(blank, opening, number)


def _find_template_span(blank: str, call: Span, number: int) -> Span | None:
    """Find the span of a template argument of a call; None if it is deduced."""
    match = re.compile(r"[\w:]+\s*<([^<>;(){}]*)>\s*\(").match(blank, *call)
    spans = list_argument_spans(blank, *match.span(1)) if match else []
    return spans[number] if number < len(spans) else None


def _is_shared_constant(blank: str, name: str, value_span: Span) -> bool:
    """Return whether a constant is used elsewhere, too, where it is right."""
    literal = re.fullmatch(r"[\d'][\w']*", blank[slice(*value_span)])
    return literal is not None and len(re.findall(rf"\b{name}\b", blank)) > _MOST_NAMED


def _skip_cast(blank: str, at: Span) -> Span:
    """Return the operand of a cast; the place itself if there is no cast."""
    match = _CAST.fullmatch(blank[slice(*at)])
    if match is None:
        return at
    name = next(n for n in (1, 2) if match[n] is not None)
    return at[0] + match.start(name), at[0] + match.end(name)


def _find_item_span(blank: str, at: Span, item: int) -> Span | None:
    """Find an item of {…}, with or without a cast before it."""
    opening = blank.find("{", *at)
    return _find_part(blank, opening, item) if opening >= 0 else None


def follow_number(blank: str, at: Span, calls: Sequence[tuple[str, Span]], item: int | None = None) -> Span:
    """Follow a name to where its number is written. calls: the enclosing calls, outermost first; item: index into an
    array.
    """
    return list_followed_spans(blank, at, calls, item)[-1]


def find_grid_place(blank: str, launch: Span) -> Span | None:
    """Return where the grid of a launch is given; None if its call names none."""
    first, past = launch
    found = [of[0] for _, of in list_launches(blank) if of and first <= of[0][0] < past]
    if not found:
        return None
    place = follow_number(blank, found[0], ())
    name = blank[slice(*place)].strip()
    made = [*re.finditer(rf"\bdim3\s+{name}\s*[({{]", blank[: place[0]])] if name.isidentifier() else []
    return (made[-1].end() - 1, find_closing(blank, made[-1].end() - 1) + 1) if made else place


def list_followed_spans(blank: str, at: Span, calls: Sequence[tuple[str, Span]], item: int | None) -> list[Span]:
    """List the places through which `follow_number` follows a name: its spellings, from the use to the number."""
    enclosing = list(calls)
    followed = [at]
    for _ in range(_MOST):
        if item is not None and (inside := _find_item_span(blank, followed[-1], item)) is not None:
            followed.append(inside)
            item = None
            continue
        followed[-1] = _skip_cast(blank, followed[-1])
        match = _NAME.match(blank[slice(*followed[-1])])
        if match is None:
            break
        further = find_given_value(blank, match[1], followed[-1], enclosing)
        if further is None or _is_shared_constant(blank, match[1], further):
            break
        followed.append(further)
    return followed


def find_given_value(blank: str, name: str, at: Span, calls: list[tuple[str, Span]] | None = None) -> Span | None:
    """Find the value of a variable: its declaration, its function's (template) argument, or a constant.

    calls: the enclosing calls, outermost first; the calls that were used are removed.
    """
    enclosing = calls if calls is not None else []
    function = find_enclosing_function(blank, at[0])
    if function is not None:
        declared = list_local_values(blank, function, name, at)
        if declared:
            return declared[0] if len(declared) == 1 else None
        if name in function.parameters:
            while enclosing and enclosing[-1][0] != function.name:
                enclosing.pop()
            return find_argument_span(blank, enclosing.pop()[1], function.parameters.index(name)) if enclosing else None
        if name in function.templates:
            while enclosing and enclosing[-1][0] != function.name:
                enclosing.pop()
            return _find_template_span(blank, enclosing.pop()[1], function.templates.index(name)) if enclosing else None
    return _find_constant(blank, name)


@lru_cache(maxsize=256)
def _find_constant(blank: str, name: str) -> Span | None:
    """Find the value of a macro, or of a constant outside functions."""
    macros = [macro.span(2) for macro in MACRO.finditer(blank) if macro[1] == name and macro[2][:1].isspace()]
    if macros:
        return trim_span(blank, macros[0]) if len(macros) == 1 else None
    outside = [
        match
        for match in re.finditer(rf"\b(?:const|constexpr)\b[^;(){{}}]*?\b{name}\s*=\s*([^;,]+)[;,]", blank)
        if find_enclosing_function(blank, match.start()) is None
    ]
    return trim_span(blank, outside[0].span(1)) if len(outside) == 1 else None


@lru_cache(maxsize=1024)
def list_local_values(blank: str, function: FunctionText, name: str, at: Span) -> tuple[Span, ...]:
    """List the values that declarations and assignments of a function give a variable before a place."""
    first, past = function.body[0], at[0]
    form = re.compile(
        rf"(?:[*&,]\s+|(?<!\belse)[\w>\]]\s+[*&]?){name}\s*(?:\[[^\]]*\]\s*)?(?:=\s*|(?=\{{))(\{{[^{{}}]*\}}|[^;,{{}}]+)"
    )
    found = tuple(
        trim_span(blank, _close_brackets(blank, match.span(1))) for match in form.finditer(blank, first, past)
    )
    later = re.compile(rf"\b{name}\s*(?:\[[^\]]*\]\s*)?(?:[-+*/|&^]|<<|>>)?=(?!=)").finditer(blank, first, past)
    starts = {at[0] for at in found}
    others = (match for match in later if match.end() + _count_blanks(blank, match.end()) not in starts)
    return (*(one for one in found if _is_in_scope(blank, one[1], past)), *(match.span() for match in others))


def _is_in_scope(blank: str, declared: int, at: int) -> bool:
    """Return whether the block of a declaration, which ends at a place, is still open at a later one."""
    depth = 0
    for brace in re.finditer(r"[{}]", blank[declared:at]):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return False
    return True


def _close_brackets(blank: str, span: Span) -> Span:
    """Return the span of a value up to the end of the call at whose comma or brace it was cut.

    >>> text = "T t = tile(B, f(x)), u"
    >>> text[slice(*_close_brackets(text, (6, 12)))]
    'tile(B, f(x))'
    """
    opened: list[int] = []
    for at in range(*span):
        opened += [at] if blank[at] == "(" else []
        opened = opened[:-1] if blank[at] == ")" else opened
    return (span[0], max(span[1], find_closing(blank, opened[0]) + 1)) if opened else span


def _count_blanks(blank: str, at: int) -> int:
    return len(blank[at : at + 40]) - len(blank[at : at + 40].lstrip())


def _find_part(blank: str, opening: int, number: int) -> Span | None:
    spans = list_argument_spans(blank, opening + 1, find_closing(blank, opening))
    return spans[number] if -len(spans) <= number < len(spans) else None


def find_stage_count(blank: str) -> Span | None:
    """Return the place of the third extent of all tile_to_shape(atom, shape), the stages; None if none or several."""
    places: set[Span] = set()
    for call in re.finditer(r"\btile_to_shape\s*\(", blank):
        shape = find_argument_span(blank, (call.start(), find_closing(blank, call.end() - 1) + 1), 1)
        listed = re.compile(r"[\w:]+\s*([(<])").match(blank, *shape) if shape is not None else None
        if listed is not None:
            closing = find_closing(blank, listed.start(1))
            sizes = list_argument_spans(blank, listed.end(), closing)
            places |= {follow_number(blank, sizes[2], ())} if len(sizes) > 2 else set()
    return places.pop() if len(places) == 1 else None
