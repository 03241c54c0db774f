"""The page of a workbench, in the order of the page: the verdict, how each operand is stored, what the text states and
what was assumed, what check finds, the selected word with its fields, every step, and the picture of one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from lanescope.app.check.report_view import ReportView
from lanescope.app.read.checked import ExaminedText, FindingPlace, list_given_names, make_key, place_findings
from lanescope.app.read.edits import RepairedText
from lanescope.app.read.sheet_step import (
    ShownStep,
    StepCard,
    describe_repeats,
    format_amount,
    list_cards,
    name_field,
    show_step,
)
from lanescope.app.read.sheet_storage import StorageRow, list_storages
from lanescope.app.read.workbench import find_line
from lanescope.inputs import join_words
from lanescope.names.form_names import format_short_name
from lanescope.ptx import catalog
from lanescope.workbench import Workbench
from lanescope.workbench.finding_codes import get_finding_title
from lanescope.workbench.results import Assumption, Repair, Span, TextPiece
from lanescope.workbench.source.open_names import differs_in_threads

_MAP_FIELD = re.compile(r"\.(?:box_\d|swizzle)$")
_CHANGING = re.compile(r"at\..*\w'")


@dataclass(frozen=True, slots=True)
class SheetRepair:
    """A repair as a button. fix: all repairs with this one, as the address has them."""

    label: str
    line: int
    fix: str


@dataclass(frozen=True, slots=True)
class SheetVerdict:
    """state: ok, bad, care or open; sentences: below the headline; texts have code between backticks. summary: what
    check verified and what it did not.
    """

    state: str
    headline: str
    sentences: tuple[str, ...]
    repairs: tuple[SheetRepair, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class FactChip:
    """A fact that the text states, and its line."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything on the page except the text."""

    verdict: SheetVerdict
    storages: tuple[StorageRow, ...]
    facts: tuple[FactChip, ...]
    assumed: tuple[Assumption, ...]
    unjudged: tuple[tuple[str, str], ...]
    shown: ShownStep | None
    cards: tuple[StepCard, ...]
    suspects: tuple[Span, ...]
    repairs: tuple[SheetRepair, ...]
    view: ReportView | None
    findings: tuple[FindingPlace, ...]
    repair_of: Mapping[int, SheetRepair]


@dataclass(frozen=True, slots=True)
class SheetInput:
    """What a page shows: a text with its repairs, its bench, and the report of check, None for a text without code.

    late: whether the time is over in which the outcome of a storage is tried.
    """

    bench: Workbench
    repaired: RepairedText
    assumptions: Mapping[str, str]
    view: ReportView | None = None
    late: Callable[[], bool] = lambda: False

    @staticmethod
    def from_examined(examined: ExaminedText, repaired: RepairedText, assumptions: Mapping[str, str]) -> SheetInput:
        """Return the page of a text that was examined."""
        name = examined.report.sources[0].file if examined.report else ""
        view = ReportView(examined.report, {name: repaired.text}) if examined.report else None
        return SheetInput(examined.bench, repaired, assumptions, view, lambda: time.monotonic() > examined.end)


def build_sheet(page: SheetInput, chosen: str) -> Sheet:
    """Build the page of a text. chosen: the step of the address, `operand.step` by their numbers."""
    bench, repaired, assumptions, view = page.bench, page.repaired, page.assumptions, page.view
    at, number = _choose_step(bench, chosen)
    shown = show_step(bench, at, number) if number >= 0 else None
    storages = tuple(list_storages(bench, repaired.text, assumptions, page.late))
    suspects = _list_suspects(bench)
    findings = tuple(place_findings(repaired.text, view)) if view else ()
    repair_of = {found.number: made for found in findings if (made := _offer_repair(found, repaired))}
    own = _list_repairs(bench, repaired)
    judged = _judge(page, shown, suspects, any(row.has_question for row in storages))
    if not judged.repairs and 0 in repair_of:
        judged = replace(judged, repairs=(repair_of[0],))
    return Sheet(
        verdict=replace(judged, summary=_summarize(bench, view)) if view else judged,
        storages=storages,
        facts=tuple(_list_facts(bench, repaired.text)),
        assumed=(*_list_asked(bench), *_list_open_names(page)),
        unjudged=tuple(dict.fromkeys(_list_unjudged(bench))),
        shown=shown,
        cards=tuple(list_cards(bench.operands[at])) if shown else (),
        suspects=tuple(span for _, _, span in suspects if bench.verdict == "unknown"),
        repairs=tuple({made.fix: made for made in (*own, *repair_of.values())}.values()),
        view=view,
        findings=findings,
        repair_of=repair_of,
    )


