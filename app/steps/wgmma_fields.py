"""Captions of the descriptor's fields: the address or distance in shared memory that each one gives."""

from __future__ import annotations

from lanescope.app.steps.captions import format_address, format_range
from lanescope.app.steps.described import LINES_OF_CORE, AddressTerms, DescribedOperand
from lanescope.bits import BitField
from lanescope.descriptor.matrix import Descriptor
from lanescope.shared.swizzle import Mode

# what a stride leads to, by (major, whether the mode swizzles, field)
STRIDES: dict[tuple[str, bool, str], str] = {
    ("K", False, "lbo"): "from one core matrix to the next along K",
    ("K", False, "sbo"): "from 8 rows of {mn} to the next 8",
    ("K", True, "lbo"): "from one atom to the next along K",
    ("K", True, "sbo"): "from 8 rows of {mn} to the next 8",
    ("MN", False, "lbo"): "from 8 values of k to the next 8",
    ("MN", False, "sbo"): "from 8 rows of {mn} to the next 8",
    ("MN", True, "lbo"): "from one atom to the next along {mn}",
    ("MN", True, "sbo"): "from 8 values of k to the next 8",
}


def caption_field(operand: DescribedOperand, word: Descriptor, field: BitField, unread: str) -> str:
    """Return a sentence about a field's value and effect. unread: why the hardware does not read it, or ""."""
    encoded, bits = field.get(word.word), f"Bits {format_range(field.low, field.high)}"
    letter = operand.side.letter.upper()
    if field.name == "start_address":
        return (
            f"{bits} of `{word}`: the start address is {encoded} × 16 = `{format_address(word.start_address)}`, where"
            f" the first line of {letter} is."
        )
    if field.name == word.format.coded:
        return f"{bits}: {encoded} is {_describe_mode(word.mode)}"
    if field.name == "base_offset":
        if unread:
            return f"{bits}: the base offset is {encoded}, {unread}."
        if encoded:
            return (
                f"{bits}: the base offset is {encoded}, which is subtracted from the address bits that the XOR reads."
            )
        return f"{bits}: the base offset is 0: the XOR takes the address bits as they are."
    amount = f"{bits}: {field.short} is {encoded} × 16 = {encoded * field.unit} bytes"
    if unread:
        return f"{amount}, {unread}."
    distance = STRIDES[operand.side.major, word.mode.chunks > 1, field.name].format(mn=name_mn(operand))
    return f"{amount}, {distance}."


def _describe_mode(mode: Mode) -> str:
    if mode.chunks == 1:
        return "no swizzle: lines of 16 bytes, and nothing is XORed."
    terms = mode.swizzle().list_terms()
    return (
        f"the {mode.name} swizzle: lines are {mode.width_bytes} bytes apart, and address"
        f" bit{'s' * (len(terms) > 1)} {format_range(terms[0][1], terms[-1][1])}"
        f" {'are' if len(terms) > 1 else 'is'} XORed into {format_range(terms[0][0], terms[-1][0])}."
    )


def mark_field(operand: DescribedOperand, name: str) -> tuple[int, ...]:
    """Return the addresses to mark for a field of the first K step: the two that a stride connects, or the start."""
    first = explain_line(operand, 0, 0)
    if name == "start_address":
        return (first.address,)
    if name in ("lbo", "sbo"):
        for core in range(1, len(operand.cores)):
            terms = explain_line(operand, core, 0)
            if (terms.lbos, terms.sbos) == ((1, 0) if name == "lbo" else (0, 1)):
                return (first.address, terms.address)
        return ()
    if name == "swizzle":
        return tuple(explain_line(operand, 0, line).address for line in range(LINES_OF_CORE))
    return ()


def explain_line(operand: DescribedOperand, core: int, line: int) -> AddressTerms:
    """Return the terms of the address of a line of a core matrix of the first K step."""
    mn, k = divmod(int(operand.cores[core, line, 0]), operand.view.k)
    return operand.explain_address(mn, k)


def name_mn(operand: DescribedOperand) -> str:
    """Return M for A, N for B."""
    return "M" if operand.side.letter == "a" else "N"
