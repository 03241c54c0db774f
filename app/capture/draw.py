"""The first wrong operand of a capture: the operand, and shared memory where it is read through a descriptor. No
framework.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.capture.verdict import Picture
from lanescope.render import reads
from lanescope.render.palette import RIGHT, WRONG
from lanescope.render.svg import status_legend, svg
from lanescope.render.view import LEFT, TOP, Figure, Panel

WORDS = {"right": "the element it should be", "wrong": "another element"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The pictures of one operand; memory and legend are empty where it is in registers, low: memory's first byte."""

    operand: str
    memory: str
    legend: list[tuple[str, str]]
    low: int


def drawn(made: Picture) -> Drawn:
    """The operand as the descriptor page draws it, and shared memory beside it; of registers, which element each is."""
    side = made.side
    name = side.operand.upper()
    if side.address is not None and side.seen is not None and made.lies is not None:
        cells = reads.cells(side.address, made.lies, side.seen, name)
        return Drawn(
            reads.operand_svg(cells, f"{name}: the byte that each 16-byte chunk is read from"),
            reads.memory_svg(cells, "shared memory, 128 bytes a row"),
            reads.legend(cells),
            reads.states(cells)[0] * 16,
        )
    return Drawn(_elements(made), "", [], 0)


def _elements(made: Picture) -> str:
    """Each place of the operand with the element that is there, (m, k) or (k, n)."""
    side = made.side
    turned = side.operand == "b"
    mn, k, right = (part.T if turned else part for part in (side.mn, side.k, made.right))
    status = np.where(right, RIGHT, WRONG).astype(np.int32)
    rows, columns = right.shape
    name = f"{side.operand.upper()} ({'k × n' if turned else 'm × k'}), {rows}×{columns}: the element that is there"
    texts = [
        [_text(int(one), int(at), ok, turned) for one, at, ok in zip(mn[row], k[row], right[row], strict=True)]
        for row in range(rows)
    ]
    width = max(34.0, min(60.0, 1040 / columns))
    panel = Panel(
        "capture",
        name,
        rows=rows,
        cols=columns,
        x=LEFT,
        y=TOP,
        cell_width=width,
        cell_height=17.0,
        grid=None,
        texts=texts,
        status=status,
    )
    figure = Figure(max(LEFT + panel.width + 8, 7.6 * len(name)), TOP + panel.height + 8, (panel,))
    return svg(figure, title=name, palette=None, labels_up_to=4200) + status_legend(status, None, WORDS)


def _text(mn: int, k: int, ok: bool, turned: bool) -> str:
    said = "?" if min(mn, k) < 0 else f"{k},{mn}" if turned else f"{mn},{k}"
    return said if ok else f"✗{said}"
