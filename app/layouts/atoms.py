"""Swizzle atoms of CUTLASS in an expression of CuTe's algebra, as layouts of elements.

Source: CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lanescope.cute.algebra import swizzle_elements
from lanescope.cute.making import drop_empty_swizzle
from lanescope.errors import LayoutError
from lanescope.reader.cute.smem_atoms import NAMED
from lanescope.reader.cute.smem_layouts import parse_swizzle_atom
from lanescope.reader.grammars import terms

_ATOM = re.compile(rf"(?<![\w.:])(?:\w+::){{0,6}}{NAMED}\b(?:\s*<[^<>()]{{0,60}}>)?(?:\s*(?:\{{\s*\}}|\(\s*\)))?")


class NamedAtom(NamedTuple):
    """An atom of an expression, and its layout."""

    name: str
    layout: str


def expand_atoms(text: str) -> tuple[str, list[NamedAtom]]:
    """Replace CUTLASS's swizzle atoms with their layouts in elements. LayoutError for an atom without an element type.

    >>> expand_atoms("tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, (128,64))")[0]
    'tile_to_shape(Sw<3,3,3> o (8,64):(64,1), (128,64))'
    """
    found: dict[str, NamedAtom] = {}

    def replace_atom(match: re.Match[str]) -> str:
        name = match[0]
        found[name] = NamedAtom(name, _find_layout(name))
        return found[name].layout

    return _ATOM.sub(replace_atom, text), list(found.values())


def _find_layout(name: str) -> str:
    home = terms.make_term_text(name)
    term = next(iter(terms.find_terms(home, _ATOM)), None)
    atom = parse_swizzle_atom(home, term) if term else None
    if atom is None or atom.laid is None or not atom.bits:
        plain = name.partition("<")[0].rstrip("{}() ")
        hint = f"Write the type of the elements, e.g. {plain}<half_t>{{}}."
        raise LayoutError("bad_cute", f"The shape of {plain} depends on the size of an element.", hint, "expression")
    return str(swizzle_elements(drop_empty_swizzle(atom.laid)))
