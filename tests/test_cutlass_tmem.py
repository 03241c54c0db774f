"""Tensor memory against CUTLASS's own headers: every copy atom, D of every legal N, A of every width.

golden/cutlass_tmem.json holds what the headers give where they are compiled for the host and evaluated: a hash of the
addresses of each map. Facts alone: no code of CUTLASS is here.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.tmem import TmemMma, TmemOperandLayout
from lanescope.ptx.table import tmem as rows
from lanescope.ptx.table.kinds import WS
from tests.cases import for_each

HELD = json.loads((Path(__file__).parent / "golden" / "cutlass_tmem.json").read_text())


def _hash_addresses(addresses: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(addresses, np.int64).tobytes()).hexdigest()[:16]


def _list_addresses(held: TmemOperandLayout) -> NDArray[np.int64]:
    """Address of every element in units of its width, of several copies and halves the first: [row][column]."""
    lane, unit = (at[..., 0] for at in held.pattern.inverse())
    lane, unit = (at[..., 0] if at.ndim == 3 else at for at in (lane, unit))
    return (lane.astype(np.int64) << 16 + (32 // held.bits).bit_length() - 1) | unit


def test_every_copy_atom() -> None:
    """74 loads and 74 stores: the bit address of what each register's halves take."""
    wrong = []
    for text, meant in HELD["copies"].items():
        lane, column = tmem.parse_access(text).pattern.evaluate()[:2]
        if _hash_addresses((lane.astype(np.int64) << 21) | column.astype(np.int64) * 32) != meant:
            wrong.append(text)
    assert len(HELD["copies"]) == rows.MOVE_MAPS == 148 and wrong == []


def test_d_of_every_legal_n() -> None:
    wrong = []
    for case, meant in HELD["d"].items():
        form, m, n = case.split()
        if (
            _hash_addresses(
                _list_addresses(tmem.make_tmem_layout(TmemMma(idesc.get_kind("f16"), form, False, int(m), int(n)), "d"))
            )
            != meant
        ):
            wrong.append(case)
    assert len(HELD["d"]) == 105 and sum(case.startswith(WS) for case in HELD["d"]) == 9 and wrong == []


@for_each("case", HELD["a"])
def test_a_of_every_width(case: str) -> None:
    form, m, kind = case.split()
    assert (
        _hash_addresses(
            _list_addresses(tmem.make_tmem_layout(TmemMma(idesc.get_kind(kind), form, False, int(m), 64), "a"))
        )
        == HELD["a"][case]
    )
