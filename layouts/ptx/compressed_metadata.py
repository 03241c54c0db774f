"""Sparsity metadata in global memory, in the order of CUTLASS's compressors: the word and bits of each index.

Rows: layouts/ptx/table/compressed_metadata.py, read from CUTLASS's source. The order agrees with the metadata lanes
measured on an H100 (mma.sp, wgmma.sp) and with tensor memory's metadata (tcgen05), which has not been executed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.ptx.pattern import IntArray, Pattern
from lanescope.ptx.table.compressed_metadata import GROUP, OPCODES, ORDERS, MetadataOrderRow

PER_WORD = 8  # indices of 4 bits in 32
MAX_SIZE = 1 << 14  # rows or columns of A


@dataclass(frozen=True, slots=True)
class CompressedOrder:
    """The metadata of a sparse A of rows × k elements, both multiples of the atom.

    atom: (word)(index) → (row, group).
    """

    order: MetadataOrderRow
    element: str
    rows: int
    k: int
    atom: Pattern

    @property
    def group(self) -> int:
        """Elements of K per index."""
        return GROUP.get(self.element, 4)

    @property
    def groups(self) -> int:
        """Indices per row."""
        return self.k // self.group

    @property
    def atoms(self) -> tuple[int, int]:
        """Atoms along the rows and along K."""
        down, across = self.atom.extents
        return self.rows // down, self.groups // across

    @property
    def evidence(self) -> str:
        """Return the source of this order, in one line."""
        return f"read from {self.order.source}; not executed here"

    @property
    def bytes(self) -> int:
        return self.rows * self.groups // 2

    @property
    def coords(self) -> tuple[IntArray, IntArray]:
        """(row, group) of every index of 4 bits, each [word][index], low bits first."""
        row, group = self.atom.evaluate()
        down, across = self.atom.extents
        atom_rows, atom_cols = self.atoms
        atom = np.arange(atom_rows * atom_cols)
        rows = row[None] + (atom % atom_rows * down)[:, None, None]
        groups = group[None] + (atom // atom_rows * across)[:, None, None]
        return rows.reshape(-1, PER_WORD).astype(np.int32), groups.reshape(-1, PER_WORD).astype(np.int32)

    def locate_index(self, row: int, group: int) -> tuple[int, int]:
        """Return (word, first bit) of an index; LayoutError outside the matrix."""
        for name, value, count in (("row", row, self.rows), ("group", group, self.groups)):
            if not 0 <= value < count:
                message = f"{name} is {value}, but the metadata has {count} {name}s."
                raise LayoutError("outside", message, f"Allowed: 0 to {count - 1}.", name)
        down, across = self.atom.extents
        ((word, index),) = self.atom.owners(row % down, group % across)
        preceding_atoms = group // across * self.atoms[0] + row // down
        return preceding_atoms * self.atom.thread_count + word, 4 * index

    def pack_words(self, indices: NDArray[np.integer]) -> NDArray[np.uint32]:
        """Pack row-major indices [rows][groups] of 4 bits into the words of global memory."""
        rows, groups = self.coords
        shifts = np.arange(PER_WORD, dtype=np.uint32) * 4
        words: NDArray[np.uint32] = np.bitwise_or.reduce(indices[rows, groups].astype(np.uint32) << shifts, axis=1)
        return words


def _find_atom(opcode: str, element: str, tile_k: int) -> tuple[MetadataOrderRow, Pattern]:
    """Return the row of an opcode and type, and its atom's pattern."""
    parse_choice(opcode, "opcode", OPCODES, "bad_opcode")
    rows = {name: row for row in ORDERS if row.opcode == opcode for name in row.types}
    row = rows[parse_choice(element, "element", tuple(rows), "bad_type")]
    sizes = {}
    if row.step:
        unit = row.step * GROUP.get(element, 4)
        tile_k = tile_k or unit
        if tile_k < 1 or tile_k % unit or tile_k > MAX_SIZE:
            raise LayoutError(
                "bad_tile", f"tile_k is {tile_k}.", f"Allowed: multiples of {unit} up to {MAX_SIZE}.", "tile_k"
            )
        sizes = {"X": tile_k // unit}
    return row, Pattern.parse(row.atom, **sizes)


def get_atom_size(opcode: str, element: str, tile_k: int = 0) -> tuple[int, int]:
    """Return the rows and columns of A that one atom covers."""
    down, across = _find_atom(opcode, element, tile_k)[1].extents
    return down, across * GROUP.get(element, 4)


def make_metadata_order(opcode: str, element: str, rows: int, k: int, tile_k: int = 0) -> CompressedOrder:
    """Return the metadata order for an opcode and type of A.

    tile_k: K of wgmma.sp's tile, which its atom spans (0: the smallest). LayoutError if CUTLASS has no such order,
    or for sizes that are not multiples of the atom.
    """
    row, atom = _find_atom(opcode, element, tile_k)
    for name, size, unit in zip(("rows", "k"), (rows, k), get_atom_size(opcode, element, tile_k), strict=True):
        if size < unit or size % unit or size > MAX_SIZE:
            message = (
                f"{name} is {size}, which is not a multiple of {unit}, the size of one atom of {opcode} with {element}."
            )
            raise LayoutError("bad_atom", message, f"Pad {name} to a multiple of {unit}, up to {MAX_SIZE}.", name)
    return CompressedOrder(row, element, rows, k, atom)
