"""A whole product by its plan: the generated program on a device, or the same through the storage and descriptor engine
in NumPy.

On a GPU what runs is the kernel of the program that the pages and `lanescope kernel` give out. The simulation stages A
and B where the plan puts them and lets each instruction read through its descriptor or load, so that a wrong descriptor
gives a wrong product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import numbers, products
from lanescope.app.hardware.device import Device, Product
from lanescope.app.hardware.products import Inputs
from lanescope.product.plan import Described, Matrix, Plan, Rows, Side
from lanescope.ptx.instruction import Feed, Operand
from lanescope.render import kernel_device

Array = NDArray[Any]


@dataclass(frozen=True)
class Staged:
    """Everything a program is given: the matrices of the whole product, and what global memory holds, by parameter."""

    inputs: Inputs
    memory: dict[str, Array]


def inputs(plan: Plan, seed: int, data: Mapping[str, Any] | None = None) -> Inputs:
    """Random whole numbers for every step of K, or a user's matrices; the metadata are [step, thread]."""
    random = _random(plan, seed)
    return products.given(plan.instruction, random, data, plan.selector, plan.steps) if data else random


def _random(plan: Plan, seed: int) -> Inputs:
    steps = [products.inputs(plan.instruction, seed + step, plan.selector) for step in range(plan.steps)]
    first = steps[0]
    if plan.steps == 1:
        return first
    a, stored, b = (
        np.concatenate([getattr(x, name) for x in steps], axis) for name, axis in (("a", 2), ("stored_a", 2), ("b", 1))
    )
    return Inputs(a, stored, b, first.c, np.concatenate([x.metadata for x in steps]), first.scales)


def expected(plan: Plan, given: Inputs) -> Array:
    """D by NumPy, from the matrices and the signs alone."""
    negative = plan.a.negated != plan.b.negated
    signed = replace(given, a=-given.a if negative else given.a, c=given.c if plan.accumulate else 0 * given.c)
    return signed.expected(plan.instruction)


def stage(plan: Plan, given: Inputs) -> Staged:
    """What global memory holds, as the program's kernel reads it."""
    i = plan.instruction
    memory = {"A": lines(plan.a, given.stored_a), "B": lines(plan.b, given.b)}
    memory |= {
        "C": _accumulator(plan, i.operands.get("c", i.operands["d"]), given.c),
        "E": given.metadata.astype(np.uint32),
    }
    memory |= {f"S{name[-1].upper()}": codes.astype(np.uint8) for name, codes in given.scales.items()}
    return Staged(
        given,
        {name: np.ascontiguousarray(memory[name]) for name, _ in kernel_device.parameters(plan) if name in memory},
    )


def lines(side: Side, matrix: Array) -> Array:
    """A multiplicand [product, …] in the order its lines have in memory: [line, unit] of unsigned units."""
    turned = (side.letter == "a") != (side.major == "K")  # A is [m, k], B [k, n]
    bits = numbers.encode(np.swapaxes(matrix, 1, 2) if turned else matrix, side.element.name).reshape(side.lines, -1)
    if side.per_unit > 1:
        shifts = np.arange(0, 8, side.container_bits, dtype=np.uint64)
        bits = np.bitwise_or.reduce(bits.reshape(side.lines, -1, side.per_unit) << shifts, axis=2)
    else:
        bits = bits << np.uint64(side.padding_below)
    return bits.astype(_unsigned(side.unit_bytes))


def _unsigned(size: int) -> Any:
    return {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size]