def _summarize(bench: Workbench, view: ReportView) -> str:
    """Return in one line what check verified; if its time ran out, what is judged all the same, and how to go on."""
    if view.finished:
        return view.summary
    judged = "Only what the descriptors read is judged" if bench.operands else "Nothing is verified yet"
    return f"{judged}: the time of a page is over. To check all of it, save the code and run the command below."


def _list_asked(bench: Workbench) -> Iterator[Assumption]:
    """Yield the assumptions that a person can know: not the values of expressions that change in a loop or differ from
    thread to thread, and the box of a tensor map once.
    """
    has_maps = _asks_for_maps(bench)
    for assumption in bench.assumed:
        differs = not assumption.value and differs_in_threads(assumption.label)
        changes = differs or assumption.key.startswith("stored.") or _CHANGING.match(assumption.key)
        if not changes and not (
            has_maps and assumption.key.startswith(make_key("")) and _MAP_FIELD.search(assumption.key)
        ):
            yield assumption


def _asks_for_maps(bench: Workbench) -> bool:
    """Return whether a bench asks for boxes and swizzles of maps by their number."""
    return any(assumption.key.startswith("box.") for assumption in bench.assumed)


def _offer_repair(found: FindingPlace, repaired: RepairedText) -> SheetRepair | None:
    """Return the repair of a finding as a button, None if it has none."""
    if not found.edits:
        return None
    line = find_line(repaired.text, found.edits[0].span[0])
    return SheetRepair(f"Apply {found.shown.repair}", line, repaired.extend(found.edits))


def _list_open_names(page: SheetInput) -> Iterator[Assumption]:
    """Yield the names whose values check needs, and those that are given, without the ones of the bench."""
    known = {assumption.key for assumption in page.bench.assumed}
    has_maps = _asks_for_maps(page.bench)
    needed = page.view.needs if page.view else []
    for name in dict.fromkeys((*list_given_names(page.assumptions), *needed)):
        key = make_key(name)
        if not known & {key, f"at.{name}"} and not (has_maps and _MAP_FIELD.search(name)):
            value = page.assumptions.get(key, "")
            yield Assumption(key, name, value, "as given" if value else "with its value more can be verified")


def _choose_operand(bench: Workbench) -> int:
    """Return the first wrong operand; if no operand is right, the first without a verdict; otherwise the first."""
    wrong = next((n for n, operand in enumerate(bench.operands) if operand.wrong), None)
    if wrong is not None:
        return wrong
    unknown = next((n for n, o in enumerate(bench.operands) if o.steps and o.verdict == "unknown"), None)
    return 0 if unknown is None or (bool(bench.operands) and bench.operands[0].verdict == "match") else unknown


def _choose_step(bench: Workbench, chosen: str) -> tuple[int, int]:
    """Return (operand, step): the chosen ones, otherwise the first wrong ones; step -1 if there is none."""
    parts = chosen.split(".")
    if len(parts) == 2 and all(part.isdecimal() and len(part) < 4 for part in parts):
        at, number = int(parts[0]), int(parts[1])
        if at < len(bench.operands) and number < len(bench.operands[at].steps):
            return at, number
    at = _choose_operand(bench)
    if not bench.operands or not bench.operands[at].steps:
        return at, -1
    steps = bench.operands[at].steps
    return at, next((n for n, step in enumerate(steps) if step.verdict == "mismatch"), 0)


