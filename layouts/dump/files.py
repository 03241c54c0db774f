"""Parse files: a dump of shared memory, raw or .npy, and the expected tile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import SHARED_BEGIN, SM_BYTES, WINDOW_BYTES, View
from lanescope.dump import npy
from lanescope.errors import LayoutError
from lanescope.ptx import codec
from lanescope.ptx.dtypes import DType, get_dtype

MOST_DUMP = SM_BYTES
MOST_FILE = MOST_DUMP + 4096  # of a .npy file, including its header
MOST_TILE = (1 << 19) + 4096  # bytes of the expected tile's file
BASE = SHARED_BEGIN  # default base: where a block's shared memory begins on sm_90


@dataclass(frozen=True, slots=True)
class Dump:
    """Bytes of shared memory; base: the shared-window address of the first."""

    data: NDArray[np.uint8]
    base: int = BASE

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + len(self.data)

    def __post_init__(self) -> None:
        if self.base % 4 or not 0 <= self.base < WINDOW_BYTES:
            raise LayoutError(
                "bad_dump",
                f"base is {self.base:#x}.",
                f"A multiple of 4 below {WINDOW_BYTES:#x}: the address of the"
                " dump's first byte, as __cvta_generic_to_shared gives it.",
                "base",
            )


def of_file(raw: bytes, base: int = BASE) -> Dump:
    """Return the dump in a file: raw bytes, or a .npy array of numbers.

    LayoutError `bad_dump` for an empty, too large or truncated file, and for an array that is not in the order of
    memory: objects, big-endian numbers, or columns first.
    """
    if len(raw) > MOST_FILE:
        raise _make_error(
            "dump", f"The file has {len(raw)} bytes.", f"At most {MOST_DUMP}: the shared memory of one SM."
        )
    data = _parse_npy(raw) if raw.startswith(npy.MAGIC) else np.frombuffer(raw, np.uint8)
    if not len(data):
        raise _make_error("dump", "The file is empty.", "Copy shared memory to a buffer and write its bytes.")
    if len(data) > MOST_DUMP:
        raise _make_error(
            "dump", f"The dump has {len(data)} bytes.", f"At most {MOST_DUMP}: the shared memory of one SM."
        )
    return Dump(data, base)


def _parse_npy(raw: bytes) -> NDArray[np.uint8]:
    header = _parse_header(raw, "dump")
    if header.by_column and len(header.shape) > 1:
        raise _make_error(
            "dump",
            "The array is stored by columns (fortran_order).",
            "Save numpy.ascontiguousarray of it.",
        )
    if header.kind.byteorder == ">":
        raise _make_error("dump", f"The array is big-endian ({header.kind.str}).", "Save the bytes as uint8.")
    return np.frombuffer(raw, np.uint8, header.data_bytes, header.offset)


def _parse_header(raw: bytes, field: str) -> npy.NpyHeader:
    header = npy.parse_header(raw)
    if header is None:
        raise _make_error(field, "The header of the .npy file cannot be read.", "Save one array with numpy.save.")
    if header.kind.hasobject or header.kind.kind not in "biufV" or header.kind.names:
        raise _make_error(
            field,
            f"The array is of type {header.kind.str if header.kind.names is None else 'struct'}.",
            "Save an array of numbers; objects are never loaded.",
        )
    data_bytes = len(raw) - header.offset
    if header.data_bytes != data_bytes:
        what = "truncated" if data_bytes < header.data_bytes else "longer than its header says"
        raise _make_error(
            field, f"The .npy file is {what}: {data_bytes} bytes of data for {header.data_bytes}.", "Save it again."
        )
    return header


def _make_error(field: str, message: str, hint: str) -> LayoutError:
    return LayoutError("bad_dump" if field == "dump" else "bad_tile_file", message, hint, field)


@dataclass(frozen=True, slots=True)
class ExpectedTile:
    """The expected tile: the codes of its elements [mn][k], and how the file was interpreted.

    taken: "values", or "bits" if the file has the elements' codes; rounded: the number of values that the type cannot
    represent.
    """

    codes: codec.Bits
    taken: str
    rounded: int = 0


def parse_expected_tile(raw: bytes, element: str, operand: str, seen: View, taken: str = "") -> ExpectedTile:
    """Return the expected tile of a .npy file: (m, k) of A or (k, n) of B, at least as large as the operand.

    taken: "values", "bits" for the elements' codes, "" for bits if the file has integers or raw bytes as wide as a
    floating-point element (as NumPy holds bf16 and fp8), else values.
    """
    if len(raw) > MOST_TILE:
        raise _make_error("expected", f"The file has {len(raw)} bytes.", f"At most {MOST_TILE}.")
    if not raw.startswith(npy.MAGIC):
        raise _make_error("expected", "This is not a .npy file.", "Save the expected tile with numpy.save.")
    header = _parse_header(raw, "expected")
    row, name = get_dtype(element), ("m", "k") if operand == "a" else ("k", "n")
    need = (seen.rows, seen.k) if operand == "a" else (seen.k, seen.rows)
    if len(header.shape) != 2 or any(has < least for has, least in zip(header.shape, need, strict=True)):
        turned = " That is the transpose." if header.shape[::-1] == need else ""
        raise _make_error(
            "expected",
            f"The tile is {' × '.join(map(str, header.shape)) or 'one number'}.{turned}",
            f"Operand {operand} is ({', '.join(name)}), at least {need[0]} × {need[1]}.",
        )
    tile = encode_tile(npy.parse_array(raw, header), row.name, taken, "expected")
    return tile if operand == "a" else replace(tile, codes=tile.codes.T)


def encode_tile(array: NDArray[Any], element: str, taken: str, field: str) -> ExpectedTile:
    """Return the codes of an array's elements, [row][column] as in the array; taken: see `parse_expected_tile`."""
    row = get_dtype(element)
    if taken == "bits" or (not taken and _holds_codes(array.dtype, row)):
        return ExpectedTile(_take_codes(array, row, field), "bits")
    codes, rounded = _encode_values(array, row, field)
    return ExpectedTile(codes, "values", rounded)


