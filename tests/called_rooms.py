"""What functions of the rooms answer at their bounds, where no page or route leads: words and calls, by room."""

from __future__ import annotations

import math
import tempfile
import types
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from lanescope import find
from lanescope.app.banks import facts as banks
from lanescope.app.capture import forms as captures
from lanescope.app.catalogue import facts as catalogue
from lanescope.app.catalogue import groups, search, topics
from lanescope.app.chain import forms as chains
from lanescope.app.check import facts as check
from lanescope.app.check import sarif
from lanescope.app.dump import facts as dumps
from lanescope.app.guide import benchmarks, cpp, reading, render, slips, values
from lanescope.app.hardware import evidence, pieces
from lanescope.app.hardware import members as fleet
from lanescope.app.hardware import runs as kinds
from lanescope.app.home import draw as home
from lanescope.app.read import bench, draw, languages
from lanescope.app.read import reading as reader
from lanescope.app.runs import draw as runs
from lanescope.ptx import catalog, differences
from lanescope.reader import LONGEST
from tests.arrays import npy

Call = tuple[str, Callable[[], Any]]
F16, S8 = "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.s32.s8.s8.s32"
TABLES = """
| what | seen | promised |
|---|---:|:---:|
| `a`, first: one, x; two | 12 ms; p99 0.5 s | < 10 ms; p99 1 s |
| b | 18,381 requests/s, p99 5 ms, 0 failed | ≥ 9,000 requests/s |
| c | 2 MB, worst 3.5 MB | under 4 MB |
| d | 5 s | 7 |
| d | 4 s | none |
| e: x; y | 1 ms | 2 ms |

| what | seen | wanted |
|---|---|---|
| sizes | 300 kB | 500 kB |
| more | 200000 bytes | 1 MB |

| case | | Ours | theirs |
|---|---|---|---|
| one | fast | 1.5 | 2 |
| | slow | 3 | 120 |
| | ratio | 2 | 60 |
| two | fast | 4 | 0.5 |

| kind | n | found | named |
|---|---|---|---|
| x | 7 | 3 of 4 (75 %) | 1 (25 %) |
| y | 8 | 0 of 0 | 9 (90 %) |

| a | b |
|---|---|
| 1 | 2 |
"""


