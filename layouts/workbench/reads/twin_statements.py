"""Find where two statements that treat the two operands of a product alike differ in more than the operand.

`copy(read_a, tXsA(_, _, k_next), tXrA(_, _, k_next))` and `copy(read_b, tXsB(_, _, k), tXrB(_, _, k_next))` are twins:
the second is the first with B for A, but for `k`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from lanescope.workbench.results import Span, TextEdit

MOST_STATEMENTS = 600
_NEAR = 12  # statements between twins
_MOST_TOKENS = 80
_MOST_DIFFERING = 4  # words of one place
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|::|->|[^\s\w]")
_OF_CUTE = frozenset(
    f"{call}_{operand}"
    for call in ("make_tiled_copy", "partition", "partition_fragment", "make_fragment")
    for operand in "AB"
)
_PAIRS = (("aAmM", "bBnN"), ("kK", "vV"), ("qQ", "kK"))  # letters of the first operand and those of the second


@dataclass(frozen=True, slots=True)
class _Statement:
    """The tokens of a statement with their places."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    def find_span(self, first: int, past: int) -> Span:
        if first < past:
            return self.spans[first][0], self.spans[past - 1][1]
        at = self.spans[first - 1][1] if first else self.spans[0][0]
        return at, at


def list_twin_edits(blank: str) -> Iterator[TextEdit]:
    """Yield the edits that make a statement of a blanked text equal to its twin, except for the operand."""
    statements = list(_list_statements(blank))[:MOST_STATEMENTS]
    names = _OF_CUTE.union(*(statement.words for statement in statements))
    for n, first in enumerate(statements):
        for second in statements[n + 1 : n + 1 + _NEAR]:
            yield from _compare(first, second, names)


def _list_statements(blank: str) -> Iterator[_Statement]:
    """Yield the statements and the heads of blocks of a text."""
    words: list[str] = []
    spans: list[Span] = []
    depth = 0
    for match in _TOKEN.finditer(blank):
        word = match[0]
        depth += (word in "([") - (word in ")]")
        if word in "{};" and depth <= 0 and not _is_value(blank, match.span()):
            if 4 <= len(words) <= _MOST_TOKENS:
                yield _Statement(tuple(words), tuple(spans))
            words, spans, depth = [], [], 0
        else:
            words.append(word)
            spans.append(match.span())


def _is_value(blank: str, span: Span) -> bool:
    """Return whether a brace belongs to `Type{}` in an expression."""
    return blank[span[0] : span[0] + 2] == "{}" or blank[span[0] - 1 : span[1]] == "{}"


def _compare(first: _Statement, second: _Statement, names: Collection[str]) -> Iterator[TextEdit]:
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
    first: _Statement,
    second: _Statement,
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
    first: _Statement, second: _Statement, pair: tuple[str, str], names: Collection[str]
) -> Iterator[TextEdit]:
    """Yield the edits of words that name the same operand in both statements."""
    for n, (word, other) in enumerate(zip(first.words, second.words, strict=True)):
        for statement, letters in ((second, pair), (first, pair[::-1])):
            named = _name_other(word, letters, names) if word == other else word
            if named != word:
                yield TextEdit(statement.spans[n], named)


def _write(statement: _Statement, first: int, past: int, pair: tuple[str, str], names: Collection[str]) -> str:
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
