"""An operand of a warp's MMA in shared memory, and its way to the registers: 16-byte chunks with and without the
XOR, the address that each lane gives, and the element that each register gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.fact import Description, fact
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared import banks, chain
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.pieces import ROW_BYTES
from lanescope.shared.storage import BitPlacement, Storage

Ints = NDArray[np.int64]
LINE_BYTES = 128  # bytes of a line of the picture: 32 banks
MOST_STEPS = 4  # K steps of a tile that can be selected
MOST_LINES = 96  # that are drawn
PLAIN = "ld.shared"


@fact
class StoredChunk:
    """16 bytes of shared memory: the address without and with the XOR, and whether this product reads them."""

    before: int
    after: int
    used: bool


@fact
class StepperMove:
    """What moves in one step: the lanes that give an address, and the slots that their bytes fill, in memory order."""

    turn: int
    phase: int
    row: int
    lanes: list[int]
    addresses: list[int]
    size: Annotated[int, Description("Bytes at each address.")]
    slots: Annotated[list[int], Description("lane · values + value")]
    wavefronts: Annotated[int, Description("Of the whole phase; 0 where it has not been measured.")]


@dataclass(frozen=True)
class LoadedOperand:
    """One operand of one K step.

    holds, got: the element number (row · columns + column of the whole tile) that each slot should get, and gets, −1 if
    the bytes are no element; reads: the bit address that a slot reads; at: the bit address of each element of the tile.
    """

    operand: Operand
    where: Storage
    load: str
    k_first: int
    k_extent: int
    holds: Ints
    got: Ints
    reads: Ints
    at: Ints
    moves: list[StepperMove]

    @property
    def is_matrix_load(self) -> bool:
        return self.load != PLAIN

    @property
    def major(self) -> str:
        """Return K if elements along K are contiguous, else MN."""
        placed = get_placed(self.where)
        beside = placed.before(0, 1, 0) - placed.before(0, 0, 0)
        return "K" if beside == self.operand.container_bits else "MN"

    def get_element(self, index: int) -> tuple[int, int]:
        """Return (row, column) of an element in the matrix of its own K step."""
        mn, k = divmod(index, self.k_extent)
        along = k % get_k_extent(self.operand)
        return (along, mn) if self.operand.name == "b" else (mn, along)

    def get_k_step(self, index: int) -> int | None:
        """Return the K step of an element; None for the loaded one."""
        step, loaded_step = (k // get_k_extent(self.operand) for k in (index % self.k_extent, self.k_first))
        return None if step == loaded_step else step

    @property
    def origin(self) -> int:
        return find_origin(get_placed(self.where))

    def list_chunks(self, also: Ints | None = None) -> list[StoredChunk]:
        """Return every 16-byte chunk in all 128-byte lines that the operand touches. also: bit addresses of further
        lines.
        """
        placed, origin = get_placed(self.where), self.origin
        mine = self.at[np.unique(self.holds)]
        stored = np.concatenate([mine, mine + self.operand.container_bits - 1])
        used = set((((undo_xor(placed, stored) >> 3) - origin) // ROW_BYTES).tolist())
        further = stored[:0] if also is None else also
        touched = np.concatenate([undo_xor(placed, stored), stored, undo_xor(placed, further), further])
        lines = np.unique(((touched >> 3) - origin) // LINE_BYTES)
        if len(lines) > MOST_LINES:
            raise LayoutError(
                "tile_too_large",
                f"Operand {self.operand.name} touches {len(lines)} lines of 128 bytes.",
                f"The picture shows up to {MOST_LINES}: choose a smaller pitch.",
                "storage",
            )
        per = LINE_BYTES // ROW_BYTES
        chunks = (lines[:, None] * per + np.arange(per)).ravel()
        before = chunks * ROW_BYTES + origin
        after = apply_xor(placed, before * 8) >> 3
        shown = np.isin((after - origin) // LINE_BYTES, lines)
        found = zip(chunks.tolist(), before.tolist(), after.tolist(), shown.tolist(), strict=True)
        return [StoredChunk(before=at, after=to, used=chunk in used) for chunk, at, to, inside in found if inside]


def get_placed(where: Storage) -> BitPlacement:
    """Return the position of each bit in a storage; an operand's storage always defines it."""
    assert where.placed is not None
    return where.placed


def find_origin(placed: BitPlacement) -> int:
    """Return the address from which 128-byte lines are counted: the base, if the XOR applies to offsets."""
    return placed.base % LINE_BYTES if placed.by == "tile" else 0


def apply_xor(placed: BitPlacement, bits: Any) -> Any:
    """Return the bit address, after the XOR, of a position without it."""
    return placed.locate_bits(bits - 8 * placed.base)


