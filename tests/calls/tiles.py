"""What the modules of tiles refuse and say, and the sentences of a verified capture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope.capture import said
from lanescope.capture.accumulated import Accumulator
from lanescope.capture.form import Record
from lanescope.capture.known import NONE, SEVERAL
from lanescope.capture.order import INFERRED, STATED, Slice
from lanescope.capture.seen import Unread
from lanescope.capture.verify import Operand, Verdict, Verified, Wrong
from lanescope.cute.text import read_layout
from lanescope.descriptor.case import Diagnosis
from lanescope.shared.storage import storage
from lanescope.tiles import shades
from lanescope.tiles.arguments import read_atoms, read_permutation
from lanescope.tiles.atoms import atom
from lanescope.tiles.bulk import TmaCopy, tma_copy
from lanescope.tiles.copy import copy_atom, tiled_copy
from lanescope.tiles.making import of_map
from lanescope.tiles.mma import tiled_mma
from lanescope.tiles.printed import body_of
from lanescope.tiles.same import as_cute, placed
from lanescope.triton.gluon import triton_layout
from tests.calls import Call

F16, QUAD = "SM80_16x8x16_F32F16F16F32_TN", "SM70_8x8x4_F32F16F16F32_TN"

# atoms and what is made of them ---------------------------------------------------------------------------------------

ATOMS = (
    F16, QUAD, "SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>", "SM90_64x64x16_F32F16F16_SS", "", "x" * 99,
    "SM80_CP_ASYNC_CACHEALWAYS<cute::uint128_t>", "SM75_U32x4_LDSM_N", "SM80_16x8x16", "SM80_16x8x17_F32F16F16F32_TN",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "SM90_TMA_LOAD",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "mma.m16n8k16.row.col.f32.f16.f16.f33", "SM61_DP4A",
    "HMMA.16816.F32", "mma.m16n8k16", "UniversalFMA<float>", "SM80_8x8x128_S32U1U1S32_TN_XORPOPC",
    "wmma.load.a.sync.aligned.row.m16n16k16.f16", "SM90_16x8x4_F64F64F64F64_TN", "SM120_16x8x32_TN<float_e4m3_t>",
)  # fmt: skip
COPIES = (
    "universal", "UniversalCopy", "UniversalCopy<uint64_t>", "UniversalCopy<cute::uint32_t>",
    "universalcopy<uint128_t>",
    "UniversalCopy < uint16_t >", "DefaultCopy", "AutoVectorizingCopy",
    "AutoVectorizingCopyWithAssumedAlignment<uint128_t>",
    "cp.async", "cp.async.ca", "cp.async.cg.shared.global", "SM80_CP_ASYNC_CACHEALWAYS", "SM80_CP_ASYNC_CACHEGLOBAL",
    "SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>", "SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>",
    "SM80_CP_ASYNC_CACHEALWAYS<uint64_t>", "SM80_CP_ASYNC_CACHEALWAYS<uint8_t>", "SM80_CP_ASYNC_CACHENEVER<uint32_t>",
    " universal ", "UNIVERSAL", "Cp.Async", "SM75_U32x4_LDSM_N", "SM75_U32x3_LDSM_N", "SM90_TMA_LOAD", F16, "",
    "x" * 99,
    "SM90_U16x8_STSM_T", "ldmatrix.m8n8.x4.shared.b16", "ldmatrix.m8n8.x3.shared.b16", "ld.global",
    "SM90_BULK_COPY_G2S",
)  # fmt: skip
LAYOUTS = (
    "(2,2,1)",
    "(2,2)",
    "2",
    "(2,2,2,2)",
    "Sw<1,1,1> o (2,2):(2,1)",
    "(2,2,1):(2,1,0)",
    "(x)",
    (2, 1, 1),
    (),
)
PERMUTATIONS = (None, "(32,32,16)", "(_,_,_)", "(64,_)", "()", "(1,1,1,1)", "Sw<2,0,3> o (4,4):(4,1)",
"(2,2,1):(2,1,0)", "7",
             "(_,(8,2,2):(1,16,8),_)", "(_,Sw<1,0,1> o 8:1,_)", "((2,2),8,8)", "(24,_,_)",
             "(_,(8,2):(1,1),_)")  # fmt: skip


def of_atoms() -> Iterator[Call]:
    for text in ATOMS:
        yield f"atom {text[:60]}", lambda text=text: [(one := atom(text)), [one.extents(op) for op in "abc"]]
    for text in COPIES:
        for bits, wide in ((None, 16), (64, 8), (None, 128), (48, 32)):
            yield f"copy {text[:60]} {bits} {wide}", partial(copy_atom, text, bits, wide)
    for given in LAYOUTS:
        yield f"atoms {given}", lambda given=given: read_atoms(given)
    for given in PERMUTATIONS:
        yield f"permutation {given}", lambda given=given: read_permutation(given, (16, 8, 16))
        yield f"made of {given}", lambda given=given: tiled_mma(F16, "(2,2,1)", given).tile
    for text, atoms, tile in product(
        (F16, QUAD, "SM90_64x64x16_F32F16F16_SS", "SM90_64x64x16_F32F16F16_RS"), (None, "(8,4,1)", "(8,5,1)",
        "(1,2,1):(0,2,1)"),
        (None, (64, 64), (65, 64, 64), (128, 64, 64), (4096, 4096, 4096), (4097, 8, 16)),
    ):  # fmt: skip
        yield f"{text} {atoms} {tile}", lambda t=text, a=atoms, tile=tile: tiled(tiled_mma(t, a, None, tile))
    one = tiled_mma(F16, "(2,1,1)", None, (64, 32, 32))
    for op, at in product("abcde", ((0, 0), (63, 31), (64, 0), (0, 32), (-1, 0))):
        yield f"owner {op} {at}", lambda op=op, at=at: one.operand(op).owner(*at)
    for op in ("A", "D", "", "metadata"):
        yield f"operand {op}", lambda op=op: one.operand(op).name
    for text, kind, more in product(
        (F16, "TiledMMA", "Tiled Copy\n  Tiler_MN: (32,_8)", "make_tiled_copy(", "TiledMMA UniversalFMA<float>",
         f"make_tiled_mma({F16}{{}}, Layout<Shape<_2,_2,_1>>{{}})", "make_tiled_mma(x, Layout<Shape<_2,n,_1>>{})",
         "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_32,_4>>{},"
         " Layout<Shape<_1,_8>>{})",
         "ThrLayoutVMNK: (32,2,2,1):(1,32,64,0)", "make_tiled_mma(SM61_DP4A{})", "make_tiled_mma(SM80_FMA{})"),
        ("tiled_mma", "tiled_copy"), (None, {}, {"atom": F16}, {"atom_layout": "(2,2,1)", "permutation": None}),
    ):  # fmt: skip
        yield f"{kind} {more} {text[:60]}", lambda t=text, k=kind, m=more: body_of(k, t, m)


def tiled(made: Any) -> list[Any]:
    return [made.tile, made.shape, made.threads, str(made.thread_layout), shades.shades(made)] + [
        (op.modes, op.copies, op.registers, shades.of_operand(made, op)) for op in (made.a, made.b, made.c)
    ]


# copies ---------------------------------------------------------------------------------------------------------------


def of_copies() -> Iterator[Call]:
    for thr, val, tile, atom_ in (
        ("(32,4)", "(1,8)", None, "universal"), ("(32,4)", "(1,8)", (64, 32), "universal"), ("(32,4)", "(1,8)", (64,),
        "universal"),
        ("(32,4)", "(1,8)", (64, 32, 1), "universal"), ("(32,4)", "(1,8)", (48, 32), "universal"), ("(32,4)", "(1,8)",
        (32, 40), "universal"),
        ("(32,4)", "(1,8)", (4096, 64), "universal"), ("(32,4)", "(1,8)", (4096, 96), "universal"), ("(32,4)",
        "(1,8)", (4097, 32), "universal"),
        ("(32,4)", "(1,8)", (0, 32), "universal"), ("(32,4)", "(1,3)", None, "UniversalCopy<uint128_t>"), ("(8,2)",
        "(1,8)", None, "SM75_U32x4_LDSM_N"),
        ("(16,3)", "(1,8)", None, "SM75_U32x4_LDSM_N"), ("(32,33)", "(1,1)", None, "universal"), ("(32,32)", "(1,8)",
        None, "universal"),
        ("(32,32)", "(16,16)", None, "universal"), ("(32,32)", "(16,32)", None, "universal"), ("32", "8", None,
        "universal"),
        ("(32,4)", "(1,4)", None, "SM75_U32x1_LDSM_N"), ("(32,4)", "(1,12)", None, "cp.async"), ("(x)", "(1,8)", None,
        "universal"),
    ):  # fmt: skip
        for bits in (16, 4, 3):
            yield (
                f"{thr} {val} {tile} {atom_} {bits}",
                lambda t=thr, v=val, tile=tile, a=atom_, b=bits: copied(
                    tiled_copy(a, thr_layout=t, val_layout=v, tile=tile, element_bits=b)
                ),
            )
    for layout, tiler in (
        ("((8,16),8):((128,1),16)", "(16,64)"), ("((8,16),8):((128,1),16)", "(16,63)"), ("8:1", "(8,8)"),
        ("(8,8):(8,1)", "64"),
        ("(8,8):(8,1)", "(8,8,1)"), ("(8,8):(8,1)", "(8,_)"), ("(1025,1):(1,0)", "(32,64)"), ("(1024,1):(1,0)",
        "(32,32)"),
        ("(512,513):(1,512)", "(512,513)"), ("(8,8):(8,1)", "((4,2):(1,8),8:1)"),
    ):  # fmt: skip
        yield f"tv {layout} {tiler}", lambda a=layout, b=tiler: of_map(a, b)
    made = {name: tiled_mma(*given) for name, given in {
        "f16": (F16, "(2,2,1)", "(32,32,16)"), "small": (F16, "(2,2,1)"), "quad": (QUAD, "(2,2,1)"),
        "one quad": (QUAD,),
        "wgmma": ("SM90_64x64x16_F32F16F16_SS",), "rs": ("SM90_64x64x16_F32F16F16_RS",),
    }.items()}  # fmt: skip
    for (name, mma), op, atom_ in product(
        made.items(), ("a", "b", "c", "c_atom", "d"), ("universal", "SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T",
        "SM90_U32x4_STSM_N")
    ):  # fmt: skip
        yield f"{op} of {name} by {atom_}", lambda m=mma, op=op, a=atom_: copied(tiled_copy(a, tiled_mma=m, operand=op))


def copied(made: Any) -> list[Any]:
    return [
        made.atom.name,
        made.element_bits,
        made.tv,
        made.tilers,
        made.tile,
        made.source.access,
        made.destination.access,
    ]


# boxes ----------------------------------------------------------------------------------------------------------------

BOXES: tuple[dict[str, Any], ...] = (
    {}, {"atom": "cute::SM90_TMA_STORE{}"}, {"atom": "SM90_TMA_LOAD { }"}, {"atom": "SM90_TMA_LOAD_MULTICAST",
    "multicast": 2},
    {"multicast": 2}, {"atom": "SM90_TMA_LOAD_MULTICAST", "multicast": 16}, {"atom": "SM90_TMA_LOAD_MULTICAST",
    "multicast": 17},
    {"atom": "SM90_TMA_LOAD_MULTICAST", "multicast": 3}, {"atom": "SM90_TMA_LOAD_MULTICAST", "multicast": 0},
    {"atom": "SM100_TMA_2SM_LOAD"}, {"atom": "SM90_TMA_REDUCE_ADD"}, {"atom": "universal"}, {"atom": ""},
    {"tile": (64,)}, {"tile": (1,)},
    {"tile": (64, 64, 1)}, {"tile": (0, 64)}, {"tile": (65, 64)}, {"tile": (64, 65)}, {"tile": (32, 24)},
    {"tile": (4097, 1)},
    {"element_bits": 8}, {"element_bits": 4}, {"element_bits": 64}, {"element_bits": 128}, {"major": "MN"},
    {"major": "x"},
    {"layout": "(64,64):(64,1)"}, {"layout": "(64,64):(1,64)"}, {"layout": "64:1"}, {"layout": "((8,8),64):((1,8),64)"},
    {"layout": "(64,64):(65,1)"}, {"layout": "(64,64,2):(64,1,4096)"}, {"layout": "(64,64):(64,2)"},
)  # fmt: skip
STORED: tuple[dict[str, Any], ...] = (
    {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B"}, {"kind": "rows", "pitch_bytes": 144,
    "swizzle": "none"},
    {"kind": "rows", "pitch_bytes": 136, "swizzle": "none"}, {"kind": "canonical", "mn": 64, "k": 64,
    "swizzle": "none"},
    {"kind": "cute", "layout": "(64,64):(1,64)", "unit": "elements"}, {"kind": "cute", "layout": "(64,64):(128,2)",
    "unit": "elements"},
    {"kind": "cute", "layout": "Sw<2,3,3> o (64,64):(64,1)", "unit": "elements"}, {"kind": "cute",
    "layout": "(64,64):(64,1)", "unit": "elements"},
)  # fmt: skip


def of_boxes() -> Iterator[Call]:
    for number, spec in enumerate(STORED):
        for more in BOXES if number in (0, 7) else BOXES[:4]:
            yield f"{number} {more}", lambda spec=spec, more=more: boxed(spec, more)


def boxed(spec: dict[str, Any], more: dict[str, Any]) -> list[Any]:
    given = {"atom": "SM90_TMA_LOAD", "tile": (64, 64), "element_bits": 16, "major": "K", **more}
    if "layout" in given:
        given["layout"] = read_layout(given["layout"])
    where = storage(spec, given["element_bits"], "MN" if given["major"] == "MN" else "K")
    made: TmaCopy = tma_copy(given.pop("atom"), where=where, **given)
    return [
        made.box,
        made.boxes,
        made.inner,
        made.bytes,
        made.bytes_per_cta,
        made.wrong,
        made.first,
        made.rules,
        made.number,
        made.cta,
        made.address,
    ]


# layouts of Triton as CuTe has them -----------------------------------------------------------------------------------

TRITON: tuple[tuple[Any, ...], ...] = (
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (32, 16), 16),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", None),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", ()), ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])",
    (24, 16)),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (32, 16), 65),
    ("gl.BlockedLayout([1, 4], [8, n], [4, 1], [1, 0])", (32, 16)),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (1024, 512)),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", 7),
    ("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (2,) * 9), ("gl.SliceLayout(0, parent)", (32,)), ("x" * 99,
    (32, 16)), ("", (2,)),
    ("gl.SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0])", (64, 64), 16),
    ("gl.SwizzledSharedLayout(vec=2, per_phase=3, max_phase=8, order=[1, 0])", (64, 64), 16),
    ("gl.PaddedSharedLayout.with_identity_for([[64, 8]], [64, 64], [1, 0])", (64, 64), 16),
    ("gl.PaddedSharedLayout.with_identity_for([[32, 8]], [64, 64], [1, 0])", (64, 64), 16),
    ("gl.DistributedLinearLayout([[0, 1], [0, 3]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [], [], [32, 4])", (32,
    4), 16),
)  # fmt: skip


def of_same() -> Iterator[Call]:
    for given in TRITON:
        yield (
            f"{given}"[:110],
            lambda given=given: [as_cute(made := triton_layout(*given)), made.owner(*[0] * len(made.shape))],
        )
        yield f"beyond {given}"[:110], lambda given=given: triton_layout(*given).owner(1 << 20)
    row, col = np.indices((8, 8))
    for name, offset in (
        ("plain", row * 8 + col), ("columns", row + col * 8), ("padded", row * 16 + col), ("from 1", row * 8 + col + 1),
        ("odd", np.arange(24).reshape(3, 8)), ("xor", row * 8 + (col ^ row)), ("half", row * 8 + (col ^ row // 2)),
        ("zero", row * 0),
        ("no swizzle", row * 8 + (col ^ row * 3 % 8)), ("one", np.zeros((1, 1), np.int64)), ("both",
        (row ^ col) * 8 + col),
        ("line", np.arange(16)), ("far", row * 64 + (col * 8 ^ row * 8)),
    ):  # fmt: skip
        yield name, lambda offset=offset: placed(np.asarray(offset, np.int64))


# a verified capture in words ------------------------------------------------------------------------------------------


def of_verified() -> Iterator[Call]:
    """Steps, sums and records of every kind, as many as are told and one more."""
    places = ((0, 1), (NONE, NONE), (SEVERAL, 0))
    for name, (address, read, lies) in product("ab", product((None, 0x440), places, (None, NONE, SEVERAL, 0x480))):
        one = operand(name, 5, Wrong(2, 3, address, read, (4, 5), lies))
        yield (
            f"{name} {address} {read} {lies}",
            lambda one=one: [said.wrong_element(one), said.state(one), said.begins(one)],
        )
    right, wrong, clean = step(0, True), step(1, False), operand("a", 8)
    yield "right", lambda: [said.wrong_element(clean), said.state(clean)]
    many = [step(n, n % 3 > 0) for n in range(60)]
    unread = [Unread(n, record(n), f"reason {n}") for n in range(6)]
    for steps, sums, left, notes in (
        ((), "", 0, ()), ((right,), "", 0, ("a note", "another")), ((wrong,), "", 0, ()), ((right, wrong), "", 1, ()),
        ((right, right), "", 4, ()), ((right,), "m", 5, ()), ((right,), "mmx", 0, ()), ((right, right), "xX", 0, ()),
        ((right,), "u", 0, ()), ((right,), "", 1, ()), ((right,), "", 6, ()),
        ((right,), "muX", 6, ()), (many, "", 0, ()), (many[:48], "", 0, ()), (many[:49], "",
        0, ()),
        ((step(0, True, (1, 2, 3)), wrong), "", 0, ()), ((step(0, True, thread=64), right), "", 0, ()), ((), "xx", 2,
        ()),
    ):  # fmt: skip
        made = Verified(tuple(steps), tuple(summed(sums)), (), tuple(unread[:left]), notes, "fills", 9, 0, 0)
        yield f"{len(steps)} {sums} {left} {notes}", lambda made=made: said.text(made).split("\n")


def record(line: int, block: tuple[int, int, int] = (0, 0, 0), thread: int = 0) -> Record:
    return Record("mma", "k.cu", line, "", "", block, thread, {}, {}, {}, 0, np.zeros(0, np.uint8))


def operand(name: str, right: int, first: Wrong | None = None) -> Operand:
    causes = tuple(Diagnosis(f"cause_{n}", f"Says {n}.") for n in range(6)) if first else ()
    at, part = ((0, 0), STATED) if name == "a" else ((64, 32), INFERRED)
    stored = {"kind": "rows"} if first else None
    return Operand(
        name, "descriptor", Slice(64, 16, part), 8, right, 0, 0, 5, "K", first, stored, "rows of 128 bytes", at, causes
    )  # type: ignore[call-arg]


def step(number: int, right: bool, block: tuple[int, int, int] = (0, 0, 0), thread: int = 0) -> Verdict:
    wrong = None if right else Wrong(0, 1, 64, (2, 3), (4, 5), 128)
    held = (operand("a", 8), operand("b", 8 if right else 3, wrong))
    return Verdict(number, number, record(40 + number, block, thread), "mma.m16n8k16", held)


def summed(signs: str) -> Iterator[Accumulator]:
    """m: right; x: wrong, and the sum of what was read; X: wrong and not that; u: not judged."""
    for n, sign in enumerate(signs):
        yield Accumulator(n, record(90 + n // 2), 0, 0, 4, 8, 8 if sign == "m" else 3, sign in "mx", sign != "u")
