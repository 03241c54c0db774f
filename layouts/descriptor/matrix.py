"""Matrix descriptors: their 64 bits, and the bytes that the hardware reads through them.

Fields: PTX ISA 9.1, 9.7.15.5.1.2.2. The address model reproduces all of 15,572 random descriptors measured on an H100
(sm_90a, CUDA 13.0, 2026-11-21); tests/test_descriptor.py replays 500 of them. B of wgmma.sp has 64 bytes of K,
measured on an H200: with the 32B swizzle, whose atom is 32 bytes wide, LBO is the distance of the two atoms along K.
`lanescope gpu verify` repeats the measurement.
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

# Shared memory of an SM of sm_90 and sm_100, and the maximum of a block: CUDA Programming Guide, technical
# specifications per compute capability.
SM_BYTES, MOST_SHARED = 228 * 1024, WGMMA.block_bytes
# On sm_90 the first kilobyte of the shared window is reserved; a block's memory begins after it (measured).
SHARED_BEGIN = 1024
WINDOW_MASK = START.mask  # of a shared-window address
# The size of the window that a descriptor can address. A read beyond it does not wrap: it raises
# cudaErrorIllegalAddress (measured on an H200).
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
            hint = "An integer from 0 to 2**64 - 1."
            if isinstance(self.word, str):
                hint += " lanescope.descriptor.spelling.parse_word(text).word reads text."
            raise LayoutError("bad_word", f"word is {quote_value(self.word)}.", hint, "word")

    def get_amount(self, name: str) -> int:
        """Return the value of a field, in bytes for addresses and strides."""
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
        """The set bits outside all fields."""
        return self.word & self.format.reserved_mask

    @property
    def shared_end(self) -> int:
        """The end address of a block's shared memory, if it begins at the same address as on sm_90."""
        return SHARED_BEGIN + self.format.block_bytes

    @property
    def open_fields(self) -> tuple[str, ...]:
        """The fields whose value makes the read bytes undocumented."""
        return tuple(name for name in self.format.open if self.get_amount(name))

    @property
    def elsewhere(self) -> tuple[str, Descriptor] | None:
        """(architecture, descriptor) for which no reserved bit of the word is set, if some are set here; else None."""
        found = find_variant_of_word(self.format, self.word)
        return (found[0], Descriptor(self.word, found[1])) if found else None

    @property
    def has_absolute_lbo(self) -> bool:
        """Whether LBO is an absolute address (a bit of tcgen05's format)."""
        return LBO_MODE in self.format.fields and bool(LBO_MODE.get(self.word))

    @property
    def facts(self) -> dict[str, int | str]:
        """Field name with unit → amount; the swizzle mode by name."""
        facts = {
            f.amount: self.format.format_field_value(self.word, f)
            if f.name == self.format.coded
            else self.get_amount(f.name)
            for f in self.format.fields
        }
        return dict(facts)

    def replace(self, **encoded: int) -> Descriptor:
        """Return the descriptor with other field values; all other bits are kept.

        encoded: by encoded_name, `lbo_encoded` for fields in units of 16 bytes. TypeError for an unknown name.
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
    """Return a wgmma descriptor from byte amounts. LayoutError names a misaligned or too large field."""
    named = {"start_address": start_address, "lbo_bytes": lbo_bytes, "sbo_bytes": sbo_bytes, "base_offset": base_offset}
    return encode_descriptor(WGMMA, named, swizzle)


def encode_descriptor(form: DescriptorFormat, amounts: Mapping[str, int], swizzle: str = "none") -> Descriptor:
    """Return a descriptor from amounts by name (`lbo_bytes` in bytes). LayoutError names an amount that does not fit.

    The format's constants are added; missing fields are 0.
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
                f"{field.amount} {amount:#x} is outside the {field.mask.bit_length()}-bit shared window.",
                "Use the shared-window address (__cvta_generic_to_shared), not a generic pointer."
                + _name_wider_targets(form, amount),
                field.amount,
            )
        try:
            word = field.put(word, field.encode(amount)) if field.in_bytes else field.put(word, amount)
        except LayoutError as error:
            raise error.move_to_field(field.amount) from None
    return Descriptor(word, form)


