"""The page of a workbench, in the order of the page: the verdict, how each operand is stored, what was taken from the
text and what was assumed, the shown word with its fields, every step, and the picture of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.app.kit.names import format_short_name
from lanescope.app.memory.presets import compute_thumbnail
from lanescope.app.read.edits import RepairedText
from lanescope.app.read.pair import PairPicture, draw_pair
from lanescope.app.read.workbench import find_line
from lanescope.descriptor.matrix import Descriptor, View, find_inert_fields, reads, view
from lanescope.descriptor.repair import compute_expected_reads, list_changes
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.render.read_pictures import OperandChunks, make_chunks
from lanescope.shared.storage import Storage, storage
from lanescope.workbench import Bench, OperandStep, VerifiedOperand, build_bench
from lanescope.workbench.check import get_finding_title
from lanescope.workbench.presets import PRESETS, get_preset_title
from lanescope.workbench.results import Assumption, Repair, Span, TextPiece

MOST_CARDS = 16  # steps with a thumbnail; more are rows of the table alone
LONGEST_TRIED = 1 << 15  # characters of a text for which the outcome of every storage is computed
LABELS = {
    "swizzle": "Swizzle",
    "base_offset": "Base offset",
    "sbo": "SBO",
    "lbo": "LBO",
    "start_address": "Start address",
}


@dataclass(frozen=True, slots=True)
class SheetRepair:
    """A repair as a button. fix: all repairs with this one, as the address holds them; "" where it cannot."""

    label: str
    line: int
    fix: str


@dataclass(frozen=True, slots=True)
class SheetVerdict:
    """state: ok, bad, care or open; sentences: what stands under the headline; texts have code between backticks."""

    state: str
    headline: str
    sentences: tuple[str, ...]
    repairs: tuple[SheetRepair, ...] = ()


@dataclass(frozen=True, slots=True)
class StorageOption:
    """A way to store an operand, and what comes of it. good: whether every step is right then, None if not tried."""

    value: str
    title: str
    outcome: str = ""
    more: str = ""
    good: bool | None = None
    thumbnail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StorageRow:
    """How one operand is stored: what is chosen, where that is said, what else could be."""

    name: str
    key: str
    chosen: str
    said: str
    options: tuple[StorageOption, ...]
    asks: bool = False


@dataclass(frozen=True, slots=True)
class FactChip:
    """What the text says; line: where."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class WordField:
    """A field of the shown word. needed: what the tile needs instead, or ""; unread: why nothing reads it."""

    name: str
    label: str
    value: str
    needed: str
    unread: str


@dataclass(frozen=True, slots=True)
class StepCard:
    """One step of the loop; runs: (x, line, right) of the 16-byte chunks that it reads, in lines of 128 bytes."""

    number: int
    state: str
    k: int
    depth: int
    said: str
    good: str
    bad: str
    lines: int


@dataclass(frozen=True, slots=True)
class ShownStep:
    """The step whose word and picture the page shows."""

    at: int
    number: int
    operand: VerifiedOperand
    step: OperandStep
    bits: tuple[tuple[int, int, str], ...]
    fields: tuple[WordField, ...]
    picture: PairPicture
    pair: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """All of the page that is not the text."""

    verdict: SheetVerdict
    storages: tuple[StorageRow, ...]
    facts: tuple[FactChip, ...]
    assumed: tuple[Assumption, ...]
    unjudged: tuple[tuple[str, str], ...]
    shown: ShownStep | None
    cards: tuple[StepCard, ...]
    suspects: tuple[Span, ...]


def build_sheet(bench: Bench, repaired: RepairedText, assumptions: Mapping[str, str], chosen: str) -> Sheet:
    """Build the page of a bench. chosen: the step that was asked for, `operand.step` by their numbers."""
    at, number = _choose_step(bench, chosen)
    shown = _show_step(bench, at, number) if number >= 0 else None
    storages = tuple(_list_storages(bench, repaired.text, assumptions))
    suspects = _list_suspects(bench)
    return Sheet(
        verdict=_judge(bench, repaired, shown, suspects, any(row.asks for row in storages)),
        storages=storages,
        facts=tuple(_list_facts(bench, repaired.text)),
        assumed=tuple(a for a in bench.assumed if not a.key.startswith("stored.")),
        unjudged=tuple(dict.fromkeys(_list_unjudged(bench))),
        shown=shown,
        cards=tuple(_list_cards(bench.operands[at])) if shown else (),
        suspects=tuple(span for _, _, span in suspects if bench.verdict == "unknown"),
    )


