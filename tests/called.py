"""The engine's own functions called wrongly, or for what they say: messages that no request of tests.asked reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from lanescope import find, reading, triton
from lanescope.blackwell import idesc, scales, scaling, tmem, umma_atom
from lanescope.capture import locate
from lanescope.cute import algebra
from lanescope.cute import layout as cute
from lanescope.cute import text as cutetext
from lanescope.cxx import formula
from lanescope.cxx.expression import evaluate
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import View
from lanescope.descriptor.spelling import read_word
from lanescope.product import options
from lanescope.product.planning import plan
from lanescope.ptx import qualifiers
from lanescope.ptx.catalog import access, instructions
from lanescope.ptx.dtypes import dtype
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.ptx.table.mma import FAMILIES
from lanescope.reader import layout as layout_text
from lanescope.render import diagram, kernel, placed
from lanescope.render.tikz import tikz
from lanescope.render.view import Grid, operand_figure
from lanescope.shared import banks, chain, pieces, slices
from lanescope.shared.feeding import why_not
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES, mode
from lanescope.shared.tile_map import TileMap
from lanescope.shared.tiling import Tile
from lanescope.tiles import reuse, umma
from lanescope.tiles.bulk import tma_copy
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.loop import feed
from lanescope.tiles.mma import tiled_mma
from lanescope.triton import linear
from lanescope.triton.gluon import triton_layout
from tests.asked import F16, W16

S8, S4, B1, TF32 = (
    "mma.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
    "mma.m16n8k8.row.col.f32.tf32.tf32.f32",
)
W8 = "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3"
WB1 = "wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc"
PLANS = (
    (W16, "kind=cute,layout=$(rm)", ""), (W16, "kind=rows,pitch_bytes=0", ""),
    (W16, "kind=cute,layout=(64,64):(1,1)", ""), (W16, "kind=rows,pitch_bytes=128,swizzle=128B,base=232400", ""),
    (W16, "kind=rows,pitch_bytes=128,swizzle=none", ""),
    (W16, "kind=cute,layout=Sw<3,4,7> o (64;64):(64;1)", ""), (W16, "kind=cute,layout=Sw<3,4,7> o (64,64):(64,1)", ""),
    (W16, "kind=cute,layout=(64,8):(8,1)", ""), (WB1, "kind=cute,layout=(64,256):(1,64)", ""),
    (W16, "from=registers,k=1024", "k=1024"), (W16, "k=24", ""), (W16, "swizzle=128B,k=48", ""),
    (W16, "mn=64,first=8", ""), (W16, "mn=128,first=72", ""), (W16, "swizzle=64B,base=8", ""), (W16, "order=x", ""),
    (W16, "k=4096", ""),
    (W8, "major=MN", ""), (S4, "major=MN", ""), (F16, "pitch_bytes=40", ""),
    (F16, "load=ldmatrix,pitch_bytes=48", "load=ldmatrix,major=MN"), (S8, "load=ldmatrix,major=MN", ""),
    ("mma.m8n8k4.row.col.f64.f64.f64.f64", "load=ldmatrix", ""),
    ("mma.m8n8k4.row.col.f32.f16.f16.f32", "load=ldmatrix", ""), ("wmma.mma.row.col.m16n16k16.f32.f32", "ldm=8", ""),
    ("wmma.mma.row.col.m16n16k16.f32.f32", "ldm=20", ""), ("wmma.mma.col.col.m16n16k16.f32.f32", "ldm=8", ""),
    (W16, "base=0", "base=1024"), (W16, "", "base=300000"), (W16, "descriptor=0x4000004000013fff", ""),
    (W16, "scale=2", ""), ("mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "byte_id=7", ""),
)  # fmt: skip
# An operation of the algebra that CuTe would not compile, or whose result is not what it means.
ALGEBRA = (
    ("composition", "(6,2):(8,2)", "(4,3):(3,1)"), ("composition", "(4,6):(1,5)", "3:6"),
    ("composition", "(6,2):(1,9)", "4:2"), ("composition", "(7,10):(1,100)", "8:2"),
    ("composition", "(2,(12,2)):(16,(64,4))", "((5,3),1):((2,10),2)"), ("composition", "64:1", "Sw<3,3,3> o 64:1"),
    ("composition", "(4,4)", "(2,2,2)"), ("complement", "(4,4):(1,2)", ""), ("complement", "Sw<1,1,1> o 4:1", ""),
    ("left_inverse", "(2,2):(2,3)", ""), ("left_inverse", "(4,4):(1,1)", ""), ("upcast", "8:3", "2"),
    ("upcast", "Sw<3,3,3> o 1 o 8:2", "2"), ("upcast", "Sw<3,3,3> o 9:3", "3"), ("downcast", "8:2", "2"),
    ("zipped_divide", "(4,4)", "(2,_)"), ("tile_to_shape", "(8,64)", "(12,64)"), ("sliced", "(4,4)", "(_,(0,_))"),
)  # fmt: skip
FED: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    (S8, "a", {"kind": "rows", "pitch_bytes": 64}, "MN"), (S8, "b", {"kind": "rows", "pitch_bytes": 64}, "MN"),
    (S4, "a", {"kind": "rows", "pitch_bytes": 64}, "MN"), (B1, "a", {"kind": "cute", "layout": "(16,256):(1,16)"}, "K"),
    (TF32, "a", {"kind": "rows", "pitch_bytes": 64}, "MN"),
    (F16, "d", {"kind": "cute", "layout": "(16,8):(3,48)"}, "K"),
    (F16, "a", {"kind": "cute", "layout": "Sw<2,0,5> o (16,16):(16,1)", "unit": "bytes"}, "K"),
    (F16, "a", {"kind": "cute", "layout": "(16,16):(17,1)"}, "K"), (F16, "d", {"kind": "rows", "pitch_bytes": 20}, "K"),
    (F16, "a", {"kind": "cute", "layout": "Sw<1,0,4> o (16,32):(32,1)", "unit": "bytes"}, "K"),
    (B1, "a", {"kind": "cute", "layout": "(16,(8,32)):(8,(1,128))"}, "K"),
    (S8, "d", {"kind": "cute", "layout": "(16,8):(2,32)"}, "K"),
)  # fmt: skip


def fed(ptx: str, letter: str, spec: dict[str, Any], major: str) -> list[str]:
    """Which loads or stores feed an operand from a storage, and why none does."""
    operand = pieces.in_memory(find(ptx).operand(letter))
    where, store = chain.stored(spec, operand, major), letter in "cd"
    return [*(c.load.instruction.ptx for c in chain.advise(operand, where, store)), why_not(operand, where, store)]


def turned_a() -> Instruction:
    """An instruction whose A lies in other warps than D: rows and columns of D's map."""
    wg = find(W16)
    turned = replace(
        wg.family, fragments={**wg.family.fragments, "a": "(w:4 g:8 t:4) (j:2 i:2 e:2) -> (i g w) (j t e)"}
    )
    return replace(wg, family=turned)


