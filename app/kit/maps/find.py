"""The find field of maps of holders: a text that names elements, holders or values becomes pins. No framework."""

from __future__ import annotations

from lanescope.app.kit.find import SoughtPlace, check_element, parse_places
from lanescope.app.kit.maps.bench import HOLDER_PIN, LANES, PIN, HolderMap, MapBench
from lanescope.errors import LayoutError


def format_example(bench: MapBench) -> str:
    """Format what the find field of a bench takes, for its placeholder and its errors."""
    first = bench.maps[0]
    name = "" if sum(one.listed for one in bench.maps) == 1 else first.name
    unit, last = bench.unit, bench.holders - 1
    shown = [
        f"{name}[{(first.height or first.rows) // 2}][{(first.width or first.cols) // 2}]",
        f"{unit} {min(20, last)}",
    ]
    if unit == "thread" and bench.letter in ("R", "V"):
        word = "R" if bench.letter == "R" else "value "
        shown.append(f"{word}0 of T{min(20, last)}" if word == "R" else f"T{min(20, last)}:0")
    return ", ".join(shown)


def find_pins(bench: MapBench, text: str) -> dict[str, str]:
    """Find what a text names, as the parts of an address: pin, and pin2, "" where it names one place.

    LayoutError `bad_find` names the legal range.
    """
    first = bench.maps[0]
    maps = {one.name.lower(): one for one in bench.maps if one.listed}
    bare = len(maps) == 1
    if bare:  # one tensor, whatever it is called
        maps |= dict.fromkeys(("a", "b", "c", "d", "tensor"), first)
    places = parse_places(text, maps, format_example(bench), bare, bench.unit)
    pins = [_find_pin(bench, maps.get(place.matrix, first), place) for place in places]
    return dict(zip(("pin", "pin2"), [*pins, ""], strict=False))


def _find_pin(bench: MapBench, one: HolderMap, place: SoughtPlace) -> str:
    if place.thread is None:
        row, col = check_element(place, one.height or one.rows, one.width or one.cols, one.title)
        return PIN.format(panel=one.name, **_find_cell(one, row, col))
    if bench.unit != "thread" and place.unit != bench.unit:
        raise LayoutError(
            "bad_find", f"No thread holds these cells: a {bench.unit} does.", f"Try {format_example(bench)}.", "find"
        )
    if place.is_lane and place.warp is None and bench.warps > 1:
        hint = f"Write warp 0 lane {place.thread}, or thread 0–{bench.holders - 1}."
        raise LayoutError("bad_find", f"{bench.warps} warps have a lane {place.thread}.", hint, "find")
    holder = place.thread + LANES * (place.warp or 0)
    if holder >= len(one.cell) or (place.warp is not None and place.thread >= LANES):
        raise LayoutError("bad_find", f"{bench.unit.capitalize()}s run from 0 to {len(one.cell) - 1}.", "", "find")
    number = place.value if place.register is None else place.register
    if number is None:
        return HOLDER_PIN.format(unit=bench.unit, holder=holder)
    groups = tuple(range(one.cell.shape[1])) if place.register is None else one.group
    for group, cell in zip(groups, one.cell[holder].tolist(), strict=True):
        if cell >= 0 and number == group:
            return PIN.format(panel=one.name, row=cell // one.cols, col=cell % one.cols)
    what = f"no {'value' if place.register is None else 'register'} {number}"
    hint = f"It has {min(groups)}–{max(groups)}." if groups else ""
    raise LayoutError("bad_find", f"{bench.unit.capitalize()} {holder} holds {what}.", hint, "find")


def _find_cell(one: HolderMap, row: int, col: int) -> dict[str, int]:
    """Find the cell of an element: its own place, or on a map of memory the place that holds it."""
    if not one.axes:
        return {"row": row, "col": col}
    found = (one.told[one.axes[0]] == row) & (one.told[one.axes[1]] == col)
    if not found.any():
        raise LayoutError("bad_find", f"Element [{row}][{col}] begins no cell of this map.", "", "find")
    at = int(found.reshape(-1).argmax())
    return {"row": at // one.cols, "col": at % one.cols}
