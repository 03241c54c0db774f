"""The values of one thread and of every thread on the instruction page: registers with their elements, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from lanescope.app.instruction import state, wording
from lanescope.app.instruction.state import PageState, split_pin
from lanescope.app.instruction.supplies import SupplyMatrix, build_supplies
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import WARP, Instruction, Operand, OperandPlace
from lanescope.render.figure import PanelFigure
from lanescope.render.view import ADDRESS, OperandGrid

# What the panel says of one value, and of the cell that is pointed at: templates, which a page's script fills for other
# lanes.
HELD, HELD_ROW = "{title}[{row}][{col}]", "row {row}"
TIP = "{name}{value}, bits {bits}"
HEAD, HEAD_ROW = "{title}[{row}][{col}] = {name}{value}, R{register}{bits}", "points at row {row} of matrix {matrix}"


@fact
class ValueText:
    """One value of a register: its element, its name and its bits."""

    text: str
    tip: str


@fact
class LaneRegisters:
    """One thread's registers of one panel."""

    name: str
    title: str
    element: str
    registers: dict[int, list[ValueText]]


@fact
class FullTable:
    """Every thread's elements as text, with all their coordinates."""

    name: str
    axes: tuple[str, ...]
    values: tuple[str, ...]
    threads: tuple[tuple[str, ...], ...]


def list_distinct_operands(instruction: Instruction) -> list[Operand]:
    """List the operands to draw: C only if its map or type differs from D's."""
    alike = is_c_like_d(instruction)
    return [op for name, op in instruction.operands.items() if not (name == "c" and alike)]


def is_c_like_d(instruction: Instruction) -> bool:
    """Return whether C has D's map and type."""
    ops = instruction.operands
    return {"c", "d"} <= set(ops) and (ops["c"].pattern, ops["c"].element) == (ops["d"].pattern, ops["d"].element)


def build_panel_grids(instruction: Instruction, figure: PanelFigure) -> dict[str, OperandGrid]:
    """Build the grids of the page, by panel; after them operands without a panel (a C that differs from D)."""
    grids = {panel.name: panel.grid for panel in figure.panels if panel.grid}
    return grids | {
        op.name: OperandGrid(op) for op in list_distinct_operands(instruction) if op.name == "c" and len(grids) > 1
    }


def format_table_head(op: Operand) -> str:
    """Return HEAD or HEAD_ROW, in the words of the operand's holder."""
    return HEAD_ROW if op.name == ADDRESS else HEAD.replace(", R{", f", {op.scope.register[0].upper()}{{")


def format_panel_title(panel: str) -> str:
    """Format the name of a panel's elements: A for a, matrix0 for the first matrix of an ldmatrix."""
    return panel.upper() if len(panel) == 1 else panel


