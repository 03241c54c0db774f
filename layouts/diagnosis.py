"""Why a descriptor does not read the tile: the mistake that turns the right word into the given one.

The diagnosis works from the storage outward. Every known mistake is applied to the RIGHT word of this storage and slice; one that gives
the program's word in every bit that proves something is the cause, then two together, and only then field by field. Data that no
descriptor reads as they were stored are explained from the word: which storage would it read?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from layouts.case import NAMES, Amounts, Case, bytes_of, bytes_text, pack
from layouts.descriptor import LBO, TCGEN05_BITS, VERSION_BIT, Addresses, Descriptor, View, inert, reads
from layouts.mistakes import Slip, slips
from layouts.packing import Packing, additions, packings, pointer, sign_extension
from layouts.repair import changes, expected_reads, repairs, unswizzled
from layouts.storage import Storage
from layouts.swizzle import MODES, Mode
from layouts.worlds import World, canonicals, reads_as, restored

TOGETHER = 0.6  # what a second mistake costs beyond its own
TAKEN_FROM_WORD = ("other_slice", "panel_stride_wrong", "base_offset_as_k_advance")  # slips whose amount is the given field itself
XOR_ALONE = ("stored_unswizzled", "stored_swizzle")  # the data lie where the word reads, but for the swizzle
LEFT_OVER = 4.0  # one field that no known mistake explains


@dataclass(frozen=True)
class Diagnosis:
    """One named cause. fix: the descriptor that verifies, None where a descriptor alone cannot help; storage: how the data would
    have to be stored instead, as a storage of POST /descriptors/verify, None where they are not at fault."""

    code: str
    message: str
    fix: Descriptor | None = None
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)
    storage: dict[str, Any] | None = None


@dataclass(frozen=True)
class Explanation:
    """Causes that together give exactly the program's word, and what believing in them costs."""

    cost: float
    causes: tuple[Slip | Packing, ...]


def diagnose(given: Descriptor, seen: View, stored: Storage, mn: int, k: int, expected: Addresses) -> list[Diagnosis]:
    """The causes of a mismatch, the true one first."""
    by_address = stored.swizzle_by == "address" and stored.mode.chunks > 1
    possible = repairs(expected, seen, given, by_address)
    if not possible:
        return _hopeless(given, seen, stored, expected, mn, k)
    rights = [d for d in possible if d.mode is stored.mode] or possible[:1]
    cases = [Case(given, right, seen, stored, mn, k, expected) for right in rights]
    case, explained = min(((c, explain(c)) for c in cases), key=lambda pair: pair[1].cost)
    found, causes = _stored_otherwise(case), explained.causes
    fix = case.right
    needed = changes(given, fix)
    if found and len(case.differ) > 1 and not _proven(causes):
        return [Diagnosis(found.code, _other_storage(found, case), fix, needed, dict(found.spec))]
    if any(isinstance(cause, Packing) for cause in causes):
        fix = _clean(fix, seen)
        needed = changes(given, fix)
    out = [Diagnosis(c.code, c.message, fix, needed) for c in causes]
    if case.stray >> VERSION_BIT & 1 and not case.stray & ~TCGEN05_BITS and not any(c.code == "tcgen05_format" for c in causes):
        says = "Bit 46 is set: this is tcgen05's descriptor format. wgmma reads the same bytes from it, but the bit is reserved; clear it."
        out.append(Diagnosis("tcgen05_format", says, fix, needed))
    return out


def _clean(right: Descriptor, seen: View) -> Descriptor:
    """The word without what a wrong packing left in bits that nothing reads; an LBO that is not read is 16 bytes, as CUTLASS writes it."""
    unread = inert(right, seen)
    usual = {"lbo": LBO.encode(16), "sbo": 0, "base_offset": 0}
    kept = Descriptor(right.word & ~right.reserved)
    return kept.replace(**{name: value for name, value in usual.items() if name in unread})


def _proven(causes: tuple[Slip | Packing, ...]) -> bool:
    """Whether one known mistake explains the word by itself."""
    return len(causes) == 1 and causes[0].cost < 1.5


def explain(case: Case) -> Explanation:
    """The cheapest set of known mistakes that turns the right word into the given one."""
    if not case.differ:
        return Explanation(0.0, ())
    known = slips(case)
    options = [_cover(case, known), *_packed(case, known)]
    return min(options, key=lambda e: e.cost)


