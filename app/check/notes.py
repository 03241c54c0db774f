"""What a report says besides its findings: notes in the order of their places, and what was verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lanescope.app.check.facts import CheckReport, OpenQuestion, SourceSpan
from lanescope.app.check.running import (
    UNREAD,
    describe_gap,
    describe_kernel_gaps,
    describe_unverified,
    name_unrecognized,
)
from lanescope.inputs import format_count, join_words
from lanescope.workbench.check_report import describe_unverified_operand

_MOST_RESULTS = 3  # kernels that are named


@dataclass(frozen=True, slots=True)
class ReportNote:
    """A doubt or an open question, and every place that it is about. code: of a doubt, "" for a question."""

    message: str
    code: str
    places: tuple[SourceSpan, ...]


def collect_notes(report: CheckReport) -> list[ReportNote]:
    """Return doubts and open questions by place, equal ones once."""
    places: dict[tuple[str, str], list[SourceSpan]] = {}
    for doubt in report.doubts:
        places.setdefault((doubt.message, doubt.code), []).append(doubt.place)
    reported = set[str]()
    for message, reason, place in _join_questions(report.open):
        if reason in report.unverified and reason not in reported:  # one note for an operand and its reads
            reported.add(reason)
            message = f"{message} ({format_count(report.unverified[reason], 'read')})"
        places.setdefault((message, ""), []).append(place)
    for reason, count in report.unverified.items():
        if reason not in reported:
            places.setdefault((describe_unverified(reason, count), ""), []).append(report.unverified_at[reason])
    order = {source.file: n for n, source in enumerate(report.sources)}

    def rank(note: ReportNote) -> tuple[int, int, int]:
        first = note.places[0]
        return order.get(first.file, len(order)), first.line, first.column

    notes = (ReportNote(message, code, tuple(found)) for (message, code), found in places.items())
    return sorted(notes, key=rank)


def _join_questions(questions: Iterable[OpenQuestion]) -> Iterator[tuple[str, str, SourceSpan]]:
    """Yield (message, reason, place) of open questions; one for all instructions that read an operand at one place."""
    groups: dict[tuple[str, str, SourceSpan], list[OpenQuestion]] = {}
    for question in questions:
        key = (question.operand or question.message, question.reason, question.place)
        groups.setdefault(key, []).append(question)
    for (_, reason, place), (first, *others) in groups.items():
        readers = f"{first.reader} and of {format_count(len(others), 'other instruction')}"
        joined = describe_unverified_operand(first.operand, readers, reason) if others and first.operand else ""
        yield joined or first.message, reason, place


def list_totals(report: CheckReport) -> Iterator[str]:
    """List the numbers of findings, and last of verified and unverified reads."""
    accepted = f", {len(report.suppressed)} accepted" if report.suppressed else ""
    targets = sorted({source.target for source in report.sources if source.target})
    made_for = f" for {join_words(targets)}" if targets else ""
    yield (
        f"{format_count(report.files, 'file')}{made_for}: {count_contents(report)};"
        f" {format_count(len(report.findings), 'finding')}{accepted}"
    )
    yield describe_verified(report)


def count_contents(report: CheckReport) -> str:
    """Return how many descriptors, tensor maps and kernels a report has, and how many reads are verified."""
    counts = ((report.descriptors, "descriptor"), (report.tensor_maps, "tensor map"), (report.kernels, "kernel"))
    parts = [format_count(count, noun) + " with mma" * (noun == "kernel") for count, noun in counts if count]
    verified = f"{format_count(report.verified, 'read')} verified"
    if report.placed:
        verified += f" ({report.placed:,} if the tiles start at multiples of the swizzle's pattern)"
    return ", ".join([*parts, verified])


def _describe_descriptors(report: CheckReport) -> str:
    """Describe how many descriptors have no verdict and why, or that all have one; "" if there are none."""
    gaps = {gap: count for gap, count in report.gaps.items() if gap != UNREAD}
    if count := sum(gaps.values()):
        ordered = sorted(gaps.items(), key=lambda item: -item[1])
        reasons = ", ".join(describe_gap(gap, number) for gap, number in ordered)
        return f"{count:,} of {format_count(report.descriptors, 'descriptor')} not verified: {reasons}"
    if not report.descriptors:
        return ""
    every = f"all {report.descriptors:,} descriptors have" if report.descriptors > 1 else "the descriptor has"
    return f"{every} a verdict"


def describe_verified(report: CheckReport) -> str:
    """Return what has no verdict and why, or that all of it has one."""
    where = "this file" if report.files == 1 else "these files"
    parts = list(_list_verdicts(report))
    if not parts and (report.verified or report.findings):
        return f"no descriptor in {where}"
    return "; ".join(parts) or f"nothing to verify: no descriptor, matrix instruction or wmma in {where}"


def _list_verdicts(report: CheckReport) -> Iterator[str]:
    """List what has no verdict and why, or that it has: descriptors, kernels, files."""
    unread = report.gaps.get(UNREAD, 0)
    silent = [s for s in report.sources if s.multiplier and not s.descriptors and not s.verified]
    if descriptors := _describe_descriptors(report):
        yield descriptors
    if kernels := describe_kernel_gaps(report.kernels, report.kernel_gaps):
        yield kernels
    elif report.kernels:
        kernels = f"all {report.kernels:,} kernels" if report.kernels > 1 else "the kernel"
        yield f"the fragments of {kernels} with mma have a verdict"
    for lack in sorted({name_unrecognized(source.multiplier) for source in silent}):
        names = [source.multiplier for source in silent if name_unrecognized(source.multiplier) == lack]
        yield f"{format_count(len(names), 'file')} with {'/'.join(sorted({*names}))} and {lack}"
    results = list(dict.fromkeys(one.result for one in report.open if one.result))
    if results:
        shown = results[:_MOST_RESULTS]
        rest = [f"that of {format_count(len(results) - len(shown), 'other kernel')}"] * (len(results) > len(shown))
        yield f"{join_words([*shown, *rest])} {'is' if len(results) == 1 else 'are'} open"
    if unread:
        yield f"{format_count(unread, 'file')} not read: not verified"
