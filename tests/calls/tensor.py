"""What the modules of tensor memory and of tcgen05.mma answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope import find
from lanescope.blackwell import bound, idesc, scales, scaling, tmem, umma, umma_atom, zeromask
from lanescope.blackwell.tmem import placement
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.shared import pieces, swizzle
from lanescope.tiles import reuse as following
from tests.asked import F16, W16
from tests.calls import Call, zlib_of
from tests.calls.plans import KINDS, MOVED, known
from tests.held import attempt, whole

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