def of_guide() -> Iterator[Call]:
    found = benchmarks.tables(TABLES)
    yield "tables", lambda: found
    for n, one in enumerate(found):
        yield f"charts {n}", partial(benchmarks.charts, one)
    for cell, usual in (("under 5", "ms"), ("5", ""), ("about 5", "ms"), ("≥ 1,024.5 kB", ""), ("5 msx, 6 MB", "s"),
                        ("p50 <1 ms", ""), ("1 ms, 2 s", ""), ("1 ms; 2 s, 3 ms", ""), ("", "ms")):  # fmt: skip
        yield f"amounts {cell!r} {usual}", partial(benchmarks.amounts, cell, usual)
    many = [["x", "seen", "promised"], *([f"n{n}", f"{n + 1} ms", ""] for n in range(13))]
    yield "bars of a long table", lambda: [len(chart["names"]) for chart in benchmarks.charts(many)]
    yield "the first bars", benchmarks.thumbnail
    for text in ("A heading {#own-id}", "A **bold** heading & more!", "`a_b` 9"):
        yield f"heading {text}", partial(render.html, f"## {text}\n\ntext")
    yield "headings", partial(render.headings, '<h2 id="a">A <b>b</b> &amp;</h2><h2 id="c">D</h2>')
    yield "a wide table", partial(render.html, "| a | b |\n|---|---:|\n| 1 | 2 |")
    yield "a text that is read", partial(render.html, "```paste x\nHMMA.16816.F32\n```\n")
    for count in (89, 90, 91):
        made = types.SimpleNamespace(title="t" * count, kind="topic", link="/x?a=1&b=2")
        yield (
            f"a title of {count}",
            partial(patched, render.reading, "read", lambda _, m=made: m, partial(render._read, "x")),
        )
    for wide, high in ((459, 100), (460, 100), (919, 460), (920, 460), (921, 460), (1000, 400)):
        yield f"a figure {wide} × {high}", partial(render._kind, f'<figure><svg viewBox="0 0 {wide} {high}">')
    for block in ("<p>a", "<p>@ask x</p>", "<ul>", "<ol>", "<h2>", "<div>"):
        yield f"kind of {block}", partial(render._kind, block)
    narrow, wide_ = ('<figure><svg viewBox="0 0 9 9">', '<figure><svg viewBox="0 0 999 9">')
    for blocks in (
        ["<p>a", narrow],
        [narrow, narrow],
        ["<h2>", narrow],
        ["<p>a", "<ul>", narrow, narrow],
        [wide_, "<p>"],
    ):
        yield f"rows of {[render._kind(one) for one in blocks]}", partial(render._rows, blocks)
    for given in ("", " x ", "mma", F16, "y" * 401, "<b>"):
        asked = partial(render.asked, f"<p>before</p><p>@ask {S8}</p>", given)
        yield f"asked {given[:20]}", lambda asked=asked: asked().partition("<table>")[0]
    for address in ("/i/x", "/nothing", "/tiles/none", "/layouts/none", f"/i/{F16}/q", "/smem?mn=7", "/banks?pad=x"):
        yield f"drawn {address}", partial(render.drawing, address, "x")
    for width in (len("f(const T* a, bool b)"), len("f(const T* a, bool b)") - 1):
        yield f"wrapped {width}", partial(cpp._wrapped, "f(const T* a, bool b)", width)
    yield "wrapped without parameters", partial(cpp._wrapped, "f" * 120)
    for name in ("mma_sync", "bmma_sync", "fragment", "fill_fragment"):
        yield f"function {name}", partial(cpp.function, name)
    for text in (S8, "ldmatrix.m8n8.x4.trans.b16", "wgmma.mma_async.m64n8k16.f32.f16.f16"):
        yield f"words {text}", partial(reading.words, text)
        yield f"declared {text}", partial(reading.declare, text)
    for row in differences.rows():
        yield f"proofs {row.key}", partial(slips.proofs, row)
        yield f"kinds {row.key}", partial(slips._kinds, row)
    texts = tuple(i.ptx for i in catalog.instructions()[:6])
    for most in (3, 5, 6):
        yield f"{most} of six", partial(slips._some, texts, most)
    for text in (f"{F16}/a", "wmma.load.a.row.m16n16k16.f16/a", "mma.m8n8k4.row.col.f32.f16.f16.f32/d"):
        yield f"copies of {text}", partial(values.times, text)
        yield f"holders of {text}", partial(values.holders, text)


def patched(home_: Any, name: str, stand_in: Any, call: Callable[[], Any]) -> Any:
    with mock.patch.object(home_, name, stand_in):
        return call()


