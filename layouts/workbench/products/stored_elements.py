"""The elements of D that stores take: the row and column of each in the tile of its instruction, and where it is put.

Which lane and register hold an element is in the PTX ISA 9.1, 9.7.14.5 (mma) and 9.7.15.5 (wgmma).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.value_class import value_class
from lanescope.ptx.instruction import Instruction
from lanescope.reader.threads.memory.records import ProductResult, ResultStore
from lanescope.reader.threads.memory.results import find_instruction
from lanescope.reader.threads.memory.storage import Ints, Span, spread_coefficient
from lanescope.reader.threads.memory.tensor_products import LANES
from lanescope.reader.threads.memory.tile_records import BoxMove
from lanescope.reader.threads.runner import KernelRunner

Floats = NDArray[np.float64]


@value_class(frozen=True, slots=True, eq=False)
class StoredElements:
    """Elements of D of one product that are stored at once: the product's record, the threads that store them, and the
    thread and the byte that each has among D's registers. first: the first byte of each in what a thread stores.
    """

    store: ResultStore | BoxMove
    record: int
    lanes: Ints
    thread: Ints
    byte: Ints
    first: int = 0


Placed = tuple[str, StoredElements, Ints]  # an array, elements, and where each is: its number, or its coordinates


def list_pieces(store: ResultStore) -> Iterator[StoredElements]:
    """Yield the elements of D that a store takes."""
    for first in range(0, store.data.size, store.size):
        record = store.data.record[:, first]
        for number in np.unique(record[store.active & (record < 0)]).tolist():
            lanes = np.flatnonzero(store.active & (record == number))
            thread, byte = store.data.thread[lanes, first], store.data.byte[lanes, first]
            yield StoredElements(store, number, lanes, thread, byte, first)


def list_placed(run: KernelRunner) -> Iterator[Placed]:
    """Yield the elements that threads store at known places, as whole elements of an array."""
    for store in run.outputs:
        if store.offset.const is None:
            continue
        address = spread_coefficient(store.offset.const, run.threads)
        for one in list_pieces(store):
            number, rest = np.divmod(address[one.lanes] + one.first, store.size)
            if not rest.any():
                yield store.array, one, number


class TilePlaces:
    """Rows and columns of elements of D within the tile of their instruction."""

    def __init__(self, run: KernelRunner) -> None:
        self.run = run

    def find_instruction(self, record: int) -> Instruction | None:
        """Return the instruction that computed elements."""
        return find_instruction(self.run.results[-record - 1].opcode)

    def find(self, one: StoredElements) -> tuple[Floats, Floats, Ints] | None:
        """Return (rows, columns, tiles) of elements; None if they are not known."""
        found = self.find_coordinates(one.record, one.thread, one.byte)
        if found is None:
            return None
        row, column, lanes = found
        tile = -one.record * 64 + one.thread // lanes
        return row[:, None].astype(np.float64), column[:, None].astype(np.float64), tile

    def find_coordinates(self, record: int, thread: Ints, byte: Ints) -> tuple[Ints, Ints, int] | None:
        """Return (rows, columns, threads of an instruction); None if the instruction is not known."""
        if self.run.results[-record - 1].in_memory:
            return thread, byte // 4, LANES
        instruction = self.find_instruction(record)
        if instruction is None:
            return None
        operand = instruction.operand("d")
        row, column = (np.asarray(operand.coords[axis], np.int64) for axis in ("row", "col"))
        element = byte * 8 // operand.container_bits
        if element.max(initial=0) >= row.shape[1]:
            return None
        lane = thread % len(row)
        return row[lane, element], column[lane, element], len(row)

    def split_warps(self, one: StoredElements, put: Ints) -> Iterator[tuple[int, Ints, Ints, Ints]]:
        """Yield (warp, rows, columns, where they are put) of the elements that each warp computed."""
        found = self.find_coordinates(one.record, one.thread, one.byte)
        if found is None:
            return
        for warp in np.unique(one.thread // 32).tolist():
            mine = one.thread // 32 == warp
            yield warp, found[0][mine], found[1][mine], put[mine]

    def count_elements(self, stores: Sequence[ResultStore]) -> int:
        """Return how many elements the tiles have that stores take elements from."""
        tiles: set[tuple[int, int]] = set()
        for store in stores:
            for record in np.unique(store.data.record[store.active & (store.data.record[:, 0] < 0)][:, 0]):
                mine = store.active & (store.data.record[:, 0] == record)
                tiles |= {(int(record), int(warp)) for warp in np.unique(store.data.thread[mine, 0] // 32)}
        known = [self.find_instruction(record) for record, _ in tiles]
        sizes = [0 if found is None else 32 * np.shape(found.operand("d").coords["row"])[1] for found in known]
        return sum(sizes) if all(sizes) else 0


# rows, columns, places of elements; whether it adds; its site; the array
StoredWarp = tuple[Ints, Ints, Ints, bool, Span, str]


def list_stored_warps(run: KernelRunner) -> dict[tuple[int, int], list[StoredWarp]]:
    """Return the elements that are stored, by record and warp."""
    places, found = TilePlaces(run), dict[tuple[int, int], list[StoredWarp]]()
    for array, one, put in list_placed(run):
        for warp, row, column, at in places.split_warps(one, put):
            part = row, column, at, one.store.adds, one.store.site, array
            found.setdefault((one.record, warp), []).append(part)
    return found


def locate_stores(run: KernelRunner) -> Iterator[tuple[ResultStore, ProductResult, Ints, Ints, Ints]]:
    """Yield the first store of elements of D of each place: (the store, the product, the threads that store one tile,
    their rows and columns).
    """
    places, seen = TilePlaces(run), set[object]()
    for store in run.outputs:
        piece = next(list_pieces(store), None) if (store.site, store.array) not in seen else None
        found = places.find_coordinates(piece.record, piece.thread, piece.byte) if piece is not None else None
        if piece is not None and found is not None:
            seen.add((store.site, store.array))
            row, column, count = found
            same = piece.thread // count == piece.thread[0] // count
            yield store, run.results[-piece.record - 1], piece.lanes[same], row[same], column[same]