def _choose_step(bench: Bench, chosen: str) -> tuple[int, int]:
    """Return (operand, step): those that were asked for, else the first wrong ones; step -1 if there is none."""
    parts = chosen.split(".")
    if len(parts) == 2 and all(part.isdecimal() and len(part) < 4 for part in parts):
        at, number = int(parts[0]), int(parts[1])
        if at < len(bench.operands) and number < len(bench.operands[at].steps):
            return at, number
    wrong = next((n for n, operand in enumerate(bench.operands) if operand.wrong), None)
    unknown = next((n for n, o in enumerate(bench.operands) if o.steps and o.verdict == "unknown"), None)
    at = wrong if wrong is not None else 0 if unknown is None or _is_any_right(bench) else unknown
    if not bench.operands or not bench.operands[at].steps:
        return at, -1
    steps = bench.operands[at].steps
    return at, next((n for n, step in enumerate(steps) if step.verdict == "mismatch"), 0)


def _is_any_right(bench: Bench) -> bool:
    return bool(bench.operands) and bench.operands[0].verdict == "match"


# the verdict ----------------------------------------------------------------------------------------------------------


def _judge(
    bench: Bench,
    repaired: RepairedText,
    shown: ShownStep | None,
    suspects: list[tuple[str, TextPiece, Span]],
    asks: bool,
) -> SheetVerdict:
    """Return the verdict. It is green only where nothing is open."""
    if bench.verdict == "mismatch":
        return _judge_wrong(bench, repaired, shown)
    unjudged = [name for name, _ in dict.fromkeys(_list_unjudged(bench))]
    right = [operand for operand in bench.operands if operand.verdict == "match"]
    if right:
        is_open = bool(bench.caution or bench.missing or unjudged or not bench.complete)
        total = sum(step.total for operand in right for step in operand.steps)
        counted = f"{total:,} of {total:,} elements are read where they are stored."
        left = f"{join_words(unjudged)} {'is' if len(unjudged) == 1 else 'are'} not judged" if unjudged else ""
        headline = f"{bench.headline}; {left}" if left else bench.headline
        rest = bench.caution or ((bench.detail,) if bench.detail and not left else ())
        missing = tuple(m for operand in bench.operands if operand.verdict == "unknown" for m in operand.missing[:1])
        return SheetVerdict("care" if is_open else "ok", headline, (counted, *rest, *missing))
    if suspects:
        return _judge_suspect(suspects, shown, repaired.text)
    detail = tuple(filter(None, (_describe_repeats(shown), bench.detail)))
    return SheetVerdict("care" if asks else "open", bench.headline, detail)


def _judge_wrong(bench: Bench, repaired: RepairedText, shown: ShownStep | None) -> SheetVerdict:
    operand = next((operand for operand in bench.operands if operand.wrong), None)
    if operand is None or operand.first_wrong is None:  # a tensor map breaks a rule
        return SheetVerdict("bad", bench.headline, (bench.detail,))
    cause = next(iter(operand.first_wrong.causes), None)
    headline = bench.headline
    said = _describe_changes(cause.changes if cause else {})
    if said and ": " in headline:
        headline = f"{headline.partition(': ')[0]}: {said}"
    if operand.place:
        headline += f" (line {find_line(repaired.text, operand.place[0])})"
    repairs = tuple(_list_repairs(bench, repaired))
    sentences = [bench.detail, shown.pair if shown and shown.operand is operand else "", _describe_repairs(bench)]
    return SheetVerdict("bad", headline, tuple(filter(None, sentences)), repairs)


def _describe_changes(changes: Mapping[str, tuple[int, int]]) -> str:
    """Describe what the fields are and what the tile needs; "" for none, and where the start has to move."""
    if not changes or "start_address" in changes or len(changes) > 2:
        return ""
    names = [_name_field(name) for name in changes]
    have = [f"`{_format_amount(name, pair[0])}`" for name, pair in changes.items()]
    need = [f"`{_format_amount(name, pair[1])}`" for name, pair in changes.items()]
    verb = "is" if len(names) == 1 else "are"
    return f"{join_words(names)} {verb} {join_words(have)}, this tile needs {join_words(need)}"


