"""Report mistakes at the number, or the words, that cause them.

A wrong number is noticed where elements are read, stored or counted. This module changes the numbers that a finding's
values come from, one at a time, and checks the text again. If it has no mistakes then, the finding moves to this
number. If several numbers could be changed, the finding stays at its place and lists them.
"""

from __future__ import annotations

import re
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
from lanescope.workbench.repair.repairs import parse_literal
from lanescope.workbench.repair.usual_edits import list_bit_edits, list_number_edits
from lanescope.workbench.results import OR_HERE, CheckFinding, Span, TextEdit, WrongRead
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.statement_words import StatementWords, list_origins

MOST_TRIED = 40
_MOST_RUN = 12  # of these, where mbarriers and D are followed after each
MOST_LIKELY = 24  # likely edits, tried before the others; the first that removes all mistakes is taken
_MOST_USED = 2  # times that a constant of one place is named, its declaration among them
_OF_SIZES = ("shared_memory", "tmem_columns")
_CONSTANT = re.compile(r"[^=(]*?(?:\bconst(?:expr)?|#\s*define)\b[^=(]*?\b([A-Za-z_]\w*)\s*(?:=\s*|\s)(?!0[xXbB])\d")
MOST_NAMED = 3  # numbers; more say nothing about the mistake
_MOST_SHOWN = 40  # characters before a number
_MOST_CHARACTERS = 1 << 17  # of a text that is checked again
# no number is known to cause these, such as a missing statement, an unknown name, another name or another type
_PLACED = (
    "_missing",
    "_of_other_size",
    "unset",
    "ptxas_refuses",
    "cute_name_unknown",
    "element_type",
    "tmem_unread",  # another number may only leave the columns, or the bytes, open
    "tmem_source_overlap",
    "instruction_not_on_target",
    "unbalanced",
)
Recheck = Callable[[TextEdit], CheckReport]


def find_cause(text: str, report: CheckReport, recheck: Recheck) -> CheckReport:
    """Return the report with its findings at the number that causes all of them, if there is one.

    recheck: checks the text with an edit.
    """
    placed = any(finding.code.endswith(_PLACED) for finding in report.findings)
    movable = any(map(_can_move, report.findings))
    if placed or len(text) > _MOST_CHARACTERS or not (movable or (report.find_repair and not report.findings)):
        return report
    try:
        found = _find_repair(text, report, recheck)
        if found is None and movable:
            found = replace(report, findings=tuple(_search(text, report, recheck)))
    except OverdueError:
        found = None
    return replace(report, unsearched=is_late()) if found is None or found == report else found


def _find_repair(text: str, report: CheckReport, recheck: Recheck) -> CheckReport | None:
    """Return the report of a text at whose only place an edit makes D A·B; None if there is none, or several."""
    found = report.find_repair(_list_places(report.findings)) if report.find_repair is not None else None
    if found is None:
        return None
    after = _check_edit(report, found.edit, recheck)
    if after is None or any(point.of_result for point in after.open):
        return None
    words, span = " ".join(text[slice(*found.edit.span)].split()), _find_place(text, found.edit)
    written = found.edit.text.strip() or "nothing"
    change = f"with {written} in place of {words} here" if words else f"with {written} here"
    others = tuple(point for point in report.open if not point.of_result)
    if report.findings:
        moved = _move(text, report.findings, [found.edit], certain=True, only=True)
        return replace(report, findings=(moved,), open=others)
    if found.mistake:
        message = f"{found.mistake}: {change}, D is A·B."
        finding = CheckFinding("product_broken", message, span, edits=(found.edit,), of_result=True)
        return replace(report, findings=(finding,), open=others)
    named = {
        point: replace(point, message=f"{point.message.rstrip('.')}; {change}, D is A·B.", span=span)
        for point in report.open
        if point.kernel == found.kernel
    }
    return replace(report, open=tuple(named.get(point, point) for point in report.open))


