"""Fit cell labels so that they do not touch: smaller first, then in two lines, then without the value.

All labels of a matrix have one size, and a glyph's width stays free between two of them. The canvas follows the same
rule (static/instruction/labels.js); tests/browser/test_pure.py checks that both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FONT = "'DejaVu Sans Mono', Menlo, Consolas, ui-monospace, monospace"
GLYPH = 0.602  # width of a monospace glyph, in ems
LARGEST, SMALLEST = 11.0, 6.5  # pixels of a label
_SHORTEN_BELOW = 7.5  # one line as small as this becomes two, where they fit
_LARGEST_PAIR = 10.0
_ABOVE, _PAIR_HEIGHT = 2.5, 2.1  # pixels of a cell's height that one line leaves free; height of two lines, in ems


@dataclass(frozen=True, slots=True)
class LabelFit:
    """The size of a matrix's labels in pixels, and their form: one line, two, or the first part alone."""

    size: float
    form: str

    def list_lines(self, text: str) -> tuple[str, ...]:
        """Return the lines that are drawn of a label."""
        if self.form == "one":
            return (text,)
        first, rest = split_label(text)
        return (first, rest) if self.form == "two" and rest else (first,)


def split_label(text: str) -> tuple[str, str]:
    """Return a label's two parts: holder and value, or row and column.

    >>> split_label("T31:7,15"), split_label("T3 R1"), split_label("4,12")
    (('T31', '7,15'), ('T3', 'R1'), ('4', '12'))
    """
    for separator in (":", " ", ","):
        first, separated, rest = text.partition(separator)
        if separated:
            return first, rest
    return text, ""


def fit_labels(texts: Sequence[str], width: float, height: float) -> LabelFit | None:
    """Return the size and form of labels in cells of this size; None if they would be unreadable.

    The value is omitted only after a holder (T31, L4): half of a coordinate would name another position.

    >>> fit_labels(["T31:7"], 60, 20), fit_labels(["T31:7"], 22, 21), fit_labels(["T31:7"], 22, 10)
    (LabelFit(size=11.0, form='one'), LabelFit(size=9.047619047619047, form='two'), LabelFit(size=7.5, form='first'))
    """
    texts = [text for text in texts if text]
    if not texts:
        return None
    room, parts = width / GLYPH, [split_label(text) for text in texts]
    single_line = min(LARGEST, room / (max(map(len, texts)) + 1), height - _ABOVE)
    if single_line >= _SHORTEN_BELOW:
        return LabelFit(single_line, "one")
    if (two := _fit_two(parts, room, height)) is not None:
        return two
    if single_line >= SMALLEST:
        return LabelFit(single_line, "one")
    first = min(LARGEST, room / (max(len(first) for first, _ in parts) + 1), height - _ABOVE)
    if first >= SMALLEST and all(rest and first[0].isalpha() for first, rest in parts):
        return LabelFit(first, "first")
    return None


def _fit_two(parts: Sequence[tuple[str, str]], room: float, height: float) -> LabelFit | None:
    """Return the fit of labels in two lines; None if they would be unreadable, or none has two parts."""
    longest = max(len(part) for pair in parts for part in pair)
    two = min(_LARGEST_PAIR, room / (longest + 1), (height - 2) / _PAIR_HEIGHT)
    if two >= SMALLEST and any(rest for _, rest in parts):
        return LabelFit(two, "two")
    return None
