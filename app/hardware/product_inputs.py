"""The inputs of a product: random whole numbers or a user's matrices, packed into registers and shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import user_matrices
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.codec import get_bounds, list_scale_codes
from lanescope.ptx.element_bytes import write_codes
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.metadata import Sparsity
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

Array = NDArray[Any]
SEED = 20261121


@dataclass(frozen=True)
class ProductInputs:
    """Matrices [product, rows, cols], of whole numbers unless a user supplied others; stored_a: the compressed matrix
    of a sparse A.
    """

    a: Array
    stored_a: Array
    b: Array
    c: Array
    metadata: Array
    scales: dict[str, Array]

    def compute_expected(self, i: Instruction) -> Array:
        """Compute C + A·B by NumPy from the matrices, without the maps."""
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        if i.types["a"] == "b1":
            combine = np.bitwise_xor if "xor" in i.modifiers else np.bitwise_and
            counted: Array = self.c + combine(self.a[:, :, :, None], self.b[:, None, :, :]).sum(axis=2)
            return counted
        for name, scale in self.scales.items():
            values = fragment_words.decode_bits(scale.astype(np.uint64), i.types["s"])
            repeated = np.repeat(values, i.sizes["k"] // scale.shape[1], axis=1)
            a, b = (a * repeated, b) if name == "scale_a" else (a, b * repeated.T)
        d: Array = self.c + a @ b
        return d

    def compute_tolerance(self, i: Instruction) -> Array:
        """Compute how far D may be from compute_expected(): 0 if every sum is a whole number that the accumulator
        holds, else K + 2 roundings.

        A product of fp8 or narrower types counts on 13 significant bits: some tensor cores add those with fewer than
        f32 has.
        """
        kind = i.operands["d"].element.name
        if i.types["a"] == "b1" or kind == "s32":
            return np.zeros(self.compute_expected(i).shape)
        size = replace(self, a=np.abs(self.a), b=np.abs(self.b), c=np.abs(self.c)).compute_expected(i)
        bits = min(
            {"f16": 11, "f32": 24, "f64": 53}[kind], 13 if i.operands["a"].container_bits == 8 or i.scales else 53
        )
        integral = (
            all(np.issubdtype(matrix.dtype, np.integer) for matrix in (self.a, self.b, self.c)) and not self.scales
        )
        exact = integral and size.max() < 2.0**bits
        tolerance: Array = np.zeros_like(size) if exact else (self.a.shape[2] + 2) * 2.0 ** (1 - bits) * size
        return tolerance


def make_random_inputs(
    i: Instruction, seed: int = SEED, selector: int = 0, data: Mapping[str, Any] | None = None
) -> ProductInputs:
    """Make random whole numbers that every type of the instruction holds exactly.

    selector: of a sparse A's metadata. data: matrices in place of random ones (user_matrices.check_matrices); C is then
    zero by default.
    """
    rng = np.random.default_rng(seed)
    op = i.operands["a"]
    products = i.operands["d"].extents.get("product", 1)
    stored = rng.choice(fragment_words.list_legal_values(i.types["a"]), (products, op.row_count, op.col_count))
    words = np.zeros((1, i.threads), np.uint32)
    dense = stored
    if op.sparsity:
        words = np.array([make_random_metadata(rng, op.sparsity, i.threads)], np.uint32)
        columns = op.sparsity.list_dense_columns(op.coords["col"], words[0].tolist(), selector)
        dense = np.zeros((1, op.row_count, op.dense_col_count), dtype=stored.dtype)
        dense[0, op.rows, columns] = stored[0, op.rows, op.coords["col"]]
    b = rng.choice(fragment_words.list_legal_values(i.types["b"]), (products, i.sizes["k"], i.sizes["n"]))
    c = rng.integers(-8, 9, (products, i.sizes["m"], i.sizes["n"]))
    scales = {
        name: rng.choice(
            list_scale_codes(scale.element.name), (i.sizes["m" if name == "scale_a" else "n"], scale.blocks)
        )
        for name, scale in i.scales.items()
    }
    random = ProductInputs(dense, stored, b, c, words, scales)
    return replace_matrices(i, random, data, selector) if data else random


def replace_matrices(
    i: Instruction, random: ProductInputs, data: Mapping[str, Any], selector: int, steps: int = 1
) -> ProductInputs:
    """Replace random matrices by a user's; LayoutError if D could not hold their product."""
    matrices: dict[str, Any] = {**user_matrices.build_matrices(i, data, steps)}
    op = i.operands["a"]
    matrices.setdefault("c", np.zeros_like(random.c))
    if "a" in matrices:
        matrices["stored_a"] = matrices["a"]
        if op.sparsity:
            matrices["stored_a"] = op.sparsity.compress(matrices["a"][0])[None]
            parts = np.split(matrices["a"][0], steps, axis=1)
            matrices["metadata"] = np.array(
                [op.sparsity.pack_words(part, op.rows, op.coords["col"], selector) for part in parts], np.uint32
            )
    inputs = replace(random, **matrices)
    expected, kind = inputs.compute_expected(i), i.operands["d"].element.name
    low, high = get_bounds(kind)
    if not ((expected >= low) & (expected <= high)).all():
        product, row, col = (int(n) for n in np.argwhere(~((expected >= low) & (expected <= high)))[0])
        raise LayoutError(
            "bad_matrix",
            f"D[{row},{col}] would be {expected[product, row, col]:g}; {kind} ends at {high:g}.",
            "Give smaller numbers.",
            "a",
        )
    return inputs


