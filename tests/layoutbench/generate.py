"""Write LayoutBench's questions, the same ones every time: `python -m tests.layoutbench.generate`.

The catalogue says which instructions exist; every answer comes from truth.py.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.layoutbench import truth

Json = dict[str, Any]
FILE = Path(__file__).with_name("questions.jsonl")
SEED = 37
MMA = (
    *("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    *("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    *("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
    *("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    *("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"),
    *("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32"),
    *("mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"),
)
WGMMA = tuple(
    f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{a}"
    for n, k, d, a in (
        *((8, 16, "f32", "f16"), (64, 16, "f32", "bf16"), (256, 16, "f16", "f16"), (128, 32, "f32", "e4m3")),
        *((96, 32, "s32", "s8"), (32, 8, "f32", "tf32"), (192, 16, "f32", "f16")),
    )
)
MOVES = (
    *("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"),
    *("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
    "stmatrix.sync.aligned.m8n8.x4.shared.b16",
)
LAYOUTS = (
    *(("((4,8),(2,2,2)):((32,1),(16,8,128))", [16, 16]), ("((4,8),(2,2)):((32,1),(16,8))", [16, 8])),
    *(("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))", [64, 64]), ("((16,2),(4,2)):((1,64),(16,128))", [16, 16])),
)
IN_SHARED = ("f16", "bf16", "e4m3", "tf32")
MODES = ("none", "32B", "64B", "128B")


def list_maps(rng: random.Random) -> Iterator[Json]:
    """Who holds an element, and what a value is: 45 each."""
    texts = [*(MMA * 2), *(WGMMA * 2), *MOVES][:45]
    for at, text in enumerate(texts):
        operand = "data" if text in MOVES else rng.choice("ad" if text in WGMMA else "abd")
        if text in WGMMA and at % 2:
            operand = "d"
        fragment, threads, values = truth.find_fragment(text, operand)
        thread, value = rng.randrange(threads), rng.randrange(values)
        place = fragment(thread, value)
        names = ("matrix", "row", "col")[-len(place) :]
        where = dict(zip(names, place, strict=True))
        said = ", ".join(f"{name} {number}" for name, number in where.items())
        what = f"operand {operand.upper()}" if len(operand) == 1 else "the fragment"
        yield {
            "question": f"Which threads hold the element at {said} of {what} of {text}, as which of their values?"
            ' Answer {"holders": [[thread, value], …]}; values count as PTX numbers them.',
            "asks": {"kind": "element", "instruction": text, "operand": operand, **where},
        }
        thread, value = rng.randrange(threads), rng.randrange(values)
        yield {
            "question": f"Which element of {what} of {text} is value {value} of thread {thread}? Answer {{"
            + ", ".join(f'"{name}": number' for name in names)
            + "}.",
            "asks": {"kind": "value", "instruction": text, "operand": operand, "thread": thread, "value": value},
        }


def list_words(rng: random.Random) -> Iterator[Json]:
    """Words of amounts, of tiles and of products: 20 each."""
    for _ in range(20):
        asks = {
            "kind": "descriptor",
            "start_address": 16 * rng.randrange(1 << 13),
            "lbo_bytes": 16 * rng.randrange(1, 1 << 12),
            "sbo_bytes": 16 * rng.randrange(1, 1 << 12),
            "base_offset": rng.choice((0, 0, 0, rng.randrange(8))),
            "swizzle": rng.choice(MODES),
        }
        said = f"start address {asks['start_address']:#x}, LBO {asks['lbo_bytes']} bytes, SBO {asks['sbo_bytes']} bytes"
        yield {
            "question": f"Encode the wgmma matrix descriptor with {said}, base offset {asks['base_offset']} and swizzle"
            f' {asks["swizzle"]}. Answer {{"descriptor": "0x…"}}.',
            "asks": asks,
        }
        yield _ask_tile(rng)
        yield _ask_idesc(rng)


def _ask_tile(rng: random.Random) -> Json:
    """The descriptor of one K step of a swizzled tile, K-major, of one panel."""
    mode, element = rng.choice(MODES[1:]), rng.choice(IN_SHARED)
    size = truth.BITS[element] // 8
    width, k = truth.WIDTHS[mode], 32 // size
    step, n = rng.randrange(width // 32), rng.choice((64, 128, 256))
    base = 1024 * rng.randrange(1, 64)
    text = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{element}.{element}"
    stored = _panels("K", width, 8 * width, 0, mode, base + 32 * step)
    return {
        "question": f"A tile of {n} rows of N by {width // size} of K, {element}, lies K-major in shared memory from"
        f" byte {base:#x} on, with the {mode} swizzle, rows of {width} bytes one behind another. Which descriptor of B"
        f' of {text} reads K step {step}? Answer {{"descriptor": "0x…"}}.',
        "asks": {
            "kind": "tile",
            "instruction": text,
            "operand": "b",
            "major": "K",
            "storage": stored,
            "tile": {"element_bits": 8 * size, "swizzle": mode, "mn": n, "k": width // size, "base": base},
            "step": step,
        },
    }


def _panels(inner: str, width: int, outer8: int, between: int, mode: str, base: int) -> Json:
    return {
        "kind": "atoms",
        "inner": inner,
        "width_bytes": width,
        "outer8_stride": outer8,
        "inner_stride": between,
        "swizzle": mode,
        "base": base,
    }


def _ask_idesc(rng: random.Random) -> Json:
    kind = rng.choice(("f16", "tf32", "f8f6f4", "i8"))
    types = {"f16": ("f16", "bf16"), "tf32": ("tf32",), "f8f6f4": ("e4m3", "e5m2", "e2m1"), "i8": ("u8", "s8")}[kind]
    a = rng.choice(types)
    b = a if kind == "f16" else rng.choice(types)
    d = {"i8": "s32"}.get(kind, "f32" if a == "bf16" or kind == "tf32" else rng.choice(("f16", "f32")))
    asks = {"kind": "idesc", "mma_kind": kind, "m": rng.choice((64, 128)), "n": 32 * rng.randrange(1, 9)}
    asks |= {"a": a, "b": b, "d": d, "major_a": rng.choice(("K", "MN")), "major_b": rng.choice(("K", "MN"))}
    return {
        "question": f"Encode the instruction descriptor of tcgen05.mma kind::{kind} with M = {asks['m']},"
        f" N = {asks['n']}, A {a} {asks['major_a']}-major, B {b} {asks['major_b']}-major, D {d}, everything else 0."
        ' Answer {"word": "0x…"} with 8 digits.',
        "asks": asks,
    }


def list_repairs(rng: random.Random) -> Iterator[Json]:
    """Words that read their tile, and words with a planted mistake: 50 in all."""
    made = 0
    while made < 50:
        asks = _store_tile(rng)
        right = _describe(asks)
        word = right if made % 5 == 0 else _plant_mistake(rng, right)
        asks["descriptor"] = f"0x{word:016x}"
        assert truth.reads_tile(right, asks), asks
        if made % 5 and truth.reads_tile(word, asks):
            continue  # the mistake is in bits that this read does not use
        made += 1
        rows, depth, _ = truth.measure_operand(asks)
        stored = asks["storage"]
        line = "mn" if stored["inner"] == "K" else "k"
        yield {
            "question": f"Element (mn, k) of the {rows} × {depth} operand {asks['operand'].upper()} of"
            f" {asks['instruction']} ({asks['major']}-major) is stored in panels: line {line},"
            f" inner byte b of its {stored['inner']} dimension at base + line div 8 · outer8_stride + line mod 8 ·"
            " width_bytes + b div width_bytes · inner_stride + b mod width_bytes, then the XOR of the swizzle on the"
            f" address: {json.dumps(stored)}. Does the descriptor {asks['descriptor']} read it? Answer"
            ' {"verdict": "match" or "mismatch", "descriptor": "0x…" that reads it}.',
            "asks": asks,
        }


def _store_tile(rng: random.Random) -> Json:
    """A slice that some descriptor reads: panels with strides that the mode allows."""
    mode, major = rng.choice(MODES), rng.choice(("K", "MN"))
    element = rng.choice(IN_SHARED if major == "K" else ("f16", "bf16"))
    size, operand = truth.BITS[element] // 8, rng.choice("ab")
    n = rng.choice((64, 128))
    text = f"wgmma.mma_async.sync.aligned.m64n{n}k{32 // size}.f32.{element}.{element}"
    width, block = truth.WIDTHS[mode], 1024 if mode != "none" else 128
    outer8 = max(8 * width, block) * rng.choice((1, 1, 2, 3)) if mode != "none" else 128 * rng.choice((1, 2, 3))
    if mode != "none":
        outer8 = 8 * width if outer8 < 8 * width or rng.random() < 0.6 else outer8
    between = 8192 * rng.choice((1, 2)) if mode != "none" else 2048 * rng.choice((1, 2, 3))
    storage = _panels(major, width, outer8, between, mode, 1024 * rng.randrange(1, 60))
    return {"kind": "repair", "instruction": text, "operand": operand, "major": major, "storage": storage}


def _describe(asks: Json) -> int:
    """The word that reads a stored slice, from the meaning of LBO and SBO."""
    stored = asks["storage"]
    across, along = stored["inner_stride"], stored["outer8_stride"]
    if stored["swizzle"] == "none" and asks["major"] == "MN":
        across, along = along, across
    fields = {"start_address": stored["base"], "lbo_bytes": across, "sbo_bytes": along, "base_offset": 0}
    return int(truth.encode_word(fields | {"swizzle": stored["swizzle"]})["descriptor"], 16)


def _plant_mistake(rng: random.Random, word: int) -> int:
    """Return a word with one mistake of one field, as people make them."""
    start, lbo, sbo = word & 0x3FFF, word >> 16 & 0x3FFF, word >> 32 & 0x3FFF
    rest = word & ~(0x3FFF | 0x3FFF << 16 | 0x3FFF << 32)
    mistakes: tuple[Callable[[], int], ...] = (
        lambda: rest | start | sbo << 16 | lbo << 32,  # strides exchanged
        lambda: rest | start | lbo << 16 | (sbo * 2 & 0x3FFF) << 32,
        lambda: rest | start | lbo << 16 | sbo // 2 << 32,
        lambda: rest | (start + rng.choice((1, 2, 8))) & 0x3FFF | lbo << 16 | sbo << 32,
        lambda: word & ~(3 << 62) | ((word >> 62) + rng.choice((1, 2, 3)) & 3) << 62,  # another mode
    )
    return rng.choice(mistakes)()


def list_tensor_memory(rng: random.Random) -> Iterator[Json]:
    """Elements of D in tensor memory, both ways, and registers of tcgen05.ld: 40."""
    forms = ((64, 1, 0), (128, 1, 0), (128, 2, 0), (256, 2, 0), (32, 1, 1), (64, 1, 1), (128, 1, 1))
    for at in range(28):
        m, ctas, ws = forms[at % len(forms)]
        n = rng.choice((64, 128, 256))
        asks: Json = {"mma_kind": "f16", "m": m, "n": n, "cta_group": ctas, "ws": ws}
        place = {"row": rng.randrange(m // ctas), "col": rng.randrange(n)}
        form = f"tcgen05.mma kind::f16, cta_group::{ctas}{', .ws' * ws}, M = {m}, N = {n}, D f32"
        held = truth.find_in_tensor(asks | place)
        if at % 2:
            yield {
                "question": f"{form}: in which lane and 32-bit column of tensor memory, counted from D's address, is"
                f' D[{place["row"]}][{place["col"]}] of one CTA? Answer {{"lane": number, "column": number}}.',
                "asks": asks | {"kind": "tensor_element"} | place,
            }
        else:
            yield {
                "question": f"{form}: which element of D of one CTA is in lane {held['lane']}, column {held['column']}"
                ' of tensor memory, counted from D\'s address? Answer {"row": number, "col": number}.',
                "asks": asks | {"kind": "tensor_place"} | held,
            }
    for at in range(12):
        shape, registers = (("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4))[at % 4]
        count = rng.choice((2, 4, 8))
        text = f"tcgen05.ld.sync.aligned.{shape}.x{count}.b32"
        asks = {"kind": "tensor_load", "instruction": text, "thread": rng.randrange(32)}
        asks["register"] = rng.randrange(registers * count)
        yield {
            "question": f"From which lane and column of tensor memory, counted from its address, does {text} load"
            f' register {asks["register"]} of thread {asks["thread"]}? Answer {{"lane": number, "column": number}}.',
            "asks": asks,
        }


def list_conversions(rng: random.Random) -> Iterator[Json]:
    """Elements of CuTe's thread-value layouts, and conversions between blocked layouts of Triton: 20 each."""
    for at in range(20):
        layout, tile = LAYOUTS[at % len(LAYOUTS)]
        shape = truth.parse_tuple(layout.split(":")[0])
        sizes = [truth.pycute.size(part) for part in shape]
        asks: Json = {"kind": "tv", "layout": layout, "tile": tile}
        asks |= {"thread": rng.randrange(sizes[0]), "value": rng.randrange(sizes[1])}
        yield {
            "question": f"Which element (row, column) of a {tile[0]} × {tile[1]} tile, rows fastest, does thread"
            f" {asks['thread']}, value {asks['value']} of the CuTe thread-value layout {layout} hold? Answer"
            ' {"row": number, "col": number}.',
            "asks": asks,
        }
        source, target = _make_blocked(rng), _make_blocked(rng)
        asks = {"kind": "convert", "source": source, "target": target, "shape": [64, 64]}
        yield {
            "question": f"Triton converts a 64 × 64 tensor from the blocked layout {json.dumps(source)} to"
            f" {json.dumps(target)}. Of the destination's (thread, register) pairs, how many find their element in the"
            ' same thread of the source, and how many in the same warp? Answer {"in_thread": number, "in_warp":'
            " number}.",
            "asks": asks,
        }


