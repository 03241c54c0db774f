"""The canonical layouts of operand tiles in shared memory: atoms, strides, CuTe strings, K steps.

PTX ISA 9.1, 9.7.15.5.1.2; CUTLASS include/cute/arch/mma_sm90_desc.hpp and mma_traits_sm90_gmma.hpp (canonical layouts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import K_BYTES, Descriptor, View, encode_descriptor, find_unread_fields
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.notebook import NotebookObject
from lanescope.ptx.table.descriptors import BASE_OFFSET, LBO, SBO, START, WGMMA
from lanescope.shared.swizzle import Mode

Offsets = NDArray[np.int64]
ELEMENT_BITS = WGMMA.element_bits
# The dimension along which atoms are laid first by default, as CUTLASS's sm90 collectives do: K-major
# Step<_1,_2,_3> (M or N first), MN-major Step<_2,_1,_3> (K first);
# include/cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp.
DEFAULT_ORDER = {"K": "mn", "MN": "k"}
SWIZZLED_BY = ("address", "tile")


@dataclass(frozen=True, slots=True)
class Tile(NotebookObject):
    """mn × k elements stored as swizzle atoms.

    An atom is 8 rows of one swizzle width (K-major) or its transpose (MN-major). order: the dimension along which atoms
    are laid first, "" for DEFAULT_ORDER's; base: the address of the first byte; swizzle_by: "address" XORs the absolute
    address, as TMA does, "tile" the offset from base.
    """

    element_bits: int
    major: str
    mode: Mode
    mn: int
    k: int
    order: str = ""
    base: int = 0
    swizzle_by: str = "address"
    form: DescriptorFormat = WGMMA

    def __post_init__(self) -> None:
        self._require_readable()
        if not self.order:
            object.__setattr__(self, "order", DEFAULT_ORDER[self.major])
        if self.swizzle_by not in SWIZZLED_BY:
            raise LayoutError(
                "bad_tile", f"No swizzle_by '{self.swizzle_by}'.", f"Allowed: {', '.join(SWIZZLED_BY)}.", "swizzle_by"
            )
        if self.order not in ("mn", "k"):
            raise LayoutError("bad_tile", f"No order '{self.order}'.", "Allowed: mn, k.", "order")
        self._require_fit()

    def _require_readable(self) -> None:
        """Raise LayoutError for an element size, a major or a mode that no instruction of the format reads."""
        if self.element_bits not in self.form.element_bits:
            note = " (1 is b1, eight to a byte)" if 1 in self.form.element_bits else ""
            hint = f"Allowed: {', '.join(map(str, self.form.element_bits))}{note}."
            raise LayoutError(
                "bad_tile",
                f"{self.form.reader} reads no {self.element_bits}-bit elements.",
                self.form.narrow.get(self.element_bits, "") + hint,
                "element_bits",
            )
        if self.major not in ("K", "MN"):
            raise LayoutError("bad_major", f"No major '{self.major}'.", "Allowed: K, MN.", "major")
        if not self.form.allows_elements(self.element_bits, self.major):
            sizes = join_words([f"{bits}-bit" for bits in self.form.turned])
            raise LayoutError(
                "bad_major",
                f"{self.element_bits}-bit elements are read K-major only.",
                f"MN-major is for {sizes} types.",
                "major",
            )
        if not self.form.allows_elements(self.element_bits, self.major, self.mode):
            legal = join_words([mode.name for mode in self.form.turned[self.element_bits]], "or")
            raise LayoutError(
                "bad_tile",
                f"An MN-major tile of {self.element_bits}-bit elements is not read with swizzle {self.mode.name}.",
                f"Allowed: {legal}.",
                "swizzle",
            )

    def _require_fit(self) -> None:
        """Raise LayoutError for a tile with incomplete atoms, and for one larger than a block's shared memory."""
        for name, size, unit in (("mn", self.mn, self.atom[0]), ("k", self.k, self.atom[1])):
            if size < unit or size % unit:
                raise LayoutError(
                    "bad_tile",
                    f"{name} = {size} is not a multiple of the atom's {unit}.",
                    f"The {self.mode.name} {self.major}-major atom is {self.atom[0]}×{self.atom[1]} (mn×k).",
                    name,
                )
        most, window = self.form.block_bytes, self.form.window_bytes
        if self.bytes > most:
            name, extent, unit = ("mn", self.k, self.atom[0]) if self.mn > self.k else ("k", self.mn, self.atom[1])
            room = most * 8 // self.element_bits // extent // unit * unit
            hint = f"With {extent} in the other dimension, {name} is at most {room}." if room else "Make both smaller."
            raise LayoutError(
                "too_large",
                f"{self.mn}×{self.k} elements of {self.element_bits} bits do not fit the {most} bytes of shared"
                " memory a block has.",
                hint,
                name,
            )
        if self.base < 0 or self.base % 16:
            raise LayoutError(
                "misaligned",
                f"base {self.base} is not a multiple of 16.",
                "Shared-memory tiles start on 16 bytes.",
                "base",
            )
        if self.base + self.bytes > window:
            raise LayoutError(
                "start_beyond_window",
                f"The tile of {self.bytes} bytes at base {self.base} ends past {window}, the last address a"
                " descriptor can name.",
                f"At most {(window - self.bytes) // 16 * 16}.",
                "base",
            )

    @property
    def per(self) -> int:
        """Elements per 16-byte chunk."""
        return 128 // self.element_bits

    @property
    def atom(self) -> tuple[int, int]:
        """The atom's size, mn × k elements."""
        return self.mode.get_atom_size(self.element_bits, self.major)

    @property
    def atoms(self) -> tuple[int, int]:
        """The number of atoms along mn and k."""
        return self.mn // self.atom[0], self.k // self.atom[1]

    @property
    def strides(self) -> tuple[int, int]:
        """The bytes from one atom to the next along mn and along k."""
        along_mn, along_k = self.atoms
        size = self.mode.count_atom_bytes(self.major)
        return (size, size * along_mn) if self.order == "mn" else (size * along_k, size)

    @property
    def bytes(self) -> int:
        return self.mn * self.k * self.element_bits // 8

    def compute_offset_before(self, mn: Any, k: Any) -> Any:
        """Return the byte offset of element (mn, k) from the tile's start before the XOR; arguments broadcast."""
        (am, ak), (sm, sk) = self.atom, self.strides
        inside_mn, inside_k = mn % am, k % ak
        line, along = (inside_mn, inside_k) if self.major == "K" else (inside_k, inside_mn)
        return mn // am * sm + k // ak * sk + line * self.mode.width_bytes + along * self.element_bits // 8

    def address(self, mn: Any, k: Any) -> Any:
        """Return the absolute byte address of element (mn, k).

        The XOR applies to the absolute address, as in TMA and wgmma, unless `swizzle_by` is "tile".
        """
        xor, before = self.mode.swizzle(), self.compute_offset_before(mn, k)
        return xor(self.base + before) if self.swizzle_by == "address" else self.base + xor(before)

    def compute_offsets(self) -> Offsets:
        """Return the byte offset of every element from the tile's start: int64 [mn, k]."""
        offsets: Offsets = (
            self.address(np.arange(self.mn, dtype=np.int64)[:, None], np.arange(self.k, dtype=np.int64)[None, :])
            - self.base
        )
        return offsets

    def get_lbo_sbo_bytes(self, reach: int = 0) -> tuple[int, int]:
        """Return (LBO, SBO) in bytes; an LBO that is not read is 16, as in CUTLASS.

        reach: the elements of K that one instruction reads.
        """
        along_mn, along_k = self.strides
        if self.mode.chunks == 1:
            return along_k, along_mn
        if self.major == "K":
            return (along_k if reach > self.atom[1] else 16), along_mn
        return along_mn, along_k

    def get_used_strides(self, rows: int) -> tuple[bool, bool]:
        """Return whether an instruction with `rows` rows reads LBO, and whether it reads SBO."""
        unread = find_unread_fields(self.mode, View(rows, self.step(), self.element_bits, self.major, self.form))
        return "lbo" not in unread, "sbo" not in unread

    def step(self) -> int:
        """Return the elements of K in 32 bytes, which one dense wgmma reads."""
        return K_BYTES * 8 // self.element_bits

    def descriptor(self, mn: int = 0, k: int = 0, reach: int = 0, rows: int = 0) -> Descriptor:
        """Return the descriptor of the slice that begins at (mn, k); LayoutError if there is none.

        reach: the elements of K that the instruction reads, if not `step` (B of wgmma.sp: twice as many). rows: those
        of the instruction; if given, a slice may begin inside an MN-major atom that contains all of them.
        """
        self.check_slice(mn, k, rows)
        lbo, sbo = self.get_lbo_sbo_bytes(reach)
        start = self.base + int(self.compute_offset_before(mn, k))
        amounts = {
            START.amount: start,
            LBO.amount: lbo,
            SBO.amount: sbo,
            BASE_OFFSET.amount: self.base_offset,
        }
        return encode_descriptor(self.form, amounts, self.mode.name)

    @property
    def base_offset(self) -> int:
        """The 128-byte rows from the pattern's boundary to the base, if swizzle_by is "tile"; else 0.

        LayoutError if the distance is not a multiple of 128 bytes.
        """
        past = self.base % self.mode.pattern_bytes if self.swizzle_by == "tile" and self.mode.chunks > 1 else 0
        if past % 128:
            raise LayoutError(
                "no_descriptor",
                f"A tile swizzled from its own start at {self.base} has no descriptor: base offset counts rows of 128"
                " bytes.",
                f"Nearest: {self.base // 128 * 128}.",
                "base",
            )
        return past // 128

    def check_slice(self, mn: int, k: int, rows: int = 0) -> None:
        """Raise LayoutError if no instruction (of `rows` rows; 0: any number) can start at (mn, k)."""
        inside = mn % self.atom[0]
        single_atom = self.major == "MN" and rows and not inside % self.per and inside + rows <= self.atom[0]
        if (inside and not single_atom) or not 0 <= mn < self.mn:
            where = "inside an MN-major atom" if self.major == "MN" else "inside a group of 8 rows"
            raise LayoutError(
                "illegal_step",
                f"mn = {mn} is {where if mn % self.atom[0] else 'outside the tile'}.",
                f"Multiples of {self.atom[0]} below {self.mn}.",
                "slice",
            )
        if k % self.step() or not 0 <= k < self.k:
            raise LayoutError(
                "illegal_step",
                f"k = {k} is not a step of the instruction.",
                f"Multiples of {self.step()} below {self.k}.",
                "slice",
            )

    def canonical(self) -> str:
        """Return the canonical layout of this mode and major over (mn, k) in chunks (mma_sm90_desc.hpp)."""
        return spell_canonical(self.mode, self.major)[0]

    def cute(self) -> dict[str, str]:
        """Return the CuTe layout over (mn, k) in each unit: chunks of 16 bytes, elements, bytes and bits."""
        return {
            unit: self._format_cute_units(bits)
            for unit, bits in (("chunks", 128), ("elements", self.element_bits), ("bytes", 8), ("bits", 1))
        }

    def _format_cute_units(self, unit_bits: int) -> str:
        """Return the CuTe layout in units of so many bits; the swizzle's base counts the same units."""
        wide = self.mode.width_bytes * 8 // unit_bits
        lines = 8 if self.major == "K" else self.mode.deep
        across, along = (lines, wide), (wide, 1)  # inside an atom: (size, stride)
        inside = (across, along) if self.major == "K" else (along, across)
        between = [stride * 8 // unit_bits for stride in self.strides]
        shape = ",".join(f"({size},{atoms})" for (size, _), atoms in zip(inside, self.atoms, strict=True))
        stride = ",".join(f"({step},{leap})" for (_, step), leap in zip(inside, between, strict=True))
        return f"{self.mode.swizzle(unit_bits)} o ({shape}):({stride})"


def spell_canonical(mode: Mode, major: str) -> tuple[str, str]:
    """Return the canonical layout of a mode and a major over (mn, k), in chunks of 16 bytes and in elements.

    A chunk has T elements. CUTLASS, mma_sm90_desc.hpp; PTX ISA 9.1, 9.7.15.5.1.2.
    """
    w = mode.chunks
    width = "" if w == 1 else str(w)
    if major == "K":
        in_chunks = "((8,n),2):((1,SBO),LBO)" if w == 1 else f"((8,n),2):(({w},SBO),1)"
        return in_chunks, f"((8,m),(T,2k)):(({width}T,SBO),(1,{'LBO' if w == 1 else 'T'}))"
    outer, deep = ("SBO", "LBO") if w == 1 else ("LBO", "SBO")
    in_chunks = f"(({w},n),({mode.deep},k)):(({'X' if w == 1 else 1},{outer}),({1 if w == 1 else w},{deep}))"
    return in_chunks, f"((T,{w},m),(8,k)):((1,T,{outer}),({width}T,{deep}))"
