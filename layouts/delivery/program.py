"""The instructions of a program, and their simulation on element numbers.

The simulation does not use the maps of bits: every instruction moves numbered elements as PTX specifies. ldmatrix reads
the rows that the lanes address, with the catalogue's maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.delivery.memory import Memory
from lanescope.delivery.places import Longs
from lanescope.shared.pieces import MatrixMove

Lanes = tuple[int, ...]  # a number for each of the 32 lanes
LANE = np.arange(32)


@dataclass(frozen=True, slots=True)
class Load:
    """ld of `words` registers per lane, or ldmatrix (`matrix`); address: in bytes, of each lane that passes one."""

    targets: tuple[int, ...]
    address: Lanes
    matrix: MatrixMove | None = None
    count = 1


@dataclass(frozen=True, slots=True)
class Permute:
    """prmt: select bytes of registers a and b by the selector's digits; one selector per lane."""

    target: int
    a: int
    b: int
    selector: Lanes
    count = 1


@dataclass(frozen=True, slots=True)
class Shuffle:
    """shfl.sync.idx: a register of another lane."""

    target: int
    a: int
    lanes: Lanes
    count = 1


@dataclass(frozen=True, slots=True)
class Select:
    """selp: register b in lanes with a bit of the lane number set, else a."""

    target: int
    a: int
    b: int
    bit: int
    count = 1


@dataclass(frozen=True, slots=True)
class Transpose:
    """movmatrix.trans of the 8×8 matrix of 16-bit units in a register of the warp."""

    target: int
    a: int
    count = 1


@dataclass(frozen=True, slots=True)
class Shift:
    """shl by a number of nibbles, or shr if `nibbles` is negative."""

    target: int
    a: int
    nibbles: int
    count = 1


@dataclass(frozen=True, slots=True)
class Blend:
    """lop3: bits of a where the mask is 1, else bits of b; one mask per lane."""

    target: int
    a: int
    b: int
    mask: Lanes
    count = 1


@dataclass(frozen=True, slots=True)
class Convert:
    """A conversion of element types, with targets and sources in the order of the conversion's row."""

    targets: tuple[int, ...]
    sources: tuple[int, ...]
    kind: str
    moves: tuple[tuple[tuple[int, int], ...], ...]  # for each target: (source, place in it) of its elements
    count: int


Instruction = Load | Permute | Shuffle | Select | Transpose | Shift | Blend | Convert


def simulate(
    instructions: Sequence[Instruction], registers: dict[int, Longs], memory: Memory | None
) -> dict[int, Longs]:
    """Return the contents of all registers after the instructions: element numbers [lane, place], −1 for none.

    registers: their contents before the instructions.
    """
    contents = dict(registers)
    for instruction in instructions:
        if isinstance(instruction, Convert):
            for target, moves in zip(instruction.targets, instruction.moves, strict=True):
                contents[target] = np.stack(
                    [contents[instruction.sources[source]][:, place] for source, place in moves], axis=1
                )
        elif isinstance(instruction, Load):
            assert memory is not None
            _load(instruction, contents, memory)
        else:
            contents[instruction.target] = _compute(instruction, contents)
    return contents


def _compute(instruction: Permute | Shuffle | Select | Transpose | Shift | Blend, contents: dict[int, Longs]) -> Longs:
    source = contents[instruction.a]
    places = source.shape[1]
    if isinstance(instruction, Shuffle):
        return np.asarray(source[np.array(instruction.lanes)])
    if isinstance(instruction, Select):
        return np.where((LANE >> instruction.bit & 1)[:, None] == 1, contents[instruction.b], source)
    if isinstance(instruction, Shift):
        moved = np.full_like(source, -1)
        n = instruction.nibbles * places // 8
        moved[:, max(n, 0) : places + min(n, 0)] = source[:, max(-n, 0) : places - max(n, 0)]
        return moved
    if isinstance(instruction, Blend):
        mask = np.array(instruction.mask)[:, None] >> (np.arange(places) * (32 // places)) & 1
        return np.where(mask == 1, source, contents[instruction.b])
    if isinstance(instruction, Transpose):
        half = source.reshape(8, 4, 2, -1)  # [row, lane of the row, unit, place]
        return half.reshape(8, 8, -1).swapaxes(0, 1).reshape(32, places)
    by_byte = np.concatenate([_split_bytes(source), _split_bytes(contents[instruction.b])], axis=1)
    digits = np.array(instruction.selector)[:, None] >> 4 * np.arange(4) & 7
    return _join_bytes(by_byte[LANE[:, None], digits], places)


def _split_bytes(register: Longs) -> Longs:
    """Return the elements of each byte, [lane, byte, part]; a part of a wider element is (element, byte)."""
    lanes, places = register.shape
    if places >= 4:
        return register.reshape(lanes, 4, -1)
    size = 4 // places
    return np.asarray(register.repeat(size, axis=1) * 4 + np.tile(np.arange(size), places))[:, :, None]


def _join_bytes(parts: Longs, places: int) -> Longs:
    if places >= 4:
        return parts.reshape(len(parts), places)
    size = 4 // places
    units = parts.reshape(len(parts), places, size)
    is_complete = (units % 4 == np.arange(size)).all(axis=2) & (units // 4 == units[:, :, :1] // 4).all(axis=2)
    return np.where(is_complete, units[:, :, 0] // 4, -1)


def _load(instruction: Load, contents: dict[int, Longs], memory: Memory) -> None:
    width, elements = memory.width, memory.element_at
    places = 32 // width
    if instruction.matrix is None:
        start = np.array(instruction.address) * 8 // width
        for number, target in enumerate(instruction.targets):
            contents[target] = elements[start[:, None] + number * places + np.arange(places)]
        return
    move, address = instruction.matrix, instruction.matrix.instruction.address
    assert address is not None
    rows = np.zeros((move.matrices, move.rows), np.int64)
    matrix, row = (np.asarray(address.coords[axis][:, 0], np.int64) for axis in ("matrix", "row"))
    rows[matrix, row] = np.array(instruction.address)[: len(matrix)]
    bit = np.arange(places) * width
    for number, target in enumerate(instruction.targets):
        byte = bit // 8
        at = rows[move.matrix[:, number, byte], move.row[:, number, byte]] + move.byte[:, number, byte]
        contents[target] = elements[(8 * at + bit % 8) // width]
