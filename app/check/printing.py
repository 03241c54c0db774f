"""A report as lines for the terminal: findings to standard output, notes to standard error."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

from lanescope.app.check.facts import CheckedSource, CheckReport, SourceSpan
from lanescope.app.check.notes import collect_notes, list_totals
from lanescope.app.check.running import UNREAD, describe_missing, describe_unused, list_needed_names
from lanescope.workbench.fragments.thread_gaps import BLOCK_NAME
from lanescope.workbench.source.gaps import TILED_MMA

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
    """List the notes as lines, and last the missing values of each file."""
    for note in collect_notes(report):
        others = ", ".join(map(format_place, note.places[1:_MOST_PLACES]))
        more = f" and {len(note.places) - _MOST_PLACES} more" if len(note.places) > _MOST_PLACES else ""
        code = f" [{note.code}]" if note.code else ""
        also = f" (also at {others}{more})" if others else ""
        yield f"{format_place(note.places[0])}: note: {note.message}{code}{also}"
    for name in report.unused:
        yield f"note: {describe_unused(name)}"
    for source in report.sources:
        missing = describe_missing(source)
        if missing and not _repeats_notes(source):
            yield f"{source.file}: note: {missing}"


def _repeats_notes(source: CheckedSource) -> bool:
    """Return whether the notes of a file's kernels say all that its own would say of what is missing."""
    others = set(source.gaps) - {UNREAD} or set(list_needed_names(source)) - {BLOCK_NAME} or source.unfound
    return not others and (not source.multiplier or source.descriptors > 0)


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
