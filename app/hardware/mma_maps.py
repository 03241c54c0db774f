"""Maps of mma.sync, measured: A's slots are set one at a time, B's carry their number, and D shows who met whom."""

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
    """A, B and D from one experiment: which slot of B meets which slot of A, and where in D the product appears.

    A sparse A is met twice, keeping the first and the last positions of every group, so that every row of B is met.
    """
    a, b, c, d = (i.operands[name] for name in "abcd")
    alone = np.eye(a.threads * a.values, dtype=np.int64).reshape(-1, a.threads, a.values)
    b_slots = np.arange(b.threads * b.values).reshape(b.threads, b.values)
    xor = i.types["a"] == "b1" and "xor" in i.modifiers
    registers = {
        "a": pack_ones(a, alone),
        "b": pack_ones(b, codes_to_bits(b_slots)),
        "c": pack_ones(c, np.zeros((1, c.threads, c.values), np.int64)),
    }
    sightings: list[tuple[Array, ...]] = []
    source = ""
    for e in (FIRST, LAST) if a.sparsity else (FIRST,):
        given = registers | make_fixed_operands(i, e)
        raw, source = device.product(ProductJob(i, "registers", given))
        seen = unpack_ones(d, raw)  # [A slot, bit, thread, value]
        # popc(a ^ b) − popc(b) = popc(a) − 2 popc(a & b): the runs without any A tell popc(b), the maps the row of A's
        # slot
        if xor:
            none, _ = device.product(ProductJob(i, "registers", given | {"a": pack_ones(a, alone[:1] * 0)}))
            in_row = a.rows.reshape(-1, 1, 1, 1) == d.rows
            seen = (in_row - (seen - unpack_ones(d, none))) / 2
        met = bits_to_codes(
            seen.round().astype(np.int64).reshape(len(alone), seen.shape[1], -1), 1
        )  # [A slot, D slot] → B slot or −1
        x, z = np.nonzero(met >= 0)
        columns = a.sparsity.list_dense_columns(a.coords["col"], [e] * i.threads) if a.sparsity else a.cols
        sightings.append((x, np.minimum(met[x, z], b_slots.size - 1), z, columns.reshape(-1)[x]))
    return _assign_coords(i, sightings, source)


def make_fixed_operands(i: Instruction, e: int = FIRST) -> dict[str, Array]:
    """One metadata word for every thread, scale factors of one."""
    out: dict[str, Array] = {}
    if i.operands["a"].sparsity:
        out["e"] = np.full((1, i.threads), e, np.uint32)
    for name, scale in i.scales.items():
        _, one, _ = list_scale_codes(scale.element.name)
        out[f"{name}_data"] = np.full((1, i.threads), one * 0x01010101, np.uint32)
    return out


def _assign_coords(i: Instruction, sightings: list[tuple[Array, ...]], source: str) -> dict[str, MeasuredMap]:
    """Coordinates for the slots, each operand's in the numbering of the other two.

    sightings: (slot of A, of B, of D, dense column of A) of every product seen; A's own column is what the first run
    shows.
    """
    a, b, d = (i.operands[name] for name in "abd")
    where = {op.name: list_flat_coords(op, op.cols) for op in (a, b, d)}
    x, y, z, column = (np.concatenate(part) for part in zip(*sightings, strict=True))
    first = slice(len(sightings[0][0]))
    seen = {
        "a": {"row": (x, where["d"]["row"][z]), "col": (x[first], where["b"]["row"][y[first]])},
        "b": {"row": (y, column), "col": (y, where["d"]["col"][z])},
        "d": {"row": (z, where["a"]["row"][x]), "col": (z, where["b"]["col"][y])},
    }
    for third in where["d"].keys() - {"row", "col"}:  # the product of m8n8k4
        of_a, of_d = where["a"][third][x], where["d"][third][z]
        for name, slot, value in (("a", x, of_d), ("b", y, of_d), ("d", z, of_a)):
            seen[name][third] = (slot, value)
    out = {}
    for op in (a, b, d):
        predicted = {axis: array.reshape(op.threads, op.values) for axis, array in where[op.name].items()}
        measured = {axis: merge_sightings(slot, value, op) for axis, (slot, value) in seen[op.name].items()}
        out[op.name] = MeasuredMap(op.name, tuple(predicted), predicted, measured, source)
    return out


def measure_addend(device: RunDevice, i: Instruction) -> MeasuredMap:
    """C: its slots carry their number, A and B are zero, D shows where each goes."""
    a, b, c, d = (i.operands[name] for name in "abcd")
    bits = codes_to_bits(np.arange(c.threads * c.values).reshape(c.threads, c.values))
    zero = {x.name: pack_ones(x, np.zeros((1, x.threads, x.values), np.int64)) for x in (a, b)}
    raw, source = device.product(
        ProductJob(i, "registers", {**zero, "c": pack_ones(c, bits), **make_fixed_operands(i)})
    )
    came = bits_to_codes(unpack_ones(d, raw[0]).round().astype(np.int64))  # [thread][value] of D → C slot
    where = list_flat_coords(d, d.cols)
    slot, at = came[came >= 0], np.flatnonzero(came.reshape(-1) >= 0)
    slot = np.minimum(slot, c.threads * c.values - 1)
    measured = {axis: merge_sightings(slot, array[at], c) for axis, array in where.items()}
    predicted = {axis: array.reshape(c.threads, c.values) for axis, array in list_flat_coords(c, c.cols).items()}
    return MeasuredMap("c", tuple(predicted), predicted, measured, source)
