"""The data movement of one ldmatrix or stmatrix: the tile that its matrices form, where it is stored, and what each
address loads or stores.

Maps of data and addresses come from the instruction, positions of elements from the storage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.user_matrices import parse_matrix
from lanescope.app.steps import stored
from lanescope.app.steps.stored import LINE_BYTES, LoadedOperand, get_placed
from lanescope.cxx import formula
from lanescope.descriptor.matrix import WINDOW_BYTES
from lanescope.errors import LayoutError
from lanescope.ptx.digits import PatternDigit
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.table.movement import PACKED_BITS
from lanescope.shared import banks
from lanescope.shared.pieces import ROW_BYTES
from lanescope.shared.storage import BitPlacement, Storage

Ints = NDArray[np.int64]
# Arrangements of an instruction's matrices in a tile: word → description.
ARRANGEMENTS = {
    "down_first": "2 × 2, down first",
    "across_first": "2 × 2, across first",
    "down": "one below the other",
    "across": "side by side",
}
MOST_COLS = 512  # columns of a stored tile, if its storage does not limit them


@dataclass(frozen=True)
class MovedTile(LoadedOperand):
    """The block of a stored tile S that one instruction moves.

    For a store, `reads` is where a slot's bits go, and `got` the element stored there.
    """

    instruction: Instruction
    placed: BitPlacement
    first_col: int
    addresses: Ints  # [matrix, row]
    measured: bool  # whether the wavefronts are known

    @property
    def stores(self) -> bool:
        return self.instruction.family.stores

    @property
    def memory_bits(self) -> int:
        """Return the bits of an element in memory; a packed one has 8 in a register."""
        return get_memory_bits(self.instruction)

    @property
    def cols(self) -> int:
        """Return the number of columns of the stored tile."""
        return self.k_extent

    def get_element(self, index: int) -> tuple[int, int]:
        """Return (row, column) of an element of the stored tile."""
        return divmod(index, self.k_extent)

    def get_k_step(self, index: int) -> None:
        """Return None: S is one matrix."""
        return None

    @property
    def wrong_slots(self) -> Ints:
        """Return the slots that get or store a wrong element."""
        return np.flatnonzero(self.got != self.holds)

    @property
    def shared_addresses(self) -> list[int]:
        """Return the addresses that several lanes supply."""
        at, count = np.unique(self.addresses, return_counts=True)
        return [int(address) for address in at[count > 1]]


def get_memory_bits(i: Instruction) -> int:
    """Return the bits that an element takes in memory."""
    return PACKED_BITS.get(i.family.unpacks, i.operands["data"].container_bits)


def map_givers(i: Instruction) -> Ints:
    """Return the lane that supplies the address of each [matrix, row]."""
    assert i.address is not None
    matrix, row = (np.asarray(i.address.coords[axis][:, 0], np.int64) for axis in ("matrix", "row"))
    lanes = np.empty((matrix.max() + 1, row.max() + 1), np.int64)
    lanes[matrix, row] = np.arange(len(matrix))
    return lanes


def list_arrangements(i: Instruction) -> tuple[str, ...]:
    """Return the arrangements of an instruction's matrices in a tile, the usual one first."""
    return {4: tuple(ARRANGEMENTS), 2: ("down", "across")}.get(i.counts["x"], ("down",))


def make_tile_operand(i: Instruction, arrangement: str) -> Operand:
    """Return the data of an instruction as a fragment S of (row, col) of the tile that its matrices make.

    >>> from lanescope import find
    >>> loaded = make_tile_operand(find("ldmatrix.m8n8.x4.shared.b16"), "down_first")
    >>> loaded.owner(5, 9) == find("mma.m16n8k16.row.col.f32.f16.f16.f32").operands["a"].owner(5, 9) == [(20, 5)]
    True
    """
    data = i.operands["data"]
    matrix, row, col = data.pattern.coords
    values = data.pattern.values
    above, beside = (matrix, ()) if arrangement == "down" else ((), matrix)
    if arrangement.endswith("_first"):
        halves = (PatternDigit("x1", 2), PatternDigit("x0", 2))
        values = tuple(part for digit in values for part in (halves if (digit.name,) == matrix else (digit,)))
        above, beside = (("x0",), ("x1",)) if arrangement == "down_first" else (("x1",), ("x0",))
    pattern = replace(data.pattern, values=values, coords=((*above, *row), (*beside, *col)))
    return replace(data, name="s", axes=("row", "col"), pattern=pattern)


