"""Maps of mma.sync, measured: A's slots are set one at a time, B's carry their number, and D shows which slots met."""

from __future__ import annotations

import numpy as np

from lanescope.app.hardware.device import ProductJob, RunDevice
from lanescope.app.hardware.measurement import (
    Array,
    MeasuredMap,
    bits_to_codes,
    codes_to_bits,
    list_flat_coords,
    merge_sightings,
    pack_ones,
    unpack_ones,
)
from lanescope.ptx.codec import list_scale_codes
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.metadata import FIRST, LAST


def measure_partners(device: RunDevice, i: Instruction) -> dict[str, MeasuredMap]:
    """Measure A, B and D in one experiment: which slot of B meets which slot of A, and where in D the product appears.

    A sparse A is met twice, keeping the first and the last positions of every group, so that every row of B is met.
    """
    a, b, c, d = (i.operands[name] for name in "abcd")
    slots_alone = np.eye(a.threads * a.values, dtype=np.int64).reshape(-1, a.threads, a.values)
    b_slots = np.arange(b.threads * b.values).reshape(b.threads, b.values)
    xor = i.types["a"] == "b1" and "xor" in i.modifiers
    registers = {
        "a": pack_ones(a, slots_alone),
        "b": pack_ones(b, codes_to_bits(b_slots)),
        "c": pack_ones(c, np.zeros((1, c.threads, c.values), np.int64)),
    }
    sightings: list[tuple[Array, ...]] = []
    source = ""
    for e in (FIRST, LAST) if a.sparsity else (FIRST,):
        inputs = registers | make_fixed_operands(i, e)
        raw, source = device.product(ProductJob(i, "registers", inputs))
        sums = unpack_ones(d, raw)  # [A slot, bit, thread, value]
        # popc(a ^ b) − popc(b) = popc(a) − 2 popc(a & b): the runs without any A give popc(b), the maps the row of A's
        # slot
        if xor:
            without_a, _ = device.product(ProductJob(i, "registers", inputs | {"a": pack_ones(a, slots_alone[:1] * 0)}))
            same_row = a.rows.reshape(-1, 1, 1, 1) == d.rows
            sums = (same_row - (sums - unpack_ones(d, without_a))) / 2
        partner = bits_to_codes(
            sums.round().astype(np.int64).reshape(len(slots_alone), sums.shape[1], -1), 1
        )  # [A slot, D slot] → B slot or −1
        x, z = np.nonzero(partner >= 0)
        columns = a.sparsity.list_dense_columns(a.coords["col"], [e] * i.threads) if a.sparsity else a.cols
        sightings.append((x, np.minimum(partner[x, z], b_slots.size - 1), z, columns.reshape(-1)[x]))
    return _assign_coords(i, sightings, source)


def make_fixed_operands(i: Instruction, e: int = FIRST) -> dict[str, Array]:
    """Make one metadata word for every thread, and scale factors of 1."""
    operands: dict[str, Array] = {}
    if i.operands["a"].sparsity:
        operands["e"] = np.full((1, i.threads), e, np.uint32)
    for name, scale in i.scales.items():
        _, code_of_one, _ = list_scale_codes(scale.element.name)
        operands[f"{name}_data"] = np.full((1, i.threads), code_of_one * 0x01010101, np.uint32)
    return operands


def _assign_coords(i: Instruction, sightings: list[tuple[Array, ...]], source: str) -> dict[str, MeasuredMap]:
    """Assign coordinates to the slots, each operand's in the numbering of the other two.

    sightings: (slot of A, of B, of D, dense column of A) of every product seen; A's own column is what the first run
    shows.
    """
    a, b, d = (i.operands[name] for name in "abd")
    coords = {op.name: list_flat_coords(op, op.cols) for op in (a, b, d)}
    x, y, z, column = (np.concatenate(part) for part in zip(*sightings, strict=True))
    first = slice(len(sightings[0][0]))
    sightings_of = {
        "a": {"row": (x, coords["d"]["row"][z]), "col": (x[first], coords["b"]["row"][y[first]])},
        "b": {"row": (y, column), "col": (y, coords["d"]["col"][z])},
        "d": {"row": (z, coords["a"]["row"][x]), "col": (z, coords["b"]["col"][y])},
    }
    for third in coords["d"].keys() - {"row", "col"}:  # the product of m8n8k4
        of_a, of_d = coords["a"][third][x], coords["d"][third][z]
        for name, slot, value in (("a", x, of_d), ("b", y, of_d), ("d", z, of_a)):
            sightings_of[name][third] = (slot, value)
    maps = {}
    for op in (a, b, d):
        predicted = {axis: array.reshape(op.threads, op.values) for axis, array in coords[op.name].items()}
        measured = {axis: merge_sightings(slot, value, op) for axis, (slot, value) in sightings_of[op.name].items()}
        maps[op.name] = MeasuredMap(op.name, tuple(predicted), predicted, measured, source)
    return maps


def measure_addend(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure C: its slots carry their number, A and B are zero, and D shows where each one goes."""
    a, b, c, d = (i.operands[name] for name in "abcd")
    bits = codes_to_bits(np.arange(c.threads * c.values).reshape(c.threads, c.values))
    zero = {x.name: pack_ones(x, np.zeros((1, x.threads, x.values), np.int64)) for x in (a, b)}
    raw, source = device.product(
        ProductJob(i, "registers", {**zero, "c": pack_ones(c, bits), **make_fixed_operands(i)})
    )
    origins = bits_to_codes(unpack_ones(d, raw[0]).round().astype(np.int64))  # [thread][value] of D → C slot
    coords = list_flat_coords(d, d.cols)
    slot, arrived = origins[origins >= 0], np.flatnonzero(origins.reshape(-1) >= 0)
    slot = np.minimum(slot, c.threads * c.values - 1)
    measured = {axis: merge_sightings(slot, array[arrived], c) for axis, array in coords.items()}
    predicted = {axis: array.reshape(c.threads, c.values) for axis, array in list_flat_coords(c, c.cols).items()}
    return MeasuredMap("c", tuple(predicted), predicted, measured, source)
