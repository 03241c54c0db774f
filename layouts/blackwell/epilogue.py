"""The epilogue of tcgen05: what each thread holds of D after its loads, and the cost of storing it.

Loads: layouts/blackwell/tmem. stmatrix: PTX ISA 9.1, 9.7.14.5.16. Documented; maps compared with CUTLASS as each says;
tcgen05 has not been executed on hardware here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lanescope.blackwell import tmem
from lanescope.blackwell.tmem import LANES, QUARTER, TensorAccess, TmemMma, TmemOperandLayout
from lanescope.errors import LayoutError
from lanescope.ptx.pattern import IntArray
from lanescope.shared import banks
from lanescope.shared.swizzle import Mode, get_mode

WARPS = LANES // QUARTER
SECTOR, CHUNK = 32, 16  # bytes of a global-memory sector, of a thread's widest access
MATRIX = 8  # rows and columns of a matrix of stmatrix
MOST_MATRICES = 4

ROWS = "rows"
STORED = ("128B", "64B", "32B", ROWS)


@dataclass(frozen=True, slots=True)
class SharedStore:
    """16-bit D in shared memory: panels of the mode's width, or complete rows without a mode."""

    rows: int
    columns: int
    mode: Mode | None

    @property
    def panel(self) -> int:
        """The bytes of one row of a panel."""
        return self.mode.width_bytes if self.mode else 2 * self.columns

    def address(self, row: Any, col: Any) -> Any:
        """Return the byte address of an element; arguments broadcast."""
        byte = 2 * col
        before = byte // self.panel * (self.rows * self.panel) + row * self.panel + byte % self.panel
        return self.mode.swizzle()(before) if self.mode else before


@dataclass(frozen=True, slots=True)
class WarpLoad:
    """One load of a warp: its address, lane << 16 | column, relative to D's."""

    warp: int
    lane: int
    column: int


