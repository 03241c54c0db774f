"""Files with their headers, checked one by one or in several processes."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from lanescope.app.check import cache
from lanescope.app.check.config import MOST_JOBS, SECONDS
from lanescope.app.check.defines import find_target, make_choices
from lanescope.app.check.facts import CheckReport, SourceText
from lanescope.app.check.headers import HeaderFinder
from lanescope.app.check.includes import join_includes
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.running import (
    REPAIRING,
    UNREAD,
    SourceReport,
    check_source,
    describe_internal_error,
    make_failed_report,
)
from lanescope.cxx.code_strings import list_module_texts
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A joined source to check, the values of its open names, and its time limit."""

    source: SourceText
    choices: Mapping[str, str]
    seconds: float
    folder: Path | None  # of kept reports
    target: str = ""  # what ptxas compiles for, "" for any


@dataclass(slots=True)
class SourceSet:
    """The files of a check with their headers. texts: of every file that was read, by name."""

    jobs: list[CheckJob]
    texts: dict[str, str] = field(default_factory=dict)


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
    """Read files, each with the headers that it includes; raise LayoutError for one that cannot be read. target: of all
    files; "" for that of -D __CUDA_ARCH__, or of the command of each.
    """
    sources = [finder.read_file(path) for path in paths]
    source_set = SourceSet([], {source.name: source.text for source in sources})
    for source in chain.from_iterable(map(_list_modules, sources)):
        joined = _join_readable(source, sources, finder)
        source_set.texts = {piece.name: piece.file_text for piece in joined.pieces} | source_set.texts
        command = finder.find_of(source)
        file_target = target or find_target(defines) or command.target
        macros = {**dict(command.macros), **defines}
        macros = {name: value for name, value in macros.items() if not file_target or name != ARCHITECTURE}
        source_set.jobs.append(CheckJob(joined, make_choices(macros), seconds, folder, file_target))
    return source_set


def _list_modules(source: SourceText) -> list[SourceText]:
    """Return a source as compilers get it: each module of CUDA code that a Python file has in strings by itself."""
    texts = list_module_texts(source.text) if source.name.endswith(".py") and not source.unread else []
    return [replace(source, text=text) for text in texts] or [source]


def _join_readable(source: SourceText, sources: Sequence[SourceText], finder: HeaderFinder) -> SourceText:
    """Return a source with its includes; if joining fails, the source marked as unread."""
    if source.unread:
        return source
    try:
        return join_includes(source, sources, finder.make_finder(source))
    except Exception as error:  # an internal error; the other files are still checked
        why = f"The file is not checked: {describe_internal_error(error)}, please report it."
        return replace(source, unread=why)


def run_jobs(jobs: Sequence[CheckJob], processes: int = 1) -> Iterator[SourceReport]:
    """Yield the reports of the jobs in their order. processes: number of concurrent processes.

    If a process dies, because memory is exhausted or a call does not return, only its current file fails.
    """
    most = min(processes, len(jobs), MOST_JOBS)
    if most < 2:
        yield from map(run_job, jobs)
        return
    reports: dict[int, SourceReport] = {}
    while left := {n: job for n, job in enumerate(jobs) if n not in reports}:
        reports |= _run_in_pool(left, most)
        for n in [n for n in left if n not in reports][:most]:  # jobs begin in their order: these ran when one died
            alone = _run_in_pool({n: jobs[n]}, 1)
            reports[n] = alone.get(n) or make_failed_report(jobs[n].source, "its process ended")
    yield from (reports[n] for n in range(len(jobs)))


def _run_in_pool(jobs: Mapping[int, CheckJob], processes: int) -> dict[int, SourceReport]:
    """Run jobs in processes; return the reports that were finished before a process died."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    reports = {}
    pool = ProcessPoolExecutor(processes)
    try:
        for n, running in {n: pool.submit(_run_bounded, job) for n, job in jobs.items()}.items():
            with suppress(BrokenProcessPool):
                reports[n] = running.result()
    except BrokenProcessPool:  # before all jobs were taken
        return reports
    finally:
        pool.shutdown(cancel_futures=True)
    return reports


def _run_bounded(job: CheckJob) -> SourceReport:
    """Run a job in a process of a pool, which is killed if a call of C code exceeds twice the file's time limit."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(2 * job.seconds + 5, exit=True, file=nowhere)
        try:
            return run_job(job)
        finally:
            faulthandler.cancel_dump_traceback_later()


def run_job(job: CheckJob) -> SourceReport:
    """Return the report of a source, from the cache if possible. One for which time was short is not kept."""
    key = cache.make_key(job.source, job.choices, job.target) if job.folder is not None else ""
    kept = cache.load_report(job.folder, key) if job.folder is not None else None
    if kept is not None:
        return kept
    late = time.monotonic() + REPAIRING * job.seconds
    report = check_source(job.source, job.seconds, job.choices, job.target)
    if job.folder is not None and UNREAD not in report.source.gaps and time.monotonic() < late:
        cache.keep_report(job.folder, key, report)
    return report


def count_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
