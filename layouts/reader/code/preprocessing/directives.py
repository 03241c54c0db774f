"""The directives of a text, how conditions nest, and which of them can affect a value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from lanescope.reader.code.preprocessing.lexing import (
    JoinedText,
    PreprocessingToken,
    find_pieces,
    join_lines,
    split_tokens,
)
from lanescope.reader.code.preprocessing.macros import parse_define
from lanescope.reader.code.syntax import attributes

MOST_COMPARED = 20_000  # characters of the branches of one condition that are compared
COMPARED_TIMES = 4  # limit on all comparisons, as a multiple of the length of the text
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
WORD = re.compile(r"\.?\d(?:[eEpP][+-]|'\w|[\w.])*|[A-Za-z_$][\w$]*")  # numbers, so that no name begins in one
_SILENT = re.compile(r"\b(?:static_assert|assert|printf|fprintf)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*;")
OPENS = frozenset(("if", "ifdef", "ifndef"))
TURNS = frozenset(("else", "elif", "elifdef", "elifndef"))


@dataclass(slots=True)
class Directive:
    """A directive and its span.

    end: index of the #endif that closes it. following: index of the next branch of the same condition. guard: whether
    it is an include guard.
    """

    name: str
    rest: list[PreprocessingToken]
    start: int
    past: int
    end: int = -1
    following: int = -1
    guard: bool = False


@dataclass(slots=True)
class DirectiveText:
    """A text with continued lines joined, and its directives in order.

    covered: spans of comments and strings. defined: macros that it defines anywhere. attributes: the macros whose every
    definition is attributes only.
    """

    joined: JoinedText
    directives: list[Directive]
    covered: list[tuple[int, int]]
    defined: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    words: Counter[str] | None = None
    compared: int = 0
    silent: dict[int, bool] = field(default_factory=dict)
    words_by_stretch: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)

    def list_words(self, start: int, end: int) -> frozenset[str]:
        """Return the words of a stretch between directives, which every run of the preprocessor asks for."""
        if (start, end) not in self.words_by_stretch:
            self.words_by_stretch[start, end] = frozenset(WORD.findall(self.joined.text, start, end))
        return self.words_by_stretch[start, end]

    def has_visible_difference(self, at: int) -> bool:
        """Return whether the branches of a condition differ in a way that can affect a value."""
        if at not in self.silent:
            self.silent[at] = self._has_same_essence(at)
        return not self.silent[at]

    def _has_same_essence(self, at: int) -> bool:
        first_branch = self.directives[at]
        text = self.joined.text
        end = self.directives[first_branch.end].start if first_branch.end >= 0 else len(text)
        length = end - first_branch.past
        self.compared += length
        if length > MOST_COMPARED or self.compared > COMPARED_TIMES * len(text) + MOST_COMPARED:
            return False
        first: list[str] | None = None
        last = False
        while at >= 0:
            branch = self.directives[at]
            last = branch.name == "else"
            past = branch.following if branch.following >= 0 else first_branch.end
            essence = self._list_essence(at, past if past >= 0 else len(self.directives))
            if first is None:
                first = essence
            elif essence != first:
                return False
            at = branch.following
        return last or not first

    def _list_essence(self, branch: int, past: int) -> list[str]:
        """Return the parts of a branch that can affect a value: tokens of code, definitions of used names."""
        result: list[str] = []
        shows = False
        start = self.directives[branch].past
        for n in range(branch + 1, past + 1):
            directive = self.directives[n] if n < len(self.directives) else None
            words = self._split_words(start, directive.start if directive else len(self.joined.text))
            shows = shows or bool(words)
            result += words
            if directive is None or n == past:
                break
            start = directive.past
            defines = self._defines_something(directive)
            shows = shows or defines
            if defines or directive.name in OPENS or directive.name in TURNS or directive.name == "endif":
                result.append(f"#{directive.name} " + " ".join(token.text for token in directive.rest))
        return result if shows else []

    def _split_words(self, start: int, end: int) -> list[str]:
        """Return the tokens of a stretch of code, without attributes, assertions and printing."""
        code = _SILENT.sub(" ", attributes.blank_attributes(self.joined.text[start:end], self.attributes))
        return [token.text for token in split_tokens(code)]

    def _defines_something(self, directive: Directive) -> bool:
        """Return whether a directive gives a used name a meaning other than attributes."""
        if directive.name not in ("define", "undef") or not directive.rest or not self._is_used(directive.rest[0].text):
            return False
        definition = parse_define(directive.rest) if directive.name == "define" else None
        return definition is None or not attributes.is_attributes_only(definition[1].body)

    def _is_used(self, name: str) -> bool:
        """Return whether a name occurs outside its definitions."""
        if self.words is None:
            self.words = Counter(_NAME.findall(self.joined.text))
            for directive in self.directives:
                if directive.name in ("define", "undef") and directive.rest:
                    self.words[directive.rest[0].text] -= 1
        return self.words[name] > 0

    def find_matches(self, pattern: re.Pattern[str], start: int, end: int) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that begin outside comments and strings."""
        n, at = bisect_left(self.covered, start + 1, key=lambda span: span[1]), start
        while (match := pattern.search(self.joined.text, at, end)) is not None:
            at = match.end()
            while n < len(self.covered) and self.covered[n][1] <= match.start():
                n += 1
            if n < len(self.covered) and self.covered[n][0] <= match.start():
                at = self.covered[n][1]
            else:
                yield match


