"""The engine asked at random, in seeded dice: tiles and what loads them, boxes of TMA, UMMA atoms, layouts of Triton,
epilogues, descriptors, dumps and captures. Held are a refusal word for word and, of an answer, the checksum of all that
it says; what answers mean is tested elsewhere, here none changes unnoticed.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from app.layouts.triton import PRESETS
from layouts import algebra, bound, capture, catalog, idesc, slices, tile_map, tma, tmem
from layouts import descriptor as desc
from layouts.capture.form import Capture
from layouts.codec import encode
from layouts.cutetext import read_layout
from layouts.descriptor import Descriptor, View
from layouts.dump import examine, summary, written
from layouts.epilogue import Epilogue
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.locate import Image, search
from layouts.render import descriptor as word_code
from layouts.render import epilogue as epilogue_code
from layouts.render import idesc as idesc_code
from layouts.render import smem, tensor
from layouts.storage import storage
from layouts.swizzle import mode
from layouts.table.descriptors import TCGEN05, WGMMA
from layouts.tiles import bulkcode, memory, shades, umma_code
from layouts.tiles import code as tile_code
from layouts.tiles.bulk import tma_copy
from layouts.tiles.convert import converted
from layouts.tiles.copy import TiledCopy, tiled_copy
from layouts.tiles.feeds import fed
from layouts.tiles.gluon import TritonLayout, triton_layout
from layouts.tiles.loop import feed
from layouts.tiles.mma import TiledMMA, tiled_mma
from layouts.tiles.same import as_cute
from layouts.tiles.umma import tiled_umma
from layouts.tiling import Tile
from layouts.tmem import Mma
from tests import test_capture_sums, test_capture_verify
from tests.held import held, refusal, whole

MODES = ("none", "32B", "64B", "128B")
Asked = tuple[object, Callable[[], object]]


def answered(question: object, *asks: Callable[[], object]) -> list[str]:
    """A line: what was asked, and of each answer its checksum or its refusal."""
    told = []
    for ask in asks:
        try:
            told.append(hashlib.sha256(whole(ask()).encode()).hexdigest()[:12])
        except LayoutError as error:
            told.append(refusal(error))
    return [str(question), *(f"  {one}" for one in dict.fromkeys(told))]


def kept(name: str, lines: list[str]) -> None:
    held(f"doors/{name}", "\n".join(lines) + "\n")


def stored(dice: random.Random, mn: int, k: int, bits: int, major: str, base: int = 1024) -> dict[str, Any]:
    """A storage of a tile."""
    swizzle = dice.choice(MODES)
    match dice.randrange(3):
        case 0:
            return {
                "kind": "canonical",
                "mn": mn,
                "k": k,
                "swizzle": swizzle,
                "major": major,
                "base": base,
                "order": dice.choice(("mn", "k")),
            }
        case 1:
            length = (k if major == "K" else mn) * bits // 8
            return {
                "kind": "rows",
                "inner": major,
                "pitch_bytes": length + dice.choice((0, 0, 16)),
                "base": base,
                "swizzle": swizzle,
                "swizzle_by": dice.choice(("address", "tile")),
            }
        case _:
            layout = f"({mn},{k}):({k},1)" if major == "K" else f"({mn},{k}):(1,{mn})"
            xor = dice.choice(("", "Sw<3,4,3> o ", "Sw<2,4,3> o ", "Sw<3,3,3> o "))
            return {"kind": "cute", "layout": xor + layout, "unit": dice.choice(("elements", "bytes")), "base": base}


# tiles ----------------------------------------------------------------------------------------------------------------

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


# layouts --------------------------------------------------------------------------------------------------------------


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


# descriptors ----------------------------------------------------------------------------------------------------------


def test_words() -> None:
    """What is said of any word, as wgmma and as tcgen05 read it."""
    dice, lines = random.Random(37), list[str]()
    for number in range(120):
        form = dice.choice((WGMMA, TCGEN05))
        word = Descriptor(dice.getrandbits(64) & dice.getrandbits(64) if number % 2 else 0, form)
        for field in form.fields:
            if dice.random() < 0.7:
                word = word.replace(**{field.encoded_name: dice.choice((0, 1, 4, 8, 64, 128)) & (1 << field.width) - 1})
        bits = dice.choice((8, 16, 16, 32))
        seen = View(
            dice.choice((8, 32, 64, 128)),
            dice.choice((1, 2, 4)) * 128 // bits,
            bits,
            dice.choice(("K", "K", "MN")),
            form,
        )
        lines += answered(
            f"{word} {form.name} {seen.rows} {seen.k} {bits} {seen.major}",
            lambda word=word: word,
            lambda word=word: [desc.warnings(word), word_code.code(word)],
            lambda word=word, seen=seen: [
                desc.reads(word, seen),
                desc.outside(word, seen),
                desc.uncertain(word, seen),
                desc.repeated(word, seen),
                desc.inert(word, seen),
                seen.k % 8 or desc.bank_ways(desc.reads(word, seen), seen),
            ],
        )
    kept("words", lines)


def test_tiles_in_memory() -> None:
    """Steps, strides, boxes and code of canonical tiles."""
    dice, lines = random.Random(38), list[str]()
    for _ in range(90):
        given = (
            dice.choice((8, 16, 16, 32)),
            dice.choice(("K", "MN")),
            mode(dice.choice(MODES)),
            dice.choice((8, 64, 128, 192)),
            dice.choice((16, 32, 64, 128)),
            dice.choice(("mn", "k")),
            dice.choice((0, 128, 1024)),
        )
        rows = dice.choice((8, 64))

        def tile(given: Any = given) -> Tile:
            return Tile(*given)

        lines += answered(
            given,
            tile,
            lambda tile=tile: [slices.k_steps(tile()), slices.stride_field(tile()), slices.stride_words(tile())],
            lambda tile=tile, rows=rows: slices.mn_steps(tile(), rows),
            lambda tile=tile, rows=rows: tile_map.strides(tile(), rows),
            lambda tile=tile: tma.boxes(tile()),
            lambda tile=tile: [smem.fill(tile()), smem.describe(tile()), smem.offset(tile())],
        )
    kept("tiles_in_memory", lines)


def test_words_of_instructions() -> None:
    """Instruction descriptors that are wished for, and any word; what is in tensor memory by them."""
    dice, lines = random.Random(39), list[str]()
    bases = [i for i in catalog.instructions() if i.family.name.startswith("tcgen05") and "mma" in i.ptx]
    for number in range(70):
        base = dice.choice(bases)
        wish: dict[str, object] = {"m": dice.choice((32, 64, 128, 256, 100)), "n": dice.choice((8, 16, 64, 256, 12))}
        for name, values in (("a_major", ("K", "MN", "x")), ("saturate", (True, False)), ("d", ("f16", "f32", "s32"))):
            if dice.random() < 0.3:
                wish[name] = dice.choice(values)
        word = f"{dice.getrandbits(32) & dice.getrandbits(32):#010x}"
        lines += answered(
            f"{number} {base.ptx} {wish} {word}",
            lambda base=base, wish=wish: told(bound.bind_wish(base, wish)),
            lambda base=base, word=word: told(bound.bind(base, word)),
        )
    kept("words_of_instructions", lines)


def told(found: bound.Bound) -> list[object]:
    return [
        bound.told(found),
        found.word,
        idesc_code.code(found.word),
        idesc.problems(found.word),
        idesc.warnings(found.word),
    ]


def test_ends() -> None:
    """Epilogues by any load, their code; metadata in the order that CUTLASS writes."""
    dice, lines = random.Random(40), list[str]()
    loads = [
        f"tcgen05.ld.{shape}.x{n}" for shape in ("32x32b", "16x256b", "16x128b", "16x64b") for n in (1, 2, 4, 16, 64)
    ]
    for number in range(60):
        form, m, n = (
            dice.choice(("cta_group::1", "cta_group::2", "ws")),
            dice.choice((32, 64, 128, 256)),
            dice.choice((16, 32, 64, 128)),
        )
        load, halves, swizzle = dice.choice(loads), dice.random() < 0.4, dice.choice(MODES)
        load += dice.choice(("", ".pack::16b")) if halves else ""

        def made(form: str = form, m: int = m, n: int = n, load: str = load, halves: bool = halves) -> Epilogue:
            return Epilogue(Mma(idesc.kind("f16"), form, False, m, n), tmem.access(load), halves)

        lines += answered(
            f"{number} {form} {m} {n} {load} {swizzle}",
            made,
            lambda made=made: [made().held(one) for one in made().loads],
            lambda made=made: epilogue_code.to_global(made(), 16, "bf16"),
            lambda made=made, swizzle=swizzle: (
                epilogue_code.to_shared(made(), made().stored(swizzle), "f16") if made().matrices else None
            ),
        )
    kept("ends", lines)


# dumps and captures ---------------------------------------------------------------------------------------------------


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_dumps() -> None:
    """A tile stored so and read so: by right words, by bent ones, of dumps that are cut or begin elsewhere."""
    dice, lines = random.Random(41), list[str]()
    texts = (
        "wgmma.mma_async.m64n32k16.f32.f16.f16",
        "wgmma.mma_async.m64n32k32.s32.s8.s8",
        "wgmma.mma_async.m64n16k8.f32.tf32.tf32",
    )
    for number in range(45):
        found = catalog.find(dice.choice(texts))
        operand, bits = dice.choice("ab"), found.operand("a").element.bits
        major = dice.choice(("K", "K", "MN")) if bits == 16 else "K"
        mn, k = found.sizes["m" if operand == "a" else "n"], 1024 // bits
        spec = stored(dice, mn, k, bits, major)
        origin = dice.choice(((0, 0), (0, 0), (0, found.sizes["k"])))
        tile = np.random.default_rng(number).permutation(mn * k).reshape(mn, k) % (1 << min(bits, 14)) + 1
        given = npy((tile if dice.random() < 0.8 else tile.T).astype(f"u{bits // 8}"))
        word = desc.encode(
            1024 + origin[1] * bits // 8,
            dice.choice((16, 128, 2048)),
            dice.choice((1024, 512, 256)),
            0,
            spec.get("swizzle", "128B"),
        )
        if dice.random() < 0.4:
            word = Descriptor(word.word ^ 1 << dice.choice((6, 8, 16, 20, 32, 38, 49, 62)))
        cut = dice.choice((0, 0, 0, 1024))

        def made(
            spec: Any = spec,
            bits: int = bits,
            major: str = major,
            tile: Any = tile,
            cut: int = cut,
            word: Any = word,
            found: Instruction = found,
            operand: str = operand,
            given: Any = given,
            origin: Any = origin,
        ) -> Any:
            dump = written(storage(spec, bits, major), tile.astype(np.uint64), bits)
            dump = replace(dump, data=dump.data[: len(dump.data) - cut])
            answer = examine(dump, word, found, operand, major, given, "", origin)
            return [answer, summary(answer), search(Image(dump.data, dump.base), tile.astype(np.uint64), bits, word)]

        lines += answered(f"{number} {found.ptx} {operand} {major} {spec} {origin} {word} {cut}", made)
    kept("dumps", lines)


CHANGES = {
    "loop": "word word end begin stated memory",
    "sums": "word stated d d",
    "warp": "lane register",
    "mma": "register",
}


def shaken(dice: random.Random, records: list[Any], change: str) -> list[Any]:
    """The records with one thing changed in some of them: a word, where memory ends or begins, what is stated, bytes
    of memory, a lane's address, registers, those of D.
    """
    some = range(dice.randrange(len(records)), len(records), dice.choice((1, 1, 2, 3)))
    bit, size = dice.choice((0, 1, 3, 6, 9, 16, 20, 32, 38, 62, 63)), dice.choice((1024, 4096, 8192, 10000))
    name, lane, much = dice.choice("ab"), dice.choice((3, 20, slice(None))), dice.choice((2, 16, 128, 1024))
    stated = dice.choice(({"m": 0, "n": 0, "k": 0}, {"m": 8}, {"k": 32}, {"n": 64}, {"m": 64, "n": 0, "k": 16}))
    out = list(records)
    for at in some:
        one = out[at]
        match change:
            case "word" if one.words:
                out[at] = replace(one, words={**one.words, name: one.words[name] ^ 1 << bit})
            case "end" if len(one.window):
                out[at] = replace(one, window=one.window[:-size])
            case "begin" if len(one.window):
                out[at] = replace(one, window=one.window[size & ~15 :], window_first=one.window_first + (size & ~15))
            case "stated" if one.words:
                out[at] = replace(one, slice=stated)
            case "memory" if len(one.window):
                window = one.window.copy()
                window[size : size + much] = 0
                out[at] = replace(one, window=window)
            case "lane" if one.addresses is not None:
                moved = one.addresses.copy()
                moved[lane] += much
                out[at] = replace(one, addresses=moved)
            case "register" | "d" if one.registers:
                changed = {n: r.copy() for n, r in one.registers.items()}
                last = changed[dice.choice(sorted(changed))]
                last[:] = last[:, ::-1] if bit & 1 else np.roll(last, 1, axis=bit >> 1 & 1)
                out[at] = replace(one, registers=changed)
    return out


def steps() -> list[Any]:
    """Four steps of wgmma over one tile of A and B in little memory."""
    at, tile, spec = test_capture_verify.at, test_capture_verify.tile, test_capture_verify.spec
    size = (64, 64)
    window = test_capture_verify.memory(
        *((spec(size, base), tile("bf16", name, (0, 0), size)) for name, base in (("a", 2048), ("b", 10240))),
        size=17 << 10,
    )
    return [test_capture_verify.record(at(2048, 16 * s), at(10240, 16 * s), window) for s in range(4)]


def sums() -> list[Any]:
    """The same over matrices that are given."""
    size, given = (64, 64), test_capture_sums.GIVEN
    spec, at = test_capture_verify.spec, test_capture_verify.at
    parts = (
        (spec(size, base), encode(given[name], "bf16").astype(np.uint64)) for name, base in (("a", 2048), ("b", 10240))
    )
    window = test_capture_verify.memory(*parts, size=17 << 10)
    return [test_capture_verify.record(at(2048, 16 * s), at(10240, 16 * s), window) for s in range(4)]


def test_captures() -> None:
    """Loops of wgmma and of mma that are right, and what is said of each when something in them is changed."""
    dice, lines = random.Random(42), list[str]()
    loops = {
        "loop": steps(),
        "warp": test_capture_verify.warp()[:12],
        "mma": test_capture_sums.mma(test_capture_verify.MMA, "f16"),
        "sums": [*sums(), *test_capture_sums.d(test_capture_sums.AB)],
    }
    for number in range(50):
        name = dice.choice(list(loops))
        records = shaken(dice, loops[name], dice.choice(CHANGES[name].split()))
        given = test_capture_sums.GIVEN if name == "sums" else {}
        try:
            made = capture.verify(capture.write(Capture(tuple(records))), **given)
        except LayoutError as error:
            lines += [f"{number} {name} {refusal(error)}"]
            continue
        summed = hashlib.sha256(whole(replace(made, steps=(), loads=(), unread=()), False).encode()).hexdigest()[:12]
        parts = hashlib.sha256(whole([step.operands for step in made.steps]).encode()).hexdigest()[:12]
        lines += [
            f"{number} {name} {summed} {parts}",
            *(f"  {line}" for line in made.text.splitlines() if "✓" not in line),
        ]
    kept("captures", lines)
