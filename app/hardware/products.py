"""Kind "mma": random whole numbers packed by the fragment maps, executed, unpacked, compared with NumPy's product
exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import numbers, whole
from lanescope.app.hardware.device import Device, Product
from lanescope.app.hardware.product_inputs import SEED, Inputs, inputs, pack, scale_words, shared_image
from lanescope.product.plan import Described, Plan
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]


def run_inputs(device: Device, i: Instruction, a_from: str, given: Inputs) -> tuple[Array, int, str]:
    """(D [product, row, col], copies of an element that disagree, source)."""
    ops = i.operands
    registers = {"c": pack(ops.get("c", ops["d"]), given.c)[None]}
    descriptors: dict[str, int] = {}
    image = None
    if ops["a"].sparsity:
        registers["e"] = given.metadata
    for name, values in given.scales.items():
        registers[f"{name}_data"] = scale_words(i, name, values)[None]
    if i.family.by_descriptor:
        image, a_word, b_word = shared_image(i, given.stored_a[0] if a_from == "shared" else None, given.b[0])
        image, descriptors = image[None], {"b_desc": b_word}
        if a_from == "shared":
            descriptors["a_desc"] = a_word
    else:
        registers["b"] = pack(ops["b"], given.b)[None]
    if a_from != "shared":
        registers["a"] = pack(ops["a"], given.stored_a)[None]
    raw, source = device.product(Product(i, a_from, registers, descriptors, image))
    bits, disagree = numbers.unpack(ops["d"], raw[0, 0])
    got = numbers.decode(bits, ops["d"].element.name)
    return (np.moveaxis(got, -1, 0) if got.ndim == 3 else got[None]), disagree, source


def run(
    device: Device,
    i: Instruction,
    a_from: str = "registers",
    seed: int = SEED,
    data: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One product: predicted and measured D [row][col] ([product][row][col] for m8n8k4 f16) and every element that
    differs.

    Random matrices are compared exactly, a user's `data` within the accumulator's rounding.
    """
    made = inputs(i, seed, data=data)
    got, disagree, source = run_inputs(device, i, a_from, made)
    return compared(made.expected(i), got, disagree, source, made.tolerance(i) if data else 0.0)


def run_plan(device: Device, plan: Plan, seed: int = SEED, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One whole product: predicted and measured D, every element that differs, and how the operands lay."""
    given = whole.inputs(plan, seed, data)
    staged = whole.stage(plan, given)
    memory, source = device.program(plan, staged)
    tolerance = given.tolerance(plan.instruction) if data else 0.0
    told = compared(whole.expected(plan, given), whole.d_values(plan, memory), 0, source, tolerance)
    told |= {
        "descriptors": {
            side.letter: whole.words(side, plan.steps) for side in (plan.a, plan.b) if isinstance(side, Described)
        }
    }
    return told | {"immediates": plan.immediates, "steps": plan.steps, "options": plan.options}


def compared(wanted: Array, got: Array, disagree: int, source: str, tolerance: Array | float = 0.0) -> dict[str, Any]:
    """D as it should be and as it came, [product, row, col], as an answer."""
    several = len(wanted) > 1
    wrong = np.argwhere(~(np.abs(got - wanted) <= tolerance))
    mismatches = [
        ({"product": int(p)} if several else {})
        | {"row": int(r), "col": int(c), "expected": _plain(wanted[p, r, c]), "got": _plain(got[p, r, c])}
        for p, r, c in wrong
    ]
    return {
        "predicted": wanted if several else wanted[0],
        "measured": got if several else got[0],
        "mismatches": mismatches,
        "copies_that_differ": disagree,
        "compared": int(wanted.size),
        "agrees": not mismatches and not disagree,
        "source": source,
    }


def _plain(value: Any) -> float | str:
    return float(value) if np.isfinite(value) else str(value)
