"""What the engine's modules of banks, descriptors, chains and the catalogue answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from layouts import (
    banks,
    bits,
    bound,
    catalog,
    chain,
    check,
    descriptor,
    differences,
    epilogue,
    find,
    tmem,
    verify,
)
from layouts.case import Case, bytes_text, named, sentence, subsets
from layouts.causes import TITLES
from layouts.descriptor import Descriptor, View
from layouts.errors import LayoutError
from layouts.repair import repairs
from layouts.slices import k_steps, mn_steps
from layouts.storage import Storage, storage
from layouts.swizzle import MODES, Swizzle
from layouts.table.descriptors import FORMATS
from layouts.tiling import Tile
from tests import blunders, right_words
from tests.calls import Call, parts, zlib_of
from tests.held import attempt, computed, said, whole

F16, W16 = "mma.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.m64n64k16.f32.f16.f16"
# banks ----------------------------------------------------------------------------------------------------------------


def of_banks() -> Iterator[Call]:
    for name, kind in banks.ACCESSES.items():
        yield name, lambda kind=kind: kind
        for reach, pitch in product(banks.REACHES, (0, 36, 128, 144, 65536, 65537)):
            yield f"{name} {reach} {pitch}", lambda n=name, r=reach, p=pitch: [
                (one := banks.rows(banks.access(n), r, p)).given,
                one.text,
                one.finest,
                banks.REACHES[r].text,
                *(attempt(lambda one=one, x=x: brief(one.cost(x))) for x in (Swizzle(0, 4, 3), Swizzle(3, 4, 3),
                Swizzle(2, 2, 3))),
            ]  # fmt: skip
        many = [16 * (lane * lane % 40) for lane in range(kind.lanes)]
        for given in (
            many, [*many[:-1], None], [None] * 32, [*map(str, many)], [*many[:-1], 2**32], [*many[:-1], 2**32 - 16],
            [*many[:-1], 8], [*many[:-1], "x"], [*many[:-1], 1.5], many[:7], [*many, *[0] * (32 - len(many))], "0",
            None,
            [*many[:-1], True], [*many[:-1], -16], [*many[:-1], " 0x20 "],
        ):  # fmt: skip
            yield f"{name} at {given}"[:90], lambda kind=kind, given=given: [
                banks.at(kind, given).text, banks.at(kind, given).reach,
                brief(banks.cost(kind, given)), banks.cost(kind, given)
            ]  # fmt: skip
    for text in ("", "1, 2,3 - null", "1 x", "1,,2", "0x10 0b11", "9" * 40, "1 " * 3000, "-1", "1 " * 2048):
        yield f"addresses {text[:30]}", partial(banks.parse, text)
    for name in ("x", "", None, "ld.shared.b256", "ldmatrix.x3"):
        yield f"access {name}", partial(banks.access, name)
    yield "pattern x", lambda: banks.rows(banks.access("ld.shared.b32"), "x" * 60, 128)
    yield "first and last bank", lambda: banks.banks_of(np.arange(0, 300, 7), 16)
    yield "cute", lambda: banks.cute(Swizzle(3, 4, 2))


def brief(one: banks.Cost) -> list[int]:
    return [one.wavefronts, one.ideal, one.ways, len(one.phases)]


# words and fields -----------------------------------------------------------------------------------------------------


def of_bits() -> Iterator[Call]:
    own = bits.Field("x", 3, 10, 4, columns=2)
    odd = bits.Field("flag", 63, 63, title="Flag", of="rows")
    rows = bits.Field("rows", 0, 4, 8, of="rows")
    for one in (*(f for form in FORMATS for f in form.fields), own, odd, rows):
        names = [n for n in one.__dataclass_fields__ if n not in ("meaning", "title") or one is own]
        yield f"field {one.name}", lambda one=one, names=names: [
            *parts(one), *(f"{n} {getattr(one, n)}" for n in names)
        ]  # fmt: skip
        for value in (-1, 0, 1, one.most, one.most + 1, 7):
            yield f"put {value} into {one.name}", lambda one=one, v=value: [hex(one.put(w, v)) for w in (0, 2**64 - 1)]
        for value in (-one.unit, 0, one.unit, one.unit * one.most, one.unit * (one.most + 1), one.unit + 1):
            yield f"{value} of {one.name}", lambda one=one, v=value: [attempt(lambda: one.encode(v)), one.cut(v)]
    yield "gaps", lambda: [bits.gaps((own, odd)), bits.gaps((rows,), 8), bits.gaps((rows,), 5), bits.gaps((), 3)]
    yield "words", lambda: [bits.hex_word(0), bits.hex_word(2**63 + 10)]


def overlapping() -> str:
    """What two fields of one bit answer."""
    try:
        return str(bits.gaps((bits.Field("a", 0, 3), bits.Field("b", 3, 5))))
    except ValueError as error:
        return str(error)


# products in tensor memory --------------------------------------------------------------------------------------------

WISHES: tuple[dict[str, object], ...] = (
    {}, {"m": 64}, {"m": "128", "n": "16"}, {"m": 256, "n": 256}, {"n": 8}, {"m": 32}, {"a": "bf16"}, {"a": "e5m2"},
    {"b_major": "MN"}, {"a": "", "n": None}, {"x": 1}, {"scale_type": "ue4m3"}, {"m": 128, "k": 96}, {"sfa_id": 1},
    {"sfb_id": 2}, {"d": "f16"}, {"m": 128, "n": 24},
)  # fmt: skip


def of_bound() -> Iterator[Call]:
    seen = set()
    for one in catalog.instructions():
        if one.family.issue is None or "collector" in one.ptx:
            continue
        key = (one.family.issue, one.family.issue and bound.opcode_of(one).form)
        if key in seen:
            continue
        seen.add(key)
        yield f"usual {one.ptx}", lambda one=one: [
            bound.usual(one), bound.says_open(one), (made := bound.bind(one)), bound.told(made), bound.share(made.mma),
            made.inferred, made.operand_names,
        ]  # fmt: skip
        for wish in WISHES:
            yield f"{one.ptx} {wish}", lambda one=one, wish=wish: brief_of(bound.bind_wish(one, wish))
    one = find("tcgen05.mma.cta_group::1.kind::f16")
    for text in ("m=64, n = 32,", "m=1", "=", "x=1", "m", "0x08400490", 0x08400490, "a=bf16,b=bf16", "m=64,m=128", 1.5):
        yield f"word {text}", lambda text=text: brief_of(bound.bind(one, text))
    yield "of mma", lambda: bound.opcode_of(find(F16))


def brief_of(made: bound.Bound) -> list[Any]:
    held = [(op.name, op.row_count, op.col_count, op.element.name, op.container_bits, op.axes) for op in made.held]
    return [str(made.word), made.shape, made.types, made.sizes, held, made.open, bound.share(made.mma)]


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


# the catalogue --------------------------------------------------------------------------------------------------------


def of_catalog() -> Iterator[Call]:
    yield "families", lambda: [catalog.FAMILY_NAMES, catalog.SPACES, catalog.TARGETS, len(catalog.instructions())]
    yield "assembler", lambda: [catalog.assembler(), catalog.assembler_release()]
    yield "what ptxas takes", lambda: zlib_of(str([whole(catalog.assembled(i)) for i in catalog.instructions()]))
    yield "what ptxas makes", lambda: [
        len(catalog.compiled()), zlib_of(str([(k, [(one.targets, one.runs, one.total) for one in v])
        for k, v in catalog.compiled().items()])),
    ]  # fmt: skip
    yield "what has run", lambda: zlib_of(str([whole(catalog.runs(i)) for i in catalog.instructions()[::7]]))
    for size in ((16, 8, 16), (64, 64, 16), (16, 16, 16), (1, 2, 3), (8, 8, 4)):
        yield f"products {size}", lambda size=size: [i.ptx for i in catalog.products(*size)]
    for text in (
        F16.upper(), f'asm volatile("{F16} ' + '{%0}");', f"@p  mma . sync . aligned . {F16[4:]}", "mma.m16n8k17.row",
        "wgmma.m64n64k16.f32.f16.f16", "wgmma.m64n64k16.f32.f16.f17", "wgmma.mma_async.m64n64k16.f32.f16", "xmma.sync",
        "mma", "", "ldmatrix.m8n8.x4.shared::cta.b16", "ldmatrix.m8n8.x4.b16",
        "ldmatrix.shared.m8n8.x4.shared::cta.b16",
        "ldmatrix.x4.m8n8.trans.shared.b16", "stmatrix.m8n8.x2.b16", "wmma.load.a.row.m16n16k16.shared.f16",
        "wmma.load.a.row.m16n16k16.global.f16", "wmma.load.a.row.m16n16k16.f16",
        "ldmatrix.m8n16.x2.shared.b8x16.b6x16_p32",
        "mma.m16n8k16.kind::f8f6f4.sp::ordered_metadata.row.col.f32.e4m3.e4m3.f32",
        "mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e4m3.e4m3.f32",
        "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4x.f32.e2m1.e2m1.f32.ue4m3", "a.mma.b", "1mma.m8",
        "tcgen05.mma.cta_group::1.kind::f16:", "mma.m16n8k16" + ".f16" * 61, "mma.m16n8k16" + ".f16" * 62,
        "wmma.store.d.row.m16n16k16.shared::cta.f32", "min.NaN.f16", "mma.sync.satfinite.m8n8k16.row.col.s32.s8.s8.s32",
    ):  # fmt: skip
        yield f"known {text[:90]}", lambda text=text: [
            catalog.opcode_of(text)[:300], attempt(lambda: whole(catalog.find(text))), whole(catalog.known(text)),
            attempt(lambda: list(refused(text))),
        ]  # fmt: skip
    yield "a name that is none", lambda: catalog.named(5, "from")
    yield "a name too long", lambda: catalog.named("x" * 70000, "from")
    yield "words", lambda: sorted(catalog.qualifiers())
    for i in (i for i in catalog.instructions() if i.family.name == "wmma" and i.family.multiplies):
        if i.shape == "m16n16k16" and not i.modifiers:
            for letter, way in product("abcd", ("row", "col", "x")):
                yield f"access {letter} {way} {i.ptx}", partial(catalog.access, i, letter, way)


def refused(text: str) -> tuple[str, ...]:
    try:
        return (catalog.find(text).listed_ptx,)
    except LayoutError as error:
        return error.nearest


def of_differences() -> Iterator[Call]:
    differences.rows.cache_clear()
    differences.narrow_strides.cache_clear()
    for row in differences.rows():
        yield row.key, lambda row=row: [row.document, *(said(getattr(row, n)) for n in row.__dataclass_fields__)]


def of_errors() -> Iterator[Call]:
    one = LayoutError("a", "Message.", "Hint.", "field", ("near",))

    def shown(error: LayoutError) -> list[Any]:
        return [str(error), error.code, error.message, error.hint, error.field, error.nearest]

    yield (
        "an error",
        lambda: [shown(one), shown(one.at("other")), shown(one.at("other", "b")), shown(LayoutError("", "M."))],
    )


# loads that feed operands ---------------------------------------------------------------------------------------------

OPERANDS = ((F16, "a"), (F16, "b"), (F16, "d"), ("mma.m16n8k32.row.col.s32.s8.s8.s32", "a"),
            ("mma.m16n8k64.row.col.s32.s4.s4.s32", "b"), ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "a"),
            ("mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "a"), (W16, "d"), (W16, "a"),
            ("mma.m16n8k16.row.col.f16.f16.f16.f16", "d"))  # fmt: skip
PLACES: tuple[dict[str, Any], ...] = (
    {"kind": "rows", "pitch_bytes": 128}, {"kind": "rows", "pitch_bytes": 136}, {"kind": "rows", "pitch_bytes": 512},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"}, {"kind": "rows", "pitch_bytes": 64, "base": 8},
    {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "64B"}, {"kind": "cute", "layout": "(16,16):(1,16)"},
    {"kind": "cute", "layout": "(16,16):(16,1)"}, {"kind": "cute", "layout": "(16,256):(256,1)", "unit": "bytes"},
    {"kind": "canonical", "mn": 8, "k": 8}, {"kind": "rows", "pitch_bytes": 16, "base": 262100},
    {"kind": "canonical", "mn": 64, "k": 128, "element_bits": 1}, {"kind": "canonical", "mn": 64, "k": 64,
    "element_bits": 4}, {"kind": "cute", "layout": "(16,64):(64,1)"}, {"kind": "cute", "layout": "(x"},
)  # fmt: skip


def of_chain() -> Iterator[Call]:
    for ptx, letter in OPERANDS:
        operand, store = find(ptx).operand(letter), letter in "cd"
        yield f"loads of {letter} {ptx}", lambda operand=operand, store=store: [
            i.ptx for i in chain.candidates(operand, store)
        ]  # fmt: skip
        for spec, major in ((spec, "K" if n % 3 else "MN") for n, spec in enumerate(PLACES)):
            yield (
                f"{letter} of {ptx} in {spec} {major}",
                lambda o=operand, s=spec, m=major, to=store: chained(o, s, m, to),
            )
        for major in ("K", "MN", "x"):
            yield f"lines of {letter} {ptx} {major}", lambda o=operand, m=major, to=store: [
                line for one in chain.advise(o, m, to) for line in
                (one.load.instruction.ptx, chain.lane_formula(one), chain.turn_steps(one))
            ]  # fmt: skip
    rows = np.arange(32)
    for name, values in (
        ("16 of 32", np.where(rows < 16, 16 * rows, -1)[None]),
        ("xor", (rows ^ rows >> 1)[None]),
        ("warps", rows[None] * 4 + np.arange(4)[:, None] * 1024 + 5),
        ("none", 0 * rows[None]),
        ("some bits", (rows >> 2 & 3)[None] * 8),
        ("two", ((rows & 1) * 64 + (rows >> 3) * 2)[None]),
        ("lane", rows[None]),
        ("row", (rows & 15)[None] * 2),
        ("three", (rows & 7)[None] + 64),
    ):
        yield f"formula {name}", partial(chain.affine, values.astype(np.int64))
    dice = np.random.default_rng(5)
    starts = dice.integers(-3, 6, (1, 2, 40, 4)) * 64
    yield "the best addresses", lambda: [chain._best(starts).tolist(), chain._best(starts * 2).tolist()]


def chained(operand: Any, spec: dict[str, Any], major: str, store: bool) -> list[Any]:
    where = chain.stored(spec, operand, major)
    out: list[Any] = [one.load.instruction.ptx for one in chain.advise(operand, where, store)]
    for load in chain.candidates(operand, store)[1:3]:
        found = chain.chain(load, operand, where)
        out += [load.ptx, found.count, found.major, found.matched, found.total, found.first_mismatch, found.notes,
                [brief(c) for c in found.costs], found.rows, found.starts, found.uniform, found.read, found.expected,
                found.lane_addresses, found.first_bytes]  # fmt: skip
    return out


# descriptors ----------------------------------------------------------------------------------------------------------


def of_descriptor() -> Iterator[Call]:
    dice = random.Random(33)
    for form in FORMATS:
        codes = [*form.codes.values()]
        for n in range(24):
            word = 0
            for f in form.fields:
                keep = form.constants.get(f.name)
                value = dice.choice((0, 1, 8, 16, 64, f.most)) & f.most
                value = keep if keep is not None and dice.random() < 0.8 else value
                word = f.put(word, codes[n % len(codes)] if f.name == form.coded else value)
            if n % 5 == 4:
                word |= 1 << dice.choice((14, 15, 30, 31, 46, 47, 48, 53, 60, 61))
            if n % 11 == 10:
                word = form.field(form.coded).put(word, dice.randrange(form.field(form.coded).most + 1))
            yield f"{form.name} {word:#018x}", lambda one=Descriptor(word, form): judged(one)
        for amounts in (
            {"start_address": 1 << 18}, {"start_address": 8}, {"lbo_bytes": 15}, {"sbo_bytes": 1 << 18},
            {"lbo_bytes": -16},
            {"base_offset": 8}, {"start_address": 0x3FFF0, "lbo_bytes": 0x3FFF0, "sbo_bytes": 16, "base_offset": 7},
        ):  # fmt: skip
            yield f"{form.name} of {amounts}", lambda form=form, amounts=amounts: [
                attempt(lambda m=m: str(descriptor.encode_as(form, amounts, m))) for m in ("none", "128B", "x")
            ]  # fmt: skip
    yield "encode", lambda: [str(descriptor.encode(1024, 16, 1024)), str(descriptor.encode(4096, 32, 256, 3, "64B"))]
    one = Descriptor(0x4000004000010100)
    yield (
        "replaced",
        lambda: [str(one.replace(lbo_encoded=5, base_offset=2)), attempt(lambda: str(one.replace(swizzle=4)))],
    )
    for ptx, operand, major in ((W16, "a", "K"), (W16, "b", "MN"), (W16, "c", "K"), (W16, "a", "x"), (F16, "a", "K"),
                                ("wgmma.mma_async.m64n8k32.s32.s8.u8", "b", "MN"),
                                ("wgmma.mma_async.m64n8k32.f32.e4m3.e5m2", "b", "MN"),
                                ("wgmma.mma_async.sp.m64n32k32.f32.f16.f16", "a", "K"),
                                ("wgmma.mma_async.sp.m64n32k32.f32.f16.f16", "b", "K")):  # fmt: skip
        yield (
            f"view of {operand} {major} {ptx}",
            lambda p=ptx, o=operand, m=major: (
                (v := descriptor.view(find(p), o, m)) and [v.rows, v.k, v.bits, v.major, v.per]
            ),
        )
    for bits_, major, m in product((8, 16, 32), ("K", "MN"), MODES):
        if not (one_tile := attempt(lambda b=bits_, j=major, m=m: Tile(b, j, m, 128, 256))).startswith("refused"):
            yield f"steps of {m.name} {major} {bits_} {len(one_tile) > 0}", lambda b=bits_, j=major, m=m: [
                [whole(s, False) for s in k_steps(Tile(b, j, m, 128, 256))],
                [whole(s, False) for s in mn_steps(Tile(b, j, m, 128, 256), 64)],
            ]  # fmt: skip


VIEWS = [View(64, 16, 16, "K"), View(8, 16, 16, "MN"), View(64, 32, 8, "K"), View(256, 16, 16, "MN"),
         View(16, 8, 32, "K"),
         View(8, 32, 16, "K"), View(128, 256, 1, "K"), View(64, 8, 32, "MN")]  # fmt: skip


def judged(one: Descriptor) -> list[Any]:
    out: list[Any] = [attempt(lambda: whole(one.facts)), attempt(lambda: one.mode.name), hex(one.reserved), str(one)]
    out += [whole(n) for n in descriptor.warnings(one)]
    for plain in VIEWS:
        seen = View(plain.rows, plain.k, plain.bits, plain.major, one.format)
        out += [attempt(lambda ask=ask, seen=seen: whole(ask(one, seen))) for ask in (
            descriptor.reads, descriptor.outside, descriptor.repeated, descriptor.uncertain, descriptor.inert,
            lambda d, v: descriptor.bank_ways(descriptor.reads(d, v), v))]  # fmt: skip
    return out


def of_epilogue() -> Iterator[Call]:
    from layouts import idesc

    f16 = idesc.kind("f16")
    made = [tmem.Mma(f16, form, False, m, n) for form, m, n in (
        ("cta_group::1", 128, 64), ("cta_group::1", 64, 32), ("cta_group::2", 256, 128), ("cta_group::2", 128, 64),
        ("ws", 32, 64),
        ("ws", 64, 64), ("cta_group::1", 128, 8))]  # fmt: skip
    texts = [f"tcgen05.ld.{shape}.x{x}{more}" for shape in epilogue.shapes() for x in (1, 4, 128)
             for more in ("", ".pack::16b")]  # fmt: skip
    yield "shapes", epilogue.shapes
    for mma, halves in product(made, (False, True)):
        words = f"{mma.form} {mma.m} {mma.n} {halves}"
        yield f"fitting {words}", lambda mma=mma, halves=halves: epilogue.fitting(mma, halves).ptx
        for text in (*texts, "tcgen05.st.32x32b.x1", "tcgen05.ld.16x32bx2.x1"):
            yield f"{text} {words}", lambda mma=mma, halves=halves, text=text: ended(mma, halves, text)


def ended(mma: tmem.Mma, halves: bool, text: str) -> list[Any]:
    one = epilogue.Epilogue(mma, tmem.access(text), halves)
    out: list[Any] = [
        len(one.loads),
        one.loads[-1],
        one.held(one.loads[-1]),
        one.first(),
        one.per_register,
        one.matrices,
    ]
    out += [one.rows(bits_) for bits_ in (16, 32)]
    if one.matrices and halves:
        for name in epilogue.STORED[::3]:
            to = one.stored(name)
            out += [to.panel, zlib_of(str(one.stores(to))), *([one.cost(to)] if mma.n == 32 else [])]
    return out
