"""Check the kernels of a text that hold none of its mistakes, as if they were alone in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace

from lanescope.cxx.source_text import blank_comments
from lanescope.deadline import OverdueError
from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.text.function_texts import (
    FunctionText,
    blank_text,
    find_function_at,
    find_functions,
    is_inside,
    list_reached_texts,
)

_ADDS = re.compile(r"\]\s*\+=|\batomicAdd\b|\bred\.")


def add_other_kernels(text: str, report: CheckReport, check: Callable[[str], CheckReport]) -> CheckReport:
    """Return a report with what a check finds in the kernels without mistakes, if it runs them alone.

    text: as it was checked; check: checks a text of the same length.
    """
    functions = find_functions(blank_text(text))
    kernels = [one for one in functions if one.kernel]
    wrong = _find_kernels(text, functions, kernels, report.findings) if len(kernels) > 1 and report.findings else None
    if wrong is None or len(wrong) == len(kernels) or any(_ADDS.search(text, *one.body) for one in wrong):
        return report  # a kernel that adds to an array may complete the D of another
    bodies = sorted(one.body for one in wrong)
    others = [one.body for one in kernels if one not in wrong]
    try:
        rest = check(blank_spans(text, bodies))
    except OverdueError:
        return report
    return _join_reports(report, rest, others, {one.name for one in wrong})


def _join_reports(report: CheckReport, rest: CheckReport, others: Sequence[Span], wrong: Set[str]) -> CheckReport:
    """Return a report with the other kernels as the rest has them. others: their bodies; wrong: names of the first."""
    findings = [one for one in rest.findings if is_inside(one.span, others)]
    return replace(
        report,
        findings=tuple(sorted({*report.findings, *findings}, key=lambda one: (one.span, one.code))),
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


def _find_kernels(
    text: str, functions: Sequence[FunctionText], kernels: Iterable[FunctionText], findings: Iterable[CheckFinding]
) -> list[FunctionText] | None:
    """Return the kernels that mistakes are in, or in functions that they call; None if one may be in any kernel."""
    code = blank_comments(text)
    reached = {kernel: set(list_reached_texts(text, functions, kernel)) for kernel in kernels}
    wrong: dict[FunctionText, None] = {}
    for finding in findings:
        around = find_function_at(tuple(functions), finding.span[0])
        if around is None:
            return None
        found = [one for one in kernels if one is around or code[slice(*around.body)] in reached[one]]
        found = found or [one for one in kernels if re.search(rf"\b{one.name}\b", code[slice(*around.body)])]
        if not found:
            return None
        wrong |= dict.fromkeys(found)
    return list(wrong)