def _name_wider_targets(form: DescriptorFormat, start: int) -> str:
    """Return a hint with the architectures on which the start fits, if the format has no target; else ""."""
    wider = [] if form.target else [on for on, row in list_variants(form).items() if start < row.window_bytes]
    return f" On {join_words(wider, 'or')} the window is larger: give the target." if wider else ""


@dataclass(frozen=True, slots=True)
class View:
    """How an instruction reads an operand through a descriptor: rows of M or N, elements of K, element bits, major."""

    rows: int
    k: int
    bits: int
    major: str
    form: DescriptorFormat = WGMMA

    @property
    def per(self) -> int:
        """The elements in a 16-byte chunk."""
        return 128 // self.bits

    def choose_mode(self, code: int) -> Mode:
        """Return the swizzle mode of a code.

        For mode none and reserved codes this is 128B, or the first mode that the operand allows.
        """
        coded = [mode for mode, mode_code in self.form.codes.items() if mode_code == code]
        swizzled = [mode for mode in (*coded, get_mode("128B"), *self.form.codes) if mode.chunks > 1]
        return next(mode for mode in swizzled if self.form.allows_elements(self.bits, self.major, mode))


def view(instruction: Instruction, operand: str, major: str) -> View:
    """Return the view of a wgmma's operand. LayoutError for an instruction, operand or major without descriptor."""
    if not instruction.family.by_descriptor:
        raise LayoutError(
            "no_descriptor",
            f"{instruction.ptx} has no descriptor operand.",
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
            "bad_major",
            f"{instruction.types[operand]} is read K-major only.",
            "Only f16 and bf16 can be MN-major.",
            "major",
        )
    rows = instruction.sizes["m" if operand == "a" else "n"]
    a = instruction.operand("a")
    k = a.col_count if operand == "a" else instruction.sizes["k"]
    return View(rows, k, bits, major)


def reads(descriptor: Descriptor, view: View) -> Addresses:
    """Return the absolute shared-memory byte address of every element: int64 [rows, k], read-only.

    Raises LayoutError for a reserved swizzle code, and if the read bytes are not documented.
    """
    for name in descriptor.open_fields:
        field, why = descriptor.format.get_field(name), descriptor.format.open[name]
        raise LayoutError(
            f"open_{name}",
            f"{why[0].upper()}{why[1:]}; which bytes are read then is not documented.",
            f"Clear bit {field.low}{': LBO is an offset then' if field == LBO_MODE else ''}.",
            "descriptor",
        )
    _ = descriptor.mode  # raises LayoutError for a reserved code
    return _compute_addresses(descriptor.word, view, descriptor.format)


@lru_cache(maxsize=128)
def _compute_addresses(word: int, view: View, form: DescriptorFormat) -> Addresses:
    """Return the addresses of `reads`, cached because a verdict needs them several times."""
    addresses: Addresses = compute_many_addresses(np.array([word], dtype=np.uint64), view, form)[0]
    addresses.flags.writeable = False
    return addresses


def compute_many_addresses(words: NDArray[np.uint64], view: View, form: DescriptorFormat = WGMMA) -> Addresses:
    """Return the addresses of many descriptors without reserved codes: int64 [descriptors, rows, k]."""
    return _compute_places(words, view, np.arange(view.rows, dtype=np.int64), np.arange(view.k, dtype=np.int64), form)


def compute_chunk_addresses(word: int, view: View) -> Addresses:
    """Return the first byte of every 16-byte chunk that a descriptor without reserved code reads.

    int64 [rows, chunks of k], or [chunks of rows, k] if M or N is contiguous.
    """
    by_k = view.major == "K"
    r = np.arange(0, view.rows, 1 if by_k else view.per, dtype=np.int64)
    k = np.arange(0, view.k, view.per if by_k else 1, dtype=np.int64)
    addresses: Addresses = _compute_places(np.array([word], dtype=np.uint64), view, r, k, WGMMA)[0]
    return addresses


