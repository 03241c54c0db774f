"""The wgmma matrix descriptor: its 64 bits, and the bytes it makes the hardware read.

Fields: PTX ISA 9.1, 9.7.15.5.1.2.2. The address model was measured on an H100 (sm_90a, CUDA 13.0, 2026-11-21) with
15,572 random descriptors and reproduced every map; 500 of them are replayed by tests/test_descriptor.py. B of wgmma.sp
takes 64 bytes of K, measured the same way on an H200: in mode 32B, whose atom is 32 bytes wide, LBO then leads from one
atom to the next; `lanescope gpu verify` repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.bits import format_word
from lanescope.descriptor.format import DescriptorFormat
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, quote_value
from lanescope.notebook import NotebookObject
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import LBO_MODE, START, WGMMA, find_variant_of_word, list_variants
from lanescope.shared.swizzle import Mode, apply_xor, get_mode

Addresses = NDArray[np.int64]

# Bytes of an SM of sm_90 and sm_100, and the most a block can have of them: CUDA Programming Guide, technical
# specifications per compute capability.
SM_BYTES, MOST_SHARED = 228 * 1024, WGMMA.block_bytes
# the first kilobyte of the shared window is the system's on sm_90: a block's own memory begins here (measured)
SHARED_BEGIN = 1024
SHARED_END = SHARED_BEGIN + MOST_SHARED
WINDOW_MASK = START.mask  # the bits of a shared-window address
# what a descriptor can address; a read past it does not wrap: it is cudaErrorIllegalAddress (measured on an H200)
WINDOW_BYTES = WINDOW_MASK + 1
K_BYTES = 32


@dataclass(frozen=True, slots=True)
class Descriptor(NotebookObject):
    """A 64-bit matrix descriptor. Offsets in bytes; reserved bits are kept.

    LayoutError `bad_word` unless the word is an integer of 64 bits; lanescope.descriptor.spelling parses text.
    """

    word: int
    format: DescriptorFormat = WGMMA

    def __post_init__(self) -> None:
        if not isinstance(self.word, int) or self.word >> 64:
            raise LayoutError(
                "bad_word", f"word is {quote_value(self.word)}.", "An integer from 0 to 2**64 - 1.", "word"
            )

    def get_amount(self, name: str) -> int:
        """Return the value of a field, in bytes where it holds bytes."""
        field = self.format.get_field(name)
        return field.get(self.word) * field.unit

    @property
    def start_address(self) -> int:
        return self.get_amount("start_address")

    @property
    def lbo_bytes(self) -> int:
        return self.get_amount("lbo_bytes")

    @property
    def sbo_bytes(self) -> int:
        return self.get_amount("sbo_bytes")

    @property
    def base_offset(self) -> int:
        return self.get_amount("base_offset")

    @property
    def mode_code(self) -> int:
        return self.get_amount(self.format.coded)

    @property
    def mode(self) -> Mode:
        """The swizzle mode; LayoutError if its code is reserved."""
        return self.format.get_mode(self.mode_code)

    @property
    def reserved(self) -> int:
        """The set bits that no field covers."""
        return self.word & self.format.reserved_mask

    @property
    def shared_end(self) -> int:
        """The address where a block's shared memory ends, if it begins as on sm_90."""
        return SHARED_BEGIN + self.format.block_bytes

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The fields that leave open which bytes are read."""
        return tuple(name for name in self.format.open if self.get_amount(name))

    @property
    def elsewhere(self) -> tuple[str, Descriptor] | None:
        """The architecture, and the word there, on which bits that are reserved here are fields'; None without one."""
        found = find_variant_of_word(self.format, self.word)
        return (found[0], Descriptor(self.word, found[1])) if found else None

    @property
    def has_absolute_lbo(self) -> bool:
        """Whether LBO is an absolute address, for which only tcgen05's format has a bit."""
        return LBO_MODE in self.format.fields and bool(LBO_MODE.get(self.word))

    @property
    def facts(self) -> dict[str, int | str]:
        """The amount of every field by its name with its unit, the swizzle mode by name."""
        facts = {
            f.amount: self.format.format_field_value(self.word, f)
            if f.name == self.format.coded
            else self.get_amount(f.name)
            for f in self.format.fields
        }
        return dict(facts)

    def replace(self, **encoded: int) -> Descriptor:
        """Return the descriptor with other field values; all else is kept.

        encoded: `lbo_encoded` for fields in units of 16 bytes, else the field's name.
        """
        known = {f.encoded_name: f for f in self.format.fields}
        word = self.word
        for name, value in encoded.items():
            if name not in known:
                raise TypeError(f"{self.format.name} has no '{name}': {', '.join(known)}")
            word = known[name].put(word, value)
        return Descriptor(word, self.format)

    def __str__(self) -> str:
        return format_word(self.word)


