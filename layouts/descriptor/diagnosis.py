"""Why a descriptor does not read the tile: the mistake that turns the right word into the given one.

The diagnosis works from the storage outward. Every known mistake is applied to the RIGHT word of this storage and
slice; one that gives the program's word in every bit that proves something is the cause, then two together, and only
then field by field. Data that no descriptor reads as they were stored are explained from the word: which storage would
it read?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.descriptor.alternatives import AlternativeStorage, is_read_exactly, list_restored_storages
from lanescope.descriptor.case import NAMES, Amounts, Diagnosis, DiagnosisCase, FieldSlip, format_bytes, pack_word
from lanescope.descriptor.matrix import Addresses, Descriptor, View, find_inert_fields, reads
from lanescope.descriptor.mistakes import describe_required_strides, list_slips
from lanescope.descriptor.notices import has_tcgen05_bits
from lanescope.descriptor.packing import (
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

TOGETHER = 0.6  # what a second mistake costs beyond its own
TWICE = {
    "start_address": 1.0,
    "lbo": 2.0,
    "sbo": 2.0,
    "swizzle": 2.0,
}  # … where both concern one field: two mistakes explain almost any value
LOW_GAPS = 0b11 << 14 | 0b11 << 30  # bits between the fields, where an address or a sum that is too large runs over
LEFT_OVER = 4.0  # one field that no known mistake explains


@dataclass(frozen=True, slots=True)
class Explanation:
    """Causes that together give exactly the program's word, and their cost: how much evidence they need."""

    cost: float
    causes: tuple[FieldSlip | PackingMistake, ...]


def diagnose_mismatch(
    descriptor: Descriptor, seen: View, stored: Storage, *, mn: int, k: int, expected: Addresses, computed: bool = False
) -> list[Diagnosis]:
    """Return the causes of a mismatch, the true one first.

    computed: the word's shifts were those of 64-bit integers.
    """
    by_address = stored.swizzle_by == "address" and stored.mode.chunks > 1
    possible = find_repairs(expected, seen, descriptor, by_address)
    if not possible:
        return diagnose_unreadable(descriptor, seen, stored, expected=expected, mn=mn, k=k, judge=diagnose_mismatch)
    rights = [d for d in possible if d.mode is stored.mode] or possible[:1]
    cases = [
        DiagnosisCase(
            given=descriptor, right=right, seen=seen, stored=stored, mn=mn, k=k, expected=expected, computed=computed
        )
        for right in rights
    ]
    case, causes = _find_likeliest(cases, _find_data_start(stored, mn, k))
    other = _find_other_storage(case) if len(case.differ) > 1 and not _is_proven(causes) else None
    fix = _repair_word(case, causes)
    needed = list_changes(descriptor, fix)
    if other:
        return [Diagnosis(other.code, _describe_other_storage(other, case), fix, needed, dict(other.spec))]
    named = [(cause.code, cause.message) for cause in causes]
    if has_tcgen05_bits(case.stray) and "tcgen05_format" not in dict(named):
        note = (
            "Bit 46 is set: this is tcgen05's descriptor format. wgmma reads the same bytes from it, "
            "but the bit is reserved; clear it."
        )
        named.append(("tcgen05_format", note))
    return [Diagnosis(code, message, fix, needed) for code, message in named]


def _find_likeliest(
    cases: list[DiagnosisCase], begin: int | None
) -> tuple[DiagnosisCase, tuple[FieldSlip | PackingMistake, ...]]:
    """Return the case that is explained at the least cost, and its causes.

    A start that is not where the data begin needs more evidence.
    """

    def cost(judged: tuple[DiagnosisCase, Explanation]) -> float:
        case, explained = judged
        return explained.cost + (LEFT_OVER / 2 if begin not in (None, case.right.start_address) else 0.0)

    case, explained = min(((case, explain_case(case)) for case in cases), key=cost)
    return case, explained.causes


def _repair_word(case: DiagnosisCase, causes: tuple[FieldSlip | PackingMistake, ...]) -> Descriptor:
    """Return the right word, without what a mistake beyond its own field left in bits that nothing reads."""
    packed = any(isinstance(cause, PackingMistake) for cause in causes)
    beyond = any(set(slip.must) - set(slip.amounts) for slip in causes if isinstance(slip, FieldSlip))
    spoiled = packed or beyond or len(case.differ) > 1
    fix = clean_word(case.right, case.seen, keep=not packed) if spoiled else case.right
    return Descriptor(fix.word & ~fix.reserved, fix.format)


def _find_data_start(stored: Storage, mn: int, k: int) -> int | None:
    """Return where data swizzled from the tile's start begin, before the XOR; None for other data.

    A wrong base offset and a moved start may read them, too.
    """
    if not stored.placed or stored.swizzle_by == "address":
        return None
    return stored.base + int(stored.placed.before(mn, k, 0)) // 8


