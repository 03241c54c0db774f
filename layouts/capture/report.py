"""The result of verifying a capture, and its report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.bits import format_word
from lanescope.capture.accumulators import Accumulator
from lanescope.capture.causes import CaptureCause, find_causes
from lanescope.capture.operand_codes import NONE, SEVERAL
from lanescope.capture.recorded_operands import UnverifiedRecord
from lanescope.capture.verdict import LoadedRows, OperandPicture, OperandVerdict, StepVerdict
from lanescope.descriptor.causes import TITLES
from lanescope.inputs import join_words

MOST_ROWS = 48  # steps in the printed table
MOST_CAUSES = 4


@dataclass(frozen=True, slots=True)
class Verified:
    """The verification of a capture.

    source: "fills" or "matrices"; left: number of steps not verified; picture: the first wrong operand; opening:
    the first operand.
    """

    steps: tuple[StepVerdict, ...]
    accumulators: tuple[Accumulator, ...]
    loads: tuple[LoadedRows, ...]
    unread: tuple[UnverifiedRecord, ...]
    notes: tuple[str, ...]
    source: str
    records: int
    dropped: int
    left: int
    picture: OperandPicture | None = None
    opening: OperandPicture | None = None

    @property
    def wrong(self) -> tuple[StepVerdict, ...]:
        """The wrong steps, in order."""
        return tuple(step for step in self.steps if not step.ok)

    @property
    def first_wrong(self) -> StepVerdict | None:
        return next(iter(self.wrong), None)

    @property
    def verdict(self) -> str:
        """ "match"; "mismatch" if a step or an accumulator is wrong; "unknown" if not all steps were verified."""
        if self.wrong or any(accumulator.verdict == "mismatch" for accumulator in self.accumulators):
            return "mismatch"
        return "match" if self.steps and not self.unread and not self.left else "unknown"

    @property
    def ok(self) -> bool:
        """Whether all recorded steps are right."""
        return self.verdict == "match"

    @property
    def text(self) -> str:
        """The verdict, one line per cause, and every step."""
        return render_report(self)

    def __str__(self) -> str:
        return self.text


def summarize_verdict(verified: Verified) -> str:
    """Return the verdict as a sentence."""
    if not verified.steps:
        return "Nothing could be verified."
    count, wrong = len(verified.steps), len(verified.wrong)
    noun = "instruction" if count == 1 else "instructions"
    if not wrong:
        bad = sum(accumulator.verdict == "mismatch" for accumulator in verified.accumulators)
        right = f"{'The' if count == 1 else f'All {count:,}'} recorded {noun} read{'s' if count == 1 else ''} the right"
        if bad:
            return f"{right} slices of A and B, but {bad} of {len(verified.accumulators)} accumulators are wrong."
        also = f"; {_format_unread(len(verified.unread))}" if verified.unread else ""
        return f"{right} slices of A and B{also}."
    first = verified.wrong[0]
    return (
        f"{wrong:,} of {count:,} recorded {noun} read{'s' if wrong == 1 else ''} a wrong slice, first step"
        f" {first.index} at {first.record.where}."
    )


def _format_unread(count: int, more: str = "") -> str:
    return f"{count:,} {more}record{'' if count == 1 else 's'} could not be verified"


def render_report(verified: Verified, every: bool = True) -> str:
    """Return the report: the verdict, one line per cause and, with `every` or if nothing is wrong, every step."""
    return "\n".join([f"{verified.verdict}: {summarize_verdict(verified)}", *_render_lines(verified, every)])


def _render_lines(verified: Verified, every: bool) -> Iterator[str]:
    for cause in find_causes(verified.steps):
        yield f"  {format_cause(cause)}"
    if verified.steps and (every or verified.first_wrong is None):
        yield from _render_k_loop(verified)
    if verified.first_wrong is not None and every:
        yield from render_first_wrong(verified.first_wrong)
    yield from render_accumulators(verified)
    for skipped in verified.unread[:MOST_CAUSES]:
        yield f"  ! {skipped.record.where}: {skipped.reason}"
    if len(verified.unread) > MOST_CAUSES:
        yield f"  ! … {_format_unread(len(verified.unread) - MOST_CAUSES, 'more ')}"
    for note in verified.notes:
        yield f"  ! {note}"


def format_cause(cause: CaptureCause) -> str:
    """Return a line for a mistake: operand, number of steps, line of the first step, cause and repair."""
    steps = f"{cause.count:,} of {cause.total:,} steps" if cause.total > 1 else "the step"
    sentence = f"{cause.whose}: {steps}, first step {cause.first.index} at {cause.first.record.where}"
    return f"{sentence}. {TITLES.get(cause.code, 'Other elements are read')} ({cause.code}). {_format_repair(cause)}"


def _format_repair(cause: CaptureCause) -> str:
    """Return the right words, or the diagnosis if no word repairs it."""
    words = [f"desc_{name} {format_word(had)} → {format_word(fix)}" for name, (had, fix) in cause.repairs.items()]
    return f"Repair: {', '.join(words)}" if words else cause.message


def _render_k_loop(verified: Verified) -> Iterator[str]:
    """Yield the K loop, one line per step, with wrong steps marked."""
    several = len({(step.record.block, step.record.thread) for step in verified.steps}) > 1
    width = max(len(step.record.where) for step in verified.steps)
    listed = (
        list(verified.steps)
        if len(verified.steps) <= MOST_ROWS
        else [s for s in verified.steps if not s.ok][:MOST_ROWS]
    )
    for step in listed:
        who = f"  block {','.join(map(str, step.record.block))} warp {step.record.warp}" if several else ""
        parts = "  ".join(format_state(operand) for operand in step.operands)
        codes = ", ".join(dict.fromkeys(cause.code for cause in step.causes))
        line = f"  {'✓' if step.ok else '✗'} step {step.index:<3} {step.record.where:<{width}}{who}  {parts}"
        yield (line + (f"  {codes}" if codes else "")).rstrip()
    if len(listed) < len(verified.steps):
        yield f"  … {len(verified.steps) - len(listed):,} more"


def format_state(operand: OperandVerdict) -> str:
    """Return the state of an operand of a step in a few words."""
    letter = "m" if operand.name == "a" else "n"
    part = f"{operand.name.upper()}[{letter} {operand.part.mn}, k {operand.part.k}]"
    return f"{part} right" if operand.ok else f"{part} {operand.total - operand.right:,} of {operand.total:,} wrong"


def format_element(name: str, at: tuple[int, int]) -> str:
    """Return an element of A or B in mathematical notation."""
    if NONE in at:
        return "not an element of it"
    if SEVERAL in at:
        return "a value that several elements have"
    return f"{name.upper()}[{at[0]},{at[1]}]" if name == "a" else f"{name.upper()}[{at[1]},{at[0]}]"


def format_wrong_element(operand: OperandVerdict) -> str:
    """Return a sentence on the first wrong element: the address that was read, and the right one."""
    if operand.first is None:
        return ""
    w = operand.first
    at = "" if w.address is None else f" from {w.address:#x}"
    place = {
        None: "",
        NONE: "; that value is not in the recorded memory",
        SEVERAL: "; that value occurs there more than once",
    }.get(w.stored_at, f", which is at {w.stored_at:#x}" if w.stored_at is not None else "")
    inside = f"({w.row}, {w.k})" if operand.name == "a" else f"({w.k}, {w.row})"
    name = operand.name
    return (
        f"element {inside} of the instruction's {name.upper()} is {format_element(name, w.read)}{at}; it should be"
        f" {format_element(name, w.expected)}{place}"
    )


def render_first_wrong(step: StepVerdict) -> Iterator[str]:
    """Yield lines on the first wrong step: the elements read, the tile's storage, causes and repairs."""
    yield f"first wrong: step {step.index}, {step.record.where}, {step.ptx}"
    for operand in step.operands:
        if operand.ok:
            continue
        yield f"  {format_wrong_element(operand)}"
        letter = "m" if operand.name == "a" else "n"
        yield f"  the slice at {letter} = {operand.part.mn}, k = {operand.part.k} is {operand.part.by}"
        if operand.stored is not None:
            yield f"  {operand.name.upper()} is stored as {operand.stored_text}{format_origin(operand)}"
        for cause in operand.diagnoses[:MOST_CAUSES]:
            yield f"  {cause.code}: {cause.message}"
        fix = next((cause.fix for cause in operand.diagnoses if cause.fix is not None), None)
        if fix is not None and operand.word is not None:
            yield f"  repair: desc_{operand.name} {format_word(operand.word)} → {fix}"


