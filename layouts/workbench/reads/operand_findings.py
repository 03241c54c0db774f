"""Findings and open points about the operands of a bench: wrong reads, missing constants, assumed tile starts.

`check.py` calls these functions after the bench of a text is built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from lanescope.descriptor.matrix import Descriptor
from lanescope.inputs import format_count, join_words
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.workbench import OperandStep, VerifiedOperand, Workbench, build_workbench
from lanescope.workbench.check_report import OpenPoint, describe_unverified_operand
from lanescope.workbench.reads import tile_starts
from lanescope.workbench.repair.blame import BlameFinder
from lanescope.workbench.repair.consequences import find_constant_place, is_explained
from lanescope.workbench.results import PATIENCE, CheckFinding, Span, TextPiece, WrongRead
from lanescope.workbench.source.guesses import Guesses
from lanescope.workbench.source.tally import count_verified, describe_lack, list_first_wrong_steps
from lanescope.workbench.text.function_texts import is_inside
from lanescope.workbench.text.pieces import describe_unread


def build_guesses(text: str, choices: Mapping[str, str], brief: bool) -> Guesses:
    """Return the bench of a text with the assumptions that its mismatches depend on.

    It has repairs if a read is wrong for every choice: each that is tried costs an evaluation of the text. choices:
    those of build_workbench; brief: whether only the verdicts matter.
    """
    if brief:
        return Guesses(text, build_workbench(text, choices, PATIENCE, copied=False, why=False), choices)
    attempts: list[Guesses] = []

    def is_certain(bench: Workbench) -> bool:
        attempts.append(Guesses(text, bench, choices))
        wrong = ((operand, step) for operand in bench.operands for step in list_first_wrong_steps(operand))
        return any(not explain_mismatch_doubt(attempts[0], operand, step) for operand, step in wrong)

    bench = build_workbench(text, choices, PATIENCE, copied=False, repair=is_certain)
    guesses = attempts[0] if attempts else Guesses(text, bench, choices)
    guesses.bench = bench
    return guesses


def check_operands(
    guesses: Guesses, bench: Workbench, known: set[str], blame: BlameFinder
) -> tuple[list[CheckFinding], list[OpenPoint]]:
    """Return (findings of wrong reads, open points). known: codes of mistakes that were already found in the code."""
    places: dict[tuple[str, Span], list[tuple[VerifiedOperand, OperandStep]]] = {}
    open_: list[OpenPoint] = []
    for operand in bench.operands:
        if operand.verdict == "unknown":
            open_.append(_make_unverified_point(bench, operand))
        for step in list_first_wrong_steps(operand):
            code = step.causes[0].code if step.causes else ""
            if code == "not_canonical" and operand.storage is not None and bench.pieces[operand.storage].notices:
                continue  # the map is reported instead
            if why := explain_mismatch_doubt(guesses, operand, step):
                open_.append(OpenPoint(why, step.span))
            elif not is_explained(code, known):
                places.setdefault((code, blame.find_blamed_span(operand, step)), []).append((operand, step))
    return [_make_mismatch_finding(bench, mismatches, span) for (_, span), mismatches in places.items()], open_


def _make_unverified_point(bench: Workbench, operand: VerifiedOperand) -> OpenPoint:
    """Return the open point for an operand without a verdict, with the reason."""
    at = bench.pieces[operand.descriptor].spans[0]
    reader = f"one of {operand.one_of} instructions" if operand.one_of else operand.instruction
    name, reason = operand.name.upper(), describe_lack(operand)
    return OpenPoint(describe_unverified_operand(name, reader, reason), at, operand=name, reader=reader, reason=reason)


def drop_proved_points(
    points: list[OpenPoint], bench: Workbench, proved: Collection[tuple[str, str]]
) -> list[OpenPoint]:
    """Drop the open points of operands that were verified by running the threads."""
    verified_points = {
        _make_unverified_point(bench, operand)
        for operand in bench.operands
        if operand.verdict == "unknown" and (operand.instruction, operand.name) in proved
    }
    return [point for point in points if point not in verified_points]


def explain_mismatch_doubt(guesses: Guesses, operand: VerifiedOperand, step: OperandStep) -> str:
    """Explain why a wrong step is not a finding; "" if it is one."""
    crossed = next((cause.message for cause in step.causes if cause.code == "operands_exchanged"), "")
    if crossed:
        return crossed
    doubt = guesses.find_guess(operand, step)
    where = f"{operand.name.upper()} of {operand.instruction} would be read from the wrong place"
    return f"{where}, but {doubt}" if doubt else ""


def _make_mismatch_finding(
    bench: Workbench, mismatches: list[tuple[VerifiedOperand, OperandStep]], span: Span
) -> CheckFinding:
    """Make one finding for the wrong operands of one place and cause; the message describes the first."""
    wrong = mismatches[0][1]
    names = {other.name for other, _ in mismatches}
    assumed = tuple(
        (a.key, a.value) for a in bench.assumed if a.summary and (not a.operands or names & set(a.operands))
    )
    reads = sum(step.span == wrong.span for other, _ in mismatches for step in other.wrong)
    head = _describe_wrong_elements(mismatches)
    follows = tuple(_list_wrong_reads(bench, mismatches))
    if not wrong.causes:
        return CheckFinding("other_bytes", head, span, reads, assumed=assumed, follows=follows)
    repaired = next(
        (r for r in bench.repairs if all(bench.operands.index(o) in r.operands for o, _ in mismatches)), None
    )
    edits = repaired.edits if repaired else ()
    cause = wrong.causes[0]
    moved = any(a.key.startswith("at.") for a in bench.assumed)  # the word would contain an assumed address
    fix = str(cause.fix) if cause.fix and not moved else ""
    return CheckFinding(cause.code, f"{head} {cause.message}", span, reads, edits, fix, assumed, follows)


def _describe_wrong_elements(mismatches: list[tuple[VerifiedOperand, OperandStep]]) -> str:
    """Describe how many elements the first operand reads from wrong addresses, and which operands do the same."""
    operand, wrong = mismatches[0]
    turns = ", ".join(f"{name} = {value}" for name, value in wrong.loops.items())
    where = f"{operand.name.upper()} of {operand.instruction}" + (f" at {turns}" if turns else "")
    lost = wrong.total - wrong.matched
    if not lost:
        return f"{where}."
    head = f"{where}: {lost:,} of {wrong.total:,} elements are read from the wrong place."
    others = dict.fromkeys(other.name.upper() for other, _ in mismatches if other.name != operand.name)
    return f"{head} So are those of {join_words(list(others))}." if others else head


def find_wrong_versions(bench: Workbench, blame: BlameFinder) -> Iterator[CheckFinding]:
    """Yield descriptors that read the right bytes and lack a constant of their format: PTX ISA 9.1, 9.7.16.4.1."""
    for operand in bench.operands:
        for step in operand.steps:
            word = Descriptor(step.word, operand.form)
            for name, value in operand.form.constants.items():
                if step.verdict == "match" and (present := word.get_amount(name)) != value:
                    place = operand.form.format_place(name)
                    message = (
                        f"{operand.name.upper()} of {operand.instruction}: the {name} in {place} is {present}; it is"
                        f" {value} in every descriptor of {operand.form.reader}."
                    )
                    at = find_constant_place(blame, operand, step, name)
                    yield CheckFinding("version_wrong", message, at, len(operand.steps))


def find_assumed_starts(bench: Workbench, guesses: Guesses) -> tuple[int, list[OpenPoint]]:
    """Return (number of verified reads that depend on an assumed tile start, the open points for these starts)."""
    count, open_ = 0, []
    for operand in bench.operands:
        starts = tile_starts.list_assumed_starts(bench, operand) if operand.verdict == "match" else []
        alone = replace(bench, operands=(operand,)) if starts else bench
        if starts and (reads := count_verified(alone, guesses, partial(explain_mismatch_doubt, guesses))[0]):
            count += reads
            at = bench.pieces[operand.descriptor].spans[0]
            open_ += [OpenPoint(tile_starts.describe_assumed_start(operand, start), at) for start in starts]
    return count, open_


def list_unread_descriptors(
    bench: Workbench, built: Iterable[DescriptorBuilder], settled: Sequence[Span]
) -> list[OpenPoint]:
    """List descriptors that no known instruction reads. settled: the functions of which all reads are verified."""
    read = {n for operand in bench.operands for n in (operand.descriptor, *operand.others)}
    same = [_make_build_key(bench.pieces[n]) for n in read]  # the same word under another name: desc = m.raw
    without = [
        OpenPoint(f"{piece.title}: the descriptor that it builds is not checked.", span)
        for piece in bench.pieces
        if piece.kind == "descriptor" and not {"fields", "words"} & piece.facts.keys()
        for span in piece.spans
    ]
    if without or not any(True for _ in built):
        return without
    unread = [
        piece
        for n, piece in enumerate(bench.pieces)
        if piece.kind == "descriptor" and n not in read and _make_build_key(piece) not in same
        if not all(is_inside(span, settled) for span in piece.spans)
    ]
    return [OpenPoint(*describe_unread(piece)) for piece in unread]


def _make_build_key(piece: TextPiece) -> tuple[object, ...]:
    """Return a key that equal descriptor code has in common; the title for a piece without code."""
    facts = piece.facts
    return (facts["format"], dict(facts["fields"]), facts["start"]) if "fields" in facts else (piece.title,)


def _list_wrong_reads(bench: Workbench, wrong_steps: list[tuple[VerifiedOperand, OperandStep]]) -> Iterator[WrongRead]:
    """Yield the spans where operands get wrong descriptors, and the instruction that reads them if it occurs once."""
    counts = Counter(
        (operand.name.upper(), operand.instruction, step.span) for operand, _ in wrong_steps for step in operand.wrong
    )
    for (name, instruction, span), count in counts.items():
        yield WrongRead(f"{name} of {instruction}: {format_count(count, 'read')} from the wrong place.", span)
    for instruction, names in _group_names(counts).items():
        spans = [p.spans for p in bench.pieces if p.kind == "instruction" and p.facts.get("ptx") == instruction]
        if len(spans) == 1 and len(spans[0]) == 1:
            yield WrongRead(f"This instruction reads {join_words(names)} from the wrong place.", spans[0][0])


def _group_names(counts: Iterable[tuple[str, str, Span]]) -> dict[str, list[str]]:
    """Return the names of the operands that are read wrongly, by instruction."""
    names: dict[str, dict[str, None]] = {}
    for name, instruction, _ in counts:
        names.setdefault(instruction, {})[name] = None
    return {instruction: list(every) for instruction, every in names.items()}