def _make_blocked(rng: random.Random) -> Json:
    per = rng.choice(([1, 1], [1, 2], [1, 4], [2, 2], [4, 1], [1, 8]))
    lanes, warps = rng.choice(([8, 4], [4, 8], [2, 16], [16, 2])), rng.choice(([4, 1], [2, 2], [1, 4]))
    tile = [per[d] * lanes[d] * warps[d] for d in (0, 1)]
    if max(tile) > 64:
        return _make_blocked(rng)
    return {"size_per_thread": per, "threads_per_warp": lanes, "warps": warps, "order": rng.choice(([1, 0], [0, 1]))}


def list_banks(rng: random.Random) -> Iterator[Json]:
    """Wavefronts of an access, and the swizzle that frees one: 10 each."""
    for at in range(10):
        access = tuple(truth.LANES)[at % len(truth.LANES)]
        size = truth.BYTES[access]
        used = {"ldmatrix.x1": 8, "ldmatrix.x2": 16}.get(access, 32)
        stride = size * rng.choice((1, 2, 3, 4, 5, 8, 9, 16, 32))
        address = [stride * lane + size * rng.randrange(2) for lane in range(used)]
        yield {
            "question": f"The lanes of a warp give {access} these byte addresses of shared memory, lane 0 first:"
            f' {address}. How many wavefronts does it take? Answer {{"wavefronts": number}}.',
            "asks": {"kind": "banks", "access": access, "address": address},
        }
        row = 128 * rng.choice((1, 2, 4)) if at % 2 else rng.choice((64, 128, 256))
        rows = [row * (lane % 8) + 16 * (lane // 8) for lane in range(32)]
        yield {
            "question": f"The lanes of a warp give ldmatrix.x4 these byte addresses: {rows}. Which CuTe"
            ' Swizzle<bits, base, shift> of byte addresses frees it of bank conflicts? Answer {"bits": number, "base":'
            ' number, "shift": number}.',
            "asks": {"kind": "swizzle", "access": "ldmatrix.x4", "address": rows},
        }


TOPICS: dict[str, Callable[[random.Random], Iterator[Json]]] = {
    "maps": list_maps,
    "words": list_words,
    "repairs": list_repairs,
    "tensor memory": list_tensor_memory,
    "conversions": list_conversions,
    "banks": list_banks,
}


def generate_questions() -> list[Json]:
    """Generate all questions with their answers; those that a judge executes have none."""
    questions = []
    for topic, make in TOPICS.items():
        for number, one in enumerate(make(random.Random(f"{SEED} {topic}"))):
            answer = truth.TRUTHS.get(one["asks"]["kind"])
            solved = {"answer": answer(one["asks"])} if answer else {}
            questions.append({"id": f"{topic.replace(' ', '-')}-{number:02}", "topic": topic, **one, **solved})
    return questions


def read_questions() -> list[Json]:
    """Read the committed questions."""
    return [json.loads(line) for line in FILE.read_text().splitlines()]


def format_questions(questions: list[Json]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in questions)


if __name__ == "__main__":
    FILE.write_text(format_questions(generate_questions()))
