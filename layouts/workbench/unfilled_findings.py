"""Findings of reads from bytes that no TMA copy fills; the reads of what is not certain have no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.filled_tiles import find_box_argument
from lanescope.workbench.kernel_runs import KernelText
from lanescope.workbench.placed_reads import EVERY_GROUP, ReadPlace
from lanescope.workbench.results import Bench, Span, VerifiedOperand
from lanescope.workbench.unfilled_reads import FOREIGN, UNAWAITED, UNFILLED, UnfilledRead

TITLES = {"bytes_not_copied": "An instruction reads bytes that no TMA copy fills"}


def leave_open(bench: Bench, unfilled: Sequence[UnfilledRead]) -> Bench:
    """Return the bench without verdicts on reads of bytes that no copy fills, and with the reason."""
    reasons: dict[ReadPlace, str] = {}
    for read in unfilled:
        reasons.setdefault(read.place, _explain(read))
    return replace(bench, operands=tuple(_leave_operand_open(operand, reasons) for operand in bench.operands))


def _leave_operand_open(operand: VerifiedOperand, reasons: Mapping[ReadPlace, str]) -> VerifiedOperand:
    found = [reasons.get((operand.name, step.span, step.around), "") for step in operand.steps]
    if not any(reason and step.verdict == "match" for reason, step in zip(found, operand.steps, strict=True)):
        return operand
    steps = tuple(
        replace(step, verdict="unknown") if reason and step.verdict == "match" else step
        for reason, step in zip(found, operand.steps, strict=True)
    )
    return replace(operand, steps=steps, missing=(*dict.fromkeys(filter(None, found)), *operand.missing))


def _explain(read: UnfilledRead) -> str:
    """Explain which bytes no copy fills, as a sentence."""
    name, reader = read.operand.upper(), f"warpgroup {read.group}"
    who = "the instruction" if read.group == EVERY_GROUP else reader
    if read.reason != UNFILLED:
        how = {
            UNAWAITED: "whose copy it has not waited for",
            FOREIGN: "that are filled from another tensor map",
        }
        return f"{who[0].upper()}{who[1:]} reads {name} from bytes of {read.buffer} {how[read.reason]}."
    if not read.fills:
        return f"No TMA copy of the kernel fills {read.buffer}, which is read as {name}."
    lost = 16 * (read.filled.total - read.filled.filled)
    return (
        f"No TMA copy fills {lost:,} of the {16 * read.filled.total:,} bytes of {read.buffer} that {who} reads as"
        f" {name}."
    )


def make_pitfalls(text: KernelText, unfilled: Sequence[UnfilledRead]) -> list[Pitfall]:
    """Return a finding for every buffer with reads that certainly are of bytes that no copy fills, at the first one;
    of a missing wait one for all buffers that it is for.
    """
    firsts: dict[object, UnfilledRead] = {}
    for read in unfilled:
        if read.certain:
            firsts.setdefault((read.event.calls[:1], *_name_mistake(read)), read)
    found = [(read, _find_place(text, read)) for read in firsts.values()]
    return [Pitfall("bytes_not_copied", _explain(read), at) for read, at in found]


def _name_mistake(read: UnfilledRead) -> tuple[object, ...]:
    if read.reason == UNAWAITED and read.group == EVERY_GROUP:
        return UNAWAITED, frozenset(fill.copy.barrier.partition(" ")[0] for fill in read.fills)
    return read.operand, read.buffer


def _find_place(text: KernelText, read: UnfilledRead) -> Span:
    """Find the number to blame: the box, if its one copy ends where the next warpgroup begins; else the address."""
    boxes = {fill.copy.event.at: fill.map for fill in read.fills}
    tensor_map = next(iter(boxes.values()), None)
    sizes = {fill.size for fill in read.fills}
    if len(boxes) == 1 and tensor_map is not None and read.group_step in (0, *sizes) and read.reason == UNFILLED:
        return find_box_argument(text, tensor_map, False, 1)
    return text.narrow_event(read.event, read.span, "threadIdx" if read.group > 0 else "")
