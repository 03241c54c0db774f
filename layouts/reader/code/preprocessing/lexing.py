"""Split C++ into preprocessing tokens, and join continued lines. Source: C++17, [lex.phases]."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lanescope.cxx.source_text import blank

MOST_RAW = 64  # searches for the end of unterminated raw strings in one text
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_STRING = r"\"(?:\\.|[^\"\\\n])*\""
_CHARACTER = r"'(?:\\.|[^'\\\n]){1,16}'"
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_NUMBER = r"\.?\d(?:[eEpP][+-]|'\w|[\w.])*"
_NAME = r"[A-Za-z_$][\w$]*"
_OPERATOR = r"\.\.\.|<<=|>>=|->\*|<=>|##|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|->|::|\.\*|\+=|-=|\*=|/=|%=|&=|\|=|\^="
_TOKEN = re.compile(
    rf"(?P<space>(?://[^\n]*|{_BLOCK}|\s)+)|(?P<raw>(?:u8|[uUL])?R\"[^ ()\\\t\v\f\n\"]{{0,16}}\()"
    rf"|(?P<text>(?:u8|[uUL])?(?:{_STRING}|{_CHARACTER}))|(?P<name>{_NAME})"
    rf"|(?P<number>{_NUMBER})|(?P<op>{_OPERATOR}|.)",
    re.S,
)
# Pieces that are read as one unit, so that their contents are not taken for code or directives.
_WHOLE = re.compile(
    r"(?=[/\"'uULR#%]|^[ \t])(?:"  # what one begins with: other characters are passed over at once
    rf"(?P<comment>//[^\n]*|{_BLOCK})|(?P<raw>(?:u8|[uUL])?\bR\"[^ ()\\\t\v\f\n\"]{{0,16}}\()"
    rf"|(?P<text>(?:\b(?:u8|[uUL]))?(?:{_STRING}|(?<![0-9a-fA-F]){_CHARACTER}))"
    r"|(?P<directive>^[ \t]*(?:/\*[^\n]*?\*/[ \t]*)?(?:#|%:)"
    rf"(?:{_BLOCK}|//[^\n]*|{_STRING}|[^\n])*))",
    re.S | re.M,
)
_CONTINUED = re.compile(  # the same before lines are joined; raw strings keep their line breaks
    rf"(?P<other>//(?:\\[ \t]*\r?\n|[^\n])*|{_BLOCK}|{_STRING}|(?<![0-9a-fA-F]){_CHARACTER})"
    r"|(?P<raw>(?:u8|[uUL])?\bR\"[^ ()\\\t\v\f\n\"]{0,16}\()",
    re.S,
)


class PreprocessingToken(NamedTuple):
    """A preprocessing token.

    kind: name, number, text, op, or empty for an argument without tokens. spaced: whether white space precedes it.
    painted: whether it is the name of a macro that must not be expanded again.
    """

    text: str
    kind: str
    spaced: bool = False
    painted: bool = False


class _RawStrings:
    """Find the ends of raw strings; give up after MOST_RAW unterminated ones."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = MOST_RAW

    def find_end(self, opening: str, past: int) -> int:
        """Find the end of a raw string whose opening `R"delimiter(` ends at `past`; -1 if it is unterminated."""
        if not self.left:
            return -1
        close = f'){opening[opening.index(chr(34)) + 1 : -1]}"'
        at = self.text.find(close, past)
        self.left -= at < 0
        return at + len(close) if at >= 0 else -1


def split_tokens(text: str) -> list[PreprocessingToken]:
    """Split a piece of text without directives into preprocessing tokens.

    >>> [token.text for token in split_tokens("0x4p+1 a->b /* c */ ...")]
    ['0x4p+1', 'a', '->', 'b', '...']
    """
    tokens: list[PreprocessingToken] = []
    raw = _RawStrings(text)
    at, spaced = 0, False
    while (match := _TOKEN.match(text, at)) is not None:
        kind, at = match.lastgroup or "op", match.end()
        if kind == "space":
            spaced = True
            continue
        word = match[0]
        if kind == "raw":
            past = raw.find_end(word, at)
            at = past if past >= 0 else match.start() + word.index('"')
            word = text[match.start() : at]
            kind = "text" if past >= 0 else "name"
        tokens.append(PreprocessingToken(word, kind, spaced))
        spaced = False
    return tokens


class UnbrokenPiece(NamedTuple):
    """A comment, string or directive, and its span."""

    kind: str  # comment, text or directive
    start: int
    end: int


def find_pieces(text: str) -> Iterator[UnbrokenPiece]:
    """Find comments, strings and directives in the order of a text whose continued lines are joined."""
    raw, at = _RawStrings(text), 0
    while (match := _WHOLE.search(text, at)) is not None:
        kind, end = match.lastgroup or "", match.end()
        if kind == "raw":
            past = raw.find_end(match[0], end)
            if past < 0:
                at = end
                continue
            kind, end = "text", past
        yield UnbrokenPiece(kind, match.start(), end)
        at = max(end, match.start() + 1)


@dataclass(frozen=True, slots=True)
class JoinedText:
    """A text with continued lines joined. cuts: where text was removed; lengths: how much was removed up to there."""

    text: str
    cuts: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()

    def get_original(self, at: int) -> int:
        """Return the place of a character before lines were joined."""
        n = bisect_right(self.cuts, at)
        return at + (self.lengths[n - 1] if n else 0)

    def split_stretch(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a span that were contiguous before lines were joined."""
        n = bisect_right(self.cuts, start)
        while n < len(self.cuts) and self.cuts[n] < end:
            yield start, self.cuts[n]
            start = self.cuts[n]
            n += 1
        if start < end:
            yield start, end


def join_lines(text: str) -> JoinedText:
    """Join lines that end in a backslash, except inside raw strings.

    >>> join_lines("0x40\\\\\\n00").text
    '0x4000'
    """
    if "\\" not in text or not _SPLICE.search(text):
        return JoinedText(text)
    raw_strings: list[tuple[int, int]] = []  # raw strings
    if 'R"' in text:
        raw, at = _RawStrings(text), 0
        while (match := _CONTINUED.search(text, at)) is not None:
            at = match.end()
            if match.lastgroup == "raw" and (past := raw.find_end(match[0], at)) >= 0:
                raw_strings.append((match.start(), past))
                at = past
    lines: list[str] = []
    cuts: list[int] = []
    lengths: list[int] = []
    start = length = removed = n = 0
    for splice in _SPLICE.finditer(text):
        while n < len(raw_strings) and raw_strings[n][1] <= splice.start():
            n += 1
        if n < len(raw_strings) and raw_strings[n][0] <= splice.start():
            continue
        lines.append(text[start : splice.start()])
        length += splice.start() - start
        start = splice.end()
        removed += splice.end() - splice.start()
        if cuts and cuts[-1] == length:
            lengths[-1] = removed
        else:
            cuts.append(length)
            lengths.append(removed)
    return JoinedText("".join(lines) + text[start:], tuple(cuts), tuple(lengths))


def blank_open_comment(text: str) -> str:
    """Blank an unclosed comment, which would make the parser restart repeatedly."""
    if text.rfind("/*") < text.rfind("*/") or "/*" not in text:
        return text
    for piece in find_pieces(text):
        if piece.end == len(text) and text.startswith("/*", piece.start) and not text.endswith("*/"):
            return text[: piece.start] + blank(text[piece.start :])
    return text
