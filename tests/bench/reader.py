"""`make bench-reader`: how many texts of the corpus are read as they must be, by kind, and how long 64 KiB take.

Writes the section "What the reader knows" of docs/benchmarks.md: a regression figure, for the reader was mended against
these texts.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable

from lanescope import reader
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.work import freeze_memory
from lanescope.app.read import text_meanings
from lanescope.ptx import catalog
from tests import reader_corpus, workbench_cases
from tests.bench import load
from tests.test_reader_code import CASES
from tests.test_reader_confusions import NOTHING, PIECES, RUNS

HEADING = "## What the reader knows"
MOST_MS = 200


def _format_share(good: int, of: int) -> str:
    return f"{good} of {of}" + (f" ({100 * good / of:.0f} %)" if of else "")


def measure_accuracy() -> list[str]:
    """A row a kind: all texts, and those that are read as they must be."""
    rows: dict[str, list[bool]] = {}
    for entry in reader_corpus.load_entries():
        right = not reader_corpus.find_wrong_facts(entry, json.loads(encode_json(text_meanings.read_text(entry.text))))
        rows.setdefault(entry.kind, []).append(right)
    for case in CASES:
        kind = "builder" if "expect" in case.head else "tensor_map"
        told = text_meanings.read_text(case.code)
        rows.setdefault(kind, []).append(kind in {told.kind, *(one.kind for one in told.also)})
    lines = ["| kind | texts | read right |", "|---|---:|---:|"]
    lines += [
        f"| {kind} | {len(seen)} | {_format_share(sum(seen), len(seen))} |" for kind, seen in sorted(rows.items())
    ]
    every = [one for seen in rows.values() for one in seen]
    lines.append(f"| all | {len(every)} | {_format_share(sum(every), len(every))} |")
    quiet = sum(text_meanings.read_text(text).kind == "unknown" for text in NOTHING.values())
    return [
        *lines,
        "",
        (
            f"Texts that are none of these (prose, hashes, addresses, other code):"
            f" {_format_share(quiet, len(NOTHING))} unknown."
        ),
    ]


# Lines that cost a recogniser or the evaluator most, each with another number so that none is known already.
WORST: tuple[Callable[[int], str], ...] = (
    lambda n: f'asm("wgmma.mma_async.sync.aligned.m64n{8 * n + 4}k16.f32.bf16.bf16 {{%0}}, %1, %2;");\n',
    lambda n: f"mma.sync.aligned.m{n}n8k16.row.col.f32.f16.f16.f32 {{%0}};\n",
    lambda n: f"SM90_{n}x128x16_F32BF16BF16_SS<Major::K>\n",
    lambda n: f"desc_{n}: {0x4000004000010000 + n % 16000:#x}\n",
    lambda n: f"s{n}: Sw<3,4,3> o smem_ptr[16b]({n:#x}) o ((_8,_16),(_64,_1),_4):((_64,_512),(_1,_0),_8192)\n",
    lambda n: f"uint64_t f{n}(uint32_t a) {{ uint64_t desc = a >> 4 | {n}ull << 16; return desc | 1ull << 62; }}\n",
    lambda n: f"void g{n}(uint64_t desc) {{ for (int a = 0; a < 16; ++a) mma(desc + a * {n}, desc); }}\n",
    lambda n: f"#define M{n}(x) (((uint64_t)(x) & 0x3FFFF) >> 4 | M{n - 1}(x))\nuint64_t d{n} = M{n}(a + {n});\n",
    lambda n: f"template <int N> struct S{n} {{ static constexpr int K = N * {n}; uint64_t desc; }}; S{n}<{n}> s{n};\n",
    lambda n: f"uint64_t v{n} = ((a{n} + b{n} * c{n}) / d{n} % 7 << 4) | (v{n - 1} ^ {n});\n",
    lambda n: f"def f{n}(a, desc):\n    for k in range(16):\n        g{n}(desc + k * {n})\n",
    lambda n: f"auto m{n} = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{{}}, Layout<Shape<_{n % 4 + 1},_2>>{{}});\n",
    lambda n: (
        f"using L{n} = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{{}}, Shape<_{128 + n},_64>{{}}));\n"
    ),
    lambda n: f"/*{n:04x}*/ HGMMA.64x128x16.F32.BF16 R{n % 200}, gdesc[UR{n % 60}].tnspB, R24, gsb0 ;\n",
)


def build_kernel_texts() -> list[str]:
    """The kernels of the corpus joined to texts of 64 KiB, each of other ones than the one before it."""
    whole = "\n".join([*(case.text for case in workbench_cases.CASES), *(case.code for case in CASES)])
    return [whole[at : at + reader.LONGEST] for at in range(0, len(whole) - reader.LONGEST // 2, reader.LONGEST // 2)]


def fill_text(line: Callable[[int], str]) -> str:
    out = "".join(map(line, range(1, 2 * reader.LONGEST // len(line(1)))))
    return out[: reader.LONGEST]


def measure_slowest() -> list[str]:
    """The processor time of the slowest of many texts of 64 KiB, in a process that is settled as a server is."""
    texts = [(piece * reader.LONGEST)[: reader.LONGEST] for piece in PIECES]
    texts += RUNS
    texts.append("\n".join(f'asm("{i.ptx} {{%0}};");' for i in catalog.instructions())[: reader.LONGEST])
    texts += map(fill_text, WORST)
    texts.append(("HMMA.16816.F32 R4, R8, R10, R4 ;\n" * 2000)[: reader.LONGEST])
    text_meanings.read_text("((4,8),(2,2)):((32,1),(16,8))")
    text_meanings.read_text("uint64_t desc = 1;")
    freeze_memory()
    joined = build_kernel_texts()
    rows = (("several kernels of the corpus", joined), ("the worst for one recogniser each", texts))
    return [
        (
            f"| the slowest of {len(some)} texts of 64 KiB, {what} | {max(map(measure_reading, some)):.0f} ms |"
            f" {MOST_MS} ms |"
        )
        for what, some in rows
    ]


def measure_reading(text: str) -> float:
    """Milliseconds of processor time to read a text that was not read before."""
    began = time.process_time()
    reader.recognise_text(text)
    return (time.process_time() - began) * 1000


def main() -> None:
    head = (
        f"Written by `make bench-reader` on {datetime.date.today().isoformat()}: texts of public repositories in own"
        " words, and our own where none was at hand (tests/golden/reader, every named fact compared;"
        " tests/golden/builders, the kind). The reader was mended against them: the shares say that nothing was lost,"
        " not how well it does on others."
    )
    figures = ["| figure | seen | promised |", "|---|---:|---:|", *measure_slowest()]
    load.write_section([HEADING, "", head, "", *measure_accuracy(), "", *figures], HEADING)
    print((load.PAGE).read_text().partition(HEADING)[2][:3000])


if __name__ == "__main__":
    main()
