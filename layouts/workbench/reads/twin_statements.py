"""Find where a statement differs in more than it should from those that are written alike.

`copy(read_a, tXsA(_, _, k_next), tXrA(_, _, k_next))` and `copy(read_b, tXsB(_, _, k), tXrB(_, _, k_next))` are twins:
the second is the first with B for A, but for `k`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from itertools import groupby, islice

from lanescope.workbench.results import TextEdit
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
    """Yield the edits that complete a series of alike statements, of which two have the same number and none another.

    >>> text = "c[r] = d[0]; c[r + 1] = d[1]; c[r + 8] = d[2]; c[r + 9] = d[2];"
    >>> [(text[: edit.span[0]].count(";"), edit.text) for edit in list_series_edits(text)]
    [(2, '3'), (3, '3')]
    """
    for _, alike in groupby(list_statements(blank), key=_list_series_words):
        members = list(alike)
        rows = [[n for n, word in enumerate(one.words) if word.isdecimal()] for one in members]
        for at in ([row[-1 - n] for row in rows] for n in range(min(map(len, rows)))):
            values = [int(one.words[n]) for one, n in zip(members, at, strict=True)]
            missing = set(range(len(values))) - set(values)
            if len(members) >= _LEAST_SERIES and len(missing) == 1 and max(values) < len(values):
                twice = max(values, key=values.count)
                pairs = zip(members, at, values, strict=True)
                yield from (TextEdit(one.spans[n], str(*missing)) for one, n, value in pairs if value == twice)


def _list_series_words(one: StatementWords) -> tuple[str, ...]:
    """Return the words of a statement that are alike in a series: without numbers that are added."""
    pairs = zip(one.words, (*one.words[1:], ""), strict=True)
    return tuple(word for word, after in pairs if not word.isdecimal() and not (word == "+" and after.isdecimal()))


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
