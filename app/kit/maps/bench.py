"""Maps of cells to holders. A holder is a thread, or a bank of memory; its cells on a map are its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.answer import AnswerWords
from lanescope.ptx.threads import WARP
from lanescope.render.sheet import find_first_holders
from lanescope.tiles.shades import TileShade

Longs = NDArray[np.int64]
BANKS, BANK_BYTES, BANKS_PER_COLOUR = 32, 4, 4  # of shared memory; each 16-byte chunk has one colour
PIN, HOLDER_PIN = "{panel}:{row},{col}", "{unit}:{holder}"
MOST_LISTED = 256  # lines per holder that a page lists


def split_pin(pin: str) -> tuple[str, int, int | None]:
    """Return (matrix, row, column) of a pinned cell, or (unit, number, None) of a pinned holder."""
    name, _, place = pin.partition(":")
    first, comma, second = place.partition(",")
    return name, int(first), int(second) if comma else None


@dataclass(frozen=True, slots=True)
class CellHolders:
    """The holders of cells: thread and value of the first one, and their number, int64 [rows, cols]."""

    thread: Longs
    value: Longs
    counts: Longs

    @property
    def copies(self) -> int:
        """The greatest number of holders of a cell, at least 1."""
        return int(self.counts.max(initial=1))


@dataclass(frozen=True, slots=True, eq=False)
class CellColouring:
    """A colouring by element instead of by holder: a number per cell, -1 for none, and a name per number."""

    numbers: Longs
    names: tuple[str, ...]


def colour_by_chunk(byte: Longs) -> CellColouring:
    """Colour by 16-byte chunk, which is four neighbouring banks."""
    firsts = range(0, BANKS, BANKS_PER_COLOUR)
    number = np.where(byte < 0, -1, byte // (BANK_BYTES * BANKS_PER_COLOUR) % len(firsts))
    return CellColouring(number, tuple(f"{first}–{first + BANKS_PER_COLOUR - 1}" for first in firsts))


@dataclass(frozen=True, slots=True, eq=False)
class HolderMap:
    """A map of one matrix, or of memory, on the page's stage."""

    name: str
    title: str
    about: str
    rows: int
    cols: int
    cell: Longs  # [holders, values]: the cell number of each value, -1 if it is not shown
    element_bits: int
    shades: Mapping[str, TileShade]  # colourings by holder
    of_cells: Mapping[str, CellColouring] = field(default_factory=dict)  # colourings by element
    group: tuple[int, ...] = ()  # [value]: the line of a holder's list that contains a value, such as its register
    fields: Mapping[str, Longs] = field(default_factory=dict)  # further numbers of each cell that labels may name
    folded: bool = False  # cells are named by number instead of row and column
    edges: tuple[Sequence[int], Sequence[int]] = ((), ())  # rows and columns at which another atom or tile begins
    text: str = ""  # the template of its cells, for every label
    listed: bool = True  # a holder's list has its cells of this map
    answer: str = ""  # the first sentence about a cell, if not the bench's
    axes: tuple[str, ...] = ()  # of memory: the two `fields` that are row and column of the tensor's element
    height: int = 0  # of that tensor
    width: int = 0  # of that tensor
    shared: bool = False  # it is in shared memory, so that its holders only read it
    bits: tuple[str, ...] = ()  # [value]: the bits of a value in its register, in a sentence's words
    per_register: int = 1  # how many values fit in a register

    def find_first_holders(self) -> CellHolders:
        """Return the first holder of every cell."""
        return CellHolders(*find_first_holders(self.cell, self.rows, self.cols))

    def colour_numbers(self, colour: str, holders: CellHolders) -> tuple[Longs, tuple[str, ...]]:
        """Return the number of every cell under a colouring, -1 for none, and the name of each number."""
        if colour in self.of_cells:
            colours = self.of_cells[colour]
            return colours.numbers, colours.names
        shade = self.shades[colour]
        numbers = np.where(holders.thread < 0, -1, shade.number_cells(holders.thread, holders.value))
        return numbers, tuple(map(str, range(shade.count)))

    def format_cell(self, cell: int) -> str:
        """Return a cell's name in lists."""
        return str(cell) if self.folded else f"({cell // self.cols},{cell % self.cols})"

    def list_registers(self, holder: int, letter: str) -> list[tuple[str, str]]:
        """Return (register, cells) of a holder: (R0, (0,0) (0,1))."""
        out: dict[int, list[str]] = {}
        for group, cell in zip(self.group, self.cell[holder].tolist(), strict=True):
            if cell >= 0:
                out.setdefault(group, []).append(self.format_cell(cell))
        return [(f"{letter}{number}", " ".join(texts)) for number, texts in list(out.items())[:MOST_LISTED]]


@dataclass(frozen=True, slots=True, eq=False)
class MapBench:
    """Maps side by side with the same holders."""

    path: str
    says: str
    maps: tuple[HolderMap, ...]
    colours: Mapping[str, str]  # colouring → its name
    labels: Mapping[str, str]  # label → its name
    texts: Mapping[str, str]  # label → the template of a cell's text
    letter: str  # prefix of a group's number
    unit: str = "thread"  # what a holder is
    owner: str = "{holder}, value {value}"  # the sentence about a holder, in the words of lanescope.render.view.OWNER
    dims: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    answer: str = "`{element}` is in `thread {thread}`, value `{value}`"  # the first sentence about a pinned cell
    together: str = "The same register also holds"  # beginning of the sentence about other values of its group
    lanes: int = WARP  # threads per warp
    words: AnswerWords | None = None  # of the page's first sentences, if not derived from the maps
    example: str = ""  # of the find field, if not derived from the maps
    occupied: Collection[int] = ()  # the holders that hold an element; () if all do

    def get_map(self, name: str) -> HolderMap:
        return next(holder_map for holder_map in self.maps if holder_map.name == name)

    @property
    def holders(self) -> int:
        return max(int(holder_map.cell.shape[0]) for holder_map in self.maps)

    @property
    def warps(self) -> int:
        return -(-self.holders // self.lanes) if self.unit == "thread" else 0

    def get_dims(self, holder_map: HolderMap) -> tuple[str, str]:
        """Return the dimensions of rows and columns; maps with equal dimensions scroll together."""
        return self.dims.get(holder_map.name, ("r", "c"))

    @property
    def extents(self) -> dict[str, int]:
        out: dict[str, int] = {}
        for holder_map in self.maps:
            for dim, count in zip(self.get_dims(holder_map), (holder_map.rows, holder_map.cols), strict=True):
                out[dim] = max(count, out.get(dim, 0))
        return out
