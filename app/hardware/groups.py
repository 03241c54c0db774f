"""Maps of wgmma, measured against the memory order of the operands that its descriptors read."""

from __future__ import annotations

import numpy as np

from lanescope.app.hardware import numbers
from lanescope.app.hardware.device import Device, Product
from lanescope.app.hardware.measured import Measured, agreed, bits_of, codes_of, ones_seen, packed, zeros
from lanescope.app.hardware.met import fixed
from lanescope.app.hardware.product_inputs import shared_image
from lanescope.ptx.instruction import Instruction


def accumulator(device: Device, i: Instruction) -> Measured:
    """D against the memory order of A and B: first A's rows carry their number, then B's columns."""
    d, m, n, k = i.operands["d"], i.sizes["m"], i.sizes["n"], i.sizes["k"]
    stored = i.operands["a"].col_count
    found, source = {}, ""
    for axis, count in (("row", m), ("col", n)):
        images = []
        for bit in bits_of(np.arange(count)):
            a, b = np.zeros((m, stored), np.int64), np.zeros((k, n), np.int64)
            a[:, 0], b[0, :] = (bit, 1) if axis == "row" else (1, bit)
            images.append(shared_image(i, a, b))
        registers = {"c": zeros(d), **fixed(i)}
        words = {"a_desc": images[0][1], "b_desc": images[0][2]}
        raw, source = device.product(Product(i, "shared", registers, words, np.stack([image[0] for image in images])))
        found[axis] = codes_of(ones_seen(d, raw[0]).round().astype(np.int64))
    predicted = {"row": d.rows.astype(np.int64), "col": d.cols.astype(np.int64)}
    return Measured("d", ("row", "col"), predicted, found, source)


def multiplicand(device: Device, i: Instruction) -> Measured:
    """A in registers: its slots carry their number, B in shared memory is a shifted identity, so column n of D is
    column k of A.
    """
    a, d, n, k = i.operands["a"], i.operands["d"], i.sizes["n"], i.sizes["k"]
    bits = bits_of(np.arange(a.threads * a.values).reshape(a.threads, a.values))
    images = [shared_image(i, None, np.eye(k, n, -shift, dtype=np.int64)) for shift in range(0, k, n)]
    registers = {"a": packed(a, bits), "c": zeros(d), **fixed(i)}
    raw, source = device.product(
        Product(i, "registers", registers, {"b_desc": images[0][2]}, np.stack([image[0] for image in images]))
    )
    seen = numbers.decode(numbers.unpack(d, raw)[0], d.element.name).round().astype(np.int64)  # [bit, shift, m, n]
    holder = np.concatenate(list(codes_of(seen)), axis=1)[:, :k]  # [m, k] → slot
    rows, cols = np.nonzero(holder >= 0)
    slot = np.minimum(holder[rows, cols], a.threads * a.values - 1)
    measured = {"row": agreed(slot, rows, a), "col": agreed(slot, cols, a)}
    predicted = {"row": a.rows.astype(np.int64), "col": a.cols.astype(np.int64)}
    return Measured("a", ("row", "col"), predicted, measured, source)
