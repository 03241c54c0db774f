"""Find #if directives of a file without an #endif, and #endif, #else and #elif without an #if.

A compiler refuses each file whose conditions are not balanced, also one that another file includes: C++17, [cpp.cond].
"""

from __future__ import annotations

import re

from lanescope.cxx.source_text import strip_comments
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.preprocessing.directives import OPENS, TURNS, Directive, DirectiveText, find_directives
from lanescope.reader.code.preprocessing.lexing import blank_open_comment
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.syntax.source_text import is_python

UNBALANCED = "condition_unbalanced"
TITLES = {UNBALANCED: "An #if has no #endif, or an #endif no #if"}
_CONDITION = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(?:if|el|endif)", re.M)
_NO_CODE = re.compile(  # of Markdown, Python, scripts, diffs and prose, where # begins other lines
    r"\A#!|^@@ -\d|^[ \t]*#[ \t]+(?:el)?if[ \t]+(?!defined\b)[A-Za-z]\w*[ \t]+[A-Za-z]|"
    r"^[ \t]*```|\"\"\"|'''|^(?:import [\w.]+|from [\w.]+ import [^;\n]+|[ \t]*def \w+\([^;\n]*:)[ \t]*$",
    re.M,
)


def find_unbalanced_conditions(text: str) -> list[Pitfall]:
    r"""Find the directives of one file that leave its conditions unbalanced.

    >>> [found.message for found in find_unbalanced_conditions("#ifdef FAST\nint a;\n")]
    ['#ifdef FAST has no #endif: a compiler refuses the file.']
    """
    if not _CONDITION.search(text) or _NO_CODE.search(text) or is_ptx_module(text) or is_python(text):
        return []
    code = find_directives(blank_open_comment(text))
    opened: list[tuple[Directive, bool]] = []  # with whether its #else was met
    found: list[Pitfall] = []
    for directive in code.directives:
        if directive.name in OPENS:
            opened.append((directive, False))
        elif directive.name not in TURNS and directive.name != "endif":
            continue
        elif not opened:
            found.append(_make_pitfall(code, directive, "has no #if"))
        elif directive.name == "endif":
            opened.pop()
        elif opened[-1][1]:
            found.append(_make_pitfall(code, directive, "follows the #else of its #if"))
        else:
            opened[-1] = opened[-1][0], directive.name == "else"
    found += (_make_pitfall(code, directive, "has no #endif") for directive, _ in opened)
    return sorted(found, key=lambda pitfall: pitfall.span)


def _make_pitfall(code: DirectiveText, directive: Directive, problem: str) -> Pitfall:
    first, past = directive.start, directive.past
    joined = code.joined
    spelled = f"#{strip_comments(joined.text[first:past]).strip().lstrip('#%: ')}"
    spelled = spelled if len(spelled) <= 60 else f"{spelled[:59]}…"
    span = joined.get_original(first), joined.get_original(past - 1) + 1
    return Pitfall(UNBALANCED, f"{' '.join(spelled.split())} {problem}: a compiler refuses the file.", span)