def undo_xor(placed: BitPlacement, bits: Any) -> Any:
    """Return the bit address without the XOR, which is its own inverse."""
    before = apply_xor(placed, bits)
    if not np.array_equal(apply_xor(placed, before), bits):
        raise LayoutError(
            "bad_storage", "This swizzle cannot be undone: it changes bits that it reads.", "Try Sw<3,4,3>.", "storage"
        )
    return before


def count_k_steps(where: Storage, operand: Operand, major: str) -> int:
    """Return the number of K steps in a storage, at most MOST_STEPS."""
    k = get_k_extent(operand)
    if where.k is not None:
        return max(1, min(MOST_STEPS, where.k // k))
    pitch = where.pitch_bytes
    if pitch is None:
        return 1
    return MOST_STEPS if major == "MN" else max(1, min(MOST_STEPS, pitch * 8 // operand.container_bits // k))


def get_k_extent(operand: Operand) -> int:
    """Return the number of elements along K that one MMA takes; for a sparse A, the stored ones."""
    return operand.row_count if operand.name == "b" else operand.col_count


def load_operand(
    operand: Operand, where: Storage, load: str = "", k_step: int = 0, k_steps: int = 1, xor: bool = True
) -> LoadedOperand:
    """Load one K step of an operand from its storage.

    load: PTX text of an ldmatrix, "ld.shared", or "" for an ldmatrix that supplies the operand, otherwise ld.shared.
    xor: False if the lanes compute their addresses without the swizzle of the data.
    """
    k = get_k_extent(operand)
    all_steps, first = get_placed(where), k_step * k

    def before(mn: Any, at: Any, bit: Any) -> Any:
        return all_steps.before(mn, at + first, bit)

    placed = replace(all_steps, before=before)
    sliced = replace(where, placed=placed, address=placed.address)
    extent, lines = k * k_steps, operand.col_count if operand.name == "b" else operand.row_count
    all_at = np.asarray(
        all_steps.locate_bits(all_steps.before(*np.divmod(np.arange(lines * extent), extent), 0)), np.int64
    )
    mn, at_k = (np.asarray(operand.coords[axis], np.int64) for axis in _get_axes(operand))
    holds = (mn * extent + at_k + first).ravel()
    found = _choose_load(operand, sliced, load)
    if found is None:
        reads, moves = _load_plainly(operand, placed, all_at[holds], xor)
    else:
        reads, moves = _load_matrices(found, placed, xor)
    return LoadedOperand(
        operand=operand,
        where=where,
        load=found.load.instruction.ptx if found else PLAIN,
        k_first=first,
        k_extent=extent,
        holds=holds,
        got=find_elements(all_steps, all_at, reads, extent, operand.container_bits),
        reads=reads[:, 0],
        at=all_at,
        moves=moves,
    )


def _get_axes(operand: Operand) -> tuple[str, str]:
    """Return the axes along which M or N, and K, run."""
    return ("col", "row") if operand.name == "b" else ("row", "col")


def _choose_load(operand: Operand, where: Storage, load: str) -> chain.Chain | None:
    """Return the result of the chosen ldmatrix, None for ld.shared."""
    if load == PLAIN:
        return None
    if load:
        return chain.make_chain(_parse_load(load), operand, where)
    try:
        best = chain.list_best_chains(operand, where)
    except LayoutError:
        return None
    return next((candidate for candidate in best if candidate.load.instruction.types["data"] != "b8"), None)


def _parse_load(text: str) -> Instruction:
    load = lookup.parse_instruction(text, "load")
    if load.family.stores:
        raise LayoutError("bad_operand", f"{load.ptx} stores.", "Choose an ldmatrix, or ld.shared.", "load")
    return load


def find_elements(all_steps: BitPlacement, at: Ints, reads: Ints, extent: int, bits: int) -> Ints:
    """Return the element whose bits each slot reads completely and in order; −1 for none. reads: [slot, granule]."""
    size = min(8, bits)
    element = find_nearest(at, reads[:, 0])
    mn, k = np.divmod(element, extent)
    shift = np.arange(reads.shape[1]) * size
    wanted = all_steps.locate_bits(all_steps.before(mn[:, None], k[:, None], shift[None, :]))
    return np.where((wanted == reads).all(axis=1), element, -1)


def find_nearest(at: Ints, reads: Ints) -> Ints:
    """Return the element that begins at each address that is read, or one that begins elsewhere if none does."""
    order = np.argsort(at, kind="stable")
    return np.asarray(order[np.minimum(np.searchsorted(at[order], reads), len(at) - 1)])


def list_row_moves(
    rows: tuple[Ints, Ints],
    order: Ints,
    givers: Mapping[tuple[int, int], int],
    addresses: Ints,
    cost: Any,
    turn: int = 0,
) -> list[StepperMove]:
    """Return the moves of an instruction's rows, in the order of the lanes that give their addresses.

    rows: (matrix, row) of each slot, (−1, −1) for those of other turns; order: of the slots in memory; givers: (matrix,
    row) → lane; addresses: [matrix, row].
    """
    moves = []
    for (m, r), giver in sorted(givers.items(), key=lambda item: item[1]):
        slots = np.flatnonzero((rows[0] == m) & (rows[1] == r))
        moves.append(
            StepperMove(
                turn=turn,
                phase=m,
                row=r,
                lanes=[giver],
                addresses=[int(addresses[m, r])],
                size=ROW_BYTES,
                slots=slots[np.argsort(order[slots], kind="stable")].tolist(),
                wavefronts=cost.phases[m].wavefronts if cost else 0,
            )
        )
    return moves


def _load_matrices(chain_result: chain.Chain, placed: BitPlacement, xor: bool) -> tuple[Ints, list[StepperMove]]:
    """Return ([slot, granule] → bit address that is read, the moves) of an ldmatrix."""
    operand, gives = chain_result.want.operand, chain_result.load
    bits, size = operand.container_bits, min(8, operand.container_bits)
    per, values = 32 // bits, operand.values
    lane, value = np.divmod(np.arange(32 * values), values)
    register, first_byte = value // per, value % per * bits // 8
    turn, within = np.divmod(register, gives.registers)
    matrix, row, byte = (array[lane, within, first_byte] for array in (gives.matrix, gives.row, gives.byte))
    rows = chain_result.rows[0]  # [turn, matrix, row]
    row_addresses = rows if xor else undo_xor(placed, rows * 8) >> 3
    reads = (
        chain_result.read[0].reshape(32 * values, bits // size)
        + ((row_addresses - rows)[turn, matrix, row] * 8)[:, None]
    )
    givers = {(int(m), int(r)): n for n, (m, r) in enumerate(zip(*chain_result.lane_rows, strict=True))}
    kind = banks.ACCESSES[f"ldmatrix.x{gives.matrices}"] if gives.rows == 8 else None
    inside = byte * 8 + value % per * bits % 8
    moves: list[StepperMove] = []
    for t in range(chain_result.count):
        lanes = chain_result.spread_over_lanes(row_addresses[None])[0, t]
        cost = banks.compute_cost(kind, lanes[: kind.lanes].tolist()) if kind else None
        mine = np.where(turn == t, matrix, -1), np.where(turn == t, row, -1)
        moves += list_row_moves(mine, inside, givers, row_addresses[t], cost, t)
    return reads, moves


def _load_plainly(operand: Operand, placed: BitPlacement, at: Ints, xor: bool) -> tuple[Ints, list[StepperMove]]:
    """Return the reads of ld.shared: as many bytes at once as are contiguous for all lanes, at most a register."""
    bits, size = operand.container_bits, min(8, operand.container_bits)
    addresses = at if xor else undo_xor(placed, at)
    reads = addresses[:, None] + np.arange(bits // size) * size
    by_lane = addresses.reshape(32, operand.values)
    unit = operand.register_bits
    while unit > max(8, bits) and not _are_contiguous(by_lane, unit, bits):
        unit //= 2
    count = unit // bits if _are_contiguous(by_lane, unit, bits) else 1  # only one of a byte's elements may be needed
    kind = banks.ACCESSES[f"ld.shared.b{unit}"]
    moves = []
    for n, first in enumerate(range(0, operand.values, count)):
        addresses = (by_lane[:, first] >> 3).tolist()
        slots = [lane * operand.values + first + v for lane in range(32) for v in range(count)]
        cost = banks.compute_cost(kind, addresses)
        moves.append(
            StepperMove(
                turn=0,
                phase=n,
                row=0,
                lanes=list(range(32)),
                addresses=addresses,
                size=unit // 8,
                slots=slots,
                wavefronts=cost.wavefronts,
            )
        )
    return reads, moves


def _are_contiguous(by_lane: Ints, unit: int, bits: int) -> bool:
    """Return whether the values in every `unit` bits of a lane are contiguous and aligned."""
    groups = by_lane.reshape(32, -1, unit // bits)
    return bool(
        (groups == groups[..., :1] + np.arange(unit // bits) * bits).all() and (groups[..., 0] % unit == 0).all()
    )


def find_storage(operand: Operand, spec: Mapping[str, Any] | None, major: str, base: int) -> Storage:
    """Return the storage of an operand: the user's, or rows of 128 bytes with the 128B swizzle from `base` on."""
    default = {"kind": "rows", "inner": major, "pitch_bytes": LINE_BYTES, "swizzle": "128B", "base": base}
    return make_operand_storage(dict(spec) if spec else default, operand, major)
