"""Measured maps of instructions that move matrices: every element carries its own index, one bit a run."""

from __future__ import annotations

import numpy as np

from lanescope.app.hardware.device import RunDevice
from lanescope.app.hardware.kernel_source import MOVE_WORDS
from lanescope.app.hardware.measurement import MeasuredMap, bits_to_codes, codes_to_bits, merge_sightings
from lanescope.ptx import catalog, fragment_words
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.wmma import get_default_stride


def find_wmma_access(i: Instruction, operand: str) -> Instruction:
    """Find the wmma.load or wmma.store that defines an operand of a wmma.mma; return a load or store unchanged."""
    if not i.family.multiplies:
        return i
    layouts = dict(zip("ab", i.syntax.layouts, strict=True))
    return catalog.require_access(i, operand, layouts.get(operand, "row"))


def measure_wmma(device: RunDevice, i: Instruction, operand: str) -> MeasuredMap:
    """Measure a load from memory that holds element indices, or a store from registers that hold slot numbers."""
    access = find_wmma_access(i, operand)
    op = access.operands[operand]
    by_row = "row" in access.syntax.layouts
    stride = get_default_stride(op, "row" if by_row else "col")
    elements = op.row_count * op.col_count
    bits, size = op.element.bits, (elements * op.element.bits + 7) // 8
    if access.family.loads:
        runs = codes_to_bits(np.arange(elements)).astype(np.uint64)
        if bits < 8:
            per = 8 // bits
            images = np.bitwise_or.reduce(
                runs.reshape(len(runs), -1, per) << (np.arange(per) * bits).astype(np.uint64), axis=2
            ).astype(np.uint8)
        else:
            images = np.zeros((len(runs), elements, bits // 8), np.uint8)
            images[:, :, 0] = runs
            images = images.reshape(len(runs), -1)
        raw, source = device.load_store(access, images, size, stride)
        index = bits_to_codes(fragment_words.unpack_values(op, raw).astype(np.int64))
        rows, cols = (index // stride, index % stride) if by_row else (index % stride, index // stride)
        measured = {"row": np.where(index >= 0, rows, -1), "col": np.where(index >= 0, cols, -1)}
    else:
        slots = codes_to_bits(np.arange(op.threads * op.values).reshape(op.threads, op.values)).astype(np.uint64)
        raw, source = device.load_store(access, fragment_words.pack_values(op, slots), size, stride)
        holder = bits_to_codes(raw.reshape(len(slots), elements, bits // 8)[:, :, 0].astype(np.int64))
        index = np.flatnonzero(holder >= 0)
        slot = np.minimum(holder[index], op.threads * op.values - 1)
        rows, cols = (index // stride, index % stride) if by_row else (index % stride, index // stride)
        measured = {"row": merge_sightings(slot, rows, op), "col": merge_sightings(slot, cols, op)}
    predicted = {"row": op.rows.astype(np.int64), "col": op.cols.astype(np.int64)}
    return MeasuredMap(operand, ("row", "col"), predicted, measured, source)


def measure_rows(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure ldmatrix or stmatrix: lane L gives row L of memory, so the element also shows the lane whose address was
    used.
    """
    op, address = i.operands["data"], i.address
    assert address is not None
    size = op.container_bits // 8
    offsets = np.arange(32) * 16
    memory = np.uint16 if size == 2 else np.uint8
    if i.family.loads:
        runs = codes_to_bits(np.arange(MOVE_WORDS * 4 // size))
        raw, source = device.move(i, np.ascontiguousarray(runs.astype(memory)).view(np.uint32), offsets)
        index = bits_to_codes(fragment_words.unpack_values(op, raw).astype(np.int64))
        bytes_read = index * size
    else:
        slots = codes_to_bits(np.arange(op.threads * op.values).reshape(op.threads, op.values)).astype(np.uint64)
        raw, source = device.move(i, fragment_words.pack_values(op, slots), offsets)
        holder = bits_to_codes(np.ascontiguousarray(raw).view(memory).astype(np.int64))
        index = np.flatnonzero(holder >= 0)
        bytes_read = merge_sightings(np.minimum(holder[index], op.threads * op.values - 1), index * size, op)
    lanes, owner = address.pattern.inverse()[0], op.coords
    cols = op.extents["col"]
    row_elements = 16 // size
    flat = owner["row"] * cols + owner["col"]  # an element's place in its matrix, in rows of 16 bytes
    predicted = {
        "lane": lanes.reshape(op.extents["matrix"], -1)[owner["matrix"], flat // row_elements].astype(np.int64),
        "byte": flat % row_elements * size,
    }
    measured = {
        "lane": np.where(bytes_read >= 0, bytes_read // 16, -1),
        "byte": np.where(bytes_read >= 0, bytes_read % 16, -1),
    }
    return MeasuredMap("data", ("lane", "byte"), predicted, measured, source)


def measure_transpose(device: RunDevice, i: Instruction) -> MeasuredMap:
    """Measure movmatrix: every slot of a carries its number, and d's shows the (thread, value) it came from."""
    a, d = i.operands["a"], i.operands["d"]
    slots = np.arange(64).reshape(32, 2)
    raw, source = device.move(i, fragment_words.pack_values(a, (slots + 1).astype(np.uint64))[:, 0], np.zeros(32))
    origins = fragment_words.unpack_values(d, raw[:, None]).astype(np.int64) - 1
    thread, value = (array[..., 0] for array in a.pattern.inverse())
    rows, cols = d.coords["row"], d.coords["col"]
    predicted = {"thread": thread[rows, cols].astype(np.int64), "value": value[rows, cols].astype(np.int64)}
    measured = {"thread": np.where(origins >= 0, origins // 2, -1), "value": np.where(origins >= 0, origins % 2, -1)}
    return MeasuredMap("d", ("thread", "value"), predicted, measured, source)