def of_reading() -> Iterator[Call]:
    for text in (
        None, "8:1", "(4,8):(8,1)", "(2,2,2):(1,2,4)", "((2,2),(4,8)):((1,2),(4,16))", "(17,16):(1,32)",
        "(16,17):(17,1)",
        "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "Sw<1,1,1> o (4,4):(4,1)", "Sw<2,0,3> o 4 o (8,8):(8,1)",
        "Sw<3,4,3> o smem_ptr[32b](unset) o (8,32):(32,1)", "Sw<1,4,3> o smem_ptr[8b](unset) o 64:1",
    ):  # fmt: skip
        yield f"offsets {text}", partial(draw.offsets, text)
    atom = "SM80_16x8x16_F32F16F16F32_TN"
    body: dict[str, Any] = {"atom": atom, "atom_layout": "", "permutation": None, "tile": None}
    copy = {
        "atom": "",
        "bits": 128,
        "element_bits": 16,
        "thr_layout": "(16,8):(8,1)",
        "val_layout": "(1,8)",
        "tile": (16, 64),
    }
    blocked = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
    for words, kind, facts in (
        ("an atom", "tiled_mma", {"body": body}), ("128 wide", "tiled_mma", {"body": body | {"tile": (128, 128,
        16)}}),
        ("136 wide", "tiled_mma", {"body": body | {"tile": (128, 136, 16)}}), ("no atom", "tiled_mma", {"body": {}}),
        ("two warps", "tiled_mma", {"body": body | {"atom_layout": "(2,1,1)"}}), ("a wrong atom", "tiled_mma",
        {"body": body | {"atom": "x"}}),
        ("a copy", "tiled_copy", {"body": copy}), ("no tile", "tiled_copy", {"body": copy | {"tile": None}}),
        ("no values", "tiled_copy", {"body": copy | {"val_layout": ""}}), ("a TV layout", "tiled_copy", {"body": {
            "layout_tv": "((4,8),(2,2)):((32,1),(16,8))", "tiler_mn": "(16,8)", "tile": (16, 8), "bits": 16,
            "element_bits": 16}}),
        ("a layout", "triton", {"body": {"text": blocked, "shape": (32, 64)}}), ("no shape", "triton",
        {"body": {"text": blocked}}),
        ("nothing", "layout", {}),
    ):  # fmt: skip
        yield f"tiles of {words}", partial(draw.tiles, kind, facts)
    for text in ("plain", "共享内存", "半精度 mma", "행렬 디스크립터 lbo", "这是一个很长的句子没有我们的词",
                 "这是半精度的句子",
                 "异或 swizzle 模式", "뱅크 충돌", "a 指令描述符 b"):  # fmt: skip
        yield f"in English {text}", partial(languages.in_english, text)
    for count in (10, 3000, 7100, 7168, 9000, 40_000):
        text = "".join(chr(97 + n * n % 26) for n in range(count))
        yield f"address of {count}", lambda text=text: (len(made := bench.address(text, {"at.a": "1"})), made[:9])
    yield "address of too much", lambda: bench.address("".join(map(chr, range(256, 9000))), {"at.a": "1" * 7200})
    for z in ("", "!", "é", bench.packed("text"), bench.packed("text")[:-3], bench.packed("text") + "AAAA", "AAAA",
              bench.packed("x" * (4 * LONGEST)), bench.packed("x" * (4 * LONGEST + 1))):  # fmt: skip
        yield f"unpacked {z[:24]}", lambda z=z: (len(text := bench.unpacked(z)), text[:9])
    for query in ({"at.x": " 1 ", "q": "2"}, {"swizzle.a": "", "operand": "a"}, {"builderx": "1"}):
        yield f"asked {query}", partial(bench.asked, query)
    for facts in ({"majors": {"a": "MN", "b": "K"}}, {"majors": {}}, {}, {"majors": None}):
        yield f"majors {facts}", partial(reader.in_majors, facts)
    rows = {"kind": "rows", "pitch_bytes": 128}
    for change in ({}, {"box": (64,)}, {"box": (64, None)}, {"element_bits": None}, {"swizzle": None},
    {"storage": None},
                   {"storage": {"kind": "cute"}}, {"box": (64, 12)}, {"box": (4, 8)}, {"box": (8, 8)},
                   {"box": (128, 8)},
                   {"box": (32, 4, 2)}, {"swizzle": "none"}, {"swizzle": "32B", "box": (16, 8)}):  # fmt: skip
        facts = {"storage": rows, "box": (64, 64), "element_bits": 16, "swizzle": "128B"} | change
        yield f"tile of {change}", partial(reader.tile_of, facts)
    for stages, apart, modes in ((None, None, 2), (3, 4096, 2), (40, 4096, 2), (3, None, 3), (1, 4096, 2)):
        facts = {
            "storage": rows | {"swizzle": None},
            "stages": stages,
            "stage_bytes": apart,
            "cute": "(8,8):(8,1)",
            "modes": modes,
        }
        yield f"stages {stages} {apart} {modes}", partial(reader.stages, facts)
    for text in ("core matrix 8x8", "m64n8k16 fp8", "lbo", "half", "fp8", "m16n8k8", "x" * 50,
    "a b c d e f g h i j k l m",
                 "wgmma bf16 n64", "size((4,8):(8,1))", "(4,8):(8,1)", "load matrix 4x", "int x = 3;"):  # fmt: skip
        yield (
            f"looked up {text[:30]}",
            lambda text=text: [(one.kind, one.title, one.link, one.notices) for one in reader._looked_up(text)],
        )
        yield f"certain {text[:30]}", partial(reader.certain, text)
        yield f"algebra {text[:30]}", partial(reader.algebra, text)


