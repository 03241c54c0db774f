"""Compare what an instruction reads from a dump with the expected tile, and find the tile in the dump.

Addresses: layouts/descriptor/matrix.py; numbers: layouts/ptx/codec.py; search of the tile in the dump:
layouts/descriptor/tile_search.py; causes: layouts/descriptor/verify.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import WINDOW_BYTES, Addresses, Descriptor, View, reads, view
from lanescope.descriptor.tile_search import ElementPlaces, MemoryImage, TileFit, find_layouts, locate_elements
from lanescope.descriptor.verify import verify
from lanescope.dump.files import BASE, Dump, ExpectedTile, parse_expected_tile
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, parse_choice
from lanescope.ptx import codec
from lanescope.ptx.codec import decode_as_read, make_comparison_keys
from lanescope.ptx.dtypes import DType, get_dtype
from lanescope.ptx.element_bytes import read_known_codes, write_codes
from lanescope.ptx.instruction import Instruction
from lanescope.shared.storage import Storage

MOST_DIAGNOSED = 4  # layouts with explanations
AS = ("", "values", "bits")
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Explained:
    """A layout of the tile in the dump, and the verifier's causes for the word; none if the word reads it."""

    fit: TileFit
    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """What an instruction reads from a dump; arrays [row][k], row is M for A and N for B.

    address: absolute bytes; codes: element bits, 0 if `inside` is false: the dump does not contain the byte; wanted:
    the expected codes, None without a tile.
    """

    dump: Dump
    descriptor: Descriptor
    seen: View
    element: DType
    operand: str
    address: Addresses
    codes: codec.Bits
    inside: Mask
    tile: ExpectedTile | None = None
    wanted: codec.Bits | None = None
    right: Mask | None = None
    where: ElementPlaces | None = None
    layouts: tuple[Explained, ...] = ()
    layout_count: int = 0
    begins: tuple[int, ...] = ()
    transposed: bool = False
    origin: tuple[int, int] = (0, 0)

    @property
    def values(self) -> codec.Values:
        """The numbers that are read; NaN outside the dump."""
        return np.where(self.inside, decode_as_read(self.codes, self.element), np.nan)

    @property
    def total(self) -> int:
        return int(self.address.size)

    @property
    def outside(self) -> int:
        """The number of elements whose bytes are not in the dump."""
        return int((~self.inside).sum())

    @property
    def matched(self) -> int | None:
        return None if self.right is None else int(self.right.sum())

    @property
    def verdict(self) -> str:
        """ "match"; "mismatch" if an element in the dump is wrong; else "unknown"."""
        if self.right is None:
            return "unknown"
        if (self.inside & ~self.right).any():
            return "mismatch"
        return "unknown" if self.outside else "match"

    @property
    def distinct(self) -> int:
        """The number of distinct values of the expected operand; 0 without one."""
        return 0 if self.wanted is None else int(np.unique(make_comparison_keys(self.wanted, self.element)).size)

    @property
    def needed(self) -> tuple[int, int]:
        """The (first byte, byte after the last) that the instruction reads."""
        return int(self.address.min()), int(self.address.max()) + max(self.element.bits // 8, 1)


def examine(
    dump: Dump,
    descriptor: Descriptor,
    instruction: Instruction,
    *,
    operand: str = "a",
    major: str = "K",
    expected: bytes | None = None,
    taken: str = "",
    origin: tuple[int, int] = (0, 0),
) -> Examined:
    """Return what a wgmma reads through a descriptor from a dump, and whether it is the expected tile.

    expected: a .npy file, see `parse_expected_tile`; origin: (mn, k) of the instruction's slice in it, if it is larger
    than the operand. LayoutError names the invalid field.

    >>> import numpy as np
    >>> from lanescope import find
    >>> examined = examine(Dump(np.zeros(8192, np.uint8)), Descriptor(0x4000004000010040),
    ...                find("wgmma.mma_async.m64n64k16.f32.f16.f16"))
    >>> examined.verdict, examined.values.shape, examined.outside
    ('unknown', (64, 16), 0)
    """
    operand_view = view(instruction, operand, major)
    row = get_dtype(instruction.types[operand])
    address = reads(descriptor, operand_view)
    codes, inside = gather(dump, address, row.bits)
    examination = Examined(
        dump,
        descriptor,
        operand_view,
        element=row,
        operand=operand,
        address=address,
        codes=codes,
        inside=inside,
        origin=origin,
    )
    if expected is None:
        return examination
    tile = parse_expected_tile(expected, row.name, operand, operand_view, parse_choice(taken, "expected_as", AS))
    return _compare_dump(examination, tile, origin)


def gather(dump: Dump, address: Addresses, bits: int) -> tuple[codec.Bits, Mask]:
    """Return (codes, whether the dump contains them) of elements at byte addresses [row][k].

    Elements narrower than a byte are packed along k, lowest bits first.
    """
    return read_known_codes(dump.data, address - dump.base, bits)


def written(stored: Storage, codes: codec.Bits, bits: int, base: int = BASE, size: int = 0) -> Dump:
    """Return the dump of a kernel that stores a tile's codes [mn][k] in a storage, with zeros elsewhere.

    size: in bytes, 0 for as many as the tile needs. The inverse of `gather`.
    """
    at = stored.compute_addresses(*codes.shape) - base
    data = np.zeros(size or int(at.max()) + max(bits // 8, 1), np.uint8)
    write_codes(data, at, codes, bits)
    return Dump(data, base)


def _compare_dump(examination: Examined, tile: ExpectedTile, origin: tuple[int, int]) -> Examined:
    operand_view, row = examination.seen, examination.element
    for name, at, size, extent in zip(
        ("mn", "k"), origin, (operand_view.rows, operand_view.k), tile.codes.shape, strict=True
    ):
        if at + size > extent:
            raise LayoutError(
                "bad_slice",
                f"The slice {name} {at} … {at + size - 1} exceeds the expected tile's {extent}.",
                f"The instruction reads {size} along {name}.",
                f"slice.{name}",
            )
    mn, k = origin
    expected = tile.codes[mn : mn + operand_view.rows, k : k + operand_view.k]
    right = examination.inside & (make_comparison_keys(examination.codes, row) == make_comparison_keys(expected, row))
    compared = replace(examination, tile=tile, wanted=expected, right=right)
    if right.all():
        return compared
    layouts = find_layouts(
        _make_image(examination.dump, row),
        codec.mask_unread_bits(tile.codes, row.name),
        row.bits,
        examination.descriptor,
    )
    spots = locate_elements(
        _make_image(examination.dump, row),
        codec.mask_unread_bits(tile.codes, row.name),
        row.bits,
        layouts,
        origin,
        operand_view,
    )
    return replace(
        compared,
        where=spots,
        layouts=tuple(_explain_layouts(compared, layouts, origin)),
        layout_count=len(layouts),
        begins=tuple(_find_other_bases(compared, layouts, spots)),
        transposed=_is_transposed(compared),
    )


def _make_image(dump: Dump, row: DType) -> MemoryImage:
    """Return the dump with the bits cleared that are not read, for the search."""
    return MemoryImage(codec.mask_unread_memory(dump.data, row.name), dump.base)


def _explain_layouts(examination: Examined, fits: Sequence[TileFit], origin: tuple[int, int]) -> list[Explained]:
    """Return the layouts, each with the verifier's reason why the word does not read it."""
    layouts = []
    for fit in fits[:MOST_DIAGNOSED]:
        try:
            result = verify(examination.descriptor, examination.seen, fit.stored, mn=origin[0], k=origin[1])
        except LayoutError:  # a reserved swizzle code, a layout that ends before the slice
            layouts.append(Explained(fit, ()))
            continue
        layouts.append(Explained(fit, result.diagnoses))
    return layouts


def _find_other_bases(examination: Examined, fits: Sequence[TileFit], spots: ElementPlaces) -> list[int]:
    """Return other base addresses with which every element would be right: `base` may be wrong, not the word."""
    assert examination.wanted is not None
    near = spots.address[0, 0]
    at = {int(near)} if near >= 0 else set()
    at |= {int(np.asarray(fit.stored.address(*examination.origin))) for fit in fits}
    bases = []
    for place in sorted(at):
        base = examination.dump.base + int(examination.address[0, 0]) - place
        if base == examination.dump.base or base % 4 or not 0 <= base < WINDOW_BYTES:
            continue
        codes, inside = gather(Dump(examination.dump.data, base), examination.address, examination.element.bits)
        if (
            inside
            & (
                make_comparison_keys(codes, examination.element)
                == make_comparison_keys(examination.wanted, examination.element)
            )
        ).all():
            bases.append(base)
    return bases


def _is_transposed(examination: Examined) -> bool:
    """Return whether the transpose of the expected operand is read."""
    if examination.wanted is None or examination.seen.rows != examination.seen.k or not examination.inside.all():
        return False
    row = examination.element
    return bool((make_comparison_keys(examination.codes, row) == make_comparison_keys(examination.wanted.T, row)).all())


def summary(examination: Examined) -> str:
    """The verdict as a sentence."""
    if examination.right is None:
        lost = f"; {examination.outside:,} of them are outside the dump" if examination.outside else ""
        return f"{examination.total:,} elements of {examination.element.name} are read{lost}"
    wrong = int((examination.inside & ~examination.right).sum())
    parts = [f"{wrong:,} of {examination.total:,} elements are wrong"] if wrong else []
    if examination.outside:
        parts.append(f"{examination.outside:,} of {examination.total:,} elements are outside the dump")
    return join_words(parts) or f"All {examination.total:,} elements are right"
