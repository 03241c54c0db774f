"""Files with their headers, checked one by one or in several processes. No framework."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lanescope.app.check import cache
from lanescope.app.check.config import MOST_JOBS, SECONDS
from lanescope.app.check.defines import find_target, make_choices
from lanescope.app.check.facts import CheckReport, SourceText
from lanescope.app.check.headers import HeaderFinder
from lanescope.app.check.includes import join_includes
from lanescope.app.check.running import UNREAD, SourceReport, check_source, merge_reports
from lanescope.reader.code.predefined import ARCHITECTURE

if TYPE_CHECKING:
    from concurrent.futures import Future


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A joined source on its way to a report: what is given for its open values, and its time."""

    source: SourceText
    given: Mapping[str, str]
    seconds: float
    folder: Path | None  # of kept reports
    target: str = ""  # what ptxas compiles for, "" for any


@dataclass(slots=True)
class SourceSet:
    """The files of a check with their headers. texts: of every file that was read, by its name."""

    jobs: list[CheckJob]
    texts: dict[str, str] = field(default_factory=dict)


def check_sources(sources: Iterable[SourceText], seconds: float = SECONDS, target: str = "") -> CheckReport:
    """Check texts as they are. seconds: for each; target: what ptxas compiles for, "" for any."""
    return merge_reports(check_source(source, seconds, None, target) for source in sources)


def check_files(paths: Iterable[Path], seconds: float = SECONDS) -> CheckReport:
    """Check files with what they include; raise LayoutError for one that cannot be read. seconds: for each."""
    return merge_reports(run_jobs(join_sources(paths, HeaderFinder(), {}, seconds).jobs))


def join_sources(
    paths: Iterable[Path],
    finder: HeaderFinder,
    defines: Mapping[str, str],
    seconds: float,
    folder: Path | None = None,
    target: str = "",
) -> SourceSet:
    """Read files, each with the headers that it includes; raise LayoutError for one that cannot be read. target: what
    all are checked for; "" for what -D __CUDA_ARCH__, or the command of each, says.
    """
    sources = [finder.read_file(path) for path in paths]
    made = SourceSet([], {source.name: source.text for source in sources})
    for source in sources:
        joined = join_includes(source, sources, finder.make_finder(source)) if not source.unread else source
        made.texts.update({piece.name: piece.own for piece in joined.pieces})
        command = finder.find_of(source)
        own = target or find_target(defines) or command.target
        macros = {**dict(command.macros), **defines}
        macros = {name: value for name, value in macros.items() if not own or name != ARCHITECTURE}
        made.jobs.append(CheckJob(joined, make_choices(macros), seconds, folder, own))
    return made


def run_jobs(jobs: Sequence[CheckJob], processes: int = 1) -> Iterator[SourceReport]:
    """Yield the reports of the jobs in their order. processes: that check at the same time."""
    most = min(processes, len(jobs), MOST_JOBS)
    if most < 2:
        yield from map(run_job, jobs)
        return
    with _open_pool(jobs, most) as reports:
        for report in reports:
            yield report.result()


@contextmanager
def _open_pool(jobs: Sequence[CheckJob], processes: int) -> Iterator[list[Future[SourceReport]]]:
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(processes)
    try:
        yield [pool.submit(run_job, job) for job in jobs]
    finally:
        pool.shutdown(cancel_futures=True)


def run_job(job: CheckJob) -> SourceReport:
    """Return the report of a source, kept or new."""
    key = cache.make_key(job.source, job.given, job.target) if job.folder is not None else ""
    kept = cache.load_report(job.folder, key) if job.folder is not None else None
    if kept is not None:
        return kept
    report = check_source(job.source, job.seconds, job.given, job.target)
    if job.folder is not None and UNREAD not in report.source.gaps:
        cache.keep_report(job.folder, key, report)
    return report


def count_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