def clean_word(right: Descriptor, seen: View, keep: bool = True) -> Descriptor:
    """Return the word without what a mistake left in bits that nothing reads: LBO and SBO as programs usually write
    them.

    keep: leave them where they already have such a value.
    """
    unread, pattern = find_inert_fields(right, seen), right.mode.pattern_bytes
    usual = {"lbo": LBO.encode(16), "sbo": SBO.encode(pattern), "base_offset": 0}
    kept = Descriptor(right.word & ~right.reserved, right.format)
    written = {"lbo": kept.lbo_bytes in (0, 16), "sbo": kept.sbo_bytes in (0, pattern), "base_offset": False}
    return kept.replace(
        **{
            right.format.get_field(name).encoded_name: value
            for name, value in usual.items()
            if name in unread and not (keep and written[name])
        }
    )


def _is_proven(causes: tuple[FieldSlip | PackingMistake, ...]) -> bool:
    """Return whether one known mistake explains the word by itself."""
    return len(causes) == 1 and causes[0].cost < 1.5


def explain_case(case: DiagnosisCase) -> Explanation:
    """Return the cheapest set of known mistakes that turns the right word into the given one."""
    known = list_slips(case)
    options = [_cover_fields(case, known), *_explain_packings(case, known)]
    return min(options, key=lambda e: e.cost)


def _cover_fields(case: DiagnosisCase, known: list[FieldSlip]) -> Explanation:
    """Return slips of disjoint fields that account for every wrong field; a field that none explains is named by
    itself.
    """
    fitting = [
        s
        for s in known
        if set(s.amounts) <= case.differ and all(case.has_same_field(n, v) for n, v in {**s.amounts, **s.must}.items())
    ]

    def cheapest(left: frozenset[str]) -> tuple[float, tuple[FieldSlip, ...]]:
        check_deadline()
        if not left:
            return 0.0, ()
        first = next(name for name in NAMES if name in left)
        best: tuple[float, tuple[FieldSlip, ...]] | None = None
        for slip in [
            *(s for s in fitting if first in s.amounts and set(s.amounts) <= left),
            *_explain_leftover_field(case, first, left),
        ]:
            rest, more = cheapest(left - set(slip.amounts))
            cost = slip.cost + rest + (TOGETHER if more else 0)
            if best is None or cost < best[0] - 1e-9:
                best = cost, (slip, *more)
        assert best is not None
        return best

    cost, causes = cheapest(case.differ)
    return Explanation(
        cost + (1.5 if case.stray & LOW_GAPS else 0.01 if case.stray else 0),
        tuple(sorted(causes, key=lambda c: c.cost)),
    )


def _explain_packings(case: DiagnosisCase, known: list[FieldSlip]) -> Iterator[Explanation]:
    """Yield words that one packing mistake gives, alone or after one slip."""
    for packing in [*_list_packings(case, case.wanted), *pack_unshifted_additions(case)]:
        if case.matches_given(packing.word, packing.free):
            yield Explanation(packing.cost, (packing,))
        if packing.fields:  # the halves of such a word cut or exchanged
            for exchanged in (exchange_halves(case, packing.word), *drop_high_word(packing.word)):
                if case.matches_given(exchanged.word, exchanged.free):
                    yield Explanation(exchanged.cost + packing.cost + TOGETHER, (exchanged, packing))
    seen: set[tuple[tuple[str, int], ...]] = set()
    for slip in known:
        values = {**case.wanted, **slip.amounts, **slip.must}
        key = tuple(sorted(values.items()))
        if key in seen or slip.taken or min(values.values()) < 0:
            continue
        seen.add(key)
        check_deadline()
        for packing in _list_packings(case, values, frozenset(slip.must)):
            if case.matches_given(packing.word, packing.free):
                yield Explanation(
                    packing.cost + slip.cost + TOGETHER + _get_stacking_cost(packing, slip), (packing, slip)
                )


def _get_stacking_cost(packing: PackingMistake, slip: FieldSlip) -> float:
    """Return the extra cost where both mistakes concern the same single field, so that neither proves the other."""
    both = packing.fields & set(slip.amounts)
    if packing.code == "generic_pointer" and set(slip.amounts) <= packing.fields:
        return LEFT_OVER
    return max(TWICE[name] for name in both) if both == packing.fields and len(both) == 1 else 0.0


