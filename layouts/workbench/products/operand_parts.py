"""Check the parts of an operand that several boxes bring: that the CTAs of a pair have different halves of A and of B
(PTX ISA 9.1, 9.7.16.5), and that the parts of a tile are in the order of D.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.misplaced_tiles import StoredTile, are_placed
from lanescope.workbench.products.origin_places import find_coordinate_site
from lanescope.workbench.products.product_origins import OriginFinder, SumOrigin
from lanescope.workbench.results import Span

_RANK = re.compile(r"rank|ctaid", re.I)


def find_same_half(finders: Iterable[OriginFinder]) -> Pitfall | None:
    """Return the finding of rows of A or B that both CTAs of a pair have."""
    for finder in finders:
        for total, other in _list_pairs(finder):
            half = len(total.columns) // 2
            for n, parts in enumerate(((total.rows, other.rows), (total.columns[:half], total.columns[half:]))):
                same = np.intersect1d(*parts)
                if len(same):
                    return _describe(total, n, same)
    return None


def _list_pairs(finder: OriginFinder) -> Iterator[tuple[SumOrigin, SumOrigin]]:
    """Yield the sums of the products that a block issues for a pair, in both of its blocks."""
    blocks = [finder] if finder.mate is None else [finder, finder.mate]
    for result, products in finder.products.items():
        sums = [one.find_sum(result, 0) for one in blocks] if products[0].pair else []
        known = [one for one in sums if one is not None]
        if len(known) == 2:
            yield known[0], known[1]


def _describe(total: SumOrigin, side: int, same: Ints) -> Pitfall:
    message = (
        f"Both CTAs of a pair copy rows {same.min()} to {same.max()} of {'AB'[side]}: of a tcgen05.mma with"
        " cta_group::2 each must have a half of its own."
    )
    return Pitfall("row_coordinate_wrong", message, _find_half_site(total, side))


def find_repeated_rows(tiles: Mapping[str, Sequence[StoredTile]]) -> Pitfall | None:
    """Return the finding of boxes that bring the same rows to two parts of an operand, if all of D is stored, not all
    at its rows and columns.
    """
    every = [tile for of_array in tiles.values() for tile in of_array]
    if any(tile.left for tile in every) or all(map(are_placed, tiles.values())):
        return None
    for total, side in ((tile.sum, side) for tile in every for side in (0, 1)):
        lines = _get_lines(total, side)
        rows, counts = np.unique(lines, return_counts=True)
        parts = total.boxes[side].count_along(total.numbers[side]) < len(lines)  # else of the descriptor's strides
        if parts and (counts > 1).any():
            again = rows[counts > 1]
            message = (
                f"Rows {again.min()} to {again.max()} of {'AB'[side]} are in two parts of the tile that a product"
                f" takes, and D is stored as if all of its {('rows', 'columns')[side]} were different ones."
            )
            return Pitfall("row_coordinate_wrong", message, total.boxes[side].move.call)
    return None


def find_displaced_half(tiles: Mapping[str, Sequence[StoredTile]]) -> Pitfall | None:
    """Return the finding of a half of B that one CTA of each pair copies, if exactly its columns of D are stored away
    from their places, by one distance.
    """
    every = [tile.order(False) for of_array in tiles.values() for tile in of_array]
    if not every or not all(tile.sum.products[0].pair for tile in every):
        return None
    seen = {_measure_halves(tile) for tile in every}
    (both,) = seen if len(seen) == 1 else (None,)
    wrong = [n for n, (_, columns) in enumerate(both or ()) if columns]
    if both is None or len(wrong) != 1 or any(rows for rows, _ in both):
        return None
    total, away = every[0].sum, -both[wrong[0]][1]
    message = (
        f"The CTA with the {('first', 'second')[wrong[0]]} half of B of a pair copies rows that are {abs(away)}"
        f" {'after' if away > 0 else 'before'} those of the columns that D is stored in."
    )
    return Pitfall("row_coordinate_wrong", message, _find_half_site(total, 1))


def _measure_halves(tile: StoredTile) -> tuple[tuple[int, int], ...] | None:
    """Return how many rows and columns away the columns of each half of B are stored; None if one has several."""
    lines, shifts = tile.sum.columns, tile.find_shifts()
    first = np.isin(tile.made[:, 1], lines[: len(lines) // 2])
    parts = [np.unique(shifts[part], axis=0) for part in (first, ~first)]
    return tuple((int(part[0, 0]), int(part[0, 1])) for part in parts) if {*map(len, parts)} == {1} else None


def _find_half_site(total: SumOrigin, side: int) -> Span:
    """Return where the rows of a half are given: the coordinate if it depends on the rank, else the copy."""
    box, text = total.boxes[side], total.finder.run.text
    site = find_coordinate_site(box, total.numbers[side])
    return site if _RANK.search(text[slice(*site)]) else box.move.call


def find_parts_exchanged(tiles: Mapping[str, Sequence[StoredTile]]) -> Pitfall | None:
    """Return the finding of boxes of A or B whose elements of D are all stored at their places if the boxes are in the
    order of their rows.
    """
    every = [tile for of_array in tiles.values() for tile in of_array]
    for side in (0, 1):
        total = next((tile.sum for tile in every if (np.diff(_get_lines(tile.sum, side)) < 0).any()), None)
        if total is None or all(map(are_placed, tiles.values())):
            continue
        if all(are_placed([_order_parts(tile, side) for tile in of_array]) for of_array in tiles.values()):
            lines = _get_lines(total, side)
            name, what = "AB"[side], ("rows", "columns")[side]
            message = (
                f"The copies of {name} bring its rows from {lines[0]} on before those from {lines.min()} on, and D is"
                f" stored as if the {what} that they make were in order: check the row and the place of this box."
            )
            return Pitfall("row_coordinate_wrong", message, total.boxes[side].move.call)
    return None


def _get_lines(total: SumOrigin, side: int) -> Ints:
    """Return the rows of A, or those of B, of a sum."""
    return total.columns if side else total.rows


def _order_parts(tile: StoredTile, side: int) -> StoredTile:
    """Return a tile with the rows or columns that its elements would be of if the parts of an operand were in order."""
    lines, made = _get_lines(tile.sum, side), tile.made.copy()
    order = np.argsort(lines)
    made[:, side] = np.sort(lines)[order[np.searchsorted(lines[order], made[:, side])]]
    return replace(tile, made=made)