def _name_field(field: str) -> str:
    return field.upper() if field in ("lbo", "sbo") else f"the {LABELS[field].lower()}"


def _format_amount(field: str, encoded: int) -> str:
    if field == "swizzle":
        return Descriptor(encoded << 62).mode.name
    return (
        str(encoded) if field == "base_offset" else hex(16 * encoded) if field == "start_address" else str(16 * encoded)
    )


def _format_repair(repair: Repair) -> str:
    return ", ".join(f"{was} → {edit.text}" for was, edit in zip(repair.before, repair.edits, strict=True))


def _list_repairs(bench: Bench, repaired: RepairedText) -> Iterator[SheetRepair]:
    for repair in bench.repairs:
        line = find_line(repaired.text, repair.edits[0].span[0])
        yield SheetRepair(f"Apply {_format_repair(repair)}", line, repaired.extend(repair.edits) or "")


def _describe_repairs(bench: Bench) -> str:
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


def _list_suspects(bench: Bench) -> list[tuple[str, TextPiece, Span]]:
    """Return (code, piece, place) of what is unusual in descriptors that were not judged; each place once."""
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
    said = title if title[:3].isupper() else f"{title[0].lower()}{title[1:]}"
    if code == "sbo_unusual":
        said = f"SBO `{fields['sbo_bytes']}` does not fit the {fields['swizzle']} swizzle"
    elif code == "lbo_unusual":
        said = f"LBO `{fields['lbo_bytes']}` is unusual for the {fields['swizzle']} swizzle"
    why = tuple(dict.fromkeys(message for _, one, _ in suspects for message in one.doubts))
    headline = f"Suspicious: {said} (line {find_line(text, span[0])})"
    return SheetVerdict("care", headline, tuple(filter(None, (*why[:2], _describe_repeats(shown)))))


def _describe_repeats(shown: ShownStep | None) -> str:
    """Describe the bytes that an unjudged step reads more than once; "" for none."""
    if shown is None or shown.step.verdict != "unknown":
        return ""
    address = reads(Descriptor(shown.step.word), _view(shown.operand))
    again = address.size - np.unique(address).size
    letter = shown.operand.name.upper()
    return (
        f"{again:,} of {address.size:,} elements of {letter} come from bytes that the step has read before."
        if again
        else ""
    )


def _list_unjudged(bench: Bench) -> Iterator[tuple[str, str]]:
    """Yield (name, why) of the operands without a verdict."""
    several = len({operand.instruction for operand in bench.operands}) > 1
    for operand in bench.operands:
        if operand.verdict == "unknown":
            of = f" of {catalog.find(operand.instruction).shape}" if several else ""
            yield f"{operand.name.upper()}{of}", next(iter(operand.missing), "The text does not say enough.")


# how an operand is stored ---------------------------------------------------------------------------------------------


def _list_storages(bench: Bench, text: str, assumptions: Mapping[str, str]) -> Iterator[StorageRow]:
    """Yield one row for each operand; the first that is stored nowhere asks, with what comes of every answer."""
    asked = bench.verdict == "mismatch"
    names = set()
    for operand in bench.operands:
        if operand.name in names or not operand.steps:
            continue
        names.add(operand.name)
        key, seen, word = f"stored.{operand.name}", _view(operand), operand.steps[0].word
        titles = {name: get_preset_title(name, seen, word) for name in PRESETS}
        given, asks = assumptions.get(key, ""), operand.stored is None and not asked
        asked = asked or asks
        options = tuple(
            _try_storage(text, {**assumptions, key: name}, operand, StorageOption(name, title))
            if asks and len(text) <= LONGEST_TRIED
            else StorageOption(name, title)
            for name, title in titles.items()
        )
        said = "your choice"
        if not given and operand.storage is not None:
            piece = bench.pieces[operand.storage]
            options = (StorageOption("", "as in the text"), *options)
            first, last = (find_line(text, at) for at in (piece.spans[0][0], piece.spans[0][1] - 1))
            said = f"line {first}" if first == last else f"lines {first}–{last}"
        elif not given:
            said = "the text does not say"
        elif any(piece.kind in ("tensor_map", "layout") for piece in bench.pieces):
            options = (StorageOption("", "as in the text"), *options)
        chosen = given or ("" if operand.stored is not None else "?")
        yield StorageRow(operand.name.upper(), key, chosen, said, options, asks)