def _cover(case: Case, known: list[Slip]) -> Explanation:
    """Slips of disjoint fields that account for every wrong field; a field none accounts for is named by itself."""
    fitting = [
        s for s in known
        if set(s.amounts) <= case.differ and all(case.same(n, v) for n, v in {**s.amounts, **s.must}.items())
    ]  # fmt: skip

    def cheapest(left: frozenset[str]) -> tuple[float, tuple[Slip, ...]]:
        if not left:
            return 0.0, ()
        first = next(name for name in NAMES if name in left)
        best: tuple[float, tuple[Slip, ...]] | None = None
        for slip in [*(s for s in fitting if first in s.amounts and set(s.amounts) <= left), *_left_over(case, first, left)]:
            rest, more = cheapest(left - set(slip.amounts))
            cost = slip.cost + rest + (TOGETHER if more else 0)
            if best is None or cost < best[0] - 1e-9:
                best = cost, (slip, *more)
        assert best is not None
        return best

    cost, causes = cheapest(case.differ)
    return Explanation(cost + (0.01 if case.stray else 0), tuple(sorted(causes, key=lambda c: c.cost)))


def _packed(case: Case, known: list[Slip]) -> Iterator[Explanation]:
    """Words that one packing mistake gives, alone or after one slip."""
    for packing in [*_wrong_words(case, case.wanted), *additions(case)]:
        if case.is_given(packing.word, packing.free):
            yield Explanation(packing.cost, (packing,))
    seen: set[tuple[tuple[str, int], ...]] = set()
    for slip in known:
        values = {**case.wanted, **slip.amounts, **slip.must}
        key = tuple(sorted(values.items()))
        if key in seen or slip.code in TAKEN_FROM_WORD or min(values.values()) < 0:
            continue
        seen.add(key)
        for packing in _wrong_words(case, values, frozenset(slip.must)):
            if case.is_given(packing.word, packing.free):
                yield Explanation(packing.cost + slip.cost + TOGETHER, (packing, slip))


def _wrong_words(case: Case, values: Amounts, also: frozenset[str] = frozenset()) -> Iterator[Packing]:
    """Every packing of these amounts, a pointer's bits in the word, and a negative integer that was widened."""
    word = pack(values)
    if pointer(case, word):
        says = (
            "Bits of a generic 64-bit pointer reach into LBO, SBO and the bits between them. Convert the pointer with __cvta_generic_to_shared, "
            "mask it with 0x3FFFF, then shift it right by 4."
        )
        yield Packing("generic_pointer", says, case.given.word)
    made = list(packings(case, values, also))
    yield from made
    lowest = sign_extension(case.given.word)
    if lowest is None:
        return
    says = (
        f"Bits {lowest} to 63 are all 1: a negative {32 if lowest > 16 else 16}-bit integer was widened to 64 bits. "
        "Use unsigned types: cast each part to uint64_t before it is shifted and combined."
    )
    low = (1 << lowest) - 1
    for other, cost in ((word, 0.85), *((p.word, 1.5) for p in made), (case.given.word, 3.0)):
        if not (case.given.word ^ other) & low & ~case.free:
            yield Packing("sign_extended", says, case.given.word, cost)
            return


