"""The find field of a TiledMMA's page. No framework."""

from __future__ import annotations

from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.tiles.state import DIMS, get_extents
from lanescope.ptx.instruction import WARP
from lanescope.tiles import shades
from lanescope.tiles.mma import SIDES, TiledMMA

EXAMPLE = "C(37,50), T13, R2 of T13"


def find_pins(made: TiledMMA, text: str) -> dict[str, str]:
    """Find what a text names, as the parts of an address: pin, and pin2, "" where it names one place.

    A pin is an element, a thread, or what a register or a value of one holds. LayoutError `bad_find` names the legal
    range.
    """
    sizes, ids = get_extents(made), made.thread_ids.tolist()
    matrices = {
        name: FindMatrix(name, name.upper(), sizes[down], sizes[across]) for name, (down, across) in DIMS.items()
    }
    matrices["d"] = matrices["c"]
    field = FindField(
        matrices, EXAMPLE, ids, warps=-(-(ids[-1] + 1) // WARP.threads), held=lambda thread: _list_held(made, thread)
    )
    return {"pin2": "", **field.find_pins(field.parse_places(text))}


def _list_held(made: TiledMMA, thread: int) -> list[HeldCell]:
    out = []
    for name in SIDES:
        op = made.operand(name)
        if op.shared or thread not in op.thread_ids.tolist():
            continue
        at = op.thread_ids.tolist().index(thread)
        for value, register in enumerate(shades.map_registers(made, op)):
            row, col = int(op.rows[at, value]), int(op.cols[at, value])
            out.append(HeldCell(name, name.upper(), register, value, row, col))
    return out
