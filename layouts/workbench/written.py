"""A descriptor as an instruction is given it, and where the text gave a variable its value.

`uses.py` puts every descriptor of a variable to the statement that built it: there a mistake is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lanescope.reader.code.evaluate import Evaluation
from lanescope.reader.code.word import Int, Span


@dataclass(frozen=True, slots=True)
class Given:
    """A descriptor as one use has it: its value, where it was written, what it is called; around: the calls in which it
    was written there, innermost first.
    """

    value: Int
    span: Span
    name: str
    around: tuple[Span, ...] = ()


class Written:
    """Where variables that are given to an instruction were given their descriptors."""

    def __init__(self, made: Evaluation) -> None:
        self.text = made.text
        self.found: dict[tuple[Any, ...], list[Span]] = {}
        for one in made.found:
            spans = self.found.setdefault((one.name, one.value.const, one.value.pieces), [])
            if one.span not in spans:
                spans.append(one.span)

    def of(self, given: Mapping[str, Given]) -> dict[str, Given]:
        return {name: replace(one, span=self.place(one)) for name, one in given.items()}

    def place(self, one: Given) -> Span:
        """Of a variable alone the nearest statement before it, in a block around it, that gave it this value."""
        name = self.text[slice(*one.span)]
        if not name.isidentifier():
            return one.span
        known = self.found.get((name, one.value.const, one.value.pieces), ())
        before = [span for span in known if span[1] <= one.span[0] and self._around(span[1], one.span[0])]
        return max(before, default=one.span)

    def _around(self, first: int, past: int) -> bool:
        """Whether no block that is open at `first` ends before `past`."""
        deep = 0
        for letter in self.text[first:past]:
            deep += (letter == "{") - (letter == "}")
            if deep < 0:
                return False
        return True
