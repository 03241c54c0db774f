"""What the modules of descriptors, of the loads that feed operands and of code that builds a word answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope import find
from lanescope.blackwell import epilogue, idesc, tmem
from lanescope.descriptor import matrix as descriptor
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.shared import chain
from lanescope.shared.slices import k_steps, mn_steps
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import Tile
from tests.asked import F16, W16
from tests.calls import Call, zlib_of
from tests.calls.rules import brief
from tests.held import attempt, whole

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


# code that builds a word ----------------------------------------------------------------------------------------------
