"""A place in a question about a layout, and what is found there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lanescope.app.kit.fact import Json, fact
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

ELEMENT = re.compile(r"([A-Za-z]*)\s*[\[(]?\s*(\d{1,9})\s*(?:\]\s*\[|,)\s*(\d{1,9})\s*[\])]?")


NUMBER = re.compile(r"([a-z]+?)\s*(0x[0-9a-f]{1,9}|\d{1,9})(?=[\s,]|$)[\s,]*", re.IGNORECASE)


HOLDER = re.compile(rf"(?>{NUMBER.pattern})+", re.IGNORECASE)  # atomic: there is only one way to match


@fact
class Located:
    """The elements at a place, or the places of an element; count: of all results."""

    place: str
    of: str
    count: int
    found: list[Json]
    notes: list[str]
    also: list[str]


class Place(NamedTuple):
    """A place: an element's coordinates with the letter of its matrix, or named numbers."""

    letter: str
    coords: tuple[int, int] | None
    numbers: dict[str, int]

    def require(self, example: str, *names: str) -> tuple[int, ...]:
        """Return the numbers of these names; LayoutError if the place has others."""
        if set(self.numbers) != set(names):
            text = " ".join(f"{name} {number}" for name, number in self.numbers.items())
            raise LayoutError("bad_find", f"place is {quote_value(text)}.", f"Write {example}.", "place")
        return tuple(self.numbers[name] for name in names)


def parse_place(text: str, example: str) -> Place:
    """Parse `[5][9]`, `C[5][9]`, `lane 5 column 3`; LayoutError for other texts.

    >>> parse_place("lane 5 column 0x10", "")
    Place(letter='', coords=None, numbers={'lane': 5, 'column': 16})
    """
    plain = text.strip()
    if match := ELEMENT.fullmatch(plain):
        return Place(match[1].lower(), (int(match[2]), int(match[3])), {})
    if HOLDER.fullmatch(plain):
        found = NUMBER.findall(plain)
        numbers = {name.lower(): int(number, 16 if "x" in number.lower() else 10) for name, number in found}
        if len(numbers) == len(found):  # no number has two names
            return Place("", None, numbers)
    raise LayoutError("bad_find", f"place is {quote_value(text)}.", f"Write {example}.", "place")


def locate(place: str, of: str, found: Iterable[Json], *notes: str) -> Located:
    listed = list(found)
    return Located(place=place, of=of, count=len(listed), found=listed, notes=list(notes), also=[])


def check_inside(at: tuple[int, int], rows: int, cols: int, of: str) -> tuple[int, int]:
    if at[0] >= rows or at[1] >= cols:
        hint = f"Rows 0 to {rows - 1}, columns 0 to {cols - 1}."
        raise LayoutError("bad_find", f"{of} has no element [{at[0]}][{at[1]}].", hint, "place")
    return at


def require_letter(place: Place, letter: str) -> None:
    """Raise LayoutError for a place in another matrix than the requested one."""
    if place.letter not in ("", letter):
        message = f"place is in {place.letter.upper()}, the question about {letter.upper()}."
        raise LayoutError("bad_find", message, "Ask about that one, or leave its name out.", "place")


def require_found(located: Located, what: str) -> Located:
    if not located.found:
        raise LayoutError("bad_find", f"{located.of} has nothing at {located.place}.", what, "place")
    return located