def find_directives(text: str) -> DirectiveText:
    """Find the directives of a text. A check preprocesses one text for several definitions of its macros."""
    return replace(_find_directives(text), compared=0, silent={})


@lru_cache(maxsize=4)
def _find_directives(text: str) -> DirectiveText:
    joined = join_lines(text)
    directives: list[Directive] = []
    covered: list[tuple[int, int]] = []
    if "#" in joined.text or "%:" in joined.text:
        for piece in find_pieces(joined.text):
            if piece.kind != "directive":
                covered.append((piece.start, piece.end))
                continue
            tokens = split_tokens(joined.text[piece.start : piece.end])[1:]
            if tokens and tokens[0].text == ":":  # %: is #
                tokens = tokens[1:]
            name = tokens[0].text if tokens else ""
            directives.append(Directive(name, tokens[1:], piece.start, piece.end))
    directive_text = DirectiveText(joined, directives, covered)
    _pair_branches(directives)
    _collect_names(directive_text)
    return directive_text


def _pair_branches(directives: list[Directive]) -> None:
    """Link the branches of each condition, and set where it ends."""
    open_: list[tuple[int, int]] = []  # (the directive that opens it, its last branch)
    for n, directive in enumerate(directives):
        if directive.name in OPENS:
            open_.append((n, n))
        elif open_ and directive.name == "endif":
            first, _ = open_.pop()
            directives[first].end = n
        elif open_ and directive.name in TURNS:
            first, last = open_[-1]
            directives[last].following = n
            open_[-1] = (first, n)


def _collect_names(text: DirectiveText) -> None:
    """Collect the macros that a text defines, and those that are attributes only."""
    values: set[str] = set()
    for n, directive in enumerate(text.directives):
        if directive.name != "define" or not directive.rest or (define := parse_define(directive.rest)) is None:
            continue
        name, macro = define
        text.defined.add(name)
        if macro.parameters is not None or not macro.body or not attributes.is_attributes_only(macro.body):
            values.add(name)
        before = text.directives[n - 1] if n else None
        if not macro.body and macro.parameters is None and before is not None and get_include_guard(before) == name:
            before.guard = True
    text.attributes = text.defined - values


def get_include_guard(directive: Directive) -> str:
    """Return NAME of `#ifndef NAME` or `#if !defined(NAME)`; "" for another directive."""
    words = [token.text for token in directive.rest]
    if directive.name == "ifndef" and len(words) == 1:
        return words[0]
    if directive.name == "if" and words[:2] == ["!", "defined"]:
        return words[3] if len(words) == 5 and words[2] == "(" else words[2] if len(words) == 3 else ""
    return ""
