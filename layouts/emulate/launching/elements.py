"""Element types of buffers, the arrays that hold them, and initial contents.

An array has the bytes of memory: NumPy's own types where they exist, unsigned integers for bf16, fp8 and fp6, and uint8
with packed 4-bit and 1-bit elements, the first element in the lowest bits.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.fills import matrix
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value
from lanescope.ptx.codec import decode_bits, encode_values
from lanescope.ptx.dtypes import DTYPES

Array = NDArray[Any]
FILLS = ("0", "random", "identify")
RANDOM = 3  # "random" draws integers from -3 to 3, or 0 to 3 for types without sign


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type.

    coding: PTX's name of the type if arrays contain its encodings, "" if NumPy has the type.
    """

    name: str
    bits: int
    dtype: np.dtype[Any]
    coding: str = ""

    @property
    def packed(self) -> int:
        """The number of elements in one item of the array."""
        return max(1, 8 // self.bits) if self.bits in (1, 4) else 1

    @property
    def signed(self) -> bool:
        return DTYPES[self.coding].signed if self.coding else self.dtype.kind in "if"


_NUMPY = {"f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16"}
_NUMPY |= {f"{kind}{bits}": f"{'uint' if kind == 'u' else 'int'}{bits}" for kind in "us" for bits in (8, 16, 32, 64)}
_NUMPY |= {f"b{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}
_CODED = {"bf16": 16, "e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 4, "ue8m0": 8, "ue4m3": 8}
_CODED |= {"s4": 4, "u4": 4, "b1": 1}
TYPES: dict[str, ElementType] = {
    name: ElementType(name, np.dtype(numpy_name).itemsize * 8, np.dtype(numpy_name))
    for name, numpy_name in _NUMPY.items()
}
TYPES |= {name: ElementType(name, bits, np.dtype(f"uint{max(8, bits)}"), name) for name, bits in _CODED.items()}
# Names in NumPy, PyTorch, ml_dtypes, Triton and the driver.
_SPELLED = {
    numpy_name: name for name, numpy_name in reversed(_NUMPY.items()) if name not in ("tf32", "b8", "b16", "b32", "b64")
}
_SPELLED |= {
    "bool": "u8",
    "bfloat16": "bf16",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
    "float8_e4m3fn": "e4m3",
    "float8_e4m3": "e4m3",
    "fp8e4nv": "e4m3",
    "fp8_e4m3": "e4m3",
    "float8_e5m2": "e5m2",
    "fp8e5": "e5m2",
    "fp8_e5m2": "e5m2",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1",
    "float4_e2m1fn_x2": "e2m1",
    "fp4": "e2m1",
    "float8_e8m0fnu": "ue8m0",
    "int4": "s4",
    "uint4": "u4",
    **{f"i{bits}": f"s{bits}" for bits in (8, 16, 32, 64)},
}


def get_element_type(name: object, field: str) -> ElementType:
    """Return a type by its name in PTX, NumPy or PyTorch; LayoutError `unknown_type` lists PTX's."""
    text = str(name).strip().removeprefix("torch.").removeprefix("np.").removeprefix(".").lower()
    row = TYPES.get(_SPELLED.get(text, text))
    if row is None or not isinstance(name, str):
        near = find_nearest_word(text, (*TYPES, *_SPELLED))
        hint = (f"Did you mean '{near}'? " if near else "") + f"Allowed: {', '.join(TYPES)}, and NumPy's names."
        raise LayoutError("unknown_type", f"{field} is '{shorten_value(name)}'.", hint, field)
    return row


def find_type_of(dtype: np.dtype[Any]) -> ElementType | None:
    """Return the element type of a NumPy dtype; None if there is none."""
    return TYPES.get(_SPELLED.get(dtype.name, ""))


def compute_array_shape(shape: tuple[int, ...], row: ElementType, field: str) -> tuple[int, ...]:
    """Return the shape of the array for elements of this shape: packed along the last axis."""
    if shape[-1] % row.packed:
        raise LayoutError(
            "bad_shape",
            f"{field} is {list(shape)}.",
            f"{row.name} is packed, {row.packed} elements per byte, so the last extent must be a multiple of"
            f" {row.packed}.",
            field,
        )
    return (*shape[:-1], shape[-1] // row.packed)


def view_elements(array: Array, row: ElementType, field: str) -> Array:
    """Return an array in the dtype of such elements, bits unchanged. LayoutError if that is impossible."""
    dtype = array.dtype
    same_size = dtype.itemsize == row.dtype.itemsize
    has_codes = dtype.kind in "iuV" or dtype.kind == "b"
    if dtype.byteorder == ">":
        raise LayoutError("bad_buffer", f"The array of {field} is big-endian.", "Save little-endian numbers.", field)
    if dtype == row.dtype or (same_size and has_codes and (row.coding or row.dtype.kind in "fiu")):
        return np.ascontiguousarray(array).view(row.dtype).reshape(array.shape)
    how = f"the codes of {row.name} as {row.dtype.name}" if row.coding else row.dtype.name
    if row.packed > 1:
        how += f", {row.packed} elements a byte"
    raise LayoutError(
        "bad_buffer", f"The array of {field} holds {dtype.name}; its type is {row.name}.", f"Save {how}.", field
    )


def fill_elements(
    name: str, fill: str, shape: tuple[int, ...], row: ElementType, field: str, number: float = 0
) -> Array:
    """Return a buffer's initial contents: a number, "random", or "identify" for a matrix (see fill_codes)."""
    array_shape = compute_array_shape(shape, row, f"{field}.shape")
    if fill == "random":
        low = -RANDOM if row.signed else 0
        if row.bits == 1:
            low, high = 0, 1
        else:
            low, high = (1, 2) if row.name == "ue8m0" else (low, RANDOM)  # ue8m0 has only powers of two
        drawn = np.random.default_rng(zlib.crc32(name.encode())).integers(low, high, shape, endpoint=True)
        return encode_elements(drawn, row)
    if number == 0 and row.name != "ue8m0":
        return np.zeros(array_shape, row.dtype)
    array = encode_elements(np.full(shape, number), row)
    decoded = decode_elements(array, row)
    if not (decoded == number).all():
        raise LayoutError(
            "bad_fill",
            f"{field}.fill is {number:g}, which {row.name} cannot represent.",
            "Give a value of the type.",
            f"{field}.fill",
        )
    return array


def fill_codes(shape: tuple[int, ...], row: ElementType, operand: str, k_inner: bool, part: int, field: str) -> Array:
    """Return a matrix whose elements encode their positions: the codes of docs/capture.md, in the type's array.

    operand: a or b. k_inner: whether the last axis is K, the other M or N. part: the pass of an 8-bit type.
    """
    if len(shape) < 2:
        raise LayoutError("bad_fill", f"{field} has one axis.", "'identify' fills matrices: two axes or more.", field)
    flat = (prod(shape[:-1]), shape[-1])
    kind = "tf32" if row.name == "f32" else row.name
    try:
        if operand == "a":
            codes = matrix(flat if k_inner else flat[::-1], kind, "a", part)
            codes = codes if k_inner else codes.T
        else:
            codes = matrix(flat, kind, "b", part, nk=k_inner)
    except LayoutError as error:
        raise error.move_to_field(field) from None
    return np.ascontiguousarray(codes).view(row.dtype).reshape(shape)


def view_codes(array: Array) -> Array:
    """Return the items of an array as unsigned integers, flattened."""
    return np.ascontiguousarray(array).reshape(-1).view(np.dtype(f"uint{array.dtype.itemsize * 8}"))


def split_codes(items: Array, row: ElementType) -> Array:
    """Return the encodings in unsigned items: [items, elements per item]."""
    if row.packed == 1:
        return items[:, None]
    shifts = np.arange(row.packed, dtype=items.dtype) * items.dtype.type(row.bits)
    return np.asarray(items[:, None] >> shifts & items.dtype.type((1 << row.bits) - 1))


def encode_elements(values: Array, row: ElementType) -> Array:
    """Return numbers as an array of the type, each rounded to the nearest value."""
    if not row.coding:
        return values.astype(row.dtype)
    if row.coding == "b1":
        return np.packbits(values.astype(bool), axis=-1, bitorder="little")
    codes = encode_values(values, row.coding)
    if row.packed == 2:
        return (codes[..., 0::2] | codes[..., 1::2] << np.uint64(4)).astype(np.uint8)
    return codes.astype(row.dtype)


def decode_elements(array: Array, row: ElementType) -> Array:
    """Return the numbers in an array: in its own dtype, or float64 for encodings; packed elements are unpacked."""
    if not row.coding:
        return array
    if row.coding == "b1":
        return np.unpackbits(array, axis=-1, bitorder="little")
    codes = split_codes(array.reshape(-1), row).reshape(*array.shape[:-1], -1) if row.packed > 1 else array
    return np.asarray(decode_bits(codes.astype(np.uint64), row.coding))
