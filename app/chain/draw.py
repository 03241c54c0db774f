"""Pictures of a chain: the operand, the rows of a load, and the lanes that supply addresses in shared memory."""

from __future__ import annotations

import numpy as np

from lanescope.app.kit import draw as marks
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.svg import render_svg
from lanescope.shared import chain, pieces


def draw_rows(chain_result: chain.Chain) -> str:
    """Draw the rows of the first load (store): eight 16-bit units each, with the lane that receives (gives) it and
    its elements.
    """
    load, want = chain_result.load, chain_result.want
    lane_of = {at: lane for lane, at in enumerate(zip(*chain_result.lane_rows, strict=True))}
    names = [lane_of[matrix, row] for matrix in range(load.matrices) for row in range(load.rows)]
    texts = [[""] * 8 for _ in names]
    colour = np.zeros((len(names), 8), np.int32)
    per = 16 // want.granule_bits
    for lane in range(32):
        for register in range(load.registers):
            for half in (0, 1):
                row = int(load.matrix[lane, register, 2 * half]) * load.rows + int(load.row[lane, register, 2 * half])
                unit = int(load.byte[lane, register, 2 * half]) // 2
                texts[row][unit] = f"T{lane}:{_format_unit(want, lane, register, half * per, per)}"
                colour[row, unit] = lane % 4
    beside = tuple(f"T{lane} → {int(chain_result.lane_addresses[0, 0, lane]):#x}" for lane in names)
    letter = want.operand.name.upper()
    verb = "gives" if chain_result.store else "receives"
    title = f"1 cell = 16 bits: the lane that {verb} it, and the elements of {letter}"
    panel = FigurePanel(
        "rows",
        title,
        rows=len(names),
        cols=8,
        x=LEFT + 52,
        cell_width=96.0,
        cell_height=24.0,
        category=colour,
        texts=texts,
        row_names=beside,
    )
    figure = PanelFigure(max(LEFT + 60 + panel.width, 7.4 * len(title) + LEFT), TOP + panel.height + 8, (panel,))
    return render_svg(figure, title=title, palette=None, labels_up_to=3000, pointed=True)


def _format_unit(want: pieces.OperandGranules, lane: int, register: int, first: int, count: int) -> str:
    """Return the elements of a unit: [0,3], [0-1,3], [0,8-11]; half an element is given by its bits."""
    rows, cols = zip(*(want.get_element(0, lane, register, first + n) for n in range(count)), strict=True)
    text = ",".join(str(axis[0]) if axis[0] == axis[-1] else f"{axis[0]}-{axis[-1]}" for axis in (rows, cols))
    half = int(want.shift[first])
    return f"[{text}]" + (f" {'high' if half else 'low'}" if want.operand.container_bits == 32 else "")


def draw_operand(chain_result: chain.Chain) -> str:
    """Draw the operand's matrix: the holder of each element, wrong ones marked."""
    op = chain_result.want.operand
    good = np.zeros((op.row_count, op.col_count), bool)
    texts = [[""] * op.col_count for _ in range(op.row_count)]
    right = chain_result.elements.reshape(op.threads, op.values)
    for thread in range(op.threads):
        for value in range(op.values):
            ok = bool(right[thread, value])
            r, c = int(op.rows[thread, value]), int(op.coords["col"][thread, value])
            good[r, c] = ok
            texts[r][c] = f"T{thread}:{value}" if ok else f"✗T{thread}:{value}"
    wrong = "" if good.all() else "; ✗ gets another element"
    return marks.draw_grid(f"{op.name.upper()}: thread and value of each element{wrong}", ~good, texts)["svg"]


def draw_lanes(chain_result: chain.Chain) -> str:
    """Draw the part of shared memory that is read, in 16-byte chunks, 128 bytes per row, with the lane that gives
    each row's address.
    """
    addresses = chain_result.lane_addresses
    touched = np.unique(addresses[addresses >= 0] // 128)
    text = [[""] * 8 for _ in touched]
    colour = np.full((len(touched), 8), -1, np.int32)
    address = chain_result.load.instruction.address
    assert address is not None
    warps, turns, _ = addresses.shape
    for warp, turn, lane in np.argwhere(addresses >= 0).tolist():
        at = int(addresses[warp, turn, lane])
        line, chunk = int(np.searchsorted(touched, at // 128)), at % 128 // 16
        mark = f"{f'w{warp} ' if warps > 1 else ''}T{lane}{f'/{turn}' if turns > 1 else ''}"
        text[line][chunk] = f"{text[line][chunk]} {mark}".strip()
        colour[line, chunk] = int(address.coords["matrix"][lane, 0])
    longest = max(len(entry) for row in text for entry in row)
    width = max(40.0, min(7.0 * longest + 8, 120.0))
    by_matrix = "; colour: matrix" if colour.max() > 0 else ""
    title = f"1 cell = 16 B: the lane{' / turn' if turns > 1 else ''} that addresses it{by_matrix}"
    names = tuple(f"{128 * int(line):#x}" for line in touched)
    panel = FigurePanel(
        "lanes",
        title,
        rows=len(touched),
        cols=8,
        x=LEFT + 24,
        cell_width=width,
        cell_height=17.0,
        category=colour,
        texts=text,
        row_names=names,
    )
    figure = PanelFigure(max(LEFT + 32 + panel.width, 7.8 * len(title) + LEFT + 32), TOP + panel.height + 8, (panel,))
    return render_svg(figure, title=title, palette=None, labels_up_to=3000, pointed=True)
