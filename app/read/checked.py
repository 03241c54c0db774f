"""What lanescope check reports of a pasted text, and where in the text its findings and repairs are."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lanescope.app.check.answer import SECONDS, check_within
from lanescope.app.check.defines import GIVEN, make_choices
from lanescope.app.check.facts import CheckReport, SourceSpan, SourceText
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.report_view import ReportView, ShownFinding
from lanescope.app.check.running import UNREAD
from lanescope.app.check.suppress import apply_comments
from lanescope.reader.grammars import pasted_text
from lanescope.workbench import Workbench, build_workbench
from lanescope.workbench.results import Span, TextEdit

PASTED = "pasted.txt"  # the name of a text without one: an excerpt, whose conditions need no end
RESERVE, LEAST = 0.6, 0.5  # seconds kept for the rest of the page, and the least time of a check
MOST_KEPT = 32  # reports of the texts that were checked last: another step of one is shown without a new check
_CODE = re.compile(r"__global__|__device__|\.entry\b|\.func\b|@\w+(?:\.\w+)*\bjit\b")
_KERNEL = re.compile(r"__global__|\.entry\b")
_finished: dict[object, CheckReport] = {}  # reports by text, choices and target


@dataclass(frozen=True, slots=True)
class ExaminedText:
    """A text, its workbench, and the report of check, None for a text that is not code.

    end: the value of time.monotonic() after which nothing more is tried.
    """

    text: str
    bench: Workbench
    report: CheckReport | None
    end: float

    @property
    def has_nothing_to_verify(self) -> bool:
        """Return whether it is a kernel in which there is nothing to verify."""
        report = self.report
        multiplies = report is not None and any(source.multiplier for source in report.sources)
        return report is not None and not multiplies and not _has_contents(report)

    @property
    def has_results(self) -> bool:
        """Return whether the report says more than the meanings of the text: a mistake, a verified read, a kernel."""
        report = self.report
        if report is None or self.has_nothing_to_verify:
            return False
        return bool(report.findings or report.doubts or report.verified) or _KERNEL.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """Where a finding is in the text, and its repair there. number: its place in the report's list."""

    number: int
    shown: ShownFinding
    span: Span
    edits: tuple[TextEdit, ...]


def examine_text(
    text: str, assumptions: Mapping[str, str], target: str = "", name: str = "", seconds: float | None = None
) -> ExaminedText:
    """Verify the parts of a text together and, if it is code, check it. LayoutError if an assumption is wrong.

    assumptions: values that it leaves open, by the keys of `Workbench.assumed`; target: what ptxas compiles for, "" for
    any; name: of its file, "" for none; seconds: time limit, SECONDS if None.
    """
    end = time.monotonic() + (SECONDS if seconds is None else seconds)
    bench = build_workbench(text, assumptions, repair=True)
    report = None
    if _is_code(text, bench):
        report = _check_text(text, assumptions, target, name, max(end - RESERVE - time.monotonic(), LEAST))
        if not _has_contents(report) and not _KERNEL.search(text):
            report = None
    return ExaminedText(text, bench, report, end)


def _is_code(text: str, bench: Workbench) -> bool:
    """Return whether a text is code that check reads: a descriptor alone, a name or a layout is not."""
    has_parts = bool(bench.operands) or len(bench.kinds) > 1
    return ("\n" in text.strip() and has_parts) or ("{" in text and _CODE.search(text) is not None)


def _check_text(text: str, assumptions: Mapping[str, str], target: str, name: str, seconds: float) -> CheckReport:
    given = {name: assumptions[make_key(name)] for name in list_given_names(assumptions)}
    choices = {**make_choices(given), **assumptions}
    source = SourceText(name or PASTED, pasted_text.clean_text(text, places=True))
    key = source, frozenset(choices.items()), target
    if (report := _finished.get(key)) is None:
        report = merge_reports(report for _, report in check_within([source], choices, target, seconds))
        report = apply_comments(report, {source.name: source.text})
        if UNREAD not in report.gaps:
            _finished[key] = report
            for oldest in list(_finished)[:-MOST_KEPT]:
                _finished.pop(oldest, None)
    return report


def _has_contents(report: CheckReport) -> bool:
    """Return whether a report is about anything in its text."""
    counts = report.descriptors, report.tensor_maps, report.kernels, report.verified
    return any(counts) or bool(report.findings or report.doubts or report.open)


def place_findings(text: str, view: ReportView) -> Iterator[FindingPlace]:
    """Yield the places of the findings in a text."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    map_place = pasted_text.make_place_map(text)

    def find_span(place: SourceSpan) -> Span:
        first, past = starts[place.line - 1] + place.column - 1, starts[place.end_line - 1] + place.end_column - 1
        return map_place(first, past) if map_place else (first, past)

    for number, shown in enumerate(view.findings):
        edits = tuple(dict.fromkeys(TextEdit(find_span(edit.place), edit.after) for edit in shown.edits))
        yield FindingPlace(number, shown, find_span(shown.finding.place), edits)


def list_given_names(assumptions: Iterable[str]) -> Iterator[str]:
    """Yield the names whose values are given as with -D."""
    yield from (key.removeprefix(GIVEN) for key in assumptions if key.startswith(GIVEN))


def make_key(name: str) -> str:
    """Return the key of the value of a name, as with -D."""
    return GIVEN + name
