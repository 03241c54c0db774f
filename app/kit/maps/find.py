"""The find field of map pages: elements, holders or values that a text names become pins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.kit.maps.bench import HolderMap, MapBench
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError

EMPTY = {"pin": "", "pin2": ""}


def format_example(bench: MapBench) -> str:
    """Return an example for a bench's find field, for its placeholder and its errors."""
    if bench.example:
        return bench.example
    first = bench.maps[0]
    name = "" if sum(holder_map.listed for holder_map in bench.maps) == 1 else first.name
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
    """Return the pins of the places that a text names, as parts of an address; the second is "" if there is one place.

    LayoutError `bad_find` names the legal range.
    """
    field = _make_field(bench)
    return EMPTY | field.find_pins(field.parse_places(text))


def pin_places(bench: MapBench, places: Sequence[SoughtPlace]) -> dict[str, str]:
    """Return the pins of places, as `find_pins`."""
    return EMPTY | _make_field(bench).find_pins(places)


def _make_field(bench: MapBench) -> FindField:
    """Return the find field of a bench."""
    maps = [holder_map for holder_map in bench.maps if holder_map.listed]
    matrices = {
        holder_map.name.lower(): FindMatrix(
            holder_map.name,
            holder_map.title,
            holder_map.height or holder_map.rows,
            holder_map.width or holder_map.cols,
            partial(_find_cell, holder_map),
        )
        for holder_map in maps
    }
    bare = len(maps) == 1
    if bare:  # with one tensor, any name will do
        matrices |= dict.fromkeys(("a", "b", "c", "d", "tensor"), matrices[maps[0].name.lower()])
    elif "c" in matrices:
        matrices["d"] = matrices["c"]
    return FindField(
        matrices,
        format_example(bench),
        bench.occupied or range(bench.holders),
        bench.unit,
        bench.warps,
        partial(list_held, maps),
        bare,
        bench.letter,
        lanes=bench.lanes,
    )


def list_held(maps: Sequence[HolderMap], holder: int) -> list[HeldCell]:
    """Return the cells of a holder."""
    return [
        HeldCell(holder_map.name, holder_map.title, holder_map.group[value], value, *divmod(cell, holder_map.cols))
        for holder_map in maps
        if holder < len(holder_map.cell) and not holder_map.shared
        for value, cell in enumerate(holder_map.cell[holder].tolist())
        if cell >= 0
    ]


def _find_cell(holder_map: HolderMap, row: int, col: int) -> tuple[int, int]:
    """Return the cell of an element; on a map of memory the cell that stores it."""
    if not holder_map.axes:
        return row, col
    found = (holder_map.fields[holder_map.axes[0]] == row) & (holder_map.fields[holder_map.axes[1]] == col)
    if not found.any():
        raise LayoutError("bad_find", f"Element [{row}][{col}] begins no cell of this map.", "", "find")
    return divmod(int(found.reshape(-1).argmax()), holder_map.cols)
