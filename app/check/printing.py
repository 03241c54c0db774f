"""A report as lines for the terminal: findings to standard output, notes to standard error."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

from lanescope.app.check.facts import CheckedSource, CheckReport, OpenQuestion, SourceSpan
from lanescope.app.check.running import (
    UNREAD,
    describe_gap,
    describe_kernel_gaps,
    describe_missing,
    describe_unused,
    describe_unverified,
)
from lanescope.inputs import format_count, join_words
from lanescope.workbench.gaps import TILED_MMA

_MOST_PLACES = 3  # of one note


def print_report(report: CheckReport, quiet: bool = False, stats: bool = False, names: Sequence[str] = ()) -> None:
    """Print findings and the verified reads; without `quiet` also notes, equal ones once; with `stats` a table.

    names: the files and folders of the command, to which the table's folders are relative.
    """
    for line in _list_finding_lines(report):
        print(line)
    sys.stdout.flush()  # where both streams go to one file, notes come behind findings
    if not quiet:
        for note in list_notes(report):
            print(note, file=sys.stderr)
    for line in list_stats(report.sources, names) if stats else ():
        print(line)
    for line in list_totals(report):
        print(line)


def fails(report: CheckReport, fail_on: str) -> bool:
    """Return whether a report fails. fail_on: error, warning or unverified; each includes the ones before it."""
    if fail_on == "unverified" and (
        report.gaps or report.kernel_gaps or any(describe_missing(source) for source in report.sources)
    ):
        return True
    return any(finding.level == "error" or fail_on != "error" for finding in report.findings)


def _list_finding_lines(report: CheckReport) -> Iterator[str]:
    for finding in report.findings:
        yield f"{format_place(finding.place)}: {finding.level}: {finding.message} [{finding.code}]"
        if finding.fix:
            yield f"    the right word: {finding.fix}"
        for edit in finding.edits:
            yield f"    repair: {format_place(edit.place)}: write {edit.text}"


def list_notes(report: CheckReport) -> Iterator[str]:
    """List doubts and open questions by place, equal ones once, and last the missing values of each file."""
    places: dict[str, list[SourceSpan]] = {}
    for doubt in report.doubts:
        places.setdefault(f"{doubt.message} [{doubt.code}]", []).append(doubt.place)
    told = set[str]()
    for message, place in join_questions(report.open):
        reason = message.partition(" is not verified: ")[2]
        if reason in report.unverified and reason not in told:  # one note for an operand and its reads
            told.add(reason)
            message = f"{message} ({format_count(report.unverified[reason], 'read')})"
        places.setdefault(message, []).append(place)
    for reason, count in report.unverified.items():
        if reason not in told:
            places.setdefault(describe_unverified(reason, count), []).append(report.unverified_at[reason])
    order = {source.file: n for n, source in enumerate(report.sources)}

    def rank(item: tuple[str, list[SourceSpan]]) -> tuple[int, int, int]:
        first = item[1][0]
        return order.get(first.file, len(order)), first.line, first.column

    for message, where in sorted(places.items(), key=rank):
        others = ", ".join(map(format_place, where[1:_MOST_PLACES]))
        more = f" and {len(where) - _MOST_PLACES} more" if len(where) > _MOST_PLACES else ""
        yield f"{format_place(where[0])}: note: {message}" + (f" (also at {others}{more})" if others else "")
    for name in report.unused:
        yield f"note: {describe_unused(name)}"
    for source in report.sources:
        if missing := describe_missing(source):
            yield f"{source.file}: note: {missing}"


def join_questions(questions: Iterable[OpenQuestion]) -> Iterator[tuple[str, SourceSpan]]:
    """Yield (message, place) of open questions; one for all instructions that read an operand at one place."""
    groups: dict[tuple[str, str, SourceSpan], list[str]] = {}
    for question in questions:
        head, verb, reason = question.message.partition(" is not verified: ")
        operand, of, instruction = head.partition(" of ")
        joins = bool(verb and of) and len(operand) == 1
        key = (operand if joins else question.message, reason if joins else "", question.place)
        groups.setdefault(key, []).append(instruction if joins else "")
    for (operand, reason, place), instructions in groups.items():
        others = len(instructions) - 1
        more = f" and of {format_count(others, 'other instruction')}" if others else ""
        yield (f"{operand} of {instructions[0]}{more} is not verified: {reason}" if reason else operand), place


def list_totals(report: CheckReport) -> Iterator[str]:
    """List the numbers of findings, and last of verified and unverified reads."""
    counts = f"{format_count(report.descriptors, 'descriptor')}, {format_count(report.tensor_maps, 'tensor map')}"
    verified = f"{format_count(report.verified, 'read')} verified"
    if report.placed:
        verified += f" ({report.placed:,} if the tiles start at multiples of the swizzle's pattern)"
    accepted = f", {len(report.suppressed)} accepted" if report.suppressed else ""
    targets = sorted({source.target for source in report.sources if source.target})
    made_for = f" for {join_words(targets)}" if targets else ""
    yield (
        f"{format_count(report.files, 'file')}{made_for}: {counts}, {verified};"
        f" {format_count(len(report.findings), 'finding')}{accepted}"
    )
    yield _describe_verified(report)


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


def _describe_verified(report: CheckReport) -> str:
    unread = report.gaps.get(UNREAD, 0)
    silent = [s for s in report.sources if s.multiplier and not s.descriptors and not s.verified]
    parts = []
    if descriptors := _describe_descriptors(report):
        parts.append(descriptors)
    if kernels := describe_kernel_gaps(report.kernels, report.kernel_gaps):
        parts.append(kernels)
    elif report.kernels:
        every = f"all {report.kernels:,} kernels with mma have" if report.kernels > 1 else "the kernel with mma has"
        parts.append(f"{every} a verdict")
    if silent:
        names = "/".join(sorted({source.multiplier for source in silent}))
        parts.append(f"{format_count(len(silent), 'file')} with {names} and no descriptor that is recognized")
    if unread:
        parts.append(f"{format_count(unread, 'file')} not read: not verified")
    if not parts and (report.verified or report.findings):
        return "no descriptor in these files"
    return "; ".join(parts) or "nothing to verify: no descriptor, wgmma or tcgen05.mma in these files"


def list_stats(sources: Iterable[CheckedSource], names: Sequence[str] = ()) -> Iterator[str]:
    """List, folder by folder: files, those that multiply with descriptors, those of them with a descriptor seen, with a
    read verified; descriptors, and those verified. names: the folders or files that the rows are relative to.
    """
    sources = list(sources)
    root = _find_root([source.file for source in sources], names)
    folders: dict[str, list[CheckedSource]] = {}
    for source in sources:
        folders.setdefault(posixpath.relpath(posixpath.dirname(source.file) or ".", root), []).append(source)
    rows: list[tuple[str, ...]] = [
        ("folder", "files", "with mma", "seen", "verified", "descriptors", "with verdict", "reads")
    ]
    rows += [(name, *_count_row(of_folder)) for name, of_folder in sorted(folders.items())]
    rows.append(("all", *_count_row([source for of_folder in folders.values() for source in of_folder])))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *(cell.rjust(widths[n]) for n, cell in enumerate(row) if n)]).rstrip()


def _find_root(files: Collection[str], names: Iterable[str]) -> str:
    """Return the common folder of these names: a folder itself, of a file its own folder."""
    roots = [posixpath.dirname(name) if name in files else posixpath.normpath(name) for name in names]
    try:
        return posixpath.commonpath(roots) or "." if roots else "."
    except ValueError:  # relative and absolute names
        return "."


def _count_row(sources: list[CheckedSource]) -> tuple[str, ...]:
    used = [source for source in sources if source.multiplier not in ("", TILED_MMA)]
    descriptors = sum(source.descriptors for source in sources)
    open_ = sum(count for source in sources for gap, count in source.gaps.items() if gap != UNREAD)
    numbers = (
        len(sources),
        len(used),
        sum(source.descriptors > 0 for source in used),
        sum(source.verified > 0 for source in used),
        descriptors,
        descriptors - open_,
        sum(source.verified for source in sources),
    )
    return tuple(f"{number:,}" for number in numbers)


def format_place(place: SourceSpan) -> str:
    """Return a place in the form of compilers: file:line:column."""
    return f"{place.file}:{place.line}:{place.column}"
