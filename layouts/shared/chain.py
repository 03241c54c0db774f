"""Find the lane addresses with which an ldmatrix fills an operand from a storage, or a stmatrix writes it there.

Both sides are compared byte by byte: the bit address at which the storage holds what each byte of a register needs, and
the byte of a 16-byte row that the ldmatrix (stmatrix) moves there. The difference is the row's address. If all 16 bytes
of every row give the same multiple of 16, those are the addresses of the lanes. Element types do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from lanescope.notebook import NotebookObject
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.shared import banks
from lanescope.shared.operand_storage import LINE, make_line_storage
from lanescope.shared.pieces import (
    ROW_BYTES,
    Ints,
    MatrixMove,
    OperandGranules,
    make_matrix_move,
    make_operand_granules,
)
from lanescope.shared.storage import Storage

# the chain ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GranuleMismatch:
    """The first wrong granule of a register, at `byte`: the byte address read for it, and the one expected."""

    thread: int
    register: int
    byte: int
    row: int
    col: int
    read: int
    expected: int


@dataclass(frozen=True)
class Chain(NotebookObject):
    """`count` loads (stores) of one operand from (to) a storage, with the best possible address for every lane.

    rows: byte address of every row of 16 bytes, [warp, turn, matrix, row]; starts: (mn, k, bit) of the element at the
    row's first bit, [warp, turn, matrix, row, 3]; uniform: whether all bytes of the row agree on its address; read,
    expected: bit addresses, [warp, lane, register, granule].
    """

    load: MatrixMove
    want: OperandGranules
    where: Storage
    rows: Ints
    starts: Ints
    uniform: NDArray[np.bool_]
    read: Ints
    expected: Ints

    @property
    def count(self) -> int:
        """The number of loads that fill the operand."""
        return int(self.rows.shape[1])

    @property
    def store(self) -> bool:
        return self.load.instruction.family.stores

    @property
    def major(self) -> str:
        """ "K" if elements adjacent along K are adjacent in memory, else "MN"."""
        placed = self.where.placed
        assert placed is not None
        return "K" if placed.before(0, 1, 0) - placed.before(0, 0, 0) == self.want.operand.container_bits else "MN"

    @cached_property
    def elements(self) -> NDArray[np.bool_]:
        """Whether all bits of an element are correct: [warp, lane, register, element]."""
        good = self.read == self.expected
        size = max(1, self.want.operand.container_bits // 8)
        return np.asarray(good.reshape(*good.shape[:3], -1, size).all(axis=4))

    @property
    def matched(self) -> int:
        return int(self.elements.sum())

    @property
    def total(self) -> int:
        return int(self.elements.size)

    @property
    def match(self) -> bool:
        return self.matched == self.total

    @cached_property
    def lane_rows(self) -> tuple[Ints, Ints]:
        """The (matrix, row) whose address each lane gives, for the lanes that give one."""
        address = self.load.instruction.address
        assert address is not None
        matrix, row = (np.asarray(address.coords[axis][:, 0], np.int64) for axis in ("matrix", "row"))
        return matrix, row

    def spread_over_lanes(self, values: Ints) -> Ints:
        """Reorder [warp, turn, matrix, row, …] to [warp, turn, lane, …]; −1 for lanes that give no address."""
        matrix, row = self.lane_rows
        lanes = np.full((*values.shape[:2], 32, *values.shape[4:]), -1, dtype=np.int64)
        lanes[:, :, : len(matrix)] = values[:, :, matrix, row]
        return lanes

    @cached_property
    def lane_addresses(self) -> Ints:
        """The address that each lane gives, [warp, turn, lane]; −1 if it gives none."""
        return self.spread_over_lanes(self.rows)

    @property
    def lane_places(self) -> Ints:
        """For `make_line_storage`: (line, byte in it) of each lane's row, [warp, turn, lane, 2]; −1 without address."""
        at = self.lane_addresses
        return np.stack([np.where(at < 0, -1, at // LINE), np.where(at < 0, -1, at % LINE)], axis=-1)

    @property
    def costs(self) -> list[banks.Cost]:
        """The bank cost of each turn of the first warp; empty if the chain does not match."""
        kind = banks.ACCESSES.get(f"{self.load.instruction.syntax.opcode}.x{len(self.lane_rows[0]) // 8}")
        if kind is None or not self.match:
            return []
        return [banks.compute_cost(kind, turn[: kind.lanes].tolist()) for turn in self.lane_addresses[0]]

    @property
    def first_mismatch(self) -> GranuleMismatch | None:
        """The first granule that is read from (written to) a wrong address; None if the chain matches."""
        if self.match:
            return None
        warp, lane, register, granule = at = tuple(int(n) for n in np.argwhere(self.read != self.expected)[0])
        row, col = self.want.get_element(*at)
        byte = granule * self.want.granule_bits // 8
        return GranuleMismatch(
            thread=warp * 32 + lane,
            register=register,
            byte=byte,
            row=row,
            col=col,
            read=int(self.read[at]) >> 3,
            expected=int(self.expected[at]) >> 3,
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """A sentence about rows that are contiguous in memory but not aligned to 16 bytes, if there are any."""
        shifted = np.argwhere(self.uniform & (self.first_bytes % ROW_BYTES != 0))
        if not len(shifted):
            return ()
        lane = next(lane for lane, at in enumerate(zip(*self.lane_rows, strict=True)) if at == tuple(shifted[0][2:]))
        start = int(self.first_bytes[tuple(shifted[0])])
        return (
            f"Lane {lane}'s row starts at {start}, which is not a multiple of 16: the instruction faults. The base, and"
            " every step from row to row, must be a multiple of 16 bytes.",
        )

    @cached_property
    def first_bytes(self) -> Ints:
        """The byte address of the element at each row's first byte, [warp, turn, matrix, row]."""
        placed = self.where.placed
        assert placed is not None
        return np.asarray(placed.locate_bits(placed.before(*np.moveaxis(self.starts, -1, 0))), np.int64) >> 3


def make_chain(load: Instruction, operand: Operand, stored: Storage | str) -> Chain:
    """Return the chain with the address for each lane under which most bytes of its row are correct.

    stored: a storage, or the major of `make_line_storage`. LayoutError `no_chain` if the registers do not divide.
    """
    move, granules_of = make_matrix_move(load), make_operand_granules(operand)
    stored = make_line_storage(operand, stored) if isinstance(stored, str) else stored
    placed = stored.placed
    assert placed is not None
    if operand.registers % move.registers:
        raise LayoutError(
            "no_chain",
            f"{load.ptx} fills {move.registers} registers, operand {operand.name} has {operand.registers}.",
            f"Choose one of {', '.join(f'.x{n}' for n in (1, 2, 4) if operand.registers % n == 0)}.",
            "load",
        )
    warps, turns, granules = operand.threads // 32, operand.registers // move.registers, 32 // granules_of.granule_bits
    byte, bit = np.divmod(np.arange(granules) * granules_of.granule_bits, 8)
    inside = 8 * move.byte[:, :, byte] + bit  # [lane, register, granule]: bit inside the row
    row_of = (move.matrix * move.rows + move.row)[:, :, byte]
    order = np.lexsort((inside.ravel(), row_of.ravel())).reshape(
        move.matrices * move.rows, -1
    )  # [row, place]: the granules of each row, from its first byte on
    expected = np.asarray(placed.locate_bits(placed.before(granules_of.mn, granules_of.k, granules_of.shift)), np.int64)

    def by_row(array: Ints) -> Ints:
        """Reorder [warp, lane, register, granule] to [warp, turn, row, place in it]."""
        grouped = array.reshape(warps, 32, turns, move.registers, granules).swapaxes(1, 2)
        return np.ascontiguousarray(grouped).reshape(warps, turns, -1)[..., order]

    starts = by_row(expected) - inside.ravel()[order]
    best = _choose_addresses(starts)
    read = np.empty((warps, turns, 32 * move.registers * granules), np.int64)
    read[..., order] = best[..., None] + inside.ravel()[order]
    shape = (warps, turns, move.matrices, move.rows)
    return Chain(
        move,
        granules_of,
        stored,
        rows=(best >> 3).reshape(shape),
        starts=np.stack(
            [
                by_row(np.broadcast_to(a, granules_of.k.shape))[..., 0].reshape(shape)
                for a in (granules_of.mn, granules_of.k, granules_of.shift)
            ],
            axis=-1,
        ),
        uniform=(starts == starts[..., :1]).all(axis=-1).reshape(shape),
        read=read.reshape(warps, turns, 32, move.registers, granules).swapaxes(1, 2).reshape(expected.shape),
        expected=expected,
    )


def _choose_addresses(starts: Ints) -> Ints:
    """Return the legal bit address that most bytes of each row need, the lowest if several do.

    [warp, turn, row, place] → [warp, turn, row].
    """
    line = 8 * ROW_BYTES
    best = starts[..., 0].copy()
    legal = (starts >= 0) & (starts % line == 0)
    apart = ~((starts == starts[..., :1]) & legal).all(axis=-1)
    row, fine = starts[apart], legal[apart]  # [rows whose bytes need different addresses, place]
    votes = np.where(fine, (row[:, :, None] == row[:, None, :]).sum(axis=-1), 0)
    chosen = np.where(fine & (votes == votes.max(axis=-1, keepdims=True)), row, np.iinfo(row.dtype).max).min(axis=-1)
    best[apart] = np.where(fine.any(axis=-1), chosen, np.maximum(0, row[:, 0]) // line * line)
    return best


# which load would do --------------------------------------------------------------------------------------------------


def list_candidates(operand: Operand, store: bool = False) -> list[Instruction]:
    """Return every ldmatrix (stmatrix) whose register count divides the operand's, fewest turns first."""
    candidates = [i for i in _list_plain_moves(store) if operand.registers % i.operands["data"].registers == 0]
    return sorted(candidates, key=lambda i: (-i.operands["data"].registers, _is_byte_move(i), "trans" in i.modifiers))


@lru_cache(maxsize=2)
def _list_plain_moves(store: bool) -> tuple[Instruction, ...]:
    """Return every ldmatrix (stmatrix) that copies bytes without unpacking them."""
    rows = (i for i in catalog.instructions() if i.family.memory is OperandPlace.ROWS and i.family.stores == store)
    return tuple(i for i in rows if not i.family.unpacks)


def _is_byte_move(load: Instruction) -> bool:
    """Return whether an instruction moves 8-bit elements, which only newer targets support."""
    return load.operands["data"].container_bits == 8


def list_best_chains(operand: Operand, where: Storage | str, store: bool = False) -> list[Chain]:
    """Return the matching chains of an operand, best first: those for all targets before those for newer ones."""
    make_operand_granules(operand)
    chains = []
    for load in list_candidates(operand, store):
        check_deadline()
        chain = make_chain(load, operand, where)
        if chain.match:
            chains.append(chain)
    return sorted(chains, key=lambda c: (_is_byte_move(c.load.instruction), c.count))


# the addresses as formulas --------------------------------------------------------------------------------------------


def make_lane_formula(chain: Chain) -> dict[str, str]:
    """Return C expressions of `lane` and `warp` for the line of a lane's row and the byte in it, in turn 0.

    Only for a chain over `make_line_storage`.
    """
    places = chain.lane_places
    return {"line": _require_affine(places[:, 0, :, 0]), "byte": _require_affine(places[:, 0, :, 1])}


def compute_turn_steps(chain: Chain) -> list[tuple[int, int]]:
    """Return the distance (lines, bytes) of each turn from the first, for a chain over `make_line_storage`."""
    steps = chain.lane_places[0, :, 0] - chain.lane_places[0, 0, 0]
    return [(int(line), int(along)) for line, along in steps]


def _require_affine(values: Ints) -> str:
    text = format_affine(values)
    assert text is not None  # places in plain lines are always affine
    return text


def format_affine(values: Ints) -> str | None:
    """Return a C expression for values [warp, lane] as a sum of bit fields of lane and warp; None if there is none.

    −1 marks lanes without a value.
    """
    warps, used = values.shape[0], int((values[0] >= 0).sum())
    first = int(values[0, 0])
    lanes = [int(values[0, 1 << bit]) - first for bit in range(used.bit_length() - 1)]
    of_warps = [int(values[1 << bit, 0]) - first for bit in range(warps.bit_length() - 1)]
    lane, warp = np.arange(used), np.arange(warps)[:, None]
    sum_ = first + sum(((lane >> bit) & 1) * weight for bit, weight in enumerate(lanes))
    sum_ = sum_ + sum(((warp >> bit) & 1) * weight for bit, weight in enumerate(of_warps))
    if not np.array_equal(values[:, :used], np.broadcast_to(sum_, (warps, used))):
        return None
    terms = [
        *format_bit_fields("lane", lanes, 5),
        *format_bit_fields("warp", of_warps, len(of_warps)),
        *([str(first)] if first else []),
    ]
    if len(terms) == 1 and terms[0].endswith(")") and terms[0].count("(") == 1:
        return terms[0][1:-1]
    return " + ".join(terms) or "0"


def format_bit_fields(name: str, weights: list[int], width: int) -> list[str]:
    """Return C terms for the low bits of a variable of `width` bits, by their weights; doubling weights are merged."""
    terms = []
    bit = 0
    while bit < len(weights):
        run = 1
        while bit + run < len(weights) and weights[bit] and weights[bit + run] == weights[bit] << run:
            run += 1
        if weights[bit]:
            shifted = f"({name} >> {bit})" if bit else name
            part = f"({shifted} & {(1 << run) - 1})" if bit + run < width else shifted
            terms.append(part if weights[bit] == 1 else f"{part} * {weights[bit]}")
        bit += run
    return terms
