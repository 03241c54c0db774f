"""Explain why no ldmatrix fills an operand from a storage, and suggest what would."""

from __future__ import annotations

import numpy as np

from lanescope.ptx.instruction import Operand
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_line_storage
from lanescope.shared.pieces import Ints, OperandGranules, make_operand_granules
from lanescope.shared.storage import Storage

UNIT_BITS = 16  # moved together by ldmatrix and stmatrix, also with .trans


def explain_no_feed(operand: Operand, stored: Storage | str, store: bool = False) -> str:
    """Explain why no ldmatrix fills an operand from a storage (no stmatrix writes it there).

    stored: a storage, or the major of `make_line_storage`.
    """
    stored = make_line_storage(operand, stored) if isinstance(stored, str) else stored
    want = make_operand_granules(operand)
    placement = stored.placed
    assert placement is not None
    at = np.asarray(placement.locate_bits(placement.before(want.mn, want.k, want.shift)), np.int64)
    if reason := _describe_torn_unit(want, at, store):
        return f"{reason} {_suggest_alternative(operand, store)}"
    for load in chain.list_candidates(operand, store):
        candidate = chain.make_chain(load, operand, stored)
        if candidate.uniform.all() and candidate.notes:
            return candidate.notes[0]
    return f"{_describe_split_rows(want, at, store)} {_suggest_alternative(operand, store)}"


def _describe_torn_unit(want: OperandGranules, at: Ints, store: bool) -> str:
    """Return a sentence if a register's 16-bit unit is not contiguous in memory; "" if all are."""
    per = UNIT_BITS // want.granule_bits
    units = at.reshape(*at.shape[:3], -1, per)
    wrong = np.argwhere(units != units[..., :1] + want.granule_bits * np.arange(per))
    if not len(wrong):
        return ""
    warp, lane, register, unit, inside = (int(n) for n in wrong[0])
    first, other = (warp, lane, register, unit * per), (warp, lane, register, unit * per + inside)
    bits = want.operand.container_bits
    if want.get_element(*first) == want.get_element(*other):
        return f"The swizzle splits {want.format_element(*first)}: its base M is smaller than the element."
    unit_text = {8: "pairs of bytes", 4: "four elements", 1: "sixteen elements"}[bits]
    apart = int(at[other] - at[first])
    distance = f"{apart / 8:g} bytes" if apart % 8 == 0 else f"{apart} bits"
    return (
        f"{'stmatrix' if store else 'ldmatrix'} moves 16-bit units, also with .trans: {unit_text} stay together. Lane"
        f" {warp * 32 + lane} {'holds' if store else 'needs'} {want.format_element(*first)} and"
        f" {want.format_element(*other)} in one unit of register {register}, but in memory they are {distance} apart."
    )


def _describe_split_rows(want: OperandGranules, at: Ints, store: bool) -> str:
    """Return a sentence that says which units should be adjacent, if no 16 bytes of memory are a row of a matrix."""
    name = "stmatrix" if store else "ldmatrix"
    per = UNIT_BITS // want.granule_bits
    straight, turned = (int(at[0, lane, 0, 0] - at[0, 0, 0, 0]) for lane in (1, 4))
    half = int(at[0, 0, 0, per] - at[0, 0, 0, 0])
    if want.operand.container_bits == 32:
        return (
            f"{name} without .trans moves 16 bytes of one row, four 32-bit elements along K: here"
            f" {want.format_element(0, 0, 0, 0)} and {want.format_element(0, 1, 0, 0)} are {_format_bytes(straight)}"
            " apart. .trans moves 16-bit units and would split elements."
        )
    return (
        "No 16 bytes of memory hold a row of a matrix. Without .trans it is the registers of four lanes, here "
        f"{_format_bytes(half)} from a unit to the next and {_format_bytes(straight)} from a lane to the next (2"
        f" and 4 are needed); "
        f"with .trans it is one unit of eight lanes, here {_format_bytes(turned)} from lane 0 to lane 4 (2 are needed)."
    )


def _format_bytes(bits: int) -> str:
    return f"{bits / 8:g} bytes"


def _suggest_alternative(operand: Operand, store: bool) -> str:
    """Return a suggestion: another storage, or other instructions."""
    bits, dim = operand.container_bits, "M" if operand.name == "a" else "N"
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
        f"Store it K-major. Or keep {pieces} in one 16-bit unit and lay the units side by side along {dim}: then"
        f" .trans feeds it.{byte}"
    )
