"""Check the kernels of a text that hold none of its mistakes, as if they were alone in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import chain

from lanescope.cxx.source_text import blank_comments
from lanescope.deadline import OverdueError
from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.products.known_mistakes import ADDING
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.text.function_texts import (
    FunctionText,
    blank_text,
    find_function_at,
    find_functions,
    is_inside,
    list_reached_texts,
)


def add_other_kernels(text: str, report: CheckReport, check: Callable[[str], CheckReport]) -> CheckReport:
    """Return a report with what a check finds in the kernels without mistakes, if it runs them alone.

    text: as it was checked; check: checks a text of the same length.
    """
    places = _KernelPlaces(text)
    concerned = [places.find_kernels(one) for one in report.findings]
    wrong = set(chain.from_iterable(concerned))
    if not all(concerned) or not wrong or len(wrong) == len(places.kernels):
        return report
    if any(ADDING.search(text, *one.body) for one in wrong):
        return report  # a kernel that adds to an array may complete the D of another
    try:
        rest = check(blank_spans(text, sorted(one.body for one in wrong)))
    except OverdueError:
        return report
    findings = [one for one in rest.findings if wrong.isdisjoint(of := places.find_kernels(one)) and of]
    others = [one.body for one in places.kernels if one not in wrong]
    return _join_reports(report, replace(rest, findings=tuple(findings)), others, {one.name for one in wrong})


def _join_reports(report: CheckReport, rest: CheckReport, others: Sequence[Span], wrong: Set[str]) -> CheckReport:
    """Return a report with the other kernels as the rest has them. others: their bodies; wrong: names of the first."""
    return replace(
        report,
        findings=tuple(sorted({*report.findings, *rest.findings}, key=lambda one: (one.span, one.code))),
        open=(
            *(one for one in report.open if not is_inside(one.span, others)),
            *(one for one in rest.open if is_inside(one.span, others)),
        ),
        kernels=(
            *(one for one in report.kernels if one.name in wrong),
            *(one for one in rest.kernels if one.name not in wrong),
        ),
        steps=max(report.steps, rest.steps),
    )


class _KernelPlaces:
    """The kernels of a text, and which of them a place concerns."""

    def __init__(self, text: str) -> None:
        self.code, self.functions = blank_comments(text), find_functions(blank_text(text))
        self.kernels = [one for one in self.functions if one.kernel]
        self.reached = {one: set(list_reached_texts(text, self.functions, one)) for one in self.kernels}

    def find_kernels(self, finding: CheckFinding) -> list[FunctionText]:
        """Return the kernels that a mistake is in, or in functions that they call, or that a function of the host with
        the mistake names; none if it may concern any kernel.
        """
        around = find_function_at(self.functions, finding.span[0])
        if around is None:
            return []
        body = self.code[slice(*around.body)]
        found = [one for one in self.kernels if one is around or body in self.reached[one]]
        return found or [one for one in self.kernels if re.search(rf"\b{one.name}\b", body)]
