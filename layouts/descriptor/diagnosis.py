"""Explain why a descriptor does not read a tile: find the mistake that turns the right word into the program's word.

Every known mistake is applied to the right word of this storage and slice. The cause is a mistake that gives the
program's word in every bit that is read, else two mistakes together, else a mistake for each wrong field. If no
descriptor reads the data as stored, the explanation is the storage that the word would read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.descriptor.alternatives import AlternativeStorage, is_read_exactly, list_restored_storages
from lanescope.descriptor.case import NAMES, Amounts, Diagnosis, DiagnosisCase, FieldMistake, format_bytes, pack_word
from lanescope.descriptor.matrix import Addresses, Descriptor, View, find_unread_fields, reads
from lanescope.descriptor.mistakes import describe_required_strides, list_field_mistakes
from lanescope.descriptor.notices import has_tcgen05_bits
from lanescope.descriptor.packing import (
    LEAST_COST,
    PackingMistake,
    drop_high_word,
    exchange_halves,
    find_sign_extension,
    has_pointer_bits,
    list_packings,
    pack_unshifted_additions,
)
from lanescope.descriptor.repair import find_repairs, list_changes
from lanescope.descriptor.unreadable import XOR_ALONE, describe_storing, diagnose_unreadable
from lanescope.ptx.table.descriptors import LBO, SBO
from lanescope.shared.storage import Storage

TOGETHER = 0.6  # extra cost of a second mistake
# … if both concern the same field, because two mistakes explain almost any value.
TWICE = {"start_address": 1.0, "lbo": 2.0, "sbo": 2.0, "swizzle": 2.0}
LOW_GAPS = 0b11 << 14 | 0b11 << 30  # bits above the start and LBO, into which too large amounts overflow
LEFT_OVER = 4.0  # cost of a field without a known mistake


@dataclass(frozen=True, slots=True)
class Explanation:
    """Causes that together give the program's word, and their cost."""

    cost: float
    causes: tuple[FieldMistake | PackingMistake, ...]


def diagnose_mismatch(
    descriptor: Descriptor, view: View, stored: Storage, *, mn: int, k: int, expected: Addresses, computed: bool = False
) -> list[Diagnosis]:
    """Return the causes of a mismatch, the likeliest first. `computed` is described in DiagnosisCase."""
    by_address = stored.swizzle_by == "address" and stored.mode.chunks > 1
    possible = find_repairs(expected, view, descriptor, by_address)
    if not possible:
        return diagnose_unreadable(descriptor, view, stored, expected=expected, mn=mn, k=k, diagnose=diagnose_mismatch)
    rights = [d for d in possible if d.mode is stored.mode] or possible[:1]
    cases = [
        DiagnosisCase(
            actual=descriptor, right=right, view=view, stored=stored, mn=mn, k=k, expected=expected, computed=computed
        )
        for right in rights
    ]
    case, causes = _find_likeliest(cases, _find_data_start(stored, mn, k))
    alternative = _find_other_storage(case) if len(case.wrong_fields) > 1 and not _is_proven(causes) else None
    fix = _repair_word(case, causes)
    needed = list_changes(descriptor, fix)
    if alternative:
        return [
            Diagnosis(alternative.code, _describe_other_storage(alternative, case), fix, needed, dict(alternative.spec))
        ]
    found = [(cause.code, cause.message) for cause in causes]
    if has_tcgen05_bits(case.stray_bits) and "tcgen05_format" not in dict(found):
        note = (
            "Bit 46 is set: this is tcgen05's descriptor format. wgmma reads the same bytes from it, "
            "but the bit is reserved; clear it."
        )
        found.append(("tcgen05_format", note))
    return [Diagnosis(code, message, fix, needed) for code, message in found]


