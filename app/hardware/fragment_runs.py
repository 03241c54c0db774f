"""Kind "fragment": a map measured without using the map under test.

wmma, ldmatrix, stmatrix and movmatrix move elements that carry their own index, one bit of it a run. In mma every
register slot of A is set alone while B's slots carry their number: D shows which slot of B met it, and where. wgmma's D
and A are measured against the memory order of the operands that its descriptors read. Metadata: every nibble of every
thread is toggled, and the group that moves shows in D.

No run can see that renumbering the rows of A and D alike (or the columns of B and D, or K in A and B) changes nothing
that an mma.sync computes. There a map is judged in the numbering of the other two operands' maps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.app.hardware.device import RunDevice
from lanescope.app.hardware.measurement import MeasuredMap
from lanescope.app.hardware.metadata_maps import measure_metadata
from lanescope.app.hardware.mma_maps import measure_addend, measure_partners
from lanescope.app.hardware.movement_maps import measure_rows, measure_transpose, measure_wmma
from lanescope.app.hardware.wgmma_maps import measure_accumulator, measure_multiplicand
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, OperandFeed, OperandPlace


def list_measurable(i: Instruction) -> tuple[str, ...]:
    """List the operands whose map can be measured."""
    if i.family.moves:
        return ("d",)
    if i.family.multiplies and i.family.specified:
        registers = ("d", "a") if i.family.by_descriptor else ("a", "b", "c", "d")
        return (*registers, *(("e",) if i.operands["a"].sparsity else ()))
    return tuple(i.operands)


def explain_unmeasured(i: Instruction) -> str:
    """Return why no run measures its maps, "" if one does."""
    if i.family.unpacks:
        return "unpacks 4- and 6-bit elements"
    return "moves tensor memory" if i.family.tensor else ""


def measure_operand(device: RunDevice, i: Instruction, operand: str) -> MeasuredMap:
    """Measure one operand's map; LayoutError names those that can be."""
    if operand not in list_measurable(i):
        raise LayoutError(
            "unknown_operand",
            f"No fragment run for operand '{operand}' of {i.ptx}.",
            f"Allowed: {', '.join(list_measurable(i))}.",
            "operand",
        )
    if why := explain_unmeasured(i):
        raise LayoutError(
            "unsupported_here",
            f"{i.ptx} {why}: no fragment run is known for it.",
            "Choose a b16 or b8 form.",
            "instruction",
        )
    if not i.family.specified:
        return measure_wmma(device, i, operand)
    if i.family.memory is OperandPlace.ROWS:
        return measure_rows(device, i)
    if i.family.moves:
        return measure_transpose(device, i)
    if operand == "e":
        return measure_metadata(device, i)
    if i.family.by_descriptor:
        return measure_accumulator(device, i) if operand == "d" else measure_multiplicand(device, i)
    if operand == "c":
        return measure_addend(device, i)
    return measure_partners(device, i)[operand]


def measure_all(device: RunDevice, i: Instruction) -> list[MeasuredMap]:
    """Measure every operand; the shared experiment of A, B and D runs once."""
    if i.family.multiplies and i.family.feed is OperandFeed.MAP:
        partners = measure_partners(device, i)
        rest = [measure_operand(device, i, name) for name in list_measurable(i) if name not in partners]
        return [*partners.values(), *rest]
    return [measure_operand(device, i, name) for name in list_measurable(i)]


def run_fragment(device: RunDevice, i: Instruction, operand: str = "") -> dict[str, Any]:
    """Return one operand's map, predicted and measured, and every (thread, value) that differs."""
    measured_map = measure_operand(device, i, operand or list_measurable(i)[0])
    mismatches = [
        {
            "thread": int(t),
            "value": int(v),
            "expected": [int(measured_map.predicted[x][t, v]) for x in measured_map.axes],
            "got": [int(measured_map.measured[x][t, v]) for x in measured_map.axes],
        }
        for t, v in np.argwhere(measured_map.wrong)
    ]
    return {
        "operand": measured_map.operand,
        "axes": list(measured_map.axes),
        "predicted": measured_map.predicted,
        "measured": measured_map.measured,
        "mismatches": mismatches,
        "compared": int(measured_map.wrong.size),
        "agrees": not mismatches,
        "source": measured_map.source,
    }
