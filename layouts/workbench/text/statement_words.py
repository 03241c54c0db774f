"""Split a blanked text into statements, and find those that a statement's values come from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import product

from lanescope.cxx.source_text import find_closing
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import find_functions

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w']*|::|->|<<=|>>=|[-+*/%&|^=!<>]=|\+\+|--|<<|>>|[^\s\w]")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_CLASS = re.compile(
    r"\b(?:struct|class|union|enum|namespace)\b[^;{}()=]*?\b([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^;{}]*)?\{"
)
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)\s*(?:\[(?:[^][=;]|\[[^][=;]*\])*\]\s*)*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|:\s*\d|\+\+|--)"
    r"|(?:\+\+|--|#\s*define|\busing)\s*([A-Za-z_]\w*)"
)
_CALL = re.compile(r"\s*(?:[\w:.]|->)+\s*(?:<[^;(){}]*>)?\s*\(")
_MOST = 600  # statements of a text
_OUTSIDE = 4  # steps to a name that is outside of what is wrong
_PASSED = 2  # steps to a call that is passed a name: it may write to it


@dataclass(frozen=True, slots=True)
class StatementWords:
    """The tokens of a statement, of the head of a block or of a directive, with their places."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def span(self) -> Span:
        return self.spans[0][0], self.spans[-1][1]

    def find_span(self, first: int, past: int) -> Span:
        """Return the place of the words from `first` to before `past`; of none, the place between words."""
        if first < past:
            return self.spans[first][0], self.spans[past - 1][1]
        at = self.spans[first - 1][1] if first else self.spans[0][0]
        return at, at


@lru_cache(maxsize=4)
def list_statements(blank: str) -> tuple[StatementWords, ...]:
    """List the statements, heads of blocks and directives of a blanked text in its order.

    >>> [" ".join(one.words) for one in list_statements("int n = 4; for (i = 0; i < n; ++i) { f(T{}); }")]
    ['int n = 4', 'for ( i = 0 ; i < n ; ++ i )', 'f ( T { } )']
    """
    found: list[StatementWords] = []
    at = 0
    for directive in _DIRECTIVE.finditer(blank):
        found += _list_between(blank, at, directive.start())
        found += _list_between(blank, directive.start(), directive.end(), "")
        at = directive.end()
    return (*found, *_list_between(blank, at, len(blank)))


def _list_between(blank: str, first: int, past: int, ends: str = "{};") -> Iterator[StatementWords]:
    words: list[str] = []
    spans: list[Span] = []
    depth = 0
    for match in _TOKEN.finditer(blank, first, past):
        word = match[0]
        depth += (word in "([") - (word in ")]")
        if word in ends and depth <= 0 and not _is_value(blank, match.span()):
            if words:
                yield StatementWords(tuple(words), tuple(spans))
            words, spans, depth = [], [], 0
        else:
            words.append(word)
            spans.append(match.span())
    if words:
        yield StatementWords(tuple(words), tuple(spans))


def _is_value(blank: str, span: Span) -> bool:
    """Return whether a brace belongs to `Type{}` in an expression."""
    return blank[span[0] : span[0] + 2] == "{}" or blank[span[0] - 1 : span[1]] == "{}"


def list_origins(blank: str, places: Collection[Span]) -> list[tuple[int, StatementWords]]:
    """List the statements that the values at some places come from, the nearest first, with the number of steps.

    A step leads from a name to the statements that set it, from a call to the body of its function, and from a function
    to its calls. The names of a statement that are outside of its places are further away.

    >>> text = "#define N 4\\nint f(int x) { return x * N; } void g() { int y = 2; h(f(y)); }"
    >>> for steps, one in list_origins(text, [(text.index("h("), len(text) - 3)]):
    ...     print(steps, " ".join(one.words))
    0 h ( f ( y ) )
    1 return x * N
    1 void g ( )
    1 int y = 2
    2 # define N 4
    2 int f ( int x )
    """
    statements = list_statements(blank)
    if len(statements) > _MOST:
        return []
    inside = {n: near for n, one in enumerate(statements) if (near := _list_inside(one, places))}
    sources = _list_sources(blank, statements, inside)
    steps: dict[int, int] = {}
    waiting = [(0, n) for n in inside]
    while waiting:
        step, n = heappop(waiting)
        if n in steps:
            continue
        steps[n] = step
        for further, m in sources[n]:
            heappush(waiting, (step + further, m))
    return [(step, statements[n]) for n, step in steps.items()]


def _meets(span: Span, place: Span) -> bool:
    return span[0] < max(place[1], place[0] + 1) and place[0] < span[1]


def _list_inside(one: StatementWords, places: Iterable[Span]) -> set[str]:
    """Return the words of a statement that places have."""
    near = [place for place in places if _meets(one.span, place)]
    return {word for word, span in zip(one.words, one.spans, strict=True) if any(_meets(span, at) for at in near)}


def _list_sources(
    blank: str, statements: Sequence[StatementWords], inside: Mapping[int, Collection[str]]
) -> list[list[tuple[int, int]]]:
    """List for each statement those that set its names, or call its function: (steps, number). inside: the words of
    some statements, of which the other words are further away.
    """
    functions = [(function.name, function.body) for function in find_functions(blank)]
    braces = [(match[1], match.end() - 1) for match in _CLASS.finditer(blank)]
    classes = [(name, (at, find_closing(blank, at))) for name, at in braces]
    setting: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)  # (function, name) → statement → steps
    mentions: dict[str, list[int]] = defaultdict(list)
    functions_around: list[str] = []
    for n, one in enumerate(statements):
        around = _list_around(functions, one.span[0])
        functions_around += around[-1:] or [""]
        for name in (*around, *_list_around(classes, one.span[0])):
            setting["", name].setdefault(n, 1)
        for word in one.words:
            mentions[word].append(n)
        for word, steps in _list_set_names(blank, one).items():
            setting[functions_around[n], word][n] = steps

    def list_sources(n: int, one: StatementWords, function: str) -> list[tuple[int, int]]:
        near, found = inside.get(n, one.words), [(1, m) for m in mentions.get(function, ())]
        for word, scope in product(dict.fromkeys(one.words), dict.fromkeys((function, ""))):
            further = 0 if word in near else _OUTSIDE
            found += [(steps + further, m) for m, steps in setting.get((scope, word), {}).items()]
        return found

    return list(map(list_sources, range(len(statements)), statements, functions_around))


def _list_around(bodies: Iterable[tuple[str, Span]], at: int) -> list[str]:
    """List the names of the bodies that hold a place."""
    return [name for name, body in bodies if body[0] <= at < body[1]]


def _list_set_names(blank: str, one: StatementWords) -> dict[str, int]:
    """Return the names that a statement sets, or may set as arguments of a call, with the steps to it."""
    part = blank[slice(*one.span)]
    passed = dict.fromkeys(one.words, _PASSED) if _CALL.match(part) else {}
    return {**passed, **{match[1] or match[2]: 1 for match in _ASSIGNED.finditer(part)}}
