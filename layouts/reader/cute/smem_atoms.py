"""Parse names of shared-memory swizzle atoms: GMMA::Layout_K_SW128_Atom<T>, and the DSL's SmemLayoutAtomKind.K_SW128.

CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lanescope.cute.layout import CuteLayout
from lanescope.ptx.table.descriptors import BASE32B
from lanescope.shared.swizzle import BY_WIDTH, Mode, get_mode

_WORDS = r"(?P<major>K|MN)_(?:INTER|SW(?P<width>32|64|128(?P<base32>_32B)?))"
NAMED = re.sub(
    r"\?P<\w+>", "?:", rf"Layout_{_WORDS}_(?:Sp)?Atom(?:_Bits)?"
)  # without groups, for use in longer patterns
_MAJOR, _, _REST = _WORDS.partition("_")
_NAME = re.compile(rf"(?<!\w)Layout_(?:{_MAJOR}_)?{_REST}_(?P<sparse>Sp)?Atom(?P<in_bits>_Bits)?\Z")
_KIND = re.compile(rf"SmemLayoutAtomKind\.{_WORDS}\Z")


class SmemAtomName(NamedTuple):
    """The properties in an atom's name. in_bits: whether it counts bits."""

    major: str
    mode: Mode
    sparse: bool = False
    in_bits: bool = False

    @property
    def base32(self) -> bool:
        """Whether its XOR permutes units of 32 bytes."""
        return self.mode is BASE32B


def parse_atom_name(name: str, major: str = "") -> SmemAtomName | None:
    """Return the atom whose name is at the end of a text. major: K or MN, of Layout_SW128_Atom<T, major>.

    >>> parse_atom_name("GMMA::Layout_SW128_Atom", "K") == parse_atom_name("Layout_K_SW128_Atom")
    True
    """
    found = _NAME.search(name)
    if found is None or not (found["major"] or major):
        return None
    return _make_name(found, found["major"] or major, bool(found["sparse"]), bool(found["in_bits"]))


def parse_atom_kind(path: str) -> SmemAtomName | None:
    """Return the atom of the DSL's enumerator at the end of a path."""
    found = _KIND.search(path)
    return _make_name(found, found["major"]) if found else None


def _make_name(found: re.Match[str], major: str, sparse: bool = False, in_bits: bool = False) -> SmemAtomName:
    mode = BASE32B if found["base32"] else get_mode(f"{found['width']}B" if found["width"] else "none")
    return SmemAtomName(major, mode, sparse, in_bits)


def make_canonical_layout(major: str, mode: Mode, bits: int) -> CuteLayout:
    """Return the layout of an atom for elements of `bits` bits, whose swizzle applies to byte addresses."""
    mn, k = mode.get_atom_size(bits, major)
    return CuteLayout((mn, k), (k, 1) if major == "K" else (1, mn), mode.swizzle(), bits)


def make_storage(
    atom: SmemAtomName, bits: int | None, sizes: Sequence[Any], order: Sequence[Any] | None
) -> dict[str, Any]:
    """Return the storage of tile_to_shape(atom, sizes, order), as POST /memory takes it; unknown sizes are None."""
    mn, k = (size if isinstance(size, int) else None for size in (*sizes, None, None)[:2])
    outer, inner = (*(order or ()), None, None)[:2]
    return {
        "kind": "canonical",
        "element_bits": bits,
        "major": atom.major,
        "swizzle": atom.mode.name,
        "mn": mn,
        "k": k,
        "order": "k" if outer is not None and inner is not None and outer > inner else "mn",
        "base": None,
    }


def choose_smem_atom(selector: str, major: str, bits: int, run: int) -> SmemAtomName | None:
    """Return the atom that ss_smem_selector<major, T, BLK_MN, BLK_K>() or sm100_smem_selector selects: that with the
    widest swizzle that divides the tile; None without one.

    bits: of T; run: elements of the tile along its major. Source: CUTLASS's sm90_common.inl and sm100_common.inl.
    """
    legal = bits in (4, 8, 16, 32) and not (bits == 32 and major == "MN" and selector.startswith("sm100"))
    widths = (candidate for candidate in reversed(BY_WIDTH) if not run * bits % (8 * candidate.width_bytes))
    mode = next(widths, None) if legal else None
    return None if mode is None else SmemAtomName(major, mode)
