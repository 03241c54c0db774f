"""A descriptor as an instruction is given it, and where the text gave a variable its value.

`uses.py` puts every descriptor of a variable to the statement that built it: there a mistake is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt


@dataclass(frozen=True, slots=True)
class DescriptorArgument:
    """A descriptor as one use has it: its value, where it was written, what it is called; around: the calls in which it
    was written there, innermost first.
    """

    value: SymbolicInt
    span: Span
    name: str
    around: tuple[Span, ...] = ()


class ArgumentSources:
    """Where variables that are given to an instruction were given their descriptors."""

    def __init__(self, made: Evaluation) -> None:
        self.text = made.text
        self.found: dict[tuple[Any, ...], list[Span]] = {}
        for one in made.found:
            spans = self.found.setdefault((one.name, one.value.const, one.value.pieces), [])
            if one.span not in spans:
                spans.append(one.span)

    def find_arguments(self, given: Mapping[str, DescriptorArgument]) -> dict[str, DescriptorArgument]:
        return {name: replace(one, span=self.find_place(one)) for name, one in given.items()}

    def find_place(self, one: DescriptorArgument) -> Span:
        """Find where a descriptor is set.

        For a bare variable, the nearest statement before it that gave it this value.
        """
        name = self.text[slice(*one.span)]
        if not name.isidentifier():
            return one.span
        known = self.found.get((name, one.value.const, one.value.pieces), ())
        before = [span for span in known if span[1] <= one.span[0] and self._is_enclosing_block(span[1], one.span[0])]
        return max(before, default=one.span)

    def _is_enclosing_block(self, first: int, past: int) -> bool:
        """Return whether no block that is open at `first` ends before `past`."""
        deep = 0
        for letter in self.text[first:past]:
            deep += (letter == "{") - (letter == "}")
            if deep < 0:
                return False
        return True
