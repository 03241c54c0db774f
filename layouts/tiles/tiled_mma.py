"""make_tiled_mma: create a TiledMMA, or a TiledUmma for an UMMA atom, from arguments or text."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np

from lanescope.cute import tuples
from lanescope.cute.algebra import Tiler
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.threads import MOST_THREADS
from lanescope.tiles.arguments import get_least_size, parse_atom_layout, parse_permutation
from lanescope.tiles.atoms import make_mma_atom
from lanescope.tiles.mma import LETTERS, MOST_VALUES, SIDES, TiledMMA, compute_covered_tile, parse_tile_sizes
from lanescope.tiles.text_arguments import parse_text_arguments
from lanescope.tiles.tiled_umma import is_umma, tiled_umma


def tiled_mma(
    atom_text: object,
    atom_layout: str | Sequence[int] | CuteLayout | None = None,
    permutation: str | tuple[Tiler, ...] | None = None,
    tile: Sequence[Any] | None = None,
) -> TiledMMA:
    """Return the TiledMMA of make_tiled_mma over a tile (M, N, K); the default is its own tile.

    atom_text: PTX, a CUTLASS name, or the text of a TiledMMA: as print(tiled_mma) shows it in C++ or Python, an object
    of cutlass.cute, or the call that creates it; further arguments override those of the text. An UMMA atom
    (SM100_MMA_…, tcgen05.mma) gives a TiledUmma, by default with four K iterations. atom_layout: AtomLayoutMNK, compact
    column-major if it has no strides; permutation: PermutationMNK, a Tile of sizes, layouts and underscores.
    LayoutError names the invalid field.

    >>> made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 64, 32))
    >>> made.threads, made.a.modes, made.c.owner(19, 2)
    (128, (8, 2, 2), [(45, 0)])
    """
    if is_umma(str(atom_text)):
        return tiled_umma(str(atom_text), atom_layout, permutation, tile)
    more = {"atom_layout": atom_layout, "permutation": permutation, "tile": tile}
    if (body := parse_text_arguments("tiled_mma", atom_text, more)) is not None:
        return tiled_mma(body.pop("atom"), **body)
    mma_atom = make_mma_atom(str(atom_text))
    atoms = parse_atom_layout("(1,1,1)" if atom_layout is None else atom_layout)
    atom_sizes = tuple(size * mode.size for size, mode in zip(mma_atom.shape, atoms.modes, strict=True))
    tilers, repeated = parse_permutation(permutation, atom_sizes)
    blank = TiledMMA(mma_atom, atoms, tilers, atom_sizes)  # type: ignore[arg-type]  # three sizes
    _require_thread_fit(blank)
    least = [get_least_size(tiler) for tiler in tilers]
    sizes = parse_tile_sizes(tile or compute_covered_tile(blank), LETTERS)
    for at, (size, step, atoms_) in enumerate(zip(sizes, least, atom_sizes, strict=True)):
        for unit, covered_by in ((step, "the permutation covers"), (atoms_, "the atoms of all threads cover")):
            if size % unit:
                both = lcm(step, atoms_)
                raise LayoutError(
                    "bad_tile",
                    f"{LETTERS[at]} = {size} is not a multiple of the {unit} that {covered_by}.",
                    f"Multiples of {both}: {both}, {2 * both}, {4 * both}, …",
                    "tile",
                )
    tiled = TiledMMA(mma_atom, atoms, tilers, (sizes[0], sizes[1], sizes[2]), repeated)
    for name, (first, second) in SIDES.items():
        values = mma_atom.layouts[name].modes[1].size * tiled.steps[first] * tiled.steps[second]
        rows = tiled.threads if name not in mma_atom.shared else tiled.threads // mma_atom.threads.size
        if values * rows > MOST_VALUES:
            raise LayoutError(
                "too_large",
                f"Operand {name.upper()} of all threads has {values * rows} values.",
                f"At most {MOST_VALUES}.",
                "tile",
            )
    return tiled


def _require_thread_fit(tiled: TiledMMA) -> None:
    """Raise LayoutError if atoms share threads, or if there are more threads than in a block."""
    layout_text, threads = str(tiled.atom_layout), tiled.thread_layout
    if max(threads.size, threads.cosize) > MOST_THREADS:
        raise LayoutError(
            "bad_atom_layout",
            f"The atom layout {shorten_value(layout_text, 80)} reaches thread {max(threads.size, threads.cosize) - 1}.",
            f"A block has at most {MOST_THREADS} threads: {MOST_THREADS // tiled.atom.threads.size} atoms.",
            "atom_layout",
        )
    ids = tiled.thread_ids
    renumbered = sum(
        tuples.compute_indices(at, mode.shape, mode.stride)
        for at, mode in zip(tiled.coordinates, tiled.thread_layout.modes, strict=True)
    )
    if not np.array_equal(renumbered, ids) or np.unique(ids).size != ids.size:
        raise LayoutError(
            "bad_atom_layout",
            f"The atom layout {shorten_value(layout_text, 80)} gives two atoms the same threads.",
            "Give strides that number every atom differently, e.g. (2,2,1):(1,2,0).",
            "atom_layout",
        )