def of_catalogue() -> Iterator[Call]:
    for query in ("bf16", "wgmma n64", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, x",
    "ldmatrix x4 trans", "a b",
                  "shared::cta", "行 f16", "m16n8k16 s8;", "wgmma [ n64", "kind::mxf4", "x", "the wgmma",
                  ""):  # fmt: skip
        yield f"question {query}", partial(search.question, {"q": query, "type": " F16 "})
        yield f"found {query}", lambda query=query: [len(made := search.find({"q": query})), *(i.ptx for i in made[:2])]
        yield f"topics {query}", lambda query=query: [(one.page, one.summary) for one in topics.find(query)]
    for text in ("wgmma.fence.sync.aligned;", "wmma::load_matrix_sync(a)", "nvcuda::wmma::mma_sync bmma_sync",
    "xwgmma.fence", "swizzle",
                 "1 2 3", "des", "stride byte offset", "ldmatrix and wgmma.fence"):  # fmt: skip
        yield f"named {text}", lambda text=text: [one.page for one in topics.named(text)]
        yield f"topics of {text}", lambda text=text: [one.page for one in topics.find(text)]
    for text in ("A [link](/x) of `code`: More here. And.", "One. two. Three", "{{value x}} is it:"):
        yield f"sentence {text}", partial(topics._sentence, text)
    for family in catalog.families():
        first = next(iter(family.instructions()))
        yield f"pages of {first.ptx}", lambda first=first: [one.page for one in topics.of(first)]
    for most in (1, 2, 9):
        found = [find(F16), find(S8), find("wgmma.mma_async.m64n8k16.f32.f16.f16"), *catalog.instructions()[:4]]
        yield f"groups of {most}", partial(groups.groups, found, most)
    yield "in order", lambda: [i.ptx for i in groups.in_order(catalog.instructions()[::400])]
    yield "shapes", lambda: catalogue.known_shapes()[::7]
    for given in ({"family": "x"}, {"type": "x"}, {"target": "x"}, {"shape": "m1"}, {"family": "movmatrix"}):
        yield f"listing {given}", partial(catalogue.listing, **given)
    yield "families", catalogue.family_counts
    yield "exported", partial(search.exported, catalog.instructions()[:3])


