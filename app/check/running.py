"""One source checked, and the descriptions of what has no verdict."""

from __future__ import annotations

import re
import shlex
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lanescope.app.check.config import SECONDS
from lanescope.app.check.defines import GIVEN
from lanescope.app.check.facts import (
    CheckedSource,
    CheckFinding,
    FollowingRead,
    OpenQuestion,
    SourceEdit,
    SourceSpan,
    SourceText,
)
from lanescope.app.check.includes import write_kernels
from lanescope.app.kit.fact import copy_fact
from lanescope.app.kit.job import run_within
from lanescope.cxx.source_text import strip_comments
from lanescope.deadline import omit_when
from lanescope.errors import LayoutError
from lanescope.inputs import capitalize_sentence, format_count, shorten_value
from lanescope.workbench import check as engine, check_report, results
from lanescope.workbench.finding_codes import get_finding_title
from lanescope.workbench.fragments.thread_gaps import BLOCK_NAME, LOADING, NO_THREADS, PITCH_OPEN
from lanescope.workbench.source.condition_balance import UNBALANCED, find_unbalanced_conditions
from lanescope.workbench.source.gaps import KITTENS, TILED_MMA, UNSAID
from lanescope.workbench.source.open_names import can_be_given

_DEPENDS = "depends on "  # before the names of a gap
_MOST_NAMES = 6  # of one list that is printed
_LINES_WITHOUT_CODE = re.compile(r"^[ \t]*#[ \t]*(?:include|define|pragma)\b(?:\\\n|.)*", re.M)
REPAIRING = 0.4  # part of a file's time after which no repairs are tried: whether a read is wrong comes first
_PRINTED = (".txt", ".py", ".pyi")  # files whose lines with # may be no directives
_OF_KERNEL = (PITCH_OPEN, *LOADING)  # starts of gaps that no header closes
UNREAD = "unread"  # why nothing of a file was verified: it was not read
TOO_LONG = "The file is read without its includes: with them the text is too long."


class TooSlowError(Exception):
    """Raised when a file exceeds its time. place: the position reached, None if unknown."""

    def __init__(self, place: int | None) -> None:
        super().__init__()
        self.place = place


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The results of one source.

    descriptors: the place of each, and why it has no verdict, "" if it has one; touched: lines of other files that
    build them; unverified: (reason, number of reads, place of the first); kernels: the place of each with mma or
    ldmatrix, and why its fragments have no verdict.
    """

    source: CheckedSource
    findings: tuple[CheckFinding, ...] = ()
    open: tuple[OpenQuestion, ...] = ()
    doubts: tuple[CheckFinding, ...] = ()
    unverified: tuple[tuple[str, int, SourceSpan], ...] = ()
    descriptors: tuple[tuple[SourceSpan, str], ...] = ()
    touched: tuple[tuple[str, int], ...] = ()
    kernels: tuple[tuple[SourceSpan, str], ...] = ()


def check_source(
    source: SourceText, seconds: float, choices: Mapping[str, str] | None = None, target: str = ""
) -> SourceReport:
    """Check one text. seconds: time limit; choices: values of its open names, by the keys of `Workbench.assumed`;
    target: of ptxas, "" for any.
    """
    if source.unread:
        return _make_unread(source, source.unread, 0)
    lines = source.text.count("\n") + 1
    source = write_kernels(source)
    try:
        headers = [(piece.start, piece.end) for piece in source.pieces if piece.name != source.name]
        headers = headers if _has_own_code(source) else []
        late = time.monotonic() + REPAIRING * seconds
        with omit_when(lambda: time.monotonic() > late):
            result = run_within(
                seconds, lambda: engine.check_text(source.text, choices, headers, target, True), TooSlowError
            )
        report = _build_report(source, result, target, lines)
        if not result.unsearched:
            return report
        span = result.findings[0].span if result.findings else result.open[0].span
        command = _write_command(source.name, seconds, choices or {}, target)
        why = f"The search for an edit that fixes this stopped after {REPAIRING * seconds:.3g} s. Try `{command}`."
        return replace(report, open=(*report.open, OpenQuestion(message=why, place=source.locate(span), needs=[])))
    except TooSlowError as error:
        at = error.place or 0
        line = source.locate((at, at)).line if at else 1  # of its own file: the text has the includes, too
        command = _write_command(source.name, seconds, choices or {}, target)
        why = f"The file is not checked: {seconds:g} s did not suffice to read beyond line {line}. Try `{command}`."
        return _make_unread(source, why, at)
    except LayoutError as error:
        return _make_unread(source, f"The file is not checked. {error}", None)
    except Exception as error:  # an internal error ends only the check of this file
        return make_failed_report(source, describe_internal_error(error))


def _has_own_code(source: SourceText) -> bool:
    """Return whether a file has code, or conditions: of one that only includes others, these are checked."""
    pieces = [source.text[piece.start : piece.end] for piece in source.pieces if piece.name == source.name]
    own = "".join(pieces) if source.pieces else source.text
    return _LINES_WITHOUT_CODE.sub("", strip_comments(own)).strip() != ""


def _write_command(name: str, seconds: float, choices: Mapping[str, str], target: str) -> str:
    """Return the command that checks a file with more time than these seconds."""
    values = (f"{key.removeprefix(GIVEN)}={value}" for key, value in choices.items() if key.startswith(GIVEN))
    given = [f"-D {shlex.quote(value)}" for value in values]
    options = [f"--target {target}"] * bool(target) + given
    options += [f"--seconds {10 * seconds:g}"] * (seconds >= SECONDS)
    return " ".join(["lanescope check", *options, shlex.quote(name)])


def make_failed_report(source: SourceText, why: str) -> SourceReport:
    """Return the report of a file whose check failed with an internal error."""
    return _make_unread(source, f"The file is not checked: {why}, please report it.", None)


def describe_internal_error(error: Exception) -> str:
    """Describe an exception and the line that raised it: "internal error KeyError 'x' (uses.py:41)"."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"internal error {type(error).__name__} {shorten_value(str(error), 100)}".rstrip() + where


