"""Maps of cells to holders on the stage: the view that a query requests, and the page without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.fact import Json
from lanescope.app.kit.look import build_look, parse_list, read_values, require_right, split_refused
from lanescope.app.kit.maps.answer import build_answer
from lanescope.app.kit.maps.bench import PIN, CellHolders, HolderMap, MapBench, split_pin
from lanescope.app.kit.maps.find import find_pins, format_example
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, parse_pair, parse_ranges, quote_value, shorten_value
from lanescope.render import palette, window
from lanescope.render.figure import FigurePanel
from lanescope.render.matrix import MOST_LABELS, render_matrix
from lanescope.render.window import Range

LOOK = ("colour", "label", "warps", "lanes", "pin", "pin2", "sel", "view")
PINS = ("pin", "pin2", "sel")
UNPICTURED = ("sel",)  # fields of the view that a picture does not have
MOST_WARPS = 1024
MOST_SERVED, WIDEST = 1 << 16, 512  # cells and columns of a matrix that the server draws


def parse_look(
    bench: MapBench, query: Mapping[str, str], usual: Mapping[str, str]
) -> tuple[dict[str, str], list[LayoutError]]:
    """Return the view that a query requests, starting from `usual`, and the error of each illegal value."""
    chosen, refused = read_values(query, LOOK, partial(parse_option, bench))
    look = {**usual, **chosen}
    thread = query.get("thread", "").strip()
    if thread and not look["pin"]:
        look["pin"] = _find_pin(bench, thread)
        if not look["pin"]:
            hint = f"{bench.unit.capitalize()}s run from 0 to {bench.holders - 1}."
            refused.append(LayoutError("bad_pin", f"thread is {quote_value(thread)}.", hint, "thread"))
    if sought := query.get("find", "").strip():
        try:
            look |= find_pins(bench, sought) | {"sel": ""}
        except LayoutError as error:
            refused.insert(0, error.move_to_field("find"))
    if look["pin2"] and not look["pin"]:
        look["pin"], look["pin2"] = look["pin2"], ""
    return look, refused


def build_view(bench: MapBench, query: Mapping[str, str], usual: Mapping[str, str]) -> tuple[dict[str, str], Json]:
    """Return the view that a query requests, and the template's variables of the stage, its controls and errors."""
    look, refused = parse_look(bench, query, usual)
    typed = [name for name, most in (("warps", 1), ("lanes", 0)) if bench.warps > most]
    form = build_look({"colour": bench.colours, "label": bench.labels}, typed, look, refused, query)
    refusal, notices = split_refused(refused, form)
    return look, {
        "stage": build_stage(bench, look) | {"look": form},
        "notices": notices,
        "refusal": refusal,
        "view_wrong": bool(refused),
        "sought": query.get("find", ""),
        "pins": {name: look[name] for name in PINS if look[name]},
    }


