"""Steps of one ldmatrix or stmatrix: shared memory, the address of each lane, the rows that move, and the result."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware.user_matrices import LONGEST, parse_matrix
from lanescope.app.instruction import wording
from lanescope.app.kit.enumerations import PtxText
from lanescope.app.kit.fact import Description, IntegerArray, Json, RealArray, fact
from lanescope.app.kit.question import declare_question, flag_field, number_field, text_field, word_field
from lanescope.app.memory.storage import storage_field
from lanescope.app.steps import matrix_moves, stored
from lanescope.app.steps.captions import StepperMismatch, StepperPhase, StepperStep, format_stored, list_mismatches
from lanescope.app.steps.fragments import StepperFragment, describe_fragment
from lanescope.app.steps.matrix_captions import build_timeline
from lanescope.app.steps.matrix_moves import ARRANGEMENTS, MovedTile
from lanescope.app.steps.stored import StepperMove, StoredChunk
from lanescope.cxx import formula
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.names import lookup
from lanescope.product.move_plan import MODULI, moves_rows

Numbers = Any  # float array, NaN for unknown numbers


@declare_question
class MatrixStepperQuestion:
    """One ldmatrix or stmatrix, its data, and their storage."""

    instruction: str = text_field(
        "", "Instruction", "PTX of an ldmatrix or stmatrix.", type=PtxText, required=True, argument=True, metavar="ptx"
    )
    values: str = text_field(
        "",
        "Values",
        "Numbers, or a formula. For a load: the elements of S, by i (row by row), row and col. For a store: the values"
        " in registers, by i (lane by lane), lane, value, row and col.",
        most=LONGEST,
        rows=2,
        placeholder="i",
    )
    matrices: str = word_field(
        ARRANGEMENTS,
        "Matrices",
        "Storage of the matrices in S; the usual one if omitted.",
        "",
        called=ARRANGEMENTS,
    )
    first_col: int = number_field(0, "First column", "Of the block of S that is moved.")
    addresses: str = text_field(
        "",
        "Lane addresses",
        "Bytes, one per lane, or a formula of lane; where the storage has each row, if it is left out.",
        wide=True,
        size=30,
        placeholder="lane % 16 * 128 + lane / 16 * 16",
    )
    no_xor: bool = flag_field("Lanes compute", "1: lanes compute their addresses as if nothing were swizzled.")
    storage: Json | None = storage_field(
        "Where element (row, column) of S is, as (mn, k); rows of 128 bytes with the 128B swizzle if it is left out.",
        default="",
    )


@fact
class MatrixTile(StepperFragment):
    """The block of S that is moved, and the tile around it. Element (row, col) of the block has number row · cols +
    col.
    """

    first_col: int
    stored_cols: Annotated[int, Description("Columns of S as it is stored.")]
    memory_bits: Annotated[int, Description("Of an element in memory.")]
    numbers: Annotated[Any, RealArray((1,), "[element]")]
    at: Annotated[Any, IntegerArray(1, "[element]: bit address where the storage has it.")]
    before: Annotated[Any, IntegerArray(1, "[element]: bit address without the XOR.")]
    reads: Annotated[Any, IntegerArray(1, "[slot]: the bit address it is read from, or stored at.")]
    matrix: Annotated[Any, IntegerArray(1, "[slot]: its matrix.")]
    stored_numbers: Annotated[Any, RealArray((1,), "[element of S]: before the instruction; null where not known.")]
    stored_at: Annotated[Any, IntegerArray(1, "[element of S]: bit address.")]
    origin: Annotated[int, Description("Where lines of 128 bytes are counted from.")]
    swizzle: str
    chunks: list[StoredChunk]
    moves: list[StepperMove]
    wrong: Annotated[
        list[StepperMismatch],
        Description("Of a load: what arrives instead. Of a store: the element whose place it takes."),
    ]


@fact
class MatrixStepper:
    """The data of a stepper of one ldmatrix or stmatrix."""

    ptx: str
    title: str
    stores: bool
    arrangement: str
    arrangements: Annotated[list[str], Description("Possible storages of the matrices in S.")]
    first_cols: Annotated[list[int], Description("Where blocks of S begin.")]
    phases: list[StepperPhase]
    steps: list[StepperStep]
    s: MatrixTile
    addresses: Annotated[list[int], Description("Of the lanes whose address is used.")]
    wavefronts: Annotated[int | None, Description("Null where they have not been measured.")]
    registers: Annotated[
        list[list[str | None]], Description("[lane][register], hex; null if a byte of it is not known.")
    ]
    written: Annotated[
        Any, RealArray((1,), "[element]: what a store leaves in its place; null where nothing, or not defined.")
    ]
    note: Annotated[str, Description("What has not been executed on hardware.")]


def build_matrix_stepper(question: MatrixStepperQuestion) -> MatrixStepper:
    """Return the stepper of one ldmatrix or stmatrix: shared memory, the address of each lane, the rows that move,
    the registers or stored bytes, and a caption for each step.
    """
    i = lookup.parse_instruction(question.instruction, "instruction")
    if not moves_rows(i):
        raise LayoutError(
            "no_stepper", f"{i.ptx} is not an ldmatrix or stmatrix.", "Choose one of them.", "instruction"
        )
    known = matrix_moves.list_arrangements(i)
    arrangement = parse_choice(question.matrices or known[0], "matrices", known)
    operand = matrix_moves.make_tile_operand(i, arrangement)
    where = stored.find_storage(operand, question.storage, "K", 0)
    moved = matrix_moves.move_tile(i, operand, where, question.first_col, question.addresses, not question.no_xor)
    numbers, tile_numbers = _make_numbers(moved, question.values)
    phases, steps = build_timeline(moved)
    slot_numbers = numbers if moved.stores else np.where(moved.got >= 0, tile_numbers[moved.got], np.nan)
    per_row = i.operands["data"].extents["col"]
    return MatrixStepper(
        ptx=i.ptx,
        title=wording.format_title(i),
        stores=moved.stores,
        arrangement=arrangement,
        arrangements=list(known),
        first_cols=list(range(0, moved.cols - operand.col_count + 1, max(per_row, operand.col_count))),
        phases=phases,
        steps=steps,
        s=_build_tile(moved, numbers, tile_numbers),
        addresses=[int(at) for move in moved.moves for at in move.addresses],
        wavefronts=sum({move.phase: move.wavefronts for move in moved.moves}.values()) if moved.measured else None,
        registers=_format_registers(moved, slot_numbers),
        written=_collect_written(moved, numbers),
        note=i.family.note,
    )


def _make_numbers(moved: MovedTile, text: str) -> tuple[Numbers, Numbers]:
    """Return (number in each slot by the map, number of each element of S before the instruction)."""
    op, cols = moved.operand, moved.cols
    count = op.row_count * cols
    default = "i" if moved.memory_bits == 16 else f"i % {MODULI[moved.memory_bits]}"
    value = parse_matrix(text or default, "values")
    row, col = np.divmod(moved.holds if moved.stores else np.arange(count), cols)
    names = {"row": row, "col": col, "i": np.arange(len(row))}
    if moved.stores:
        lane, register_value = np.divmod(names["i"], op.values)
        names |= {"lane": lane, "value": register_value}
    if isinstance(value, str):
        numbers, _ = formula.evaluate_formula(value, names, "values")
    else:
        numbers = _place_numbers(moved, value)
    _require_whole(moved, numbers)
    if moved.stores:
        return numbers, np.full(count, np.nan)
    return numbers[moved.holds], numbers


def _place_numbers(moved: MovedTile, value: Any) -> Numbers:
    """Return the listed numbers in place: row by row for S or its block, lane by lane for registers."""
    op = moved.operand
    lines = value if value and isinstance(value[0], list) else [value]
    if any(not isinstance(number, int | float) for line in lines for number in line):
        raise LayoutError("bad_matrix", "values has lists inside lists.", "Give rows of numbers.", "values")
    flat = np.array([float(number) for line in lines for number in line])
    block, every = op.row_count * op.col_count, op.row_count * moved.cols
    if moved.stores:
        if len(flat) != len(moved.holds):
            hint = f"Give {len(moved.holds)}: 32 lanes of {op.values} values."
            raise LayoutError("bad_matrix", f"values has {len(flat)} numbers.", hint, "values")
        return flat
    if len(flat) == every:
        return flat
    if len(flat) != block:
        hint = f"Give {block} (the block, {op.row_count} × {op.col_count})" + (
            f" or {every} (S, {op.row_count} × {moved.cols})." if every != block else "."
        )
        raise LayoutError("bad_matrix", f"values has {len(flat)} numbers.", hint, "values")
    tile_numbers = np.full((op.row_count, moved.cols), np.nan)
    tile_numbers[:, moved.first_col : moved.first_col + op.col_count] = flat.reshape(op.row_count, op.col_count)
    return tile_numbers.ravel()


def _require_whole(moved: MovedTile, numbers: Numbers) -> None:
    bits = moved.memory_bits
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    known = ~np.isnan(numbers)
    wrong = known & ((numbers < low) | (numbers > high) | (numbers != np.rint(numbers)))
    if not wrong.any():
        return
    at = int(np.flatnonzero(wrong)[0])
    name = format_stored(moved, int(moved.holds[at]) if moved.stores else at)
    raise LayoutError(
        "bad_matrix",
        f"{name} = {numbers[at]:g} is not {bits} bits.",
        f"Integers from {low} to {high}: {moved.instruction.syntax.opcode} moves bits, whatever they mean.",
        "values",
    )


def _collect_written(moved: MovedTile, numbers: Numbers) -> Numbers:
    """Return the value that a store writes to each element of the block; NaN if none, or if it is undefined."""
    op = moved.operand
    out = np.full(op.row_count * op.col_count, np.nan)
    if not moved.stores:
        return out
    twice = np.isin(moved.reads >> 3 & ~15, moved.shared_addresses)
    row, col = np.divmod(moved.got, moved.cols)
    mine = (moved.got >= 0) & ~twice & (col >= moved.first_col) & (col < moved.first_col + op.col_count)
    out[row[mine] * op.col_count + col[mine] - moved.first_col] = numbers[mine]
    return out


def _format_registers(moved: MovedTile, numbers: Numbers) -> list[list[str | None]]:
    """Return [lane][register] in hex; None if part of it is not known."""
    op = moved.operand
    per, bits = op.register_bits // op.container_bits, moved.memory_bits
    out: list[list[str | None]] = []
    for lane in numbers.reshape(32, op.registers, per):
        words: list[str | None] = []
        for register in lane:
            known = not np.isnan(register).any()
            word = sum(
                (int(number) & ((1 << bits) - 1)) << (n * op.container_bits)
                for n, number in enumerate(register)
                if known
            )
            words.append(f"0x{word:08X}" if known else None)
        out.append(words)
    return out


def _build_tile(moved: MovedTile, numbers: Numbers, tile_numbers: Numbers) -> MatrixTile:
    op, cols, first = moved.operand, moved.cols, moved.first_col
    row, col = np.divmod(np.arange(op.row_count * op.col_count), op.col_count)
    mine = row * cols + col + first  # [element] → element of S
    at = moved.at[mine]
    fragment = describe_fragment(op)
    block = np.full(len(mine), np.nan)
    block[fragment["holds"]] = numbers
    return MatrixTile(
        **fragment,
        first_col=first,
        stored_cols=cols,
        memory_bits=moved.memory_bits,
        numbers=block,
        at=at,
        before=stored.undo_xor(moved.placed, at),
        reads=moved.reads,
        matrix=np.asarray(moved.instruction.operands["data"].coords["matrix"], np.int64).ravel(),
        stored_numbers=tile_numbers,
        stored_at=moved.at,
        origin=moved.origin,
        swizzle=moved.where.mode.name,
        chunks=moved.list_chunks(8 * moved.addresses.ravel()),
        moves=moved.moves,
        wrong=list_mismatches(moved, tile_numbers),
    )
