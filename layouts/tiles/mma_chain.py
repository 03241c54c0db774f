"""Check whether the accumulator of one TiledMMA can be A of the next in registers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.tiles.mma import TiledMMA, TileOperand


@dataclass(frozen=True, slots=True)
class MmaChain:
    """The relation between C of one TiledMMA and A of the next.

    elements: of the tile; stay: those already in the thread that needs them; in_warp: those in its warp; order:
    [values], the C value that becomes each A value, if it is the same for all threads; k_order: [k], the column of C to
    use as column k of A so that every element stays in its thread, if there is one; the rows of B are reordered
    likewise.
    """

    elements: int
    stay: int
    in_warp: int
    order: tuple[int, ...] | None
    k_order: tuple[int, ...] | None = None

    @property
    def same_thread(self) -> bool:
        return self.stay == self.elements

    @property
    def identity(self) -> bool:
        """Whether the order of the values is the same, too."""
        return self.order is not None and self.order == tuple(range(len(self.order)))


def chain_mmas(first: TiledMMA, second: TiledMMA) -> MmaChain:
    """Compare C of `first` (m, n) with A of `second` (m, k), as for FlashAttention's P.

    LayoutError if the tiles differ, or if C consists of partial sums because `first` has several atoms along K.
    """
    first.require_registers("first")
    second.require_registers("second")
    if first.atoms[2] > 1:
        raise LayoutError(
            "no_chain",
            f"C of the first TiledMMA is in parts: its {first.atoms[2]} atoms along K each hold a partial sum.",
            "Use an atom layout with 1 in K, or add the parts up before the second product.",
            "first",
        )
    c, a = first.c, second.a
    if a.shared:
        raise LayoutError(
            "no_chain",
            "A of the second TiledMMA is in shared memory.",
            "Use an atom that reads A from registers (_RS).",
            "second",
        )
    if (c.row_count, c.col_count) != (a.row_count, a.col_count):
        raise LayoutError(
            "no_chain",
            f"C is {c.row_count}×{c.col_count}, A is {a.row_count}×{a.col_count}.",
            "K of the second tile is N of the first; M is the same.",
            "second",
        )
    places = np.full(c.row_count * c.col_count, -1, dtype=np.int64)  # element → thread of C that holds it
    places[(c.rows.astype(np.int64) * c.col_count + c.cols).reshape(-1)] = np.repeat(c.thread_ids, c.values)
    needed = a.rows.astype(np.int64) * a.col_count + a.cols
    thread = np.broadcast_to(a.thread_ids[:, None], needed.shape)
    stay, warp = places[needed] == thread, places[needed] // 32 == thread // 32
    order = None
    if bool(stay.all()) and c.values == a.values and np.array_equal(c.thread_ids, a.thread_ids):
        produced = c.rows.astype(np.int64) * c.col_count + c.cols
        by_c, by_a = np.argsort(produced, axis=1, kind="stable"), np.argsort(needed, axis=1, kind="stable")
        moves = np.empty_like(by_a)
        np.put_along_axis(moves, by_a, by_c, axis=1)
        if (moves == moves[0]).all():
            order = tuple(int(at) for at in moves[0])
    columns = None if stay.all() or a.copies > 1 else _find_k_order(places.reshape(c.row_count, -1), a)
    return MmaChain(int(needed.size), int(stay.sum()), int(warp.sum()), order, columns)


def _find_k_order(places: NDArray[np.int64], a: TileOperand) -> tuple[int, ...] | None:
    """Return, for each column of A, a column of C held by the same threads row by row; None if there is none.

    places: [m, n], the thread of each element of C.
    """
    owners = np.empty((a.row_count, a.col_count), dtype=np.int64)
    owners[a.rows, a.cols] = a.thread_ids[:, None]
    free: dict[bytes, list[int]] = {}
    for n in range(places.shape[1] - 1, -1, -1):
        free.setdefault(places[:, n].tobytes(), []).append(n)
    candidates = [free.get(owners[:, k].tobytes(), []) for k in range(a.col_count)]
    if not all(candidates):
        return None
    order = [columns.pop() if columns else -1 for columns in candidates]
    return tuple(order) if -1 not in order else None
