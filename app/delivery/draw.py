"""Pictures of a delivery: the bits of places after each step, and the element at every place of the registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lanescope.app.delivery.facts import DeliveryFacts, PlaceBit
from lanescope.delivery.solve import Delivery
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.svg import render_svg

MOVED = "▸"  # mark of a bit that a step moved
MOST_COLUMNS = 32
COLOURS = 8
KINDS = ("nibble", "byte", "half", "lane", "register")  # of places, in the order of columns


def draw_bits(answer: DeliveryFacts) -> str:
    """Draw the address bits of memory, then a row per step: the coordinate bit at each place bit, moved ones marked."""
    rows = [(_shorten_step(step.says), step.after) for step in answer.steps] or [("operand", answer.goal)]
    if answer.start:
        rows.insert(0, ("accumulator", answer.start))
    bits = sorted({bit.holds for _, after in rows for bit in after} | set(answer.memory))
    x = LEFT + 7.2 * max(len(name) for name in ("memory", *(name for name, _ in rows)))
    panels, y = [], TOP
    if answer.memory:
        addresses = tuple(f"bit {n}" for n in range(len(answer.memory)))
        memory = _make_panel("Address bits, in elements", bits, [answer.memory], x, y)
        panels.append(replace(memory, name="memory", row_names=("memory",), col_names=addresses))
        y += memory.height + 44
    names, texts = _mark_steps([after for _, after in rows])
    steps = _make_panel("Place bits of a warp's registers, and the element's bit in each", bits, texts, x, y)
    places = tuple(name.replace("register", "reg") for name in names)
    panels.append(replace(steps, row_names=tuple(name for name, _ in rows), col_names=places))
    return _render(panels)


def _mark_steps(maps: Sequence[Sequence[PlaceBit]]) -> tuple[list[str], list[list[str]]]:
    """Return the names of all places, and their contents in each map, marked where they change."""
    every = dict.fromkeys(bit.place for places in maps for bit in places)
    names = sorted(every, key=lambda name: (KINDS.index(name.split()[0]), int(name.partition(" ")[2] or 0)))
    texts, before = [], dict[str, str]()
    for places in maps:
        contents = {bit.place: bit.holds for bit in places}
        texts.append([_mark(contents.get(name, ""), before.get(name, contents.get(name, ""))) for name in names])
        before = contents
    return names, texts


def _shorten_step(says: str) -> str:
    name = says.partition(":")[0]
    for part in (".sync.aligned", ".shared", ".m8n8", ".b16"):
        name = name.replace(part, "")
    return name


def _make_panel(title: str, bits: list[str], texts: list[list[str]], x: float, y: float) -> FigurePanel:
    numbers = {name: bits.index(name) % COLOURS for name in bits}
    colours = [[numbers.get(text.removeprefix(MOVED), -1) if text != "·" else -1 for text in row] for row in texts]
    return FigurePanel(
        "bits",
        title,
        rows=len(texts),
        cols=len(texts[0]),
        x=x,
        y=y,
        cell_width=56.0,
        cell_height=26.0,
        category=np.array(colours, np.int32),
        texts=texts,
    )


def _mark(now: str, before: str) -> str:
    return f"{MOVED}{now}" if now and now != before else now


def draw_registers(delivery: Delivery) -> str:
    """Draw the lanes by the elements of their registers, coloured by the second coordinate."""
    elements = delivery.goal.list_elements().reshape(32, -1)[:, :MOST_COLUMNS]
    first, second = delivery.goal.space.split(elements)
    per = 1 << delivery.goal.inner
    columns = elements.shape[1]
    a, b = delivery.goal.space.axes
    panel = FigurePanel(
        "registers",
        f"Lanes down, registers across: ({a}, {b}) of each element",
        rows=32,
        cols=columns,
        x=LEFT + 24,
        cell_width=44.0,
        cell_height=17.0,
        category=np.asarray((second if delivery.goal.space.bits[1] else first) % COLOURS, np.int32),
        texts=_name_elements(first.tolist(), second.tolist()),
        row_names=tuple(f"T{lane}" for lane in range(32)),
        col_names=tuple(f"r{n // per}" if n % per == 0 else "" for n in range(columns)),
    )
    return _render([panel])


def _name_elements(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> list[list[str]]:
    return [[f"{a},{b}" for a, b in zip(*row, strict=True)] for row in zip(first, second, strict=True)]


def _render(panels: Sequence[FigurePanel]) -> str:
    width = max(max(panel.x + panel.width + 8, panel.x + 7.4 * len(panel.title)) for panel in panels)
    figure = PanelFigure(width, panels[-1].y + panels[-1].height + 8, tuple(panels))
    return render_svg(figure, title=panels[-1].title, palette=None, labels_up_to=3000, pointed=True)