def _find_likeliest(
    cases: list[DiagnosisCase], begin: int | None
) -> tuple[DiagnosisCase, tuple[FieldMistake | PackingMistake, ...]]:
    """Return the case with the cheapest explanation, and its causes; a start other than `begin` costs more."""

    def cost(explanation: tuple[DiagnosisCase, Explanation]) -> float:
        case, explained = explanation
        return explained.cost + (LEFT_OVER / 2 if begin not in (None, case.right.start_address) else 0.0)

    case, explained = min(((case, explain_case(case)) for case in cases), key=cost)
    return case, explained.causes


def _repair_word(case: DiagnosisCase, causes: tuple[FieldMistake | PackingMistake, ...]) -> Descriptor:
    """Return the right descriptor; if a mistake also affected unread fields, they get their usual values."""
    packed = any(isinstance(cause, PackingMistake) for cause in causes)
    beyond = any(set(mistake.implied) - set(mistake.amounts) for mistake in causes if isinstance(mistake, FieldMistake))
    spoiled = packed or beyond or len(case.wrong_fields) > 1
    fix = clean_word(case.right, case.view, keep=not packed) if spoiled else case.right
    return Descriptor(fix.word & ~fix.reserved, fix.format)


def _find_data_start(stored: Storage, mn: int, k: int) -> int | None:
    """Return the address before the XOR of a slice that is swizzled relative to the tile's start; None for other
    data.
    """
    if not stored.placed or stored.swizzle_by == "address":
        return None
    return stored.base + int(stored.placed.before(mn, k, 0)) // 8


def clean_word(right: Descriptor, view: View, keep: bool = True) -> Descriptor:
    """Return a descriptor whose unread fields have their usual values.

    keep: leave an LBO or SBO that already has a usual value.
    """
    unread, pattern = find_unread_fields(right.mode, view), right.mode.pattern_bytes
    usual = {"lbo": LBO.encode(16), "sbo": SBO.encode(pattern), "base_offset": 0}
    cleared = Descriptor(right.word & ~right.reserved, right.format)
    is_usual = {"lbo": cleared.lbo_bytes in (0, 16), "sbo": cleared.sbo_bytes in (0, pattern), "base_offset": False}
    return cleared.replace(
        **{
            right.format.get_field(name).encoded_name: value
            for name, value in usual.items()
            if name in unread and not (keep and is_usual[name])
        }
    )


def _is_proven(causes: tuple[FieldMistake | PackingMistake, ...]) -> bool:
    """Return whether a single known mistake explains the word."""
    return len(causes) == 1 and causes[0].cost < 1.5


def explain_case(case: DiagnosisCase) -> Explanation:
    """Return the cheapest explanation that turns the right word into the program's word."""
    mistakes = list_field_mistakes(case)
    best = min([_cover_fields(case, mistakes), *_explain_packings(case)], key=lambda e: e.cost)
    tried: set[tuple[tuple[str, int], ...]] = set()
    for mistake in mistakes:
        if mistake.cost + TOGETHER + LEAST_COST > best.cost:  # no packing mistake is cheaper
            continue
        values = {**case.right_amounts, **mistake.amounts, **mistake.implied}
        key = tuple(sorted(values.items()))
        if key in tried or mistake.copied or min(values.values()) < 0:
            continue
        tried.add(key)
        check_deadline()
        best = min([best, *_explain_packings_with_mistake(case, mistake, values)], key=lambda e: e.cost)
    return best


def _cover_fields(case: DiagnosisCase, mistakes: list[FieldMistake]) -> Explanation:
    """Return mistakes in disjoint fields that cover every wrong field, generic ones where no known one fits."""
    fitting = [
        m
        for m in mistakes
        if set(m.amounts) <= case.wrong_fields
        and all(case.has_same_field(n, v) for n, v in {**m.amounts, **m.implied}.items())
    ]

    def cheapest(remaining: frozenset[str]) -> tuple[float, tuple[FieldMistake, ...]]:
        check_deadline()
        if not remaining:
            return 0.0, ()
        first = next(name for name in NAMES if name in remaining)
        best: tuple[float, tuple[FieldMistake, ...]] | None = None
        for mistake in [
            *(m for m in fitting if first in m.amounts and set(m.amounts) <= remaining),
            *_explain_leftover_field(case, first, remaining),
        ]:
            cost_of_others, others = cheapest(remaining - set(mistake.amounts))
            cost = mistake.cost + cost_of_others + (TOGETHER if others else 0)
            if best is None or cost < best[0] - 1e-9:
                best = cost, (mistake, *others)
        assert best is not None
        return best

    cost, causes = cheapest(case.wrong_fields)
    return Explanation(
        cost + (1.5 if case.stray_bits & LOW_GAPS else 0.01 if case.stray_bits else 0),
        tuple(sorted(causes, key=lambda c: c.cost)),
    )


