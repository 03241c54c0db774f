"""Check one open document, with the editor's texts instead of those on disk. Independent of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from lanescope.app.check import checking, suppress
from lanescope.app.check.config import CheckSettings, is_excluded
from lanescope.app.check.defines import parse_defines
from lanescope.app.check.facts import ENDINGS, CheckFinding, CheckReport, OpenQuestion, SourceSpan
from lanescope.app.check.headers import CompileCommand, HeaderFinder, parse_folders, read_commands
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.running import UNREAD, TooSlowError
from lanescope.app.kit.job import run_within
from lanescope.app.lsp.documents import OpenDocument, PlacedText
from lanescope.deadline import end_when
from lanescope.errors import LayoutError
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.source.source_objects import SourceObjects, find_source_objects

_Object = TypeVar("_Object", DescriptorBuilder, TensorMap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of checking a document.

    versions: of the open documents that were read, by name; texts: of all files that were read, as they were then;
    unfound: includes without a file; open: what is reported even without notes (that it was not read); notes:
    its open questions; builders, maps: where its own text constructs them.
    """

    name: str
    versions: Mapping[str, int]
    texts: Mapping[str, PlacedText]
    unfound: tuple[str, ...] = ()
    findings: tuple[CheckFinding, ...] = ()
    open: tuple[OpenQuestion, ...] = ()
    notes: tuple[OpenQuestion, ...] = ()
    builders: tuple[tuple[SourceSpan, DescriptorBuilder], ...] = ()
    maps: tuple[tuple[SourceSpan, TensorMap], ...] = ()


def is_checked(document: OpenDocument, root: Path, settings: CheckSettings) -> bool:
    """Return whether a document is a source that the settings do not exclude."""
    path = Path(document.name)
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    return not is_excluded(inside, settings.exclude) and (
        path.suffix.lower() in ENDINGS or not document.uri.startswith("file:")
    )


def analyse_document(
    document: OpenDocument,
    opened: Mapping[str, OpenDocument],
    settings: CheckSettings,
    root: Path,
    over: Callable[[], bool] = lambda: False,
) -> Analysis:
    """Check a document with its includes.

    opened: documents whose texts replace files; root: folder from which a baseline names files; over: returns
    True once the result is no longer needed. LayoutError if a setting is invalid.
    """
    changed = {name: opened_document.placed.plain for name, opened_document in opened.items()}
    commands = _read_commands(settings.compile_commands)
    folders = [str(Path(folder).absolute()) for folder in parse_folders(settings.include)]
    select, ignore = suppress.parse_codes(settings.select, "select"), suppress.parse_codes(settings.ignore, "ignore")
    sources = checking.join_sources(
        [Path(document.name)],
        HeaderFinder(folders, commands, changed),
        parse_defines(settings.define),
        settings.seconds,
        target=settings.target,
    )
    with end_when(over):
        checked = [(job, _find_objects(job), checking.run_job(job)) for job in sources.jobs]  # the run takes the code
        report = merge_reports(report for _, _, report in checked)
    report = suppress.select_codes(suppress.apply_comments(report, sources.texts), select, ignore)
    if settings.baseline:
        report = _apply_baseline(report, settings.baseline, root)
    unread = any(UNREAD in source.gaps for source in report.sources)
    objects = [(job, found) for job, found, _ in checked]
    return Analysis(
        name=document.name,
        versions={name: opened[name].version for name in sources.texts if name in opened},
        texts=_place_texts(sources.texts, opened, document.placed.encoding),
        unfound=tuple(name for job in sources.jobs for name in job.source.unfound),
        findings=(*report.findings, *report.doubts),
        open=tuple(report.open) if unread else (),
        notes=() if unread else tuple(report.open),
        builders=tuple(_locate_objects(((job, found.builders) for job, found in objects), document.name)),
        maps=tuple(_locate_objects(((job, found.maps) for job, found in objects), document.name)),
    )


def _place_texts(texts: Mapping[str, str], opened: Mapping[str, OpenDocument], encoding: str) -> dict[str, PlacedText]:
    """Return the texts of files, those of open documents as the editor has them."""
    return {name: opened[name].placed if name in opened else PlacedText(text, encoding) for name, text in texts.items()}


def _locate_objects(
    of_jobs: Iterable[tuple[checking.CheckJob, Iterable[_Object]]], name: str
) -> Iterator[tuple[SourceSpan, _Object]]:
    """Yield (place, object) of what a file builds."""
    for job, found in of_jobs:
        located = ((job.source.locate(one.span), one) for one in found)
        yield from (pair for pair in located if pair[0].file == name)


def _find_objects(job: checking.CheckJob) -> SourceObjects:
    """Find the descriptors and maps that a source builds; none if it cannot be read in time."""
    source = job.source
    headers = [(piece.start, piece.end) for piece in source.pieces if piece.name != source.name]
    try:
        return run_within(
            job.seconds, lambda: find_source_objects(source.text, job.choices, headers, job.target), TooSlowError
        )
    except (TooSlowError, LayoutError):
        return SourceObjects()


def _read_commands(name: str) -> Mapping[str, CompileCommand]:
    if not name:
        return {}
    path = Path(name) / "compile_commands.json" if Path(name).is_dir() else Path(name)
    return _read_kept_commands(name, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=4)
def _read_kept_commands(name: str, changed: int) -> Mapping[str, CompileCommand]:
    """Read a compile_commands.json, again after it has changed."""
    return read_commands(name)


def _apply_baseline(report: CheckReport, baseline: str, root: Path) -> CheckReport:
    """Return the report without the findings of a baseline, which names files relative to the root."""
    full = {finding.place.file: finding.place.file for finding in report.findings}
    short = {name: Path(name).relative_to(root).as_posix() for name in full if Path(name).is_relative_to(root)}
    report = suppress.apply_baseline(_rename(report, short), Path(baseline))
    return _rename(report, {new: old for old, new in short.items()})


def _rename(report: CheckReport, names: Mapping[str, str]) -> CheckReport:
    """Return the report with other names for the files of its findings."""
    findings = [
        replace(finding, place=replace(finding.place, file=names.get(finding.place.file, finding.place.file)))
        for finding in report.findings
    ]
    return replace(report, findings=findings)
