"""How public code packs weights, from its own definitions as lists and loops: nothing here knows a pattern.

Marlin and sparse Marlin: IST-DASLab/marlin and Sparse-Marlin, marlin/__init__.py; 8 bits and 8-bit activations:
vllm-project/vllm, marlin_utils_test.py and marlin_utils_test_24.py. AWQ, GPTQ: quant_utils.py there. TinyChat:
mit-han-lab/llm-awq, awq/quantize/qmodule.py. Machete: vllm, csrc/quantization/machete/machete_prepacked_layout.cuh over
CUTLASS's TiledMMA.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]
FAST4, FAST8 = (0, 2, 4, 6, 1, 3, 5, 7), (0, 2, 1, 3)  # field i of a word takes value FAST[i]


def join(values: Integers, bits: int) -> Integers:
    """Words of consecutive values, the first one low."""
    words = np.zeros(values.size * bits // 32, np.uint32)
    for place in range(32 // bits):
        words |= values.reshape(-1)[place :: 32 // bits].astype(np.uint32) << np.uint32(bits * place)
    return words


def list_marlin_order(bits: int, rows: int = 16, sparse: bool = False) -> list[int]:
    """Where in 16-column tiles, one after the other, each value of a permuted run comes from. rows: of a tile."""
    order: list[int] = []
    per = rows // 8  # neighbours along k in a lane
    for lane in range(32):
        column, quad = divmod(lane, 4)
        own = [half * rows // 2 + per * quad + step for half in (0, 1) for step in range(per)]
        for tile in range(4 if rows == 16 else 2):
            for block in (0, 1):
                if sparse:  # eight neighbouring columns of a lane group: four of the first block, four of the other
                    wide = 8 * column + 4 * block + tile
                    order += [wide // 16 * 16 * rows + 16 * row + wide % 16 for row in own]
                else:
                    order += [tile * 16 * rows + 16 * row + column + 8 * block for row in own]
    fast = {(4, 16): FAST4, (8, 16): FAST8, (4, 32): (0, 4, 1, 5, 2, 6, 3, 7), (8, 32): (0, 1, 2, 3)}[bits, rows]
    return [order[start + place] for start in range(0, len(order), len(fast)) for place in fast]


def pack_marlin(weights: Integers, bits: int, rows: int = 16, sparse: bool = False) -> Integers:
    k, n = weights.shape
    tiles = [weights[r : r + rows, c : c + 16].reshape(-1) for r in range(0, k, rows) for c in range(0, n, 16)]
    order = list_marlin_order(bits, rows, sparse)
    return join(np.concatenate(tiles).reshape(-1, len(order))[:, order], bits)


def pack_gptq(weights: Integers, bits: int) -> Integers:
    k, n = weights.shape
    per = 32 // bits
    return join(np.array([[weights[row : row + per, col] for col in range(n)] for row in range(0, k, per)]), bits)


def pack_awq(weights: Integers, bits: int) -> Integers:
    fast = FAST4 if bits == 4 else FAST8
    return join(weights.reshape(-1, len(fast))[:, fast], bits)


def pack_tinychat(weights: Integers) -> Integers:
    """Runs of 32 k: pairs of each quarter together, each eight in the fast order; then four rows of n by 64 k."""
    k, n = weights.shape
    run = [8 * part + 2 * pair + odd for pair in range(4) for part in range(4) for odd in (0, 1)]
    order = [run[start + place] for start in range(0, 32, 8) for place in FAST4]
    rows = weights.T.reshape(n, k // 32, 32)[:, :, order].reshape(n, k)
    out = [rows[n0 + row, k0 : k0 + 64] for n0 in range(0, n, 4) for k0 in range(0, k, 64) for row in range(4)]
    return join(np.array(out), 4)


def pack_machete(weights: Integers, bits: int, wide: int = 16) -> Integers:
    """Blocks of 128 n by 64 k, those along n first; 256 threads, each its values of the TiledMMA's A. wide: bits of A.

    CUTLASS, cute/atom/mma_traits_sm90_gmma.hpp: ALayout_64x16 and 64x32, (thread, value) → m + 64 k.
    """
    k, n = weights.shape
    step = 256 // wide
    value_modes = {16: ((2, 64), (2, 8), (2, 512)), 8: ((4, 64), (2, 8), (2, 1024))}[wide]
    quad = {16: 128, 8: 256}[wide]
    values = [
        sum(digit * stride for digit, (_, stride) in zip(digits[::-1], value_modes, strict=True))
        for digits in product(*(range(size) for size, _ in value_modes[::-1]))
    ]
    out = []
    for k0, n0 in product(range(0, k, 64), range(0, n, 128)):
        for thread in range(256):
            group, own = divmod(thread, 128)
            base = own % 4 * quad + own // 4 % 8 + own // 32 * 16
            for k1 in range(0, 64, step):
                places = [divmod(base + value, 64) for value in values]  # (k, m)
                held = [weights[k0 + k1 + deep, n0 + 64 * group + m] for deep, m in places]
                per = 32 // bits
                for start in range(0, len(held), per):
                    word = held[start : start + per]
                    out += [word[place] for place in FAST4] if (bits, wide) == (4, 16) else word
    return join(np.array(out), bits)


def order_metadata(indices: Integers) -> Integers:
    """Sparse Marlin's 16-bit elements, [n][k of dense A / 16] of four indices, scattered to where the kernel reads
    them; as 32-bit words.
    """
    n, groups = indices.shape
    columns = groups // 4
    out = np.zeros(n * columns, np.uint32)
    for row, col in product(range(n), range(columns)):
        element = sum(int(indices[row, 4 * col + place]) << 4 * place for place in range(4))
        to = row // 64 * 64 + row % 2 * 2 + row % 8 // 4 + row % 4 // 2 * 32 + row % 64 // 8 * 4
        column = col
        if to % 2 == 0 and col % 2 == 1:
            to, column = to + 1, col - 1
        elif to % 2 == 1 and col % 2 == 0:
            to, column = to - 1, col + 1
        out[column // 2 * 2 * n + 2 * to + column % 2] = element
    return out[0::2] | out[1::2] << np.uint32(16)


def list_scale_orders() -> dict[tuple[str, str], list[int]]:
    """The published permutations of scales, by format and what a scale covers."""
    single = [2 * quad + place for quad in range(4) for place in (0, 1, 8, 9, 16, 17, 24, 25)]
    return {
        ("marlin", "group"): [column + 8 * place for column in range(8) for place in range(8)],
        ("marlin", "channel"): single,
        ("marlin-a8", "group"): single,
        ("marlin-a8", "channel"): single,
        ("sparse-marlin", "group"): [8 * run + place for run in range(8) for place in (0, 4, 1, 5, 2, 6, 3, 7)],
        ("sparse-marlin", "channel"): list(range(8)),
    }


def pack_zeros(name: str, zeros: Integers, bits: int) -> Integers:
    """Zero points [groups][n] as vLLM (Marlin, AWQ) and AutoGPTQ pack them."""
    fast = {4: FAST4, 8: FAST8, 2: tuple(range(16))}[bits]
    if name.startswith("marlin"):
        zeros = zeros.reshape(-1, 64)[:, list_scale_orders()["marlin", "group"]]
    if name in ("gptq", "marlin-a8"):
        fast = tuple(range(32 // bits))
    return join(zeros.reshape(-1, len(fast))[:, fast], bits)


def pack(name: str, weights: Integers, bits: int) -> Integers:
    """Words of a format, flat."""
    return {
        "marlin": lambda: pack_marlin(weights, bits),
        "marlin-a8": lambda: pack_marlin(weights, bits, rows=32),
        "sparse-marlin": lambda: pack_marlin(weights, bits, sparse=True),
        "machete": lambda: pack_machete(weights, bits),
        "machete-a8": lambda: pack_machete(weights, bits, wide=8),
        "awq": lambda: pack_awq(weights, bits),
        "awq-tinychat": lambda: pack_tinychat(weights),
        "gptq": lambda: pack_gptq(weights, bits),
    }[name]()
