"""The result of checking a text: mistakes, open points, and how much was verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lanescope.workbench.fragments.thread_gaps import CheckedKernel
from lanescope.workbench.results import CheckFinding, Span, TextEdit
from lanescope.workbench.source.gaps import CheckedDescriptor
from lanescope.workbench.source.tally import UnverifiedReads


class ProductRepair(NamedTuple):
    """The edit that makes D of a kernel A·B, and what is wrong; "" if D may be another product on purpose."""

    kernel: str
    edit: TextEdit
    mistake: str


FindRepair = Callable[[Iterable[Span]], ProductRepair | None]  # takes places where a mistake shows


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A question that the text leaves open: a sentence, its place, and the names that -D accepts for it.

    result, kernel: D or O, and the kernel of which it is not known, "" for another question; operand, reader: of which
    no read has a verdict; reason: why.
    """

    message: str
    span: Span
    needs: tuple[str, ...] = ()
    result: str = ""
    kernel: str = ""
    operand: str = ""
    reader: str = ""
    reason: str = ""

    @property
    def of_result(self) -> bool:
        """Whether it is what a kernel computes."""
        return bool(self.result)


def describe_unverified_operand(operand: str, reader: str, reason: str) -> str:
    """Return the sentence that the reads of an operand have no verdict."""
    return f"{operand} of {reader} is not verified: {reason}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of checking one text.

    doubts: unusual code that may be right; descriptors, maps: how many the text has; steps: reads that take every
    element from its own address; unverified: reads that could not be compared; checked: each descriptor; multiplier:
    the instruction (tcgen05, wgmma) or library that multiplies; kernels: those with an mma; placed: how many of `steps`
    are right only if their tiles begin at multiples of the swizzle's pattern; slices: see `Workbench.slices`;
    find_repair: finds the edit that makes D A·B, where it is not; unsearched: whether the time limit ended the search
    for the edit that removes the mistakes.
    """

    findings: tuple[CheckFinding, ...]
    open: tuple[OpenPoint, ...]
    doubts: tuple[CheckFinding, ...]
    descriptors: int
    maps: int
    steps: int
    unverified: tuple[UnverifiedReads, ...] = ()
    checked: tuple[CheckedDescriptor, ...] = ()
    multiplier: str = ""
    kernels: tuple[CheckedKernel, ...] = ()
    placed: int = 0
    slices: frozenset[tuple[object, ...]] = frozenset()
    find_repair: FindRepair | None = field(default=None, compare=False)
    unsearched: bool = False


def report_mistakes(findings: Iterable[CheckFinding]) -> CheckReport:
    """Return a report of mistakes alone."""
    return CheckReport(tuple(findings), (), (), descriptors=0, maps=0, steps=0)
