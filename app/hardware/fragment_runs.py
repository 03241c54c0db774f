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

from lanescope.app.hardware.device import ProductJob, RunDevice
from lanescope.app.hardware.measurement import (
    Array,
    MeasuredMap,
    bits_to_codes,
    codes_to_bits,
    make_zero_registers,
    merge_sightings,
    pack_ones,
    unpack_ones,
)
from lanescope.app.hardware.mma_maps import make_fixed_operands, measure_addend, measure_partners
from lanescope.app.hardware.movement_maps import measure_rows, measure_transpose, measure_wmma
from lanescope.app.hardware.product_inputs import build_shared_image
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction, OperandFeed, OperandPlace
from lanescope.ptx.metadata import FIRST


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


def measure_accumulator(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure D of a wgmma against the memory order of A and B: first A's rows carry their number, then B's columns."""
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
