"""A, B and C of a whole tile as pictures: cells coloured by a digit of their thread or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps import stage
from lanescope.app.kit.maps.bench import CellHolders
from lanescope.app.tiles.state import ALL, DIMS, BenchState, list_cells, make_bench
from lanescope.render.figure import FigurePanel
from lanescope.render.matrix import MOST_LABELS, render_matrix
from lanescope.render.sheet import find_first_holders
from lanescope.render.window import Range
from lanescope.tiles import shades
from lanescope.tiles.mma import TiledMMA, TileOperand

Longs = NDArray[np.int64]


def list_first_holders(op: TileOperand) -> CellHolders:
    """Return the first holder of every element of an operand."""
    return CellHolders(*find_first_holders(list_cells(op), op.row_count, op.col_count))


def build_panel(
    tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState, spans: tuple[range, range], labelled: bool
) -> FigurePanel:
    """Return an operand as a panel in the selected colouring, with texts in a window."""
    bench = make_bench(tiled_mma)
    panel = stage.build_panel(bench, bench.get_map(op.name), asdict(chosen), spans, labelled)
    return replace(panel, title=f"{panel.title} {'×'.join(DIMS[op.name])} {op.row_count}×{op.col_count}")


def format_cells(tiled_mma: TiledMMA, op: TileOperand, spans: tuple[range, range]) -> list[list[str]]:
    """Return thread and value of the cells of a window."""
    bench = make_bench(tiled_mma)
    return stage.format_cells(bench, bench.get_map(op.name), list_first_holders(op), "thread:value", spans)


def mask_other_steps(tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState) -> NDArray[np.bool_] | None:
    """Return which elements belong to another step of K, M or N than the selected one; None if none is selected."""
    names = shades.list_operand_shades(tiled_mma, op)
    picked = {dim: getattr(chosen, dim) for dim in "kmn" if getattr(chosen, dim) != ALL and names[dim].step}
    if not picked:
        return None
    holders = list_first_holders(op)
    masks = [names[dim].number_cells(holders.thread, holders.value) != step for dim, step in picked.items()]
    return np.asarray(np.logical_or.reduce(masks))


def draw_operand(tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState, shown: Mapping[str, Range]) -> str:
    """Return the operand as an SVG that fills its box, for pages without scripts."""
    rows, cols = (shown[dim] for dim in DIMS[op.name])
    area = (rows[1] - rows[0]) * (cols[1] - cols[0])
    few = area <= MOST_LABELS and chosen.label != "none"
    spans = range(int(rows[0]), -int(-rows[1] // 1)), range(int(cols[0]), -int(-cols[1] // 1))
    drawn = build_panel(tiled_mma, op, chosen, spans, few)
    away = mask_other_steps(tiled_mma, op, chosen)
    title = f"{drawn.title}, coloured by {shades.WORDS[chosen.colour]}"
    return render_matrix(drawn, rows, cols, colour="", label=chosen.label if few else "none", title=title, faint=away)
