"""mma.sp's fragment pages: rows of A, and the range of dense columns each value comes from. PTX ISA 9.1, 9.7.14.6.2.1
to .8.

A page gives firstcol and lastcol; half of that range is stored (tf32: one of two), in order, so the place among the
stored columns follows from firstcol and the value's position in its run.
"""

from __future__ import annotations

from tests.oracle.missing import OracleTable
from tests.oracle.ptx import Fragment, Place, _gt


def k16_half(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    return (g if i in (0, 1) else g + 8), t * 4, t * 4 + 3


def k32_half(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    first = t * 4 if i < 4 else t * 4 + 16
    return (g if 0 <= i < 2 or 4 <= i < 6 else g + 8), first, first + 3


def k16_word(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    first = t * 2 if i in (0, 1) else t * 2 + 8
    return (g if i in (0, 2) else g + 8), first, first + 1


def k8_word(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    return (g if i == 0 else g + 8), t * 2, t * 2 + 1


def k32_byte(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    return (g if 0 <= i < 4 else g + 8), t * 8, t * 8 + 7


def k64_byte(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    first = t * 8 if i < 8 else t * 8 + 32
    return (g if 0 <= i < 4 or 8 <= i < 12 else g + 8), first, first + 7


def k64_nibble(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    return (g if 0 <= i < 8 else g + 8), t * 16, t * 16 + 15


def k128_nibble(lane: int, i: int) -> tuple[int, int, int]:
    g, t = _gt(lane)
    first = t * 16 if i < 16 else t * 16 + 64
    return (g if 0 <= i < 8 or 16 <= i < 24 else g + 8), first, first + 15


_PAGES = {
    (16, 16): k16_half,
    (32, 16): k32_half,
    (16, 32): k16_word,
    (8, 32): k8_word,
    (32, 8): k32_byte,
    (64, 8): k64_byte,
    (64, 4): k64_nibble,
    (128, 4): k128_nibble,
}
PAGES = OracleTable(_PAGES, "PAGES of tests/oracle/sparse.py", "the function of its page, by K and bits of an element")


def stored_a(k: int, bits: int) -> Fragment:
    """(thread, i) → (row, stored column); a warpgroup's warps take 16 rows each."""
    page = PAGES[k, bits]

    def fragment(thread: int, i: int) -> Place:
        warp, lane = divmod(thread, 32)
        row, first, last = page(lane, i)
        run = (last - first + 1) // 2
        return 16 * warp + row, first // 2 + i % run

    return fragment


def b(bits: int) -> Fragment:
    """The figures of B: each register holds consecutive rows from t, the next register four lanes' worth
    further down.
    """
    per = 32 // bits

    def fragment(lane: int, i: int) -> Place:
        g, t = _gt(lane)
        register, inside = divmod(i, per)
        return register * 4 * per + t * per + inside, g

    return fragment


def metadata(k: int, bits: int, selector: int, row: int, group: int) -> tuple[int, int]:
    """(lane, first of four bits of its e) that hold the metadata of a row and group of A: the figures of 9.7.14.6.1.

    16 and 32-bit types: one e has four groups of row g in its low half and those of row g + 8
    in its high half. 8 and 4-bit types: one e has eight groups of one row. The sparsity selector names one lane of four
    consecutive ones, a pair of them, or (0 alone) all four.
    """
    g, lower = row % 8, row // 8
    first = 4 * g
    groups = k // {32: 2, 16: 4, 8: 4, 4: 8}[bits]
    if bits >= 16:
        part, inside = divmod(group, 4)
        lane = first + selector if groups == 4 else first + 2 * selector + part
        return lane, 16 * lower + 4 * inside
    part, inside = divmod(group, 8)
    lane = first + 2 * selector + lower if groups == 8 else first + 2 * part + lower
    return lane, 4 * inside
