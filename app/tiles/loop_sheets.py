"""Texts of the cells of a main loop's pictures, for pointing, pins and the find field."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lanescope.app.kit.maps.bench import HolderMap
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, SheetPage, SheetWords, make_element_finder
from lanescope.app.tiles.tiled_copy_figure import DrawnCopy

EXAMPLE = "A[5][9], B[3][4]"
WORDS = SheetWords(
    nothing="How does an element reach its register?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="The same thread holds both.",
    apart="Different threads hold them.",
)


def make_sheet_page(drawn: Mapping[str, DrawnCopy]) -> SheetPage | None:
    """Return a sheet for each operand, shared by the pictures of its stages; None if none is drawn.

    drawn: by operand and stage, as in `a.store`.
    """
    sheets = tuple(sheet for name in "ab" if (sheet := _make_sheet(name, drawn)))
    return SheetPage(sheets, WORDS, EXAMPLE, make_element_finder(sheets, EXAMPLE)) if sheets else None


def get_selector(stage: str) -> str:
    """Return the selector of a stage's picture."""
    return f'[data-stage="{stage}"] > svg'


def _make_sheet(name: str, drawn: Mapping[str, DrawnCopy]) -> PinSheet | None:
    stages = {stage: copy for stage in ("load", "store") if (copy := drawn.get(f"{name}.{stage}"))}
    layers: list[SheetLayer] = []
    grids: list[SheetGrid] = []
    for stage, copy in stages.items():
        maps = {holder_map.name: holder_map for holder_map in copy.maps}
        if "destination" not in maps:  # TMA copies boxes: no thread moves an element
            continue
        layers.append(_make_layer(name, stage, maps["destination"], first=not layers))
        grids += [
            SheetGrid(get_selector(f"{name}.{stage}"), panel.x, panel.y, panel.cell_width, panel.cell_height)
            for panel in copy.panels
        ]
    if not layers:
        return None
    rows, cols = next(iter(layers[0].numbers.values())).shape
    return PinSheet(name, f"The tile of {name.upper()}", rows, cols, tuple(layers), tuple(grids), group="thread")


def _make_layer(name: str, stage: str, holder_map: HolderMap, first: bool) -> SheetLayer:
    """Return which thread stores an element to shared memory, or loads it."""
    holders = holder_map.find_first_holders()
    numbers = {
        "thread": holders.thread,
        "warp": holders.thread // 32,
        "lane": holders.thread % 32,
        "value": holders.value,
    }
    access = np.asarray(holder_map.group, dtype=np.int64)[holders.value]
    numbers = {key: np.where(holders.thread < 0, -1, array) for key, array in {**numbers, "access": access}.items()}
    who, what = ("{element} ", "`thread {thread}`") if first else ("", "Thread {thread}")
    if stage == "store":
        line = f"{who}is copied to shared memory by {what}" if first else f"{what} copies it to shared memory"
        line += ", access `#{access}`"
    else:
        line = f"{who}reaches {what} (warp {{warp}}, lane {{lane}}), value `{{value}}`"
        if holders.copies > 1:
            numbers["count"] = holders.counts
            line += "; {count} threads hold it"
    element = f"`{name.upper()}[{{row}}][{{col}}]` ({'m' if name == 'a' else 'n'}, k)"
    return SheetLayer(line.replace("{element}", element), numbers)
