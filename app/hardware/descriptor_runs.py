"""Kind "descriptor": execute wgmma with a raw descriptor over shared memory that holds its own addresses.

Every run writes one bit of its address into each element; the other operand is a shifted identity, so each element of D
is the bit of the byte address that was read. Descriptors that read outside the block's shared memory are
rejected first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.device import WINDOW, ProductJob, RunDevice
from lanescope.app.hardware.product_inputs import build_shared_image
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.metadata import FIRST, LAST
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

Array = NDArray[Any]
MOST = desc.MOST_SHARED - 1024  # bytes of a run, of the 227 KiB that a block may have
ADDRESS_BITS = 18


def place_descriptor(descriptor: Descriptor, view: View, other_bytes: int) -> tuple[Descriptor, int, int]:
    """Return (the descriptor to execute, its shift in bytes, the address of the other operand).

    A descriptor that reads the system's first kilobyte is moved up by whole kilobytes, which keeps every mode's
    pattern. LayoutError if its reads do not fit into shared memory.
    """
    reads = desc.reads(descriptor, view)
    low, high = int(reads.min()), int(reads.max()) + max(view.bits // 8, 1)
    moved = 0 if low >= WINDOW else WINDOW
    end = WINDOW + MOST
    if high + moved > end:
        raise LayoutError(
            "reads_outside",
            f"The descriptor would read bytes {low:#x} to {high - 1:#x}; a run's shared memory ends at {end:#x}. It was"
            " not executed.",
            f"The start and the strides must keep every read below {end} bytes.",
            "descriptor",
        )
    run = descriptor.replace(start_address_encoded=(descriptor.start_address + moved) // 16)
    free_above, free_below = end - (high + moved), low + moved - WINDOW
    size = -(-other_bytes // 1024) * 1024
    if free_above >= size + 1024:
        at = (end - size) // 1024 * 1024
    elif free_below >= size:
        at = WINDOW
    else:
        raise LayoutError(
            "no_room",
            f"The descriptor's reads leave no {size} bytes free for the other operand. It was not executed.",
            "Choose an instruction with a smaller N.",
            "descriptor",
        )
    return run, moved, at


def run_descriptor(
    device: RunDevice, i: Instruction, descriptor: Descriptor, operand: str, major: str
) -> dict[str, Any]:
    """Compare the byte address read for every element [row][k], by the model and by the device; list every element that
    differs.
    """
    view = desc.view(i, operand, major)
    measured, moved, source = measure_addresses(device, i, descriptor, operand, view, major)
    predicted = desc.reads(descriptor, view)
    mismatches = [
        {"row": int(r), "k": int(k), "expected": int(predicted[r, k]), "got": int(measured[r, k])}
        for r, k in np.argwhere(predicted != measured)
    ]
    return {
        "descriptor": str(descriptor),
        "moved_bytes": moved,
        "predicted": predicted,
        "measured": measured,
        "mismatches": mismatches,
        "compared": int(predicted.size),
        "agrees": not mismatches,
        "source": source,
    }


def measure_addresses(
    device: RunDevice, i: Instruction, descriptor: Descriptor, operand: str, view: View, major: str
) -> tuple[Array, int, str]:
    """Measure (byte address of every element [row, k], how far the descriptor was moved up, source)."""
    m, n = i.sizes["m"], i.sizes["n"]
    a, d = i.operands["a"], i.operands["d"]
    across = n if operand == "a" else m  # elements of K that one run can show
    shifts = range(0, view.k, across)
    base = np.arange(MOST // 4 * 4, dtype=np.int64) + WINDOW
    step = max(view.bits // 8, 1)
    bits = (base[None, ::step] >> np.arange(ADDRESS_BITS)[:, None] & 1).astype(np.int64)
    if view.bits == 1:
        image = (bits * 255).astype(np.uint8)
    else:
        codes = fragment_words.encode_values(np.array([0, 1]), i.types["a"]).astype(
            {1: np.uint8, 2: np.uint16, 4: np.uint32}[step]
        )
        image = codes[bits].view(np.uint8)
    image = np.ascontiguousarray(image).view(np.uint32)
    registers: dict[str, Array] = {"c": np.zeros((1, i.threads, d.registers), np.uint32)}
    immediates = {f"imm_trans_{operand}": "1"} if major == "MN" else {}
    make_job = partial(ProductJob, i, image=image, absolute=True, immediates=immediates)
    if a.sparsity:
        registers["e"] = np.full((1, i.threads), FIRST, np.uint32)
    if operand == "a":
        eyes = [_build_shifted_identity(i, shift, view.k) for shift in shifts]
        moved_descriptor, moved, other_start = place_descriptor(descriptor, view, eyes[0].size * max(view.bits, 8) // 8)
        tile, overlay = _place_operand(i, eyes, other_start)
        job = make_job(
            "shared",
            registers,
            descriptors={"a_desc": moved_descriptor.word, "b_desc": tile.descriptor().word},
            overlay=overlay,
            overlay_at=(other_start - WINDOW) // 4,
        )
    else:
        moved_descriptor, moved, other_start = place_descriptor(descriptor, view, 0)
        make_job = partial(make_job, "registers", descriptors={"b_desc": moved_descriptor.word})
        if a.sparsity:
            addresses, source = _measure_sparse_b(device, i, view, make_job)
            return addresses - moved, moved, source
        stored = [np.eye(m, a.col_count, shift, dtype=np.int64) for shift in shifts]
        registers["a"] = fragment_words.pack(a, fragment_words.encode_values(np.stack(stored), a.element.name))
        job = make_job(registers)
    raw, source = device.product(job)
    address = _join_bits(i, raw)  # [shift, m, n]
    axis = 1 if operand == "a" else 0
    addresses = np.take(np.concatenate(list(address), axis=axis), range(view.k), axis=axis)
    return (addresses if operand == "a" else addresses.T) - moved, moved, source


def _join_bits(i: Instruction, raw: Array) -> Array:
    """Join the address bits of D's registers [x, bit, …]: [x, m, n]."""
    d = i.operands["d"]
    bits = fragment_words.decode_bits(fragment_words.unpack(d, raw)[0], d.element.name).round().astype(np.int64)
    addresses: Array = np.tensordot(bits, 1 << np.arange(ADDRESS_BITS), (1, 0))
    return addresses


