"""The engine asked at random for tiles and what loads them, boxes of TMA, UMMA atoms, layouts of Triton and products of
layouts: no answer changes unnoticed. What answers mean is tested elsewhere.
"""

from __future__ import annotations

import random
from typing import Any

from lanescope.app.layouts.triton import PRESETS
from lanescope.cute import algebra
from lanescope.cute.text import read_layout
from lanescope.errors import LayoutError
from lanescope.render import tensor
from lanescope.shared.storage import storage
from lanescope.tiles import bulkcode, memory, shades, umma_code
from lanescope.tiles import code as tile_code
from lanescope.tiles.bulk import tma_copy
from lanescope.tiles.convert import converted
from lanescope.tiles.copy import TiledCopy, tiled_copy
from lanescope.tiles.feeds import fed
from lanescope.tiles.loop import feed
from lanescope.tiles.mma import TiledMMA, tiled_mma
from lanescope.tiles.same import as_cute
from lanescope.tiles.umma import tiled_umma
from lanescope.triton.gluon import TritonLayout, triton_layout
from tests.doors import MODES, answered, kept, stored
from tests.held import refusal

ATOMS = (
    "SM80_16x8x16_F32F16F16F32_TN",
    "SM80_16x8x8_F32TF32TF32F32_TN",
    "SM80_16x8x32_S32S8S8S32_TN",
    "SM70_8x8x4_F32F16F16F32_TN",
    "SM90_64x32x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>",
    "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>",
    "mma.m8n8k16.row.col.s32.s8.s8.s32",
    "mma.m16n8k64.row.col.s32.s4.s4.s32",
)
COPIES = (
    "universal",
    "cp.async",
    "SM75_U32x4_LDSM_N",
    "SM75_U16x8_LDSM_T",
    "SM75_U32x1_LDSM_N",
    "SM90_U32x4_STSM_N",
    "ldmatrix.m8n8.x2.shared.b16",
    "stmatrix.m8n8.x2.trans.shared.b16",
)
BY_THREADS = (
    ("(32,4):(4,1)", "(1,8)"),
    ("(8,16):(16,1)", "(8,1)"),
    ("(16,8)", "(2,2)"),
    ("(32,1)", "(1,1)"),
    ("(4,8)", None),
    ("((4,2),8):((2,1),8)", "(1,4)"),
    ("(64,4):(4,1)", "(1,16)"),
)


def a_mma(dice: random.Random) -> TiledMMA:
    sizes = [dice.choice((1, 1, 2, 4)), dice.choice((1, 2)), 1]
    atoms = f"({','.join(map(str, sizes))})" + dice.choice(("", "", ":(2,1,0)", ":(1,4,0)"))
    permutation = dice.choice((None, None, "(32,32,16)", "(64,_,_)", "(_,(8,2,2):(1,16,8),_)", "(32,32,32)"))
    return tiled_mma(dice.choice(ATOMS), atoms, permutation, dice.choice((None, (64, 64, 32), (128, 64, 64))))


def codes(made: TiledMMA) -> list[str]:
    return [tile_code.cute_cpp(made), tile_code.cute_python(made), tile_code.lanescope_python(made, "x")]


def test_tiles() -> None:
    """TiledMMAs, the copies of their operands, and the loads through shared memory."""
    dice, lines = random.Random(31), list[str]()
    for number in range(70):
        try:
            made = a_mma(dice)
        except LayoutError as error:
            lines += [f"{number} {refusal(error)}"]
            continue
        operand, load = dice.choice("abc"), dice.choice(COPIES)
        size = (made.tile[0], made.tile[2]) if operand == "a" else (made.tile[1], made.tile[2])
        bits = made.operand(operand).element_bits
        major = dice.choice(("K", "K", "MN"))
        spec = stored(dice, *size, bits, major)
        lines += answered(
            f"{number} {made.atom.instruction.ptx} {made.atom_layout} {made.tile} {operand} {load} {spec}",
            lambda made=made: made,
            lambda made=made: codes(made),
            lambda made=made: shades.shades(made),
            lambda made=made, op=operand, load=load: [
                tiled_copy(load, tiled_mma=made, operand=op, element_bits=made.operand(op).element_bits)
            ],
            lambda made=made, op=operand, load=load, spec=spec, bits=bits, major=major: feed(
                made, op, storage(spec, bits, major), load
            ),
        )
    kept("tiles", lines)


