"""The find field of packed weights: W[5, 18], or lane 10, word 1, nibble 4."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.inputs import format_count, shorten_value
from lanescope.ptx.threads import WARP
from lanescope.weights.layout import WeightLayout

EXAMPLE = "W[5, 18]"
_NUMBER = r"(\d{1,9})"
_ELEMENT = re.compile(
    rf"(?:w|b|qweight|weights?)?\s*[\[(]?\s*(?:k\s*=\s*)?{_NUMBER}"
    rf"\s*(?:\]\s*\[|\s|,|;)\s*(?:n\s*=\s*)?{_NUMBER}\s*[\])]?",
    re.I,
)
_FIELD = re.compile(
    rf"(?:tile\s*{_NUMBER}\s*,?\s*)?(?:warp\s*{_NUMBER}\s*,?\s*)?(?:(lane|thread)\s*{_NUMBER}\s*,?\s*)?"
    rf"word\s*{_NUMBER}(?:\s*,?\s*(nibble|byte|field)\s*{_NUMBER})?",
    re.I,
)
FIELD_NAMES = {4: "nibble", 8: "byte"}


def parse_element(text: str) -> tuple[int, int] | None:
    """Return (k, n) of a text that names an element, None for any other."""
    match = _ELEMENT.fullmatch(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def parse_place(text: str, layout: WeightLayout) -> tuple[int, int]:
    """Return (k, n) of the place that a text names.

    A word is counted in the whole array or, after a thread, among that thread's words of a tile. LayoutError `bad_find`
    for any other text, or a place outside W.
    """
    require_place(text, layout)
    try:
        if element := parse_element(text):
            layout.locate(*element)
            return element
        match = _FIELD.fullmatch(text.strip())
        assert match
        return _find_place(layout, match)
    except LayoutError as error:
        raise error.move_to_field("find", "bad_find") from None


def require_place(text: str, layout: WeightLayout) -> None:
    """Raise LayoutError `bad_find` if a text is not the place of an element in a matrix of any size."""
    if parse_element(text) or _FIELD.fullmatch(text.strip()):
        return
    other = "word 41"
    if layout.threads:
        other = "lane 10, word 1" if layout.warps == 1 else "warp 2, lane 10, word 1"
    other += f", {FIELD_NAMES.get(layout.bits, 'field')} {4 if layout.bits == 4 else 1}"
    raise LayoutError("bad_find", f"find is ‘{shorten_value(text.strip())}’.", f"Write {EXAMPLE}, or {other}.", "find")


def _find_place(layout: WeightLayout, match: re.Match[str]) -> tuple[int, int]:
    """Return (k, n) of a word and field; LayoutError names the first number that W does not have."""
    tile, warp, number, word, field = (None if match[at] is None else int(match[at]) for at in (1, 2, 4, 5, 7))
    assert word is not None
    called, unit = FIELD_NAMES.get(layout.bits, "field"), (match[6] or "field").lower()
    if unit not in ("field", called):
        hint = f"Give {called} 0 to {layout.fields - 1}."
        raise _refuse(f"{unit} is {field}. A value has {layout.bits} bits.", hint)
    thread = _find_thread(layout, (match[3] or "").lower(), warp, number)
    rows, cols = layout.tiles
    _check_below("tile", tile or 0, rows * cols, "W")
    if thread is not None:
        _check_below("word", word, layout.words_of_thread, "A thread of a tile")
        word += thread * layout.words_of_thread
    elif tile is not None:
        _check_below("word", word, layout.words_of_tile, "A tile")
    _check_below("word", word, layout.word_count, "W")
    _check_below(called, field or 0, layout.fields, "A word")
    return layout.find_element(word + (tile or 0) * layout.words_of_tile, field or 0)


def _find_thread(layout: WeightLayout, called: str, warp: int | None, number: int | None) -> int | None:
    """Return the thread of a tile that a text names, directly or as a lane of a warp; None if it names none."""
    if number is None and warp is None:
        return None
    if not layout.threads:
        raise _refuse(f"{layout.format.title} does not say which thread loads a word.", "Write word and field.")
    warps = layout.warps
    if number is None or (warp is not None and called == "thread"):
        raise _refuse(f"warp is {warp}, without a lane.", f"Write warp {warp}, lane 10.")
    if called == "thread":
        _check_below(called, number, layout.threads, "A tile")
        return number
    if warp is None and warps > 1:
        raise _refuse(
            f"lane is {number}. {warps} warps hold a tile.", f"Write warp 0, lane {number}, or thread {number}."
        )
    _check_below("warp", warp or 0, warps, "A tile")
    _check_below(called, number, WARP, "A warp")
    return (warp or 0) * WARP + number


def _check_below(name: str, number: int, count: int, owner: str) -> None:
    if number >= count:
        allowed = f"From 0 to {count - 1}." if count > 1 else f"Give {name} 0."
        hint = f"{allowed} A larger W needs K and N." if owner == "W" else allowed
        raise _refuse(f"{name} is {number}. {owner} has {format_count(count, name)}.", hint)


def _refuse(why: str, hint: str) -> LayoutError:
    return LayoutError("bad_find", why, hint, "find")