def format_origin(operand: OperandVerdict) -> str:
    """Return the origin of the tile's indices if it is not the matrix's first element."""
    if operand.stored_at == (0, 0):
        return ""
    return f", counted from {'m' if operand.name == 'a' else 'n'} = {operand.stored_at[0]}, k = {operand.stored_at[1]}"


def render_accumulators(verified: Verified) -> Iterator[str]:
    """Yield lines on D compared with NumPy, one for all accumulators of a source line."""
    lines: dict[str, list[tuple[str, bool]]] = {}
    for accumulator in verified.accumulators:
        lines.setdefault(accumulator.record.where, []).append((accumulator.verdict, accumulator.as_read))
    for where, verdicts in lines.items():
        right = sum(verdict == "match" for verdict, _ in verdicts)
        if right == len(verdicts):
            yield f"  D at {where}: A · B in NumPy ({right} of {right} warps)"
            continue
        wrong = [as_read for verdict, as_read in verdicts if verdict == "mismatch"]
        if not wrong:
            yield f"  D at {where}: not verified; it may contain steps that were not recorded or could not be read"
            continue
        why = (
            "it is the product of the elements read"
            if all(wrong)
            else "and not of the elements read: steps are missing, or D did not begin at zero"
        )
        yield f"  D at {where}: not A · B ({join_words([f'{len(wrong)} of {len(verdicts)} warps'])}); {why}"
