"""wmma in the emulator: load, multiply and store whole matrices in memory, against NumPy; no map shows in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from tests.emulated_kernels import run_text, spell, take_one_each
from tests.test_emulate_matrices import BITS, compute, draw, encode

Array = NDArray[Any]


def store_matrix(matrix: Array, name: str, layout: str) -> Array:
    """The bytes of a matrix, rows or columns one after the other."""
    lines = matrix if layout == "row" else matrix.T
    whole = sum(encode(int(value), name) << (n * BITS[name]) for n, value in enumerate(lines.reshape(-1)))
    return np.frombuffer(whole.to_bytes(matrix.size * BITS[name] // 8, "little"), np.uint8).copy()


def choose(instructions: list[Instruction], opcode: str, shape: str, kind: str, layout: str) -> Instruction:
    (found,) = (
        i
        for i in instructions
        if i.family.opcode.text == opcode
        and i.shape == shape
        and i.syntax.layouts == (layout,)
        and list(i.types.values()) == [kind]
    )
    return found


def test_products_of_matrices_in_memory() -> None:
    rng = np.random.default_rng(1)
    instructions = [i for i in catalog.instructions() if i.family.name == "wmma"]
    products = [i for i in instructions if i.family.multiplies]
    for product in take_one_each(products, lambda i: (i.shape, *i.types.values(), "xor" in i.modifiers)):
        (m, n, k), types = (product.sizes[axis] for axis in "mnk"), product.types
        first, second = product.syntax.layouts
        layouts = {"a": first, "b": second, "c": "row", "d": "col"}
        a, b = draw(rng, types["a"], (m, k)), draw(rng, types["b"], (k, n))
        c = rng.integers(-9, 10, (m, n))
        lines = []
        for letter in "abc":
            load = choose(instructions, f"wmma.load.{letter}", product.shape, types[letter], layouts[letter])
            count = load.operands[letter].registers
            stride = {"a": (m, k), "b": (k, n), "c": (m, n)}[letter][layouts[letter] == "row"]
            lines.append(f"{load.ptx} {spell(letter, 0, count)}, [%{letter}p], {stride};")
        counts = {letter: product.operands[letter].registers for letter in "abcd"}
        vectors = ", ".join(spell(letter, 0, counts[letter]) for letter in "dabc")
        store = choose(instructions, "wmma.store.d", product.shape, types["d"], "col")
        lines += [f"{product.ptx} {vectors};", f"{store.ptx} [%dp], {spell('d', 0, counts['d'])}, {m};"]
        declared = "".join(
            f".reg .b{product.operands[letter].register_bits} %{letter}<{counts[letter]}>; .reg .b64 %{letter}p;"
            f" ld.param.u64 %{letter}p, [p{letter}];\n"
            for letter in "abcd"
        )
        text = (
            ".version 9.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb,"
            f" .param .u64 pc, .param .u64 pd)\n{{\n{declared}" + "\n".join(lines) + "\nret;\n}\n"
        )
        buffers = [store_matrix(matrix, types[x], layouts[x]) for x, matrix in zip("abc", (a, b, c), strict=True)]
        expected = store_matrix(compute(product, a, b, c), types["d"], "col")
        out = np.zeros_like(expected)
        machine = run_text(text, [*buffers, out])
        assert (machine.status, machine.findings) == ("finished", []), product.ptx
        assert np.array_equal(out, expected), product.ptx
