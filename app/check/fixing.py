"""Repairs of findings in the files: chosen so that they do not overlap, checked again, written with the line ends of
the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lanescope.app.check.facts import CheckFinding, CheckReport, SourceEdit
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

MOST_ROUNDS = 4  # a repaired descriptor may show what it hid
LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CheckedTexts:
    """A report, and the texts of its files with LF line ends."""

    report: CheckReport
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's text before and after, both with LF line ends."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FixedReport:
    """The report after the repairs, and the changes."""

    report: CheckReport
    changes: tuple[FileChange, ...]


def fix_findings(first: CheckedTexts, check: Callable[[Mapping[str, str]], CheckedTexts]) -> FixedReport:
    """Repair the findings that have edits. check: checks the files with these texts instead, by name.

    A round of edits is kept if the repaired findings are gone and no new error appears; otherwise its findings are
    tried one by one.
    """
    now, changed = first, dict[str, str]()
    for _ in range(MOST_ROUNDS):
        kept = _fix_round(now, changed, check)
        if kept is None:
            break
        now, changed = kept
    changes = tuple(FileChange(name, first.texts[name], text) for name, text in sorted(changed.items()))
    return FixedReport(now.report, changes)


def _fix_round(
    now: CheckedTexts, changed: dict[str, str], check: Callable[[Mapping[str, str]], CheckedTexts]
) -> tuple[CheckedTexts, dict[str, str]] | None:
    chosen = choose_findings(now.report.findings)
    for group in (chosen, *([finding] for finding in chosen if len(chosen) > 1)):
        texts = {**changed, **_edit_texts(now.texts, group)}
        if not group or texts == changed:
            continue
        after = check(texts)
        if _is_better(now.report, after.report, group):
            return after, texts
    return None


def choose_findings(findings: Iterable[CheckFinding]) -> list[CheckFinding]:
    """Return the findings whose edits are within a line each and do not overlap earlier ones."""
    chosen: list[CheckFinding] = []
    taken: list[SourceEdit] = []
    for finding in findings:
        edits = finding.edits
        if edits and all(map(_is_in_line, edits)) and not any(_overlaps(edit, old) for edit in edits for old in taken):
            chosen.append(finding)
            taken += edits
    return chosen


def _is_in_line(edit: SourceEdit) -> bool:
    return edit.place.line == edit.place.end_line and "\n" not in edit.text


def _overlaps(edit: SourceEdit, old: SourceEdit) -> bool:
    first, second = edit.place, old.place
    if (first.file, first.line) != (second.file, second.line) or edit == old:
        return False
    return (first.column < second.end_column and second.column < first.end_column) or first.column == second.column


def _edit_texts(texts: Mapping[str, str], findings: Iterable[CheckFinding]) -> dict[str, str]:
    edits: dict[str, set[tuple[int, int, int, str]]] = {}
    for finding in findings:
        for edit in finding.edits:
            place = edit.place
            edits.setdefault(place.file, set()).add((place.line, place.column, place.end_column, edit.text))
    return {name: apply_edits(texts[name], file_edits) for name, file_edits in edits.items() if name in texts}


def apply_edits(text: str, edits: Iterable[tuple[int, int, int, str]]) -> str:
    """Return a text with edits (line, column, end column, replacement) that do not overlap.

    >>> apply_edits("a = 512;\\nb = 1;", [(1, 5, 8, "1024"), (2, 5, 6, "2")])
    'a = 1024;\\nb = 2;'
    """
    lines = text.split("\n")
    for line, column, end, new in sorted(edits, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[: column - 1] + new + old[end - 1 :]
    return "\n".join(lines)


def _is_better(before: CheckReport, after: CheckReport, fixed: Iterable[CheckFinding]) -> bool:
    """Return whether the repaired findings are gone, fewer remain in total, and no verified read is lost."""
    left = {(finding.code, finding.place.file, finding.place.line) for finding in after.findings}
    gone = all((finding.code, finding.place.file, finding.place.line) not in left for finding in fixed)
    return gone and len(after.findings) < len(before.findings) and after.verified >= before.verified


def write_changes(changes: Iterable[FileChange]) -> None:
    """Write the changed files, each with its own line ends; raise LayoutError, and write none, if a file cannot be read
    or was changed during the check.
    """
    written: list[tuple[Path, bytes]] = []
    for change in changes:
        path = Path(change.name)
        try:
            raw = path.read_bytes().decode("utf-8")
        except (OSError, ValueError):
            raise _refuse(change.name, "cannot be read as UTF-8") from None
        ends = LINE_END.findall(raw)
        if LINE_END.sub("\n", raw) != change.before:
            raise _refuse(change.name, "was changed while it was checked")
        lines = change.after.split("\n")
        text = "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))
        written.append((path, text.encode("utf-8")))
    for path, content in written:
        try:
            path.write_bytes(content)
        except OSError as error:
            raise _refuse(path.as_posix(), f"cannot be written: {error.strerror}") from None


def _refuse(name: str, why: str) -> LayoutError:
    return LayoutError("bad_usage", f"'{shorten_value(name, 200)}' {why}.", "Check again.", "fix")


def list_diff(changes: Iterable[FileChange]) -> Iterator[str]:
    """List the lines of a unified diff of all changes."""
    for change in changes:
        before, after = (text.splitlines(keepends=False) for text in (change.before, change.after))
        name = change.name.removeprefix("./")
        yield from difflib.unified_diff(before, after, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}", lineterm="")
