"""What the modules of wrong words answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import islice, product
from typing import Any

from lanescope import find
from lanescope.descriptor import matrix as descriptor
from lanescope.descriptor import packing, repair, starts, verify, worlds
from lanescope.descriptor.case import Case, bytes_text, named, sentence, subsets
from lanescope.descriptor.causes import TITLES
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.repair import repairs
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import FORMATS, WGMMA
from lanescope.shared import storage as stores
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import MODES
from lanescope.workbench import check
from tests import blunders, right_words
from tests.calls import Call, zlib_of
from tests.held import attempt, computed, whole

# wrong words ----------------------------------------------------------------------------------------------------------

STORAGES: tuple[tuple[dict[str, Any], int, str], ...] = tuple(
    [({"kind": "canonical", "mn": 128, "k": 128, "swizzle": m.name}, 16, major) for m in MODES for major in ("K", "MN")]
    + [({"kind": "rows", "pitch_bytes": p, "swizzle": m.name}, b, "K") for m in MODES for p, b in ((128, 8), (256, 16))]
    + [({"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 1024 + 128, "swizzle_by": "tile"}, 16, "K"),
       ({"kind": "rows", "pitch_bytes": 256, "inner": "MN", "swizzle": "128B"}, 16, "MN"),
       ({"kind": "atoms", "swizzle": "64B", "mn": 64, "k": 64}, 16, "MN"),
       ({"kind": "cute", "layout": "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"}, 16, "K")]
)  # fmt: skip


def cases() -> Iterator[tuple[str, Case]]:
    for spec, width, major in STORAGES:
        try:
            stored: Storage = storage(spec, width, major)
        except LayoutError:
            continue
        step = 256 // width
        for rows, mn, k in ((64, 0, 0), (8, 0, step), (64, 64, 2 * step), (16, 8, 0)):
            seen = View(rows, step, width, major)
            try:
                expected = verify.expected_reads(stored, seen, mn, k)
            except LayoutError:
                continue
            for right in repairs(expected, seen, Descriptor(0), False)[:1]:
                bent = Descriptor(right.word ^ 0x0001_4010_0020_0007)
                yield f"{spec} {width} {major} {rows} at {mn}, {k}", Case(bent, right, seen, stored, mn, k, expected)


def of_case() -> Iterator[Call]:
    for words, one in cases():
        starts = [one.start_at(mn, k) for mn, k in ((0, 0), (0, 8), (8, 0), (1, 0), (24, 32), (0, 1))]
        yield words, lambda one=one, starts=starts: [
            *(f"{name} {attempt(lambda n=name: whole(getattr(one, n)))}" for name in computed(Case)
            if name not in ("slices", "form")),
            starts, len(one.slices), zlib_of(str(sorted(one.slices.items()))),
            [at for at in sorted(one.slices) if one.whole_slice(at)][:40], one.whole_slice(-1),
            [one.is_given(one.given.word ^ bit, free) for bit in (0, 1, 1 << 40, 1 << 14, 1 << 50) for free in (0, 1)],
            [one.same(n, amount) for n in one.had for amount in (0, one.had[n], one.wanted[n], one.had[n] + (1 << 18))],
        ]  # fmt: skip
    yield "words", lambda: [
        bytes_text(1), bytes_text(2), bytes_text(0), sentence("the start"), sentence(""), subsets(("a", "b", "c")),
        named(frozenset(("sbo", "lbo", "start_address"))), named(("swizzle",)), named({}), subsets(()),
    ]  # fmt: skip


def of_diagnosis() -> Iterator[Call]:
    names = [*blunders.BLUNDERS]
    for n, p in enumerate(right_words.programs(31, 24)):
        for at in range(3):
            _, name, function = names[(7 * n + at) % len(names)]
            wrong = function(p)
            if wrong is None:
                continue
            given, spec = wrong if isinstance(wrong, tuple) else (wrong, None)
            asked = p.ask(given, spec)
            yield f"{n} {name} {given:#x}", lambda asked=asked: verdict(asked)
    dice = random.Random(32)
    for words, one in cases():
        fields = dice.sample([*one.form.fields], dice.choice((1, 2)))
        bent = one.right
        for f in fields:
            bent = Descriptor(f.put(bent.word, (f.get(bent.word) + dice.choice((1, 3, f.most // 2))) & f.most))
        if dice.random() < 0.3:
            bent = Descriptor(bent.word | 1 << dice.choice((14, 15, 30, 31, 46, 47, 48, 53, 60)))
        yield (
            f"{words} as {bent}",
            lambda one=one, bent=bent: told(verify.verify(bent, one.seen, one.stored, one.mn, one.k)),
        )
    for words, one in islice(cases(), 0, None, 9):
        for bits in (1 << 46, 0b1001 << 46, 3 << 46):
            bent = Descriptor(one.right.word + (3 << 32) | bits, one.form)
            yield (
                f"{words} as {bent}",
                lambda one=one, bent=bent: told(verify.verify(bent, one.seen, one.stored, one.mn, one.k)),
            )


def verdict(asked: dict[str, Any]) -> list[Any]:
    seen = descriptor.view(find(asked["instruction"]), asked["operand"], asked.get("major", "K"))
    stored = storage(asked["storage"], seen.bits, seen.major)
    at = asked.get("slice", {})
    return told(verify.verify(Descriptor(int(asked["descriptor"], 16)), seen, stored, at.get("mn", 0), at.get("k", 0)))


def told(one: verify.Verdict) -> list[Any]:
    return [int((one.read != one.expected).sum()), *(whole(d, False) for d in one.diagnoses)]


def of_causes() -> Iterator[Call]:
    for code in (*TITLES, *check.TITLES, "not_known_code"):
        yield f"called {code}", partial(check.title, code)


# wrong words ----------------------------------------------------------------------------------------------------------

# bits, major, storage, rows of the instruction, (mn, k) of the slice
SLICES: tuple[tuple[int, str, dict[str, Any], int, int, int], ...] = (
    (16, "K", {"kind": "canonical", "mn": 128, "k": 256, "swizzle": "128B", "base": 1024}, 64, 64, 80),
    (16, "K", {"kind": "canonical", "mn": 128, "k": 256, "swizzle": "128B"}, 64, 0, 128),
    (16, "K", {"kind": "canonical", "mn": 128, "k": 128, "swizzle": "64B", "base": 2048}, 128, 0, 48),
    (16, "K", {"kind": "canonical", "mn": 128, "k": 64, "swizzle": "none", "base": 0x8000}, 64, 64, 32),
    (16, "K", {"kind": "canonical", "mn": 64, "k": 32, "swizzle": "32B", "base": 256}, 8, 8, 16),
    (16, "K", {"kind": "rows", "pitch_bytes": 32, "swizzle": "32B", "swizzle_by": "tile", "base": 512}, 64, 0, 0),
    (16, "K", {"kind": "canonical", "mn": 128, "k": 64, "swizzle": "none", "order": "k"}, 8, 8, 16),
    (16, "K", {"kind": "canonical", "mn": 128, "k": 64, "swizzle": "128B", "base": 1024 + 384, "swizzle_by": "tile"},
     64, 0, 16),
    (16, "MN", {"kind": "canonical", "mn": 256, "k": 64, "swizzle": "128B", "base": 0x20000}, 64, 128, 32),
    (16, "MN", {"kind": "canonical", "mn": 256, "k": 64, "swizzle": "64B", "order": "k"}, 64, 64, 16),
    (16, "MN", {"kind": "canonical", "mn": 128, "k": 64, "swizzle": "128B"}, 16, 32, 0),
    (16, "MN", {"kind": "canonical", "mn": 128, "k": 64, "swizzle": "none", "base": 256}, 64, 64, 16),
    (8, "K", {"kind": "canonical", "mn": 64, "k": 256, "swizzle": "128B", "base": 1024}, 64, 0, 160),
    (8, "K", {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 0x1C000}, 64, 64, 32),
    (32, "K", {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B", "base": 1024}, 64, 0, 24),
    (16, "K", {"kind": "rows", "pitch_bytes": 256, "swizzle": "128B", "base": 4096}, 8, 8, 64),
    (16, "K", {"kind": "atoms", "width_bytes": 128, "outer8_stride": 1024, "inner_stride": 16384, "swizzle": "128B",
               "base": 1024}, 64, 64, 96),
    (16, "MN", {"kind": "atoms", "width_bytes": 128, "outer8_stride": 1024, "inner_stride": 8192, "swizzle": "128B"},
     64, 64, 16),
    (16, "K", {"kind": "cute", "layout": "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"}, 64, 0, 16),
    (16, "K", {"kind": "cute", "layout": "Sw<3,3,3> o (64,64):(64,1)", "base": 1024}, 64, 0, 32),
    (16, "K", {"kind": "cute", "layout": "(64,64):(64,1)"}, 8, 0, 16),
)  # fmt: skip
# other amounts than the right ones: fields that spill over, that are nothing, that are as large as can be
TURNED: tuple[dict[str, int], ...] = (
    {}, {"start_address": 0x3FFF0}, {"lbo": 0x3FFF0, "sbo": 0x3FFF0}, {"start_address": 0, "lbo": 0}, {"lbo": 0},
    {"sbo": 0}, {"start_address": 0x20, "lbo": 0x80, "sbo": 0x800}, {"start_address": 0, "lbo": 0, "sbo": 0},
    {"start_address": 0x10, "lbo": 0xFF0, "sbo": 0x1000}, {"base_offset": 7}, {"swizzle": 0}, {"swizzle": 1},
    {"swizzle": 2, "base_offset": 1}, {"swizzle": 3, "sbo": 0x20000},
)  # fmt: skip


def slices() -> Iterator[tuple[str, Case]]:
    for form, (bits, major, spec, rows, mn, k) in product(FORMATS, SLICES):
        seen = View(rows, 256 // bits, bits, major, form)
        try:
            stored = stores.storage(spec, bits, major, form)
            expected = verify.expected_reads(stored, seen, mn, k)
        except LayoutError:
            continue
        near = Descriptor(0, form)
        found = repair.repairs(expected, seen, near, stored.swizzle_by == "address")
        right = found[0] if found else Descriptor(0x4000_0040_0001_0040, WGMMA) if form is WGMMA else None
        if right is not None:
            yield (
                f"{form.name} {bits} {major} {rows} at {mn}, {k} {list(spec.values())}",
                Case(right, right, seen, stored, mn, k, expected),
            )


def of_packing() -> Iterator[Call]:
    for words, one in slices():
        yield words, lambda one=one: [packed(one, more) for more in TURNED]
        yield f"added {words}", lambda one=one: [told_of(p) for p in packing.additions(one)]
        yield f"pointer {words}", lambda one=one: [
            packing.pointer(Case(Descriptor(word, one.form), one.right, one.seen, one.stored, one.mn, one.k,
                                 one.expected), one.right.word)
            for high in (0x7F, 0x7E, 0xFF, 0x3F) for word in (
                one.right.word | high << 36, one.right.word + (high << 36), one.right.word + (high << 36) + 1,
                one.right.word | high << 36 | 1 << 43, one.right.word | high << 36 | 1 << 42 | 1 << 14,
                one.right.word ^ 1 << 14, one.right.word ^ 1 << 16, one.right.word ^ 1 << 14 ^ 1 << 16,
                one.right.word ^ 1 << 44 ^ 1 << 16, one.right.word, one.right.word & ~(3 << 16) | 1 << 14,
            )
        ]  # fmt: skip
    ones = (1 << 64) - 1
    for low in (0, 14, 44, 45, 46, 47, 63, 64):
        yield f"ones from {low}", lambda low=low: [packing.sign_extension(ones ^ (1 << low) - 1 | more)
                                                   for more in (0, 1, ((1 << low) - 1) >> 1)]  # fmt: skip
    for word in (0, 1, (1 << 32) - 1, 1 << 32, 1 << 62 | 5):
        yield f"high word of {word:#x}", lambda word=word: [told_of(p) for p in packing.high_word_missing(word)]


def packed(one: Case, more: dict[str, int]) -> list[Any]:
    values = {**one.wanted, **{name: amount for name, amount in more.items() if name in one.wanted}}
    out = [[told_of(p) for p in packing.packings(one, values, frozenset(also))] for also in ((), ("lbo", "sbo"))]
    shifted = Case(one.given, one.right, one.seen, one.stored, one.mn, one.k, one.expected, True)
    return [*out, len(list(packing.packings(shifted, values)))]


def told_of(one: packing.Packing) -> str:
    fields = ",".join(sorted(one.fields))
    return f"{one.code} {one.word:#x} {one.cost} {one.free:#x} {fields}: {one.message}"


def of_starts() -> Iterator[Call]:
    for words, one in slices():
        first = one.start_at(one.mn, 0)
        given = [one.right, *(one.right.replace(start_address_encoded=at >> 4 & 0x3FFF) for at in (
            first, first + 2048, first + 4096, first + 8192, first + 1024, first + 512, 0, first + 16, first + 32,
            first + 64, one.start_at(0, one.k), one.start_at(0, 0) + 16384, one.start_at(0, 0) + 8192,
            one.start_at(0, one.k) + 1024, one.start_at(0, one.k) + 2048, one.start_at(one.mn, one.k) + 8192,
        ))]  # fmt: skip
        for word in dict.fromkeys(given):
            made = Case(word, one.right, one.seen, one.stored, one.mn, one.k, one.expected)
            yield f"{words} {word}", lambda made=made: [
                f"{s.code} {dict(s.amounts)} {s.cost} {dict(s.must)} {s.taken}: {s.message}"
                for s in starts.starts(made)
            ]  # fmt: skip
        yield f"may {words}", lambda one=one, first=first: [
            starts.may(one, first + n) for n in (0, 1, 2, 3, 4, *(one.k * m // 4 for m in range(1, 9)),
                                                 *(16 * one.k * m for m in (1, 2, 3, 4)), 16, 32, 64, 128)
        ]  # fmt: skip


def of_worlds() -> Iterator[Call]:
    for words, one in slices():
        yield f"tile bits {words}", lambda one=one: worlds.tile_bits(one.seen)
        for name, made in (
            ("misread", partial(worlds.misread, one.stored, one.seen)),
            *((f"restored {m.name}", partial(worlds.restored, one.stored, one.seen, m)) for m in one.form.codes),
            *((f"canonical {m.name}", partial(worlds.canonicals, one.stored, one.seen, m)) for m in one.form.codes),
            *((f"given {w}", partial(worlds.canonicals, one.stored, one.seen, w.mode, w)) for w in strided(one)),
        ):
            yield f"{name} {words}", lambda one=one, made=made: [
                [w.code, {k: str(v) for k, v in w.spec.items()}, w.said, attempt(lambda w=w: w.starts(8, 16)),
                 worlds.reads_as(one.right, one.seen, w, one.mn, one.k)] for w in made()
            ]  # fmt: skip
        for word, order in product(strided(one), ("mn", "k")):
            yield f"sizes {order} {word} {words}", lambda one=one, w=word, order=order: [
                list(worlds.sizes(w, one.seen, w.mode.atom(one.seen.bits, one.seen.major), order))
            ]  # fmt: skip
        edge = [(one.stored.mn or 64, 0), (0, one.stored.k or 64)]
        here = worlds.World("x", {}, one.stored, "")
        yield f"reads at the end {words}", lambda one=one, here=here, edge=edge: [
            worlds.reads_as(one.right, one.seen, here, mn - more * one.seen.rows, k - more * one.seen.k)
            for mn, k in edge for more in (0, 1) if mn - more * one.seen.rows >= 0 and k - more * one.seen.k >= 0
        ]  # fmt: skip


def strided(one: Case) -> list[Descriptor]:
    return [one.right.replace(lbo_encoded=lbo, sbo_encoded=sbo)
            for lbo, sbo in ((8, 64), (0, 0), (256, 16), (64, 512), (65, 63))]  # fmt: skip


def of_repairs() -> Iterator[Call]:
    for words, one in slices():
        for by_address, given in ((False, one.right), (True, Descriptor(0x4000_0041_0002_0011, one.form))):
            yield f"{words} {given} {by_address}", lambda one=one, given=given, by=by_address: [
                [str(d), repair.changes(given, d)] for d in repair.repairs(one.expected, one.seen, given, by)
            ]  # fmt: skip
    for kept, by in product(("mn", "k"), (-1, 0, 1)):
        words, one = next(slices())
        at = {"mn": 0, "k": 0, kept: (128 - 64 if kept == "mn" else 256 - 16) + by}
        for more in (at, {**at, kept: -1 - at[kept]}):
            yield f"slice {more}", lambda one=one, at=more: verify.verify(one.right, one.seen, one.stored, **at).matched
    for words, one in slices():
        codes = range(one.form.field(one.form.coded).most + 1)
        yield f"codes {words}", lambda one=one, codes=codes: [
            [whole(d, False) for d in verify.verify(
                one.right.replace(**{one.form.coded: n}), one.seen, one.stored, one.mn, one.k).diagnoses[:1]]
            for n in codes if n not in one.form.codes.values()
        ]  # fmt: skip
