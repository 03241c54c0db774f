"""A dump of shared memory beside a descriptor: what the instruction reads from it, whether that is the expected tile,
and where the tile really lies.

The bytes that are read follow layouts/descriptor.py; numbers are decoded by layouts/codec.py. layouts/locate.py looks
for the tile in the dump; why the word does not read it is layouts/verify.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts import codec, npy
from layouts.descriptor import SHARED_BEGIN, SM_BYTES, WINDOW_BYTES, Addresses, Descriptor, View, reads, view
from layouts.dtypes import DType, dtype
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.locate import Fit, Image, Places, places, search
from layouts.reading import choice, listed
from layouts.storage import Storage
from layouts.verify import Diagnosis, verify

MOST_DUMP = SM_BYTES
MOST_FILE = MOST_DUMP + 4096  # of a .npy file, its header included
MOST_TILE = (1 << 19) + 4096  # bytes of the expected tile's file
MOST_DIAGNOSED = 4  # layouts that are explained
BASE = SHARED_BEGIN  # where a block's shared memory begins on sm_90, unless a dump says otherwise
AS = ("", "values", "bits")
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Dump:
    """Bytes of shared memory; base: the shared-window address of the first."""

    data: NDArray[np.uint8]
    base: int = BASE

    @property
    def end(self) -> int:
        """The address past the last byte."""
        return self.base + len(self.data)

    def __post_init__(self) -> None:
        if self.base % 4 or not 0 <= self.base < WINDOW_BYTES:
            raise LayoutError(
                "bad_dump", f"base is {self.base:#x}.", f"A multiple of 4 below {WINDOW_BYTES:#x}: the address of the"
                " dump's first byte, as __cvta_generic_to_shared gives it.", "base",
            )  # fmt: skip


def of_file(raw: bytes, base: int = BASE, field: str = "dump") -> Dump:
    """The dump in a file: raw bytes, or a .npy array of any numbers, whose bytes are taken as they lie.

    LayoutError `bad_dump` for an empty file, one that is too large, a truncated .npy file, and an array whose bytes are
    not those of memory: objects, big-endian numbers, or columns first.
    """
    if len(raw) > MOST_FILE:
        raise _bad(field, f"The file has {len(raw)} bytes.", f"At most {MOST_DUMP}: the shared memory of one SM.")
    data = _of_npy(raw, field) if raw.startswith(npy.MAGIC) else np.frombuffer(raw, np.uint8)
    if not len(data):
        raise _bad(field, "The file is empty.", "Copy shared memory to a buffer and write its bytes.")
    if len(data) > MOST_DUMP:
        raise _bad(field, f"The dump has {len(data)} bytes.", f"At most {MOST_DUMP}: the shared memory of one SM.")
    return Dump(data, base)


def _of_npy(raw: bytes, field: str) -> NDArray[np.uint8]:
    told = _header(raw, field)
    if told.by_column and len(told.shape) > 1:
        raise _bad(
            field, "The array is stored by columns (fortran_order).", "Save numpy.ascontiguousarray of it.",
        )  # fmt: skip
    if told.kind.byteorder == ">":
        raise _bad(field, f"The array is big-endian ({told.kind.str}).", "Save the bytes as uint8.")
    return np.frombuffer(raw, np.uint8, told.data_bytes, told.offset)


def _header(raw: bytes, field: str) -> npy.Header:
    told = npy.header(raw)
    if told is None:
        raise _bad(field, "The header of the .npy file cannot be read.", "Save one array with numpy.save.")
    if told.kind.hasobject or told.kind.kind not in "biufV" or told.kind.names:
        raise _bad(
            field, f"The array is of type {told.kind.str if told.kind.names is None else 'struct'}.",
            "Save an array of numbers; objects are never loaded.",
        )  # fmt: skip
    held = len(raw) - told.offset
    if told.data_bytes != held:
        what = "truncated" if held < told.data_bytes else "longer than its header says"
        raise _bad(
            field, f"The .npy file is {what}: {held} bytes of data for {told.data_bytes}.", "Save it again."
        )  # fmt: skip
    return told


def _bad(field: str, message: str, hint: str) -> LayoutError:
    return LayoutError("bad_dump" if field == "dump" else "bad_tile_file", message, hint, field)


# the expected tile ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile that should be read: the codes of its elements [mn][k], and how the file was understood.

    taken: "values", or "bits" where the file holds the elements' codes. rounded: values that the type does not hold
    exactly.
    """

    codes: codec.Bits
    taken: str
    rounded: int = 0


