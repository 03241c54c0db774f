"""The find field of a TiledMMA's page."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.tiles.state import DIMS, get_extents
from lanescope.ptx.instruction import WARP
from lanescope.tiles import shades
from lanescope.tiles.mma import SIDES, TiledMMA

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
        list_cells=lambda thread: _list_held(tiled_mma, thread),
    )


def _list_held(tiled_mma: TiledMMA, thread: int) -> list[HeldCell]:
    out = []
    for name in SIDES:
        op = tiled_mma.operand(name)
        if op.shared or thread not in op.thread_ids.tolist():
            continue
        at = op.thread_ids.tolist().index(thread)
        for value, register in enumerate(shades.map_registers(tiled_mma, op)):
            row, col = int(op.rows[at, value]), int(op.cols[at, value])
            out.append(HeldCell(name, name.upper(), register, value, row, col))
    return out
