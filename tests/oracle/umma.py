"""CuTe's UMMA atoms by their definition, evaluated by pycute: CUTLASS 4.7, include/cute/atom/mma_traits_sm100.hpp
(ThrID, ALayout, BLayout, CLayout), mma_traits_sm100_frag.hpp (tmem_frg) and UMMA::tile_to_mma_shape.
"""

from __future__ import annotations

from typing import Any

import pycute

LANE_SHIFT = 16


def traits(ctas: int, m: int, n: int, k: int) -> dict[str, Any]:
    """ThrID and the thread-value layouts of A, B and C, as (shape, stride)."""
    if ctas == 1:
        out = {
            name: ((1, rows), (0, (1, size)))
            for name, rows, size in (("a", (m, k), m), ("b", (n, k), n), ("c", (m, n), m))
        }
        return {"thr": (1, 0), **out}
    return {
        "thr": (2, 1),
        "a": ((2, (m // 2, k)), (m // 2, (1, m))),
        "b": ((2, (n // 2, k)), (n // 2, (1, n))),
        "c": ((2, (m // 2, n)), (m // 2, (1, m))),
    }


def _product(atom: Any, rest: Any) -> Any:
    """(atom, repeats): the tiler's steps behind the atom, as CuTe's tiled_product lays them."""
    behind = pycute.complement(atom, pycute.size(atom) * pycute.cosize(rest))
    return pycute.composition(behind, rest)


def accumulators(ctas: int, rows: int, n: int, times: tuple[int, int], interleaved: bool) -> list[int]:
    """Address, lane << 16 | column, of each accumulator of 32 bits: repeats in M, then in N. rows: of one CTA."""
    if ctas == 1 and rows == 64:
        atom = pycute.Layout(((16, 4), n), ((1, 32), 128))
        step = 1 if interleaved else 2
    elif ctas == 2 and rows == 64:
        atom, step = pycute.Layout((64, (n // 2, 2)), (1, (128, 64))), 1
    else:
        atom, step = pycute.Layout((128, n), (1, 128)), 1
    rest = _product(atom, pycute.Layout(times, (step, step * times[0])))
    at = [int(rest((i, j))) for j in range(times[1]) for i in range(times[0])]
    return [place % 128 << LANE_SHIFT | place // 128 for place in at]


def shared(atom: tuple[int, int], width: int, size: tuple[int, int], first: int, row: int, col: int) -> int:
    """Element offset of (row, k) of a K-major tile in CuTe's tile_to_shape, before the swizzle: atoms of (8, width)
    elements, laid along dimension `first` first."""
    counts = [whole // own for whole, own in zip(size, atom, strict=True)]
    place = [row // atom[0], col // atom[1]]
    number = place[0] + counts[0] * place[1] if first == 0 else place[1] + counts[1] * place[0]
    return number * atom[0] * atom[1] + row % atom[0] * width + col % atom[1]
