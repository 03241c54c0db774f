"""A of a reuse: where each of its elements comes from. No framework."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit.draw import marked
from layouts.instruction import Instruction
from layouts.view import Grid


def reuse_svg(second: Instruction, facts: dict[str, Any]) -> str:
    op = second.operand("a")
    grid = Grid(op)
    t, v = grid.thread[:, :, 0], grid.value[:, :, 0]
    source, value, tile = (np.asarray(facts[name])[t, v] for name in ("thread", "value", "tile"))
    texts = [
        [f"T{a}:d{b}" + (f"/{c}" if facts["tiles"] > 1 else "") for a, b, c in zip(*row, strict=True)]
        for row in zip(source.tolist(), value.tolist(), tile.tolist(), strict=True)
    ]
    return marked(
        grid,
        (source != t).astype(np.int32),
        texts,
        f"A of {second.ptx}: where each element of K step {facts['step']} comes from",
    )