def _compute_places(
    words: NDArray[np.uint64], view: View, rows: NDArray[np.int64], columns: NDArray[np.int64], form: DescriptorFormat
) -> Addresses:
    """Return the addresses of elements at the given rows and values of k: int64 [descriptors, rows, columns]."""
    get = {
        f.amount: ((words >> np.uint64(f.low)) & np.uint64(f.most)).astype(np.int64)[:, None, None] * f.unit
        for f in form.fields
    }
    terms = _make_mode_terms(form)
    chunks, mask, base, shift, deep = (terms[:, n][get[form.coded]] for n in range(5))
    r, k = rows[None, :, None], columns[None, None, :]
    before = get["start_address"] + compute_offset_before_swizzle(
        r, k, chunks=chunks, lbo_bytes=get["lbo_bytes"], sbo_bytes=get["sbo_bytes"], view=view, deep=deep
    )
    addresses: Addresses = apply_xor(before, mask, base, shift, get["base_offset"])
    return addresses


@lru_cache(maxsize=4)
def _make_mode_terms(form: DescriptorFormat) -> NDArray[np.int64]:
    """Return (chunks, XOR mask, base, shift, MN-major atom depth) of every mode code: int64 [code, 5]."""
    by_code = {code: mode for mode, code in form.codes.items()}
    modes = [by_code.get(code, form.modes[0]) for code in range(form.get_field(form.coded).most + 1)]
    xors = [mode.swizzle() for mode in modes]
    return np.array(
        [(m.chunks, (1 << xor.bits) - 1, xor.base, xor.shift, m.deep) for m, xor in zip(modes, xors, strict=True)],
        dtype=np.int64,
    )


def compute_offset_before_swizzle(
    r: Any, k: Any, *, chunks: Any, lbo_bytes: Any, sbo_bytes: Any, view: View, deep: Any
) -> Any:
    """Return the byte offset of (r, k) from the start before the XOR; arguments broadcast.

    deep: K of an MN-major atom.
    """
    if view.major == "K":
        chunk, inside = k // view.per, k % view.per * view.bits // 8
        wide = r // 8 * sbo_bytes + r % 8 * 16 * chunks
        return wide + chunk // chunks * lbo_bytes + chunk % chunks * 16 + inside
    core, inside = r // view.per, r % view.per * view.bits // 8
    none = core * sbo_bytes + k // 8 * lbo_bytes + k % 8 * 16 + inside
    panel = core // chunks * lbo_bytes + core % chunks * 16
    wide = panel + k // deep * sbo_bytes + k % deep * 16 * chunks + inside
    return np.where(chunks == 1, none, wide)


def find_unread_fields(mode: Mode, view: View) -> dict[str, str]:
    """Map the fields that the hardware does not read in descriptors of a mode, for a view, to the reason."""
    unread = {}
    swizzled = mode.chunks > 1
    if view.major == "K" and swizzled and view.k <= view.per * mode.chunks:
        unread["lbo"] = "not read: in a swizzled K-major layout the chunks of K are neighbours inside the atom"
    if view.major == "MN" and swizzled and view.rows <= view.per * mode.chunks:
        unread["lbo"] = f"not read: the {view.rows} rows fit in one atom of {view.per * mode.chunks} rows"
    if view.rows == (8 if view.major == "K" else view.per) and not (view.major == "MN" and swizzled):
        unread["sbo"] = f"not read: the operand has only {view.rows} rows"
    if not swizzled:
        unread["base_offset"] = "not read: mode none has no XOR"
    return unread


def count_bank_ways(address: Addresses, view: View) -> int:
    """Return the largest number of rows of a core matrix in the same 16-byte bank group: 1 means no conflicts.

    A core matrix has 8 lines of 16 bytes; the 32 banks of 4 bytes form 8 such groups.
    """
    lines = address if view.major == "K" else address.T
    starts = lines[:, :: view.per]
    groups = (starts >> 4 & 7).reshape(-1, 8, starts.shape[1])
    counts = (groups[:, :, :, None] == np.arange(8)).sum(axis=1)
    return int(counts.max())
