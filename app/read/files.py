"""Several source files at once, each checked with those of them that it includes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanescope.app.check.checking import check_sources
from lanescope.app.check.facts import CheckReport, SourceSpan, SourceText
from lanescope.app.check.includes import join_includes
from lanescope.app.kit.question import declare_question, raw_field
from lanescope.app.kit.target import target_field
from lanescope.app.read import workbench
from lanescope.reader import LONGEST

ENDINGS = ".cu,.cuh,.h,.hh,.hpp,.hxx,.c,.cc,.cpp,.cxx,.inl,.inc,.py,.txt,.ptx"
SECONDS = 4.0  # for all files of a request, which a server ends after 5 by itself


@declare_question
class FilesForm:
    """Several source files."""

    target: str = target_field()
    files: bytes = raw_field("Source files", "", file=ENDINGS)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file with its findings. fits: whether the workbench takes its text; texts: of all files, by name."""

    source: SourceText
    report: CheckReport
    texts: Mapping[str, str]

    @property
    def included(self) -> list[str]:
        """Return the names of the files that were read with it."""
        return [name for name in dict.fromkeys(piece.name for piece in self.source.pieces) if name != self.source.name]

    @property
    def fits(self) -> bool:
        return fits_workbench(self.source)

    def quote_place(self, place: SourceSpan) -> str:
        """Return the text at a place in one line."""
        lines = self.texts[place.file].split("\n")
        return lines[place.line - 1][place.column - 1 : place.end_column - 1] if place.line == place.end_line else "…"

    @property
    def state(self) -> str:
        """Return bad, ok, care or open; ok only if everything was verified."""
        if self.report.findings:
            return "bad"
        is_open = self.report.open or self.report.doubts or self.report.unverified
        return "care" if is_open else "ok" if self.report.verified else "open"


def fits_workbench(source: SourceText) -> bool:
    """Return whether the workbench takes a file's text."""
    return 0 < len(source.text) <= LONGEST


def check_files(sources: Sequence[SourceText], target: str = "") -> list[CheckedFile]:
    """Check each file with those that it includes; findings come first. target: what ptxas compiles for, "" for any."""
    end = time.monotonic() + SECONDS
    texts = {source.name: source.text for source in sources}
    checked = [
        CheckedFile(source, check_sources([source], max(round(end - time.monotonic(), 1), 0.1), target), texts)
        for source in (join_includes(source, sources) for source in sources)
    ]
    return sorted(checked, key=lambda file: ("bad", "care", "open", "ok").index(file.state))


def link_workbench(source: SourceText) -> str:
    """Link the workbench of a file whose text an address holds; "" for any other."""
    link = workbench.link_text(source.text, {}) if fits_workbench(source) else ""
    return link if "?" in link else ""