def require_look(bench: MapBench, query: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """Return the view that a query requests, starting from `usual`. LayoutError for the first illegal value."""
    look, refused = parse_look(bench, query, usual)
    require_right(refused)
    return look


def parse_option(bench: MapBench, name: str, text: str) -> str:
    """Parse one value of a view; LayoutError if it is illegal."""
    if name in ("colour", "label"):
        return parse_choice(text, name, list(bench.colours if name == "colour" else bench.labels))
    if name in ("warps", "lanes"):
        return parse_list(text, name, bench.warps or 1 if name == "warps" else bench.lanes)
    if name == "view":
        return text if text == window.ALL else window.format_ranges(window.parse_ranges(text, bench.extents))
    sizes = {holder_map.name: (holder_map.rows, holder_map.cols) for holder_map in bench.maps}
    if name != "sel" and (unit := f"{bench.unit}:") and text.startswith(unit):
        holder = parse_integer(text.removeprefix(unit), name, 0, bench.holders - 1)
        if bench.occupied and holder not in bench.occupied:
            message = f"{bench.unit.capitalize()} {holder} holds nothing."
            raise LayoutError("bad_pin", message, f"Some {bench.unit}s are idle here.", name)
        return f"{unit}{holder}"
    return parse_place(name, text, sizes, f"{bench.maps[0].name}:3,2")


def parse_place(name: str, text: str, sizes: Mapping[str, tuple[int, int]], example: str = "c:3,2") -> str:
    """Parse a cell (pin) or region (sel) of an address. sizes: rows and columns of each matrix."""
    matrix, _, where = text.partition(":")
    if matrix not in sizes:
        raise LayoutError(
            "bad_pin", f"{name} is '{shorten_value(text)}'.", f"Write matrix:row,column, as in {example}.", name
        )
    counts = sizes[matrix]
    try:
        if name != "sel":
            row, col = parse_pair(where, name, (counts[0] - 1, counts[1] - 1))
            return PIN.format(panel=matrix, row=row, col=col)
        spans = [parse_ranges(part, name, count) for part, count in zip(where.split(","), counts, strict=True)]
    except (LayoutError, ValueError):
        title = matrix.upper() if len(matrix) == 1 else matrix.capitalize()
        hint = f"{title} has {counts[0]} rows and {counts[1]} columns, from 0."
        raise LayoutError("bad_pin", f"{name} is '{shorten_value(text)}'.", hint, name) from None
    return f"{matrix}:" + ",".join(f"{span[0][0]}-{span[0][1]}" for span in spans)


def _find_pin(bench: MapBench, thread: str) -> str:
    """Return the first cell of a thread, which older addresses and a form name; "" if there is none."""
    holder_map = bench.maps[0]
    try:
        cells = holder_map.cell[parse_integer(thread, "thread", 0, len(holder_map.cell) - 1)]
    except LayoutError:
        return ""
    filled = cells[cells >= 0]
    if not filled.size:
        return ""
    return PIN.format(panel=holder_map.name, row=filled[0] // holder_map.cols, col=filled[0] % holder_map.cols)


def select_holders(bench: MapBench, look: Mapping[str, str]) -> NDArray[np.bool_] | None:
    """Return which holders are shown, [holder]; None for all."""
    if not look["warps"] and not look["lanes"]:
        return None
    ids = np.arange(bench.holders)
    keep = np.ones(bench.holders, dtype=np.bool_)
    for name, numbers in (("warps", ids // bench.lanes), ("lanes", ids % bench.lanes)):
        if look[name]:
            spans = parse_ranges(look[name], name, MOST_WARPS)
            keep &= np.logical_or.reduce([(numbers >= first) & (numbers <= last) for first, last in spans])
    return keep


def build_panel(
    bench: MapBench, holder_map: HolderMap, look: Mapping[str, str], spans: tuple[range, range], labelled: bool
) -> FigurePanel:
    """Return a map as a panel of unit-sized cells: colours, texts in the window, hidden holders without colour."""
    holders = holder_map.find_first_holders()
    number, names = holder_map.colour_numbers(select_colour(holder_map, look["colour"]), holders)
    keep = select_holders(bench, look)
    if keep is not None:
        if holder_map.shared:  # each of the threads from one that has cells to the next one reads these
            first = np.flatnonzero((holder_map.cell >= 0).any(axis=1))
            keep[first] = np.logical_or.reduceat(keep, first)
        mask = np.zeros(holder_map.rows * holder_map.cols + 1, dtype=np.bool_)
        mask[holder_map.cell[keep[: holder_map.cell.shape[0]]]] = True
        number = np.where(mask[:-1].reshape(holder_map.rows, holder_map.cols), number, -1)
    texts = format_cells(bench, holder_map, holders, look["label"], spans) if labelled else None
    return FigurePanel(
        holder_map.name,
        holder_map.title,
        rows=holder_map.rows,
        cols=holder_map.cols,
        x=0,
        y=0,
        cell_width=1,
        cell_height=1,
        category=number.astype(np.int32),
        texts=texts,
        of=len(names),
    )


def select_colour(holder_map: HolderMap, wanted: str) -> str:
    """Return a map's colouring: the requested one, or its first."""
    known = [*holder_map.of_cells, *holder_map.shades]
    return wanted if wanted in known else next(iter(holder_map.shades))


def format_cells(
    bench: MapBench, holder_map: HolderMap, holders: CellHolders, label: str, spans: tuple[range, range]
) -> list[list[str]]:
    """Return the texts of a window's cells; other cells, and those of a map in shared memory, have none."""
    template = holder_map.text or bench.texts[label]
    if holder_map.shared:
        spans = range(0), range(0)
    out = [[""] * holder_map.cols for _ in range(holder_map.rows)]
    for row in spans[0]:
        for col in spans[1]:
            if (thread := int(holders.thread[row, col])) < 0:
                continue
            at, value = row * holder_map.cols + col, int(holders.value[row, col])
            out[row][col] = template.format(
                thread=thread,
                value=value,
                values=value,
                more="+" * bool(holders.counts[row, col] > 1),
                registers=holder_map.group[value],
                row=row,
                col=col,
                index=at,
                **{name: int(numbers[row, col]) for name, numbers in holder_map.fields.items()},
            )
    return out


def find_view_spans(bench: MapBench, holder_map: HolderMap, view: str) -> tuple[range, range]:
    """Return the rows and columns of a map that are in view."""
    shown_ = window.parse_ranges(view, bench.extents)
    rows, cols = (
        range(int(first), min(size, -int(-last // 1)))
        for (first, last), size in zip(
            (shown_[dim] for dim in bench.get_dims(holder_map)), (holder_map.rows, holder_map.cols), strict=True
        )
    )
    return rows, cols


def build_stage(bench: MapBench, look: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables for a stage without scripts."""
    return {
        "panels": [_draw_map(bench, holder_map, look) for holder_map in bench.maps],
        "legend": build_legend(bench, look),
        "threads": build_threads(bench, look),
        "answer": build_answer(bench, look),
        "example": format_example(bench),
        "seen": dict(look),
        "unit": bench.unit,
    }


def _draw_map(bench: MapBench, holder_map: HolderMap, look: Mapping[str, str]) -> dict[str, Any]:
    rows, cols = find_view_spans(bench, holder_map, look["view"])
    if len(rows) * len(cols) > MOST_SERVED:  # scripts draw the rest
        rows, cols = rows[: MOST_SERVED // min(len(cols), WIDEST)], cols[:WIDEST]
    spans = rows, cols
    few = len(spans[0]) * len(spans[1]) <= MOST_LABELS and look["label"] != "none"
    drawn = build_panel(bench, holder_map, look, spans, few)
    pinned = list_pinned_holders(bench, look)
    faint = None
    if pinned and bench.unit == "thread":
        mask = np.zeros(holder_map.rows * holder_map.cols + 1, dtype=np.bool_)
        mask[holder_map.cell[[min(holder, holder_map.cell.shape[0] - 1) for holder in pinned]]] = True
        faint = ~mask[:-1].reshape(holder_map.rows, holder_map.cols)
    areas: list[Range] = [(float(span.start), float(span.stop)) for span in spans]
    title = f"{holder_map.title}, coloured by {bench.colours[look['colour']]}"
    svg = render_matrix(drawn, areas[0], areas[1], colour="", label="all" if few else "none", title=title, faint=faint)
    high, wide = (1 << max(2, (len(span) - 1).bit_length()) for span in spans)
    return {
        "name": holder_map.name,
        "title": holder_map.title,
        "about": holder_map.about,
        "svg": svg,
        "rows": high,
        "cols": wide,
        "flank": not holder_map.listed,
    }


def list_pinned_cells(bench: MapBench, look: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """Yield (map, row, column) of each pin: its cell, or all cells of its holder."""
    for pin in filter(None, (look["pin"], look["pin2"])):
        name, row, col = split_pin(pin)
        if col is not None:
            yield name, row, col
            continue
        for holder_map in (candidate for candidate in bench.maps if not candidate.shared):
            cells = holder_map.cell[row] if row < len(holder_map.cell) else ()
            yield from ((holder_map.name, *divmod(int(cell), holder_map.cols)) for cell in cells if cell >= 0)


def list_pinned_holders(bench: MapBench, look: Mapping[str, str]) -> list[int]:
    """Return the holder of each pin that has one."""
    out = []
    for pin in filter(None, (look["pin"], look["pin2"])):
        name, row, col = split_pin(pin)
        if col is None:
            out.append(row)
            continue
        holder_map = bench.get_map(name)
        found = np.argwhere(holder_map.cell == row * holder_map.cols + col)
        out += [int(found[0][0])] if found.size else []
    return out


def build_threads(bench: MapBench, look: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return each pinned holder with its cells in every map, or the first holder."""
    pinned = list_pinned_holders(bench, look)
    return [_build_thread(bench, holder, bool(pinned)) for holder in pinned or [0]]


def _build_thread(bench: MapBench, holder: int, pinned: bool) -> dict[str, Any]:
    out: list[dict[str, Any]] = []
    for holder_map in (candidate for candidate in bench.maps if candidate.listed):
        if holder_map.shared:
            out.append({"title": holder_map.title, "count": "", "rows": []})
            continue
        at = min(holder, holder_map.cell.shape[0] - 1)
        count = int((holder_map.cell[at] >= 0).sum())
        out.append(
            {
                "title": holder_map.title,
                "count": f"{count} value{'s' * (count != 1)}",
                "rows": holder_map.list_registers(at, bench.letter),
            }
        )
    small = f"warp {holder // bench.lanes}, lane {holder % bench.lanes}" if bench.unit == "thread" else ""
    return {"who": f"{bench.unit.capitalize()} {holder}", "small": small, "pinned": pinned, "operands": out}


def build_legend(bench: MapBench, look: Mapping[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (name of a colouring, [(fill, text)]) for every colouring in use."""
    found: dict[str, tuple[str, ...]] = {}
    for holder_map in bench.maps:
        name = select_colour(holder_map, look["colour"])
        names = (
            holder_map.of_cells[name].names
            if name in holder_map.of_cells
            else tuple(map(str, range(holder_map.shades[name].count)))
        )
        found[name] = max(found.get(name, ()), names, key=len)
    out = []
    for name, names in found.items():
        wheel = palette.list_fill_variables(len(names))
        repeat = f" mod {len(wheel)} ({len(names)} in {len(wheel)} colours)" if len(names) > len(wheel) else ""
        out.append(
            (
                f"Colour = {bench.colours[name]}{repeat}",
                [(fill[2:], name) for fill, name in zip(wheel, names, strict=False)],
            )
        )
    return out


def place_panel(
    panel: FigurePanel, place: tuple[float, float], cell: tuple[float, float], spans: tuple[range, range]
) -> FigurePanel:
    """Return the part of a panel in its window, placed in a picture."""
    rows, cols = spans
    return replace(
        panel,
        x=place[0],
        y=place[1],
        cell_width=cell[0],
        cell_height=cell[1],
        rows=len(rows),
        cols=len(cols),
        row0=rows.start,
        col0=cols.start,
    )
