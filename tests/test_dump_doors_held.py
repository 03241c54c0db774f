"""The engine asked at random for dumps and captures that are right, cut or changed: no answer changes unnoticed. What
answers mean is tested elsewhere.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from typing import Any

import numpy as np

from lanescope import capture
from lanescope.capture.form import Capture
from lanescope.capture.locate import Image, search
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor
from lanescope.dump import examine, summary, written
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.codec import encode
from lanescope.ptx.instruction import Instruction
from lanescope.shared.storage import storage
from tests import test_capture_sums, test_capture_verify
from tests.arrays import npy
from tests.doors import answered, kept, stored
from tests.held import refusal, whole


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