def _try_storage(
    text: str, choices: Mapping[str, str], operand: VerifiedOperand, option: StorageOption
) -> StorageOption:
    """Return a storage with what comes of it: the steps of the operand, verified against it."""
    try:
        bench = build_bench(text, choices)
    except LayoutError as error:
        return replace(option, outcome=error.message)
    after = next((o for o in bench.operands if (o.name, o.instruction) == (operand.name, operand.instruction)), None)
    if after is None or after.stored is None:
        return replace(option, outcome="not stored so")
    picture = tuple(compute_thumbnail(after.stored, _view(after)))
    option = replace(option, thumbnail=picture)
    if after.verdict == "unknown":
        return replace(option, outcome=next(iter(after.missing), "open"))
    wrong = [step.total - step.matched for step in after.steps]
    total = after.steps[0].total
    each = " per step" if len(wrong) > 1 else ""
    if not any(wrong) and not after.wrong:
        return replace(option, outcome=f"all {total:,} match{each}", good=True)
    said = (
        f"{wrong[0]:,} of {total:,} wrong{each}"
        if len(set(wrong)) == 1
        else f"{sum(wrong):,} of {sum(s.total for s in after.steps):,} wrong"
    )
    return replace(option, outcome=said, more=_describe_way_out(after), good=False)


def _describe_way_out(operand: VerifiedOperand) -> str:
    """Describe the word that would read a storage; that none does, where that is so."""
    first = operand.first_wrong
    fix = first.causes[0].fix if first and first.causes else None
    if first is None or fix is None:
        return "no descriptor reads it"
    changes = list_changes(Descriptor(first.word), fix)
    if len(changes) > 1:
        return f"another word: {join_words([_name_field(name) for name in changes])}"
    return "".join(
        f"repair: {_name_field(name)} {_format_amount(name, old)} → {_format_amount(name, new)}"
        for name, (old, new) in changes.items()
    )


# what the text says ---------------------------------------------------------------------------------------------------


def _list_facts(bench: Bench, text: str) -> Iterator[FactChip]:
    for piece in bench.pieces:
        line = find_line(text, piece.spans[0][0])
        if piece.kind == "instruction":
            instruction = catalog.find(piece.facts["ptx"])
            yield FactChip(f"{format_short_name(instruction)} {instruction.types['a']}", line)
        elif piece.kind in ("tensor_map", "layout"):
            of = f"{join_words([name.upper() for name in piece.operands])}: " if piece.operands else ""
            yield FactChip(of + piece.title, line)


# one step -------------------------------------------------------------------------------------------------------------


def _view(operand: VerifiedOperand) -> View:
    return view(catalog.find(operand.instruction), operand.name, operand.major)


def _find_storage(operand: VerifiedOperand, step: OperandStep) -> Storage | None:
    if operand.stored is None or step.base is None or step.verdict == "unknown":
        return None
    seen = _view(operand)
    return storage({**operand.stored, "base": step.base}, seen.bits, seen.major)


def make_namer(operand: str, k: int, per: int, major: str) -> Callable[[int, int], str]:
    """Return what names the chunk whose first element is (row, k) of a step that begins at k."""

    def name(row: int, at: int) -> str:
        first, second = f"{row}", f"{k + at}"
        if per > 1 and major == "K":
            second += f"…{k + at + per - 1}"
        elif per > 1:
            first += f"…{row + per - 1}"
        return format_element(operand, first, second)

    return name


def format_element(operand: str, row: int | str, k: int | str) -> str:
    """Format an element by its place: A[8][0] is row m, column k; of B both are named.

    >>> format_element("a", 8, 0), format_element("b", 8, 0)
    ('A[8][0]', 'B(k 0, n 8)')
    """
    return f"A[{row}][{k}]" if operand == "a" else f"B(k {k}, n {row})"


def _chunk(operand: VerifiedOperand, step: OperandStep) -> OperandChunks:
    seen, stored = _view(operand), _find_storage(operand, step)
    read = reads(Descriptor(step.word), seen)
    expected = None if stored is None else compute_expected_reads(stored, seen, step.mn, step.k)
    return make_chunks(read, expected, seen, operand.name.upper())


