"""Several source files at once, each checked with those of them that it includes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanescope.app.check.answer import check_within
from lanescope.app.check.facts import SourceText
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.report_view import ReportView
from lanescope.app.check.suppress import apply_comments
from lanescope.app.kit.question import declare_question, raw_field
from lanescope.app.kit.target import target_field
from lanescope.reader import LONGEST

ENDINGS = ".cu,.cuh,.h,.hh,.hpp,.hxx,.c,.cc,.cpp,.cxx,.inl,.inc,.py,.txt,.ptx"


@declare_question
class FilesForm:
    """Several source files."""

    target: str = target_field()
    files: bytes = raw_field("Source files", "", file=ENDINGS)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file with its report."""

    source: SourceText
    view: ReportView

    @property
    def included(self) -> list[str]:
        """Return the names of the files that were read with it."""
        return [name for name in dict.fromkeys(piece.name for piece in self.source.pieces) if name != self.source.name]

    @property
    def fits(self) -> bool:
        """Return whether the workbench takes its text, with what it includes."""
        return 0 < len(self.source.text) <= LONGEST


def check_files(sources: Sequence[SourceText], target: str = "") -> list[CheckedFile]:
    """Check each file with those that it includes; findings come first. target: what ptxas compiles for, "" for any."""
    texts = {source.name: source.text for source in sources}
    checked = []
    for joined, report in check_within(sources, {}, target):
        own = {name: texts[name] for name in (joined.name, *report.source.included)}
        checked.append(CheckedFile(joined, ReportView(apply_comments(merge_reports([report]), own), texts)))
    return sorted(checked, key=lambda file: ("bad", "care", "open", "ok").index(file.view.state))
