"""The lanes that the page's panel lists, and the grid of lanes and registers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lanescope.app.instruction import lanes, state, wording
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.supplies import SupplyMatrix, build_supplies
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
from lanescope.render.figure import PanelFigure
from lanescope.render.view import ADDRESS

MOST_BESIDE = 16  # columns that leave room for labels in three pictures side by side


@fact
class LanesGrid:
    """The grid of lanes and registers; the script draws it. `beside`: beside the matrices instead of below them."""

    title: str
    about: str
    beside: bool


def build_lanes_grid(
    instruction: Instruction, figure: PanelFigure, supplies: Mapping[str, SupplyMatrix]
) -> LanesGrid | None:
    """Build the caption of the grid; None for operands that are not in registers."""
    scope = instruction.family.scope
    if scope.place is not OperandPlace.REGISTERS:
        return None
    halves = any(p.grid and p.grid.operand.container_bits == 16 for p in figure.panels)
    about = "row, column of the element" + " · left half = bits 15:0" * halves
    grids = [panel.grid for panel in figure.panels if panel.grid and panel.grid.operand.name != ADDRESS]
    values = sum(len(np.unique(grid.value)) for grid in grids)
    beside = not supplies and values <= MOST_BESIDE and all(grid.cols <= MOST_BESIDE for grid in grids)
    return LanesGrid(title=f"{WARP.threads} lanes × registers", about=about, beside=beside)


@fact
class ShownLane:
    """One lane in the panel: its name, its registers of every operand, and the pinned element that it is shown for."""

    holder: tuple[str, str]
    pinned: bool
    rows: tuple[lanes.LaneRegisters, ...]
    element: lanes.ElementText | None


def build_shown_lanes(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> list[ShownLane]:
    """Build the lanes of the panel: that of each pin, otherwise the first lane of the figure."""
    pins, supplies = page_state.list_pins(), build_supplies(instruction, figure, page_state)
    shown: list[tuple[int, tuple[str, int, int] | None]] = []
    for pin in pins:
        element, _ = state.split_pin(pin)
        supply = supplies.get(element[0]) if element else None
        lane = int(supply.thread[element[1:]]) if supply and element else lanes.find_pinned_lane(figure, pin)
        shown.append((lane, element))
    shown = shown or [(lanes.find_selected_lane(instruction, figure, page_state), None)]
    grids = lanes.build_panel_grids(instruction, figure)
    result = []
    for lane, element in shown:
        rows = [lanes.build_lane_registers(grid, name, lane) for name, grid in grids.items()]
        rows += [lanes.build_supplied_register(value, lane) for value in supplies.values()]
        supply = supplies.get(element[0]) if element else None
        result.append(
            ShownLane(
                holder=wording.format_holder(instruction, lane),
                pinned=bool(pins),
                rows=tuple(filter(None, rows)),
                element=lanes.describe_supply(supply, element)
                if supply and element
                else lanes.describe_element(figure, element),
            )
        )
    return result
