"""Find the header functions that a file uses: those that its own text names, and those that they name in turn.

Unused header functions are not run: they do not concern the file that includes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.cxx.source_text import blank, blank_comments
from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree

# a function, its class, the scope of its namespace
Entry = tuple[tree.Function, tree.StructDefinition | None, NameScope]
_WORD = re.compile(r"[A-Za-z_]\w*")
_LITERAL = re.compile(r"""'(?:[^'\\\n]|\\.)'|"(?:[^"\\\n]|\\.)*\"""")
_NAMING = re.compile(r'"&?[A-Za-z_][\w:]*["<]')  # a string that a launch may have: "gemm", "gemm<64>", "ns::gemm<"


def drop_unused(functions: Sequence[Entry], text: str, headers: Sequence[Span]) -> list[Entry]:
    """Return the functions without unused ones of headers.

    headers: spans of the included headers. Their text outside functions and classes, such as macros and aliases, counts
    as used.
    """
    if not headers:
        return list(functions)
    code = _LITERAL.sub(lambda one: one[0] if _NAMING.match(one[0]) else blank(one[0]), blank_comments(text))
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
        uses.setdefault(name, set()).update(_WORD.findall(code, first, past))
    used = set(_WORD.findall(blank_spans(code, sorted(spans))))
    pending = used & uses.keys()
    while pending:
        added = set().union(*(uses[name] for name in pending)) - used
        used |= added
        pending = added & uses.keys()
    return [entry for entry in functions if id(entry[0]) not in names or names[id(entry[0])] in used]


def blank_spans(text: str, spans: Sequence[Span]) -> str:
    """Return a text in which some sorted spans, which may be nested, are blanked."""
    parts: list[str] = []
    end = 0
    for first, past in spans:
        parts += text[end:first], blank(text[max(first, end) : past])
        end = max(end, past)
    return "".join((*parts, text[end:]))
