"""Does this load feed this operand? Shared memory → ldmatrix → mma registers, and accumulator → stmatrix → shared memory.

Both sides are asked byte by byte: which byte of memory an operand's register wants, and which row and byte of which 8×16-byte matrix
an ldmatrix (stmatrix) puts there. Where the two differ by the same step in a whole matrix, that step is the matrix's place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts import banks, catalog
from layouts.dtypes import dtype
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.storage import Storage, storage

Ints = NDArray[np.int64]
ROW_BYTES = 16
LOADS, STORES = "ldmatrix", "stmatrix"


@dataclass(frozen=True)
class Wanted:
    """An operand in memory: byte of register → line and byte along it, [warp, lane, register, byte].

    contiguous: the dimension whose elements lie side by side, "k", "m" or "n"; `lines` the other one.
    """

    operand: Operand
    major: str
    contiguous: str
    line: Ints
    along: Ints

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; 1 where several share a byte."""
        return max(1, self.operand.container_bits // 8)

    def element(self, warp: int, lane: int, register: int, byte: int) -> tuple[int, int]:
        """(row, column) of the operand's matrix that a byte of a register belongs to (the first of it where several share the byte)."""
        op = self.operand
        per = op.register_bits // op.container_bits
        value = register * per + byte * 8 // op.container_bits
        thread = warp * 32 + lane
        return int(op.rows[thread, value]), int(op.coords["col"][thread, value])


def wanted(operand: Operand, major: str) -> Wanted:
    """What an operand wants of memory. major: K or MN for a and b; for c and d "K" means rows of N side by side, "MN" columns of M."""
    if len(operand.axes) == 3:
        raise LayoutError(
            "no_chain", "m8n8k4 .f16 computes four products: its quarters are loaded by plain loads.", "Choose another mma.", "mma"
        )
    if operand.register_bits != 32:
        raise LayoutError(
            "no_chain", f"{operand.element.name} takes 64-bit registers, ldmatrix fills 32-bit ones.", "Load it with ld.shared.", "mma"
        )
    if major not in ("K", "MN"):
        raise LayoutError("bad_major", f"No major '{major}'.", "Allowed: K, MN.", "major")
    inner_is_col = (major == "K") == (operand.name != "b")
    line, along = ("row", "col") if inner_is_col else ("col", "row")
    bits = operand.container_bits
    coords = operand.coords
    shape = (operand.threads // 32, 32, operand.registers, 32 // bits)
    lines, bit = (np.asarray(coords[axis], np.int64).reshape(shape) for axis in (line, along))
    bit = bit * bits
    if bits < 8:  # elements that share a byte must lie in one byte of memory, in order
        per = 8 // bits
        firsts = bit[..., ::per]
        together = (bit.reshape(*shape[:3], -1, per) == firsts[..., None] + bits * np.arange(per)).all() and (firsts % 8 == 0).all()
        if not together:
            raise LayoutError(
                "no_chain",
                f"{operand.element.name} {major}-major: elements of one register byte are not neighbours in memory.",
                "Store it K-major.",
                "storage",
            )
        lines, bit, per_byte = lines[..., ::per], firsts, 1
    else:
        per_byte = bits // 8
    offset = np.tile(np.arange(per_byte), shape[3] if bits >= 8 else 4)
    dim = operand.dims[1 if inner_is_col else 0]
    return Wanted(operand, major, dim, np.repeat(lines, per_byte, axis=3), np.repeat(bit // 8, per_byte, axis=3) + offset)


def packed(operand: Operand, bits: int) -> Operand:
    """An accumulator after conversion to a narrower type, packed in its order: what stmatrix stores."""
    element = dtype({16: "f16", 8: "b8"}[bits])
    return replace(operand, element=element, container_bits=bits)


def in_memory(operand: Operand, bits: int = 16) -> Operand:
    """An operand as memory holds it: an accumulator wider than the store's unit is converted to it, all else is as it is."""
    return packed(operand, bits) if operand.name in "cd" and operand.container_bits > bits else operand


def stored(spec: dict[str, Any], operand: Operand, major: str) -> Storage:
    """A storage of the contract in elements of the operand; elements that share a byte are counted in bytes."""
    bits = max(8, operand.container_bits)
    return storage({**spec, "element_bits": bits} if spec.get("kind") == "canonical" else spec, bits, major)


@dataclass(frozen=True)
class Given:
    """One ldmatrix or stmatrix: byte of register → matrix, row (a lane's 16 bytes) and byte of the row, [lane, register, byte]."""

    instruction: Instruction
    matrix: Ints
    row: Ints
    byte: Ints

    @property
    def registers(self) -> int:
        return int(self.row.shape[1])


def given(instruction: Instruction) -> Given:
    """What a load or store moves; LayoutError for another instruction."""
    if instruction.family.name not in (LOADS, STORES):
        raise LayoutError("no_chain", f"{instruction.ptx} is no ldmatrix or stmatrix.", "e.g. ldmatrix.m8n8.x4.shared.b16.", "load")
    if "b8x16" in instruction.ptx:
        raise LayoutError("no_chain", f"{instruction.ptx} unpacks 4- and 6-bit elements.", "Choose a b16 or b8 form.", "load")
    op = instruction.operands["data"]
    size = op.container_bits // 8
    shape = (32, op.registers, 4 // size)
    matrix, row, col = (np.asarray(op.coords[axis], np.int64).reshape(shape) for axis in ("matrix", "row", "col"))
    flat = row * op.extents["col"] + col
    wide = ROW_BYTES // size
    spread = [np.repeat(array, size, axis=2) for array in (matrix, flat // wide, flat % wide * size)]
    return Given(instruction, spread[0], spread[1], spread[2] + np.tile(np.arange(size), shape[2]))


@dataclass(frozen=True)
class Chain:
    """A load (store) of one operand, done `count` times.

    place: [warp, turn, matrix] → (line, byte along it) where the matrix begins; right: whether each byte of each register
    [warp, lane, register, byte] gets (puts) what the operand wants.
    """

    load: Given
    want: Wanted
    place: Ints
    right: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """How many loads fill the operand."""
        return int(self.place.shape[1])

    @property
    def matrices(self) -> int:
        return int(self.place.shape[2])

    @cached_property
    def lane_places(self) -> Ints:
        """[warp, turn, lane] → (line, byte along it) of the row whose address the lane gives; −1 where it gives none."""
        address = self.load.instruction.address
        assert address is not None
        out = np.full((*self.place.shape[:2], 32, 2), -1, dtype=np.int64)
        matrix, row = address.coords["matrix"][:, 0], address.coords["row"][:, 0]
        out[:, :, : address.threads, 0] = self.place[:, :, matrix, 0] + row
        out[:, :, : address.threads, 1] = self.place[:, :, matrix, 1]
        return out


def chain(load: Instruction, operand: Operand, major: str) -> Chain:
    """Place a load's matrices so that as many of the operand's bytes as possible are right."""
    gives, wants = given(load), wanted(operand, major)
    registers = operand.registers
    if registers % gives.registers:
        raise LayoutError(
            "no_chain", f"{load.ptx} fills {gives.registers} registers, operand {operand.name} has {registers}.",
            f"Choose one of {', '.join(f'.x{n}' for n in (1, 2, 4) if registers % n == 0)}.", "load",
        )  # fmt: skip
    warps, turns = operand.threads // 32, registers // gives.registers
    matrices = int(gives.matrix.max()) + 1
    place = np.zeros((warps, turns, matrices, 2), np.int64)
    right = np.zeros((warps, 32, registers, 4), np.bool_)
    for warp in range(warps):
        for turn in range(turns):
            part = slice(turn * gives.registers, (turn + 1) * gives.registers)
            line = wants.line[warp, :, part] - gives.row
            along = wants.along[warp, :, part] - gives.byte
            for matrix in range(matrices):
                here = gives.matrix == matrix
                pairs, counts = np.unique(np.stack([line[here], along[here]], axis=1), axis=0, return_counts=True)
                legal = (pairs >= 0).all(axis=1) & (pairs[:, 1] % ROW_BYTES == 0)
                if legal.any():
                    place[warp, turn, matrix] = pairs[legal][np.argmax(counts[legal])]
            at = place[warp, turn][gives.matrix]
            right[warp, :, part] = (line == at[..., 0]) & (along == at[..., 1])
    return Chain(gives, wants, place, right)


@dataclass(frozen=True)
class Outcome:
    """A chain over a storage: addresses a lane gives [warp, turn, lane], and byte for byte what is read and what should be."""

    chain: Chain
    lane_addresses: Ints
    read: Ints
    expected: Ints
    notes: tuple[str, ...]

    @property
    def elements(self) -> Ints:
        """Whether every byte of an element is right: [warp, lane, register, element]."""
        size = self.chain.want.element_bytes
        good = self.read == self.expected
        out: Any = good.reshape(*good.shape[:3], -1, size).all(axis=4)
        return np.asarray(out)

    @property
    def matched(self) -> int:
        return int(self.elements.sum())

    @property
    def total(self) -> int:
        return int(self.elements.size)

    @property
    def match(self) -> bool:
        return self.matched == self.total

    @property
    def costs(self) -> list[banks.Cost]:
        """What each turn of the first warp costs in banks; empty where the addresses are not legal."""
        load = self.chain.load.instruction
        assert load.address is not None
        kind = banks.ACCESSES.get(f"{load.family.name}.x{load.address.threads // 8}")
        if kind is None or self.notes:
            return []
        return [banks.cost(kind, turn[: kind.lanes].tolist()) for turn in self.lane_addresses[0]]

    @property
    def first_mismatch(self) -> dict[str, Any] | None:
        if self.match:
            return None
        warp, lane, register, element = (int(n) for n in np.argwhere(~self.elements)[0])
        byte = element * self.chain.want.element_bytes
        row, col = self.chain.want.element(warp, lane, register, byte)
        at = (warp, lane, register, byte)
        return {
            "thread": warp * 32 + lane, "register": register, "byte": byte, "row": row, "col": col,
            "read": int(self.read[at]), "expected": int(self.expected[at]),
        }  # fmt: skip


def follow(found: Chain, where: Storage) -> Outcome:
    """Give every lane the address of its row in a storage and see what arrives where."""
    want = found.want
    size = want.element_bytes

    def address(line: Ints, along: Ints) -> Ints:
        mn, k = (line, along // size) if want.major == "K" else (along // size, line)
        out: Ints = np.asarray(where.address(mn, k), np.int64) + along % size
        return out

    places = found.lane_places
    lanes = np.where(places[..., 0] >= 0, address(np.maximum(places[..., 0], 0), np.maximum(places[..., 1], 0)), -1)
    expected = address(want.line, want.along)
    read = np.zeros_like(expected)
    lane_of = _row_lanes(found.load.instruction)
    for turn in range(found.count):
        part = slice(turn * found.load.registers, (turn + 1) * found.load.registers)
        row = lanes[:, turn][:, lane_of[found.load.matrix, found.load.row]]
        read[:, :, part] = row + found.load.byte
    notes = []
    if (lanes[lanes >= 0] % ROW_BYTES).any():
        lane = int(np.argwhere((lanes >= 0) & (lanes % ROW_BYTES != 0))[0][-1])
        notes.append(f"Lane {lane}'s row does not start on 16 bytes: the instruction faults. Rows need a pitch of a multiple of 16 bytes.")
    return Outcome(found, lanes, read, expected, tuple(notes))


def _row_lanes(load: Instruction) -> Ints:
    """[matrix, row] → the lane that gives its address."""
    address = load.address
    assert address is not None
    matrices, rows = address.extents["matrix"], address.extents["row"]
    return np.asarray(address.pattern.inverse()[0].reshape(matrices, rows), np.int64)


# which load would do ---------------------------------------------------------------------------------------------------------


def candidates(operand: Operand, store: bool = False) -> list[Instruction]:
    """Every ldmatrix (stmatrix) whose registers fill the operand's, the one with fewest turns first."""
    name = STORES if store else LOADS
    known = [i for i in catalog.instructions() if i.family.name == name and "b8x16" not in i.ptx]
    fits = [i for i in known if operand.registers % i.operands["data"].registers == 0]
    return sorted(fits, key=lambda i: (-i.operands["data"].registers, "b8" in i.ptx, "trans" in i.ptx))


def advise(operand: Operand, major: str, store: bool = False) -> list[Chain]:
    """The loads that feed an operand stored so, best first: those that every target has before those of newer ones."""
    out = []
    for load in candidates(operand, store):
        try:
            found = chain(load, operand, major)
        except LayoutError:
            continue
        if found.right.all():
            out.append(found)
    return sorted(out, key=lambda c: ("b8" in c.load.instruction.ptx, c.count))


def why_not(operand: Operand, major: str) -> str:
    """Why no ldmatrix of 16-bit units feeds an operand, in one sentence."""
    bits = operand.container_bits
    if bits == 8 and major == "MN":
        return (
            "8-bit data that is not K-major: .trans moves 16-bit units, so pairs of bytes stay together and land in the wrong K. Store it K-major, "
            "transpose bytes in registers, or use ldmatrix.m16n16.trans.b8 where the target has it."
        )
    if bits == 32 and major == "MN":
        return "32-bit data that is not K-major: .trans moves 16-bit units and would tear elements apart. Store it K-major, or load it with ld.shared."
    if bits < 8 and major == "MN":
        return "Elements that share a byte must be neighbours along K in memory. Store it K-major."
    return "No placing of 8×16-byte matrices gives the registers this operand wants."


def lane_formula(found: Chain) -> dict[str, str]:
    """C expressions of `lane` (and `warp`) for the line and the byte along it of the row a lane gives, turn 0."""
    places = found.lane_places
    return {"line": _affine(places[:, 0, :, 0]), "byte": _affine(places[:, 0, :, 1])}


def turn_steps(found: Chain) -> list[tuple[int, int]]:
    """How far (lines, bytes) each turn lies from the first."""
    steps = found.lane_places[0, :, 0] - found.lane_places[0, 0, 0]
    return [(int(line), int(along)) for line, along in steps]


def _affine(values: Ints) -> str:
    """[warp, lane] as a sum of bit fields of lane and warp: exact, or LayoutError."""
    warps = values.shape[0]
    used = int((values[0] >= 0).sum())
    first = int(values[0, 0])
    weights = [int(values[0, 1 << bit]) - first for bit in range(used.bit_length() - 1)]
    lane = np.arange(used)
    sum_ = first + sum(((lane >> bit) & 1) * weight for bit, weight in enumerate(weights))
    step = int(values[1, 0]) - first if warps > 1 else 0
    if not all(np.array_equal(values[warp, :used], sum_ + warp * step) for warp in range(warps)):
        raise LayoutError("no_formula", "The lanes' rows are no sum of bit fields.")
    terms = []
    bit = 0
    while bit < len(weights):
        run = 1
        while bit + run < len(weights) and weights[bit] and weights[bit + run] == weights[bit] << run:
            run += 1
        if weights[bit]:
            shifted = f"(lane >> {bit})" if bit else "lane"
            part = f"({shifted} & {(1 << run) - 1})" if bit + run < 5 or not bit else shifted
            terms.append(part if weights[bit] == 1 else f"{part} * {weights[bit]}")
        bit += run
    if step:
        terms.append(f"warp * {step}" if step != 1 else "warp")
    if first:
        terms.append(str(first))
    if len(terms) == 1 and terms[0].endswith(")") and terms[0].count("(") == 1:
        return terms[0][1:-1]
    return " + ".join(terms) or "0"
