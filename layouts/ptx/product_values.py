"""Compute matrix products in NumPy: dense, sparse and scaled operands, elements and rows in memory.

Values are float64. The same semantics serve the emulator of PTX (lanescope.emulate) and simulated runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import decode_bits
from lanescope.ptx.element_bytes import read_codes
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.metadata import ScaleOperandMap

Array = NDArray[Any]


def compute_product(instruction: Instruction, a: Array, b: Array) -> Array:
    """Compute A [x, (y,) m, k, product] · B [(x,) y, k, n, product] → [x, y, m, n] or [x, y, m, n, product]."""
    parts = [compute_plane(instruction, a[..., p], b[..., p]) for p in range(a.shape[-1])]
    return np.stack(parts, -1) if a.shape[-1] > 1 else parts[0]


def compute_plane(instruction: Instruction, left: Array, right: Array) -> Array:
    """Compute A [x, (y,) m, k] · B [(x,) y, k, n] → [x, y, m, n]: sums of products, or of set bits of AND or XOR."""
    if left.ndim == 3 and right.ndim == 3:
        x, m, k = left.shape
        y, _, n = right.shape
        flat = left.reshape(x * m, k) @ right.transpose(1, 0, 2).reshape(k, y * n)
        product: Array = flat.reshape(x, m, y, n).transpose(0, 2, 1, 3)
    else:
        product = (left if left.ndim == 4 else left[:, None]) @ (right if right.ndim == 4 else right[None])
    if is_xor(instruction):
        ones_a = (left if left.ndim == 4 else left[:, None]).sum(-1)[..., None]
        ones_b = (right if right.ndim == 4 else right[None]).sum(-2)[..., None, :]
        product = ones_a + ones_b - 2 * product
    return product


def is_xor(instruction: Instruction) -> bool:
    """Return whether a single-bit product counts the bits of A XOR B."""
    return instruction.types["a"] == "b1" and "xor" in instruction.modifiers


def spread_sparse(op: Operand, stored: Array, words: Array, selector: int) -> Array:
    """Expand a stored sparse A by its metadata [runs, threads] to the dense A [runs, …, rows, columns, products].

    LayoutError `bad_metadata` if a metadata word is not legal.
    """
    assert op.sparsity is not None
    lead = stored.shape[:-3]
    dense = np.zeros((max(len(words), lead[0]), *lead[1:], op.row_count, op.dense_col_count, stored.shape[-1]))
    for n in range(len(dense)):
        e = words[n % len(words)].tolist()
        columns = op.sparsity.list_dense_columns(op.coords["col"], e, selector)
        dense[n][..., op.rows, columns, :] = stored[n % len(stored)][..., op.rows, op.coords["col"], :]
    return dense


def spread_scales(
    instruction: Instruction, scale: ScaleOperandMap, words: Array, byte_id: int = 0, thread_id: int = 0
) -> Array:
    """Return the scale factor of every element along K: [runs, rows of A or columns of B, k]. words: [runs, 32]."""
    thread, byte = scale.find_owners(byte_id, thread_id)
    bits = words[:, thread].astype(np.uint64) >> (8 * byte).astype(np.uint64) & np.uint64(255)
    return np.repeat(decode_bits(bits, scale.element.name), instruction.sizes["k"] // scale.blocks, axis=2)


def read_elements(image: Array, index: Array, bits: int) -> Array:
    """Read element bits [runs, …] of byte images [runs, size] at element indices; 4-bit and 1-bit elements are packed
    low bits first.
    """
    if bits < 8:
        per = 8 // bits
        return image[:, index // per].astype(np.uint64) >> (index % per * bits).astype(np.uint64) & np.uint64(
            (1 << bits) - 1
        )
    return read_codes(image, index * (bits // 8), bits)


def list_row_lanes(instruction: Instruction) -> NDArray[np.int64]:
    """Return the lane that gives the address of each row of a load or store of rows: int64 [matrix, row in memory]."""
    address = instruction.address
    assert address is not None
    (op,) = instruction.operands.values()
    return address.pattern.inverse()[0].reshape(op.extents["matrix"], -1).astype(np.int64)


def locate_row_elements(instruction: Instruction, offsets: Sequence[int] | Array) -> Array:
    """Return the byte offset of every element of ldmatrix or stmatrix: int64 [matrix, row, col]; offsets: per lane."""
    op, lane = instruction.operands["data"], list_row_lanes(instruction)
    matrices, rows, cols = (op.extents[axis] for axis in ("matrix", "row", "col"))
    row_bytes = rows * cols * op.container_bits // 8 // lane.shape[1]  # bytes of the row at a lane's address
    start = np.asarray(offsets, dtype=np.int64)[lane]  # [matrix, memory row]
    located: Array = (start[:, :, None] + np.arange(0, row_bytes, op.container_bits // 8)).reshape(matrices, rows, cols)
    return located
