"""Findings of reads from bytes that no TMA copy fills; the reads of what is not certain have no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.copies.filled_tiles import find_lost
from lanescope.workbench.copies.placed_reads import EVERY_GROUP, ReadPlace
from lanescope.workbench.copies.unfilled_reads import FOREIGN, MIXED, UNAWAITED, UNFILLED, UnfilledRead
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.repair.blamed_numbers import find_argument_span, follow_number
from lanescope.workbench.repair.blamed_terms import find_pointer_value
from lanescope.workbench.results import Span, VerifiedOperand, Workbench

TITLES = {
    "bytes_not_copied": "An instruction reads bytes that no TMA copy fills",
    "tma_tile_part": "The TMA copies fill a part of the tile",
}


def leave_open(bench: Workbench, unfilled: Sequence[UnfilledRead]) -> Workbench:
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
            MIXED: "that copies with different elements of K fill, such as two stages",
        }
        return f"{who[0].upper()}{who[1:]} reads {name} from bytes of {read.buffer} {how[read.reason]}."
    if not read.fills:
        return f"No TMA copy of the kernel fills {read.buffer}, which is read as {name}."
    lost = 16 * (read.filled.total - read.filled.filled)
    return (
        f"No TMA copy fills {lost:,} of the {16 * read.filled.total:,} bytes of {read.buffer} that {who} reads as"
        f" {name}."
    )


def make_pitfalls(text: KernelText, bench: Workbench, unfilled: Sequence[UnfilledRead], awaited: bool) -> list[Pitfall]:
    """Return a finding for every buffer with reads that certainly are of bytes that no copy fills, at the first one; of
    a missing wait one for all buffers that it is for.

    awaited: whether a barrier expects other bytes than its copies bring: then a box that is too small is to blame.
    """
    firsts: dict[object, UnfilledRead] = {}
    for read in unfilled:
        if read.certain:
            firsts.setdefault((read.event.calls[:1], *_name_mistake(read)), read)
    boxes = {key: tensor_map for key, read in firsts.items() if (tensor_map := _find_small_box(read, awaited))}
    small = {firsts[key].operand for key in boxes}
    alike = len(small) > 1 and len({tensor_map.span for tensor_map in boxes.values()}) == 1
    found = []
    for key, read in firsts.items():
        if key in boxes:
            found.append(
                Pitfall("tma_tile_part", _explain(read), _find_box_place(text, bench, read, boxes[key], alike))
            )
        else:
            at = text.narrow_event(read.event, read.span, "threadIdx" if read.group > 0 else "")
            if read.reason == MIXED:
                at = find_pointer_value(text.blank, at)
            found.append(Pitfall("bytes_not_copied", _explain(read), at))
    return found


def _name_mistake(read: UnfilledRead) -> tuple[object, ...]:
    if read.reason == UNAWAITED and read.group == EVERY_GROUP:
        return UNAWAITED, frozenset(fill.copy.barrier.partition(" ")[0] for fill in read.fills)
    return read.operand, read.buffer


def _find_small_box(read: UnfilledRead, awaited: bool) -> TensorMap | None:
    """Return the map of the one copy of a tile that is too small: if it ends where the next warpgroup begins, or if its
    barrier expects more; None if the address is to blame.
    """
    sites = {fill.copy.event.at: fill.map for fill in read.fills}
    sizes = {fill.size for fill in read.fills}
    if len(sites) != 1 or read.reason != UNFILLED or not (awaited or read.group_step in (0, *sizes)):
        return None
    return next(iter(sites.values()))


def _find_box_place(text: KernelText, bench: Workbench, read: UnfilledRead, tensor_map: TensorMap, alike: bool) -> Span:
    """Find the argument of cuTensorMapEncodeTiled that sets a box dimension, else where the map is made; if one operand
    alone lacks a panel, the copy: a second one is missing.

    alike: whether the boxes of both operands are too small: then the function that makes both is to blame, not its
    arguments.
    """
    lost = find_lost(bench, read.operand)
    wide = lost is not None and lost.key.startswith("panel.")
    if wide and not alike:
        return read.fills[0].copy.event.at
    at = find_argument_span(text.blank, tensor_map.span, 6)
    if at is None or "ncode" not in tensor_map.source:
        return tensor_map.span
    return follow_number(text.blank, at, () if alike else tensor_map.calls, 0 if wide else 1)
