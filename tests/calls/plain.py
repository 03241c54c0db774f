"""What the engine's modules of reading, spelling, nested numbers and tiles answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from lanescope import find, reading
from lanescope.cute import tuples
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import read_layout
from lanescope.descriptor import fits, spelling
from lanescope.descriptor import verify as engine
from lanescope.descriptor.matrix import Descriptor, View, encode
from lanescope.ptx import catalog, refused, syntax
from lanescope.reader import pasted, sass
from lanescope.reader.pasted import legible
from lanescope.render import wgmma_order, window
from lanescope.shared import chain, slices
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES, mode
from lanescope.shared.tiling import Tile
from lanescope.tiles.copy import tiled_copy
from tests.calls import Call

NESTED: tuple[Any, ...] = (7, 1, (), (4,), (2, 3), (2, (3, 4)), ((2, 2), (4, 2)), ((1, 8), 1), (0, (5, 1)), ((2,), 3))
NUMBERS = (
    "0",
    "7",
    "007",
    "-1",
    "1'000",
    "1_000",
    "1__0",
    "0x10",
    "0X1F",
    "0xg",
    "0b101",
    "0B2",
    "10u",
    "10ull",
    "10uL",
    "10zu",
    "10f",
    "",
    " 5 ",
    "1 2",
    "9" * 80,
    "0x" + "f" * 90,
    5,
    -3,
    1 << 40,
    1 << 200,
    True,
    None,
    2.5,
    [],
    {},
    "x" * 99,
    "é",
    "１",
)
WORDS = (
    "0x4000004000010100",
    "4000004000010100",
    "0X40 0000 40",
    "0b1010",
    "0B2",
    "0d17",
    "0d",
    "12",
    "12;",
    "12ull",
    "12345678901234567",
    "18446744073709551616",
    "18446744073709551615",
    "012345678901234567",
    "-5",
    "0x1" + "0" * 17,
    "40000040:00010100",
    "0x40000040 : 0x00010100",
    "1:2:3",
    "{0x10100, 0x40000040}",
    "{lo = 0x1, hi = 0x2}",
    "{hi = 0x1, lo = 0x2}",
    "{x=1, y=2}",
    "{y=1, x=2}",
    "{a=1, b=2}",
    "{x=1, hi=2}",
    "make_uint2(0x1, 0x2)",
    "{12, 1}",
    "{9, 1}",
    "{1ff, 1}",
    "{0x100000000, 1}",
    "{zz, 1}",
    "0x1, 0x2",
    "(0x1 0x2)",
    "[0x1; 0x2]",
    "0x1`2",
    "0x1'2_3",
    "1 << 62",
    "1ull << 62 | 1",
    "uint64_t d = 5;",
    "",
    "   ",
    "zz",
    "0xzz",
    "f" * 17,
    "0" * 40,
    "1" * 17,
    "1" * 21,
    "0x" + "_1" * 40,
    0,
    5,
    -5,
    1 << 64,
    True,
    None,
    [],
    1.5,
    "x" * 5000,
)


def of_reading() -> Iterator[Call]:
    for given in NUMBERS:
        name = repr(given)[:40]
        yield f"number {name}", partial(reading.number, given, "storage.mn")
        yield f"number {name} 5 to 10", partial(reading.number, given, "k", 5, 10, "bad_k")
        yield f"shown {name}", lambda given=given: [reading.shown(given), reading.shown(given, 4)]
        yield f"text {name}", partial(reading.text, given, "a.text", 20)
        yield f"table {name}", partial(reading.table, given, "a.b", "Give an object.")
        yield f"choice {name}", partial(reading.choice, given, "major", ("K", "MN", "", "1 2"))
        if isinstance(given, str):
            yield f"digits {name}", lambda given=given: [reading.digits(given), reading.real(given)]
    for given in ("1.5", ".5", "5.", "1e3", "1E-3", "1e", ".", "1.5f", "1" * 70 + ".0"):
        yield f"real {given[:20]}", partial(reading.real, given)
    for given in ("3,2", "3", "3,2,1", "3,x", " 3 , 0x2 ", "9,9", "0,10", "1" * 300):
        yield f"pair {given[:20]}", partial(reading.pair, given, "at", (9, 9), "1,0")
    for given in ("0-3,8", "3-1", "31", "32", "0-31", "0-32", "1-2-3", "", ",", "x", "0 - 3 , 0x8", "-1", "0," * 300):
        yield f"ranges {given[:20]}", partial(reading.ranges, given, "lanes", 32)
    for given in ({"a": 1}, {"b": 1}, {"mn": 1, "majr": 2}, {"x" * 90: 1}, {}, {"MAJOR": 1}, {3: 1}):
        yield f"keys {given!s:.30}", partial(reading.keys, given, ("mn", "major", "a"))
        yield f"keys of storage {given!s:.30}", partial(reading.keys, given, ("mn", "major"), "storage", "bad_key")
    for words in ((), ("a",), ("a", "b"), ("a", "b", "c")):
        yield f"listed {words}", lambda words=words: [reading.listed(words), reading.listed(words, "or")]
    for given in ({}, {"a": ""}, {"a": "  "}, {"a": "x"}, {"a": 0}, {"a": None}):
        yield f"asked {given}", partial(reading.asked, given, "a", "default")
    for given in ("majr", "MN-major", "zzzz", "", "m", "K" * 200):
        yield f"nearest {given[:20]}", partial(reading.nearest, given, ("major", "mn", "MN-Major", "swizzle"))


def of_spelling() -> Iterator[Call]:
    for given in WORDS:
        yield (
            repr(given)[:50],
            lambda given=given: [
                (one := spelling.read_word(given)).word,
                one.type,
                [note.code for note in one.warnings],
            ],
        )
    yield "another field", partial(spelling.read_word, "zz", "a.descriptor")


def of_tuples() -> Iterator[Call]:
    for one in NESTED:
        yield (
            f"{one}",
            lambda one=one: [
                tuples.leaves(one),
                tuples.spelled(one),
                tuples.size(one),
                tuples.rank(one),
                tuples.depth(one),
                tuples.modes(one),
                tuples.unwrapped(tuples.modes(one)),
                tuples.compact(one),
                tuples.compact(one, 3),
                tuples.compact_right(one),
            ],
        )
    for one, other in product(NESTED, NESTED):
        yield (
            f"{one} and {other}",
            lambda one=one, other=other: [
                tuples.congruent(one, other),
                tuples.unlike(one, other),
                tuples.compatible(one, other),
            ],
        )
    for one in NESTED[4:8]:
        for at in (0, 1, 3, 5):
            yield (
                f"{at} of {one}",
                lambda one=one, at=at: [
                    (where := tuples.coordinate(at, one)),
                    tuples.flat(where, one),
                    tuples.index(where, one, tuples.compact(one)),
                    tuples.index(where, one, tuples.compact_right(one)),
                    tuples.index(at, one, tuples.compact(one, 2)),
                ],
            )


def of_tiling() -> Iterator[Call]:
    for major, bits, form, order in product(("K", "MN"), (8, 16, 32), MODES, ("mn", "k")):
        wide = form.atom(bits, major)
        for times, base, by in ((1, 0, "address"), (2, 1024, "address"), (2, 1280, "tile"), (2, 1040, "tile")):
            words = f"{major} {bits} {form.name} {order} {times} {base} {by}"
            make = partial(
                Tile, bits, major, form, times * wide[0], times * wide[1], base=base, order=order, swizzle_by=by
            )
            yield (
                words,
                lambda make=make, wide=wide: [
                    (one := make()).canonical(),
                    one.cute(),
                    one.strides,
                    one.lbo_sbo_bytes(),
                    one.lbo_sbo_bytes(64),
                    one.used(8),
                    one.used(64),
                    one.step(),
                    one.base_offset,
                    slices.stride_field(one),
                    slices.stride_words(one),
                    slices.k_steps(one)[-1:],
                    slices.mn_steps(one, 64)[-1:],
                    one.descriptor(),
                    one.descriptor(one.mn - wide[0], one.k - one.step(), 64, 8),
                ],
            )
    one = Tile(16, "MN", mode("128B"), 128, 64)
    for mn, k, rows in product((0, 8, 32, 64, 128, -64), (0, 8, 16, 64), (0, 8, 64)):
        yield f"slice {mn} {k} {rows}", partial(one.check_slice, mn, k, rows)


PASTED = (
    "mma.sync\u200b.aligned &lt;&lt; １６",
    "a&#x3c;b&nbsp;c &amp;&amp; d",
    "1 | uint64_t d;\n2 | x = 0x4;",
    "12 | a = 0x40;",
    "12 | desc = 0x40;",
    "1: desc = 0x4;\n2: lbo = 5;",
    "  41 \u2502 desc = 0x4;\n  42 \u2502 call();",
    "file.cu:41: uint64_t d = 0x4;\nfile.cu-42- e();",
    "> uint64_t d = 0x4;\n> e = 1;",
    "// a = 0x4;\n// b = 0x5;",
    "# a = 0x4\n# b = 0x5",
    "#define A 0x4\n#define B 0x5",
    "[INFO] desc = 0x4000\n[INFO] lbo = 1",
    "12:01:02.5 desc_a: 0x40",
    "2026-01-02T12:01:02Z WARNING: d = 0x40",
    "[rank0]: desc = 0x40",
    "[desc]: 0x40",
    "```cpp\nuint64_t d = 0x4;\n```",
    "prose here\n```\nd = 0x4;\n```\nmore prose",
    "```\nd = 0x4;",
    "```d = 0x4;",
    "-uint64_t d = 1;\n+uint64_t d = 2;",
    "+ a = 1;\n+ b = 2;",
    "@@ -1,2 +1,2 @@\n-a = 1;\n+a = 2;\n b = 3;\ndiff --git a b\nindex abcdef1",
    "x = a\n+ b\n- c;",
    "4:1\n8:2",
    "1: a = 0x4;\n2: b = 5;",
    "  41 \u2502 a = 0x4;\n  42 \u2502 b();",
    "\u201cx\u201d \u2018y\u2019 \u2013 \u27e84\u27e9 \u2236 \u2218",
    "",
    "   ",
)


MARKS = "“”„‟″＂‘’‚‛′‐‑‒–−⟨〈〈‹⟩〉〉›∶ː∘！～Ａｚ"
BLANKS = "\xa0\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
ALIKE = MARKS + BLANKS + "\u2010é×"
ENDINGS = "cu cuh h hpp hh cc cpp cxx c py inl ptx mlir ll rs cuda".split()
LOGGED = (
    "[INFO] ", "INFO: ", "DEBUG ", "[WARN] ", "WARNING: ", "ERROR:  ", "[ERROR]: ", "FATAL ", "12:34:56 ",
    "2026-11-23 12:34:56 ", "[2026-11-23T12:34:56.123Z] ", "12:34 ", "[rank0]: ", "[rank 0/a.b-c] ", "[my desc]: ",
    "12:34:56,789 [INFO] [rank0]: ", "[INFO] [a] [b] [c] [d] ",
)  # fmt: skip


def of_pasted() -> Iterator[Call]:
    for mark in ALIKE:
        yield f"mark {ord(mark):x}", lambda mark=mark: legible(f"a{mark}b")
    for ending, between in product(ENDINGS, ":-"):
        lines = [
            f"dir/a-b.{ending}{between}{n}{between}{text}" for n, text in ((41, "uint64_t d = 0x4;"), (42, "call(d);"))
        ]
        yield f"grep {ending} {between}", lambda lines=lines: legible("\n".join(lines))
    for head in LOGGED:
        yield f"logged {head}", lambda head=head: legible(f"{head}desc = 0x4000004000010100\n{head}lbo = 5")
    for text in PASTED:
        yield f"{text!r:.60}", lambda text=text: [legible(text), legible(text, places=True)]
    for text in PASTED[:2]:
        yield (
            f"places {text!r:.60}",
            lambda text=text: (
                [found(a, b) for a, b in ((0, 2), (3, 9), (9, 12), (5, 5))]
                if (found := pasted.own_places(text))
                else None
            ),
        )


def of_refused() -> Iterator[Call]:
    shapes = ("m16n8k16", "m16n8k8", "m64n256k16", "16x64b", "32x32b", "16x32bx2", "x4", "", "m8n8", "m0n8k8")
    for one, other in product(shapes, shapes):
        yield f"{one} {other}", lambda one=one, other=other: [refused.apart(one, other), syntax.sizes_of(one)]
    for text in (
        "mma",
        "wgmma",
        "mma.sync",
        "wgmma.mma_async.m64n64k16",
        "mma.m16n8k16.f32.f16",
        "ldmatrix.x4",
        "tcgen05.ld",
        "mma.m16n8k17.row.col.f32.f16.f16.f32",
        "mma.m16n8k16.col.row.f32.f16.f16.f32",
        "stmatrix.m8n8.x3.b16",
        "wgmma.mma_async.m64n12k16.f32.f16.f16",
        "wgmma.mma_async.m64n512k16.f32.f16.f16",
        "zzz",
        "mma.zz.m16n8k16",
        "wmma.mma.row.col.m16n16k16.f32",
        "mma.m16n8k16.row.col.f32.f16.f16.f32.satfinite",
        "x" * 300,
    ):
        yield text[:60], partial(catalog.find, text)
    yield "shorten", lambda: [refused.shorten("a" * 119), refused.shorten("a" * 120), refused.shorten("a b " * 40, 9)]


def of_window() -> Iterator[Call]:
    counts = {"m": 64, "n": 8}
    for text in (
        "",
        "all",
        "m:0-16",
        "m:0-16,n:2-4",
        "m:0.5-1.25",
        "m:16-16",
        "m:0-65",
        "k:0-1",
        "m:1",
        "m:-1-2",
        "m",
        "m:0-1e1",
        " m:0-4 , n:1-2 ",
        "m:0-" + "1" * 9,
        "m:٣-4",
        "m:1-2-3",
    ):
        yield f"parts {text}", lambda text=text: [(one := window.parts(text, counts)), window.written(one)]
    for i in {one.family.name: one for one in catalog.instructions() if one.operands}.values():
        yield i.ptx, lambda i=i: [window.extents(i), window.opening(i), window.read("", i), window.read("all", i)]


def of_notebook() -> Iterator[Call]:
    tile = Tile(16, "K", mode("128B"), 64, 64)
    stored = storage({"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B", "major": "K", "base": 0}, 16, "K")
    seen, word = View(64, 16, 16, "K"), tile.descriptor()
    for name, one in (
        ("tile", tile),
        ("descriptor", word),
        ("cute", read_layout("(4,8):(8,1)")),
        ("one mode", CuteLayout(8, 2)),
        ("large", read_layout("(65,64):(64,1)")),
        ("operand", find("mma.m8n8k4.row.col.f64.f64.f64.f64").operand("a")),
        ("instruction", find("mma.m8n8k4.row.col.f64.f64.f64.f64")),
        ("copy", tiled_copy("universal", element_bits=16, thr_layout="(4,2):(2,1)", val_layout="(1,2)")),
    ):
        yield (
            name,
            lambda one=one: [getattr(one, shows)() for shows in ("_repr_svg_", "_repr_html_") if hasattr(one, shows)],
        )
    for wrong in (
        word,
        word.replace(sbo_encoded=32),
        word.replace(swizzle=0),
        Descriptor(0),
        encode(32, 16, 1024, 0, "128B"),
    ):
        yield f"verdict of {wrong}", lambda wrong=wrong: engine.verify(wrong, seen, stored)._repr_html_()
    operand = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    for spec in ({"kind": "rows", "pitch_bytes": 128}, {"kind": "rows", "pitch_bytes": 48}):
        yield (
            f"loads of {spec}",
            lambda spec=spec: [one._repr_html_() for one in chain.advise(operand, storage(spec, 16, "K"))],
        )


def of_fits() -> Iterator[Call]:
    for swizzle, major, sbo in product(("none", "32B", "128B"), ("K", "MN"), (256, 1024, 48)):
        word = encode(1024, 128, sbo, 0, swizzle)
        for rows in (8, 64, 128):
            seen = View(rows, 16, 16, major)
            yield f"{swizzle} {major} {sbo} {rows}", partial(fits.fits, word, seen)


def of_listings() -> Iterator[Call]:
    """Texts of the guide as its pages show them; a listing of as many lines as are read, of one less and one more."""
    for row in wgmma_order.PATTERNS:
        yield row.name, lambda row=row: (row.title, row.right, row.diagnosed, row.text)
    for rows in (4095, 4096):
        text = "HMMA.16816.F32 R4, R8, R10, R4 ;\n" * rows + "LDSM.16.M88.4 R4, [R8] ;"
        yield f"{rows} lines and another", lambda text=text: [one.title for one in sass.read(text)]