def make_random_metadata(rng: np.random.Generator, sparsity: Sparsity, threads: int) -> list[int]:
    """Make a legal 32-bit e for every thread."""
    nibbles = rng.choice(sparsity.nibbles, (threads, 8)).tolist()
    return [sum(int(nibble) << 4 * n for n, nibble in enumerate(row)) for row in nibbles]


def pack_values(op: Operand, values: Array) -> Array:
    """Pack values [product, rows, cols] into registers, by the map."""
    bits = fragment_words.encode_values(values, op.element.name)
    return fragment_words.pack(op, np.moveaxis(bits, 0, -1) if len(op.axes) == 3 else bits[0])


def pack_scales(i: Instruction, name: str, codes: Array) -> Array:
    """Pack scale codes [row or col, block] into the 32-bit scale data of every lane, byte-id and thread-id 0."""
    thread, byte = i.scales[name].find_owners()
    words = np.zeros(32, np.uint32)
    np.bitwise_or.at(words, thread, codes.astype(np.uint32) << (8 * byte).astype(np.uint32))
    return words


def build_shared_image(i: Instruction, a: Array | None, b: Array) -> tuple[Array, int, int]:
    """Return (shared memory as words, A's and B's descriptor): K-major core matrices without a swizzle, A from byte 0,
    B behind it.
    """
    bits = i.operand("a").element.bits
    a_bytes = a.size * bits // 8 if a is not None else 0
    image = np.zeros((a_bytes + b.size * bits // 8 + 3) // 4 * 4, dtype=np.uint8)
    words = [0, 0]
    for number, (matrix, kind, base) in enumerate(((a, i.types["a"], 0), (b.T, i.types["b"], a_bytes))):
        if matrix is None:
            continue
        rows, k = matrix.shape
        encoded = fragment_words.encode_values(matrix, kind)
        if bits == 1:  # eight elements a byte, the first in the low bit
            encoded = np.bitwise_or.reduce(encoded.reshape(rows, k // 8, 8) << np.arange(8, dtype=np.uint64), axis=2)
        size = max(bits // 8, 1)
        tile = Tile(8 * size, "K", get_mode("none"), rows, encoded.shape[1], base=base)
        write_codes(image, base + tile.compute_offsets(), encoded, 8 * size)
        words[number] = tile.descriptor().word
    return image.view(np.uint32), words[0], words[1]
