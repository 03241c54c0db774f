"""The data attributes from which a script answers the pointer: where a panel's cells are, and the text of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from lanescope.render.figure import FigurePanel

MOST_CELLS = 4096  # larger panels have no tooltips: their texts would outweigh the picture
HOLDER_TEXT = "{title}[{row}][{col}] is in {unit} {holder}, value {name}{value}"
PLAIN = "row {row}, column {col}: {text}"


def describe_cells(panel: FigurePanel) -> str:
    """Return the attribute of a panel's group; "" for a panel without cells or with too many.

    said: a template of a cell's row, column and text. In an operand the text is T13:2, whatever the cells are labelled.
    """
    if not panel.has_cells or panel.rows * panel.cols > MOST_CELLS:
        return ""
    down, across = panel.window
    facts: dict[str, Any] = {
        "x": round(panel.x, 2),
        "y": round(panel.y, 2),
        "w": round(panel.cell_width, 3),
        "h": round(panel.cell_height, 3),
        "rows": panel.rows,
        "cols": panel.cols,
        "row0": panel.row0,
        "col0": panel.col0,
        "title": panel.title,
        "said": PLAIN,
    }
    if panel.grid is not None and not panel.texts:
        op = panel.grid.operand
        facts["texts"] = panel.grid.format_labels("lane:value", down, across)
        if op.name != "address":
            fields = {"title": op.name.upper(), "unit": op.scope.thread, "name": op.name}
            facts["said"] = HOLDER_TEXT.format(**fields, row="{row}", col="{col}", holder="{holder}", value="{value}")
    elif panel.texts:
        facts["texts"] = [row[across] for row in panel.texts[down]]
    else:
        return ""
    for key, names in (("down", panel.row_names), ("across", panel.col_names)):
        if names:
            facts[key] = list(names)
    return _format_attribute(facts)


def describe_grid(
    corner: tuple[float, float],
    cell: tuple[float, float],
    texts: Sequence[Sequence[str]],
    groups: Sequence[Sequence[str]] = (),
) -> str:
    """Return the attribute of a group of cells that is not a panel.

    groups: names of cells that are highlighted together, "" for none.
    """
    facts: dict[str, Any] = {"x": corner[0], "y": corner[1], "w": cell[0], "h": cell[1], "row0": 0, "col0": 0}
    facts |= {"rows": len(texts), "cols": len(texts[0]), "said": "{text}", "texts": texts}
    return _format_attribute(facts | ({"groups": groups} if groups else {}))


def _format_attribute(facts: dict[str, Any]) -> str:
    return f' data-cells="{escape(json.dumps(facts, ensure_ascii=False, separators=(",", ":")))}"'
