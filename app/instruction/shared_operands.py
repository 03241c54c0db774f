"""A multiplicand that wgmma or tcgen05.mma reads through a descriptor: the tile that a program would store by default,
the word that reads its first slice, and the offset of each element of the slice.
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from lanescope.app.kit import links
from lanescope.app.kit.fact import fact
from lanescope.app.memory.verdicts import parse_view
from lanescope.blackwell.bound import BoundMma
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA, fit_format
from lanescope.render.figure import FigurePanel
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

SWIZZLE = "128B"
CHUNK_BITS = 128
EACH_NUMBERED = 256  # cells shown of which each has its number


@fact
class SharedOperand:
    """The default tile of an operand: its description, its descriptor's word, the page of that word, and the page of
    the tile.
    """

    name: str
    word: str
    kind: str
    text: str
    href: str
    tile: str


def build_default_tile(instruction: Instruction, name: str, major: str) -> tuple[Tile, int]:
    """Build (the 128B tile of this major, of the whole atoms that one instruction reads of operand a or b; the elements
    along K that it reads).
    """
    _, view = parse_view(_build_reader_query(instruction, name, major))
    swizzle, form = get_mode(SWIZZLE), WGMMA
    if isinstance(instruction, BoundMma):  # the descriptor has the major, and 32-bit types have a separate mode
        form, major = view.form, view.major
        transposed_modes = form.turned.get(view.bits, ()) if major != "K" else ()
        swizzle = transposed_modes[0] if len(transposed_modes) == 1 else swizzle
    atom_mn, atom_k = swizzle.get_atom_size(view.bits, major)
    rows = view.rows if form.by_idesc else max(view.rows, 64)
    return Tile(view.bits, major, swizzle, -(-rows // atom_mn) * atom_mn, lcm(atom_k, view.k), form=form), view.k


def _build_reader_query(instruction: Instruction, name: str, major: str) -> dict[str, str]:
    """Build the part of a request that names the instruction and its operand."""
    if isinstance(instruction, BoundMma):
        form = fit_format(TCGEN05, instruction.word.target)
        return {"instruction": instruction.ptx, "operand": name, **form.query, "idesc": str(instruction.word)}
    return {"instruction": instruction.ptx, "operand": name, "major": major}


def build_shared_operand(instruction: Instruction, name: str, major: str) -> SharedOperand:
    """Build the description of the tile, and the links to its pages."""
    tile, depth = build_default_tile(instruction, name, major)
    word = str(tile.descriptor(0, 0, depth))
    query = {
        **_build_reader_query(instruction, name, tile.major),
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
        tile=links.link_tile(tile, **tile.form.query),
        text=f"In shared memory: a{'n MN' if major == 'MN' else ' K'}-major {size} tile"
        f" ({'n' if name == 'b' else 'm'} × k), {tile.mode.name} swizzle.",
    )


def build_offset_panel(instruction: Instruction, panel: FigurePanel, major: str, shown: float) -> FigurePanel:
    """Build the panel with byte offsets in the tile: of every cell, or where more than EACH_NUMBERED are shown, of the
    first in each 16 bytes. No thread holds it, so it takes no colour of the legend.
    """
    tile, _ = build_default_tile(instruction, panel.name, major)
    k, n = np.indices((panel.rows, panel.cols))
    own_n = (
        n % (panel.cols // instruction.mma.ctas) if isinstance(instruction, BoundMma) else n
    )  # each CTA of a pair holds its share
    offset = np.asarray(tile.address(own_n, k), np.int64)
    plain = np.full(offset.shape, -1, np.int32)
    along = k if tile.major == "K" else own_n
    numbered = (along % (CHUNK_BITS // tile.element_bits) == 0) | (shown <= EACH_NUMBERED)
    texts = np.where(numbered, offset.astype(np.str_), "")
    return replace(panel, category=plain, texts=texts.tolist(), of=1)
