"""Whether the code between two events of a kernel may wait in a loop of its own, e.g. on a flag in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.cxx.source_text import list_called_names
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelText
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import find_enclosing_function

_LOOP = re.compile(r"\b(?:while|for|do|goto)\b")
MOST_DEPTH = 4  # of calls


def may_spin(text: KernelText, before: KernelEvent, after: KernelEvent) -> bool:
    """Return whether a loop stands between two events, or in a function that is called between them.

    The loops around both do not count.
    """
    return any(_has_loop(text, span, MOST_DEPTH) for span in _list_parts_between(text, before, after))


def _list_parts_between(text: KernelText, before: KernelEvent, after: KernelEvent) -> Iterator[Span]:
    """Yield the parts of the text from one event to the next: of the function that leads to both, the end of the calls
    around the first one, and the beginning of those around the second.
    """
    way, other = _list_places(before), _list_places(after)
    depth = next((n for n, (left, right) in enumerate(zip(way, other, strict=False)) if left != right), None)
    if depth is None:
        return
    yield way[depth][1], other[depth][0]
    for place in way[depth + 1 :]:
        function = find_enclosing_function(text.blank, place[0])
        if function is not None:
            yield place[1], function.body[1]
    for place in other[depth + 1 :]:
        function = find_enclosing_function(text.blank, place[0])
        if function is not None:
            yield function.body[0], place[0]


def _list_places(event: KernelEvent) -> list[Span]:
    """Return the calls that lead to an event, outermost first, then its own place."""
    place = getattr(event.run, "span", None) or event.at
    return [*(span for _, span in event.calls), place]


def _has_loop(text: KernelText, span: Span, depth: int) -> bool:
    """Return whether a part of the text has a loop, or calls a function that has one."""
    part = text.blank[slice(*span)]
    if _LOOP.search(part):
        return True
    called = set(list_called_names(part)) if depth else set()
    return any(_has_loop(text, function.body, depth - 1) for function in text.functions if function.name in called)
