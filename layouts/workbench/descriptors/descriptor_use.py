"""One execution of an instruction with its descriptors, and the facts that all kinds of uses share.

`uses.py` and `call_uses.py` find the uses in code, `words.py` those of printed words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.code.findings import FoundDescriptor
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.workbench.descriptors.descriptor_arguments import DescriptorArgument
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.scan import InstructionMention


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorUse:
    """One execution of an instruction with its descriptors.

    arguments: operand → descriptor; why: how each was identified; site: the instruction's place and the calls around
    it; loops: (variable, value), outermost first; function: the function it runs in.
    """

    mention: InstructionMention | None
    arguments: Mapping[str, DescriptorArgument]
    why: Mapping[str, str]
    site: tuple[Any, ...]
    loops: tuple[tuple[str, int], ...]
    function: str
    order: int
    assumed: bool = False  # whether the operand is assumed
    computed: bool = True  # by code, so that its shifts are known
    sure: bool = True  # whether the text says which instruction it is, not only that it has some
    registers: bool | None = None
    again: bool = False  # a printed word that repeats the previous one but is a step of its own
    majors: Mapping[str, str] = field(default_factory=dict)
    uncounted: bool = False  # whether the value of its innermost loop's counter is unknown


def in_registers(mention: InstructionMention | None) -> bool:
    """Return whether the text says that A comes from registers."""
    return mention is not None and mention.registers is True


def explain_by_address(value: SymbolicInt) -> str:
    """Explain why a descriptor is an operand's: by the first name in its address."""
    return f"its address comes from {list_start_names(value)[0]}"


def list_enclosing_calls(descriptor: FoundDescriptor) -> tuple[Span, ...]:
    """Return the calls around a descriptor, innermost first, without the function that contains it."""
    return tuple(
        span
        for span in reversed(descriptor.calls)
        if not (span[0] <= descriptor.span[0] and descriptor.span[1] <= span[1])
    )


def list_known_loops(loops: tuple[tuple[str, SymbolicInt], ...]) -> tuple[tuple[str, int], ...]:
    """List the loops with known values; variables of the same name are told apart."""
    known: list[tuple[str, int]] = []
    for name, value in loops:
        if value.known is not None:
            count = sum(name == other.split("'")[0] for other, _ in known)
            known.append((name + "'" * count, value.known))
    return tuple(known)


def is_uncounted(loops: tuple[tuple[str, SymbolicInt], ...]) -> bool:
    """Return whether the value of the innermost loop's counter is unknown."""
    return bool(loops) and loops[-1][1].known is None


def format_call_names(calls: tuple[tuple[str, Span], ...]) -> str:
    return calls[0][0] if calls else ""
