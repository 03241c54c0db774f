"""The slices of a tile that successive wgmmas read: steps along K and along M or N, with start and explanation.

Every number in an explanation is a stride of the tile; tests/test_slices.py compares them with its addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.descriptor.matrix import Descriptor
from lanescope.shared.tiling import Tile


@dataclass(frozen=True, slots=True)
class KStep:
    """The slice at k of row 0: its offset from the tile's start before the XOR, its descriptor, and the explanation."""

    k: int
    start_offset_bytes: int
    descriptor: Descriptor
    why: str


@dataclass(frozen=True, slots=True)
class MnStep:
    """The slice at row `mn` of k 0.

    Without offset and descriptor if no instruction can start there, for the reason why.
    """

    mn: int
    start_offset_bytes: int | None
    descriptor: Descriptor | None
    why: str


def list_k_steps(tile: Tile) -> list[KStep]:
    """Return every K step that is completely inside the tile."""
    steps = []
    previous = 0
    for k in range(0, tile.k - tile.k % tile.step(), tile.step()):
        offset = int(tile.compute_offset_before(0, k))
        steps.append(KStep(k, offset, tile.descriptor(0, k), _explain_k_step(tile, k, offset - previous)))
        previous = offset
    return steps


def get_k_stride_field(tile: Tile) -> str:
    """Return the descriptor field with the stride from atom to atom along K; "" if no instruction needs it.

    In swizzled K-major layouts a step never leaves the atom, so that only the start moves.
    """
    if tile.mode.chunks == 1:
        return "LBO"
    return "SBO" if tile.major == "MN" else ""


def _explain_k_step(tile: Tile, k: int, moved: int) -> str:
    """Explain why the step at k starts `moved` bytes after the previous one."""
    if not k:
        return "the tile's start"
    across = tile.strides[1]
    piece = "core matrix" if tile.mode.chunks == 1 else "atom"
    spans = tile.step() // tile.atom[1]
    if spans > 1:
        pieces = "core matrices" if tile.mode.chunks == 1 else "atoms"
        return f"+{moved} bytes: a step has {spans} {pieces} along K, {across} bytes apart ({get_k_stride_field(tile)})"
    if spans == 1:
        return f"+{moved} bytes: a step has one {piece} along K, and the next {piece} begins {across} bytes after it"
    if k % tile.atom[1]:
        return (
            f"+{moved} bytes inside the atom: the XOR works on address bits, so only the start moves and base offset"
            " stays"
        )
    return f"+{moved} bytes: the next atom along K, which begins {across} bytes after the one before"


def list_mn_steps(tile: Tile, rows: int) -> list[MnStep]:
    """Return every step of `rows` along M or N; `why` is "" if a step begins with an atom."""
    return [_make_mn_step(tile, mn, rows) for mn in range(0, tile.mn, rows)]


def _make_mn_step(tile: Tile, mn: int, rows: int) -> MnStep:
    inside = mn % tile.atom[0]
    if inside and inside + rows > tile.atom[0]:
        edge = "run past its edge; use a narrower swizzle"
        return MnStep(mn, None, None, f"illegal: {rows} rows from inside an atom of {tile.atom[0]} (mn) {edge}")
    if mn + rows > tile.mn:
        return MnStep(mn, None, None, f"only {tile.mn - mn} of {rows} rows are left")
    why = (
        "inside the atom, which holds all of its rows: the XOR works on address bits, so only the start moves"
        if inside
        else ""
    )
    return MnStep(mn, int(tile.compute_offset_before(mn, 0)), tile.descriptor(mn, 0, rows=rows), why)


def describe_strides(tile: Tile) -> dict[str, str]:
    """Return what LBO and SBO step over, as {"lbo", "sbo"}; "" for an LBO that a dense instruction never reads."""
    wide, deep = tile.atom
    if tile.major == "K":
        leading = f"from one 16-byte chunk of K ({tile.per} elements) to the next" if tile.mode.chunks == 1 else ""
        return {"lbo": leading, "sbo": "from 8 rows of M or N to the next 8"}
    if tile.mode.chunks == 1:
        return {"lbo": "from 8 of K to the next 8", "sbo": f"from {tile.per} of M or N to the next {tile.per}"}
    leading = f"from one atom of M or N ({wide} elements) to the next"
    return {"lbo": leading, "sbo": f"from {deep} of K to the next {deep}"}
