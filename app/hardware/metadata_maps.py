"""Maps of sparsity metadata, measured: every nibble of every thread is changed, and the group that moves is seen."""

from __future__ import annotations

import numpy as np

from lanescope.app.hardware.device import ProductJob, RunDevice
from lanescope.app.hardware.measurement import (
    Array,
    MeasuredMap,
    bits_to_codes,
    codes_to_bits,
    make_zero_registers,
    pack_ones,
    unpack_ones,
)
from lanescope.app.hardware.mma_maps import make_fixed_operands
from lanescope.app.hardware.product_inputs import build_shared_image
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.metadata import FIRST


def measure_metadata(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure which row and group of A moves to its upper half when each nibble of each thread goes from 0x4 to 0xE:
    [thread][selector · nibble].
    """
    a, d = i.operands["a"], i.operands["d"]
    sparsity = a.sparsity
    assert sparsity is not None
    k, n, group = i.sizes["k"], i.sizes["n"], sparsity.group
    upper = np.arange(k) % group >= group // 2
    codes = codes_to_bits(np.arange(k) // group) * upper  # [bit, k]
    b = np.repeat(codes[:, :, None], n, axis=2)
    ones = np.ones((1, a.threads, a.values), np.int64)
    e: Array = np.full((i.threads, 8, i.threads), FIRST, np.uint32)
    for nibble in range(8):
        e[np.arange(i.threads), nibble, np.arange(i.threads)] ^= np.uint32(0xA << 4 * nibble)
    e = e.reshape(-1, i.threads)
    registers: dict[str, Array] = {
        **make_fixed_operands(i),
        "a": pack_ones(a, ones),
        "e": e,
        "c": make_zero_registers(i.operands.get("c", d)),
    }
    image, descriptors = None, {}
    if i.family.by_descriptor:
        images = [build_shared_image(i, None, matrix) for matrix in b]
        image, descriptors = np.stack([image_and_words[0] for image_and_words in images]), {"b_desc": images[0][2]}
    else:
        op = i.operands["b"]
        registers["b"] = fragment_words.pack(op, fragment_words.encode_values(b, op.element.name))
    predicted, measured, source = [], [], ""
    thread_0, value_0 = (array[:, 0, 0] for array in d.pattern.inverse())
    per = d.values // d.registers
    keep = int(value_0.max()) // per + 1
    for selector in range(sparsity.selectors):
        raw, source = device.product(
            ProductJob(i, "registers", registers, descriptors, image, immediates={"f": str(selector)}, keep=keep)
        )
        sums = unpack_ones(d, raw)[..., thread_0, value_0]  # [e run, bit, row], column 0
        groups = bits_to_codes((sums / sparsity.kept).round().astype(np.int64), 1)  # [e run, row]
        rows = np.where((groups >= 0).sum(1) == 1, np.argmax(groups >= 0, axis=1), -1)
        groups_moved = np.where(rows >= 0, groups[np.arange(len(e)), rows], -1)
        measured.append(np.stack([rows, groups_moved]).reshape(2, i.threads, 8))
        thread, bit = sparsity.find_suppliers(selector)
        expected = np.full((2, i.threads, 8), -1)
        expected[0, thread, bit // 4], expected[1, thread, bit // 4] = (
            a.rows,
            sparsity.list_group_columns(a.coords["col"]) // group,
        )
        predicted.append(expected)
    names = ("row", "group")
    joined = [dict(zip(names, np.concatenate(part, axis=2), strict=True)) for part in (predicted, measured)]
    return MeasuredMap("e", names, joined[0], joined[1], source)
