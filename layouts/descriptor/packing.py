"""Apply the known mistakes of packing right amounts into a word: units, shifts, masks, integer types, halves,
formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from lanescope.descriptor.case import (
    NAMES,
    WORD,
    Amounts,
    DiagnosisCase,
    count_bytes,
    list_field_names,
    list_subsets,
    pack_word,
)
from lanescope.descriptor.format import DescriptorFormat
from lanescope.inputs import capitalize_sentence
from lanescope.ptx.table.descriptors import LBO, SBO, START, VERSION, WGMMA

LOW = (1 << 32) - 1
_PLACES = (START, LBO, SBO)
LEAST_COST = 0.8  # minimum cost of a packing; the search for two mistakes relies on it
NOTHING_LEFT = 2.5  # cost of a packing that makes all its fields 0, which has likelier causes


@dataclass(frozen=True, slots=True)
class PackingMistake:
    """A word with right amounts packed wrongly.

    says: the message, or a function that makes it (hundreds of words are tried, few are reported). free: bits that
    prove nothing; none by default, because unread bits were copied from the program's word. fields: those it changes,
    if not all.
    """

    code: str
    text: str | Callable[[], str]
    word: int
    cost: float = 1.0
    free: int = 0
    fields: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        return self.text if isinstance(self.text, str) else self.text()


def list_packings(case: DiagnosisCase, values: Amounts, also: frozenset[str] = frozenset()) -> Iterator[PackingMistake]:
    """Yield all known packing mistakes of these amounts.

    also: unread fields that are evidence. If an amount is itself the result of another mistake, its message does not
    call it the required value.
    """
    form = case.form
    word = pack_word(values, form)
    coded, code = form.get_field(form.coded), values[form.coded]
    name = form.get_mode(code).name
    yield from _pack_wrong_shifts(case, values, case.read_fields | also)
    yield from drop_high_word(word)
    if word >> 32:
        yield exchange_halves(case, word)
    bare = word & ~(coded.most << coded.low)
    right = code == case.right_amounts[form.coded]
    if form is WGMMA:
        yield from _pack_as_tcgen05(bare, code, name, right)
    else:
        yield from _pack_as_wgmma(case, bare, code, right)
    if case.computed:
        return
    strides = [values["sbo"], *([] if "sbo" in case.read_fields | also else [form.get_mode(code).pattern_bytes])]
    for sbo in strides:
        yield from _pack_narrow_shifts({**values, "sbo": sbo}, word, form)


def _pack_as_tcgen05(bare: int, code: int, name: str, right: bool) -> Iterator[PackingMistake]:
    """Yield tcgen05's field, or its whole format, under a wgmma.

    bare: the word without its swizzle; right: whether the code is the data's.
    """
    if code and code << 61 & 1 << 61:  # 2 << 61 is 1 << 62, which is 128B
        remark = f" ({name} is {code} << 62)" if right else ""
        message = (
            f"The swizzle code {code} was put at bit 61. A wgmma descriptor has it in the field [63:62]{remark}; bit 61"
            " belongs to tcgen05's three-bit field."
        )
        yield PackingMistake("mode_at_bit_61", message, bare | code << 61, 0.9, fields=frozenset(("swizzle",)))
    if name == "128B":
        message = (
            "This is a tcgen05 descriptor (bit 46 is set) with the swizzle 128B_BASE32B. For wgmma clear bit 46 and put"
            f" {'1' if right else 'the code of the mode'} into the field [63:62]."
        )
        yield PackingMistake("tcgen05_format", message, bare | 1 << 61 | 1 << VERSION.low, 0.9)


def _pack_as_wgmma(case: DiagnosisCase, bare: int, code: int, right: bool) -> Iterator[PackingMistake]:
    """Yield wgmma's format, codes or places under a tcgen05.mma.

    Cases: the version omitted, wgmma's two-bit code in the three-bit field, the three-bit code at wgmma's bit 62. bare:
    the word without its swizzle.
    """
    form = case.form
    mode, low = form.get_mode(code), form.get_field(form.coded).low
    versions = sum(form.get_field(name).most << form.get_field(name).low for name in form.constants)
    old = {known.name: number for known, number in WGMMA.codes.items()}
    for constant in dict.fromkeys((bare & versions, 0)):
        rest = bare & ~versions | constant
        number = old.get(mode.name, 0)
        if number and number != code:
            remark = "'s is" + f" {code}: its" if right else "'s"
            more = (
                f"The field {form.format_place(form.coded)} is {number}, which is wgmma's code of {mode.name}."
                f" tcgen05{remark} field has three bits, from bit {low} on."
            )
            yield PackingMistake("wgmma_swizzle_code", _add_missing_version(more, constant), rest | number << low, 0.9)
        moved = code << 62 & WORD
        if code and moved != code << low:
            more = (
                f"The swizzle code {code} was put at bit 62, where wgmma has its field. tcgen05's field begins at bit"
                f" {low}{f': {code} << {low}' if right else ''}."
            )
            yield PackingMistake("mode_at_bit_62", _add_missing_version(more, constant), rest | moved, 0.95)


def _add_missing_version(message: str, version: int) -> str:
    return message if version else f"{message} The version, 1 << 46, is missing, too."


def drop_high_word(word: int) -> Iterator[PackingMistake]:
    """Yield a word without its high half."""
    if word >> 32:
        message = (
            "Bits 32 to 63 are 0: the descriptor was truncated to 32 bits, or its high word was omitted. It contains"
            " SBO and the swizzle mode; use uint64_t throughout."
        )
        yield PackingMistake("high_word_missing", message, word & LOW, 0.9)


def exchange_halves(case: DiagnosisCase, word: int) -> PackingMistake:
    """Yield a word with its two halves exchanged."""
    message = (
        "The two 32-bit words are exchanged: start and LBO belong in the low word, SBO and the swizzle mode in the high"
        " one."
    )
    free = (case.unread_bits >> 32 | case.unread_bits << 32) & WORD
    return PackingMistake("words_exchanged", message, word >> 32 | (word & LOW) << 32, 0.9, free)


def _pack_wrong_shifts(case: DiagnosisCase, values: Amounts, proving: frozenset[str]) -> Iterator[PackingMistake]:
    """Yield amounts packed without a shift (masked or overflowing), and amounts shifted right twice."""
    active = tuple(f.name for f in _PLACES if f.name in proving and values[f.name])
    beside = 0 if "lbo" in proving else 0b11 << 30  # if LBO is not read, bits 30 and 31 may belong to it
    for names in list_subsets(active):
        rest = pack_word({name: 0 if name in names else value for name, value in values.items()}, case.form)
        cut, spilled, added, twice = 0, rest, rest, 0
        for f in _PLACES:
            if f.name in names:
                value = values[f.name]
                cut |= (value & f.most) << f.low
                spilled |= value << f.low
                added += value << f.low
                twice |= (value >> 8 & f.most) << f.low
        cost = 1.0 if len(names) == len(active) else 1.05
        fields = frozenset(names)
        message = partial(_describe_byte_amounts, names, case.right_amounts, values)
        for word in {rest | cut, spilled & WORD, added & WORD}:
            yield PackingMistake("bytes_not_shifted", message, word, cost if cut else NOTHING_LEFT, beside, fields)
        message = partial(_describe_double_shift, names, case.right_amounts, values)
        yield PackingMistake("shifted_twice", message, rest | twice, cost if twice else NOTHING_LEFT, 0, fields)


def _describe_byte_amounts(names: tuple[str, ...], needed: Amounts, values: Amounts) -> str:
    are = "is" if len(names) == 1 else "are"
    sure = [n for n in names if values[n] == needed[n]]
    shifted = " and ".join(f"{NAMES[n]} {values[n]:#x} becomes {values[n] >> 4:#x}" for n in sure)
    return (
        f"{capitalize_sentence(list_field_names(names))} {are} in bytes. The field is in units of 16 bytes: shift right"
        f" by 4{f', so that {shifted}' if sure else ''}."
    )


def _describe_double_shift(names: tuple[str, ...], needed: Amounts, values: Amounts) -> str:
    right = ", and ".join(
        f"{NAMES[f.name]} {(value := values[f.name]):#x} is {value >> 4:#x} in the field, not {value >> 8 & f.most:#x}"
        for f in _PLACES
        if f.name in names and values[f.name] == needed[f.name]
    )
    were = "was" if len(names) == 1 else "were"
    return (
        f"{capitalize_sentence(list_field_names(names))} {were} shifted right by 4"
        f" twice{f': {right}' if right else ''}."
    )


def _pack_narrow_shifts(values: Amounts, word: int, form: DescriptorFormat) -> Iterator[PackingMistake]:
    """Yield shifts of 32-bit integers by 32 or more, which give a shift modulo 32 or 0."""
    wide = {f.name: f for f in form.fields if f.low >= 32}
    terms = {name: f.truncate(values[name]) for name, f in wide.items()}
    for names in list_subsets(tuple(name for name, value in terms.items() if value)):
        kept, low, wrapped = word, 0, 0
        for n in names:
            f = wide[n]
            term = terms[n] << f.low % 32 & LOW
            kept &= ~(f.most << f.low)
            low |= term
            wrapped += term
        if not low & ~kept:  # they leave no trace
            continue
        message = partial(_describe_narrow_shift, names, wide[names[0]].low)
        yield PackingMistake("shifts_of_32_bits", message, kept | low, 0.8)
        yield PackingMistake("shifts_of_32_bits", message, (kept + wrapped) & WORD, 0.8)
        if low >> 31:
            yield PackingMistake("shifts_of_32_bits", message, kept | low | WORD ^ LOW, 0.8)


def _describe_narrow_shift(names: tuple[str, ...], low: int) -> str:
    as_int = (
        "was shifted by 32 or more as a 32-bit integer"
        if len(names) == 1
        else "were shifted by 32 or more as 32-bit integers"
    )
    return f"{capitalize_sentence(list_field_names(names))} {as_int}. Convert to 64 bits first: (uint64_t)x << {low}."


def pack_unshifted_additions(case: DiagnosisCase) -> Iterator[PackingMistake]:
    """Yield a K step added to the word without the shift, with a carry out of the start's field."""
    if not case.k:
        return
    first = case.get_start(case.mn, 0)
    step = case.right_amounts["start_address"] - first
    before = pack_word({**case.right_amounts, "start_address": first}, case.form)
    for amount, code in (
        (step, "k_step_not_shifted"),
        (count_bytes(case.k, case.view), "k_step_not_shifted"),
        (case.k, "k_step_in_elements"),
    ):
        message = (
            f"The K step was added to the word as {amount}. The start is in units of 16 bytes: add {step >> 4:#x}."
        )
        yield PackingMistake(code, message, (before + amount) & WORD, 1.2, case.unread_bits)


