"""Pictures of the maps of a bench for documents: SVG side by side, and the texts of their cells."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from lanescope.app.kit.maps import drawing, stage
from lanescope.app.kit.maps.answer import get_element_template, get_line_template
from lanescope.app.kit.maps.bench import HolderMap, Longs, MapBench
from lanescope.app.kit.rings import draw_rings
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer
from lanescope.render.figure import GAP, LEFT, TOP, FigurePanel
from lanescope.render.palette import Palette


def place_panels(bench: MapBench, look: Mapping[str, str], title: str = "") -> tuple[tuple[FigurePanel, ...], bool]:
    """Place the maps of a bench side by side below a title. Return the panels and whether their cells are labelled."""
    spans = [stage.find_view_spans(bench, holder_map, look["view"]) for holder_map in bench.maps]
    total = sum(len(rows) * len(cols) for rows, cols in spans)
    labelled = look["label"] != "none" and total <= drawing.MOST_LABELS
    cell = drawing.compute_cell_size(labelled, sum(len(cols) for _, cols in spans))
    x, y, panels = LEFT, TOP + (drawing.ABOVE if title else 0.0), []
    for holder_map, span in zip(bench.maps, spans, strict=True):
        panels.append(stage.place_panel(stage.build_panel(bench, holder_map, look, span, labelled), (x, y), cell, span))
        x += max(panels[-1].width, 7.6 * len(holder_map.title)) + GAP + LEFT
    return tuple(panels), labelled


def draw_bench(
    bench: MapBench, look: Mapping[str, str], theme: Palette | None, title: str = "", legend: bool = False
) -> str:
    """Return the SVG of the maps side by side; theme None uses the page's colours."""
    panels, labelled = place_panels(bench, look, title)
    entries = stage.build_legend(bench, look) if legend else []
    description = f"{bench.says}: {', '.join(f'{holder_map.title} {holder_map.about}' for holder_map in bench.maps)}"
    rings = draw_rings(panels, stage.list_pinned_cells(bench, look), theme)
    return drawing.draw_panels(
        panels, theme, title=title, description=description, legend=entries, labelled=labelled, extra=rings
    )


def list_sheets(bench: MapBench, look: Mapping[str, str]) -> list[PinSheet]:
    """Return the texts that the maps show at the pointer."""
    return [
        _make_sheet(bench, holder_map, panel)
        for holder_map, panel in zip(bench.maps, place_panels(bench, look)[0], strict=True)
    ]


def _make_sheet(bench: MapBench, holder_map: HolderMap, panel: FigurePanel) -> PinSheet:
    down, across = panel.window
    holders, group = (
        holder_map.find_first_holders(),
        np.array([*holder_map.group, -1], np.int64),
    )  # -1: no value, no register
    rows, cols = np.meshgrid(np.arange(holder_map.rows), np.arange(holder_map.cols), indexing="ij")
    register = group[holders.value] if holder_map.group else holders.value
    known: dict[str, Longs] = {"thread": holders.thread, "value": holders.value, "register": register}
    known |= {"at_row": rows, "at_col": cols, "index": rows * holder_map.cols + cols, **holder_map.fields}
    element = get_element_template(bench, holder_map).replace("{title}", holder_map.title)
    line = get_line_template(bench, holder_map).replace("{element}", element)
    line = line.replace("{holder}", f"{bench.unit} {{thread}}")
    line = line.replace("{row}", "{at_row}").replace("{col}", "{at_col}")
    used = {"thread", *re.findall(r"{(\w+)}", line)}
    numbers = {name: np.asarray(array[down, across], np.int64) for name, array in known.items() if name in used}
    grid = SheetGrid("", panel.x, panel.y, panel.cell_width, panel.cell_height)
    layer = SheetLayer(line, numbers)
    return PinSheet(
        holder_map.name, holder_map.title, panel.rows, panel.cols, (layer,), (grid,), f"`No {bench.unit}` holds this"
    )


def format_maps(form: str, bench: MapBench, look: Mapping[str, str]) -> list[str]:
    """Return each map's cells in its window: a matrix of labels as txt or md, or their texts as csv."""
    out = []
    for holder_map in bench.maps:
        rows, cols = stage.find_view_spans(bench, holder_map, look["view"])
        window = ",".join(f"{dim}:0-{size}" for dim, size in zip(bench.get_dims(holder_map), (32, 16), strict=True))
        drawing.check_text_size(holder_map.title, rows, cols, f"Give a window, e.g. view={window}.")
        body = stage.build_panel(bench, holder_map, look, (rows, cols), True).texts or []
        out.append(
            drawing.format_matrix(form, f"{holder_map.title} {holder_map.rows}×{holder_map.cols}", body, rows, cols)
        )
    return out
