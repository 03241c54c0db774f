"""Find warnings about a descriptor: its fields, its reserved bits, and the bytes that an instruction reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.bits import format_word
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, View, find_unread_fields, reads
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import K_SEGMENT, LBO, START, TCGEN05, VERSION, WGMMA
from lanescope.ptx.targets import strip_suffix

Found = tuple[str, str, str]  # (code, field, message) of a notice
_TCGEN05_BITS = WGMMA.reserved_mask & ~TCGEN05.reserved_mask  # fields that wgmma's format lacks


@dataclass(frozen=True, slots=True)
class FieldNotice:
    """A remark about a field: the rule's code, a sentence, and the rule's source."""

    code: str
    field: str
    message: str
    source: str = WGMMA.source


def find_warnings(descriptor: Descriptor) -> list[FieldNotice]:
    """Return warnings about combinations of fields, with reason and source. They are not errors by themselves."""
    form = descriptor.format
    if descriptor.mode_code not in form.codes.values():
        message = (
            f"The swizzle code {descriptor.mode_code} in {form.format_place(form.coded)} is reserved in {form.name}."
        )
        return [FieldNotice("swizzle_reserved", form.coded, message, form.source)]
    return [FieldNotice(*warning, form.source) for rule in _RULES for warning in rule(descriptor)]


def _check_start_in_pattern(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning if the start is inside the swizzle's pattern, or inside a row of it."""
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
            " address, as TMA does. If they were swizzled relative to the tile's start, set the base offset.",
        )
    elif past % 32:
        yield (
            "start_inside_row",
            "start_address",
            f"The start is {past} B past a {m.pattern_bytes}-byte boundary. K steps inside the atom are 32 B apart,"
            " so no step starts there.",
        )


