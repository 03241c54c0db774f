"""Drop findings that follow from another finding about the same number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol, TypeVar

from lanescope.descriptor.causes import TITLES
from lanescope.ptx.table.descriptors import VERSION
from lanescope.workbench.repair.blame import BlameFinder
from lanescope.workbench.results import STRIDE_DOUBTS, OperandStep, Span, VerifiedOperand
from lanescope.workbench.source.gaps import CheckedDescriptor
from lanescope.workbench.text.function_texts import blank_text, find_functions

# the code's own mistake → causes of wrong reads that follow from it
FOLLOWS = {
    "dimensions_exchanged": ("wrong_transpose",),
    "not_shifted": ("bytes_not_shifted", "not_shifted", "shifted_twice", "start_wrong", "start_outside"),
}
KEPT = frozenset({"generic_pointer"})  # causes that are reported only once, at the mistake in the code
_DISTANCES = ("stage_distance", "copies_overlap")
_OF_ALLOCATION = {  # what follows from a wrong number of allocated columns
    "tmem_dealloc": frozenset({"tmem_columns", "tmem_allocation"}),
    "tmem_column_range": frozenset({"tmem_columns"}),
}
_WORD = re.compile(r"0x[\da-f]{16}")
_BIT_61 = 1 << 61


class _Finding(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def span(self) -> Span: ...


Finding = TypeVar("Finding", bound=_Finding)


def is_explained(code: str, known: Collection[str]) -> bool:
    """Return whether a known mistake explains a cause of wrong reads. known: codes of mistakes already found."""
    return code in KEPT & set(known) or any(
        code in causes for explained, causes in FOLLOWS.items() if explained in known
    )


def is_misread(text: str, findings: Iterable[_Finding]) -> bool:
    """Return whether descriptors of the only kernel of a text read wrong bytes, from which a wrong D follows."""
    kernels = sum(one.kernel for one in find_functions(blank_text(text)))
    return kernels == 1 and any(finding.code in TITLES for finding in findings)


def drop_consequences(findings: Iterable[Finding]) -> list[Finding]:
    """Drop findings that another one explains: reserved bits by a version or a mode one bit off, a distance of stages
    by the overlap that was proved at the same place, and columns by an allocation that is too small.
    """
    remaining = list(findings)
    codes = {finding.code for finding in remaining}
    mask = (VERSION.mask << VERSION.low if "version_wrong" in codes else 0) | (
        _BIT_61 if "mode_at_bit_61" in codes else 0
    )
    for explained, causes in _OF_ALLOCATION.items():
        if codes & causes:
            remaining = [finding for finding in remaining if finding.code != explained]
    shared = {finding.span for finding in remaining if finding.code == "stages_overlap"}
    remaining = [finding for finding in remaining if finding.code not in _DISTANCES or finding.span not in shared]
    return [
        finding for finding in remaining if finding.code != "reserved_bits" or not _is_within(finding.message, mask)
    ]


def drop_settled_doubts(
    doubts: Iterable[Finding], findings: Collection[Finding], descriptors: Iterable[CheckedDescriptor]
) -> Iterator[Finding]:
    """Yield the doubts about numbers without a finding, each once; not those about strides if there are no findings and
    every descriptor is verified: they are as stored.
    """
    right = not findings and all(descriptor.readers and not descriptor.gap for descriptor in descriptors)
    for doubt in dict.fromkeys(doubts):
        first, past = doubt.span
        explained = any(finding.span[0] < past and first < finding.span[1] for finding in findings)
        if not explained and not (right and doubt.code in STRIDE_DOUBTS):
            yield doubt


def _is_within(message: str, mask: int) -> bool:
    match = _WORD.search(message)
    return match is not None and not int(match[0], 16) & ~mask


def find_constant_place(blame: BlameFinder, operand: VerifiedOperand, step: OperandStep, field: str) -> Span:
    """Return the place that sets a constant field of a descriptor; if it is missing, that of the swizzle mode."""
    builder = blame.find_builder(operand, step)
    origins = builder.origins if builder is not None else {}
    origin = origins.get(field) or origins.get("swizzle") or ()
    return blame.find_number(origin) if origin else step.span
