"""Texts about the whole picture: the colours of its cells, and the terms of a pinned element of D. The script prints
the same (static/instruction/legend.js, trace.js); browser tests compare them.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.instruction import wording
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.supplies import SupplyMatrix
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import Instruction
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.palette import FEW, list_fill_variables
from lanescope.render.view import ADDRESS, CellCategory


@fact
class LegendEntry:
    """A colouring of cells: its description, its number of colours, and whether the wheel of four suffices."""

    text: str
    fills: int
    few: bool


def build_legend(
    instruction: Instruction, figure: PanelFigure, page_state: PageState, supplies: Mapping[str, SupplyMatrix]
) -> list[LegendEntry]:
    """Build the colourings of the matrices, each name once, with the number of colours of the matrix with most.

    If matrices differ, each entry names its matrices.
    """
    largest: dict[str, CellCategory] = {}
    subjects: dict[str, list[str]] = {}
    shown = [(format_subject(panel), panel.grid.categories) for panel in figure.panels if panel.grid]
    for subject, categories in (*shown, *((value.title, value.categories) for value in supplies.values())):
        name = page_state.colour if page_state.colour in categories else next(iter(categories))
        subjects.setdefault(name, []).append(subject)
        if name not in largest or categories[name].count > largest[name].count:
            largest[name] = categories[name]
    names = wording.describe_names(instruction)
    return [
        _build_entry(names[name], category.count, subjects[name] if len(largest) > 1 else [])
        for name, category in largest.items()
    ]


def format_subject(panel: FigurePanel) -> str:
    """Return the name of a matrix in the legend."""
    if panel.grid and panel.grid.operand.name == ADDRESS:
        return "addresses"
    return panel.title if len(panel.name) > 1 else panel.name.upper()


def _build_entry(text: str, count: int, subjects: list[str]) -> LegendEntry:
    colours = len(list_fill_variables(count))
    repeat = f" mod {colours} ({count} in {colours} colours)" if count > colours else ""
    of = f" of {', '.join(dict.fromkeys(subjects))}" if subjects else ""
    return LegendEntry(text=f"Colour{of} = {text}{repeat}", fills=min(count, colours), few=colours == FEW)


def format_terms(figure: PanelFigure, page_state: PageState) -> list[str]:
    """Format the sum of a pinned element of D, with the holder of each factor; [] if no element of D is pinned.

    Of a sparse A each stored column multiplies one row of its group of B; the metadata chooses which.
    """
    pin = page_state.pinned()
    if not pin or pin[0] != "d":
        return []
    _, row, col = pin
    panels = {panel.name: panel for panel in figure.panels}
    if not {"a", "b"} <= set(panels):
        return []
    a, b = panels["a"], panels["b"]
    compressed = a.grid.operand.kept_of_group if a.grid else None
    if compressed is None:
        head = f"D[{row}][{col}] = C[{row}][{col}] + Σk A[{row}][k]·B[k][{col}]"
        return [
            head,
            *(f"k={k:<3} A {_format_holder(a, row, k):<10} × B {_format_holder(b, k, col)}" for k in range(a.cols)),
        ]
    kept, group = compressed
    lines = [f"D[{row}][{col}] = C[{row}][{col}] + Σs A[{row}][s]·B[k][{col}], s → k by the metadata"]
    for s in range(a.cols):
        first = s // kept * group
        rows = f"{first}–{first + group - 1}"
        lines.append(f"s={s:<3} A {_format_holder(a, row, s):<10} × B[{rows}][{col}]")
    return lines


def _format_holder(panel: FigurePanel, row: int, col: int) -> str:
    if panel.grid is None:
        return "shared memory"
    return (
        f"{panel.grid.operand.scope.letter}{panel.grid.thread[row, col, 0]} {panel.name}{panel.grid.value[row, col, 0]}"
    )
