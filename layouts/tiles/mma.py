"""TiledMMA: the thread and value that hold each element of A, B and C of a tile.

    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 64, 32))
    made.c.rows[45, 0], made.c.cols[45, 0], made.c.owner(19, 2)

The maps follow CuTe's definition step by step: the permutation divides the tile, the atom divides the result, its
thread-value layout is composed, and the atom layout divides the remaining modes (thrfrg_A, _B and _C of
include/cute/atom/mma_atom.hpp, CUTLASS 4.7). Values are in the order of partition_A, _B and _C: colexicographic in
(value of the atom, repeat in M or N, repeat in K or N).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import algebra, tuples
from lanescope.cute.algebra import Tiler
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import check_coordinate, format_count, join_words, parse_integer
from lanescope.tiles.arguments import get_least_size
from lanescope.tiles.atoms import MmaAtom
from lanescope.tiles.thread_map import Ints, ThreadMap

MOST_REGISTERS = 255  # per thread: CUDA C++ Programming Guide, technical specifications per compute capability
MOST_SIZE = 4096  # of a tile in one dimension
MOST_VALUES = 1 << 18  # of all threads of one operand
SIDES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}  # rows and columns of CuTe's tensor, as dimensions of (M, N, K)
LETTERS = "MNK"
_COUNTS = {2: "Two", 3: "Three"}


def parse_tile_sizes(tile: Sequence[Any], names: Sequence[str]) -> tuple[int, ...]:
    """Return the sizes of a tile; LayoutError `bad_tile` for a wrong size, or another number of them than names."""
    if len(tile) != len(names):
        message = f"tile has {format_count(len(tile), 'number')}."
        raise LayoutError("bad_tile", message, f"{_COUNTS[len(names)]}: {join_words(names)}.", "tile")
    return tuple(parse_integer(size, f"tile[{at}]", 1, MOST_SIZE, "bad_tile") for at, size in enumerate(tile))


@dataclass(frozen=True, eq=False)
class TileOperand(ThreadMap):
    """A, B or C of a tile: rows and cols are int32 [threads, values]; the rows of B are k and its columns n.

    thread_ids: int64 [threads], the thread of each row of the arrays; layout: the map as a CuTe thread-value layout of
    one TiledMMA's own tile, over (m, k), (n, k) or (m, n), None if there is none; modes: values of the atom, and
    repeats along the first and the second dimension; shared: read from shared memory by a descriptor, one row per
    warpgroup.
    """

    name: str
    rows: Ints
    cols: Ints
    row_count: int
    col_count: int
    thread_ids: NDArray[np.int64]
    modes: tuple[int, int, int]
    element_bits: int
    registers: int
    shared: bool
    compute_layout: Callable[[], CuteLayout | None]  # computes `layout` on first use

    @cached_property
    def layout(self) -> CuteLayout | None:
        return self.compute_layout()

    @property
    def copies(self) -> int:
        """The number of threads that hold each element."""
        return self.threads * self.values // (self.row_count * self.col_count)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The positions in the flattened arrays, sorted by element, then by thread and value."""
        return np.argsort((self.rows.astype(np.int64) * self.col_count + self.cols).reshape(-1), kind="stable")

    def owner(self, row: int, col: int) -> list[tuple[int, int]]:
        """Return every (thread, value) that holds element (row, col)."""
        for at, extent in ((row, self.row_count), (col, self.col_count)):
            check_coordinate(at, extent, f"Operand {self.name}.")
        first = (row * self.col_count + col) * self.copies
        places = self._order[first : first + self.copies]
        return [(int(self.thread_ids[at // self.values]), int(at % self.values)) for at in places]

    def _repr_svg_(self) -> str:
        """Return the picture for a notebook."""
        from lanescope.tiles.pictures import render_tile_svg  # the drawing loads when something is drawn

        size = self.row_count, self.col_count
        return render_tile_svg(
            self.rows, self.cols, size, f"{self.name.upper()}: {size[0]} × {size[1]}", self.thread_ids
        )


@dataclass(frozen=True, eq=False)
class TiledMMA:
    """An atom, its repetition over threads and values, and a tile of M × N × K elements."""

    atom: MmaAtom
    atom_layout: CuteLayout
    permutation: tuple[Tiler, Tiler, Tiler]
    tile: tuple[int, int, int]
    value_layout: CuteLayout | None = None  # the third argument of older CuTe, from which the permutation follows

    @cached_property
    def thread_layout(self) -> CuteLayout:
        """CuTe's ThrLayoutVMNK: (thread in the atom, atom in M, N, K) → thread."""
        return algebra.tiled_product(self.atom.threads, self.atom_layout)

    @cached_property
    def thread_ids(self) -> NDArray[np.int64]:
        """The threads in use, ascending: int64 [threads]; 0, 1, … except for quad pairs and atom layouts with gaps."""
        return np.sort(self.thread_layout.list_indices())

    @property
    def threads(self) -> int:
        """The number of threads in use."""
        return int(self.thread_ids.size)

    @property
    def idle(self) -> int:
        """The number of unused threads below the last one in use."""
        return int(self.thread_ids[-1]) + 1 - self.threads

    @cached_property
    def coordinates(self) -> NDArray[np.int64]:
        """(thread in its atom, atom in M, N and K) of each thread: int64 [4, threads]."""
        return self.locate_threads(self.thread_ids)

    def locate_threads(self, threads: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (thread in its atom, atom in M, N and K) of some threads: int64 [4, …]."""
        coordinates = []
        for mode in self.thread_layout.modes:
            at, weight = np.zeros_like(threads), 1
            for count, step in mode.digits:
                if count > 1 and step:
                    at = at + threads // step % count * weight
                weight *= count
            coordinates.append(at)
        return np.array(coordinates)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K) of one TiledMMA: the sizes of the permutation, by default the atoms times the atom's shape."""
        m, n, k = (tuples.size(algebra.get_tiler_size(tiler)) for tiler in self.permutation)
        return m, n, k

    @property
    def atoms(self) -> tuple[int, int, int]:
        """The number of atoms along M, N and K."""
        m, n, k = (mode.size for mode in self.atom_layout.modes)
        return m, n, k

    @property
    def steps(self) -> tuple[int, int, int]:
        """How often a warp (or warpgroup) repeats the atom along M, N and K."""
        m, n, k = (
            size // (size_of_atom * times)
            for size, size_of_atom, times in zip(self.tile, self.atom.shape, self.atoms, strict=True)
        )
        return m, n, k

    @property
    def rests(self) -> tuple[int, int, int]:
        """The repeats of a thread along M, N and K: the sizes of the outer modes of partition_C and partition_A."""
        return self.c.modes[1], self.c.modes[2], self.a.modes[2]

    @property
    def registers(self) -> int:
        """The 32-bit registers per thread for A, B and C of the tile."""
        return sum(op.registers for op in (self.a, self.b, self.c))

    @cached_property
    def a(self) -> TileOperand:
        return self._make_operand("a")

    @cached_property
    def b(self) -> TileOperand:
        return self._make_operand("b")

    @cached_property
    def c(self) -> TileOperand:
        return self._make_operand("c")

    def operand(self, name: str) -> TileOperand:
        """Return operand a, b or c (d is c); LayoutError for another name."""
        letter = str(name).lower().replace("d", "c")
        if letter not in SIDES:
            raise LayoutError(
                "unknown_operand", f"A TiledMMA has no operand '{name}'.", "It has a, b and c.", "operand"
            )
        return self.a if letter == "a" else self.b if letter == "b" else self.c

    def require_registers(self, field: str) -> None:
        """Raise LayoutError about a field if the operands are not in registers (overridden by TiledUmma)."""

    def _repr_html_(self) -> str:
        """Return A, B and C for a notebook."""
        drawn = "".join(f"<td valign='top'>{op._repr_svg_()}</td>" for op in (self.a, self.b, self.c))
        return f"<table><tr>{drawn}</tr></table>"

    def thrfrg(self, name: str, extents: tuple[int, int]) -> CuteLayout:
        """Return thrfrg_A, _B or _C of a column-major tile: ((thread, (atoms)), (value, (repeats))) → element."""
        return self.divide_tensor(name, algebra.make_layout(extents))

    def divide_tensor(self, name: str, tensor: CuteLayout) -> CuteLayout:
        """Return thrfrg_A, _B or _C of a tensor: ((thread, (atoms)), (value, (repeats))) → index."""
        first, second = SIDES[name]
        atom_shape = self.atom.shape
        threads = self.thread_layout.modes
        divided = algebra.logical_divide(tensor, (self.permutation[first], self.permutation[second]))
        atoms = (algebra.make_layout(atom_shape[first]), algebra.make_layout(atom_shape[second]))
        tiled = algebra.zipped_divide(divided, atoms)
        by_thread = algebra.composition(tiled, (self.atom.layouts[name], None))
        teams = (algebra.make_layout(threads[first + 1].size), algebra.make_layout(threads[second + 1].size))
        return algebra.zipped_divide(by_thread, (None, teams))

    def _make_operand(self, name: str) -> TileOperand:
        first, second = SIDES[name]
        extents = (self.tile[first], self.tile[second])
        thrfrg = self._check_thrfrg(name, extents)
        of_threads, of_values = thrfrg.modes
        in_atom, teams = of_threads.modes
        thread = tuples.compute_indices(self.coordinates[0], in_atom.shape, in_atom.stride)
        for which, mode in zip((first, second), teams.modes, strict=True):
            thread = thread + tuples.compute_indices(self.coordinates[which + 1], mode.shape, mode.stride)
        shared = name in self.atom.shared
        ids = self.thread_ids
        if shared:
            each = self.atom.threads.size
            thread, ids = thread[::each], ids[::each]
        elements = thread[:, None] + of_values.list_indices()[None, :]
        down, across = (elements % extents[0]).astype(np.int32), (elements // extents[0]).astype(np.int32)
        if name == "b":
            down, across, extents = across, down, (extents[1], extents[0])
        for array in (down, across):
            array.flags.writeable = False
        value, rest = of_values.modes
        rests = rest.modes
        times = self.steps[first] * self.steps[second]
        return TileOperand(
            name,
            down,
            across,
            *extents,
            ids,
            (value.size, rests[0].size, rests[1].size),
            self.atom.bits[name],
            self.atom.registers[name] * times,
            shared,
            lambda: self._make_tv_layout(name),
        )

    def _check_thrfrg(self, name: str, extents: tuple[int, int]) -> CuteLayout:
        try:
            thrfrg = self.thrfrg(name, extents)
        except LayoutError as error:
            raise self._make_permutation_error(name, error) from None
        elements = prod(extents)
        once = algebra.filter_layout(thrfrg)  # modes of stride 0 repeat every element alike
        counts = np.bincount(once.list_indices(), minlength=elements)
        if counts.size > elements or (counts * elements != once.size).any():
            sides = " × ".join(f"{LETTERS[side]} = {self.tile[side]}" for side in SIDES[name])
            raise LayoutError(
                "bad_permutation",
                f"Operand {name.upper()}: the permutation {algebra.format_tiler(self.permutation)} does not reach"
                f" every element of a tile of {sides} once.",
                "Give a permutation that is one to one on each dimension, and a tile that it divides.",
                "permutation",
            )
        return thrfrg

    def _make_permutation_error(self, name: str, error: LayoutError) -> LayoutError:
        """Return the error that names the dimension whose permutation the atom or the atom layout does not divide."""
        for side in SIDES[name]:
            try:
                divided = algebra.logical_divide(algebra.make_layout(self.tile[side]), self.permutation[side])
                atoms = algebra.zipped_divide(divided, algebra.make_layout(self.atom.shape[side]))
                algebra.logical_divide(atoms.modes[1], algebra.make_layout(self.atoms[side]))
            except LayoutError as why:
                letter, atom_size, times = LETTERS[side], self.atom.shape[side], self.atoms[side]
                return LayoutError(
                    why.code,
                    f"Operand {name.upper()}, {letter}: the permutation {algebra.format_tiler(self.permutation[side])}"
                    f" does not divide into {times} atom{'s' * (times > 1)} of {atom_size}. {why.message}",
                    f"Give {atom_size * times}, or modes that {atom_size}"
                    + (
                        f" and then {times} divide, e.g. ({atom_size},{times}):(1,{atom_size})."
                        if times > 1
                        else " divides."
                    ),
                    "permutation",
                )
        return error.move_to_field("permutation")

    def _make_tv_layout(self, name: str) -> CuteLayout | None:
        """Return CuTe's get_layoutA_TV, B, C: (thread, value) → element of one TiledMMA's own tile."""
        first, second = SIDES[name]
        threads = self.thread_layout
        try:
            layout = self.thrfrg(name, (self.shape[first], self.shape[second]))
            if name != "c":  # A does not differ along the atoms in N, B not along those in M
                atoms = CuteLayout(self.atoms[:2], (1, 0) if name == "a" else (0, 1))
                layout = algebra.composition(layout, ((None, (atoms, None)), None))
            else:  # nor C along those in K
                layout = algebra.concatenate(
                    algebra.concatenate(*layout.modes[0].modes, CuteLayout(self.atoms[2], 0)), layout.modes[1]
                )
            inverse = algebra.right_inverse(algebra.concatenate(threads, algebra.complement(threads)))
            numbers = algebra.composition(CuteLayout((threads.size, 1), (1, 0)), inverse)
            return algebra.composition(layout, (numbers, None))
        except LayoutError:
            return None


def compute_covered_tile(tiled_mma: TiledMMA) -> tuple[int, int, int]:
    """Return (M, N, K) of the smallest tile that permutation and atoms cover completely.

    It equals `shape` if the permutation has no gaps and the atoms divide it.
    """
    modes = zip(tiled_mma.permutation, tiled_mma.atom.shape, tiled_mma.atoms, strict=True)
    m, n, k = (lcm(get_least_size(tiler), size * times) for tiler, size, times in modes)
    return m, n, k


def list_coverage_notes(tiled: TiledMMA) -> list[str]:
    """Return a note if the layouts of a TiledMMA cover more than CuTe's tile_shape; else an empty list."""
    covered = compute_covered_tile(tiled)
    if tiled.shape == covered:
        return []
    why = []
    for letter, tiler, size, period, atom_size, times in zip(
        "MNK", tiled.permutation, tiled.shape, covered, tiled.atom.shape, tiled.atoms, strict=True
    ):
        if period == size:
            continue
        covers = get_least_size(tiler)
        gaps = f"{algebra.format_tiler(tiler)} has gaps and covers {letter} after {covers}" if covers > size else ""
        atoms = (
            f"{times} atom{'s' * (times > 1)} of {atom_size} cover {atom_size * times} of {letter}"
            if period > covers
            else ""
        )
        why.append("; ".join(filter(None, (gaps, atoms))))
    shape, period = (",".join(map(str, sizes)) for sizes in (tiled.shape, covered))
    return [
        f"CuTe's tile_shape is ({shape}), the sizes of the permutation. The layouts close after ({period}): "
        + "; ".join(why)
        + "."
    ]
