"""The picture of a reuse: where each element of A comes from."""

from __future__ import annotations

import numpy as np

from lanescope.app.kit.draw import draw_statuses
from lanescope.app.reuse.facts import Reuse
from lanescope.ptx.instruction import Instruction
from lanescope.render.palette import MOVED, RIGHT
from lanescope.render.view import OperandGrid


def draw_reuse(second: Instruction, facts: Reuse) -> str:
    """Draw A of one K step: each cell with its place in D, marked if it is in another lane."""
    op = second.operand("a")
    grid = OperandGrid(op)
    t, v = grid.thread[:, :, 0], grid.value[:, :, 0]
    source, value, tile = (array[t, v] for array in (facts.thread, facts.value, facts.tile))
    texts = [
        [f"T{a}:d{b}" + (f"/{c}" if facts.tiles > 1 else "") for a, b, c in zip(*row, strict=True)]
        for row in zip(source.tolist(), value.tolist(), tile.tolist(), strict=True)
    ]
    return draw_statuses(
        grid,
        (source != t).astype(np.int32),
        texts,
        f"A of {second.ptx}: where each element of K step {facts.step} comes from",
        {RIGHT: "in this lane already", MOVED: "in another lane"},
    )