def _holds_codes(kind: np.dtype[Any], row: DType) -> bool:
    return row.format is not None and (kind.kind == "V" or (kind.kind in "iu" and kind.itemsize * 8 == row.bits))


def _take_codes(array: NDArray[Any], row: DType, field: str) -> codec.Bits:
    kind = array.dtype
    if kind.kind == "f" or kind.itemsize * 8 != max(row.bits, 8):
        raise _make_error(
            field,
            f"The tile's numbers are {kind.str}, not codes of {row.name}.",
            f"Save the bits as uint{max(row.bits, 8)}, or numbers to be taken as values.",
        )
    little = array if kind.kind == "V" else array.astype(kind.newbyteorder("<"))
    return np.ascontiguousarray(little).view(f"<u{kind.itemsize}").astype(np.uint64)


def _encode_values(array: NDArray[Any], row: DType, field: str) -> tuple[codec.Bits, int]:
    kind = array.dtype
    if kind.kind == "V":
        raise _make_error(
            field, f"The tile's elements are raw bytes ({kind.str}).", f"Save numbers, or {row.bits}-bit codes."
        )
    values = array.astype(np.float64)
    low, high = codec.get_bounds(row.name)
    integral = row.format is None
    wrong = (values < low) | (values > high) if integral else np.isfinite(values) & (np.abs(values) > high)
    if integral:
        wrong |= ~np.isfinite(values) | (values != np.rint(values))
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        what = "Integers" if integral else "Numbers"
        raise _make_error(
            field,
            f"[{at[0]},{at[1]}] = {values[at]:g} is not representable as {row.name}.",
            f"{what} from {low:g} to {high:g}.",
        )
    codes = codec.encode_values(array if integral else values, row.name)
    decoded = codec.decode_bits(codes, row.name)
    return codes, int(((decoded != values) & ~np.isnan(values)).sum())
