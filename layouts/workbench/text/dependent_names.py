"""Find what the names of a text depend on: through the assignments of a function, and the arguments of its calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache

from lanescope.cxx.source_text import find_closing, split_arguments, walk_outside_brackets
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function

WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
UNKNOWN = ""
_SET = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)\s*")
_BODY = re.compile(r"\s*(?:(?:const|noexcept|override|final)\b\s*)*(?:\{|:[^:])")
_Name = tuple[FunctionText, str]


@lru_cache(maxsize=1024)
def list_origin_names(blank: str, function: FunctionText, words: frozenset[str]) -> Set[str]:
    """Return names of a function with all that they are set from; UNKNOWN among them if a call cannot be read.

    >>> from lanescope.workbench.text.function_texts import find_functions
    >>> text = "int f(int n) { int k = n * 2; return k; } void g(int x) { int y = x; f(y + z); }"
    >>> sorted(list_origin_names(text, find_functions(text)[0], frozenset({"k"})))
    ['k', 'n', 'x', 'y', 'z']
    """
    left = {(function, word) for word in words}
    found = set(left)
    while left:
        left = {origin for of, name in left for origin in _list_origins(blank, of).get(name, ())} - found
        found |= left
    return frozenset(name for _, name in found)


@lru_cache(maxsize=64)
def _list_origins(blank: str, function: FunctionText) -> dict[str, set[_Name]]:
    """Return the names in the values that each name of a function is given."""
    found: dict[str, set[_Name]] = {}
    for set_name, value in list_assignments(blank, function):
        found.setdefault(set_name, set()).update((function, word) for word in WORD.findall(value))
    for caller, arguments in () if function.kernel else list_calls(blank, function):
        fits = caller is not None and len(arguments) == len(function.parameters)
        for n, name in enumerate(function.parameters):
            words = WORD.findall(arguments[n]) if fits else [UNKNOWN]
            found.setdefault(name, set()).update((caller or function, word) for word in words)
    return found


@lru_cache(maxsize=64)
def list_assignments(blank: str, function: FunctionText) -> list[tuple[str, str]]:
    """List (name, value) of what a function sets.

    >>> from lanescope.workbench.text.function_texts import find_functions
    >>> text = "void f() { int row = lane / 4, col = min(a, b); for (int i = 0; i < 4; ++i) p += i; }"
    >>> list_assignments(text, find_functions(text)[0])
    [('row', 'lane / 4'), ('col', 'min(a, b)'), ('i', '0'), ('p', 'i')]
    """
    past = function.body[1]
    starts = _SET.finditer(blank, *function.body)
    ends = ((one, next(walk_outside_brackets(blank, ",;{}", one.end(), past), past)) for one in starts)
    return [(one[1], blank[one.end() : end]) for one, end in ends]


def list_calls(blank: str, function: FunctionText) -> Iterator[tuple[FunctionText | None, list[str]]]:
    """Yield (the function around it, the arguments) of each call of a function by its name."""
    for one in re.finditer(rf"\b{re.escape(function.name)}\s*(?:<[^;(){{}}]*>\s*)?\(", blank):
        past = find_closing(blank, one.end() - 1)
        caller = find_enclosing_function(blank, one.start())
        if not _BODY.match(blank, past + 1):  # else its own head
            yield caller, split_arguments(blank[one.end() : past])
