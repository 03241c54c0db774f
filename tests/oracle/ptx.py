"""PTX's fragment pages as they are written there: cases over groupID, threadID_in_group and the value index i.

PTX ISA 9.1, 9.7.14.5.1 to .13 (mma) and the figures of 9.7.15.5.1.1 (wgmma). One known slip of the text is kept out:
the m16n8k256 page writes `+ i` for a's column where i runs past 31; the figure, CUTLASS and the b operand have `i &
0x1F`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.missing import OracleTable

Place = tuple[int, ...]
Fragment = Callable[[int, int], Place]


def _gt(lane: int) -> tuple[int, int]:
    return lane >> 2, lane % 4


# m8n8k4 .f16: four products; quad pair q is lanes 4q…4q+3 and 4q+16…4q+19 ---------------------------------------------


def _quad(lane: int) -> int:
    return (lane % 16) // 4


def m8n8k4_f16_a_row(lane: int, i: int) -> Place:
    row = lane % 4 if lane < 16 else lane % 4 + 4
    return row, i, _quad(lane)


def m8n8k4_f16_a_col(lane: int, i: int) -> Place:
    row = i % 4 if lane < 16 else i % 4 + 4
    return row, lane % 4, _quad(lane)


def m8n8k4_f16_b_row(lane: int, i: int) -> Place:
    col = i if lane < 16 else i + 4
    return lane % 4, col, _quad(lane)


def m8n8k4_f16_b_col(lane: int, i: int) -> Place:
    col = lane % 4 if lane < 16 else lane % 4 + 4
    return i, col, _quad(lane)


def m8n8k4_f16_c(lane: int, i: int) -> Place:
    row = lane % 4 if lane < 16 else lane % 4 + 4
    return row, i, _quad(lane)


def m8n8k4_f32_c(lane: int, i: int) -> Place:
    x = (lane & 0b1) + (i & 0b10)
    row = x if lane < 16 else x + 4
    return row, (i & 0b100) + (lane & 0b10) + (i & 0b1), _quad(lane)


# mma: one function a page ---------------------------------------------------------------------------------------------


def c_8(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return g, t * 2 + (i & 1)


def c_16(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if i in (0, 1) else g + 8
    return row, t * 2 + (i & 1)


def m8n8k4_f64_a(lane: int, i: int) -> Place:
    return lane >> 2, lane % 4


def m8n8k4_f64_b(lane: int, i: int) -> Place:
    return lane % 4, lane >> 2


def m8n8k16_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return g, t * 4 + i


def m8n8k16_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 4 + i, g


def m8n8k32_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return g, t * 8 + i


def m8n8k32_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 8 + i, g


def m8n8k128_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return g, t * 32 + i


def m8n8k128_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 32 + i, g


def m16n8k4_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return (g if i == 0 else g + 8), t


def m16n8k4_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t, g


def m16n8k8_half_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if i in (0, 1) else g + 8
    return row, t * 2 + (i & 1)


def m16n8k8_half_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 2 + i, g


def m16n8k8_wide_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if i in (0, 2) else g + 8
    col = t if i in (0, 1) else t + 4
    return row, col


def m16n8k8_wide_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return (t if i == 0 else t + 4), g


def m16n8k16_half_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if 0 <= i < 2 or 4 <= i < 6 else g + 8
    col = t * 2 + (i & 1) if i < 4 else t * 2 + (i & 1) + 8
    return row, col


def m16n8k16_half_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = t * 2 + (i & 1) if i < 2 else t * 2 + (i & 1) + 8
    return row, g


def m16n8k16_f64_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if i % 2 == 0 else g + 8
    col = i * 2 + t if i % 2 == 0 else i * 2 - 2 + t
    return row, col


def m16n8k16_f64_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t + i * 4, g


def m16n8k16_byte_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return (g if i < 4 else g + 8), t * 4 + (i & 3)


def m16n8k16_byte_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 4 + i, g


def m16n8k32_nibble_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return (g if i < 8 else g + 8), t * 8 + (i & 7)


def m16n8k32_nibble_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 8 + (i & 7), g


def m16n8k32_byte_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if 0 <= i < 4 or 8 <= i < 12 else g + 8
    col = t * 4 + (i & 3) if i < 8 else t * 4 + (i & 3) + 16
    return row, col


def m16n8k32_byte_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = t * 4 + (i & 3) if i < 4 else t * 4 + (i & 3) + 16
    return row, g


def m16n8k64_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if 0 <= i < 8 or 16 <= i < 24 else g + 8
    col = t * 8 + (i & 7) if i < 16 else t * 8 + (i & 7) + 32
    return row, col


def m16n8k64_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = t * 8 + (i & 7) if i < 8 else t * 8 + (i & 7) + 32
    return row, g


def m16n8k128_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return (g if i < 32 else g + 8), t * 32 + (i & 0x1F)


def m16n8k128_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    return t * 32 + i, g


def m16n8k256_a(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = g if 0 <= i < 32 or 64 <= i < 96 else g + 8
    col = t * 32 + (i & 0x1F) if i < 64 else t * 32 + (i & 0x1F) + 128
    return row, col


def m16n8k256_b(lane: int, i: int) -> Place:
    g, t = _gt(lane)
    row = t * 32 + (i & 0x1F) if i < 32 else t * 32 + (i & 0x1F) + 128
    return row, g


# (shape, bits of a multiplicand) → its page's a and b
_MMA: dict[tuple[str, int], tuple[Fragment, Fragment]] = {
    ("m8n8k4", 64): (m8n8k4_f64_a, m8n8k4_f64_b),
    ("m8n8k16", 8): (m8n8k16_a, m8n8k16_b),
    ("m8n8k32", 4): (m8n8k32_a, m8n8k32_b),
    ("m8n8k128", 1): (m8n8k128_a, m8n8k128_b),
    ("m16n8k4", 32): (m16n8k4_a, m16n8k4_b),
    ("m16n8k4", 64): (m16n8k4_a, m16n8k4_b),
    ("m16n8k8", 16): (m16n8k8_half_a, m16n8k8_half_b),
    ("m16n8k8", 32): (m16n8k8_wide_a, m16n8k8_wide_b),
    ("m16n8k8", 64): (m16n8k8_wide_a, m16n8k8_wide_b),
    ("m16n8k16", 16): (m16n8k16_half_a, m16n8k16_half_b),
    ("m16n8k16", 64): (m16n8k16_f64_a, m16n8k16_f64_b),
    ("m16n8k16", 8): (m16n8k16_byte_a, m16n8k16_byte_b),
    ("m16n8k32", 4): (m16n8k32_nibble_a, m16n8k32_nibble_b),
    ("m16n8k32", 8): (m16n8k32_byte_a, m16n8k32_byte_b),
    ("m16n8k64", 4): (m16n8k64_a, m16n8k64_b),
    ("m16n8k128", 1): (m16n8k128_a, m16n8k128_b),
    ("m16n8k256", 1): (m16n8k256_a, m16n8k256_b),
}
MMA = OracleTable(_MMA, "MMA of tests/oracle/ptx.py", "a function of A and one of B, by shape and bits of an element")


def mma(shape: str, bits: int, name: str, layouts: tuple[str, ...], accumulator: str) -> Fragment:
    """The page's fragment for an operand; bits is the container's width."""
    if shape == "m8n8k4" and bits == 16:
        if name == "a":
            return m8n8k4_f16_a_row if layouts[0] == "row" else m8n8k4_f16_a_col
        if name == "b":
            return m8n8k4_f16_b_row if layouts[1] == "row" else m8n8k4_f16_b_col
        return m8n8k4_f16_c if accumulator == "f16" else m8n8k4_f32_c
    if name in "cd":
        return c_8 if shape.startswith("m8") else c_16
    return MMA[shape, bits]["ab".index(name)]


# wgmma: the figures, warp by warp -------------------------------------------------------------------------------------


def wgmma_d(thread: int, i: int) -> Place:
    """Each warp has 16 rows; a column group of 8 takes four values: two of row g, then two of row g + 8."""
    warp, lane = divmod(thread, 32)
    g, t = _gt(lane)
    group, inside = divmod(i, 4)
    row = g if inside < 2 else g + 8
    return 16 * warp + row, 8 * group + 2 * t + inside % 2


def wgmma_a(bits: int) -> Fragment:
    """Four registers: row g, row g + 8, then both again half of K further on."""

    def fragment(thread: int, i: int) -> Place:
        warp, lane = divmod(thread, 32)
        g, t = _gt(lane)
        per = 32 // bits
        register, inside = divmod(i, per)
        row = g if register in (0, 2) else g + 8
        col = t * per + inside if register in (0, 1) else t * per + inside + 4 * per
        return 16 * warp + row, col

    return fragment
