"""A, B and C of a whole tile as pictures: cells coloured by a digit of their thread or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps.bench import CellHolders, HolderMap, MapBench, find_first_holders
from lanescope.app.tiles.state import ALL, DIMS, LABEL_WORDS, LABELS, PATH, BenchState
from lanescope.render.figure import FigurePanel
from lanescope.render.matrix import MOST_LABELS, render_matrix
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
    return find_first_holders(_list_cells(op), op.row_count, op.col_count)


def build_panel(
    tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState, shown: frozenset[int] | None
) -> tuple[FigurePanel, CellHolders]:
    """Return an operand as a panel in the selected colouring; elements of hidden threads have no colour."""
    holders = list_first_holders(op)
    names = shades.list_operand_shades(tiled_mma, op)
    shade = names.get(chosen.colour, names["warp"])
    category = shade.number_cells(holders.thread, holders.value)
    if shown is not None:
        category = np.where(_mask_held(op, shown), category, -1)
    title = f"{op.name.upper()} {'×'.join(DIMS[op.name])} {op.row_count}×{op.col_count}"
    made_ = FigurePanel(
        op.name,
        title,
        rows=op.row_count,
        cols=op.col_count,
        x=0,
        y=0,
        cell_width=1,
        cell_height=1,
        category=category.astype(np.int32),
        of=shade.count,
    )
    return made_, holders


def _mask_held(op: TileOperand, shown: frozenset[int]) -> NDArray[np.bool_]:
    """Return which elements these threads hold; any thread of a warpgroup holds its operand in shared memory."""
    ids = op.thread_ids.tolist()
    ends = [*ids[1:], ids[-1] + (shades.WARPGROUP if op.shared else 1)]
    teams = [any(t in shown for t in range(a, b)) if op.shared else a in shown for a, b in zip(ids, ends, strict=True)]
    rows = np.array(teams)
    out = np.zeros((op.row_count, op.col_count), dtype=np.bool_)
    out[op.rows[rows], op.cols[rows]] = True
    return out


def mask_other_steps(
    tiled_mma: TiledMMA, op: TileOperand, holders: CellHolders, chosen: BenchState
) -> NDArray[np.bool_] | None:
    """Return which elements belong to another step of K, M or N than the selected one; None if none is selected."""
    names = shades.list_operand_shades(tiled_mma, op)
    picked = {dim: getattr(chosen, dim) for dim in "kmn" if getattr(chosen, dim) != ALL and names[dim].step}
    if not picked:
        return None
    masks = [names[dim].number_cells(holders.thread, holders.value) != step for dim, step in picked.items()]
    return np.asarray(np.logical_or.reduce(masks))


def format_cells(
    tiled_mma: TiledMMA, op: TileOperand, holders: CellHolders, label: str, rows: range, cols: range
) -> list[list[str]]:
    """Return the texts of a window's cells; other rows and columns are empty."""
    out: list[list[str]] = [[] for _ in range(op.row_count)]
    number = shades.map_registers(tiled_mma, op) if label == "register" and not op.shared else ()
    more = "+" * (holders.copies > 1)
    for row in rows:
        line = [""] * op.col_count
        for col in cols if not op.shared else ():
            value = int(holders.value[row, col])
            line[col] = LABELS[label].format(
                thread=holders.thread[row, col],
                more=more,
                values=value,
                row=row,
                col=col,
                registers=number[value] if number else "",
            )
        out[row] = line
    return out


def draw_operand(tiled_mma: TiledMMA, op: TileOperand, chosen: BenchState, shown: Mapping[str, Range]) -> str:
    """Return the operand as an SVG that fills its box, for pages without scripts."""
    drawn, holders = build_panel(tiled_mma, op, chosen, chosen.find_threads(tiled_mma))
    rows, cols = (shown[dim] for dim in DIMS[op.name])
    area = (rows[1] - rows[0]) * (cols[1] - cols[0])
    few = area <= MOST_LABELS and chosen.label != "none"
    spans = [range(int(a), -int(-b // 1)) for a, b in (rows, cols)]
    texts = format_cells(tiled_mma, op, holders, chosen.label, *spans) if few else None
    away = mask_other_steps(tiled_mma, op, holders, chosen)
    drawn = replace(drawn, texts=texts)
    title = f"{drawn.title}, coloured by {shades.WORDS[chosen.colour]}"
    return render_matrix(drawn, rows, cols, colour="", label=chosen.label if few else "none", title=title, faint=away)
