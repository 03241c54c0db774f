"""Evaluate constants of atoms and TiledMMAs: Shape_MNK, size(mma), tile_size<0>(mma), tile_shape(mma).

CUTLASS 4.7, cute/atom/mma_atom.hpp: size(TiledMMA) is its number of threads; tile_size<i> is the larger of the atoms'
size and the permutation's.
"""

from __future__ import annotations

from lanescope.cute import algebra, tuples
from lanescope.errors import LayoutError
from lanescope.reader.cute import atoms, tiled_mma
from lanescope.reader.grammars.grammar import SyntaxTerm, Value
from lanescope.reader.grammars.terms import REDUCERS, TermText
from lanescope.reader.meaning import TextMeaning
from lanescope.tiles.arguments import parse_atom_layout, parse_permutation


def compute_tile(meaning: TextMeaning) -> list[int] | None:
    """Return M, N and K of a TiledMMA as tile_size does; None if the text does not determine them."""
    shape, body = meaning.facts["atom_mnk"], meaning.facts["body"]
    if shape is None or body["atom_layout"] is None or "permutation" in meaning.undetermined:
        return None
    try:
        atom_layout = parse_atom_layout(body["atom_layout"])
        core = tuple(size * mode.size for size, mode in zip(shape, atom_layout.modes, strict=True))
        tilers, _ = parse_permutation(body["permutation"], core)
    except LayoutError:
        return None
    return [max(size, tuples.size(algebra.get_tiler_size(tiler))) for size, tiler in zip(core, tilers, strict=True)]


def _reduce_shape(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate MMA_Traits<…>::Shape_MNK, MMA_Atom<…>::Shape_MNK and TiledMMA<…>::AtomShape_MNK."""
    if term.owner is None:
        return None
    meaning = tiled_mma.find_tiled_mma(home, term.owner)
    if meaning is not None:
        shape = meaning.facts["atom_mnk"]
        if term.name == "TiledShape_MNK":
            shape = compute_tile(meaning)
        return tuple(shape) if shape and (term.name != "Shape_MNK") else None
    atom = atoms.parse_atom(home, term.owner) if term.name == "Shape_MNK" else None
    return tuple(atom.shape) if atom is not None and atom.shape else None


def _reduce_tile_size(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate tile_size<0>(mma) and tile_size_mnk<0>()."""
    meaning = tiled_mma.find_tiled_mma(home, (term.args or (None,))[0])
    tile = compute_tile(meaning) if meaning else None
    at = home.parse_number(term.angle[0]) if term.angle and len(term.angle) == 1 else None
    return tile[at] if tile is not None and at is not None and 0 <= at < 3 else None


def _reduce_tile_shape(home: TermText, term: SyntaxTerm) -> Value:
    meaning = tiled_mma.find_tiled_mma(home, (term.args or (None,))[0])
    tile = compute_tile(meaning) if meaning else None
    return tuple(tile) if tile is not None else None


_size_of_values = REDUCERS["size"]


def _reduce_size(home: TermText, term: SyntaxTerm) -> Value:
    """Evaluate size(mma), its number of threads, and size of other values."""
    if len(term.args or ()) == 1 and not term.angle and not term.named:
        meaning = tiled_mma.find_tiled_mma(home, (term.args or ())[0])
        if meaning is not None:
            return meaning.facts["threads"]
    return _size_of_values(home, term)


REDUCERS.update(
    {
        "size": _reduce_size,
        **dict.fromkeys(("Shape_MNK", "AtomShape_MNK", "TiledShape_MNK"), _reduce_shape),
        "tile_size": _reduce_tile_size,
        "tile_shape": _reduce_tile_shape,
    }
)
