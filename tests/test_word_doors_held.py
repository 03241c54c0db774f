"""The engine asked at random for descriptors, the tiles and instructions they stand for, and epilogues: no answer
changes unnoticed. What answers mean is tested elsewhere.
"""

from __future__ import annotations

import random
from typing import Any

from lanescope.blackwell import bound, idesc, tmem
from lanescope.blackwell.epilogue import Epilogue
from lanescope.blackwell.tmem import Mma
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.render import descriptor as word_code
from lanescope.render import epilogue as epilogue_code
from lanescope.render import idesc as idesc_code
from lanescope.render import smem
from lanescope.shared import slices, tile_map, tma
from lanescope.shared.swizzle import mode
from lanescope.shared.tiling import Tile
from tests.doors import MODES, answered, kept


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
