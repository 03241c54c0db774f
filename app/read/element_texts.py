"""Parse questions about an element, a row, a lane or a register: the places, and the rest of the text, which names
the instruction or the tile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lanescope.app.kit.find import parse_places, search_places
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError

LONGEST = 400  # characters of a question
SCALES = ("sfa", "sfb")
MATRICES = ("a", "b", "c", "d", *SCALES, "e", *(f"matrix{number}" for number in range(10)))
_CODE = re.compile(
    r"[{};\"\\$@<>\n]|%\w|(?<!\+)(?<!\b[mnkMNK])(?<!\brow)(?<!\bcol)(?<!\blane)(?<!\bthread)(?<!\breg)=|->"
)  # characters that no question has
_HEX = re.compile(r"\b(lane|thread|tid|warp|row|col(?:umn)?|reg(?:ister)?|value)\s*=?\s*0x([0-9a-f]{1,4})\b", re.I)
_EDGE = re.compile(r"\s*(?:\s(?:of|in)\b|[:;]|\s)\s*", re.I)  # between places and code
_START = re.compile(r"(?:[abcd]\b|[(\[]|element|row|col|lane|thread|warp|acc|the|matrix|[tlr]\d)", re.I)
_LONGEST_EDGE = 80  # characters of places before or after code
ASKING = frozenset(  # words of such a question that name no form
    """accumulator acc address addresses cell cells columns element elements entries entry find fragment has held hold
    holds lane lanes locate matrix operand output owner owners owns point pointer points register registers result rows
    s supplied supplies supply that thread threads value values warp who whose""".split()
)


@dataclass(frozen=True, slots=True)
class ElementQuestion:
    """The places of a question, one or several to compare, and the rest of the text.

    narrowing: other places, which select a part of the place.
    """

    rest: str
    places: tuple[SoughtPlace, ...]
    narrowing: tuple[SoughtPlace, ...] = ()

    @property
    def place(self) -> SoughtPlace:
        """Return the first place."""
        return self.places[0]

    @property
    def text(self) -> str:
        """Return the places in the spelling of find fields."""
        return ", ".join((" and ".join(place.text for place in self.places), *self.list_narrowing()))

    def list_narrowing(self) -> list[str]:
        """List the narrowing places, without the matrix of the first place."""
        return [
            (place if place.is_detail or place.matrix != self.place.matrix else replace(place, matrix="")).text
            for place in self.narrowing
        ]


def may_be_question(text: str) -> bool:
    """Return whether a text is short enough for a question, and has no character of code."""
    return len(text) <= LONGEST and not _CODE.search(text)


def parse_question(text: str) -> ElementQuestion | None:
    """Parse a question about an element, a row, a lane or a register; None for any other text.

    >>> question = parse_question("A[5][9] of mma.m16n8k16 bf16")
    >>> question.text, question.rest
    ('A[5][9]', 'of mma.m16n8k16 bf16')
    """
    text = _HEX.sub(lambda match: f"{match[1]} {int(match[2], 16)}", text.strip())
    if not may_be_question(text):
        return None
    found = search_places(text, MATRICES)
    return ElementQuestion(found.rest, found.places, found.narrowing) if found else None


def parse_question_of_code(text: str) -> ElementQuestion | None:
    """Parse a question before or after code: `C(37,50) of make_tiled_mma(…)`; None for any other text."""
    edges = [(match.start(), match.end()) for match in _EDGE.finditer(text.strip().rstrip("?"))]
    text = text.strip().rstrip("?")
    before = [(text[:start], text[end:]) for start, end in reversed(edges) if start <= _LONGEST_EDGE]
    after = [(text[end:], text[:start]) for start, end in edges if len(text) - end <= _LONGEST_EDGE]
    for places, rest in (*before, *after):
        if not _START.match(places):
            continue
        try:
            return ElementQuestion(rest, tuple(parse_places(places, "abcd", "")))
        except LayoutError:
            continue
    return None