def encode_wgmma(
    start_address: int, lbo_bytes: int, sbo_bytes: int, base_offset: int = 0, swizzle: str = "none"
) -> Descriptor:
    """Return a wgmma descriptor from byte amounts; LayoutError names the field that is misaligned or too large."""
    named = {"start_address": start_address, "lbo_bytes": lbo_bytes, "sbo_bytes": sbo_bytes, "base_offset": base_offset}
    return encode_descriptor(WGMMA, named, swizzle)


def encode_descriptor(form: DescriptorFormat, amounts: Mapping[str, int], swizzle: str = "none") -> Descriptor:
    """Return a descriptor of any format from amounts by name, in bytes where the name says so.

    The format's constants are put in; what is not given is 0.
    """
    word = 0
    for field in form.fields:
        if field.name == form.coded:
            word = field.put(word, form.codes[form.get_mode_by_name(swizzle)])
            continue
        amount = amounts.get(field.amount, form.constants.get(field.name, 0))
        if field.name == START.name and amount > field.mask:
            raise LayoutError(
                "bad_field",
                f"{field.amount} {amount:#x} lies outside the {field.mask.bit_length()}-bit shared window.",
                "Give the shared-window address (__cvta_generic_to_shared), not a generic pointer."
                + _name_wider_targets(form, amount),
                field.amount,
            )
        try:
            word = field.put(word, field.encode(amount)) if field.in_bytes else field.put(word, amount)
        except LayoutError as error:
            raise error.move_to_field(field.amount) from None
    return Descriptor(word, form)


def _name_wider_targets(form: DescriptorFormat, start: int) -> str:
    """Return, for a start that no target's format can have unless it is named, the architectures to name."""
    wider = [] if form.target else [on for on, row in list_variants(form).items() if start < row.window_bytes]
    return f" On {join_words(wider, 'or')} the window is larger: give the target." if wider else ""


@dataclass(frozen=True, slots=True)
class View:
    """How an instruction reads through a descriptor: rows of M or N, elements of K, element bits, majorness; form: the
    format.
    """

    rows: int
    k: int
    bits: int
    major: str
    form: DescriptorFormat = WGMMA

    @property
    def per(self) -> int:
        """Elements in a 16-byte chunk."""
        return 128 // self.bits

    def choose_mode(self, code: int) -> Mode:
        """Return the swizzle mode of a code; where it names none, 128B or the widest that this operand can have."""
        named = [mode for mode, own in self.form.codes.items() if own == code]
        swizzled = [mode for mode in (*named, get_mode("128B"), *self.form.codes) if mode.chunks > 1]
        return next(mode for mode in swizzled if self.form.allows_elements(self.bits, self.major, mode))


def view(instruction: Instruction, operand: str, major: str) -> View:
    """Return the view of a wgmma's operand; LayoutError for another instruction, operand or major."""
    if not instruction.family.by_descriptor:
        raise LayoutError(
            "no_descriptor",
            f"{instruction.ptx} reads no descriptor.",
            "Choose a wgmma.mma_async instruction.",
            "instruction",
        )
    if operand not in ("a", "b"):
        raise LayoutError(
            "bad_operand", f"No operand '{operand}' is read through a descriptor.", "Allowed: a, b.", "operand"
        )
    if major not in ("K", "MN"):
        raise LayoutError("bad_major", f"No major '{major}'.", "Allowed: K, MN.", "major")
    bits = instruction.operand("a").element.bits
    if major == "MN" and bits != 16:
        raise LayoutError(
            "bad_major", f"{instruction.types[operand]} is read K-major only.", "MN-major is for f16 and bf16.", "major"
        )
    rows = instruction.sizes["m" if operand == "a" else "n"]
    a = instruction.operand("a")
    k = a.col_count if operand == "a" else instruction.sizes["k"]
    return View(rows, k, bits, major)


def reads(descriptor: Descriptor, seen: View) -> Addresses:
    """Return the absolute shared-memory byte address of every element: int64 [rows, k], read-only."""
    for name in descriptor.open_fields:
        field, why = descriptor.format.get_field(name), descriptor.format.open[name]
        raise LayoutError(
            f"open_{name}",
            f"{why[0].upper()}{why[1:]}; which bytes that reads is not documented.",
            f"Clear bit {field.low}{': LBO is an offset then' if field == LBO_MODE else ''}.",
            "descriptor",
        )
    _ = descriptor.mode  # a reserved code is refused
    return _compute_addresses(descriptor.word, seen, descriptor.format)


@lru_cache(maxsize=16)
def _compute_addresses(word: int, seen: View, form: DescriptorFormat) -> Addresses:
    """Return what `reads` does, cached: one verdict needs the same word's bytes several times."""
    addresses: Addresses = compute_many_addresses(np.array([word], dtype=np.uint64), seen, form)[0]
    addresses.flags.writeable = False
    return addresses


def compute_many_addresses(words: NDArray[np.uint64], seen: View, form: DescriptorFormat = WGMMA) -> Addresses:
    """Return what `reads` does for many descriptors of one format, none with a reserved code: int64 [descriptors, rows,
    k].
    """
    return _compute_places(words, seen, np.arange(seen.rows, dtype=np.int64), np.arange(seen.k, dtype=np.int64), form)


