"""Pictures of a delivery: the bits of places after each step, and the element at every place of the registers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lanescope.app.delivery.facts import DeliveryFacts
from lanescope.delivery.solve import Delivery
from lanescope.render.svg import render_svg
from lanescope.render.view import LEFT, TOP, FigurePanel, PanelFigure

MOVED = "▸"  # before what a step brought to a place
MOST_COLUMNS = 32
COLOURS = 8


def draw_bits(told: DeliveryFacts) -> str:
    """Draw a row a step: the coordinate bit that each place bit stands for, moved ones marked."""
    rows = [(step.says.partition(":")[0], step.after) for step in told.steps] or [("operand", told.goal)]
    names = list(dict.fromkeys(bit.place for _, after in rows for bit in after))
    names.sort(key=lambda name: (("nibble", "byte", "half", "lane", "register").index(name.split()[0]), name))
    bits = sorted({bit.holds for _, after in rows for bit in after})
    texts, colours, before = [], [], dict[str, str]()
    for _, after in rows:
        held = {bit.place: bit.holds for bit in after}
        texts.append([_mark(held.get(name, ""), before.get(name, held.get(name, ""))) for name in names])
        colours.append([bits.index(held[name]) % COLOURS if name in held else -1 for name in names])
        before = held
    panel = FigurePanel(
        "bits",
        "The bits of a register's place (top), and the coordinate bit of the element that each stands for",
        rows=len(rows),
        cols=len(names),
        x=LEFT + 7.2 * max(len(name) for name, _ in rows),
        y=TOP,
        cell_width=72.0,
        cell_height=26.0,
        grid=None,
        category=np.array(colours, np.int32),
        texts=texts,
        row_names=tuple(name for name, _ in rows),
        col_names=tuple(names),
    )
    return _render(panel)


def _mark(now: str, before: str) -> str:
    return f"{MOVED}{now}" if now and now != before else now


def draw_registers(found: Delivery) -> str:
    """Draw the lanes by the elements of their registers, coloured by the second coordinate."""
    elements = found.goal.list_elements().reshape(32, -1)[:, :MOST_COLUMNS]
    first, second = found.goal.space.split(elements)
    per = 1 << found.goal.inner
    columns = elements.shape[1]
    a, b = found.goal.space.axes
    panel = FigurePanel(
        "registers",
        f"Lanes down, registers across: ({a}, {b}) of each element",
        rows=32,
        cols=columns,
        x=LEFT + 24,
        y=TOP,
        cell_width=44.0,
        cell_height=17.0,
        grid=None,
        category=np.asarray((second if found.goal.space.bits[1] else first) % COLOURS, np.int32),
        texts=_name_elements(first.tolist(), second.tolist()),
        row_names=tuple(f"T{lane}" for lane in range(32)),
        col_names=tuple(f"r{n // per}" if n % per == 0 else "" for n in range(columns)),
    )
    return _render(panel)


def _name_elements(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> list[list[str]]:
    return [[f"{a},{b}" for a, b in zip(*row, strict=True)] for row in zip(first, second, strict=True)]


def _render(panel: FigurePanel) -> str:
    width = max(panel.x + panel.width + 8, 7.4 * len(panel.title) + LEFT)
    figure = PanelFigure(width, TOP + panel.height + 8, (panel,))
    return render_svg(figure, title=panel.title, palette=None, labels_up_to=3000, pointed=True)