def _show_step(bench: Bench, at: int, number: int) -> ShownStep:
    operand = bench.operands[at]
    step, seen = operand.steps[number], _view(operand)
    word, stored = Descriptor(step.word), _find_storage(operand, step)
    changes: dict[str, tuple[int, int]] = {}
    pair = ""
    if stored is not None and step.verdict == "mismatch":
        found = verify(word, seen, stored, mn=step.mn, k=step.k)
        fix = next((d.fix for d in found.diagnoses[:1]), None)
        changes = list_changes(word, fix) if fix else {}
        pair = _describe_pair(operand, step, stored)
    names = make_namer(operand.name, step.k, seen.per, seen.major)

    def name(row: int, k: int) -> str:
        return names(step.mn + row, k)

    return ShownStep(
        at,
        number,
        operand,
        step,
        bits=tuple((n, word.word >> n & 1, _field_of(word, n)) for n in range(63, -1, -1)),
        fields=tuple(_list_fields(word, seen, changes)),
        picture=draw_pair(_chunk(operand, step), word, name),
        pair=pair,
    )


def _describe_pair(operand: VerifiedOperand, step: OperandStep, stored: Storage) -> str:
    """Describe how many elements are wrong, with the addresses of the first; "" if all come from their place."""
    seen = _view(operand)
    address, expected = reads(Descriptor(step.word), seen), compute_expected_reads(stored, seen, step.mn, step.k)
    wrong = np.argwhere(address != expected)
    if not len(wrong):
        return ""
    row, k = (int(n) for n in wrong[0])
    element = format_element(operand.name, step.mn + row, step.k + k)
    return (
        f"{len(wrong):,} of {address.size:,} elements of K step {step.k // step.depth} are read from elsewhere:"
        f" {element} is stored at `{int(expected[row, k]):#x}` and read from `{int(address[row, k]):#x}`."
    )


def _field_of(word: Descriptor, bit: int) -> str:
    return next((f.name for f in word.format.fields if f.low <= bit <= f.high), "")


def _list_fields(word: Descriptor, seen: View, changes: Mapping[str, tuple[int, int]]) -> Iterator[WordField]:
    unread = find_inert_fields(word, seen)
    for name, label in LABELS.items():
        encoded = word.format.get_field(name).get(word.word)
        unit = " B" if name in ("lbo", "sbo") else f" ({encoded})" if name == "swizzle" else ""
        needed = _format_amount(name, changes[name][1]) + (unit if unit == " B" else "") if name in changes else ""
        yield WordField(name, label, _format_amount(name, encoded) + unit, needed, unread.get(name, ""))


def _list_cards(operand: VerifiedOperand) -> Iterator[StepCard]:
    """Yield a card for each step, if they are few."""
    if len(operand.steps) > MOST_CARDS:
        return
    made = [_chunk(operand, step) for step in operand.steps]
    low = min(int(chunks.read.min()) >> 7 for chunks in made)
    lines = min(max(int(chunks.read.max()) >> 7 for chunks in made) - low + 1, 256)
    for number, (step, chunks) in enumerate(zip(operand.steps, made, strict=True)):
        wrong, again = step.total - step.matched, chunks.read.size - np.unique(chunks.read).size
        said = {
            "match": "all right",
            "mismatch": f"{wrong:,} wrong" if wrong else "wrong",
            "unknown": f"{again * chunks.seen.per:,} twice" if again else "not judged",
        }[step.verdict]
        right = chunks.right if step.verdict != "unknown" else np.zeros(chunks.read.shape, np.bool_)
        yield StepCard(
            number,
            step.verdict,
            step.k,
            step.depth,
            said,
            _draw_run(chunks.read[right], low, lines),
            _draw_run(chunks.read[~right], low, lines),
            lines,
        )


def _draw_run(addresses: Any, low: int, lines: int) -> str:
    """Return an SVG path of 16-byte chunks, 8 units a line, one unit a chunk."""
    places = sorted({(int(a) >> 7, int(a) >> 4 & 7) for a in addresses.ravel()})
    return "".join(f"M{x} {y - low + 0.5:g}h1" for y, x in places if y - low < lines)
