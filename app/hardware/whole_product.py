"""A whole product by its plan: its inputs, the contents of global and shared memory, and D in memory.

A GPU runs the kernel of the program that the pages and `lanescope kernel` generate. The simulation (numpy_device.py)
stages A and B where the plan puts them and lets each instruction read through its descriptor or load, so that a wrong
descriptor gives a wrong product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import product_inputs
from lanescope.app.hardware.product_inputs import ProductInputs
from lanescope.product.plan import DescribedSide, ProductPlan, ProductSide, RowsSide, WmmaSide
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Operand
from lanescope.render import kernel_device

Array = NDArray[Any]


@dataclass(frozen=True)
class StagedProduct:
    """The input of a program: the matrices of the whole product, and the contents of global memory, by parameter."""

    inputs: ProductInputs
    memory: dict[str, Array]


def build_inputs(plan: ProductPlan, seed: int, data: Mapping[str, Any] | None) -> ProductInputs:
    """Build random whole numbers for every step of K, or a user's matrices; the metadata are [step, thread]."""
    random = _make_random_inputs(plan, seed)
    return (
        product_inputs.replace_matrices(plan.instruction, random, data, plan.selector, plan.steps) if data else random
    )


def _make_random_inputs(plan: ProductPlan, seed: int) -> ProductInputs:
    steps = [
        product_inputs.make_random_inputs(plan.instruction, seed + step, plan.selector) for step in range(plan.steps)
    ]
    first = steps[0]
    if plan.steps == 1:
        return first
    a, stored, b = (
        np.concatenate([getattr(x, name) for x in steps], axis) for name, axis in (("a", 2), ("stored_a", 2), ("b", 1))
    )
    return ProductInputs(a, stored, b, first.c, np.concatenate([x.metadata for x in steps]), first.scales)


def compute_expected(plan: ProductPlan, inputs: ProductInputs) -> Array:
    """Compute D by NumPy, from the matrices and the signs."""
    negative = plan.a.negated != plan.b.negated
    signed = replace(inputs, a=-inputs.a if negative else inputs.a, c=inputs.c if plan.accumulate else 0 * inputs.c)
    return signed.compute_expected(plan.instruction)


def stage_inputs(plan: ProductPlan, inputs: ProductInputs) -> StagedProduct:
    """Stage the contents of global memory, as the program's kernel reads it."""
    i = plan.instruction
    memory = {"A": order_lines(plan.a, inputs.stored_a), "B": order_lines(plan.b, inputs.b)}
    memory |= {
        "C": _pack_accumulator(plan, i.operands.get("c", i.operands["d"]), inputs.c),
        "E": inputs.metadata.astype(np.uint32),
    }
    memory |= {f"S{name[-1].upper()}": codes.astype(np.uint8) for name, codes in inputs.scales.items()}
    return StagedProduct(
        inputs,
        {name: np.ascontiguousarray(memory[name]) for name, _ in kernel_device.list_parameters(plan) if name in memory},
    )


def order_lines(side: ProductSide, matrix: Array) -> Array:
    """Order a multiplicand [product, …] as in memory: [line, unit] of unsigned units."""
    transposed = (side.letter == "a") != (side.major == "K")  # A is [m, k], B [k, n]
    bits = fragment_words.encode_values(np.swapaxes(matrix, 1, 2) if transposed else matrix, side.element.name).reshape(
        side.lines, -1
    )
    if side.per_unit > 1:
        shifts = np.arange(0, 8, side.container_bits, dtype=np.uint64)
        bits = np.bitwise_or.reduce(bits.reshape(side.lines, -1, side.per_unit) << shifts, axis=2)
    else:
        bits = bits << np.uint64(side.padding_below)
    return bits.astype(_get_unsigned_type(side.unit_bytes))


def _get_unsigned_type(size: int) -> Any:
    return {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size]


def _pack_accumulator(plan: ProductPlan, op: Operand, values: Array) -> Array:
    """Pack C [product, m, n] as in memory: the bits of its elements."""
    bits = fragment_words.encode_values(values, op.element.name).astype(_get_unsigned_type(op.element.bits // 8))
    if not plan.d_ldm:
        return bits
    lines = bits[0] if plan.d_layout == "row" else bits[0].T
    memory = np.zeros((lines.shape[0], plan.d_ldm), bits.dtype)
    memory[:, : lines.shape[1]] = lines
    return memory


def allocate_d(plan: ProductPlan) -> Array:
    """Allocate zeroed memory for D: the bits of its elements."""
    i = plan.instruction
    shape = (plan.a.products, i.sizes["m"], i.sizes["n"])
    if plan.d_ldm:
        shape = (1, shape[1] if plan.d_layout == "row" else shape[2], plan.d_ldm)
    return np.zeros(shape, _get_unsigned_type(i.operands["d"].element.bits // 8))


def unpack_d(plan: ProductPlan, memory: Array) -> Array:
    """Unpack D [product, m, n] from its memory."""
    i = plan.instruction
    values = fragment_words.decode_bits(memory.astype(np.uint64), i.operands["d"].element.name)
    if not plan.d_ldm:
        return values
    return values[:, :, : i.sizes["n"]] if plan.d_layout == "row" else np.swapaxes(values[:, :, : i.sizes["m"]], 1, 2)


def list_descriptors(side: DescribedSide, steps: int) -> list[str]:
    """List the descriptor of every step, its start counted from shared memory's first byte."""
    return [str(side.get_descriptor(step)) for step in range(steps)]


# the simulation -------------------------------------------------------------------------------------------------------


def build_shared_image(plan: ProductPlan, staged: StagedProduct) -> Array:
    """Build the block's shared memory as bytes, both operands where the plan puts them."""
    memory = np.zeros(-(-plan.shared_bytes // 4) * 4, np.uint8)
    for side in (plan.a, plan.b):
        if isinstance(side, DescribedSide | RowsSide | WmmaSide):
            units = np.ascontiguousarray(staged.memory[side.letter.upper()])
            addresses = compute_addresses(side)
            size = side.unit_bytes
            data = units.view(np.uint8).reshape(*units.shape, size)
            memory[(addresses[..., None] + np.arange(size)).ravel()] = data.ravel()
    return memory


def compute_addresses(side: DescribedSide | RowsSide | WmmaSide) -> Array:
    """Compute the byte address in shared memory of each unit of the lines: [line, unit]."""
    line, unit = np.arange(side.lines)[:, None], np.arange(side.line_units)[None, :]
    if isinstance(side, RowsSide):
        return np.asarray(side.address(line, unit * side.unit_bytes))
    if isinstance(side, WmmaSide):
        return np.asarray(side.base + (line * side.ldm // side.per_unit + unit) * side.unit_bytes)
    mn, k = (line, unit * side.per_unit) if side.major == "K" else (unit, line)
    return np.asarray(side.address(mn, k))
