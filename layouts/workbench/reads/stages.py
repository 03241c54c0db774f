"""Pipeline stages that share bytes: filling one overwrites what another reads.

`verification.py` calls `mark_shared_stages` when all steps of an operand have a verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.slice_order import is_stage
from lanescope.workbench.results import OperandStep


def mark_shared_stages(
    operand: str, steps: Sequence[OperandStep], used: Sequence[DescriptorUse], view: View, endless: Collection[str]
) -> list[OperandStep]:
    """Mark the steps of a stage as wrong if it shares some of an earlier stage's bytes, but not all.

    A stage that begins where an earlier one did is the same stage; what one turn reads may be windows that overlap.
    used: the use of each step; endless: variables of loops whose end the text does not give; in other loops, if no name
    says stage, a part of one tile may follow another.
    """
    marked = list(steps)
    if any(step.verdict == "mismatch" for step in steps):  # the bytes that are read are unknown
        return marked
    chunks_of, turns = _list_chunks(steps, used, view, endless)
    first = min(chunks_of, default=0)
    for stage in chunks_of:
        if turns[stage] != turns[first] and (message := _do_overlap(operand, chunks_of, first, stage)):
            for n, step in enumerate(marked):
                if step.stage == stage and step.verdict == "match":
                    marked[n] = replace(step, verdict="mismatch", causes=(Diagnosis("stages_overlap", message),))
    return marked


def _list_chunks(
    steps: Sequence[OperandStep], used: Sequence[DescriptorUse], view: View, endless: Collection[str]
) -> tuple[dict[int, set[int]], dict[int, tuple[int, ...]]]:
    """Map each stage to the 16-byte chunks that its steps read, and to its turn of the loops over stages."""
    chunks_of: dict[int, set[int]] = {}
    turns: dict[int, tuple[int, ...]] = {}
    for step, use in zip(steps, used, strict=True):
        turn = tuple(value for name, value in use.loops if is_stage(name) or name.rstrip("'") in endless)
        if turn:
            turns.setdefault(step.stage, turn)
            chunks_of.setdefault(step.stage, set()).update(
                np.unique(reads(Descriptor(step.word, view.form), view) // 16).tolist()
            )
    return chunks_of, turns


def _do_overlap(operand: str, chunks_of: Mapping[int, set[int]], first: int, stage: int) -> str:
    """Describe the bytes that a stage shares with the first one; "" if none or if both are one stage."""
    earlier, later = chunks_of[first], chunks_of[stage]
    shared = len(earlier & later)
    again = min(earlier) == min(later) and later <= earlier  # of the last some steps may be left out
    if not shared or again:
        return ""
    distance, wide = 16 * abs(min(later) - min(earlier)), 16 * len(earlier)
    return (
        f"Stage {stage} of {operand.upper()} begins {distance} bytes after stage {first}, and a stage has {wide}:"
        f" {16 * shared} bytes belong to both. What fills the one overwrites the other: place stages {wide} bytes"
        " apart."
    )
