"""TiledMMA and TiledCopy by their definition, number by number: CUTLASS 4.7, include/cute/atom/mma_atom.hpp and
copy_atom.hpp. Layouts are evaluated by pycute; nothing here divides layouts but by one dimension.

An element of dimension D stands at place q = P⁻¹ of it, P the permutation; q = place in the atom + size of the atom ·
(atom of the thread + atoms · repetition).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pycute

Ints = np.ndarray[Any, Any]
SIDES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}


def permuted(size: int, tiler: Any) -> Ints:
    """place → real index of one dimension; tiler: a size, or (shape, stride)."""
    if tiler is None:
        return np.arange(size)
    tile = pycute.Layout(tiler) if isinstance(tiler, int) else pycute.Layout(*tiler)
    divided = pycute.logical_divide(pycute.Layout(size), tile)
    return np.asarray(divided(np.arange(size)))  # pycute's arithmetic takes arrays as well as numbers


def threads_of(thr_id: Any, atoms: Any) -> dict[int, tuple[int, tuple[int, int, int]]]:
    """thread → (its number in the atom, the atom's coordinate): the product of ThrID and AtomLayoutMNK."""
    thr, layout = pycute.Layout(*thr_id), pycute.Layout(*atoms)
    rest = pycute.complement(thr, thr.size() * layout.cosize())
    out = {}
    counts = [pycute.size(mode) for mode in layout]
    for m, n, k in product(*map(range, counts)):
        base = rest(int(layout[0](m) + layout[1](n) + layout[2](k)))
        out |= {int(thr(v) + base): (v, (m, n, k)) for v in range(thr.size())}
    return out


def operand(
    name: str,
    tv: Any,
    shape: tuple[int, ...],
    *,
    thr_id: Any,
    atoms: Any,
    tilers: tuple[Any, ...],
    tile: tuple[int, ...],
) -> tuple[list[int], Ints, Ints]:
    """(threads, first coordinate, second coordinate), [thread][value], of CuTe's tensor: (m, k), (n, k) or (m, n)."""
    one, two = SIDES[name]
    held = pycute.Layout(*tv)
    values = pycute.size(held[1])
    teams = [pycute.size(mode) for mode in pycute.Layout(*atoms)]
    places = [permuted(tile[side], tilers[side]) for side in (one, two)]
    times = [tile[side] // (shape[side] * teams[side]) for side in (one, two)]
    threads = threads_of(thr_id, atoms)
    ids = sorted(threads)
    own = pycute.size(held[0])
    table = np.broadcast_to(held(np.arange(own)[:, None], np.arange(values)[None, :]), (own, values))
    firsts, seconds = [], []
    for thread in ids:
        v, atom = threads[thread]
        x, y = table[v] % shape[one], table[v] // shape[one]
        first = [x + shape[one] * (atom[one] + teams[one] * r) for _ in range(times[1]) for r in range(times[0])]
        second = [y + shape[two] * (atom[two] + teams[two] * s) for s in range(times[1]) for _ in range(times[0])]
        firsts.append(places[0][np.concatenate(first)])
        seconds.append(places[1][np.concatenate(second)])
    return ids, np.array(firsts), np.array(seconds)
