"""Kind "mma": random whole numbers packed by the fragment maps, executed, unpacked, compared with NumPy's product
exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import whole_product
from lanescope.app.hardware.device import ProductJob, RunDevice
from lanescope.app.hardware.product_inputs import (
    SEED,
    ProductInputs,
    build_shared_image,
    make_random_inputs,
    pack_scales,
    pack_values,
)
from lanescope.product.plan import DescribedSide, ProductPlan
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]


def execute_inputs(device: RunDevice, i: Instruction, a_from: str, inputs: ProductInputs) -> tuple[Array, int, str]:
    """Execute the product and return (D [product, row, col], copies of an element that disagree, source)."""
    ops = i.operands
    registers = {"c": pack_values(ops.get("c", ops["d"]), inputs.c)[None]}
    descriptors: dict[str, int] = {}
    image = None
    if ops["a"].sparsity:
        registers["e"] = inputs.metadata
    for name, values in inputs.scales.items():
        registers[f"{name}_data"] = pack_scales(i, name, values)[None]
    if i.family.by_descriptor:
        image, a_word, b_word = build_shared_image(i, inputs.stored_a[0] if a_from == "shared" else None, inputs.b[0])
        image, descriptors = image[None], {"b_desc": b_word}
        if a_from == "shared":
            descriptors["a_desc"] = a_word
    else:
        registers["b"] = pack_values(ops["b"], inputs.b)[None]
    if a_from != "shared":
        registers["a"] = pack_values(ops["a"], inputs.stored_a)[None]
    raw, source = device.product(ProductJob(i, a_from, registers, descriptors, image))
    bits, disagree = fragment_words.unpack(ops["d"], raw[0, 0])
    d = fragment_words.decode_bits(bits, ops["d"].element.name)
    return (np.moveaxis(d, -1, 0) if d.ndim == 3 else d[None]), disagree, source


def run_mma(
    device: RunDevice,
    i: Instruction,
    a_from: str = "registers",
    seed: int = SEED,
    data: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run one product: predicted and measured D [row][col] ([product][row][col] for m8n8k4 f16) and every element that
    differs.

    Random matrices are compared exactly, a user's `data` within the accumulator's rounding.
    """
    inputs = make_random_inputs(i, seed, data=data)
    d, disagree, source = execute_inputs(device, i, a_from, inputs)
    return compare_products(
        inputs.compute_expected(i), d, disagree, source, inputs.compute_tolerance(i) if data else 0.0
    )


def run_plan(
    device: RunDevice, plan: ProductPlan, seed: int = SEED, data: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Run one whole product: predicted and measured D, every element that differs, and the operands' descriptors."""
    inputs = whole_product.build_inputs(plan, seed, data)
    staged = whole_product.stage_inputs(plan, inputs)
    memory, source = device.program(plan, staged)
    tolerance = inputs.compute_tolerance(plan.instruction) if data else 0.0
    answer = compare_products(
        whole_product.compute_expected(plan, inputs), whole_product.unpack_d(plan, memory), 0, source, tolerance
    )
    answer |= {
        "descriptors": {
            side.letter: whole_product.list_descriptors(side, plan.steps)
            for side in (plan.a, plan.b)
            if isinstance(side, DescribedSide)
        }
    }
    return answer | {"immediates": plan.immediates, "steps": plan.steps, "options": plan.options}


def compare_products(
    expected: Array, got: Array, disagree: int, source: str, tolerance: Array | float
) -> dict[str, Any]:
    """Compare D as expected and as measured, [product, row, col], and return the answer."""
    batched = len(expected) > 1
    wrong = np.argwhere(~(np.abs(got - expected) <= tolerance))
    mismatches = [
        ({"product": int(p)} if batched else {})
        | {
            "row": int(r),
            "col": int(c),
            "expected": _encode_number(expected[p, r, c]),
            "got": _encode_number(got[p, r, c]),
        }
        for p, r, c in wrong
    ]
    return {
        "predicted": expected if batched else expected[0],
        "measured": got if batched else got[0],
        "mismatches": mismatches,
        "copies_that_differ": disagree,
        "compared": int(expected.size),
        "agrees": not mismatches and not disagree,
        "source": source,
    }


def _encode_number(value: Any) -> float | str:
    return float(value) if np.isfinite(value) else str(value)
