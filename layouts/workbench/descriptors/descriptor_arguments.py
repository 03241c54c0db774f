"""Trace a descriptor argument to the statement that gave the variable its value.

`uses.py` assigns every descriptor of a variable to the statement that built it, where a mistake is reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from lanescope.bits import BitField
from lanescope.ptx.table.descriptors import START
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt
from lanescope.workbench.text.addresses import get_start_address

_BRACE = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True)
class DescriptorArgument:
    """A descriptor argument: its value, where it was written, and its name."""

    value: SymbolicInt
    span: Span
    name: str
    around: tuple[Span, ...] = ()
    start: BitField = START

    @property
    def address(self) -> LinearExpression | None:
        """Its byte address in shared memory; None if the start is not a single expression of a known unit."""
        return get_start_address(self.value, self.start)[0]


class ArgumentSources:
    """Find where variables that are passed to an instruction got their descriptors."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.text = evaluation.text
        self.found: dict[tuple[Any, ...], list[Span]] = {}
        for descriptor in evaluation.descriptors:
            spans = self.found.setdefault((descriptor.name, descriptor.value.const, descriptor.value.pieces), [])
            if descriptor.span not in spans:
                spans.append(descriptor.span)

    def trace_arguments(self, arguments: Mapping[str, DescriptorArgument]) -> dict[str, DescriptorArgument]:
        """Return arguments whose places are the statements that set their values."""
        return {name: replace(argument, span=self.find_place(argument)) for name, argument in arguments.items()}

    def find_place(self, argument: DescriptorArgument) -> Span:
        """Find where a descriptor is set.

        For a bare variable, the nearest statement before it that gave it this value.
        """
        name = self.text[slice(*argument.span)]
        if not name.isidentifier():
            return argument.span
        known = self.found.get((name, argument.value.const, argument.value.pieces), ())
        before = [
            span
            for span in known
            if span[1] <= argument.span[0] and _is_enclosing_block(self.text, span[1], argument.span[0])
        ]
        return max(before, default=argument.span)


@lru_cache(maxsize=4096)
def _is_enclosing_block(text: str, first: int, past: int) -> bool:
    """Return whether no block that is open at `first` ends before `past`."""
    depth = 0
    for brace in _BRACE.finditer(text, first, past):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return False
    return True
