"""The find field of an instruction's page: a text that names an element, a register or a lane becomes a pin."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.app.instruction import lanes, state
from lanescope.app.kit.answer import format_runs
from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
from lanescope.ptx.role import ExecutionScope
from lanescope.render.figure import PanelFigure, make_figure
from lanescope.render.view import ADDRESS, OperandGrid


def find_pins(instruction: Instruction, text: str, product: int = 0) -> dict[str, str | int]:
    """Return the pins of the places that a text names, as parts of an address: pin, pin2 for a second place, and
    product if a thread works in another one than `product`.

    LayoutError `bad_find` names the legal range.
    """
    return pin_places(instruction, _make_field(instruction, product).parse_places(text), product)


def pin_places(instruction: Instruction, places: Sequence[SoughtPlace], product: int = 0) -> dict[str, str | int]:
    """Return the pins of places, as `find_pins`; a row, a column or a warp selects its threads."""
    field = _make_field(instruction, product)
    field.check_matrices(places)
    threads = []
    for place in (each for each in places if each.thread is not None):
        _check_thread(instruction.family.scope, place)
        threads.append(field.find_holder(place))
    shown = _find_product(instruction, threads, product)
    field = field if shown == product else _make_field(instruction, shown)
    grids = _list_grids(make_figure(instruction, shown))
    found: dict[str, str | int] = {**field.find_pins([place for place in places if not (place.line or place.is_warp)])}
    lines = [thread for place in places if place.line for thread in _list_line(grids, field.get_matrix(place), place)]
    lines += [thread for place in places if place.is_warp for thread in list_warp(instruction, place)]
    if lines:
        found |= {"lanes": format_runs(lines, "-", ","), "pin": found.get("pin", "")}
    return found if shown == product else {**found, "product": shown}


def _check_thread(scope: ExecutionScope, place: SoughtPlace) -> None:
    """Raise LayoutError for a register or a thread in tensor memory, which has lanes."""
    is_other = scope.thread == "lane" and not place.is_lane
    if scope.place is OperandPlace.TENSOR and (place.register is not None or is_other):
        hint = f"Write {scope.thread} {place.thread}, or an element."
        raise LayoutError("bad_find", "Tensor memory has lanes and columns, no registers of threads.", hint, "find")


def _list_line(grids: dict[str, OperandGrid], matrix: FindMatrix, place: SoughtPlace) -> list[int]:
    """List the threads that hold a row or a column; LayoutError names the legal range."""
    assert place.line is not None
    if matrix.panel not in grids:
        hint = f"Write an element: {matrix.title}[{place.line[1]}][0]."
        raise LayoutError("bad_find", f"A whole row or column of {matrix.title} is not found here.", hint, "find")
    (axis, number), grid = place.line, grids[matrix.panel]
    count = grid.rows if axis == "row" else grid.cols
    if number >= count:
        word = "row" if axis == "row" else "column"
        raise LayoutError("bad_find", f"{matrix.title} has {word}s 0–{count - 1}.", "", "find")
    threads: list[int] = (grid.thread[number] if axis == "row" else grid.thread[:, number]).ravel().tolist()
    return threads


def list_warp(instruction: Instruction, place: SoughtPlace) -> range:
    """List the threads of a warp; LayoutError `bad_find` names the warps of the instruction."""
    scope, warp = instruction.family.scope, place.warp or 0
    count = instruction.threads // WARP.threads if scope.several else 1
    if scope.place is OperandPlace.TENSOR and not place.odd and warp < 4:
        reached = f"{warp * WARP.threads}–{warp * WARP.threads + WARP.threads - 1}"
        message = (
            f"Elements in tensor memory belong to no warp. Warp {warp} of a warpgroup reaches lanes {reached} of it."
        )
        raise LayoutError("bad_find", message, "Ask for an element or a lane.", "find")
    if place.odd or warp >= count:
        legal = f"Its warps are 0–{count - 1}." if count > 1 else "One warp executes it, whichever: ask for a lane."
        raise LayoutError("bad_find", f"The instruction has no warp {place.odd or warp}.", legal, "find")
    return range(warp * WARP.threads, min((warp + 1) * WARP.threads, instruction.threads))


def _make_field(instruction: Instruction, product: int) -> FindField:
    """Return the find field of an instruction, whose elements are cells of panels that threads hold."""
    figure = make_figure(instruction, product)
    grids, scope = _list_grids(figure), instruction.family.scope
    names = {name: name for name in grids} | {
        other: alike
        for other, alike in (("c", "d"), ("d", "c"))
        if other not in grids and alike in grids and lanes.is_c_like_d(instruction)
    }
    elsewhere = set(instruction.operands) - set(names) | ({"a", "b"} if instruction.family.multiplies else set())
    why = dict.fromkeys("ab", "is in shared memory: no thread holds it")

    def list_held(thread: int) -> list[HeldCell]:
        return [
            HeldCell(name, lanes.format_panel_title(name), grid.operand.register_of(value)[0], value, row, col)
            for name, grid in grids.items()
            for value, row, col in lanes.list_held(grid, thread)
        ]

    matrices = {
        name: FindMatrix(panel, lanes.format_panel_title(panel), grids[panel].rows, grids[panel].cols)
        for name, panel in names.items()
    }
    for name, (rows, cols) in state.list_supply_sizes(instruction).items():
        matrices[name] = FindMatrix(name, name.upper(), rows, cols)
        if name == "sfb":  # SFB[column][block]: its blocks are rows
            matrices[name] = FindMatrix(name, name.upper(), cols, rows, lambda column, block: (block, column))
    return FindField(
        matrices,
        format_example(instruction, figure),
        range(instruction.threads),
        scope.thread,
        instruction.threads // WARP.threads if scope.several else 1,
        list_held,
        letter=scope.register[0].upper(),
        absent={name: why.get(name, "has no cells on this page") for name in elsewhere - set(names)},
    )


def _list_grids(figure: PanelFigure) -> dict[str, OperandGrid]:
    return {p.name: p.grid for p in figure.panels if p.grid and p.grid.operand.name != ADDRESS}


def _find_product(instruction: Instruction, threads: list[int], product: int) -> int:
    """Find the product that all threads work in; `product` itself if they work in it, or if there is none."""
    count = state.count_products(instruction)
    candidates: tuple[int, ...] = (product, *range(count)) if threads and count > 1 else ()
    for other in candidates:
        grids = _list_grids(make_figure(instruction, other)).values()
        if all(any((grid.thread == thread).any() for grid in grids) for thread in threads):
            return other
    return product


def format_example(instruction: Instruction, figure: PanelFigure) -> str:
    """Return an example for the find field of an instruction, for its placeholder and its errors."""
    scope = instruction.family.scope
    name, grid = next(iter(_list_grids(figure).items()))
    title = lanes.format_panel_title(name)
    examples = [f"{title}[{grid.rows // 2}][{grid.cols // 2}]", f"{scope.thread} 20"]
    return ", ".join([*examples, f"R0 of {scope.thread} 20"] if scope.place is OperandPlace.REGISTERS else examples)
