"""Check that wgmma's D is stored at the rows of A and the columns of B that it is the product of.

A kernel is run for a few blocks with square matrices of a known size. Each element of D then has two places: where the
TMA copies of A and B took its row and its column from, and where it is stored. If both are known and differ, the row
or column of a copy or of the store is wrong. Tiles that are not stored as rows of the whole matrix stay open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from lanescope.cxx.source_text import is_kernel_head
from lanescope.deadline import OverdueError, end_when, is_late
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.run_records import KernelLaunchRecord
from lanescope.reader.code.tma_rules import TensorMap
from lanescope.reader.threads.barrier_trace import TraceLostError
from lanescope.reader.threads.kernels import BARRIERS, run_kernels
from lanescope.reader.threads.numbers import ThreadNumber
from lanescope.reader.threads.program import parse_expression
from lanescope.reader.threads.records import ResultStore
from lanescope.reader.threads.runner import KernelRunner, StepsOverError
from lanescope.reader.threads.storage import DataBytes, Ints, spread_coefficient
from lanescope.reader.threads.tile_trace import BoxMove, TileSetup
from lanescope.reader.threads.turn_counts import CountFoundError
from lanescope.workbench.box_maps import MapFinder
from lanescope.workbench.kernel_runs import KernelText
from lanescope.workbench.origin_places import find_repeated_slice, find_store_place
from lanescope.workbench.product_origins import BoxLister, OriginFinder, SumOrigin, flatten_coordinates
from lanescope.workbench.result_stores import TilePlaces, list_pieces
from lanescope.workbench.results import Span
from lanescope.workbench.shared_budget import find_short_launches

TITLES = {"row_coordinate_wrong": "A copy brings other rows than those that D is stored for"}
SIZE, BLOCKS = 768, 16  # of matrices; of the grid along x
_FORM = re.compile(r"wgmma\s*\.\s*mma_async")
_COPY = re.compile(r"cp\.async\.bulk\.tensor|cp_async_bulk_tensor")
_LEAST = 64  # elements of a tile
WARPGROUP = 128
_Elements = tuple[str, int, Ints, Ints, Ints, Ints, Span, BoxMove | None]


@dataclass(frozen=True, slots=True, eq=False)
class StoredTile:
    """Elements of one D in one warpgroup, stored to one array.

    made: the row of A and the column of B that each is the product of; put: where it is stored, [elements, 2], outer
    coordinate first; sum: of its first warp; site: the place of the store; box: the TMA copy that
    stores it, if one does; staged: the store of its elements to shared memory, if they come from there.
    """

    block: tuple[int, int, int]
    group: int
    made: Ints
    put: Ints
    sum: SumOrigin
    site: Span
    box: BoxMove | None
    staged: Span | None

    def find_shifts(self, turned: bool) -> Ints:
        """Return by how many rows and columns each element is stored away from its own. turned: whether D is stored
        column by column.
        """
        put = self.put[:, ::-1] if turned else self.put
        away = (put - self.made) % SIZE
        shifts: Ints = np.where(away > SIZE // 2, away - SIZE, away)
        return shifts

    def is_whole(self) -> bool:
        """Return whether the elements are a rectangle of the matrix, each stored once."""
        places = np.unique(self.put, axis=0)
        lengths = [len(np.unique(axis)) for axis in self.put.T]
        return len(places) == len(self.put) >= _LEAST and lengths[0] * lengths[1] == len(places)


@dataclass(frozen=True, slots=True)
class ShiftedTile:
    """A tile that is stored away from its own place by one number of rows and columns."""

    tile: StoredTile
    rows: int
    columns: int


def find_origin_mistakes(
    source: KernelText, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord]
) -> list[Pitfall]:
    """Find copies and stores of kernels with a wrong row or column, one for each kernel."""
    text, maps = source.code.text, MapFinder(source)
    if not source.maps or not _FORM.search(text) or not _COPY.search(text) or not is_kernel_head(text):
        return []
    runs: dict[tuple[str, int], list[tuple[tuple[int, int, int], KernelRunner]]] = {}
    try:
        with end_when(is_late):
            for block in _list_blocks(text):
                setup = TileSetup(block, BoxLister(maps))
                branches = list(run_kernels(text, macros, recorded, BARRIERS, (SIZE, BLOCKS), tiles=setup))
                if len(branches) != 1:
                    return []
                for n, run in enumerate(branches[0]):
                    if run.complete and run.runner.turn_counts.are_alike and not _overlaps_dynamic(run.runner):
                        runs.setdefault((run.function.name, n), []).append((block, run.runner))
            finders = {key: _replay_runs(of_kernel, maps) for key, of_kernel in runs.items()}
            evaluate = partial(_evaluate_host, finders)
            needed = _list_needed(finders)
            short = list(find_short_launches(source.blank, source.functions, recorded, needed, evaluate))
            found = (_judge_kernel(of_kernel) for of_kernel in finders.values())
            return short or list({(one.code, one.span): one for one in filter(None, found)}.values())
    except (LayoutError, OverdueError):
        return []


def _overlaps_dynamic(run: KernelRunner) -> bool:
    """Return whether a run put arrays of a fixed size where dynamic shared memory is."""
    return "" in run.dynamic and run.shared.next > run.shared.dynamic


def _list_blocks(text: str) -> list[tuple[int, int, int]]:
    """Return the blocks that are run: in both directions of the grid, and in another row of one that is numbered."""
    plane = re.search(r"blockIdx\s*\.\s*y|%ctaid\.y", text)
    if plane:
        return [(0, 0, 0), (1, 0, 0), (1, 2, 0)]
    return [(0, 0, 0), (7, 0, 0)] if "gridDim" in text else [(0, 0, 0), (1, 0, 0), (7, 0, 0)]


def _replay_runs(
    runs: Sequence[tuple[tuple[int, int, int], KernelRunner]], maps: MapFinder
) -> list[tuple[tuple[int, int, int], OriginFinder]]:
    """Return the blocks of a kernel with what each multiplies; nothing if that of one is not known."""
    finders = [(block, OriginFinder(run, maps)) for block, run in runs]
    known = all(not finder.run.open_outputs and finder.replay() for _, finder in finders)
    return finders if known else []


def _list_needed(
    finders: Mapping[tuple[str, int], Sequence[tuple[tuple[int, int, int], OriginFinder]]],
) -> dict[str, int]:
    """Return the bytes of dynamic shared memory that the copies of each kernel fill, the least of its launches."""
    needed: dict[str, int] = {}
    for (name, _), of_kernel in finders.items():
        past = max((finder.count_dynamic_bytes() for _, finder in of_kernel), default=0)
        needed[name] = min(needed.get(name, past), past)
    return needed


def _evaluate_host(
    finders: Mapping[tuple[str, int], Sequence[tuple[tuple[int, int, int], OriginFinder]]], at: Span
) -> int | None:
    """Return the value of the expression that begins here, up to the end of its statement; None if it is not known."""
    run = next((finder.run for of_kernel in finders.values() for _, finder in of_kernel), None)
    if run is None:
        return None
    past = run.text.find(";", at[0])
    expression = parse_expression(run.text[at[0] : past]) if past > 0 else None
    if expression is None:
        return None
    try:
        value = run.evaluate(expression, run.globals.find_home(at[0]))
    except (TraceLostError, StepsOverError, CountFoundError):
        return None
    return value.known if isinstance(value, ThreadNumber) else None


def _judge_kernel(finders: Sequence[tuple[tuple[int, int, int], OriginFinder]]) -> Pitfall | None:
    tiles: dict[str, list[StoredTile]] = {}
    for block, finder in finders:
        for array, tile in _list_tiles(block, finder):
            tiles.setdefault(array, []).append(tile)
    if not tiles:
        return None
    text = finders[0][1].run.text
    sums = {id(tile.sum): tile.sum for of_array in tiles.values() for tile in of_array}
    repeated = next(filter(None, (find_repeated_slice(total, text) for total in sums.values())), None)
    if repeated is not None:
        return repeated
    return next(filter(None, (_judge_array(array, of_array, text) for array, of_array in tiles.items())), None)


# tiles ----------------------------------------------------------------------------------------------------------------


def _list_tiles(block: tuple[int, int, int], finder: OriginFinder) -> Iterator[tuple[str, StoredTile]]:
    """Yield (array, tile) of what a run stores."""
    places = TilePlaces(finder.run)
    parts: dict[tuple[str, int, int], list[tuple[Ints, Ints, Span, BoxMove | None]]] = {}
    for array, record, thread, byte, put, storing, site, box in _list_elements(finder):
        found = places.find_coordinates(record, thread, byte)
        if found is None or found[2] != WARPGROUP:
            continue
        row, column, _ = found
        for warp in np.unique(thread // 32):
            mine = thread // 32 == warp
            total = finder.find_sum(-record - 1, int(warp))
            if total is not None and all(product.mask[storing].all() for product in total.products[-1:]):
                made = np.stack([total.rows[row[mine]], total.columns[column[mine]]], axis=1)
                key = array, record, int(warp) // 4
                parts.setdefault(key, []).append((made, put[mine], site, box))
    for (array, record, group), of_tile in parts.items():
        total = finder.find_sum(-record - 1, 4 * group)
        made, put = (np.concatenate([part[n] for part in of_tile]) for n in (0, 1))
        if total is not None and made.max() < SIZE:  # a block beyond the matrix has no place in it
            staged = finder.trace.staged.sites.get(record)
            yield array, StoredTile(block, group, made, put, total, *of_tile[0][2:], staged)


def _list_elements(finder: OriginFinder) -> Iterator[_Elements]:
    """Yield (array, record, threads, bytes, places, storing threads, site, box) of the elements of D of one product in
    one store.
    """
    for store in finder.run.outputs:
        yield from _list_stored(finder.run, store)
    for move in finder.trace.stores:
        tensor_map = finder.maps.find(finder.run.kernel, move.maps)
        if tensor_map is not None:
            for lane, data in move.data.items():
                yield from _list_boxed(move, lane, data, tensor_map)


def _list_stored(run: KernelRunner, store: ResultStore) -> Iterator[_Elements]:
    offset = store.offset.const
    if offset is None:
        return
    address = spread_coefficient(offset, run.threads)
    for first, record, lanes in list_pieces(store):
        thread, byte = (getattr(store.data, name)[lanes, first] for name in ("thread", "byte"))
        element, rest = np.divmod(address[lanes] + first, store.size)
        if not rest.any():
            put = np.stack(np.divmod(element, SIZE), axis=1)
            yield store.array, record, thread, byte, put, lanes, store.site, None


def _list_boxed(move: BoxMove, lane: int, data: DataBytes, tensor_map: TensorMap) -> Iterator[_Elements]:
    inside = np.indices([size or 1 for size in reversed(tensor_map.box)]).reshape(len(tensor_map.box), -1)[::-1].T
    if not len(move.at) == len(tensor_map.box) == len(tensor_map.dims):
        return
    first = np.array([int(at[lane]) for at in move.at], np.int64)
    at = first + inside
    bounds = [SIZE * SIZE if size is None else size for size in tensor_map.dims]
    within = (at < bounds).all(axis=1)
    put = flatten_coordinates(tensor_map, at)
    records = data.record[0]
    for record in np.unique(records[(records < 0) & within]) if put.shape[1] == 2 else ():
        mine = (records == record) & within
        yield (
            f"the tensor of {min(move.maps, default='')}",
            int(record),
            data.thread[0, mine],
            data.byte[0, mine],
            put[mine][:, ::-1],
            np.array([lane]),
            move.site,
            move,
        )


# judging --------------------------------------------------------------------------------------------------------------


def _judge_array(array: str, tiles: Sequence[StoredTile], text: str) -> Pitfall | None:
    whole = [tile for tile in tiles if tile.is_whole()]
    turned = _choose_order(whole)
    if turned is None or len(whole) < len(tiles):
        return _find_scattered(array, tiles)
    shifted = []
    for tile in whole:
        shifts = np.unique(tile.find_shifts(turned), axis=0)
        if len(shifts) != 1:
            return _find_scattered(array, tiles)
        shifted.append(ShiftedTile(tile, int(shifts[0, 0]), int(shifts[0, 1])))
    if not any(one.rows or one.columns for one in shifted):
        return None
    if len({(one.rows, one.columns) for one in shifted}) == 1 and not _is_of_group(shifted[0], text):
        return None  # a part of a larger matrix may begin there
    return _describe(array, shifted, turned, text)


def _is_of_group(shifted: ShiftedTile, text: str) -> bool:
    """Return whether one distance of all tiles is that of a warpgroup, and the address depends on its number."""
    tile, away = shifted.tile, max(abs(shifted.rows), abs(shifted.columns))
    if tile.box is not None or not (shifted.rows == 0 or shifted.columns == 0):
        return False
    rows = len(np.unique(tile.made[:, 0 if shifted.rows else 1]))
    return away == rows and find_store_place(text, tile.site, None, "", 0) != tile.site


def _find_scattered(array: str, tiles: Sequence[StoredTile]) -> Pitfall | None:
    """Return the finding of elements that shared memory does not bring to their place in D, although it does so for
    enough others that the order of D is known.
    """
    staged = [tile for tile in tiles if tile.staged is not None]
    if not staged or len(staged) < len(tiles):
        return None
    right = [sum(int((~tile.find_shifts(turned).any(axis=1)).sum()) for tile in staged) for turned in (False, True)]
    total = sum(len(tile.made) for tile in staged)
    least = total // (256 if staged[0].box is not None else 16)  # of an array, the pitch might be another one
    if max(right) == total or max(right) < max(least, 2 * min(right)):
        return None
    wrong = total - max(right)
    message = (
        f"{wrong:,} of {total:,} elements of D come to other rows or columns of {array} than theirs: what is stored to"
        " shared memory here is not read as it is stored."
    )
    return Pitfall("result_misplaced", message, staged[0].staged or staged[0].site)


def _choose_order(tiles: Sequence[StoredTile]) -> bool | None:
    """Return whether D is stored column by column; None if neither order moves whole tiles."""
    counts = [sum(len(np.unique(tile.find_shifts(turned), axis=0)) == 1 for tile in tiles) for turned in (False, True)]
    return None if counts[0] == counts[1] else counts[1] > counts[0]


def _describe(array: str, shifted: Sequence[ShiftedTile], turned: bool, text: str) -> Pitfall:
    wrong = next(one for one in shifted if one.rows or one.columns)
    side = 0 if wrong.rows else 1
    both = bool(wrong.rows and wrong.columns)
    tile, name = wrong.tile, "AB"[side]
    what = "row" if side == 0 else "column"
    made = int(tile.made[:, side].min())
    put = made + (wrong.rows, wrong.columns)[side]
    who = f"block ({', '.join(map(str, tile.block))})" + f", warpgroup {tile.group}"
    shared = None if both else _find_shared_read(shifted, side)
    if shared is not None:
        message = (
            f"Warpgroup {tile.group} multiplies rows of {name} from {made} on, of which warpgroup {shared.group} takes"
            f" some, too, and D is stored in other {what}s of {array}: check what moves this address from warpgroup to"
            " warpgroup."
        )
        product = tile.sum.products[0]
        return Pitfall("warpgroups_overlap", message, (*product.calls, product.sites[name.lower()])[0])
    if not both and _is_copy_wrong(shifted, side):
        move, number = tile.sum.boxes[side].move, tile.sum.numbers[side]
        message = (
            f"This copy brings the rows of {name} from {made} on, and D is stored in {array} from {what} {put} on"
            f" ({who}, matrices of {SIZE} × {SIZE}): the two must be the same."
        )
        return Pitfall("row_coordinate_wrong", message, find_coordinate_site(move, number))
    message = (
        f"D of the rows of {name} from {made} on is stored in {array} from {what} {put} on ({who}, matrices of {SIZE} ×"
        f" {SIZE}): elements of D are stored in the wrong {'rows and columns' if both else what + 's'}."
    )
    depends = _find_dependence(shifted, side)
    return Pitfall("result_misplaced", message, find_store_place(text, tile.site, tile.box, depends, side ^ turned))


def find_coordinate_site(move: BoxMove, number: int) -> Span:
    """Return where the coordinate of a box is given that moves along a dimension of the flattened tensor."""
    if len(move.sites) == 3 and number == 0:
        number = 2
    return move.sites[number] if number < len(move.sites) else move.site


def _find_shared_read(shifted: Sequence[ShiftedTile], side: int) -> StoredTile | None:
    """Return a tile of another warpgroup whose rows or columns, in the product with the same other operand, overlap
    those of the first wrong tile.
    """
    wrong = next(one.tile for one in shifted if one.rows or one.columns)
    first, last = int(wrong.made[:, side].min()), int(wrong.made[:, side].max())
    for other in (one.tile for one in shifted):
        product = other.sum.products[0] is wrong.sum.products[0]
        same = product and other.block == wrong.block and other.group != wrong.group
        beside = other.made[:, 1 - side].min() == wrong.made[:, 1 - side].min()
        if same and beside and first <= other.made[:, side].max() and other.made[:, side].min() <= last:
            return other if (other.put.min(axis=0) != wrong.put.min(axis=0)).any() else None
    return None


def _is_copy_wrong(shifted: Sequence[ShiftedTile], side: int) -> bool:
    """Return whether a coordinate is wrong, and not the store: the same elements are computed twice and stored in two
    places, or the copies of a tile begin within another one, outside the matrix, or not where that begins.
    """
    made = [tuple(map(int, one.tile.made.min(axis=0))) for one in shifted]
    put = [tuple(map(int, one.tile.put.min(axis=0))) for one in shifted]
    outside = [any(at[n] >= SIZE for at in of_tiles for n in (0, 1)) for of_tiles in (made, put)]
    if outside[0] != outside[1]:  # past the end of the matrix
        return outside[0]
    if len(set(made)) < len(set(put)):
        return True
    if len(set(put)) < len(set(made)):
        return False
    starts = sorted({(int(one.tile.made[:, side].min()), int(one.tile.made[:, side].max())) for one in shifted})
    if any(after[0] <= before[1] for before, after in pairwise(starts)):
        return True
    return starts[0][0] > 0 and min(at[0] for at in put) == 0 == min(at[1] for at in put)


def _find_dependence(shifted: Sequence[ShiftedTile], side: int) -> str:
    """Return what the wrong distance differs by: "block", "group" (of warps) or "" (nothing)."""
    of_tile = [(one.tile, (one.rows, one.columns)[side]) for one in shifted]
    counts = Counter(shift for _, shift in of_tile)
    if len(counts) == 1:
        return ""
    by_group: dict[int, set[int]] = {}
    for tile, shift in of_tile:
        by_group.setdefault(tile.group, set()).add(shift)
    return "group" if all(len(shifts) == 1 for shifts in by_group.values()) else "block"