def _check_block(first_col: int, per_row: int, width: int, cols: int) -> None:
    """Raise LayoutError unless a block of this width begins at a whole row of a matrix and fits in the columns of S."""
    if first_col % per_row or first_col + width > cols:
        hint = f"A multiple of {per_row} up to {cols - width}: S has {cols} columns."
        raise LayoutError("bad_block", f"No block begins at column {first_col}.", hint, "first_col")


def move_tile(
    i: Instruction, operand: Operand, where: Storage, first_col: int = 0, addresses: str = "", xor: bool = True
) -> MovedTile:
    """Move one block of a stored tile from memory to registers, or back.

    first_col: of the block; addresses: one per lane, as a formula of `lane` or numbers, "" for those of the storage;
    xor: False if the lanes compute them without the swizzle. LayoutError if an address is not a multiple of 16.
    """
    data, bits = i.operands["data"], get_memory_bits(i)
    placed = get_placed(where)
    if i.family.unpacks:
        placed = _pack_rows(placed, bits)
    cols = count_cols(where, operand)
    _check_block(first_col, data.extents["col"], operand.col_count, cols)
    all_at = _place_elements(placed, operand.row_count, cols)
    matrix, row, col = (np.asarray(data.coords[axis], np.int64).ravel() for axis in data.axes)
    tile_row, tile_col = (np.asarray(operand.coords[axis], np.int64).ravel() for axis in operand.axes)
    holds = tile_row * cols + tile_col + first_col
    begins = col == 0
    starts = np.empty((data.extents["matrix"], data.extents["row"]), np.int64)
    starts[matrix[begins], row[begins]] = all_at[holds[begins]]
    lanes = map_givers(i)
    if addresses:
        row_addresses = _parse_addresses(addresses, lanes)
    else:
        row_addresses = (starts if xor else stored.undo_xor(placed, starts)) >> 3
    _require_aligned(i, row_addresses, lanes, "addresses" if addresses else "storage")
    reads = 8 * row_addresses[matrix, row] + col * bits
    granules = np.arange(max(1, data.container_bits // 8)) * 8
    shares = i.family.stores and len(np.unique(row_addresses)) < row_addresses.size  # its cost has not been measured
    counted = data.container_bits == 16 and not shares
    kind = banks.ACCESSES[f"{i.syntax.opcode}.x{i.counts['x']}"] if counted else None
    cost = banks.compute_cost(kind, [int(at) for at in row_addresses.ravel()]) if kind else None
    givers = {(m, r): int(lane) for (m, r), lane in np.ndenumerate(lanes)}
    return MovedTile(
        operand=operand,
        where=where,
        load=i.ptx,
        k_first=first_col,
        k_extent=cols,
        holds=holds,
        got=stored.find_elements(placed, all_at, reads[:, None] + granules, cols, bits),
        reads=reads,
        at=all_at,
        moves=stored.list_row_moves((matrix, row), reads, givers, row_addresses, cost),
        instruction=i,
        placed=placed,
        first_col=first_col,
        addresses=row_addresses,
        measured=cost is not None,
    )


def _pack_rows(placed: BitPlacement, bits: int) -> BitPlacement:
    """Return a placement of bytes as one of packed elements: 16 begin every 16 bytes, followed by padding."""

    def before(mn: Any, k: Any, bit: Any) -> Any:
        return placed.before(mn, k // ROW_BYTES * ROW_BYTES, 0) + k % ROW_BYTES * bits + bit

    along = np.arange(ROW_BYTES)
    if not np.array_equal(placed.before(0, along, 0) - placed.before(0, 0, 0), 8 * along):
        raise LayoutError(
            "bad_storage",
            "16 packed elements are in 16 bytes that follow one another; this storage spreads them.",
            "Choose one whose columns are contiguous.",
            "storage",
        )
    return replace(placed, before=before)


def count_cols(where: Storage, operand: Operand) -> int:
    """Return the number of columns of the stored tile: those of a line, at most 128 bytes or the block."""
    block, wide = operand.col_count, LINE_BYTES * 8 // operand.container_bits
    if where.k is not None:
        return min(where.k, MOST_COLS)
    line = where.pitch_bytes or where.get_number("width_bytes") if where.get_major("K") == "K" else 0
    line_elements = line * 8 // operand.container_bits if line else block
    return max(block, min(line_elements, wide))


def _place_elements(placed: BitPlacement, rows: int, cols: int) -> Ints:
    """Return the bit address of each element of S. LayoutError if two share one, or one is outside shared memory."""
    at = np.asarray(placed.locate_bits(placed.before(*np.divmod(np.arange(rows * cols), cols), 0)), np.int64)
    order = np.argsort(at, kind="stable")
    same = np.flatnonzero(np.diff(at[order]) == 0)
    if len(same):
        first, second = (divmod(int(n), cols) for n in sorted(order[same[0] : same[0] + 2].tolist()))
        raise LayoutError(
            "bad_storage",
            f"S[{first[0]}][{first[1]}] and S[{second[0]}][{second[1]}] would both be at byte"
            f" {int(at[order[same[0]]]) >> 3}.",
            "Choose a larger pitch: elements may not share bytes.",
            "storage",
        )
    if int(at.max()) >> 3 >= WINDOW_BYTES:
        raise LayoutError(
            "reads_outside",
            f"S would reach byte {int(at.max()) >> 3}.",
            f"Shared addresses end below {WINDOW_BYTES}.",
            "storage",
        )
    return at


def _parse_addresses(text: str, lanes: Ints) -> Ints:
    """Return the address for each [matrix, row], from a formula of `lane` or from numbers, one per lane."""
    field, count = "addresses", lanes.size
    value = parse_matrix(text, field)
    if isinstance(value, str):
        numbers, is_integer = formula.evaluate_formula(value, {"lane": np.arange(32)}, field)
        if not is_integer:
            raise LayoutError("bad_address", f"{field} has fractions.", "Addresses are integers.", field)
    else:
        numbers = np.asarray(value, dtype=np.float64).ravel() if _is_flat(value) else np.empty(0)
        if len(numbers) not in (count, 32):
            counts = f"{count} or 32" if count < 32 else "32"
            raise LayoutError(
                "bad_address", f"{field} has {len(numbers)} numbers.", f"Give {counts}, one per lane.", field
            )
    used = numbers[lanes.ravel()]
    outside = (used < 0) | (used >= WINDOW_BYTES) | (used != np.floor(used))
    if outside.any():
        lane = int(lanes.ravel()[np.flatnonzero(outside)[0]])
        raise LayoutError(
            "bad_address",
            f"Lane {lane} gives {numbers[lane]:g}, which is outside shared memory.",
            f"Integers from 0 to {WINDOW_BYTES - 1}.",
            field,
        )
    return np.asarray(used, np.int64).reshape(lanes.shape)


def _is_flat(value: Any) -> bool:
    return all(isinstance(number, int | float) for number in value) or len({len(line) for line in value}) == 1


def _require_aligned(i: Instruction, addresses: Ints, lanes: Ints, field: str) -> None:
    off = np.argwhere(addresses % ROW_BYTES != 0)
    if not len(off):
        return
    lane, at = min((int(lanes[tuple(index)]), int(addresses[tuple(index)])) for index in off)
    raise LayoutError(
        "misaligned",
        f"Lane {lane} gives the address {at}, not a multiple of 16: {i.syntax.opcode} faults.",
        "Base, pitch and every address: multiples of 16 bytes.",
        field,
    )
