"""The picture of what a descriptor reads: each chunk of the operand with its address, each chunk of memory with what
lies there.
"""

from __future__ import annotations

import numpy as np

from lanescope.descriptor.matrix import View, reads
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.render.read_pictures import make_chunks, make_figure
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each

VIEW = View(64, 16, 16, "K", WGMMA)


@for_each("name", ["none", "32B", "64B", "128B"])
@for_each(("first", "last"), [(0, 63), (0, 7), (8, 15), (40, 63)])
def test_memory_is_shown_from_the_first_chunk_to_the_last_that_is_read(name: str, first: int, last: int) -> None:
    tile = Tile(16, "K", get_mode(name), 128, 64, order="mn", base=8192)
    read = reads(tile.descriptor(0, 16, 16), VIEW)
    operand, memory = make_figure(make_chunks(read, read, VIEW, "A"), first, last).panels
    touched = read[first : last + 1, ::8]
    assert operand.texts == [[f"✓ ← {at:x}" for at in row] for row in touched.tolist()]
    rows = [int(row, 16) for row in memory.row_names]
    assert rows == list(range(int(touched.min()) // 128 * 128, int(touched.max()) + 1, 128))
    shown = {
        row + 16 * col: text for row, texts in zip(rows, memory.texts, strict=True) for col, text in enumerate(texts)
    }
    for (line, chunk), at in np.ndenumerate(read[:, ::8]):
        assert shown.get(int(at), f"✓ {line},{8 * chunk}") == f"✓ {line},{8 * chunk}"
    assert set(touched.ravel().tolist()) <= set(shown)
