"""The picture of an access: how many words each bank serves in each phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lanescope.app.kit.answer import format_runs
from lanescope.render.figure import TOP, FigurePanel, PanelFigure
from lanescope.render.palette import IDLE, RIGHT, STATUSES, WRONG, list_fill_variables
from lanescope.render.statuses import render_status_legend
from lanescope.render.svg import render_svg
from lanescope.shared import banks
from lanescope.shared.bank_schedule import Wavefront

_LEGEND = {RIGHT: "served without a conflict", WRONG: "bank conflict", IDLE: "not accessed"}


def draw_banks(costs: list[banks.Cost]) -> str:
    """Draw a row per phase and a cell per bank with its number of words; more than the ideal is a conflict."""
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
        cell_width=24.0,
        cell_height=17.0,
        texts=text,
        status=status,
    )
    figure = PanelFigure(34 + 32 * 24 + 8, TOP + panel.height + 8, (panel,))
    drawing = render_svg(figure, title=title, palette=None, labels_up_to=3000, pointed=True)
    legend = {STATUSES[number].name: text for number, text in _LEGEND.items()}
    return drawing + render_status_legend(status, legend)


def build_chart(access: banks.BankAccess, wavefronts: Sequence[Wavefront]) -> dict[str, Any]:
    """Return banks over time for static/kit/chart.js: the words of each wavefront, [bank, address, lanes]."""
    return {
        "title": f"banks_{access.name}",
        "wavefronts": [
            {
                "phase": wavefront.phase,
                "words": [[word.bank, f"{word.address:#x}", word.lanes] for word in wavefront.words],
            }
            for wavefront in wavefronts
        ],
        "fills": list_fill_variables(len(access.phases)),
    }


def list_turns(wavefronts: Sequence[Wavefront]) -> list[tuple[int, int, str, str]]:
    """Return banks over time as a table: (wavefront, phase, busy banks, lanes served)."""
    return [
        (
            number,
            wavefront.phase,
            format_runs(word.bank for word in wavefront.words),
            format_runs({lane for word in wavefront.words for lane in word.lanes}),
        )
        for number, wavefront in enumerate(wavefronts)
    ]
