"""Maps of cells to holders: a holder is a thread, or a bank of memory; what it holds of a map are its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lanescope.tiles.shades import TileShade

Longs = NDArray[np.int64]
LANES = 32
BANKS, BANK_BYTES, BANKS_A_COLOUR = 32, 4, 4  # of shared memory; 16 bytes, a chunk, have one colour
PIN, HOLDER_PIN = "{panel}:{row},{col}", "{unit}:{holder}"
MOST_LISTED = 256  # lines of one holder that a page lists


def split_pin(pin: str) -> tuple[str, int, int | None]:
    """(matrix, row, column) of a pinned cell, or (unit, number, None) of a pinned holder."""
    name, _, place = pin.partition(":")
    first, comma, second = place.partition(",")
    return name, int(first), int(second) if comma else None


@dataclass(frozen=True, slots=True)
class CellHolders:
    """Who holds each element of an operand: thread and value of its first copy, int64 [rows, cols]; copies: how many
    threads hold it.
    """

    thread: Longs
    value: Longs
    copies: int


@dataclass(frozen=True, slots=True, eq=False)
class CellColouring:
    """A colour that belongs to the element, not to who holds it: a number for each cell, -1 for none, and a name for
    each number.
    """

    numbers: Longs
    names: tuple[str, ...]


def colour_by_chunk(byte: Longs) -> CellColouring:
    """Four neighbouring banks, the 16 bytes of a chunk, as one colour."""
    firsts = range(0, BANKS, BANKS_A_COLOUR)
    number = np.where(byte < 0, -1, byte // (BANK_BYTES * BANKS_A_COLOUR) % len(firsts))
    return CellColouring(number, tuple(f"{first}–{first + BANKS_A_COLOUR - 1}" for first in firsts))


@dataclass(frozen=True, slots=True, eq=False)
class HolderMap:
    """A map on the stage. cell: int64 [holders, values], the number of each one's cell, -1 for one that is not shown.

    group: [value], what values a list puts in one line; told: further numbers of each cell that its label may name;
    folded: a cell is called by its number, not by row and column; edges: where another atom or tile begins, down and
    across; text: the template of its cells, whatever label is chosen; listed: whether a holder's list names what it has
    here; answer: the first sentence about a cell, if not the bench's; axes: on a map of memory, the numbers of `told`
    that are row and column of the element there, of a tensor of height × width.
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
    told: Mapping[str, Longs] = field(default_factory=dict)
    folded: bool = False
    edges: tuple[Sequence[int], Sequence[int]] = ((), ())
    text: str = ""
    listed: bool = True
    answer: str = ""
    axes: tuple[str, ...] = ()
    height: int = 0
    width: int = 0

    def find_first_holders(self) -> CellHolders:
        """The first holder of every cell."""
        values = self.cell.shape[1]
        flat = np.where(self.cell < 0, self.rows * self.cols, self.cell).reshape(-1)
        first = np.full(self.rows * self.cols + 1, -1, dtype=np.int64)
        first[flat[::-1]] = np.arange(flat.size)[::-1]  # of several the first stays
        held = first[:-1].reshape(self.rows, self.cols)
        most = int(np.bincount(flat, minlength=first.size)[:-1].max(initial=1))
        return CellHolders(np.where(held < 0, -1, held // values), np.where(held < 0, -1, held % values), max(1, most))

    def colour_numbers(self, colour: str, held: CellHolders) -> tuple[Longs, tuple[str, ...]]:
        """(the number of every cell, -1 for none; the name of each number) of a colour."""
        if colour in self.of_cells:
            own = self.of_cells[colour]
            return own.numbers, own.names
        shade = self.shades[colour]
        made = np.where(held.thread < 0, -1, shade.number_cells(held.thread, held.value))
        return made, tuple(map(str, range(shade.count)))

    def format_cell(self, cell: int) -> str:
        """A cell as lists call it."""
        return str(cell) if self.folded else f"({cell // self.cols},{cell % self.cols})"

    def list_registers(self, holder: int, letter: str) -> list[tuple[str, str]]:
        """(R0, (0,0) (0,1)) of what a holder has."""
        out: dict[int, list[str]] = {}
        for group, cell in zip(self.group, self.cell[holder].tolist(), strict=True):
            if cell >= 0:
                out.setdefault(group, []).append(self.format_cell(cell))
        return [(f"{letter}{number}", " ".join(said)) for number, said in list(out.items())[:MOST_LISTED]]


@dataclass(frozen=True, slots=True, eq=False)
class MapBench:
    """Maps side by side whose holders are the same. colours, labels: what may be chosen, and its words; texts: the
    template of each label; unit: what a holder is; letter: what stands before the number of a group; owner: a holder
    read out, in the words of lanescope.render.view.OWNER; answer: the first sentence about a pinned cell; together:
    what begins a sentence about the other values of its group; lanes: threads of a warp.
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

    @property
    def holders(self) -> int:
        return max(int(one.cell.shape[0]) for one in self.maps)

    @property
    def warps(self) -> int:
        return -(-self.holders // self.lanes) if self.unit == "thread" else 0

    def get_dims(self, one: HolderMap) -> tuple[str, str]:
        """The dimensions that its rows and columns follow: maps with the same ones move together."""
        return self.dims.get(one.name, ("r", "c"))

    @property
    def extents(self) -> dict[str, int]:
        out: dict[str, int] = {}
        for one in self.maps:
            for dim, count in zip(self.get_dims(one), (one.rows, one.cols), strict=True):
                out[dim] = max(count, out.get(dim, 0))
        return out
