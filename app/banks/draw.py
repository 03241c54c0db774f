"""The picture of an access: how many words each bank serves in each phase. No framework."""

from __future__ import annotations

import numpy as np

from layouts import banks
from layouts.render.svg import svg
from layouts.view import TOP, Figure, Panel


def banks_svg(costs: list[banks.Cost]) -> str:
    """A line a phase, a cell a bank: how many words the bank serves; more than the ideal is marked."""
    phases = [phase for cost in costs for phase in cost.phases if phase.lanes]
    words = np.array([phase.words for phase in phases])
    most = np.array([max(phase.ideal, 1) for phase in phases])[:, None]
    colour = np.where(words > most, 0, np.where(words > 0, 6, 7)).astype(np.int32)
    text = [[str(n) if n else "" for n in row] for row in words.tolist()]
    title = "words each of the 32 banks serves, one row per phase"
    panel = Panel("banks", title, len(phases), 32, 34.0, TOP, 24.0, 17.0, None, colour, text)
    return svg(Figure(34 + 32 * 24 + 8, TOP + panel.height + 8, (panel,)), title=title, palette=None, labels_up_to=3000)