def astuple_of(row: Any) -> list[str]:
    return [part for part in (getattr(row, name) for name in row.__dataclass_fields__) if isinstance(part, str)]


Call = tuple[str, Callable[[], Any]]  # words for the golden file; what answers with texts, or is refused


def _algebra(act: str, one: str, by: str) -> Any:
    left = cutetext.read_layout(one)
    right = cutetext.read_coordinate(by) if act == "sliced" else cutetext.read_tiler(by) if by else None
    return getattr(algebra, act)(left, right) if by else getattr(algebra, act)(left)


def calls() -> list[Call]:
    i, wg = find(F16), find(W16)
    a = i.operand("a")
    row = next(family for family in FAMILIES if "m16n8k16" in family.shapes and not family.axes)
    pattern = Pattern.parse("(g:8 t:4) (j:2) -> (g) (t j)")
    tile = Tile(16, "K", mode("128B"), 64, 64)

    def family(**changes: Any) -> Any:
        changed = replace(row, **changes)
        return [op.name for member in changed.instructions() for op in changed.bind_operands(member)]

    out: list[Call] = []
    for text in (
        "", "x", "(g:8) -> (g)", "(g:8) (j:2) (k:2) -> (g j)", "(g:8) (j:2) -> (g x)", "(g:8) (g:2) -> (g)",
        "(g:0) (j:2) -> (g j)", "(g:q) (j:2) -> (g j)", "(G:8) (j:2) -> (G j)", "(g:8) (j:2) -> (g) (g)",
        "(g:8) j:2 -> (g) (j)",
        "(g:8+1) (j:2) -> (g j)", "(g:8/3) (j:2) -> (g j)", "(g:8) (j:2) -> ", "(g:99999) (j:99999) -> (g) (j)",
        "(g:8) (j:2) -> (g) -> (j)", "x" * 5000, "(g:8) (j) -> (g) (j)",
    ):  # fmt: skip
        out.append((f"pattern {text[:60]}", lambda text=text: str(Pattern.parse(text))))
    for text in (
        "", "(4,8):(8,1)", "Layout<Shape<_4,Int<kN>>>", "(4,0)", "(4,_)", "(4,8):(8", "(4,8):8", "4:1 o 4:1",
        "x" * 5000, "Sw<3,4,3>", "f(4)", "Int<_>", "(" * 99, "4 4", "Sw<4,4,3> o 8:1", "2*_",
        "make_ordered_layout((4,8),(1,(2,3)))",
    ):  # fmt: skip
        out.append((f"layout {text[:60]}", lambda text=text: str(cutetext.read_layout(text))))
    whole = tiled_mma(F16)
    shared = storage({"kind": "rows", "inner": "K", "pitch_bytes": 128}, 16, "K")
    small = tiled_copy("universal", thr_layout="(8,4)", tile=(8, 4))
    out.append(("C in a main loop", lambda: feed(whole, "c", shared, "ldmatrix.m8n8.x4.shared.b16")))
    narrow = tiled_mma("mma.m16n8k64.row.col.s32.s4.s4.s32")
    out.append(("elements of half a byte in a main loop", lambda: feed(narrow, "a", shared, "universal")))
    out.append(("a store of another tile", lambda: feed(whole, "a", shared, "universal", store=small)))
    threads = triton_layout("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (32, 16))
    out.append(("element outside a Triton layout", lambda: threads.owner(32, 0)))
    out.append(("a kind of layout without maps", lambda: triton.linear("amd_mfma", {}, (8, 8))))
    out.append(("operand z of a TiledMMA", lambda: whole.operand("z").name))
    out.append(("element outside a TiledMMA's A", lambda: whole.a.owner(16, 0)))
    blocked = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
    held = triton_layout(blocked, [64, 64], 16)
    out.append(("element outside a Triton layout", lambda: held.owner(64, 0)))
    out.append(
        ("a Triton layout whose order is a symbol", lambda: triton_layout(blocked.replace("[1, 0]", "O"), [8, 8]))
    )
    rows = storage({"kind": "rows", "pitch_bytes": 128}, 16, "K")
    out.append(("TMA of no atom", lambda: tma_copy("SM75_U32x4_LDSM_N", tile=(64, 64), where=rows)))
    out += [
        (f"a TiledCopy from a map {given}", lambda given=given: tiled_copy("universal", **given))
        for given in (
            {"layout_tv": "32:1", "tiler_mn": "(8,4)"},
            {"layout_tv": "(32,4):(4,1)"},
            {"layout_tv": "(2048,2):(2,1)", "tiler_mn": "(64,64)"},
            {"layout_tv": "(32,4):(4,1)", "tiler_mn": "(8,8)"},
            {"tiled_mma": whole, "operand": "c_atom", "bits": 128, "element_bits": 16},
            {"tiled_mma": whole, "operand": "a", "bits": 128, "element_bits": 8, "tile": (16, 16)},
        )
    ]
    open_atom = "Tiled MMA\n  Thr Layout VMNK: (32,1,1,1):(1,0,0,0)\n  Permutation MNK: (_,_,_)"
    out.append(("a TiledMMA's print without its atom", lambda: tiled_mma(open_atom)))
    product = "tcgen05.mma.cta_group::1.kind::f16"
    out.append(("where A of an UMMA comes from", lambda: umma.atom_of(product, "0x08400490", "registers")))
    scalar = "make_tiled_mma(UniversalFMA<float,float,float>{}, Layout<Shape<_16,_16,_1>>{});"
    out.append(("a TiledMMA of scalars", lambda: tiled_mma(scalar)))
    out.append(("a TiledCopy's print without its layouts", lambda: tiled_copy("Tiled Copy, Tiler MN")))
    unsuited = tiled_mma(F16, "(2,1,1)", "((16,3,2):(1,32,16),_,_)")
    out.append(("a permutation that its atoms do not divide", lambda: unsuited.a))
    laid: Any = {"thr_layout": "(32,8):(8,1)", "val_layout": "(1,8)", "tile": (32, 64)}
    for atom in ("SM80_CP_ASYNC_CACHEALWAYS<T>", "SM80_CP_ASYNC_CACHEGLOBAL<float>"):
        out.append((f"a TiledCopy of {atom}", lambda atom=atom: tiled_copy(atom, **laid)))
    out.append(("a TiledCopy of TMA", lambda: tiled_copy("SM90_TMA_LOAD", tile=(64, 64), thr_layout="(32,1)")))
    out.append(("a coordinate tensor", lambda: layout_text.read("ArithTuple(_0,_0) o (_128,_64):(_1@0,_1@1)")))
    out.append(("a Triton layout of nine sizes", lambda: triton_layout(blocked, [1] * 9)))
    out.append(("linear layout of kind 'ttg.other'", lambda: triton.linear("ttg.other", {}, (8, 8))))
    for text in ("4:1", "((3,8),4):((1,4),32)", "((4,8),(2,2)):((2,8),(1,3))", "((4,8),(2,2)):((32,1),(16,8))"):
        out.append(
            (f"linear layout of CuTe {text}", lambda text=text: linear.from_cute(cute.parse(text), (16, 8)).bases)
        )
    f16 = idesc.kind("f16")
    out.append(("operand b in tensor memory", lambda: str(tmem.layout(tmem.Mma(f16, "ws", False, 32, 64), "b"))))
    pair = scaling.sides(tmem.Mma(idesc.kind("mxf4"), "cta_group::2", False, 128, 64), 64, (0, None), (0, None))
    out.append(("copies of a pair with M = 128", lambda: str(pair[0].copies())))
    plain = tmem.Mma(f16, "cta_group::1", False, 128, 64)
    byte = idesc.kind("mxf8f6f4")
    out.append(
        ("4X of mxf8f6f4", lambda: str(umma_atom.made(byte, "cta_group::1", {"m": 128, "n": 64}, factors="4X").word))
    )
    out.append(("scale factors of kind::f16", lambda: str(scaling.sides(plain, 64, (0, None), (0, None)))))
    out.append(("scale factors of 96 rows", lambda: str(scales.tile(96, 4))))
    out.append(("a field that kind::f16 has not", lambda: idesc.kind("f16").part("sfa_id").name))
    out.append(("tiler Sw<3,4,3>", lambda: cutetext.read_tiler("Sw<3,4,3>")))
    out.append(("coordinate (4:1,_)", lambda: cutetext.read_coordinate("(4:1,_)")))
    none = locate.Image(np.zeros(0, np.uint8), 0)
    out.append(
        ("a tile in 0 bytes", lambda: str(locate.search(none, np.ones((8, 8), np.uint64), 16, desc.Descriptor(64))))
    )
    rows_of_a = plan(find(W16), a="kind=rows,pitch_bytes=128,swizzle=128B,k=64", b="swizzle=128B,k=64")
    out.append(("step 4 of 4", lambda: str(rows_of_a.a.right(4))))
    for act, one, by in ALGEBRA:
        out.append((f"{act} {one} {by}", lambda act=act, one=one, by=by: str(_algebra(act, one, by))))
    for text, extents in (
        ("8:1", (8,)),
        ("(8,2):(1,8)", (8, 4)),
        ("(8,2):(2,1)", (8, 2)),
        ("(99999,99999):(1,99999)", (8, 8)),
        ("(8,2):(1,16)", (8, 4)),
        ("((4,8),2:1", (8, 8)),
        ("(8,2):(1,8)" + " " * 5000, (8, 2)),
    ):
        out.append(
            (
                f"pattern of CuTe {text[:40].strip()} over {extents}",
                lambda text=text, extents=extents: str(Pattern.from_cute(text, extents)),
            )
        )
    out += [("owners of 1 coordinate", lambda: pattern.owners(1)), ("owners outside", lambda: pattern.owners(8, 0))]
    for text in (
        "(8",
        "8):1",
        "(8,):(1,)",
        "(,8):(1,1)",
        "(8 8):(1,8)",
        "()",
        "():()",
        "(8,(8):(1,8)",
        "((8,8)(8)):((1,8)(64))",
        "8(8):1(1)",
        "99999999999:1",
        "smem_ptr[16b](unset) o 8 o 8:1",
        "9999999999 o 8:1",
        "8:1" + " " * 9000,
    ):
        out.append((f"CuTe {text[:40]}", lambda text=text: str(cute.parse(text).shape)))
    for text in (
        "-5", "1" * 600, "123;", "123u", "0d", "1 2", "12345678 00000001", "{99, 1}", "{1, 0x1ffffffff}",
        "{low = 1, low = 2}", "{a = 1, b = 2}", "1 + 08", "1 = 2", "2 3 + 1", "(int)5000000000 + 0",
        "1 + 99999999999999999999", "(uint8_t)300 | 0", "1 ? 2 : 3 + x",
        "constexpr uint64_t d = 0x5; + 1", "~0", "!x", "1 << -1", "1 % 0", "5 ++ 1", "((1)", "1 ||", "'a' + 1",
        "1 << 31 << 1", "0xffffffff + 1", "0x7fffffff + 1", "65536 * 65536", "-1", None, 1.5, 1 << 70, -3, True,
    ):  # fmt: skip
        out.append(
            (
                f"word {str(text)[:60]}",
                lambda text=text: [hex(read_word(text).word), [n.text for n in read_word(text).warnings]],
            )
        )
    for spec in (
        {"kind": "canonical", "swizzle": "128B", "swizzle_by": "tile", "base": 0x410},
        {"kind": "rows", "pitch_bytes": 128, "swizzle": "64B"}, {"kind": "cute", "layout": "(64,64):(64,1)"},
        {"kind": "atoms", "width_bytes": 64, "outer8_stride": 512, "inner_stride": 4096},
        {"kind": "canonical", "swizzle": "none", "mn": 64, "k": 64},
    ):  # fmt: skip
        out.append((f"storage {spec}", lambda spec=spec: storage(spec, 16, "K").text))
        out.append(
            (
                f"its tile's descriptor {spec}",
                lambda spec=spec: str(storage(spec, 16, "K").tile and storage(spec, 16, "K").tile.descriptor()),
            )
        )
    out += [
        ("mode 7B", lambda: mode("7B")), ("type f17", lambda: dtype("f17")),
        *[(f"the word {word}", lambda word=word: desc.Descriptor(word)) for word in (-1, 1 << 64, None)],
        ("view of operand c", lambda: desc.view(wg, "c", "K")), ("view of major M", lambda: desc.view(wg, "a", "M")),
        ("tile of major M", lambda: Tile(16, "M", mode("128B"), 64, 64)),
        ("tile swizzled by row", lambda: Tile(16, "K", mode("128B"), 64, 64, swizzle_by="row")),
        ("tile of order z", lambda: Tile(16, "K", mode("128B"), 64, 64, "z")),
        ("tile 8×65536", lambda: Tile(16, "K", mode("128B"), 8, 65536 * 64)),
        ("tile 4096×4096", lambda: Tile(16, "K", mode("128B"), 65536, 65536)),
        ("slice at mn 4", lambda: tile.descriptor(4, 0)), ("slice at mn 64", lambda: tile.descriptor(64, 0)),
        ("slice at k 8", lambda: tile.descriptor(0, 8)),
        ("slice inside an MN-major atom", lambda: Tile(16, "MN", mode("128B"), 128, 64).descriptor(8, 0)),
        ("lines of major M", lambda: chain.lines(a, "M")),
        ("addresses as text", lambda: banks.parse("0, 4, x")),
        ("a long list of addresses", lambda: banks.parse("0, " * 2000)),
        ("a pattern of rows", lambda: banks.rows(banks.access("ldmatrix.x4"), "q", 128)),
        ("a pitch of 0", lambda: banks.rows(banks.access("ldmatrix.x4"), "ldmatrix", 0)),
        ("swizzle 1,2", lambda: str(cute.read_swizzle("1,2"))),
        ("swizzle 3,4,2", lambda: str(cute.read_swizzle("3,4,2"))), ("a pair", lambda: reading.pair("1;2", "pin")),
        ("options as a number", lambda: options.read(7, "a")),
        ("an option as a list", lambda: options.read({"k": []}, "a")),
        ("two tiles that meet late",
        lambda: reuse.reuse(find("wgmma.mma_async.m64n240k32.s32.s8.s8"),
        find("wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc")).verdict),
        ("a row whose pattern is too small",
        lambda: family(fragments={**row.fragments, "a": "(g:8 t:4) (v:2) -> (g) (t v)"})),
        ("a row with a wrong shape", lambda: family(shapes=("16x8x16",))),
        ("a row with 16 threads", lambda: family(fragments={**row.fragments, "d": "(g:4 t:4) (v:16) -> (g) (t v)"})),
        ("a row that fills half a register",
        lambda: family(fragments={**row.fragments, "a": "(g:8 t:4) (z:1) -> (g) (t z)"})),
        ("language it", lambda: diagram.caption(operand_figure(a), "it")),
        ("colour z", lambda: Grid(a).category("z").tolist()), ("label z", lambda: Grid(a).labels("z")),
        ("a tile's map drawn sideways", lambda: TileMap(tile, "x")),
        ("a tile's map of bits", lambda: TileMap(Tile(1, "K", mode("128B"), 64, 1024), "mn", "element")),
        ("no strides", lambda: placed.summands([0, 1, 5, 7])),
        ("an opcode of 300 characters", lambda: find("mma" + ".m16n8k16" * 40)),
    ]  # fmt: skip
    out += [(f"access pattern {name}", lambda reach=reach: astuple_of(reach)) for name, reach in banks.REACHES.items()]
    for ptx, options_of_a, options_of_b in PLANS:
        out.append(
            (
                f"program {ptx} a {options_of_a} b {options_of_b}",
                lambda ptx=ptx, one=options_of_a, two=options_of_b: kernel.title(plan(find(ptx), one, two)),
            )
        )
    for ptx, letter, spec, major in FED:
        out.append(
            (
                f"why {ptx} {letter} is not fed by {spec} {major}",
                lambda ptx=ptx, letter=letter, spec=spec, major=major: fed(ptx, letter, spec, major),
            )
        )
    for text in ("1e300 * 1e300", "~1.5", "-" * 200 + "1", "1 << 53 << 2"):
        out.append(
            (f"formula {text[:30]}", lambda text=text: formula.evaluate(text, {"i": np.zeros(1)}, "a")[0].tolist())
        )
    out += [
        ("a format's field x", lambda: WGMMA.field("x").name), ("a format's mode 7B", lambda: WGMMA.named("7B").name),
        ("a format's reserved code", lambda: replace(WGMMA, codes={mode("none"): 0, mode("128B"): 1}).mode(3).name),
        ("an access that no table has", lambda: access(find(F16), "a", "row").ptx),
        ("fragments that meet across warps",
        lambda: reuse.reuse(find("wgmma.mma_async.m64n8k16.f32.f16.f16"), turned_a())),
        ("a matrix of nibbles", lambda: TileMap(Tile(16, "K", mode("128B"), 1024, 64), "mn", "element").rows),
        ("colours outside a page",
        lambda: tikz('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect x="0" y="0" width="4" '
                     'height="4" fill="var(--fill-0)"/></svg>')),
        ("a row that holds too little",
        lambda: family(fragments={**row.fragments, "d": "(g:8 t:4) (v:2) (i:1) -> (g) (t v)"})),
        ("a constant expression that is too long", lambda: hex(evaluate("1+" * 3000 + "1").word)),
        ("two words without order", lambda: hex(read_word("0x00010100 0x40000040").word)),
        ("a tile of its own start off 128 bytes",
        lambda: Tile(16, "K", mode("128B"), 64, 64, base=0x410, swizzle_by="tile").base_offset),
    ]  # fmt: skip
    for one in (
        Tile(16, "MN", mode("128B"), 256, 64),
        Tile(16, "MN", mode("64B"), 192, 64),
        Tile(16, "K", mode("128B"), 136, 64),
        Tile(16, "MN", mode("none"), 136, 64),
    ):
        for rows in (8, 24, 32, 64, 128):
            out.append(
                (
                    f"steps of {rows} rows along {one.mn} of {one.mode.name} {one.major}-major",
                    lambda one=one, rows=rows: [f"{s.mn}: {s.why}" for s in slices.mn_steps(one, rows)],
                )
            )
    for word in (
        0x000E004000010100,
        0x4000004000410100,
        0x4000004000010108,
        0x800E004000010108,
        0x4000404000010100,
        0x40000040000100FF,
    ):
        for text in (W16, "wgmma.mma_async.m64n8k16.f32.f16.f16"):
            view = desc.view(find(text), "a", "K")
            one = desc.Descriptor(word)
            out.append(
                (
                    f"warnings of {word:#x} in {text}",
                    lambda one=one, view=view: [
                        w.message for w in (*desc.warnings(one), *desc.repeated(one, view), *desc.outside(one, view))
                    ],
                )
            )
    for bits, major in ((8, "K"), (16, "K"), (16, "MN")):
        for m in MODES:
            one = Tile(bits, major, m, 128, 256 if bits == 8 else 128, base=0x1000)
            out.append((f"strides of {m.name} {major}-major {bits} bits", lambda one=one: slices.stride_words(one)))
            for rows in (8, 64):
                view = View(rows, one.step(), bits, major)
                out.append(
                    (
                        f"inert fields of {m.name} {major}-major {bits} bits, {rows} rows",
                        lambda one=one, view=view: desc.inert(one.descriptor(), view),
                    )
                )
    seen: set[str] = set()
    for member in instructions():
        told = [" ".join(map(str, astuple(part))) for part in qualifiers.parts(member)] + [
            qualifiers.convergence(member)
        ]
        new = [word for word in told if word not in seen]
        seen.update(new)
        out += [(f"the words of {member.ptx}", lambda new=new: new)] if new else []
    return out
