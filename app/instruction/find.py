"""The find field of an instruction's page: a text that names an element, a register or a lane becomes a pin."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.app.instruction import lanes, state
from lanescope.app.kit.find import SoughtPlace, check_element, parse_places
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
from lanescope.render.view import ADDRESS, OperandGrid, PanelFigure, make_figure


def find_pins(instruction: Instruction, text: str, product: int = 0) -> dict[str, str | int]:
    """Find what a text names, as the parts of an address: pin, pin2 where it names two places, and product where a
    thread works in another one than `product`.

    LayoutError `bad_find` names the legal range.
    """
    names = _name_grids(instruction, product)
    elsewhere = set(instruction.operands) - set(names) | ({"a", "b"} if instruction.family.multiplies else set())
    example = format_example(instruction, make_figure(instruction, product))
    return pin_places(instruction, parse_places(text, {*names, *elsewhere}, example), product)


def pin_places(instruction: Instruction, places: Sequence[SoughtPlace], product: int = 0) -> dict[str, str | int]:
    """Pin places that a text names, as `find_pins`; a row or a column shows the threads that hold it."""
    names = _name_grids(instruction, product)
    for place in places:
        if place.matrix and place.matrix not in names:
            why = "lies in shared memory: no thread holds it" if place.matrix in "ab" else "has no cells on this page"
            raise LayoutError("bad_find", f"{place.matrix.upper()} {why}.", "", "find")
    threads = [_find_thread(instruction, place) for place in places if place.thread is not None]
    shown = _find_product(instruction, threads, product)
    held = _list_grids(make_figure(instruction, shown))
    pins = [_find_pin(instruction, held, names.get(place.matrix, ""), place) for place in places if not place.line]
    found: dict[str, str | int] = dict(zip(("pin", "pin2"), pins, strict=False))
    lines = [
        thread for place in places if place.line for thread in _list_line(held, names.get(place.matrix, ""), place)
    ]
    found |= {"lanes": lanes.format_runs(lines, "-", ","), "pin": found.get("pin", "")} if lines else {}
    return found if shown == product else {**found, "product": shown}


def _name_grids(instruction: Instruction, product: int) -> dict[str, str]:
    """Map the names of what the page shows to its panels; C is D's where both are alike."""
    held = _list_grids(make_figure(instruction, product))
    alike = lanes.is_c_like_d(instruction)
    return {name: name for name in held} | {
        other: shown for other, shown in (("c", "d"), ("d", "c")) if other not in held and shown in held and alike
    }


def _list_line(held: dict[str, OperandGrid], matrix: str, place: SoughtPlace) -> list[int]:
    """List the threads that hold a row or a column; LayoutError names the legal range."""
    assert place.line is not None
    name, (axis, number) = matrix or next(iter(held)), place.line
    grid, title = held[name], lanes.format_panel_title(name)
    count = grid.rows if axis == "row" else grid.cols
    if number >= count:
        word = "row" if axis == "row" else "column"
        raise LayoutError("bad_find", f"{title} has {word}s 0–{count - 1}.", "", "find")
    threads: list[int] = (grid.thread[number] if axis == "row" else grid.thread[:, number]).ravel().tolist()
    return threads


def _list_grids(figure: PanelFigure) -> dict[str, OperandGrid]:
    return {p.name: p.grid for p in figure.panels if p.grid and p.grid.operand.name != ADDRESS}


def _find_product(instruction: Instruction, threads: list[int], product: int) -> int:
    """Find the product that all threads work in, `product` itself if they do or none is such."""
    count = state.count_products(instruction)
    candidates: tuple[int, ...] = (product, *range(count)) if threads and count > 1 else ()
    for other in candidates:
        grids = _list_grids(make_figure(instruction, other)).values()
        if all(any((grid.thread == thread).any() for grid in grids) for thread in threads):
            return other
    return product


