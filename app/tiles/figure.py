"""A TiledMMA as a picture for documents, in every format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import drawing, stage
from lanescope.app.kit.maps.bench import Longs
from lanescope.app.kit.maps.figure import format_maps
from lanescope.app.kit.rings import draw_rings
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, point_at_sheets
from lanescope.app.tiles import bench, draw, facts, forms, questions, state, umma_figure, umma_sheets
from lanescope.app.tiles.state import BenchState
from lanescope.render.figure import GAP, LEFT, TOP, FigurePanel
from lanescope.render.palette import Palette
from lanescope.tiles import shades
from lanescope.tiles.mma import TiledMMA, TileOperand
from lanescope.tiles.tiled_umma import is_umma
from lanescope.tiles.umma import TiledUmma

OPTIONS = {
    "operand": "a, b or c alone",
    "colour": "warp, warpgroup, group, lane, value, register, k, m or n",
    "label": "thread:value, register, row,col or none",
    "warps": "warps shown: 0-3,8",
    "lanes": "lanes shown: 0-7",
    "k": "one K iteration: 0",
    "m": "one repeat in M: 0",
    "n": "one repeat in N: 0",
    "view": "a window: m:0-32,n:0-32,k:0-16",
    "pin": "a cell or a thread with a ring: c:3,5",
    "pin2": "a second one",
    **drawing.STYLE,
}


def render_tiled_mma(form: str, query: Mapping[str, str]) -> Picture:
    """Return the picture, table or text of a TiledMMA for a query. LayoutError names the first illegal option."""
    fields = forms.parse_fields(query, forms.MMA)
    if is_umma(fields["atom"]):
        return umma_figure.render_umma(form, query)
    diagrams.check_picture_options(form, query, OPTIONS, tuple(forms.MMA))
    tiled_mma = questions.parse_mma(forms.build_mma_body(fields))
    chosen = state.require_state(tiled_mma, bench.make_base_state(fields), query)
    if form == "json":
        return encode_json(facts.build_mma(tiled_mma))
    ops = [tiled_mma.operand(query["operand"])] if query.get("operand") else [tiled_mma.a, tiled_mma.b, tiled_mma.c]
    if form == "csv":
        return _format_csv(tiled_mma, ops, chosen)
    if form in ("txt", "md"):
        maps = state.make_bench(tiled_mma)
        parts = format_maps(form, replace(maps, maps=tuple(maps.get_map(op.name) for op in ops)), asdict(chosen))
        return "\n".join(parts)
    drawing = draw_tiled_mma(
        tiled_mma, ops, chosen, diagrams.get_palette(query), query.get("title", ""), query.get("legend") == "1"
    )
    return diagrams.render_svg(form, drawing, query)


def draw_tiled_mma(
    tiled_mma: TiledMMA,
    ops: list[TileOperand],
    chosen: BenchState,
    theme: Palette | None,
    title: str = "",
    legend: bool = False,
) -> str:
    """Return the SVG of A, B and C as in a product, or of one of them; theme None uses the page's colours."""
    panels, labelled = _place_panels(tiled_mma, ops, chosen, title)
    description = (
        f"{tiled_mma.atom.instruction.ptx}, atoms {tiled_mma.atom_layout}, tile {'×'.join(map(str, tiled_mma.tile))}"
    )
    return drawing.draw_panels(
        panels,
        theme,
        title=title,
        description=description,
        legend=bench.build_legend(tiled_mma, chosen) if legend else [],
        labelled=labelled,
        extra=draw_rings(panels, stage.list_pinned_cells(state.make_bench(tiled_mma), asdict(chosen)), theme),
    )


def _place_panels(
    tiled_mma: TiledMMA, ops: list[TileOperand], chosen: BenchState, title: str = ""
) -> tuple[tuple[FigurePanel, ...], bool]:
    """Place the operands. Return the panels and whether their cells are labelled."""
    maps = state.make_bench(tiled_mma)
    spans = {op.name: stage.find_view_spans(maps, maps.get_map(op.name), chosen.view) for op in ops}
    total = sum(len(rows) * len(cols) for rows, cols in spans.values())
    labelled = chosen.label != "none" and total <= drawing.MOST_LABELS
    width, height = drawing.compute_cell_size(
        labelled, sum(len(cols) for name, (_, cols) in spans.items() if name != "b" or len(spans) == 1)
    )
    above = drawing.ABOVE if title else 0.0
    right = LEFT + (len(spans["a"][1]) * width + GAP + LEFT if len(spans) > 1 else 0)
    below = above + TOP + (len(spans["b"][0]) * height + GAP + TOP if len(spans) > 1 else 0)
    place = {"a": (LEFT, below), "b": (right, above + TOP), "c": (right, below)}
    panels = tuple(
        _build_panel(
            tiled_mma,
            op,
            chosen=chosen,
            spans=spans[op.name],
            place=place[op.name] if len(ops) > 1 else (LEFT, above + TOP),
            cell=(width, height),
            labelled=labelled,
        )
        for op in ops
    )
    return panels, labelled


