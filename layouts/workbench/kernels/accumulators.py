"""Find where a kernel declares a wgmma's accumulators, and where it sets or reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lanescope.cxx.source_text import list_macros, read_statement_head
from lanescope.reader.code.findings import AsmRun
from lanescope.workbench.repair.blamed_numbers import find_argument_span
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function

_TYPES = r"(?:float|uint32_t|int32_t|unsigned|int|unsigned\s+int|half2|__half2)"
_ARGUMENT = re.compile(r"[&*]?\s*([A-Za-z_]\w*)\s*(?:\[|$)")
_CALLS = re.compile(  # that read the value of an argument
    r"(?:__\w+|make_\w+|printf|(?:exp2?|log2?|f?max|f?min|f?abs|tanh|fma)f?|float|half|bf16|static_cast|if|for|while)$"
)
_LOOP = re.compile(r"\b(?:for|while)\s*\(.*\)\s*$")
_OUTPUT = re.compile(r"(?:[A-Z]\w*\s*\(\s*)?([A-Za-z_]\w*)")  # also of a macro that lists them: D32(d)
_UNEVALUATED = re.compile(r"\b(?:sizeof|decltype)\s*\([^()]*\)")
_CALL_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?$")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A variable of a function that a wgmma accumulates into.

    at: the place in the function that passes it to the wgmma; declared: the end of its declaration; set: whether the
    declaration initializes it; indexed: whether the wgmma writes one of several parts; passed: its names in the
    functions that pass it on, with the text of each before that.
    """

    name: str
    function: FunctionText
    at: Span
    declared: int
    set: bool
    indexed: bool
    passed: tuple[tuple[str, Span], ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.declared


def find_accumulator(run: AsmRun, blank: str) -> Accumulator | None:
    """Find the variable whose registers a wgmma or tcgen05.ld writes, through parameters; None if not found."""
    outputs = [span for kind, _, span in run.inputs if kind.startswith(("+", "="))]
    root = _OUTPUT.match(blank[slice(*outputs[0])]) if outputs else None
    if root is None:
        return None
    name, at = root[1], run.span
    indexed = False
    passed: list[tuple[str, Span]] = []
    for called, call in reversed(run.calls):
        function = find_enclosing_function(blank, at[0])
        if function is None or function.name != called:
            return None
        if name not in function.parameters:
            found = _find_declaration(name, blank, function, at, indexed)
            return None if found is None else replace(found, passed=tuple(passed))
        argument = _find_argument(blank, call, function.parameters.index(name))
        if argument is None:
            return None
        passed.append((name, (function.body[0], at[0])))
        (name, part), at = argument, call
        indexed = indexed or part
    return None


def _find_argument(blank: str, call: Span, number: int) -> tuple[str, bool] | None:
    """Return (variable passed for a parameter, whether only a part of it is passed)."""
    span = find_argument_span(blank, call, number)
    match = _ARGUMENT.match(blank[slice(*span)]) if span is not None else None
    return (match[1], match[0].endswith("[")) if match else None


def _find_declaration(name: str, blank: str, function: FunctionText, at: Span, indexed: bool) -> Accumulator | None:
    """Find the last declaration of a variable of registers before a place."""
    first, past = function.body
    if _may_macro_write(name, blank):
        return None
    form = re.compile(rf"(?<![\w:<]){_TYPES}\s+(?:[^;(){{}}=]*?,\s*)?\b{name}\s*((?:\[[^\]]*\]\s*)*)([;,={{(])")
    declared = list(form.finditer(blank, first, min(past, at[0])))
    if not declared:
        return None
    match = declared[-1]
    if re.search(r"static|extern|__shared__|constexpr", read_statement_head(blank, match.start())):
        return None
    return Accumulator(name, function, at, match.end() - 1, match[2] in "={(", indexed)


@lru_cache(maxsize=64)
def _may_macro_write(name: str, blank: str) -> bool:
    """Return whether the body of a macro uses a variable that is not one of its parameters."""
    form = re.compile(rf"(?!\([^)]*\b{name}\b).*\b{name}\b", re.S)
    return any(form.match(rest) for _, rest in list_macros(blank))


def is_untouched(accumulator: Accumulator, blank: str) -> bool:
    """Return whether a variable is declared without a value and not used before its wgmma."""
    if accumulator.set:
        return False
    before = ((accumulator.name, (accumulator.declared, accumulator.at[0])), *accumulator.passed)
    return not any(re.search(rf"\b{name}\b", _UNEVALUATED.sub("", blank[slice(*span)])) for name, span in before)


def find_access(accumulator: Accumulator, blank: str, between: Span, products: Sequence[Span]) -> Span | None:
    """Find where code between two places reads or writes an accumulator, other than by wgmma.

    Passing it to a function that only keeps the compiler from moving it does not count.
    """
    for match in re.compile(rf"\b{accumulator.name}\s*\[").finditer(blank, *between):
        inside = any(first <= match.start() < past for first, past in products)
        before = blank[between[0] : match.start()].rstrip()
        if _may_turn_away(before):
            return None
        literal = accumulator.indexed and re.match(r"\s*\d", blank[match.end() : match.end() + 20])
        if inside or literal or before.endswith(("&", ".", "->")):
            continue
        calls = _list_enclosing_calls(blank, accumulator.function, match.start())
        if all(_CALLS.search(name) or _takes_values(blank, name) for name in calls):
            return match.start(), match.start() + len(accumulator.name)
    return None


def _may_turn_away(before: str) -> bool:
    """Return whether what follows some code may be on another path than its start; `continue` in a loop of the code
    only skips a turn of that.
    """
    if re.search(r"\b(?:return|goto|break|else|case|default)\b", before):
        return True
    return any(not _is_in_loop(before[: match.start()]) for match in re.finditer(r"\bcontinue\b", before))


def _is_in_loop(before: str) -> bool:
    """Return whether some code leaves the braces of a loop open."""
    opened: list[bool] = []
    for match in re.finditer(r"[{}]", before):
        if match[0] == "{":
            opened.append(bool(_LOOP.search(before[: match.start()].rpartition("\n")[2])))
        elif opened:
            opened.pop()
    return any(opened)


def _takes_values(blank: str, name: str) -> bool:
    """Return whether every definition of a function, or a macro, takes its arguments by value."""
    macros = dict(list_macros(blank))
    if macros.get(name, "").startswith("("):
        head, _, body = macros[name].partition(")")
        called = re.findall(r"\b([A-Za-z_]\w*)\s*\(", body)
        taken = any(re.search(rf"&\s*{word}\b", body) for word in re.findall(r"\w+", head))
        return not taken and all(_CALLS.search(word) or word in macros for word in called)
    heads = re.findall(rf"\b[A-Za-z_]\w*\s+{name}\s*\(([^(){{}};]*)\)\s*(?:const\b\s*|noexcept\b\s*)*{{", blank)
    return bool(heads) and not any(re.search(r"[&*\[]", head) for head in heads)


def _list_enclosing_calls(blank: str, function: FunctionText, at: int) -> Iterator[str]:
    """Yield the names before the open brackets around a place of a statement, innermost first."""
    depth = 0
    for place in range(at - 1, function.body[0], -1):
        letter = blank[place]
        if letter in ";{}" and not depth:
            return
        if letter == ")":
            depth += 1
        elif letter == "(" and depth:
            depth -= 1
        elif letter == "(":
            match = _CALL_NAME.search(blank[max(place - 80, 0) : place])
            if match:
                yield match[1]