def _accumulator(plan: Plan, op: Operand, values: Array) -> Array:
    """C [product, m, n] as it lies in memory: the bits of its elements."""
    bits = numbers.encode(values, op.element.name).astype(_unsigned(op.element.bits // 8))
    if not plan.d_ldm:
        return bits
    turned = bits[0] if plan.d_layout == "row" else bits[0].T
    out = np.zeros((turned.shape[0], plan.d_ldm), bits.dtype)
    out[:, : turned.shape[1]] = turned
    return out


def d_memory(plan: Plan) -> Array:
    """Zeroed memory for D: the bits of its elements."""
    i = plan.instruction
    shape = (plan.a.products, i.sizes["m"], i.sizes["n"])
    if plan.d_ldm:
        shape = (1, shape[1] if plan.d_layout == "row" else shape[2], plan.d_ldm)
    return np.zeros(shape, _unsigned(i.operands["d"].element.bits // 8))


def d_values(plan: Plan, memory: Array) -> Array:
    """D [product, m, n] from its memory."""
    i = plan.instruction
    values = numbers.decode(memory.astype(np.uint64), i.operands["d"].element.name)
    if not plan.d_ldm:
        return values
    return values[:, :, : i.sizes["n"]] if plan.d_layout == "row" else np.swapaxes(values[:, :, : i.sizes["m"]], 1, 2)


def run(device: Device, plan: Plan, seed: int = products.SEED, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One whole product: predicted and measured D, every element that differs, and how the operands lay."""
    given = inputs(plan, seed, data)
    staged = stage(plan, given)
    memory, source = device.program(plan, staged)
    tolerance = given.tolerance(plan.instruction) if data else 0.0
    told = products.compared(expected(plan, given), d_values(plan, memory), 0, source, tolerance)
    told |= {
        "descriptors": {
            side.letter: words(side, plan.steps) for side in (plan.a, plan.b) if isinstance(side, Described)
        }
    }
    return told | {"immediates": plan.immediates, "steps": plan.steps, "options": plan.options}


def words(side: Described, steps: int) -> list[str]:
    """The descriptor of every step, its start counted from shared memory's first byte."""
    return [str(side.descriptor(step)) for step in range(steps)]


# the simulation -------------------------------------------------------------------------------------------------------


def image(plan: Plan, staged: Staged) -> Array:
    """The block's shared memory as bytes, both operands where the plan puts them."""
    out = np.zeros(-(-plan.shared_bytes // 4) * 4, np.uint8)
    for side in (plan.a, plan.b):
        if isinstance(side, Described | Rows | Matrix):
            units = np.ascontiguousarray(staged.memory[side.letter.upper()])
            at = places(side)
            size = side.unit_bytes
            data = units.view(np.uint8).reshape(*units.shape, size)
            out[(at[..., None] + np.arange(size)).ravel()] = data.ravel()
    return out


def places(side: Described | Rows | Matrix) -> Array:
    """The byte of shared memory where each unit of the lines lies: [line, unit]."""
    line, unit = np.arange(side.lines)[:, None], np.arange(side.line_units)[None, :]
    if isinstance(side, Rows):
        return np.asarray(side.address(line, unit * side.unit_bytes))
    if isinstance(side, Matrix):
        return np.asarray(side.base + (line * side.ldm // side.per_unit + unit) * side.unit_bytes)
    mn, k = (line, unit * side.per_unit) if side.major == "K" else (unit, line)
    return np.asarray(side.address(mn, k))


def simulate(device: Device, plan: Plan, staged: Staged) -> Array:
    """D's memory, every instruction by the NumPy reference."""
    i = plan.instruction
    shared = image(plan, staged).view(np.uint32)[None]
    if i.family.feed is Feed.LOADS:
        return _wmma(device, plan, staged, shared)
    c = i.operands.get("c", i.operands["d"])
    start = staged.inputs.c if plan.accumulate else 0 * staged.inputs.c
    registers: dict[str, Array] = {"c": products.pack(c, start)[None]}
    for name, codes in staged.inputs.scales.items():
        registers[f"{name}_data"] = products.scale_words(i, name, codes)[None]
    immediates = {name: str(value) for name, value in plan.immediates.items()}
    out = registers["c"]
    for step in range(plan.steps):
        registers["c"] = out
        if i.operands["a"].sparsity:
            registers["e"] = staged.inputs.metadata[step][None]
        descriptors = {
            f"{s.letter}_desc": s.descriptor(step).word for s in (plan.a, plan.b) if isinstance(s, Described)
        }
        if not i.family.by_descriptor:
            registers |= {side.letter: _loaded(plan, side, staged, shared) for side in (plan.a, plan.b)}
        elif plan.a_from == "registers":
            op = i.operands["a"]
            part = staged.inputs.stored_a[:, :, step * op.col_count : (step + 1) * op.col_count]
            registers["a"] = products.pack(op, part)[None]
        job = Product(
            i, plan.a_from, registers, descriptors, shared if i.family.by_descriptor else None, immediates=immediates
        )
        out = device.product(job)[0][0]
    bits, _ = numbers.unpack(i.operands["d"], out[0])
    matrix = np.moveaxis(bits, -1, 0) if bits.ndim == 3 else bits[None]
    return matrix.astype(d_memory(plan).dtype)


def _loaded(plan: Plan, side: Side, staged: Staged, shared: Array) -> Array:
    """A warp's registers of one operand from shared memory, [1, lane, register]: by ldmatrix's rows, or an element at a
    time.
    """
    op = plan.instruction.operands[side.letter]
    if isinstance(side, Rows) and side.chain:
        at, size = side.chain.read.reshape(op.threads, op.registers, -1), side.chain.want.granule_bits  # bit addresses
        granules = shared.view(np.uint8)[0][at >> 3].astype(np.uint32) >> (at & 7).astype(np.uint32) & np.uint32(
            (1 << size) - 1
        )
        shifts = size * np.arange(at.shape[2], dtype=np.uint32)
        registers: Array = np.bitwise_or.reduce(granules << shifts, axis=2)[None].astype(np.uint32)
        return registers
    matrix = staged.inputs.stored_a if side.letter == "a" else staged.inputs.b
    return products.pack(op, matrix)[None]


def _wmma(device: Device, plan: Plan, staged: Staged, shared: Array) -> Array:
    i, moves = plan.instruction, kernel_device.accesses(plan)
    registers: dict[str, Array] = {}
    memory = shared.view(np.uint8)
    for side in (plan.a, plan.b):
        assert isinstance(side, Matrix)
        part = memory[:, side.base : side.end]
        registers[side.letter] = device.load_store(moves[side.letter], part, part.shape[1], side.ldm)[0]
    c = staged.memory["C"].view(np.uint8).reshape(1, -1)
    registers["c"] = device.load_store(moves["c"], c, c.shape[1], plan.d_ldm)[0]
    raw = device.product(Product(i, "registers", registers))[0][0]
    out = d_memory(plan)
    stored = device.load_store(moves["d"], raw, out.nbytes, plan.d_ldm)[0]
    return np.ascontiguousarray(stored).view(out.dtype).reshape(out.shape)