# the verdict ----------------------------------------------------------------------------------------------------------


def _format_unjudged(names: Sequence[str], judged: Set[str]) -> str:
    """Word which operands are not judged. judged: those of which other reads are."""
    if not names:
        return ""
    if judged >= set(names):
        return f"not every read of {join_words(names)} is judged"
    return f"{join_words(names)} {'is' if len(names) == 1 else 'are'} not judged"


def _judge_right(bench: Workbench) -> SheetVerdict:
    """Return the verdict of a text in which some operand is right and none is wrong."""
    unjudged = [name for name, _ in dict.fromkeys(_list_unjudged(bench))]
    is_open = bool(bench.caution or bench.missing or unjudged or not bench.complete)
    total = sum(step.total for operand in bench.operands if operand.verdict == "match" for step in operand.steps)
    counted = f"{total:,} of {total:,} elements are read where they are stored."
    right = {operand.name.upper() for operand in bench.operands if operand.verdict == "match"}
    left = _format_unjudged(unjudged, right)
    headline = f"{bench.headline}; {left}" if left else bench.headline
    rest = bench.caution or ((bench.detail,) if bench.detail and not left else ())
    missing = tuple(m for operand in bench.operands if operand.verdict == "unknown" for m in operand.missing[:1])
    return SheetVerdict("care" if is_open else "ok", headline, tuple(dict.fromkeys((counted, *rest, *missing))))


def _judge(
    page: SheetInput, shown: ShownStep | None, suspects: list[tuple[str, TextPiece, Span]], has_question: bool
) -> SheetVerdict:
    """Return the verdict. It is green only if nothing is undetermined."""
    bench, repaired, view = page.bench, page.repaired, page.view
    if bench.verdict == "mismatch":
        return _judge_wrong(bench, repaired, shown)
    if view and view.findings:
        return _judge_found(bench, view)
    if any(operand.verdict == "match" for operand in bench.operands):
        right = _judge_right(bench)
        return replace(right, state="care") if view and view.state != "ok" else right
    if suspects:
        return _judge_suspect(suspects, shown, repaired.text)
    detail = tuple(filter(None, (describe_repeats(shown), bench.detail)))
    if has_question or not view:
        return SheetVerdict("care" if has_question else "open", bench.headline, detail)
    return SheetVerdict(view.state, view.headline, detail if bench.operands else ())


def _judge_found(bench: Workbench, view: ReportView) -> SheetVerdict:
    """Return the verdict of a text in which check finds mistakes, and none in what its descriptors read."""
    right = (f"{bench.headline}.",) if bench.verdict == "match" else ()
    return SheetVerdict(view.state, view.headline, (view.findings[0].finding.message, *right))


def _judge_wrong(bench: Workbench, repaired: RepairedText, shown: ShownStep | None) -> SheetVerdict:
    operand = next((operand for operand in bench.operands if operand.wrong), None)
    if operand is None or operand.first_wrong is None:  # a tensor map breaks a rule
        return SheetVerdict("bad", bench.headline, (bench.detail,))
    cause = next(iter(operand.first_wrong.causes), None)
    headline = bench.headline
    changes = _describe_changes(cause.changes if cause else {})
    if changes and ": " in headline:
        headline = f"{headline.partition(': ')[0]}: {changes}"
    if operand.place:
        headline += f" (line {find_line(repaired.text, operand.place[0])})"
    repairs = _list_repairs(bench, repaired)
    sentences = [bench.detail, shown.pair if shown and shown.operand is operand else "", _describe_repairs(bench)]
    return SheetVerdict("bad", headline, tuple(filter(None, sentences)), repairs)


