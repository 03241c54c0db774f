"""Report a wrong read of a tile that threads fill at the number that sets the wrong descriptor field.

`thread_descriptors.py` finds the field that would make each read right; this module finds the number that sets it. An
edit is offered only if the threads of the kernel, run again with it, read the right elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, islice

from lanescope.deadline import check_deadline
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.workbench.fragments.thread_descriptors import Span
from lanescope.workbench.fragments.thread_tiles import FragmentReport
from lanescope.workbench.repair.blame import BlameFinder
from lanescope.workbench.repair.repairs import apply_edits, replace_amounts, scale_amounts
from lanescope.workbench.results import CheckFinding

MOST_TRIED = 4
_FIELD_NAMES = {"lbo": "LBO", "sbo": "SBO", "swizzle": "The swizzle mode"}
_CODES = ("fragment_mismatch", "rows_repeated")
Recheck = Callable[[str], FragmentReport]


def assign_fragment_blame(
    report: FragmentReport, built: Sequence[DescriptorBuilder], blame: BlameFinder, recheck: Recheck
) -> list[CheckFinding]:
    """Merge the findings of one wrong field into one at the place that sets it. recheck: checks another text."""
    every = list(report.findings)
    wrong = [finding for finding in every if finding.code in _CODES]
    kinds = frozenset.intersection(*(finding.changes for finding in wrong)) if wrong else frozenset()
    if len(kinds) != 1:
        return every
    ((field, present, needed),) = kinds
    first = wrong[0]
    places = _find_places(built, first.span, field)
    if not places:
        return every
    exact = replace_amounts(blame.text, places, present, needed, field)
    edits = next(
        (
            edits
            for edits in islice(chain(exact, scale_amounts(blame.text, places, present, needed)), MOST_TRIED)
            if _is_repair(report, recheck(apply_edits(blame.text, edits)))
        ),
        (),
    )
    if not edits:  # only the place of the read is known
        return every
    unit = 1 if field == "swizzle" else 16
    message = f"{first.message} {_FIELD_NAMES[field]} is {unit * present:,} and has to be {unit * needed:,}."
    reads = sum(finding.reads for finding in wrong)
    found = replace(first, message=message, span=edits[0].span, reads=reads, edits=edits)
    return [found, *(finding for finding in every if finding not in wrong)]


def _find_places(built: Sequence[DescriptorBuilder], read: Span, field: str) -> tuple[Span, ...]:
    """Return the places that set a field of the descriptors built at a read, else of all descriptors."""
    near = [b for b in built if b.span[0] < read[1] and read[0] < b.span[1]] or list(built)
    return tuple(dict.fromkeys(span for builder in near for span in builder.origins.get(field, ())))


def _is_repair(before: FragmentReport, after: FragmentReport) -> bool:
    """Return whether every wrong read becomes right and every right one stays right."""
    check_deadline()
    wrong = any(finding.code in _CODES for finding in after.findings)
    return not wrong and 0 < after.verified >= before.verified and before.proved <= after.proved
