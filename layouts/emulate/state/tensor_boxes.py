"""Boxes of tensor maps: the bytes of global memory that a box covers, and their positions in shared memory.

The storage is that of lanescope.shared.tma, which the evidence files compare with loads on hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import UnknownInstructionError
from lanescope.emulate.instructions.async_work import Bytes
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.im2col import OutsideBoxError, locate_pixels
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.state.tensor_maps import MAP_ALIGN, MAP_BYTES, TensorMap, check_tensor_map, decode_tensor_map
from lanescope.shared import tma
from lanescope.shared.map_enums import SWIZZLES

CHUNK = 16  # bytes that a swizzle moves as a unit
OUTSIDE_NAN = 0x7FF7  # in every 16 bits outside the tensor, for all types (measured on an H100)


@lru_cache(maxsize=64)
def read_tensor_map(raw: bytes) -> TensorMap:
    """Return the map in 128 bytes; FaultError if they are not a map, or not one that a driver encodes."""
    tensor_map = decode_tensor_map(raw)
    check_tensor_map(tensor_map)
    return tensor_map


def find_tensor_map(group: Group, address: int) -> TensorMap:
    """Return the tensor map at a generic address; FaultError if none is there."""
    if address % MAP_ALIGN:
        raise FaultError("misaligned", f"The tensor map at {address:#x} is not aligned to {MAP_ALIGN} bytes.")
    allocation = group.memory.find_global(address)
    if allocation is None or address + MAP_BYTES > allocation.base + allocation.size:
        raise FaultError(
            "not_a_tensor_map",
            f"No tensor map can be at {address:#x}: it is in global, constant or parameter memory.",
        )
    first = address - allocation.base
    return read_tensor_map(allocation.data[first : first + MAP_BYTES].tobytes())


@dataclass(frozen=True, slots=True)
class Box:
    """One box.

    rows: generic address of the first element of each row, inside the tensor or not. valid: which rows are inside;
    first, last: bytes of a row that are inside.
    """

    map: TensorMap
    coordinates: tuple[int, ...]
    rows: NDArray[np.int64]
    valid: NDArray[np.bool_]
    first: int
    last: int
    width: int

    @property
    def pitch(self) -> int:
        return tma.get_pitch_bytes(self.width, self.map.swizzle.partition("_")[0])

    @property
    def size(self) -> int:
        """The bytes of the box, those outside the tensor included: the count that a load completes on its mbarrier."""
        return len(self.rows) * self.width

    def list_chunks(self, base: int) -> NDArray[np.int64]:
        """Return the shared address of each 16-byte chunk, [rows, chunks], of a box that starts at base."""
        rows = np.arange(len(self.rows), dtype=np.int64)[:, None] * self.pitch
        chunks = base + rows + np.arange(0, self.width, CHUNK, dtype=np.int64)
        swizzled: NDArray[np.int64] = SWIZZLES[self.map.swizzle][1](chunks)
        return swizzled


def locate_box(
    group: Group, tensor_map: TensorMap, coordinates: Sequence[int], offsets: Sequence[int] | None = None
) -> Box:
    """Return the box of a map at coordinates, innermost first. offsets: of an instruction in im2col mode."""
    _refuse_unknown(group, tensor_map)
    if (tensor_map.pixel_box is None) != (offsets is None):
        modes = ("tiled", "im2col") if offsets is None else ("im2col", "tiled")
        raise FaultError(
            "tensor_map_mode", f"{group.statement.opcode} is in {modes[0]} mode; the tensor map is in {modes[1]} mode."
        )
    if len(coordinates) != tensor_map.rank:
        raise FaultError(
            "tensor_rank",
            f"{group.statement.opcode} has {len(coordinates)} coordinates; the tensor map has {tensor_map.rank}"
            " dimensions.",
        )
    bits, x = tensor_map.type.bits, coordinates[0]
    if x * bits % 8:
        raise UnknownInstructionError(group.statement, f"A box that begins at element {x} of {bits} bits")
    if tensor_map.pixel_box is None:
        addresses, valid = _locate_rows(tensor_map, coordinates)
    else:
        addresses, valid = _locate_pixel_rows(group, tensor_map, coordinates, offsets or ())
    inner = tensor_map.counts[0]
    first, last = max(0, -x), max(0, min(inner, tensor_map.dims[0] - x))
    return Box(
        tensor_map,
        tuple(coordinates),
        addresses + x * bits // 8,
        valid,
        first * bits // 8,
        max(first, last) * bits // 8,
        inner * bits // 8,
    )


def locate_four_rows(group: Group, tensor_map: TensorMap, coordinates: Sequence[int]) -> Box:
    """Return the four rows of .tile::gather4 and .tile::scatter4 as one box.

    coordinates: a column, and the index of each row. PTX ISA 9.1, 5.5.3.4. Not run on hardware.
    """
    if tensor_map.box[1:] != (1,):
        raise FaultError(
            "tensor_box",
            f"{group.statement.opcode} needs a 2D tensor map with the box (columns, 1), not {tensor_map.box}.",
        )
    x, *rows = coordinates
    boxes = [locate_box(group, tensor_map, (x, y)) for y in rows]
    places, valid = np.concatenate([box.rows for box in boxes]), np.concatenate([box.valid for box in boxes])
    return replace(boxes[0], coordinates=tuple(coordinates), rows=places, valid=valid)


def _locate_rows(tensor_map: TensorMap, coordinates: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each row's address at the tensor's first column, and which rows are inside."""
    addresses = np.full((1,), tensor_map.address, np.int64)
    valid = np.ones((1,), bool)
    for n in range(1, tensor_map.rank):
        index = coordinates[n] + np.arange(tensor_map.counts[n], dtype=np.int64) * tensor_map.steps[n]
        addresses = (addresses[None, :] + (index * tensor_map.strides[n - 1])[:, None]).reshape(-1)
        valid = (valid[None, :] & ((index >= 0) & (index < tensor_map.dims[n]))[:, None]).reshape(-1)
    return addresses, valid


