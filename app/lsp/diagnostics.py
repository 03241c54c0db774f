"""Diagnostics of the editor: each finding with its range, its rule and the reads that follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename

from lsprotocol import types

from lanescope.app.check.facts import CheckFinding, FollowingRead, OpenQuestion
from lanescope.app.check.sarif import link_rule
from lanescope.app.lsp.analysis import Analysis
from lanescope.app.lsp.documents import DocumentStore, PlacedText

SOURCE = "lanescope"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding, or a note, as the editor shows it; analysis: its source."""

    shown: types.Diagnostic
    finding: CheckFinding | None
    analysis: Analysis


@dataclass(slots=True)
class ProblemBoard:
    """The last analysis of each open document, and the files whose problems the editor shows.

    A file has the problems of every document that includes it, those with the same code and range once. Analyses of
    outdated versions are not shown.
    """

    store: DocumentStore
    analyses: dict[str, Analysis] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)

    def put(self, analysis: Analysis) -> set[str]:
        """Store the analysis of a document; return the files whose problems may have changed."""
        before = self.analyses.get(analysis.name)
        self.analyses[analysis.name] = analysis
        return {analysis.name, *_list_files(before), *_list_files(analysis)}

    def drop(self, name: str) -> set[str]:
        """Remove a closed document; return the files whose problems may have changed."""
        return {name, *_list_files(self.analyses.pop(name, None))}

    def find_current(self, name: str) -> Analysis | None:
        """Return the analysis of a document's current version; None if there is none."""
        analysis, document = self.analyses.get(name), self.store.documents.get(name)
        current = analysis is not None and document is not None and analysis.versions.get(name) == document.version
        return analysis if current else None

    def find_including(self, name: str) -> list[str]:
        """Return the other open documents that include a file, or would include it if it existed."""
        return [
            value.name
            for value in self.analyses.values()
            if value.name != name
            and (name in value.texts or any(basename(name) == basename(include) for include in value.unfound))
        ]

    def is_stale(self, name: str) -> bool:
        """Return whether a document is open and was not checked in its version."""
        return name in self.store.documents and self.find_current(name) is None

    def list_problems(self, name: str, site: str, notes: bool) -> list[Problem]:
        """List the problems of a file. site: address of the guide's pages; notes: whether to add open questions."""
        document = self.store.documents.get(name)
        every: dict[object, Problem] = {}
        for analysis in sorted(self.analyses.values(), key=lambda analysed: analysed.name != name):
            if analysis.versions.get(name) != (document.version if document is not None else None):
                continue  # read when it was another text
            for problem in _make_problems(analysis, name, self.store, site, notes):
                place = problem.shown.range
                key = (problem.shown.code or problem.shown.message, str(place))
                every.setdefault(key, problem)
        return list(every.values())


def _list_files(analysis: Analysis | None) -> Collection[str]:
    return {finding.place.file for finding in analysis.findings} if analysis is not None else ()


def _make_problems(analysis: Analysis, name: str, store: DocumentStore, site: str, notes: bool) -> Iterator[Problem]:
    for finding in analysis.findings:
        if finding.place.file == name:
            yield Problem(_show_finding(finding, analysis, store, site), finding, analysis)
    for question in (*analysis.open, *(analysis.notes if notes else ())):
        if question.place.file == name:
            hint = question in analysis.notes
            yield Problem(_show_question(question, analysis, hint), None, analysis)


def _show_finding(finding: CheckFinding, analysis: Analysis, store: DocumentStore, site: str) -> types.Diagnostic:
    message = finding.message + (f" The right word is {finding.fix}." if finding.fix else "")
    return types.Diagnostic(
        range=analysis.texts[finding.place.file].locate_span(finding.place),
        message=message,
        severity=_SEVERITIES[finding.level],
        code=finding.code,
        code_description=types.CodeDescription(href=link_rule(finding.code, site)),
        source=SOURCE,
        related_information=list(_list_related(finding.follows, analysis.texts, store)) or None,
    )


def _list_related(
    reads: list[FollowingRead], texts: Mapping[str, PlacedText], store: DocumentStore
) -> Iterator[types.DiagnosticRelatedInformation]:
    for read in reads:
        placed = texts.get(read.place.file)
        if placed is not None:
            location = types.Location(uri=store.link(read.place.file), range=placed.locate_span(read.place))
            yield types.DiagnosticRelatedInformation(location=location, message=read.message)


def _show_question(question: OpenQuestion, analysis: Analysis, hint: bool) -> types.Diagnostic:
    needs = f" Give {', '.join(question.needs)}." if question.needs else ""
    return types.Diagnostic(
        range=analysis.texts[question.place.file].locate_span(question.place),
        message=question.message + needs,
        severity=types.DiagnosticSeverity.Hint if hint else types.DiagnosticSeverity.Information,
        source=SOURCE,
    )