def _build_report(source: SourceText, result: check_report.CheckReport, target: str, lines: int) -> SourceReport:
    """Build the report of one text, with places in the files that it was joined from. lines: of the file itself."""
    spans = [source.locate(span) for descriptor in result.checked for span in descriptor.spans]
    kernels = tuple((source.locate(kernel.span), kernel.gap) for kernel in result.kernels)
    touched = dict.fromkeys((place.file, place.line) for place in spans if place.file != source.name)
    return SourceReport(
        CheckedSource(
            file=source.name,
            lines=lines,
            included=list(dict.fromkeys(piece.name for piece in source.pieces if piece.name != source.name)),
            unfound=list(source.unfound),
            descriptors=result.descriptors,
            tensor_maps=result.maps,
            verified=result.steps,
            gaps=dict(Counter(descriptor.gap for descriptor in result.checked if descriptor.gap)),
            multiplier=result.multiplier,
            target=target,
            placed=result.placed,
            kernels=len(kernels),
            kernel_gaps=dict(Counter(gap for _, gap in kernels if gap)),
        ),
        (
            *_find_unbalanced_files(source),
            *(_build_finding(source, finding) for finding in result.findings if not _is_repeated(source, finding)),
        ),
        tuple(_list_open(source, result)),
        tuple(_build_finding(source, doubt) for doubt in result.doubts),
        tuple((item.reason, item.count, source.locate(item.span)) for item in result.unverified),
        tuple((source.locate(descriptor.spans[0]), descriptor.gap) for descriptor in result.checked),
        tuple(touched),
        kernels,
    )


def _list_open(source: SourceText, result: check_report.CheckReport) -> Iterator[OpenQuestion]:
    """Yield what is open in a text."""
    for item in result.open:
        yield OpenQuestion(
            message=item.message,
            place=source.locate(item.span),
            needs=list(item.needs),
            result=f"{item.result} of {item.kernel}" if item.of_result else "",
            operand=item.operand,
            reader=item.reader,
            reason=item.reason if item.operand else "",
        )
    if source.too_long:
        yield OpenQuestion(message=TOO_LONG, place=source.locate((0, 0)), needs=[])


def _is_repeated(source: SourceText, finding: results.CheckFinding) -> bool:
    """Return whether a finding is that of each file by itself, or is none in printed code."""
    return finding.code == UNBALANCED and bool(source.pieces or source.name.endswith(_PRINTED))


def _make_unread(source: SourceText, why: str, at: int | None) -> SourceReport:
    place = source.locate((at, at)) if at else SourceSpan(file=source.name, line=1, column=1, end_line=1, end_column=1)
    checked = CheckedSource(
        file=source.name,
        lines=source.text.count("\n") + 1,
        included=[],
        unfound=[],
        descriptors=0,
        tensor_maps=0,
        verified=0,
        gaps={UNREAD: 1},
        multiplier="",
        target="",
        placed=0,
        kernels=0,
        kernel_gaps={},
    )
    return SourceReport(checked, (), (OpenQuestion(message=why, place=place, needs=[]),))


def _find_unbalanced_files(source: SourceText) -> Iterator[CheckFinding]:
    """Yield the unbalanced conditions of each file that a joined text is made of."""
    for name, text in {piece.name: piece.file_text for piece in source.pieces}.items():
        for pitfall in find_unbalanced_conditions(text) if not name.endswith(_PRINTED) else ():
            finding = results.CheckFinding(pitfall.code, pitfall.message, pitfall.span)
            yield _build_finding(SourceText(name, text), finding)


