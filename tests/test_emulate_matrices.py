"""mma.sync in the emulator, by PTX's fragment pages as tests/oracle has them and Python's integers.

Codes of element types are written down here; no map and no codec of the engine is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from tests.emulated_kernels import execute, spell
from tests.oracle import movement, sparse
from tests.oracle import ptx as pages

Array = NDArray[Any]
ONE = {
    "e4m3": 0x38,
    "e5m2": 0x3C,
    "e3m2": 0x0C,
    "e2m3": 0x08,
    "e2m1": 0x02,
}  # the codes of 1 and 2; the top bit negates
TWO = {"e4m3": 0x40, "e5m2": 0x40, "e3m2": 0x10, "e2m3": 0x10, "e2m1": 0x04}
BITS = {"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "b1": 1, "s4": 4, "u4": 4, "e2m1": 4}
BITS |= {"s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6}


def encode(value: int, name: str) -> int:
    """The code of -2 … 2 (or a small integer) in a type."""
    bits = BITS[name]
    match name:
        case "f64":
            return int(np.float64(value).view(np.uint64))
        case "f32" | "tf32":
            return int(np.float32(value).view(np.uint32))
        case "f16":
            return int(np.float16(value).view(np.uint16))
        case "bf16":
            return int(np.float32(value).view(np.uint32)) >> 16
    if name in ONE:
        return {0: 0, 1: ONE[name], 2: TWO[name]}[abs(value)] | (int(value < 0) << (bits - 1))
    return value & ((1 << bits) - 1)


def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Array:
    """Small whole numbers that the type has."""
    if name == "b1":
        return rng.integers(0, 2, shape)
    if name in ("u8", "u4"):
        return rng.integers(0, 4, shape)
    return rng.integers(-2, 3, shape)


def pack(
    matrix: Array,
    name: str,
    container: int,
    place: Callable[[int, int], tuple[int, ...]],
    count: int,
    threads: int = 32,
) -> Array:
    """Registers [count, threads] of a matrix whose element (thread, value) lies at place(thread, value)."""
    width = 64 if name == "f64" else 32
    per = width // container
    below = 2 if name == "e2m1" and container == 8 else 0
    words = np.zeros((count, threads), np.uint64 if width == 64 else np.uint32)
    for thread in range(threads):
        for value in range(count * per):
            code = encode(int(matrix[place(thread, value)]), name)
            words[value // per, thread] |= words.dtype.type(code << (value % per * container + below))
    return words


def compute(instruction: Instruction, a: Array, b: Array, c: Array) -> Array:
    """D of whole numbers; a quad pair's products stand in the last axis."""
    if a.ndim == 3:
        return np.einsum("mkp,knp->mnp", a, b) + c
    if "popc" in instruction.modifiers:
        joined = a[:, :, None] ^ b[None] if "xor" in instruction.modifiers else a[:, :, None] & b[None]
        return joined.sum(1) + c
    return a @ b + c


def list_products(family: str) -> list[Instruction]:
    return [i for i in catalog.instructions() if i.family.name == family]


def run_product(instruction: Instruction, rng: np.random.Generator) -> None:
    """One product of small whole numbers against Python's."""
    m, n, k = (instruction.sizes[axis] for axis in "mnk")
    types, layouts = instruction.types, instruction.syntax.layouts
    quads = (4,) if instruction.shape == "m8n8k4" and types["a"] == "f16" else ()
    a, b = draw(rng, types["a"], (m, k, *quads)), draw(rng, types["b"], (k, n, *quads))
    c = rng.integers(-9, 10, (m, n, *quads))
    boxes = {"a": a, "b": b, "c": c, "d": compute(instruction, a, b, c)}
    container = {x: max(BITS[types[x]], 8 if "kind::f8f6f4" in instruction.modifiers else 0) for x in "ab"}
    container |= {x: BITS[types[x]] for x in "cd"}
    packed = {}
    for letter, matrix in boxes.items():
        page = pages.mma(
            instruction.shape, 16 if quads else container[letter], letter, layouts, types["c" if letter == "c" else "d"]
        )
        width = 64 if types[letter] == "f64" else 32
        elements = m * n if letter in "cd" else m * k if letter == "a" else k * n
        count = max(elements * (4 if quads else 1) * container[letter] // width // 32, 1)
        packed[letter] = pack(matrix, types[letter], container[letter], page, count)
    at, texts = 0, []
    for letter in "abc":
        texts.append(spell("i", at, len(packed[letter])))
        at += len(packed[letter])
    d = packed["d"]
    out, machine = execute(
        f"{instruction.ptx} {spell('o', 0, len(d))}, {', '.join(texts)};",
        np.concatenate([packed[letter] for letter in "abc"]),
        len(d),
    )
    assert (machine.status, machine.findings) == ("finished", []), instruction.ptx
    assert np.array_equal(out, d), instruction.ptx


def test_every_dense_product_by_the_pages_of_ptx() -> None:
    rng = np.random.default_rng(1)
    for instruction in list_products("mma"):
        run_product(instruction, rng)
