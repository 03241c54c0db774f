"""Where the slices of a tile begin that one wgmma after another reads: steps along K and along M or N, each with its
reason.

Every number of a reason is one of the tile's own strides; tests/test_slices.py compares them with its addresses.
"""

from __future__ import annotations

from typing import Any

from layouts.tiling import Tile


def k_steps(tile: Tile) -> list[dict[str, Any]]:
    """Every K step that the tile holds whole: {"k", "start_offset_bytes", "descriptor", "why"}."""
    out = []
    before = 0
    for k in range(0, tile.k - tile.k % tile.step(), tile.step()):
        offset = int(tile.offset_before(0, k))
        out.append(
            {
                "k": k,
                "start_offset_bytes": offset,
                "descriptor": str(tile.descriptor(0, k)),
                "why": _why(tile, k, offset - before),
            }
        )
        before = offset
    return out


def stride_field(tile: Tile) -> str:
    """The descriptor's field that holds the stride from atom to atom along K, "" where no instruction needs it.

    Swizzled K-major layouts: a step never leaves the atom, so only the start moves.
    """
    if tile.mode.chunks == 1:
        return "LBO"
    return "SBO" if tile.major == "MN" else ""


def _why(tile: Tile, k: int, moved: int) -> str:
    """Why the step at k starts `moved` bytes after the one before."""
    if not k:
        return "the tile's start"
    across = tile.strides[1]
    piece = "core matrix" if tile.mode.chunks == 1 else "atom"
    spans = tile.step() // tile.atom[1]
    if spans > 1:
        pieces = "core matrices" if tile.mode.chunks == 1 else "atoms"
        return f"+{moved} bytes: a step takes {spans} {pieces} of K, {across} bytes apart ({stride_field(tile)})"
    if spans == 1:
        return f"+{moved} bytes: a step takes one {piece} of K, and the next {piece} begins {across} bytes after it"
    if k % tile.atom[1]:
        return (
            f"+{moved} bytes inside the atom: the XOR works on address bits, so only the start moves and base offset"
            " stays"
        )
    return f"+{moved} bytes: the next atom along K, which begins {across} bytes after the one before"


def mn_steps(tile: Tile, rows: int) -> list[dict[str, Any]]:
    """Every step of `rows` along M or N: {"mn", "start_offset_bytes", "descriptor", "why"}, the last None or "" where
    there is none.
    """
    out: list[dict[str, Any]] = []
    for mn in range(0, tile.mn, rows):
        inside = mn % tile.atom[0]
        legal, why = True, ""
        if inside and inside + rows > tile.atom[0]:
            legal = False
            why = (
                f"illegal: {rows} rows from inside an atom of {tile.atom[0]} (mn) run past its edge; use a narrower"
                " swizzle"
            )
        elif mn + rows > tile.mn:
            legal = False
            why = f"only {tile.mn - mn} of {rows} rows are left"
        elif inside:
            why = "inside the atom, which holds all of its rows: the XOR works on address bits, so only the start moves"
        out.append(
            {
                "mn": mn,
                "start_offset_bytes": int(tile.offset_before(mn, 0)) if legal else None,
                "descriptor": str(tile.descriptor(mn, 0, rows=rows)) if legal else None,
                "why": why,
            }
        )
    return out


def stride_words(tile: Tile) -> dict[str, str]:
    """What a step of LBO and of SBO leads to for this mode and major; "" for an LBO that a dense instruction never
    reads.
    """
    wide = tile.atom[0]
    if tile.major == "K":
        leading = f"from one 16-byte chunk of K ({tile.per} elements) to the next" if tile.mode.chunks == 1 else ""
        return {"lbo": leading, "sbo": "from 8 rows of M or N to the next 8"}
    if tile.mode.chunks == 1:
        return {"lbo": "from 8 of K to the next 8", "sbo": "from 8 of M or N to the next 8"}
    return {"lbo": f"from one atom of M or N ({wide} elements) to the next", "sbo": "from 8 of K to the next 8"}
