"""A canonical layout with its symbols, as the site, PTX and CUTLASS print it, is its mode and major."""

from __future__ import annotations

import itertools

import pytest

from lanescope.app.layouts.atoms import expand_atoms
from lanescope.app.read.text_meanings import read_text
from lanescope.cute.calls import evaluate_statements
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import BY_WIDTH, Mode
from lanescope.shared.tiling import spell_canonical
from tests.cases import for_each
from tests.client import Client

CUTLASS = {  # include/cute/arch/mma_sm90_desc.hpp
    "Swizzle<0,4,3> o smem_ptr o ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))": "MN-major, no swizzle",
    "Swizzle<2,4,3> o smem_ptr o ((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))": "MN-major, swizzle 64B",
    "* LayoutType::B32 : Swizzle<1,4,3> o smem_ptr o ((8,m),(T,2)):((2T,SBO),(1, T ))": "K-major, swizzle 32B",
    "Swizzle<0,4,3> o smem_ptr o ((8,m),(T,2)):((1T,SBO),(1,LBO))": "K-major, no swizzle",
}


@for_each("text", CUTLASS)
def test_what_cutlass_writes_is_read(text: str) -> None:
    reading = read_text(text)
    assert reading.title == f"Canonical layout of a matrix descriptor: {CUTLASS[text]}"
    assert not any("different modes" in notice for notice in reading.notices)


@for_each(("mode", "major"), [(mode, major) for mode in BY_WIDTH for major in ("K", "MN")])
def test_what_the_site_prints_is_read_back(mode: Mode, major: str) -> None:
    for form, unit in zip(spell_canonical(mode, major), ("16 bytes.", "T elements are 16 bytes"), strict=True):
        reading = read_text(form)
        assert f"major={major}&swizzle={mode.name}&" in reading.link
        assert unit in reading.notices[0]


def test_a_swizzle_of_another_mode_is_named() -> None:
    reading = read_text("Swizzle<2,4,3> o smem_ptr o ((8,m),(T,2)):((8T,SBO),(1,T))")
    assert reading.notices[0].endswith("this layout goes with Swizzle<3,4,3>.")


@for_each("text", ["((8,m),(T,2)):((3T,SBO),(1,T))", "((8,m),(T,2)):((8T,SBO),(1,LBO))"])
def test_no_other_layout_with_these_symbols_is_canonical(text: str) -> None:
    assert read_text(text).kind == "unknown"


# cutlass #1199, #1688 and #2634 ---------------------------------------------------------------------------------------


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


# swizzle atoms of cutlass in cute's algebra ---------------------------------------------------------------------------

# mma_traits_sm90_gmma.hpp, in bits: Layout_K_SW128_Atom_Bits is Sw<3,4,3> o smem_ptr o (8,1024):(1024,1), and so on; an
# element of b bits divides the width by b, and the XOR of 16 bytes moves 128/b elements.
ATOMS = {
    "GMMA::Layout_K_SW128_Atom<half_t>{}": "Sw<3,3,3> o (8,64):(64,1)",
    "GMMA::Layout_K_SW64_Atom<float>{}": "Sw<2,2,3> o (8,16):(16,1)",
    "cute::GMMA::Layout_K_SW32_Atom<uint8_t>": "Sw<1,4,3> o (8,32):(32,1)",
    "GMMA::Layout_K_INTER_Atom<bfloat16_t>{}": "(8,8):(8,1)",
    "GMMA::Layout_MN_SW128_Atom<cutlass::bfloat16_t>()": "Sw<3,3,3> o (64,8):(1,64)",
    "UMMA::Layout_MN_SW128_32B_Atom<float>{}": "Sw<2,3,2> o (32,4):(1,32)",
}


@for_each(("name", "layout"), ATOMS.items())
def test_an_atom_is_the_layout_of_the_headers(name: str, layout: str) -> None:
    assert expand_atoms(name) == (layout, [(name, layout)])


def test_atoms_tile_and_divide_as_layouts_do() -> None:
    text, found = expand_atoms("A = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64>{})\nA(9,8)")
    assert len(found) == 1
    # row 9 of the second 8 rows: 512 + 64, chunk 1 XORed with row 1: place 0
    assert evaluate_statements(text)[-1].result == 512 + 64


@for_each("name", ["GMMA::Layout_K_SW128_Atom", "GMMA::Layout_K_SW64_Atom<Element>{}"])
def test_an_atom_without_a_type_is_refused_by_its_name(client: Client, name: str) -> None:
    with pytest.raises(LayoutError, match=r"depends on the size of an element. Write the type"):
        expand_atoms(f"coalesce({name})")
    page = client.get("/cute", params={"expression": name})
    assert page.status_code == 422 and "Layout_K_SW" in page.text and "depends on the size" in page.text