def tile_of(raw: bytes, element: str, operand: str, seen: View, taken: str = "", field: str = "expected") -> Tile:
    """The expected tile of a .npy file: (m, k) of A or (k, n) of B, as large as the operand or larger.

    taken: "values", "bits" for the elements' codes, "" for bits where the file has whole numbers or raw bytes as wide
    as a floating-point element (how NumPy holds bf16 and fp8), else values.
    """
    if len(raw) > MOST_TILE:
        raise _bad(field, f"The file has {len(raw)} bytes.", f"At most {MOST_TILE}.")
    if not raw.startswith(npy.MAGIC):
        raise _bad(field, "This is no .npy file.", "Save the expected tile with numpy.save.")
    told = _header(raw, field)
    row, name = dtype(element), ("m", "k") if operand == "a" else ("k", "n")
    need = (seen.rows, seen.k) if operand == "a" else (seen.k, seen.rows)
    if len(told.shape) != 2 or any(has < least for has, least in zip(told.shape, need, strict=True)):
        turned = " That is the transpose." if told.shape[::-1] == need else ""
        raise _bad(
            field, f"The tile is {' × '.join(map(str, told.shape)) or 'one number'}.{turned}",
            f"Operand {operand} is ({', '.join(name)}), at least {need[0]} × {need[1]}.",
        )  # fmt: skip
    tile = codes_of(npy.array(raw, told), row.name, taken, field)
    return tile if operand == "a" else replace(tile, codes=tile.codes.T)


def codes_of(made: NDArray[Any], element: str, taken: str = "", field: str = "expected") -> Tile:
    """The codes of an array's elements, [row][column] as the array has them; `taken` as in `tile_of`."""
    row = dtype(element)
    if taken == "bits" or (not taken and _are_codes(made.dtype, row)):
        return Tile(_codes(made, made.dtype, row, field), "bits")
    codes, rounded = _encoded(made, made.dtype, row, field)
    return Tile(codes, "values", rounded)


def _are_codes(kind: np.dtype[Any], row: DType) -> bool:
    return row.format is not None and (
        kind.kind == "V" or (kind.kind in "iu" and kind.itemsize * 8 == row.bits)
    )  # fmt: skip


def _codes(made: NDArray[Any], kind: np.dtype[Any], row: DType, field: str) -> codec.Bits:
    if kind.kind == "f" or kind.itemsize * 8 != max(row.bits, 8):
        raise _bad(
            field, f"The tile's numbers are {kind.str}, no codes of {row.name}.",
            f"Save the bits as uint{max(row.bits, 8)}, or numbers to be taken as values.",
        )  # fmt: skip
    little = made if kind.kind == "V" else made.astype(kind.newbyteorder("<"))
    return np.ascontiguousarray(little).view(f"<u{kind.itemsize}").astype(np.uint64)


def _encoded(made: NDArray[Any], kind: np.dtype[Any], row: DType, field: str) -> tuple[codec.Bits, int]:
    if kind.kind == "V":
        raise _bad(
            field, f"The tile's elements are raw bytes ({kind.str}).", f"Save numbers, or {row.bits}-bit codes."
        )  # fmt: skip
    values = made.astype(np.float64)
    low, high = codec.bounds(row.name)
    whole = row.format is None
    wrong = (values < low) | (values > high) if whole else np.isfinite(values) & (np.abs(values) > high)
    if whole:
        wrong |= ~np.isfinite(values) | (values != np.rint(values))
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        what = "Integers" if whole else "Numbers"
        raise _bad(
            field, f"[{at[0]},{at[1]}] = {values[at]:g} is no {row.name}.", f"{what} from {low:g} to {high:g}."
        )  # fmt: skip
    codes = codec.encode(made if whole else values, row.name)
    held = codec.decode(codes, row.name)
    return codes, int(((held != values) & ~np.isnan(values)).sum())


def keys(codes: codec.Bits, row: DType) -> codec.Bits:
    """Codes that are equal where the instruction reads equal numbers: no low bits of tf32, one zero, one NaN."""
    codes = codec.readable(codes, row.name)
    if row.format is None or not row.format.mantissa_bits:
        return codes
    values = codec.decode(codes, row.name)
    codes = np.where(values == 0, np.uint64(0), codes)
    return np.where(np.isnan(values), np.uint64(row.format.nan), codes)


def numbers(codes: codec.Bits, row: DType) -> codec.Values:
    """The numbers that the instruction takes codes for."""
    return codec.decode(keys(codes, row), row.name)


