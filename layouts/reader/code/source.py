"""A text as a C++ parser should see it, each character with its place in the pasted text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from lanescope.reader.code.predefined import PresumedMacro
from lanescope.reader.code.symbolic_integers import Span


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """A text to parse, and where its characters came from: `starts` of the stretches, each (place in the original,
    its length there, whether it is a copy)."""

    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int, bool], ...]

    def get_original(self, start: int, end: int) -> Span:
        """Return the stretch of the pasted text that (start, end) of this text came from."""
        if len(self.places) == 1 and self.places[0] == (0, len(self.text), True) and end > start:
            return start, end
        n = bisect_right(self.starts, start) - 1
        if n >= 0 and end > start and self.places[n][2] and (n + 1 == len(self.starts) or end <= self.starts[n + 1]):
            first, length, _ = self.places[n]
            away = first - self.starts[n]
            return min(start + away, first + length), min(end - 1 + away, first + length) + 1
        return self._find_original_place(start, False), self._find_original_place(max(end - 1, start), True)

    def _find_original_place(self, at: int, last: bool) -> int:
        n = max(bisect_right(self.starts, at) - 1, 0)
        if not self.places:
            return at + last
        start, length, copied = self.places[n]
        if copied:
            return min(start + at - self.starts[n], start + length) + last
        return start + length if last else start

    def has_place(self, place: int) -> bool:
        """Return whether the character at a place of the pasted text is in this one."""
        n = bisect_right(self.places, place, key=lambda stretch: stretch[0]) - 1
        return n >= 0 and place < self.places[n][0] + max(self.places[n][1], 1)


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part of a text that is not read: what and why, in a sentence, and its place."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class PreparedSource:
    """A text as a C++ parser should see it under one choice of what it leaves open.

    met: the undecided conditions that decide what it says, in their order; failed: whether an #error is met, so that no
    compiler takes this choice; presumed: what is taken of macros that the text does not define; lost: declarations of
    the pasted text that are left out of this one.
    """

    source: ParsedSource
    met: tuple[str, ...] = ()
    failed: bool = False
    presumed: tuple[PresumedMacro, ...] = ()
    unread: tuple[UnreadPart, ...] = ()
    lost: tuple[Span, ...] = ()


def make_plain_source(text: str) -> ParsedSource:
    """Make a source of a text that needs no preprocessor."""
    return ParsedSource(text, (0,), ((0, len(text), True),))
