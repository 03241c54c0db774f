"""Relate causes across steps: name a repeated mistake once, and find warps that multiply the same slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lanescope.capture.slice_order import INFERRED
from lanescope.capture.verdict import StepVerdict
from lanescope.descriptor.case import Diagnosis

Moved = frozenset[tuple[str, int]]  # field → change of its encoded value
Who = tuple[str, tuple[int, ...]]  # "warp" or "warpgroup", its block and its number there


class CauseNames:
    """The causes at each place in a program, by the change that repairs them.

    The first wrong step of a loop is the least ambiguous, so later steps with the same repair get its cause.
    """

    def __init__(self) -> None:
        self.first_causes: dict[tuple[object, ...], dict[Moved, tuple[int, Diagnosis]]] = {}

    def unify_causes(
        self, place: tuple[object, ...], index: int, causes: tuple[Diagnosis, ...]
    ) -> tuple[Diagnosis, ...]:
        """Return the causes of a step; the first one is replaced by an earlier cause with the same repair."""
        if not causes or not causes[0].changes:
            return causes
        moved = frozenset((name, needed - actual) for name, (actual, needed) in causes[0].changes.items())
        first, cause = self.first_causes.setdefault(place, {}).setdefault(moved, (index, causes[0]))
        if cause.code == causes[0].code:
            return causes
        message = f"The same change as in step {first} repairs it."
        away = dict(moved).get("start_address", 0) * -16
        if len(moved) == 1 and away:
            message = (
                f"The start is {abs(away):,} bytes {'past' if away > 0 else 'before'} the slice, as in step {first}."
            )
        return (replace(causes[0], code=cause.code, message=message), *causes[1:])


def find_duplicate_notes(verdicts: Sequence[StepVerdict]) -> list[str]:
    """Return a note if warps, warpgroups or blocks multiply the same slices, which may be intended."""
    steps_by_issuer: dict[Who, list[StepVerdict]] = {}
    for step in verdicts:
        kind, warps = ("warpgroup", 4) if step.record.kind == "wgmma" else ("warp", 1)
        if len(step.operands) != 2 or any(operand.part.by != INFERRED for operand in step.operands):
            return []
        steps_by_issuer.setdefault((kind, (*step.record.block, step.record.warp // warps)), []).append(step)
    same: dict[frozenset[tuple[int, ...]], list[Who]] = {}
    for who, steps in steps_by_issuer.items():
        slices = frozenset((*(operand.part.mn for operand in step.operands), step.operands[0].part.k) for step in steps)
        same.setdefault(slices, []).append(who)
    for several in same.values():
        if len(several) > 1:
            which = [
                f"{kind} {issuer[3]} of block {', '.join(map(str, issuer[:3]))}" for kind, issuer in sorted(several)[:2]
            ]
            return [
                f"{which[0].capitalize()} and {which[1]} multiply the same slices. If each should have its own tile,"
                " state m, n, k (the macros' …_AT forms)."
            ]
    return []
