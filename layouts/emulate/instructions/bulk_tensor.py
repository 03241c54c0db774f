"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor in tile and im2col mode. PTX ISA 9.1, 9.7.9.27.1."""

from __future__ import annotations

from functools import partial

import numpy as np

from lanescope.emulate.code import Action, Compiler, Reader, UnknownInstructionError, instruction
from lanescope.emulate.instructions.async_work import Bytes, Issuer
from lanescope.emulate.instructions.bulk import (
    COMPLETION,
    HINT,
    MULTICAST,
    SPACES,
    list_ranks,
    make_reduction,
    read_scalars,
    split_spaces,
    submit_load,
    submit_store,
)
from lanescope.emulate.instructions.mbarriers import check_words
from lanescope.emulate.instructions.reductions import MAP_TYPES, OPERATIONS
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.state.tensor_boxes import (
    Box,
    find_tensor_map,
    gather_box,
    gather_from_shared,
    locate_box,
    locate_four_rows,
    scatter_to_shared,
)
from lanescope.emulate.text.program import AddressOperand, Operand, RemainingOperands, Statement, VectorOperand
from lanescope.ptx.register_types import TYPES
from lanescope.shared import tma

DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
GATHER, SCATTER = "tile::gather4", "tile::scatter4"
LOADING, STORING = ("tile", GATHER, "im2col"), ("tile", SCATTER, "im2col_no_offs")  # modes
_GROUPS = ("cta_group::1", "cta_group::2")
_S32, _U16 = TYPES["s32"], TYPES["u16"]


def _check(statement: Statement, first: int, modes: tuple[str, ...]) -> None:
    words = tuple(word for word in statement.words[first:] if word not in SPACES)
    named = Statement((*statement.words[:first], *words), statement.operands, None, statement.line, statement.place)
    operations = OPERATIONS if statement.words[1] == "reduce" else ()
    check_words(named, first, DIMENSIONS, modes, COMPLETION, (MULTICAST,), _GROUPS, (HINT,), operations)


class _Place:
    """The operand [tensorMap, coordinates], with the offsets of im2col mode (None in tile mode)."""

    def __init__(
        self, compiler: Compiler, statement: Statement, operand: Operand, offsets: Operand | None = None
    ) -> None:
        if not isinstance(operand, AddressOperand) or len(operand.rest) != 1:
            raise UnknownInstructionError(statement, f"{statement.opcode} has no [tensorMap, coordinates]")
        coordinates = operand.rest[0]
        items = coordinates.items if isinstance(coordinates, VectorOperand) else (coordinates,)
        dimensions = statement.find_word(DIMENSIONS)
        if not dimensions:
            raise UnknownInstructionError(statement, f"{statement.opcode} names no dimensions")
        rank = int(dimensions[0])
        self.takes_rows = bool(statement.find_word((GATHER, SCATTER)))
        if self.takes_rows and rank != 2:
            raise UnknownInstructionError(statement, f"{statement.opcode} needs a 2D tensor")
        if len(items) != (5 if self.takes_rows else rank):
            raise UnknownInstructionError(statement, f"{statement.opcode} has {len(items)} coordinates")
        self.map = compiler.read_address(operand)
        self.coordinates: list[Reader] = [compiler.read(item, _S32) for item in items]
        self.offsets = self._read_offsets(compiler, statement, offsets, rank - 2)
        self.zeros = [0] * (rank - 2)

    @staticmethod
    def _read_offsets(
        compiler: Compiler, statement: Statement, offsets: Operand | None, spatial: int
    ) -> list[Reader] | None:
        """Return the readers of the im2col offsets: [] where all are 0, None in tile mode."""
        if statement.find_word(("im2col", "im2col_no_offs")) and spatial < 1:
            raise UnknownInstructionError(statement, f"{statement.opcode}: im2col has three dimensions or more")
        if offsets is None:
            return [] if statement.find_word(("im2col", "im2col_no_offs")) else None
        parts = offsets.items if isinstance(offsets, VectorOperand) else (offsets,)
        if len(parts) != spatial:
            raise UnknownInstructionError(statement, f"{statement.opcode} has {len(parts)} im2col offsets")
        return [compiler.read(part, _U16) for part in parts]

    def locate(self, group: Group) -> list[Box]:
        """Return the box of each thread."""
        maps = self.map(group)
        places = [read_scalars(read, group) for read in self.coordinates]
        shifts = None if self.offsets is None else [read_scalars(read, group) for read in self.offsets]
        boxes = []
        for n in range(group.count):
            offsets = None if shifts is None else [int(shift[n]) for shift in shifts] or self.zeros
            tensor_map = find_tensor_map(group, int(maps[n]))
            at = [int(place[n]) for place in places]
            boxes.append(
                locate_four_rows(group, tensor_map, at)
                if self.takes_rows
                else locate_box(group, tensor_map, at, offsets)
            )
        return boxes


def _check_shared(statement: Statement, address: int) -> None:
    if address % tma.BOX_ALIGNMENT:
        raise FaultError(
            "misaligned",
            f"{statement.opcode}: the box begins at {address:#x} of shared memory, which is not aligned to"
            f" {tma.BOX_ALIGNMENT} bytes.",
        )


