"""A report as the pages show it: findings with repairs and rules, notes, and in one line what was verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from lanescope.app.check.facts import CheckFinding, CheckReport, SourceSpan
from lanescope.app.check.notes import ReportNote, collect_notes, count_contents, describe_verified
from lanescope.app.check.running import UNREAD, list_needed_names
from lanescope.app.check.sarif import link_rule, read_rule_rows
from lanescope.inputs import capitalize_sentence, format_count, join_words

UNFINISHED = "Not checked to its end"


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """A change of the text that repairs a finding. before: the text at its place, "…" if that has several lines."""

    place: SourceSpan
    before: str
    after: str

    @property
    def label(self) -> str:
        """Return the change in words: `512 → 1024`, `insert (uint64_t)`."""
        return f"{self.before} → {self.after}" if self.before else f"insert {self.after}"


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding with its repair. right: the rule's right example, "" if it has none; rule: the page about it."""

    finding: CheckFinding
    edits: tuple[ShownEdit, ...]
    right: str
    rule: str

    @property
    def state(self) -> str:
        return "bad" if self.finding.level == "error" else "care"

    @property
    def repair(self) -> str:
        """Return its edits in words, "" without any."""
        return ", ".join(dict.fromkeys(edit.label for edit in self.edits))


@dataclass(frozen=True)
class ReportView:
    """A report, and the texts of its files by name."""

    report: CheckReport
    texts: Mapping[str, str]

    @cached_property
    def findings(self) -> tuple[ShownFinding, ...]:
        """Return the findings, errors first."""
        shown = (self._show_finding(finding) for finding in self.report.findings)
        return tuple(sorted(shown, key=lambda one: one.state != "bad"))

    @cached_property
    def notes(self) -> list[ReportNote]:
        """Return what is unusual, and what the text leaves open."""
        return collect_notes(self.report)

    @property
    def state(self) -> str:
        """Return bad, ok, care or open; ok only if everything was verified."""
        if any(shown.state == "bad" for shown in self.findings):
            return "bad"
        if self.report.findings or self.notes or self.report.gaps or self.report.kernel_gaps:
            return "care"
        return "ok" if self.report.verified else "open"

    @property
    def headline(self) -> str:
        """Return the verdict: the first mistake and its line, with how many there are, or that there is none."""
        if self.findings:
            finding = self.findings[0].finding
            first = f"{finding.title} (line {finding.place.line})"
            return f"{capitalize_sentence(self.count_text)}. {first}" if len(self.findings) > 1 else first
        if not self.finished:
            return UNFINISHED
        if self.state == "ok":
            return "Every read is right"
        return "No mistake found, but not everything is verified" if self.state == "care" else "Nothing to verify"

    @property
    def finished(self) -> bool:
        """Return whether every file was checked to its end."""
        return UNREAD not in self.report.gaps

    @property
    def count_text(self) -> str:
        """Return the number of findings in words: `1 mistake and 2 warnings`, `no mistake found`."""
        if not self.findings and not self.finished:
            return UNFINISHED
        errors = sum(shown.state == "bad" for shown in self.findings)
        counts = ((errors, "mistake"), (len(self.findings) - errors, "warning"))
        return join_words([format_count(count, noun) for count, noun in counts if count]) or "no mistake found"

    @property
    def summary(self) -> str:
        """Return in one line what was verified, and what was not and why."""
        if not self.finished:
            return f"{UNFINISHED}."
        accepted = format_count(len(self.report.suppressed), "finding") + " accepted" if self.report.suppressed else ""
        sentences = (count_contents(self.report), describe_verified(self.report), accepted)
        return " ".join(f"{capitalize_sentence(sentence)}." for sentence in sentences if sentence)

    @property
    def needs(self) -> list[str]:
        """Return the names whose values would let more be verified."""
        return list(dict.fromkeys(name for source in self.report.sources for name in list_needed_names(source)))

    def _show_finding(self, finding: CheckFinding) -> ShownFinding:
        row = read_rule_rows().get(finding.code)
        edits = tuple(ShownEdit(edit.place, self._quote(edit.place), edit.text) for edit in finding.edits)
        return ShownFinding(finding, edits, row.right if row else "", link_rule(finding.code, ""))

    def _quote(self, place: SourceSpan) -> str:
        """Return the text at a place."""
        line = self.texts[place.file].split("\n")[place.line - 1]
        return line[place.column - 1 : place.end_column - 1] if place.line == place.end_line else "…"
