"""Write out kernels whose definition, or its head, stands in a macro, so that each has its own text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.cxx.source_text import (
    MACRO,
    blank_comments_and_literals,
    find_closing,
    is_kernel_head,
    list_argument_spans,
    split_arguments,
)

Span = tuple[int, int]
_PART = re.compile(r"(?P<word>[A-Za-z_]\w*)|(?P<paste>\s*##\s*)|(?P<line>\\[ \t]*(?=\n))")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def list_written_spans(text: str) -> list[Span]:
    """Return the parts of a text, in their order after macros that define or declare kernels are expanded; [] without
    such a macro.

    Macros that only begin a kernel, that are defined twice or that other directives use stay, and so do those with # or
    a variable number of parameters.

    >>> text = "#define F(N) __global__ void f##N() { g<N>(); }\\nF(4) F(8)\\n"
    >>> "".join(text[slice(*span)] for span in list_written_spans(text))
    '\\n __global__ void f4() { g<4>(); }  __global__ void f8() { g<8>(); }\\n'
    """
    blank = blank_comments_and_literals(text) if is_kernel_head(text) and "#" in text else ""
    replaced: list[tuple[Span, list[Span]]] = []
    for macro in MACRO.finditer(blank):
        replaced += _replace_macro(blank, macro)
    spans, at = list[Span](), 0
    for (first, past), parts in sorted(replaced):
        if first < at:
            return []
        spans += [(at, first), *parts]
        at = past
    return [span for span in (*spans, (at, len(text))) if span[0] < span[1]] if replaced else []


def _replace_macro(blank: str, macro: re.Match[str]) -> Iterator[tuple[Span, list[Span]]]:
    """Yield (what is replaced, the parts that replace it): the definition of a macro and its uses; nothing if the macro
    stays.
    """
    closed = find_closing(blank, macro.start(2)) if macro[2].startswith("(") else -1
    if not 0 < closed < macro.end() or not is_kernel_head(macro[2]):
        return
    if macro[2].count("{") != macro[2].count("}"):
        return
    names = [name.strip() for name in split_arguments(blank[macro.start(2) + 1 : closed])]
    body = closed + 1, macro.end()
    if re.search(r"(?<!#)#(?!#)", blank[slice(*body)]) or any(not re.fullmatch(r"\w+", name) for name in names):
        return
    uses = list(_list_uses(blank, macro))
    given = [list_argument_spans(blank, first, past) for _, first, past in uses]
    if not uses or any(len(arguments) != len(names) for arguments in given):
        return
    yield macro.span(), []
    for (start, _, past), arguments in zip(uses, given, strict=True):
        yield (start, past + 1), list(_write_body(blank, body, dict(zip(names, arguments, strict=True))))


def _list_uses(blank: str, macro: re.Match[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, begin and end of the arguments) of each use of a macro; nothing if a directive uses it, or it is
    defined again.
    """
    word = re.compile(rf"\b{macro[1]}\b")
    others = (one for one in _DIRECTIVE.finditer(blank) if one.start() != macro.start())
    directives = [one.span() for one in others]
    undefined = re.compile(rf"[ \t]*#[ \t]*undef[ \t]+{macro[1]}\b")
    found = []
    for use in word.finditer(blank):
        inside = next((span for span in directives if span[0] <= use.start() < span[1]), None)
        if macro.start() <= use.start() < macro.end() or (inside and undefined.match(blank, inside[0])):
            continue
        opened = re.compile(r"\s*\(").match(blank, use.end())
        closed = find_closing(blank, opened.end() - 1) if opened else -1
        if inside or opened is None or closed >= len(blank) or use.start() < macro.end():
            return
        found.append((use.start(), opened.end(), closed))
    yield from found


def _write_body(blank: str, body: Span, arguments: dict[str, Span]) -> Iterator[Span]:
    """Yield the parts of a macro's body with its arguments, without ## and the backslashes at the ends of lines."""
    at = body[0]
    for part in _PART.finditer(blank, *body):
        if part.lastgroup == "word" and part[0] not in arguments:
            continue
        yield at, part.start()
        if part.lastgroup == "word":
            yield arguments[part[0]]
        at = part.end()
    yield at, body[1]
