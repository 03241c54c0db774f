"""State of a TiledMMA page in its address. Scripts read SPEC and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from urllib.parse import urlencode

from lanescope.app.kit.look import parse_list, read_values, require_right
from lanescope.app.kit.maps.bench import split_pin
from lanescope.app.kit.maps.stage import parse_place
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, parse_ranges
from lanescope.render import window
from lanescope.tiles.mma import SIDES, TiledMMA
from lanescope.tiles.shades import list_shades

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

    def find_threads(self, tiled_mma: TiledMMA) -> frozenset[int] | None:
        """Return the threads of the selected warps and lanes, None for all."""
        if not self.warps and not self.lanes:
            return None
        warps = _parse_numbers(self.warps) if self.warps else None
        lanes = _parse_numbers(self.lanes) if self.lanes else None
        ids = tiled_mma.thread_ids.tolist()
        return frozenset(t for t in ids if (warps is None or t // 32 in warps) and (lanes is None or t % 32 in lanes))

    def list_pins(self) -> list[tuple[str, int, int | None]]:
        """Return (matrix, row, column) of each pin; for a thread ("thread", number, None)."""
        return [split_pin(pin) for pin in (self.pin, self.pin2) if pin]


def _parse_numbers(text: str) -> frozenset[int]:
    return frozenset(n for first, last in parse_ranges(text, "lanes", 1024) for n in range(first, last + 1))


def count_warps(tiled_mma: TiledMMA) -> int:
    """Return the number of warps up to the last one that works."""
    return int(tiled_mma.thread_ids[-1]) // 32 + 1


def get_extents(tiled_mma: TiledMMA) -> dict[str, int]:
    """Return the number of cells in each dimension."""
    return dict(zip("mnk", tiled_mma.tile, strict=True))


def parse_state(
    tiled_mma: TiledMMA, base: BenchState, query: Mapping[str, str]
) -> tuple[BenchState, list[LayoutError]]:
    """Return the state of a query over the fields of `base`, and the error of each illegal value."""
    names = ("colour", "label", "warps", "lanes", "k", "m", "n", "pin", "pin2", "sel", "view")
    read, refused = read_values(query, names, partial(_parse_option, tiled_mma))
    chosen = asdict(base) | read
    if chosen["pin2"] and not chosen["pin"]:
        chosen["pin"], chosen["pin2"] = chosen["pin2"], ""
    return BenchState(**chosen), refused


def require_state(tiled_mma: TiledMMA, base: BenchState, query: Mapping[str, str]) -> BenchState:
    """Return the state of a query over the fields of `base`. LayoutError for the first illegal value."""
    chosen, refused = parse_state(tiled_mma, base, query)
    require_right(refused)
    return chosen


def _parse_option(tiled_mma: TiledMMA, name: str, text: str) -> str | int:
    if name == "colour":
        return parse_choice(text, name, list(list_shades(tiled_mma)))
    if name == "label":
        return parse_choice(text, name, list(LABELS))
    if name in ("warps", "lanes"):
        return parse_list(text, name, count_warps(tiled_mma) if name == "warps" else 32)
    if name in "mnk":
        return ALL if text == str(ALL) else parse_integer(text, name, 0, tiled_mma.rests["mnk".index(name)] - 1)
    if name == "view":
        return text if text == window.ALL else window.format_ranges(window.parse_ranges(text, get_extents(tiled_mma)))
    if name != "sel" and text.startswith("thread:"):
        thread = parse_integer(text.removeprefix("thread:"), name, 0, int(tiled_mma.thread_ids[-1]))
        if thread not in tiled_mma.thread_ids.tolist():
            raise LayoutError("bad_pin", f"Thread {thread} holds nothing.", "Some threads are idle here.", name)
        return f"thread:{thread}"
    extents = get_extents(tiled_mma)
    return parse_place(name, text, {each: (extents[DIMS[each][0]], extents[DIMS[each][1]]) for each in SIDES})
