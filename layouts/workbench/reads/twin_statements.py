"""Find where a statement differs in more than it should from those that are written alike.

`copy(read_a, tXsA(_, _, k_next), tXrA(_, _, k_next))` and `copy(read_b, tXsB(_, _, k), tXrB(_, _, k_next))` are twins:
the second is the first with B for A, but for `k`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from lanescope.workbench.results import Span, TextEdit
from lanescope.workbench.text.statement_words import StatementWords, list_statements

MOST_STATEMENTS = 600
_NEAR = 12  # statements between twins
_LEAST_SERIES = 4
_LEAST_TOKENS, _MOST_TOKENS = 4, 80
_MOST_DIFFERING = 4  # words of one place
_OF_CUTE = frozenset(
    f"{call}_{operand}"
    for call in ("make_tiled_copy", "partition", "partition_fragment", "make_fragment")
    for operand in "AB"
)
_PAIRS = (("aAmM", "bBnN"), ("kK", "vV"), ("qQ", "kK"))  # letters of the first operand and those of the second


def list_twin_edits(blank: str) -> Iterator[TextEdit]:
    """Yield the edits that make a statement of a blanked text equal to its twin, except for the operand."""
    whole = (one for one in list_statements(blank) if _LEAST_TOKENS <= len(one.words) <= _MOST_TOKENS)
    statements = list(islice(whole, MOST_STATEMENTS))
    names = _OF_CUTE.union(*(statement.words for statement in statements))
    for n, first in enumerate(statements):
        for second in statements[n + 1 : n + 1 + _NEAR]:
            yield from _compare(first, second, names)


def list_series_edits(blank: str) -> Iterator[TextEdit]:
    """Yield the edits that complete a series of numbers of registers, of which two are equal and one is left out.

    >>> text = "c[r] = d[4 * j]; c[r + 1] = d[4 * j + 1]; c[r + 8] = pack(d[4 * j + 2], d[4 * j + 1]);"
    >>> [(text[edit.span[0] - 8 : edit.span[0]], edit.text) for edit in list_series_edits(text)]
    [('4 * j + ', '3'), ('4 * j + ', '3')]
    """
    series: dict[tuple[str, ...], list[tuple[int, Span, int]]] = {}
    for n, one in enumerate(list_statements(blank)):
        for key, span, value in _list_registers(one) if "asm" not in one.words else ():
            before = series.setdefault(key, [])
            if before and n - before[-1][0] > _NEAR:
                yield from _complete_series(before)
                before.clear()
            before.append((n, span, value))
    for of_key in series.values():
        yield from _complete_series(of_key)


def _list_registers(one: StatementWords) -> Iterator[tuple[tuple[str, ...], Span, int]]:
    """Yield (words before it, place, number) of the number that ends the last index of each element."""
    first = 0
    for n, word in enumerate(one.words):
        if word == "[" and one.words[n - 1] != "]":
            first = n - 1
        if word == "]" and one.words[n + 1 : n + 2] != ("[",):
            at = n - 1 if one.words[n - 1].isdecimal() else n  # without a number it is 0
            past = at - 1 if at < n and one.words[at - 1] == "+" else at
            yield one.words[first:past], one.find_span(at, n), int(one.words[at]) if at < n else 0


def _complete_series(found: Sequence[tuple[int, Span, int]]) -> Iterator[TextEdit]:
    """Yield the edits of two equal numbers of a series from 0 on that leaves one out."""
    values = [value for *_, value in found]
    missing = set(range(len(values))) - set(values)
    if len(values) >= _LEAST_SERIES and len(missing) == 1 and max(values) < len(values):
        twice = max(values, key=values.count)
        yield from (TextEdit(span, str(*missing)) for _, span, value in found if value == twice and span[0] < span[1])


def _compare(first: StatementWords, second: StatementWords, names: Collection[str]) -> Iterator[TextEdit]:
    if abs(len(first.words) - len(second.words)) > _MOST_DIFFERING:
        return
    for pair in _PAIRS:
        alike = str.maketrans(pair[1], pair[0])
        lists = [[word.translate(alike) for word in one.words] for one in (first, second)]
        if len(set(lists[0]) ^ set(lists[1])) > 2 * _MOST_DIFFERING:
            continue
        codes = SequenceMatcher(a=lists[0], b=lists[1], autojunk=False).get_opcodes()
        groups = [code[1:] for code in codes if code[0] != "equal"]
        same = [(i + n, m + n) for tag, i, j, m, _ in codes if tag == "equal" for n in range(j - i)]
        if len(groups) > 1 or not any(first.words[n] != second.words[m] for n, m in same):
            continue
        yield from _equalize(first, second, groups[0], pair, names) if groups else ()
        yield from _exchange_operands(first, second, pair, names) if not groups else ()


def _equalize(
    first: StatementWords,
    second: StatementWords,
    group: tuple[int, int, int, int],
    pair: tuple[str, str],
    names: Collection[str],
) -> Iterator[TextEdit]:
    """Yield the edits that give one of two statements the differing words of the other."""
    i, j, m, n = group
    if max(j - i, n - m) <= _MOST_DIFFERING:
        yield TextEdit(second.find_span(m, n), _write(first, i, j, pair, names))
        yield TextEdit(first.find_span(i, j), _write(second, m, n, pair[::-1], names))


def _exchange_operands(
    first: StatementWords, second: StatementWords, pair: tuple[str, str], names: Collection[str]
) -> Iterator[TextEdit]:
    """Yield the edits of words that name the same operand in both statements."""
    for n, (word, other) in enumerate(zip(first.words, second.words, strict=True)):
        for statement, letters in ((second, pair), (first, pair[::-1])):
            named = _name_other(word, letters, names) if word == other else word
            if named != word:
                yield TextEdit(statement.spans[n], named)


def _write(statement: StatementWords, first: int, past: int, pair: tuple[str, str], names: Collection[str]) -> str:
    """Return words of a statement, spaced as there, with the other operand's names."""
    text, at = "", statement.spans[first][0] if first < past else 0
    for word, span in zip(statement.words[first:past], statement.spans[first:past], strict=True):
        text += " " * min(span[0] - at, 1) + _name_other(word, pair, names)
        at = span[1]
    return text


def _name_other(word: str, letters: tuple[str, str], names: Collection[str]) -> str:
    """Return the name of the other operand's part: `tXsB` for `tXsA`; the name itself if the text has none."""
    own, others = letters
    change = dict(zip(own, others, strict=True))
    upper = "".join(change.get(c, c) if c.isupper() else c for c in word)
    parts = re.sub(
        r"(?<![A-Za-z])[a-z](?![a-z])|(?<=_)[a-z](?=\d|_|\b)", lambda match: change.get(match[0], match[0]), word
    )
    for named in (upper, parts):
        if named != word and named in names:
            return named
    return word