def _list_packings(
    case: DiagnosisCase, values: Amounts, also: frozenset[str] = frozenset()
) -> Iterator[PackingMistake]:
    """Yield every packing of these amounts, the word with a pointer's bits, and that with a widened negative
    integer.
    """
    word = pack_word(values, case.form)
    if has_pointer_bits(case, word):
        message = (
            "Bits of a generic 64-bit pointer reach into LBO, SBO and the bits between them. Convert the pointer with"
            f" __cvta_generic_to_shared, mask it with 0x{case.form.window_bytes - 1:X}, then shift it right by 4."
        )
        yield PackingMistake("generic_pointer", message, case.given.word, fields=frozenset(("lbo", "sbo")))
    packed = list(list_packings(case, values, also))
    yield from packed
    lowest = find_sign_extension(case.given.word)
    if lowest is None:
        return
    message = (
        f"Bits {lowest} to 63 are all 1: a negative {32 if lowest > 16 else 16}-bit integer was widened to 64 bits. "
        "Use unsigned types: cast each part to uint64_t before it is shifted and combined."
    )
    low = (1 << lowest) - 1
    for other, cost in ((word, 0.85), *((p.word, 1.5) for p in packed), (case.given.word, 3.0)):
        if not (case.given.word ^ other) & low & ~case.free:
            yield PackingMistake("sign_extended", message, case.given.word, cost)
            return


def _explain_leftover_field(case: DiagnosisCase, name: str, left: frozenset[str]) -> Iterator[FieldSlip]:
    """Describe a field that no known mistake explains, and overlapping core matrices."""
    had, needed = case.had[name], case.wanted[name]
    if name in ("lbo", "sbo"):
        yield from _overlap_left_over(case, left)
        yield _stride_left_over(case, name)
    elif name == "start_address":
        step = had - needed
        much = "one 16-byte chunk" if abs(step) == 16 else format_bytes(abs(step))
        message = (
            f"The start is {much} {'past' if step > 0 else 'before'} the slice's first byte: it must be {needed:#x},"
            f" not {had:#x}."
        )
        yield FieldSlip("start_wrong", message, {name: had}, LEFT_OVER)
    else:
        yield FieldSlip(f"{name}_wrong", f"{NAMES[name]} is {had}; it must be {needed}.", {name: had}, LEFT_OVER)


def _overlap_left_over(case: DiagnosisCase, left: frozenset[str]) -> Iterator[FieldSlip]:
    """Yield strides by which core matrices overlap: some byte is read twice."""
    both = {name: case.had[name] for name in case.differ if name in ("lbo", "sbo") and name in left}
    if case.given.mode.chunks > 1 or max(both.values()) >= 128:
        return
    if len(np.unique(reads(case.given, case.seen))) < case.expected.size:
        message = (
            f"LBO {case.had['lbo']} and SBO {case.had['sbo']} make core matrices overlap: each takes 128 bytes of its"
            f" own. Here {describe_required_strides(case, case.wanted['lbo'], case.wanted['sbo'])}."
        )
        yield FieldSlip("overlapping_core_matrices", message, both, LEFT_OVER - 0.5 if len(both) == 1 else 2.0)


def _stride_left_over(case: DiagnosisCase, name: str) -> FieldSlip:
    """Describe an LBO or SBO that is wrong for an unknown reason."""
    had, needed = case.had[name], case.wanted[name]
    turned = case.seen.major == "MN" and case.mode.chunks > 1
    panel = turned and name == "lbo"
    code = "panel_stride_wrong" if panel and had and had % case.mode.pattern_bytes == 0 else "stride_wrong"
    way = "along K" if turned == (name == "sbo") else "along M/N"
    what = "atoms" if case.mode.chunks > 1 else "core matrices"
    message = f"{NAMES[name]} is {format_bytes(had)}. The tile's {what} lie {format_bytes(needed)} apart {way}."
    return FieldSlip(code, message, {name: had}, LEFT_OVER)


# the same tile, stored otherwise --------------------------------------------------------------------------------------


def _find_other_storage(case: DiagnosisCase) -> AlternativeStorage | None:
    """Return the storage, one change away, that the given word reads exactly; None if there is none."""
    for world in list_restored_storages(case.stored, case.seen, case.given.mode):
        if world.code in XOR_ALONE and is_read_exactly(case.given, case.seen, world, case.mn, case.k):
            return world
    return None


def _describe_other_storage(world: AlternativeStorage, case: DiagnosisCase) -> str:
    had, mode = case.stored.mode, case.given.mode
    if world.code == "stored_unswizzled":
        return (
            f"The data was stored without the XOR; the descriptor is that of the same tile with swizzle {mode.name}."
            f" {describe_storing(mode)}"
        )
    if case.stored.tile:
        message = (
            f"The tile is stored with swizzle {had.name}; the descriptor is that of the same tile with {mode.name}."
        )
        return f"{message} Use the repaired descriptor, or {describe_storing(mode, True)}"
    rows = f"rows of {mode.width_bytes} bytes"
    message = (
        f"The data is stored with swizzle {had.name} in rows of {had.width_bytes} bytes; the descriptor is right for"
        f" {rows} with swizzle {mode.name}."
    )
    return (
        f"{message} Use the repaired descriptor, or"
        f" {describe_storing(mode, True).replace('store with', f'store {rows} with', 1)}"
    )