def format_example(instruction: Instruction, figure: PanelFigure) -> str:
    """Format what may be asked of an instruction, as a find field's placeholder and its errors show it."""
    scope = instruction.family.scope
    name, grid = next(iter(_list_grids(figure).items()))
    title = lanes.format_panel_title(name)
    examples = [f"{title}[{grid.rows // 2}][{grid.cols // 2}]", f"{scope.thread} 20"]
    return ", ".join([*examples, f"R0 of {scope.thread} 20"] if scope.place is OperandPlace.REGISTERS else examples)


def _find_pin(instruction: Instruction, held: dict[str, OperandGrid], matrix: str, place: SoughtPlace) -> str:
    if place.thread is None:
        name = matrix or next(iter(held))
        row, col = check_element(place, held[name].rows, held[name].cols, lanes.format_panel_title(name))
        return state.PIN.format(panel=name, row=row, col=col)
    thread = _find_thread(instruction, place)
    if place.register is None and place.value is None:
        return f"{instruction.family.scope.thread}:{thread}"
    chosen = {matrix: held[matrix]} if matrix else held
    for name, grid in chosen.items():
        for value, row, col in lanes.list_held(grid, thread):
            if place.value == value or (place.value is None and grid.operand.register_of(value)[0] == place.register):
                return state.PIN.format(panel=name, row=row, col=col)
    raise LayoutError("bad_find", *_list_legal(instruction, chosen, thread, place), "find")


def _find_thread(instruction: Instruction, place: SoughtPlace) -> int:
    """Find a thread's number; LayoutError for a lane of a warpgroup without its warp."""
    scope, thread = instruction.family.scope, place.thread
    assert thread is not None
    warps = instruction.threads // WARP.threads
    is_other = scope.thread == "lane" and not place.is_lane
    if scope.place is OperandPlace.TENSOR and (place.register is not None or is_other):
        hint = f"Write {scope.thread} {thread}, or an element."
        raise LayoutError("bad_find", "Tensor memory has lanes and columns, no registers of threads.", hint, "find")
    if scope.several and place.is_lane and place.warp is None:
        hint = f"Write warp 0 lane {thread} (warps 0–{warps - 1}), or a thread 0–{instruction.threads - 1}."
        raise LayoutError("bad_find", f"{warps} warps have a lane {thread}.", hint, "find")
    if place.warp is not None:
        most = warps if scope.several else 1
        if place.warp >= most or thread >= WARP.threads:
            legal = f"warp 0–{most - 1}, " if most > 1 else ""
            raise LayoutError("bad_find", f"A warp has lanes 0–{WARP.threads - 1}.", f"Write {legal}lane 0–31.", "find")
        return place.warp * WARP.threads + thread
    if thread >= instruction.threads:
        who = "A warp" if instruction.threads == WARP.threads else "This instruction"
        raise LayoutError("bad_find", f"{who} has {scope.thread}s 0–{instruction.threads - 1}.", "", "find")
    return thread


def _list_legal(
    instruction: Instruction, held: dict[str, OperandGrid], thread: int, place: SoughtPlace
) -> tuple[str, str]:
    """Return what a thread holds, as the message and the hint of a refusal."""
    legal, letter = [], instruction.family.scope.register[0].upper()
    for name, grid in held.items():
        values = [value for value, _, _ in lanes.list_held(grid, thread)]
        if values and place.value is None:
            numbers = [grid.operand.register_of(value)[0] for value in values]
            legal.append(f"{lanes.format_panel_title(name)} {letter}{min(numbers)}–{letter}{max(numbers)}")
        elif values:
            legal.append(f"{grid.operand.name}{min(values)}–{grid.operand.name}{max(values)}")
    sought = f"{letter}{place.register}" if place.value is None else f"value {place.value}"
    unit = instruction.family.scope.thread
    return f"{unit.capitalize()} {thread} has no {sought}.", f"It has {', '.join(legal) or 'nothing here'}."
