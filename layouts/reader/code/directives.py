"""The directives of a text, which conditions hold one another, and which of them any value can depend on."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from lanescope.reader.code import attributes
from lanescope.reader.code.lexing import JoinedText, PreprocessingToken, find_unbroken_pieces, join_lines, split_tokens
from lanescope.reader.code.macros import parse_define

MOST_COMPARED = 20_000  # characters of the branches of one condition that are compared
COMPARED_TIMES = 4  # so many times a text's length are compared in all
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_SILENT = re.compile(r"\b(?:static_assert|assert|printf|fprintf)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*;")
_OPENS = frozenset(("if", "ifdef", "ifndef"))
_TURNS = frozenset(("else", "elif", "elifdef", "elifndef"))


@dataclass(slots=True)
class Directive:
    """One directive and where it stands; end: its closing #endif, for one that opens a condition. following: the next
    branch of the same condition; guard: whether it keeps a header from being read twice.
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
    """A text whose continued lines are joined, and its directives in order. covered: where comments and strings stand;
    defined: names that it defines somewhere; attributes: those of them that stand for attributes wherever it does.
    """

    joined: JoinedText
    directives: list[Directive]
    covered: list[tuple[int, int]]
    defined: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    words: Counter[str] | None = None
    compared: int = 0
    silent: dict[int, bool] = field(default_factory=dict)

    def has_visible_difference(self, at: int) -> bool:
        """Return whether the branches of a directive's condition differ in more than values can show."""
        if at not in self.silent:
            self.silent[at] = self._has_same_essence(at)
        return not self.silent[at]

    def _has_same_essence(self, at: int) -> bool:
        opened = self.directives[at]
        text = self.joined.text
        end = self.directives[opened.end].start if opened.end >= 0 else len(text)
        length = end - opened.past
        self.compared += length
        if length > MOST_COMPARED or self.compared > COMPARED_TIMES * len(text) + MOST_COMPARED:
            return False
        first: list[str] | None = None
        last = False
        while at >= 0:
            branch = self.directives[at]
            last = branch.name == "else"
            past = branch.following if branch.following >= 0 else opened.end
            essence = self._list_essence(at, past if past >= 0 else len(self.directives))
            if first is None:
                first = essence
            elif essence != first:
                return False
            at = branch.following
        return last or not first

    def _list_essence(self, branch: int, past: int) -> list[str]:
        """Return what of a branch values can show: tokens of code, definitions of names that are used."""
        result: list[str] = []
        shows = False
        start = self.directives[branch].past
        for n in range(branch + 1, past + 1):
            directive = self.directives[n] if n < len(self.directives) else None
            words = self._words(start, directive.start if directive else len(self.joined.text))
            shows = shows or bool(words)
            result += words
            if directive is None or n == past:
                break
            start = directive.past
            defines = self._defines_something(directive)
            shows = shows or defines
            if defines or directive.name in _OPENS or directive.name in _TURNS or directive.name == "endif":
                result.append(f"#{directive.name} " + " ".join(token.text for token in directive.rest))
        return result if shows else []

    def _words(self, start: int, end: int) -> list[str]:
        """Return the tokens of a stretch of code, without attributes and code that runs nothing."""
        code = _SILENT.sub(" ", attributes.blank_attributes(self.joined.text[start:end], self.attributes))
        return [token.text for token in split_tokens(code)]

    def _defines_something(self, directive: Directive) -> bool:
        """Return whether a directive changes the meaning of a used name, to more than an attribute."""
        if directive.name not in ("define", "undef") or not directive.rest or not self._is_used(directive.rest[0].text):
            return False
        definition = parse_define(directive.rest) if directive.name == "define" else None
        return definition is None or not attributes.is_attributes_only(definition[1].body)

    def _is_used(self, name: str) -> bool:
        """Return whether a name occurs anywhere but where it is defined."""
        if self.words is None:
            self.words = Counter(_NAME.findall(self.joined.text))
            for directive in self.directives:
                if directive.name in ("define", "undef") and directive.rest:
                    self.words[directive.rest[0].text] -= 1
        return self.words[name] > 0

    def find_literal_behind(self, at: int) -> int:
        """Find the number of the first comment or string that ends behind a place."""
        return bisect_left(self.covered, at, key=lambda span: span[1])


def find_directives(text: str) -> DirectiveText:
    """Find the directives of a text."""
    joined = join_lines(text)
    directives: list[Directive] = []
    covered: list[tuple[int, int]] = []
    if "#" in joined.text or "%:" in joined.text:
        for unbroken_piece in find_unbroken_pieces(joined.text):
            if unbroken_piece.kind != "directive":
                covered.append((unbroken_piece.start, unbroken_piece.end))
                continue
            tokens = split_tokens(joined.text[unbroken_piece.start : unbroken_piece.end])[1:]
            if tokens and tokens[0].text == ":":  # %: is #
                tokens = tokens[1:]
            name = tokens[0].text if tokens else ""
            directives.append(Directive(name, tokens[1:], unbroken_piece.start, unbroken_piece.end))
    directive_text = DirectiveText(joined, directives, covered)
    _pair_branches(directives)
    _collect_names(directive_text)
    return directive_text


def _pair_branches(directives: list[Directive]) -> None:
    """Enter which branch follows which, and where conditions end."""
    open_: list[tuple[int, int]] = []  # (the directive that opens it, its last branch)
    for n, directive in enumerate(directives):
        if directive.name in _OPENS:
            open_.append((n, n))
        elif open_ and directive.name == "endif":
            first, _ = open_.pop()
            directives[first].end = n
        elif open_ and directive.name in _TURNS:
            first, last = open_[-1]
            directives[last].following = n
            open_[-1] = (first, n)


def _collect_names(text: DirectiveText) -> None:
    """Enter the names that a text defines, and which of them are attributes."""
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
    """Return the name of `#ifndef NAME` or `#if !defined(NAME)`."""
    words = [token.text for token in directive.rest]
    if directive.name == "ifndef" and len(words) == 1:
        return words[0]
    if directive.name == "if" and words[:2] == ["!", "defined"]:
        return words[3] if len(words) == 5 and words[2] == "(" else words[2] if len(words) == 3 else ""
    return ""
