"""The maps of a TiledMMA page, and its state in the address. Scripts read SPEC and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from urllib.parse import urlencode

import numpy as np

from lanescope.app.kit.answer import get_per_register, list_value_bits
from lanescope.app.kit.look import read_values, require_right
from lanescope.app.kit.maps import stage
from lanescope.app.kit.maps.bench import HolderMap, Longs, MapBench
from lanescope.app.tiles import answer
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.render import window
from lanescope.render.view import OWNER
from lanescope.tiles import shades
from lanescope.tiles.mma import SIDES, TiledMMA, TileOperand

PATH = "/tiles/mma"
LABELS = {
    "thread:value": "T{thread}{more}:{values}",
    "register": "T{thread}{more} R{registers}",
    "row,col": "{row},{col}",
    "none": "",
}
LABEL_WORDS = {"thread:value": "thread : value", "register": "register", "row,col": "row, column", "none": "none"}
DIMS = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}
ALL = -1  # position of a slider for all steps


@dataclass(frozen=True, slots=True)
class BenchState:
    """atom, atom_layout, permutation, tile, target: as the address gives them · colour: one of lanescope.tiles.shades ·
    label: one of LABELS · warps, lanes: "", or "0-3,8" · k, m, n: one step of the dimension, or -1 for all · pin, pin2:
    "", or "c:3,2", or "thread:13" · sel: "", or "c:0-15,8-23", a region whose threads are lit · view: as
    lanescope.render.window reads it.
    """

    atom: str = ""
    atom_layout: str = ""
    permutation: str = ""
    tile: str = ""
    target: str = ""
    colour: str = "warp"
    label: str = "thread:value"
    warps: str = ""
    lanes: str = ""
    k: int = ALL
    m: int = ALL
    n: int = ALL
    pin: str = ""
    pin2: str = ""
    sel: str = ""
    view: str = ""

    def format_query(self, default: BenchState, **instead: str | int) -> str:
        """Return the query with the fields that differ from the defaults. instead: fields to replace."""
        values, usual = {**asdict(self), **instead}, asdict(default)
        return urlencode({name: value for name, value in values.items() if value != usual[name]}, safe=":,()")


def make_bench(tiled_mma: TiledMMA) -> MapBench:
    """Return A, B and C of a TiledMMA as maps of threads; nobody holds an operand in shared memory."""
    maps = tuple(_make_map(tiled_mma, tiled_mma.operand(name)) for name in SIDES)
    colours = shades.list_shades(tiled_mma)
    return MapBench(
        PATH,
        "the TiledMMA",
        maps,
        colours,
        LABEL_WORDS,
        LABELS,
        "R",
        owner=OWNER,
        dims=DIMS,
        answer=answer.LINE,
        words=answer.build_words(tiled_mma),
        example=answer.EXAMPLE,
        occupied=tiled_mma.thread_ids.tolist(),
    )


def _make_map(tiled_mma: TiledMMA, op: TileOperand) -> HolderMap:
    sizes = dict(zip("mnk", zip(tiled_mma.shape, tiled_mma.tile, strict=True), strict=True))
    down, across = (list(range(step, size, step)) for step, size in (sizes[dim] for dim in DIMS[op.name]))
    atom_operand = answer.get_atom_operand(tiled_mma, op)
    bits = list_value_bits(atom_operand)[: op.modes[0]]
    return HolderMap(
        op.name,
        op.name.upper(),
        "",
        op.row_count,
        op.col_count,
        list_cells(op),
        op.element_bits,
        shades.list_operand_shades(tiled_mma, op),
        edges=(down, across),
        group=() if op.shared else shades.map_registers(tiled_mma, op),
        answer=answer.SHARED if op.shared else "",
        shared=op.shared,
        bits=() if op.shared else bits * (op.values // len(bits)),
        per_register=0 if op.shared else get_per_register(atom_operand),
    )


def list_cells(op: TileOperand) -> Longs:
    """Return the cell of each value of each thread, -1 for a thread without any."""
    cells = np.full((int(op.thread_ids[-1]) + 1, op.values), -1, dtype=np.int64)
    cells[op.thread_ids] = op.rows.astype(np.int64) * op.col_count + op.cols
    return cells


def get_extents(tiled_mma: TiledMMA) -> dict[str, int]:
    """Return the number of cells in each dimension."""
    return dict(zip("mnk", tiled_mma.tile, strict=True))


def parse_state(
    tiled_mma: TiledMMA, base: BenchState, query: Mapping[str, str]
) -> tuple[BenchState, list[LayoutError]]:
    """Return the state of a query over the fields of `base`, and the error of each illegal value."""
    names = ("colour", "label", "warps", "lanes", "k", "m", "n", "pin", "pin2", "sel", "view")
    read, refused = read_values(query, names, partial(_parse_option, tiled_mma, make_bench(tiled_mma)))
    chosen = asdict(base) | read
    if chosen["pin2"] and not chosen["pin"]:
        chosen["pin"], chosen["pin2"] = chosen["pin2"], ""
    return BenchState(**chosen), refused


def require_state(tiled_mma: TiledMMA, base: BenchState, query: Mapping[str, str]) -> BenchState:
    """Return the state of a query over the fields of `base`. LayoutError for the first illegal value."""
    chosen, refused = parse_state(tiled_mma, base, query)
    require_right(refused)
    return chosen


def _parse_option(tiled_mma: TiledMMA, bench: MapBench, name: str, text: str) -> str | int:
    if name in "mnk":
        return ALL if text == str(ALL) else parse_integer(text, name, 0, tiled_mma.rests["mnk".index(name)] - 1)
    if name == "view":
        return text if text == window.ALL else window.format_ranges(window.parse_ranges(text, get_extents(tiled_mma)))
    return stage.parse_option(bench, name, text)
