"""Verify that a descriptor reads a tile as the program stored it, and diagnose a mismatch.

layouts/descriptor/repair.py finds the right descriptors, layouts/descriptor/diagnosis.py the cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lanescope.cxx.expression import CompilerNote
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.diagnosis import clean_word, diagnose_mismatch
from lanescope.descriptor.matrix import Addresses, Descriptor, View, reads
from lanescope.descriptor.notices import list_cautions
from lanescope.descriptor.repair import compute_expected_reads, find_repairs, list_changes
from lanescope.errors import LayoutError
from lanescope.notebook import NotebookObject
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.storage import Storage


@dataclass(frozen=True, slots=True)
class ElementMismatch:
    """An element of the operand, (row, k): the byte address that is read, and the byte address where it is stored."""

    row: int
    k: int
    read: int
    expected: int


@dataclass(frozen=True, slots=True)
class Verdict(NotebookObject):
    """The result: both maps, the number of equal elements, the first mismatch, and the diagnoses, likeliest first."""

    read: Addresses
    expected: Addresses
    diagnoses: tuple[Diagnosis, ...]
    malformed: str = ""  # bits that contradict the format's constants, "" if none
    caution: tuple[str, ...] = ()  # cautions for a match: reserved bits that are set, inferred addresses

    @property
    def formed(self) -> bool:
        """Whether the word has its format's constants."""
        return not self.malformed

    @property
    def defined(self) -> bool:
        """Whether the bytes that the word reads are defined."""
        return bool((self.read != -1).any())

    @property
    def matched(self) -> int:
        return int((self.read == self.expected).sum())

    @property
    def total(self) -> int:
        return int(self.read.size)

    @property
    def match(self) -> bool:
        return self.formed and self.matched == self.total

    @property
    def first_mismatch(self) -> ElementMismatch | None:
        """The first element, in row order, that is read from another address; None if all agree."""
        wrong = np.argwhere(self.read != self.expected)
        if not len(wrong):
            return None
        row, k = (int(n) for n in wrong[0])
        return ElementMismatch(row, k, int(self.read[row, k]), int(self.expected[row, k]))


def verify(
    descriptor: Descriptor,
    view: View,
    stored: Storage,
    *,
    mn: int = 0,
    k: int = 0,
    notes: tuple[CompilerNote, ...] = (),
    computed: bool = False,
) -> Verdict:
    """Compare the bytes that are read with the stored slice at (mn, k), and diagnose a mismatch.

    notes: warnings about the word's expression; if its arithmetic is at fault, that is the first cause. computed: the
    word is an expression whose shifts were evaluated, so shifts without a note lost no bits.
    """
    require_inside(view, stored, mn, k)
    expected = compute_expected_reads(stored, view, mn, k)
    if descriptor.mode_code not in descriptor.format.codes.values():
        return _verify_reserved_mode(descriptor, view, stored, expected)
    read = reads(descriptor, view)
    malformed = _find_wrong_constants(descriptor)
    if np.array_equal(read, expected) and not malformed:
        return Verdict(read, expected, (), caution=list_cautions(descriptor, view))
    if notes:
        causes = _diagnose_expression(notes[0], descriptor, view, stored, mn=mn, k=k, expected=expected)
    else:
        causes = diagnose_mismatch(descriptor, view, stored, mn=mn, k=k, expected=expected, computed=computed)
    return Verdict(read, expected, tuple(causes), malformed)


def _find_wrong_constants(descriptor: Descriptor) -> str:
    """Return the bits that contradict the format's constants, such as `bits [48:46] are 0, not 1`; "" if none."""
    form = descriptor.format
    wrong = [
        f"bits {form.format_place(name)} are {descriptor.get_amount(name)}, not {value}"
        for name, value in form.constants.items()
        if descriptor.get_amount(name) != value
    ]
    return " and ".join(wrong)


def require_inside(view: View, stored: Storage, mn: int, k: int) -> None:
    """Raise LayoutError `bad_slice` if the slice exceeds the stored tile."""
    for name, at, size, extent in (("mn", mn, view.rows, stored.mn), ("k", k, view.k, stored.k)):
        if at < 0 or (extent is not None and at + size > extent):
            raise LayoutError(
                "bad_slice",
                f"The slice {name} {at} … {at + size - 1} exceeds the stored {extent}.",
                f"The instruction reads {size} along {name}.",
                f"slice.{name}",
            )


def _verify_reserved_mode(descriptor: Descriptor, view: View, stored: Storage, expected: Addresses) -> Verdict:
    """Return the verdict on a word with a reserved swizzle code, whose reads are undefined."""
    form = descriptor.format
    plain = descriptor.replace(**{form.coded: form.codes[form.modes[0]]})
    repairs = find_repairs(expected, view, plain, stored.swizzle_by == "address" and stored.mode.chunks > 1)
    fix = next((repair for repair in repairs if repair.mode is stored.mode), repairs[0] if repairs else None)
    code = descriptor.mode_code
    message = f"The field {form.format_place(form.coded)} is {code}, which is reserved in {form.name}."
    if fix and fix.mode.tma == code:
        message += f" {code} is the TMA tensor map's code of {fix.mode.name}; the descriptor's is {fix.mode_code}."
        return _make_mismatch_verdict(expected, "tma_swizzle_enum", message, descriptor, fix)
    old = next((mode.name for mode, known in WGMMA.codes.items() if known == code), "")
    if old:
        message += f" {code} is wgmma's code of {old}; {form.name}'s is {form.codes[form.get_mode_by_name(old)]}."
    return _make_mismatch_verdict(
        expected, "wgmma_swizzle_code" if old else "swizzle_reserved", message, descriptor, fix
    )


def _make_mismatch_verdict(
    expected: Addresses, code: str, message: str, descriptor: Descriptor, fix: Descriptor | None
) -> Verdict:
    """Return the verdict in which no element matches: the cause, and the word that reads the tile."""
    cause = Diagnosis(code, message, fix, list_changes(descriptor, fix) if fix else {})
    form = descriptor.format
    malformed = f"bits {form.format_place(form.coded)} are {descriptor.mode_code}, a reserved swizzle code"
    return Verdict(np.full_like(expected, -1), expected, (cause,), malformed)


def _diagnose_expression(
    note: CompilerNote, descriptor: Descriptor, view: View, stored: Storage, *, mn: int, k: int, expected: Addresses
) -> list[Diagnosis]:
    """Return the error of the expression's arithmetic, then those of the intended word, with a common repair."""
    meant = Descriptor(note.word, descriptor.format)
    rest = (
        []
        if np.array_equal(reads(meant, view), expected)
        else diagnose_mismatch(meant, view, stored, mn=mn, k=k, expected=expected, computed=True)
    )
    fix = rest[0].fix if rest else clean_word(meant, view)
    needed = list_changes(descriptor, fix) if fix else {}
    return [replace(diagnosis, fix=fix, changes=needed) for diagnosis in (Diagnosis(note.code, note.message), *rest)]