def of_tools() -> Iterator[Call]:
    for text in ("0 16 ldmatrix.x4", "ldmatrix.x4:rows", "ld.shared.b32:0 4 8, ldmatrix.x1:ldmatrix", "x:y", ":",
    "a:b:c", "",
                 ", ".join(["ldmatrix.x4:rows"] * 16), ", ".join(["ldmatrix.x4:rows"] * 17)):  # fmt: skip
        yield f"accesses {text[:60]}", partial(banks.accesses, text)
    for given in ({"row_bytes": "128"}, {"row_bytes": "128", "pad": "16"}, {"row_bytes": "65536"},
    {"row_bytes": "65536", "pad": "4"},
                  {"row_bytes": "0"}, {"row_bytes": "6"}, {}):  # fmt: skip
        yield f"pitch {given}", partial(banks.pitch, given)
    for query in (
        {},
        {"operand": "d"},
        {"s_kind": "cute", "s_layout": "4:1"},
        {"s_kind": "zz", "mma": "x"},
        {"s_mn": "", "major": "MN"},
    ):
        yield f"chain {query}", partial(chains.read, query)
    for given in ("AAAA", "AA", "!", 5, None, "A" * 8, "A" * 12, "é"):
        yield f"decoded {given!r}", partial(dumps.decoded, given, "dump", 9)
    for raw in (b"", b"x", npy(np.ones(3)), npy(np.ones((2, 2)))):
        yield f"matrix {raw[:9]!r} {len(raw)}", partial(captures.matrix, raw, "a")
    for given in (("4x8", "f16", "a", 1, False), ("4x8", "f16", "b", 1, True), ("4x8", "e4m3", "a", 2, False),
    ("4x8", "f16", "a", 2, False),
                  ("4", "f16", "a", 1, False), ("x", "f16", "a", 1, False), ("4x8", "zz", "a", 1,
                  False)):  # fmt: skip
        yield f"a fill {given}", partial(captures.filled, *given)
    for value in (1.0, 2.5, 1e10, -3.0, math.nan, math.inf, 1 / 3, 1e-7, 123456.789):
        yield f"a number {value}", partial(runs._number, value)
    text = "one\ntwo three\n"
    for span in ((0, 0), (0, 3), (4, 7), (3, 4), (13, 14), (8, 99), (9, 2)):
        yield f"place {span}", partial(check._place, check.Path("a b/c.cu"), text, span)
    found = check.Found(code="lbo_sbo_swapped", title="Title", level="warning", message="Said.", fix="0x1",
                        place=check._place(check.Path("/a b.cu"), text, (4, 7)))  # fmt: skip
    left = check.Undecided(message="Open.", place=check._place(check.Path("c d.cu"), text, (0, 1)))
    told = check.Report(
        files=1, descriptors=2, tensor_maps=3, verified=4, findings=[found], open=[left], doubts=[found]
    )
    with mock.patch("importlib.metadata.version", lambda name: "1.2"):
        log = sarif.log(told)
    yield "a log", lambda: log
    for word, ptx in product((0, 0x4000004000010100, (1 << 64) - 1), (F16,)):
        yield f"home {word:x}", partial(home.bits, word)
        yield f"layout {ptx}", partial(home.layout, ptx)
        yield f"labelled {ptx}", partial(home.labelled, ptx)


