"""A, B and C of a whole tile as pictures: cells coloured by a digit of their thread or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps import stage
from lanescope.app.kit.maps.bench import CellHolders, HolderMap, MapBench
from lanescope.app.tiles.state import ALL, DIMS, LABEL_WORDS, LABELS, PATH, BenchState
from lanescope.render.figure import FigurePanel
from lanescope.render.matrix import MOST_LABELS, render_matrix
from lanescope.render.sheet import find_first_holders
from lanescope.render.view import OWNER
from lanescope.render.window import Range
from lanescope.tiles import shades
from lanescope.tiles.mma import SIDES, TiledMMA, TileOperand

Longs = NDArray[np.int64]


def make_bench(tiled_mma: TiledMMA) -> MapBench:
    """Return A, B and C of a TiledMMA as maps of threads; nobody holds an operand in shared memory."""
    maps = tuple(_make_map(tiled_mma, tiled_mma.operand(name)) for name in SIDES)
    colours = shades.list_shades(tiled_mma)
    return MapBench(PATH, "the TiledMMA", maps, colours, LABEL_WORDS, LABELS, "R", owner=OWNER, dims=DIMS)


def _make_map(tiled_mma: TiledMMA, op: TileOperand) -> HolderMap:
    sizes = dict(zip("mnk", zip(tiled_mma.shape, tiled_mma.tile, strict=True), strict=True))
    down, across = (list(range(step, size, step)) for step, size in (sizes[dim] for dim in DIMS[op.name]))
    return HolderMap(
        op.name,
        op.name.upper(),
        "",
        op.row_count,
        op.col_count,
        _list_cells(op),
        op.element_bits,
        shades.list_operand_shades(tiled_mma, op),
        edges=(down, across),
        group=() if op.shared else shades.map_registers(tiled_mma, op),
        shared=op.shared,
    )


def _list_cells(op: TileOperand) -> Longs:
    """Return the cell of each value of each thread, -1 for a thread without any."""
    cells = np.full((int(op.thread_ids[-1]) + 1, op.values), -1, dtype=np.int64)
    cells[op.thread_ids] = op.rows.astype(np.int64) * op.col_count + op.cols
    return cells


def list_first_holders(op: TileOperand) -> CellHolders:
    """Return the first holder of every element of an operand."""
    return CellHolders(*find_first_holders(_list_cells(op), op.row_count, op.col_count))


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
