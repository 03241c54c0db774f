"""make_tiled_mma of an UMMA atom: parse the atom, and create the TiledUmma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanescope.blackwell.umma_atom import UmmaAtom
from lanescope.cute import algebra
from lanescope.cute.algebra import Tiler
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.reader.cute import umma as spelled
from lanescope.tiles.arguments import parse_atom_layout, parse_permutation
from lanescope.tiles.atoms import MmaAtom
from lanescope.tiles.mma import LETTERS, parse_tile_sizes
from lanescope.tiles.text_arguments import parse_text_arguments
from lanescope.tiles.umma import MOST_STEPS, USUAL_STEPS, TiledUmma


def is_umma(text: str) -> bool:
    """Return whether a text is an UMMA atom, a tcgen05.mma, or a TiledMMA of one."""
    if not spelled.is_atom(text):
        return False
    try:
        body = parse_text_arguments("tiled_mma", text)
    except LayoutError:
        return True
    return body is None or spelled.is_atom(str(body.get("atom", "")))


def parse_umma_atom(text: str, idesc: str = "", a_from: str = "") -> tuple[UmmaAtom, tuple[str, ...]]:
    """Return the UMMA atom of a text, and the types that the text does not determine.

    idesc, a_from: for a PTX text, its instruction descriptor or its fields, and "tensor" for A in tensor memory.
    LayoutError names the field.
    """
    if instruction := spelled.find_tcgen05_mma(text):
        if a_from not in ("", "shared", "tensor"):
            raise LayoutError(
                "bad_choice", f"a_from is '{shorten_value(a_from)}'.", "Allowed: shared, tensor.", "a_from"
            )
        return spelled.make_instruction_atom(instruction, text, idesc, a_from == "tensor" if a_from else None), ()
    for name, value in (("idesc", idesc), ("a_from", a_from)):
        if value:
            message = f"{name} is '{shorten_value(value)}', but the atom's arguments determine it."
            raise LayoutError("bad_choice", message, "Leave it out, or give the atom as PTX.", name)
    spelled_atom = spelled.parse_umma_text(text)
    if spelled_atom is None:
        message = f"'{shorten_value(text, 80)}' names an UMMA atom without its arguments."
        raise LayoutError("bad_atom", message, f"Give types, M, N and majors: {spelled.EXAMPLE}.", "atom")
    if spelled_atom.atom is None:
        message = f"'{spelled_atom.title}' does not give {', '.join(spelled_atom.open)}."
        raise LayoutError("bad_atom", message, f"Only types may be left out, e.g. {spelled.EXAMPLE}.", "atom")
    return spelled_atom.atom, spelled_atom.open


def tiled_umma(
    text: str,
    atom_layout: str | Sequence[int] | CuteLayout | None = None,
    permutation: str | tuple[Tiler, ...] | None = None,
    tile: Sequence[Any] | None = None,
    *,
    idesc: str = "",
    a_from: str = "",
    swizzles: tuple[str, str] = ("", ""),
    order: str = "",
) -> TiledUmma:
    """Return make_tiled_mma of an UMMA atom over a tile (M, N, K) of all CTAs of the atom.

    The default tile is the atom's M and N and four times its K. LayoutError names the invalid field.
    """
    body = parse_text_arguments("tiled_mma", text) or {}
    atom, left = parse_umma_atom(str(body.get("atom", text)), idesc, a_from)
    atoms = parse_atom_layout(atom_layout or body.get("atom_layout") or "(1,1,1)")
    permutation = permutation or body.get("permutation")
    if atoms.size != 1:
        message = f"The atom layout is {atoms}. An UMMA atom is issued once for its CTAs."
        raise LayoutError("bad_atom_layout", message, "(1,1,1); a larger tile repeats the atom.", "atom_layout")
    tilers, _ = parse_permutation(permutation, atom.shape)
    if tilers != atom.shape:
        message = f"The permutation is {algebra.format_tiler(tilers)}. Descriptors read an UMMA's operands unpermuted."
        raise LayoutError("bad_permutation", message, "Leave it out.", "permutation")
    m, n, k = atom.shape
    sizes = _parse_tile(tile or (m, n, USUAL_STEPS * k), atom.shape)
    tiled = TiledUmma(_make_cute_atom(atom), atoms, tilers, sizes, umma=atom, swizzles=swizzles, order=order, left=left)
    count = tiled.repeats[0] * tiled.repeats[1] * tiled.repeats[2]
    if count > MOST_STEPS:
        raise LayoutError("too_large", f"The tile needs {count} MMAs.", f"At most {MOST_STEPS}.", "tile")
    return tiled


def _parse_tile(tile: Sequence[Any], atom_sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    sizes = parse_tile_sizes(tile, LETTERS)
    for letter, size, unit in zip(LETTERS, sizes, atom_sizes, strict=True):
        if size % unit:
            message = f"{letter} = {size} is not a multiple of the atom's {unit}."
            raise LayoutError("bad_tile", message, f"Multiples of {unit}: {unit}, {2 * unit}, {4 * unit}, …", "tile")
    return sizes[0], sizes[1], sizes[2]


def _make_cute_atom(umma: UmmaAtom) -> MmaAtom:
    """Return the MmaAtom: ThrID numbers the CTAs; each holds its part of the rows of A and C and of B's columns."""
    (m, n, k), ctas = umma.shape, umma.ctas
    sides = {"a": (m, k), "b": (n, k), "c": (m, n)}
    layouts = {}
    for name, (rows, cols) in sides.items():
        share = rows // ctas
        layouts[name] = CuteLayout((ctas, (share, cols)), (share if ctas > 1 else 0, (1, rows)))
    bits = dict.fromkeys("ab", umma.element_bits) | {"c": 32}
    return MmaAtom(umma.bound, CuteLayout(ctas, 1), layouts, frozenset(), dict.fromkeys("abc", 0), bits)
