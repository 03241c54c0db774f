"""Swizzle atoms of CUTLASS in CuTe's algebra: each is the layout that CUTLASS's headers say."""

from __future__ import annotations

import pytest

from lanescope.app.layouts.atoms import expand_atoms
from lanescope.cute.calls import evaluate_statements
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client

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
