"""What layouts/tiles takes and refuses, one ask at a time: every way to spell an atom, every bound at the bound and one
beyond, tiles that are drawn with and without labels. Held word for word; an answer by its checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lanescope.cute import copy_atom as copyatom
from lanescope.cute.text import read_layout
from lanescope.shared.storage import storage
from lanescope.tiles import arguments, atoms, bulkcode, shades
from lanescope.tiles.bulk import TmaCopy, is_tma, tma_copy
from lanescope.tiles.convert import converted
from lanescope.tiles.copy import copy_atom, tiled_copy
from lanescope.tiles.draw import tile_svg
from lanescope.tiles.mma import tiled_mma
from lanescope.triton.gluon import triton_layout
from tests.doors import MODES, answered, kept

PLAIN_COPIES = (
    *("universal", "Universal", " universal ", "cp.async", "CP.ASYNC", "cp.async.ca.shared.global", "cp", "cp.asyn"),
    *("UniversalCopy", "UniversalCopy<uint32_t>", "UniversalCopy < cute::uint128_t >", "universalcopy<uint8_t>"),
    *("DefaultCopy", "AutoVectorizingCopy", "AutoVectorizingCopyWithAssumedAlignment", "DefaultCopy<uint64_t>"),
    *("AutoVectorizingCopyWithAssumedAlignment<uint32_t>", "UniversalCopy<uint48_t>", "UniversalCopy<int32_t>"),
    *(
        f"SM80_CP_ASYNC_CACHE{where}{fill}{of}"
        for where in ("ALWAYS", "GLOBAL")
        for fill in ("", "_ZFILL")
        for of in ("", "<uint32_t>", "<cute::uint128_t>", " < uint64_t > ")
    ),
    *("SM80_CP_ASYNC_CACHE", "sm80_cp_async_cachealways", "SM80_CP_ASYNC_CACHEALWAYS_ZFIL"),
    *("SM75_U32x4_LDSM_N", "SM75_U32x2_LDSM_N", "SM75_U16x8_LDSM_T", "SM90_U32x4_STSM_N", "SM90_U16x2_STSM_T"),
    *("ldmatrix.m8n8.x1.shared.b16", "ldmatrix.m16n16.x1.trans.shared.b8", "stmatrix.m16n8.x2.trans.shared.b8"),
    *("ldmatrix.m8n16.x1.shared.b8x16.b6x16_p32", "SM100_U8x16_LDSM_T", "mma.m8n8k16.row.col.s32.s8.s8.s32"),
    *("SM90_TMA_LOAD", "cute::SM90_TMA_STORE{}", "SM80_16x8x16_F32F16F16F32_TN", "", "nothing", "a" * 90),
)
TMA = (
    *("SM90_TMA_LOAD", "cute::SM90_TMA_LOAD", "SM90_TMA_LOAD{}", " SM90_TMA_STORE { } ", "SM90_TMA_LOAD_MULTICAST"),
    *("SM90_TMA_REDUCE_ADD", "SM90_TMA_LOAD_IM2COL", "SM90_TMA_STORE_IM2COL", "SM90_TMA_REDUCE_MIN", "SM90_TMA_"),
    *("SM100_TMA_2SM_LOAD", "IM2COL", "SM75_U32x4_LDSM_N", "sm90_tma_load", "SM90_TMA_LOAD{", "", "x" * 90),
)
MMAS = (
    *("mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16", "SM80_16x8x16_F32F16F16F32_TN", "SM75_16x8x8"),
    *("mma.sp.m16n8k32.row.col.f32.f16.f16.f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"),
    *("wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", "ldmatrix.m8n8.x4.shared.b16", "SM75_U32x4_LDSM_N"),
    *("SM90_64x64x16_F32F16F16_SS", "SM90_64x64x16_F32F16F16_RS", "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K>"),
    *("wgmma.m64n8k16.f32.f16.f16", "wgmma.m64n256k32.s32.s8.s8", "SM70_8x8x4_F32F16F16F32_TN", "SM80_16x8x8"),
    *("SM80_16x8x8_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN", "SM80_8x8x128_S32U1U1S32_TN_XORPOPC"),
    *("SM120_16x8x32_TN", "SM120_16x8x32_TN<float_e4m3_t, float_e4m3_t, float>", "SM90_16x8x4_F64F64F64F64_TN"),
    *("SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "SM61_DP4A", "UniversalFMA<float>", "SM100_MMA_F16BF16_SS", "", "x" * 90),
    *("GMMA_64x64x16_F32F16F16", "SM90_GMMA", "SM90_64x64x32_S32S8S8_SS_TN", "SM90::GMMA::MMA_64x64x16_F32F16F16_SS"),
)
TRITON = (
    *("", "nothing", "gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)"),
    *("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", "gl.BlockedLayout([n, 4], [8, 4], [4, 1], [1, 0])"),
    *("#ttg.slice<{dim = 0, parent = #blocked}>", "#ttg.shared_memory", "gl.AutoLayout()", "gl.CoalescedLayout()"),
    "#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [32, 32]}>",
    "tensor<64x32xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1],"
    " order = [1, 0]}>>",
    *(f"#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = {n}>" for n in (1, 2, 4, 8)),
    "#ttng.tensor_memory_scales_encoding<>",
    "gl.SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0])",
    "gl.SharedLinearLayout([[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]])",
)
SHAPES = (None, (128, 64), (64, 32), (2, 128, 64), (32, 32), (512, 512), (512, 1024), (8, 8), (), "8", (0, 8), (1,) * 9)


def said(asks: list[tuple[object, Callable[[], object]]]) -> Iterator[str]:
    for question, ask in asks:
        yield from answered(question, ask)


def test_atoms() -> None:
    """Each spelling of an atom, what it is alone and with bits of its own."""
    asks: list[tuple[object, Callable[[], object]]] = []
    for text in PLAIN_COPIES:
        for bits, element in ((None, 16), (64, 8)):
            asks.append((f"copy {text!r} {bits} {element}", lambda a=text, b=bits, c=element: copy_atom(a, b, c)))
    for name, widths in (("universal", (4, 8, 16, 32, 64, 128, 256)), ("cp.async", (16, 32, 64, 128, 256, 0))):
        for bits in widths:
            for element in (4, 8, 16, 32, 64, 128):
                asks.append(
                    (f"{name} {bits} {element}", lambda a=name, b=bits, c=element: copyatom.plain_atom(a, b, c))
                )
    asks += [(f"mma {text!r}", lambda text=text: atoms.atom(text)) for text in MMAS]
    kept("asked_atoms", list(said(asks)))


def box(atom: str, rows: Any = 64, cols: Any = 64, swizzle: str = "128B", **more: Any) -> TmaCopy:
    bits, major = more.get("element_bits", 16), more.get("major", "K")
    size = {"mn": more.pop("mn", rows), "k": more.pop("k", cols)}
    where = storage({"kind": "canonical", "swizzle": swizzle, **size}, bits, major)
    return tma_copy(atom, tile=more.pop("tile", (rows, cols)), where=where, **more)


def test_boxes() -> None:
    """Copies by TMA: names, elements, clusters and tiles at their bounds, and their code in every type and swizzle."""
    asks: list[tuple[object, Callable[[], object]]] = [(text, lambda text=text: box(text)) for text in TMA]
    asks += [(f"is {text!r}", lambda text=text: is_tma(text)) for text in TMA]
    for more in (
        *({"element_bits": n} for n in (4, 8, 16, 32, 64, 128)),
        *({"multicast": n} for n in (0, 1, 2, 3, 4, 8, 16, 17)),
        *({"tile": tile} for tile in ((), (8,), (8, 8, 8), (0, 8), (8, 0), (8, 64), (65, 64), (64, 128))),
        *({"rows": 1 << a, "cols": 1 << b} for a, b in ((9, 9), (10, 8), (10, 9), (8, 9), (11, 4), (15, 3), (16, 3))),
        *({"layout": read_layout(t)} for t in ("64:1", "(64,64):(64,1)", "(64,64):(1,64)", "(64,(8,8)):(64,(1,8))")),
        *({"layout": read_layout(t)} for t in ("(64,64):(72,1)", "(64,64):(68,1)", "(64,64):(2,128)", "(2,2,2)")),
    ):
        for name in ("SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST"):
            asks.append((f"{name} {more}", lambda name=name, more=more: box(name, **more)))
    for name in ("SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST", "SM90_TMA_STORE", "SM90_TMA_REDUCE_ADD"):
        for number, bits in enumerate((8, 16, 32, 64, 16, 16, 32, 8)):
            more = {"element_bits": bits, "major": ("K", "MN")[number % 2], "swizzle": MODES[number % 4]}
            more |= {"multicast": (2, 4)[number % 2]} if "MULTICAST" in name else {}
            more |= {"rows": (64, 128)[number > 3]}

            def written(name: str = name, more: Any = more) -> object:
                made = box(name, **more)
                wide = read_layout(f"({more['rows']},64):" + ("(64,1)" if more["major"] == "K" else "(1,128)"))
                return [made.bytes, made.bytes_per_cta, made.wrong, made.first, bulkcode.starts(made),
                        bulkcode.tensor_map(made, None), bulkcode.tensor_map(made, wide), bulkcode.issued(made),
                        bulkcode.python(made, {"kind": "canonical"}, str(more["major"]))]  # fmt: skip

            asks.append((f"{name} {more} as code", written))
    kept("asked_boxes", list(said(asks)))


def test_arguments() -> None:
    """AtomLayoutMNK and PermutationMNK in every form, copies at the bounds of a tile, layouts of Triton over shapes."""
    asks: list[tuple[object, Callable[[], object]]] = []
    for form in ("(2,2)", "(2,2,1)", "(2,2,1):(2,1,0)", "(1,1,1,1)", "4", "(4)", "Sw<1,4,3> o (2,2,1)", "(2", "",
                  (2, 2), (2, 2, 2), (2,), read_layout("(2,1):(1,1)"), read_layout("8:1")):  # fmt: skip
        asks.append((f"atoms {form}", lambda form=form: arguments.read_atoms(form)))
    for given in (None, "(32,32,16)", "(32)", "32", "(32,32)", "(_,_,_,_)", "(_,(4,2):(1,8),_)", "()", "(_,_,32)",
                  "(2,2,1):(1,2,0)", "Sw<1,4,3> o (2,2,1):(1,2,0)", "(_,Sw<1,4,3> o 8:1,_)", "Tile<_32,_32,_16>",
                  "((2,2),_,_)", "(2,2):(1,2)"):  # fmt: skip
        asks.append((f"permutation {given}", lambda given=given: arguments.read_permutation(given, (16, 8, 4))))
        asks.append((f"tiled_mma {given}", lambda given=given: tiled_mma(MMAS[0], "(2,2,1)", given)))
    for tiler in (8, (8, 8), read_layout("8:2"), read_layout("(2,2):(1,8)"), read_layout("8:0")):
        asks.append((f"least {tiler}", lambda tiler=tiler: arguments.least_size(tiler)))
    threads, values = "(32,4):(4,1)", "(1,8)"
    for tile in ((32, 32), (), (32,), (32, 32, 1), (0, 32), (33, 32), (32, 48), (64, 64), (512, 512), (1024, 256),
                 (1024, 512), (32, 8192), (32, 16384), (65536, 32), (1 << 20, 32), (1 << 21, 32)):  # fmt: skip
        for atom in ("universal", "SM75_U32x4_LDSM_N"):
            given: dict[str, Any] = {"tile": tile, "thr_layout": threads, "val_layout": values}
            asks.append((f"copy {atom} {tile}", lambda a=atom, given=given: tiled_copy(a, **given).tiler))
    for more in ({"element_bits": 4}, {"element_bits": 12}, {"element_bits": 128}, {"bits": 128, "val_layout": "(1,4)"},
                 {"bits": 128, "val_layout": "(1,12)"}, {"val_layout": "(1,12)"}, {"thr_layout": "(3,4)"},
                 {"thr_layout": "(48,1)"}, {"thr_layout": None}, {"val_layout": None}):  # fmt: skip
        for atom in ("universal", "SM75_U32x4_LDSM_N", "SM90_U16x2_STSM_T"):
            body: dict[str, Any] = {"thr_layout": threads, "val_layout": values, **more}
            asks.append((f"copy {atom} {more}", lambda atom=atom, body=body: tiled_copy(atom, **body)))
    for operand in ("a", "b", "c", "d", "A", "c_atom", "x"):
        for load in ("SM75_U32x4_LDSM_N", "SM75_U32x1_LDSM_N", "universal", "SM90_U32x4_STSM_N"):
            for permutation in (None, "(32,32,32)"):
                asks.append((f"{operand} {load} {permutation}",
                    lambda o=operand, load=load, p=permutation:
                    tiled_copy(load, tiled_mma=tiled_mma(MMAS[0], "(2,2,1)", p), operand=o, bits=None)))  # fmt: skip
    for text in TRITON:
        for shape in SHAPES:
            asks.append((f"{text} {shape}", lambda text=text, shape=shape: triton_layout(text, shape)))
    asks += [
        (f"{TRITON[10]} {bits}", lambda bits=bits: triton_layout(TRITON[10], (128, 64), bits))
        for bits in (0, 1, 8, 16, 17, 32, 64, 65)
    ]
    kept("asked_tiles", list(said(asks)))


def test_shades_and_pictures() -> None:
    """What a tile's elements may be coloured by, in words; tiles just below and above what is labelled and drawn."""
    lines = []
    for text in MMAS:
        for layout in ("(2,2,1)", "(8,1,2)"):
            lines += answered(f"{text} {layout}", lambda a=text, b=layout: list(shades.shades(tiled_mma(a, b)).items()))
    made = tiled_mma(MMAS[0], "(2,2,1)", None, (64, 64, 32))
    lines += [f"{name}: {words}" for name, words in shades.shades(made).items()]
    made = tiled_mma("SM90_64x64x16_F32F16F16_RS", "(2,1,1)", None, (256, 128, 64))
    lines += [f"{name}: {words}" for name, words in shades.shades(made).items()]
    for height, width in ((32, 64), (33, 64), (32, 65), (8, 256), (3, 257), (65, 256), (4, 8)):
        row, col = np.indices((height, width))
        rows, cols = row.reshape(-1, width), col.reshape(-1, width)

        def drawn(rows: Any = rows, cols: Any = cols, size: Any = (height, width)) -> object:
            return tile_svg(rows, cols, size, "of a <tile>")

        lines += answered(f"{height} {width}", drawn)
    ids = np.array([40, 3, 64])
    few = np.array([[0, 1], [1, 1], [3, 0]])
    lines += answered("ids", lambda: tile_svg(few, few.T[:2].T * 0, (4, 2), "ids", ids, None))
    for one in TRITON[3], TRITON[9], TRITON[10], TRITON[14], TRITON[15], TRITON[16]:
        shape = (128, 64) if "tensor_memory" in one else (8, 8) if "Linear" in one else (32, 32)
        lines += answered(one, lambda one=one, shape=shape: triton_layout(one, shape)._repr_svg_())
    kept("asked_pictures", lines)


def test_conversions() -> None:
    """From a layout of threads to itself and others: what stays, what goes through shuffles or shared memory."""
    texts = [
        f"gl.BlockedLayout({a}, {b}, {c}, {d})"
        for a, b, c, d in (
            ([1, 4], [8, 4], [4, 1], [1, 0]),
            ([4, 1], [8, 4], [4, 1], [1, 0]),
            ([1, 1], [1, 32], [1, 4], [1, 0]),
            ([1, 8], [32, 1], [4, 1], [0, 1]),
            ([2, 2], [8, 4], [2, 2], [1, 0]),
        )
    ]
    lines = []
    for at, one in enumerate(texts):
        for other in (one, texts[at - 1], texts[at - 2]):
            lines += answered(
                f"{one} {other}",
                lambda a=one, b=other: converted(triton_layout(a, (16, 32), 16), triton_layout(b, (16, 32), 16)),
            )
    kept("asked_conversions", lines)