def compute_chunk_addresses(word: int, seen: View, form: DescriptorFormat = WGMMA) -> Addresses:
    """Return the first byte of every 16-byte chunk that a descriptor reads: int64 [rows, chunks of k], or [chunks of
    rows, k] where M or N is contiguous. None of its codes is reserved.
    """
    by_k = seen.major == "K"
    r = np.arange(0, seen.rows, 1 if by_k else seen.per, dtype=np.int64)
    k = np.arange(0, seen.k, seen.per if by_k else 1, dtype=np.int64)
    found: Addresses = _compute_places(np.array([word], dtype=np.uint64), seen, r, k, form)[0]
    return found


def _compute_places(
    words: NDArray[np.uint64], seen: View, rows: NDArray[np.int64], columns: NDArray[np.int64], form: DescriptorFormat
) -> Addresses:
    """Return the addresses of elements at some rows and values of k: int64 [descriptors, rows, columns]."""
    get = {
        f.amount: ((words >> np.uint64(f.low)) & np.uint64(f.most)).astype(np.int64)[:, None, None] * f.unit
        for f in form.fields
    }
    terms = _make_mode_terms(form)
    chunks, mask, base, shift, deep = (terms[:, n][get[form.coded]] for n in range(5))
    r, k = rows[None, :, None], columns[None, None, :]
    before = get["start_address"] + compute_offset_before_swizzle(
        r, k, chunks=chunks, lbo_bytes=get["lbo_bytes"], sbo_bytes=get["sbo_bytes"], seen=seen, deep=deep
    )
    addresses: Addresses = apply_xor(before, mask, base, shift, get["base_offset"])
    return addresses


@lru_cache(maxsize=4)
def _make_mode_terms(form: DescriptorFormat) -> NDArray[np.int64]:
    """Return for every mode code of a format its chunks, the XOR's mask, base and shift, and the depth of an MN-major
    atom.
    """
    by_code = {code: mode for mode, code in form.codes.items()}
    modes = [by_code.get(code, form.modes[0]) for code in range(form.get_field(form.coded).most + 1)]
    xors = [mode.swizzle() for mode in modes]
    return np.array(
        [(m.chunks, (1 << xor.bits) - 1, xor.base, xor.shift, m.deep) for m, xor in zip(modes, xors, strict=True)],
        dtype=np.int64,
    )


def compute_offset_before_swizzle(
    r: Any, k: Any, *, chunks: Any, lbo_bytes: Any, sbo_bytes: Any, seen: View, deep: Any = 8
) -> Any:
    """Return the byte offset from the start before the XOR; arguments broadcast.

    deep: values of K in an MN-major atom.
    """
    if seen.major == "K":
        chunk, inside = k // seen.per, k % seen.per * seen.bits // 8
        wide = r // 8 * sbo_bytes + r % 8 * 16 * chunks
        return wide + chunk // chunks * lbo_bytes + chunk % chunks * 16 + inside
    core, inside = r // seen.per, r % seen.per * seen.bits // 8
    none = core * sbo_bytes + k // 8 * lbo_bytes + k % 8 * 16 + inside
    panel = core // chunks * lbo_bytes + core % chunks * 16
    wide = panel + k // deep * sbo_bytes + k % deep * 16 * chunks + inside
    return np.where(chunks == 1, none, wide)


def find_inert_fields(descriptor: Descriptor, seen: View) -> dict[str, str]:
    """Return the fields that this view does not read, each with the reason."""
    return find_unread_fields(descriptor.mode, seen)


def find_unread_fields(mode: Mode, seen: View) -> dict[str, str]:
    """Return the fields that a view does not read in any descriptor of one mode, each with the reason."""
    unread = {}
    swizzled = mode.chunks > 1
    if seen.major == "K" and swizzled and seen.k <= seen.per * mode.chunks:
        unread["lbo"] = "not read: in a swizzled K-major layout the chunks of K are neighbours inside the atom"
    if seen.major == "MN" and swizzled and seen.rows <= seen.per * mode.chunks:
        unread["lbo"] = f"not read: the {seen.rows} rows fit in one atom of {seen.per * mode.chunks} rows"
    if seen.rows == (8 if seen.major == "K" else seen.per) and not (seen.major == "MN" and swizzled):
        unread["sbo"] = "not read: the operand has only 8 rows"
    if not swizzled:
        unread["base_offset"] = "not read: mode none XORs nothing"
    return unread


def count_bank_ways(address: Addresses, seen: View) -> int:
    """Return how many rows of one core matrix meet in the same 16-byte bank group at worst: 1 is free of conflicts.

    A core matrix is 8 lines of 16 bytes; shared memory has 32 banks of 4 bytes, so 8 such groups.
    """
    lines = address if seen.major == "K" else address.T
    starts = lines[:, :: seen.per]
    groups = (starts >> 4 & 7).reshape(-1, 8, starts.shape[1])
    counts = (groups[:, :, :, None] == np.arange(8)).sum(axis=1)
    return int(counts.max())
