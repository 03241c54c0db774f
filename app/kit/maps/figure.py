"""The maps of a bench as a picture for documents: SVG side by side, and the text of their cells. No framework."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.kit.maps import drawing, stage
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.rings import draw_rings
from lanescope.render.palette import Palette
from lanescope.render.view import GAP, LEFT, TOP, FigurePanel


def place_panels(bench: MapBench, look: Mapping[str, str], title: str = "") -> tuple[tuple[FigurePanel, ...], bool]:
    """Place the maps of a bench side by side below a title, and tell whether their cells are labelled."""
    spans = [stage.find_view_spans(bench, one, look["view"]) for one in bench.maps]
    total = sum(len(rows) * len(cols) for rows, cols in spans)
    labelled = look["label"] != "none" and total <= drawing.MOST_LABELS
    cell = drawing.compute_cell_size(labelled, sum(len(cols) for _, cols in spans))
    x, y, panels = LEFT, TOP + (drawing.ABOVE if title else 0.0), []
    for one, span in zip(bench.maps, spans, strict=True):
        panels.append(stage.place_panel(stage.build_panel(bench, one, look, span, labelled), (x, y), cell, span))
        x += max(panels[-1].width, 7.6 * len(one.title)) + GAP + LEFT
    return tuple(panels), labelled


def draw_bench(
    bench: MapBench, look: Mapping[str, str], theme: Palette | None, title: str = "", legend: bool = False
) -> str:
    """The SVG of the maps of a bench side by side; theme None takes the page's colours."""
    panels, labelled = place_panels(bench, look, title)
    told = stage.build_legend(bench, look) if legend else []
    said = f"{bench.says}: {', '.join(f'{one.title} {one.about}' for one in bench.maps)}"
    rings = draw_rings(panels, stage.list_pinned_cells(bench, look), theme)
    return drawing.draw_panels(panels, theme, title=title, said=said, legend=told, labelled=labelled, extra=rings)


def list_cell_texts(bench: MapBench, look: Mapping[str, str]) -> list[list[str]]:
    """The text of every cell of each map in its window, a line of CSV a row."""
    out = []
    for one in bench.maps:
        rows, cols = stage.find_view_spans(bench, one, look["view"])
        drawing.check_text_size(f"The {one.name}", rows, cols, "Give a window, e.g. view=r:0-32,c:0-16.")
        body = stage.build_panel(bench, one, look, (rows, cols), True).texts or []
        out.append(
            [",".join(f'"{body[r][c]}"' if "," in body[r][c] else body[r][c] for c in cols) + "\n" for r in rows]
        )
    return out


def format_maps(form: str, bench: MapBench, look: Mapping[str, str]) -> list[str]:
    """Each map of a bench as a matrix of its labels, in Markdown or plain text."""
    out = []
    for one in bench.maps:
        rows, cols = stage.find_view_spans(bench, one, look["view"])
        drawing.check_text_size(f"The {one.name}", rows, cols, "Give a window, e.g. view=r:0-32,c:0-16.")
        body = stage.build_panel(bench, one, look, (rows, cols), True).texts or []
        out.append(drawing.format_matrix(form, f"{one.title} {one.rows}×{one.cols}", body, rows, cols))
    return out