def a_copy(dice: random.Random) -> TiledCopy:
    threads, values = dice.choice(BY_THREADS)
    tile = dice.choice((None, None, (64, 32), (32, 64), (128, 64), (48, 48)))
    bits, element = dice.choice((None, None, 32, 64, 128, 48)), dice.choice((None, 8, 16, 32, 64))
    return tiled_copy(
        dice.choice(COPIES), bits=bits, element_bits=element, thr_layout=threads, val_layout=values, tile=tile
    )


def test_copies() -> None:
    """TiledCopies by layouts of threads and values: what they cost in shared and in global memory, their code, those
    made like them.
    """
    dice, lines = random.Random(32), list[str]()
    for number in range(110):
        try:
            made = a_copy(dice)
        except LayoutError as error:
            lines += [f"{number} {refusal(error)}"]
            continue
        rows, columns = made.tile
        major, side = dice.choice(("K", "MN")), dice.choice(("", "source", "destination"))
        spec = stored(dice, rows, columns, made.element_bits, major)
        wide = read_layout(
            dice.choice((f"({rows},{columns}):({columns},1)", f"({rows},{columns}):(1,{rows + 8})", "(8,8):(8,1)"))
        )
        lines += answered(
            f"{number} {made.atom.name} {made.threads} {made.tile} {made.element_bits} {side} {spec} {wide}",
            lambda made=made: made,
            lambda made=made: [tile_code.copy_cpp(made, None, None), tile_code.copy_atom_cpp(made)],
            lambda made=made, spec=spec, major=major, side=side: memory.shared_side(
                made, storage(spec, made.element_bits, major), side
            ),
            lambda made=made, wide=wide, side=side: memory.global_side(made, wide, side),
            lambda made=made: [
                tiled_copy("universal", like=made, side=one, element_bits=made.element_bits) for one in "SD"
            ],
        )
    kept("copies", lines)


def test_boxes() -> None:
    """Copies by TMA, and the driver's rules."""
    dice, lines = random.Random(33), list[str]()
    atoms = (
        "SM90_TMA_LOAD",
        "SM90_TMA_LOAD",
        "SM90_TMA_LOAD_MULTICAST",
        "SM90_TMA_STORE",
        "SM90_TMA_REDUCE_ADD",
        "SM100_TMA_2SM_LOAD",
    )
    for number in range(60):
        rows, columns, bits = dice.choice((8, 64, 100, 128)), dice.choice((16, 64, 128)), dice.choice((8, 16, 32, 4))
        major, ctas = dice.choice(("K", "MN")), dice.choice((1, 1, 1, 2, 4, 3))
        spec = stored(dice, rows, columns, bits, major, dice.choice((1024, 0, 128, 100)))
        layout = read_layout(
            dice.choice(
                (
                    f"({rows},{columns}):({columns},1)",
                    f"({rows},{columns}):(1,{rows})",
                    "(9,7):(7,1)",
                )
            )
        )
        given: dict[str, Any] = {"tile": (rows, columns), "element_bits": bits, "major": major, "multicast": ctas}
        given["layout"] = dice.choice((None, layout))

        def made(atom: str = dice.choice(atoms), given: Any = given, spec: Any = spec) -> Any:
            return tma_copy(atom, where=storage(spec, given["element_bits"], given["major"]), **given)

        lines += answered(
            f"{number} {made.__defaults__}",
            made,
            lambda made=made, layout=layout, spec=spec, major=major: (
                made().rules
                or [
                    bulkcode.tensor_map(made(), layout),
                    bulkcode.starts(made()),
                    bulkcode.issued(made()),
                    bulkcode.python(made(), spec, major),
                ]
            ),
        )
    kept("boxes", lines)


MAJORS = ("UMMA::Major::K", "UMMA::Major::MN")
UMMA = (
    "SM100_MMA_F16BF16_{form}<{ab}, {ab}, float, {m}, {n}, {p}, {q}>",
    "SM100_MMA_TF32_{form}<tfloat32_t, tfloat32_t, float, {m}, {n}, {p}, {q}>",
    "SM100_MMA_F8F6F4_{form}<float_e4m3_t, float_e5m2_t, float, {m}, {n}, {p}, {q}>",
    "SM100_MMA_S8_{form}<int8_t, int8_t, int32_t, {m}, {n}, {p}, {q}>",
    "SM100_MMA_MXF8F6F4_{form}<float_e4m3_t, float_e5m2_t, float, float_ue8m0_t, {m}, {n}, {p}, {q}>",
    "SM100_MMA_MXF4_{form}<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, {m}, {n}, 16, {p}, {q}>",
)


