"""Why no ldmatrix feeds an operand from a storage, and what would: the bytes that a 16-bit unit and a row of a matrix
need side by side.
"""

from __future__ import annotations

import numpy as np

from lanescope.ptx.instruction import Operand
from lanescope.shared import chain
from lanescope.shared.pieces import Ints, Wanted, wanted
from lanescope.shared.storage import Storage

UNIT_BITS = 16  # what ldmatrix and stmatrix move, .trans too


def why_not(operand: Operand, where: Storage | str, store: bool = False) -> str:
    """Explain why no load fills an operand from a storage (or stores it there); where: a storage, or the major of
    `chain.lines`.
    """
    where = chain.lines(operand, where) if isinstance(where, str) else where
    want = wanted(operand)
    placed = where.placed
    assert placed is not None
    at = np.asarray(placed.locate(placed.before(want.mn, want.k, want.shift)), np.int64)
    if broken := _torn(want, at, store):
        return f"{broken} {_instead(operand, store)}"
    for load in chain.candidates(operand, store):
        found = chain.chain(load, operand, where)
        if found.uniform.all() and found.notes:
            return found.notes[0]
    return f"{_apart(want, at, store)} {_instead(operand, store)}"


def _torn(want: Wanted, at: Ints, store: bool) -> str:
    """Say where a register's 16-bit unit is not 16 contiguous bits of memory; "" where all are."""
    per = UNIT_BITS // want.granule_bits
    units = at.reshape(*at.shape[:3], -1, per)
    wrong = np.argwhere(units != units[..., :1] + want.granule_bits * np.arange(per))
    if not len(wrong):
        return ""
    warp, lane, register, unit, inside = (int(n) for n in wrong[0])
    first, other = (warp, lane, register, unit * per), (warp, lane, register, unit * per + inside)
    bits = want.operand.container_bits
    if want.element(*first) == want.element(*other):
        return f"The swizzle splits {want.name(*first)}: its base M lies below the element."
    kept = {8: "pairs of bytes stay together", 4: "four elements stay together", 1: "sixteen elements stay together"}[
        bits
    ]
    apart = int(at[other] - at[first])
    distance = f"{apart / 8:g} bytes" if apart % 8 == 0 else f"{apart} bits"
    return (
        f"{'stmatrix' if store else 'ldmatrix'} moves 16-bit units, with .trans too: {kept}. Lane {warp * 32 + lane}"
        f" {'holds' if store else 'wants'} {want.name(*first)} and {want.name(*other)} in one unit of register"
        f" {register}, and here they lie {distance} apart."
    )


def _apart(want: Wanted, at: Ints, store: bool) -> str:
    """Say which bytes lanes 0 and 1 (.trans: 0 and 4) need side by side.

    Here units are whole, but no 16 bytes of memory are a row of a matrix.
    """
    name = "stmatrix" if store else "ldmatrix"
    per = UNIT_BITS // want.granule_bits
    straight, turned = (int(at[0, lane, 0, 0] - at[0, 0, 0, 0]) for lane in (1, 4))
    half = int(at[0, 0, 0, per] - at[0, 0, 0, 0])
    if want.operand.container_bits == 32:
        return (
            f"{name} without .trans takes 16 bytes of one row, four 32-bit elements along K: here"
            f" {want.name(0, 0, 0, 0)} and {want.name(0, 1, 0, 0)} lie {_bytes(straight)} apart. .trans moves 16-bit"
            " units and would split elements."
        )
    return (
        "No 16 bytes of memory hold a row of a matrix. Without .trans it is the registers of four lanes, here "
        f"{_bytes(half)} from a unit to the next and {_bytes(straight)} from a lane to the next (2 and 4 are needed); "
        f"with .trans it is one unit of eight lanes, here {_bytes(turned)} from lane 0 to lane 4 (2 are needed)."
    )


def _bytes(bits: int) -> str:
    return f"{bits / 8:g} bytes"


def _instead(operand: Operand, store: bool) -> str:
    """Say what to do: another storage, or other instructions."""
    bits, other = operand.container_bits, "M" if operand.name == "a" else "N"
    if store:
        return "Store rows of N side by side, or columns of M with .trans."
    pieces = {8: "pairs k, k + 1", 4: "groups of four k", 1: "groups of sixteen k"}.get(bits)
    if pieces is None:
        return "Store it K-major, or load it with ld.shared."
    byte = (
        " Or exchange bytes in registers. On sm_100a and sm_120a ldmatrix.m16n16.trans.b8 transposes bytes."
        if bits == 8
        else ""
    )
    return (
        f"Store it K-major. Or keep {pieces} in one 16-bit unit and lay the units side by side along {other}: then"
        f" .trans feeds it.{byte}"
    )
