"""Stages of a pipeline that share bytes: what one stage reads is written over while the next is filled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.workbench.found import Step
from lanescope.workbench.order import staged
from lanescope.workbench.uses import Use


def apart(operand: str, steps: Sequence[Step], used: Sequence[Use], seen: View, endless: Collection[str]) -> list[Step]:
    """The steps, those of a stage wrong that shares some of an earlier one's bytes, but not all: a stage that begins
    where an earlier one did is that one again. used: the use of each step; endless: variables of loops without an end
    that the text knows; in other loops, if no name says stage, a part of one tile may follow another.
    """
    out = list(steps)
    if any(step.verdict == "mismatch" for step in steps):  # what is read may lie anywhere
        return out
    bytes_of: dict[int, set[int]] = {}
    for step, use in zip(steps, used, strict=True):
        if staged(use) or any(name.rstrip("'") in endless for name, _ in use.loops):
            chunks = np.unique(reads(Descriptor(step.word), seen) // 16).tolist()
            bytes_of.setdefault(step.stage, set()).update(chunks)
    first = min(bytes_of, default=0)
    begins = {stage: min(chunks) for stage, chunks in bytes_of.items()}
    for stage, chunks in bytes_of.items():
        shared = len(chunks & bytes_of[first])
        again = begins[stage] == begins[first] and chunks <= bytes_of[first]  # of the last some steps may be left out
        if stage == first or not shared or again:
            continue
        distance, wide = 16 * abs(begins[stage] - begins[first]), 16 * len(bytes_of[first])
        says = (
            f"Stage {stage} of {operand.upper()} begins {distance} bytes after stage {first}, and a stage has {wide}:"
            f" {16 * shared} bytes belong to both. What fills the one overwrites the other: place stages {wide} bytes"
            " apart."
        )
        for n, step in enumerate(out):
            if step.stage == stage and step.verdict == "match":
                out[n] = replace(step, verdict="mismatch", causes=(Diagnosis("stages_overlap", says),))
    return out