def _explain_packings(case: DiagnosisCase) -> Iterator[Explanation]:
    """Yield explanations by one packing mistake, alone or with exchanged or dropped halves."""
    for packing in [*_list_packings(case, case.right_amounts), *pack_unshifted_additions(case)]:
        if case.matches_actual(packing.word, packing.free):
            yield Explanation(packing.cost, (packing,))
        if packing.fields:  # then the word's halves exchanged, or its high half dropped
            for exchanged in (exchange_halves(case, packing.word), *drop_high_word(packing.word)):
                if case.matches_actual(exchanged.word, exchanged.free):
                    yield Explanation(exchanged.cost + packing.cost + TOGETHER, (exchanged, packing))


def _explain_packings_with_mistake(
    case: DiagnosisCase, mistake: FieldMistake, values: Amounts
) -> Iterator[Explanation]:
    """Yield explanations by one packing mistake of amounts of which a field mistake has changed some."""
    for packing in _list_packings(case, values, frozenset(mistake.implied)):
        if case.matches_actual(packing.word, packing.free):
            yield Explanation(
                packing.cost + mistake.cost + TOGETHER + _get_stacking_cost(packing, mistake), (packing, mistake)
            )


def _get_stacking_cost(packing: PackingMistake, mistake: FieldMistake) -> float:
    """Return the extra cost if both mistakes concern the same single field."""
    both = packing.fields & set(mistake.amounts)
    if packing.code == "generic_pointer" and set(mistake.amounts) <= packing.fields:
        return LEFT_OVER
    return max(TWICE[name] for name in both) if both == packing.fields and len(both) == 1 else 0.0


def _list_packings(
    case: DiagnosisCase, values: Amounts, also: frozenset[str] = frozenset()
) -> Iterator[PackingMistake]:
    """Yield every wrong packing of these amounts, including a generic pointer's bits and a sign-extended integer."""
    word = pack_word(values, case.form)
    if has_pointer_bits(case, word):
        message = (
            "Bits of a generic 64-bit pointer reach into LBO, SBO and the bits between them. Convert the pointer with"
            f" __cvta_generic_to_shared, mask it with 0x{case.form.window_bytes - 1:X}, then shift it right by 4."
        )
        yield PackingMistake("generic_pointer", message, case.actual.word, fields=frozenset(("lbo", "sbo")))
    packed = list(list_packings(case, values, also))
    yield from packed
    lowest = find_sign_extension(case.actual.word)
    if lowest is None:
        return
    message = (
        f"Bits {lowest} to 63 are all 1: a negative {32 if lowest > 16 else 16}-bit integer was widened to 64 bits. "
        "Use unsigned types: cast each part to uint64_t before it is shifted and combined."
    )
    low = (1 << lowest) - 1
    for other, cost in ((word, 0.85), *((p.word, 1.5) for p in packed), (case.actual.word, 3.0)):
        if not (case.actual.word ^ other) & low & ~case.unread_bits:
            yield PackingMistake("sign_extended", message, case.actual.word, cost)
            return


