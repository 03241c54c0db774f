"""The reports of several sources as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanescope.app.check.facts import CheckedSource, CheckFinding, CheckReport, OpenQuestion, SourceSpan
from lanescope.app.check.running import SourceReport
from lanescope.workbench.fragments.thread_gaps import UNCALLED


def merge_reports(reports: Iterable[SourceReport]) -> CheckReport:
    """Return the reports of several sources as one.

    A finding that occurs in several sources is listed once. A header that others include adds only what they lack: a
    descriptor that one of them reads is not reported as unread.
    """
    distinct = _drop_repeated(list(reports))
    findings: dict[object, CheckFinding] = {}
    doubts: dict[object, CheckFinding] = {}
    open_: dict[object, OpenQuestion] = {}
    unverified: Counter[str] = Counter()
    places: dict[str, SourceSpan] = {}
    sources: list[CheckedSource] = []
    kernels: dict[object, str] = {}
    for report in distinct:
        sources.append(report.source)
        for reason, count, place in report.unverified:
            unverified[reason] += count
            places.setdefault(reason, place)
        for place, gap in report.kernels:
            key = (place.file, place.line)
            kernels[key] = kernels.get(key) or gap
        for finding in report.findings:
            findings.setdefault((finding.code, *_make_place_key(finding.place)), finding)
        for doubt in report.doubts:
            doubts.setdefault((doubt.code, *_make_place_key(doubt.place)), doubt)
        for question in report.open:
            open_.setdefault((question.message, *_make_place_key(question.place)), question)
    return CheckReport(
        files=len({source.file for source in sources}),
        descriptors=sum(source.descriptors for source in sources),
        tensor_maps=sum(source.tensor_maps for source in sources),
        verified=sum(source.verified for source in sources),
        findings=_drop_unrepaired(list(findings.values())),
        open=list(open_.values()),
        doubts=list(doubts.values()),
        unverified=dict(unverified),
        unverified_at=places,
        gaps=dict(sum((Counter(source.gaps) for source in sources), Counter[str]())),
        placed=sum(source.placed for source in sources),
        kernels=len(kernels),
        kernel_gaps=dict(Counter(gap for gap in kernels.values() if gap)),
        sources=sources,
        suppressed=[],
        unused=[],
    )


def _drop_unrepaired(findings: Sequence[CheckFinding]) -> list[CheckFinding]:
    """Return findings without those that another source of a header shows with their repair, on the same line."""
    repaired = [one for one in findings if one.edits]
    return [one for one in findings if one.edits or not any(_is_same(one, other) for other in repaired)]


def _is_same(one: CheckFinding, repaired: CheckFinding) -> bool:
    places = one.place, repaired.place
    same = one.code == repaired.code and len({(place.file, place.line) for place in places}) == 1
    return same and repaired.message.startswith(one.message)


def _make_place_key(place: SourceSpan) -> tuple[str, int, int]:
    return place.file, place.line, place.column


def _drop_repeated(reports: Sequence[SourceReport]) -> list[SourceReport]:
    """Return the reports; those of headers lack the results that the including sources have, too."""
    covering = {name for report in reports for name in report.source.included}
    touched = {line for report in reports for line in report.touched}
    called = {place for report in reports for place, _ in report.kernels if place.file != report.source.file}
    reports = [_drop_uncalled(report, reports) for report in reports]
    return [_drop_covered(report, touched, called) if report.source.file in covering else report for report in reports]


def _drop_uncalled(report: SourceReport, reports: Sequence[SourceReport]) -> SourceReport:
    """Return the report of a file without the mma of a header that none of its kernels calls, if another file with
    kernels includes the header.
    """
    users = (one for one in reports if any(gap not in UNCALLED for _, gap in one.kernels))
    used = {name for one in users for name in one.source.included}
    left = tuple((place, gap) for place, gap in report.kernels if gap not in UNCALLED or place.file not in used)
    if len(left) == len(report.kernels):
        return report
    dropped = {place for place, _ in report.kernels} - {place for place, _ in left}
    gaps = dict(Counter(gap for _, gap in left if gap))
    return replace(
        report,
        source=replace(report.source, kernels=len(left), kernel_gaps=gaps),
        open=tuple(question for question in report.open if question.place not in dropped),
        kernels=left,
    )


def _drop_covered(report: SourceReport, touched: set[tuple[str, int]], called: set[SourceSpan]) -> SourceReport:
    """Return the part of a header's report that the files which include it lack: its descriptors that none of them
    touches, and that it multiplies without a descriptor, if none of them calls its kernel.
    """
    multiplier = report.source.multiplier if any(place not in called for place, _ in report.kernels) else ""
    report = replace(
        report,
        source=replace(report.source, multiplier=multiplier, kernels=0, kernel_gaps={}),
        open=tuple(
            question
            for question in report.open
            if question.place not in {place for place, gap in report.kernels if gap}
        ),
        kernels=(),
    )
    left = tuple((place, gap) for place, gap in report.descriptors if (place.file, place.line) not in touched)
    if len(left) == len(report.descriptors):
        return report
    return replace(
        report,
        source=replace(
            report.source,
            descriptors=len(left),
            verified=report.source.verified if left else 0,
            placed=report.source.placed if left else 0,
            gaps=dict(Counter(gap for _, gap in left if gap)),
        ),
        open=tuple(question for question in report.open if (question.place.file, question.place.line) not in touched),
        unverified=report.unverified if left else (),
        descriptors=left,
    )
