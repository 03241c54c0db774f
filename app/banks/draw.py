"""The picture of an access: how many words each bank serves in each phase. No framework."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.render.palette import IDLE, RIGHT, STATUSES, WRONG, list_fill_variables
from lanescope.render.svg import render_status_legend, render_svg
from lanescope.render.view import TOP, FigurePanel, PanelFigure
from lanescope.shared import banks

_TOLD = {RIGHT: "served without a conflict", WRONG: "bank conflict", IDLE: "not accessed"}


def draw_banks(costs: list[banks.Cost]) -> str:
    """One row per phase, one cell per bank: the words that the bank serves; more than the ideal is a conflict."""
    phases = [phase for cost in costs for phase in cost.phases if phase.lanes]
    words = np.array([phase.words for phase in phases])
    most = np.array([max(phase.ideal, 1) for phase in phases])[:, None]
    status = np.where(words > most, WRONG, np.where(words > 0, RIGHT, IDLE)).astype(np.int32)
    text = [[str(n) if n else "" for n in row] for row in words.tolist()]
    title = "Words served by each of the 32 banks, one row per phase"
    panel = FigurePanel(
        "banks",
        title,
        rows=len(phases),
        cols=32,
        x=34.0,
        y=TOP,
        cell_width=24.0,
        cell_height=17.0,
        grid=None,
        texts=text,
        status=status,
    )
    figure = PanelFigure(34 + 32 * 24 + 8, TOP + panel.height + 8, (panel,))
    drawing = render_svg(figure, title=title, palette=None, labels_up_to=3000, pointed=True)
    return drawing + render_status_legend(status, None, {STATUSES[number].name: told for number, told in _TOLD.items()})


def build_chart(cost: banks.Cost) -> dict[str, Any]:
    """The words of each bank as static/kit/chart.js draws them: bars, one series per phase."""
    phases = [(n, phase) for n, phase in enumerate(cost.phases) if phase.lanes]
    return {
        "title": f"banks_{cost.access.name}",
        "across": "Bank",
        "up": "words",
        "names": list(range(32)),
        "series": [{"name": f"phase {n}", "values": list(phase.words)} for n, phase in phases],
        "fills": list_fill_variables(len(phases)),
    }
