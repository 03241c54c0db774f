"""The find field of a TiledMMA's page. No framework."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.app.kit.find import SoughtPlace, check_element, parse_places
from lanescope.app.kit.maps.bench import HOLDER_PIN, PIN
from lanescope.app.tiles.state import DIMS, get_extents
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP
from lanescope.tiles import shades
from lanescope.tiles.mma import SIDES, TiledMMA

EXAMPLE = "C(37,50), T13, R2 of T13"


def find_pins(made: TiledMMA, text: str) -> dict[str, str]:
    """Find what a text names, as the parts of an address: pin, and pin2, "" where it names one place.

    A pin is an element, a thread, or what a register or a value of one holds. LayoutError `bad_find` names the legal
    range.
    """
    return pin_places(made, parse_places(text, (*SIDES, "d"), EXAMPLE))


def pin_places(made: TiledMMA, places: Sequence[SoughtPlace]) -> dict[str, str]:
    """Pin places that a text names, as `find_pins`."""
    pins = [_find_pin(made, place) for place in places]
    return dict(zip(("pin", "pin2"), [*pins, ""], strict=False))


def _find_pin(made: TiledMMA, place: SoughtPlace) -> str:
    sizes, matrix = get_extents(made), place.matrix.replace("d", "c")
    if place.thread is None:
        rows, cols = (sizes[dim] for dim in DIMS[matrix])
        row, col = check_element(place, rows, cols, place.matrix.upper())
        return PIN.format(panel=matrix, row=row, col=col)
    if place.is_lane and place.warp is None and int(made.thread_ids[-1]) >= WARP.threads:
        hint = f"Write warp 0 lane {place.thread}, or a thread as T{place.thread}."
        raise LayoutError("bad_find", f"Several warps have a lane {place.thread}.", hint, "find")
    if place.warp is not None and place.thread >= WARP.threads:
        raise LayoutError("bad_find", "A warp has lanes 0–31.", "", "find")
    return _find_held(made, place.thread + WARP.threads * (place.warp or 0), matrix, place.register, place.value)


def _find_held(made: TiledMMA, thread: int, matrix: str, register: int | None, value: int | None) -> str:
    ids = made.thread_ids.tolist()
    if thread not in ids:
        raise LayoutError("bad_find", f"No thread {thread} works here.", f"Threads run from 0 to {ids[-1]}.", "find")
    if register is None and value is None:
        return HOLDER_PIN.format(unit="thread", holder=thread)
    legal = []
    for name in [matrix] if matrix else SIDES:
        op = made.operand(name)
        if op.shared or thread not in op.thread_ids.tolist():
            continue
        at = op.thread_ids.tolist().index(thread)
        registers = list(shades.map_registers(made, op))
        for number, own in enumerate(registers):
            if register in (None, own) and value in (None, number):
                return PIN.format(panel=name, row=int(op.rows[at, number]), col=int(op.cols[at, number]))
        legal.append(f"{name.upper()} {op.values} values in R{min(registers)}–R{max(registers)}")
    raise LayoutError(
        "bad_find", f"Thread {thread} has no such value.", f"It holds {', '.join(legal) or 'nothing here'}.", "find"
    )
