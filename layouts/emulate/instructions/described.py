"""Operands that wgmma reads from shared memory through a matrix descriptor. PTX ISA 9.1, 9.7.15.5.1."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.bits import format_word
from lanescope.descriptor.matrix import SHARED_BEGIN, WINDOW_BYTES, Descriptor, View, compute_chunk_addresses
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import FaultError
from lanescope.errors import LayoutError

Array = NDArray[Any]
CHUNK = 16


@lru_cache(maxsize=4096)
def find_chunks(word: int, view: View) -> tuple[Array, int, int]:
    """Return the 16-byte chunks that a descriptor reads, counted from the block's first byte; and the first and last.

    FaultError `bad_descriptor` where its mode is reserved.
    """
    try:
        _ = Descriptor(word).mode
    except LayoutError as error:
        raise FaultError("bad_descriptor", f"The matrix descriptor {format_word(word)}: {error.message}") from None
    chunks = (compute_chunk_addresses(word, view) - SHARED_BEGIN) // CHUNK
    chunks.flags.writeable = False
    return chunks, int(chunks.min()), int(chunks.max())


def check_reads(group: Group, word: int, view: View, letter: str) -> None:
    """Raise FaultError where a descriptor reads outside the block's shared memory: an illegal address on an H200."""
    _, first, last = find_chunks(word, view)
    size = group.block.shared.size
    if first < 0 or (last + 1) * CHUNK > size:
        address = SHARED_BEGIN + (first if first < 0 else last) * CHUNK
        past = ", past what a descriptor can address" if address >= WINDOW_BYTES else ""
        raise FaultError(
            "out_of_bounds",
            f"Descriptor {letter} {format_word(word)} reads shared memory at {address:#x}{past}; the block has"
            f" {size:,} bytes from {SHARED_BEGIN:#x} on.",
        )


def read_described(group: Group, word: int, view: View) -> Array:
    """Return element bits [rows, k] as stored in shared memory; reads of unwritten bytes are reported."""
    chunks, _, _ = find_chunks(word, view)
    shared, memory = group.block.shared, group.memory
    if shared.written is not None and memory.unwritten is not None:
        written = shared.written.reshape(-1, CHUNK)[chunks].all(axis=-1)
        if not written.all():
            memory.unwritten(group, shared, int(chunks[~written].min()) * CHUNK)
    for observer in memory.observers:
        observer(group, "shared", shared, np.unique(chunks) * CHUNK, CHUNK, writes=False)
    data = shared.data.reshape(-1, CHUNK)[chunks]  # [rows, chunks, 16], or [chunks of rows, k, 16]
    bits = _split(data, view.bits)
    if view.major == "K":
        return bits.reshape(view.rows, view.k)
    return bits.transpose(0, 2, 1).reshape(view.rows, view.k)


def _split(data: Array, bits: int) -> Array:
    """Return the elements of 16-byte chunks, low bits first: [..., elements]."""
    if bits < 8:
        single = np.unpackbits(data, axis=-1, bitorder="little")
        if bits == 1:
            return single
        return np.packbits(single.reshape(*data.shape[:-1], -1, bits), axis=-1, bitorder="little")[..., 0]
    return data.view({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])
