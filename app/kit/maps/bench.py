"""Maps of cells to holders. A holder is a thread, or a bank of memory; its cells on a map are its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.answer import AnswerWords
from lanescope.render.sheet import find_first_holders
from lanescope.tiles.shades import TileShade

Longs = NDArray[np.int64]
LANES = 32
BANKS, BANK_BYTES, BANKS_A_COLOUR = 32, 4, 4  # of shared memory; each 16-byte chunk has one colour
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
    firsts = range(0, BANKS, BANKS_A_COLOUR)
    number = np.where(byte < 0, -1, byte // (BANK_BYTES * BANKS_A_COLOUR) % len(firsts))
    return CellColouring(number, tuple(f"{first}–{first + BANKS_A_COLOUR - 1}" for first in firsts))


@dataclass(frozen=True, slots=True, eq=False)
class HolderMap:
    """A map on the stage. cell: int64 [holders, values], the cell number of each value, -1 if it is not shown.

    group: [value], the line of a list that contains a value; fields: further numbers of each cell that labels may
    name; folded: cells are named by number instead of row and column; edges: rows and columns at which another atom or
    tile begins; text: the template of its cells, for every label; listed: whether a holder's list has its cells of this
    map; answer: the first sentence about a cell, if not the bench's; axes: on a map of memory, the two `fields` that
    are row and column of the tensor's element; height, width: of that tensor; shared: whether it is in shared memory,
    so that its holders only read it; bits: [value], the bits of a value in its register, in a sentence's words;
    per_register: how many values a register has room for.
    """

    name: str
    title: str
    about: str
    rows: int
    cols: int
    cell: Longs
    element_bits: int
    shades: Mapping[str, TileShade]
    of_cells: Mapping[str, CellColouring] = field(default_factory=dict)
    group: tuple[int, ...] = ()
    fields: Mapping[str, Longs] = field(default_factory=dict)
    folded: bool = False
    edges: tuple[Sequence[int], Sequence[int]] = ((), ())
    text: str = ""
    listed: bool = True
    answer: str = ""
    axes: tuple[str, ...] = ()
    height: int = 0
    width: int = 0
    shared: bool = False
    bits: tuple[str, ...] = ()
    per_register: int = 1

    def find_first_holders(self) -> CellHolders:
        """Return the first holder of every cell."""
        return CellHolders(*find_first_holders(self.cell, self.rows, self.cols))

    def colour_numbers(self, colour: str, holders: CellHolders) -> tuple[Longs, tuple[str, ...]]:
        """Return the number of every cell under a colouring, -1 for none, and the name of each number."""
        if colour in self.of_cells:
            colours = self.of_cells[colour]
            return colours.numbers, colours.names
        shade = self.shades[colour]
        made = np.where(holders.thread < 0, -1, shade.number_cells(holders.thread, holders.value))
        return made, tuple(map(str, range(shade.count)))

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
    """Maps side by side with the same holders.

    colours, labels: the choices and their names; texts: the template of each label; unit: what a holder is; letter:
    prefix of a group's number; owner: the sentence about a holder, in the words of lanescope.render.view.OWNER; answer:
    the first sentence about a pinned cell; together: beginning of the sentence about other values of its group; lanes:
    threads per warp; words, example: of the page's first sentences and find field, if not derived from the maps;
    working: the holders that hold anything, if not all do.
    """

    path: str
    says: str
    maps: tuple[HolderMap, ...]
    colours: Mapping[str, str]
    labels: Mapping[str, str]
    texts: Mapping[str, str]
    letter: str
    unit: str = "thread"
    owner: str = "{holder}, value {value}"
    dims: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    answer: str = "`{element}` is in `thread {thread}`, value `{value}`"
    together: str = "The same register also holds"
    lanes: int = LANES
    words: AnswerWords | None = None
    example: str = ""
    working: Collection[int] = ()

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