def _left_over(case: Case, name: str, left: frozenset[str]) -> Iterator[Slip]:
    """One field that no known mistake explains, in its own words; overlapping core matrices where that is all that can be said."""
    had, wanted = case.had[name], case.wanted[name]
    if name in ("lbo", "sbo"):
        both = {n: case.had[n] for n in case.differ if n in ("lbo", "sbo") and n in left}
        if case.given.mode.chunks == 1 and max(both.values()) < 128 and len(np.unique(reads(case.given, case.seen))) < case.expected.size:
            says = (
                f"LBO {case.had['lbo']} and SBO {case.had['sbo']} make core matrices overlap: each takes 128 bytes of its own. "
                f"Here LBO must be {bytes_text(case.wanted['lbo'])} and SBO {bytes_text(case.wanted['sbo'])}."
            )
            yield Slip("overlapping_core_matrices", says, both, LEFT_OVER - 0.5)
        panel = name == "lbo" and case.seen.major == "MN" and case.mode.chunks > 1
        code = "panel_stride_wrong" if panel and had % case.mode.pattern_bytes == 0 and had else "stride_wrong"
        way = "along K" if (name == "sbo") == (panel or (case.seen.major == "MN" and case.mode.chunks > 1)) else "along M/N"
        if case.mode.chunks == 1:
            way = "along K" if name == "lbo" else "along M/N"
        what = "atoms" if case.mode.chunks > 1 else "core matrices"
        yield Slip(
            code, f"{NAMES[name]} is {bytes_text(had)}. The tile's {what} lie {bytes_text(wanted)} apart {way}.", {name: had}, LEFT_OVER
        )
    elif name == "start_address":
        step = had - wanted
        much = "one 16-byte chunk" if abs(step) == 16 else bytes_text(abs(step))
        says = f"The start is {much} {'past' if step > 0 else 'before'} the slice's first byte: it must be {wanted:#x}, not {had:#x}."
        yield Slip("start_wrong", says, {name: had}, LEFT_OVER)
    else:
        yield Slip(f"{name}_wrong", f"{NAMES[name]} is {had}; it must be {wanted}.", {name: had}, LEFT_OVER)


# data at fault -----------------------------------------------------------------------------------------------------------------


def _stored_otherwise(case: Case) -> World | None:
    """The storage, one change away, that the given word reads exactly."""
    for world in restored(case.stored, case.seen, case.given.mode):
        if world.code in XOR_ALONE and reads_as(case.given, case.seen, world, case.mn, case.k):
            return world
    return None


def _other_storage(world: World, case: Case) -> str:
    had, word = case.stored.mode.name, case.given.mode.name
    if world.code == "stored_unswizzled":
        return f"The data were stored without the XOR; the descriptor is that of the same tile with swizzle {word}. {_store_with(case.given.mode)}"
    return f"The tile is stored with swizzle {had}; the descriptor is that of the same tile with {word}. Use the repaired descriptor, or {_store_with(case.given.mode, True)}"


def _store_with(mode: Mode, middle: bool = False) -> str:
    if mode.chunks == 1:
        says = "store 8×8 core matrices without a swizzle."
    else:
        says = f"store with {mode.swizzle()} on byte addresses (CU_TENSOR_MAP_SWIZZLE_{mode.name} in a TMA tensor map)."
    return says if middle else says[:1].upper() + says[1:]


def _hopeless(given: Descriptor, seen: View, stored: Storage, expected: Addresses, mn: int, k: int) -> list[Diagnosis]:
    """No descriptor of this major reads these data: say why, and which storage the word reads."""
    beyond = int(expected.max()) >> 18
    if beyond:
        says = (
            f"The slice reaches address {int(expected.max()):#x}; a descriptor's start has 18 bits, and shared memory ends before 0x40000."
        )
        return [Diagnosis("not_canonical", says)]
    along, at = ("K", k) if seen.major == "K" else ("M/N", mn)
    if at % seen.per and int(expected[0, 0]) % 16:
        says = (
            f"The slice begins at {at} of {along}, inside a 16-byte chunk of {seen.per} elements. A descriptor's start is a multiple of 16 bytes: "
            f"begin at a multiple of {seen.per}."
        )
        return [Diagnosis("not_canonical", says)]
    turned = _turned(given, seen, expected)
    if turned:
        return [turned]
    worlds = [*restored(stored, seen, given.mode), *canonicals(stored, seen, given.mode, given)]
    fits = next((w for w in worlds if reads_as(given, seen, w, mn, k)), None)
    if fits and fits.code in XOR_ALONE:
        return [Diagnosis(*_kept_apart(fits, given, stored), storage=dict(fits.spec))]
    atom = seen.per * stored.mode.chunks
    if seen.major == "MN" and stored.mode.chunks > 1 and mn % atom and not mn % seen.per and stored.major(seen.major) == "MN":
        return [_inside_atom(seen, stored, mn, atom)]
    out = [_why_not(seen, stored, expected)]
    if fits:
        return [replace(d, storage=dict(fits.spec)) for d in out]
    return [*out, *_of_the_word(given, seen, stored, mn, k)]


