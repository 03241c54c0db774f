"""Find the place in a kernel's own lines to change if an operand or the threads of a tcgen05 instruction are wrong."""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.cxx.source_text import find_closing
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.repair.blamed_numbers import find_given_value, list_local_values
from lanescope.workbench.repair.blamed_terms import find_term, narrow_to_term
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tensor_steps import TensorStep
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function

_MOST_FOLLOWED = 4  # variables
_CONDITION = re.compile(r"\bif\s*(?:constexpr\s*)?(?=\()")
_LOOP_HEAD = re.compile(r"\bfor\s*\([^;{}()]*\Z")  # before the first value of a loop's variable
_ATTRIBUTE = re.compile(r"\s*(?:\[\[\w+\]\]\s*)?")


def narrow_operand(text: KernelText, step: TensorStep, source: Span, variable: str = "") -> Span:
    """Return the expression that gives an operand in the kernel's own lines: the value of a local variable, and of a
    sum the term that depends on a variable.

    source: where the asm statement is given it; variable: a pattern of its name, "" for the complete expression.
    """
    blank = text.blank
    chain = [source, *(call for _, call in reversed(step.run.calls))]
    place = source
    if step.at in chain[1:]:
        place = narrow_to_term(blank, chain, step.at, variable)
    place = follow_local_value(text, place)
    return (find_term(blank, place, variable) or place) if variable else place


def follow_local_value(text: KernelText, place: Span) -> Span:
    """Return the expression that the declaration of a local variable gives it; the place itself if it is no variable,
    or one that is assigned again.
    """
    function = find_enclosing_function(text.blank, place[0])
    for _ in range(_MOST_FOLLOWED):
        name = text.blank[slice(*place)].strip()
        values = list_local_values(text.blank, function, name, place) if function and name.isidentifier() else ()
        if not values or any(re.match(rf"{name}\b", text.blank[slice(*value)]) for value in values):
            break
        if _LOOP_HEAD.search(text.blank, 0, values[-1][0]):
            break
        place = values[-1]
    return place


def find_value_of(text: KernelText, place: Span, variable: str) -> Span | None:
    """Return the value of the only local variable in an expression that is given one that depends on a variable."""
    function = find_enclosing_function(text.blank, place[0])
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text.blank[slice(*place)]))
    found = [list_local_values(text.blank, function, name, place) for name in names] if function is not None else []
    values = [one[0] for one in found if len(one) == 1 and re.match(variable, text.blank[slice(*one[0])], re.S)]
    return values[0] if len(values) == 1 else None


def find_start_constant(text: str, site: Span) -> Span:
    """Return the value of the only constant outside functions that an address in tensor memory has; else its place."""
    blank = blank_text(text)
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", blank[slice(*site)]))
    values = filter(None, (find_given_value(blank, name, site) for name in names))
    found = [value for value in values if find_enclosing_function(blank, value[0]) is None]
    return found[0] if len(found) == 1 else site


def find_enclosing_condition(text: KernelText, at: Span) -> Span:
    """Return the condition of the innermost `if` around a place of a function; the place itself if there is none."""
    function = find_enclosing_function(text.blank, at[0])
    branches = _list_branches(text.blank, *function.body) if function is not None else ()
    return next((condition for condition, (start, past) in reversed(branches) if start <= at[0] <= past), at)


@lru_cache(maxsize=64)
def _list_branches(blank: str, first: int, past: int) -> tuple[tuple[Span, Span], ...]:
    """List (condition, branch) of each `if` in a part of a blanked text."""
    found = []
    for match in _CONDITION.finditer(blank, first, past):
        closing = find_closing(blank, match.end())
        opening = _ATTRIBUTE.match(blank, closing + 1)
        start = opening.end() if opening is not None else closing + 1
        end = find_closing(blank, start) if blank[start : start + 1] == "{" else blank.find(";", start)
        found.append(((match.end() + 1, closing), (start, end)))
    return tuple(found)