def _build_finding(source: SourceText, finding: results.CheckFinding) -> CheckFinding:
    edits = finding.edits if all(source.has_alone(edit.span) for edit in finding.edits) else ()
    return copy_fact(
        CheckFinding,
        finding,
        title=get_finding_title(finding.code),
        place=source.locate(finding.span),
        fix=finding.fix or None,
        assumed=dict(finding.assumed),
        edits=[SourceEdit(place=source.locate(edit.span), text=edit.text) for edit in edits],
        follows=[FollowingRead(message=read.message, place=source.locate(read.span)) for read in finding.follows],
    )


def describe_unverified(reason: str, count: int) -> str:
    """Return how many reads are not verified, and why."""
    return f"{format_count(count, 'read')} not verified: {reason}"


def describe_unused(name: str) -> str:
    """Return a sentence that a value of -D changes nothing."""
    return f"-D {name} changes nothing: no file leaves {name} open."


def describe_gap(gap: str, count: int) -> str:
    """Return how many descriptors have no verdict for a reason: "3 depend on BN"."""
    if gap.startswith(_DEPENDS):
        return f"{count:,} depend{'s' * (count == 1)} on {shorten_list(gap.removeprefix(_DEPENDS).split(', '))}"
    return f"{count:,} {gap if gap != UNSAID else 'with open reads'}"


def shorten_list(names: Sequence[str]) -> str:
    """Join names by commas; of many, the first and the number of the others (--json has all).

    >>> shorten_list("ABCDEFGH")
    'A, B, C, D, E, F and 2 more'
    """
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def describe_kernel_gaps(kernels: int, gaps: Mapping[str, int]) -> str:
    """Return how many kernels with mma or ldmatrix have fragments without a verdict, and why; "" if none has."""
    alone = sum(count for gap, count in gaps.items() if gap in LOADING)
    kind = "ldmatrix" if alone == kernels else "mma or ldmatrix" if alone else "mma"
    ordered = sorted(gaps.items(), key=lambda item: -item[1])
    reasons = ", ".join(describe_gap(gap, number) for gap, number in ordered)
    count = sum(gaps.values())
    if kernels == 1:
        return f"the kernel with {kind} is not verified: {next(iter(gaps))}" if gaps else ""
    return f"{count:,} of {kernels:,} kernels with {kind} not verified: {reasons}" if gaps else ""


def name_unrecognized(multiplier: str) -> str:
    """Return what a file has none of: tiles of a library may be in registers, without descriptors."""
    return "no tile that is followed" if multiplier in (TILED_MMA, KITTENS) else "no descriptor that is recognized"


def describe_missing(source: CheckedSource) -> str:
    """Return in one line what is missing to verify all descriptors and fragments of a file; "" if nothing is."""
    gaps = {gap: count for gap, count in source.gaps.items() if gap != UNREAD}
    parts = []
    if gaps:
        reasons = ", ".join(describe_gap(gap, number) for gap, number in gaps.items())
        count = sum(gaps.values())
        parts.append(f"{count:,} of {format_count(source.descriptors, 'descriptor')} not verified: {reasons}")
    elif source.multiplier and not source.descriptors and not source.verified:
        parts.append(f"it has {source.multiplier} and {name_unrecognized(source.multiplier)}: nothing was verified")
    parts += filter(None, (describe_kernel_gaps(source.kernels, source.kernel_gaps),))
    sentence = capitalize_sentence("; ".join(parts))
    return f"{sentence}.{_suggest_options(source)}" if sentence else ""


def _suggest_options(source: CheckedSource) -> str:
    """Return the options that would close gaps: " Give -D BK=VALUE."; "" if there are none."""
    options = []
    gaps = (*source.gaps, *source.kernel_gaps)
    if source.unfound and not (gaps and all(gap.startswith(_OF_KERNEL) for gap in gaps)):
        options.append(f"its include{'s' * (len(source.unfound) > 1)} {', '.join(source.unfound[:4])} (-I)")
    values = [f"-D {name}=VALUE" for name in list_needed_names(source)]
    options += [shorten_list(values)] if values else []
    return f" Give {', '.join(options)}." if options else ""


def list_needed_names(source: CheckedSource) -> list[str]:
    """List the names whose values would close gaps, as -D takes them."""
    names = [
        name
        for gap in (*source.gaps, *source.kernel_gaps)
        if gap.startswith(_DEPENDS)
        for name in gap.removeprefix(_DEPENDS).split(", ")
    ]
    names += [BLOCK_NAME] if NO_THREADS in source.kernel_gaps else []
    return [name for name in dict.fromkeys(names) if can_be_given(name)]