def _explain_leftover_field(case: DiagnosisCase, name: str, remaining: frozenset[str]) -> Iterator[FieldMistake]:
    """Yield generic mistakes for a field without a known one, and overlapping core matrices."""
    actual, needed = case.actual_amounts[name], case.right_amounts[name]
    if name in ("lbo", "sbo"):
        yield from _explain_overlap(case, remaining)
        yield _make_unexplained_stride(case, name)
    elif name == "start_address":
        step = actual - needed
        much = "one 16-byte chunk" if abs(step) == 16 else format_bytes(abs(step))
        message = (
            f"The start is {much} {'past' if step > 0 else 'before'} the slice's first byte: it must be {needed:#x},"
            f" not {actual:#x}."
        )
        yield FieldMistake("start_wrong", message, {name: actual}, LEFT_OVER)
    else:
        yield FieldMistake(
            f"{name}_wrong", f"{NAMES[name]} is {actual}; it must be {needed}.", {name: actual}, LEFT_OVER
        )


def _explain_overlap(case: DiagnosisCase, remaining: frozenset[str]) -> Iterator[FieldMistake]:
    """Yield strides so small that core matrices overlap and bytes are read twice."""
    both = {
        name: case.actual_amounts[name] for name in case.wrong_fields if name in ("lbo", "sbo") and name in remaining
    }
    if case.actual.mode.chunks > 1 or max(both.values()) >= 128:
        return
    if len(np.unique(reads(case.actual, case.view))) < case.expected.size:
        message = (
            f"LBO {case.actual_amounts['lbo']} and SBO {case.actual_amounts['sbo']} make core matrices overlap; each"
            " needs 128 separate bytes. Here"
            f" {describe_required_strides(case, case.right_amounts['lbo'], case.right_amounts['sbo'])}."
        )
        yield FieldMistake("overlapping_core_matrices", message, both, LEFT_OVER - 0.5 if len(both) == 1 else 2.0)


def _make_unexplained_stride(case: DiagnosisCase, name: str) -> FieldMistake:
    """Return an LBO or SBO that is wrong for an unknown reason."""
    actual, needed = case.actual_amounts[name], case.right_amounts[name]
    turned = case.view.major == "MN" and case.mode.chunks > 1
    panel = turned and name == "lbo"
    code = "panel_stride_wrong" if panel and actual and actual % case.mode.pattern_bytes == 0 else "stride_wrong"
    way = "along K" if turned == (name == "sbo") else "along M/N"
    what = "atoms" if case.mode.chunks > 1 else "core matrices"
    message = f"{NAMES[name]} is {format_bytes(actual)}. The tile's {what} are {format_bytes(needed)} apart {way}."
    return FieldMistake(code, message, {name: actual}, LEFT_OVER)


# the same tile in another storage -------------------------------------------------------------------------------------


def _find_other_storage(case: DiagnosisCase) -> AlternativeStorage | None:
    """Return an alternative storage that the program's word reads exactly; None if there is none."""
    for alternative in list_restored_storages(case.stored, case.view, case.actual.mode):
        if alternative.code in XOR_ALONE and is_read_exactly(case.actual, case.view, alternative, case.mn, case.k):
            return alternative
    return None


def _describe_other_storage(alternative: AlternativeStorage, case: DiagnosisCase) -> str:
    stored_mode, mode = case.stored.mode, case.actual.mode
    if alternative.code == "stored_unswizzled":
        return (
            f"The data was stored without the XOR; the descriptor is that of the same tile with swizzle {mode.name}."
            f" {describe_storing(mode)}"
        )
    if case.stored.tile:
        message = (
            f"The tile is stored with swizzle {stored_mode.name}; the descriptor is that of the same tile with"
            f" {mode.name}."
        )
        return f"{message} Use the repaired descriptor, or {describe_storing(mode, True)}"
    rows = f"rows of {mode.width_bytes} bytes"
    message = (
        f"The data is stored with swizzle {stored_mode.name} in rows of {stored_mode.width_bytes} bytes; the"
        f" descriptor is right for {rows} with swizzle {mode.name}."
    )
    return (
        f"{message} Use the repaired descriptor, or"
        f" {describe_storing(mode, True).replace('store with', f'store {rows} with', 1)}"
    )