@instruction("cp.async.bulk.tensor")
def build_tensor_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build cp.async.bulk.tensor: copy a box of a tensor map to or from shared memory."""
    _check(statement, 4, (*LOADING, *STORING))
    target, source = split_spaces(statement)
    operands = RemainingOperands(statement.operands)
    if statement.has(HINT):
        operands.pop()
    mode = statement.find_word((*LOADING, *STORING)) or "tile"
    if source == "global" and statement.has(COMPLETION[0]) and mode in LOADING:
        return _build_load(compiler, statement, operands)
    stores = (target, source) == ("global", "shared::cta") and mode in STORING
    if stores and statement.has("bulk_group") and len(operands) == 2:
        return _build_store(compiler, statement, operands, "")
    raise UnknownInstructionError(statement)


def _build_load(compiler: Compiler, statement: Statement, operands: list[Operand]) -> Action:
    multicast, pair = statement.has(MULTICAST), statement.has("cta_group::2")
    offsets = operands.pop(3) if statement.has("im2col") and len(operands) > 3 else None
    if len(operands) != 3 + multicast or (offsets is None) == statement.has("im2col"):
        raise UnknownInstructionError(statement)
    place = _Place(compiler, statement, operands[1], offsets)
    targets, barriers = compiler.read_address(operands[0]), compiler.read_address(operands[2])
    masks = compiler.read(operands[3], _U16) if multicast else None

    def load(group: Group) -> None:
        addresses, signals = targets(group), barriers(group)
        masked = read_scalars(masks, group) if masks is not None else None
        for n, box in enumerate(place.locate(group)):
            _check_shared(statement, int(addresses[n]))
            issuer = Issuer(group, np.array([n]))
            ranks = list_ranks(issuer, int(masked[n])) if masked is not None else None
            submit_load(
                issuer,
                (int(addresses[n]), int(signals[n]), ranks),
                box.size,
                partial(gather_box, issuer, box),
                partial(_scatter, box),
                pair,
            )

    return load


def _scatter(box: Box, issuer: Group, base: int, data: Bytes) -> None:
    scatter_to_shared(issuer, box.list_chunks(base), data)


@instruction("cp.reduce.async.bulk.tensor")
def build_tensor_reduction(compiler: Compiler, statement: Statement) -> Action:
    """Build cp.reduce.async.bulk.tensor: reduce a box of shared memory into a tensor."""
    _check(statement, 5, ("tile", "im2col_no_offs"))
    operands = RemainingOperands(statement.operands)
    if statement.has(HINT):
        operands.pop()
    operation = statement.find_word(OPERATIONS)
    legal = split_spaces(statement) == ("global", "shared::cta") and statement.has("bulk_group")
    if not legal or len(operands) != 2 or not operation:
        raise UnknownInstructionError(statement)
    return _build_store(compiler, statement, operands, operation)


def _check_corners(statement: Statement, box: Box) -> None:
    """Raise UnknownInstructionError for a store in im2col mode whose map has corners.

    An H100 and an H200 abort the launch for corners of -1 (illegal instruction), even if no pixel is outside; other
    values were not tried.
    """
    pixels = box.map.pixel_box
    corners = () if pixels is None else (*pixels.lower, *pixels.upper)
    if any(corner < 0 for corner in corners):
        raise FaultError(
            "store_corners", f"{statement.opcode} stores through a map with negative corners {corners}; they must be 0."
        )
    if any(corners):
        raise UnknownInstructionError(statement, f"{statement.opcode} through a map with the corners {corners}")


def _build_store(compiler: Compiler, statement: Statement, operands: list[Operand], operation: str) -> Action:
    place, sources = _Place(compiler, statement, operands[0]), compiler.read_address(operands[1])

    def store(group: Group) -> None:
        addresses = sources(group)
        for n, box in enumerate(place.locate(group)):
            _check_shared(statement, int(addresses[n]))
            if min(box.coordinates) < 0:  # an H100 ends the launch: illegal instruction
                raise FaultError(
                    "negative_coordinate",
                    f"{statement.opcode} begins at {box.coordinates}; a store has no negative coordinates.",
                )
            _check_corners(statement, box)
            issuer = Issuer(group, np.array([n]))
            submit_store(
                issuer,
                box.size,
                partial(gather_from_shared, issuer, box, int(addresses[n])),
                partial(_write_box, issuer, box, operation=operation),
            )

    return store


def _write_box(issuer: Group, box: Box, data: Bytes, operation: str) -> None:
    """Write the elements of a box that lie inside the tensor."""
    rows, width = np.flatnonzero(box.valid), box.last - box.first
    if not width or not len(rows):
        return
    change = None
    if operation:
        name = MAP_TYPES.get(box.map.type.name, "")
        change = make_reduction(issuer.statement, operation, name)
    inside = data[rows, box.first : box.last]
    for chosen, allocation, offsets in issuer.memory.resolve(
        issuer, "global", box.rows[rows] + box.first, width, writes=True, align=1
    ):
        part = inside if chosen is None else inside[chosen]
        index = offsets[:, None] + np.arange(width)
        if change is None:
            allocation.data[index] = part
        else:
            old = allocation.data[index]
            allocation.data[index] = change(old.reshape(-1), part.reshape(-1)).reshape(old.shape)
