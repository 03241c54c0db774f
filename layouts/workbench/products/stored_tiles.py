"""List the tiles of D that blocks store, with the row of A and the column of B that each element is the product of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.threads.memory.records import ResultStore
from lanescope.reader.threads.memory.storage import DataBytes, Ints
from lanescope.reader.threads.memory.tile_records import BoxMove
from lanescope.workbench.products.known_sizes import DEEP
from lanescope.workbench.products.misplaced_tiles import StoredTile
from lanescope.workbench.products.product_origins import OriginFinder, flatten_coordinates
from lanescope.workbench.products.stored_elements import Placed, StoredElements, TilePlaces, list_placed

# origins, places, coordinates inside D, their store, the threads that execute it, and the bytes of D's registers
_Part = tuple[Ints, Ints, Ints, ResultStore | BoxMove, Ints, Ints]


def list_tiles(finder: OriginFinder) -> Iterator[tuple[str, StoredTile]]:
    """Yield (array, tile) of what a run stores."""
    parts: dict[tuple[str, int, int], list[_Part]] = {}
    for array, record, group, part in _list_parts(finder):
        parts.setdefault((array, record, group), []).append(part)
    for (array, record, group), of_tile in parts.items():
        total = finder.find_sum(-record - 1, finder.width * group)
        if total is None:
            continue
        made, put, inside = (np.concatenate([part[n] for part in of_tile]) for n in (0, 1, 2))
        size = total.get_size(0) or finder.run.size, total.get_size(1) or finder.run.size
        if (made.max(axis=0) < size).all():  # a block beyond the matrix has no place in it
            stores = tuple(dict.fromkeys(part[3] for part in of_tile))
            staged = finder.trace.staged.sites.get(record, {})
            places = inside[:, 0] * (inside[:, 1].max() + 1) + inside[:, 1]
            left = total.elements - len(np.unique(places))
            by = [
                np.stack(np.broadcast_arrays(stores.index(store), lanes // (WARP * finder.width), byte), axis=1)
                for *_, store, lanes, byte in of_tile
            ]
            mixed = finder.trace.staged.latest is not None or finder.trace.order.mixed
            yield array, StoredTile(made, put, size, total, stores, staged, mixed, left, np.concatenate(by))


def _list_parts(finder: OriginFinder) -> Iterator[tuple[str, int, int, _Part]]:
    """Yield (array, record, warpgroup, part) of the elements that each warp stores at once."""
    places = TilePlaces(finder.run)
    for array, one, put in chain(list_placed(finder.run), _list_boxed(finder)):
        for warp, row, column, at in places.split_warps(one, put):
            total = finder.find_sum(-one.record - 1, warp)
            if total is not None and all(last.in_memory or last.mask[one.thread].all() for last in total.products[-1:]):
                made = np.stack([total.rows[row], total.columns[column]], axis=1)
                of_warp = one.thread // WARP == warp
                lanes, inside = np.broadcast_to(one.lanes, one.thread.shape), np.stack([row, column], axis=1)
                part = made, at, inside, one.store, lanes[of_warp], one.byte[of_warp]
                yield array, one.record, warp // finder.width, part


def _list_boxed(finder: OriginFinder) -> Iterator[Placed]:
    """Yield the elements that TMA copies store."""
    for move in finder.trace.stores:
        tensor_map = finder.find_map(move.maps, len(move.at))
        if tensor_map is not None:
            for lane, data in move.data.items():
                yield from _list_box(move, lane, data, tensor_map)


def _list_box(move: BoxMove, lane: int, data: DataBytes, tensor_map: TensorMap) -> Iterator[Placed]:
    inside = np.indices([size or 1 for size in reversed(tensor_map.box)]).reshape(len(tensor_map.box), -1)[::-1].T
    if not len(move.at) == len(tensor_map.box) == len(tensor_map.dims):
        return
    first = np.array([int(at[lane]) for at in move.at], np.int64)
    at = first + inside
    bounds = [DEEP * DEEP if size is None else size for size in tensor_map.dims]
    within = (at < bounds).all(axis=1)
    put = flatten_coordinates(tensor_map, at)
    array = f"the tensor of {min(move.maps, default='')}"
    if put.shape[1] > 2 and set(tensor_map.box[2:]) == {1}:  # a matrix of a batch
        put, array = put[:, :2], f"{array} {tuple(map(int, first[2:])) if first[2:].any() else ''}".strip()
    records = data.record[0]
    for record in np.unique(records[(records < 0) & within]) if put.shape[1] == 2 else ():
        mine = (records == record) & within
        of_sum = StoredElements(move, int(record), np.array([lane]), data.thread[0, mine], data.byte[0, mine])
        yield array, of_sum, put[mine][:, ::-1]
