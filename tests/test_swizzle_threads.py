"""CUTLASS #1199, #1688 and #2634: the addresses on the guide's pages, by the XOR of byte addresses written out."""

from __future__ import annotations

import itertools

from lanescope.cute.text import parse_cute_layout
from tests.cases import for_each


def swizzle(byte: int, width: int) -> int:
    """The XOR of a swizzle of `width` bytes: bits of the 128-byte line into those of the 16-byte chunk."""
    return byte ^ (byte >> 7 & (width // 16 - 1)) << 4


@for_each(("size", "middle"), [(1, 4), (2, 3), (4, 2)])
def test_the_middle_number_counts_the_elements_of_a_chunk(size: int, middle: int) -> None:
    wide = 128 // size
    atom = parse_cute_layout(f"Sw<3,{middle},3> o ({wide},8):(1,{wide})")
    for element, row in itertools.product(range(wide), range(8)):
        assert atom(element, row) * size == swizzle((row * wide + element) * size, 128)


@for_each(("width", "bits", "row", "expected"), [(128, 3, 1, 64), (64, 2, 1, 40), (64, 2, 2, 64), (32, 1, 4, 64)])
def test_canonical_layouts_give_the_addresses_of_whole_rows(width: int, bits: int, row: int, expected: int) -> None:
    pitch = width // 2
    canonical = parse_cute_layout(f"Sw<{bits},3,3> o ((8,2),(8,2)):(({pitch},{8 * pitch}),(1,8))")
    for r, k in itertools.product(range(16), range(16)):
        assert 2 * canonical(r, k) == swizzle(2 * (pitch * r + k), width)
    assert canonical(row, 8) == expected
