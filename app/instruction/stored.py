"""A multiplicand that wgmma reads through a descriptor: the tile that a program would store by default, the word that
reads its first slice, and where each element of the slice lies. No framework.
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from app.kit import links
from app.kit.fact import fact
from app.memory import descriptors as memory
from layouts.instruction import Instruction
from layouts.swizzle import mode
from layouts.tiling import Tile
from layouts.view import Panel

SWIZZLE = "128B"


@fact
class Stored:
    """The default tile of an operand: what it is, its descriptor's word, the page that takes both apart, and the
    tile's.
    """

    name: str
    word: str
    kind: str
    text: str
    href: str
    tile: str


def tile_of(found: Instruction, name: str, major: str) -> tuple[Tile, int]:
    """(the 128B tile of this major in whole atoms that holds what one instruction reads of operand a or b, how much of
    K it reads).
    """
    _, seen = memory.seen_by({"instruction": found.ptx, "operand": name, "major": major})
    atom_mn, atom_k = mode(SWIZZLE).atom(seen.bits, major)
    rows = max(seen.rows, 64)
    return Tile(seen.bits, major, mode(SWIZZLE), -(-rows // atom_mn) * atom_mn, lcm(atom_k, seen.k)), seen.k


def stored(found: Instruction, name: str, major: str) -> Stored:
    """The tile in words, and its pages."""
    tile, reach = tile_of(found, name, major)
    word = str(tile.descriptor(0, 0, reach))
    query = {
        "instruction": found.ptx, "operand": name, "major": tile.major, "s_swizzle": tile.mode.name,
        "s_mn": tile.mn, "s_k": tile.k, "s_base": hex(tile.base),
    }  # fmt: skip
    size = f"{tile.mn} × {tile.k}"
    return Stored(
        name=name, word=word, kind=f"{tile.mode.name} tile", href=links.descriptor(word, query),
        tile=links.smem({
            "element_bits": tile.element_bits, "major": tile.major, "swizzle": tile.mode.name, "mn": tile.mn,
            "k": tile.k,
        }),
        text=f"In shared memory: a{'n MN' if major == 'MN' else ' K'}-major {size} tile"
        f" ({'n' if name == 'b' else 'm'} × k), {tile.mode.name} swizzle.",
    )  # fmt: skip


def panel_of(found: Instruction, panel: Panel, major: str) -> Panel:
    """The panel with every cell's byte offset in the tile. No thread holds it, so it takes no colour of the legend."""
    tile, _ = tile_of(found, panel.name, major)
    k, n = np.indices((panel.rows, panel.cols))
    offset = np.asarray(tile.address(n, k), np.int64)
    plain = np.full(offset.shape, -1, np.int32)
    return replace(panel, category=plain, texts=[[str(at) for at in row] for row in offset.tolist()], of=1)
