"""Find the place in a kernel's own lines to change if an operand or the threads of a tcgen05 instruction are wrong."""

from __future__ import annotations

import re

from lanescope.cxx.source_text import find_closing
from lanescope.workbench.blamed_numbers import list_local_values
from lanescope.workbench.blamed_terms import find_term, narrow_to_term
from lanescope.workbench.function_texts import find_function_at
from lanescope.workbench.kernel_runs import KernelText
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_steps import TensorStep

_MOST_FOLLOWED = 4  # variables
_CONDITION = re.compile(r"\bif\s*(?:constexpr\s*)?(?=\()")


def narrow_operand(text: KernelText, step: TensorStep, source: Span, variable: str = "") -> Span:
    """Return the expression that gives an operand in the kernel's own lines: the value of a local variable, and of a
    sum the term that depends on a variable.

    source: where the asm statement is given it; variable: a pattern of its name, "" for the complete expression.
    """
    blank, functions = text.blank, text.functions
    chain = [source, *(call for _, call in reversed(step.run.calls))]
    place = source
    if step.at in chain[1:]:
        place = narrow_to_term(blank, functions, chain, step.at, variable)
    place = follow_local_value(text, place)
    return (find_term(blank, functions, place, variable) or place) if variable else place


def follow_local_value(text: KernelText, place: Span) -> Span:
    """Return the expression that the declaration of a local variable gives it; the place itself if it is no variable,
    or one that is assigned again.
    """
    function = find_function_at(text.functions, place[0])
    for _ in range(_MOST_FOLLOWED):
        name = text.blank[slice(*place)].strip()
        values = list_local_values(text.blank, function, name, place) if function and name.isidentifier() else []
        if not values or any(re.match(rf"{name}\b", text.blank[slice(*value)]) for value in values):
            break
        place = values[-1]
    return place


def find_enclosing_condition(text: KernelText, at: Span) -> Span:
    """Return the condition of the innermost `if` around a place of a function; the place itself if there is none."""
    blank, function = text.blank, find_function_at(text.functions, at[0])
    found = at
    for match in _CONDITION.finditer(blank, function.body[0], at[0]) if function is not None else ():
        closing = find_closing(blank, match.end())
        opening = re.compile(r"\s*(?:\[\[\w+\]\]\s*)?").match(blank, closing + 1)
        start = opening.end() if opening is not None else closing + 1
        past = find_closing(blank, start) if blank[start : start + 1] == "{" else blank.find(";", start)
        if start <= at[0] <= past:
            found = (match.end() + 1, closing)
    return found
