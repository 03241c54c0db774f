"""The timeline of one ldmatrix or stmatrix: phases and steps, each with a caption."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from lanescope.app.steps.captions import (
    Phase,
    StepperPhase,
    StepperStep,
    caption_banks,
    caption_row,
    caption_wrong_slot,
    describe_holders,
    format_address,
    format_lanes,
    format_load,
    format_range,
    format_span,
    format_stored,
    make_step,
    make_xor_step,
    place_steps,
)
from lanescope.app.steps.matrix_moves import MovedTile
from lanescope.app.steps.stored import StepperMove

EXAMPLE_LANE = 5  # lane whose registers the captions name


def build_timeline(moved: MovedTile) -> tuple[list[StepperPhase], list[StepperStep]]:
    """Return the phases and steps of one instruction: to the registers of a load, or from those of a store."""
    memory: Phase[StepperStep] = ("S in memory", 2.7, _list_memory_steps(moved))
    travel = (format_load(moved.load), 5.6, _list_travel_steps(moved))
    registers = ("Registers", 2.0, _list_register_steps(moved))
    if moved.stores:
        parts = [registers, memory, travel, ("Stored", 1.0, [_make_end_step(moved)])]
    else:
        parts = [memory, travel, registers]
    return place_steps(parts)


def _make_step(kind: str, index: int, at: str, caption: str) -> StepperStep:
    return make_step(kind, index, at, caption, "s")


# memory ---------------------------------------------------------------------------------------------------------------


def _list_memory_steps(moved: MovedTile) -> list[StepperStep]:
    swizzled = bool(moved.placed.xor.bits)
    plain = _make_step("plain", 0, "before the XOR" if swizzled else "no swizzle", _caption_plain(moved))
    return [plain, make_xor_step(moved)] if swizzled else [plain]


def _caption_plain(moved: MovedTile) -> str:
    op = moved.operand
    block = _describe_block(moved)
    packed = (
        f" 16 elements of {moved.memory_bits} bits begin each 16 bytes, padding ends them."
        if moved.instruction.family.unpacks
        else ""
    )
    if moved.stores:
        return (
            "Shared memory in lines of 128 bytes, 8 chunks of 16 bytes. The coloured chunks are where"
            f" {block} of S belongs; nothing is stored there yet."
        )
    return (
        f"Shared memory in lines of 128 bytes, 8 chunks of 16 bytes, holds S: {op.row_count} × {moved.cols} elements."
        f" The coloured chunks are {block}, which this instruction loads.{packed}"
    )


def _describe_block(moved: MovedTile) -> str:
    op = moved.operand
    first = moved.first_col
    return f"rows 0–{op.row_count - 1}, columns {format_range(first, first + op.col_count - 1)}"


# addresses and rows ---------------------------------------------------------------------------------------------------


def _list_travel_steps(moved: MovedTile) -> list[StepperStep]:
    steps = [_make_step("addresses", 0, "addresses", _caption_addresses(moved))]
    for n, move in enumerate(moved.moves):
        steps.append(_make_step("move", n, f"matrix {move.phase} · row {move.row}", _caption_move(moved, n)))
    return steps


def _caption_addresses(moved: MovedTile) -> str:
    count = len(moved.moves)
    rest = "" if count == 32 else f" The addresses of lanes {format_range(count, 31)} are not used."
    rows = sum(move.phase == 0 for move in moved.moves)
    named = [moved.moves[n] for n in (0, 1, rows) if n < count]
    points = [f"lane {move.lanes[0]} at `{format_address(move.addresses[0])}`" for move in named]
    turned = ""
    if "trans" in moved.instruction.modifiers:
        turned = " .trans changes no address, only which lane " + (
            "a row comes from." if moved.stores else "each element goes to."
        )
    return (
        f"Lanes {format_range(0, count - 1)} give {format_load(moved.load)} one address each, of 16 bytes:"
        f" {', '.join(points)}.{turned}{rest}"
    )


def _caption_move(moved: MovedTile, number: int) -> str:
    move = moved.moves[number]
    wrong = [slot for slot in move.slots if moved.got[slot] != moved.holds[slot]]
    if moved.stores:
        text = (
            f"Lane {move.lanes[0]} gives `{format_address(move.addresses[0])}`: {_format_held(moved, move.slots)} come"
            f" from {describe_holders(moved, move)}, and are stored in the 16 bytes there."
        )
    else:
        text = caption_row(moved, move)
    text += caption_banks(moved, number, "matrix")
    if wrong:
        text += f" ✗ {_caption_misplaced(moved, wrong[0]) if moved.stores else caption_wrong_slot(moved, wrong)}"
    if moved.stores and move.addresses[0] in moved.shared_addresses:
        text += f" ✗ {_caption_twice(moved, move)}"
    return text


def _format_held(moved: MovedTile, slots: list[int]) -> str:
    """Return the elements of S that these slots hold, row by row."""
    named = [moved.get_element(int(moved.holds[slot])) for slot in slots]
    runs = groupby(named, key=lambda element: element[0])
    return ", ".join(f"S[{row}][{format_span(col for _, col in run)}]" for row, run in runs)


def _caption_misplaced(moved: MovedTile, slot: int) -> str:
    lane, value = divmod(slot, moved.operand.values)
    got = int(moved.got[slot])
    place = f"where {format_stored(moved, got)} belongs" if got >= 0 else "outside S"
    return (
        f"{format_stored(moved, int(moved.holds[slot]))} of lane {lane}, R{moved.operand.register_of(value)[0]}, is"
        f" stored at `{format_address(int(moved.reads[slot]) >> 3)}`, {place}."
    )


def _caption_twice(moved: MovedTile, move: StepperMove) -> str:
    lanes = [other.lanes[0] for other in moved.moves if other.addresses == move.addresses]
    return f"Lanes {format_lanes(lanes)} give the same address: which row stays there is not defined."


# registers ------------------------------------------------------------------------------------------------------------


def list_matrix_slots(moved: MovedTile) -> list[list[int]]:
    """List the slots of each matrix."""
    matrix = np.asarray(moved.instruction.operands["data"].coords["matrix"], np.int64).ravel()
    return [np.flatnonzero(matrix == m).tolist() for m in range(int(matrix.max()) + 1)]


def _list_register_steps(moved: MovedTile) -> list[StepperStep]:
    return [
        _make_step("out", m, f"matrix {m}", _caption_matrix(moved, m, slots))
        for m, slots in enumerate(list_matrix_slots(moved))
    ]


def _caption_matrix(moved: MovedTile, number: int, slots: list[int]) -> str:
    op = moved.operand
    registers = sorted({op.register_of(slot % op.values)[0] for slot in slots})
    rows, cols = zip(*(moved.get_element(int(moved.holds[slot])) for slot in slots), strict=True)
    block = f"S[{format_span(rows)}][{format_span(cols)}]"
    place = " and ".join(f"R{number}" for number in registers)
    wrong = 0 if moved.stores else sum(moved.got[slot] != moved.holds[slot] for slot in slots)
    verb = "should hold" if wrong else "holds"
    slots_by_lane = {lane: [slot for slot in slots if slot // op.values == lane] for lane in (0, EXAMPLE_LANE)}
    examples = " and ".join(
        f"lane {lane} {verb} {_format_held(moved, lane_slots)}" for lane, lane_slots in slots_by_lane.items()
    )
    text = f"Matrix {number}, {block}, is {place} of all lanes: {examples}."
    return f"{text} ✗ {wrong} of these {len(slots)} elements are others." if wrong else text


def _make_end_step(moved: MovedTile) -> StepperStep:
    wrong = len(moved.wrong_slots)
    if not wrong and not moved.shared_addresses:
        text = (
            f"All {len(moved.holds)} elements are at the addresses of the declared storage: S can be read as declared."
        )
    else:
        text = f"✗ {wrong} of {len(moved.holds)} elements are not where the storage has them."
        if moved.shared_addresses:
            text += f" {len(moved.shared_addresses)} rows were stored twice: what they hold is not defined."
    return _make_step("done", 0, "memory", text)
