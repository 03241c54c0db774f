"""Fill matrices with codes that identify each element (mn, k) of A or B, for all types of 8, 16 or 32 bits.

16-bit types and tf32: the number ((mn mod 240) xor j) · 127 + k mod 127, where j = k div 127 mod 8 (tf32: mod 4), from
the first normal number of the type on, so that no element is zero, subnormal, infinite or NaN and a kernel may convert,
scale by one or copy them. A code determines k mod 127; 16 bytes along either dimension determine k mod 1016 (tf32:
508), more than a pipeline's stages contain. 8-bit types have too few codes, so two passes (runs of the kernel) together
determine mn mod 113 and k mod 113. B has A's codes with the sign bit set (u8: plus 128), so A and B cannot be confused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx.codec import Bits
from lanescope.ptx.dtypes import get_dtype

# Periods of 16- and 32-bit fills: f16 has just enough codes, and no tile depth is a multiple of a prime.
MN, K = 240, 127
EARLIER = 240, 128  # earlier header versions; tiles of 64 or 128 repeated codes after one or two stages
EIGHT = 113  # both periods of 8-bit fills: a prime for which k → k³ is a permutation
# type → code of the first element as stored: exponent 1, mantissa 0
WIDE = {row.name: row for row in map(get_dtype, ("f16", "bf16", "tf32"))}
FIRST = {name: 1 << row.format.mantissa_bits for name, row in WIDE.items() if row.format}
STEP = {name: 1 << row.unread_bits for name, row in WIDE.items()}  # the least significant bit that the hardware reads
EIGHT_BIT = ("e4m3", "e5m2", "s8", "u8")
TYPES = (*FIRST, *EIGHT_BIT)
MOST = 1 << 28  # elements per matrix


def count_passes(name: str) -> int:
    """Return the number of fills of a type: 2 for 8-bit types."""
    return 2 if require_fill_type(name) in EIGHT_BIT else 1


def require_fill_type(name: str) -> str:
    """Return the name of a type that has fills. LayoutError lists these types."""
    if name not in TYPES:
        raise LayoutError(
            "bad_fill", f"Elements of type '{name[:40]}' cannot be filled.", f"Types: {', '.join(TYPES)}.", "type"
        )
    return name


def get_periods(name: str, earlier: bool = False) -> tuple[int, int]:
    """Return the periods of the codes along mn and along k."""
    if require_fill_type(name) in EIGHT_BIT:
        return EIGHT, EIGHT
    return EARLIER if earlier else (MN, K * count_blocks(name))


def count_blocks(name: str) -> int:
    """Return the number of different orders of 8 adjacent elements along mn in a 16- or 32-bit fill."""
    return 128 // get_dtype(name).bits


def compute_codes(mn: Any, k: Any, name: str, operand: str = "a", part: int = 1, earlier: bool = False) -> Bits:
    """Return the codes of elements (mn, k), which broadcast.

    part: the pass of an 8-bit type, 1 or 2; earlier: use the fills of earlier versions of the header.

    >>> compute_codes(1, 2, "bf16").item(), compute_codes(1, 2, "bf16", "b").item()
    (257, 33025)
    """
    row, m, n = get_dtype(require_fill_type(name)), np.asarray(mn, np.int64), np.asarray(k, np.int64)
    if operand not in ("a", "b"):
        raise LayoutError("bad_operand", f"Operand '{operand}' cannot be filled.", "Allowed: a, b.", "operand")
    if part not in range(1, count_passes(name) + 1):
        raise LayoutError(
            "bad_fill",
            f"pass is {part}.",
            f"{name} has {('one pass', 'passes 1 and 2')[count_passes(name) - 1]}.",
            "pass",
        )
    if name in EIGHT_BIT:
        codes = 1 + (part * m + n**3 % EIGHT) % EIGHT
    elif earlier:
        codes = FIRST[name] + (m % EARLIER[0] * EARLIER[1] + n % EARLIER[1]) * STEP[name]
    else:
        codes = FIRST[name] + ((m % MN ^ n // K % count_blocks(name)) * K + n % K) * STEP[name]
    return np.asarray(codes | (1 << row.bits - 1 if operand == "b" else 0)).astype(np.uint64)


def matrix(shape: tuple[int, int], name: str, operand: str = "a", part: int = 1, nk: bool = False) -> NDArray[Any]:
    """Return a matrix of codes as unsigned integers of the type's width.

    The shape is (m, k) for A, (k, n) for B, or (n, k) with nk.

    >>> matrix((2, 3), "f16").tolist()
    [[1024, 1025, 1026], [1151, 1152, 1153]]
    """
    rows, cols = shape
    if rows < 1 or cols < 1 or rows * cols > MOST:
        raise LayoutError("bad_fill", f"The shape is {rows}x{cols}.", f"From 1 to {MOST} elements.", "shape")
    down, across = np.arange(rows)[:, None], np.arange(cols)[None, :]
    mn, k = (down, across) if operand != "b" or nk else (across, down)
    kind = np.dtype(f"<u{get_dtype(require_fill_type(name)).bits // 8}")
    return compute_codes(mn, k, name, operand, part).astype(kind)
