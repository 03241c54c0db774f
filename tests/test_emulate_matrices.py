"""mma.sync in the emulator, by PTX's fragment pages as tests/oracle has them and Python's integers.

Codes of element types are written down here; no map and no codec of the engine is used.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from tests.emulated_kernels import execute, spell, take_one_each
from tests.oracle import movement, ptx as pages, sparse
from tests.sample import FULL

Array = NDArray[Any]
ONE = {
    "e4m3": 0x38,
    "e5m2": 0x3C,
    "e3m2": 0x0C,
    "e2m3": 0x08,
    "e2m1": 0x02,
}  # the codes of 1 and 2; the top bit negates
TWO = {"e4m3": 0x40, "e5m2": 0x40, "e3m2": 0x10, "e2m3": 0x10, "e2m1": 0x04}
BITS = {name: dtype.bits for name, dtype in DTYPES.items()}


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
    if not DTYPES[name].signed:
        return rng.integers(0, min(4, 1 << BITS[name]), shape)
    return rng.integers(-2, 3 if BITS[name] > 2 else 2, shape)


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


def test_a_dense_product_of_every_shape_width_and_result_by_the_pages_of_ptx() -> None:
    """The types of one width differ in their codes alone; a full run has every product."""
    rng = np.random.default_rng(1)
    products = list_products("mma")
    kinds = take_one_each(products, lambda i: (i.shape, BITS[i.types["a"]], i.types["d"], i.modifiers[-1:]))
    for instruction in products if FULL else kinds:
        run_product(instruction, rng)


def draw_sparse(rng: np.random.Generator, name: str, m: int, k: int, nibbles: Array) -> tuple[Array, Array]:
    """A dense matrix whose groups keep what the metadata nibbles [m, groups] say, and the stored one."""
    bits = BITS[name]
    kept, group = {32: (1, 2), 16: (2, 4), 8: (2, 4), 6: (2, 4), 4: (4, 8)}[bits]
    if name == "e2m1" and nibbles.shape[1] * 4 == k:
        kept, group = 2, 4  # in containers of a byte
    stored = draw(rng, name, (m, k * kept // group))
    dense = np.zeros((m, k), stored.dtype)
    for row in range(m):
        for g in range(k // group):
            nibble = int(nibbles[row, g])
            places = [nibble >> 2 >> 1] if kept == 1 else [nibble & 3, nibble >> 2]
            width = 2 if kept == 4 else 1
            columns = [place * width + inside for place in places for inside in range(width)]
            dense[row, [g * group + column for column in columns]] = stored[row, g * kept : (g + 1) * kept]
    return dense, stored


def run_sparse(instruction: Instruction, rng: np.random.Generator, selector: int, scaled: bool = False) -> None:
    m, n, k = (instruction.sizes[axis] for axis in "mnk")
    types = instruction.types
    kind = next((word for word in instruction.modifiers if word.startswith("kind::")), "")
    bits = 8 if kind in ("kind::f8f6f4", "kind::mxf8f6f4") else BITS[types["a"]]
    group = {32: 2, 16: 4, 8: 4, 4: 8}[bits]
    legal = [0x4, 0xE] if bits == 32 else [0x4, 0x8, 0x9, 0xC, 0xD, 0xE]
    nibbles = rng.choice(legal, (m, k // group))
    dense, stored = draw_sparse(rng, types["a"], m, k, nibbles)
    b, c = draw(rng, types["b"], (k, n)), rng.integers(-9, 10, (m, n))
    words = np.full((1, 32), 0x44444444, np.uint32)
    for row in range(m):
        for one in range(k // group):
            lane, first = sparse.metadata(k, bits, selector, row, one)
            words[0, lane] &= ~np.uint32(0xF << first)
            words[0, lane] |= np.uint32(int(nibbles[row, one]) << first)
    width = BITS[types["d"]]
    packed = [
        pack(stored, types["a"], bits, sparse.stored_a(k, bits), m * k // 2 * bits // 1024),
        pack(b, types["b"], bits, sparse.b(bits), k * n * bits // 1024),
        pack(c, types["d"], width, pages.c_16, m * n * width // 1024),
    ]
    factors = np.zeros((0, 32), np.uint32)
    a_values, b_values, text = dense.astype(float), b.astype(float), ""
    at = sum(map(len, packed)) + 1
    if scaled:
        factors, row_factors, column_factors = draw_scales(instruction, rng)
        a_values, b_values = a_values * row_factors, b_values * column_factors
        text = f", %i{at}, {{0, 0}}, %i{at + 1}, {{0, 0}}"
    expected = a_values @ b_values + c
    d = pack_floats(expected) if scaled else pack(expected.astype(int), types["d"], width, pages.c_16, len(packed[2]))
    counts = np.cumsum([0, *map(len, packed)]).tolist()
    texts = [spell("i", first, last - first) for first, last in pairwise(counts)]
    out, machine = execute(
        f"{instruction.ptx} {spell('o', 0, len(d))}, {', '.join(texts)}, %i{counts[-1]}, {selector}{text};",
        np.concatenate([*packed, words, factors]),
        len(d),
    )
    assert (machine.status, machine.findings) == ("finished", []), instruction.ptx
    assert np.array_equal(out, d), (instruction.ptx, selector)


def pack_floats(matrix: Array) -> Array:
    """Registers of a 16×8 accumulator of f32 whose elements are no whole numbers."""
    words = np.zeros((4, 32), np.uint32)
    for lane in range(32):
        for value in range(4):
            words[value, lane] = np.float32(matrix[pages.c_16(lane, value)]).view(np.uint32)
    return words


def draw_scales(instruction: Instruction, rng: np.random.Generator, ids: tuple[int, ...] = (0, 0, 0, 0)) -> Any:
    """Words of A's and B's factors, and the factors of every element: 1/2, 1 or 2."""
    m, n, k = (instruction.sizes[axis] for axis in "mnk")
    blocks = instruction.family.scale_blocks
    codes = {"ue8m0": (126, 127, 128), "ue4m3": (0x30, 0x38, 0x40)}[instruction.types["s"]]
    words = rng.integers(0, 1 << 32, (2, 32), dtype=np.uint32)
    factors = []
    for n_operand, (count, lane_of) in enumerate(((m, movement.scale_a), (n, movement.scale_b))):
        byte, thread = ids[2 * n_operand : 2 * n_operand + 2]
        chosen = rng.integers(0, 3, (count, blocks))
        for one in range(count):
            for block in range(blocks):
                lane, shift = lane_of(thread, one), 8 * (byte + block)
                words[n_operand, lane] &= ~np.uint32(0xFF << shift)
                words[n_operand, lane] |= np.uint32(codes[int(chosen[one, block])] << shift)
        factors.append(np.repeat(np.array([0.5, 1.0, 2.0])[chosen], k // blocks, axis=1))
    return words, factors[0], factors[1].T


def test_sparse_products_by_every_selector() -> None:
    rng = np.random.default_rng(2)
    for instruction in take_one_each(list_products("mma_sp"), lambda i: tuple(i.types.values())):
        sparsity = instruction.operands["a"].sparsity
        assert sparsity is not None
        run_sparse(instruction, rng, int(rng.integers(sparsity.selectors)))
    for instruction in take_one_each(list_products("mma_sp"), lambda i: (i.shape, BITS[i.types["a"]])):
        sparsity = instruction.operands["a"].sparsity
        assert sparsity is not None
        for selector in range(sparsity.selectors):
            run_sparse(instruction, rng, selector)


def test_block_scaled_products() -> None:
    rng = np.random.default_rng(3)
    chosen = take_one_each(list_products("mma_scaled"), lambda i: (i.shape, i.modifiers, i.types["s"], i.types["a"]))
    for instruction in chosen:
        if instruction.operands["a"].sparsity:
            run_sparse(instruction, rng, 0, scaled=True)
            continue
        m, n, k = (instruction.sizes[axis] for axis in "mnk")
        types, bits = instruction.types, 8 if "kind::mxf8f6f4" in instruction.modifiers else 4
        blocks = instruction.family.scale_blocks
        byte = int(rng.integers(0, 4 // blocks)) * blocks
        ids = (byte, int(rng.integers(0, 2)), byte, int(rng.integers(0, 4)))
        words, row_factors, column_factors = draw_scales(instruction, rng, ids)
        a, b, c = draw(rng, types["a"], (m, k)), draw(rng, types["b"], (k, n)), rng.integers(-9, 10, (m, n))
        place_a, place_b = pages.MMA["m16n8k32" if bits == 8 else "m16n8k64", bits]
        registers = [
            pack(a, types["a"], bits, place_a, 4),
            pack(b, types["b"], bits, place_b, 2),
            pack(c, "f32", 32, pages.c_16, 4),
        ]
        out, machine = execute(
            f"{instruction.ptx} {spell('o', 0, 4)}, {spell('i', 0, 4)}, {spell('i', 4, 2)}, {spell('i', 6, 4)},"
            f" %i10, {{{ids[0]}, {ids[1]}}}, %i11, {{{ids[2]}, {ids[3]}}};",
            np.concatenate([*registers, words]),
            4,
        )
        assert (machine.status, machine.findings) == ("finished", []), instruction.ptx
        assert np.array_equal(out, pack_floats((a * row_factors) @ (b * column_factors) + c)), instruction.ptx


def test_zeros_and_numbers_that_are_none() -> None:
    """What an H100 wrote: a zero is positive though every product and C are negative zeros, and there is one NaN."""
    for kind, text, count, minus, nan in (
        ("f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 0x80000000, 0x7FFFFFFF),
        ("f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 2, 0x80008000, 0x7FFF7FFF),
    ):
        for a, b, c, d in (
            (0, 0xBC00BC00, minus, 0),  # 0 · -1 - 0
            (0x80008000, 0x3C003C00, minus, 0),
            (0x7C007C00, 0, 0, nan),  # inf · 0
            (0x7E017E01, 0x3C003C00, 0, nan),
        ):
            registers = np.repeat(np.array([a] * 4 + [b] * 2 + [c] * count, np.uint32)[:, None], 32, axis=1)
            out, machine = execute(
                f"{text} {spell('o', 0, count)}, {spell('i', 0, 4)}, {spell('i', 4, 2)}, {spell('i', 6, count)};",
                registers,
                count,
            )
            assert machine.status == "finished" and (out == d).all(), (kind, a, b, c)


def test_integers_wrap_or_saturate() -> None:
    for ending, expected in (("", 0x80000000), (".satfinite", 0x7FFFFFFF)):
        registers = np.zeros((10, 32), np.uint32)
        registers[:4] = registers[4:6] = 0x01010101
        registers[6:] = 0x7FFFFFE0  # and 32 products of 1
        out, _ = execute(
            f"mma.sync.aligned.m16n8k32.row.col{ending}.s32.s8.s8.s32 {spell('o', 0, 4)}, {spell('i', 0, 4)},"
            f" {spell('i', 4, 2)}, {spell('i', 6, 4)};",
            registers,
            4,
        )
        assert (out == expected).all()
