"""The verb check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from lanescope.app.check.facts import CheckReport, SourceSpan

app = typer.Typer(rich_markup_mode=None)


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(help="Source files (.cu, .cuh, .h, .cpp, .py …), or folders of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    as_sarif: Annotated[bool, typer.Option("--sarif", help="Print it as SARIF 2.1.0.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, max=86400, help="That one file may take.")] = 60.0,
) -> None:
    """Matrix descriptors and tensor maps in source files: what is wrong, and where. Exit status 1 where anything is.
    What a file leaves open is said and counted, not guessed.
    """
    from lanescope.app.check import facts, sarif
    from lanescope.app.kit.encoding import encode_json
    from lanescope.errors import LayoutError

    if as_json and as_sarif:
        raise LayoutError("bad_usage", "--json and --sarif are two forms.", "Give one of the two.", "sarif")
    report = facts.check_files(_track_progress(list(facts.find_sources(files))), seconds)
    if as_sarif:
        print(json.dumps(sarif.build_log(report), indent=1))
    elif as_json:
        print(encode_json(report).decode())
    else:
        _print_report(report)
    if report.findings:
        raise typer.Exit(1)


def _track_progress(paths: list[Path]) -> Iterable[Path]:
    """Return the paths; for several, a terminal shows the progress and the time left."""
    if len(paths) < 2 or not sys.stderr.isatty():
        return paths
    from rich.console import Console
    from rich.progress import track

    return track(paths, "Checking files", console=Console(stderr=True), transient=True)


def _print_report(report: CheckReport) -> None:
    for finding in report.findings:
        print(f"{_format_place(finding.place)}: {finding.level}: {finding.message} [{finding.code}]")
        if finding.fix:
            print(f"    the right word: {finding.fix}")
        for edit in finding.edits:
            print(f"    repair: {_format_place(edit.place)}: write {edit.text}")
    for doubt in report.doubts:
        print(f"{_format_place(doubt.place)}: note: {doubt.message} [{doubt.code}]")
    for question in report.open:
        print(f"{_format_place(question.place)}: note: {question.message}")
    counts = f"{_format_count(report.descriptors, 'descriptor')}, {_format_count(report.tensor_maps, 'tensor map')}"
    verified = f"{_format_count(report.verified, 'read')} verified"
    for reason, count in report.unverified.items():
        print(f"{_format_count(count, 'read')} not verified: {reason}")
    print(
        f"{_format_count(report.files, 'file')}: {counts}, {verified};"
        f" {_format_count(len(report.findings), 'finding')}, {len(report.open)} undecided"
    )


def _format_place(place: SourceSpan) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