def test_atoms_of_umma() -> None:
    dice, lines = random.Random(34), list[str]()
    for number in range(40):
        m, n = dice.choice((64, 128, 128, 256)), dice.choice((16, 64, 128, 256, 24))
        text = dice.choice(UMMA).format(
            form=dice.choice(("SS", "SS", "2x1SM_SS", "TS")),
            ab=dice.choice(("half_t", "bfloat16_t")),
            m=m,
            n=n,
            p=dice.choice(MAJORS),
            q=dice.choice(MAJORS),
        )
        more = {
            "tile": dice.choice((None, (m, n, 64), (2 * m, n, 128), (m, 2 * n, 32))),
            "swizzles": (dice.choice(("", "", *MODES)), dice.choice(("", "", *MODES))),
            "order": dice.choice(("", "", "mn", "k")),
        }

        def made(text: str = text, more: Any = more) -> Any:
            return tiled_umma(text, **more)

        lines += answered(
            f"{number} {text} {more}",
            made,
            lambda made=made, text=text: [
                umma_code.cute_cpp(made()),
                umma_code.cute_python(made()),
                umma_code.lanescope_python(made(), text),
                umma_code.load(made()),
                umma_code.access(made()),
                umma_code.operation(made().umma),
                shades.shades(made()),
            ],
        )
    kept("umma", lines)


def test_layouts_of_triton() -> None:
    """Of each preset in other shapes and types: as CuTe has it, what it feeds, and its conversion to another."""
    dice, lines = random.Random(35), list[str]()
    texts = [row[1] for row in PRESETS]
    for number in range(90):
        (text, other), rank = dice.sample(texts, 2), dice.choice((1, 2, 2, 2, 2, 3))
        shape = [dice.choice((16, 32, 64, 128)) for _ in range(rank)]
        bits = dice.choice((8, 16, 32))

        def made(text: str = text, shape: Any = shape, bits: int = bits) -> TritonLayout:
            return triton_layout(text, shape, bits)

        lines += answered(
            f"{number} {text} {shape} {bits}",
            lambda made=made: as_cute(made()),
            lambda made=made: made().linear,
            lambda made=made, bits=bits: fed(made().linear, bits) if "lane" in made().linear.bases else None,
            lambda made=made, other=other: converted(made(), made(other)),
            lambda made=made, bits=bits: tensor.tensor_sheet(made().linear, bits) if made().tensor_memory else None,
        )
    kept("triton", lines)


def test_algebra() -> None:
    dice, lines = random.Random(36), list[str]()
    texts = (
        "(4,8):(8,1)",
        "(2,(4,2)):(1,(4,2))",
        "((2,2),(4,4)):((1,16),(2,32))",
        "8:2",
        "(8,8):(1,16)",
        "6:3",
        "(3,4):(4,1)",
        "Sw<2,0,3> o (8,8):(8,1)",
        "(4,4):(0,1)",
        "(2,2,2):(4,2,1)",
        "16:1",
        "(1,4):(5,2)",
    )
    one = ("coalesce", "right_inverse", "left_inverse", "filtered")
    two = (
        "composition",
        "logical_divide",
        "zipped_divide",
        "tiled_divide",
        "flat_divide",
        "logical_product",
        "blocked_product",
        "raked_product",
        "max_common_layout",
        "max_common_vector",
    )
    for text in texts:
        made = read_layout(text)
        lines += answered(text, *(lambda name=name, made=made: getattr(algebra, name)(made) for name in one))
        lines += answered(text, *(lambda n=n, made=made: algebra.complement(made, n) for n in (1, 7, 64)))
        lines += answered(text, *(lambda n=n, made=made: algebra.recast(made, 16, n) for n in (8, 32, 4)))
    for _ in range(160):
        name, first, second = dice.choice(two), dice.choice(texts), dice.choice(texts)
        lines += answered(
            f"{name} {first} {second}",
            lambda name=name, a=first, b=second: getattr(algebra, name)(read_layout(a), read_layout(b)),
        )
    kept("algebra", lines)
