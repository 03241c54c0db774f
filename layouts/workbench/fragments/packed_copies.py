"""Find operands whose bytes threads copy in the order of global memory."""

from __future__ import annotations

import numpy as np

from lanescope.descriptor.matrix import Descriptor
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.records import DescriptorUse, MatrixLoad
from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.shared.swizzle import WIDEST_PATTERN


def is_packed_descriptor(run: KernelRunner, use: DescriptorUse) -> bool:
    """Return whether the bytes of a descriptor are copied in the order of global memory, in every swizzle pattern.

    Global memory may then contain the tile in the order in which it is read, swizzled by the program that wrote it.
    """
    places = find_described_places(use.word, use.seen)
    swizzled = Descriptor(use.word, use.seen.form).mode.chunks > 1
    return _keeps_order(run, use.data, places, places // WIDEST_PATTERN if swizzled else np.zeros_like(places))


def is_packed_load(run: KernelRunner, load: MatrixLoad) -> bool:
    """Return whether the rows of an ldmatrix are copied in the order of global memory, in every warp."""
    places = load.address[:, None] + np.arange(load.rows.size)
    count = 32 if ".x4" in load.opcode else 16 if ".x2" in load.opcode else 8
    giving = np.flatnonzero(np.arange(len(places)) % 32 < count)
    rows = DataBytes(load.rows.record[giving], load.rows.thread[giving], load.rows.byte[giving])
    return _keeps_order(run, rows, places[giving], np.broadcast_to(giving[:, None] // 32, places[giving].shape))


def _keeps_order(run: KernelRunner, data: DataBytes, places: Ints, groups: Ints) -> bool:
    """Return whether the bytes of each group have the same distances in shared and in global memory."""
    if any(run.records[int(n)].parts for n in np.unique(data.record) if n > OPEN):
        return True  # which load the bytes are in the order of is not known
    if (data.record <= OPEN).any() or len({run.records[int(n)].array for n in np.unique(data.record)}) > 1:
        return False
    for name, grid in list_offsets(run.records, data, run.threads):
        offsets = grid if name else grid - places
        if any(np.ptp(offsets[groups == group]) for group in np.unique(groups)):
            return False
    return True
