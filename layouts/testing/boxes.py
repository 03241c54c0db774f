"""Assertions about TMA: the tensor map is legal, its boxes fill a tile, and expect_tx is their number of bytes.

Source: CUDA driver API 13.0, cuTensorMapEncodeTiled; lanescope.shared.tma describes the measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.state.tensor_maps import DRIVER_REFUSES, TensorMap as EncodedMap, make_tensor_map
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.shared import tma
from lanescope.shared.map_enums import SWIZZLES
from lanescope.shared.storage import Storage, storage
from lanescope.testing.failures import fail
from lanescope.testing.operands import TileLike, make_storage_spec

MOST_PLACES = 1 << 21
_LARGEST_PACKED = 13  # code of the last type whose box has a known size in bytes
_FORMAT_CODES = {"128B_base32B": "128B_ATOM_32B"}  # a mode of a tile → the swizzle of a tensor map
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """The arguments of cuTensorMapEncodeTiled.

    type: BFLOAT16, bf16 …; dims, box, element_strides in elements, strides in bytes without the innermost (dense by
    default); all innermost first.
    """

    type: str
    dims: Sequence[int]
    box: Sequence[int]
    strides: Sequence[int] | None = None
    swizzle: str = "none"
    element_strides: Sequence[int] = ()
    interleave: str = "none"
    fill: str = "zero"
    address: int = 0


Copy = tuple[int, int, int]  # (mn, k) of the tile that a box begins at, and its shared-memory address


def assert_box_fills(
    tensor_map: TensorMap,
    tile: TileLike,
    *,
    copies: Iterable[Copy] | None = None,
    axes: Sequence[str] | None = None,
) -> None:
    """Assert that a tensor map is legal, and that its boxes write every element of a tile to its place.

    copies: (mn, k, address) of each box, by default consecutive boxes from the tile's base in the tile's order. axes:
    "mn" or "k" for each dimension of the map, innermost first, "" for one that the box does not extend along; by
    default the innermost is the tile's contiguous dimension.
    """
    __tracebackhide__ = True
    spec = make_storage_spec(tile)
    if spec["kind"] != "canonical":
        raise LayoutError("bad_tile", "The tile is not a canonical one.", "Give mn, k, major and swizzle.", "tile")
    stored = _parse_tile(spec)
    encoded = _encode_map(tensor_map)
    box = _place_box(encoded, stored, axes)
    starts = _list_copies(stored, box, copies)
    problem = _find_problem(encoded, stored, box, starts)
    if problem:
        fail(
            f"The boxes do not fill the tile: {problem}",
            f"tile: {stored.text}",
            *_suggest_boxes(encoded, stored, box, starts),
        )


def assert_expect_tx(expect_tx: int, boxes: Iterable[TensorMap]) -> None:
    """Assert that expect_tx is the bytes of the boxes that complete on an mbarrier.

    Elements outside the tensor count, too.
    """
    __tracebackhide__ = True
    expected = parse_integer(expect_tx, "expect_tx")
    if not isinstance(boxes, Iterable):
        raise TypeError(f"boxes is {type(boxes).__name__}; a list of lanescope.testing.TensorMap is needed")
    sizes = [_count_bytes(_encode_map(box)) for box in boxes]
    total = sum(sizes)
    if expected != total:
        parts = " + ".join(f"{size:,}" for size in sizes) or "no boxes"
        after = "waits for ever" if expected > total else "is complete before the last bytes are there"
        fail(
            f"expect_tx is {expected:,}; the boxes have {total:,} bytes",
            f"{parts}; the barrier {after}",
            f"repair: {total}",
        )


def _count_bytes(encoded: EncodedMap) -> int:
    if encoded.type.code > _LARGEST_PACKED:
        raise LayoutError(
            "open_box", f"How many bytes a box of {encoded.type.name} completes is not established.", "", "boxes"
        )
    return encoded.box_bytes


def _encode_map(tensor_map: TensorMap) -> EncodedMap:
    """Return the tensor map; AssertionError if it breaks a rule of the driver."""
    __tracebackhide__ = True
    if not isinstance(tensor_map, TensorMap):
        raise TypeError(f"{type(tensor_map).__name__} is not a lanescope.testing.TensorMap")
    numbers = {
        name: _parse_numbers(name, getattr(tensor_map, name)) for name in ("dims", "box", "strides", "element_strides")
    }
    if not numbers["dims"]:
        raise LayoutError("tma_rank", "dims is empty.", "One number a dimension, innermost first.", "dims")
    if tensor_map.strides is None:
        bits = make_tensor_map(address=0, type=tensor_map.type, dims=[256], strides=[], box=[128]).type.bits
        sizes = numbers["dims"]
        numbers["strides"] = [prod(sizes[: n + 1]) * bits // 8 for n in range(len(sizes) - 1)]
    try:
        return make_tensor_map(
            address=parse_integer(tensor_map.address, "address"),
            type=tensor_map.type,
            dims=numbers["dims"],
            strides=numbers["strides"],
            box=numbers["box"],
            element_strides=numbers["element_strides"],
            swizzle=str(tensor_map.swizzle),
            interleave=str(tensor_map.interleave),
            fill=str(tensor_map.fill),
        )
    except LayoutError as error:
        if error.hint != DRIVER_REFUSES:
            raise
        fail(f"cuTensorMapEncodeTiled refuses the tensor map: {error.message}", f"rule: {error.code}")


def _parse_numbers(name: str, values: Sequence[int] | None) -> list[int]:
    """Return the integers of a sequence or an array, [] for None."""
    if values is None:
        return []
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise TypeError(f"{name} is {type(values).__name__}; a sequence of integers is needed")
    return [parse_integer(value, name, -(1 << 63)) for value in values]


# place of a box -------------------------------------------------------------------------------------------------------


def _parse_tile(spec: dict[str, object]) -> Storage:
    """Return the tile in the first format whose instructions read such elements."""
    bits, major = parse_integer(spec.get("element_bits"), "element_bits"), str(spec.get("major", "K"))
    refused: list[LayoutError] = []
    for form in FORMATS:
        try:
            return storage(spec, bits, major, form)
        except LayoutError as error:
            refused.append(error)
    raise refused[0]


@dataclass(frozen=True, slots=True)
class _Box:
    """A box in a tile: (mn, k) and byte offset before the XOR of each element, and its extent."""

    mn: Ints
    k: Ints
    offset: Ints
    extent: tuple[int, int]
    bytes: int


def _place_box(encoded: EncodedMap, stored: Storage, axes: Sequence[str] | None) -> _Box:
    """Return the elements of a box: rows in the order of the outer dimensions, one pitch apart."""
    tile = stored.tile
    assert tile is not None
    inner = "k" if tile.major == "K" else "mn"
    bits, counts = tile.element_bits, list(encoded.counts)
    if encoded.interleave != "none" or encoded.type.code > _LARGEST_PACKED or "FLIP" in encoded.swizzle:
        kind = f"interleave {encoded.interleave}, {encoded.type.name} and swizzle {encoded.swizzle}"
        raise LayoutError(
            "open_box", f"The address of a box with {kind} is not evaluated.", "Interleave none.", "tensor_map"
        )
    width_bits = counts[0] * encoded.type.bits
    if width_bits % bits:
        raise LayoutError(
            "bad_box", f"{counts[0]} elements of {encoded.type.name} are not complete elements.", "", "tensor_map"
        )
    sizes = [width_bits // bits, *counts[1:]]
    if prod(sizes) > MOST_PLACES:
        raise LayoutError("too_large", f"A box of {prod(sizes):,} elements is not followed.", "", "tensor_map")
    names = _name_axes(encoded, inner, sizes, axes)
    index = np.indices(sizes[::-1]).reshape(len(sizes), -1)[::-1].astype(np.int64)  # innermost first
    where, extent = {"mn": np.int64(0), "k": np.int64(0)}, {"mn": 1, "k": 1}
    for name, size, at in zip(names, sizes, index, strict=True):
        if name:
            where[name] = where[name] + at * extent[name]
            extent[name] *= size
    pitch = tma.get_pitch_bytes(width_bits // 8, encoded.swizzle.partition("_")[0])
    row = np.zeros_like(index[0])
    for at, size in zip(index[:0:-1], sizes[:0:-1], strict=True):
        row = row * size + at
    offset = row * pitch + index[0] * bits // 8
    shape = offset.shape
    return _Box(
        np.broadcast_to(where["mn"], shape),
        np.broadcast_to(where["k"], shape),
        offset,
        (extent["mn"], extent["k"]),
        pitch * prod(sizes[1:]),
    )


def _name_axes(encoded: EncodedMap, inner: str, sizes: Sequence[int], axes: Sequence[str] | None) -> list[str]:
    """Return the dimension of the tile that each dimension of the map is."""
    outer = "mn" if inner == "k" else "k"
    if axes is not None:
        if len(axes) != len(sizes):
            raise LayoutError("bad_axes", f"axes has {len(axes)} names; the map has {len(sizes)}.", "One each.", "axes")
        return [parse_choice(name, "axes", ("mn", "k", "")) for name in axes]
    names, left = [inner], [outer]
    for n, size in enumerate(sizes[1:], 1):
        panels = n == 2 and len(sizes) > 2 and encoded.strides[1] == sizes[0] * encoded.type.bits // 8
        if size == 1:
            names.append("")
        elif panels:
            names.append(inner)
        elif left:
            names.append(left.pop())
        else:
            raise LayoutError("bad_axes", f"What dimension {n} of the map is, is open.", "Give axes.", "axes")
    return names


def _list_copies(stored: Storage, box: _Box, copies: Iterable[Copy] | None) -> list[Copy]:
    """Return (mn, k, address) of each box."""
    if copies is not None:
        if not isinstance(copies, Iterable):
            raise TypeError(f"copies is {type(copies).__name__}; a list of (mn, k, address) is needed")
        return [_parse_copy(copy) for copy in copies]
    tile = stored.tile
    assert tile is not None
    return _stack_copies(tile.order, (tile.mn, tile.k), box, tile.base)


def _parse_copy(copy: Copy) -> Copy:
    if isinstance(copy, str) or not isinstance(copy, Sequence) or len(copy) != 3:
        raise LayoutError("bad_copies", "A copy is not three numbers.", "(mn, k, address) of each box.", "copies")
    mn, k, address = (parse_integer(value, "copies") for value in copy)
    return mn, k, address


def _stack_copies(order: str, size: tuple[int, int], box: _Box, base: int) -> list[Copy]:
    wide, deep = box.extent
    places = [(mn, k) for mn in range(0, size[0], wide) for k in range(0, size[1], deep)]
    places.sort(key=lambda place: place[::-1] if order == "mn" else place)
    return [(mn, k, base + n * box.bytes) for n, (mn, k) in enumerate(places)]


def _find_problem(encoded: EncodedMap, stored: Storage, box: _Box, starts: Sequence[Copy]) -> str:
    """Return the first problem of the boxes, "" if they fill the tile."""
    tile = stored.tile
    assert tile is not None
    filled = np.zeros((tile.mn, tile.k), np.int8)
    xor = SWIZZLES[encoded.swizzle][1]
    for number, (mn, k, address) in enumerate(starts):
        if address % tma.BOX_ALIGNMENT:
            return f"box {number} begins at {address:#x}; TMA writes to multiples of {tma.BOX_ALIGNMENT}"
        at_mn, at_k = box.mn + mn, box.k + k
        if at_mn.max() >= tile.mn or at_k.max() >= tile.k:
            reach = f"mn {int(at_mn.max()) + 1}, k {int(at_k.max()) + 1}"
            return f"box {number} reaches to {reach}; the tile ends at mn {tile.mn}, k {tile.k}"
        written, expected = xor(address + box.offset), np.asarray(tile.address(at_mn, at_k))
        wrong = np.flatnonzero(written != expected)
        if len(wrong):
            n = int(wrong[0])
            return (
                f"box {number} puts ({int(at_mn[n])}, {int(at_k[n])}) at {int(written[n]):#x};"
                f" it is stored at {int(expected[n]):#x} ({len(wrong)} of {len(written)} elements are elsewhere)"
            )
        np.add.at(filled, (at_mn, at_k), 1)
    if (missing := np.argwhere(filled == 0)).size:
        mn, k = (int(n) for n in missing[0])
        return f"no box writes ({mn}, {k}) and {len(missing) - 1} more elements"
    if (twice := np.argwhere(filled > 1)).size:
        mn, k = (int(n) for n in twice[0])
        return f"({mn}, {k}) is written by more than one box"
    return ""


def _suggest_boxes(encoded: EncodedMap, stored: Storage, box: _Box, starts: Sequence[Copy]) -> list[str]:
    """Return what would fill the tile: another swizzle, the tile that these boxes fill, and the boxes that write it."""
    tile = stored.tile
    assert tile is not None
    other = "k" if tile.order == "mn" else "mn"
    lines = []
    stored_by = _FORMAT_CODES.get(tile.mode.name, tile.mode.name)
    if stored_by != encoded.swizzle:
        lines.append(f"cause: the tile is stored with swizzle {tile.mode.name}, the map has {encoded.swizzle}")
        if not _find_problem(replace(encoded, swizzle=stored_by), stored, box, starts):
            lines.append(f"repair: CU_TENSOR_MAP_SWIZZLE_{stored_by}")
    elif not _find_problem(encoded, replace(stored, tile=replace(tile, order=other)), box, starts):
        lines.append(f"cause: the tile's atoms are laid {tile.order} first; these boxes fill one laid {other} first")
    series = tma.make_box_series(tile)
    lines.append(
        f"boxes that fill it: {series.count} of {series.wide} × {series.tall} elements ({series.inner} innermost),"
        f" swizzle {stored_by}. {series.note}".rstrip()
    )
    return lines
