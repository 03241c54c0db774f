"""The maps of a bench as a picture for documents: SVG side by side, and the text of their cells. No framework."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.kit.maps import paper, stage
from lanescope.app.kit.maps.bench import Bench
from lanescope.render.palette import Palette
from lanescope.render.view import GAP, LEFT, TOP


def picture(bench: Bench, look: Mapping[str, str], theme: Palette | None, title: str = "", legend: bool = False) -> str:
    """The SVG of the maps of a bench side by side; theme None takes the page's colours."""
    spans = [stage.spans_of(bench, one, look["view"]) for one in bench.maps]
    total = sum(len(rows) * len(cols) for rows, cols in spans)
    labelled = look["label"] != "none" and total <= paper.MOST_LABELS
    cell = paper.cell(labelled, sum(len(cols) for _, cols in spans))
    x, y, panels = LEFT, TOP + (paper.ABOVE if title else 0.0), []
    for one, span in zip(bench.maps, spans, strict=True):
        panels.append(stage.moved(stage.panel(bench, one, look, span, labelled), (x, y), cell, span))
        x += max(panels[-1].width, 7.6 * len(one.title)) + GAP + LEFT
    told = stage.legend(bench, look) if legend else []
    said = f"{bench.says}: {', '.join(f'{one.title} {one.about}' for one in bench.maps)}"
    return paper.drawing(tuple(panels), theme, title=title, said=said, legend=told, labelled=labelled)


def cells(bench: Bench, look: Mapping[str, str]) -> list[list[str]]:
    """The text of every cell of each map in its window, a line of CSV a row."""
    out = []
    for one in bench.maps:
        rows, cols = stage.spans_of(bench, one, look["view"])
        paper.fits_text(f"The {one.name}", rows, cols, "Give a window, e.g. view=r:0-32,c:0-16.")
        body = stage.panel(bench, one, look, (rows, cols), True).texts or []
        out.append(
            [",".join(f'"{body[r][c]}"' if "," in body[r][c] else body[r][c] for c in cols) + "\n" for r in rows]
        )
    return out


def texts(form: str, bench: Bench, look: Mapping[str, str]) -> list[str]:
    """Each map of a bench as a matrix of its labels, in Markdown or plain text."""
    out = []
    for one in bench.maps:
        rows, cols = stage.spans_of(bench, one, look["view"])
        paper.fits_text(f"The {one.name}", rows, cols, "Give a window, e.g. view=r:0-32,c:0-16.")
        body = stage.panel(bench, one, look, (rows, cols), True).texts or []
        out.append(paper.matrix_text(form, f"{one.title} {one.rows}×{one.cols}", body, rows, cols))
    return out
