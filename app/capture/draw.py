"""Pictures of the first wrong operand of a capture, and of shared memory if a descriptor reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.app.kit.draw import render_status_panel
from lanescope.capture.verdict import OperandPicture
from lanescope.render import read_pictures
from lanescope.render.figure import FigurePanel
from lanescope.render.palette import RIGHT, WRONG

WORDS = {"right": "the expected element", "wrong": "another element"}


@dataclass(frozen=True, slots=True)
class OperandPictures:
    """The pictures of one operand; memory: None for one in registers."""

    operand: str
    memory: read_pictures.MemoryPicture | None = None


def draw_operand(picture: OperandPicture) -> OperandPictures:
    """Draw an operand in shared memory as on the descriptor page, with memory beside it; draw the elements of one in
    registers.
    """
    side = picture.side
    name = side.operand.upper()
    if side.address is not None and side.seen is not None and picture.places is not None:
        cells = read_pictures.make_chunks(side.address, picture.places, side.seen, name)
        return OperandPictures(
            read_pictures.render_operand(cells, f"{name}: the byte that each 16-byte chunk is read from"),
            read_pictures.draw_memory(cells),
        )
    return OperandPictures(_draw_matrix(picture))


def _draw_matrix(picture: OperandPicture) -> str:
    """Draw each place of the operand with the element that is there, (m, k) or (k, n)."""
    side = picture.side
    transposed = side.operand == "b"
    mn, k, right = (part.T if transposed else part for part in (side.mn, side.k, picture.right))
    status = np.where(right, RIGHT, WRONG).astype(np.int32)
    rows, columns = right.shape
    axes = "k × n" if transposed else "m × k"
    name = f"{side.operand.upper()} ({axes}), {rows}×{columns}: the element that is there"
    texts = [
        [
            _format_cell(int(mn_index), int(k_index), ok, transposed)
            for mn_index, k_index, ok in zip(mn[row], k[row], right[row], strict=True)
        ]
        for row in range(rows)
    ]
    width = max(34.0, min(60.0, 1040 / columns))
    panel = FigurePanel(
        "capture",
        name,
        rows=rows,
        cols=columns,
        cell_width=width,
        cell_height=17.0,
        texts=texts,
        status=status,
    )
    return render_status_panel(panel, 7.6 * len(name), WORDS)


def _format_cell(mn: int, k: int, ok: bool, transposed: bool) -> str:
    text = "?" if min(mn, k) < 0 else f"{k},{mn}" if transposed else f"{mn},{k}"
    return text if ok else f"✗{text}"
