"""List code that was not evaluated completely, the values that would shorten it, and those that change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lanescope.cxx.literals import parse_literal
from lanescope.inputs import join_words
from lanescope.reader.code.evaluation import Evaluation
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.repair.blamed_terms import list_source_words
from lanescope.workbench.source.open_names import can_be_given
from lanescope.workbench.text.function_texts import (
    FunctionText,
    blank_text,
    find_enclosing_function,
    find_functions,
    list_loop_conditions,
)

MOST_NAMED = 4  # values
_POINTER = re.compile(r"\*\s*(?:(?:const|__restrict__|__restrict|volatile)\b\s*)*(\w+)")
_LINE = re.compile(r"Line \d+: ")


def find_unfinished(code: Evaluation | None) -> Iterator[OpenPoint]:
    """Yield the places at which evaluation ran out of steps or could not parse."""
    spent = dict(code.spent_loops) if code else {}
    for name, at in code.unfinished if code else ():
        what = f"{name} is" if name else "The lines outside all functions are"
        bounds = list_open_bounds(code.text, spent.get(name, ()), code.unbounded_variables, name) if code else ()
        rest = f" Give {join_words(list(bounds), 'or')} by -D to end its loops earlier." if bounds else ""
        yield OpenPoint(f"{what} too long to be evaluated to the end: the rest of it is not checked.{rest}", at, bounds)
    for part in code.unread if code else ():
        yield OpenPoint(_drop_line(part.message), part.span)


def find_overruled_values(code: Evaluation | None, given: Mapping[str, str]) -> Iterator[OpenPoint]:
    """Yield the integers that are given for parameters of kernels to which the launches of a text pass other values."""
    numbers = {name: literal[0] for name, value in given.items() if (literal := parse_literal(value)) is not None}
    if code is None or not numbers:
        return
    kernels = {one.name: one.parameters for one in find_functions(blank_text(code.text)) if one.kernel}
    for launch in code.launches:
        for name, passed in zip(kernels.get(launch.name, ()), launch.arguments, strict=False):
            if name in numbers and (passed is None or passed.known != numbers[name]):
                yield OpenPoint(f"-D {name} changes nothing in {launch.name}: this launch passes {name}.", launch.call)


def list_open_bounds(text: str, variables: Iterable[str], endless: Iterable[str], caller: str = "") -> tuple[str, ...]:
    """List the parameters that the ends of loops depend on, whose bounds are not known, and that -D can set: those of
    templates, of kernels and of the caller. variables: of the loops; caller: the function that is evaluated.

    >>> text = "__global__ void f(int K) { int n = K / 64; for (int k = 0; k < n; ++k) g(k); }"
    >>> list_open_bounds(text, ("k",), {"k"})
    ('K',)
    """
    blank = blank_text(text)
    names: dict[str, None] = {}
    for variable in dict.fromkeys(variables):
        if variable not in endless:
            continue
        for condition in list_loop_conditions(blank, variable):
            function = find_enclosing_function(blank, condition[0])
            words = list_source_words(blank, condition)
            parameters = _list_settable(blank, function, caller) if function is not None else ()
            names.update(dict.fromkeys(name for name in parameters if name in words and can_be_given(name)))
    return tuple(names)[:MOST_NAMED]


def _list_settable(blank: str, function: FunctionText, caller: str) -> Iterator[str]:
    """Yield the parameters of a function that may have a value of their own: not pointers, nor what a call passes."""
    yield from function.templates
    if function.kernel or function.name == caller:
        head = blank[blank.rfind(function.name, 0, function.body[0]) : function.body[0]]
        pointers = set(_POINTER.findall(head))
        yield from (name for name in function.parameters if name not in pointers)


def _drop_line(message: str) -> str:
    """Return a message without the line it begins with: that of the text with its includes, which no file has."""
    rest = _LINE.sub("", message)
    return rest[:1].upper() + rest[1:]
