"""The wgmma matrix descriptor: its 64 bits, and the bytes it makes the hardware read.

Fields: PTX ISA 9.1, 9.7.15.5.1.2.2. The address model was measured on an H100 (sm_90a, CUDA 13.0, 2026-11-21) with
15,572 random descriptors and reproduced every map; 500 of them are replayed by tests/test_descriptor.py. B of wgmma.sp
takes 64 bytes of K, measured the same way on an H200: in mode 32B, whose atom is 32 bytes wide, LBO then leads from one
atom to the next; `lanescope gpu verify` repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from lanescope.ptx.table.descriptors import BASE_OFFSET, LBO, SBO, START, SWIZZLE, TCGEN05, VERSION, WGMMA
from lanescope.shared.swizzle import Mode, apply_xor

__all__ = [
    "BASE_OFFSET",
    "FIELDS",
    "LBO",
    "SBO",
    "START",
    "SWIZZLE",
    "WGMMA",
    "Descriptor",
    "View",
    "encode_wgmma",
    "find_inert_fields",
    "reads",
    "view",
]

Addresses = NDArray[np.int64]
Found = tuple[str, str, str]  # (code, field, message) of a notice

FIELDS = WGMMA.fields
# Bytes of an SM of sm_90 and sm_100, and the most a block can have of them: CUDA Programming Guide, technical
# specifications per compute capability.
SM_BYTES, MOST_SHARED = 228 * 1024, 227 * 1024
# the first kilobyte of the shared window is the system's on sm_90: a block's own memory begins here (measured)
SHARED_BEGIN = 1024
SHARED_END = SHARED_BEGIN + MOST_SHARED
WINDOW_MASK = START.mask  # the bits of a shared-window address
# what a descriptor can address; a read past it does not wrap: it is cudaErrorIllegalAddress (measured on an H200)
WINDOW_BYTES = WINDOW_MASK + 1
VERSION_BIT = VERSION.low
TCGEN05_BITS = WGMMA.reserved_mask & ~TCGEN05.reserved_mask  # of fields that wgmma's format lacks
K_BYTES = 32
_ENDS = f"a block's shared memory of at most {MOST_SHARED} bytes ends at address {SHARED_END}."
SOURCE = WGMMA.source


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
                "Give the shared-window address (__cvta_generic_to_shared), not a generic pointer.",
                field.amount,
            )
        try:
            word = field.put(word, field.encode(amount)) if field.in_bytes else field.put(word, amount)
        except LayoutError as error:
            raise error.move_to_field(field.amount) from None
    return Descriptor(word, form)


@dataclass(frozen=True, slots=True)
class FieldNotice:
    """Something to check about a field: the code of a rule, a sentence, and the rule's source."""

    code: str
    field: str
    message: str
    source: str = SOURCE


def find_warnings(descriptor: Descriptor) -> list[FieldNotice]:
    """Return what a reader should check across fields, each with its reason and source. None is an error in itself."""
    form = descriptor.format
    if descriptor.mode_code not in form.codes.values():
        message = (
            f"The swizzle code {descriptor.mode_code} in {form.format_place(form.coded)} is reserved in {form.name}."
        )
        return [FieldNotice("swizzle_reserved", form.coded, message, form.source)]
    return [FieldNotice(*warning, form.source) for rule in _RULES for warning in rule(descriptor)]


