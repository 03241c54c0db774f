"""Loops in the text around a place, and where a statement can be inserted before or after another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lanescope.cxx.source_text import find_closing
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, find_enclosing_function, find_functions

_LOOP = re.compile(r"\b(for|while)\s*\(|\b(do)\b")
_COUNTER = re.compile(r"(?:[A-Za-z_][\w:<>]*[\s*&]+){0,3}([A-Za-z_]\w*)\s*(?:=|\{)")
_LAUNCH = re.compile(r"<<<|[Ll]aunch")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(")
_OF_NUMBERS = re.compile(
    r"rand|rng|gen|dist|engine|uniform|float|half|bf16|bfloat|fp\d|int|double|abs|max|min|sqrt|pow|exp|sin|cos|fmod|round"
    r"|isnan|isinf|cast|print|exit|abort|assert|push_back|size|\bat$|^(?:for|if|while|sizeof|switch|return)$",
    re.I,
)
_WAITS = re.compile(r"\b\w*(?:wait|sync|barrier|acquire|consume)\w*\s*[(.<]", re.I)


@dataclass(frozen=True, slots=True)
class LoopText:
    """A loop: its variable ("" without one), the spans of its head and its body."""

    variable: str
    head: Span
    body: Span


def list_loops_around(blank: str, function: FunctionText, at: int) -> list[LoopText]:
    """List the loops of a function whose body holds a place, outermost first.

    >>> from lanescope.workbench.text.function_texts import find_functions
    >>> text = "void f() { for (unsigned int i = 0; i < 4; ++i) { g(i); } }"
    >>> [loop.variable for loop in list_loops_around(text, find_functions(text)[0], text.index("g(i)"))]
    ['i']
    """
    loops = (_read_loop(blank, match) for match in _LOOP.finditer(blank, function.body[0], at))
    return [loop for loop in loops if loop.body[0] <= at < loop.body[1]]


def list_loops_at(blank: str, at: int) -> list[LoopText]:
    """List the loops of any function around a place, outermost first."""
    function = find_enclosing_function(blank, at)
    return list_loops_around(blank, function, at) if function is not None else []


def list_filling_loops(blank: str) -> list[LoopText]:
    """List the for loops that set or print elements: they launch nothing, and call no function of the text and none of
    others but those of numbers.

    >>> [loop.variable for loop in list_filling_loops("void f() { for (int i = 0; i < M; ++i) a[i] = rand(); }")]
    ['i']
    """
    own = {one.name for one in find_functions(blank)}
    loops = (_read_loop(blank, match) for match in _LOOP.finditer(blank) if match[1] == "for")
    plain = (loop for loop in loops if not _LAUNCH.search(blank, *loop.body))
    plain = (loop for loop in plain if own.isdisjoint(re.findall(r"\w+", blank[slice(*loop.body)])))
    return [loop for loop in plain if all(_OF_NUMBERS.search(name) for name in _CALL.findall(blank, *loop.body))]


def waits_in(blank: str, span: Span) -> bool:
    """Return whether code waits for something."""
    return _WAITS.search(blank, *span) is not None


def find_condition(blank: str, loop: LoopText) -> Span:
    """Return the condition of a loop; its head if it has no other part."""
    first = blank.find(";", *loop.head) + 1
    past = blank.find(";", first, loop.head[1])
    if not first or past < 0:
        return loop.head
    return first + len(blank[first:past]) - len(blank[first:past].lstrip()), past


def find_other_bound(blank: str, at: int, others: Iterable[int]) -> Span | None:
    """Return the condition of the one of two loops that ends a number of iterations before or after the other one: of
    the innermost loops around a place and around all of other places; None if they are not alike but for that number.

    >>> text = "void f() { for (int i = 0; i < n; ++i) g(); for (int k = 0; k < n - 1; ++k) h(); }"
    >>> text[slice(*find_other_bound(text, text.index("g"), [text.index("h")]))]
    'k < n - 1'
    """
    loops = [around[-1] for place in (at, *others) if (around := list_loops_at(blank, place))]
    spans = list(dict.fromkeys(find_condition(blank, loop) for loop in loops))
    if len(spans) != 2:
        return None
    names = {find_condition(blank, loop): loop.variable for loop in loops}
    words = [re.sub(rf"\b{names[at] or '#'}\b", "#", blank[slice(*at)]).replace(" ", "") for at in spans]
    one, other = ("&&".join(part for part in text.split("&&") if "#" in part) for text in words)
    for short, long, place in ((one, other, spans[1]), (other, one, spans[0])):
        if re.fullmatch(re.escape(short) + r"[-+]\d+", long):
            return place
    return None


def _read_loop(blank: str, match: re.Match[str]) -> LoopText:
    if match[2]:
        opening = match.end()
        return LoopText("", match.span(), (opening, _find_statement_end(blank, opening)))
    closing = find_closing(blank, match.end() - 1)
    counter = _COUNTER.match(blank, match.end()) if match[1] == "for" else None
    start = closing + 1
    return LoopText(counter[1] if counter else "", (match.start(), start), (start, _find_statement_end(blank, start)))


def _find_statement_end(blank: str, at: int) -> int:
    """Return the end of the statement that begins at a place: of its braces, or of its semicolon."""
    place, past = at, len(blank)
    while place < past:
        letter = blank[place]
        if letter == "{":
            return find_closing(blank, place) + 1
        if letter == "(":
            place = find_closing(blank, place)
        elif letter == ";":
            return place + 1
        place += 1
    return past


def find_statement_start(blank: str, at: int, first: int = 0) -> int:
    """Return where the statement around a place begins, with the pragmas before it.

    >>> find_statement_start("f(); g(1);", 7)
    5
    """
    depth, place = 0, at - 1
    while place >= first:
        letter = blank[place]
        if letter in ")]":
            depth += 1
        elif letter in "([":
            depth -= 1
        elif letter in ";{}" and depth <= 0:
            break
        place -= 1
    return _skip_blanks(blank, place + 1)


def find_next_statement(blank: str, at: Span) -> int:
    """Return where the next statement begins after the one that ends with a place; where its block ends, if none does.

    >>> find_next_statement("f(); g();", (0, 3))
    5
    """
    return _skip_blanks(blank, _find_statement_end(blank, at[1]))


def find_place_after(blank: str, at: Span, other: Span = (-1, -1)) -> int:
    """Return the first place after a statement and after the loops around it that do not hold another place.

    >>> find_place_after("void f() { for (;;) { h(); for (;;) g(); } e(); }", (36, 39), (22, 25))
    41
    """
    loops = (loop for loop in list_loops_at(blank, at[0]) if not loop.head[0] <= other[0] < loop.body[1])
    outermost = next(loops, None)
    return find_next_statement(blank, at) if outermost is None else _skip_blanks(blank, outermost.body[1])


def _skip_blanks(blank: str, at: int) -> int:
    return at + len(blank[at:]) - len(blank[at:].lstrip())


def find_place_before_products(blank: str, function: FunctionText, at: int) -> int:
    """Return where a statement belongs that is executed once before all products of a tile: before the loops over K.

    at: the first product. Loops with an end that is not a constant, or that wait for a tile, are not left.
    """
    loop = _find_loop_of_products(blank, function, at)
    return find_statement_start(blank, loop.head[0] if loop is not None else at, function.body[0])


def find_place_after_products(blank: str, function: FunctionText, product: Span) -> int:
    """Return where a statement belongs that is executed once after all products of a tile."""
    loop = _find_loop_of_products(blank, function, product[0])
    return _skip_blanks(blank, loop.body[1]) if loop is not None else find_next_statement(blank, product)


def _find_loop_of_products(blank: str, function: FunctionText, at: int) -> LoopText | None:
    """Return the outermost loop around a product that only multiplies the slices of one tile."""
    found = None
    for loop in reversed(list_loops_around(blank, function, at)):
        place = found.head[0] if found is not None else at
        if not loop.variable or _WAITS.search(blank[loop.body[0] : place]) or not _is_constant(blank, function, loop):
            break
        found = loop
    return found


def _is_constant(blank: str, function: FunctionText, loop: LoopText) -> bool:
    """Return whether the end of a loop does not depend on variables or parameters of its function."""
    condition = blank[slice(*loop.head)].split(";")
    names = set(re.findall(r"[A-Za-z_]\w*", condition[1])) - {loop.variable} if len(condition) == 3 else {""}
    return not any(name in function.parameters or _is_local(blank, function, name) for name in names)


def _is_local(blank: str, function: FunctionText, name: str) -> bool:
    """Return whether a function declares a variable that is not a constant of the compiler."""
    declared = r"(?:^|[;{}(])\s*(?:(constexpr)\s+)?(?:(?:const|static|unsigned|volatile)\s+)*[A-Za-z_][\w:<>]*"
    form = re.compile(rf"(?:{declared}(?:\s*[*&]+\s*|\s+)|,\s*){name}\s*(?:[=;{{]|\[|,\s*\w+\s*=)(?!=)")
    return not name or any(not match[1] for match in form.finditer(blank, *function.body))


def find_place_between(blank: str, function: FunctionText, before: Span, after: Span) -> int:
    """Return where a statement belongs that all threads execute between two places: before the outermost block that
    holds the second and not the first.
    """
    start = find_statement_start(blank, after[0], function.body[0])
    while start > before[1]:
        brace = find_enclosing_brace(blank, start, function.body[0])
        if brace <= before[1] or brace <= function.body[0]:
            break
        start = find_statement_start(blank, brace, function.body[0])
    return start


def find_enclosing_brace(blank: str, at: int, first: int) -> int:
    """Return the place of the brace that opens the block around a place; `first` if there is none."""
    depth = 0
    for place in range(at - 1, first - 1, -1):
        depth += (blank[place] == "}") - (blank[place] == "{")
        if depth < 0:
            return place
    return first
