"""A CuTe layout of two modes as a table: which index each of its first coordinates has."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from layouts import cute

MOST = 16  # rows and columns that are shown


@dataclass(frozen=True, slots=True)
class Offsets:
    """index[row][col] of the first coordinates; the whole size of both modes, None for the second where there is one
    mode.
    """

    rows: int
    cols: int
    index: tuple[tuple[int, ...], ...]
    unit: str


def offsets(text: str | None) -> Offsets | None:
    """The table of a layout with one or two modes, None for any other and for one that is not known."""
    if text is None:
        return None
    found = cute.parse(text)
    whole = isinstance(found.shape, tuple)
    if whole and len(found.shape) > 2:
        return None
    shapes = found.shape if whole else (found.shape,)
    strides = found.stride if whole else (found.stride,)
    modes = [list(zip(cute.leaves(s), cute.leaves(d), strict=True)) for s, d in zip(shapes, strides, strict=True)]
    rows = prod(n for n, _ in modes[0])
    cols = prod(n for n, _ in modes[1]) if len(modes) > 1 else 1
    shown = range(min(rows, MOST)), range(min(cols, MOST))
    bits = found.unit_bits

    def at(row: int, col: int) -> int:
        index = found.offset + cute.index(row, modes[0]) + (cute.index(col, modes[1]) if len(modes) > 1 else 0)
        if found.swizzle is None:
            return int(index)
        if not bits:
            return int(found.swizzle(index))
        byte, bit = divmod(index * bits, 8)  # with smem_ptr the XOR is on the byte address
        return int(8 * found.swizzle(byte) + bit) // bits

    table = tuple(tuple(at(row, col) for col in shown[1]) for row in shown[0])
    return Offsets(rows, cols, table, f"{bits}-bit units" if bits else "elements")
