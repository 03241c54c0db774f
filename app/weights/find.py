"""The place of a matrix of packed weights that a text names: W[5, 18], or lane 10, word 1, nibble 4. No framework."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.weights.layout import WeightLayout

EXAMPLE = "W[5, 18]"
_NUMBER = r"(\d{1,9})"
_ELEMENT = re.compile(
    rf"(?:w|b|qweight|weights?)?\s*[\[(]?\s*(?:k\s*=\s*)?{_NUMBER}\s*(?:\]\s*\[|\s|,|;)\s*(?:n\s*=\s*)?{_NUMBER}\s*[\])]?",
    re.I,
)
_FIELD = re.compile(
    rf"(?:tile\s*{_NUMBER}\s*,?\s*)?(?:(?:lane|thread)\s*{_NUMBER}\s*,?\s*)?word\s*{_NUMBER}"
    rf"(?:\s*,?\s*(?:nibble|byte|field)\s*{_NUMBER})?",
    re.I,
)


def parse_element(text: str) -> tuple[int, int] | None:
    """Return (k, n) of a text that names an element, None for any other."""
    match = _ELEMENT.fullmatch(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def parse_place(text: str, layout: WeightLayout) -> tuple[int, int]:
    """Return (k, n) of the place that a text names. A word counts in the whole array, after a thread in that thread's
    words of a tile. LayoutError `bad_find` for any other text, or a place outside W.
    """
    given = text.strip()
    try:
        if element := parse_element(given):
            layout.locate(*element)
            return element
        if match := _FIELD.fullmatch(given):
            tile, thread, word, field = (None if part is None else int(part) for part in match.groups())
            assert word is not None
            return layout.find_element(_count_words(layout, tile, thread, word), field or 0)
    except LayoutError as error:
        raise error.move_to_field("find", "bad_find") from None
    other = "word 41, nibble 4" if not layout.threads else "lane 10, word 1, nibble 4"
    raise LayoutError("bad_find", f"find is ‘{shorten_value(given)}’.", f"Write {EXAMPLE}, or {other}.", "find")


def _count_words(layout: WeightLayout, tile: int | None, thread: int | None, word: int) -> int:
    """Return the number of a word in the whole array."""
    if thread is not None:
        if not layout.threads:
            hint = "Write word and field."
            raise LayoutError("bad_find", f"{layout.format.title} does not say which thread loads a word.", hint)
        for name, given, most in (("thread", thread, layout.threads), ("word", word, layout.words_of_thread)):
            if given >= most:
                raise LayoutError("bad_find", f"{name} is {given}.", f"A tile has {name} 0 to {most - 1} of a thread.")
        word += thread * layout.words_of_thread
    elif tile is not None and word >= layout.words_of_tile:
        raise LayoutError("bad_find", f"word is {word}.", f"A tile has {layout.words_of_tile} words.")
    return word + (tile or 0) * layout.words_of_tile
