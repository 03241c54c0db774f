"""What the algebra of layouts, linear layouts, formulas, swizzles that free banks, tiles found in memory and
instruction descriptors answer at their edges.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope.blackwell import idesc
from lanescope.capture import locate
from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import read_layout, read_tiler
from lanescope.cxx import formula
from lanescope.descriptor import fits
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.ptx.table.kinds import KINDS
from lanescope.shared import banks, freeing
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES, Mode
from lanescope.shared.tiling import Tile
from lanescope.triton import linear
from tests.calls import Call
from tests.held import attempt, whole

LAYOUTS = (
    "1:0", "8:1", "8:2", "(4,8):(8,1)", "(4,8):(1,4)", "((2,2),(2,4)):((1,8),(2,16))", "(4,8):(0,1)", "(3,5):(5,1)",
    "(4,4):(1,2)", "(4,4):(1,3)", "(6,2):(8,2)", "(2,2,2):(1,1,100)", "(2,2,2):(1,1,3)", "(4,2,4):(1,32,8)",
    "(2,1,3):(1,7,2)", "(2,1):(3,5)", "(4,6):(1,0)", "Sw<2,3,3> o 8 o (8,8):(8,1)", "Sw<1,0,2> o (4,4):(1,4)",
    "smem_ptr[16b](unset) o (4,8):(8,1)",
)  # fmt: skip
TILERS = ("_", "4", "3", "(2,_)", "(2,4)", "(_,_)", "((2,2),4)", "(2,2,2)", "(2:2,4:1)", "4:2", "(2,2):(4,1)")
UNARY: dict[str, Callable[[CuteLayout], Any]] = {
    **{name: getattr(algebra, name) for name in (
        "coalesce", "filtered", "complement", "covered", "right_inverse", "left_inverse", "distinct", "nullspace",
        "flattened", "body", "tiler_size",
    )},
    **{f"complement in {n}": partial(algebra.complement, target=n) for n in (1, 64, (8, 3))},
    **{f"coalesce by {n}": partial(algebra.coalesce, profile=n) for n in ((1, 1), (1,), ((1, 1), 1), (1, 1, 1, 1))},
    **{f"upcast {n}": partial(algebra.upcast, count=n) for n in (1, 2, 3, 4)},
    **{f"downcast {n}": partial(algebra.downcast, count=n) for n in (1, 2, 3)},
    **{f"recast {o} to {n}": partial(algebra.recast, old_bits=o, new_bits=n) for o, n in ((16, 8), (8, 16), (16, 24))},
    **{f"with shape {n}": partial(algebra.with_shape, shape=n) for n in (4, (2, 2), (4, 8), (8, (2, 2)))},
    **{f"sliced {n}": partial(algebra.sliced, coord=n) for n in (None, 0, 3, (None, 2), (1, None), ((1, None), 0))},
    **{f"tile to {n}": partial(algebra.tile_to_shape, shape=n) for n in ((8, 16), 32, (12, 10, 3), (7, 7))},
    "tile to (8,16) rows first": lambda one: algebra.tile_to_shape(one, (8, 16), (1, 0)),
}  # fmt: skip
BY_TILER = (
    "composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "logical_product",
    "zipped_product", "tiled_product", "flat_product",
)  # fmt: skip
OF_TWO = ("composition", "blocked_product", "raked_product", "max_common_layout", "max_common_vector", "joined")


def of_combined() -> Iterator[Call]:
    every = {text: read_layout(text) for text in LAYOUTS}
    for name, act in UNARY.items():
        for text, one in every.items():
            yield f"{name} of {text}", lambda act=act, one=one: spelled(act(one))
    for name, (text, one) in product(BY_TILER, every.items()):
        yield f"{name} of {text}", lambda name=name, one=one: [
            attempt(lambda t=t: spelled(getattr(algebra, name)(one, read_tiler(t)))) for t in TILERS
        ]  # fmt: skip
    for name, (text, one) in product(OF_TWO, every.items()):
        yield (
            f"{name} of {text} and each",
            lambda name=name, one=one: [
                attempt(lambda other=other: spelled(getattr(algebra, name)(one, other))) for other in every.values()
            ],
        )
    for tiler in TILERS:
        yield f"size of {tiler}", lambda tiler=tiler: [
            algebra.tiler_size(read_tiler(tiler)), algebra.spelled_tiler(read_tiler(tiler))
        ]  # fmt: skip
    for order in (None, (0, 1), (1, 0), (1, 1), (0,)):
        yield f"ordered {order}", lambda order=order: str(algebra.ordered((4, (2, 3)), order))
    for coord in (0, 7, 8, None, (1, 2), (1, 8), (1,), (None, 7), ((1, 2), 3)):
        yield f"inside {coord}", partial(algebra.inside, coord, (2, 8) if coord not in (7, 8) else 8)


def spelled(made: Any) -> str:
    if isinstance(made, tuple):
        return f"({', '.join(map(spelled, made))})"
    return str(made) if isinstance(made, CuteLayout) else whole(made)


def of_linear() -> Iterator[Call]:
    for count in (-4, 0, 1, 2, 3, 6, 64):
        yield f"bits of {count}", partial(linear.log2, count)
    made = {
        "row": linear.identity("register", 8, 1, 2, (1, 0)),
        "copies": linear.copies("lane", 4, 2, (0, 1)),
        "block": linear.block("register", (4, 2), (1, 0)),
        "grows": linear.block("register", (2, 4), (0, 1), (1, 0)),
    }
    made["product"] = made["block"] * linear.identity("lane", 8, 0, 2, (0, 1)) * made["copies"]
    for name, one in made.items():
        yield f"{name} itself", lambda one=one: [whole(one), one.count("lane"), one.count("x"), one.bases_of()]
        for shape in ((1, 1), (2, 2), (16, 16), (4, 64)):
            yield (
                f"{name} of {shape}",
                lambda one=one, shape=shape: [
                    whole(part) for part in (one.grown(shape), one.cut(shape), one.cut(shape, True))
                ],
            )
        yield f"{name} changed", lambda one=one: [
            *(whole(part) for part in (one.without(0), one.without(1), one.turned((1, 0)))),
            *(one.axis(axis, ("lane", "register")).tolist() for axis in (0, 1)),
            *(str(one.cute(groups)) for groups in ((("register",), ("lane",)), (("lane", "register"), ()))),
        ]  # fmt: skip
    yield "a swizzle has no CuTe layout", lambda: linear.Linear({"r": ((1,), (3,))}, (4,), (0,)).cute((("r",),))
    for text, tile in (
        ("((4,8),(2,2)):((32,1),(16,8))", (16, 8)), ("(32,4):(4,1)", (16, 8)), ("(64,2):(1,64)", (8, 16)),
        ("(32,3):(1,32)", (32, 4)), ("(24,2):(1,24)", (32, 4)), ("(32,4):(1,3)", (128,)), ("(32,2):(1,64)", (8, 8)),
        ("Sw<1,0,2> o (32,4):(4,1)", (128,)), ("32:1", (32,)), ("(4,8,2):(1,4,32)", (64,)), ("(16,2):(1,16)", (32,)),
    ):  # fmt: skip
        for warp in (32, 8):
            yield f"{text} over {tile}, {warp}", partial(linear.from_cute, read_layout(text), tile, warp)


FORMULAS = (
    "i", "-(i + 1) / 2", "i % 4", "-i % 4", "j / 2", "j % 2", "i / j", "i % j", "j / -2", "1 / 0.0", "i / 2.0",
    "j % 2.5",
    "i << 2", "i << 52", "i << 53", "i >> 1", "j >> 1", "i >> -1", "i & 3", "i | 8", "i ^ 5", "~i", "~j", "!i", "!!i",
    "- -i", "+j", "i == j", "i != 2", "i < 2", "i <= 2", "i > 2", "i >= 2", "i && j", "i || j", "0 && 1 / 0",
    "1 || 1 / 0", "1 && 1 / 0", "i ? j : 1 / 0", "0 ? 1 / 0 : i", "i == j ? 1 : 0", "i ? 1 : 2.5", "abs(j)",
    "abs(j / 2.0)",
    "min(i, 2)", "max(j, 0.5)", "min(i)", "abs(1, 2)", "max 1", "min(1, 2", "1.5", ".5", "1e3", "0x10", "0b11", "1'000",
    "0x", "1_0", "1.5 & 1", "~1.5", "1.5 << 1", "9007199254740991", "9007199254740992", "9007199254740991 + 1",
    "1e308 * 10",
    "4503599627370496 << 1", "3 << 52", "i +", "* i", "(i", "i)", "i i", "k", "x(1)", "$", "i # 2", "i, j", "",
    " i ", "i ? 1",
    "1 ? 2 : 3 ? 4 : 5", "8 | 4 ^ 6 & 3", "1 + 2 * 3 - 4 / 2", "1 << 2 + 1", "i < 2 == 1", "-" * 32 + "i",
    "-" * 33 + "i",
    "(" * 31 + "i" + ")" * 31, "(" * 32 + "i" + ")" * 32, "(" * 33 + "i" + ")" * 33, "i" + " " * 499, "i" + " " * 500,
    "(1 / 0) == 1", "(1 / 0) ? 1 : 2", "!(1 / 0)", "(1 / 0) && 0", "(1 / 0) & 1", "(1 / 0) / 2", "5 % 0", "0.0 / 0",
)  # fmt: skip


def of_formula() -> Iterator[Call]:
    names = {"i": np.arange(6), "j": np.arange(6) - 3}
    for text in FORMULAS:
        yield f"{text[:40]} {len(text)}", lambda text=text: [
            (found := formula.evaluate(text, names, "a.b"))[0].tolist(), found[1]
        ]  # fmt: skip


def of_freeing() -> Iterator[Call]:
    def use(name: str, reach: str, pitch: int) -> banks.Use:
        return banks.rows(banks.access(name), reach, pitch)

    by = {
        f"{name} {reach} {pitch}": use(name, reach, pitch)
        for name, reach, pitch in (
            ("ldmatrix.x4", "rows", 512), ("ldmatrix.x4", "ldmatrix", 128), ("ldmatrix.x4", "rows", 64),
            ("ld.shared.b32", "fragment", 128), ("ld.shared.b32", "rows", 128), ("ld.shared.b32", "along", 128),
            ("st.shared.b128", "columns", 128), ("ld.shared.b64", "rows", 256), ("st.shared.b32", "rows", 1024),
            ("ld.shared.b16", "rows", 64), ("ldmatrix.x1", "rows", 48), ("ld.shared.b128", "rows", 4096),
        )
    }  # fmt: skip
    for name, one in by.items():
        yield f"{name} alone", lambda one=one: solved([one])
    several = ([a, b] for a in list(by)[:8] for b in list(by)[2:9:2] if a < b)
    for names in (*several, list(by)[:3], list(by)[3:6], ["ldmatrix.x4 rows 512"] * 2):
        yield f"{' and '.join(names)}", lambda names=names: solved([by[name] for name in names])
    for bits in ([16 * lane * lane for lane in range(32)], [128 * (1 << lane % 12) for lane in range(32)]):
        yield f"at {bits[:4]}", lambda bits=bits: solved([banks.at(banks.access("ldmatrix.x4"), bits)])
    yield "swizzles", lambda: [[str(xor) for xor in freeing.swizzles(*of)] for of in ((2, 7), (4, 9), (6, 6), (4, 6))]


def solved(uses: list[banks.Use]) -> list[Any]:
    one = freeing.solve(uses)
    return [str(one.swizzle), one.free, one.tried, one.why, [cost.wavefronts for cost in one.costs]]


def of_locate() -> Iterator[Call]:
    dice = np.random.default_rng(7)
    tiles = {bits: dice.integers(0, 1 << bits, (64, 64)).astype(np.uint64) for bits in (4, 8, 16, 32)}
    for bits, major, mode, base in (
        *((16, major, mode, base) for mode in MODES for major in ("K", "MN") for base in (0, 1024)),
        (8, "K", MODES[3], 64), (32, "K", MODES[2], 16), (4, "K", MODES[0], 0), (16, "K", MODES[1], 7),
    ):  # fmt: skip
        for copies in (1, 2) if base == 1024 else (1,):
            yield (
                f"{bits} bits {major} {mode.name} from {base}, {copies}",
                lambda b=bits, j=major, m=mode, at=base, n=copies: searched(tiles[b], b, j, m, at, n),
            )
    for size in (1, 7, 8, 16):
        yield (
            f"{size} bytes",
            lambda size=size: told(
                locate.Image(np.arange(size, dtype=np.uint8), 0), tiles[16][:16, :16], 16, Descriptor(0)
            ),
        )


def searched(tile: Any, bits: int, major: str, mode: Mode, base: int, copies: int) -> list[Any]:
    at = base // 16 * 16
    spec = {"kind": "canonical", "mn": 64, "k": 64, "swizzle": mode.name, "major": major, "base": at}
    stored = storage({**spec, "element_bits": max(bits, 8)}, max(bits, 8), major)
    codes = tile if bits >= 8 else tile % 16
    rows, cols = np.indices(tile.shape)
    where = np.asarray(stored.address(rows, cols)) - at + base % 16
    size = max(bits // 8, 1)
    memory = np.zeros(int(where.max()) + size, np.uint8)
    for byte in range(size):
        memory[where + byte] = codes >> np.uint64(8 * byte) & np.uint64(255)
    held = np.concatenate([memory, np.zeros(48, np.uint8)] * copies)
    return told(locate.Image(held, base), codes, max(bits, 8), Descriptor(at >> 4))


def told(image: locate.Image, tile: Any, bits: int, word: Descriptor) -> list[Any]:
    found = locate.search(image, tile, bits, word)
    seen = View(8, 256 // bits, bits, "K")
    lines: list[Any] = [[dict(fit.stored.spec), fit.matched, fit.whole, fit.determined] for fit in found]
    for some in (found, [], found[:1] * 2):
        places = locate.places(image, tile, bits, some, (8, 0), seen)
        lines.append([whole(places.address), places.by])
    return lines


def of_read_tiles() -> Iterator[Call]:
    """The tiles that a right word reads, of every format, major and mode, on and off the boundaries of its pattern."""
    modes = ("none", "32B", "128B")
    for form, bits, major, mode, base in product(FORMATS, (8, 16, 32), ("K", "MN"), modes, (0, 128, 48)):
        if not form.allows(bits, major, form.named(mode)):
            continue
        atom = form.named(mode).atom(bits, major)
        mn, k = max(atom[0], 64), 2 * max(atom[1], 256 // bits)
        for order, at in (("mn", 0), ("k", 256 // bits)):
            tile = Tile(bits, major, form.named(mode), mn, k, order, 0x2000 + base, "address", form)
            yield f"{form.name} {bits} {major} {mode} {order} {base} {at}", lambda tile=tile, at=at: [
                fits.fits(tile.descriptor(0, at), View(rows, tile.step(), tile.element_bits, tile.major, tile.form))
                for rows in (8, 64, 128)
            ]  # fmt: skip


WORDS = ("0", "0x8100490", "8100490", "999999999", "4294967296", "0x4000000000000000", "0x1_0000_0000", "x", "-1", 12)


def of_idesc() -> Iterator[Call]:
    dice = random.Random(8)
    for name in ("f16", "kind::mxf4", ".kind::i8", " F8F6F4 ", "x", "", None, 3):
        yield f"kind {name}", lambda name=name: idesc.kind(name).name
    for group, ws in (("1", "0"), ("2", "0"), ("1", "1"), ("2", "1"), ("3", "0"), ("0", "0"), ("1", "2"), (2, 0)):
        yield f"form {group} {ws}", partial(idesc.form_of, group, ws)
    for text in WORDS:
        yield f"word {text}", partial(idesc.read, text, "a.b")
    for row in KINDS:
        for vector in ("", "1X", "2X", "4X"):
            yield f"factors of {row.name} {vector}", partial(idesc.factors, row, vector)
        for name in ("m", "n", "k", "d", "x", "scale_type"):
            yield f"part {name} of {row.name}", lambda row=row, name=name: [row.has(name), row.part(name).name]
        for n in range(30):
            made = word_of(row, dice, n % 3)
            yield f"{row.name} {made}", lambda one=made: [
                one.m, one.n, one.k, one.sparse, one.types, hex(one.reserved), idesc.legal_forms(one),
                whole(idesc.problems(one)), whole(idesc.forms(one)), whole(idesc.warnings(one)),
                [f"{part.name} {part.said(one.word)} {one.code(part.name)}" for part in one.kind.parts],
                one.said("nothing"), one.code("nothing"),
            ]  # fmt: skip
        for wish in ({"m": 128, "n": 64}, {"m": 64, "n": 8}, {"m": 256, "n": 256}, {"m": 100, "n": 64}, {"m": 128},
                     {"n": 64}, {"m": 128, "n": 4096}, {"m": 128, "n": 64, "a": "x"},
                     {"m": 128, "n": 64, "sparse": "yes"},
                     {"m": 128, "n": 64, "sparse": 2}, {"m": 128, "n": 64, "transpose_b": "mn"}, {"x": 1},
                     {"m": 128, "n": 64, "negate_a": True}, {"m": 128, "n": 64, "max_shift": 1}, {"m": 128, "n": 12},
                     {"m": 32, "n": 64, "max_shift": "2"}, {"m": 128, "n": 64, "sfa_id": 4},
                     {"m": 128, "n": 24}):  # fmt: skip
            for form in ("", "cta_group::1", "cta_group::2", "ws"):
                yield (
                    f"{row.name} {wish} {form}",
                    lambda row=row, wish=wish, form=form: str(idesc.encode(row, wish, form)),
                )


def word_of(row: Any, dice: random.Random, wild: int) -> idesc.Idesc:
    """A word with a few fields at random: codes that have a meaning, or any."""
    word = 0
    for part in row.parts:
        codes = list(part.codes.values())
        legal = {"m": (64, 128, 256), "n": (8, 16, 64, 256, 24)}.get(part.name)
        if legal and wild < 2:
            word = part.field.put(word, dice.choice(legal) // part.field.unit)
        elif codes and wild < 2:
            word = part.field.put(word, dice.choice(codes))
        elif wild and dice.random() < 0.5:
            word = part.field.put(word, dice.randrange(part.field.most + 1))
    return idesc.Idesc(word | (1 << dice.randrange(32) if wild == 2 else 0), row)