# what is read ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Explained:
    """A layout that the tile has in the dump, and what the verifier says of the word for it; none where it reads it."""

    fit: Fit
    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """What an instruction reads from a dump; arrays [row][k], row is M for A and N for B.

    address: absolute bytes. codes: element bits, 0 where `inside` is false: the dump does not hold that byte. wanted:
    the expected codes, None without a tile; then nothing is right or wrong.
    """

    dump: Dump
    descriptor: Descriptor
    seen: View
    element: DType
    operand: str
    address: Addresses
    codes: codec.Bits
    inside: Mask
    tile: Tile | None = None
    wanted: codec.Bits | None = None
    right: Mask | None = None
    where: Places | None = None
    layouts: tuple[Explained, ...] = ()
    layout_count: int = 0
    begins: tuple[int, ...] = ()
    transposed: bool = False
    origin: tuple[int, int] = (0, 0)

    @property
    def values(self) -> codec.Values:
        """What is read, as numbers of the type; NaN outside the dump."""
        return np.where(self.inside, numbers(self.codes, self.element), np.nan)

    @property
    def total(self) -> int:
        return int(self.address.size)

    @property
    def outside(self) -> int:
        """Elements of which the dump does not hold the bytes."""
        return int((~self.inside).sum())

    @property
    def matched(self) -> int | None:
        return None if self.right is None else int(self.right.sum())

    @property
    def verdict(self) -> str:
        """match; mismatch where an element that the dump holds is wrong; unknown otherwise."""
        if self.right is None:
            return "unknown"
        if (self.inside & ~self.right).any():
            return "mismatch"
        return "unknown" if self.outside else "match"

    @property
    def distinct(self) -> int:
        """How many different values the expected operand has; 0 without one."""
        return 0 if self.wanted is None else int(np.unique(keys(self.wanted, self.element)).size)

    @property
    def needed(self) -> tuple[int, int]:
        """(first byte, byte past the last) that the instruction reads."""
        return int(self.address.min()), int(self.address.max()) + max(self.element.bits // 8, 1)


def examine(
    dump: Dump,
    descriptor: Descriptor,
    instruction: Instruction,
    operand: str = "a",
    major: str = "K",
    expected: bytes | None = None,
    taken: str = "",
    origin: tuple[int, int] = (0, 0),
) -> Examined:
    """What a wgmma reads through a descriptor from a dump of shared memory, and whether it is the expected tile.

    expected: a .npy file, see `tile_of`; origin: (mn, k) of the instruction's slice in it, where it is larger than the
    operand. LayoutError names the field that is wrong.

    >>> import numpy as np
    >>> from layouts import find
    >>> told = examine(Dump(np.zeros(8192, np.uint8)), Descriptor(0x4000004000010040),
    ...                find("wgmma.mma_async.m64n64k16.f32.f16.f16"))
    >>> told.verdict, told.values.shape, told.outside
    ('unknown', (64, 16), 0)
    """
    seen = view(instruction, operand, major)
    row = dtype(instruction.types[operand])
    address = reads(descriptor, seen)
    codes, inside = gather(dump, address, row.bits)
    made = Examined(dump, descriptor, seen, row, operand, address, codes, inside, origin=origin)
    if expected is None:
        return made
    tile = tile_of(expected, row.name, operand, seen, choice(taken, "expected_as", AS))
    return _judged(made, tile, origin)


def gather(dump: Dump, address: Addresses, bits: int) -> tuple[codec.Bits, Mask]:
    """(codes, whether the dump holds them) of elements at byte addresses [row][k]; elements of less than a byte are
    packed along k, lowest bits first.
    """
    size = max(bits // 8, 1)
    at = address - dump.base
    inside = (at >= 0) & (at + size <= len(dump.data))
    safe = np.where(inside, at, 0)
    codes = np.zeros(address.shape, np.uint64)
    for byte in range(size):
        codes |= dump.data[np.minimum(safe + byte, len(dump.data) - 1)].astype(np.uint64) << np.uint64(8 * byte)
    if bits < 8:
        inner = np.arange(address.shape[1], dtype=np.uint64) * np.uint64(bits) % np.uint64(8)
        codes = codes >> inner[None, :] & np.uint64((1 << bits) - 1)
    return np.where(inside, codes, np.uint64(0)), inside


def written(stored: Storage, codes: codec.Bits, bits: int, base: int = BASE, size: int = 0) -> Dump:
    """The dump that a kernel leaves which stores a tile's codes [mn][k] so: zeros elsewhere; size: bytes, as many as
    the tile needs where it is 0. The inverse of `gather`.
    """
    mn, k = np.arange(codes.shape[0], dtype=np.int64)[:, None], np.arange(codes.shape[1], dtype=np.int64)[None, :]
    at = np.broadcast_to(np.asarray(stored.address(mn, k), np.int64), codes.shape) - base
    per = max(bits // 8, 1)
    data = np.zeros(size or int(at.max()) + per, np.uint8)
    if bits < 8:
        inner = np.arange(codes.shape[1], dtype=np.uint64) * np.uint64(bits) % np.uint64(8)
        np.bitwise_or.at(data, at, (codes << inner[None, :]).astype(np.uint8))
    else:
        for byte in range(per):
            data[at + byte] = (codes >> np.uint64(8 * byte) & np.uint64(255)).astype(np.uint8)
    return Dump(data, base)


def _judged(made: Examined, tile: Tile, origin: tuple[int, int]) -> Examined:
    seen, row = made.seen, made.element
    for name, at, size, extent in zip(
        ("mn", "k"), origin, (seen.rows, seen.k), tile.codes.shape, strict=True
    ):  # fmt: skip
        if at + size > extent:
            raise LayoutError(
                "bad_slice", f"The slice {name} {at} … {at + size - 1} does not lie in the expected tile's {extent}.",
                f"The instruction takes {size} of {name}.", f"slice.{name}",
            )  # fmt: skip
    mn, k = origin
    wanted = tile.codes[mn : mn + seen.rows, k : k + seen.k]
    right = made.inside & (keys(made.codes, row) == keys(wanted, row))
    out = replace(made, tile=tile, wanted=wanted, right=right)
    if right.all():
        return out
    found = search(_image(made.dump, row), codec.readable(tile.codes, row.name), row.bits, made.descriptor)
    spots = places(_image(made.dump, row), codec.readable(tile.codes, row.name), row.bits, found, origin, seen)
    return replace(
        out, where=spots, layouts=tuple(_explained(out, found, origin)),
        layout_count=len(found), begins=tuple(_begins(out, found, spots)),
        transposed=_turned(out),
    )  # fmt: skip


def _image(dump: Dump, row: DType) -> Image:
    """The dump as the search compares it: bits that nothing reads are cleared."""
    return Image(codec.readable_memory(dump.data, row.name), dump.base)


def _explained(made: Examined, found: Sequence[Fit], origin: tuple[int, int]) -> list[Explained]:
    """The layouts, each with why the word does not read it; the verifier's causes are those of a word and a storage."""
    out = []
    for fit in found[:MOST_DIAGNOSED]:
        try:
            result = verify(made.descriptor, made.seen, fit.stored, *origin)
        except LayoutError:  # a reserved swizzle code, a layout that ends before the slice
            out.append(Explained(fit, ()))
            continue
        out.append(Explained(fit, result.diagnoses))
    return out


def _begins(made: Examined, found: Sequence[Fit], spots: Places) -> list[int]:
    """Other first addresses of the dump with which every element would be right: the word may be right and `base`
    wrong.
    """
    assert made.wanted is not None
    near = spots.address[0, 0]
    at = {int(near)} if near >= 0 else set()
    at |= {int(np.asarray(fit.stored.address(*made.origin))) for fit in found}
    out = []
    for place in sorted(at):
        base = made.dump.base + int(made.address[0, 0]) - place
        if base == made.dump.base or base % 4 or not 0 <= base < WINDOW_BYTES:
            continue
        codes, inside = gather(Dump(made.dump.data, base), made.address, made.element.bits)
        if (inside & (keys(codes, made.element) == keys(made.wanted, made.element))).all():
            out.append(base)
    return out


def _turned(made: Examined) -> bool:
    """Whether what is read is the transpose of the expected operand, where both have that shape."""
    if made.wanted is None or made.seen.rows != made.seen.k or not made.inside.all():
        return False
    row = made.element
    return bool((keys(made.codes, row) == keys(made.wanted.T, row)).all())


def summary(made: Examined) -> str:
    """The verdict in a sentence."""
    if made.right is None:
        lost = f"; {made.outside:,} of them lie outside the dump" if made.outside else ""
        return f"{made.total:,} elements of {made.element.name} are read{lost}"
    wrong = int((made.inside & ~made.right).sum())
    parts = [f"{wrong:,} of {made.total:,} elements are wrong"] if wrong else []
    if made.outside:
        parts.append(f"{made.outside:,} of {made.total:,} elements lie outside the dump")
    return listed(parts) or f"All {made.total:,} elements are right"
