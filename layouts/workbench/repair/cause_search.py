"""Report mistakes at the number, or the words, that cause them.

A wrong number shows where elements are read, stored or counted. Here the numbers that a finding's values come from get
other values, one at a time, and the text is checked again. If nothing is wrong with it then, the mistake is there. If
several numbers can be changed so, the finding stays at its place and names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from math import inf

from lanescope.deadline import OverdueError, is_late
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.cute.cute_edits import list_cute_edits
from lanescope.workbench.repair.usual_edits import list_bit_edits, list_number_edits
from lanescope.workbench.results import CheckFinding, Span, TextEdit, WrongRead
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.statement_words import list_origins

MOST_TRIED = 40
MOST_LIKELY = 24  # edits tried before, of which the first right one is taken
_MOST_SHOWN = 40  # characters before a number
_MOST_CHARACTERS = 1 << 17  # of a text that is checked again
# what is missing is not at a number, and words that are unknown are wrong themselves
_PLACED = ("_missing", "unset", "ptxas_refuses", "cute_name_unknown", "instruction_not_on_target", "unbalanced")
Recheck = Callable[[TextEdit], CheckReport]


def find_cause(text: str, report: CheckReport, recheck: Recheck) -> CheckReport:
    """Return the report with its findings at the number that causes all of them, if there is one.

    recheck: checks the text with an edit.
    """
    if len(text) > _MOST_CHARACTERS or not any(map(_can_move, report.findings)):
        return report
    if any(finding.code.endswith(_PLACED) for finding in report.findings):
        return report
    try:
        return replace(report, findings=tuple(_search(text, report, recheck)))
    except OverdueError:
        return report


def _search(text: str, report: CheckReport, recheck: Recheck) -> Sequence[CheckFinding]:
    blank, findings = blank_text(text), report.findings
    known = ((edit, True) for finding in findings if len(finding.edits) == 1 for edit in finding.edits)
    of_fields = ((edit, True) for edit in _list_field_edits(blank, findings))
    for edit, certain in islice(chain(known, of_fields, list_cute_edits(blank, findings)), MOST_LIKELY):
        if is_late():
            return findings
        if _is_right(report, recheck(edit)):
            return (_move(text, findings, [edit], certain),)
    right = _keep_alike(report, _list_right(islice(_list_edits(blank, findings), MOST_TRIED), report, recheck))
    if is_late():
        return findings
    if len(right) == 1:
        ((_, edits),) = right.items()
        return (_move(text, findings, edits, certain=True),)
    if not right:
        return findings
    each = [_describe_edits(text, edits) for edits in right.values()]
    hint = f" One of these makes it right: {join_words(each, 'or')}."
    return [replace(one, message=one.message + hint) if _can_move(one) else one for one in findings]


def _list_right(
    edits: Iterable[tuple[int, TextEdit]], report: CheckReport, recheck: Recheck
) -> Iterator[tuple[TextEdit, CheckReport]]:
    """Yield the edits that make a text right, with its report: those at the least distance, and other values of their
    numbers. edits: with their distance.
    """
    most: float = inf
    numbers: set[Span] = set()
    for distance, edit in edits:
        if is_late():
            return
        if (distance <= most or edit.span in numbers) and _is_right(report, after := recheck(edit)):
            most = min(distance, most)
            numbers.add(edit.span)
            yield edit, after


def _keep_alike(report: CheckReport, right: Iterable[tuple[TextEdit, CheckReport]]) -> dict[Span, list[TextEdit]]:
    """Group edits by their places: those that leave what descriptors have to read as it is, if there are any.

    A number that gives another tile may be right as well, but then the kernel is another one.
    """
    found = list(right)
    alike = [edit for edit, after in found if after.slices == report.slices] or [edit for edit, _ in found]
    groups: dict[Span, list[TextEdit]] = defaultdict(list)
    for edit in alike:
        groups[edit.span].append(edit)
    return groups


def _can_move(finding: CheckFinding) -> bool:
    return not finding.edits and finding.level != "note"


def _list_field_edits(blank: str, findings: Sequence[CheckFinding]) -> Iterator[TextEdit]:
    """Yield the shifts that put a wrong field of a descriptor near its bit, with this bit."""
    bits = {WGMMA.get_field(field).low for finding in findings for field, _, _ in finding.changes}
    if bits:
        for _, statement in list_origins(blank, [finding.span for finding in findings]):
            yield from list_bit_edits(statement, sorted(bits))


def _list_edits(blank: str, findings: Sequence[CheckFinding]) -> list[tuple[int, TextEdit]]:
    """List the usual other values of the numbers that the findings' values come from, with their distance: the likely
    ones of near numbers first.
    """
    changed = {(present, needed) for finding in findings for _, present, needed in finding.changes}
    places = [place for finding in findings for place in (finding.span, *(read.span for read in finding.follows))]
    ranked = [
        (steps + rank // 2, edit)
        for steps, statement in list_origins(blank, places)
        for rank, edit in list_number_edits(statement, sorted(changed))
    ]
    return sorted(ranked, key=lambda entry: entry[0])


def _is_right(before: CheckReport, after: CheckReport) -> bool:
    """Return whether nothing is wrong with an edited text, and no less is known of it."""
    known = not _count_gaps(after) > _count_gaps(before) and len(after.open) <= len(before.open)
    return known and not after.findings and after.steps >= max(before.steps, 1)


def _count_gaps(report: CheckReport) -> int:
    gaps = (*(part.gap for part in report.checked), *(part.gap for part in report.kernels))
    return sum(map(bool, gaps))


def _move(text: str, findings: Sequence[CheckFinding], edits: Sequence[TextEdit], certain: bool) -> CheckFinding:
    """Return one finding in place of several, at edits of one place. certain: whether they are the repair."""
    edit = edits[0]
    main = next((one for one in findings if one.edits == (edit,)), findings[0])
    words = " ".join(text[slice(*edit.span)].split())
    hint = f"With another value of {words} it is right."
    if certain:
        hint = f"It is right with {_describe_edits(text, edits)}."
    span = edit.span if words else (edit.span[0] - 1, edit.span[1])
    spans = dict.fromkeys(place for one in findings for place in (one.span, *(read.span for read in one.follows)))
    follows = (WrongRead("This follows from it.", place) for place in spans if not _overlaps(place, span))
    message = main.message if main.edits else f"{main.message} {hint}"
    reads = sum(one.reads for one in findings)
    return replace(
        main,
        message=message,
        span=span,
        reads=reads,
        edits=(edit,) if certain and len(edits) == 1 else (),
        follows=tuple(follows),
    )


def _overlaps(span: Span, other: Span) -> bool:
    return span[0] < other[1] and other[0] < span[1]


def _describe_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Return what edits write at their one place, instead of which words, in which line of the text."""
    first, past = edits[0].span
    words = " ".join(text[first:past].split())
    written = join_words([edit.text for edit in edits], "or")
    if not words or not written:
        return written or f"nothing in place of {words}"
    line = text[text.rfind("\n", 0, first) + 1 : first].strip()[-_MOST_SHOWN:]
    return f"{written} instead of {words} after `{line}`" if line else f"{written} instead of {words}"