def _check_base_offset(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning if the base offset has no effect, or exceeds the pattern's rows."""
    m, offset = descriptor.mode, descriptor.base_offset
    if m.chunks == 1 and offset:
        yield "base_offset_in_none", "base_offset", "Base offset has no effect without a swizzle."
    elif offset >= m.chunks > 1:
        yield "base_offset_beyond", "base_offset", f"Base offset {offset} works modulo {m.chunks} in mode {m.name}."


def _check_constants(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning for fields that differ from the format's constants."""
    for name, value in descriptor.format.constants.items():
        if descriptor.get_amount(name) != value:
            yield _describe_wrong_constant(descriptor, name, value)


def _check_lbo_mode(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning if LBO is an absolute address, which tcgen05 has for one case."""
    if descriptor.has_absolute_lbo:
        message = "LBO is an absolute address: for K = 96 on sm_103a, with a 128B swizzle, K-major and base offset 0."
        target = descriptor.format.target
        also = f" PTX does not list {target} for it." if target and strip_suffix(target) != "sm_103" else ""
        yield "absolute_lbo", "lbo_mode", f"{message}{also} Which bytes are read is not documented."


def _check_variant_fields(descriptor: Descriptor) -> Iterator[Found]:
    """Yield warnings about fields of sm_107 for which PTX ISA 9.4 (Table 49) is unclear."""
    form = descriptor.format
    if K_SEGMENT.name in descriptor.open_fields:
        message = "Bit 53 belongs to .decompress::lut::b. PTX does not define it without that qualifier."
        yield "k_segment", K_SEGMENT.name, message
    for field in (START, LBO):
        field_here = form.get_field(field.name)
        if field_here.get(descriptor.word) > field.most:
            message = (
                f"Bit {field_here.high} is set. PTX's table gives {field_here.phrase} {field_here.width} bits, but its"
                f" function matrix-descriptor-encode, (x & 0x{START.mask:X}) >> 4, never sets it."
            )
            yield "upper_bit", field_here.name, message


def _check_shared_end(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning if the start is past the end of a block's shared memory."""
    if descriptor.start_address >= descriptor.shared_end:
        message = f"The start is {descriptor.start_address}: {_describe_shared_end(descriptor)}"
        yield "start_beyond_shared", "start_address", message


def _describe_shared_end(descriptor: Descriptor) -> str:
    most = descriptor.format.block_bytes
    return f"a block's shared memory of at most {most} bytes ends at address {descriptor.shared_end}."


def _check_reserved(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning for set reserved bits."""
    if descriptor.reserved:
        yield _describe_reserved_bits(descriptor)


def _check_overlap(descriptor: Descriptor) -> Iterator[Found]:
    """Yield a warning for strides smaller than a core matrix."""
    if descriptor.mode.chunks == 1 and 0 < max(descriptor.lbo_bytes, descriptor.sbo_bytes) < 128:
        message = "Both strides are below 128 bytes, the size of a core matrix, so core matrices overlap."
        yield "overlap", "lbo", message


_RULES: tuple[Callable[[Descriptor], Iterator[Found]], ...] = (
    _check_start_in_pattern,
    _check_base_offset,
    _check_constants,
    _check_lbo_mode,
    _check_variant_fields,
    _check_shared_end,
    _check_reserved,
    _check_overlap,
)


def _describe_wrong_constant(descriptor: Descriptor, name: str, value: int) -> Found:
    """Return (code, field, message) for a field that differs from the format's constant."""
    actual = descriptor.get_amount(name)
    if not descriptor.word & _TCGEN05_BITS:
        message = (
            "Bits 46 to 48 are 0: this is a wgmma descriptor. tcgen05 has version 1 there; the modes none, 32B,"
            " 64B and 128B have the same bits in both."
        )
        return "wgmma_format", name, message
    return (
        "constant_wrong",
        name,
        f"The {name} is {actual}; it is {value} in every {descriptor.format.name} descriptor.",
    )


def _describe_reserved_bits(descriptor: Descriptor) -> Found:
    """Return (code, field, message) for set reserved bits."""
    bits = descriptor.reserved
    message = f"Reserved bits are set: {format_word(bits)}."
    address = descriptor.format.get_field(START.name)
    pointer = f"pointer that was not masked to {address.mask.bit_length()} bits sets them, and may corrupt LBO and SBO."
    pointer *= bool(bits & _make_overrun_mask(descriptor.format))
    if not descriptor.format.ignores:
        parts = (f"{message} They must be 0.", describe_elsewhere(descriptor), f"A {pointer}" if pointer else "")
        return "reserved_bits", "reserved", " ".join(filter(None, parts))
    if has_tcgen05_bits(bits):
        message = (
            "Bit 46 is set: this is a tcgen05 descriptor (Blackwell), whose version is 1. wgmma reads the same bytes"
            " from it, but its own format has 0 there."
        )
        return "tcgen05_format", "reserved", message
    return "reserved_bits", "reserved", f"{message} The hardware ignores them" + (f"; a {pointer}" if pointer else ".")


def _make_overrun_mask(form: DescriptorFormat) -> int:
    """Return the reserved bits above the start and above LBO, into which too large values overflow."""
    above = {form.get_field(field.name).high + 1 for field in (START, LBO)}
    return sum(((1 << high - low + 1) - 1) << low for low, high in form.reserved if low in above)


def describe_elsewhere(descriptor: Descriptor) -> str:
    """Return a sentence with the architecture on which the word's reserved bits are fields, and their values; "" if
    none.

    >>> describe_elsewhere(Descriptor(0x4000404000014100, TCGEN05))
    'On sm_107 these bits belong to fields: start address 0x41000 (PTX ISA 9.4, 9.7.18.4.1, Table 49).'
    """
    if descriptor.elsewhere is None:
        return ""
    on, there = descriptor.elsewhere
    document = there.format.source.partition(";")[0]
    return format_elsewhere(on, _list_fields_of_bits(there, descriptor.reserved), document)


def format_elsewhere(architecture: str, fields: Sequence[str], document: str) -> str:
    """Return the sentence about reserved bits that are fields on an architecture. fields: text with values."""
    return f"On {architecture} these bits belong to fields: {join_words(fields)} ({document})."


def _list_fields_of_bits(descriptor: Descriptor, bits: int) -> list[str]:
    """Return the fields that overlap these bits, with their values."""
    named = [field for field in descriptor.format.fields if bits >> field.low & field.most]
    texts = [
        hex(descriptor.start_address)
        if field.name == START.name
        else descriptor.format.format_field_value(descriptor.word, field)
        for field in named
    ]
    return [f"{field.title} {text}" for field, text in zip(named, texts, strict=True)]


def has_tcgen05_bits(stray: int) -> bool:
    """Return whether bits outside all fields of wgmma's format are those of tcgen05, including its version."""
    return bool(stray >> VERSION.low & 1) and not stray & ~_TCGEN05_BITS


def list_cautions(descriptor: Descriptor, view: View) -> tuple[str, ...]:
    """Return the cautions for a word that reads the right bytes.

    They concern reserved bits (with a way to keep them 0) and bytes that no source specifies, not unusual but legal
    fields.
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
    if elsewhere := describe_elsewhere(descriptor):
        cautions.append(f"{elsewhere} Give the target.")
    return (*cautions, *(notice.message for notice in find_uncertain_reads(descriptor, view)))


def summarize_caution(caution: Sequence[str]) -> str:
    """Return a sentence, without full stop, for a match with cautions.

    >>> summarize_caution(["Reserved bit 14 is set: mask the address with 0x3FFFF."])
    'The bytes are right; reserved bit 14 is set: mask the address with 0x3FFFF'
    """
    first = caution[0].rstrip(".")
    more = f" ({len(caution) - 1} more)" if len(caution) > 1 else ""
    return f"The bytes are right; {first[0].lower()}{first[1:]}{more}"


def find_outside_reads(descriptor: Descriptor, view: View) -> list[FieldNotice]:
    """Return the warning about reads outside a block's shared memory; None if there are none."""
    address = reads(descriptor, view)
    end = int(address.max()) + max(view.bits // 8, 1)
    if end <= descriptor.shared_end:
        return []
    count = int((address + max(view.bits // 8, 1) > descriptor.shared_end).sum())
    window = descriptor.format.window_bytes
    fault = f" Reading past {window} is an illegal address." if end > window else ""
    code = "reads_beyond_window" if fault else "reads_beyond_shared"
    ends = _describe_shared_end(descriptor)
    message = f"{count} of {address.size} elements are read up to byte {end - 1}; {ends}{fault}"
    return [FieldNotice(code, "start_address", message)]


def find_uncertain_reads(descriptor: Descriptor, view: View) -> list[FieldNotice]:
    """Return the notice that no source specifies the bytes that this view reads; None if a source does."""
    if descriptor.mode.xor and (view.major == "K" or view.bits != 32):
        message = (
            f"{descriptor.mode.name} with a {view.major}-major operand of {view.bits} bits: PTX allows it for"
            " K-major operands, but CUTLASS has no such layout. The addresses shown are inferred."
        )
        return [FieldNotice("inferred_reads", descriptor.format.coded, message, descriptor.format.source)]
    return []


def find_repeated_reads(descriptor: Descriptor, view: View) -> list[FieldNotice]:
    """Return the warning about elements that are read from the same bytes; None if there are none."""
    address = reads(descriptor, view)
    if view.bits < 8:
        return []
    shared = address.size - int(np.unique(address).size)
    if not shared:
        return []
    atom, unread = descriptor.mode.count_atom_bytes(view.major), find_unread_fields(descriptor.mode, view)
    what = "an atom" if descriptor.mode.chunks > 1 else "a core matrix"
    small = [
        f"{name.upper()} is {n}"
        for name, n in (("lbo", descriptor.lbo_bytes), ("sbo", descriptor.sbo_bytes))
        if n < atom and name not in unread
    ]
    why = f": {' and '.join(small)}, but {what} has {atom} bytes" if small else ""
    message = f"{shared} of {address.size} elements are read from the same bytes as another element{why}."
    return [FieldNotice("reads_twice", "sbo" if "SBO" in why or not why else "lbo", message)]
