"""Any map of cells to holders on the stage: what its page says without scripts, and what the scripts draw from. No
framework.

A holder is a thread, or a bank of memory; what it holds of a map are its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.fact import fact, sometimes
from app.kit.matrix import MatrixData
from app.tiles.draw import Cells
from app.tiles.state import PIN, place
from layouts import palette, window
from layouts.errors import LayoutError
from layouts.reading import choice, number, pair, ranges, shown
from layouts.render.matrix import MOST_LABELS, matrix
from layouts.tiles.shades import Shade
from layouts.view import BETWEEN_OWNERS, SPOKEN, Panel
from layouts.window import Range

Longs = NDArray[np.int64]
LOOK = ("colour", "label", "warps", "lanes", "pin", "sel", "view")
LANES, MOST_WARPS = 32, 1024
MOST_SERVED, WIDEST = 1 << 16, 512  # cells and columns of a matrix before any script runs
MOST_LISTED = 256  # lines of one holder that a page lists


@fact
class ShadeData:
    """A colour for the script: a digit of thread or value, or a number of its own for every cell; numbers: [] where it
    is the register.
    """

    of: str
    step: int
    count: int
    numbers: tuple[int, ...] | None
    wheel: tuple[str, ...]
    names: tuple[str, ...] | None = sometimes()


@fact
class TileData(MatrixData):
    """A matrix for the script: the first element of each thread and a step for each value, or where they do not add up
    the cell of each [thread][value], -1 for none; what repeats every `period` values.
    """

    held_by: list[int]
    team: int
    first: list[int]
    steps: list[int]
    period: int
    shared: bool
    registers: int
    register: tuple[int, ...]
    categories: dict[str, ShadeData]
    repeats: dict[str, dict[str, int]]
    cells: list[int] | None = sometimes()
    told: dict[str, list[int]] | None = sometimes()
    folded: bool | None = sometimes()
    text: str | None = sometimes()
    unlisted: bool | None = sometimes()


@dataclass(frozen=True, slots=True, eq=False)
class OfCells:
    """A colour that belongs to the element, not to who holds it: a number for each cell, -1 for none, and a name for
    each number.
    """

    numbers: Longs
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A map on the stage. cell: int64 [holders, values], the number of each one's cell, -1 for one that is not shown.

    group: [value], what values a list puts in one line; told: further numbers of each cell that its label may name;
    folded: a cell is called by its number, not by row and column; edges: where another atom or tile begins, down and
    across; text: the template of its cells, whatever label is chosen; listed: whether a holder's list names what it has
    here.
    """

    name: str
    title: str
    about: str
    rows: int
    cols: int
    cell: Longs
    element_bits: int
    shades: Mapping[str, Shade]
    of_cells: Mapping[str, OfCells] = field(default_factory=dict)
    group: tuple[int, ...] = ()
    told: Mapping[str, Longs] = field(default_factory=dict)
    folded: bool = False
    edges: tuple[Sequence[int], Sequence[int]] = ((), ())
    text: str = ""
    listed: bool = True

    def cells(self) -> Cells:
        """The first holder of every cell."""
        values = self.cell.shape[1]
        flat = np.where(self.cell < 0, self.rows * self.cols, self.cell).reshape(-1)
        first = np.full(self.rows * self.cols + 1, -1, dtype=np.int64)
        first[flat[::-1]] = np.arange(flat.size)[::-1]  # of several the first stays
        held = first[:-1].reshape(self.rows, self.cols)
        most = int(np.bincount(flat, minlength=first.size)[:-1].max(initial=1))
        return Cells(np.where(held < 0, -1, held // values), np.where(held < 0, -1, held % values), max(1, most))

    def numbers(self, colour: str, held: Cells) -> tuple[Longs, tuple[str, ...]]:
        """(the number of every cell, -1 for none; the name of each number) of a colour."""
        if colour in self.of_cells:
            own = self.of_cells[colour]
            return own.numbers, own.names
        shade = self.shades[colour]
        made = np.where(held.thread < 0, -1, shade.of_cells(held.thread, held.value))
        return made, tuple(map(str, range(shade.count)))

    def place(self, cell: int) -> str:
        """A cell as lists call it."""
        return str(cell) if self.folded else f"({cell // self.cols},{cell % self.cols})"

    def lines(self, holder: int, letter: str) -> list[tuple[str, str]]:
        """(R0, (0,0) (0,1)) of what a holder has."""
        out: dict[int, list[str]] = {}
        for group, cell in zip(self.group, self.cell[holder].tolist(), strict=True):
            if cell >= 0:
                out.setdefault(group, []).append(self.place(cell))
        return [(f"{letter}{number}", " ".join(said)) for number, said in list(out.items())[:MOST_LISTED]]


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Maps side by side whose holders are the same. colours, labels: what may be chosen, and its words; texts: the
    template of each label; unit: what a holder is; letter: what stands before the number of a group; owner: a holder
    read out, in the words of layouts.view.OWNER.
    """

    path: str
    says: str
    maps: tuple[Held, ...]
    colours: Mapping[str, str]
    labels: Mapping[str, str]
    texts: Mapping[str, str]
    letter: str
    unit: str = "thread"
    owner: str = "{holder}, value {value}"
    dims: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def holders(self) -> int:
        return max(int(one.cell.shape[0]) for one in self.maps)

    @property
    def warps(self) -> int:
        return -(-self.holders // LANES) if self.unit == "thread" else 0

    def dims_of(self, one: Held) -> tuple[str, str]:
        """The dimensions that its rows and columns follow: maps with the same ones move together."""
        return self.dims.get(one.name, ("r", "c"))

    @property
    def extents(self) -> dict[str, int]:
        out: dict[str, int] = {}
        for one in self.maps:
            for dim, count in zip(self.dims_of(one), (one.rows, one.cols), strict=True):
                out[dim] = max(count, out.get(dim, 0))
        return out


def read(bench: Bench, query: Mapping[str, str], usual: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """(the look that a query asks for over `usual`, a notice for each value that is not legal)."""
    look, notices = dict(usual), []
    for name in LOOK:
        if not (given := query.get(name, "").strip()):
            continue
        try:
            look[name] = _legal(bench, name, given)
        except LayoutError as error:
            notices.append(f"{name} ‘{shown(given, 60)}’ is not used: {error.hint} Shown with the default instead.")
    thread = query.get("thread", "").strip()
    if thread and not look["pin"]:
        look["pin"] = _pin_of(bench, thread)
        if not look["pin"]:
            notices.append(
                f"thread ‘{shown(thread, 60)}’ is not used: {bench.unit}s run from 0 to {bench.holders - 1}."
            )
    return look, notices


def strictly(bench: Bench, query: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """The look that a query asks for over `usual`; LayoutError for the first value that is not legal."""
    look, notices = read(bench, query, usual)
    if notices:
        raise LayoutError("bad_option", notices[0].replace(" Shown with the default instead.", ""),
                          f"The page {bench.path} offers what is legal.", notices[0].split(" ")[0])  # fmt: skip
    return look


def _legal(bench: Bench, name: str, given: str) -> str:
    if name in ("colour", "label"):
        return choice(given, name, list(bench.colours if name == "colour" else bench.labels))
    if name in ("warps", "lanes"):
        spans = ranges(given, name, bench.warps or 1 if name == "warps" else LANES)
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    if name == "view":
        return given if given == window.WHOLE else window.written(window.parts(given, bench.extents))
    sizes = {one.name: (one.rows, one.cols) for one in bench.maps}
    return place(name, given, sizes, f"{bench.maps[0].name}:3,2")


def _pin_of(bench: Bench, thread: str) -> str:
    """The first cell of a thread, as older addresses and a form name it; "" where there is none."""
    one = bench.maps[0]
    try:
        cells = one.cell[number(thread, "thread", 0, len(one.cell) - 1)]
    except LayoutError:
        return ""
    held = cells[cells >= 0]
    if not held.size:
        return ""
    return PIN.format(panel=one.name, row=held[0] // one.cols, col=held[0] % one.cols)


def holders_of(bench: Bench, look: Mapping[str, str]) -> NDArray[np.bool_] | None:
    """[holder]: whether warps and lanes leave it; None for all."""
    if not look["warps"] and not look["lanes"]:
        return None
    ids = np.arange(bench.holders)
    keep = np.ones(bench.holders, dtype=np.bool_)
    for name, own in (("warps", ids // LANES), ("lanes", ids % LANES)):
        if look[name]:
            spans = ranges(look[name], name, MOST_WARPS)
            keep &= np.logical_or.reduce([(own >= first) & (own <= last) for first, last in spans])
    return keep


def panel(bench: Bench, one: Held, look: Mapping[str, str], spans: tuple[range, range], labelled: bool) -> Panel:
    """A map as a panel of one unit a cell: its colours, the texts of the window's cells, the other holders without
    colour.
    """
    held = one.cells()
    number, names = one.numbers(colour_of(one, look["colour"]), held)
    keep = holders_of(bench, look)
    if keep is not None:
        mask = np.zeros(one.rows * one.cols + 1, dtype=np.bool_)
        mask[one.cell[keep[: one.cell.shape[0]]]] = True
        number = np.where(mask[:-1].reshape(one.rows, one.cols), number, -1)
    texts = _texts(bench, one, held, look["label"], spans) if labelled else None
    return Panel(
        one.name, one.title, one.rows, one.cols, 0, 0, 1, 1, None, number.astype(np.int32), texts, of=len(names)
    )


def colour_of(one: Held, wanted: str) -> str:
    """The colour of a map: the wanted one where it has it, else its first."""
    known = [*one.of_cells, *one.shades]
    return wanted if wanted in known else next(iter(one.shades))


def _texts(bench: Bench, one: Held, held: Cells, label: str, spans: tuple[range, range]) -> list[list[str]]:
    said = one.text or bench.texts[label]
    copies = np.bincount(one.cell[one.cell >= 0].reshape(-1), minlength=one.rows * one.cols)
    out = [[""] * one.cols for _ in range(one.rows)]
    for row in spans[0]:
        for col in spans[1]:
            if (thread := int(held.thread[row, col])) < 0:
                continue
            at, value = row * one.cols + col, int(held.value[row, col])
            out[row][col] = said.format(
                thread=thread, value=value, values=value, more="+" * bool(copies[at] > 1),
                registers=one.group[value],
                row=row, col=col, index=at, **{name: int(numbers[row, col]) for name, numbers in one.told.items()},
            )  # fmt: skip
    return out


def spans_of(bench: Bench, one: Held, view: str) -> tuple[range, range]:
    """The rows and columns of a map that a view shows."""
    shown_ = window.parts(view, bench.extents)
    rows, cols = (
        range(int(first), min(size, -int(-last // 1)))
        for (first, last), size in zip((shown_[dim] for dim in bench.dims_of(one)), (one.rows, one.cols), strict=True)
    )
    return rows, cols


def served(bench: Bench, look: Mapping[str, str]) -> dict[str, Any]:
    """What a template shows of the stage before any script runs."""
    return {
        "panels": [_svg(bench, one, look) for one in bench.maps],
        "legend": legend(bench, look),
        "thread": thread(bench, look),
        "seen": dict(look),
        "colours": bench.colours,
        "labels": bench.labels,
        "warps": bench.warps,
        "unit": bench.unit,
    }


def _svg(bench: Bench, one: Held, look: Mapping[str, str]) -> dict[str, Any]:
    rows, cols = spans_of(bench, one, look["view"])
    if len(rows) * len(cols) > MOST_SERVED:  # scripts draw the rest
        rows, cols = rows[: MOST_SERVED // min(len(cols), WIDEST)], cols[:WIDEST]
    spans = rows, cols
    few = len(spans[0]) * len(spans[1]) <= MOST_LABELS and look["label"] != "none"
    drawn = panel(bench, one, look, spans, few)
    pinned = _pinned(bench, look)
    faint = None
    if pinned is not None and bench.unit == "thread":
        mask = np.zeros(one.rows * one.cols + 1, dtype=np.bool_)
        mask[one.cell[min(pinned, one.cell.shape[0] - 1)]] = True
        faint = ~mask[:-1].reshape(one.rows, one.cols)
    areas: list[Range] = [(float(span.start), float(span.stop)) for span in spans]
    title = f"{one.title}, coloured by {bench.colours[look['colour']]}"
    svg = matrix(drawn, areas[0], areas[1], colour="", label="all" if few else "none", title=title, faint=faint)
    high, wide = (1 << max(2, (len(span) - 1).bit_length()) for span in spans)
    return {"name": one.name, "title": one.title, "about": one.about, "svg": svg, "rows": high, "cols": wide,
            "flank": not one.listed}  # fmt: skip


def _pinned(bench: Bench, look: Mapping[str, str]) -> int | None:
    """The holder of the pinned cell."""
    name, colon, place = look["pin"].partition(":")
    if not colon:
        return None
    one = next(each for each in bench.maps if each.name == name)
    row, col = pair(place, "pin")
    found = np.argwhere(one.cell == row * one.cols + col)
    return int(found[0][0]) if found.size else None


def thread(bench: Bench, look: Mapping[str, str]) -> dict[str, Any]:
    """One holder and what it has in every map: the pinned cell's, else the first."""
    own = _pinned(bench, look) or 0
    out = []
    for one in (each for each in bench.maps if each.listed):
        at = min(own, one.cell.shape[0] - 1)
        count = int((one.cell[at] >= 0).sum())
        out.append({
            "title": one.title, "count": f"{count} value{'s' * (count != 1)}", "rows": one.lines(at, bench.letter),
        })  # fmt: skip
    small = f"warp {own // LANES}, lane {own % LANES}" if bench.unit == "thread" else ""
    return {"who": f"{bench.unit.capitalize()} {own}", "small": small, "pinned": bool(look["pin"]), "operands": out}


def legend(bench: Bench, look: Mapping[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(what a colour is, [(fill, the name of its number)]) of every colouring in use."""
    found: dict[str, tuple[str, ...]] = {}
    for one in bench.maps:
        name = colour_of(one, look["colour"])
        names = one.of_cells[name].names if name in one.of_cells else tuple(map(str, range(one.shades[name].count)))
        found[name] = max(found.get(name, ()), names, key=len)
    out = []
    for name, names in found.items():
        wheel = palette.wheel(len(names))
        repeat = f" mod {len(wheel)} ({len(names)} in {len(wheel)} colours)" if len(names) > len(wheel) else ""
        out.append(
            (
                f"Colour = {bench.colours[name]}{repeat}",
                [(fill[2:], said) for fill, said in zip(wheel, names, strict=False)],
            )
        )
    return out


# what the script draws from -------------------------------------------------------------------------------------------


def page_data(
    bench: Bench, state: Mapping[str, Any], defaults: Mapping[str, Any], pictured: Mapping[str, Any]
) -> dict[str, Any]:
    """The same names as an instruction's page has (app/instruction/context.py), for the same scripts. state, defaults:
    the fields of the address; pictured: those of the picture's address."""
    sizes = bench.extents
    return {
        "ptx": bench.says, "path": bench.path, "threads": LANES, "warp": LANES if bench.unit == "thread" else 0,
        "warps": bench.warps, "unit": "lane" if bench.unit == "thread" else bench.unit, "state": dict(state),
        "defaults": dict(defaults), "pictured": dict(pictured), "pin": PIN, "labels": dict(bench.texts),
        "spoken": {"cell": SPOKEN, "owner": bench.owner, "between": BETWEEN_OWNERS}, "extents": sizes,
        "opening": {dim: (0, size) for dim, size in sizes.items()}, "colours": dict(bench.colours), "result": "",
        "holder": bench.letter,
        "panels": [
            {"name": one.name, "title": one.title, "rows": one.rows, "cols": one.cols, "dims": bench.dims_of(one),
             "warp_edges": one.edges[0], "col_edges": one.edges[1], "lines_from": 9}
            for one in bench.maps
        ],
        "operands": {one.name: data(one) for one in bench.maps},
    }  # fmt: skip


def data(one: Held) -> TileData:
    """A map for the script."""
    values, bits = one.cell.shape[1], one.element_bits
    steps = one.cell[0] - one.cell[0, 0]
    adds_up = bool((one.cell >= 0).all()) and bool((one.cell == one.cell[:, :1] + steps).all())
    colours = {
        name: ShadeData(of=shade.of, step=shade.step, count=shade.count, numbers=None, wheel=palette.wheel(shade.count))
        for name, shade in one.shades.items()
    }
    for name, own in one.of_cells.items():
        numbers = tuple(own.numbers.reshape(-1).tolist())
        colours[name] = ShadeData(
            of="cell",
            step=0,
            count=len(own.names),
            numbers=numbers,
            wheel=palette.wheel(len(own.names)),
            names=own.names,
        )
    return TileData(
        name=one.name, title=one.title, element_type=f"b{bits}", rows=one.rows, cols=one.cols,
        copies=one.cells().copies, held_by=list(range(one.cell.shape[0])), team=1,
        first=one.cell[:, 0].tolist() if adds_up else [], steps=steps.tolist() if adds_up else [0] * values,
        period=values, shared=False, registers=0, register=one.group,
        bits=tuple(f"[{v * bits % 32 + bits - 1}:{v * bits % 32}]" for v in range(values)),
        spoken_bits=tuple(f"bits {v * bits % 32} to {v * bits % 32 + bits - 1}" for v in range(values)), digits=(),
        categories=colours, repeats={}, extra={}, cells=None if adds_up else one.cell.reshape(-1).tolist(),
        told={name: numbers.reshape(-1).tolist() for name, numbers in one.told.items()} or None,
        folded=True if one.folded else None, text=one.text or None, unlisted=None if one.listed else True,
    )  # fmt: skip


def moved(one: Panel, place: tuple[float, float], cell: tuple[float, float], spans: tuple[range, range]) -> Panel:
    """A panel at its place of a picture: the window of it that is drawn."""
    rows, cols = spans
    return replace(one, x=place[0], y=place[1], cell_width=cell[0], cell_height=cell[1], rows=len(rows),
                   cols=len(cols), row0=rows.start, col0=cols.start)  # fmt: skip
