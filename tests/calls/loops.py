"""Main loops, conversions and the code of tiles: what arrives, what it costs and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from lanescope.cute.text import read_layout
from lanescope.shared.storage import storage
from lanescope.tiles import bulkcode, code, umma_code
from lanescope.tiles.bulk import tma_copy
from lanescope.tiles.chained import chained
from lanescope.tiles.convert import converted
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.loop import feed
from lanescope.tiles.memory import global_side, shared_side
from lanescope.tiles.mma import tiled_mma
from lanescope.triton.gluon import triton_layout
from tests.calls import Call
from tests.calls.captured import call

F16 = "SM80_16x8x16_F32F16F16F32_TN"
FORMS: dict[str, tuple[Any, ...]] = {
    "f16": (F16, "(2,2,1)", "(32,32,16)", (32, 32, 32)), "s8": ("SM80_16x8x32_S32S8S8S32_TN", None, None, (16, 8, 64)),
    "tf32": ("SM80_16x8x8_F32TF32TF32F32_TN", "(2,1,1)", None, (32, 8, 16)), "f64": ("SM80_8x8x4_F64F64F64F64_TN",
    None, None, (8, 8, 8)),
    "s4": ("SM80_16x8x64_S32S4S4S32_TN",), "rs": ("SM90_64x64x16_F32F16F16_RS",), "ss": ("SM90_64x64x16_F32F16F16_SS",),
    "quad": ("SM70_8x8x4_F32F16F16F32_TN", "(2,2,1)"),
    "umma": ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>",),
    "umma a in tmem": ("SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::MN>",),
}  # fmt: skip
STORES: tuple[dict[str, Any], ...] = (
    {"kind": "rows", "pitch_bytes": 64, "swizzle": "none"}, {"kind": "rows", "pitch_bytes": 80, "swizzle": "none"},
    {"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B"}, {"kind": "canonical", "mn": 8, "k": 8,
    "swizzle": "none"},
    {"kind": "rows", "pitch_bytes": 68, "swizzle": "none"}, {"kind": "cute", "layout": "(32,32):(1,32)",
    "unit": "elements"},
    {"kind": "cute", "layout": "(32,32):(16,1)", "unit": "elements"},
)  # fmt: skip
LOADS = (
    "universal",
    "UniversalCopy<uint32_t>",
    "SM75_U32x4_LDSM_N",
    "SM75_U32x2_LDSM_N",
    "SM75_U16x4_LDSM_T",
    "SM90_U32x4_STSM_N",
    "cp.async",
)
TRITON = (
    "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", "gl.BlockedLayout([4, 1], [4, 8], [1, 4], [0, 1])",
    "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [0, 1])",
    "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8])",
    "gl.BlockedLayout([1, 8], [8, 4], [2, 1], [1, 0])", "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0], [[1, 0]])",
)  # fmt: skip


def of_fed() -> Iterator[Call]:
    """A main loop's operand through a storage, each right and with what does not fit."""
    made = {name: tiled_mma(*given) for name, given in FORMS.items()}
    for name, number, load, op in product(("f16", "s8", "tf32"), range(len(STORES)), LOADS[:5], "ab"):
        if (name, op) == ("f16", "a") or (load in LOADS[:1] + LOADS[2:3] and number < 3):
            yield call(f"{name} {op} {number} {load}", looped, made[name], op, STORES[number], load)
    for name, op, load in product(made, "abcd", ("universal", "SM90_U32x4_STSM_N")):
        yield call(f"{name} {op} {load}", looped, made[name], op, STORES[2], load)
    plain, swizzled = storage(STORES[0], 16, "K"), storage({**STORES[2], "mn": 32}, 16, "K")
    copies = {
        "rows": tiled_copy("universal", thr_layout="(16,8):(8,1)", val_layout="(1,4)", tile=(32, 32)),
        "16 bytes": tiled_copy("universal", bits=128, thr_layout="(32,4):(4,1)", val_layout="(1,8)", tile=(32, 32)),
        "other tile": tiled_copy("universal", thr_layout="(16,8):(8,1)", val_layout="(1,4)", tile=(32, 64)),
    }
    for (words, store), where, layout in product(
        copies.items(), (plain, swizzled), (None, "(32,32):(32,1)", "(32,32):(1,32)")
    ):
        given = None if layout is None else read_layout(layout)
        yield call(
            f"{words} {where.text} {layout}",
            feed,
            made["f16"],
            "a",
            where,
            "SM75_U32x4_LDSM_N",
            store=store,
            layout=given,
        )
        yield call(f"sides {words} {where.text} {layout}", both_sides, store, where, given)
        yield call(
            f"read otherwise {words} {where.text}",
            feed,
            made["f16"],
            "a",
            where,
            "SM75_U32x4_LDSM_N",
            store=store,
            read=plain,
        )
    for one, other in product(made, made):
        yield call(f"{one} then {other}", chained, made[one], made[other])