def of_fleet() -> Iterator[Call]:
    """Members of a fleet, who can run what, and the evidence of a device."""
    device = {"name": "H", "compute_capability": "9.0", "target": "sm_90a"}
    post = {"name": "a:0", "host": "a", "program": "own", "device": device}
    rows: dict[str, dict[str, Any]] = {
        "ready": {"status": "running", "last_seen": 3.0, "lanescope": post},
        "older": {"status": "running", "lanescope": post | {"program": "other", "name": "b:0"}},
        "paused": {"status": "paused", "last_seen": 9.0, "lanescope": post | {"name": "b:1"}},
        "ampere": {"status": "running", "lanescope": post | {"name": "c:0", "device": device | {
            "compute_capability": "8.0", "target": "sm_80"}}},
        "strange": {"status": "running", "name": "x", "host": "h", "lanescope": {"device": 5}}, "empty": {},
    }  # fmt: skip
    known = fleet.members({"workers": rows}, {"ready": [1, 2]}, "own", 5.0)
    yield "members", lambda: [(one, one.told, one.architecture) for one in known]
    asked = {"kind": "mma", "instruction": find("wgmma.mma_async.m64n8k16.f32.f16.f16").ptx}
    for more in ({}, {"architecture": "sm_90"}, {"architecture": "sm_80"}, {"architecture": "sm_75"}, {"worker": "a:0"},
                 {"worker": "b:1"}, {"worker": "z:0"}, {"device": 2}, {"instruction": find(F16).ptx}):  # fmt: skip
        for some in (known, known[-1:], ()):
            yield f"fit {more} of {len(some)}", lambda s=some, m=more: [one.name for one in fleet.fit(s, asked | m)]
    for access, capability in product(("stmatrix.x1", "ldmatrix.x1"), ("8.9", "9.0")):
        lacking = partial(fleet.lacks, device | {"compute_capability": capability}, {"access": access})
        yield f"lacks {access} {capability}", lacking
    yield "among nobody", partial(fleet.fit, known, asked, lambda _: False)
    meta = {
        "device": "NVIDIA H, 80 GB",
        "driver": "1",
        "cuda": "2",
        "nvrtc": "3",
        "target": "sm_90a",
        "date": "2027-01-02",
    }
    found = {
        "meta": meta | {"method": "mma: x"},
        "results": {},
        "banks": {"ld": {"ran": 2, "agreed": 1}},
        "skipped": {},
    }
    other = found | {"meta": meta | {"driver": "9"}}

    def written(*each: tuple[dict[str, Any], str]) -> str:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(evidence, "FOLDER", Path(folder) / "new"):
            for one, part in each:
                path = evidence.write(one, part)
            return f"{path.name} {path.read_text()}"

    yield "written", partial(written, (found, ""))
    yield "a part", partial(written, (found, ""), (found, "banks"), (found | {"banks": {}}, "banks"))
    yield "a part of another device", partial(written, (found, ""), (other, "banks"))
    yield "a part that was skipped", partial(written, (found, "chains"))
    yield "a part alone", partial(written, (found, "banks"))
    for part in ("", "banks", "x" * 70):
        yield f"part {part[:5]}", partial(evidence.check_part, part)
    yield (
        "failures",
        partial(evidence.failures, found | {"results": {F16: {"mma": "agrees", "fragment": "differs: 1"}}}),
    )
    yield (
        "summary",
        partial(evidence.summary, found | {"results": {find(F16).ptx: {"mma": "agrees", "fragment": "no"}}}),
    )
    for given in (
        {"architecture": "sm_90a"},
        {"architecture": "90"},
        {"worker": "a:1"},
        {"worker": "a b"},
        {"worker": ""},
    ):
        for backend in ("cuda", "numpy"):
            yield f"place {given} {backend}", partial(kinds.place, given, backend)
    for given in ({"kind": "verify", "part": "banks", "first": 1, "count": 2}, {"kind": "x"}, {"part": "x"}, {}):
        yield f"a piece {given}", partial(pieces.check, given)
    for part in ("banks", "descriptors"):
        cut = pieces.pieces("sm_90a", part)
        yield f"pieces of {part}", lambda cut=cut: [(one, one.weight, one.params) for one in (*cut[:2], *cut[-1:])]
    whole, some_ = pieces.Piece("banks", 0, 0), pieces.Piece("chains", 0, 3)
    for piece, told in ((whole, {"a": {"ran": 2, "agreed": 2}}), (whole, {"a": {"ran": 2, "agreed": 3}}),
                        (whole, []),
                        (some_, {"a": {"ran": 3, "agreed": 0}}), (some_, {"a": {"ran": 2, "agreed": 0}}),
                        (whole, {"a": {"ran": 1, "agreed": True}}),
                        (whole, {"a": {"ran": 2, "agreed": -1}})):  # fmt: skip
        yield f"checked {piece.part} {told}", partial(pieces.checked, piece, "sm_90a", told)
    each = [(some_, {"a": {"ran": 3, "agreed": 2}}), (pieces.Piece("chains", 3, 1), {"a": {"ran": 1, "agreed": 1}})]
    merged = pieces.merged({"name": "H", "target": "sm_90a"}, each, {"b": 1, "a": 2})
    yield "merged", lambda: {**merged, "meta": {**merged["meta"], "date": ""}}
    yield "a simulation", partial(pieces.run, types.SimpleNamespace(), {})  # type: ignore[arg-type]


ROOMS = {"fleet": of_fleet, "guide": of_guide, "reading": of_reading, "catalogue": of_catalogue, "tools": of_tools}
