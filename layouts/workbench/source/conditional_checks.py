"""Check a text whose #if directives test undefined macros, as nvcc compiles it: without them.

Reads verified there are reported as verified "with DEBUG undefined", and a mistake there is a finding. If a file that
is not found, or the compiler, may define a macro, a mistake is a finding only if the variant with it has it as well.
A mistake that only another variant has is an open point with the definition that compiles it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanescope.deadline import OverdueError, check_deadline, end_when, is_late
from lanescope.inputs import join_words
from lanescope.reader.code.preprocessing.predefined import NOT_DEFINED
from lanescope.reader.code.preprocessing.uncompiled import blank_uncompiled_code
from lanescope.reader.code.preprocessing.undecided_macros import (
    VariantSources,
    list_default_macros,
    list_definitions,
    list_undecided_macros,
    parse_variants,
)
from lanescope.workbench.check_report import CheckReport, OpenPoint
from lanescope.workbench.cute.cute_names import UNKNOWN_NAME
from lanescope.workbench.fragments import thread_order
from lanescope.workbench.fragments.thread_gaps import NOT_COMPILED, list_kernels_by_text
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.source.gaps import CheckedDescriptor
from lanescope.workbench.source.missing_includes import describe_definer, find_possible_definers
from lanescope.workbench.text.contents import list_given_macros, parse_headers

_MACRO = "macro."
_TELLING = re.compile(r"mma|desc|cuTensorMap|ldmatrix|cp\.async|CUtensorMap|tcgen05|__shared__", re.I)
_LITERAL = frozenset(("ptxas_refuses", UNKNOWN_NAME))  # mistakes that follow from the words at their place
Check = Callable[[Mapping[str, str]], CheckReport]
_Variants = list[tuple[Mapping[str, str], CheckReport]]  # definitions of macros, with the report


@dataclass(frozen=True, slots=True)
class _ConditionalText:
    """A text with undecided macros. nested: macros that only code behind undecided ones tests; definers: what may
    define an undecided macro after all.
    """

    choices: Mapping[str, str]
    check: Check
    undecided: Mapping[str, bool]
    nested: Collection[str]
    sources: VariantSources
    definers: Mapping[str, str]

    def check_with(self, defined: Mapping[str, str]) -> CheckReport:
        """Check the text with these macros, and the other undecided ones undefined."""
        return self.check(
            _define(self.choices, {**dict.fromkeys((*self.undecided, *self.nested), NOT_DEFINED), **defined})
        )


def check_conditions(text: str, choices: Mapping[str, str], check: Check) -> CheckReport:
    """Check a text with its undecided macros undefined, and in its other variants as far as time allows."""
    macros = list_given_macros(choices)
    undecided = list_undecided_macros(text, macros)
    defaults = list_default_macros(text, macros)
    if not (undecided or defaults):
        return check(choices)
    sources = parse_variants(text, macros, undecided)
    if sources.refused:  # nvcc compiles nothing without the macros
        return check(choices)
    default = blank_uncompiled_code(text, {**macros, **dict.fromkeys(undecided, NOT_DEFINED)})
    definers = find_possible_definers(default, undecided)
    nested = list_undecided_macros(text, {**macros, **dict.fromkeys(undecided, "1")}).keys() if undecided else ()
    source = _ConditionalText(
        choices,
        check,
        undecided=undecided,
        nested=nested,
        sources=sources,
        definers=definers,
    )
    plain = source.check_with({})
    elsewhere = any(map(sources.needs_macros, _list_telling_places(text, choices)))
    merged = check(choices) if elsewhere else None
    definitions = list_definitions(text, macros, [*undecided, *nested], defaults, parse_headers(choices))
    variants, complete = _check_variants(source, definitions)
    certain = _list_certain(source, plain, variants, complete)
    best = plain if merged is None else _choose_report(plain, merged, undecided)
    report = replace(best, findings=tuple(certain))
    if best is plain and undecided:
        report = _note_condition(text, report, undecided)
    report = _open_findings(report, _list_others(plain.findings, certain), source)
    report = _note_variants(report, plain, merged, variants, source)
    return report if _has_contents(report) else _add_left_kernels(report, text, source)


def _has_contents(report: CheckReport) -> bool:
    return bool(report.kernels or report.checked or report.multiplier or report.steps)


def _add_left_kernels(report: CheckReport, text: str, source: _ConditionalText) -> CheckReport:
    """Add the kernels with mma that are code only where an undecided macro is defined, to a report without any."""
    left = [one for one in list_kernels_by_text(text) if source.sources.needs_macros(one.span[0])]
    needs = [_find_needed(text, source, one.span[0]) for one in left]
    kernels = tuple(
        replace(one, gap=f"{NOT_COMPILED} {join_words([f'-D {name}' for name in names])}", needs=names)
        for one, names in zip(left, needs, strict=True)
    )
    points = tuple(OpenPoint(one.message, one.place, one.needs) for one in kernels)
    return replace(report, kernels=kernels, open=(*report.open, *points))


def _find_needed(text: str, source: _ConditionalText, place: int) -> tuple[str, ...]:
    """Return the first undecided macro that alone makes a place code; all of them if none does."""
    undefined = {**list_given_macros(source.choices), **dict.fromkeys(source.undecided, NOT_DEFINED)}
    for name in source.undecided:
        rest = {other: value for other, value in undefined.items() if other != name}
        if parse_variants(text, rest, (name,)).needs_macros(place):
            return (name,)
    return tuple(source.undecided)


def _check_variants(source: _ConditionalText, definitions: Iterable[Mapping[str, str]]) -> tuple[_Variants, bool]:
    """Check variants as long as it is not late; also return whether all are checked."""
    variants: _Variants = []
    try:
        for defined in definitions:
            if is_late():
                return variants, False
            with end_when(is_late):
                variants.append((defined, source.check_with(defined)))
    except OverdueError:
        check_deadline()  # of the caller
        return variants, False
    return variants, True


def _list_certain(
    source: _ConditionalText, plain: CheckReport, variants: _Variants, complete: bool
) -> Sequence[CheckFinding]:
    """List the findings of the default that no macro removes which something unknown may define."""
    if not source.definers or not plain.findings:
        return plain.findings
    if not complete or is_late():
        return [one for one in plain.findings if one.code in _LITERAL and source.sources.has_everywhere(one.span[0])]
    doubted = [report for defined, report in variants if source.definers.keys() & defined.keys()]
    certain: Sequence[CheckFinding] = plain.findings
    for report in doubted or [source.check_with(dict.fromkeys(source.definers, "1"))]:
        certain = _list_common(certain, report.findings)
    return certain


def _open_findings(report: CheckReport, rest: Sequence[CheckFinding], source: _ConditionalText) -> CheckReport:
    """Add unconfirmed findings to a report as open points, and clear the verdicts of their descriptors."""
    names = tuple(source.definers)
    head = f"With {join_words(list(names))} undefined"
    why = describe_definer(next(iter(source.definers.values()), ""), join_words(list(names)))
    points = [OpenPoint(f"{head}: {finding.message} {why}", finding.span, names) for finding in rest]
    places = [span for finding in rest if finding.reads for span in _list_places(finding)]
    gap = f"depends on {', '.join(names)}"
    checked = tuple(_open_descriptor(descriptor, places, gap) for descriptor in report.checked)
    return replace(report, open=(*report.open, *points), checked=checked)


def _note_variants(
    report: CheckReport, plain: CheckReport, merged: CheckReport | None, variants: _Variants, source: _ConditionalText
) -> CheckReport:
    """Add the mistakes that only other variants have as open points, with the definitions that compile them."""
    known = [*plain.findings]
    points = []
    for defined, variant in variants:
        options = join_words(
            [f"-D {name}" if value == "1" else f"-D {name}={value}" for name, value in defined.items()]
        )
        others = _list_others(variant.findings, known)
        points += [OpenPoint(f"With {options}: {finding.message}", finding.span, tuple(defined)) for finding in others]
        known += others
    names = tuple(source.undecided)
    for finding in _list_others(merged.findings if merged else (), known):
        if any(source.sources.needs_macros(span[0]) for span in _list_places(finding)):
            head = f"Where {join_words(list(names))} {'are' if len(names) > 1 else 'is'} defined"
            points.append(OpenPoint(f"{head}: {finding.message}", finding.span, names))
    return replace(report, open=(*report.open, *points))


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
