"""Every tool asked in many ways: its presets, each option changed alone, and wrong values. The answers, page, picture,
table or facts, are held by checksum; what they say is tested elsewhere, here none of it changes unnoticed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from lanescope.app.kit.examples import BODIES
from lanescope.app.layouts import cute, triton, tv
from lanescope.app.main import create_app
from lanescope.app.scales import forms as scales
from lanescope.app.tiles import chains, copying, looping, presets
from lanescope.app.tmem import epilogue
from lanescope.app.tmem import forms as tmem
from tests import asgi
from tests.held import held_sum
from tests.test_pages_held import steady

TEXTS = ("txt", "md", "csv", "json", "tex", "svg")
MMA, WGMMA = "mma.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.m64n32k16.f32.f16.f16"
SPARSE, QUADS = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "mma.m8n8k4.row.col.f16.f16.f16.f16"
UMMA = "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UMMA::Major::K, UMMA::Major::MN>"
PAIR = "SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 128, UMMA::Major::K, UMMA::Major::K>"
FEW = 8  # answers of one test
T05 = "tcgen05.mma.cta_group::1.kind::"


def to(path: str, *given: dict[str, Any]) -> str:
    """An address: the given fields, the last of a name."""
    query: dict[str, Any] = {}
    for one in given:
        query |= one
    return path + (f"?{urlencode(query)}" if query else "")


def each(path: str, base: dict[str, Any], /, **others: str | tuple[Any, ...]) -> Iterator[str]:
    """The base, and each other value of a field in it, one at a time; values of a text are parted by blanks."""
    yield to(path, base)
    for name, values in others.items():
        for value in values.split(" ") if isinstance(values, str) else values:
            yield to(path, base, {name.rstrip("_"): value})


def texts(address: str, *forms: str) -> list[str]:
    """The pictures and tables of a page."""
    path, mark, query = address.partition("?")
    return [f"{path}.{form}{mark}{query}" for form in forms or TEXTS]


SM80 = {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(2,2,1)", "permutation": "(32,32,16)",
        "tile": "64x64x32"}  # fmt: skip
SMALL = SM80 | {"atom_layout": "(2,1,1)", "permutation": "", "tile": "32x16x32"}
COPY = copying.FIELDS | {"tile": "32x64", "pitch_bytes": "144", "swizzle": "none"}
LOOP = looping.FIELDS | {"tile": "32x32x64"}
TMA = {"atom": "SM90_TMA_LOAD", "element_bits": "16", "tile": "16x64", "stored": "canonical", "swizzle": "64B"}
BLOCKED = "gl.BlockedLayout([1, 4], [8, 4], [2, 1], [1, 0])"
TURNED = "gl.BlockedLayout([4, 1], [4, 8], [1, 2], [0, 1])"
DEEP = "gl.BlockedLayout([1, 1, 4], [2, 4, 4], [2, 1, 1], [2, 1, 0])"
SHARED = {"text": "gl.SwizzledSharedLayout(4, 1, 4, [1, 0])", "shape": "8x16", "element_bits": "32"}
TENSOR = {"text": "#ttng.tensor_memory_encoding<blockM = 128, blockN = 8, colStride = 1>", "shape": "128x8"}
TV = {"cute": "((4,8),(2,2)):((32,1),(16,8))", "tile": "16x8"}
MODULE = """#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#m = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#s = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"} {
  %0 = tt.load %p : tensor<32x32x!tt.ptr<f16>, #b>
  %1 = ttg.local_alloc %0 : (tensor<32x32xf16, #b>) -> !ttg.memdesc<32x32xf16, #s, #smem>
  %2 = ttg.convert_layout %0 : tensor<32x32xf16, #b> -> tensor<32x32xf16, #m>
  %3 = ttg.convert_layout %0 : tensor<32x32xf16, #b> -> tensor<32x32xf16, #d>
}""".replace("#d", "#ttg.dot_op<{opIdx = 0, parent = #m, kWidth = 2}>")
ACCESS = {"m": "128", "n": "64", "d_at": "0", "access": "tcgen05.ld.16x64b.x4", "at": "32:8", "warp": "1"}
TILE = {"element_bits": "16", "major": "K", "swizzle": "64B", "mn": "16", "k": "64"}
W = "/descriptor/wgmma/0x4000004004000101"
STORED = {"s_kind": "canonical", "s_swizzle": "128B", "s_mn": "64", "s_k": "64", "s_base": "0x1010"}
U = "/descriptor/tcgen05/0x4000404000010100"
GROUPS: dict[str, list[str]] = {
    "tiles_mma": [
        *map(presets.address, presets.PRESETS),
        *each("/tiles/mma", SM80, colour="group lane value register k m n x", label="register row,col none x",
              warps="0 1-2 9", lanes="0-3,8 32", k="0 1 2", m="1 x", n="3", pin="c:3,2 a:1 b:31,9 z:1,1",
              sel="c:0-15,8-23 c:1", view="all m:0-32,n:0-16,k:0-16 m:9", tile="64x48x32 64x64 zz", atom="nothing",
              atom_layout="(2,2 (1,1,2)", permutation="(7,7,7)"),
        *each("/tiles/mma.svg", SMALL, operand="a b c x", colour="lane k", label="register none", k="1",
              theme="bw dark", title="T", legend="1", view="m:0-8", lanes="0-3", warps="1", form="x"),
        *texts(to("/tiles/mma", SMALL, {"operand": "a", "label": "register", "lanes": "0-3", "warps": "1"})),
        *texts(to("/tiles/mma", SMALL, {"tile": "256x256x64"}), "txt", "svg"),
        *each("/tiles/mma", {"atom": UMMA, "tile": "128x256x64"}, swizzle_a="64B none x", swizzle_b="32B",
              order="k mn x", a_from="tensor", idesc="0x0", tile="128x128x7"),
        to("/tiles/mma", {"atom": "tcgen05.mma.cta_group::2.kind::f16", "idesc": "m=256,n=128", "a_from": "tensor",
                          "tile": "256,256,32"}),
        *each("/tiles/mma.svg", {"atom": PAIR, "tile": "512x256x64"}, part="product tensor x", theme="bw dark",
              title="T"),
        *texts(to("/tiles/mma", {"atom": UMMA, "tile": "256x128x32"}), "txt", "md", "csv", "json"),
    ],
    "tiles_chain": [
        *(address for _, address, _ in chains.presets(chains.FIELDS)),
        *each(chains.PATH, chains.FIELDS, first="x SM80_16x8x8_F32TF32TF32F32_TN", second="x",
              atom_layout=("", "(1,1,1)"), tile=("", "64x64x32", "64"), width=("", "128", "7")),
    ],
    "tiles_copy": [
        *(address for _, address, _ in copying.presets(copying.FIELDS)),
        *each(copying.PATH, copying.FIELDS, colour="group lane value access bank x", label="register row,col bank none",
              warps="1", lanes="0-7", pin="source:3,2", thread="45 999", sel="destination:0-7,0-7",
              view="r:0-16,c:0-16",
              bits="64 x", element_bits="32", tile="64x60 9", thr_layout=("(8,16)", ""), val_layout=("", "(2,4)"),
              stored="none canonical cute", pitch_bytes="144 x", swizzle="64B", major="MN", global_=("", "(64,64)",
              "x"),
              layout_tv="((4,8),2):((2,8),1)", multicast="2", mma=SM80["atom"], operand="x", atom="nothing stmatrix"),
        *each(copying.PATH, TMA, multicast="2", swizzle="128B none", major="MN", stored="none rows cute", tile="20x60",
              global_="(64,64):(64,1)", element_bits="8", layout="(16,64):(64,1)", colour="box cta phase bank x",
              label="byte chunk bank none", pin="tile:3,2", atom="SM90_TMA_STORE SM90_TMA_LOAD_MULTICAST"),
        *each(copying.PATH, TMA | {"stored": "cute", "layout": "(16,64):(72,1)"}, layout=("(16,64):(64,1)",
              "(16,64):(1,16)"),
              swizzle="none", label="byte", pin="shared:1,1"),
        to(copying.PATH, {"atom": "universal", "bits": "32", "tile": "8x8", "layout_tv": "((4,8),2):((8,1),32)",
                          "tiler_mn": "(8,8)", "element_bits": "16"}),
        *each("/tiles/copy.svg", COPY, side="source x", colour="access bank", label="register bank", legend="1",
              title="T", warps="0", lanes="0-3", view="r:0-8,c:0-16", theme="bw"),
        *texts(to("/tiles/copy", COPY, {"view": "r:0-8,c:0-16", "label": "bank", "warps": "0"})),
        *texts(to("/tiles/copy", TMA)), *each("/tiles/copy.svg", TMA, side="tile shared storage", colour="box"),
    ],
    "tiles_loop": [
        *(address for _, address, _ in looping.presets(looping.FIELDS)),
        *each(looping.PATH, LOOP, tile="128x128x48", atom="nothing", a_copy=("",), a_pitch="x", a_load="x",
              a_read="none"),
        *each("/tiles/loop.txt", LOOP, tile="x", atom="SM90_64x128x16_F32F16F16_SS", a_copy="universal", a_bits="64",
              a_thr=("(8,16):(16,1)", "("), a_val="(2,4)", a_pitch="144 64", a_major="MN", a_swizzle="32B",
              a_read="64B",
              a_load="universal SM75_U16x8_LDSM_T", a_global="(1024,1024):(1024,1) (1024,1024):(1,1024) x",
              b_load="SM75_U32x2_LDSM_N"),
        to(looping.PATH, LOOP, {"a_pitch": "64", "a_swizzle": "none"}), to(looping.PATH, LOOP, {"a_val": "(1,4)"}),
        to(looping.PATH, LOOP, {"a_pitch": "136", "a_swizzle": "none"}), to("/tiles/loop.svg", LOOP,
        {"a_read": "none"}),
        *texts(to("/tiles/loop", LOOP, {"a_swizzle": "none"})),
        *each("/tiles/loop.svg", LOOP, theme="bw", title="T", form="x"),
    ],
    "layouts_triton": [
        *(address for _, address in map(triton._preset, triton.PRESETS)),
        *each(triton.PATH, {"text": BLOCKED, "shape": "16x16", "element_bits": "16"},
              to=(TURNED, "x"), shape=("", "32", "64x64x2", "x", "7x9"),
              element_bits="32 x 0", colour="thread lane value vector x", label="value row,col none", warps="1",
              lanes="0-7", pin="tile:3,2", view="r:0-8", axes="1,0 1", at="1"),
        *each(triton.PATH, SHARED, colour="address line", label="byte bank row,col none"),
        *each(triton.PATH, TENSOR, colour="column cell", label="row,col none", element_bits="16", shape="256x8 64x16"),
        *each(triton.PATH, {"text": DEEP, "shape": "4x8x16"}, axes="0,2 2,1 0 x", at="3 9 x"),
        *each(triton.PATH, {"text": MODULE}, pick="1 2 3 9"), to(triton.PATH, {"text": "gl.AutoLayout()"}),
        to(triton.PATH, {"text": BLOCKED, "shape": "16x16", "to": "x", "axes": "9"}), to(triton.PATH, {"z": "zz"}),
        to(triton.PATH, {"text": "#ttg.nothing<{}>"}),
        to(triton.PATH, {"text": "#ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [8, 4], warpsPerCTA = [4, 2],"
                                 " CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0], order = [1, 0]}>",
                         "shape": "64x64"}),
        *each("/layouts/triton.svg", {"text": BLOCKED, "shape": "16x16"}, to=(TURNED,), colour="lane", label="value",
              lanes="0-3", legend="1", title="T", theme="bw", view="r:0-8"),
        *texts(to(triton.PATH, {"text": BLOCKED, "shape": "8x16", "label": "value"})),
        *texts(to(triton.PATH, SHARED)), *texts(to(triton.PATH, TENSOR, {"label": "element"}), "csv", "md"),
    ],
    "layouts_tv": [
        *(tv.address({"cute": one, "tile": tile, **more}) for _, one, tile, more in tv.PRESETS),
        *each(tv.PATH, TV, tile=("", "8x16", "16x9", "x"), element_bits="8 64 0", slice=("(5,_)", "(_,1)", "((1,_),_)",
              "(9,", "(99,_)"), stored=("(16,8):(8,1)", "Sw<1,4,3> o (16,8):(8,1)", "(4,4)", "("),
              to=("((8,4),(2,2)):((16,1),(8,4))", "(32,2)", "("), axes="1,0 0", at="1", colour="thread lane bank x",
              label="value row,col bank none", pin="tile:3,2 table:1,1", lanes="0-7", view="r:0-8",
              cute=("(32,4):(0,1)", "(32,4):(3,1)", "((4,8),(2,2,2)):((16,1),(8,64,128))", "(3,5):(1,3)", "(", "4")),
        *each(tv.PATH, {"cute": "(32,4):(4,1)", "tile": "128"}, tile="100 2x2x2x2x2x4 2x2x4x8 x", slice=("(5,_)",),
              at="1"),
        to(tv.PATH, TV, {"to": "((8,4),(2,2)):((16,1),(8,4))", "slice": "(5,_)"}), to(tv.PATH, TV, {"to": "(",
        "axes": "9"}),
        *each("/layouts/tv.svg", TV, slice="(5,_)", stored="(16,8):(8,1)", to="((8,4),(2,2)):((16,1),(8,4))",
              colour="lane", label="bank value", legend="1", title="T", theme="dark", x="1"),
        *texts(to(tv.PATH, TV, {"slice": "(5,_)"})), *texts(to(tv.PATH, TV, {"label": "row,col"}), "csv", "txt"),
    ],
    "cute": [
        *(cute.address(one) for _, one in cute.PRESETS),
        *(cute.address(one) for one in (
            "A = (4,8):(8,1)\nB = composition(A, 16:2)\ncomplement(B, 64)\nright_inverse(A)", "((4,2),3):((1,16),4)",
            "logical_product((2,5):(5,1), 3:1)", "zipped_product((2,2):(1,2), (3,4))", "left_inverse((4,8):(8,1))",
            "tiled_divide((8,16):(16,1), (4,8))", "flat_divide((8,16):(16,1), (4:2,8))", "filter((4,(2,3)):(0,(1,0)))",
            "(128,64):(64,1)", "(4,8):(8,1)(2,_)", "complement((2,2):(1,3), 24)", "upcast<2>((8,4):(1,8))", "zz(",
            "4:1",
            "logical_divide((4,2):(2,1),3)", "composition((4,8):(8,1), (2,4))", "40:1", "(2,3,4):(12,4,1)",
            "composition((64,128):(1,64), 5:3)", "complement((2,2):(1,6), 24000)", "(512,8):(8,1)", "(2,600):(600,1)",
            "logical_divide((64,128):(1,64), 4:1)", "Sw<2,4,3> o (8,64):(64,1)", "A = (4,8)\ncomposition(A, 5:7)",
            "tiled_product((2,5):(5,1), (3,4):(1,3))",
        )),
        *texts(cute.address("zipped_divide((8,16):(16,1),(4,8))")), *texts(cute.address("right_inverse((4,8):(8,1))")),
        *texts(cute.address("complement((2,2):(1,6), 24)"), "svg", "csv"),
    ],
    "tensor_memory": [
        *(tmem.address(one) for _, one in tmem.EXAMPLES),
        *each("/tmem", ACCESS, kind="tf32 i8 x", cta_group="2 3", ws="1", sparse="1", m="64 7", n="256 7",
              a_at="128 32",
              d_at="16 600 x", alloc="64 48", first="32", more=("m=64 n=64 d=128", "cta_group=2 d=64", "q=1", "m"),
              access=("tcgen05.cp.cta_group::1.128x256b", "tcgen05.shift.cta_group::1.down", "tcgen05.ld.16x32bx2.x2",
                      "tcgen05.st.32x32b.x8", "x"), at="0:0 0x200010 9:9 x 128:0", warp="0 2 16 x", split="16 x",
              look="3:5 200:1", idesc="0x08400490 0x0 x", scale_vec="1X", metadata_at="64"),
        *(epilogue.address(one) for _, one in epilogue.EXAMPLES),
        *each("/tmem/epilogue", {"n": "32"}, cta_group="2", m="64", element="f32", stored="64B rows", thread="31 32",
              access="tcgen05.ld.16x128b.x2 tcgen05.ld.32x32b.x8"),
        *each("/api/v1/tmem/epilogue", {"n": "32"}, kind="tf32 i8 x", ws="1", m="256 x", d="f16", warp="1 4",
              stored="none",
              access="tcgen05.ld.16x64b.x4 tcgen05.st.16x64b.x1 x", element="f16 x"),
    ],
    "scales": [
        *(scales.address(one) for _, one in scales.EXAMPLES),
        *each("/scale-factors", {"kind": "mxf8f6f4", "n": "128"}, kind="mxf4 mxf4nvf4 f16", scale_vec="1X 4X",
              cta_group="2", sparse="1", m="256 7", n="192 256 72", tile_k="128 512 100", column="0 510",
              shared="1024 5",
              side="b x", row="0 127 128", factor="0 7 8 x"),
    ],
    "idesc": [
        *(f"/idesc/{word}?kind={kind}" for word in ("0x08400490", "0xffffffff", "0x08100a10", "0x0")
          for kind in ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")),
        *each("/idesc", {"kind": "f16", "m": "128", "n": "64"}, a="f16 bf16 x", d="f16 f32", transpose_a="MN",
              n="7 256",
              transpose_b="MN", sparse="yes 1", sparsity_selector="1 9", negate_a="yes", max_shift="8", m="64 256 9",
              kind="i8 mxf4 x"), *each("/idesc", {}, word="0x08400490 1<<4 zz", kind="tf32 i8 mxf4nvf4 mxf8f6f4 x"),
        "/idesc/zz", "/idesc/0x08400490?kind=x",
        *(f"/zero-column-mask/{word}?{size}" for word in ("0x0003028000000000", "0x3f03029000000000", "0x0",
              "0x5050505")
          for size in ("m=128&n=128", "m=32&n=64", "m=64&n=256", "m=7", "n=x")),
        *each("/zero-column-mask", {"m": "64", "n": "64", "use_span": "3"}, skip_span="2 99 x", shift="1", n="7",
              m="16",
              start_count_0="1", first_span_1="1", non_zero_mask="1 2", word="0x0003028000000000 zz"),
        "/zero-column-mask", "/zero-column-mask/zz",
    ],
    "memory": [
        *each("/smem", TILE, element_bits="8 32 1 4 x", major="MN", swizzle="none 32B 128B x", mn="128 12", k="128 8",
              order="k mn x", base="0x400 8", rows="8 64", down="mn k x", unit="element x", number="memory none",
              show="tile memory x", plain="1 x", format_="tcgen05 x", lang="x"),
        *each("/smem", TILE | {"format": "tcgen05"}, element_bits="32 8", major="MN", swizzle="128B none"),
        *each("/smem/atoms", {"element_bits": "16"}, element_bits="8 32 x", down="k", unit="element",
              number="logical none"),
        *each("/smem.svg", TILE, unit="element", number="memory", show="tile", plain="1", down="mn", title="T",
              theme="bw"),
        *texts(to("/smem", TILE, {"down": "mn", "unit": "element", "k": "32"})), *texts(to("/smem", TILE)),
        *each(W, {}, instruction=(WGMMA, "x"), operand="b x", major="MN", slice_k="16 7", slice_mn="64", start="0x100",
              compare="0x4000004000010100 zz", part="analysis", from_="1<<62 zz(",
              s_kind="rows atoms cute canonical x"),
        *each(W, STORED, operand="b", major="MN", slice_k="16 32", slice_mn="64 8", s_swizzle="64B none x",
              s_mn="128 7",
              s_k="128", s_order="k mn", s_base="0x1000 0x1008", instruction=WGMMA, compare="0x4000004000010100",
              part="analysis"),
        *each(W, {"s_kind": "rows"}, s_pitch_bytes="144 7", s_inner="MN", s_swizzle="none 128B", s_base="0x1010"),
        *each(W, {"s_kind": "atoms", "s_inner": "MN", "major": "MN"}, s_width_bytes="64", s_outer8_stride="512",
              s_inner_stride="4096", s_line_stride="64", s_swizzle_by="tile", s_swizzle="none"),
        *each(W, {"s_kind": "cute"}, s_layout="(64,64):(64,1) (", s_unit="bytes chunks", s_base="0x1010"),
        to("/descriptor/wgmma/0x40000040000100c2", {"s_kind": "rows", "s_swizzle": "128B", "s_pitch_bytes": "128",
                                                  "s_base": "0xc00", "slice_k": "16"}),
        *each("/smem", {"format": "tcgen05", "element_bits": "32", "major": "MN", "swizzle": "128B_base32B", "mn": "64",
                        "k": "32"}, show="tile", swizzle="64B"),
        *each(U, {}, idesc="m=256,n=64 0x0 x", operand="b",
              instruction=f"{T05}tf32 tcgen05.mma.cta_group::2.kind::f16 x",
              slice_k="16", s_kind="canonical rows cute", part="analysis"),
        *each(U, STORED, s_swizzle="64B", operand="b", idesc="m=128,n=64,transpose_a=1", s_base="0x1000"),
        *(f"/descriptor/{name}/{word}" for name in ("wgmma", "tcgen05") for word in ("0x0", "0xffffffffffffffff", "zz",
          "0xC000002000200140", "0x8006000800010001")),
        *each("/descriptor", {}, word=("zz", "1<<62", "1 << 62", "0x4000004000010100"), start="x", lbo_bytes="16 7"),
        *each("/descriptor/tcgen05", {}, word="0x4000404000010100 zz", sbo_bytes="1024", swizzle="128B x"),
        *each(f"{W}.svg", STORED, part="memory operand x", theme="bw", title="T", legend="1", x="1"),
        *texts(to(W, STORED)), *texts(W), *texts(U), *texts(to(U, STORED), "csv", "svg"),
    ],
    "instructions": [
        *each(f"/i/{MMA}", {}, colour="t i register x", label="register row,col index none x", lanes="0-3 40", 
              pin="d:3,2 a:1,1 d:99,1 z", view="all m:0-8 m:9-1", product="1", a_major="MN", idesc="0x0"),
        *each(f"/i/{WGMMA}", {}, colour="auto g w x", view="m:0-16 m:0-64,n:0-8", a_major="MN", b_major="MN x",
              pin="d:3,2 b:1,1", lanes="0-31 200"),
        *each(f"/i/{SPARSE}", {}, selector="1 2", pin="d:0,0", colour="register"),
        *each(f"/i/{QUADS}", {}, product="1 3 4", pin="d:1,1"),
        *each(f"/i/{T05}f16", {}, idesc="m=128,n=64 0x0 x", m="64 7", n="32", a="bf16", transpose_b="MN", pin="d:3,2",
              view="m:0-32"),
        f"/i/{T05}mxf8f6f4.block_scale", f"/i/{T05}mxf4.block_scale", "/i/tcgen05.mma.sp.cta_group::2.kind::f16",
        "/i/tcgen05.mma.ws.cta_group::1.kind::i8", "/i/tcgen05.ld.16x64b.x4", "/i/tcgen05.cp.cta_group::1.128x256b",
        "/i/wgmma.mma_async.sp.m64n8k64.f32.e4m3.e4m3", "/i/mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
        "/i/mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3?thread_id=1",
        "/i/wmma.mma.row.col.m16n16k16.f32.f32", "/i/wmma.store.d.col.m16n16k8.f32?ldm=20&pointer=0x10",
        "/i/stmatrix.m8n8.x2.shared.b16", "/i/ldmatrix.m16n16.x1.trans.shared.b8x16.b6x16_p32",
        "/i/mma.m8n8k4.row.col.f64.f64.f64.f64", "/i/mma.m16n8k8.row.col.f32.tf32.tf32.f32?pin=d:1,1",
        *each(f"/i/{MMA}/a.svg", {}, colour="t register x", label="register index", lanes="0-3", rows="0-7 0-7,9 9-1",
              cols="8-15", theme="bw dark x", cell="40 40x20 2x2 200x200 1 201 2x1 2x201 x", title="T", legend="1 x",
              caption="1", lang="de fr zh x", product="0 1", warps="0", embed="1", scale="1", x="1"),
        *texts(f"/i/{MMA}"), f"/i/{MMA}.svg?rows=0-7", *texts(f"/i/{WGMMA}/d?warps=1&legend=1&caption=1&lang=fr"),
        *(f"/i/{MMA}/a.{form}?scale={n}&embed=0" for form in ("tex",) for n in ("0.25", "8", "8.1", "0.2", "x")),
        *each("/diagram", {"ptx": MMA}, operand="a d x", colour="t", label="index", form="png pdf tex csv x",
              theme="bw",
              lanes="0-3", caption="1", lang="de", title="T", ptx="zz"),
        *each("/diagram", {"ptx": WGMMA, "operand": "d"}, warps="1", rows="0-7", cell="20", pin="d:3,2"),
    ],
    "steps": [
        *each(f"/steps/{MMA}", {}, row="3 16", col="5 x", seed="2", a="i+col x( 1", b="row==col", c="1", product="1",
              backend="x"),
        *each(f"/steps/{WGMMA}", {"row": "3"}, a="major=MN,swizzle=64B x kind=rows,pitch_bytes=144", b="major=MN",
              data_a="i zz(", data_b="1", c="i"),
        *(f"/steps/{ptx}.txt?row=1&col=1&seed=3" for ptx in (MMA, QUADS, SPARSE, "mma.m16n8k32.row.col.s32.s8.u8.s32",
          "wgmma.mma_async.sp.m64n8k32.f32.f16.f16", "wgmma.mma_async.m64n8k16.f32.f16.f16",
          "mma.m8n8k4.row.col.f64.f64.f64.f64")),
        f"/steps/{QUADS}?product=2", f"/steps/{SPARSE}", "/steps/zz", "/steps/ldmatrix.m8n8.x4.shared.b16",
        f"/steps/{MMA}.json?c=1", "/steps/wgmma.mma_async.m64n8k16.f32.f16.f16.txt?a=from%3Dregisters",
    ],
}  # fmt: skip


LONG = "".join(f"// line {n} of a module that no address holds\n" for n in range(400)) + MODULE
CODE = """uint64_t desc = 0;
desc |= (smem_addr & 0x3FFFF) >> 4;
desc |= (uint64_t)1 << 16;
desc |= (uint64_t)64 << 32;
desc |= (uint64_t)1 << 62;
return desc;"""
COPIED: Any = BODIES["/api/v1/tiles/copy"]
LOOPED: Any = BODIES["/api/v1/tiles/loop"]
FED = {"tiled_mma": {"atom": SM80["atom"], "atom_layout": "(1,1,2)", "tile": [16, 8, 32]}, "tile": [16, 8],
       "atom": "universal", "bits": 32, "operand": "c"}  # fmt: skip
MULTICAST = {"atom": "SM90_TMA_LOAD_MULTICAST", "tile": [64, 64], "multicast": 2, "global": "(256,256):(256,1)",
             "storage": {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B"}}  # fmt: skip
NPY = io.BytesIO()
np.save(NPY, np.arange(12, dtype=np.float32).reshape(3, 4))
STEP = {"instruction": WGMMA, "row": 3, "col": 5}
POSTED: list[tuple[str, dict[str, Any] | str | bytes]] = [
    *(("/descriptor/read.json", body) for body in (
        {"text": "1<<62"}, {"text": "zz"}, {"text": CODE, "start": "4096"}, {"text": CODE}, {"text": CODE,
        "start": "x"},
        {"text": 7}, {"text": ""}, {"words": 1}, {"text": f"{CODE}\n{CODE.replace('desc', 'other')}"},
    )),
    (triton.PATH, urlencode({"text": BLOCKED, "shape": "16x16", "colour": "lane"})),
    (triton.PATH, urlencode({"text": LONG, "pick": "1"})), (triton.PATH, {"text": BLOCKED}),
    (triton.PATH, urlencode({"text": "".join(f"%{n} = {n * n * 7919 % 10007}\n" for n in range(3000)) + MODULE})),
    (f"/steps/{MMA}", "a=i&row=1"), (f"/steps/{WGMMA}", urlencode({"a": "swizzle=64B", "row": "1", "data_b": "row"})),
    (f"/steps/{MMA}.txt", "b=i%252"), (f"/steps/{MMA}.json", "b=x("), ("/steps/file.json", NPY.getvalue()),
    ("/steps/file.json", b"no file"),
    *(("/api/v1/steps", body) for body in (
        STEP, STEP | {"row": 64}, STEP | {"a": "swizzle=64B"}, STEP | {"a": "x"}, STEP | {"instruction": MMA, "a": "x"},
        {"instruction": "wgmma.mma_async.sp.m64n8k32.f32.f16.f16", "row": 1}, {"instruction": MMA, "col": 9},
        {"instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16", "a": "from=registers", "row": 1},
        {"instruction": "mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "row": 9},
        {"instruction": "wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc", "row": 9},
    )),
    *(("/api/v1/banks", body) for body in (LOOPED, LOOPED | {"a": {**LOOPED["a"], "storage": {
        "kind": "rows", "pitch_bytes": 128}}}, {"tiled_mma": LOOPED["tiled_mma"]})),
    *(("/api/v1/tiles/copy", body) for body in (
        FED, FED | {"like": COPIED}, {"tile": [64, 64], "atom": "universal", "bits": 16, "like": COPIED, "side": "D"},
        {"tile": [64, 64], "atom": "universal", "bits": 16, "like": {"atom": "x"}}, FED | {"operand": "b"}, MULTICAST,
        MULTICAST | {"storage": {"kind": "rows", "pitch_bytes": 144}}, MULTICAST | {"tile": None},
        MULTICAST | {"major": 1},
    )),
    *(("/api/v1/tiles/loop", LOOPED | {"k": k}) for k in (4096, 100, 0)),
]  # fmt: skip


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app()


ASKED = [(tool, n) for tool, addresses in GROUPS.items() for n in range(0, len(addresses), FEW)]


def said(answer: asgi.Answer) -> str:
    """An answer's status, where it leads, and its text without what a build changes."""
    text = answer.body.decode()
    head, main, rest = text.partition("<main")
    shown = steady(head[head.find("<title>") : head.find("</title>")] + rest if main else text)
    return f"{answer.status} {answer.headers.get('location', '')} {shown}"


@pytest.mark.parametrize(("tool", "first"), ASKED)
def test_every_answer(app: Any, tool: str, first: int) -> None:
    addresses = GROUPS[tool][first : first + FEW]

    async def all_() -> list[asgi.Answer]:
        return [await asgi.ask(app, "GET", address) for address in addresses]

    for address, answer in zip(addresses, asgi.run(all_()), strict=True):
        held_sum(f"tools/{tool}", address, said(answer))


@pytest.mark.parametrize("number", range(len(POSTED)))
def test_every_answer_to_what_is_posted(app: Any, number: int) -> None:
    path, body = POSTED[number]
    form = {"content-type": "application/x-www-form-urlencoded"} if isinstance(body, str) else {}
    answer = asgi.get(app, path, "POST", body.encode() if isinstance(body, str) else body, headers=form)
    held_sum("tools/posted", f"{number} {path}", said(answer))