def _check_start_in_pattern(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a start that is inside the swizzle's pattern, or inside a row of it."""
    m, start = descriptor.mode, descriptor.start_address
    past = start % m.pattern_bytes
    if m.chunks == 1:
        return
    if past >= 128 and not descriptor.base_offset:
        yield (
            "start_off_pattern",
            "start_address",
            f"The start is {past} bytes past a {m.pattern_bytes}-byte boundary, {past // 128}"
            f" row{'s' if past >= 256 else ''} into the {m.name} pattern. That is right if the data were swizzled by"
            " address, as TMA does. If they were swizzled from the tile's start, the base offset must say so.",
        )
    elif past % 32:
        yield (
            "start_inside_row",
            "start_address",
            f"The start is {past} B past a {m.pattern_bytes}-byte boundary. K steps inside the atom are 32 B apart, so"
            " none starts there.",
        )


def _check_base_offset(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a base offset that has no effect, or more of it than the pattern has rows."""
    m, offset = descriptor.mode, descriptor.base_offset
    if m.chunks == 1 and offset:
        yield "base_offset_in_none", "base_offset", "Base offset has no effect without a swizzle: nothing is XORed."
    elif offset >= m.chunks > 1:
        yield "base_offset_beyond", "base_offset", f"Base offset {offset} works modulo {m.chunks} in mode {m.name}."


def _check_constants(descriptor: Descriptor) -> Iterator[Found]:
    """Yield fields that hold one value in every word of the format, and another one here."""
    for name, value in descriptor.format.constants.items():
        if descriptor.get_amount(name) != value:
            yield _describe_wrong_constant(descriptor, name, value)


def _check_lbo_mode(descriptor: Descriptor) -> Iterator[Found]:
    """Yield LBO as an absolute address, which tcgen05 has for one case."""
    if "lbo_mode" in descriptor.facts and descriptor.get_amount("lbo_mode"):
        message = "LBO is an absolute address: for K = 96 on sm_103a, with a 128B swizzle, K-major and base offset 0."
        yield "absolute_lbo", "lbo_mode", f"{message} Which bytes that reads is open here."


def _check_shared_end(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a start past the end of a block's shared memory."""
    if descriptor.start_address >= SHARED_END:
        yield "start_beyond_shared", "start_address", f"The start is {descriptor.start_address}: {_ENDS}"


def _check_reserved(descriptor: Descriptor) -> Iterator[Found]:
    """Yield bits that no field covers."""
    if descriptor.reserved:
        yield _describe_reserved_bits(descriptor)


def _check_overlap(descriptor: Descriptor) -> Iterator[Found]:
    """Yield strides smaller than a core matrix."""
    if descriptor.mode.chunks == 1 and 0 < max(descriptor.lbo_bytes, descriptor.sbo_bytes) < 128:
        message = "Both strides are below 128 bytes, but a core matrix takes 128: core matrices overlap."
        yield "overlap", "lbo", message


_RULES: tuple[Callable[[Descriptor], Iterator[Found]], ...] = (
    _check_start_in_pattern,
    _check_base_offset,
    _check_constants,
    _check_lbo_mode,
    _check_shared_end,
    _check_reserved,
    _check_overlap,
)


def _describe_wrong_constant(descriptor: Descriptor, name: str, value: int) -> tuple[str, str, str]:
    """Return (code, field, message) of a field that has one value in every word of the format, and another one here."""
    had = descriptor.get_amount(name)
    if not descriptor.word & TCGEN05_BITS:
        message = (
            "Bits 46 to 48 hold 0: this is wgmma's descriptor. tcgen05 has the version 1 there; the modes none, 32B,"
            " 64B and 128B have the same bits in both."
        )
        return "wgmma_format", name, message
    return "constant_wrong", name, f"The {name} is {had}; it is {value} in every {descriptor.format.name} descriptor."


def _describe_reserved_bits(descriptor: Descriptor) -> tuple[str, str, str]:
    """Return (code, field, message) of bits that no field covers."""
    bits = descriptor.reserved
    if not descriptor.format.ignores:
        message = f"Reserved bits are set: {format_word(bits)}. They must be 0."
        low = bits & (0b11 << 14 | 0b11 << 30)
        more = " A pointer that was not masked to 18 bits sets them, and may spoil LBO and SBO." if low else ""
        return "reserved_bits", "reserved", message + more
    if bits >> VERSION_BIT & 1 and not bits & ~TCGEN05_BITS:
        message = (
            "Bit 46 is set: this is tcgen05's descriptor (Blackwell), whose version is 1. wgmma reads the same bytes"
            " from it, but its own format has 0 there."
        )
        return "tcgen05_format", "reserved", message
    low = bits & (0b11 << 14 | 0b11 << 30)
    message = f"Reserved bits are set: {format_word(bits)}. The hardware ignores them"
    return (
        "reserved_bits",
        "reserved",
        message + ("; a pointer that was not masked to 18 bits sets them, and may spoil LBO and SBO." if low else "."),
    )


def list_cautions(descriptor: Descriptor, seen: View) -> tuple[str, ...]:
    """Return what a word that reads the right bytes should still not be trusted for.

    These are its reserved bits, each with what keeps it 0, and bytes that no source states. Unusual but legal fields
    are not among them.
    """
    form, cautions = descriptor.format, []
    advice = {bit: message for low, high, message in form.kept_clear for bit in range(low, high + 1)}
    groups: dict[str, list[str]] = {}
    for bit in range(64):
        if descriptor.reserved >> bit & 1:
            message = advice.get(bit, f"no field of {form.name}’s descriptor is there")
            groups.setdefault(message, []).append(str(bit))
    for message, bits in groups.items():
        several = len(bits) > 1
        cautions.append(f"Reserved bit{'s' * several} {join_words(bits)} {'are' if several else 'is'} set: {message}.")
    return (*cautions, *(notice.message for notice in find_uncertain_reads(descriptor, seen)))


def summarize_caution(caution: Sequence[str]) -> str:
    """Return a match with a caution as a sentence without its full stop.

    >>> summarize_caution(["Reserved bit 14 is set: mask the address with 0x3FFFF."])
    'The bytes are right; reserved bit 14 is set: mask the address with 0x3FFFF'
    """
    first = caution[0].rstrip(".")
    more = f" ({len(caution) - 1} more)" if len(caution) > 1 else ""
    return f"The bytes are right; {first[0].lower()}{first[1:]}{more}"


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
    if "lbo_mode" in descriptor.facts and descriptor.get_amount("lbo_mode"):
        raise LayoutError(
            "open_lbo_mode",
            "LBO is an absolute address; which bytes that reads is open.",
            "Clear bit 52: LBO is an offset then.",
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


def find_outside_reads(descriptor: Descriptor, seen: View) -> list[FieldNotice]:
    """Return the warning, if any, about bytes this view reads outside any block's shared memory."""
    address = reads(descriptor, seen)
    end = int(address.max()) + max(seen.bits // 8, 1)
    if end <= SHARED_END:
        return []
    count = int((address + max(seen.bits // 8, 1) > SHARED_END).sum())
    fault = f" Reading past {WINDOW_BYTES} is an illegal address." if end > WINDOW_BYTES else ""
    code = "reads_beyond_window" if fault else "reads_beyond_shared"
    message = f"{count} of {address.size} elements are read up to byte {end - 1}; {_ENDS}{fault}"
    return [FieldNotice(code, "start_address", message)]


def find_uncertain_reads(descriptor: Descriptor, seen: View) -> list[FieldNotice]:
    """Return the notice, if any, that no source states which bytes this view reads."""
    if descriptor.mode.xor and (seen.major == "K" or seen.bits != 32):
        message = (
            f"{descriptor.mode.name} with a {seen.major}-major operand of {seen.bits} bits: PTX allows it, if K-major,"
            " but no layout of CUTLASS has it. The addresses here are inferred."
        )
        return [FieldNotice("inferred_reads", descriptor.format.coded, message, descriptor.format.source)]
    return []


def find_repeated_reads(descriptor: Descriptor, seen: View) -> list[FieldNotice]:
    """Return the warning, if any, about elements that this view reads from the same bytes."""
    address = reads(descriptor, seen)
    if seen.bits < 8:
        return []
    shared = address.size - int(np.unique(address).size)
    if not shared:
        return []
    atom, unread = descriptor.mode.count_atom_bytes(seen.major), find_inert_fields(descriptor, seen)
    what = "an atom" if descriptor.mode.chunks > 1 else "a core matrix"
    small = [
        f"{name.upper()} is {n}"
        for name, n in (("lbo", descriptor.lbo_bytes), ("sbo", descriptor.sbo_bytes))
        if n < atom and name not in unread
    ]
    why = f": {' and '.join(small)}, but {what} takes {atom} bytes" if small else ""
    message = f"{shared} of {address.size} elements are read from bytes that another element is read from{why}."
    return [FieldNotice("reads_twice", "sbo" if "SBO" in why or not why else "lbo", message)]


def compute_many_addresses(words: NDArray[np.uint64], seen: View, form: DescriptorFormat = WGMMA) -> Addresses:
    """Return what `reads` does for many descriptors of one format, none with a reserved code: int64 [descriptors, rows,
    k].
    """
    get = {
        f.amount: ((words >> np.uint64(f.low)) & np.uint64(f.most)).astype(np.int64)[:, None, None] * f.unit
        for f in form.fields
    }
    terms = _make_mode_terms(form)
    chunks, mask, base, shift, deep = (terms[:, n][get[form.coded]] for n in range(5))
    r = np.arange(seen.rows, dtype=np.int64)[None, :, None]
    k = np.arange(seen.k, dtype=np.int64)[None, None, :]
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
        unread["lbo"] = f"not read: {seen.rows} rows lie in one atom of {seen.per * mode.chunks}"
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
