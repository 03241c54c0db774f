"""What the modules of patterns, metadata, options, plans and programs answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope.product import options
from lanescope.product.planning import plan
from lanescope.ptx import catalog, overview, qualifiers
from lanescope.ptx.operand import plane
from lanescope.ptx.pattern import Pattern, Words
from lanescope.render import kernel
from tests.asked import F16, W16
from tests.calls import Call, zlib_of
from tests.held import attempt, whole

KINDS = (
    F16, "mma.m8n8k4.row.row.f16.f16.f16.f16", "mma.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.m16n8k32.row.col.satfinite.s32.s8.u8.s32", "mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "mma.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "mma.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
    "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sp::ordered_metadata.m16n8k16.row.col.f32.tf32.tf32.f32",
    "mma.sp::ordered_metadata.m16n8k128.row.col.s32.s4.s4.s32",
    "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32.ue8m0",
    W16, "wgmma.mma_async.m64n8k32.s32.s8.u8", "wgmma.mma_async.m64n16k8.f32.tf32.tf32",
        "wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc",
    "wgmma.mma_async.sp.m64n8k64.f32.e4m3.e4m3", "wmma.mma.row.col.m16n16k16.f32.f32",
    "wmma.mma.col.row.m8n32k16.f16.f16",
    "wmma.mma.xor.popc.row.col.m8n8k128.s32.b1.b1.s32", "wmma.mma.row.col.m16n16k8.f32.tf32.tf32.f32",
    "wmma.mma.row.col.m16n16k16.s32.s8.s8.s32",
)  # fmt: skip
MOVED = ("ldmatrix.m8n8.x4.trans.shared.b16", "ldmatrix.m16n16.x1.trans.shared.b8",
    "ldmatrix.m8n16.x2.shared.b8x16.b6x16_p32",
         "stmatrix.m8n8.x2.shared.b16", "movmatrix.m8n8.trans.b16", "wmma.load.a.row.m8n32k16.f16",
         "wmma.store.d.col.m16n16k8.f32",
         "wmma.load.c.row.m16n16k16.s32")  # fmt: skip


def known(texts: tuple[str, ...]) -> list[Any]:
    return [i for text in texts if (i := catalog.known(text))]


# patterns -------------------------------------------------------------------------------------------------------------

PATTERNS = (
    "(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)", "(g:X) (v:2) -> (g v)", "(g:X t:4) (v:Y/2) -> (g) (t v)",
    "(a:1 b:4) (c:2) -> (b) (c a)",
    "(g:3) (v:5) -> (v g)", "(g:3 t:4) (v:5) -> (t) (v)", "(g:4) () -> (g)", "() (v:4) -> (v)", "() () -> ()",
    "(g:4) (v:2) -> () (g)",
    "(g:8) (v:X*Y) -> (g v)", "(g:8) (v:X/Y) -> (g v)", "(g:8) (v:Y/X) -> (g v)", "(g:8) (v:0) -> (g v)",
    "(g:8) (v:Z) -> (g v)",
    "(g:8) (v:*2) -> (g v)", "(g:8) (v:2*) -> (g v)", "(g:8) (v:2+2) -> (g v)", "(g:8) (v:) -> (g v)",
    "(g:8) (v) -> (g v)",
    "(g:8) (V:2) -> (g V)", "(g:8) (v:2) -> (g w)", "(g:8) (v:2) -> (g g)", "(g:8) (g:2) -> (g)", "(g:8) -> (g)",
    "(g:8) (v:2) (w:2) -> (g)",
    "(g:8) (v:2)", "(g:8) (v:2) -> (g) -> (v)", "g (v:2) -> (v)", "(g:8) (v:2) -> (g) v",
    "(g:2048) (v:2048) -> (g v)", "(g:2048) (v:2049) -> (g v)",
    "(g:123456789) (v:1) -> (g)", "(g:1234567890) (v:1) -> (g)", "x" * 4096, "x" * 4097, "", "(g_1:8) (vé:2) -> (g_1)",
    "(w:4 g:8 t:4) (j:2 i:2 e:2) -> (i g w) (j t e)", "(c:2 g:16) (v:4) -> (g) (v)", "(g:6 t:2) (v:2) -> (t g) (v)",
)  # fmt: skip
CUTE = (
    ("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16)), ("(32,2):(1,32)", (64,)), ("(32,2):(1,32)", (8, 8)),
    ("(32,2):(2,1)", (16, 4)),
    ("(32,2):(1,0)", (32,)), ("(32,2):(1,64)", (128,)), ("(32,2):(1,32)", (128,)), ("32:1", (32,)),
    ("((2,2),2,2):((1,2),4,8)", (16,)),
    ("(2048,2048):(1,2048)", (2048, 2048)), ("(2048,2049):(1,2048)", (2048, 2049)), ("(6,4):(1,6)", (4, 6)),
    ("(6,4):(1,6)", (3, 8)),
    ("(12,2):(1,12)", (4, 3, 2)), ("(3,2):(1,3)", (2, 3)), ("(x", (2,)), ("(8,(1,4)):(1,(0,8))", (32,)),
    ("((4,8),4):((8,1),32)", (8, 16)),
)  # fmt: skip


def of_patterns() -> Iterator[Call]:
    for text in PATTERNS:
        yield f"{text!s:.70}", lambda text=text: described(Pattern.parse(text, X=4, Y=8))
    for text, extents in CUTE:
        yield f"cute {text} {extents}", lambda t=text, e=extents: described(Pattern.from_cute(t, e))
    one = Pattern.parse(PATTERNS[0])
    for at in ((0, 0), (15, 15), (16, 0), (0, 16), (-1, 0), (0, -1), (3,), (1, 2, 3)):
        yield f"owners {at}", partial(one.owners, *at)
    yield "in words", lambda: [one.forward_formula(("r", "c"), Words("x", "y", (("g", "gid", "x >> 2"), ("z", "q",
        "0")))),
                               one.inverse_formula(("r", "c"), Words("x", "y"))]  # fmt: skip
    for warp in (8, 16, 32, 64):
        yield f"warps of {warp}", partial(Pattern.parse(PATTERNS[-3]).linear_layout, warp)
    for axes in (("row", "col"), ("col", "x", "row"), ("a", "b"), ("row", "k"), ("lane", "column", "half")):
        yield f"plane {axes}", partial(plane, axes)


def described(one: Pattern) -> list[Any]:
    axes = ("row", "col", "page")[: len(one.coords)]
    return [
        str(one), one.thread_count, one.value_count, one.extents, one.copies, one.to_cute(), one.linear_layout(),
        one.evaluate(), one.inverse(), one.forward_formula(axes), one.inverse_formula(axes), one.thread_terms(),
        one.value_terms(), one.coord_terms(),
    ]  # fmt: skip


# metadata and scales --------------------------------------------------------------------------------------------------


def sparse_of(i: Any) -> tuple[int, ...]:
    s = i.operands["a"].sparsity
    return s.kept, s.group, s.index_bits, s.selectors


def of_metadata() -> Iterator[Call]:
    dice = np.random.default_rng(7)
    for i in {sparse_of(i): i for i in catalog.instructions()
              if "a" in i.operands and i.operands["a"].sparsity}.values():  # fmt: skip
        op = i.operands["a"]
        s = op.sparsity
        stored = op.coords["col"]
        dense = dice.integers(1, 3, (op.row_count, op.dense_col_count))
        for name, made in (("full", dense), ("zero", dense * 0), ("sparse",
            dense * (np.arange(dense.shape[1]) % s.group < s.kept)),
                           ("random", np.where(dice.random(dense.shape) < 0.3, dense, 0)),
                           ("last", dense * (np.arange(dense.shape[1]) % s.group >= s.group - s.kept))):  # fmt: skip
            for selector in range(s.selectors):
                yield f"{name} {selector} {i.ptx}", lambda m=made, s=s, op=op, stored=stored, n=selector: [
                    (words := s.words(m, op.rows, stored, n)), s.kept_positions(m), s.compress(m),
                    s.dense_columns(stored, words, n)]  # fmt: skip
        for selector in (-1, 0, s.selectors - 1, s.selectors):
            for word in (0x44444444, 0xEEEEEEEE, 0x44444443, 0x4444F444, 0x99999999, 0):
                yield f"words {word:#x} {selector} {i.ptx}", lambda s=s, op=op, w=word, n=selector, c=stored: [
                    s.dense_columns(c, [w] * op.threads, n)]  # fmt: skip
        yield f"of {i.ptx}", lambda s=s, stored=stored, op=op: [s.per_index, s.nibbles, s.whole,
            s.first_columns(stored),
            s.group_columns(stored), [s.suppliers(n) for n in range(s.selectors)], op.kept, op.dense_col_count,
                op.cols]  # fmt: skip
    seen = set()
    for i in catalog.instructions():
        for name, scale in i.scales.items():
            if (key := (name, scale.blocks, scale.byte_ids, scale.thread_ids)) not in seen:
                seen.add(key)
                for byte, thread in product(range(-1, 5), range(-1, 5)):
                    yield f"{name} {byte} {thread} {i.ptx}", partial(scale.owners, byte, thread)


# options, plans and programs ------------------------------------------------------------------------------------------

OPTIONS: tuple[Any, ...] = (
    None, "", {}, [], 5, "x", "a=", "=b", "a=1", "k=64", "k=64,k=64", "k=64,mn=64", " k = 64 , swizzle = 64B ",
        {"k": 64}, {"k": None}, {"k": True},
    {"k": 1 << 64}, {"k": (1 << 64) - 1}, {"k": -(1 << 64)}, {"k": 1.5}, {"k": []}, {"x" * 90: "1"}, "swizzle=32b",
    "swizzle=x", "layout=(8,8):(8,1)",
    "k=64,,mn=64", "k=64,Mn=64", "k=64;mn=64", "a" * 2000, "a" * 2001, {5: 5},
)  # fmt: skip
SIDES: tuple[tuple[str, ...], ...] = (
    ("",), ("k=64",), ("k=65",), ("k=0",), ("k=4096",), ("k=4097",), ("k=128", "k=128"), ("k=128", "k=64"), ("",
    "k=32"), ("major=MN",), ("", "major=MN"),
    ("major=MN", "major=MN"), ("major=x",), ("swizzle=128B", "swizzle=64B"), ("swizzle=none", "swizzle=32B"),
    ("from=registers",), ("from=shared",), ("from=x",),
    ("scale=-1",), ("scale=-1", "scale=-1"), ("", "scale=-1"), ("scale=2",), ("", "", "scale=0"), ("", "", "scale=2"),
    ("first=8",), ("first=64,mn=128",), ("first=64,mn=127",),
    ("mn=63",), ("mn=64",), ("mn=4096",), ("mn=8",), ("order=k",), ("order=mn",), ("swizzle_by=tile",),
    ("swizzle_by=tile,base=128,swizzle=128B",), ("base=16",), ("base=8",),
    ("base=232448",), ("base=0", "base=0"), ("base=0", "base=2048"), ("", "base=0"), ("base=231424",),
    ("descriptor=0x4000004000010040",), ("descriptor=0x4000004000013fff",),
    ("descriptor=x",), ("kind=rows,pitch_bytes=128,swizzle=128B",), ("kind=rows,pitch_bytes=32",),
    ("kind=rows,pitch_bytes=0",), ("kind=rows",), ("kind=x",),
    ("kind=atoms,width_bytes=128,outer8_stride=1024,inner_stride=8192,swizzle=128B",),
    ("kind=cute,layout=Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)",),
    ("kind=cute,layout=(64,16):(16,1)",), ("kind=cute,layout=(64,16):(1,64)",), ("kind=cute,layout=(64,8):(8,1)",),
    ("kind=cute,layout=(64,64):(64;1)",),
    ("kind=cute,layout=((8,8),(8,2)):((8,64),(1,512)),base=1024",),
    ("kind=rows,pitch_bytes=128,swizzle=128B,descriptor=0x4000004000010040",),
    ("kind=rows,pitch_bytes=128,swizzle=128B,k=64",), ("kind=rows,pitch_bytes=128,swizzle=128B,base=232400",),
    ("kind=cute,layout=Sw<3,4,7> o (64,64):(64,1)",),
    ("kind=rows,pitch_bytes=2",), ("pitch_bytes=48",), ("pitch_bytes=40",), ("pitch_bytes=16",),
    ("pitch_bytes=4096",), ("pitch_bytes=4112",), ("load=ldmatrix",), ("load=elements",),
    ("load=elements", "load=elements"), ("load=ldmatrix,major=MN", "load=ldmatrix,major=MN"),
    ("pitch_bytes=144,swizzle=128B",), ("swizzle=64B", "swizzle=128B,pitch_bytes=128"),
    ("selector=0",), ("selector=1",), ("selector=3",), ("selector=4",), ("byte_id=0,thread_id=1",), ("byte_id=1",
    "thread_id=1"), ("byte_id=2", "byte_id=3,thread_id=2"), ("byte_id=7",),
    ("ldm=16",), ("ldm=24",), ("ldm=8",), ("ldm=20",), ("ldm=32", "ldm=48", "ldm=24,layout=col"), ("", "",
    "layout=col"), ("", "", "ldm=64"), ("ldm=4096",), ("ldm=4097",), ("x=1",), ("", "y=1"), ("", "", "z=1"),
    ("major=MN,swizzle=64B,mn=128,first=32",), ("major=MN,swizzle=128B,order=mn,k=32",), ("",
    "major=MN,swizzle=32B,order=k,first=16"),
)  # fmt: skip


def of_options() -> Iterator[Call]:
    for given in OPTIONS:
        yield f"read {given!s:.60}", partial(options.read, given, "a")
        yield f"as a side {given!s:.60}", lambda given=given: sided(options.read(given, "b"))


def sided(given: dict[str, str]) -> list[Any]:
    one = options.Reader("b", given, ("k", "mn", "swizzle", "layout", "scale", "none"))
    out = [attempt(lambda: one.whole("k", 7, 1, 64)), attempt(lambda: one.whole("mn", 5)), attempt(lambda: one.sign()),
           attempt(lambda: one.word("swizzle", ("none", "32B"))), attempt(lambda: one.word("layout", ("p", "q"),
               "z"))]  # fmt: skip
    none = attempt(lambda: whole(options.Reader("d", given, ())))
    return [*out, one.full, one.words, whole(options.told({"b": one})), none, str(one.fail("c", "k", "M.", "H."))]


def of_plans() -> Iterator[Call]:
    for n, i in enumerate(known(KINDS)):
        for at, given in enumerate(SIDES):
            if (at + n) % 3 == 0:
                yield f"{i.ptx} {given}"[:150], lambda i=i, given=given: planned(i, given)
            if at % 24 == n % 24 or not any(given):
                yield f"program {i.ptx} {given}"[:150], lambda i=i, given=given: written(i, given)
    for i in known(MOVED):
        yield f"no plan {i.ptx}", partial(plan, i)


def planned(i: Any, given: tuple[str, ...]) -> list[Any]:
    made = plan(i, *given)
    sides = (made.a, made.b)
    out: list[Any] = [made.steps, made.k, made.a_from, made.shared_bytes, made.immediates, made.accumulate,
        made.selector, made.options, made.chosen,
                      made.d_layout, made.d_ldm]  # fmt: skip
    for side in sides:
        out += [side.letter, side.mn, side.k, side.major, side.products, side.negated, side.unit_bits,
            side.unit_bytes, side.per_unit, side.padding_below,
                side.units_k, side.lines, side.line_units, side.units, side.end]  # fmt: skip
        out += [
            attempt(lambda n=name, side=side: getattr(side, n))
            for name in ("base", "step", "pitch_bytes", "ldm")
            if hasattr(side, name)
        ]
        if hasattr(side, "descriptor"):
            out += [(side.start(n), str(side.descriptor(n))) for n in range(min(made.steps, 3))]
    return out


def written(i: Any, given: tuple[str, ...]) -> list[Any]:
    made = plan(i, *given)
    return [
        zlib_of(kernel.program(made)),
        zlib_of(kernel.script(made)),
        kernel.command(made),
        kernel.build(made),
        kernel.target(made),
        kernel.title(made),
    ]


# what is said of an instruction ---------------------------------------------------------------------------------------


def of_said() -> Iterator[Call]:
    for i in {
        (i.family.name, i.family.opcode.text, len(i.modifiers), i.syntax.layouts, str(i.counts)): i
        for i in catalog.instructions()
    }.values():
        yield (
            i.ptx,
            lambda i=i: [[f"{p.kind} {p.text}: {p.meaning}" for p in qualifiers.parts(i)], qualifiers.convergence(i)],
        )
    yield "rows", lambda: zlib_of(whole(overview.rows(), True))
    for row in overview.rows():
        yield f"{row.section} {row.kind} {row.group} {len(row.found)} {row.shapes[:1]}", lambda row=row: [
            row.multiplicands, row.accumulators, row.family, row.target_text, row.newer,
                overview.fold_shapes(row.shapes)]  # fmt: skip
    for shapes in ([], ["m8n8k4"], [f"m64n{n}k16" for n in (8, 16, 24)], [f"m64n{n}k16" for n in (8, 16, 24, 32)],
                   [f"m64n{n}k16" for n in (8, 16, 24, 32, 48, 64)], [f"m64n{n}k{k}" for n in (8, 24, 40,
                       64) for k in (8, 16)], ["x"]):  # fmt: skip
        yield f"folded {shapes}", lambda shapes=shapes: overview.fold_shapes(shapes)
