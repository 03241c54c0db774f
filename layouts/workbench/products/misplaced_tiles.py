"""Judge whether the elements of D are stored at their rows and columns, and what is wrong if they are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.records import ResultStore
from lanescope.reader.threads.memory.storage import Ints
from lanescope.reader.threads.memory.tile_records import BoxMove
from lanescope.workbench.products.known_sizes import GivenSizes
from lanescope.workbench.products.origin_places import (
    find_mixed_bytes,
    find_shared_bytes,
    find_store_place,
    find_wrong_box,
    find_wrong_copy,
    list_wrong_places,
)
from lanescope.workbench.products.product_origins import Block, SumOrigin
from lanescope.workbench.products.wrong_operands import find_wrong_operand
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text

_LEAST = 64  # elements of a tile


@dataclass(frozen=True, slots=True, eq=False)
class StoredTile:
    """Elements of one D in one warpgroup, stored to one array.

    made: the row of A and the column of B that each is the product of; put: where it is stored, the number of an
    element [elements], or coordinates [elements, 2], outer one first, of the row and the column if it is ordered;
    size: the rows and columns of D; sum: of its first warp; stores: those that store it; staged: the stores of its
    elements to shared memory, if they come from there, each with the bytes of D's registers that it stores; mixed:
    whether warpgroups store to the same bytes of it; left: how many elements of D are not stored there; by: the
    number of the store, the warpgroup and the byte of each [elements, 3].
    """

    made: Ints
    put: Ints
    size: tuple[int, int]
    sum: SumOrigin
    stores: tuple[ResultStore | BoxMove, ...]
    staged: Mapping[Span, Set[int]]
    mixed: bool
    left: int
    by: Ints

    @property
    def block(self) -> Block:
        return self.sum.block

    @property
    def group(self) -> int:
        return self.sum.group

    @property
    def batch(self) -> tuple[int, ...]:
        """Where the boxes of A and B are along other dimensions than rows, columns and K."""
        return (*self.sum.find_batch(0), *self.sum.find_batch(1))

    @property
    def site(self) -> Span:
        return self.stores[0].site

    @property
    def first_store(self) -> Span:
        """Return the first store of its elements, to shared memory if they come from there."""
        return next(iter(self.staged), self.site)

    @property
    def box(self) -> BoxMove | None:
        """The TMA copy that stores the elements, if one does."""
        return self.stores[0] if isinstance(self.stores[0], BoxMove) else None

    @property
    def is_cropped(self) -> bool:
        """Whether threads that hold elements of the tile store none: it may have rows that D does not have."""
        stores = [store for store in self.stores if isinstance(store, ResultStore)]
        threads = [store.data.thread[store.active][store.data.record[store.active] < 0] for store in stores]
        return self.left > 0 and bool(stores) and len(np.unique(np.concatenate(threads))) < WARP * self.sum.finder.width

    def order(self, turned: bool) -> StoredTile:
        """Return the tile with the row and column of each element's place. turned: whether D is stored by columns."""
        put = self.put if self.put.ndim == 2 else np.stack(np.divmod(self.put, self.size[0 if turned else 1]), axis=1)
        return replace(self, put=put[:, ::-1] if turned else put)

    def exchange(self) -> StoredTile | None:
        """Return the tile that A and B make if each is taken as the other; None if they have other rows."""
        rows, columns = self.sum.rows, self.sum.columns
        if len(rows) != len(columns) or (np.diff(rows) <= 0).any() or (np.diff(columns) <= 0).any():
            return None
        row, column = np.searchsorted(rows, self.made[:, 0]), np.searchsorted(columns, self.made[:, 1])
        return replace(self, made=np.stack([columns[row], rows[column]], axis=1), size=self.size[::-1])

    def find_shifts(self) -> Ints:
        """Return by how many rows and columns each element of an ordered tile is stored away from its own."""
        size = np.array(self.size)
        away = (self.put - self.made) % size
        shifts: Ints = np.where(away > size // 2, away - size, away)
        return shifts

    def is_whole(self) -> bool:
        """Return whether the elements are a rectangle of the matrix, each stored once."""
        if len(self.put) < _LEAST:
            return False
        rows, columns = (self.put - self.put.min(axis=0)).T
        places = np.unique(rows * (columns.max() + 1) + columns)
        return len(places) == len(self.put) == len(np.unique(rows)) * len(np.unique(columns))

    def find_steps(self) -> tuple[int, int] | None:
        """Return how many elements rows, and columns, are stored apart; None if they are not in one order."""
        if self.put.ndim != 1:
            return None
        made, put = self.made - self.made[0], self.put - self.put[0]
        steps = []
        for n in (0, 1):
            along = np.flatnonzero((made[:, 1 - n] == 0) & (made[:, n] != 0))
            if not len(along):
                return None
            steps.append(int(put[along[0]] // made[along[0], n]))
        return (steps[0], steps[1]) if (made @ np.array(steps) == put).all() else None


@dataclass(frozen=True, slots=True)
class ShiftedTile:
    """A tile that is stored away from its own place by one number of rows and columns."""

    tile: StoredTile
    rows: int
    columns: int

    @property
    def who(self) -> str:
        """Describe whose tile it is, of which D."""
        unit = self.tile.sum.finder.unit
        of_group = "" if self.tile.sum.products[0].in_memory else f", {unit} {self.tile.group}"
        rows, columns = self.tile.size
        return f"block ({', '.join(map(str, self.tile.block))}){of_group}, D of {rows} × {columns}"

    def find_made(self, side: int) -> int:
        """Return the first row (0) or column (1) of the product."""
        return int(self.tile.made[:, side].min())

    def find_put(self, side: int) -> int:
        """Return the row or column that it is stored from."""
        return self.find_made(side) + (self.rows, self.columns)[side]


# judging --------------------------------------------------------------------------------------------------------------


def judge_array(array: str, tiles: Sequence[StoredTile], text: str, given: GivenSizes | None) -> Pitfall | None:
    """Return the mistake of the tiles of one array. given: M, N and K, if they differ."""
    whole = [tile for tile in tiles if not tile.is_cropped]
    found = _judge_tiles(array, whole, text, given) if whole else None
    return (found and find_mixed_bytes(array, whole, text)) or found


def _judge_tiles(array: str, tiles: Sequence[StoredTile], text: str, given: GivenSizes | None) -> Pitfall | None:
    orders = [[tile.order(turned) for tile in tiles] for turned in (False, True)]
    turned = _choose_order([[tile for tile in ordered if tile.is_whole()] for ordered in orders])
    shifted = [] if turned is None else _list_shifts(orders[turned], turned)
    if turned is None or len(shifted) < len(tiles):
        return (
            _find_exchanged(tiles)
            or (_find_other_pitch(array, tiles, text, given) if given is not None else None)
            or _find_scattered(array, orders, text)
        )
    return None if _may_be_meant(shifted, text) else _describe(array, shifted, turned, text)


def are_placed(tiles: Sequence[StoredTile]) -> bool:
    """Return whether the tiles of one array are stored at their rows and columns."""
    orders = ([tile.order(turned) for tile in tiles] for turned in (False, True))
    return any(all(not tile.find_shifts().any() for tile in ordered) for ordered in orders)


def _list_shifts(tiles: Iterable[StoredTile], turned: bool) -> list[ShiftedTile]:
    """Return the ordered tiles that are stored as a whole."""
    shifts = (_find_shift(tile, turned) for tile in tiles)
    return [one for one in shifts if one is not None]


def _find_shift(tile: StoredTile, turned: bool) -> ShiftedTile | None:
    """Return how far away a whole tile is stored; None if its elements are not stored as a whole. What threads store
    past the end of a line of D is in the next one, and past its last line in the next matrix.
    """
    long, short = (1, 0) if turned else (0, 1)  # the dimension whose lines are a pitch apart, and the one along them
    pitch, count = tile.size[short], tile.size[long]
    away = (tile.put - tile.made)[:, long] * pitch + (tile.put - tile.made)[:, short]
    if tile.box is None and len(tile.put) >= _LEAST and (away == away[0]).all():
        lines, along = _center(int(away[0]), pitch)
        lines = _center(lines, count)[1]
        return ShiftedTile(tile, along, lines) if turned else ShiftedTile(tile, lines, along)
    shifts = tile.find_shifts()
    if not tile.is_whole() or (shifts != shifts[0]).any():
        return None
    return ShiftedTile(tile, int(shifts[0][0]), int(shifts[0][1]))


def _center(number: int, size: int) -> tuple[int, int]:
    """Return the nearest multiple of a size, as a count, and what is left, of either sign."""
    count, rest = divmod(number + size // 2, size)
    return count, rest - size // 2


def _may_be_meant(shifted: Sequence[ShiftedTile], text: str) -> bool:
    """Return whether tiles are at their places, or all as far away as if a part of a larger matrix began there."""
    away = {(one.rows, one.columns) for one in shifted}
    apart = len(away) == 1 and not _is_of_group(shifted[0], text)
    return away == {(0, 0)} or apart or _is_ring(shifted)


def _is_ring(shifted: Sequence[ShiftedTile]) -> bool:
    """Return whether the lines of D follow each other in a longer matrix that begins again after its last line."""
    away = {tuple((one.tile.put[0] - one.tile.made[0]).tolist()) for one in shifted}
    if len(away) != 2:
        return False
    moved = np.abs(np.subtract(*away))
    return bool((moved == 0).any() and (moved >= shifted[0].tile.size).any())


def _find_other_pitch(array: str, tiles: Sequence[StoredTile], text: str, given: GivenSizes) -> Pitfall | None:
    """Return the finding of an array whose lines are as far apart as those of another matrix are long, and overlap:
    parts of D may be matrices of their own. D may be added to the first columns of a matrix that is wider with the
    numbers of the text.
    """
    depth = tiles[0].sum.get_depth(0) or 0
    steps = {tile.find_steps() for tile in tiles}
    found = next(iter(steps)) if len(steps) == 1 else None
    if found is None or 1 not in found:
        return None
    along = found.index(1)  # 1: rows are apart
    pitch, right = found[1 - along], tiles[0].size[along]
    names = {depth: "K", tiles[0].size[1 - along]: "MN"[1 - along]}
    if pitch == right or pitch not in names or not _overlap(tiles, found, along):
        return None
    if not given.is_less(pitch, right) and _is_added(array, tiles, text):
        return None
    message = (
        f"{'Rows' if along else 'Columns'} of D are stored {names[pitch]} elements of {array} apart, and D has"
        f" {'MN'[along]} {'columns' if along else 'rows'}: {names[pitch]} is the size of another dimension."
    )
    return Pitfall("result_misplaced", message, tiles[0].site)


def _overlap(tiles: Sequence[StoredTile], steps: tuple[int, int], along: int) -> bool:
    """Return whether the lines of one matrix overlap, which are steps apart. along: the dimension of a line."""
    starts = {int(tile.put[0] - tile.made[0] @ np.array(steps)) for tile in tiles}
    return len(starts) == 1 and max(int(tile.made[:, along].max()) for tile in tiles) >= steps[1 - along]


def _is_added(array: str, tiles: Sequence[StoredTile], text: str) -> bool:
    """Return whether D is added to elements of an array, or stored beside others that are read."""
    element = rf"\b{re.escape(array)}\s*\[[^;]*\]"
    added = re.search(rf"{element}\s*[-+*/]=|=(?!=)[^;]*{element}", blank_text(text))
    return added is not None or any(store.adds for tile in tiles for store in tile.stores)


def _is_of_group(shifted: ShiftedTile, text: str) -> bool:
    """Return whether one distance of all tiles is that of a warpgroup, and the address depends on its number."""
    tile, away = shifted.tile, max(abs(shifted.rows), abs(shifted.columns))
    if tile.box is not None or not (shifted.rows == 0 or shifted.columns == 0):
        return False
    rows = len(np.unique(tile.made[:, 0 if shifted.rows else 1]))
    if tile.sum.products[0].in_memory:  # any warpgroup may store it
        return shifted.rows == rows * int(tile.by[0, 1]) > 0
    return away == rows and find_store_place(text, tile.site, None, "", 0) != tile.site


def _find_scattered(array: str, orders: Sequence[Sequence[StoredTile]], text: str) -> Pitfall | None:
    """Return the finding of elements that shared memory does not bring to their place in D, although it does so for
    enough others that the order of D is known. orders: the tiles, stored by rows and by columns.
    """
    staged = [tile for tile in orders[0] if tile.staged]
    if not staged or len(staged) < len(orders[0]) or any(tile.sum.is_symmetric for tile in staged):
        return None
    right = [sum(int((~tile.find_shifts().any(axis=1)).sum()) for tile in ordered) for ordered in orders]
    total = sum(len(tile.made) for tile in staged)
    least = total // (256 if staged[0].box is not None else 16)  # of an array, the pitch might be another one
    if max(right) == total or max(right) < max(least, 2 * min(right)):
        return None
    ordered = orders[right[1] > right[0]]
    found = find_wrong_box(array, ordered, right[1] > right[0]) or find_shared_bytes(array, ordered, text)
    if found is not None:
        return found
    wrong = total - max(right)
    message = (
        f"{wrong:,} of {total:,} elements of D come to other rows or columns of {array} than theirs: what is stored to"
        " shared memory here is not read as it is stored."
    )
    place, *others = list_wrong_places(ordered, text)
    return Pitfall("result_misplaced", message, place, tuple(others))


def _find_exchanged(tiles: Sequence[StoredTile]) -> Pitfall | None:
    """Return the finding of products whose elements are all stored at their places if A and B are exchanged."""
    exchanged = [tile.exchange() for tile in tiles]
    if not all(exchanged) or not are_placed([tile for tile in exchanged if tile is not None]):
        return None
    product = tiles[0].sum.products[0]
    message = (
        "A and B are exchanged in this product: all elements of D are stored at the row of what it takes as B and the"
        " column of what it takes as A."
    )
    return Pitfall("operands_exchanged", message, (*product.calls, product.sites["a"])[0])


def _choose_order(orders: Sequence[Sequence[StoredTile]]) -> bool | None:
    """Return whether D is stored column by column; None if neither order moves whole tiles."""
    shifts = [[tile.find_shifts() for tile in tiles] for tiles in orders]
    counts = [sum(bool((each == each[0]).all()) for each in of_order) for of_order in shifts]
    return None if counts[0] == counts[1] else counts[1] > counts[0]


def _describe(array: str, shifted: Sequence[ShiftedTile], turned: bool, text: str) -> Pitfall:
    wrong = next(one for one in shifted if one.rows or one.columns)
    side = 0 if wrong.rows else 1
    both = bool(wrong.rows and wrong.columns)
    found = None if both else find_wrong_operand(array, shifted, wrong, text)
    if found is not None:
        return found
    name, what = "AB"[side], ("row", "column")[side]
    stored = f"is stored in {array} from {what} {wrong.find_put(side)} on ({wrong.who})"
    copy = None if both else find_wrong_copy(shifted, side)
    if copy is not None:
        message = (
            f"This copy brings the rows of {name} from {wrong.find_made(side)} on, and D {stored}: the two must be the"
            " same."
        )
        return Pitfall("row_coordinate_wrong", message, copy)
    message = (
        f"D of the rows of {name} from {wrong.find_made(side)} on {stored}: elements of D are stored in the wrong"
        f" {'rows and columns' if both else what + 's'}."
    )
    depends = _find_dependence(shifted, side)
    place = find_store_place(text, wrong.tile.site, wrong.tile.box, depends, side ^ turned)
    return Pitfall("result_misplaced", message, place)


def _find_dependence(shifted: Sequence[ShiftedTile], side: int) -> str:
    """Return what the wrong distance differs by: "group" (of warps), "batch", "part" (of a block's tile), "block", or
    "warp" or "" (nothing).
    """
    of_tile = [(one.tile, (one.rows, one.columns)[side]) for one in shifted]
    if len({shift for _, shift in of_tile}) == 1:
        return "warp" if shifted[0].tile.sum.products[0].in_memory else ""
    for name, keys in (("group", [one.group for one, _ in of_tile]), ("batch", [one.batch for one, _ in of_tile])):
        if len(set(keys)) == len({(key, shift) for key, (_, shift) in zip(keys, of_tile, strict=True)}):
            return name
    blocks = {one.block for one, _ in of_tile}
    parts = all(len({shift for one, shift in of_tile if one.block == block}) > 1 for block in blocks)
    return "part" if parts else "block"
