"""The first wrong operand of a capture: the operand, and shared memory where it is read through a descriptor. No
framework.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.capture.verdict import OperandPicture
from lanescope.render import read_pictures
from lanescope.render.palette import RIGHT, WRONG
from lanescope.render.svg import render_status_legend, render_svg
from lanescope.render.view import LEFT, TOP, FigurePanel, PanelFigure

WORDS = {"right": "the element it should be", "wrong": "another element"}


@dataclass(frozen=True, slots=True)
class OperandPictures:
    """The pictures of one operand; memory and legend are empty where it is in registers, low: memory's first byte."""

    operand: str
    memory: str
    legend: list[tuple[str, str]]
    low: int


def draw_operand(made: OperandPicture) -> OperandPictures:
    """The operand as the descriptor page draws it, and shared memory beside it; of registers, which element each is."""
    side = made.side
    name = side.operand.upper()
    if side.address is not None and side.seen is not None and made.lies is not None:
        cells = read_pictures.make_chunks(side.address, made.lies, side.seen, name)
        return OperandPictures(
            read_pictures.render_operand(cells, f"{name}: the byte that each 16-byte chunk is read from"),
            read_pictures.render_memory(cells, "shared memory, 128 bytes a row"),
            read_pictures.list_legend(cells),
            read_pictures.find_chunk_states(cells)[0] * 16,
        )
    return OperandPictures(_draw_matrix(made), "", [], 0)


def _draw_matrix(made: OperandPicture) -> str:
    """Each place of the operand with the element that is there, (m, k) or (k, n)."""
    side = made.side
    turned = side.operand == "b"
    mn, k, right = (part.T if turned else part for part in (side.mn, side.k, made.right))
    status = np.where(right, RIGHT, WRONG).astype(np.int32)
    rows, columns = right.shape
    name = f"{side.operand.upper()} ({'k × n' if turned else 'm × k'}), {rows}×{columns}: the element that is there"
    texts = [
        [_format_cell(int(one), int(at), ok, turned) for one, at, ok in zip(mn[row], k[row], right[row], strict=True)]
        for row in range(rows)
    ]
    width = max(34.0, min(60.0, 1040 / columns))
    panel = FigurePanel(
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
    figure = PanelFigure(max(LEFT + panel.width + 8, 7.6 * len(name)), TOP + panel.height + 8, (panel,))
    return render_svg(figure, title=name, palette=None, labels_up_to=4200) + render_status_legend(status, None, WORDS)


def _format_cell(mn: int, k: int, ok: bool, turned: bool) -> str:
    said = "?" if min(mn, k) < 0 else f"{k},{mn}" if turned else f"{mn},{k}"
    return said if ok else f"✗{said}"