def _why_not(seen: View, stored: Storage, expected: Addresses) -> Diagnosis:
    """What no descriptor of this major can say about the data."""
    if stored.mode.chunks > 1 and stored.swizzle_by == "tile" and stored.base % 128:
        return Diagnosis("not_canonical", _off_row(stored, stored.mode))
    if _contiguous(expected, seen, stored) in ("", seen.major):
        return _no_word(seen, stored, expected)
    if seen.bits != 16:
        says = f"The data are contiguous along M/N. wgmma reads {seen.bits}-bit elements K-major only: store K contiguous."
        return Diagnosis("not_canonical", says)
    other, flag = ("MN", "1") if seen.major == "K" else ("K", "0")
    says = (
        f"The data are {other}-major; the instruction reads {seen.major}-major. Its transpose immediate must be {flag}, and the tile must be stored in "
        f"{other}-major core matrices or swizzled atoms, which it is not."
    )
    return Diagnosis("wrong_transpose", says)


def _contiguous(expected: Addresses, seen: View, stored: Storage) -> str:
    """The dimension along which elements are neighbours; "" where neither is."""
    if said := stored.major(""):
        return said
    size = max(seen.bits // 8, 1)
    along_k, along_mn = (bool((np.diff(expected[:8, :8], axis=axis) == size).all()) for axis in (1, 0))
    return "K" if along_k else "MN" if along_mn else ""


def _of_the_word(given: Descriptor, seen: View, stored: Storage, mn: int, k: int) -> list[Diagnosis]:
    """The word is no better than the data: what is wrong with it for a canonical tile of its mode."""
    for world in canonicals(stored, seen, given.mode):
        tile = world.stored
        if (tile.mn or 0) < mn + seen.rows or (tile.k or 0) < k + seen.k:
            continue
        wanted = expected_reads(tile, seen, mn, k)
        if not repairs(wanted, seen, given):  # a slice that begins where no descriptor can, whatever the storage
            continue
        causes = diagnose(given, seen, tile, mn, k, wanted)
        right = causes[0].fix if causes else None
        if right:
            return [Diagnosis(c.code, f"{c.message} (Said of {world.said}; its descriptor is {right}.)") for c in causes]
    return []


def _no_word(seen: View, stored: Storage, expected: Addresses) -> Diagnosis:
    """Where the storage leaves what any mode can read, and how to store instead."""
    pitch, width = stored.pitch_bytes, stored.mode.width_bytes
    if stored.mode.chunks > 1 and pitch and pitch != width:
        says = (
            f"No descriptor reads this layout: rows swizzled with {stored.mode.name} must lie {width} bytes apart, and these lie {pitch}. "
            f"Store {width}-byte rows without padding; the swizzle already keeps the banks apart."
        )
        return Diagnosis("not_canonical", says)
    row, chunk, text, rows_apart = _broken_core(expected, seen)
    lines = "rows" if seen.major == "K" else "k"
    says = f"No descriptor reads this layout. Core matrix ({row // 8}, {chunk}), {lines} {row // 8 * 8} to {row // 8 * 8 + 7}: {text}"
    if not rows_apart or stored.mode.chunks > 1:
        return Diagnosis("not_canonical", says)
    across, along = ("row", "k") if seen.major == "K" else ("k", "row")
    outer, inner = ("SBO", "LBO") if seen.major == "K" else ("LBO", "SBO")
    formula = (
        f"{across} / 8 * {outer} + {along} / {seen.per} * {inner} + {across} % 8 * 16 + {along} % {seen.per} * {max(seen.bits // 8, 1)}"
    )
    says += f" Store element (row, k) at {formula} for mode none, or store rows of 32, 64 or 128 bytes with their swizzle."
    return Diagnosis("row_major_not_core_matrix", says)


def _inside_atom(seen: View, stored: Storage, mn: int, atom: int) -> Diagnosis:
    """A slice that begins inside an MN-major atom and runs into the next."""
    by_size = sorted((m for m in MODES if m is not stored.mode), key=lambda m: -m.chunks)
    narrower = next((m for m in by_size if m.chunks * seen.per < atom and not mn % (m.chunks * seen.per)), None)
    if narrower is None:
        says = f"The slice begins at {mn} of M/N: in every layout a slice begins at a multiple of {seen.per}, in this one at a multiple of {atom}."
        return Diagnosis("mn_offset_inside_atom", says)
    spec = _standard(stored, seen, narrower)
    wide = narrower.chunks * seen.per
    how = f"swizzle {narrower.name}, whose atoms have {wide}" if narrower.chunks > 1 else f"no swizzle, in core matrices of {wide}"
    says = f"The slice begins at {mn} of M/N, inside an atom of {atom}, and runs into the next one. Start at a multiple of {atom}, or store the tile with {how}."
    return Diagnosis("mn_offset_inside_atom", says, storage=spec)


def _kept_apart(world: World, given: Descriptor, stored: Storage) -> tuple[str, str]:
    """(code, message) of data that differ from what the word reads by their XOR alone."""
    word = given.mode
    if world.code == "stored_unswizzled":
        return world.code, f"The data were stored without the XOR that swizzle {word.name} of the descriptor expects. {_store_with(word)}"
    if stored.mode is word:
        return "not_canonical", _off_row(stored, word)
    says = f"The data were stored with swizzle {stored.mode.name} in rows of another width; the descriptor reads swizzle {word.name}. {_store_with(word)}"
    return world.code, says


def _off_row(stored: Storage, mode: Mode) -> str:
    return (
        f"The XOR was applied to the offset from the tile's start, which lies {stored.base % mode.pattern_bytes} bytes past a {mode.pattern_bytes}-byte boundary. "
        f"Base offset counts rows of 128 bytes and cannot say that. Align the tile to {mode.pattern_bytes} bytes, or apply the XOR to the shared-memory address."
    )


def _standard(stored: Storage, seen: View, mode: Mode) -> dict[str, Any] | None:
    """A canonical tile of the word's mode with as many elements."""
    world = next(canonicals(stored, seen, mode), None)
    return dict(world.spec) if world else None


def _turned(given: Descriptor, seen: View, expected: Addresses) -> Diagnosis | None:
    """The data as the other major reads them."""
    if seen.bits != 16:
        return None
    other = View(seen.rows, seen.k, seen.bits, "MN" if seen.major == "K" else "K")
    found = repairs(expected, other, given)
    if not found:
        return None
    needed = changes(given, found[0])
    flag = "1" if other.major == "MN" else "0"
    more = f" Then {_list(needed)} must change, too." if needed else ""
    says = f"The data are {other.major}-major; the instruction reads {seen.major}-major. Its transpose immediate must be {flag}.{more}"
    return Diagnosis("wrong_transpose", says, found[0] if needed else None, needed)


def _broken_core(expected: Addresses, seen: View) -> tuple[int, int, str, bool]:
    """The first core matrix that no mode allows: (row, chunk of K, what is wrong, whether its rows are whole but too far apart)."""
    across = expected if seen.major == "K" else expected.T
    size = bytes_of(seen.per, seen) // seen.per or 1
    per = seen.per
    for row in range(0, across.shape[0], 8):
        for chunk in range(across.shape[1] // per):
            core = across[row : row + 8, chunk * per : (chunk + 1) * per]
            if seen.bits >= 8 and (not (np.diff(core, axis=1) == size).all() or (core[:, 0] % 16).any()):
                return (
                    row,
                    chunk,
                    f"its rows are not 16 contiguous bytes on a 16-byte boundary (row {row} begins at {int(core[0, 0])}).",
                    False,
                )
            if not any(_legal_pitch(core[:, 0], m) for m in MODES):
                apart = int(core[1, 0] - core[0, 0])
                says = (
                    f"its rows of 16 bytes are {apart} bytes apart; mode none needs 16, and the swizzled modes 32, 64 or 128 with the XOR."
                )
                return row, chunk, says, True
    return 0, 0, "each core matrix is legal by itself, but they do not lie at constant strides.", False


def _legal_pitch(starts: Addresses, mode: Mode) -> bool:
    """Whether eight row starts are one atom's lines under some base offset."""
    return any((np.diff(unswizzled(starts, mode, base)) == mode.width_bytes).all() for base in range(mode.chunks))


def _list(needed: dict[str, tuple[int, int]]) -> str:
    return " and ".join(f"{name} ({had} → {want})" for name, (had, want) in needed.items()) or "nothing"