def _measure_sparse_b(
    device: RunDevice, i: Instruction, view: View, make_job: Callable[[Mapping[str, Array]], ProductJob]
) -> tuple[Array, str]:
    """Measure (B of wgmma.sp [n, k], source): a stored identity shows every row of K under metadata that keeps the
    first, then the last positions.
    """
    a, d = i.operands["a"], i.operands["d"]
    assert a.sparsity
    addresses = np.full((view.rows, view.k), -1, np.int64)
    eye = fragment_words.pack(
        a, fragment_words.encode_values(np.eye(i.sizes["m"], a.col_count, dtype=np.int64), a.element.name)
    )[None]
    for e in (FIRST, LAST):
        registers = {
            "a": eye,
            "c": np.zeros((1, i.threads, d.registers), np.uint32),
            "e": np.full((1, i.threads), e, np.uint32),
        }
        raw, source = device.product(make_job(registers))
        bytes_read = _join_bits(i, raw)[0]
        dense = a.sparsity.list_dense_columns(a.coords["col"], [e] * i.threads)
        for column in range(a.col_count):
            thread, value = a.owner(column, column)[0]
            addresses[:, dense[thread, value]] = bytes_read[column]
    return addresses, source


def _build_shifted_identity(i: Instruction, shift: int, stored: int) -> Array:
    """Build B [k, n] that brings A's (stored) column shift + n to column n of D."""
    n, a = i.sizes["n"], i.operands["a"]
    identity = np.zeros((i.sizes["k"], n), np.int64)
    for column in range(shift, min(shift + n, stored)):
        dense = int(a.sparsity.list_first_columns(np.array(column))) if a.sparsity else column
        identity[dense, column - shift] = 1
    return identity


def _place_operand(i: Instruction, matrices: list[Array], start: int) -> tuple[Tile, Array]:
    """Return (the tile at absolute byte `start`, its bytes as words [shift, words]): B K-major without a swizzle."""
    images = np.stack([build_shared_image(i, None, matrix)[0] for matrix in matrices])
    bits = i.operand("a").element.bits
    size = max(bits // 8, 1)
    k = i.sizes["k"] // (8 if bits == 1 else 1)
    return Tile(8 * size, "K", get_mode("none"), i.sizes["n"], k, base=start), images
