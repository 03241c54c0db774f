"""Find elements of D that another element is stored over or in place of, and copies of bytes that nothing stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from lanescope.inputs import format_count
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.results import MOST_STORES
from lanescope.reader.threads.memory.storage import DataBytes
from lanescope.reader.threads.memory.tile_records import BoxMove
from lanescope.workbench.products.misplaced_tiles import StoredTile, are_placed
from lanescope.workbench.products.origin_places import find_pointer
from lanescope.workbench.products.product_origins import OriginFinder

Tiles = Mapping[str, Sequence[StoredTile]]


def find_lost_element(finders: Sequence[OriginFinder], tiles: Tiles) -> Pitfall | None:
    """Return the finding of an element of D that is stored over by another one, or in place of it."""
    runs = [finder.run for finder in finders]
    if any(finder.trace.staged.latest is not None for finder in finders):
        return None
    if any(run.lost_outputs or run.shared.broken or len(run.outputs) >= MOST_STORES for run in runs):
        return None
    checks = (_find_displaced, _find_stored_over)
    found = (check(array, of_array) for array, of_array in drop_second_outputs(tiles).items() for check in checks)
    return next(filter(None, found), None)


def drop_second_outputs(tiles: Tiles) -> Tiles:
    """Return the arrays beside which no other one has all elements of D at their places: what is stored besides may be
    in any order.
    """
    whole = {name for name, of_array in tiles.items() if not any(one.left for one in of_array) and are_placed(of_array)}
    return {name: of_array for name, of_array in tiles.items() if not whole - {name}}


def _find_displaced(array: str, tiles: Sequence[StoredTile]) -> Pitfall | None:
    """Return the finding of elements that are stored in place of others, or outside of the tile, if at least half of
    each tile is stored at its rows and columns; a permutation of the tile's places may be an order of its own.
    """
    if any(tile.sum.is_symmetric or tile.staged or tile.is_cropped for tile in tiles):
        return None
    for turned in (False, True):
        ordered = [tile.order(turned) for tile in tiles]
        inside = [(tile.put < np.array(tile.size)).all(axis=1) for tile in ordered]  # else D is a part of the array
        wrong = [(tile.put != tile.made).any(axis=1) & of for tile, of in zip(ordered, inside, strict=True)]
        if any(2 * np.count_nonzero((tile.put == tile.made).all(axis=1)) < len(tile.made) for tile in ordered):
            continue
        for tile, of_tile in zip(ordered, wrong, strict=True):
            if of_tile.any() and not np.array_equal(np.unique(tile.put, axis=0), np.unique(tile.made, axis=0)):
                one = int(of_tile.argmax())
                (row, column), (other, along) = tile.made[one].tolist(), tile.put[one].tolist()
                message = (
                    f"{np.count_nonzero(of_tile):,} of {len(of_tile):,} elements of D are stored to other rows or"
                    f" columns of {array} than theirs, such as that of row {row}, column {column} to row {other},"
                    f" column {along}."
                )
                return Pitfall("result_misplaced", message, tile.stores[tile.by[one, 0]].site)
    return None


def _find_stored_over(array: str, tiles: Sequence[StoredTile]) -> Pitfall | None:
    """Return the finding of two elements of D that are stored to one place; not of parts of D, which a program that
    only measures may store anywhere, nor of sums of other slices of K.
    """
    whole = [tile for tile in tiles if not tile.left and not any(store.adds for store in tile.stores)]
    if not whole or any(tile.sum.k != whole[0].sum.k or tile.sum.is_symmetric for tile in whole):
        return None
    put = np.concatenate([tile.put.reshape(len(tile.put), -1) for tile in whole])
    made = np.concatenate([np.insert(tile.made, 2, n_batch, axis=1) for tile, n_batch in _number_batches(whole)])
    pairs = np.unique(np.concatenate([put, made], axis=1), axis=0)
    size = put.shape[1]
    again = np.flatnonzero((np.diff(pairs[:, :size], axis=0) == 0).all(axis=1))
    if not len(again):
        return None
    one, other = (pairs[again[0] + n, size:].tolist() for n in (0, 1))
    message = (
        f"{format_count(len(again), 'element')} of D {'is' if len(again) == 1 else 'are'} stored to places of {array}"
        f" that get another element, too, such as row {one[0]}, column {one[1]} and row {other[0]}, column"
        f" {other[1]}: only one of them stays."
    )
    return Pitfall("result_misplaced", message, find_pointer(whole[0].sum.finder.run.text, whole[0].first_store))


def _number_batches(tiles: Sequence[StoredTile]) -> Iterator[tuple[StoredTile, int]]:
    """Yield each tile with the number of its matrix of a batch."""
    numbers = {batch: n for n, batch in enumerate(dict.fromkeys(tile.batch for tile in tiles))}
    yield from ((tile, numbers[tile.batch]) for tile in tiles)


# what nothing stores, and what two blocks store ----------------------------------------------------------------------


def find_empty_copy(copied: Iterable[tuple[BoxMove, DataBytes]]) -> Pitfall | None:
    """Return the finding of a copy of elements of D with bytes that nothing has stored to shared memory. copied: what
    each copy to global memory holds.
    """
    for move, data in copied:
        empty, of_d = int((data.record[0] == 0).sum()), int((data.record[0] < 0).sum())
        if empty and of_d:
            message = (
                f"This copy stores elements of D, and {empty:,} of its {empty + of_d:,} elements are of shared memory"
                " that nothing has stored to."
            )
            return Pitfall("result_misplaced", message, move.site)
    return None


def _has_same_boxes(tile: StoredTile, other: StoredTile, turned: bool = False) -> bool:
    """Return whether sums take the same boxes of A and B. turned: each that of the other, as in A·Aᵀ, which may be
    equal.
    """
    boxes = reversed(other.sum.boxes) if turned else other.sum.boxes
    starts = [(one.find_start(), two.find_start()) for one, two in zip(tile.sum.boxes, boxes, strict=True)]
    return all(np.array_equal(one, two) for one, two in starts)


def find_stored_twice(tiles: Mapping[str, Sequence[StoredTile]]) -> Pitfall | None:
    """Return the finding of two blocks that store different sums to the same elements, without adding them; not of
    parts of D, which a program that only measures may store anywhere.
    """
    for array, of_array in tiles.items():
        first: dict[bytes, StoredTile] = {}
        for tile in of_array:
            other = first.setdefault(tile.put.tobytes(), tile)
            adds = any(store.adds for store in (*tile.stores, *other.stores))
            if other.block == tile.block or tile.left or other.left or adds:
                continue
            if other.sum.k != tile.sum.k or not (_has_same_boxes(tile, other) or _has_same_boxes(tile, other, True)):
                message = (
                    f"Blocks {other.block} and {tile.block} store different sums to the same elements of {array}: only"
                    " the last one stays."
                )
                return Pitfall("result_misplaced", message, tile.site)
    return None