def _describe_changes(changes: Mapping[str, tuple[int, int]]) -> str:
    """Describe the current and the required fields; "" if there are none, or if the start has to move."""
    if not changes or "start_address" in changes or len(changes) > 2:
        return ""
    names = [name_field(name) for name in changes]
    have = [f"`{format_amount(name, pair[0])}`" for name, pair in changes.items()]
    need = [f"`{format_amount(name, pair[1])}`" for name, pair in changes.items()]
    verb = "is" if len(names) == 1 else "are"
    return f"{join_words(names)} {verb} {join_words(have)}, this tile needs {join_words(need)}"


def _format_repair(repair: Repair) -> str:
    return ", ".join(f"{was} → {edit.text}" for was, edit in zip(repair.before, repair.edits, strict=True))


def _list_repairs(bench: Workbench, repaired: RepairedText) -> tuple[SheetRepair, ...]:
    """Return the repairs of what the bench verifies as buttons."""
    return tuple(
        SheetRepair(
            f"Apply {_format_repair(repair)}",
            find_line(repaired.text, repair.edits[0].span[0]),
            repaired.extend(repair.edits),
        )
        for repair in bench.repairs
    )


def _describe_repairs(bench: Workbench) -> str:
    if not bench.repairs:
        return ""
    first = bench.repairs[0]
    alike = [repair for repair in bench.repairs if repair.operands == first.operands]
    names = join_words(list(dict.fromkeys(bench.operands[at].name.upper() for at in first.operands)))
    words = (
        f"all {first.words} words of {names} become right" if first.words > 1 else f"the word of {names} becomes right"
    )
    if len(alike) > 1:
        return f"The text gives it in {len(alike)} places; with any one of these changes {words}."
    return f"With {_format_repair(first)} {words}."


def _list_suspects(bench: Workbench) -> list[tuple[str, TextPiece, Span]]:
    """Return (code, piece, place) of the unusual fields of descriptors without a verdict; each place once."""
    judged = {operand.descriptor for operand in bench.operands if operand.verdict != "unknown"}
    found: dict[tuple[str, Span], TextPiece] = {}
    for n, piece in enumerate(bench.pieces):
        if n not in judged:
            for code, span in piece.suspects:
                found.setdefault((code, span), piece)
    return [(code, piece, span) for (code, span), piece in found.items()]


def _judge_suspect(suspects: list[tuple[str, TextPiece, Span]], shown: ShownStep | None, text: str) -> SheetVerdict:
    code, piece, span = suspects[0]
    fields = piece.facts.get("fields", {})
    title = get_finding_title(code)
    reason = title if title[:3].isupper() else f"{title[0].lower()}{title[1:]}"
    if code == "sbo_unusual":
        reason = f"SBO `{fields['sbo_bytes']}` does not fit the {fields['swizzle']} swizzle"
    elif code == "lbo_unusual":
        reason = f"LBO `{fields['lbo_bytes']}` is unusual for the {fields['swizzle']} swizzle"
    why = tuple(dict.fromkeys(message for _, piece, _ in suspects for message in piece.doubts))
    headline = f"Suspicious: {reason} (line {find_line(text, span[0])})"
    return SheetVerdict("care", headline, tuple(filter(None, (*why[:2], describe_repeats(shown)))))


def _list_unjudged(bench: Workbench) -> Iterator[tuple[str, str]]:
    """Yield (name, why) of the operands without a verdict."""
    several = len({operand.instruction for operand in bench.operands}) > 1
    for operand in bench.operands:
        if operand.verdict == "unknown":
            of = f" of {catalog.find(operand.instruction).shape}" if several else ""
            yield f"{operand.name.upper()}{of}", next(iter(operand.missing), "The text does not determine the verdict.")


def _list_facts(bench: Workbench, text: str) -> Iterator[FactChip]:
    for piece in bench.pieces:
        line = find_line(text, piece.spans[0][0])
        if piece.kind == "instruction":
            instruction = catalog.find(piece.facts["ptx"])
            yield FactChip(f"{format_short_name(instruction)} {instruction.types['a']}", line)
        elif piece.kind in ("tensor_map", "layout"):
            of = f"{join_words([name.upper() for name in piece.operands])}: " if piece.operands else ""
            yield FactChip(of + piece.title, line)
