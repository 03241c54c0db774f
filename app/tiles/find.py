"""The find field of a TiledMMA's page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lanescope.app.kit.find_field import FindField, FindMatrix
from lanescope.app.kit.maps.find import list_held
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.tiles.draw import make_bench
from lanescope.app.tiles.state import DIMS, get_extents
from lanescope.ptx.instruction import WARP
from lanescope.tiles.mma import TiledMMA

EXAMPLE = "C(37,50), T13, R2 of T13"


def find_pins(tiled_mma: TiledMMA, text: str) -> dict[str, str]:
    """Return the pins of the places that a text names, as parts of an address; the second is "" if there is one place.

    A place is an element, a thread, or a register or value of a thread. LayoutError `bad_find` names the legal range.
    """
    return pin_places(tiled_mma, _make_field(tiled_mma).parse_places(text))


def pin_places(tiled_mma: TiledMMA, places: Sequence[SoughtPlace]) -> dict[str, str]:
    """Return the pins of places, as `find_pins`."""
    pins = _make_field(tiled_mma).find_pins(places)
    return {**pins, "pin2": pins.get("pin2", "")}


def _make_field(tiled_mma: TiledMMA) -> FindField:
    """Return the find field of a TiledMMA, whose elements threads hold."""
    sizes, ids = get_extents(tiled_mma), tiled_mma.thread_ids.tolist()
    matrices = {
        name: FindMatrix(name, name.upper(), sizes[down], sizes[across]) for name, (down, across) in DIMS.items()
    }
    matrices["d"] = matrices["c"]
    return FindField(
        matrices,
        EXAMPLE,
        ids,
        warps=-(-(ids[-1] + 1) // WARP.threads),
        list_cells=partial(list_held, make_bench(tiled_mma).maps),
    )