def _search(text: str, report: CheckReport, recheck: Recheck) -> Sequence[CheckFinding]:
    blank, findings = blank_text(text), report.findings
    known = ((edit, True) for finding in findings if len(finding.edits) == 1 for edit in finding.edits)
    of_fields = ((edit, True) for edit in _list_field_edits(blank, findings))
    present = ((edit, False) for edit in _list_present_edits(blank, findings))
    for edit, certain in islice(chain(known, of_fields, present, list_cute_edits(blank, findings)), MOST_LIKELY):
        if is_late():
            return findings
        if _check_edit(report, edit, recheck) is not None:
            return (_move(text, findings, [edit], certain),)
    right = _keep_alike(report, _list_right(_list_edits(blank, findings), report, recheck))
    if is_late() or not 0 < len(right) <= MOST_NAMED:
        return findings
    if len(right) == 1:
        (edits,) = right.values()
        return (_move(text, findings, edits, certain=True, only=True),)
    each = [_describe_edits(text, edits) for edits in right.values()]
    hint = f" One of these changes removes the mistake: {join_words(each, 'or')}."
    return [replace(one, message=one.message + hint) if _can_move(one) else one for one in findings]


def _list_right(
    edits: Iterable[tuple[int, TextEdit]], report: CheckReport, recheck: Recheck
) -> Iterator[tuple[TextEdit, CheckReport]]:
    """Yield the edits that remove all mistakes, with the report after each: those at the least distance, and other
    values of the same numbers. edits: with their distance.
    """
    most: float = inf
    numbers: set[Span] = set()
    for distance, edit in edits:
        if is_late():
            return
        near = distance <= most or edit.span in numbers
        if near and (after := _check_edit(report, edit, recheck)) is not None:
            most = min(distance, most)
            numbers.add(edit.span)
            yield edit, after


