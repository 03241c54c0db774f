"""Accepted findings: by a comment beside them, by a baseline, or because their code is not selected."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lanescope.app.check.facts import CheckFinding, CheckReport, OpenQuestion, SourceSpan, SuppressedFinding
from lanescope.descriptor import causes
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, quote_value, shorten_value
from lanescope.workbench.finding_codes import FAMILIES, TITLES

BASELINE = "baseline"
_COMMENT = re.compile(r"(?://|/\*|#)[ \t]*lanescope:[ \t]*ignore(?:\[([^\]\n]*)\])?[ \t]*([^\n]*)")


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """A comment that accepts findings. codes: () for all; lines: of the findings; at: place of the comment."""

    codes: tuple[str, ...]
    reason: str
    lines: range
    at: SourceSpan

    def accepts(self, finding: CheckFinding) -> bool:
        """Return whether the comment applies to the line and the code of a finding."""
        place = finding.place
        beside = place.file == self.at.file and place.line in self.lines
        return beside and (not self.codes or finding.code in expand_families(self.codes))


def list_codes() -> tuple[str, ...]:
    """List the codes that a finding can have."""
    return tuple(sorted({*TITLES, *causes.TITLES, "other_bytes"}))


def parse_codes(words: Iterable[str], option: str) -> frozenset[str]:
    """Parse codes, separated by commas; LayoutError for an unknown one."""
    codes = [code.strip() for word in words for code in word.split(",") if code.strip()]
    return expand_families(_parse_code(code, option) for code in codes)


def expand_families(codes: Iterable[str]) -> frozenset[str]:
    """Return the codes, with families replaced by their codes."""
    return frozenset(code for name in codes for code in FAMILIES.get(name, (name,)))


def _parse_code(code: str, option: str) -> str:
    known = (*list_codes(), *FAMILIES)
    if code in known:
        return code
    near = find_nearest_word(code, known)
    hint = (
        f"Did you mean '{near}'? /guide/check-rules lists all."
        if near
        else "A message ends in its code, such as sbo_other_width; order stands for all codes of order."
        " /guide/check-rules of lanescope serve lists all."
    )
    raise LayoutError("bad_choice", f"--{option}: {quote_value(code)} is not a code.", hint, option)


def select_codes(report: CheckReport, select: frozenset[str], ignore: frozenset[str]) -> CheckReport:
    """Return the report with the findings and doubts of the selected codes, () for all, that are not ignored."""

    def keeps(finding: CheckFinding) -> bool:
        return (not select or finding.code in select) and finding.code not in ignore

    return replace(
        report,
        findings=list(filter(keeps, report.findings)),
        doubts=list(filter(keeps, report.doubts)),
        suppressed=[accepted for accepted in report.suppressed if keeps(accepted.finding)],
    )


def find_comments(name: str, text: str) -> Iterator[IgnoreComment]:
    """Find the comments of a source that accept findings: of their line, or of the next one if they are alone on it."""
    if "lanescope:" not in text:
        return
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is None:
            continue
        codes = tuple(code.strip() for code in (match[1] or "").split(",") if code.strip())
        alone = not line[: match.start()].strip()
        below = next((n for n in range(number, len(lines)) if not _is_comment(lines[n])), number) + 1
        place = SourceSpan(
            file=name, line=number, column=match.start() + 1, end_line=number, end_column=match.end() + 1
        )
        reason = match[2].removesuffix("*/").strip()
        yield IgnoreComment(codes, reason, range(below, below + 1) if alone else range(number, number + 1), place)


def _is_comment(line: str) -> bool:
    return line.strip().startswith(("//", "#", "/*")) and not line.strip().startswith(("#include", "#define", "#if"))


def find_ignore_comment(line: str) -> tuple[str, int] | None:
    """Find the comment of a line with codes: (codes, position for another code); None if there is none."""
    match = _COMMENT.search(line)
    return (match[1].strip(), match.end(1)) if match and match[1] is not None else None


def apply_comments(report: CheckReport, texts: Mapping[str, str]) -> CheckReport:
    """Return the report without the findings that comments accept. texts: of the files, by name."""
    comments = [comment for name, text in texts.items() for comment in find_comments(name, text)]
    if not comments:
        return report
    used: set[SourceSpan] = set()

    def find_accepting(finding: CheckFinding) -> IgnoreComment | None:
        accepting = next((comment for comment in comments if comment.accepts(finding)), None)
        if accepting is not None:
            used.add(accepting.at)
        return accepting

    accepted = [(finding, find_accepting(finding)) for finding in report.findings]
    doubts = [doubt for doubt in report.doubts if find_accepting(doubt) is None]
    unused = [
        OpenQuestion(message="This comment accepts no finding.", place=comment.at, needs=[])
        for comment in comments
        if comment.at not in used
    ]
    return replace(
        report,
        findings=[finding for finding, comment in accepted if comment is None],
        doubts=doubts,
        open=[*report.open, *unused],
        suppressed=[
            *report.suppressed,
            *(
                SuppressedFinding(finding=finding, why=comment.reason or "a comment without a reason")
                for finding, comment in accepted
                if comment is not None
            ),
        ],
    )


# the baseline ---------------------------------------------------------------------------------------------------------


def compute_fingerprint(finding: CheckFinding) -> str:
    """Return a hash that stays the same for the same finding when lines above it change."""
    return hashlib.sha256(f"{finding.place.file}\0{finding.code}\0{finding.message}".encode()).hexdigest()[:20]


def write_baseline(report: CheckReport, path: Path) -> int:
    """Write the findings of a report into a file; return their number."""
    findings = [
        {"fingerprint": compute_fingerprint(finding), "code": finding.code, "file": finding.place.file}
        for finding in report.findings
    ]
    try:
        path.write_text(json.dumps({"version": 1, "findings": findings}, indent=1) + "\n", "utf-8")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise LayoutError(
            "bad_path", f"The baseline cannot be written: {error}.", "Name a file.", "baseline"
        ) from error
    return len(findings)


def apply_baseline(report: CheckReport, path: Path) -> CheckReport:
    """Return the report without the findings of a baseline, each as often as the baseline has it."""
    try:
        known = Counter(str(finding["fingerprint"]) for finding in json.loads(path.read_text("utf-8"))["findings"])
    except (OSError, ValueError, KeyError, TypeError):
        raise LayoutError(
            "bad_usage",
            f"'{shorten_value(str(path), 200)}' is not a baseline, or cannot be read.",
            "Write one with --write-baseline FILE.",
            "baseline",
        ) from None
    new: list[CheckFinding] = []
    old: list[SuppressedFinding] = []
    for finding in report.findings:
        key = compute_fingerprint(finding)
        if known[key]:
            known[key] -= 1
            old.append(SuppressedFinding(finding=finding, why=BASELINE))
        else:
            new.append(finding)
    return replace(report, findings=new, suppressed=[*report.suppressed, *old])
