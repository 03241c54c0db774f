"""Narrow the span of a wrong start from a call to the argument, and the term of its sum, that must change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lanescope.cxx.source_text import find_closing, trim_span
from lanescope.workbench.repair.blamed_numbers import find_argument_span, list_local_values
from lanescope.workbench.results import OperandStep, Span, VerifiedOperand
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
STAGE = r"(?i:.*(?:stage|pipe|slot|buf_?i|phase).*|s|st)"  # names of stage counters
_MOST_WORDS = 24  # of an expression and of what its variables were set to
_ITEM = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\[\s*[A-Za-z_]\w*\s*\]")
_INDEX = re.compile(r"\[")


def narrow_to_term(blank: str, chain: Sequence[Span], at: Span, variable: str) -> Span:
    """Return the span within a call that determines the start: an argument, or its term with the loop variable.

    chain: the descriptor's expression and the calls around it, innermost first; at: one of these; variable: a pattern
    of its name, "" if the start is wrong in every iteration. Return `at` unchanged if the argument is not certain.
    """
    if at not in chain or chain.index(at) == 0:
        return at
    argument = chain[0]
    for n, call in enumerate(chain[1 : chain.index(at) + 1], 1):
        if call[0] <= argument[0] < call[1]:
            continue  # a parameter was followed to the call already
        enclosing_argument = find_given_argument(blank, argument, call)
        if enclosing_argument is None:
            return _find_helper_term(blank, argument, chain[n:], variable) or at
        argument = enclosing_argument
    return find_term(blank, argument, variable) or argument


def _find_helper_term(blank: str, argument: Span, calls: Sequence[Span], variable: str) -> Span | None:
    """Return the one term of a helper's address that is made of a parameter which depends on a variable.

    argument: an expression of the helper, or a variable that it sets once; calls: the calls around, innermost first.
    """
    function = find_enclosing_function(blank, argument[0])
    if function is None or not variable:
        return None
    terms: set[Span] = set()
    for word in list_source_words(blank, argument) & set(function.parameters):
        given = find_argument_span(blank, calls[0], function.parameters.index(word))
        words = list_source_words(blank, given) if given is not None else frozenset()
        if not any(re.compile(variable).fullmatch(name) for name in words):
            continue
        inside = "[" in blank[slice(*argument)]
        expressions = [argument] if inside else list(_list_local_expressions(blank, function, argument))
        indexes = [find_term(blank, span, word) for span in expressions if "[" in blank[slice(*span)]]
        terms |= {span for span in indexes if span is not None and word in _WORD.findall(blank[slice(*span)])}
    return terms.pop() if len(terms) == 1 else None


def _list_local_expressions(blank: str, function: FunctionText, argument: Span) -> Iterator[Span]:
    """Yield the one value of each local variable that an expression names."""
    for name in dict.fromkeys(_WORD.findall(blank[slice(*argument)])):
        values = list_local_values(blank, function, name, argument)
        if len(values) == 1:
            yield values[0]


def follow_stage_item(blank: str, at: Span) -> Span:
    """Return the term that sets the distance of an array of stage pointers; the place itself if it names no such array,
    or several.

    For `smem_b[s] + k * 32` that is `i * BYTES` of `smem_b[i] = buffer + i * BYTES;`.
    """
    found: set[Span] = set()
    function = find_enclosing_function(blank, at[0])
    for match in _ITEM.finditer(blank, *at) if function is not None else ():
        form = re.compile(rf"(?<![\w.]){match[1]}\s*\[\s*(\w+)\s*\]\s*=(?!=)\s*([^;{{}}]+);")
        assigned = list(form.finditer(blank, *function.body)) if function is not None else []
        if len(assigned) == 1:
            first, inside = assigned[0], _skip_call(blank, assigned[0].span(2))
            found |= {span for span in list_terms(blank, inside) if first[1] in _WORD.findall(blank[slice(*span)])}
    return found.pop() if len(found) == 1 else at


def _skip_call(blank: str, at: Span) -> Span:
    """Return the argument of a cast or call that an expression consists of, else the expression."""
    match = re.compile(r"(?:[\w:]+\s*(?:<[^<>()]*>)?\s*)?\(").match(blank, *at)
    return (match.end(), at[1] - 1) if match and find_closing(blank, match.end() - 1) == at[1] - 1 else at


def find_wrong_loop(operand: VerifiedOperand, wrong: OperandStep) -> str:
    """Return the one loop variable whose value separates the wrong steps of a place from the right ones; "" for none or
    several.
    """
    place = {wrong.span, *wrong.around}
    steps = [step for step in operand.steps if {step.span, *step.around} == place]
    right = [step for step in steps if step.verdict == "match"]
    mismatched = [step for step in steps if step.verdict == "mismatch"]
    names = dict.fromkeys(name for step in mismatched for name in step.loops)
    telling = [name for name in names if right and _list_values(mismatched, name).isdisjoint(_list_values(right, name))]
    return telling[0] if len(telling) == 1 else ""


def find_loop_step(blank: str, term: Span, variable: str) -> Span | None:
    """Find the increment of the loop over a variable that is itself a term: `k += 32`; None without `+=` or `=`."""
    if not variable or blank[slice(*term)] != variable:
        return None
    step = re.compile(rf"\bfor\s*\([^;{{}}]*;[^;{{}}]*;\s*({re.escape(variable)}\s*(?:\+=|=)[^;{{}}]*?)\s*\)\s*[{{\w#]")
    found = list(step.finditer(blank, 0, term[0]))
    return found[-1].span(1) if found else None


def _list_values(steps: Sequence[OperandStep], name: str) -> set[int | None]:
    return {step.loops.get(name) for step in steps}


def find_given_argument(blank: str, inner: Span, call: Span) -> Span | None:
    """Find the one argument of a call that an expression in the called function depends on; else None."""
    function = find_enclosing_function(blank, inner[0])
    named = re.compile(rf"\b{function.name}\b").search(blank, *call) if function is not None else None
    if function is None or named is None:
        return None
    numbers = [n for n, name in enumerate(function.parameters) if name in list_source_words(blank, inner)]
    return find_argument_span(blank, (named.start(), call[1]), numbers[0]) if len(numbers) == 1 else None


@lru_cache(maxsize=256)
def list_source_words(blank: str, at: Span) -> frozenset[str]:
    """Return the names in an expression and, for local variables among them, in the expressions that set them."""
    words: set[str] = set()
    expressions = [at]
    while expressions:
        span = expressions.pop()
        more = set(_WORD.findall(blank[slice(*span)])) - words
        words |= more
        function = find_enclosing_function(blank, span[0])
        if function is not None and len(words) < _MOST_WORDS:
            variables = sorted(more - set(function.parameters))
            values = (list_local_values(blank, function, name, span) for name in variables)
            expressions += [of_name[0] for of_name in values if len(of_name) == 1]
    return frozenset(words)


def find_term(blank: str, argument: Span, variable: str) -> Span | None:
    """Find the term of an argument that contains a variable, or a name set from it; else the index."""
    index = next(_INDEX.finditer(blank, *argument), None)
    if index is not None and blank[find_closing(blank, index.start()) + 1 : argument[1]].strip(" )"):
        index = None  # the sum goes on behind it: s.A[stage] + k * 16
    inside = (index.end(), find_closing(blank, index.start())) if index is not None else argument
    terms = list(list_terms(blank, inside)) if variable else []
    named = [span for span in terms if any(map(re.compile(variable).fullmatch, _WORD.findall(blank[slice(*span)])))]
    if not named:
        further = ((span, list_source_words(blank, span)) for span in terms)
        named = [span for span, words in further if any(map(re.compile(variable).fullmatch, words))]
    return named[0] if len(named) == 1 else inside if index is not None else None


def list_terms(blank: str, inside: Span) -> Iterator[Span]:
    """Yield the terms of a sum."""
    first, depth = inside[0], 0
    for at in range(*inside):
        letter = blank[at]
        depth += (letter in "([{") - (letter in ")]}")
        if letter in "+-" and not depth and blank[first:at].strip():
            yield trim_span(blank, (first, at))
            first = at + 1
    yield trim_span(blank, (first, inside[1]))


def find_pointer_value(blank: str, at: Span) -> Span:
    """Return the value of the one local pointer that the argument around a place moves; the place if there is none."""
    function = find_enclosing_function(blank, at[0])
    if function is None:
        return at
    values = [
        value
        for name in dict.fromkeys(_WORD.findall(blank[_find_argument_begin(blank, at[0]) : at[1]]))
        for value in list_local_values(blank, function, name, at)[:1]
        if re.search(r"[+&]", blank[slice(*value)])
    ]
    return values[0] if len(values) == 1 else at


def _find_argument_begin(blank: str, at: int) -> int:
    """Return where the argument of a call begins that a place is in."""
    depth = 0
    while at > 0 and (depth or blank[at - 1] not in "(,;{}"):
        at -= 1
        depth += (blank[at] in ")]") - (blank[at] in "([" and depth > 0)
    return at
