"""Functions of headers that a file may use: those that its own text names, and what these name.

The others are not run by themselves: a helper that nothing calls does not concern the file that includes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.cxx.source_text import strip_comments
from lanescope.reader.code import tree
from lanescope.reader.code.scopes import NameScope
from lanescope.reader.code.symbolic_integers import Span

# a function, its class, the scope of its namespace
Entry = tuple[tree.Function, tree.StructDefinition | None, NameScope]
_WORD = re.compile(r"[A-Za-z_]\w*")


def drop_unreached(functions: Sequence[Entry], text: str, headers: Sequence[Span]) -> list[Entry]:
    """Return the functions without those of headers that nothing reaches. headers: the parts of a text that are not
    its own; what stands there outside functions and classes, such as macros and aliases, counts as used.
    """
    if not headers:
        return list(functions)
    names, spans = {}, {}
    for entry in functions:
        function, owner, _ = entry
        if any(first <= function.span[0] and function.span[1] <= past for first, past in headers):
            names[id(function)] = owner.name if owner is not None else function.name
            spans[function.span] = names[id(function)]
            if owner is not None:
                spans[owner.span] = owner.name
    uses: dict[str, set[str]] = {}
    for (first, past), name in spans.items():
        uses.setdefault(name, set()).update(_WORD.findall(text, first, past))
    reached = set(_WORD.findall(strip_comments(_leave_out(text, sorted(spans)))))
    waiting = reached & uses.keys()
    while waiting:
        more = set().union(*(uses[name] for name in waiting)) - reached
        reached |= more
        waiting = more & uses.keys()
    return [entry for entry in functions if id(entry[0]) not in names or names[id(entry[0])] in reached]


def _leave_out(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some parts of it, which may lie in one another."""
    kept, at = [], 0
    for first, past in spans:
        kept.append(text[at:first])
        at = max(at, past)
    return " ".join((*kept, text[at:]))