@dataclass(frozen=True, eq=False)
class Epilogue:
    """The loads that bring D of one CTA to registers. halves: D is f16, in the low half of each column."""

    mma: TmemMma
    access: TensorAccess
    halves: bool = False

    def __post_init__(self) -> None:
        if self.access.verb != "ld":
            message = f"{self.access.ptx} does not load registers."
            raise LayoutError("bad_access", message, "An epilogue begins with a tcgen05.ld.", "access")
        if self.access.packed and not self.halves:
            message = "pack::16b keeps the low half of every column; D has 32 bits."
            raise LayoutError("bad_access", message, "Remove .pack::16b, or choose a 16-bit D.", "access")
        if self.d.columns % self.access.columns:
            message = f"{self.access.ptx} accesses {self.access.columns} columns; D has {self.d.columns}."
            raise LayoutError("bad_access", message, "Give a count that divides D's columns.", "access")
        if self.access.halves:
            message = f"The second half of {self.access.shape} begins at an immediate offset."
            raise LayoutError("bad_access", message, "Give one of the other four shapes.", "access")

    @property
    def d(self) -> TmemOperandLayout:
        return tmem.make_tmem_layout(self.mma, "d")

    @cached_property
    def loads(self) -> list[WarpLoad]:
        """Every load of every warp in its quarter of the lanes, from left to right.

        Shapes of 16 lanes take two loads per quarter, except in layouts C and F, where D has 16 lanes per quarter.
        """
        lanes = (0,) if self.access.tall == QUARTER or "half" in self.d.axes else (0, 16)
        return [
            WarpLoad(warp, lane, column)
            for warp in range(WARPS)
            for lane in lanes
            for column in range(0, self.d.columns, self.access.columns)
        ]

    def locate_elements(self, load: WarpLoad) -> tuple[IntArray, IntArray]:
        """Return row and column of D in this CTA, each [thread of the warp][value]; −1 for lanes without D."""
        lane, column = self.access.pattern.evaluate()[:2]
        coords = self.d.coords
        at = (lane + load.lane + QUARTER * load.warp, column + load.column)
        row, col = coords["row"][at], coords["col"][at]
        if "half" in coords:
            outside = coords["half"][at] != 0
            row, col = np.where(outside, -1, row), np.where(outside, -1, col)
        return row.astype(np.int32), col.astype(np.int32)

    def locate_first_load(self) -> tuple[IntArray, IntArray]:
        """Return row and column of D that every thread of the CTA holds after its first load: [thread][value]."""
        first_loads = [next(load for load in self.loads if load.warp == warp) for warp in range(WARPS)]
        rows, cols = zip(*(self.locate_elements(load) for load in first_loads), strict=True)
        return np.concatenate(rows), np.concatenate(cols)

    @property
    def per_register(self) -> int:
        """The elements of D per loaded register."""
        return 2 if self.access.packed else 1

    # to shared memory -------------------------------------------------------------------------------------------------

    @cached_property
    def matrices(self) -> int:
        """The number of 8 × 8 matrices that stmatrix can store from one load; 0 if its registers do not form any.

        Two adjacent values of a thread are converted and packed into one register.
        """
        row, col = self.locate_elements(self.loads[0])
        values = row.shape[1]
        if values % 2 or row.min() < 0:
            return 0
        lane = np.arange(QUARTER)[:, None, None]
        pairs = (QUARTER, values // 2, 2)
        first = (row.reshape(pairs)[:1, :, :1] // MATRIX * MATRIX, col.reshape(pairs)[:1, :, :1] // MATRIX * MATRIX)
        down, across = row.reshape(pairs) - first[0], col.reshape(pairs) - first[1]
        fits = (down == lane // 4) & (across == lane % 4 * 2 + np.arange(2))
        return values // 2 if bool(fits.all()) else 0

    def place_in_shared(self, name: str) -> SharedStore:
        """Return D of this CTA in shared memory: "rows", or panels of a swizzle mode's width as TMA stores them."""
        if name == ROWS:
            return SharedStore(self.mma.place.rows, self.mma.n, None)
        return SharedStore(self.mma.place.rows, self.mma.n, get_mode(name))

    def list_store_rows(self, to: SharedStore) -> list[list[int]]:
        """Return the row addresses of every stmatrix, eight per matrix, in the order of the registers."""
        rows: list[list[int]] = []
        count = min(self.matrices, MOST_MATRICES)
        for load in self.loads:
            row, col = self.locate_elements(load)
            top, left = row[0, : 2 * self.matrices : 2, None], col[0, : 2 * self.matrices : 2, None]
            address = to.address(top.astype(np.int64) + np.arange(MATRIX), left.astype(np.int64))
            rows += address.reshape(-1, count * MATRIX).tolist()
        return rows

    def count_wavefronts(self, to: SharedStore) -> tuple[int, int, int]:
        """Return (number of stmatrix of the CTA, their wavefronts, the minimum number of wavefronts)."""
        kind = banks.get_access(f"stmatrix.x{min(self.matrices, MOST_MATRICES)}")
        costs = [banks.compute_cost(kind, address) for address in self.list_store_rows(to)]
        return len(costs), sum(cost.wavefronts for cost in costs), sum(cost.ideal for cost in costs)

    # to global memory -------------------------------------------------------------------------------------------------

    def count_sectors(self, bits: int) -> tuple[int, int, int]:
        """Return (bytes per store of a thread, stores of a warp per load, sectors per store).

        Every thread stores its runs of adjacent columns to rows of global memory.
        """
        row, col = self.locate_elements(self.loads[0])
        has_row = row[:, 0] >= 0
        run = 1
        while run < row.shape[1]:
            same = (row[:, run] == row[:, 0]) & (col[:, run] == col[:, 0] + run)
            if not same[has_row].all():
                break
            run *= 2
        wide = min(run * bits // 8, CHUNK) or 1
        at_once = max(wide * 8 // bits, 1)
        byte = col[:, 0].astype(np.int64) * bits // 8
        sectors = {(int(r), int(b) // SECTOR) for r, b in zip(row[:, 0], byte, strict=True) if r >= 0}
        return wide, row.shape[1] // at_once, len(sectors)


def choose_load(mma: TmemMma, halves: bool) -> TensorAccess:
    """Return the load whose registers stmatrix can store: the largest count up to x4 that divides D's columns."""
    d = tmem.make_tmem_layout(mma, "d")
    for x in (4, 2, 1):
        text = f"tcgen05.ld.16x128b.x{x}.pack::16b" if halves else f"tcgen05.ld.16x256b.x{x}"
        access = tmem.parse_access(text)
        if not d.columns % access.columns:
            return access
    raise AssertionError  # x1 divides every D