def looped(mma: Any, op: str, spec: dict[str, Any], load: str) -> Any:
    bits = mma.operand(op).element_bits
    return feed(mma, op, storage(spec, bits, "K"), load)


def both_sides(copy: Any, where: Any, layout: Any) -> list[Any]:
    sides = [shared_side(copy, where, side) for side in ("", "source", "destination")]
    return [*sides, *([global_side(copy, layout, side) for side in ("", "source", "destination")] if layout else [])]


def of_moved() -> Iterator[Call]:
    """From each layout of Triton to each other one."""
    for one, other in product(TRITON, TRITON):
        for bits, costs in ((16, True), (8, False), (64, True)):
            yield call(f"{one[3:60]} {other[3:60]} {bits} {costs}", moved, one, other, bits, costs)
    yield call("sizes", lambda: converted(triton_layout(TRITON[0], (32, 16)), triton_layout(TRITON[0], (32, 32))))
    yield call("bits", lambda: converted(triton_layout(TRITON[0], (32, 16), 8), triton_layout(TRITON[0], (32, 16), 16)))
    shared = "gl.SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0])"
    yield call("memory", lambda: converted(triton_layout(shared, (32, 16)), triton_layout(TRITON[0], (32, 16))))


def moved(one: str, other: str, bits: int, costs: bool) -> list[Any]:
    made = converted(triton_layout(one, (64, 32), bits), triton_layout(other, (64, 32), bits), costs)
    return [made, made._repr_html_() if costs else ""]


def of_written() -> Iterator[Call]:
    """The code of a TiledMMA, a TiledCopy and a box of TMA."""
    for name, given in FORMS.items():
        made = tiled_mma(*given)
        how: Any = umma_code if name.startswith("umma") else code
        yield call(f"C++ {name}", how.cute_cpp, made)
        yield call(f"Python {name}", how.cute_python, made)
        yield call(f"ours {name}", how.lanescope_python, made, given[0])
        if how is code:
            yield call(
                f"name {name}",
                lambda made=made: [code.atom_name(made), code.permuted(made), code.compact(made.thread_layout)],
            )
    for atoms, permutation in (
        ("(2,2,1):(2,1,0)", None),
        ("(1,2,1)", "(_,(8,2,2):(1,16,8),_)"),
        ("(2,1,1)", "(64,_,32)"),
        (None, "(_,_,32)"),
    ):
        made = tiled_mma(F16, atoms, permutation)
        for how in (code.cute_cpp, code.cute_python):
            yield call(f"{how.__name__} {atoms} {permutation}", how, made)
        yield call(f"ours {atoms} {permutation}", code.lanescope_python, made, F16)
    for atom, bits in (
        ("universal", 128),
        ("universal", None),
        ("cp.async", 128),
        ("cp.async", 32),
        ("SM75_U32x4_LDSM_N", None),
    ):
        for thr, val in (("(32,4):(4,1)", "(1,8)"), ("(8,16)", "(8,1)")):
            yield call(f"copy {atom} {bits} {thr}", copied, atom, bits, thr, val)
    for op in "abc":
        made = tiled_copy(
            "SM75_U32x4_LDSM_N" if op != "c" else "universal", tiled_mma=tiled_mma(*FORMS["f16"]), operand=op
        )
        yield call(f"copy of {op}", code.copy_cpp, made, None, None, op)
    for atom, times in (
        ("SM90_TMA_LOAD", 1),
        ("SM90_TMA_LOAD_MULTICAST", 2),
        ("SM90_TMA_STORE", 1),
        ("SM90_TMA_REDUCE_ADD", 1),
    ):
        for tile, bits, major in (((64, 64), 16, "K"), ((128, 128), 16, "K"), ((64, 64), 8, "K"), ((64, 64), 32, "MN")):
            spec = {"kind": "canonical", "mn": tile[0], "k": tile[1], "swizzle": "64B"}
            yield call(f"{atom} {times} {tile} {bits} {major}", boxed, atom, times, tile, bits, major, spec)


def copied(atom: str, bits: int | None, thr: str, val: str) -> list[str]:
    made = tiled_copy(atom, bits=bits, thr_layout=thr, val_layout=val)
    return [code.copy_cpp(made, read_layout(thr), read_layout(val)), code.copy_atom_cpp(made)]


def boxed(atom: str, times: int, tile: tuple[int, int], bits: int, major: str, spec: dict[str, Any]) -> list[Any]:
    made = tma_copy(atom, tile=tile, where=storage(spec, bits, major), element_bits=bits, major=major, multicast=times)
    rows, cols = tile
    layouts = [None, read_layout(f"({rows},{cols}):({cols},1)"), read_layout(f"({rows},{cols}):(1,{rows})")]
    maps = [bulkcode.tensor_map(made, one) for one in layouts]
    return [*maps, bulkcode.starts(made), bulkcode.issued(made), bulkcode.python(made, spec, major)]
