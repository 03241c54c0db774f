"""Maps of wgmma, measured against the memory order of the operands that its descriptors read."""

from __future__ import annotations

import numpy as np

from lanescope.app.hardware.device import ProductJob, RunDevice
from lanescope.app.hardware.measurement import (
    MeasuredMap,
    bits_to_codes,
    codes_to_bits,
    make_zero_registers,
    merge_sightings,
    pack_ones,
    unpack_ones,
)
from lanescope.app.hardware.mma_maps import make_fixed_operands
from lanescope.app.hardware.product_inputs import build_shared_image
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction


def measure_accumulator(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure D against the memory order of A and B: first A's rows carry their number, then B's columns."""
    d, m, n, k = i.operands["d"], i.sizes["m"], i.sizes["n"], i.sizes["k"]
    stored = i.operands["a"].col_count
    measured, source = {}, ""
    for axis, count in (("row", m), ("col", n)):
        images = []
        for bit in codes_to_bits(np.arange(count)):
            a, b = np.zeros((m, stored), np.int64), np.zeros((k, n), np.int64)
            a[:, 0], b[0, :] = (bit, 1) if axis == "row" else (1, bit)
            images.append(build_shared_image(i, a, b))
        registers = {"c": make_zero_registers(d), **make_fixed_operands(i)}
        words = {"a_desc": images[0][1], "b_desc": images[0][2]}
        raw, source = device.product(
            ProductJob(i, "shared", registers, words, np.stack([image[0] for image in images]))
        )
        measured[axis] = bits_to_codes(unpack_ones(d, raw[0]).round().astype(np.int64))
    predicted = {"row": d.rows.astype(np.int64), "col": d.cols.astype(np.int64)}
    return MeasuredMap("d", ("row", "col"), predicted, measured, source)


def measure_multiplicand(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure A in registers: its slots carry their number and B in shared memory is a shifted identity, so column n of
    D is column k of A.
    """
    a, d, n, k = i.operands["a"], i.operands["d"], i.sizes["n"], i.sizes["k"]
    bits = codes_to_bits(np.arange(a.threads * a.values).reshape(a.threads, a.values))
    images = [build_shared_image(i, None, np.eye(k, n, -shift, dtype=np.int64)) for shift in range(0, k, n)]
    registers = {"a": pack_ones(a, bits), "c": make_zero_registers(d), **make_fixed_operands(i)}
    raw, source = device.product(
        ProductJob(i, "registers", registers, {"b_desc": images[0][2]}, np.stack([image[0] for image in images]))
    )
    codes = (
        fragment_words.decode_bits(fragment_words.unpack(d, raw)[0], d.element.name).round().astype(np.int64)
    )  # [bit, shift, m, n]
    holder = np.concatenate(list(bits_to_codes(codes)), axis=1)[:, :k]  # [m, k] → slot
    rows, cols = np.nonzero(holder >= 0)
    slot = np.minimum(holder[rows, cols], a.threads * a.values - 1)
    measured = {"row": merge_sightings(slot, rows, a), "col": merge_sightings(slot, cols, a)}
    predicted = {"row": a.rows.astype(np.int64), "col": a.cols.astype(np.int64)}
    return MeasuredMap("a", ("row", "col"), predicted, measured, source)
