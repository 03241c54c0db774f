"""What the modules of patterns, plans, programs, pictures, dumps and tensor memory answer."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from layouts import (
    banks,
    catalog,
    dump,
    find,
    idesc,
    npy,
    options,
    overview,
    pieces,
    qualifiers,
    swizzle,
    tmem,
    umma_atom,
)
from layouts import verify as checking
from layouts.cutetext import read_layout
from layouts.descriptor import Descriptor, View
from layouts.errors import LayoutError
from layouts.operand import plane
from layouts.palette import PALETTES, STATUSES
from layouts.pattern import Pattern, Words
from layouts.planning import plan
from layouts.render import cuda, diagram, kernel, ptx, tables, tikz
from layouts.render.diagram import Style
from layouts.render.svg import svg
from layouts.storage import storage
from layouts.tiles.convert import converted
from layouts.tiles.gluon import triton_layout
from layouts.tmem import placement
from layouts.view import Figure, Grid, Panel, figure_of, operand_figure, product_figure, row_figure
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


# pictures -------------------------------------------------------------------------------------------------------------


def of_views() -> Iterator[Call]:
    for i in known(KINDS + MOVED):
        for name, op in i.operands.items():
            yield f"{name} of {i.ptx}", lambda op=op: viewed(op)
        if "b" in i.operands:
            for product_, cell in ((0, None), (1, (0, 1)), (0, (3, 2))):
                yield (
                    f"product {product_} {cell} {i.ptx}",
                    lambda i=i, p=product_, c=cell: laid(product_figure(i, p, c)),
                )
        yield f"figure {i.ptx}", lambda i=i: [laid(figure_of(i)), attempt(lambda: laid(figure_of(i, 1, (1, 1))))]
        yield (
            f"syntax {i.ptx}",
            lambda i=i: [
                ptx.syntax(i),
                attempt(lambda: ptx.syntax(i, "shared")),
                cuda.wrapper(i),
                cuda.function_name(i),
            ],
        )
    f16 = find(F16)
    yield "a row", lambda: laid(row_figure([(name, Grid(op)) for name, op in f16.operands.items()], (1, 2)))
    grids = [f16.operands["a"], find(W16).operands["d"]]
    for op, rows, cols in product(grids, (None, (0, 3), (4, 9), (15, 15)), (None, (0, 1), (2, 5))):
        yield f"window {op.name} {rows} {cols}", lambda op=op, r=rows, c=cols: laid(operand_figure(op, rows=r, cols=c))


def viewed(op: Any) -> list[Any]:
    one = Grid(op)
    cells = [(r, c) for r in {0, 1, one.rows - 1} for c in {0, 1, one.cols - 1} if r < one.rows and c < one.cols]
    return [
        one.rows, one.cols, one.thread, one.value, one.register, one.colour_names,
            [one.category(name) for name in one.colour_names],
        [attempt(lambda k=k: zlib_of(str(one.labels(k)))) for k in ("lane:value", "register", "row,col", "index",
            "thread", "value", "x")],
        [(one.spoken(*at), one.spoken(*at, "T")) for at in sorted(cells)], one.unit, one.holder(0), one.holder(33),
            [one.bits(v) for v in range(3)],
        [one.spoken_bits(v) for v in range(3)], one.axis_templates(), op.formula(), op.cute,
            attempt(lambda: op.turned), op.registers,
        [op.register_of(v) for v in range(op.values)][:9], op.scope.name, op.padding_below,
    ]  # fmt: skip


def laid(figure: Figure) -> list[Any]:
    return [figure.width, figure.height, figure.cells] + [
        [p.name, p.title, p.rows, p.cols, p.x, p.y, p.cell_width, p.cell_height, p.drawn, p.width, p.height, p.window,
            p.warp_edges]
        for p in figure.panels
    ]  # fmt: skip


def of_pictures() -> Iterator[Call]:
    themes = [None, *PALETTES.values()]
    for at, i in enumerate(known((*KINDS[:3], *KINDS[14:16], *MOVED[:2]))):
        figure = figure_of(i)
        names = [name for p in figure.panels[:1] if p.grid for name in p.grid.colour_names]
        for n, theme in enumerate(themes):
            style = Style(colour=names[(at + n) % len(names)] if names else "g", label=("lane:value", "register",
                "row,col", "index")[n],
                          threads=None if n % 2 else frozenset((0, 5, 33)), palette=theme, title=(None, "", "A & <b>",
                              "t" * 90)[n], legend=n != 1,
                          caption=n != 2, lang=("en", "de", "fr", "zh")[(at + n) % 4])  # fmt: skip
            yield (
                f"{i.ptx} {theme and theme.name}",
                lambda f=figure, s=style: zlib_of(diagram.diagram(f, s, "Title", "Said", "<g/>")),
            )
        yield (
            f"as TikZ {i.ptx}",
            lambda f=figure: [
                zlib_of(tikz.tikz(diagram.diagram(f, Style(), "T & _x"), alone)) for alone in (True, False)
            ],
        )
        panel = next(p for p in figure.panels if p.grid)
        yield f"as text {i.ptx}", lambda p=panel: [zlib_of(made(p, label, some)) for made in (tables.plain,
            tables.markdown)
                                                   for label in ("lane:value", "register") for some in (None,
                                                       frozenset((0, 3)))]  # fmt: skip
        yield (
            f"as numbers {i.ptx}",
            lambda p=panel: [
                zlib_of(tables.csv(p.grid.operand)),
                zlib_of(tables.csv(p.grid.operand, p, frozenset((1,)))),
            ],
        )
    states = np.arange(len(STATUSES), dtype=np.int32)[None, :]
    panel = Panel(
        "p", "p", 1, len(STATUSES), 20, 30, 20, 20, None, status=states, texts=[[str(n) for n in range(len(STATUSES))]]
    )
    for theme in themes:
        for colours in (4, 5, 8, 9, 12):
            kinds = Panel(
                "p", "p", 1, colours, 20, 30, 20, 20, None, category=np.arange(colours, dtype=np.int32)[None, :]
            )
            yield (
                f"{colours} colours {theme and theme.name}",
                lambda k=kinds, t=theme: svg(Figure(400, 80, (k,)), title="c", palette=t),
            )
        yield f"states {theme and theme.name}", lambda t=theme: svg(Figure(400, 80, (panel,)), title="s", palette=t)
    for lang in ("en", "de", "fr", "zh", "it", "x" * 30):
        yield f"caption {lang}", lambda lang=lang: diagram.caption(figure_of(find(W16)), lang)


# tensor memory --------------------------------------------------------------------------------------------------------

ACCESSES = tuple(
    [f"tcgen05.{verb}.{shape}.x{x}{more}" for verb, more in (("ld", ""), ("ld", ".pack::16b"), ("st", ".unpack::16b"))
     for shape in ("16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2") for x in (0, 1, 2, 3, 32, 64, 128, 256)]
    + [f"tcgen05.cp{group}.{shape}{wide}" for group in ("", ".cta_group::2") for shape in
       ("128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4",
       "64x128b") for wide in
       ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")]
    + ["tcgen05.shift.down", "tcgen05 . LD . 32X32B . x4", "tcgen05.ld", "tcgen05.ld.32x32b", "tcgen05.xx", "",
        "tcgen05.ld.32x32b.x99999", "q" * 200]
)  # fmt: skip


def of_tensor() -> Iterator[Call]:
    for text in ACCESSES:
        yield f"access {text:.60}", lambda text=text: touching(tmem.access(text), text)
    yield "shifted", tmem.shifted
    kinds = [(k, f, s, m, n) for k in ("f16", "tf32", "i8", "f8f6f4", "mxf4", "mxf4nvf4",
        "mxf8f6f4") for f in ("cta_group::1", "cta_group::2", "ws")
             for s in (False, True) for m, n in ((64, 64), (128, 128), (256, 96), (32, 64), (64, 8), (128, 7), (128,
                 256))]  # fmt: skip
    for kind, form, sparse, m, n in kinds:
        yield f"mma {kind} {form} {sparse} {m} {n}", lambda a=(kind, form, sparse, m, n): placed_of(*a)
    for more in (
        {"k": 16},
        {"k": 32},
        {"k": 96},
        {"k": 15},
        {"bits": 16},
        {"bits": 8},
        {"scale_vec": "1X"},
        {"scale_vec": "2X"},
        {"scale_vec": "x"},
    ):
        for kind, sparse in product(("f16", "mxf4", "mxf4nvf4"), (False, True)):
            yield f"mma {kind} {sparse} {more}", lambda k=kind, s=sparse, more=more: [
                (one := tmem.Mma(idesc.kind(k), "cta_group::1", s, 128, 64, **more)).k, one.bits, one.scale_vec,
                attempt(lambda: whole(tmem.layout(one, "scale_a")))]  # fmt: skip
    for columns, first in product((16, 31, 32, 33, 64, 96, 256, 512, 1024), (0, 1, 256, 448, 480, 481)):
        yield (
            f"alloc {columns} {first}",
            lambda c=columns, f=first: placement.allocation_faults(placement.Allocation(c, f)),
        )


def touching(found: Any, text: str) -> list[Any]:
    out: list[Any] = [found.ptx, found.verb, found.columns, found.registers, found.packed, found.split, found.widened,
        found.by_warp, found.shape, found.halves,
                      found.tall, found.of_quarters, found.evidence, tmem.is_access(text),
                          attempt(lambda: tmem.access(text, 40).split)]  # fmt: skip
    out += [tmem.touched(found, *at) for at in ((0, 0), (16, 8), (96, 511), (1, 500))]
    for lane, column, warp in (
        (0, 0, 0),
        (16, 0, 0),
        (31, 0, 4),
        (32, 8, 1),
        (33, 0, 1),
        (127, 511, 3),
        (128, 0, 0),
        (0, 512, 0),
        (64, 31, 1),
        (0, 32, 4),
    ):
        for given in (placement.Allocation(), placement.Allocation(32, 32)):
            out += [[f.code, f.message] for f in placement.access_faults(found, lane, column, warp, given)]
    halves = tmem.access("tcgen05.ld.16x32bx2.x4", 40)
    return [*out, tmem.split_columns(halves, np.arange(8)), tmem.touched(halves, 16, 3)]


def placed_of(kind: str, form: str, sparse: bool, m: int, n: int) -> list[Any]:
    mma = tmem.Mma(idesc.kind(kind), form, sparse, m, n)
    out: list[Any] = [mma.k, mma.bits, mma.scale_vec, mma.ctas, mma.operands, mma.place.letter]
    placed = []
    for name in ("d", "a", "metadata", "scale_a", "scale_b", "x"):
        try:
            one = tmem.layout(mma, name)
        except LayoutError as error:
            out.append(str(error))
            continue
        out += [
            str(one.pattern),
            one.axes,
            one.bits,
            one.maps,
            one.columns,
            one.evidence,
            one.owners(0, 0),
            one.letter,
            one.source,
        ]
        placed.append(placement.Placed(name, one, 0, 0))
    mma_of = {one.name: mma for one in placed}
    for lanes, columns in (
        ((0, 0), (0, 256)),
        ((16, 0), (0, 128)),
        ((16, 16), (64, 500)),
        ((0, 32), (0, 510)),
        ((8, 0), (32, 33)),
        ((0, 0), (100, 511)),
    ):
        moved = [placement.Placed(p.name, p.layout, lanes[k % 2], columns[k % 2] + k) for k, p in enumerate(placed)]
        for given in (placement.Allocation(), placement.Allocation(128, 64), placement.Allocation(48, 480)):
            out += [[f.code, f.name, f.message] for f in placement.faults(given, moved, mma_of)]
    for word in (
        idesc.Idesc(0x08400490, mma.kind),
        idesc.Idesc(0x08400494, mma.kind),
        idesc.Idesc(0x04200490, mma.kind),
    ):
        out += [[f.code, f.message] for f in placement.idesc_faults(word, mma)]
    return out


def of_atoms_of_umma() -> Iterator[Call]:
    for ctas, m, n, k in product((1, 2), (64, 128, 256), (8, 16, 24, 96, 256), (8, 16, 32, 64, 96, 128)):
        yield f"fitting {ctas} {m} {n} {k}", lambda a=(ctas, m, n, k): [one.ptx for one in umma_atom.fitting(*a)]
    for name in ("none", "128b", "64B", "32B", "x", "NONE", ""):
        yield f"mode {name}", lambda name=name: [(m := swizzle.mode(name)).bits, m.pattern_bytes, [m.atom(b,
            j) for b in (8, 16, 32) for j in ("K", "MN")],
            [m.atom_bytes(j) for j in ("K", "MN")], [str(m.swizzle(b)) for b in (1, 8, 16, 128)],
                m.unswizzle(np.arange(0, 4096, 48), 0),
            [m.unswizzle(0x1F90, b) for b in range(8)]]  # fmt: skip
    for bits, base, shift in product((0, 1, 3), (0, 3), (-4, -3, 3, 5)):
        one = swizzle.Swizzle(bits, base, shift)
        yield f"{one}", lambda one=one: [one.terms(), one(np.arange(4096)), one(12345)]
    for i in known(KINDS + MOVED):
        for name, op in i.operands.items():
            yield f"wanted {name} {i.ptx}", lambda op=op: [(w := pieces.wanted(op)).granule_bits, w.mn, w.k, w.shift,
                w.name(0, 5, 0, 1 % w.mn.shape[-1]),
                pieces.in_memory(op).element.name, attempt(lambda: pieces.in_memory(op, 8).element.name)]  # fmt: skip
        yield (
            f"given {i.ptx}",
            lambda i=i: [(g := pieces.given(i)).registers, g.matrices, g.rows, g.matrix, g.row, g.byte],
        )


# dumps ----------------------------------------------------------------------------------------------------------------


def saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def of_dumps() -> Iterator[Call]:
    most = dump.MOST_DUMP
    numbers = np.arange(64, dtype=np.uint8)
    files: dict[str, bytes] = {
        "empty": b"", "raw": bytes(range(256)), "most": b"\1" * most, "one more": b"\1" * (most + 1),
        "most of a file": b"\1" * dump.MOST_FILE,
        "more than a file": b"\1" * (dump.MOST_FILE + 1), "bytes": saved(numbers),
        "columns": saved(np.asfortranarray(numbers.reshape(8, 8))),
        "one column": saved(np.asfortranarray(numbers)), "big": saved(numbers.astype(">u2")),
        "halves": saved(numbers.astype("f2")),
        "complex": saved(numbers.astype("c8")), "text": saved(np.array(["a"])), "struct": saved(np.zeros(2, [("a",
        "u1")])), "bool": saved(numbers > 5),
        "cut": saved(numbers)[:-1], "longer": saved(numbers) + b"\0", "head": saved(numbers)[:20],
        "void": saved(numbers.view("V2")), "magic": npy.MAGIC,
        "nothing": saved(numbers[:0]), "large": saved(np.zeros(most + 4, np.uint8)),
        "large enough": saved(np.zeros(most, np.uint8)), "one number": saved(np.uint8(5)),
    }  # fmt: skip
    for name, raw in files.items():
        yield f"file {name}", lambda raw=raw: [(d := dump.of_file(raw)).base, d.end, d.data]
        yield f"tile file {name}", lambda raw=raw: dump.tile_of(raw, "f16", "a", View(8, 8, 16, "K"))
    for base in (0, 4, 2, -4, 0xFFFFFC, 0x1000000, 0x3FFFC, 0x40000):
        yield f"base {base:#x}", lambda base=base: dump.of_file(b"1234", base).end
    seen = View(8, 16, 16, "K")
    for shape, letter in product(((8, 16), (16, 8), (9, 17), (7, 16), (8, 15), (8,), (8, 16, 1)), "ab"):
        yield (
            f"shape {shape} {letter}",
            lambda s=shape, o=letter: [(t := dump.tile_of(saved(np.ones(s)), "f16", o, seen)).taken, t.codes.shape],
        )
    rng = np.random.default_rng(3)
    arrays = {"f4": rng.normal(size=(2, 3)).astype("f4"), "f8": rng.normal(size=(2, 3)) * 1e3, "u2": rng.integers(0,
        1 << 16, (2, 3)).astype("u2"), "u1": rng.integers(0, 256, (2, 3)).astype("u1"),
              "i1": rng.integers(-128, 128, (2, 3)).astype("i1"), "i8": rng.integers(-9, 9, (2, 3)),
              "nan": np.array([[np.nan, 1.0]]), "inf": np.array([[np.inf, -np.inf]]), "bool": np.array([[True]]),
              "huge": np.array([[65504.0, 65505.0]]), "huger": np.array([[0.0, -65520.0]]), "edge": np.array([[127.0,
              -128.0]]), "over": np.array([[1.0, 128.0]]), "part": np.array([[1.5]]), "V2": np.zeros((1, 2), "V2"),
                  "V1": np.zeros((1, 2), "V1")}  # fmt: skip
    for (name, made), element, taken in product(
        arrays.items(), ("f16", "bf16", "e4m3", "s8", "u8", "b1", "tf32", "e2m1"), ("", "values", "bits")
    ):
        yield f"codes {name} {element} {taken}", lambda m=made, e=element, t=taken: dump.codes_of(m, e, t)
    w16 = find(W16)
    right = Descriptor(0x4000004000010040)
    codes = rng.integers(0, 1 << 15, (64, 16)).astype(np.uint64)
    stored = storage({"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B", "base": 1024}, 16, "K")
    made = dump.written(stored, codes, 16)
    tile = saved(codes.astype("u2"))
    for name, word in (
        ("right", right),
        ("start", right.replace(start_address_encoded=65)),
        ("sbo", right.replace(sbo_encoded=32)),
        ("mode", right.replace(swizzle=0)),
        ("far", right.replace(start_address_encoded=900)),
    ):
        for given, taken, origin in (
            (None, "", (0, 0)),
            (tile, "", (0, 0)),
            (tile, "bits", (8, 0)),
            (tile, "values", (0, 0)),
            (tile, "x", (0, 0)),
            (saved(codes.astype("u2")[::-1].copy()), "", (0, 0)),
        ):
            yield f"examined {name} {given is not None} {taken} {origin}", lambda w=word, g=given, t=taken, o=origin: [
                (e := dump.examine(made, w, w16, "a", "K", g, t, o)).verdict, e.matched, e.outside, e.distinct,
                e.needed, e.layout_count, e.begins, e.transposed,
                dump.summary(e), [whole(one.fit, False) for one in e.layouts],
                    [d.message for one in e.layouts for d in one.diagnoses]]  # fmt: skip


# what a notebook shows ------------------------------------------------------------------------------------------------


BLOCKED = (
    "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])",
    "gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])",
    "gl.BlockedLayout([4, 1], [4, 8], [4, 1], [0, 1])",
    "gl.BlockedLayout([1, 4], [8, 4], [1, 4], [1, 0])",
    "gl.BlockedLayout([2, 2], [8, 4], [4, 1], [1, 0])",
    "gl.BlockedLayout([2, 2], [8, 4], [4, 1], [0, 1])",
)


def of_shown() -> Iterator[Call]:
    for name, stride in product(("ld.shared.b32", "ld.shared.b128", "ldmatrix.x4"), (4, 8, 16, 64, 128)):
        lanes = [stride * lane for lane in range(32)]
        yield f"cost {name} {stride}", lambda n=name, lanes=lanes: banks.cost(banks.access(n), lanes)._repr_html_()
    for one, other in product(BLOCKED, BLOCKED):
        yield (
            f"{one} to {other}",
            lambda a=one, b=other: converted(
                triton_layout(a, (32, 16), 16), triton_layout(b, (32, 16), 16)
            )._repr_html_(),
        )
    seen = View(64, 16, 16, "K")
    for text in (
        "(64,64):(64,1)",
        "(4096,1):(1,1)",
        "(4097,1):(1,1)",
        "(1,4096):(1,1)",
        "(5,7):(7,1)",
        "5:3",
        "(0,1):(1,1)",
    ):
        yield f"layout {text}", lambda text=text: read_layout(text)._repr_svg_()
    for word in (0, 0x4000004000010040, 0x4000002000010040, 0x8000004000010040, 0x4000004000010041):
        yield (
            f"verdict {word:#x}",
            lambda word=word: checking.verify(
                Descriptor(word),
                seen,
                storage({"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 1024}, 16, "K"),
            )._repr_html_(),
        )
