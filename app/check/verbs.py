"""The command check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.check.config import LEAST_SECONDS, MOST_JOBS, MOST_SECONDS, SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanescope.app.check.checking import CheckJob
    from lanescope.app.check.config import CheckSettings
    from lanescope.app.check.facts import CheckReport
    from lanescope.app.check.fixing import CheckedTexts, FileChange
    from lanescope.app.check.running import SourceReport

app = typer.Typer(rich_markup_mode=None)
Words = list[str] | None


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(help="Source files (.cu, .cuh, .h, .cpp, .py …), or folders.")],
    *,
    include: Annotated[Words, typer.Option("--include", "-I", help="A folder of headers.")] = None,
    define: Annotated[
        Words, typer.Option("--define", "-D", help="NAME=VALUE for an open name of a file, as in the notes.")
    ] = None,
    compile_commands: Annotated[
        str, typer.Option("--compile-commands", "-p", help="A compile_commands.json, or its folder.")
    ] = "",
    target: Annotated[
        str | None,
        typer.Option(help="Target, such as sm_90a; by default that of the compile command.", show_default="any"),
    ] = None,
    select: Annotated[Words, typer.Option(help="Codes to report, as messages end in them, and no others.")] = None,
    ignore: Annotated[Words, typer.Option(help="Codes not to report.")] = None,
    exclude: Annotated[Words, typer.Option(help="Paths not to check: a name, a folder, a pattern.")] = None,
    baseline: Annotated[str, typer.Option(help="A file with findings that are known and not reported.")] = "",
    write_baseline: Annotated[str, typer.Option(help="Write all findings into a baseline.")] = "",
    fail_on: Annotated[
        str | None, typer.Option(help="What exit status 1 means: error, warning or unverified.", show_default="error")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Findings and the last lines, no notes.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="What was verified in each folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print it as SARIF 2.1.0.")] = False,
    seconds: Annotated[
        float | None,
        typer.Option(min=LEAST_SECONDS, max=MOST_SECONDS, help="That one file may take.", show_default=f"{SECONDS:g}"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Files checked at once.", show_default="processors"),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Write the repairs of findings into the files.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what --fix would change as a unified diff, and write nothing.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no reports, and use none.")] = False,
) -> None:
    """Check kernels in source files, without compiling them: descriptors, tensor maps, mbarriers, order, the tiles that
    threads fill, and whether D is A·B. Exit status 1 if an error is found, or as --fail-on selects. Values that a file
    leaves open are reported and counted, not guessed. Settings can be in lanescope.toml, or in pyproject.toml under
    [tool.lanescope].
    """
    from dataclasses import replace
    from pathlib import Path

    from lanescope.app.check import printing, suppress
    from lanescope.app.check.config import LEVELS, find_settings
    from lanescope.inputs import format_count, parse_choice
    from lanescope.ptx.targets import TARGETS

    _refuse_both(fix and diff, "--fix writes what --diff prints.", "diff")
    _refuse_both(as_json and as_sarif, "--json and --sarif are two forms.", "sarif")
    settings = find_settings(Path.cwd()).override(
        include=include,
        define=define,
        compile_commands=compile_commands or None,
        target=parse_choice(target, "--target", TARGETS, "unknown_target") if target else None,
        select=select,
        ignore=ignore,
        exclude=exclude,
        baseline=baseline or None,
        fail_on=parse_choice(fail_on, "--fail-on", LEVELS) if fail_on else None,
        seconds=seconds,
        jobs=jobs,
    )
    if write_baseline:
        settings = replace(settings, baseline="")
    checked = _check(files, settings, not no_cache)
    if diff or fix:
        changes, checked = _fix(checked, files, settings, not no_cache, write=not diff)
        if diff:
            _print_diff(changes)
            raise typer.Exit(1 if changes else 0)
    report = checked.report
    if write_baseline:
        count = suppress.write_baseline(report, Path(write_baseline))
        print(f"{write_baseline}: {format_count(count, 'finding')} written")
        return
    if as_sarif:
        _print_sarif(report, settings.site)
    else:
        _print_report(report, files, as_json, quiet, stats)
    if printing.fails(report, settings.fail_on):
        raise typer.Exit(1)


def _print_sarif(report: CheckReport, site: str) -> None:
    from lanescope.app.check import sarif

    print(json.dumps(sarif.build_log(report, site), indent=1))


def _print_report(report: CheckReport, files: Sequence[str], as_json: bool, quiet: bool, stats: bool) -> None:
    from lanescope.app.check import printing
    from lanescope.app.kit.encoding import encode_json

    if as_json:
        print(encode_json(report).decode())
    else:
        printing.print_report(report, quiet, stats, files)


def _refuse_both(both: bool, why: str, field: str) -> None:
    from lanescope.errors import LayoutError

    if both:
        raise LayoutError("bad_usage", why, "Give one of the two.", field)


def _print_diff(changes: Sequence[FileChange]) -> None:
    from lanescope.app.check import fixing

    for line in fixing.list_diff(changes):
        print(line)


def _fix(
    checked: CheckedTexts, files: Sequence[str], settings: CheckSettings, cached: bool, *, write: bool
) -> tuple[Sequence[FileChange], CheckedTexts]:
    """Repair the findings and return the changes with the report after them; write: whether files are written."""
    from lanescope.app.check import fixing

    fixed = fixing.fix_findings(checked, lambda changed: _check(files, settings, cached, changed))
    if write:
        fixing.write_changes(fixed.changes)
        for change in fixed.changes:
            print(f"{change.name}: repaired", file=sys.stderr)
    return fixed.changes, fixing.CheckedTexts(fixed.report, {})


def _check(
    files: Sequence[str], settings: CheckSettings, cached: bool, changed: Mapping[str, str] | None = None
) -> CheckedTexts:
    """Return the report of files and folders without the findings that comments and settings accept; changed: texts
    that replace files.
    """
    import gc
    from dataclasses import replace
    from pathlib import Path

    gc.set_threshold(100_000, 20, 50)  # evaluating makes millions of values, and few cycles: a seventh of the time
    from lanescope.app.check import checking, suppress
    from lanescope.app.check.cache import find_cache_folder
    from lanescope.app.check.defines import list_unused, parse_defines
    from lanescope.app.check.facts import find_sources
    from lanescope.app.check.fixing import CheckedTexts
    from lanescope.app.check.headers import HeaderFinder, parse_folders, read_commands
    from lanescope.app.check.merging import merge_reports

    select = suppress.parse_codes(settings.select, "select")
    ignore = suppress.parse_codes(settings.ignore, "ignore")
    commands = read_commands(settings.compile_commands) if settings.compile_commands else {}
    defines = parse_defines(settings.define)
    sources = checking.join_sources(
        list(find_sources(files, settings.exclude)),
        HeaderFinder(parse_folders(settings.include), commands, changed or {}),
        defines,
        settings.seconds,
        find_cache_folder() if cached else None,
        settings.target,
    )
    reports = _track_progress(
        sources.jobs, checking.run_jobs(sources.jobs, settings.jobs or checking.count_processors())
    )
    report = replace(merge_reports(reports), unused=list(list_unused(defines, sources.texts.values())))
    report = suppress.apply_comments(report, sources.texts)
    report = suppress.select_codes(report, select, ignore)
    if settings.baseline:
        report = suppress.apply_baseline(report, Path(settings.baseline))
    return CheckedTexts(report, sources.texts)


def _track_progress(jobs: Sequence[CheckJob], reports: Iterable[SourceReport]) -> Iterable[SourceReport]:
    """Return the reports; for several files, a terminal shows the progress and the remaining time."""
    if len(jobs) < 2 or not sys.stderr.isatty():
        return reports
    from rich.console import Console
    from rich.progress import track

    return track(reports, "Checking files", total=len(jobs), console=Console(stderr=True), transient=True)
