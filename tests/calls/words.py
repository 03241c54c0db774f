"""What the modules of wrong words, stored tiles and boxes answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from layouts import (
    catalog,
    find,
    idesc,
    packing,
    repair,
    scales,
    scaling,
    starts,
    statements,
    tile_map,
    tma,
    tmem,
    umma,
    verify,
    wmma,
    worlds,
    zeromask,
)
from layouts import reuse as following
from layouts import storage as stores
from layouts.case import Case
from layouts.descriptor import Descriptor, View
from layouts.errors import LayoutError
from layouts.swizzle import MODES, mode
from layouts.table.descriptors import FORMATS, TCGEN05, WGMMA
from layouts.tiling import Tile
from tests.asked import F16, W16
from tests.calls import Call, zlib_of
from tests.held import attempt, whole

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


# storages -------------------------------------------------------------------------------------------------------------

MOST = 1 << 30
STORES: tuple[dict[str, Any], ...] = (
    {}, {"kind": None}, {"kind": "x"}, {"kind": "ROWS", "pitch_bytes": 128}, {"kind": "rows"}, {"kind": "rows",
    "pitch_bytes": 0}, {"kind": "rows", "pitch_bytes": 1}, {"kind": "rows", "pitch_bytes": MOST}, {"kind": "rows",
    "pitch_bytes": MOST + 1}, {"kind": "rows", "pitch_bytes": 128, "inner": "MN"}, {"kind": "rows", "pitch_bytes": 128,
    "inner": "x"}, {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": 1040},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "64B", "base": 1040}, {"kind": "rows", "pitch_bytes": 128,
    "swizzle": "x"}, {"kind": "rows", "pitch_bytes": 128, "swizzle_by": "x"}, {"kind": "rows", "pitch_bytes": 128,
    "pitch": 1}, {"kind": "rows", "pitch_bytes": 96, "base": -1}, {"kind": "rows", "pitch_bytes": "0x60", "base": "32"},
    {"kind": "atoms"}, {"kind": "atoms", "width_bytes": 0, "outer8_stride": 8}, {"kind": "atoms", "width_bytes": 32,
    "outer8_stride": 256}, {"kind": "atoms", "width_bytes": 32, "outer8_stride": 320, "line_stride": 40,
    "inner_stride": 4096}, {"kind": "atoms", "width_bytes": 32, "outer8_stride": 256, "inner_stride": 4096,
    "inner": "MN", "swizzle": "32B", "base": 272}, {"kind": "canonical"}, {"kind": "canonical", "mn": 64},
    {"kind": "canonical", "mn": 64, "k": 64}, {"kind": "canonical", "mn": 64, "k": 64, "order": "x"},
    {"kind": "canonical", "mn": 64, "k": 64, "order": "k", "swizzle": "32B"}, {"kind": "canonical", "mn": 64, "k": 64,
    "major": "MN", "swizzle": "128B", "swizzle_by": "tile", "base": 1152}, {"kind": "canonical", "mn": 64, "k": 64,
    "major": "x"}, {"kind": "canonical", "mn": 64, "k": 256, "element_bits": 8}, {"kind": "cute"}, {"kind": "cute",
    "layout": 5}, {"kind": "cute", "layout": "(x"}, {"kind": "cute", "layout": "64:1"}, {"kind": "cute",
    "layout": "(4,4,4)"}, {"kind": "cute", "layout": "(64,64):(64,1)"}, {"kind": "cute", "layout": "(64,64):(64,1)",
    "unit": "bytes"}, {"kind": "cute", "layout": "(64,8):(8,1)", "unit": "chunks"}, {"kind": "cute",
    "layout": "(8,64):(1,8)", "unit": "chunks"}, {"kind": "cute", "layout": "(1,1):(1,1)", "unit": "chunks"},
    {"kind": "cute", "layout": "(64,64):(64,1)", "unit": "x"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "bytes"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "chunks"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "elements"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[4b](unset) o (64,128):(128,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[32b](unset) o (64,32):(32,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[64b](unset) o (64,16):(16,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[128b](unset) o (64,8):(8,1)"}, {"kind": "cute",
    "layout": "Sw<2,3,3> o (64,32):(32,1)", "base": 512}, {"kind": "cute", "layout": "Sw<1,3,3> o (64,64):(64,1)"},
    {"kind": "cute", "layout": "(64,3):(3,1)", "unit": "bytes"}, {"kind": "cute", "layout": "(1024,113):(113,1)"},
    {"kind": "cute", "layout": "(1024,114):(114,1)"}, {"kind": "cute", "layout": "((8,8),64):((64,512),1)", "base": 64},
)  # fmt: skip


def of_storage() -> Iterator[Call]:
    for spec, (bits, major, form) in product(STORES, (
        (16, "K", WGMMA), (8, "MN", TCGEN05), (32, "MN", WGMMA), (4, "K", TCGEN05), (1, "K", WGMMA))):  # fmt: skip
        yield f"{spec} {bits} {major} {form.name}"[:150], lambda s=spec, b=bits, m=major, f=form: put(s, b, m, f)


def put(spec: dict[str, Any], bits: int, major: str, form: Any) -> list[Any]:
    one = stores.storage(spec, bits, major, form)
    mn, k = np.arange(min(one.mn or 40, 64))[:, None], np.arange(min(one.k or 80, 160))[None, :]
    assert one.placed is not None
    return [
        one.text, one.mn, one.k, one.base, one.mode.name, one.swizzle_by, one.major("?"), one.pitch_bytes,
        one.number("pitch_bytes"), np.asarray(one.address(mn, k), np.int64),
        np.asarray(one.placed.before(mn, k, bits - 1), np.int64),
        np.asarray(one.placed.locate(one.placed.before(mn, k, 0)), np.int64), one.placed.by, one.placed.base,
        one.placed.xor,
    ]  # fmt: skip


# boxes, maps and fragments --------------------------------------------------------------------------------------------


def of_tma() -> Iterator[Call]:
    for width, swizzle in product((16, 32, 33, 64, 128, 256), ("none", "32B", "64B", "128B")):
        yield f"pitch {width} {swizzle}", lambda w=width, s=swizzle: [
            tma.pitch_bytes(w, s), tma.panels(w, 24, s), tma.panels(w, 8, s, 64, "K")
        ]  # fmt: skip
    for box, strides in product(
        ((64,), (64, 8), (64, 8, 2), (64, 1, 2), (64, 8, 1), (64, 2, 2), (32, 8, 2)),
        ((), (256,), (256, 128), (256, 64), (256, 127), (256, 129), (None, None), (64, 128)),
    ):
        yield f"box {box} {strides}", lambda b=box, s=strides: [
            tma.storage(b, 16, "128B", s), tma.storage(b, 16, "none", s, 1024, "K"), tma.storage(b, 8, "32B", s)
        ]  # fmt: skip
    for words, given in {
        "rank": (16, (64,) * 6, (128,) * 5, (8,) * 6), "five": (16, (64,) * 5, (128,) * 4, (8,) * 5),
        "sizes": (16, (64, 64), (128,), (0, 257)), "at bounds": (8, (64, 64), (128,), (256, 1)),
        "open": (None, (None, None), (None,), (None, None)), "no bits": (None, (64, 64), (128,), (7, 8)),
        "narrow": (16, (64, 64), (128,), (7, 8)), "narrow more": (16, (64, 64), (128,), (9, 8), (), "none", 1),
        "swizzle": (16, (256, 64), (512,), (64, 8), (), "128B"), "over": (16, (256, 64), (512,), (72, 8), (), "128B"),
        "over 64": (8, (256, 64), (512,), (80, 8), (), "64B"), "open swizzle": (8, (256, 64), (512,), (80, 8), (),
        None),
        "interleaved": (16, (64, 64), (128,), (8, 8), (1, 1), "32B", 2),
        "bytes": (16, (256, 512), (512,), (256, 256, 2)), "bytes at most": (8, (256, 512), (512,), (256, 256, 3)),
        "bytes fit": (8, (256, 512), (512,), (256, 227, 4)), "some open": (16, (256, 512), (512,), (256, None, 4)),
        "one over": (8, (256, 512), (512,), (256, 228, 4)),
        "strides": (16, (64, 64, 64), (120, 1 << 40), (8, 8, 8)), "stride below": (16, (64, 64), ((1 << 40) - 16,),
        (8, 8)),
        "negative": (16, (64, 64), (-16,), (8, 8)), "zero": (16, (64, 64), (0,), (8, 8)), "zero of 1": (16, (64, 1),
        (0,), (8, 1)),
        "zero of 0": (16, (64, 0), (0,), (8, 1)), "zero of 2": (16, (64, 2), (0,), (8, 1)), "more strides": (16,
        (64,), (0, 8), (8,)),
        "dims": (16, (0, 1 << 32), (128,), (8, 8)), "dims over": (16, ((1 << 32) + 1, 1), (128,), (8, 8)),
        "steps": (16, (64, 64), (128,), (8, 8), (0, 9)), "steps at bounds": (16, (64, 64), (128,), (8, 8), (1, 8)),
        "steps open": (16, (64, 64), (128,), (8, 8), (None, 2)), "empty": (16, (), (), ()),
    }.items():  # fmt: skip
        yield f"refused {words}", lambda given=given: list(tma.refused(*given))  # type: ignore[arg-type]
    for bits, major, form, order in product((1, 8, 16, 32), ("K", "MN"), MODES, ("", "mn", "k")):
        wide = form.atom(bits, major)
        for mn, k in ((1, 1), (2, 3), (3, 2), (37, 1), (1, 33), (64, 1)):
            make = partial(Tile, bits, major, form, mn * wide[0], k * wide[1], order=order)
            yield f"boxes {bits} {major} {form.name} {order} {mn} {k}", lambda make=make: tma.boxes(make())


def of_maps() -> Iterator[Call]:
    for (bits, major, name), down, unit in product(
        ((16, "K", "128B"), (16, "MN", "64B"), (8, "K", "none"), (1, "K", "32B"), (32, "MN", "none")),
        ("", "mn", "k", "x" * 50), ("chunk", "element", "y" * 50),
    ):  # fmt: skip
        form = mode(name)
        wide = form.atom(bits, major)
        for times, base, by in (((1, 2), 1024 + 128, "address"), ((2, 1), 1024 + 128, "tile"), ((2, 2), 0, "address")):
            make = partial(Tile, bits, major, form, times[0] * wide[0], times[1] * wide[1], base=base, swizzle_by=by)
            yield (
                f"{bits} {major} {name} {down} {unit} {times} {by}"[:120],
                lambda m=make, d=down, u=unit: drawn(m(), d, u),
            )
    for mn, k in ((256, 128), (256, 136), (512, 64), (520, 64)):
        for unit in ("chunk", "element"):
            yield f"cells of {mn} {k} {unit}", lambda mn=mn, k=k, unit=unit: tile_map.TileMap(
                Tile(8, "K", mode("none"), mn, k), "", unit).rows  # fmt: skip


def drawn(tile: Tile, down: str, unit: str) -> list[Any]:
    one = tile_map.TileMap(tile, down, unit)
    public = [name for name in dir(tile_map.TileMap) if not name.startswith("_")]
    out: list[Any] = [name + attempt(lambda n=name: whole(getattr(one, n))) for name in public
                      if not callable(getattr(tile_map.TileMap, name))]  # fmt: skip
    out += [one.memory(), one.memory(True), [one.cell_of(mn, k) for mn, k in ((0, 0), (1, 0), (0, 1), (7, 9), (8, 16))]]
    return out


def of_wmma() -> Iterator[Call]:
    yield "fragments", lambda: [one.cpp for one in wmma.fragments()]
    for one in wmma.fragments():
        yield one.cpp, lambda one=one: [
            one.use, one.element_cpp, one.storage_cpp, one.num_elements, one.per_storage, one.num_storage_elements,
            one.since, [wmma.elements_of(one.operand, lane) for lane in (0, 5, 31)], wmma.requirements(one.operand),
            wmma.both(one.operand), wmma.fragment_bytes(one.operand),
            [wmma.default_stride(one.operand, way) for way in ("row", "col")],
        ]  # fmt: skip
        for way in ("row", "col"):
            least = wmma.default_stride(one.operand, way)
            for pointer, ldm in ((0, least), (16, least - 1), (32, least + 1), (8, least + 8), (0x100, 4 * least)):
                yield f"check {one.cpp} {way} {pointer} {ldm}", partial(wmma.check, one.operand, pointer, ldm, way)
    for shape, kind in product(
        ("m16n16k16", "m8n8k32", "m8n8k128", "m16n16k8", "m8n8k4", "x"), ("f32", "f16", "s32", "f64")
    ):
        yield f"multiplicands {shape} {kind}", partial(wmma.multiplicands, shape, kind)


# code that builds a word ----------------------------------------------------------------------------------------------

CODE = (
    "", ";", "return", "return 5;", "return 5; ;", "x", "co_return 1ull << 62;", "uint64_t d = 5; return d;",
    "uint64_t d = 0; d |= 1ull << 62; return d;", "uint64_t d = 6; d ^= 3; return d;",
    "uint64_t d = 6; d &= 3; return d;",
    "uint64_t d = 6; d += 3; return d;", "uint64_t d = 6; d -= 3; return d;", "d = 5; return d;", "f(x); return 5;",
    "uint32_t d = 1 << 31; uint64_t e = d; e = e << 1; return e;", "const std::uint64_t d = 5; return ::d;",
    "uint64_t make(int x) { return 5; }", "uint64_t make(int x) { uint64_t d = 7; return d; } // end",
    "uint64_t make(int x) { uint64_t d = 7; return d;", "/* a\nb */ return 5; // c", "return p >> 4 & 0x3fff;",
    "uint32_t a = __cvta_generic_to_shared(smem); return (uint64_t)((a & 0x3ffff) >> 4) | 1ull << 62;",
    "uint32_t a = __cvta_generic_to_shared(&smem[0][1]); return (uint64_t)((a & 0x3ffff) >> 4) | 1ull << 62;",
    "uint32_t a = cvta(&smem[0]); return (uint64_t)((a & 0x3ffff) >> 4) | 1ull << 62;",
    "return (cast(p) & 0x3FFFF) >> 4 | (uint64_t)p << 16;", "return (cast(p) & 0x3FFFF) >> 4 | (uint64_t)q << 16;",
    "return (cast(p) & 0x3FFFF) >> 4 | (cast(p) & 0x3FFFF) >> 4;", "return cast(p) >> 4 & 0x3ffe;",
    "return (uint64_t)p;", "return (p >> 4) | (1ull << 62);", "return (p & 0x3ffff) >> 4 | 1ull << 62;",
    "return half(p) >> 4;", "return sizeof(half) * 4;", "return sizeof(p);",
    "uint64_t d = p; return (d & 0x3ffff) >> 4;",
    "desc.bitfield.start_address_ = 5;", "desc.start_address_ = 5; desc->layout_type_ = 1;",
    "d->bitfield->stride_byte_offset_ = 64;",
    "d.bitfield.start_address_ = 0x4000;", "d.bitfield.start_address_ = 0x3fff;", "d.base_offset_ = 8;",
    "d.base_offset_ = 7;",
    "d.layout_type_ = 4; d.layout_type_ = 1;", "d.leading_byte_offset_ = 1024 >> 4; d.stride_byte_offset_ = x;",
    "d.bitfield.start_address_ = cast(p) >> 4; d.bitfield.layout_type_ = 1;", "d.bitfield.start_address_ = p >> 4;",
    "d.bitfield.start_address_ = (p & 0x3ffff) >> 4;", "d.bitfield.start_address_ = cast(p) >> 3;",
    "d.bitfield.start_address_ = p;",
    "d.stride_byte_offset_ = cast(p) >> 4;", "a.base_offset_ = 1; b.base_offset_ = 2;", "d.foo_ = 1;",
    "d.base_offset_ |= 1;",
    "d.desc_ = 5; d.desc_ |= 1ull << 62;", "d.desc_ = 5; d.desc_ = 6;", "d.desc_ = 5; d.base_offset_ = 1;",
    "d.desc_ = p;",
    "GmmaDescriptor d{}; d.base_offset_ = 1;", "GmmaDescriptor d; d.base_offset_ = 1; return d;",
    "x = 5; d.base_offset_ = 1;",
    "d.base_offset_ == 1;", "d.base_offset_ = 1 << 40;", "return 1 << 40;", "return 1 << 62 | 5;",
    "uint64_t d == 5; return d;",
    "uint64_t d = 5;" * 64 + "return d;", "uint64_t d = 5;" * 63 + "return d;", "x" * 5000, "return 'a';",
    "return 5 5;",
    "unsigned long long a = 1, b = 2; return a;", "auto d = 5u; return d << 31;", "int d = -1; return d;",
    "return a.b;",
    "d.bitfield.start_address_ = cute::cast_smem_ptr_to_uint(p) >> 4; return;", "return -1;", "while(1) { return 4; }",
)  # fmt: skip


def of_statements() -> Iterator[Call]:
    for text in CODE:
        yield f"{text!r:.90}", partial(statements.read_code, text)
    yield "another field", partial(statements.read_code, "x y", "a.descriptor")


# what tcgen05.mma reads -----------------------------------------------------------------------------------------------


def of_umma() -> Iterator[Call]:
    texts = [
        *(f"tcgen05.mma{form}.cta_group::{group}.kind::{kind}" for form, group, kind in product(
            ("", ".ws", ".sp", ".ws.sp"), (1, 2, 3), ("f16", "tf32", "i8", "f8f6f4", "mxf4", "mxf4nvf4", "mxf8f6f4"))),
        "TCGEN05 . MMA . CTA_GROUP::2 . KIND::F16", "tcgen05.mma.kind::f16", "tcgen05.mma", "tcgen05.mma.kind::f17", "",
        "mma", 5, None, "tcgen05.cp", umma.DEFAULT, "x" * 200,
    ]  # fmt: skip
    for text in texts:
        yield f"issued {text!s:.60}", lambda text=text: [(one := umma.issued(text)).ptx, one.ctas, one.form, one.sparse]
    for text, word, letter, major in product(
        [*texts[:3], "tcgen05.mma.sp.cta_group::2.kind::f16", "tcgen05.mma.ws.cta_group::1.kind::f16",
                     "tcgen05.mma.cta_group::2.kind::i8"],
        (umma.DEFAULT_IDESC, "0x08400494", "0x08418490", "0x10400490", "0", "0x04200490", "0x08200494"), "ab",
        ("", "K", "MN"),
    ):  # fmt: skip
        yield f"view {text} {word} {letter} {major}", lambda t=text, w=word, o=letter, m=major: seen_by(t, w, o, m)


def seen_by(text: str, word: str, letter: str, major: str) -> list[Any]:
    by = umma.issued(text)
    made = umma.view(by, idesc.Idesc(int(word, 16), by.kind), letter, major)
    return [made.rows, made.k, made.bits, made.major]


def of_zeromask() -> Iterator[Call]:
    words = (
        {}, {"non_zero_mask": 1}, {"non_zero_mask": 1, "skip_span": 2, "use_span": 3}, {"skip_span": 2},
        {"non_zero_mask": 1, "first_span_0": 1, "start_count_0": 2, "use_span": 7},
        {"non_zero_mask": 1, "first_span_1": 1, "start_count_1": 9, "skip_span": 15, "use_span": 1, "shift": 33},
        {"non_zero_mask": 1, "first_span_3": 1, "start_count_3": 255, "skip_span": 255, "use_span": 255, "shift": 16},
        {"shift": 17}, {"shift": 32}, {"shift": 64}, {"start_count_2": 256}, {"x": 1}, {"skip_span": -1},
        {"use_span": "0x3"},
    )  # fmt: skip
    for given in words:
        yield f"{given}", lambda given=given: [str(one := zeromask.encode(given)), one.reserved, masked(one)]
    for word in (1 << 36, 1 << 62, 1 << 63 | 1 << 39, (1 << 64) - 1, 0x00_03_02_80_00_00_00_00):
        yield f"{word:#x}", lambda word=word: [(one := zeromask.ZeroMask(word)).reserved, masked(one)]
    for bits in ([], [0], [1], [1, 1], [0, 1, 0, 1, 1], [1, 0, 0, 1]):
        yield f"runs {bits}", lambda bits=bits: zeromask.runs(bits)
    for given in ("5", "x", "0x1'0000", "1 << 39", -1):
        yield f"read {given}", partial(zeromask.read, given)
    yield "read as", partial(zeromask.read, "x", "mask")


def masked(one: zeromask.ZeroMask) -> list[Any]:
    return [[attempt(lambda m=m, n=n: (zeromask.runs(one.bits(m, n)), len(one.bits(m, n)), one.columns(m, n)[:9]))
             for m in (16, 32, 64, 128) for n in (32, 64, 128, 256)],
            [one.problems(m) for m in (32, 64, 128)]]  # fmt: skip


# scale factors, and an accumulator as the next A ----------------------------------------------------------------------


def of_scaling() -> Iterator[Call]:
    for rows, factors in (
        (128, 4),
        (127, 4),
        (129, 4),
        (256, 8),
        (384, 12),
        (0, 4),
        (128, 0),
        (128, 3),
        (128, 6),
        (64, 4),
    ):
        yield f"tile {rows} {factors}", lambda r=rows, f=factors: [str(one := scales.tile(r, f)), one.evaluate()]
        if factors:
            yield f"offset {rows} {factors}", lambda r=rows, f=factors: np.asarray(
                scales.offset(np.arange(r)[:, None], np.arange(f)[None, :], f), np.int64)  # fmt: skip
    for (kind, vec), form, m, n, sparse in product(
        (("mxf8f6f4", "1X"), ("mxf4", "2X"), ("mxf4nvf4", "4X"), ("mxf4nvf4", "2X"), ("f16", "")),
        ("cta_group::1", "cta_group::2"), (128, 256), (64, 200, 256), (False, True),
    ):  # fmt: skip
        words = f"{kind} {vec} {form} {m} {n} {sparse}"
        for k, columns, shared in (
            (1, (0, None), (0, None)),
            (2, (16, 256), (1024, 65536)),
            (3, (0, None), (512, None)),
        ):
            yield f"{words} {k} {columns}", lambda a=(kind, form, sparse, m, n, vec), k=k, c=columns, s=shared: scaled(
                *a, k, c, s)  # fmt: skip
    f4 = tmem.Mma(idesc.kind("mxf4"), "cta_group::1", False, 128, 64, scale_vec="2X")
    for k in (0, 63, 64, 65, 96, 4096, 4160):
        yield f"K of {k}", lambda k=k: [side.columns for side in scaling.sides(f4, k, (0, None), (0, None))]


def scaled(
    kind: str, form: str, sparse: bool, m: int, n: int, vec: str, k: int, columns: Any, shared: Any
) -> list[Any]:
    mma = tmem.Mma(idesc.kind(kind), form, sparse, m, n, scale_vec=vec)
    a, b = scaling.sides(mma, k * mma.k, columns, shared)
    out: list[Any] = [scaling.copy_text(mma)]
    for side in (a, b):
        out += [whole(side, True), attempt(lambda side=side: whole(side.copies()))]
        out += [attempt(lambda side=side, at=at: whole(side.where(*at))) for at in (
            (0, 0), (33, 1), (side.rows - 1, side.k // side.block - 1), (side.rows, 0), (0, side.k // side.block),
            (-1, 0), (0, -1))]  # fmt: skip
    out.append(attempt(lambda: whole(scaling.steps(a, b))))
    out.append(attempt(lambda: whole(scaling.steps(a, b, {"transpose_a": 1}))))
    return out


def of_following() -> Iterator[Call]:
    kinds: dict[tuple[Any, ...], Any] = {}
    for i in catalog.instructions():
        if "a" in i.operands and "d" in i.operands:
            a, d = i.operands["a"], i.operands["d"]
            kinds.setdefault((str(a.pattern), str(d.pattern), a.element.bits, bool(a.sparsity)), i)
    made = list(kinds.values())
    for n, first in enumerate(made):
        for second in (made[(5 * n + 3) % len(made)], *((first,) if n % 3 == 0 else ())):
            yield f"{first.ptx} then {second.ptx}", lambda a=first, b=second: [
                (r := following.reuse(a, b)).tiles, r.steps, r.verdict, r.period, r.tile, r.lane, r.value, r.stays,
                r.taken, zlib_of(str(r.order)),
            ]  # fmt: skip
    for i in (find("ldmatrix.m8n8.x4.shared.b16"), find("stmatrix.m8n8.x4.shared.b16"), find(F16), find(W16)):
        yield f"{i.ptx} then {F16}", lambda i=i: following.reuse(i, find(F16)).verdict
        yield f"{F16} then {i.ptx}", lambda i=i: following.reuse(find(F16), i).verdict
