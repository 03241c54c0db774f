"""A multiplicand that wgmma or tcgen05.mma reads through a descriptor: the tile that a program would store by default,
the word that reads its first slice, and where each element of the slice lies. No framework.
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.app.memory import descriptors as memory
from lanescope.blackwell.bound import BoundMma
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.render.view import FigurePanel
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

SWIZZLE = "128B"


@fact
class SharedOperand:
    """The default tile of an operand: what it is, its descriptor's word, the page that takes both apart, and the
    tile's.
    """

    name: str
    word: str
    kind: str
    text: str
    href: str
    tile: str


def build_default_tile(found: Instruction, name: str, major: str) -> tuple[Tile, int]:
    """(the 128B tile of this major in whole atoms that holds what one instruction reads of operand a or b, how much of
    K it reads).
    """
    _, seen = memory.parse_view(_build_reader_query(found, name, major))
    swizzle, form = get_mode(SWIZZLE), WGMMA
    if isinstance(found, BoundMma):  # its descriptor says the major, and 32 bits have a mode of their own
        form, major = TCGEN05, seen.major
        turned = form.turned.get(seen.bits, ()) if major != "K" else ()
        swizzle = turned[0] if len(turned) == 1 else swizzle
    atom_mn, atom_k = swizzle.get_atom_size(seen.bits, major)
    rows = seen.rows if form.by_idesc else max(seen.rows, 64)
    return Tile(seen.bits, major, swizzle, -(-rows // atom_mn) * atom_mn, lcm(atom_k, seen.k), form=form), seen.k


def _build_reader_query(found: Instruction, name: str, major: str) -> dict[str, str]:
    """Who reads the operand, as a request says it."""
    if isinstance(found, BoundMma):
        return {"instruction": found.ptx, "operand": name, "format": TCGEN05.name, "idesc": str(found.word)}
    return {"instruction": found.ptx, "operand": name, "major": major}


def build_shared_operand(found: Instruction, name: str, major: str) -> SharedOperand:
    """The tile in words, and its pages."""
    tile, reach = build_default_tile(found, name, major)
    word = str(tile.descriptor(0, 0, reach))
    query = {
        **_build_reader_query(found, name, tile.major),
        "s_swizzle": tile.mode.name,
        "s_mn": tile.mn,
        "s_k": tile.k,
        "s_base": hex(tile.base),
    }
    size = f"{tile.mn} × {tile.k}"
    return SharedOperand(
        name=name,
        word=word,
        kind=f"{tile.mode.name} tile",
        href=links.link_descriptor(word, query, tile.form.name),
        tile=links.link_smem(
            {
                "element_bits": tile.element_bits,
                "major": tile.major,
                "swizzle": tile.mode.name,
                "mn": tile.mn,
                "k": tile.k,
                **tile.form.query,
            }
        ),
        text=f"In shared memory: a{'n MN' if major == 'MN' else ' K'}-major {size} tile"
        f" ({'n' if name == 'b' else 'm'} × k), {tile.mode.name} swizzle.",
    )


def build_offset_panel(found: Instruction, panel: FigurePanel, major: str) -> FigurePanel:
    """The panel with every cell's byte offset in the tile. No thread holds it, so it takes no colour of the legend."""
    tile, _ = build_default_tile(found, panel.name, major)
    k, n = np.indices((panel.rows, panel.cols))
    own = n % (panel.cols // found.mma.ctas) if isinstance(found, BoundMma) else n  # of a pair each CTA holds its share
    offset = np.asarray(tile.address(own, k), np.int64)
    plain = np.full(offset.shape, -1, np.int32)
    return replace(panel, category=plain, texts=[[str(at) for at in row] for row in offset.tolist()], of=1)
