"""Follow an address in device code to the values of the variables that it is computed from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.workbench.repair.blamed_numbers import find_given_value, list_local_values
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

_MOST_DEEP = 6
LANE = re.compile(r"lane|threadIdx\s*\.\s*x|\btid\b|\btx\b", re.I)
_OF_ROWS = re.compile(r"[%&]")
_OF_HALVES = re.compile(r"/|>>")
WARP_SIZE = re.compile(r"[/%]\s*(?:32\b|\w*warp_?size)|>>\s*5|&\s*31", re.I)
Span = tuple[int, int]


def list_values(text: str, at: Span, calls: Sequence[Span]) -> list[Span]:
    """List the expressions that an address depends on, through variables and arguments, the deepest first.

    calls: around the address, outermost first.
    """
    blank = blank_text(text)
    named = [(_read_name(blank, span), span) for span in calls]
    found: dict[Span, None] = {}
    _follow_values(blank, at, named, found, _MOST_DEEP)
    return list(found)


def find_lane_term(text: str, at: Span, calls: Sequence[Span], code: str) -> Span:
    """Return the value that gives each lane its row (rows_repeated) or its half along K (k_repeated), if one variable
    of an address does; else the address.
    """
    blank = blank_text(text)
    if re.search(r"[%&]|/|>>", blank[slice(*at)]):
        return at
    form, other = (_OF_ROWS, _OF_HALVES) if code == "rows_repeated" else (_OF_HALVES, _OF_ROWS)
    values = [span for span in list_values(text, at, calls) if LANE.search(blank[slice(*span)])]
    fits = [span for span in values if form.search(blank[slice(*span)])]
    clear = [span for span in fits if not other.search(blank[slice(*span)])] or fits
    clear = [span for span in clear if not WARP_SIZE.search(blank[slice(*span)])]
    return clear[0] if len(clear) == 1 else at


def _read_name(blank: str, span: Span) -> str:
    match = re.match(r"[\w:]+", blank[slice(*span)])
    return match[0].rpartition("::")[2] if match else ""


def _follow_values(
    blank: str, at: Span, calls: Sequence[tuple[str, Span]], found: dict[Span, None], depth: int
) -> None:
    """Add what an expression depends on, then itself."""
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", blank[slice(*at)])) if depth else ():
        further = _find_value(blank, name, at, calls)
        if further is not None and further != at and further not in found:
            _follow_values(blank, further, calls, found, depth - 1)
    found[at] = None


def _find_value(blank: str, name: str, at: Span, calls: Sequence[tuple[str, Span]]) -> Span | None:
    """Return the last value before a place that a variable gets, or the argument for a parameter."""
    function = find_enclosing_function(blank, at[0])
    values = list_local_values(blank, function, name, at) if function is not None else ()
    return values[-1] if values else find_given_value(blank, name, at, list(calls))