def _make_sheet(op: TileOperand, panel: FigurePanel) -> PinSheet:
    """Return the texts of a panel's cells: the first holder of each element, and the number of holders."""
    holders = draw.list_first_holders(op)
    down, across = panel.window
    rows, cols = np.meshgrid(np.arange(down.start, down.stop), np.arange(across.start, across.stop), indexing="ij")
    element = f"`{op.name.upper()}[{{at_row}}][{{at_col}}]`"
    numbers: dict[str, Longs] = {"at_row": rows, "at_col": cols}
    if op.shared:
        line = f"{element} is in shared memory"
    else:
        numbers |= {"thread": holders.thread[down, across], "value": holders.value[down, across]}
        line = f"{element} is in thread {{thread}}, value {{value}}"
        line += f", the first of {op.copies} holders" if op.copies > 1 else ""
    grid = SheetGrid("", panel.x, panel.y, panel.cell_width, panel.cell_height)
    return PinSheet(op.name, panel.title, panel.rows, panel.cols, (SheetLayer(line, numbers),), (grid,), "`Nothing`")


def draw_inline(query: Mapping[str, str]) -> str:
    """Return the picture of a page's address in the page's colours, for the guide. LayoutError if it is not legal."""
    fields = forms.parse_fields(query, forms.MMA)
    tiled_mma = questions.parse_mma(forms.build_mma_body(forms.add_umma_fields(query)))
    if isinstance(tiled_mma, TiledUmma):
        return point_at_sheets(umma_figure.draw_umma(tiled_mma, None), umma_sheets.list_figure_sheets(tiled_mma))
    chosen = state.require_state(tiled_mma, bench.make_base_state(fields), query)
    ops = [tiled_mma.a, tiled_mma.b, tiled_mma.c]
    svg = draw_tiled_mma(tiled_mma, ops, chosen, None, legend=query.get("legend") == "1")
    panels, _ = _place_panels(tiled_mma, ops, chosen)
    return point_at_sheets(svg, [_make_sheet(op, panel) for op, panel in zip(ops, panels, strict=True)], "thread")


def _build_panel(
    tiled_mma: TiledMMA,
    op: TileOperand,
    *,
    chosen: BenchState,
    spans: tuple[range, range],
    place: tuple[float, float],
    cell: tuple[float, float],
    labelled: bool,
) -> FigurePanel:
    """Return an operand's window; elements of other steps than the selected one have no colour."""
    drawn = draw.build_panel(tiled_mma, op, chosen, spans, labelled)
    away = draw.mask_other_steps(tiled_mma, op, chosen)
    if drawn.category is not None and away is not None:
        drawn = replace(drawn, category=np.where(away, -1, drawn.category).astype(np.int32))
    return stage.place_panel(drawn, place, cell, spans)


def _format_csv(tiled_mma: TiledMMA, ops: list[TileOperand], chosen: BenchState) -> str:
    """Return a line for every value of every visible thread."""
    shown = stage.select_holders(state.make_bench(tiled_mma), asdict(chosen))
    lines = ["operand,thread,warp,lane,value,register,row,col"]
    for op in ops:
        number = [""] * op.values if op.shared else [str(n) for n in shades.map_registers(tiled_mma, op)]
        rows, cols = op.rows.tolist(), op.cols.tolist()
        for at, thread in enumerate(op.thread_ids.tolist()):
            if shown is not None and not shown[thread]:
                continue
            head = f"{op.name},{thread},{thread // 32},{thread % 32}"
            lines += [
                f"{head},{value},{number[value]},{row},{col}"
                for value, (row, col) in enumerate(zip(rows[at], cols[at], strict=True))
            ]
    return "\n".join(lines) + "\n"