def find_selected_lane(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> int:
    """Find the thread whose registers the page lists: the pinned cell's owner, otherwise the first shown thread of the
    figure.
    """
    if page_state.pin or page_state.pin2:
        return find_pinned_lane(figure, (page_state.pin or page_state.pin2))
    threads = set(
        np.unique(
            np.concatenate([grid.thread.ravel() for grid in build_panel_grids(instruction, figure).values()])
        ).tolist()
    )
    return int(min(threads & (page_state.parse_threads() or threads) or page_state.parse_threads() or threads))


def find_pinned_lane(figure: PanelFigure, pin: str) -> int:
    """Find the thread of a pin, or the holder of its element."""
    element, thread = split_pin(pin)
    if element is None:
        assert thread is not None
        return thread
    grid = next(panel.grid for panel in figure.panels if panel.name == element[0])
    assert grid is not None
    return int(grid.thread[element[1], element[2], 0])


def list_held(grid: OperandGrid, thread: int) -> list[tuple[int, int, int]]:
    """List value, row and column of a thread's elements of a panel, in the order of the values."""
    places = zip(*(grid.thread == thread).nonzero(), strict=True)
    return sorted((int(grid.value[r, c, n]), int(r), int(c)) for r, c, n in places)


def build_lane_registers(grid: OperandGrid, panel: str, thread: int) -> LaneRegisters | None:
    """Build one thread's registers of one panel, each with its values' text and bits; None if it has none.

    The script prints the same for the lane under the pointer from the same templates (static/instruction/panel.js); a
    browser test compares them.
    """
    op, places = grid.operand, list_held(grid, thread)
    if not places:
        return None
    registers: dict[int, list[ValueText]] = {}
    for value, row, col in places:
        template = HELD_ROW if op.name == ADDRESS else HELD
        text = template.format(title=format_panel_title(panel), row=row, col=col)
        tip = TIP.format(name=op.name, value=value, bits=grid.format_bits(value))
        registers.setdefault(op.register_of(value)[0], []).append(ValueText(text=text, tip=tip))
    return LaneRegisters(name=panel, title=format_panel_title(panel), element=op.element.name, registers=registers)


def build_supplied_register(supply: SupplyMatrix, thread: int) -> LaneRegisters | None:
    """Build the register in which a thread supplies metadata or scale factors; None if it supplies none."""
    values = []
    for _, row, col in supply.list_held(thread):
        facts = supply.get_facts(row, col)
        tip = TIP.format(name=supply.name, value=facts["value"], bits=f"[{facts['bits']}]")
        values.append(ValueText(text=supply.element.format(**facts), tip=tip))
    if not values:
        return None
    return LaneRegisters(name=supply.name, title=supply.title, element="", registers={0: values})


@fact
class NumericLine:
    """The computation of the thread, value or register of an element: a template of the formula, and its result."""

    name: str
    work: str
    result: str


def list_numeric_lines(op: Operand) -> tuple[NumericLine, ...]:
    """List the lines of an operand: thread and value from the coordinates, the register from the value.

    A line contains the name of a copy with its number, too.
    """
    named = {*op.axes, *(digit.name for digit in op.pattern.digits)}
    thread, value = op.formula()["inverse"].values()

    def open_names(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda word: f"{{{word[0]}}}" if word[0] in named else word[0], text)

    lines = [
        NumericLine(name=name, work=f"{text} = {open_names(text)}" if open_names(text) != text else text, result=result)
        for name, text, result in ((op.scope.thread, thread, "{thread}"), (op.scope.value, value, "{name}{value}"))
    ]
    if op.name == ADDRESS:
        return tuple(lines[:1])
    letter = op.scope.register[0].upper()
    per, several = op.register_bits // op.container_bits, op.container_bits // op.register_bits
    work = f"value / {per} = {{value}} / {per}" if per > 1 else f"{several} * value = {several} * {{value}}"
    work = f"{op.scope.value} = {{value}}" if per == several == 1 else work
    result = f"{letter}{{register}}{{bits}}" if per > 1 else f"{letter}{{register}}"
    return (*lines, NumericLine(name=op.scope.register, work=work, result=result))


@fact
class ElementText:
    """The text of the panel about a pinned element."""

    head: str
    lines: tuple[NumericLine, ...]


def describe_element(figure: PanelFigure, pin: tuple[str, int, int] | None) -> ElementText | None:
    """Describe a pinned element: its value and register, and how lane, value and register are computed."""
    if not pin:
        return None
    name, row, col = pin
    grid = next(panel.grid for panel in figure.panels if panel.name == name)
    assert grid is not None
    op, thread, value = grid.operand, int(grid.thread[row, col, 0]), int(grid.value[row, col, 0])
    facts = {
        "title": format_panel_title(name),
        "row": row,
        "col": col,
        "name": op.name,
        "thread": thread,
        "value": value,
        "register": op.register_of(value)[0],
        "bits": grid.format_bits(value),
        "matrix": grid.product,
    }
    digits = {
        digit: int(of.numbers[thread if of.of == "thread" else value])
        for digit, of in grid.categories.items()
        if digit != "register"
    }
    place = dict(zip(op.plane, (row, col), strict=True)) | {
        axis: grid.product for axis in op.axes if axis not in op.plane
    }
    lines = tuple(
        NumericLine(name=line.name, work=line.work.format(**facts | digits | place), result=line.result.format(**facts))
        for line in list_numeric_lines(op)
    )
    return ElementText(head=format_table_head(op).format(**facts), lines=lines)


def describe_supply(supply: SupplyMatrix, pin: tuple[str, int, int]) -> ElementText:
    """Describe a pinned cell of metadata or scale factors."""
    return ElementText(head=supply.head.format(**supply.get_facts(*pin[1:])), lines=())


def build_full_table(op: Operand) -> FullTable:
    """Build every thread's elements as text with all their coordinates, for reading without scripts."""
    axes = list(op.axes)
    arrays = [op.cols if axis == op.plane[1] else op.coords[axis] for axis in axes]
    lines = zip(*(array.tolist() for array in arrays), strict=True)
    return FullTable(
        name=op.name,
        axes=tuple(axes),
        values=tuple(f"{op.name}{v}" for v in range(op.values)),
        threads=tuple(tuple(",".join(map(str, place)) for place in zip(*line, strict=True)) for line in lines),
    )


# the panel and the grid of the page -----------------------------------------------------------------------------------


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
    rows: tuple[LaneRegisters, ...]
    element: ElementText | None


def build_shown_lanes(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> list[ShownLane]:
    """Build the lanes of the panel: that of each pin, otherwise the first lane of the figure."""
    pins, supplies = page_state.list_pins(), build_supplies(instruction, figure, page_state)
    shown: list[tuple[int, tuple[str, int, int] | None]] = []
    for pin in pins:
        element, _ = state.split_pin(pin)
        supply = supplies.get(element[0]) if element else None
        lane = int(supply.thread[element[1:]]) if supply and element else find_pinned_lane(figure, pin)
        shown.append((lane, element))
    shown = shown or [(find_selected_lane(instruction, figure, page_state), None)]
    grids = build_panel_grids(instruction, figure)
    result = []
    for lane, element in shown:
        rows = [build_lane_registers(grid, name, lane) for name, grid in grids.items()]
        rows += [build_supplied_register(value, lane) for value in supplies.values()]
        supply = supplies.get(element[0]) if element else None
        result.append(
            ShownLane(
                holder=wording.format_holder(instruction, lane),
                pinned=bool(pins),
                rows=tuple(filter(None, rows)),
                element=describe_supply(supply, element) if supply and element else describe_element(figure, element),
            )
        )
    return result
