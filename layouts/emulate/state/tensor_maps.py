"""Tensor maps, tiled and im2col: the rules of the driver, and the 128 bytes of a map in memory.

The driver's 128 bytes are opaque. Those here hold the arguments with a mark and a checksum, so that a map can be passed
by value, lie anywhere and be copied by the program; other bytes are not a tensor map. Source of the rules: CUDA driver
API 13.0, cuTensorMapEncodeTiled; lanescope.shared.tma has those that were measured on the driver.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from lanescope.emulate.state.im2col import PixelBox, find_pixel_refusals
from lanescope.emulate.state.memory import FaultError
from lanescope.errors import LayoutError
from lanescope.shared import tma
from lanescope.shared.map_enums import INTERLEAVES, MAP_TYPES, SWIZZLES, MapType

MAP_BYTES = 128
MAP_ALIGN = 64


# type names of buffers, and those of CUDA
_NAMES = {
    **{row.name.lower(): row for row in MAP_TYPES},
    **{
        alias: MAP_TYPES[code]
        for aliases, code in (
            ("u8 s8 int8 b8 e4m3 e5m2 ue8m0 e8m0 bool", 0),
            ("u16 s16 int16 b16", 1),
            ("u32 b32", 2),
            ("s32", 3),
            ("u64 b64", 4),
            ("s64", 5),
            ("f16", 6),
            ("f32", 7),
            ("f64", 8),
            ("bf16", 9),
            ("tf32", 11),
            ("e2m1 u4 b4x16", 13),
            ("b4x16_p64", 14),
            ("b6x16_p32", 15),
        )
        for alias in aliases.split()
    },
}
FILLS = ("zero", "nan")
DRIVER_REFUSES = "cuTensorMapEncodeTiled rejects it."
IM2COL_REFUSES = "cuTensorMapEncodeIm2col rejects it."
REFUSALS = (DRIVER_REFUSES, IM2COL_REFUSES)


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map; create it with `make_tensor_map`, which checks the driver's rules.

    dims, box, element_strides: in elements, innermost first; strides: in bytes, without the innermost. pixel_box: in
    im2col mode, where box is (channels, pixels).
    """

    address: int
    type: MapType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: str = "none"
    swizzle: str = "none"
    fill: str = "zero"
    pixel_box: PixelBox | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def counts(self) -> tuple[int, ...]:
        """The elements that a box takes along each dimension: every n-th of boxDim for an element stride n.

        In im2col mode channels and pixels.
        """
        if self.pixel_box:
            return self.box
        return tuple(-(-size // step) for size, step in zip(self.box, self.steps, strict=True))

    @property
    def steps(self) -> tuple[int, ...]:
        """The element strides in effect: the innermost counts only in an interleaved layout."""
        return self.element_strides if self.interleave != "none" else (1, *self.element_strides[1:])

    @property
    def box_bytes(self) -> int:
        """The bytes of a box, out-of-bounds elements included: the count that a load completes on its mbarrier."""
        return prod(self.counts) * self.type.bits // 8


def make_tensor_map(
    *,
    address: int,
    type: str,
    dims: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int] = (),
    element_strides: Sequence[int] = (),
    interleave: str = "none",
    swizzle: str = "none",
    fill: str = "zero",
    pixel_box: PixelBox | None = None,
) -> TensorMap:
    """Return the tensor map of cuTensorMapEncodeTiled; with a pixel box, of cuTensorMapEncodeIm2col.

    address: generic, of the tensor's first byte. type: as a buffer's ("bf16", "e4m3") or CUDA's ("BFLOAT16"). dims, box
    and element_strides in elements, strides in bytes and without the innermost; all innermost first. swizzle: none,
    32B, 64B, 128B, 128B_ATOM_32B, 128B_ATOM_32B_FLIP_8B, 128B_ATOM_64B. fill: zero or nan. LayoutError gives the rule
    by which the driver rejects it.
    """
    row = _NAMES.get(str(type).removeprefix("CU_TENSOR_MAP_DATA_TYPE_").lower())
    if row is None:
        raise _refuse("tma_type", f"No tensor map has elements of type '{type}'.", "type", tuple(_NAMES))
    layout = _choose("swizzle", swizzle.removeprefix("CU_TENSOR_MAP_SWIZZLE_"), tuple(SWIZZLES))
    slices = _choose("interleave", interleave.removeprefix("CU_TENSOR_MAP_INTERLEAVE_"), INTERLEAVES)
    filled = _choose("fill", fill.removeprefix("CU_TENSOR_MAP_FLOAT_OOB_FILL_"), FILLS)
    steps = tuple(element_strides) or (1,) * len(dims)
    sizes = [("dims", dims, 0), ("strides", strides, 1), ("element_strides", steps, 0)]
    if pixel_box is None:
        sizes.append(("box", box, 0))
    else:
        sizes += [("pixel_lower", pixel_box.lower, 2), ("pixel_upper", pixel_box.upper, 2)]
        box = (pixel_box.channels, pixel_box.pixels)
    for name, values, fewer in sizes:
        wanted = len(dims) - fewer
        if len(values) != wanted:
            raise LayoutError(
                "tma_rank",
                f"{name} has {len(values)} numbers; a tensor of {len(dims)} dimensions has {wanted}.",
                "Give one number per dimension, innermost first; strides without the innermost, corners along W, H"
                " and D only.",
                name,
            )
    tensor_map = TensorMap(
        address, row, tuple(dims), tuple(strides), tuple(box), steps, slices, layout, filled, pixel_box
    )
    for code, message, field in _find_refusals(tensor_map):
        raise LayoutError(code, message, DRIVER_REFUSES if pixel_box is None else IM2COL_REFUSES, field)
    return tensor_map


def check_tensor_map(tensor_map: TensorMap) -> None:
    """Raise FaultError if a map, which a kernel may have edited, breaks a rule."""
    for _, message, _ in _find_refusals(tensor_map):
        raise FaultError("bad_tensor_map", f"The tensor map is invalid: {message}")


def _choose(field: str, value: str, names: tuple[str, ...]) -> str:
    for name in names:
        if name.lower() == value.lower():
            return name
    if field == "fill" and value.upper() in ("NONE", "NAN_REQUEST_ZERO_FMA"):
        return FILLS[value.upper() != "NONE"]
    raise _refuse(f"tma_{field}", f"No {field} '{value}'.", field, names)


def _refuse(code: str, message: str, field: str, names: tuple[str, ...]) -> LayoutError:
    return LayoutError(code, message, f"Allowed: {', '.join(names)}.", field)


def _find_refusals(tensor_map: TensorMap) -> Iterator[tuple[str, str, str]]:
    """Yield (code, sentence, field) for every rule that a map breaks."""
    row, packed = tensor_map.type, tensor_map.type.code >= 14
    if not 1 <= tensor_map.rank <= tma.MOST_RANK or (tensor_map.interleave != "none" and tensor_map.rank < 3):
        least = 3 if tensor_map.interleave != "none" else 1
        yield "tma_rank", f"The tensor has {tensor_map.rank} dimensions; it must be {least} to {tma.MOST_RANK}.", "dims"
    grain = 32 if tensor_map.interleave == "32B" or packed else 16
    if tensor_map.address % grain:
        yield (
            "tma_address",
            f"globalAddress is {tensor_map.address:#x}; it must be a multiple of {grain}.",
            "buffer",
        )
    span = SWIZZLES[tensor_map.swizzle][2] if tensor_map.interleave == "none" else 0
    if tensor_map.pixel_box:
        yield from find_pixel_refusals(tensor_map.pixel_box, tensor_map.dims, row.bits, span, packed)
    for code, message in tma.find_broken_rules(
        row.bits,
        tensor_map.dims,
        tensor_map.strides,
        box=() if tensor_map.pixel_box else tensor_map.box,
        steps=tensor_map.element_strides,
        swizzle=tensor_map.swizzle.partition("_")[0],
        interleave=INTERLEAVES.index(tensor_map.interleave),
    ):
        yield code, message, _FIELDS.get(code, "box")
    yield from _find_mode_refusals(tensor_map, grain)
    yield from _find_packed_refusals(tensor_map)


def _find_mode_refusals(tensor_map: TensorMap, grain: int) -> Iterator[tuple[str, str, str]]:
    """Yield (code, sentence, field) for unaligned strides, and for modes that exclude each other."""
    row = tensor_map.type
    for n, stride in enumerate(tensor_map.strides):
        if stride % grain:
            yield "tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be a multiple of {grain}.", "strides"
    if tensor_map.fill == "nan" and row.kind != "f":
        yield "tma_fill", f"NaN fill requires a floating-point type, not {row.name}.", "fill"


_FIELDS = {
    "tma_rank": "dims",
    "tma_dim": "dims",
    "tma_stride": "strides",
    "tma_element_stride": "element_strides",
    "tma_inner_over_swizzle": "swizzle",
}


def _find_packed_refusals(tensor_map: TensorMap) -> Iterator[tuple[str, str, str]]:
    """Yield (code, sentence, field) for rules about elements of 4 and 6 bits."""
    name, inner = tensor_map.type.name, tensor_map.dims[0] if tensor_map.dims else 0
    if tensor_map.type.code == 13 and inner % 2:
        yield "tma_dim", f"globalDim[0] is {inner}; for {name} it must be a multiple of 2.", "dims"
    if tensor_map.type.code < 14:
        return
    if inner % 128:
        yield "tma_dim", f"globalDim[0] is {inner}; for {name} it must be a multiple of 128.", "dims"
    if tensor_map.box[0] != 128 and not tensor_map.pixel_box:
        yield "tma_box", f"boxDim[0] is {tensor_map.box[0]}; for {name} it must be 128.", "box"
    allowed = ("none", "128B", "128B_ATOM_32B", "128B_ATOM_64B")[: 4 if tensor_map.type.code == 15 else 3]
    if tensor_map.swizzle not in allowed:
        yield (
            "tma_swizzle",
            f"{name} does not allow swizzle {tensor_map.swizzle}, only {', '.join(allowed)}.",
            "swizzle",
        )
    if tensor_map.type.code == 15 and tensor_map.interleave != "none":
        yield "tma_interleave", f"{name} does not allow interleave.", "interleave"


# encoding in memory

MARK = b"LStensor"
# mark, address, type, rank, interleave, swizzle, fill, dims − 1, strides, box, element strides; whether it is in im2col
# mode, corners
FORM = struct.Struct("<8sQBBBBB5I4Q5H5BB3h3h")


def encode_tensor_map(tensor_map: TensorMap) -> bytes:
    """Return the 128 bytes of a map in memory."""
    body = FORM.pack(
        MARK,
        tensor_map.address,
        tensor_map.type.code,
        tensor_map.rank,
        INTERLEAVES.index(tensor_map.interleave),
        SWIZZLES[tensor_map.swizzle][0],
        FILLS.index(tensor_map.fill),
        *(size - 1 for size in _pad(tensor_map.dims, 5)),
        *_pad(tensor_map.strides, 4),
        *_pad(tensor_map.box, 5),
        *_pad(tensor_map.element_strides, 5),
        tensor_map.pixel_box is not None,
        *_pad(tensor_map.pixel_box.lower if tensor_map.pixel_box else (), 3),
        *_pad(tensor_map.pixel_box.upper if tensor_map.pixel_box else (), 3),
    )
    return (body + struct.pack("<I", zlib.crc32(body))).ljust(MAP_BYTES, b"\0")


def _pad(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    return values + (1,) * (count - len(values))


def decode_tensor_map(raw: bytes) -> TensorMap:
    """Return the map in 128 bytes of memory; FaultError if they are not a map."""
    body, rest = raw[: FORM.size], raw[FORM.size :]
    if rest != struct.pack("<I", zlib.crc32(body)).ljust(len(rest), b"\0") or not raw.startswith(MARK):
        raise FaultError(
            "not_a_tensor_map",
            "The 128 bytes at the tensor map's address are not a tensor map: the address is wrong, or the map was"
            " overwritten or copied in part.",
        )
    _, address, code, rank, interleave, swizzle, fill, *numbers = FORM.unpack(body)
    names = {number: name for name, (number, _, _) in SWIZZLES.items()}
    corners, is_im2col = numbers[20:], numbers[19]
    box = tuple(numbers[9 : 9 + (2 if is_im2col else rank)])
    pixel_box = PixelBox(tuple(corners[: rank - 2]), tuple(corners[3 : 1 + rank]), *box) if is_im2col else None
    return TensorMap(
        address,
        MAP_TYPES[code],
        tuple(size + 1 for size in numbers[:rank]),
        tuple(numbers[5 : 4 + rank]),
        box,
        tuple(numbers[14 : 14 + rank]),
        INTERLEAVES[interleave],
        names[swizzle],
        FILLS[fill],
        pixel_box,
    )