def _keep_alike(report: CheckReport, right: Iterable[tuple[TextEdit, CheckReport]]) -> dict[Span, list[TextEdit]]:
    """Group edits by their places; if some keep the tiles that descriptors have to read, only those.

    Another size of a tile may remove the mistakes as well, but changes the kernel.
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
    """Yield edits of shifts that miss the bit of a wrong descriptor field by a few bits."""
    bits = {WGMMA.get_field(field).low for finding in findings for field, _, _ in finding.changes}
    if bits:
        for _, statement in list_origins(blank, [finding.span for finding in findings]):
            yield from list_bit_edits(statement, sorted(bits))


def _list_present_edits(blank: str, findings: Sequence[CheckFinding]) -> Iterator[TextEdit]:
    """Yield edits of the numbers that are the present value of a wrong descriptor field, in bytes or encoded."""
    fields = [(WGMMA.get_field(field), value) for finding in findings for field, value, _ in finding.changes]
    present = {value * scale for field, value in fields if value for scale in (1, field.unit)}
    for _, statement in _list_changeable(blank, findings) if present else ():
        for _, edit in list_number_edits(statement, ()):
            if parse_literal(blank[slice(*edit.span)].rstrip("uUlLzZ")) in present:
                yield edit


def _list_edits(blank: str, findings: Sequence[CheckFinding]) -> list[tuple[int, TextEdit]]:
    """List (distance, edit) for usual other values of the numbers that the findings' values come from: likely values
    of near numbers first, as many as are tried.
    """
    changed = {(present, needed) for finding in findings for _, present, needed in finding.changes}
    ranked = [
        (steps + rank // 2, edit)
        for steps, statement in _list_changeable(blank, findings)
        for rank, edit in list_number_edits(statement, sorted(changed))
    ]
    most = _MOST_RUN if any(one.of_result for one in findings) else MOST_TRIED
    return sorted(ranked, key=lambda entry: entry[0])[:most]


def _list_changeable(blank: str, findings: Sequence[CheckFinding]) -> list[tuple[int, StatementWords]]:
    """List the statements that the findings' values come from, with the steps to each, without sizes that the kernel
    has in common unless a size is the mistake.
    """
    sized = any(finding.code.startswith(_OF_SIZES) for finding in findings)
    origins = list_origins(blank, _list_places(findings))
    return [one for one in origins if sized or not _is_shared_constant(blank, one[1])]


def _is_shared_constant(blank: str, statement: StatementWords) -> bool:
    """Return whether a statement gives a name to a decimal number that is used several times, such as the size of a
    tile: with another one the kernel is another one.
    """
    declared = _CONSTANT.match(blank, *statement.span)
    return declared is not None and len(re.findall(rf"\b{declared[1]}\b", blank)) > _MOST_USED


def _check_edit(before: CheckReport, edit: TextEdit, recheck: Recheck) -> CheckReport | None:
    """Return the report of a text with an edit; None if it has mistakes, or less of it is verified."""
    try:
        after = recheck(edit)
    except Exception:  # an edit may make any text, also one that no check is made for
        return None
    judged = any(one.of_result for one in before.findings) or after.kernels  # else D need not be known
    left = {point.message for point in after.open if judged or not point.of_result}
    newly_open = left - {point.message for point in before.open}
    right = (
        not after.findings
        and not newly_open
        and len(after.doubts) <= len(before.doubts)
        and _count_gaps(after) <= _count_gaps(before)
        and after.steps >= max(before.steps, 1)
        and not (after.kernels and all(kernel.gap for kernel in after.kernels))
    )
    return after if right else None


def _count_gaps(report: CheckReport) -> int:
    gaps = (*(part.gap for part in report.checked), *(part.gap for part in report.kernels))
    return sum(map(bool, gaps))


def _move(
    text: str, findings: Sequence[CheckFinding], edits: Sequence[TextEdit], certain: bool, only: bool = False
) -> CheckFinding:
    """Merge findings into one at the place of some edits. certain: whether the edits are the repair; only: whether no
    other place has one.
    """
    edit = edits[0]
    main = next((one for one in findings if one.edits == (edit,)), findings[0])
    words = " ".join(text[slice(*edit.span)].split())
    change = _describe_edits(text, edits) if certain else f"another value of {words}"
    apart = only and "\n" in text[slice(*sorted((main.span[0], edit.span[0])))]
    cause = "The cause is here: with" if apart else "With"
    message = main.message if main.edits else f"{main.message} {cause} {change}, no mistake is found."
    span = _find_place(text, edit)
    shown = [one for one in findings if not _has_suspects(one)]
    others = [place for place in _list_places(shown) if place[1] <= span[0] or span[1] <= place[0]]
    return replace(
        main,
        message=message,
        span=span,
        reads=sum(one.reads for one in findings),
        edits=(edit,) if certain and len(edits) == 1 else (),
        follows=tuple(WrongRead("The mistake shows here.", place) for place in others),
    )


def _has_suspects(finding: CheckFinding) -> bool:
    """Return whether the mistake of a finding may be at another of its places."""
    return any(one.message == OR_HERE for one in finding.follows)


def _find_place(text: str, edit: TextEdit) -> Span:
    """Return the words of an edit; what it follows if it has none."""
    return edit.span if text[slice(*edit.span)].strip() else (edit.span[0] - 1, edit.span[1])


def _list_places(findings: Iterable[CheckFinding]) -> list[Span]:
    """List the places of findings and of the reads that follow from them, each once."""
    return list(dict.fromkeys(at for one in findings for at in (one.span, *(read.span for read in one.follows))))


def _describe_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Describe edits of one place: what they write, instead of which words, after which part of the line."""
    first, past = edits[0].span
    words = " ".join(text[first:past].split())
    written = join_words([edit.text.strip() for edit in edits], "or")
    if not words or not written:
        return written or f"nothing in place of {words}"
    line = _shorten_start(text[text.rfind("\n", 0, first) + 1 : first].strip())
    return f"{written} instead of {words} after `{line}`" if line else f"{written} instead of {words}"


def _shorten_start(line: str) -> str:
    """Return the end of a line, from the start of a word.

    >>> _shorten_start("mma(acc, desc(smem_base + stage * BYTES_OF_A + k * 16), b")
    '… + stage * BYTES_OF_A + k * 16), b'
    """
    return line if len(line) <= _MOST_SHOWN else "… " + re.sub(r"^\S+\s+", "", line[-_MOST_SHOWN:])