def find_sign_extension(word: int) -> int | None:
    """Return the bit from which all higher bits are 1, if it is low enough that the word cannot be a descriptor; else
    None.
    """
    inverted = ~word & WORD
    lowest = inverted.bit_length()
    return lowest if lowest <= 46 else None


def has_pointer_bits(case: DiagnosisCase, right: int) -> bool:
    """Return whether the word is the right one with the upper bits of a generic address ORed or added above the start.

    On Linux such addresses have 47 bits and begin with 0x7…; shifted right by 4 they reach bits 14 to 42. The shared
    window begins at a multiple of 16 MiB, so bits 14 to 19 stay clear.
    """
    word, free = case.actual.word, case.unread_bits
    extra = (word ^ right) & ~free
    most = case.form.get_field(START.name).most
    within = not right & ~word & ~free and not extra & most and not extra >> 43
    top = word >> 40 & 7 == 7 and ("sbo" not in case.read_fields or right >> 40 & 7 != 7)
    if within and top and extra:
        return True
    if _is_pointer_added((word - right) & WORD, top, most):
        return True
    # only LBO and SBO may differ, and the bits between the fields must be those of an address
    between = case.stray_bits
    return (
        bool(between)
        and not between >> 44
        and case.wrong_fields <= {"lbo", "sbo"}
        and bool(case.wrong_fields)
        and within
    )


def _is_pointer_added(added: int, top: bool, most: int) -> bool:
    """Return whether the second term of a sum is the upper part of a generic address.

    top: whether bits 40 to 42 agree; most: the mask of the start.
    """
    if not added or added & most or added >> 14 & 0x3F:
        return False
    return added >> 40 == 7 or (top and not added >> 32)
