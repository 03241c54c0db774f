"""Scale factors in the tensor memory of a replayed block: from which bytes of global memory each of them comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.reader.threads.barriers.clusters import WINDOW
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints
from lanescope.reader.threads.memory.tensor_products import COLUMNS
from lanescope.reader.threads.memory.tile_records import LineMove, ScaleCopy, TileProduct

if TYPE_CHECKING:
    from lanescope.workbench.products.product_origins import LoadedBox

LANES, WORD = 32, 4  # of a column: the lanes that differ, and the factors in each
LINE = -2  # owner of bytes of the first line; -3 of the second one, …
_SOURCE = View(LANES, 16, 8, "K", TCGEN05)  # what 32x128b takes through its descriptor
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class TakenFactors:
    """The factors of a product: [rows, factors]. arrays: numbers of their sources; offsets: the bytes in these."""

    arrays: Ints
    offsets: Ints

    @property
    def is_known(self) -> bool:
        return bool((self.arrays >= 0).all())


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMemory:
    """The factors of one block. lines: copies of bytes to shared memory; names: of the sources; cells: the source and
    the byte of each factor: [columns, lanes, bytes, 2].
    """

    lines: list[tuple[LineMove, int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cells: Ints = field(default_factory=lambda: np.full((COLUMNS, LANES, WORD, 2), UNKNOWN, np.int64))
    taken: dict[tuple[int, str], TakenFactors] = field(default_factory=dict)

    def fill_line(self, move: LineMove, lane: int, owner: Ints) -> bool:
        """Fill shared memory by a copy of bytes; return whether they are known."""
        base, size = int(move.place[lane]) & WINDOW, int(move.size[lane])
        if not 0 <= base <= SHARED_BYTES - size:
            return False
        owner[base : base + size] = LINE - len(self.lines)
        self.lines.append((move, lane))
        return True

    def copy(self, copy: ScaleCopy, owner: Ints, boxes: Sequence[LoadedBox]) -> None:
        """Copy 512 bytes of shared memory to four columns."""
        columns = self.cells[copy.column : copy.column + LANES * 16 // (LANES * WORD)]
        columns[:] = UNKNOWN
        try:
            places = find_described_places(copy.word, _SOURCE)
        except LayoutError:
            return
        if places.min() < 0 or places.max() >= SHARED_BYTES or len(columns) < WORD:
            return
        found = np.stack(self._find_sources(places, owner, boxes), -1)
        columns[:] = found.reshape(LANES, WORD, WORD, 2).transpose(1, 0, 2, 3)

    def _find_sources(self, places: Ints, owner: Ints, boxes: Sequence[LoadedBox]) -> tuple[Ints, Ints]:
        """Return the number of the source of each byte, and its offset in that."""
        owners = owner[places]
        arrays, offsets = np.full_like(places, UNKNOWN), np.zeros_like(places)
        for one in np.unique(owners).tolist():
            mine = owners == one
            if one <= LINE:
                move, lane = self.lines[LINE - one]
                name, start = move.array, int(move.start[lane]) - (int(move.place[lane]) & WINDOW)
                arrays[mine], offsets[mine] = self._find_number(name), start + places[mine]
            elif one >= 0 and (inside := _find_offsets(boxes[one], places[mine])) is not None:
                name = min(boxes[one].map.names, default="")
                arrays[mine], offsets[mine] = self._find_number(name), inside
        return arrays, offsets

    def _find_number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def take(self, product: TileProduct) -> None:
        """Note the factors that a product takes."""
        for name, use in product.scales.items():
            row = np.arange(product.views[name].rows)
            column = (use.column + row // LANES)[:, None].clip(0, COLUMNS - 1)
            byte = (use.byte + np.arange(use.count)).clip(0, WORD - 1)
            cells = self.cells[column, (row % LANES)[:, None], byte]
            self.taken[product.event, name] = TakenFactors(cells[..., 0], cells[..., 1])


def _find_offsets(box: LoadedBox, places: Ints) -> Ints | None:
    """Return the number of each byte of a box in a tensor of bytes, None if it is none or its sizes are open."""
    dims = [size for size in box.map.dims[:-1] if size is not None]
    if box.map.element_bits != 8 or len(dims) + 1 != len(box.map.dims):
        return None
    steps = np.array([prod(dims[:n]) for n in range(len(dims) + 1)], np.int64)
    offsets: Ints = (box.find_raw_coordinates(places) * steps).sum(axis=1)
    return offsets
