"""Preprocessed text for the C++ parser, in which each character is mapped to its place in the pasted text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from lanescope.reader.code.preprocessing.predefined import PresumedMacro
from lanescope.reader.code.symbolic_integers import Span


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """A text to parse, with the origin of its characters.

    places: per stretch, (place in the original, length there, whether it is a copy). starts: where each stretch begins
    in `text`.
    """

    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int, bool], ...]

    def get_original(self, start: int, end: int) -> Span:
        """Return the span of the pasted text from which (start, end) of this text came."""
        if len(self.places) == 1 and self.places[0] == (0, len(self.text), True) and end > start:
            return start, end
        stretch = bisect_right(self.starts, start) - 1
        if (
            stretch >= 0
            and end > start
            and self.places[stretch][2]
            and (stretch + 1 == len(self.starts) or end <= self.starts[stretch + 1])
        ):
            first, length, _ = self.places[stretch]
            offset = first - self.starts[stretch]
            return min(start + offset, first + length), min(end - 1 + offset, first + length) + 1
        return self._find_original_place(start, False), self._find_original_place(max(end - 1, start), True)

    def _find_original_place(self, place: int, last: bool) -> int:
        n = max(bisect_right(self.starts, place) - 1, 0)
        if not self.places:
            return place + last
        start, length, copied = self.places[n]
        if copied:
            return min(start + place - self.starts[n], start + length) + last
        return start + length if last else start

    def has_place(self, place: int) -> bool:
        """Return whether the character at `place` of the pasted text is in this text."""
        n = bisect_right(self.places, place, key=lambda stretch: stretch[0]) - 1
        return n >= 0 and place < self.places[n][0] + max(self.places[n][1], 1)


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part of a text that is not read: a sentence that says which and why, and its span."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class PreparedSource:
    """Preprocessed text under one choice of the undecided conditions.

    met: the undecided conditions that it depends on, in order. failed: whether an #error is reached, so that no
    compiler accepts this choice. presumed: the values assumed for undefined macros. lost: spans of declarations that
    are left out. skipped: spans of branches that no compiler reads under this choice; a branch that is left out
    because a value is presumed (`__CUDA_ARCH__`) is not among them.
    """

    source: ParsedSource
    met: tuple[str, ...] = ()
    failed: bool = False
    presumed: tuple[PresumedMacro, ...] = ()
    unread: tuple[UnreadPart, ...] = ()
    lost: tuple[Span, ...] = ()
    skipped: tuple[Span, ...] = ()


def make_plain_source(text: str) -> ParsedSource:
    """Make a source of a text that needs no preprocessor."""
    return ParsedSource(text, (0,), ((0, len(text), True),))
