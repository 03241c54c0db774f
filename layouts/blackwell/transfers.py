"""tcgen05.ld, .st, .cp and .shift in NumPy, by the maps of lanescope.blackwell.tmem. Not executed on hardware.

Tensor memory of a CTA is uint32 [128 lanes, columns].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell.tmem import LANES, QUARTER, TensorAccess, place_columns
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx.table.descriptors import TCGEN05

Array = NDArray[Any]
_LOW = np.uint32(0xFFFF)


def _list_cells(access: TensorAccess, lane: int, column: int) -> tuple[Array, Array]:
    lanes, columns = access.pattern.evaluate()[:2]
    return lanes + lane, place_columns(access, columns) + column


def load_registers(access: TensorAccess, memory: Array, lane: int, column: int) -> Array:
    """Return the registers that a warp's tcgen05.ld loads: uint32 [32, registers]."""
    words = memory[_list_cells(access, lane, column)].reshape(QUARTER, access.registers, -1)
    loaded: Array = words[..., 0] & _LOW | words[..., 1] << 16 if access.packed else words[..., 0]
    return loaded


def store_registers(access: TensorAccess, memory: Array, lane: int, column: int, registers: Array) -> None:
    """Store a warp's registers, uint32 [32, registers], like tcgen05.st."""
    word = registers[..., None]
    parts = np.concatenate((word & _LOW, word >> 16), axis=2) if access.packed else word
    cells = _list_cells(access, lane, column)
    memory[cells] = parts.reshape(cells[0].shape)


def copy_from_shared(
    access: TensorAccess, memory: Array, at: tuple[int, int], image: Array, word: int, base: int = 0
) -> None:
    """Copy the data that a matrix descriptor reads to tensor memory, like tcgen05.cp.

    at: the lane and column of the target; image: the bytes of shared memory from the address `base` on.
    """
    row, unit = access.pattern.evaluate()
    view = View(int(row.max()) + 1, int(unit.max()) + 1, 32, "K", TCGEN05)
    address = desc.reads(Descriptor(word, TCGEN05), view)[row, unit] - base
    values = np.ascontiguousarray(image.view(np.uint8)[address[..., None] + np.arange(4)]).view(np.uint32)[..., 0]
    lanes = np.arange(LANES) if len(row) == LANES else np.arange(len(row)) * QUARTER + at[0]
    memory[lanes[:, None], at[1] + np.arange(row.shape[1])[None]] = values


def shift_lanes(access: TensorAccess, memory: Array, column: int) -> None:
    """Move the rows of each quarter down by one lane, like tcgen05.shift."""
    for quarter in range(LANES // QUARTER):
        lanes = memory[QUARTER * quarter : QUARTER * (quarter + 1), column : column + access.columns]
        lanes[:-1] = lanes[1:].copy()
