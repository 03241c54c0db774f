"""Sparsity metadata: stored A under metadata words."""

from __future__ import annotations

import re
from typing import Annotated

from lanescope import inputs
from lanescope.app.kit.enumerations import Word32
from lanescope.app.kit.fact import ByThread, Description, fact
from lanescope.app.kit.question import declare_question, number_field, parsed_field, text_field
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.metadata import FIRST
from lanescope.render.view import OperandGrid


@declare_question
class MetadataQuestion:
    """A sparse instruction, and the metadata of its lanes."""

    ptx: Instruction = parsed_field(
        lambda value, field: lookup.find(value),
        "Instruction",
        "An instruction as PTX spells it, with or without `.sync.aligned`.",
        examples=("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",),
    )
    words: str = text_field(
        "",
        "e of every lane, or one word for all (hex)",
        "Hex words: one per thread, or one for all; 0x44444444 where it is empty.",
        examples=("0x44444444",),
        wide=True,
        rows=4,
        size=90,
        covers=("metadata",),
    )
    selector: int = number_field(0, "Selector", "Which lanes supply the metadata.")


@fact
class Metadata:
    """Stored A under metadata words; maps are [thread][value]."""

    ptx: str
    selector: int
    selectors: int
    words: Annotated[tuple[Word32, ...], Description("One per thread.")]
    used: Annotated[tuple[int, ...], Description("The threads whose words are read.")]
    row: ByThread
    stored_col: ByThread
    col: Annotated[ByThread, Description("The dense column of the stored element.")]
    meta_thread: ByThread
    meta_bit: ByThread


@fact
class DenseCell:
    """An element of dense A: the lane and first bit of its group's metadata and, if kept, its holder and stored
    column.

    The first element of a group has `kept`, the positions that the group keeps. digit: position of the group's nibble
    in the word as written, 0x44444444, from the left.
    """

    lane: int
    bit: int
    kept: str
    stored: int | None
    spoken: str
    digit: int


@fact
class StoredCell:
    """An element of stored A: its holder, and its dense column."""

    owner: str
    col: int


def build_metadata(instruction: Instruction, words_text: str, selector: int) -> Metadata:
    """Return the dense column of every stored value under metadata words. LayoutError names an illegal word or
    nibble.
    """
    op = instruction.operand("a")
    if op.sparsity is None:
        raise LayoutError(
            "not_sparse", f"A of {instruction.ptx} is dense.", "Choose an mma.sp or wgmma.sp instruction.", "ptx"
        )
    words = parse_words(words_text, op.threads)
    thread, bit = op.sparsity.find_suppliers(selector)
    dense = op.sparsity.list_dense_columns(op.coords["col"], words, selector)
    return Metadata(
        ptx=instruction.ptx,
        selector=selector,
        selectors=op.sparsity.selectors,
        words=tuple(f"0x{word:08X}" for word in words),
        used=tuple(sorted(set(thread.ravel().tolist()))),
        row=op.rows,
        stored_col=op.coords["col"],
        col=dense,
        meta_thread=thread,
        meta_bit=bit,
    )


def parse_words(text: str, threads: int) -> list[int]:
    """Parse hex words: one per thread, or one for all; blanks, commas and `_` between digits are accepted."""
    tokens = re.split(r"[\s,]+", text.strip()) if text.strip() else [f"0x{FIRST:08X}"]
    words = []
    for number, token in enumerate(tokens):
        parsed = inputs.parse_digits(token if token[:2].lower() == "0x" else f"0x{token}")
        if parsed is None or parsed[0] >> 32:
            raise LayoutError(
                "bad_metadata",
                f"Word {number}, '{inputs.shorten_value(token)}', is not a 32-bit hex word.",
                f"Write eight hex digits, e.g. 0x{FIRST:08X}.",
                "words",
            )
        words.append(parsed[0])
    if len(words) not in (1, threads):
        raise LayoutError(
            "bad_metadata",
            f"{len(words)} words.",
            f"Write {threads}, one per lane, or one for all.",
            "words",
        )
    return words * threads if len(words) == 1 else words


def build_dense_cells(op: Operand, facts: Metadata) -> list[list[DenseCell]]:
    """Return dense A by row: every cell with the place of its group's metadata, kept ones with their holders."""
    assert op.sparsity is not None
    group = op.sparsity.group
    places: dict[
        tuple[int, int], tuple[int, int]
    ] = {}  # (row, first column of a group) → (lane, first bit of its nibble)
    stored_at: dict[tuple[int, int], tuple[str, int, int, int]] = {}
    arrays = (facts.row, facts.col, facts.stored_col, facts.meta_thread, facts.meta_bit)
    for number, (row, col, stored, lane, bit) in enumerate(
        zip(*(array.ravel().tolist() for array in arrays), strict=True)
    ):
        thread, value = divmod(number, op.values)
        places.setdefault((row, stored // op.sparsity.kept * group), (lane, bit & ~3))
        stored_at[row, col] = f"T{thread} a{value}", stored, lane, bit & ~3

    def make_cell(row: int, col: int) -> DenseCell:
        start = col - col % group
        kept, stored, lane, bit = stored_at.get((row, col)) or ("", None, *places[row, start])
        columns = " and ".join(str(index) for index in range(start, start + group) if (row, index) in stored_at)
        spoken = (
            f"row {row}, columns {start} to {start + group - 1}: kept {columns}; lane {lane}, bits {bit} to {bit + 3}"
        )
        first_spoken = spoken if col == start else ""
        return DenseCell(
            lane=lane, bit=bit, kept=kept, stored=stored, spoken=first_spoken, digit=len(f"0x{0:08X}") - 1 - bit // 4
        )

    return [[make_cell(row, col) for col in range(op.dense_col_count)] for row in range(op.row_count)]


def build_stored_cells(op: Operand, facts: Metadata) -> list[list[StoredCell]]:
    """Return stored A by row: the holder and dense column of each element."""
    grid = OperandGrid(op)
    thread, value = grid.thread[:, :, 0], grid.value[:, :, 0]
    columns = facts.col[thread, value]
    return [
        [StoredCell(owner=f"T{t} a{v}", col=c) for t, v, c in zip(ts, vs, cs, strict=True)]
        for ts, vs, cs in zip(thread.tolist(), value.tolist(), columns.tolist(), strict=True)
    ]