def _locate_pixel_rows(
    group: Group, tensor_map: TensorMap, coordinates: Sequence[int], offsets: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the address of the first channel of each pixel of an im2col load, and which are inside."""
    assert tensor_map.pixel_box is not None
    try:
        index = locate_pixels(tensor_map.pixel_box, tensor_map.dims, tensor_map.steps[1:], coordinates[1:], offsets)
    except OutsideBoxError as error:
        raise UnknownInstructionError(group.statement, f"{group.statement.opcode}: {error}") from None
    valid: NDArray[np.bool_] = np.logical_and.reduce((index >= 0) & (index < np.array(tensor_map.dims[1:])), axis=1)
    addresses: NDArray[np.int64] = tensor_map.address + index @ np.array(tensor_map.strides, np.int64)
    return addresses, valid


def _refuse_unknown(group: Group, tensor_map: TensorMap) -> None:
    if tensor_map.interleave != "none":
        raise UnknownInstructionError(
            group.statement, f"A tensor map with interleave {tensor_map.interleave} is not emulated"
        )
    if (
        tensor_map.type.code > 13
    ):  # the contents of the gaps between packed values, and the completed byte count, are unknown
        raise UnknownInstructionError(group.statement, f"A tensor map of {tensor_map.type.name} is not emulated")
    span = SWIZZLES[tensor_map.swizzle][2]
    if tensor_map.pixel_box and span > tensor_map.pixel_box.channels * tensor_map.type.bits // 8:  # distance of pixels
        raise UnknownInstructionError(
            group.statement, f"A tensor map in im2col mode whose pixel is narrower than its swizzle of {span} bytes"
        )
    if tensor_map.swizzle == "128B_ATOM_32B_FLIP_8B":
        raise UnknownInstructionError(
            group.statement, f"A tensor map with swizzle {tensor_map.swizzle} is not emulated"
        )


def gather_box(issuer: Group, box: Box) -> Bytes:
    """Return a box from global memory, [rows, bytes]; elements outside the tensor have the fill value."""
    data = np.zeros((len(box.rows), box.width), np.uint8)
    width = box.last - box.first
    outside = width < box.width or not box.valid.all()
    if outside and box.map.fill == "nan":
        data.view(np.uint16)[:] = OUTSIDE_NAN
    rows = np.flatnonzero(box.valid)
    if width and len(rows):
        for chosen, allocation, offsets in issuer.memory.resolve(
            issuer, "global", box.rows[rows] + box.first, width, writes=False, align=1
        ):
            target = rows if chosen is None else rows[chosen]
            values = allocation.data[offsets[:, None] + np.arange(width)]
            if box.map.type.name.startswith("TFLOAT32"):
                values = _round_to_tf32(values.view(np.uint32)).view(np.uint8)
            data[target, box.first : box.last] = values
    return data


def _round_to_tf32(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return f32 bits as TMA stores TFLOAT32: rounded to nearest even, a single NaN (measured on an H100)."""
    nan = (words & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    odd = words >> np.uint32(13) & np.uint32(1)
    rounded = words + np.uint32(0xFFF) + odd & np.uint32(0xFFFFE000)
    return np.where(nan, np.uint32(0x7FFFE000), rounded)


def scatter_to_shared(issuer: Group, chunks: NDArray[np.int64], data: Bytes) -> None:
    """Write [rows, bytes] to shared memory, 16 bytes at each shared::cluster address."""
    parts = data.reshape(-1, CHUNK)
    for chosen, allocation, offsets in issuer.memory.resolve(
        issuer, "shared::cluster", chunks.reshape(-1), CHUNK, writes=True, align=CHUNK
    ):
        allocation.data.reshape(-1, CHUNK)[offsets // CHUNK] = parts if chosen is None else parts[chosen]


def gather_from_shared(issuer: Group, box: Box, base: int) -> Bytes:
    """Return a box from shared memory, [rows, bytes]: elements inside the tensor, zeros for the others."""
    unit = int(np.gcd.reduce([CHUNK, box.first, box.last]))
    inside = np.zeros((len(box.rows), box.width), bool)
    inside[box.valid, box.first : box.last] = True
    parts = np.zeros((inside.size // unit, unit), np.uint8)
    wanted = np.flatnonzero(inside.reshape(-1, unit)[:, 0])
    units = (box.list_chunks(base)[..., None] + np.arange(0, CHUNK, unit)).reshape(len(box.rows), -1)
    addresses = units[:, : box.width // unit].reshape(-1)[wanted]
    for chosen, allocation, offsets in issuer.memory.resolve(
        issuer, "shared::cluster", addresses, unit, writes=False, align=unit
    ):
        read = allocation.data.reshape(-1, unit)[offsets // unit]
        parts[wanted if chosen is None else wanted[chosen]] = read
    return parts.reshape(inside.shape)
