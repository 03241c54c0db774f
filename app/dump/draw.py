"""The operand as it is read from a dump: each element's value, right, wrong or outside. No framework."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.dump import Examined
from lanescope.render import reads
from lanescope.render.palette import IDLE, READ, RIGHT, WRONG
from lanescope.render.svg import status_legend, svg
from lanescope.render.view import LEFT, TOP, Figure, Panel

MOST_LABELS = 4200
OUTSIDE = READ  # its hatch: read, and nothing is known to be there
WORDS = {"right": "as expected", "wrong": "another value", "read": "outside the dump", "idle": "read"}


def operand_svg(made: Examined) -> str:
    """The operand as mathematics has it, (m, k) or (k, n), with the legend of its cells."""
    turned = made.operand == "b"
    values = made.values.T if turned else made.values
    inside = made.inside.T if turned else made.inside
    if made.right is None:
        status = np.where(inside, IDLE, OUTSIDE).astype(np.int32)
    else:
        right = made.right.T if turned else made.right
        status = np.where(right, RIGHT, np.where(inside, WRONG, OUTSIDE)).astype(np.int32)
    rows, cols = values.shape
    labelled = rows * cols <= MOST_LABELS
    texts = (
        [
            [_text(v, s) for v, s in zip(line, states, strict=True)]
            for line, states in zip(values.tolist(), status.tolist(), strict=True)
        ]
        if labelled
        else None
    )
    longest = max((len(text) for line in texts for text in line), default=1) if texts else 1
    width = max(min(max(18.0, 7.0 * longest + 6), 64.0), min(1040 / cols, 48.0)) if texts else max(2.6, 1040 / cols)
    height = 17.0 if texts else max(2.6, 700 / rows)
    name = f"{made.operand.upper()} ({'k × n' if turned else 'm × k'}), {rows}×{cols}: the values that are read"
    panel = Panel(
        "dump",
        name,
        rows=rows,
        cols=cols,
        x=LEFT,
        y=TOP,
        cell_width=width,
        cell_height=height,
        grid=None,
        texts=texts,
        status=status,
    )
    figure = Figure(max(LEFT + panel.width + 8, 7.6 * len(name)), TOP + panel.height + 8, (panel,))
    drawing = svg(figure, title=name, palette=None, labels_up_to=MOST_LABELS)
    return drawing + (status_legend(status, None, WORDS) if made.right is not None or not inside.all() else "")


def _text(value: float, status: int) -> str:
    said = "·" if status == OUTSIDE else "NaN" if value != value else f"{value:.4g}"
    return f"✗{said}" if status == WRONG else said


@dataclass(frozen=True, slots=True)
class Memory:
    """Shared memory where one layout was found: what is read and where the tile lies; low: its first byte."""

    svg: str
    low: int
    legend: list[tuple[str, str]]


def memory(made: Examined) -> Memory | None:
    """The picture of shared memory; None where the tile's place does not follow from one layout."""
    if made.where is None or made.where.by != "layout":
        return None
    cells = reads.cells(made.address, made.where.address, made.seen, made.operand.upper())
    return Memory(
        reads.memory_svg(cells, "shared memory, 128 bytes a row"), reads.states(cells)[0] * 16, reads.legend(cells)
    )
