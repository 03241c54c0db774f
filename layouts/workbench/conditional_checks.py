"""Check a text whose #if directives test undefined macros, as nvcc compiles it: without them.

Reads verified there are reported as verified "with DEBUG undefined". A mistake is a finding only if every variant has
it: the variant with the macro defined is checked as well, with several macros all variants together. The same holds for
code that is compiled only if a macro is defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from lanescope.deadline import is_late
from lanescope.inputs import join_words
from lanescope.reader.code.predefined import NOT_DEFINED
from lanescope.reader.code.undecided_macros import VariantSources, list_undecided_macros, parse_variants
from lanescope.workbench import thread_order
from lanescope.workbench.check_report import CheckFinding, CheckReport, OpenPoint
from lanescope.workbench.contents import parse_headers
from lanescope.workbench.gaps import CheckedDescriptor
from lanescope.workbench.results import Span

_MACRO = "macro."
_TELLING = re.compile(r"mma|desc|cuTensorMap|ldmatrix|cp\.async|CUtensorMap|tcgen05|__shared__", re.I)
Check = Callable[[Mapping[str, str]], CheckReport]


def check_conditions(text: str, choices: Mapping[str, str], check: Check) -> CheckReport:
    """Check a text with its undecided macros undefined, and in its other variants as far as a result needs them."""
    macros = {key.removeprefix(_MACRO): value for key, value in choices.items() if key.startswith(_MACRO)}
    undecided = list_undecided_macros(text, macros)
    if not undecided:
        return check(choices)
    sources = parse_variants(text, macros, undecided)
    elsewhere = any(map(sources.needs_macros, _list_telling_places(text, choices)))
    merged = check(choices) if elsewhere else None
    plain = check(_define(choices, dict.fromkeys(undecided, NOT_DEFINED)))
    if merged is not None:
        other, certain = merged, _confirm_merged(sources, choices, undecided, merged, plain, check)
    elif plain.findings:
        other, certain = _confirm_plain(choices, undecided, plain, check)
    else:
        return _note_condition(text, plain, undecided)
    best = _choose_report(plain, other, undecided)
    report = replace(best, findings=tuple(certain))
    if best is plain:
        report = _note_condition(text, report, undecided)
    return _open_findings(report, _list_others(plain.findings, certain), tuple(undecided))


def _confirm_plain(
    choices: Mapping[str, str], undecided: Mapping[str, bool], plain: CheckReport, check: Check
) -> tuple[CheckReport, list[CheckFinding]]:
    """Return (the report of the other variants, the findings of the plain variant that they have as well)."""
    if is_late():  # a mistake that is not confirmed in time is a note
        return plain, []
    if len(undecided) == 1 and all(undecided.values()):
        return plain, _list_common(plain.findings, check(_define(choices, dict.fromkeys(undecided, "1"))).findings)
    other = check(choices)
    return other, _list_common(plain.findings, other.findings)


def _confirm_merged(
    sources: VariantSources,
    choices: Mapping[str, str],
    undecided: Iterable[str],
    merged: CheckReport,
    plain: CheckReport,
    check: Check,
) -> list[CheckFinding]:
    """List the findings of all variants together that the plain variant has as well, or whose code it lacks."""
    certain = _list_common(merged.findings, plain.findings)
    certain += [
        finding
        for finding in _list_others(merged.findings, certain)
        if any(sources.needs_macros(span[0]) for span in _list_places(finding))
    ]
    unconfirmed = _list_others(plain.findings, certain)
    if unconfirmed and not is_late():  # the order of instructions is checked within one variant only
        certain += _list_common(unconfirmed, check(_define(choices, dict.fromkeys(undecided, "1"))).findings)
    return certain


def _open_findings(report: CheckReport, rest: Sequence[CheckFinding], names: tuple[str, ...]) -> CheckReport:
    """Add unconfirmed findings to a report as open points, and clear the verdicts of their descriptors."""
    head = f"With {join_words(list(names))} undefined"
    points = [OpenPoint(f"{head}: {finding.message}", finding.span, names) for finding in rest]
    places = [span for finding in rest if finding.reads for span in _list_places(finding)]
    gap = f"depends on {', '.join(names)}"
    checked = tuple(_open_descriptor(descriptor, places, gap) for descriptor in report.checked)
    return replace(report, open=(*report.open, *points), checked=checked)


def _list_places(finding: CheckFinding) -> list[Span]:
    """List the spans of a mistake and of the wrong reads that follow from it."""
    return [finding.span, *(read.span for read in finding.follows)]


def _list_common(findings: Iterable[CheckFinding], others: Iterable[CheckFinding]) -> list[CheckFinding]:
    """List the findings that are also among others, by code and place; of the order of threads only the first mistake
    of a kernel is known, which may be another one.
    """
    known: set[object] = {(finding.code, finding.span) for finding in others}
    ordered = any(finding.code in thread_order.TITLES for finding in others)
    return [f for f in findings if (f.code, f.span) in known or (ordered and f.code in thread_order.TITLES)]


def _list_others(findings: Iterable[CheckFinding], known: Iterable[CheckFinding]) -> list[CheckFinding]:
    """List the findings that are not among the known ones, by code and place."""
    keys = {(finding.code, finding.span) for finding in known}
    return [finding for finding in findings if (finding.code, finding.span) not in keys]


def _choose_report(plain: CheckReport, other: CheckReport, undecided: Iterable[str]) -> CheckReport:
    """Return the report that verifies more; if equal, that of all variants where it does not depend on the macros."""
    if plain.steps == other.steps and _count_open(plain) == _count_open(other):
        return plain if _depends_on(other, undecided) else other
    return plain if plain.steps >= other.steps and _count_open(plain) <= _count_open(other) else other


def _list_telling_places(text: str, choices: Mapping[str, str]) -> list[int]:
    """Return the places of words that a check looks for, without those in headers."""
    headers = parse_headers(choices)
    places = (match.start() for match in _TELLING.finditer(text))
    return [at for at in places if not any(first <= at < past for first, past in headers)]


def _define(choices: Mapping[str, str], macros: Mapping[str, str]) -> dict[str, str]:
    return {**choices, **{_MACRO + name: value for name, value in macros.items()}}


def _depends_on(report: CheckReport, names: Iterable[str]) -> bool:
    """Return whether a descriptor or a kernel has no verdict because one of these macros is undefined."""
    gaps = (*(item.gap for item in report.checked), *(item.gap for item in report.kernels))
    words = {word for gap in gaps for word in re.findall(r"[A-Za-z_]\w*", gap)}
    return not words.isdisjoint(names) or any("#if" in kernel.gap for kernel in report.kernels)


def _count_open(report: CheckReport) -> int:
    return sum(bool(descriptor.gap) for descriptor in report.checked) + len(report.unverified)


def _open_descriptor(descriptor: CheckedDescriptor, places: Collection[Span], gap: str) -> CheckedDescriptor:
    """Clear the verdict of a descriptor that contains one of these places."""
    within = any(span[0] < place[1] and place[0] < span[1] for span in descriptor.spans for place in places)
    return replace(descriptor, gap=descriptor.gap or gap) if within else descriptor


def _note_condition(text: str, report: CheckReport, undecided: Mapping[str, bool]) -> CheckReport:
    """Add the note that reads are verified with the macros undefined."""
    if not report.steps:
        return report
    names = tuple(undecided)
    match = re.search(rf"^[ \t]*#[ \t]*(?:el)?if[^\n]*\b{names[0]}\b", text, re.M)
    span = match.span() if match is not None else (0, 0)
    options = " ".join(f"-D {name}" for name in names[:2])
    message = (
        f"Verified as nvcc compiles the text, with {join_words(list(names))} undefined; {options} checks it otherwise."
    )
    return replace(report, open=(*report.open, OpenPoint(message, span, names)))
